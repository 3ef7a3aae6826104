//! What reclaim and transitions cost: every part with how often it was seen, in both directions; what a
//! checkpoint takes; and how often to write one.

use std::collections::BTreeMap;

use cotenant_core::evidence::{Block, Direction, HandChange, ReclaimDrill, ResumeCheck, Run};
use cotenant_core::stats::{
    ALPHA, checkpoint_overhead, clopper_pearson_upper, daly_interval, quantile, renewal_cost_rate,
    renewal_interval,
};
use cotenant_core::verdict::{CheckpointKind, CheckpointLook, Unit, checkpoint_looks};

use super::inputs::DeclaredCheckpoint;
use crate::format;
use crate::model::{Column, Table, Value};

/// A column.
fn column(key: &str, title: &str, numeric: bool) -> Column {
    Column { key: key.to_owned(), title: title.to_owned(), numeric }
}

/// The blocks that end by a drill or hold a change of hands.
fn drilled(runs: &[Run]) -> Vec<&Block> {
    let holds = |block: &&Block| block.drill.is_some() || !block.observed.changes.is_empty();
    runs.iter().flat_map(|run| &run.blocks).filter(holds).collect()
}

/// What every part of a change of hands took.
pub(super) fn costs(runs: &[Run]) -> Table {
    let blocks = drilled(runs);
    let drills: Vec<&ReclaimDrill> =
        blocks.iter().filter_map(|block| block.drill.as_ref()).collect();
    let resumes: Vec<&ResumeCheck> =
        drills.iter().filter_map(|drill| drill.resume.as_ref()).collect();
    let changes: Vec<&HandChange> =
        blocks.iter().flat_map(|block| &block.observed.changes).collect();
    let mut rows = drill_rows(&drills);
    rows.extend(change_rows(&changes, Direction::ToInference));
    rows.extend(change_rows(&changes, Direction::ToNeighbour));
    rows.extend(resume_rows(&resumes));
    Table {
        key: "transitions".to_owned(),
        title: "What reclaim and transitions cost".to_owned(),
        note: note(&blocks),
        columns: vec![
            column("direction", "direction", false),
            column("part", "part", false),
            column("seen", "n", true),
            column("p50", "p50", true),
            column("p95", "p95", true),
            column("max", "max", true),
        ],
        rows,
        empty: "not seen: no block ended with a drill".to_owned(),
    }
}

/// How many failed, with their bound, and how to read the table.
fn note(blocks: &[&Block]) -> String {
    let failed = blocks.iter().filter(|block| has_failed(block)).count();
    let seen = blocks.len();
    let bound = clopper_pearson_upper(failed as f64, seen as f64, ALPHA).ok();
    let bound = bound.map_or_else(String::new, |bound| {
        format!(", so at most {} of changes of hands do (95 %)", format::share(bound))
    });
    let inconsistent = blocks.iter().any(|block| {
        let drill = block.drill.as_ref().and_then(ReclaimDrill::unexplained_s);
        let changes = block.observed.changes.iter().filter_map(HandChange::unexplained_s);
        changes.chain(drill).any(|seconds| seconds < 0.0)
    });
    let warning = if inconsistent {
        " Below zero it is an inconsistency: whoever told the parts counted some time twice."
    } else {
        ""
    };
    format!(
        "{failed} of {} failed{bound}. What no log and no call owns stands as unexplained.{warning} \
         Quantiles are order statistics: the p95 of fewer than 20 is their maximum.",
        format::plural(seen as u64, "drill", "drills")
    )
}

fn has_failed(block: &Block) -> bool {
    let drill = block.drill.as_ref().and_then(ReclaimDrill::succeeded) == Some(false);
    drill || block.observed.changes.iter().any(|change| change.failure.is_some())
}

fn row(direction: Direction, part: &str, seconds: &[f64]) -> Option<Vec<Value>> {
    times_row(direction, part, seconds, |value| format::measured(value, Unit::Seconds))
}

fn times_row(
    direction: Direction,
    part: &str,
    values: &[f64],
    show: impl Fn(f64) -> Value,
) -> Option<Vec<Value>> {
    let at = |share: f64| quantile(values, share).ok().map(&show);
    let longest = values.iter().copied().reduce(f64::max)?;
    Some(vec![
        Value::words(direction.name()),
        Value::words(part),
        format::counted(values.len() as u64),
        at(0.5)?,
        at(0.95)?,
        show(longest),
    ])
}

fn drill_rows(drills: &[&ReclaimDrill]) -> Vec<Vec<Value>> {
    let to = Direction::ToInference;
    let of = |part: fn(&ReclaimDrill) -> Option<f64>| -> Vec<f64> {
        drills.iter().filter_map(|drill| part(drill)).collect()
    };
    [
        row(to, "signal → step boundary", &of(|drill| drill.step_boundary_s)),
        row(to, "checkpoint", &of(|drill| drill.checkpoint_s)),
        row(to, "unexplained, to the exit", &of(ReclaimDrill::unexplained_s)),
        row(to, "signal → exit", &of(|drill| drill.exit_s)),
        row(to, "exit → memory free", &of(|drill| Some(drill.memory_free_s? - drill.exit_s?))),
        row(to, "signal → memory free", &of(|drill| drill.memory_free_s)),
        row(to, "signal → engine back", &of(|drill| drill.engine_ready_s)),
        row(to, "signal → first token", &of(|drill| drill.first_token_s)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// One row for the whole of each change, one for each of its parts, and what is left.
fn change_rows(changes: &[&HandChange], direction: Direction) -> Vec<Vec<Value>> {
    let mut names: Vec<(String, Vec<&HandChange>)> = Vec::new();
    for change in changes.iter().filter(|change| change.direction == direction) {
        let name = format!("{}: {}", change.kind.name(), change.what);
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(change),
            None => names.push((name, vec![change])),
        }
    }
    let mut rows = Vec::new();
    for (name, members) in names {
        let whole: Vec<f64> = members.iter().filter_map(|change| change.total_s).collect();
        rows.extend(row(direction, &name, &whole));
        let mut parts: BTreeMap<(&str, bool), Vec<f64>> = BTreeMap::new();
        for part in members.iter().flat_map(|change| &change.parts) {
            parts.entry((&part.name, part.logged)).or_default().push(part.seconds);
        }
        for ((part, logged), seconds) in parts {
            let whose = if logged { " (its log)" } else { "" };
            rows.extend(row(direction, &format!("· {part}{whose}"), &seconds));
        }
        let left: Vec<f64> = members.iter().filter_map(|change| change.unexplained_s()).collect();
        rows.extend(row(direction, "· unexplained", &left));
    }
    rows
}

fn resume_rows(resumes: &[&ResumeCheck]) -> Vec<Vec<Value>> {
    let to = Direction::ToNeighbour;
    let of = |part: fn(&ResumeCheck) -> Option<f64>| -> Vec<f64> {
        resumes.iter().filter_map(|resume| part(resume)).collect()
    };
    let lost: Vec<f64> = resumes.iter().map(|resume| resume.lost_steps as f64).collect();
    [
        row(to, "start → restored", &of(|resume| resume.restore_s)),
        row(to, "start → first step", &of(|resume| resume.first_step_s)),
        row(to, "start → steady pace", &of(|resume| resume.steady_s)),
        times_row(to, "steps done again", &lost, |value| format::counted(value as u64)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What a checkpoint took beside the steps, by kind.
pub(super) fn checkpoints(runs: &[Run], declared: &DeclaredCheckpoint) -> Table {
    let looks = looks(runs);
    let mut rows = Vec::new();
    for kind in CheckpointKind::ALL {
        let of_kind: Vec<&CheckpointLook> = looks.iter().filter(|l| l.kind == kind).collect();
        if !of_kind.is_empty() {
            rows.push(kind_row(kind, &of_kind));
        }
    }
    Table {
        key: "checkpoints".to_owned(),
        title: "Checkpoints beside the steps".to_owned(),
        note: checkpoint_note(&looks, declared),
        columns: vec![
            column("kind", "as seen", false),
            column("seen", "n", true),
            column("duration_p50", "takes, p50", true),
            column("duration_max", "takes, max", true),
            column("stall_p50", "visible stall, p50", true),
            column("stall_max", "visible stall, max", true),
            column("memory_max", "host memory above before, max", true),
            column("cpu_max", "CPU above before, max", true),
        ],
        rows,
        empty: "not seen: no checkpoint was written beside steps".to_owned(),
    }
}

fn looks(runs: &[Run]) -> Vec<CheckpointLook> {
    let of = |run: &Run| -> Vec<CheckpointLook> {
        run.blocks.iter().flat_map(|block| checkpoint_looks(block, &run.neighbour)).collect()
    };
    runs.iter().flat_map(of).collect()
}

fn kind_row(kind: CheckpointKind, looks: &[&CheckpointLook]) -> Vec<Value> {
    let seconds = |values: &[f64], share: f64| match quantile(values, share) {
        Ok(value) => format::measured(value, Unit::Seconds),
        Err(_) => Value::missing("no steps on both sides"),
    };
    let durations: Vec<f64> = looks.iter().map(|look| look.duration_s).collect();
    let stalls: Vec<f64> = looks.iter().filter_map(|look| look.stall_s).collect();
    let memory = looks.iter().filter_map(|look| look.host_memory_bytes).max();
    let cpu = looks.iter().filter_map(|look| look.cpu_cores).reduce(f64::max);
    let unread = "no reading of the host at that moment";
    vec![
        Value::words(kind.name()),
        format::counted(looks.len() as u64),
        seconds(&durations, 0.5),
        seconds(&durations, 1.0),
        seconds(&stalls, 0.5),
        seconds(&stalls, 1.0),
        memory.map_or_else(
            || Value::missing(unread),
            |bytes| format::value_with_text(bytes as f64, "B", format::bytes(bytes as f64)),
        ),
        cpu.map_or_else(|| Value::missing(unread), format::cores),
    ]
}

fn checkpoint_note(looks: &[CheckpointLook], declared: &DeclaredCheckpoint) -> String {
    let seen = |asynchronous: bool| {
        looks.iter().filter(|look| look.kind.is_asynchronous() == Some(asynchronous)).count()
    };
    let (synchronous, asynchronous) = (seen(false), seen(true));
    let against = match declared.asynchronous {
        Some(true) if synchronous > 0 => format!(
            " Declared as asynchronous, but no step was finished while {synchronous} of them were \
             written."
        ),
        Some(false) if asynchronous > 0 => format!(
            " Declared as synchronous, but steps went on while {asynchronous} of them were written."
        ),
        _ => String::new(),
    };
    format!(
        "From the steps, and the host's readings once a second, around each checkpoint that was \
         written while training went on. The visible stall is the longest gap between two steps, less \
         a median one.{against}"
    )
}

/// How often to write a checkpoint, from what one costs and what a restart costs.
pub(super) fn intervals(runs: &[Run], declared: &DeclaredCheckpoint) -> Table {
    let mut table = Table {
        key: "checkpoint_interval".to_owned(),
        title: "How often to write a checkpoint".to_owned(),
        note: String::new(),
        columns: vec![
            column("rule", "rule", false),
            column("interval", "interval", true),
            column("overhead", "time lost", true),
        ],
        rows: Vec::new(),
        empty: "not seen: no checkpoint and no restart were measured".to_owned(),
    };
    let Some((cost_s, restart_s)) = measured_costs(runs) else { return table };
    table.note = format!(
        "One checkpoint costs {} and a restart {} (medians that were measured). Announced reclaims \
         that leave time to save lose nothing: one checkpoint at the end is enough for those, and \
         these intervals are for losses that nothing announces.",
        format::time(cost_s),
        format::time(restart_s)
    );
    "declare `preemption.mean_time_to_loss`, and the interval follows".clone_into(&mut table.empty);
    let seconds = |value: f64| format::measured(value, Unit::Seconds);
    let lost = |share: f64| format::measured(share, Unit::Share);
    if let Some(mean_s) = declared.mean_time_to_loss_s {
        let overhead = |interval_s: f64| {
            checkpoint_overhead(interval_s, cost_s, mean_s, restart_s)
                .map_or_else(|refusal| Value::missing(refusal.to_string()), lost)
        };
        if let Ok(daly_s) = daly_interval(cost_s, mean_s) {
            let rule = format!("Daly, a loss each {}", format::round_time(mean_s));
            table.rows.push(vec![Value::words(rule), seconds(daly_s), overhead(daly_s)]);
        }
        if let Some(interval_s) = declared.interval_s {
            let rule = Value::words("as declared, under the same losses");
            table.rows.push(vec![rule, seconds(interval_s), overhead(interval_s)]);
        }
    }
    if let Ok(best_s) = renewal_interval(cost_s, restart_s, &declared.windows_s) {
        let rate = renewal_cost_rate(best_s, cost_s, restart_s, &declared.windows_s);
        table.rows.push(vec![
            Value::words("renewal over the declared windows, if their end is not announced"),
            seconds(best_s),
            rate.map_or_else(|refusal| Value::missing(refusal.to_string()), lost),
        ]);
    }
    table
}

/// Medians of what a checkpoint and a restart cost, seconds.
fn measured_costs(runs: &[Run]) -> Option<(f64, f64)> {
    let beside: Vec<f64> = looks(runs).iter().map(CheckpointLook::cost_s).collect();
    let drills: Vec<&ReclaimDrill> =
        runs.iter().flat_map(|run| &run.blocks).filter_map(|block| block.drill.as_ref()).collect();
    let at_stops: Vec<f64> = drills.iter().filter_map(|drill| drill.checkpoint_s).collect();
    let cost_s = quantile(&beside, 0.5).or_else(|_| quantile(&at_stops, 0.5)).ok()?;
    let restarts: Vec<f64> =
        drills.iter().filter_map(|drill| drill.resume.as_ref()?.first_step_s).collect();
    let restart_s = quantile(&restarts, 0.5).ok()?;
    (cost_s > 0.0).then_some((cost_s, restart_s))
}
