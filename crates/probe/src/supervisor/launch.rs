//! What a workload is started with.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
    pub(crate) fn raw(self) -> rustix::process::Signal {
        use rustix::process::Signal as Raw;
        match self {
            Self::Hangup => Raw::HUP,
            Self::Interrupt => Raw::INT,
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
}
