//! Whole JSON documents: the Hugging Face Trainer's `trainer_state.json` and `train_results.json`,
//! and the golden values of Megatron's tests.

use serde_json::{Map, Value};

use super::event::{LineEvent, LineTimes, LogEvent, StepLine, SummaryEvent};
use super::format::Format;
use super::json_lines::number;
use super::number::{seconds, whole};
use super::reader::LogReading;
use super::track::{LogNotes, Track};

/// Reads a document; none where the text is none of these.
pub(super) fn read(text: &str) -> Option<LogReading> {
    // Lines of JSON begin like a document; the parser refuses them at the second line.
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let document: Value = serde_json::from_str(text).ok()?;
    let (format, name, found) = if let Some(history) = document.get("log_history") {
        let events = trainer_state(&document, history.as_array()?);
        (Format::HfTrainer, "trainer_state.json", events)
    } else if let Some(runtime_s) = number(&document, "train_runtime") {
        let summary = summary(&document, runtime_s, None);
        (Format::HfTrainer, "train_results.json", vec![summary])
    } else {
        let times = document.get("iteration-time")?.get("values")?.as_object()?;
        (Format::Megatron, "golden values", golden(&document, times))
    };
    let (mut track, mut notes, mut events) = (Track::default(), LogNotes::default(), Vec::new());
    notes.lines = text.lines().count() as u64;
    for event in found {
        match event {
            LineEvent::Other(event) => events.push(event),
            LineEvent::Step(step) => {
                events.extend(track.step(step, None, None, None, &mut notes).map(LogEvent::Step));
            }
        }
    }
    Some(LogReading { format, document: Some(name), events, notes })
}

/// Rows with a loss are steps. None has a clock: the only time is the run's, in the last row.
fn trainer_state(document: &Value, history: &[Value]) -> Vec<LineEvent> {
    let of = number(document, "max_steps").and_then(whole);
    let steps = number(document, "global_step").and_then(whole);
    history
        .iter()
        .filter_map(|row| {
            if let Some(runtime_s) = number(row, "train_runtime") {
                return Some(summary(row, runtime_s, steps));
            }
            let loss = Some(number(row, "loss")?);
            let step = number(row, "step").and_then(whole)?;
            Some(LineEvent::Step(StepLine { step, of, loss, ..StepLine::default() }))
        })
        .collect()
}

fn summary(row: &Value, runtime_s: f64, steps: Option<u64>) -> LineEvent {
    LineEvent::Other(LogEvent::Summary(SummaryEvent {
        steps,
        runtime_s: seconds(runtime_s),
        steps_per_s: number(row, "train_steps_per_second"),
        samples_per_s: number(row, "train_samples_per_second"),
        loss: number(row, "train_loss"),
    }))
}

/// `iteration-time` holds seconds by step; `nan` where none was taken.
fn golden(document: &Value, times: &Map<String, Value>) -> Vec<LineEvent> {
    let losses = document.get("lm loss").and_then(|series| series.get("values"));
    let mut rows: Vec<(u64, &String)> =
        times.keys().filter_map(|key| Some((key.parse().ok()?, key))).collect();
    rows.sort_unstable();
    rows.into_iter()
        .map(|(step, key)| {
            let step_s = times.get(key).and_then(Value::as_f64).and_then(seconds);
            LineEvent::Step(StepLine {
                step,
                times: LineTimes { step_s, ..LineTimes::default() },
                loss: losses.and_then(|values| number(values, key)),
                ..StepLine::default()
            })
        })
        .collect()
}
