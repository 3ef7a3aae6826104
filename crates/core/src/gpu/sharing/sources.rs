//! Where the rules of sharing come from.

use crate::gpu::Source;

/// No document is needed: the words mean it.
pub static DEFINITION: Source = Source {
    id: "definition",
    text: "by definition: where a GPU is given to one workload, no other process has a context on it",
};

/// NVIDIA's guide to MIG, on isolation.
pub static MIG_CONCEPTS: Source = Source {
    id: "mig-concepts",
    text: "NVIDIA, Multi-Instance GPU User Guide, «Concepts»: memory, cache and bandwidth are partitioned, faults are contained",
};

/// NVIDIA's guide to MIG, on what must be considered.
pub static MIG_DEPLOY: Source = Source {
    id: "mig-deploy",
    text: "NVIDIA, Multi-Instance GPU User Guide 620, «Deployment Considerations»",
};

/// NVIDIA's guide to MIG, on enabling it.
pub static MIG_MODE: Source = Source {
    id: "mig-mode",
    text: "NVIDIA, Multi-Instance GPU User Guide, «Getting Started with MIG», «Enable MIG Mode»",
};

/// The header of NVML.
pub static NVML: Source = Source {
    id: "nvml",
    text: "NVIDIA, nvml.h: «not currently supported on MIG-enabled GPUs», and the comments on profiles",
};

/// The exporter of DCGM's metrics.
pub static DCGM: Source =
    Source { id: "dcgm", text: "NVIDIA/dcgm-exporter#430 and #216, and its render_metrics.go" };

/// NVIDIA's guide to MPS.
pub static MPS: Source = Source {
    id: "mps",
    text: "NVIDIA, Multi-Process Service, «Memory Protection», «Error Containment», «Volta MPS Execution Resource Provisioning»",
};

/// NVIDIA's guide to MPS, on static partitions of SMs.
pub static MPS_STATIC: Source = Source {
    id: "mps-static",
    text: "NVIDIA, Multi-Process Service (CUDA 13.1), «Static SM Partitioning»",
};

/// A forum thread in which a fault on one GPU kept the server from admitting clients on another.
pub static MPS_ADMISSION: Source = Source {
    id: "mps-admission",
    text: "forums.developer.nvidia.com, «MPS error containment, can't able to create new process», thread 238139",
};

/// Slurm's page on generic resources.
pub static SLURM_GRES: Source =
    Source { id: "slurm-gres", text: "Slurm, gres.html of 2026-08-20: MPS and MIG management" };

/// NVIDIA's device plugin for Kubernetes.
pub static DEVICE_PLUGIN: Source = Source {
    id: "device-plugin",
    text: "NVIDIA/k8s-device-plugin, README, «With CUDA Time-Slicing» and «With CUDA MPS», and its validation of replicas",
};

/// A scheduler that books fractions.
pub static FRACTIONS: Source = Source {
    id: "fractions",
    text: "kai-scheduler/KAI-Scheduler#274 and #45, AliyunContainerService/gpushare-device-plugin#24",
};

/// NCCL's documentation and maintainers on MIG.
pub static NCCL: Source = Source {
    id: "nccl",
    text: "NVIDIA NCCL documentation from 2.31 on, and NVIDIA/nccl#1716 (maintainer 2026-08-23, user 2026-08-31)",
};

/// Every source of the rules.
pub static SHARING_SOURCES: [&Source; 13] = [
    &DEFINITION,
    &MIG_CONCEPTS,
    &MIG_DEPLOY,
    &MIG_MODE,
    &NVML,
    &DCGM,
    &MPS,
    &MPS_STATIC,
    &MPS_ADMISSION,
    &SLURM_GRES,
    &DEVICE_PLUGIN,
    &FRACTIONS,
    &NCCL,
];
