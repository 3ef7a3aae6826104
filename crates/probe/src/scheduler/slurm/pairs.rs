//! `key=value` records of `scontrol show`: one a line (`-o`) or indented over several lines.
//!
//! Values hold blanks (`OS=Linux 5.14 …`, `Reason=planned maintenance [root@…]`), so a new pair begins
//! only where a word that looks like a key of Slurm stands before an equals sign.

use super::super::cluster::{License, Partition, Quota, Reservation};
use super::super::kind::Kind;
use super::super::model::{ArrayOf, Job, Node, Place};
use super::super::reading::Reading;
use super::super::resources::{CpuStates, gpus_of_gres, gpus_of_tres, gres, mib, tres};
use super::super::stated::{Absence, Stated, absence_of, count, duration_s, number, time, word};
use super::field::Field;
use super::fill::{exit, finish_job, finish_node, set_job};
use super::words::node_states;

/// Keys with which a record begins, and what the file then is.
const OPENINGS: &[(&str, Kind)] = &[
    ("JobId", Kind::ScontrolJobs),
    ("NodeName", Kind::ScontrolNodes),
    ("PartitionName", Kind::SlurmPartitions),
    ("ReservationName", Kind::SlurmReservations),
    ("LicenseName", Kind::SlurmLicenses),
];

/// Heading of `scontrol show assoc_mgr`.
const ASSOCIATIONS: &str = "Current Association Manager state";

/// Sentences by which `scontrol` says that there is nothing.
const NOTHING: &[(&str, Kind)] = &[
    ("No reservations in the system", Kind::SlurmReservations),
    ("No licenses configured in Slurm.", Kind::SlurmLicenses),
    ("No jobs in the system", Kind::ScontrolJobs),
    ("No nodes in the system", Kind::ScontrolNodes),
    ("No partitions in the system", Kind::SlurmPartitions),
];

/// Which of `scontrol`'s records a text holds.
pub(in super::super) fn kind_of(text: &str) -> Option<Kind> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    if let Some((_, kind)) = NOTHING.iter().find(|(sentence, _)| first.trim() == *sentence) {
        return Some(*kind);
    }
    if first.starts_with(ASSOCIATIONS) {
        return Some(Kind::SlurmAssociations);
    }
    let (_, kind) = OPENINGS.iter().find(|(key, _)| opens(first, key))?;
    // slurm.conf begins its lines alike, with short records and other keys.
    let telling = [
        "Arch=",
        "State=",
        "JobState=",
        "AllowGroups=",
        "StartTime=",
        "Total=",
        "AllocNodes=",
        "CPUTot=",
        "UserId=",
    ];
    telling.iter().any(|key| text.contains(key)).then_some(*kind)
}

fn opens(line: &str, key: &str) -> bool {
    line.strip_prefix(key).is_some_and(|rest| rest.starts_with('='))
}

/// Reads records of `scontrol`.
pub(in super::super) fn read(file: &str, text: &str, kind: Kind) -> Reading {
    let mut reading = Reading::new(file, kind);
    if let Some((sentence, _)) = NOTHING.iter().find(|(sentence, _)| text.trim() == *sentence) {
        reading.caveat(format!("Slurm answers: {sentence}"));
        return reading;
    }
    if kind == Kind::SlurmAssociations {
        associations(&mut reading, text);
        return reading;
    }
    let mut open: Option<Record<'_>> = None;
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        if OPENINGS.iter().any(|(key, _)| opens(line, key)) {
            if let Some(record) = open.take() {
                keep(&mut reading, &record);
            }
            open = Some(Record { line: number, pairs: pairs(line) });
        } else if line.starts_with([' ', '\t'])
            && let Some(record) = open.as_mut()
        {
            record.pairs.extend(pairs(line));
        } else {
            reading.skip(Place::Line(number), "part of no record", line);
        }
    }
    if let Some(record) = open {
        keep(&mut reading, &record);
    }
    reading
}

struct Record<'a> {
    line: u64,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Record<'a> {
    fn raw(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn any(&self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.raw(key))
    }

    fn with<T>(&self, keys: &[&str], read: impl Fn(&str) -> Stated<T>) -> Stated<T> {
        self.any(keys).map_or(Err(Absence::NotInFile), read)
    }

    fn word(&self, key: &str) -> Stated<String> {
        self.with(&[key], word)
    }
}

/// Pairs of a line. A word is a key where it is made of letters, digits and a few marks, begins with a
/// capital or is one of Slurm's odd keys, and an equals sign follows.
fn pairs(line: &str) -> Vec<(&str, &str)> {
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    for word in line.split(' ') {
        if let Some(equals) = word.find('=')
            && is_key(&word[..equals])
        {
            starts.push((from, from + equals));
        }
        from += word.len() + 1;
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain(std::iter::once(line.len()));
    starts
        .iter()
        .zip(ends)
        .map(|((start, equals), end)| {
            (line[*start..*equals].trim(), line[equals + 1..end.max(equals + 1)].trim())
        })
        .collect()
}

fn is_key(word: &str) -> bool {
    let word = word.trim();
    word.len() <= 32
        && word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b':' | b'/' | b'(' | b')' | b'[' | b']')
        })
}

fn keep(reading: &mut Reading, record: &Record<'_>) {
    let place = Place::Line(record.line);
    let left_out = &mut reading.records_left_out;
    match record.pairs.first().map(|(key, _)| *key) {
        Some("JobId") => {
            let job = job(place, record);
            Reading::keep(&mut reading.jobs, left_out, job);
        }
        Some("NodeName") => {
            let node = node(place, record);
            if reading.version.is_none()
                && let Ok(version) = &node.version
            {
                reading.version = Some(format!("Slurm {version}"));
            }
            reading.keep_node(node);
        }
        Some("PartitionName") => {
            Reading::keep(&mut reading.partitions, left_out, partition(place, record));
        }
        Some("ReservationName") => {
            Reading::keep(&mut reading.reservations, left_out, reservation(place, record));
        }
        Some("LicenseName") => {
            let license = License {
                place,
                name: record.word("LicenseName"),
                total: record.with(&["Total"], count),
                used: record.with(&["Used"], count),
                free: record.with(&["Free"], count),
                reserved: record.with(&["Reserved"], count),
            };
            Reading::keep(&mut reading.licenses, left_out, license);
        }
        _ => {}
    }
}

/// Keys of a job that have a column of the same meaning.
const JOB_KEYS: &[(&str, Field)] = &[
    ("JobId", Field::JobId),
    ("JobName", Field::JobName),
    ("Name", Field::JobName),
    ("Account", Field::Account),
    ("QOS", Field::Qos),
    ("JobState", Field::JobState),
    ("Reason", Field::Reason),
    ("RunTime", Field::Elapsed),
    ("TimeLimit", Field::Limit),
    ("SubmitTime", Field::SubmitTime),
    ("EligibleTime", Field::EligibleTime),
    ("StartTime", Field::StartTime),
    ("EndTime", Field::EndTime),
    ("Partition", Field::Partition),
    ("NodeList", Field::NodeList),
    ("Restarts", Field::Restarts),
    ("Priority", Field::Priority),
    ("ReqTRES", Field::TresRequested),
    ("AllocTRES", Field::TresAllocated),
    ("TRES", Field::TresAllocated),
    ("TresPerNode", Field::TresPerNode),
];

fn job(place: Place, record: &Record<'_>) -> Job {
    let mut job = Job::at(place);
    for (key, field) in JOB_KEYS {
        if let Some(value) = record.raw(key) {
            set_job(&mut job, *field, value);
        }
    }
    job.user = record.with(&["UserId"], |user| word(user.split('(').next().unwrap_or_default()));
    job.array = match (record.raw("ArrayJobId"), record.raw("ArrayTaskId")) {
        (Some(job), Some(tasks)) => Ok(ArrayOf { job: job.to_owned(), tasks: tasks.to_owned() }),
        _ => Err(Absence::NotSet),
    };
    // A pending job may take a range: "1-4".
    let low = |value: &str| count(value.split('-').next().unwrap_or_default());
    job.node_count = record.with(&["NumNodes"], low);
    job.cpus = record.with(&["NumCPUs"], low);
    job.memory_requested = record
        .any(&["MinMemoryNode", "MinMemoryCPU"])
        .map_or(Err(Absence::NotInFile), super::super::resources::memory)
        .map(|mut memory| {
            memory.per = super::fill::per_of(record.raw("MinMemoryNode").is_none());
            memory
        });
    job.exit = record.with(&["ExitCode"], exit);
    if let Some(per_job) = record.raw("TresPerJob") {
        job.gpus_requested = gpus_of_gres(&gres(per_job));
        job.gpus_requested_are_per_node = false;
    }
    finish_job(&mut job);
    if job.states.as_ref().is_ok_and(|states| super::words::is_live(states)) {
        job.exit = Err(Absence::NotEnded);
    }
    job
}

fn node(place: Place, record: &Record<'_>) -> Node {
    let mut node = Node::at(place);
    node.name = record.word("NodeName");
    node.count = Ok(1);
    node.partition = record.word("Partitions");
    node.states = record.with(&["State"], node_states);
    let (reason, since) = match record.raw("Reason") {
        Some(reason) => split_reason(reason),
        None => (Err(Absence::NotSet), Err(Absence::NotSet)),
    };
    node.reason = reason;
    node.reason_time = since;
    node.cpus = record.with(&["CPUTot"], count);
    if let (Ok(total), Ok(allocated)) = (&node.cpus, record.with(&["CPUAlloc"], count)) {
        // Of the rest the record does not say which are free; a node that is down has none.
        let is_down = node.states.as_ref().is_ok_and(|states| {
            states.iter().any(|one| {
                one.starts_with("DOWN") || one.starts_with("DRAIN") || one == "NOT_RESPONDING"
            })
        });
        let rest = total.saturating_sub(allocated);
        let (idle, other) = if is_down { (0, rest) } else { (rest, 0) };
        node.cpu_states = Ok(CpuStates { allocated, idle, other, total: *total });
    }
    node.memory_mib = record.with(&["RealMemory"], number);
    node.memory_allocated_mib = record.with(&["AllocMem"], number);
    node.memory_free_mib = record.with(&["FreeMem"], number);
    node.gres = record.with(&["Gres"], gres);
    node.gres_used = record.with(&["GresUsed"], gres);
    node.features = record.with(&["ActiveFeatures", "AvailableFeatures"], word);
    node.version = record.word("Version");
    node.reservation = record.word("ReservationName");
    finish_node(&mut node);
    // Without `-d` the GPUs in use stand only among the allocated resources.
    if node.gres_used == Err(Absence::NotInFile)
        && let Some(allocated) = record.raw("AllocTRES")
    {
        node.gpus_used = match (gpus_of_tres(&tres(allocated)), &node.gpus) {
            (Ok(gpus), _) => Ok(gpus),
            // Where configured resources name GPUs, an allocation without them is an allocation of none.
            (Err(_), _) if record.raw("CfgTRES").is_some_and(|all| all.contains("gres/gpu")) => {
                Ok(super::super::resources::Gpus::default())
            }
            (Err(_), Ok(_)) => Err(Absence::NoGpuNamed),
            (Err(_), Err(absence)) => Err(absence.clone()),
        };
    }
    node
}

/// `planned maintenance [root@2026-07-22T23:31:17]`.
fn split_reason(text: &str) -> (Stated<String>, Stated<super::super::stated::SchedulerTime>) {
    match text.rsplit_once(" [") {
        Some((reason, who)) if who.ends_with(']') && who.contains('@') => {
            let since = who.trim_end_matches(']').rsplit('@').next().unwrap_or_default();
            (word(reason), time(since))
        }
        _ => (word(text), Err(Absence::NotInFile)),
    }
}

fn partition(place: Place, record: &Record<'_>) -> Partition {
    let tres = record.with(&["TRES"], tres);
    Partition {
        place,
        name: record.word("PartitionName"),
        is_default: record.with(&["Default"], |value| Ok(value == "YES")),
        state: record.word("State"),
        nodes: record.word("Nodes"),
        node_count: record.with(&["TotalNodes"], count),
        cpus: record.with(&["TotalCPUs"], count),
        cpu_states: Err(Absence::NotInFile),
        limit_s: record.with(&["MaxTime"], duration_s),
        limit_default_s: record.with(&["DefaultTime"], duration_s),
        priority_tier: record.with(&["PriorityTier"], count),
        preempt_mode: record.word("PreemptMode"),
        grace_s: record.with(&["GraceTime"], count),
        gpus: gpus_of_tres(&tres),
        tres,
    }
}

fn reservation(place: Place, record: &Record<'_>) -> Reservation {
    let tres = record.with(&["TRES"], tres);
    Reservation {
        place,
        name: record.word("ReservationName"),
        start: record.with(&["StartTime"], time),
        end: record.with(&["EndTime"], time),
        duration_s: record.with(&["Duration"], duration_s),
        nodes: record.word("Nodes"),
        node_count: record.with(&["NodeCnt"], count),
        flags: record
            .raw("Flags")
            .filter(|flags| absence_of(flags).is_none())
            .map(|flags| flags.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        state: record.word("State"),
        users: record.word("Users"),
        accounts: record.word("Accounts"),
        partition: record.word("PartitionName"),
        gpus: gpus_of_tres(&tres),
        tres,
    }
}

/// `scontrol show assoc_mgr`: limits with their use as `gres/gpu=28(4)`; `N` is no limit.
fn associations(reading: &mut Reading, text: &str) {
    let mut owner_kind = "account";
    let mut owner = String::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let place = Place::Line(number);
        let bare = line.trim();
        match bare {
            "Association Records" => owner_kind = "account",
            "QOS Records" => owner_kind = "quality of service",
            _ if bare.ends_with(" Records") => owner_kind = "other",
            _ => {}
        }
        let list = pairs(bare);
        let value = |key: &str| list.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        if let (Some(account), true) = (value("Account"), bare.starts_with("ClusterName=")) {
            owner = match value("UserName").filter(|user| !user.is_empty()) {
                Some(user) => format!("{account}/{}", user.split('(').next().unwrap_or_default()),
                None => account.to_owned(),
            };
        } else if let (Some(name), true) = (value("QOS"), bare.starts_with("QOS=")) {
            name.split('(').next().unwrap_or_default().clone_into(&mut owner);
        }
        for (key, text) in
            list.iter().filter(|(key, text)| key.contains("TRES") && !text.is_empty())
        {
            for entry in text.split(',') {
                if let Some(quota) = limit(place, owner_kind, &owner, key, entry) {
                    Reading::keep(&mut reading.quotas, &mut reading.records_left_out, quota);
                }
            }
        }
    }
    reading.caveat("limits of N are no limits; those are left out where nothing is used");
}

/// `gres/gpu=28(4)`.
fn limit(
    place: Place,
    owner_kind: &'static str,
    owner: &str,
    key: &str,
    entry: &str,
) -> Option<Quota> {
    let (resource, amount) = entry.split_once('=')?;
    let (limit, used) = match amount.split_once('(') {
        Some((limit, used)) => (limit, Some(used.trim_end_matches(')'))),
        None => (amount, None),
    };
    let limit = match limit {
        "N" => Err(Absence::Unlimited),
        _ => mib(limit).ok_or(Absence::NotSet),
    };
    let used = used.and_then(mib);
    if limit.is_err() && used.is_none_or(|used| used == 0.0) {
        return None;
    }
    Some(Quota {
        place,
        owner_kind,
        owner: owner.to_owned(),
        limit_kind: key.to_owned(),
        resource: resource.to_owned(),
        flavor: None,
        limit,
        used: used.ok_or(Absence::NotInFile),
        borrowing: Err(Absence::NotInFile),
        lending: Err(Absence::NotInFile),
    })
}
