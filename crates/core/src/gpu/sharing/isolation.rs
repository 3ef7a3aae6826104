//! What each mechanism isolates.

use super::sources::{DEFINITION, DEVICE_PLUGIN, MIG_CONCEPTS, MPS, MPS_STATIC};
use crate::gpu::Source;
use crate::site::{IsolationProperty, MpsMode, SharingMode};

/// A way to share a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// A GPU belongs to one workload at a time.
    WholeGpu,
    /// Instances of the hardware.
    Mig,
    /// Clients of an MPS server, limited by percentages or not at all.
    MpsDefault,
    /// Clients of an MPS server in static partitions of SMs.
    MpsStatic,
    /// The driver switches between processes.
    TimeSlicing,
}

impl Mechanism {
    /// Every mechanism, in the order in which they are to be considered.
    pub const ALL: [Self; 5] =
        [Self::WholeGpu, Self::Mig, Self::MpsStatic, Self::MpsDefault, Self::TimeSlicing];

    /// The mechanism of a mode of the site file; `None` where no GPU is shared or the mode is open.
    pub fn of(mode: &SharingMode) -> Option<Self> {
        match mode {
            SharingMode::WholeGpu(_) | SharingMode::Temporal(_) => Some(Self::WholeGpu),
            SharingMode::Mig(_) => Some(Self::Mig),
            SharingMode::Mps(MpsMode::Default { .. }) => Some(Self::MpsDefault),
            SharingMode::Mps(MpsMode::Static { .. }) => Some(Self::MpsStatic),
            SharingMode::TimeSlicing(_) => Some(Self::TimeSlicing),
            SharingMode::HostCpu(_) | SharingMode::CandidatesAll => None,
        }
    }

    /// The mechanism in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::WholeGpu => "whole GPU",
            Self::Mig => "MIG",
            Self::MpsDefault => "MPS",
            Self::MpsStatic => "MPS with static partitions",
            Self::TimeSlicing => "time-slicing",
        }
    }
}

/// Whether a mechanism gives a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It does where the memory of every other client is limited.
    IfOthersLimited {
        /// Why it does not where it is not.
        otherwise: &'static str,
    },
}

/// Whether a mechanism gives a property, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// The property.
    pub property: IsolationProperty,
    /// Whether it gives it.
    pub gives: Gives,
    /// Why, as a fragment of a sentence.
    pub why: &'static str,
    /// Where that comes from.
    pub source: &'static Source,
}

/// The rule of a mechanism for a property.
pub fn rule(mechanism: Mechanism, property: IsolationProperty) -> Rule {
    let asked = |rule: &&Rule| rule.mechanism == mechanism && rule.property == property;
    // The table is whole, which a test holds; what it did not say would not be given.
    RULES.iter().find(asked).copied().unwrap_or(Rule {
        mechanism,
        property,
        gives: Gives::No,
        why: "no rule says that it does",
        source: &MIG_CONCEPTS,
    })
}

const WHOLE: &str = "a GPU belongs to one workload at a time";
const INSTANCES: &str = "instances have SMs, memory, cache and bandwidth of their own";
const BANDWIDTH: &str = "clients share the memory bandwidth";
const FAULT: &str = "a fatal fault of one client stops all clients of the GPU";
const SLICES: &str = "time-slicing isolates neither memory nor faults, and a replica is no share";
const HOST: &str = "a mode of sharing GPUs says nothing of the host's CPUs";
const LIMITED: &str = "the device memory of the other workload is limited";
const UNLIMITED: Gives = Gives::IfOthersLimited {
    otherwise: "no memory limit is set for the other workload, so it may take all of it",
};

const fn row(
    mechanism: Mechanism,
    property: IsolationProperty,
    gives: Gives,
    why: &'static str,
    source: &'static Source,
) -> Rule {
    Rule { mechanism, property, gives, why, source }
}

use Gives::{No, Yes};
use IsolationProperty::{Cpu, Faults, MemoryBandwidth, MemoryCapacity, Sms};
use Mechanism::{Mig, MpsDefault, MpsStatic, TimeSlicing, WholeGpu};

/// Every rule.
pub static RULES: [Rule; 25] = [
    row(WholeGpu, MemoryCapacity, Yes, WHOLE, &DEFINITION),
    row(WholeGpu, MemoryBandwidth, Yes, WHOLE, &DEFINITION),
    row(
        WholeGpu,
        Faults,
        Yes,
        "a GPU belongs to one workload at a time, and a fault stays on its GPU",
        &MPS,
    ),
    row(WholeGpu, Sms, Yes, WHOLE, &DEFINITION),
    row(WholeGpu, Cpu, No, HOST, &DEFINITION),
    row(Mig, MemoryCapacity, Yes, INSTANCES, &MIG_CONCEPTS),
    row(Mig, MemoryBandwidth, Yes, INSTANCES, &MIG_CONCEPTS),
    row(Mig, Faults, Yes, "a fault stays in its instance", &MIG_CONCEPTS),
    row(Mig, Sms, Yes, INSTANCES, &MIG_CONCEPTS),
    row(Mig, Cpu, No, HOST, &MIG_CONCEPTS),
    row(MpsDefault, MemoryCapacity, UNLIMITED, LIMITED, &MPS),
    row(MpsDefault, MemoryBandwidth, No, BANDWIDTH, &MPS),
    row(MpsDefault, Faults, No, FAULT, &MPS),
    row(MpsDefault, Sms, No, "an MPS percentage limits a client and reserves nothing for it", &MPS),
    row(MpsDefault, Cpu, No, HOST, &MPS),
    row(MpsStatic, MemoryCapacity, UNLIMITED, LIMITED, &MPS),
    row(MpsStatic, MemoryBandwidth, No, BANDWIDTH, &MPS_STATIC),
    row(MpsStatic, Faults, No, FAULT, &MPS),
    row(MpsStatic, Sms, Yes, "static partitions give each client SMs of its own", &MPS_STATIC),
    row(MpsStatic, Cpu, No, HOST, &MPS_STATIC),
    row(TimeSlicing, MemoryCapacity, No, SLICES, &DEVICE_PLUGIN),
    row(TimeSlicing, MemoryBandwidth, No, SLICES, &DEVICE_PLUGIN),
    row(TimeSlicing, Faults, No, SLICES, &DEVICE_PLUGIN),
    row(TimeSlicing, Sms, No, SLICES, &DEVICE_PLUGIN),
    row(TimeSlicing, Cpu, No, HOST, &DEVICE_PLUGIN),
];
