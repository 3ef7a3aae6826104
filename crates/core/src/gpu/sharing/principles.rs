//! Rules that are no property of one mechanism, in sentences, each with its source.

use super::sources::{
    DEVICE_PLUGIN, FRACTIONS, MIG_DEPLOY, MPS, MPS_ADMISSION, MPS_STATIC, NCCL, SLURM_GRES,
};
use crate::gpu::Source;

/// A rule that code refers to by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Principle {
    /// An MPS percentage limits and reserves nothing.
    PercentageIsALimit,
    /// Time-slicing proves no service level.
    TimeSlicingProvesNothing,
    /// A replica of the device plugin is no share.
    ReplicaIsNoShare,
    /// A scheduler's fraction of a GPU is bookkeeping.
    FractionIsBookkeeping,
    /// A fault under MPS reaches every client on the GPU.
    MpsFaultDomain,
    /// A fault under MPS closes the server for new clients on all of its GPUs.
    MpsAdmissionDomain,
    /// MPS serves one user at a time.
    MpsOneUser,
    /// MPS memory is shared unless limits are set.
    MpsMemoryNeedsLimits,
    /// MPS works inside of a MIG instance.
    MpsInsideMig,
    /// Static partitions divide SMs and no memory.
    StaticPartitionsDivideSmsOnly,
    /// Distributed training on slices is rejected by default.
    NoDistributedTrainingOnSlices,
    /// Slurm does not reconfigure MIG.
    SlurmNeedsFixedMig,
    /// Identity of an instance.
    InstanceIdsAreNoIdentity,
}

/// A principle with its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Which it is.
    pub principle: Principle,
    /// What it says.
    pub text: &'static str,
    /// Where it comes from.
    pub source: &'static Source,
}

impl Principle {
    /// Every principle.
    pub const ALL: [Self; 13] = [
        Self::PercentageIsALimit,
        Self::TimeSlicingProvesNothing,
        Self::ReplicaIsNoShare,
        Self::FractionIsBookkeeping,
        Self::MpsFaultDomain,
        Self::MpsAdmissionDomain,
        Self::MpsOneUser,
        Self::MpsMemoryNeedsLimits,
        Self::MpsInsideMig,
        Self::StaticPartitionsDivideSmsOnly,
        Self::NoDistributedTrainingOnSlices,
        Self::SlurmNeedsFixedMig,
        Self::InstanceIdsAreNoIdentity,
    ];

    /// What it says, and where that comes from.
    pub fn statement(self) -> Statement {
        let (text, source): (&str, &Source) = match self {
            Self::PercentageIsALimit => (
                "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE caps the SMs of a client and reserves none for it",
                &MPS,
            ),
            Self::TimeSlicingProvesNothing => (
                "time-slicing gives each process equal time, whatever a request needs: it never \
                 proves a service level",
                &DEVICE_PLUGIN,
            ),
            Self::ReplicaIsNoShare => (
                "replicas of a time-sliced GPU count accesses and give no share; two replicas are \
                 not twice one",
                &DEVICE_PLUGIN,
            ),
            Self::FractionIsBookkeeping => (
                "a scheduler's fraction of a GPU places pods and accounts for memory; it limits \
                 neither compute nor memory, and pods get equal time whatever their fraction",
                &FRACTIONS,
            ),
            Self::MpsFaultDomain => (
                "a fatal fault of an MPS client ends every client on the GPUs that it uses, without \
                 telling which caused it",
                &MPS,
            ),
            Self::MpsAdmissionDomain => (
                "after a fault an MPS server admits no new client on any of its GPUs until the \
                 affected ones have exited: one server for each GPU keeps that apart",
                &MPS_ADMISSION,
            ),
            Self::MpsOneUser => (
                "an MPS server serves one user at a time; those of another wait until it is done",
                &SLURM_GRES,
            ),
            Self::MpsMemoryNeedsLimits => (
                "device memory is shared under MPS unless CUDA_MPS_PINNED_DEVICE_MEM_LIMIT or the \
                 daemon's default limits each client",
                &MPS,
            ),
            Self::MpsInsideMig => (
                "MPS works inside of a MIG instance, with a daemon and a pipe directory for each",
                &MIG_DEPLOY,
            ),
            Self::StaticPartitionsDivideSmsOnly => (
                "static partitions of MPS divide SMs and no memory, and set the percentage aside",
                &MPS_STATIC,
            ),
            Self::NoDistributedTrainingOnSlices => (
                "tensor or data parallel training across MIG instances is rejected unless it is for \
                 tests and development",
                &NCCL,
            ),
            Self::SlurmNeedsFixedMig => (
                "Slurm expects GPUs to be partitioned before it starts and does not change MIG",
                &SLURM_GRES,
            ),
            Self::InstanceIdsAreNoIdentity => (
                "the driver gives out ids of MIG instances, and UUIDs change when they are made anew",
                &MIG_DEPLOY,
            ),
        };
        Statement { principle: self, text, source }
    }
}
