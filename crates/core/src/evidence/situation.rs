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
    /// How much, from 1 (a third of what the resource gives) to 3 (all of it).
    pub dose: u8,
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
    /// What else was seen, in sentences.
    pub remarks: Vec<String>,
}
