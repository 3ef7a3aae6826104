//! What Slurm, Kubernetes and Kueue say, and logs of a host about its GPUs.

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading, FileRefusal, Table};

use super::kubernetes;
use super::look::{Claim, Look, Outcome, short};
use crate::scheduler::{
    Gpus, Job, Kind, Node, ReadError, Reading, Stated, read as read_scheduler, recognise,
};

const SEEMS: &str = "an output of a scheduler";

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    let bytes = if look.is_whole { look.bytes } else { look.sample().as_bytes() };
    let kind = recognise(look.name, bytes)?;
    let clue = match &look.json {
        Some(value) => {
            let keys: Vec<&str> = value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, _)| key.as_str())
                .take(4)
                .collect();
            format!("has the keys {} of {}", short(&keys.join(", "), 60), kind.name())
        }
        None => {
            format!("begins as {} does: `{}`", kind.name(), short(look.first_line().1, 40))
        }
    };
    Some(Claim::sure(clue, read))
}

/// What a text is that a scheduler's tool printed in place of what it was asked for; `None` where
/// nothing shows that.
pub(super) fn said_instead(look: &Look<'_>) -> Option<FileRefusal> {
    /// An error message is short.
    const BYTES_MAX: usize = 1 << 20;
    /// How texts begin of which nothing is known.
    const UNKNOWN: [&str; 3] =
        ["JSON of no scheduler", "prose, with no object", "a text of no scheduler"];
    if !look.is_whole || look.bytes.len() > BYTES_MAX {
        return None;
    }
    let error = read_scheduler(look.name, look.bytes).err()?;
    let is_known = !UNKNOWN.iter().any(|start| error.what.starts_with(start));
    is_known.then(|| refused(look, &error))
}

fn refused(look: &Look<'_>, error: &ReadError) -> FileRefusal {
    let (seems, why) = match error.what.split_once(": ") {
        Some((seems, why)) => (seems.to_owned(), why.to_owned()),
        None => (error.what.clone(), "there is nothing in it to read".to_owned()),
    };
    look.refuse(seems, why, error.way_out.clone()).at(error.line)
}

fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole(SEEMS)?;
    let found = read_scheduler(look.name, look.bytes).map_err(|error| refused(look, &error))?;
    Ok(told(&found).into())
}

fn kind_of(found: &Reading) -> FileKind {
    match found.kind {
        Kind::KueueObjects => FileKind::Kueue,
        Kind::KubernetesObjects
        | Kind::KubectlTable
        | Kind::KubectlDescribe
        | Kind::KubernetesEvents
        | Kind::NodeLabels => {
            let of_kueue = found.workloads.len() + found.queues.len() + found.flavors.len();
            let others = found.pods.len() + found.kubernetes_nodes.len() + found.others.len();
            if of_kueue > others { FileKind::Kueue } else { FileKind::Kubernetes }
        }
        Kind::Pasted => {
            let of_slurm = found.jobs.len() + found.nodes.len() + found.partitions.len();
            if of_slurm > 0 {
                FileKind::Slurm
            } else if found.workloads.len() + found.queues.len() + found.flavors.len() > 0 {
                FileKind::Kueue
            } else {
                FileKind::Kubernetes
            }
        }
        Kind::KernelLog | Kind::FabricManagerLog => FileKind::HostLog,
        _ => FileKind::Slurm,
    }
}

fn told(found: &Reading) -> FileReading {
    let kind = kind_of(found);
    let mut reading = FileReading::new(&found.file, kind, found.kind.name());
    reading.producer = Some(
        match kind {
            FileKind::Slurm => "Slurm",
            FileKind::Kueue => "Kueue",
            FileKind::HostLog if found.kind == Kind::KernelLog => "NVIDIA's kernel module",
            FileKind::HostLog => "NVIDIA's fabric manager",
            _ => "Kubernetes",
        }
        .to_owned(),
    );
    reading.version.clone_from(&found.version);
    reading.count("records", found.records());
    jobs(&mut reading, &found.jobs);
    nodes(&mut reading, &found.nodes);
    cluster(&mut reading, found);
    kubernetes::tell(&mut reading, found);
    faults(&mut reading, found);
    for skipped in &found.skipped {
        reading.skip(format!("{}: {}: «{}»", skipped.place, skipped.why, skipped.text));
    }
    reading.skipped_left_out += found.skipped_total.saturating_sub(found.skipped.len() as u64);
    for caveat in &found.caveats {
        reading.note(caveat.clone());
    }
    if found.records_left_out > 0 {
        reading.note(format!("records that were read and not counted: {}", found.records_left_out));
    }
    reading
}

pub(super) fn words<T: fmt::Display>(value: &Stated<T>) -> Figure {
    match value {
        Ok(value) => Figure::text(value.to_string()),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

fn list(value: &Stated<Vec<String>>) -> Figure {
    match value {
        Ok(values) => Figure::text(values.join(", ")),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

pub(super) fn whole(value: &Stated<u64>, unit: &'static str) -> Figure {
    match value {
        Ok(value) => Figure::number(*value as f64, unit),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

fn number(value: &Stated<f64>, unit: &'static str) -> Figure {
    match value {
        Ok(value) => Figure::number(*value, unit),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

pub(super) fn flag(value: &Stated<bool>) -> Figure {
    match value {
        Ok(value) => Figure::text(if *value { "yes" } else { "no" }),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

fn gpus(value: &Stated<Gpus>) -> Figure {
    match value {
        Ok(gpus) if gpus.mig_instances > 0.0 || gpus.is_cut_off => {
            let mig = if gpus.mig_instances > 0.0 {
                format!(" and {} MIG instances", gpus.mig_instances)
            } else {
                String::new()
            };
            let more = if gpus.is_cut_off { ", and more that are cut off" } else { "" };
            Figure::text(format!("{}{mig}{more}", gpus.total))
        }
        Ok(gpus) => Figure::number(gpus.total, ""),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

/// The sum of the GPUs that records name, and how many records name none.
fn sum<'g>(
    reading: &mut FileReading,
    name: &str,
    all: impl Iterator<Item = (&'g Stated<Gpus>, f64)>,
) {
    let (mut total, mut named, mut silent) = (0.0, 0_u64, 0_u64);
    for (gpus, times) in all {
        match gpus {
            Ok(gpus) => {
                total += gpus.total * times;
                named += 1;
            }
            Err(_) => silent += 1,
        }
    }
    let figure = if named == 0 {
        Figure::absent("no record names a GPU")
    } else {
        Figure::number(total, "")
    };
    reading.fact(name.to_owned(), figure);
    if named > 0 && silent > 0 {
        reading.note(format!("{name}: {silent} records name no GPU"));
    }
}

/// How many records there are in each state.
fn states<'s>(
    reading: &mut FileReading,
    of: &str,
    all: impl Iterator<Item = &'s Stated<Vec<String>>>,
) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for states in all {
        let name = states
            .as_ref()
            .map_or_else(|absence| format!("state {absence}"), |all| all.join(" + "));
        *counts.entry(name).or_default() += 1;
    }
    for (state, count) in counts {
        reading.count(format!("{of}, {state}"), count);
    }
}

fn jobs(reading: &mut FileReading, all: &[Job]) {
    if all.is_empty() {
        return;
    }
    let whole_jobs = || all.iter().filter(|job| !job.is_step);
    reading.count("jobs", whole_jobs().count());
    reading.count("steps of jobs", all.iter().filter(|job| job.is_step).count());
    states(reading, "jobs", whole_jobs().map(|job| &job.states));
    let mut waits: BTreeMap<&'static str, u64> = BTreeMap::new();
    for wait in whole_jobs().filter_map(|job| job.wait.as_ref().ok()) {
        *waits.entry(wait.name()).or_default() += 1;
    }
    for (wait, count) in waits {
        reading.count(format!("jobs that wait for {wait}"), count);
    }
    let active = |job: &&Job| job.is_in("RUNNING");
    sum(
        reading,
        "GPUs of running jobs",
        whole_jobs().filter(active).map(|job| (&job.gpus_allocated, 1.0)),
    );
    sum(
        reading,
        "GPUs that waiting jobs ask for",
        whole_jobs().filter(|job| job.is_waiting()).map(|job| (&job.gpus_requested, 1.0)),
    );
    let mut table = Table::new(
        "Jobs",
        &[
            "id",
            "state",
            "partition",
            "GPUs asked for",
            "GPUs given",
            "nodes",
            "elapsed",
            "limit",
            "reason",
            "submitted",
            "started",
            "ended",
        ],
    );
    for job in whole_jobs() {
        table.row(vec![
            words(&job.id),
            list(&job.states),
            words(&job.partition),
            gpus(&job.gpus_requested),
            gpus(&job.gpus_allocated),
            words(&job.nodes),
            whole(&job.elapsed_s, "s"),
            whole(&job.limit_s, "s"),
            words(&job.reason),
            words(&job.submitted),
            words(&job.started),
            words(&job.ended),
        ]);
    }
    reading.table(table);
}

fn nodes(reading: &mut FileReading, all: &[Node]) {
    if all.is_empty() {
        return;
    }
    let times = |node: &Node| node.count.as_ref().map_or(1.0, |count| *count as f64);
    reading.count("rows of nodes", all.len());
    states(reading, "rows of nodes", all.iter().map(|node| &node.states));
    sum(reading, "GPUs of nodes", all.iter().map(|node| (&node.gpus, times(node))));
    sum(reading, "GPUs of nodes in use", all.iter().map(|node| (&node.gpus_used, times(node))));
    let partitions = all.iter().filter(|node| node.partition.is_ok() && node.name.is_err()).count();
    if partitions > 0 || all.iter().any(|node| node.partition.is_ok()) {
        reading.note("a node of several partitions stands in several rows, and its GPUs in each");
    }
    let mut table = Table::new(
        "Nodes",
        &["node", "count", "partition", "state", "GPUs", "GPUs in use", "CPUs", "memory", "reason"],
    );
    for node in all {
        table.row(vec![
            words(&node.name),
            whole(&node.count, ""),
            words(&node.partition),
            list(&node.states),
            gpus(&node.gpus),
            gpus(&node.gpus_used),
            whole(&node.cpus, ""),
            number(&node.memory_mib, "MiB"),
            words(&node.reason),
        ]);
    }
    reading.table(table);
}

/// Partitions, reservations, licences, limits, shares, statistics and settings.
fn cluster(reading: &mut FileReading, found: &Reading) {
    let mut table = Table::new(
        "Partitions",
        &["partition", "state", "nodes", "GPUs", "limit", "tier", "preemption", "grace"],
    );
    for one in &found.partitions {
        table.row(vec![
            words(&one.name),
            words(&one.state),
            whole(&one.node_count, ""),
            gpus(&one.gpus),
            whole(&one.limit_s, "s"),
            whole(&one.priority_tier, ""),
            words(&one.preempt_mode),
            whole(&one.grace_s, "s"),
        ]);
    }
    counted(reading, "partitions", table);
    let mut table = Table::new(
        "Reservations",
        &["reservation", "from", "until", "duration", "nodes", "GPUs", "state"],
    );
    for one in &found.reservations {
        table.row(vec![
            words(&one.name),
            words(&one.start),
            words(&one.end),
            whole(&one.duration_s, "s"),
            words(&one.nodes),
            gpus(&one.gpus),
            words(&one.state),
        ]);
    }
    counted(reading, "reservations", table);
    let mut table = Table::new("Licences", &["licence", "all", "in use", "free"]);
    for one in &found.licenses {
        table.row(vec![
            words(&one.name),
            whole(&one.total, ""),
            whole(&one.used, ""),
            whole(&one.free, ""),
        ]);
    }
    counted(reading, "licences", table);
    let mut table = Table::new("Limits", &["of", "owner", "kind", "resource", "limit", "used"]);
    for one in &found.quotas {
        table.row(vec![
            Figure::text(one.owner_kind),
            Figure::text(one.owner.clone()),
            Figure::text(one.limit_kind.clone()),
            Figure::text(one.resource.clone()),
            number(&one.limit, ""),
            number(&one.used, ""),
        ]);
    }
    counted(reading, "limits", table);
    let mut table =
        Table::new("Shares", &["account", "user", "shares", "share", "share of use", "factor"]);
    for one in &found.shares {
        table.row(vec![
            words(&one.account),
            words(&one.user),
            whole(&one.shares, ""),
            number(&one.share, "share"),
            number(&one.usage_share, "share"),
            number(&one.factor, ""),
        ]);
    }
    counted(reading, "shares", table);
    let mut table = Table::new("Statistics", &["part", "name", "value"]);
    for one in &found.statistics {
        let part = Some(one.group.clone()).filter(|group| !group.is_empty());
        table.row(vec![
            Figure::text_or(part, "the head"),
            Figure::text(one.name.clone()),
            number(&one.value, one.unit),
        ]);
    }
    counted(reading, "statistics", table);
    let mut table = Table::new("Settings", &["key", "value"]);
    for one in &found.settings {
        table.row(vec![Figure::text(one.key.clone()), words(&one.value)]);
    }
    counted(reading, "settings", table);
}

/// Adds a table with the number of its rows.
pub(super) fn counted(reading: &mut FileReading, name: &'static str, table: Table) {
    if !table.rows.is_empty() {
        reading.count(name, table.rows.len() as u64 + table.rows_left_out);
        reading.table(table);
    }
}

fn faults(reading: &mut FileReading, found: &Reading) {
    if kind_of(found) != FileKind::HostLog {
        return;
    }
    reading.count("faults", found.faults.len());
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut table = Table::new("Faults", &["place", "time", "source", "code", "device", "message"]);
    for one in &found.faults {
        if let Ok(code) = one.code {
            *counts.entry(format!("{} {code}", one.source)).or_default() += 1;
        }
        table.row(vec![
            Figure::text(one.place.to_string()),
            words(&one.time),
            Figure::text(one.source),
            whole(&one.code, ""),
            words(&one.device),
            Figure::text(one.message.clone()),
        ]);
    }
    for (name, count) in counts {
        reading.count(name, count);
    }
    reading.table(table);
}
