//! NCCL on MIG instances: whether distributed training can run on slices at all.

use crate::gpu::{Architecture, Version};

/// Whether ranks can run on MIG instances. Where more than one instance is needed the plan rejects it
/// unless it is for tests and development.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NcclOnMig {
    /// They cannot, for this reason.
    NotSupported(&'static str),
    /// They can as an experiment, on all of these conditions.
    Experimental(&'static [&'static str]),
    /// It cannot be said without this.
    Unknown(&'static str),
}

/// What must hold where NCCL 2.31 or later runs on MIG instances.
const CONDITIONS: [&str; 7] = [
    "each rank has an instance of its own",
    "the driver supports CUDA 13.0 or later",
    "NCCL_MNNVL_ENABLE=0 is set",
    "NVLS is not used",
    "two instances of one GPU in one job need NCCL_MULTI_RANK_GPU_ENABLE=1, as users report, though \
     the documentation does not say so",
    "there is no P2P: instances of one GPU talk through shared memory, GPUs through the network card",
    "it was tried with nccl-tests on up to 8 GPUs of 7 instances, and is experimental",
];

/// Whether NCCL of this version runs across MIG instances. `cuda` is what the driver supports.
/// Host collectives work on Hopper and Blackwell alone.
pub fn nccl_on_mig(
    architecture: Architecture,
    nccl: Option<Version>,
    cuda: Option<Version>,
) -> NcclOnMig {
    let is_new_enough = |architecture| {
        matches!(
            architecture,
            Architecture::Hopper | Architecture::Blackwell | Architecture::BlackwellUltra
        )
    };
    match nccl {
        Some(nccl) if nccl < Version::new(2, 31, 0) => {
            NcclOnMig::NotSupported("NCCL before 2.31 does not support MIG")
        }
        _ if cuda.is_some_and(|cuda| cuda < Version::new(13, 0, 0)) => {
            NcclOnMig::NotSupported("NCCL on MIG needs a driver for CUDA 13.0 or later")
        }
        _ if !is_new_enough(architecture) => {
            NcclOnMig::NotSupported("NCCL's collectives through the host need Hopper or Blackwell")
        }
        None => NcclOnMig::Unknown("the NCCL version"),
        Some(_) => NcclOnMig::Experimental(&CONDITIONS),
    }
}
