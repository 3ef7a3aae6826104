//! How the place is operated: availability, change, maintenance, transitions, isolation and cost.

use std::time::Duration;

use super::{LayoutChange, WeeklyWindow};
use crate::units::{Money, Share};

/// How the place is operated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operations {
    /// Share of time in which one node is up. The target stands with the inference workload.
    pub node_availability: Option<Share>,
    /// Whether it is accepted that one fault can stop all workloads.
    pub failure_domain: Option<FailureDomain>,
    /// How often each workload needs a change under it, in the order of the file.
    pub change_cycle: Vec<ChangeCycle>,
    /// When the place is maintained.
    pub maintenance: Option<Maintenance>,
    /// Share of the exposures in which the reserve may be short, at most.
    pub risk_tolerance: Option<Share>,
    /// Time to get a lent GPU back for inference, at its worst: from the signal to the first
    /// successful token.
    pub reclaim_time: Option<Duration>,
    /// The shape of the capacity calendar.
    pub calendar: Option<CalendarShape>,
    /// What happens when GPUs change hands.
    pub transition: Option<Transition>,
    /// What each workload must be protected from, in the order of the file.
    pub isolation: Vec<IsolationNeed>,
    /// Prices, where money should be shown.
    pub cost: Option<Cost>,
}

impl Operations {
    /// What a workload must be protected from; empty where nothing is declared.
    pub fn isolation_of(&self, workload: &str) -> &[IsolationProperty] {
        self.isolation
            .iter()
            .find(|need| need.workload == workload)
            .map_or(&[], |need| &need.properties)
    }

    /// How often a workload needs a change under it.
    pub fn change_cycle_of(&self, workload: &str) -> Option<&ChangeCycle> {
        self.change_cycle.iter().find(|cycle| cycle.workload == workload)
    }
}

/// Whether it is accepted that one board, power supply, operating system, driver or network card
/// can stop all workloads at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureDomain {
    /// The decision.
    pub accepted: bool,
    /// Who decided.
    pub accepted_by: Option<String>,
}

/// How often a workload needs a change under it. `None` means that the file is silent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeCycle {
    /// The workload, by name.
    pub workload: String,
    /// A new driver each.
    pub driver: Option<Duration>,
    /// A new CUDA version each.
    pub cuda: Option<Duration>,
    /// A new framework or engine each.
    pub framework: Option<Duration>,
    /// A reboot each.
    pub reboot: Option<Duration>,
    /// When it accepts them.
    pub windows: Vec<WeeklyWindow>,
}

/// When the place is maintained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintenance {
    /// The windows, in local time of the site.
    pub windows: Vec<WeeklyWindow>,
    /// Who accepted that both workloads live with one driver, kernel and reboot cycle.
    pub accepted_by: Option<String>,
}

/// The shape of the capacity calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CalendarShape {
    /// Length of a window, 15 to 60 minutes.
    pub window: Option<Duration>,
    /// The local day on which it begins.
    pub begins: Option<jiff::civil::Date>,
    /// How many weeks it covers.
    pub weeks: Option<u32>,
}

/// What happens when GPUs change hands, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// From inference to training.
    pub to_training: Vec<TransitionStep>,
    /// From training to inference.
    pub to_inference: Vec<TransitionStep>,
    /// Where the durations were measured.
    pub source: Option<String>,
    /// How the GPUs are laid out anew for training.
    pub layout_for_training: Option<LayoutChange>,
    /// How they are laid out anew for inference.
    pub layout_for_inference: Option<LayoutChange>,
}

/// One step of a change of hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitionStep {
    /// What is done.
    pub kind: TransitionStepKind,
    /// How long it takes, where it was measured elsewhere.
    pub duration: Option<Duration>,
}

/// What is done in one step of a change of hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransitionStepKind {
    /// Running requests finish.
    Drain,
    /// The job saves.
    Checkpoint,
    /// The GPU is partitioned anew.
    MigReconfiguration,
    /// The machine boots.
    Reboot,
    /// A service restarts.
    ServiceRestart,
    /// Weights are loaded.
    ModelReload,
    /// Caches fill and graphs are captured.
    WarmUp,
    /// The job continues.
    Resume,
}

impl TransitionStepKind {
    /// Every step.
    pub const ALL: [Self; 8] = [
        Self::Drain,
        Self::Checkpoint,
        Self::MigReconfiguration,
        Self::Reboot,
        Self::ServiceRestart,
        Self::ModelReload,
        Self::WarmUp,
        Self::Resume,
    ];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Checkpoint => "checkpoint",
            Self::MigReconfiguration => "mig_reconfiguration",
            Self::Reboot => "reboot",
            Self::ServiceRestart => "service_restart",
            Self::ModelReload => "model_reload",
            Self::WarmUp => "warm_up",
            Self::Resume => "resume",
        }
    }
}

/// What a workload must be protected from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolationNeed {
    /// The workload, by name.
    pub workload: String,
    /// The properties, in the order of the file, each once.
    pub properties: Vec<IsolationProperty>,
}

/// A property that a mode of sharing may or may not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IsolationProperty {
    /// The neighbour cannot take its memory.
    MemoryCapacity,
    /// The neighbour cannot take its memory bandwidth.
    MemoryBandwidth,
    /// A fault of the neighbour does not stop it.
    Faults,
    /// The neighbour cannot take its SMs.
    Sms,
    /// The neighbour cannot take its CPU: the property that `host_cpu` sharing is about.
    Cpu,
}

impl IsolationProperty {
    /// Every property.
    pub const ALL: [Self; 5] =
        [Self::MemoryCapacity, Self::MemoryBandwidth, Self::Faults, Self::Sms, Self::Cpu];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryCapacity => "memory_capacity",
            Self::MemoryBandwidth => "memory_bandwidth",
            Self::Faults => "faults",
            Self::Sms => "sms",
            Self::Cpu => "cpu",
        }
    }
}

/// Prices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Of one GPU for one hour.
    pub gpu_hour: Option<Money>,
    /// Of one kilowatt-hour.
    pub energy: Option<Money>,
}
