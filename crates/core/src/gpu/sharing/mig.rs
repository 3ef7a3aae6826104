//! MIG beyond placement: switching the mode, graphics, and what cannot be measured.

use super::sources::{DCGM, MIG_DEPLOY, MIG_MODE, NVML};
use crate::gpu::{Architecture, Profile, Sku, Source};

/// What switching MIG on does to a card, and how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// Whether the GPU is reset; `None` where no source says.
    pub resets: Option<bool>,
    /// How long the mode lasts.
    pub persistence: Persistence,
    /// In a sentence.
    pub why: &'static str,
    /// Where it comes from.
    pub source: &'static Source,
}

/// How long MIG stays enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Over reboots, until it is disabled.
    UntilDisabled,
    /// While the driver is loaded: a reboot or a reload of the module ends it.
    WhileDriverLoaded,
    /// No source says.
    Unknown,
}

/// What switching MIG on does to a card; `None` where it has no MIG. Instances are gone after a
/// reboot in any case, and processes that hold the GPU keep the mode from changing.
pub fn mig_mode_change(sku: &Sku) -> Option<ModeChange> {
    let mig = sku.mig()?;
    let (persistence, why) = match sku.architecture {
        Architecture::Ampere => (
            Persistence::UntilDisabled,
            "enabling MIG resets the GPU, and stays pending where the reset cannot run; the mode \
             outlives a reboot",
        ),
        Architecture::Hopper => (
            Persistence::WhileDriverLoaded,
            "enabling MIG needs no reset; the mode is gone after a reboot or a reload of the driver",
        ),
        Architecture::Blackwell | Architecture::BlackwellUltra if mig.enabling_resets.is_some() => {
            (
                Persistence::WhileDriverLoaded,
                "the guide says «Hopper and later» of the mode that is gone after a reboot or a \
                 reload of the driver",
            )
        }
        _ => (Persistence::Unknown, "no source says how switching MIG behaves on this card"),
    };
    Some(ModeChange { resets: mig.enabling_resets, persistence, why, source: &MIG_MODE })
}

/// Whether graphics interfaces (OpenGL, Vulkan, and what is built on them) work in an instance, and
/// why. CUDA and OptiX work in every instance; a whole GPU has graphics as far as the card has.
pub fn graphics_on(profile: &Profile) -> (bool, &'static str) {
    if profile.graphics() {
        (true, "+gfx instances run graphics interfaces")
    } else {
        (false, "graphics interfaces run only in +gfx instances, which few cards have")
    }
}

/// A metric that does not mean under MIG what it means without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricUnderMig {
    /// Its name.
    pub metric: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
    /// What to read instead; empty where nothing is.
    pub instead: &'static str,
    /// Where that comes from.
    pub source: &'static Source,
}

/// Metrics that are not available under MIG, or mislead.
pub static MIG_METRICS: [MetricUnderMig; 7] = [
    MetricUnderMig {
        metric: "GPU utilisation of NVML and nvidia-smi",
        problem: "not supported on a GPU with MIG enabled; printed as N/A",
        instead: "DCGM_FI_PROF_GR_ENGINE_ACTIVE and DCGM_FI_PROF_SM_ACTIVE of the instance, or NVML's GPM samples",
        source: &NVML,
    },
    MetricUnderMig {
        metric: "utilisation of each process, pmon, dmon",
        problem: "not supported on a GPU with MIG enabled; printed as a dash",
        instead: "",
        source: &NVML,
    },
    MetricUnderMig {
        metric: "utilisation of encoder, decoder, JPEG and optical flow",
        problem: "not supported on a GPU with MIG enabled",
        instead: "",
        source: &NVML,
    },
    MetricUnderMig {
        metric: "DCGM_FI_DEV_GPU_UTIL and the other DEV_*_UTIL",
        problem: "not available under MIG",
        instead: "DCGM_FI_PROF_GR_ENGINE_ACTIVE, DCGM_FI_PROF_SM_ACTIVE, DCGM_FI_PROF_DRAM_ACTIVE",
        source: &DCGM,
    },
    MetricUnderMig {
        metric: "memory.total of nvidia-smi",
        problem: "the whole card, not the instance",
        instead: "DCGM_FI_DEV_FB_USED and DCGM_FI_DEV_FB_FREE of the instance",
        source: &NVML,
    },
    MetricUnderMig {
        metric: "the UUID in DCGM's rows and in --query-compute-apps",
        problem: "that of the card; rows of an instance differ by GPU_I_ID and GPU_I_PROFILE alone",
        instead: "GPU_I_ID together with the card's UUID",
        source: &DCGM,
    },
    MetricUnderMig {
        metric: "power, temperature and clocks",
        problem: "of the whole card: instances share its power limit and its clocks",
        instead: "",
        source: &MIG_DEPLOY,
    },
];
