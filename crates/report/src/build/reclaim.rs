//! Reclaim drills: getting the machine back, and the trainer going on afterwards.

use cotenant_core::evidence::ReclaimDrill;
use cotenant_core::verdict::Unit;

use super::axes::linear_time;
use super::pool::{Placed, Pool};
use crate::format::{self, TimeScale};
use crate::model::{Column, DrillBar, DrillChart, DrillPart, Segment, State, Table, Value};

/// Drills that are drawn; the table holds them all.
const DRILLS_DRAWN_MAX: usize = 32;

/// The chart of drills and their table. Drills of blocks that are left out count too: a reclaim does
/// not become faster because the machine was noisy.
pub(super) fn drills(pool: &Pool<'_>) -> (DrillChart, Table) {
    let drills: Vec<_> = pool
        .blocks
        .iter()
        .chain(&pool.drilled)
        .filter_map(|placed| placed.block.drill.as_ref().map(|drill| (placed, drill)))
        .collect();
    let times = drills.iter().flat_map(|(_, drill)| {
        [
            drill.exit_s,
            drill.memory_free_s,
            drill.resume.as_ref().and_then(|resume| resume.first_step_s),
        ]
    });
    let scale = TimeScale::of(times.flatten());
    let all: Vec<_> = drills.iter().map(|(placed, drill)| bar(placed, drill, scale)).collect();
    let drawn = all.len().min(DRILLS_DRAWN_MAX);
    let bars = all[..drawn].to_vec();
    let length = |bar: &DrillBar| -> f64 {
        bar.parts.iter().filter_map(|part| part.value.value).map(|value| value.max(0.0)).sum()
    };
    let largest = bars.iter().map(length).fold(0.0, f64::max);
    let intro = "What each reclaim drill took, from the signal to memory really free, and the start \
                 to the first step of the trainer that came after.";
    let mut sentences = vec![intro.to_owned()];
    sentences.extend(bars.iter().map(|bar| bar.text.clone()));
    if all.len() > drawn {
        let further = format::count((all.len() - drawn) as u64);
        sentences.push(format!("In the table alone: {further} more."));
    }
    let chart = DrillChart {
        title: "Reclaim drills".to_owned(),
        description: sentences.join(" "),
        x: linear_time("from the signal", largest),
        missing: bars.is_empty().then(|| "not seen: no block ended with a drill".to_owned()),
        bars,
    };
    (chart, table(&drills, scale))
}

fn part(drill: &ReclaimDrill, part: DrillPart) -> Option<f64> {
    match part {
        DrillPart::StepBoundary => drill.step_boundary_s,
        DrillPart::Checkpoint => drill.checkpoint_s,
        DrillPart::Unexplained => drill.unexplained_s(),
        DrillPart::MemoryFree => Some(drill.memory_free_s? - drill.exit_s?),
    }
}

fn bar(placed: &Placed<'_>, drill: &ReclaimDrill, scale: TimeScale) -> DrillBar {
    let seconds = |value: Option<f64>, reason: &str| match value {
        Some(value) => format::measured_in(value, Unit::Seconds, Some(scale)),
        None => Value::missing(reason),
    };
    let parts: Vec<_> = DrillPart::ALL
        .into_iter()
        .map(|which| Segment {
            name: which.name().to_owned(),
            value: seconds(part(drill, which), "no log line owns it"),
        })
        .collect();
    let resume = seconds(
        drill.resume.as_ref().and_then(|resume| resume.first_step_s),
        "no start came after it",
    );
    let failure = drill
        .failure
        .clone()
        .or_else(|| drill.resume.as_ref().and_then(|resume| resume.failure.clone()));
    let known = parts.iter().filter(|part| part.value.state == State::Known);
    let mut words: Vec<_> =
        known.map(|part| format!("{} {}", part.name, part.value.text)).collect();
    if resume.state == State::Known {
        words.push(format!("resume {}", resume.text));
    }
    words.extend(failure.as_ref().map(|failure| format!("failed: {failure}")));
    let text = format!("{}: {}.", placed.label(), words.join(", "));
    DrillBar { label: placed.label(), kind: placed.kind, parts, resume, failure, text }
}

fn table(drills: &[(&Placed<'_>, &ReclaimDrill)], scale: TimeScale) -> Table {
    let column = |key: &str, title: &str, numeric: bool| Column {
        key: key.to_owned(),
        title: title.to_owned(),
        numeric,
    };
    let failed = drills.iter().filter(|(_, drill)| drill.succeeded() == Some(false)).count();
    let note = format!(
        "{}, {} failed. Times count from the signal, but for the resume, which counts from the start \
         of the next trainer.",
        format::plural(drills.len() as u64, "drill", "drills"),
        format::count(failed as u64)
    );
    Table {
        key: "drills".to_owned(),
        title: "Reclaim and resume".to_owned(),
        note,
        columns: vec![
            column("block", "block", false),
            column("step_boundary_s", "step boundary", true),
            column("checkpoint_s", "checkpoint", true),
            column("unexplained_s", "unexplained", true),
            column("exit_s", "exit", true),
            column("memory_free_s", "memory free", true),
            column("resume_s", "resume to step", true),
            column("lost_steps", "lost steps", true),
            column("loss", "loss before → after", true),
            column("outcome", "outcome", false),
        ],
        rows: drills.iter().map(|(placed, drill)| row(placed, drill, scale)).collect(),
        empty: "not seen: no block ended with a drill".to_owned(),
    }
}

fn row(placed: &Placed<'_>, drill: &ReclaimDrill, scale: TimeScale) -> Vec<Value> {
    let seconds = |value: Option<f64>| match value {
        Some(value) => format::measured_in(value, Unit::Seconds, Some(scale)),
        None => Value::missing("not in the log"),
    };
    let resume = drill.resume.as_ref();
    let loss = resume.and_then(|resume| Some((resume.loss_before?, resume.loss_after?)));
    let loss = match loss {
        Some((before, after)) => {
            Value::words(format!("{} → {}", format::number(before), format::number(after)))
        }
        None => Value::missing("no loss"),
    };
    let outcome = match (drill.succeeded(), &drill.failure, resume) {
        (Some(true), _, _) => "resumed".to_owned(),
        (_, Some(failure), _) => format!("failed: {failure}"),
        (_, None, Some(resume)) => {
            format!("failed: {}", resume.failure.as_deref().unwrap_or("it did not resume"))
        }
        (_, None, None) => "no start came after it".to_owned(),
    };
    vec![
        Value::words(placed.label()),
        seconds(drill.step_boundary_s),
        seconds(drill.checkpoint_s),
        seconds(drill.unexplained_s()),
        seconds(drill.exit_s),
        seconds(drill.memory_free_s),
        seconds(resume.and_then(|resume| resume.first_step_s)),
        resume.map_or_else(
            || Value::missing("no start came after it"),
            |resume| format::counted(resume.lost_steps),
        ),
        loss,
        Value::words(outcome),
    ]
}
