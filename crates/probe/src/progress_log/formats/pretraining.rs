//! Megatron-LM and Megatron-DeepSpeed, torchtitan, and the FSDP examples: lines of `name: value`.

use super::clean::CleanLine;
use super::event::{CheckpointEvent, CheckpointPhase, LineEvent, LineTimes, LogEvent, StepLine};
use super::number::{
    count_after, leading_count, leading_number, leading_progress, number_after, rest_after, seconds,
};

/// ` iteration 3/ 1000 | … | elapsed time per iteration (ms): 137138.4 | … | lm loss: 4.1E+01 |`.
/// The unit stands in the line: `(ms)`, or `(s)` in other versions. It is the mean since the line
/// before.
pub(super) fn megatron(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    if let Some(rest) = rest_after(text, "iteration ")
        && let Some((step, of, _)) = leading_progress(rest)
        && text.contains("elapsed time per iteration")
    {
        let milliseconds = number_after(text, "elapsed time per iteration (ms):");
        let step_s = milliseconds
            .map(|ms| ms / 1e3)
            .or_else(|| number_after(text, "elapsed time per iteration (s):"));
        let loss = ["lm loss:", "lm-loss:", "mlm loss:", "| loss:"];
        let samples_per_s = number_after(text, "samples per second:");
        return Some(LineEvent::Step(StepLine {
            step,
            of: Some(of),
            times: LineTimes { step_s: step_s.and_then(seconds), ..LineTimes::default() },
            loss: loss.iter().find_map(|marker| number_after(text, marker)),
            samples: count_after(text, "global batch size:"),
            samples_per_s,
            ..StepLine::default()
        }));
    }
    if text.starts_with("successfully saved checkpoint") {
        let step = count_after(text, "iteration ");
        return Some(LineEvent::checkpoint(step, CheckpointPhase::Complete, None, None));
    }
    if text.starts_with("saving checkpoint at iteration") {
        let step = count_after(text, "iteration ");
        return Some(LineEvent::checkpoint(step, CheckpointPhase::Begun, None, None));
    }
    if text.starts_with("scheduled an async checkpoint save at iteration") {
        let step = count_after(text, "iteration ");
        return Some(LineEvent::checkpoint(step, CheckpointPhase::Staged, None, Some(true)));
    }
    let loaded = text.strip_prefix("successfully loaded checkpoint from")?;
    Some(LineEvent::resumed(count_after(loaded, "at iteration "), None))
}

/// `step: 440  loss:  5.2553  memory: 49.66GiB(52.28%)  tps: 5,868  tflops: …  mfu: 34.36%`. It
/// prints no step time; `tps` is tokens per second of one GPU. The logger's stamps have
/// milliseconds (after a comma), from which the step time follows.
pub(super) fn torchtitan(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    if let Some(rest) = rest_after(text, "step:")
        && text.contains("loss:")
        && text.contains("tps:")
    {
        let (step, _) = leading_count(rest)?;
        return Some(LineEvent::Step(StepLine {
            step,
            loss: number_after(text, "loss:"),
            tokens_per_s_per_gpu: number_after(text, "tps:"),
            ..StepLine::default()
        }));
    }
    if text.contains("Submitted checkpoint save request") {
        let step = count_after(text, "step-");
        return Some(LineEvent::checkpoint(step, CheckpointPhase::Staged, None, Some(true)));
    }
    if text.contains("Finished saving the checkpoint") || text.contains("Finished checkpoint save")
    {
        let duration_s = duration_in(text);
        return Some(LineEvent::checkpoint(None, CheckpointPhase::Complete, duration_s, None));
    }
    if text.contains("Finished loading the checkpoint in") {
        return Some(LineEvent::resumed(None, number_after(text, "in ").and_then(seconds)));
    }
    None
}

/// `… in 3.24 seconds`.
fn duration_in(text: &str) -> Option<f64> {
    let at = text.rfind(" in ")?;
    let (value, rest) = leading_number(&text[at + 4..])?;
    rest.trim_start().starts_with("second").then_some(value).and_then(seconds)
}

/// `Batch 90 Loss: 7.24291, Speed: 9.41 samples/sec, lr: 0.000010`: no step time and no batch size.
pub(super) fn fsdp(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    let rest = rest_after(text, "Batch ")?;
    let (step, after) = leading_count(rest)?;
    let speed = rest_after(after, "Speed:")?;
    let (samples_per_s, unit) = leading_number(speed)?;
    unit.trim_start().starts_with("samples/sec").then(|| {
        LineEvent::Step(StepLine {
            step,
            loss: number_after(after, "Loss:"),
            samples_per_s: Some(samples_per_s),
            ..StepLine::default()
        })
    })
}

/// `step=12 loss=5.43 step_s=0.123 tokens=512`: what the embedded trainer prints.
pub(super) fn embedded(line: &CleanLine) -> Option<LineEvent> {
    let text = line.text.as_str();
    if let Some(rest) = text.strip_prefix("checkpoint ") {
        return Some(LineEvent::Other(LogEvent::Checkpoint(CheckpointEvent {
            step: Some(count_after(rest, "step=")?),
            phase: CheckpointPhase::Complete,
            duration_s: number_after(rest, "seconds=").and_then(seconds),
            bytes: count_after(rest, "bytes="),
            asynchronous: None,
        })));
    }
    if let Some(rest) = text.strip_prefix("resumed step=") {
        let (step, _) = leading_count(rest)?;
        return Some(LineEvent::resumed(Some(step), number_after(rest, "seconds=")));
    }
    if text.starts_with("stopping step=") {
        return Some(LineEvent::Other(LogEvent::Stopping));
    }
    let rest = text.strip_prefix("step=")?;
    let (step, rest) = leading_count(rest)?;
    let step_s = number_after(rest, "step_s=").and_then(seconds)?;
    Some(LineEvent::Step(StepLine {
        step,
        times: LineTimes { step_s: Some(step_s), ..LineTimes::default() },
        loss: number_after(rest, "loss="),
        tokens: count_after(rest, "tokens="),
        tokens_per_s: number_after(rest, "tokens_per_s="),
        ..StepLine::default()
    }))
}
