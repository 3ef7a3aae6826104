//! nanoGPT and its descendants, llm.c, and DeepSpeed's own lines.

use super::clean::CleanLine;
use super::event::{CheckpointPhase, LineEvent, LineTimes, StepLine};
use super::number::{
    count_after, leading_count, leading_number, leading_progress, number_after, rest_after, seconds,
};

/// nanoGPT: `iter 10: loss 9.81, time 1250.55ms, mfu 12.3%`; modded-nanogpt:
/// `step:125/6200 train_loss:5.37 train_time:24562ms step_avg:213.58ms`, whose `train_time` is a
/// counter that starts anew after the warm-up steps. Lines of a validation are no steps.
pub(super) fn nano_gpt(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    if let Some(rest) = text.strip_prefix("step:") {
        let (step, of, rest) = leading_progress(rest)?;
        let loss = number_after(rest, "train_loss:");
        let (value, unit) = leading_number(rest_after(rest, "train_time:")?)?;
        let elapsed_s = match unit {
            unit if unit.starts_with("ms") => Some(value / 1e3),
            unit if unit.starts_with('s') => Some(value),
            _ => None,
        };
        // Newer versions print no training loss, and mark a validation by its own.
        if loss.is_none() && rest.contains("val_loss:") {
            return None;
        }
        let elapsed = elapsed_s.and_then(seconds).map(|elapsed_s| (elapsed_s, 1e-3));
        return Some(LineEvent::Step(StepLine {
            step,
            of: Some(of),
            times: LineTimes { elapsed, ..LineTimes::default() },
            loss,
            ..StepLine::default()
        }));
    }
    if let Some(rest) = text.strip_prefix("iter ") {
        let (step, rest) = leading_count(rest)?;
        let (value, unit) = leading_number(rest_after(rest, "time ")?)?;
        let step_s = unit.starts_with("ms").then_some(value / 1e3).and_then(seconds);
        return Some(LineEvent::Step(StepLine {
            step,
            times: LineTimes { step_s, ..LineTimes::default() },
            loss: number_after(rest, "loss "),
            ..StepLine::default()
        }));
    }
    if text.starts_with("saving checkpoint to ") {
        return Some(LineEvent::checkpoint(None, CheckpointPhase::Begun, None, None));
    }
    text.starts_with("Resuming training from ").then(|| LineEvent::resumed(None, None))
}

/// llm.c: `step 2/1765 | loss 10.95 (+nanz)| norm … | 2679.79 ms | -100.0% bf16 MFU | 195645 tok/s`,
/// older `step 1/18865 | train loss 10.9 | … | (1234.5 ms | 425 tok/s)`, and the `s:3 trl:9.5` of
/// its `main.log`, which has no clock.
pub(super) fn llm_c(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    if let Some(rest) = text.strip_prefix("s:") {
        let (step, rest) = leading_count(rest)?;
        let loss = number_after(rest.trim_start().strip_prefix("trl:")?, "")?;
        return Some(LineEvent::Step(StepLine { step, loss: Some(loss), ..StepLine::default() }));
    }
    if let Some(rest) = text.strip_prefix("Writing checkpoint at step ") {
        let step = leading_count(rest).map(|(step, _)| step);
        return Some(LineEvent::checkpoint(step, CheckpointPhase::Begun, None, None));
    }
    let (step, of, rest) = leading_progress(text.strip_prefix("step ")?.trim_start())?;
    let fields: Vec<&str> = rest.split('|').map(|f| f.trim().trim_matches(['(', ')'])).collect();
    let with_unit = |unit: &str| {
        fields.iter().find_map(|field| {
            let (value, rest) = leading_number(field)?;
            (rest.trim() == unit).then_some(value)
        })
    };
    let step_s = with_unit("ms").map(|ms| ms / 1e3).and_then(seconds);
    let tokens_per_s = with_unit("tok/s");
    (step_s.is_some() || tokens_per_s.is_some()).then(|| {
        LineEvent::Step(StepLine {
            step,
            of: Some(of),
            times: LineTimes { step_s, ..LineTimes::default() },
            loss: number_after(rest, "loss "),
            tokens_per_s,
            ..StepLine::default()
        })
    })
}

/// DeepSpeed: its pipeline engine's `steps: 10 loss: 2.3 iter time (s): 1.234 samples/sec: 12.3`
/// names the time; `… step=10, skipped=0, lr=[…]` and the throughput timer's
/// `epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=…` only count, and stamp.
pub(super) fn deep_speed(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    if let Some(rest) = rest_after(text, "steps:")
        && let Some(step_s) = number_after(rest, "iter time (s):")
    {
        let (step, rest) = leading_count(rest)?;
        return Some(LineEvent::Step(StepLine {
            step,
            times: LineTimes { step_s: seconds(step_s), ..LineTimes::default() },
            loss: number_after(rest, "loss:"),
            samples_per_s: number_after(rest, "samples/sec:"),
            ..StepLine::default()
        }));
    }
    if text.contains("RunningAvgSamplesPerSec=") || text.contains("SamplesPerSec=") {
        let step = count_after(text, "global_step=").or_else(|| {
            let (_, step, _) = leading_progress(rest_after(text, ":stop]")?)?;
            Some(step)
        })?;
        let rate = number_after(text, "CurrSamplesPerSec=");
        let samples_per_s = rate.or_else(|| number_after(text, "SamplesPerSec="));
        return Some(LineEvent::Step(StepLine { step, samples_per_s, ..StepLine::default() }));
    }
    if let Some(rest) = rest_after(text, "] step=")
        && rest.contains("skipped=")
    {
        let (step, _) = leading_count(rest)?;
        return Some(LineEvent::Step(StepLine { step, ..StepLine::default() }));
    }
    let rest = rest_after(text, "[Torch] Checkpoint global_step")?;
    let (step, rest) = leading_count(rest)?;
    let phase = match rest {
        rest if rest.contains("is ready now") => CheckpointPhase::Complete,
        rest if rest.contains("is about to be saved") => CheckpointPhase::Begun,
        _ => return None,
    };
    Some(LineEvent::checkpoint(Some(step), phase, None, None))
}
