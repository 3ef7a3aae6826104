//! Limits of MPS: how many clients, and static partitions of SMs.

use super::sources::{MPS, MPS_STATIC};
use crate::gpu::{Architecture, Source, Version};

/// Replicas of one GPU that the device plugin for Kubernetes accepts with MPS, whatever CUDA allows.
pub const DEVICE_PLUGIN_MPS_REPLICAS_MAX: u32 = 48;

/// How many clients an MPS server takes on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpsClientsMax {
    /// Clients at most. One more gets error 808.
    pub clients: u32,
    /// Why that many.
    pub why: &'static str,
    /// Where it comes from.
    pub source: &'static Source,
}

/// How many clients an MPS server takes on one GPU. Without a CUDA version the smaller number is
/// given; `None` where the generation is not known.
pub fn mps_clients_max(architecture: Architecture, cuda: Option<Version>) -> Option<MpsClientsMax> {
    let (clients, why) = match (architecture, cuda) {
        (Architecture::Various, _) => return None,
        (Architecture::Pascal, _) => (16, "before Volta a server takes 16 clients"),
        (_, Some(cuda)) if cuda >= Version::new(13, 1, 0) => (
            60,
            "from CUDA 13.1 on a server takes 60 clients with the default of two connections each, \
             and fewer where CUDA_DEVICE_MAX_CONNECTIONS is raised",
        ),
        (_, Some(_)) => (48, "before CUDA 13.1 a server takes 48 clients"),
        (_, None) => {
            (48, "a server takes 48 clients, and 60 from CUDA 13.1 on; no version is known")
        }
    };
    Some(MpsClientsMax { clients, why, source: &MPS })
}

/// Whether static partitions of SMs are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaticPartitions {
    /// They are. SMs alone are partitioned, memory is not.
    Possible,
    /// They are not, for this reason.
    Impossible(&'static str),
    /// It cannot be said without this.
    Unknown(&'static str),
}

/// Whether an MPS server can give each client SMs of its own (CUDA 13.1, Ampere and later).
pub fn static_partitions(architecture: Architecture, cuda: Option<Version>) -> StaticPartitions {
    use StaticPartitions::{Impossible, Possible, Unknown};
    match (architecture, cuda) {
        (Architecture::Various, _) => Unknown("the generation of the GPU"),
        (older, _) if older < Architecture::Ampere => {
            Impossible("static partitions need Ampere or a later generation")
        }
        (_, Some(cuda)) if cuda < Version::new(13, 1, 0) => {
            Impossible("static partitions need CUDA 13.1 or later")
        }
        (_, Some(_)) => Possible,
        (_, None) => Unknown("the CUDA version"),
    }
}

/// SMs in one chunk of a static partition, for the models on which it was read (`lspart`), by the
/// catalogue's id. `None`: read it on the machine.
pub fn sm_chunk_sms(sku_id: &str) -> Option<(u32, &'static Source)> {
    match sku_id {
        // A GH200, whose GPU is in the catalogue under this name.
        "h100-96" => Some((8, &MPS_STATIC)),
        "l40s" | "a30-24" => Some((4, &MPS_STATIC)),
        _ => None,
    }
}
