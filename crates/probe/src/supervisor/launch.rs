//! What a workload is started with.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host::ProcessStat;

/// One workload to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Name, for people and for the log.
    pub name: String,
    /// Program and arguments. The program is looked up in `PATH` as `execvp(3)` does.
    pub argv: Vec<String>,
    /// Working directory; the supervisor's own where `None`.
    pub cwd: Option<PathBuf>,
    /// Variables that are set beside those that the supervisor has itself.
    pub env: Vec<(String, String)>,
    /// How its CPU time is weighed.
    pub priority: Priority,
    /// Numbers of the CPUs that it may run on; all that the supervisor may use where `None`.
    pub affinity: Option<Vec<usize>>,
    /// File that receives a copy of its output, both streams; it is made anew.
    pub log: Option<PathBuf>,
}

/// How the kernel weighs a workload's CPU time against another's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priority {
    /// Nice value to set, −20 to 19; inherited where `None`. It is absolute, not an increment.
    pub nice: Option<i32>,
    /// Whether it runs under `SCHED_IDLE`: only what nobody else wants, whatever its nice value.
    pub idle: bool,
}

/// A signal that may be sent to a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// SIGHUP.
    Hangup,
    /// SIGINT.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Continue,
}

impl Signal {
    /// Its name, without `SIG`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hangup => "HUP",
            Self::Interrupt => "INT",
            Self::Quit => "QUIT",
            Self::Terminate => "TERM",
            Self::Kill => "KILL",
            Self::User1 => "USR1",
            Self::User2 => "USR2",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }

    pub(crate) fn raw(self) -> rustix::process::Signal {
        use rustix::process::Signal as Raw;
        match self {
            Self::Hangup => Raw::HUP,
            Self::Interrupt => Raw::INT,
            Self::Quit => Raw::QUIT,
            Self::Terminate => Raw::TERM,
            Self::Kill => Raw::KILL,
            Self::User1 => Raw::USR1,
            Self::User2 => Raw::USR2,
            Self::Stop => Raw::STOP,
            Self::Continue => Raw::CONT,
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl Exit {
    /// Whether it ended by itself with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// One of a process's two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a stop went. Times are nanoseconds of the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReport {
    /// When SIGTERM was sent.
    pub signal_ns: u64,
    /// When the first process of the workload was seen to have exited.
    pub leader_exit_ns: Option<u64>,
    /// When its last process was seen to be gone.
    pub gone_ns: u64,
    /// How the first process ended.
    pub exit: Option<Exit>,
    /// Whether SIGKILL was needed.
    pub killed: bool,
    /// What still ran when the first process was seen to have exited. Only where it was awaited
    /// ([`Rest::Awaited`]).
    pub left: Vec<LeftProcess>,
}

/// How a workload is told to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopOrder {
    /// The signal that its group is sent.
    pub signal: Signal,
    /// Patience before SIGKILL to everything of it that is left.
    pub grace: Duration,
    /// What happens to processes that outlive the first one.
    pub rest: Rest,
}

impl StopOrder {
    /// SIGTERM, and to the rest as well.
    pub fn term(grace: Duration) -> Self {
        Self { signal: Signal::Terminate, grace, rest: Rest::Told }
    }
}

/// What happens to processes that outlive a workload's first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rest {
    /// They are sent SIGTERM at once.
    Told,
    /// They are left to go by themselves until patience ends: a drill wants to see whether they do.
    Awaited,
}

/// A process that outlived the first one of its workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftProcess {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel has it.
    pub name: String,
    /// Resident memory, bytes.
    pub resident_bytes: u64,
}

impl LeftProcess {
    /// A process of the table, with its name.
    pub(super) fn of(process: &ProcessStat) -> Self {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", process.pid));
        Self {
            pid: process.pid,
            name: name.map_or_else(|_| "unnamed".to_owned(), |name| name.trim().to_owned()),
            resident_bytes: process.resident_pages * rustix::param::page_size() as u64,
        }
    }
}
