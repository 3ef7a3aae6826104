//! What a pool is made of.

use crate::units::Picoseconds;

/// Nodes that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// How many.
    pub nodes: u32,
    /// GPUs of each.
    pub gpus_each: u32,
}

/// One kind of GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flavour {
    /// What it is called.
    pub name: String,
    /// The nodes that have it. Without any, places are not looked at: whoever has quota works.
    pub nodes: Vec<NodeGroup>,
}

/// Which node a pod goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// The one that has the fewest free GPUs left of those with enough.
    #[default]
    BestFit,
    /// The first one with enough.
    FirstFit,
}

/// The quota of one queue in one flavour, in GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Its own.
    pub nominal: u32,
    /// How much it may have above that; `None` for whatever the cohort does not use. Without
    /// meaning outside a cohort.
    pub borrowing_limit: Option<u32>,
    /// How much of its own others may use; `None` for all of it. Without meaning outside a cohort.
    pub lending_limit: Option<u32>,
}

/// What happens to a queue whose head cannot be admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The head stands aside until something in the cohort gets free, and the next one is tried.
    #[default]
    BestEffortFifo,
    /// All behind it wait.
    StrictFifo,
}

/// Whom of other queues, that use more than their own quota, a queue may stop to get its own back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reclaim {
    /// Nobody.
    #[default]
    Never,
    /// Those of a lower priority than the workload that wants in.
    LowerPriority,
    /// Anybody.
    Any,
}

/// Whom a workload may stop in its own queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Within {
    /// Nobody.
    #[default]
    Never,
    /// Those of a lower priority.
    LowerPriority,
}

/// A queue with quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// What it is called.
    pub name: String,
    /// The number of the cohort with which it shares quota; `None` for a queue by itself.
    pub cohort: Option<u16>,
    /// What a head that cannot be admitted does.
    pub strategy: Strategy,
    /// Whom it may stop elsewhere.
    pub reclaim: Reclaim,
    /// Whom it may stop at home.
    pub within: Within,
    /// One for each flavour, in their order.
    pub quotas: Vec<Quota>,
}

/// How long an admitted gang may wait for places before its quota goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementTimeout {
    /// The longest wait.
    pub after: Picoseconds,
    /// How long it then stays away the first time; twice as long each time after.
    pub backoff: Picoseconds,
    /// The longest stay away.
    pub backoff_max: Picoseconds,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// Kinds of GPUs.
    pub flavours: Vec<Flavour>,
    /// Queues.
    pub queues: Vec<QueueSpec>,
    /// Which node a pod goes to.
    pub packing: Packing,
    /// How long somebody who is stopped keeps its GPUs without working.
    pub exit: Picoseconds,
    /// When a gang without places gives its quota back; `None` for never.
    pub placement_timeout: Option<PlacementTimeout>,
    /// Where the simulation ends, whatever still waits or runs.
    pub until: Picoseconds,
}
