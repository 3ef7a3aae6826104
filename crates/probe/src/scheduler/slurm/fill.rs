//! Cells into jobs and nodes, and what follows from several cells together.

use super::super::model::{ArrayOf, Exit, Job, Node};
use super::super::resources::{
    MemoryPer, cpu_states, gpus_of_gres, gpus_of_tres, gres, memory, mib, tres,
};
use super::super::stated::{
    Absence, SchedulerTime, Stated, absence_of, count, duration_s, number, time, unreadable, word,
};
use super::field::Field;
use super::words::{is_live, job_state, node_states, wait_of};

/// Puts a cell into a job. What the cell cannot mean becomes an absence with its text.
pub(super) fn set_job(job: &mut Job, field: Field, cell: &str) {
    match field {
        Field::JobId if job.id.is_err() || cell.contains('_') => job.id = word(cell),
        Field::JobName => {
            // Users may call their job "None".
            let name = cell.trim();
            job.name = if name.is_empty() { Err(Absence::NotSet) } else { Ok(name.to_owned()) };
        }
        Field::User => job.user = word(cell),
        Field::Account => job.account = word(cell),
        Field::Partition => {
            job.partition = word(cell).map(|name| name.trim_end_matches('*').to_owned());
        }
        Field::Qos => job.qos = word(cell),
        Field::Cluster => job.cluster = word(cell),
        Field::JobState => set_state(job, cell),
        Field::Reason => {
            job.reason = if cell.trim() == "None" { Ok("None".to_owned()) } else { word(cell) };
        }
        Field::NodeListOrReason => {
            let cell = cell.trim();
            match cell.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                Some(reason) if cell != "(null)" => {
                    job.reason = Ok(reason.to_owned());
                    job.nodes = Err(Absence::NotStarted);
                }
                _ => job.nodes = word(cell),
            }
        }
        Field::NodeList => job.nodes = word(cell),
        Field::SubmitTime => job.submitted = time(cell),
        Field::EligibleTime => job.eligible = time(cell),
        Field::StartTime => job.started = time(cell),
        Field::EndTime => job.ended = time(cell),
        Field::Elapsed => job.elapsed_s = duration_s(cell),
        Field::ElapsedSeconds if job.elapsed_s.is_err() => job.elapsed_s = count(cell),
        Field::Limit => job.limit_s = duration_s(cell),
        Field::LimitMinutes if job.limit_s.is_err() => {
            job.limit_s = count(cell).map(|minutes| minutes.saturating_mul(60));
        }
        Field::NodeCount => job.node_count = count(cell),
        Field::Cpus => job.cpus = count(cell),
        Field::AllocatedCpus if job.cpus.is_err() => job.cpus = count(cell),
        Field::Memory => job.memory_requested = memory(cell),
        Field::MemoryMax => {
            job.memory_max_mib = match (absence_of(cell), memory_max(cell)) {
                (Some(absence), _) => Err(absence),
                (None, Some(amount)) => Ok(amount),
                (None, None) => unreadable(cell),
            };
        }
        Field::TresRequested => job.tres_requested = tres(cell),
        Field::TresAllocated => job.tres_allocated = tres(cell),
        Field::TresPerNode => per_node(job, cell),
        Field::ExitCode => job.exit = exit(cell),
        Field::Restarts => job.restarts = count(cell),
        Field::Priority => job.priority = number(cell),
        Field::ArrayJob | Field::ArrayTask => set_array(job, field, cell),
        _ => {}
    }
}

/// `sacct` gives the most memory in KiB where it names no unit.
fn memory_max(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    let amount = mib(cell)?;
    if cell.ends_with(|last: char| last.is_ascii_digit()) {
        return Some(amount / (1024.0 * 1024.0));
    }
    Some(amount)
}

fn set_state(job: &mut Job, cell: &str) {
    if let Some(absence) = absence_of(cell) {
        job.states = Err(absence);
        return;
    }
    match job_state(cell) {
        Some(read) => {
            job.states = Ok(read.states);
            job.cancelled_by = read.cancelled_by.ok_or(Absence::NotSet);
        }
        None => job.states = unreadable(cell),
    }
}

/// GPUs per node, times the nodes where those are known when the job is finished.
fn per_node(job: &mut Job, cell: &str) {
    let per_node = gpus_of_gres(&gres(cell));
    if job.gpus_requested.is_err() {
        job.gpus_requested = per_node;
        job.gpus_requested_are_per_node = true;
    }
}

fn set_array(job: &mut Job, field: Field, cell: &str) {
    let Ok(value) = word(cell) else { return };
    let (number, tasks) = match &job.array {
        Ok(array) => (array.job.clone(), array.tasks.clone()),
        Err(_) => (String::new(), String::new()),
    };
    let (number, tasks) = if field == Field::ArrayJob { (value, tasks) } else { (number, value) };
    job.array = Ok(ArrayOf { job: number, tasks });
}

/// `code:signal`.
pub(super) fn exit(cell: &str) -> Stated<Exit> {
    if let Some(absence) = absence_of(cell) {
        return Err(absence);
    }
    cell.trim()
        .split_once(':')
        .and_then(|(code, signal)| {
            Some(Exit { code: code.parse().ok()?, signal: signal.parse().ok()? })
        })
        .map_or_else(|| unreadable(cell), Ok)
}

/// What follows from several cells of a job together.
pub(super) fn finish_job(job: &mut Job) {
    array_and_step(job);
    let states = job.states.clone().unwrap_or_default();
    let is_waiting = job.is_waiting();
    if is_waiting {
        job.start_expected = std::mem::replace(&mut job.started, Err(Absence::NotStarted));
        if job.elapsed_s == Ok(0) {
            job.elapsed_s = Err(Absence::NotStarted);
        }
        if job.nodes == Err(Absence::NotSet) {
            job.nodes = Err(Absence::NotStarted);
        }
        job.wait = match &job.reason {
            Ok(reason) => Ok(wait_of(reason)),
            Err(absence) => Err(absence.clone()),
        };
    } else if !states.is_empty() {
        job.wait = Err(Absence::NotSet);
        if matches!(job.started, Err(Absence::Unknown | Absence::NotSet)) {
            job.started = Err(Absence::NotStarted);
        }
    }
    if is_live(&states) && job.ended != Err(Absence::NotInFile) {
        job.end_expected = std::mem::replace(&mut job.ended, Err(Absence::NotEnded));
    }
    gpus(job);
}

fn array_and_step(job: &mut Job) {
    let Ok(id) = &job.id else { return };
    let (head, step) = match id.split_once('.') {
        Some((head, step)) => (head, Some(step)),
        None => (id.as_str(), None),
    };
    job.is_step = step.is_some();
    if let Some((number, tasks)) = head.split_once('_') {
        let tasks = tasks.trim_start_matches('[').trim_end_matches(']');
        job.array = Ok(ArrayOf { job: number.to_owned(), tasks: tasks.to_owned() });
    } else if let Ok(array) = &job.array
        && (array.job == "0" || array.job.is_empty() || array.tasks.is_empty())
    {
        job.array = Err(Absence::NotSet);
    }
}

fn gpus(job: &mut Job) {
    if job.tres_allocated != Err(Absence::NotInFile) && job.gpus_allocated.is_err() {
        job.gpus_allocated = gpus_of_tres(&job.tres_allocated);
    }
    // A pending job has been given nothing: what its list says is what it asks for.
    if job.is_waiting() {
        if job.gpus_requested.is_err() && job.gpus_allocated.is_ok() {
            job.gpus_requested = job.gpus_allocated.clone();
            job.gpus_requested_are_per_node = false;
        }
        if job.gpus_allocated != Err(Absence::NotInFile) {
            job.gpus_allocated = Err(Absence::NotStarted);
        }
    }
    let of_list = gpus_of_tres(&job.tres_requested);
    if of_list.is_ok() {
        job.gpus_requested = of_list;
        job.gpus_requested_are_per_node = false;
    } else if job.gpus_requested == Err(Absence::NotInFile)
        && job.tres_requested != Err(Absence::NotInFile)
    {
        job.gpus_requested = of_list;
    }
    if job.gpus_requested_are_per_node
        && let Ok(gpus) = &mut job.gpus_requested
    {
        job.gpus_requested_are_per_node = false;
        match job.node_count {
            Ok(nodes) => gpus.times(nodes as f64),
            Err(_) => job.gpus_requested = Err(Absence::Ambiguous),
        }
    }
}

/// Puts a cell into a node.
pub(super) fn set_node(node: &mut Node, field: Field, cell: &str) {
    match field {
        Field::NodeName | Field::NodeList => node.name = word(cell),
        Field::NodeCount => node.count = count(cell),
        Field::Partition => {
            node.partition = word(cell).map(|name| name.trim_end_matches('*').to_owned());
        }
        Field::NodeState | Field::JobState => node.states = node_states(cell),
        Field::NodeReason | Field::Reason => node.reason = word(cell),
        Field::NodeReasonTime => node.reason_time = time(cell),
        Field::Cpus => node.cpus = count(cell),
        Field::CpuStates => {
            node.cpu_states = cpu_states(cell);
            if let Ok(states) = node.cpu_states {
                node.cpus = Ok(states.total);
            }
        }
        Field::MemoryOfNode => node.memory_mib = number(cell.trim_end_matches('+')),
        Field::MemoryAllocated => node.memory_allocated_mib = number(cell),
        Field::MemoryFree => node.memory_free_mib = number(cell),
        Field::GresTotal => node.gres = gres(cell),
        Field::GresUsed => node.gres_used = gres(cell),
        Field::Features => node.features = word(cell),
        Field::Version => node.version = word(cell),
        _ => {}
    }
}

/// GPUs of a node from its lists.
pub(super) fn finish_node(node: &mut Node) {
    if node.gres != Err(Absence::NotInFile) {
        node.gpus = gpus_of_gres(&node.gres);
    }
    if node.gres_used != Err(Absence::NotInFile) {
        node.gpus_used = gpus_of_gres(&node.gres_used);
    }
}

/// Whether an interval has the length that its row says, within a second of rounding.
pub(super) fn agrees(start: &SchedulerTime, end: &SchedulerTime, elapsed_s: u64) -> bool {
    end.seconds_since(start).is_some_and(|seconds| seconds.abs_diff(elapsed_s as i64) <= 1)
}

/// Memory for each processor or node in words.
pub(super) fn per_of(is_per_cpu: bool) -> MemoryPer {
    if is_per_cpu { MemoryPer::Cpu } else { MemoryPer::Node }
}
