//! Columns of `sacct`, `squeue` and `sinfo`: what they are called, and what their cells look like.

use super::super::resources::{cpu_states, memory, tres};
use super::super::stated::{absence_of, count, duration_s, time};
use super::words::{is_long_job_state, is_node_state, is_reason, job_state};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Field {
    Account,
    AllocatedCpus,
    ArrayJob,
    ArrayTask,
    Cluster,
    CpuStates,
    Cpus,
    Elapsed,
    ElapsedSeconds,
    EligibleTime,
    EndTime,
    ExitCode,
    Features,
    /// GRES of which the file does not say whether they are all or those in use.
    GresEither,
    GresTotal,
    GresUsed,
    JobId,
    JobName,
    JobState,
    Limit,
    LimitMinutes,
    Memory,
    MemoryAllocated,
    MemoryFree,
    MemoryMax,
    MemoryOfNode,
    NodeCount,
    NodeList,
    /// Nodes of a job that runs, in parentheses the reason of one that waits.
    NodeListOrReason,
    NodeName,
    NodeReason,
    NodeReasonTime,
    NodeState,
    Partition,
    Priority,
    Qos,
    Reason,
    RequestedCpus,
    Restarts,
    StartTime,
    SubmitTime,
    TresAllocated,
    TresPerNode,
    TresRequested,
    User,
    /// A name of which the file does not say whether it is of a user or of an account.
    UserOrAccount,
    Version,
    /// Known, and no part of the model.
    Ignored,
    /// A whole number that is known and no part of the model.
    IgnoredNumber,
    /// A length of time that is known and no part of the model.
    IgnoredDuration,
    /// Not known.
    Unnamed,
}

/// Headings of `sacct` (its own spelling), `squeue` and `sinfo` (capitals), in lower case.
const HEADINGS: &[(&str, Field)] = &[
    ("account", Field::Account),
    ("alloccpus", Field::AllocatedCpus),
    ("allocgres", Field::Ignored),
    ("allocmem", Field::MemoryAllocated),
    ("allocnodes", Field::NodeCount),
    ("alloctres", Field::TresAllocated),
    ("array_job_id", Field::ArrayJob),
    ("array_task_id", Field::ArrayTask),
    ("avail", Field::Ignored),
    ("avail_fe", Field::Features),
    ("avail_features", Field::Features),
    ("active_features", Field::Ignored),
    ("cluster", Field::Cluster),
    ("command", Field::Ignored),
    ("comment", Field::Ignored),
    ("constraints", Field::Ignored),
    ("consumedenergy", Field::Ignored),
    ("contiguous", Field::Ignored),
    ("core_spec", Field::Ignored),
    ("cores", Field::Ignored),
    ("cores_per_socket", Field::Ignored),
    ("cpu_load", Field::Ignored),
    ("cpus", Field::Cpus),
    ("cpus(a/i/o/t)", Field::CpuStates),
    ("cpusstate", Field::CpuStates),
    ("cputime", Field::IgnoredDuration),
    ("cputimeraw", Field::IgnoredNumber),
    ("dependency", Field::Ignored),
    ("derivedexitcode", Field::Ignored),
    ("elapsed", Field::Elapsed),
    ("elapsedraw", Field::ElapsedSeconds),
    ("eligible", Field::EligibleTime),
    ("eligible_time", Field::EligibleTime),
    ("end", Field::EndTime),
    ("end_time", Field::EndTime),
    ("exc_nodes", Field::Ignored),
    ("exec_host", Field::Ignored),
    ("exit_code", Field::ExitCode),
    ("exitcode", Field::ExitCode),
    ("features", Field::Features),
    ("free_mem", Field::MemoryFree),
    ("freemem", Field::MemoryFree),
    ("gid", Field::Ignored),
    ("gres", Field::GresTotal),
    ("gres_used", Field::GresUsed),
    ("gresused", Field::GresUsed),
    ("group", Field::Ignored),
    ("groups", Field::Ignored),
    ("hostnames", Field::NodeName),
    ("hostname", Field::NodeName),
    ("jobid", Field::JobId),
    ("jobidraw", Field::Ignored),
    ("job_size", Field::Ignored),
    ("jobname", Field::JobName),
    ("licenses", Field::Ignored),
    ("maxrss", Field::MemoryMax),
    ("memory", Field::MemoryOfNode),
    ("min_cpus", Field::Ignored),
    ("min_memory", Field::Memory),
    ("min_tmp_disk", Field::Ignored),
    ("name", Field::JobName),
    ("ncpus", Field::Cpus),
    ("nice", Field::Ignored),
    ("nnodes", Field::NodeCount),
    ("node_inx", Field::Ignored),
    ("nodelist", Field::NodeList),
    ("nodelist(reason)", Field::NodeListOrReason),
    ("nodes", Field::NodeCount),
    ("nodes(a/i)", Field::Ignored),
    ("nodes(a/i/o/t)", Field::Ignored),
    ("ntasks", Field::Ignored),
    ("over_subscribe", Field::Ignored),
    ("oversubscribe", Field::Ignored),
    ("partition", Field::Partition),
    ("planned", Field::IgnoredDuration),
    ("priority", Field::Priority),
    ("qos", Field::Qos),
    ("reason", Field::Reason),
    ("req_nodes", Field::Ignored),
    ("reqcpus", Field::RequestedCpus),
    ("reqgres", Field::Ignored),
    ("reqmem", Field::Memory),
    ("reqnodes", Field::Ignored),
    ("reqtres", Field::TresRequested),
    ("reservation", Field::Ignored),
    ("reserved", Field::IgnoredDuration),
    ("restarts", Field::Restarts),
    ("restart_count", Field::Restarts),
    ("root", Field::Ignored),
    ("s:c:t", Field::Ignored),
    ("schednodes", Field::Ignored),
    ("sockets", Field::Ignored),
    ("sockets_per_node", Field::Ignored),
    ("st", Field::JobState),
    ("start", Field::StartTime),
    ("start_time", Field::StartTime),
    ("state", Field::JobState),
    ("statelong", Field::NodeState),
    ("submit", Field::SubmitTime),
    ("submit_time", Field::SubmitTime),
    ("submitline", Field::Ignored),
    ("suspended", Field::IgnoredDuration),
    ("threads", Field::Ignored),
    ("threads_per_core", Field::Ignored),
    ("time", Field::Elapsed),
    ("time_left", Field::IgnoredDuration),
    ("time_limi", Field::Limit),
    ("time_limit", Field::Limit),
    ("timelimit", Field::Limit),
    ("timelimitraw", Field::LimitMinutes),
    ("timestamp", Field::NodeReasonTime),
    ("tmp_disk", Field::Ignored),
    ("totalcpu", Field::IgnoredDuration),
    ("tres_alloc", Field::TresAllocated),
    ("tres_per_job", Field::Ignored),
    ("tres_per_node", Field::TresPerNode),
    ("uid", Field::Ignored),
    ("user", Field::User),
    ("username", Field::User),
    ("version", Field::Version),
    ("wckey", Field::Ignored),
    ("weight", Field::Ignored),
];

/// Headings that are known and hold nothing of the model.
const HEADINGS_IGNORED: &[&str] = &[
    "work_dir",
    "workdir",
    "site",
    "age",
    "assoc",
    "fairshare",
    "jobsize",
    "tres",
    "avgcpu",
    "avecpu",
    "maxvmsize",
    "systemcpu",
    "usercpu",
    "layout",
];

impl Field {
    /// The column with this heading.
    pub(super) fn of_heading(heading: &str) -> Option<Self> {
        let lower = heading.trim().to_ascii_lowercase();
        HEADINGS
            .iter()
            .find(|(name, _)| *name == lower)
            .map(|(_, field)| *field)
            .or_else(|| HEADINGS_IGNORED.contains(&lower.as_str()).then_some(Self::Ignored))
    }

    /// Whether a cell can stand in the column. An empty cell can stand in any.
    pub(super) fn fits(self, cell: &str) -> bool {
        let cell = cell.trim();
        if cell.is_empty() {
            return !self.is_telling();
        }
        let is_number = || count(cell).is_ok();
        let is_unset = || absence_of(cell).is_some();
        match self {
            Self::JobId => is_job_id(cell),
            Self::JobState => is_long_job_state(cell),
            Self::NodeState => is_node_state(cell),
            Self::CpuStates => cpu_states(cell).is_ok(),
            Self::Elapsed | Self::Limit | Self::IgnoredDuration => {
                duration_s(cell).is_ok() || is_unset()
            }
            Self::SubmitTime
            | Self::EligibleTime
            | Self::StartTime
            | Self::EndTime
            | Self::NodeReasonTime => (cell.len() > 8 && time(cell).is_ok()) || is_unset(),
            Self::ExitCode => is_exit_code(cell),
            Self::TresAllocated | Self::TresRequested => {
                (cell.contains('=') && tres(cell).is_ok()) || is_unset()
            }
            Self::TresPerNode | Self::GresEither | Self::GresTotal | Self::GresUsed => {
                is_gres(cell) || is_unset()
            }
            Self::Memory | Self::MemoryMax => {
                memory(cell).is_ok() && cell.ends_with(|last: char| last.is_ascii_alphabetic())
                    || is_unset()
            }
            Self::Reason => is_reason(cell),
            Self::NodeCount
            | Self::Cpus
            | Self::AllocatedCpus
            | Self::RequestedCpus
            | Self::ElapsedSeconds
            | Self::LimitMinutes
            | Self::MemoryAllocated
            | Self::MemoryOfNode
            | Self::IgnoredNumber => is_number(),
            Self::MemoryFree => is_number() || is_unset(),
            Self::Features => cell.contains(',') || is_word(cell) || is_unset(),
            Self::User | Self::Account | Self::UserOrAccount | Self::Partition | Self::Qos => {
                is_word(cell) && !is_number()
            }
            Self::NodeName => is_word(cell) && !is_number() && !cell.contains(','),
            _ => true,
        }
    }

    /// Whether few other columns could hold the same text.
    pub(super) fn is_telling(self) -> bool {
        matches!(
            self,
            Self::JobState
                | Self::NodeState
                | Self::CpuStates
                | Self::GresEither
                | Self::GresTotal
                | Self::GresUsed
        )
    }
}

/// `1011`, `1011_9`, `1011_[1-20%4]`, `1011+1`, with a step `1011.batch`.
pub(super) fn is_job_id(cell: &str) -> bool {
    let mut parts = cell.splitn(2, ['_', '+', '.']);
    let number = parts.next().unwrap_or_default();
    let rest = parts.next();
    !number.is_empty()
        && number.len() <= 12
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && rest.is_none_or(|rest| {
            !rest.is_empty()
                && rest.len() <= 64
                && rest.bytes().all(|byte| {
                    byte.is_ascii_alphanumeric()
                        || matches!(byte, b'[' | b']' | b'-' | b',' | b'%' | b'.' | b'_' | b'+')
                })
        })
}

/// `0:15`.
pub(super) fn is_exit_code(cell: &str) -> bool {
    cell.split_once(':')
        .is_some_and(|(code, signal)| code.parse::<u16>().is_ok() && signal.parse::<u16>().is_ok())
}

/// A GRES list that names GPUs or other resources with a number.
pub(super) fn is_gres(cell: &str) -> bool {
    let head = cell.strip_prefix("gres/").or_else(|| cell.strip_prefix("gres:")).unwrap_or(cell);
    ["gpu:", "mps:", "shard:", "mig:"].iter().any(|name| head.starts_with(name))
        || (cell.contains(':') && cell.split(',').any(|part| part.starts_with("gpu:")))
        || cell.contains(":no_consume:")
}

/// One word without the marks of other columns.
pub(super) fn is_word(cell: &str) -> bool {
    cell.len() <= 256
        && !cell.contains(['|', '=', ' ', ';', '"', '{', '}'])
        && job_state(cell).is_none_or(|_| cell.len() <= 3)
}
