//! The fingerprint: what must not change for evidence to hold.

use std::collections::BTreeMap;
use std::fmt;

/// One aspect of the stack that a measurement was made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// GPU model and memory, or the CPU where there is no GPU.
    Device,
    /// Which devices or cores the workloads could see.
    VisibleDevices,
    /// GPU driver version.
    Driver,
    /// CUDA version.
    Cuda,
    /// NCCL version.
    Nccl,
    /// Operating system kernel.
    Kernel,
    /// Scheduler and its version.
    Scheduler,
    /// Engine and version.
    Engine,
    /// The engine's arguments.
    EngineArguments,
    /// Served model.
    Model,
    /// Trainer and version.
    Trainer,
    /// The trainer's arguments.
    TrainerArguments,
    /// Sharing mode and its settings.
    Sharing,
    /// Version of the load client.
    Client,
}

impl Aspect {
    /// Every aspect, in the order in which reports list them.
    pub const ALL: [Self; 14] = [
        Self::Device,
        Self::VisibleDevices,
        Self::Driver,
        Self::Cuda,
        Self::Nccl,
        Self::Kernel,
        Self::Scheduler,
        Self::Engine,
        Self::EngineArguments,
        Self::Model,
        Self::Trainer,
        Self::TrainerArguments,
        Self::Sharing,
        Self::Client,
    ];

    /// The aspect's name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::VisibleDevices => "visible devices",
            Self::Driver => "driver",
            Self::Cuda => "CUDA",
            Self::Nccl => "NCCL",
            Self::Kernel => "kernel",
            Self::Scheduler => "scheduler",
            Self::Engine => "engine",
            Self::EngineArguments => "engine arguments",
            Self::Model => "model",
            Self::Trainer => "trainer",
            Self::TrainerArguments => "trainer arguments",
            Self::Sharing => "sharing mode",
            Self::Client => "load client",
        }
    }

    /// The aspect with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aspect| aspect.name() == name)
    }

    /// Whether a change of this aspect makes test A (inference alone) stale. Test C is stale after
    /// any change.
    pub fn stales_inference(self) -> bool {
        !matches!(self, Self::Nccl | Self::Trainer | Self::TrainerArguments)
    }

    /// Whether a change of this aspect makes test B (training alone) stale.
    pub fn stales_training(self) -> bool {
        !matches!(self, Self::Engine | Self::EngineArguments | Self::Model | Self::Client)
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The stack that a measurement was made on. An aspect that is absent was not observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(pub BTreeMap<Aspect, String>);

impl Fingerprint {
    /// The aspects in which two stacks differ, with both values (`None` where not observed).
    pub fn differences<'a>(
        &'a self,
        other: &'a Self,
    ) -> Vec<(Aspect, Option<&'a str>, Option<&'a str>)> {
        Aspect::ALL
            .into_iter()
            .map(|aspect| {
                let value = |print: &'a Self| print.0.get(&aspect).map(String::as_str);
                (aspect, value(self), value(other))
            })
            .filter(|(_, mine, theirs)| mine != theirs)
            .collect()
    }
}
