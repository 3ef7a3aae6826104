//! NeMo, Lightning and the Hugging Face Trainer: progress bars and what stands beside them.

use super::clean::CleanLine;
use super::event::{CheckpointPhase, LineEvent, LineTimes, LogEvent, StepLine, SummaryEvent};
use super::number::{
    count_after, leading_clock, leading_count, leading_number, leading_progress, number_after,
    rest_after, seconds, whole,
};

/// `… global_step: 19 | reduced_train_loss: 11.03 | train_step_timing in s: 46.86 | …`, or with `=`
/// in a progress bar; checkpoints of its `model_checkpoint` logger.
pub(super) fn nemo(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    let value = |name: &str| {
        let rest = rest_after(text, name)?.strip_prefix([':', '='])?;
        leading_number(rest.trim_start()).map(|(value, _)| value)
    };
    if let Some(step_s) = value("train_step_timing in s") {
        return Some(LineEvent::Step(StepLine {
            step: value("global_step").and_then(whole)?,
            times: LineTimes { step_s: seconds(step_s), ..LineTimes::default() },
            loss: value("reduced_train_loss"),
            samples: value("global_batch_size").and_then(whole),
            ..StepLine::default()
        }));
    }
    if text.contains("Scheduled async checkpoint save for") {
        let step = count_after(text, "-step=").or_else(|| count_after(text, "step="));
        return Some(LineEvent::checkpoint(step, CheckpointPhase::Staged, None, Some(true)));
    }
    if text.contains("Async checkpoint save for step") && text.contains("finalized successfully") {
        let step = count_after(text, "for step ");
        return Some(LineEvent::checkpoint(step, CheckpointPhase::Complete, None, Some(true)));
    }
    None
}

/// What a tqdm bar says: ` 75%|███▌ | 3/4 [10:50<03:37, 217.32s/it, loss=2.3]`.
struct Bar<'t> {
    before: &'t str,
    done: u64,
    of: u64,
    elapsed_s: f64,
    step_s: Option<f64>,
    after: &'t str,
}

/// Reads a tqdm bar; its rate says its unit, `it/s` or `s/it`.
fn bar(text: &str) -> Option<Bar<'_>> {
    let (before, rest) = text.split_once("%|")?;
    let (_, rest) = rest.split_once('|')?;
    let (done, of, rest) = leading_progress(rest.trim_start())?;
    let inside = rest.trim_start().strip_prefix('[')?;
    let (elapsed_s, rest) = leading_clock(inside)?;
    let (_, after) = rest.split_once(',')?;
    let step_s = leading_number(after.trim_start()).and_then(|(value, unit)| {
        if unit.starts_with("s/it") {
            seconds(value)
        } else if unit.starts_with("it/s") && value > 0.0 {
            seconds(1.0 / value)
        } else {
            None
        }
    });
    Some(Bar { before, done, of, elapsed_s, step_s, after })
}

/// `Epoch 0:  12%|█▏ | 12/100 [00:03<00:22,  3.95it/s, v_num=0, train_loss=2.31]`. Steps are
/// batches, counted over epochs of equal length.
pub(super) fn lightning(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    let (epoch, rest) = leading_count(text.strip_prefix("Epoch ")?.trim_start())?;
    let bar = bar(rest.trim_start().strip_prefix(':')?)?;
    if bar.done == 0 {
        return None;
    }
    let losses = ["train_loss_step=", "train_loss=", "loss="];
    Some(LineEvent::Step(StepLine {
        step: epoch.checked_mul(bar.of)?.checked_add(bar.done)?,
        of: None,
        // The bar's clock starts anew with each epoch.
        times: LineTimes {
            elapsed: Some((bar.elapsed_s, 1.0)),
            smoothed_s: bar.step_s,
            ..LineTimes::default()
        },
        loss: losses.iter().find_map(|marker| number_after(bar.after, marker)),
        ..StepLine::default()
    }))
}

/// The Hugging Face Trainer: its bar without a name counts the steps (the first one of a run; bars
/// of evaluations have another total), `{'loss': 2.3, …, 'epoch': 0.1}` gives the loss but no step,
/// and `{'train_runtime': …}` sums up.
#[derive(Clone, Debug, Default)]
pub(super) struct HuggingFace {
    total: Option<u64>,
    loss: Option<f64>,
}

impl HuggingFace {
    pub(super) fn read(&mut self, line: &CleanLine) -> Option<LineEvent> {
        let text = line.text.as_str();
        if let Some(total) = count_after(text, "Total optimization steps =") {
            self.total = Some(total);
            return None;
        }
        if text.contains("Saving model checkpoint to") {
            let step = count_after(text, "checkpoint-");
            return Some(LineEvent::checkpoint(step, CheckpointPhase::Begun, None, None));
        }
        if let Some(rest) = rest_after(text, "Continuing training from global step") {
            return Some(LineEvent::resumed(leading_count(rest).map(|(step, _)| step), None));
        }
        if let Some(at) = text.find('{')
            && text[at..].ends_with('}')
        {
            return self.dictionary(&text[at..]);
        }
        let bar = bar(text)?;
        if !bar.before.trim().bytes().all(|byte| byte.is_ascii_digit()) || bar.done == 0 {
            return None;
        }
        if *self.total.get_or_insert(bar.of) != bar.of {
            return None;
        }
        Some(LineEvent::Step(StepLine {
            step: bar.done,
            of: Some(bar.of),
            times: LineTimes {
                elapsed: Some((bar.elapsed_s, 1.0)),
                smoothed_s: bar.step_s,
                ..LineTimes::default()
            },
            loss: self.loss.take(),
            ..StepLine::default()
        }))
    }

    fn dictionary(&mut self, text: &str) -> Option<LineEvent> {
        let value = |name: &str| {
            let rest = rest_after(text, &format!("'{name}':"))?;
            leading_number(rest.trim_start_matches('\'')).map(|(value, _)| value)
        };
        if let Some(runtime_s) = value("train_runtime") {
            return Some(LineEvent::Other(LogEvent::Summary(SummaryEvent {
                steps: None,
                runtime_s: seconds(runtime_s),
                steps_per_s: value("train_steps_per_second"),
                samples_per_s: value("train_samples_per_second"),
                loss: value("train_loss"),
            })));
        }
        // It belongs to the step that the bar shows next.
        self.loss = value("loss").filter(|_| value("epoch").is_some()).or(self.loss);
        None
    }
}
