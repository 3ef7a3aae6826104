//! How the workloads share.

use std::collections::BTreeMap;
use std::time::Duration;

use super::WeeklyWindow;
use crate::units::{Bytes, BytesPerSecond, Share};

/// How the workloads share, and what enforces it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// The mode with its settings.
    pub mode: SharingMode,
    /// Exact versions of whatever enforces the mode, by name.
    pub versions: BTreeMap<String, String>,
    /// Whether each GPU has an MPS server of its own. `None` means that the file is silent.
    pub mps_server_per_gpu: Option<bool>,
    /// What the host holds each workload to, by workload. A cap is a claim until an audit has shown
    /// that it binds.
    pub caps: BTreeMap<String, HostCaps>,
    /// A load that keeps a GPU busy and prints its rate, for the audit of what divides a GPU.
    pub saturating_load: Option<SaturatingLoad>,
}

/// What the host holds a workload to, by control groups, quotas or the like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostCaps {
    /// CPU time in each second, cores (`cpu.max`).
    pub cpu_cores: Option<f64>,
    /// The only CPUs that it may run on (`cpuset.cpus`).
    pub cpus: Option<Vec<u32>>,
    /// Memory of the host (`memory.max`).
    pub memory: Option<Bytes>,
    /// Rate of writing to disks (`io.max`).
    pub disk_write: Option<BytesPerSecond>,
    /// Space on the disk, and the folder to which it applies.
    pub disk_space: Option<DiskSpace>,
}

impl HostCaps {
    /// Names of the caps that are declared, as they are called in audits.
    pub fn names(&self) -> Vec<&'static str> {
        [
            (self.cpu_cores.is_some(), Self::CPU),
            (self.cpus.is_some(), Self::CPUS),
            (self.memory.is_some(), Self::MEMORY),
            (self.disk_write.is_some(), Self::DISK_WRITE),
            (self.disk_space.is_some(), Self::DISK_SPACE),
        ]
        .into_iter()
        .filter_map(|(is_declared, name)| is_declared.then_some(name))
        .collect()
    }

    /// The cap of CPU time.
    pub const CPU: &str = "CPU time";
    /// The set of CPUs.
    pub const CPUS: &str = "set of CPUs";
    /// The cap of memory.
    pub const MEMORY: &str = "host memory";
    /// The cap of the rate of writing.
    pub const DISK_WRITE: &str = "disk write rate";
    /// The cap of space on the disk.
    pub const DISK_SPACE: &str = "disk space";
}

/// A quota of disk space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// The most that it may hold there.
    pub size: Bytes,
    /// The folder.
    pub folder: String,
}

/// A command that keeps a GPU as busy as it can until it is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaturatingLoad {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// How a line that tells its rate looks, with `{rate}` where the number stands.
    pub rate: String,
}

/// The mode of sharing with its settings. Workloads are named.
#[derive(Clone, Debug, PartialEq)]
pub enum SharingMode {
    /// Each GPU belongs to one workload.
    WholeGpu(WholeGpu),
    /// GPUs are partitioned by the hardware.
    Mig(Vec<MigGpu>),
    /// Processes of several workloads run on one GPU through the MPS server.
    Mps(MpsMode),
    /// The driver switches between processes.
    TimeSlicing(TimeSlicing),
    /// Workloads hold GPUs at different times.
    Temporal(Vec<TemporalWindow>),
    /// Workloads share only CPU cores. No GPU claim ever comes of it.
    HostCpu(HostCpu),
    /// The plan compares all modes that the GPU allows.
    CandidatesAll,
}

impl SharingMode {
    /// The mode's name in the site file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WholeGpu(_) => "whole_gpu",
            Self::Mig(_) => "mig",
            Self::Mps(_) => "mps",
            Self::TimeSlicing(_) => "time_slicing",
            Self::Temporal(_) => "temporal",
            Self::HostCpu(_) => "host_cpu",
            Self::CandidatesAll => "candidates",
        }
    }
}

/// Which GPUs belong to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WholeGpu {
    /// GPU numbers of each workload, ascending. No GPU occurs twice.
    pub gpus: BTreeMap<String, Vec<u32>>,
}

/// The exact layout of some GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigGpu {
    /// The GPUs that are laid out this way, ascending.
    pub gpus: Vec<u32>,
    /// The instances, in order.
    pub instances: Vec<MigInstance>,
}

/// One instance of a partitioned GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigInstance {
    /// The profile as the driver names it: `3g.40gb`.
    pub profile: String,
    /// Where it begins on the GPU's memory grid; `None` where the driver may choose.
    pub placement: Option<u32>,
    /// The workload that runs in it, by name.
    pub workload: Option<String>,
}

/// How the MPS server divides a GPU.
#[derive(Clone, Debug, PartialEq)]
pub enum MpsMode {
    /// Each client is limited to a percentage of the SMs. The percentage limits and does not
    /// reserve.
    Default {
        /// The percentage of each workload.
        percentages: BTreeMap<String, Share>,
        /// Limits of device memory.
        memory_limits: MemoryLimits,
    },
    /// Static partitions of SMs (Ampere and later).
    Static {
        /// SM chunks of each workload.
        partitions: BTreeMap<String, u32>,
        /// Limits of device memory.
        memory_limits: MemoryLimits,
    },
}

/// Limits of device memory of each workload.
pub type MemoryLimits = BTreeMap<String, Bytes>;

/// Settings of time-slicing. A replica is not a share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSlicing {
    /// GPUs of each workload, ascending; a workload that is absent may use all.
    pub gpus: BTreeMap<String, Vec<u32>>,
    /// The part of a GPU that a scheduler books for each workload. It places, and enforces nothing.
    pub booked: BTreeMap<String, Share>,
    /// Replicas that the device plugin offers of one GPU.
    pub replicas: Option<u32>,
    /// The slice that the driver is set to.
    pub slice: Option<SlicePeriod>,
}

/// The length of a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlicePeriod {
    /// The driver's default.
    Default,
    /// The driver's short slice.
    Short,
    /// The driver's medium slice.
    Medium,
    /// The driver's long slice.
    Long,
    /// A slice of this length, where the driver or a third party takes one.
    Time(Duration),
}

impl SlicePeriod {
    /// The periods that have a name.
    pub const NAMED: [(Self, &'static str); 4] = [
        (Self::Default, "default"),
        (Self::Short, "short"),
        (Self::Medium, "medium"),
        (Self::Long, "long"),
    ];
}

/// Who holds which GPUs in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporalWindow {
    /// When, in local time of the site.
    pub when: WeeklyWindow,
    /// The workload, by name.
    pub workload: String,
    /// Its GPUs, ascending; empty means all.
    pub gpus: Vec<u32>,
}

/// How workloads share CPU cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCpu {
    /// The CPU priority of whatever is not inference.
    pub neighbour_priority: NeighbourPriority,
    /// Cores of each workload, ascending; a workload that is absent may use all.
    pub affinity: BTreeMap<String, Vec<u32>>,
}

/// The CPU priority of the neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NeighbourPriority {
    /// The same as inference.
    #[default]
    Normal,
    /// The idle policy of the scheduler (`SCHED_IDLE`).
    Idle,
    /// A nice value, 1 to 19.
    Nice(u8),
}
