//! What schedulers say, in one form for all of them.

use super::resources::{CpuStates, Gpus, Gres, Memory, Tres};
use super::stated::{Absence, SchedulerTime, Stated};

/// Where in a file a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, from 1.
    Line(u64),
    /// An item of a list of a JSON document, from 0.
    Item(&'static str, usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Item(list, index) => write!(f, "{list}[{index}]"),
        }
    }
}

/// Why a job waits, as far as the scheduler's reason says. The reason is the first check that failed: a
/// missing place may hide behind a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// A limit or budget of an account, a user or a quality of service: more GPUs would not help.
    Quota,
    /// A budget of GPU time is used up.
    Budget,
    /// Others come first.
    Order,
    /// No place that fits: nodes, GPUs, licences.
    Placement,
    /// A reservation.
    Reservation,
    /// Its owner or an administrator: held, a dependency, a begin time.
    Owner,
    /// Something that is not configured or does not exist.
    Configuration,
    /// Another workload must be stopped first.
    Preemption,
    /// An outside check must say yes.
    Check,
    /// The scheduler has not looked at it yet.
    NotEvaluated,
    /// The reason is none that is known.
    Unclear,
}

impl Wait {
    /// In words of a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quota => "a limit or quota",
            Self::Budget => "a budget of time",
            Self::Order => "others come first",
            Self::Placement => "no place that fits",
            Self::Reservation => "a reservation",
            Self::Owner => "its owner",
            Self::Configuration => "configuration",
            Self::Preemption => "another workload must stop first",
            Self::Check => "an admission check",
            Self::NotEvaluated => "not evaluated yet",
            Self::Unclear => "unclear",
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The exit code.
    pub code: u32,
    /// The signal that ended it; 0 where none did.
    pub signal: u32,
}

/// The array that a job is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayOf {
    /// The array's job number.
    pub job: String,
    /// The task, or the tasks that have not started: `9`, `1-20`.
    pub tasks: String,
}

/// A job, or a step of one, of Slurm.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Where it stands.
    pub place: Place,
    /// Its number with task and step as written: `1011_[1-20]`, `1.batch`.
    pub id: Stated<String>,
    /// It is a step of a job (`1.batch`): its numbers are part of the job's.
    pub is_step: bool,
    /// The array.
    pub array: Stated<ArrayOf>,
    /// The name.
    pub name: Stated<String>,
    /// The user.
    pub user: Stated<String>,
    /// The account.
    pub account: Stated<String>,
    /// The partition, or several of them with commas.
    pub partition: Stated<String>,
    /// The quality of service.
    pub qos: Stated<String>,
    /// The cluster.
    pub cluster: Stated<String>,
    /// The state and its flags: `RUNNING`; `PENDING`, `REQUEUED`.
    pub states: Stated<Vec<String>>,
    /// Who cancelled it.
    pub cancelled_by: Stated<String>,
    /// Why it waits, or ended.
    pub reason: Stated<String>,
    /// The class of that reason, for a job that waits.
    pub wait: Stated<Wait>,
    /// When it was submitted.
    pub submitted: Stated<SchedulerTime>,
    /// When it could first have started.
    pub eligible: Stated<SchedulerTime>,
    /// When it started.
    pub started: Stated<SchedulerTime>,
    /// When the scheduler means to start it.
    pub start_expected: Stated<SchedulerTime>,
    /// When it ended.
    pub ended: Stated<SchedulerTime>,
    /// When its limit ends it.
    pub end_expected: Stated<SchedulerTime>,
    /// How long it ran, seconds.
    pub elapsed_s: Stated<u64>,
    /// How long it may run, seconds.
    pub limit_s: Stated<u64>,
    /// Where it runs or ran.
    pub nodes: Stated<String>,
    /// On how many nodes.
    pub node_count: Stated<u64>,
    /// Processors.
    pub cpus: Stated<u64>,
    /// Memory that it asked for.
    pub memory_requested: Stated<Memory>,
    /// Most memory that it held, MiB.
    pub memory_max_mib: Stated<f64>,
    /// What it asked for.
    pub tres_requested: Stated<Vec<Tres>>,
    /// What it was given.
    pub tres_allocated: Stated<Vec<Tres>>,
    /// GPUs that it asked for, over all nodes.
    pub gpus_requested: Stated<Gpus>,
    /// While a job is read: `gpus_requested` is of one node.
    pub(super) gpus_requested_are_per_node: bool,
    /// GPUs that it was given, over all nodes.
    pub gpus_allocated: Stated<Gpus>,
    /// How it ended.
    pub exit: Stated<Exit>,
    /// How often it was requeued.
    pub restarts: Stated<u64>,
    /// The priority.
    pub priority: Stated<f64>,
}

impl Job {
    /// A job of which the file says nothing yet.
    pub(super) fn at(place: Place) -> Self {
        Self {
            place,
            id: Err(Absence::NotInFile),
            is_step: false,
            array: Err(Absence::NotInFile),
            name: Err(Absence::NotInFile),
            user: Err(Absence::NotInFile),
            account: Err(Absence::NotInFile),
            partition: Err(Absence::NotInFile),
            qos: Err(Absence::NotInFile),
            cluster: Err(Absence::NotInFile),
            states: Err(Absence::NotInFile),
            cancelled_by: Err(Absence::NotInFile),
            reason: Err(Absence::NotInFile),
            wait: Err(Absence::NotInFile),
            submitted: Err(Absence::NotInFile),
            eligible: Err(Absence::NotInFile),
            started: Err(Absence::NotInFile),
            start_expected: Err(Absence::NotInFile),
            ended: Err(Absence::NotInFile),
            end_expected: Err(Absence::NotInFile),
            elapsed_s: Err(Absence::NotInFile),
            limit_s: Err(Absence::NotInFile),
            nodes: Err(Absence::NotInFile),
            node_count: Err(Absence::NotInFile),
            cpus: Err(Absence::NotInFile),
            memory_requested: Err(Absence::NotInFile),
            memory_max_mib: Err(Absence::NotInFile),
            tres_requested: Err(Absence::NotInFile),
            tres_allocated: Err(Absence::NotInFile),
            gpus_requested: Err(Absence::NotInFile),
            gpus_requested_are_per_node: false,
            gpus_allocated: Err(Absence::NotInFile),
            exit: Err(Absence::NotInFile),
            restarts: Err(Absence::NotInFile),
            priority: Err(Absence::NotInFile),
        }
    }

    /// Whether its state is, or one of its states is, this one.
    pub fn is_in(&self, state: &str) -> bool {
        self.states.as_ref().is_ok_and(|states| states.iter().any(|one| one == state))
    }

    /// Whether it waits to start.
    pub fn is_waiting(&self) -> bool {
        self.is_in("PENDING") || self.is_in("REQUEUED") || self.is_in("REQUEUE_HOLD")
    }
}

/// A node of Slurm, or several alike in one row of `sinfo`.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub place: Place,
    /// Its name, or a list of names: `gpu[1-4]`.
    pub name: Stated<String>,
    /// How many nodes the row tells of.
    pub count: Stated<u64>,
    /// The partitions that the row or the node names. A node of several partitions stands in several rows.
    pub partition: Stated<String>,
    /// The state and its flags, in capitals: `MIXED`, `DRAIN`.
    pub states: Stated<Vec<String>>,
    /// Why it is drained or down.
    pub reason: Stated<String>,
    /// When that was set.
    pub reason_time: Stated<SchedulerTime>,
    /// Processors.
    pub cpus: Stated<u64>,
    /// Processors by state.
    pub cpu_states: Stated<CpuStates>,
    /// Memory of the node, MiB.
    pub memory_mib: Stated<f64>,
    /// Memory given to jobs, MiB.
    pub memory_allocated_mib: Stated<f64>,
    /// Memory that its kernel calls free, MiB.
    pub memory_free_mib: Stated<f64>,
    /// Generic resources that it has; each of `count` nodes has them.
    pub gres: Stated<Vec<Gres>>,
    /// Generic resources in use; on each of `count` nodes.
    pub gres_used: Stated<Vec<Gres>>,
    /// GPUs of one node.
    pub gpus: Stated<Gpus>,
    /// GPUs in use of one node.
    pub gpus_used: Stated<Gpus>,
    /// Features.
    pub features: Stated<String>,
    /// Slurm's version on it.
    pub version: Stated<String>,
    /// The reservation that it is part of.
    pub reservation: Stated<String>,
}

impl Node {
    pub(super) fn at(place: Place) -> Self {
        Self {
            place,
            name: Err(Absence::NotInFile),
            count: Err(Absence::NotInFile),
            partition: Err(Absence::NotInFile),
            states: Err(Absence::NotInFile),
            reason: Err(Absence::NotInFile),
            reason_time: Err(Absence::NotInFile),
            cpus: Err(Absence::NotInFile),
            cpu_states: Err(Absence::NotInFile),
            memory_mib: Err(Absence::NotInFile),
            memory_allocated_mib: Err(Absence::NotInFile),
            memory_free_mib: Err(Absence::NotInFile),
            gres: Err(Absence::NotInFile),
            gres_used: Err(Absence::NotInFile),
            gpus: Err(Absence::NotInFile),
            gpus_used: Err(Absence::NotInFile),
            features: Err(Absence::NotInFile),
            version: Err(Absence::NotInFile),
            reservation: Err(Absence::NotInFile),
        }
    }

    /// Whether it is, or is also, in this state.
    pub fn is_in(&self, state: &str) -> bool {
        self.states.as_ref().is_ok_and(|states| states.iter().any(|one| one == state))
    }
}
