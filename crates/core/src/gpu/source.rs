//! Where facts come from. Every row of the catalogue and every rule of sharing names one of these.

/// One place where a fact can be looked up.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// A short name of ours, under which rows refer to it.
    pub id: &'static str,
    /// What to look up.
    pub text: &'static str,
}

/// The source `doc615`.
pub static DOC615: Source = Source {
    id: "doc615",
    text: "NVIDIA, Multi-Instance GPU User Guide, «Supported MIG Profiles» (docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html)",
};
/// The source `doc_old`.
pub static DOC_OLD: Source = Source {
    id: "doc_old",
    text: "NVIDIA, Multi-Instance GPU User Guide, an older state of «Supported MIG Profiles», in which the RTX PRO 5000 is divided in four",
};
/// The source `docgpus610`.
pub static DOC_GPUS: Source = Source {
    id: "docgpus610",
    text: "NVIDIA, Multi-Instance GPU User Guide 610, «Supported GPUs»",
};
/// The source `docdep620`.
pub static DOC_DEPLOY: Source = Source {
    id: "docdep620",
    text: "NVIDIA, Multi-Instance GPU User Guide 620, «Deployment Considerations»",
};
/// The source `parted`.
pub static PARTED: Source = Source {
    id: "parted",
    text: "NVIDIA/mig-parted bd7160f, deployments/systemd/config-default.yaml",
};
/// The source `gonvml`.
pub static GO_NVML: Source = Source {
    id: "gonvml",
    text: "NVIDIA/go-nvml 2f9e261, pkg/nvml/mock/gpus (a model, no capture)",
};
/// The source `k8sti`.
pub static K8S_TEST: Source =
    Source { id: "k8sti", text: "NVIDIA/k8s-test-infra, nvml-mock profiles (a model, no capture)" };
/// The source `pciids`.
pub static PCI_IDS: Source =
    Source { id: "pciids", text: "pciutils/pciids c1c1254, pci.ids of 2026-08-22" };
/// The source `cap_a30`.
pub static CAP_A30: Source =
    Source { id: "cap_a30", text: "nvidia-smi mig -lgip and -lgipp of an A30" };
/// The source `cap_a100_80`.
pub static CAP_A100_80: Source = Source {
    id: "cap_a100_80",
    text: "nvidia-smi mig -lgip of an A100 80GB PCIe, driver 515.86.01; nvidia-smi -q -x of an A100-SXM4-80GB, driver 535.54.03",
};
/// The source `cap_a100_40`.
pub static CAP_A100_40: Source =
    Source { id: "cap_a100_40", text: "nvidia-smi -q -x of an A100-SXM4-40GB, driver 510.47.03" };
/// The source `cap_h100_sxm`.
pub static CAP_H100_SXM: Source = Source {
    id: "cap_h100_sxm",
    text: "nvidia-smi mig -lgip of an H100 80GB HBM3; utkuozdemir/nvidia_gpu_exporter, capture nvidia-h100-mig, driver 590.48.01",
};
/// The source `cap_h100_pcie`.
pub static CAP_H100_PCIE: Source =
    Source { id: "cap_h100_pcie", text: "nvidia-smi mig -lgip of an H100 PCIe, driver 570.169" };
/// The source `cap_h100_nvl`.
pub static CAP_H100_NVL: Source = Source {
    id: "cap_h100_nvl",
    text: "nvidia-smi mig -lgip and -lgipp of an H100 NVL 94GB; NVIDIA/dcgm-exporter#397",
};
/// The source `cap_gh200`.
pub static CAP_GH200: Source =
    Source { id: "cap_gh200", text: "nvidia-smi mig -lgip of a GH200 96GB" };
/// The source `cap_h200`.
pub static CAP_H200: Source = Source {
    id: "cap_h200",
    text: "utkuozdemir/nvidia_gpu_exporter, capture nvidia-h200-mig, driver 590.48.01; nvidia-smi mig -lgip of an H200",
};
/// The source `cap_rtx6000`.
pub static CAP_RTX6000: Source = Source {
    id: "cap_rtx6000",
    text: "nvidia-smi mig -lgip and -lgipp of an RTX PRO 6000 Blackwell Server Edition",
};
/// The source `vgpu_h`.
pub static VGPU_HOPPER: Source =
    Source { id: "vgpu_h", text: "NVIDIA AI Enterprise, vGPU types, «Hopper»" };
/// The source `vgpu_b`.
pub static VGPU_BLACKWELL: Source =
    Source { id: "vgpu_b", text: "NVIDIA AI Enterprise, vGPU types, «Blackwell»" };
/// The source `vgpu_rtx`.
pub static VGPU_RTX: Source =
    Source { id: "vgpu_rtx", text: "NVIDIA, vGPU notes on the RTX PRO 6000 Server Edition" };
/// The source `dgxstation`.
pub static DGX_STATION: Source =
    Source { id: "dgxstation", text: "NVIDIA, DGX Station MIG playbook" };
/// The source `derived`.
pub static DERIVED: Source = Source {
    id: "derived",
    text: "inferred here from a sibling row of the same die; no source prints it",
};
/// Output of `nvidia-smi` on real cards: what the whole card has.
pub static CARDS: Source = Source {
    id: "cards",
    text: "nvidia-smi on a real card: influxdata/telegraf and netdata test data, utkuozdemir/nvidia_gpu_exporter captures",
};

/// Every source of the catalogue.
pub static SOURCES: [&Source; 23] = [
    &DOC615,
    &DOC_OLD,
    &DOC_GPUS,
    &DOC_DEPLOY,
    &PARTED,
    &GO_NVML,
    &K8S_TEST,
    &PCI_IDS,
    &CAP_A30,
    &CAP_A100_80,
    &CAP_A100_40,
    &CAP_H100_SXM,
    &CAP_H100_PCIE,
    &CAP_H100_NVL,
    &CAP_GH200,
    &CAP_H200,
    &CAP_RTX6000,
    &VGPU_HOPPER,
    &VGPU_BLACKWELL,
    &VGPU_RTX,
    &DGX_STATION,
    &DERIVED,
    &CARDS,
];
