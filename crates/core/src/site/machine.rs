//! The machines: one server, or a pool of them.

use crate::units::{Bytes, BytesPerSecond};

/// One server or one pool.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteKind {
    /// One server.
    Server(Box<Server>),
    /// A pool of servers behind queues.
    Pool(Pool),
}

impl SiteKind {
    /// The kind's name in the site file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Server(_) => "server",
            Self::Pool(_) => "pool",
        }
    }
}

/// One server and the versions on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// The exact GPU model as written; `None` where the server has no GPU (`gpu: none`).
    pub gpu: Option<String>,
    /// Number of GPUs; 0 where there is none.
    pub gpu_count: u32,
    /// Memory of one GPU.
    pub gpu_memory: Option<Bytes>,
    /// Memory of each GPU that processes outside of the site file hold.
    pub gpu_memory_taken: Option<Bytes>,
    /// GPU driver version.
    pub driver: Option<String>,
    /// CUDA version.
    pub cuda: Option<String>,
    /// NCCL version.
    pub nccl: Option<String>,
    /// Kernel version.
    pub kernel: Option<String>,
    /// The scheduler that places work on the server.
    pub scheduler: Option<Scheduler>,
    /// CPU cores that can be used: what quota and affinity leave, not what is visible.
    pub cpu_cores: Option<f64>,
    /// CPU cores that programs see when they ask how many there are.
    pub cpu_cores_visible: Option<f64>,
    /// Host memory.
    pub memory: Option<Bytes>,
    /// Local storage.
    pub storage: Option<Storage>,
    /// The network to other machines.
    pub network: Option<Network>,
    /// Which cores, memory and GPUs lie together.
    pub numa: Vec<NumaNode>,
}

/// The scheduler that places work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// Which one.
    pub kind: SchedulerKind,
    /// Its version.
    pub version: Option<String>,
}

/// The schedulers that Cotenant knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchedulerKind {
    /// Work is started by hand or by the system's own services.
    None,
    /// Slurm.
    Slurm,
    /// Kubernetes, with whatever queueing runs on it.
    Kubernetes,
}

impl SchedulerKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::None, Self::Slurm, Self::Kubernetes];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
        }
    }
}

/// Bandwidth of the local storage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Storage {
    /// Sequential reading.
    pub read_bandwidth: Option<BytesPerSecond>,
    /// Sequential writing.
    pub write_bandwidth: Option<BytesPerSecond>,
}

/// The network to other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Network {
    /// Bandwidth of all ports that the workloads may use.
    pub bandwidth: Option<BytesPerSecond>,
    /// Whether it carries RDMA (InfiniBand or RoCE).
    pub rdma: Option<bool>,
}

/// What lies together on one NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// The node's number.
    pub node: u32,
    /// Its CPUs, ascending.
    pub cpus: Vec<u32>,
    /// Its GPUs, ascending.
    pub gpus: Vec<u32>,
    /// Its memory.
    pub memory: Option<Bytes>,
}

/// Servers behind queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Groups of equal servers.
    pub nodes: Vec<NodeGroup>,
    /// Queues that admit work.
    pub queues: Vec<Queue>,
    /// Pools of serving replicas.
    pub serving_pools: Vec<ServingPool>,
}

/// A number of equal servers.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeGroup {
    /// The group's name.
    pub name: String,
    /// How many servers.
    pub count: u32,
    /// One of them.
    pub server: Server,
}

/// A queue that admits work before any node is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    /// The queue's name.
    pub name: String,
    /// GPUs it may use of its own.
    pub quota: Option<u32>,
    /// Queues of one cohort may borrow from each other.
    pub cohort: Option<String>,
    /// GPUs it may borrow at most; `None` where the file is silent.
    pub borrowing_limit: Option<u32>,
    /// GPUs it may lend at most; `None` where the file is silent.
    pub lending_limit: Option<u32>,
    /// Its weight in fair sharing.
    pub weight: Option<f64>,
    /// The priority classes of its work.
    pub priority_classes: Vec<PriorityClass>,
    /// The workloads that come through it, by name.
    pub workloads: Vec<String>,
}

/// A named priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClass {
    /// The class's name.
    pub name: String,
    /// Higher goes first.
    pub value: i64,
}

/// Replicas of one engine that serve one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingPool {
    /// The pool's name.
    pub name: String,
    /// The inference workload that it serves, by name.
    pub workload: Option<String>,
    /// Which part of serving it does.
    pub role: ServingRole,
    /// Replicas that always run.
    pub replicas_min: Option<u32>,
    /// Replicas it may grow to.
    pub replicas_max: Option<u32>,
    /// GPUs of one replica.
    pub gpus_per_replica: Option<u32>,
    /// The queue whose quota it uses, by name.
    pub queue: Option<String>,
}

/// Which part of serving a pool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ServingRole {
    /// Prefill and decode together.
    #[default]
    Both,
    /// Prefill alone.
    Prefill,
    /// Decode alone.
    Decode,
}

impl ServingRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Both, Self::Prefill, Self::Decode];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}
