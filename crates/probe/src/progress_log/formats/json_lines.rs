//! Formats of one JSON object a line: LLaMA-Factory's `trainer_log.jsonl`, NeMo's and NVIDIA's
//! DLLogger, and MLPerf's `:::MLLOG`.

use serde_json::Value;

use super::clean::{CleanLine, LineClock};
use super::event::{LineEvent, LineTimes, LogEvent, StepLine, SummaryEvent};
use super::number::{leading_clock, leading_number, seconds, whole};

/// A number, or a text that is one: newer trainers write both.
pub(super) fn number(value: &Value, key: &str) -> Option<f64> {
    let value = value.get(key)?;
    let number = value.as_f64().or_else(|| {
        let (number, rest) = leading_number(value.as_str()?.trim())?;
        rest.is_empty().then_some(number)
    });
    number.filter(|number| number.is_finite())
}

fn count(value: &Value, key: &str) -> Option<u64> {
    whole(number(value, key)?)
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim()).ok().filter(Value::is_object)
}

/// `{"current_steps": 5, "total_steps": 2178, "loss": 2.3, …, "elapsed_time": "0:32:48"}`; elapsed
/// times have whole seconds, and days before them. The last row, without a loss, sums the run up,
/// with the time of saving the model in it, and is no step.
pub(super) fn llama_factory(line: &CleanLine) -> Option<LineEvent> {
    let row = object(&line.text)?;
    let step = count(&row, "current_steps")?;
    let of = count(&row, "total_steps");
    let elapsed_s = row.get("elapsed_time").and_then(Value::as_str).and_then(|text| {
        let (elapsed_s, rest) = leading_clock(text.trim())?;
        rest.is_empty().then_some(elapsed_s)
    });
    let measured = ["loss", "reward"].iter().any(|key| row.get(*key).is_some_and(Value::is_number));
    if !measured {
        let evaluation = row.get("eval_loss").is_some_and(Value::is_number);
        return (!evaluation && elapsed_s.is_some()).then_some(LineEvent::Other(
            LogEvent::Summary(SummaryEvent {
                steps: Some(step),
                runtime_s: elapsed_s,
                ..SummaryEvent::default()
            }),
        ));
    }
    Some(LineEvent::Step(StepLine {
        step,
        of,
        times: LineTimes { elapsed: elapsed_s.map(|s| (s, 1.0)), ..LineTimes::default() },
        loss: number(&row, "loss"),
        ..StepLine::default()
    }))
}

/// `DLLL {"timestamp": "…", "step": 3, "data": {"train_step_timing in s": 46.03, …}}`.
pub(super) fn dllogger(line: &CleanLine) -> Option<LineEvent> {
    let row = object(line.text.strip_prefix("DLLL")?)?;
    let data = row.get("data")?;
    // Validation and parameters have a step that is no number, or no timing.
    let step = count(data, "global_step").or_else(|| count(&row, "step"))?;
    let step_s = number(data, "train_step_timing in s").and_then(seconds);
    let loss =
        ["reduced_train_loss", "loss", "train_loss"].iter().find_map(|key| number(data, key));
    if step_s.is_none() && loss.is_none() {
        return None;
    }
    let clock = number(&row, "timestamp").map(|at_s| LineClock { at_s, resolution_s: 1e-3 });
    Some(LineEvent::Step(StepLine {
        step,
        times: LineTimes { step_s, clock, ..LineTimes::default() },
        loss,
        ..StepLine::default()
    }))
}

/// `:::MLLOG {"time_ms": …, "key": "train_loss", "value": 11.8, "metadata": {"samples_count": 0}}`.
/// A step number stands in the metadata, or follows from the samples and the global batch size
/// where the run has named it.
#[derive(Clone, Debug, Default)]
pub(super) struct MlPerf {
    global_batch_size: Option<u64>,
    started_ms: Option<f64>,
}

impl MlPerf {
    pub(super) fn read(&mut self, line: &CleanLine) -> Option<LineEvent> {
        let at = line.text.find(":::MLLOG")?;
        let row = object(&line.text[at + ":::MLLOG".len()..])?;
        let (value, metadata) = (row.get("value")?, row.get("metadata")?);
        let time_ms = number(&row, "time_ms");
        match row.get("key")?.as_str()? {
            "global_batch_size" => {
                self.global_batch_size = count(&row, "value").filter(|size| *size > 0);
                None
            }
            "run_start" => {
                self.started_ms = time_ms;
                None
            }
            "run_stop" => {
                let runtime_s =
                    time_ms.zip(self.started_ms).map(|(end, start)| (end - start) / 1e3);
                let steps = count(metadata, "step_num").or_else(|| count(metadata, "step"));
                Some(LineEvent::Other(LogEvent::Summary(SummaryEvent {
                    steps: steps.or_else(|| self.step(metadata)),
                    runtime_s: runtime_s.and_then(seconds),
                    ..SummaryEvent::default()
                })))
            }
            "train_loss" | "loss" => self.progress(metadata, time_ms, number(&row, "value"), value),
            "tracked_stats" => self.progress(metadata, time_ms, None, value),
            _ => None,
        }
    }

    fn step(&self, metadata: &Value) -> Option<u64> {
        let named = ["step_num", "step"].iter().find_map(|key| count(metadata, key));
        named.or_else(|| {
            let (samples, size) = (count(metadata, "samples_count")?, self.global_batch_size?);
            samples.is_multiple_of(size).then(|| samples / size)
        })
    }

    fn progress(
        &self,
        metadata: &Value,
        time_ms: Option<f64>,
        loss: Option<f64>,
        value: &Value,
    ) -> Option<LineEvent> {
        // `train_step_time` is named without a unit by its producers; the clock of the lines has one.
        let clock = time_ms.map(|ms| LineClock { at_s: ms / 1e3, resolution_s: 1e-3 });
        Some(LineEvent::Step(StepLine {
            step: self.step(metadata)?,
            times: LineTimes { clock, ..LineTimes::default() },
            loss: loss.or_else(|| number(value, "reduced_train_loss")),
            samples: self.global_batch_size,
            ..StepLine::default()
        }))
    }
}
