//! Who makes the machine change hands, beside the signal that a neighbour is sent: an engine that can
//! sleep, whatever lays a GPU out anew, a scheduler that takes a job away.

use std::time::Duration;

/// An engine that gives its memory back over its API and stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineSleep {
    /// 1: weights go to host memory. 2: they are dropped, and loaded again at the wake-up.
    pub level: u8,
}

/// A GPU that is laid out anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutChange {
    /// Who does it.
    pub by: LayoutDriver,
    /// It has failed when it is not done by then; `None` where the file is silent.
    pub time_limit: Option<Duration>,
    /// What must hold afterwards, whatever the driver said.
    pub postconditions: Vec<Postcondition>,
}

/// Who lays a GPU out anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutDriver {
    /// A program of the user's; no shell reads its arguments.
    Command(Vec<String>),
    /// GPU Operator's MIG Manager, through the labels of a node.
    MigManager {
        /// The node.
        node: String,
        /// The name of the configuration: `all-1g.10gb`.
        config: String,
        /// The program that speaks to the cluster; `None` means `kubectl`.
        kubectl: Option<String>,
    },
}

/// A program whose answer must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postcondition {
    /// Program and arguments. It must end with code 0.
    pub command: Vec<String>,
    /// Text that its output must contain.
    pub contains: Option<String>,
}

/// A neighbour that is a job of Slurm's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    /// The program that submits it and prints its number: `sbatch --parsable train.sbatch`.
    pub submit: Vec<String>,
    /// The file that its output goes to, relative to the site file; `%j` stands for its number.
    pub output: String,
}
