//! Memory of the host: processes, copies of sleeping engines, and what a checkpoint takes for a
//! while.

use super::amount::{Range, Scale, sum};
use super::draft::{counted, line_of, listed, number, open, quoted};
use super::gpu_memory::outcome;
use super::placement;
use crate::plan::model::{Check, Outcome};
use crate::site::{MemoryNeed, Server, SharingMode, Site, SiteKind, Workload, WorkloadKind};
use crate::units::Bytes;

/// On one server all workloads meet, so there is one check. In a pool each may have a node of its own,
/// or meet the others there: one check for each, in the group of servers that fits best.
pub(super) fn checks(site: &Site) -> Vec<Check> {
    let workloads: Vec<&Workload> = placement::with_processes(site).collect();
    match &site.kind {
        SiteKind::Server(server) => {
            check(site, server, "the host", &workloads, &[]).into_iter().collect()
        }
        SiteKind::Pool(pool) => workloads
            .iter()
            .filter_map(|workload| {
                let others: Vec<&Workload> =
                    workloads.iter().filter(|other| other.name != workload.name).copied().collect();
                let of_groups = pool.nodes.iter().filter_map(|group| {
                    let place = format!("a node of {}", group.name);
                    check(site, &group.server, &place, &[workload], &others)
                });
                of_groups
                    .reduce(|best, other| if other.outcome > best.outcome { other } else { best })
            })
            .collect(),
    }
}

/// One workload on one host.
struct Row<'a> {
    workload: &'a Workload,
    /// Processes × host.
    processes: Range,
    /// Copies of the weights that sleeping engines keep.
    sleep: Range,
    /// What a checkpoint takes while it is written.
    transient: Range,
    /// Engines, and the weights of one, where it sleeps at level 1.
    engines: Option<(u32, Bytes)>,
    lines: Vec<String>,
    missing: Vec<String>,
}

impl Row<'_> {
    fn total(&self) -> Range {
        sum([self.processes, self.sleep, self.transient])
    }
}

/// Whether workloads fit on a host that they may have to share with others.
fn check(
    site: &Site,
    server: &Server,
    place: &str,
    workloads: &[&Workload],
    others: &[&Workload],
) -> Option<Check> {
    let says_anything = server.memory.is_some() || workloads.iter().any(|workload| says(workload));
    if workloads.is_empty() || !says_anything {
        return None;
    }
    let names: Vec<String> = workloads.iter().map(|workload| workload.name.clone()).collect();
    let who = listed(&names.iter().map(|name| quoted(name)).collect::<Vec<_>>());
    let fits = if names.len() > 1 { "Do" } else { "Does" };
    let title = format!("{fits} {who} fit into the memory of {place}?");
    let mut check = open("host_memory", title, names);
    check.sources = vec![
        "radixark/Megatron-LM#61: a synchronous checkpoint stages the full shard of a node",
        "verl-project/verl#224 and OpenRLHF/OpenRLHF#1013: sleep level 1 keeps the weights of each \
         engine on the host",
    ];
    let amounts = workloads.iter().flat_map(|workload| declared(workload)).chain(server.memory);
    let scale = Scale::of(amounts);
    let rows: Vec<Row<'_>> = workloads.iter().map(|workload| row(workload, scale)).collect();
    check.arithmetic.extend(rows.iter().flat_map(|row| row.lines.iter().cloned()));
    let beside = sum(others.iter().map(|other| row(other, scale).total()));
    let own = needed(site, &rows);
    // Others may be on the same node or not.
    let needed = Range { low: own.low, high: own.plus(beside).high };
    let parts: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row.workload.name, scale.range(row.total())))
        .collect();
    check.arithmetic.push(format!(
        "together: {} = {}; page cache is not counted, the kernel takes it back",
        parts.join(" + "),
        scale.range(own)
    ));
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|other| quoted(&other.name)).collect();
        check.arithmetic.push(format!(
            "up to {} where {} are on the same node",
            needed.high.map_or_else(|| "an unknown amount".to_owned(), |high| scale.show(high)),
            listed(&names)
        ));
    }
    check.missing.extend(rows.iter().flat_map(|row| row.missing.iter().cloned()));
    let Some(memory) = server.memory else {
        check.answer = format!("what {place} has is not declared");
        check.missing.insert(0, "server: { memory: … GiB }".to_owned());
        return Some(check);
    };
    let there = memory.0 as f64;
    shares(&rows, there, scale, &mut check);
    check.outcome = outcome(needed, there);
    answer(place, needed, there, scale, &mut check);
    if check.outcome == Outcome::Open && outcome(own, there) == Outcome::Holds {
        let names: Vec<String> = others.iter().map(|other| quoted(&other.name)).collect();
        check.would_be_conditional_on.push(format!("a node without {}", listed(&names)));
    } else if check.outcome != Outcome::Holds && (own.high.is_some() || own.low > there) {
        conditions(&rows, own, there, scale, &mut check);
    }
    Some(check)
}

/// Turns on the GPUs do not empty the host: a job that gave up its GPUs is gone, an engine that
/// sleeps is not. So all are counted at once but for jobs that never meet.
fn needed(site: &Site, rows: &[Row<'_>]) -> Range {
    let all = sum(rows.iter().map(Row::total));
    if !matches!(site.sharing.mode, SharingMode::Temporal(_)) {
        return all;
    }
    // Under turns, what is not asleep may have left. The least is then what any one takes beside the
    // copies of those that sleep.
    let copies = sum(rows.iter().map(|row| row.sleep)).low;
    let beside = |row: &Row<'_>| row.processes.low + row.transient.low;
    let largest = rows.iter().map(beside).fold(0.0, f64::max);
    Range { low: copies + largest, high: all.high }
}

fn memory_of(workload: &Workload) -> Option<MemoryNeed> {
    workload.memory
}

/// What a checkpoint of a job takes on the host: two fields say it, and the larger counts.
fn transient_of(workload: &Workload) -> Option<Bytes> {
    let of_checkpoint = match &workload.kind {
        WorkloadKind::Training(training) => {
            training.checkpoint.as_ref().and_then(|checkpoint| checkpoint.host_memory)
        }
        _ => None,
    };
    memory_of(workload).and_then(|memory| memory.checkpoint_transient).max(of_checkpoint)
}

fn says(workload: &Workload) -> bool {
    let of_memory = memory_of(workload)
        .is_some_and(|memory| memory.host.is_some() || memory.sleep_level == Some(1));
    of_memory || transient_of(workload).is_some()
}

fn declared(workload: &Workload) -> Vec<Bytes> {
    let memory = memory_of(workload);
    let copies = memory.filter(|memory| memory.sleep_level == Some(1)).and_then(|m| m.weights);
    [memory.and_then(|memory| memory.host), copies, transient_of(workload)]
        .into_iter()
        .flatten()
        .collect()
}

fn row(workload: &Workload, scale: Scale) -> Row<'_> {
    let memory = memory_of(workload);
    let mut row = Row {
        workload,
        processes: Range::UNKNOWN,
        sleep: Range::ZERO,
        transient: Range::ZERO,
        engines: None,
        lines: Vec::new(),
        missing: Vec::new(),
    };
    let processes = memory.and_then(|memory| memory.processes);
    let host = memory.and_then(|memory| memory.host);
    row.processes = match (processes, host) {
        (Some(number), Some(host)) => {
            row.lines.push(format!(
                "{}: {} × host {} = {}",
                workload.name,
                counted(u64::from(number), "process").replace("processs", "processes"),
                scale.show(host.0 as f64),
                scale.show(f64::from(number) * host.0 as f64)
            ));
            Range::bytes(host).times(f64::from(number))
        }
        // At least one process runs.
        (None, Some(host)) => Range { low: host.0 as f64, high: None },
        (_, None) => Range::UNKNOWN,
    };
    if row.processes.high.is_none() {
        row.missing.push(line_of(&workload.name, "memory: { host: … GiB, processes: … }"));
    }
    copies(&mut row, processes, scale);
    transient(&mut row, scale);
    row
}

/// At level 1 each engine keeps its weights on the host while it sleeps.
fn copies(row: &mut Row<'_>, processes: Option<u32>, scale: Scale) {
    let memory = memory_of(row.workload);
    if memory.and_then(|memory| memory.sleep_level) != Some(1) {
        return;
    }
    let weights = memory.and_then(|memory| memory.weights);
    row.sleep = match (processes, weights) {
        (Some(engines), Some(weights)) => {
            row.engines = Some((engines, weights));
            row.lines.push(format!(
                "{}: {} asleep at level 1 × weights {} = {}",
                row.workload.name,
                counted(u64::from(engines), "engine"),
                scale.show(weights.0 as f64),
                scale.show(f64::from(engines) * weights.0 as f64)
            ));
            Range::bytes(weights).times(f64::from(engines))
        }
        (None, Some(weights)) => Range { low: weights.0 as f64, high: None },
        (_, None) => Range::UNKNOWN,
    };
    if row.sleep.high.is_none() {
        row.missing.push(line_of(&row.workload.name, "memory: { weights: … GiB, processes: … }"));
    }
}

fn transient(row: &mut Row<'_>, scale: Scale) {
    let WorkloadKind::Training(training) = &row.workload.kind else { return };
    match transient_of(row.workload) {
        Some(transient) => {
            row.transient = Range::bytes(transient);
            row.lines.push(format!(
                "{}: a checkpoint takes {} for a while: the whole shard of the host",
                row.workload.name,
                scale.show(transient.0 as f64)
            ));
        }
        None if training.checkpoint.is_some() || training.preemption.is_some() => {
            row.transient = Range::UNKNOWN;
            row.missing.push(line_of(
                &row.workload.name,
                "training: { checkpoint: { host_memory: … GiB } }",
            ));
        }
        None => {}
    }
}

/// Shares of what is there, so that a transient that takes most of it is seen.
fn shares(rows: &[Row<'_>], there: f64, scale: Scale, check: &mut Check) {
    for row in rows.iter().filter(|row| row.transient.low > 0.0 && there > 0.0) {
        check.arithmetic.push(format!(
            "a checkpoint of {} takes {} of {}: {} %; {} stay for everything else meanwhile",
            row.workload.name,
            scale.show(row.transient.low),
            scale.show(there),
            number(row.transient.low / there * 100.0, 0),
            scale.show(there - row.transient.low)
        ));
    }
}

fn answer(place: &str, needed: Range, there: f64, scale: Scale, check: &mut Check) {
    let shown = format!("{} of {place}", scale.show(there));
    check.answer = match check.outcome {
        Outcome::Fails => format!(
            "no: {} is needed at once of the {shown}: {} is missing",
            scale.show(needed.low),
            scale.show(needed.low - there)
        ),
        Outcome::Holds => {
            let high = needed.high.unwrap_or(needed.low);
            format!(
                "at most {} is needed of the {shown}, {} stays free",
                scale.show(high),
                scale.show(there - high)
            )
        }
        Outcome::Open => format!("cannot be decided: {} of the {shown}", scale.amount(needed)),
    };
}

/// Remedies, of which one is enough.
fn conditions(rows: &[Row<'_>], needed: Range, there: f64, scale: Scale, check: &mut Check) {
    let all = needed.high.unwrap_or(needed.low);
    let remedies: Vec<String> =
        rows.iter().flat_map(|row| remedies(row, all, there, scale)).collect();
    if !remedies.is_empty() {
        check.would_be_conditional_on.push(remedies.join(", or "));
    }
}

/// What one workload can do: write its checkpoint in parts, sleep deeper, or with fewer engines.
fn remedies(row: &Row<'_>, all: f64, there: f64, scale: Scale) -> Vec<String> {
    let name = quoted(&row.workload.name);
    let mut remedies = Vec::new();
    let left = there - (all - row.transient.low);
    if row.transient.low > 0.0 && left > 0.0 {
        remedies.push(format!(
            "checkpoints of {name} are written in staged buckets of at most {} in all",
            scale.show(left.min(row.transient.low))
        ));
    }
    let Some((engines, weights)) = row.engines else { return remedies };
    let without = all - row.sleep.low;
    if without <= there {
        remedies.push(format!(
            "{name} sleeps at level 2, which keeps no copy: {} of {}",
            scale.show(without),
            scale.show(there)
        ));
    }
    let copy = weights.0 as f64;
    let fit = if copy > 0.0 { ((there - without) / copy).floor().max(0.0) as u32 } else { 0 };
    if fit > 0 && fit < engines {
        remedies.push(format!(
            "at most {} of {name} asleep at level 1: ({} − {}) ÷ {}",
            counted(u64::from(fit), "engine"),
            scale.show(there),
            scale.show(without),
            scale.show(copy)
        ));
    }
    remedies
}
