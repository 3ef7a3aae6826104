//! What is done on purpose in a block, beside which tenants run.

use std::fmt;

/// What is done on purpose in a block beside its condition. Only [`Situation::Ordinary`] blocks are
/// compared as tests A, B and C: a block under a stressor, a burst or a fault answers another
/// question, and must never be pooled with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Situation {
    /// Nothing: the declared load, and the neighbour as declared.
    #[default]
    Ordinary,
    /// One resource is stressed while inference runs alone.
    Stressed(Stress),
    /// Another rate than the declared one, chosen by a rule from the blocks before it. The number
    /// counts the looks of one search from 0; the rate stands in [`super::Block::load_factor`].
    Search(u32),
    /// Load rises far above the declared rate while the neighbour runs, and the neighbour has to
    /// yield.
    Burst,
    /// The neighbour is made to fail while inference goes on.
    Fault(NeighbourFault),
    /// The GPUs change hands, only to see what that takes.
    Drill,
}

impl Situation {
    /// Whether the block is one of tests A, B and C.
    pub fn is_ordinary(self) -> bool {
        self == Self::Ordinary
    }

    /// One word for the name of a run's folder; `None` for tests A, B and C, which have letters.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Ordinary => None,
            Self::Stressed(_) => Some("sensitivity"),
            Self::Search(_) => Some("capacity"),
            Self::Burst => Some("burst"),
            Self::Fault(_) => Some("faults"),
            Self::Drill => Some("reclaim"),
        }
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinary => f.write_str("as declared"),
            Self::Stressed(Stress { dose: 0, .. }) => f.write_str("nothing stressed"),
            Self::Stressed(stress) => {
                write!(f, "{} stressed, dose {}", stress.stressor.name(), stress.dose)
            }
            Self::Search(look) => write!(f, "look {} of a search for capacity", look + 1),
            Self::Burst => f.write_str("under a burst"),
            Self::Fault(fault) => write!(f, "neighbour {}", fault.name()),
            Self::Drill => f.write_str("reclaim drill"),
        }
    }
}

/// A stressor at a dose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stress {
    /// What is stressed.
    pub stressor: Stressor,
    /// How much, from 1 (a third of what the resource gives) to [`Stress::DOSE_MAX`] (all of it).
    /// At dose 0 nothing is stressed: such a block is the reference of the others, and no block of
    /// test A, since what ran before it may linger.
    pub dose: u8,
}

impl Stress {
    /// The largest dose.
    pub const DOSE_MAX: u8 = 3;

    /// The share of what the resource gives that a dose asks for.
    pub fn share(self) -> f64 {
        f64::from(self.dose) / f64::from(Self::DOSE_MAX)
    }
}

/// What a stressor reached in a block, as it told itself each second: a dose is measured and not
/// assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct StressRecord {
    /// Unit of the rates: "cores" or "B/s".
    pub unit: String,
    /// What all of the resource gave when the stressor was calibrated on this host, in the unit.
    pub calibrated: f64,
    /// The rate that was asked for, in the unit; `None` where as much as goes was.
    pub asked: Option<f64>,
    /// What was reached: the end of an interval, nanoseconds from the block's start, and the mean
    /// rate over it, in the unit.
    pub reached: Vec<(u64, f64)>,
    /// What else it told, in sentences: bounds that it kept.
    pub remarks: Vec<String>,
}

impl StressRecord {
    /// Mean of the rates whose intervals ended within a part of the block; `None` where none did.
    pub fn reached_within(&self, range: std::ops::Range<u64>) -> Option<f64> {
        let rates: Vec<f64> = self
            .reached
            .iter()
            .filter(|(at_ns, _)| range.contains(at_ns))
            .map(|(_, rate)| *rate)
            .collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    }
}

/// A resource that one stressor uses and, as far as possible, no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stressor {
    /// Cores, with arithmetic in registers.
    Cpu,
    /// Memory bandwidth, with streams larger than every cache.
    MemoryBandwidth,
    /// The disk, with writes and fsync as a checkpoint makes them.
    DiskSync,
    /// The page cache, with reads of more than it holds.
    PageCache,
    /// The network stack, over loopback.
    Network,
    /// The GPU's arithmetic.
    GpuCompute,
    /// The GPU's memory bandwidth.
    GpuMemory,
}

impl Stressor {
    /// Every stressor.
    pub const ALL: [Self; 7] = [
        Self::Cpu,
        Self::MemoryBandwidth,
        Self::DiskSync,
        Self::PageCache,
        Self::Network,
        Self::GpuCompute,
        Self::GpuMemory,
    ];

    /// Its name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::MemoryBandwidth => "memory bandwidth",
            Self::DiskSync => "disk write and fsync",
            Self::PageCache => "page cache",
            Self::Network => "network over loopback",
            Self::GpuCompute => "GPU arithmetic",
            Self::GpuMemory => "GPU memory bandwidth",
        }
    }

    /// Its name on the command line and in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::MemoryBandwidth => "memory",
            Self::DiskSync => "disk",
            Self::PageCache => "page-cache",
            Self::Network => "network",
            Self::GpuCompute => "gpu-compute",
            Self::GpuMemory => "gpu-memory",
        }
    }

    /// Whether it needs a GPU.
    pub fn needs_gpu(self) -> bool {
        matches!(self, Self::GpuCompute | Self::GpuMemory)
    }

    /// The name under which a stressor's process stands in host samples. No workload of a site can
    /// be called like this.
    pub const PROCESS: &'static str = "the stressor";
}

/// How a neighbour is made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NeighbourFault {
    /// SIGKILL, without notice.
    Killed,
    /// It runs against its memory limit.
    OutOfMemory,
    /// It fills its disk quota.
    DiskFull,
}

impl NeighbourFault {
    /// Every fault.
    pub const ALL: [Self; 3] = [Self::Killed, Self::OutOfMemory, Self::DiskFull];

    /// Its name in text, as what befell the neighbour.
    pub fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::OutOfMemory => "out of memory",
            Self::DiskFull => "out of disk",
        }
    }
}

/// Something that was done on purpose in a block, and how the two tenants took it. Times are
/// nanoseconds from the block's start; `None` means that it was not seen before the block ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// What was done: "SIGKILL to `train`", "load at 3.0 times the declared rate".
    pub what: String,
    /// When it began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: Option<u64>,
    /// When the neighbour had yielded: stopped, and its memory free.
    pub yielded_ns: Option<u64>,
    /// When inference was back within its objectives, and stayed there.
    pub inference_recovered_ns: Option<u64>,
    /// When the neighbour ran as before.
    pub neighbour_recovered_ns: Option<u64>,
    /// Of the requests that were due from its beginning to its end, how many broke a bound, and how
    /// many there were; `None` where no bound was looked at.
    pub requests_late: Option<(u64, u64)>,
    /// What else was seen, in sentences.
    pub remarks: Vec<String>,
}
