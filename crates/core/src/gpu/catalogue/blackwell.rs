//! Blackwell with MIG for data centres: B200, B300, GB200, GB300. No listing of a real card was found, so
//! memory and SMs of a profile are unknown.

use super::shape::{FOUR, ONE, ONE_DOUBLE, ONE_MEDIA, SEVEN, Sources, THREE, TWO, pci};
use crate::gpu::source::{
    DERIVED, DGX_STATION, DOC_DEPLOY, DOC_GPUS, DOC615, K8S_TEST, PARTED, PCI_IDS,
};
use crate::gpu::{Architecture, Mig, MigSupport, Sku, Spelling};

const B200_180_ROWS: Sources = &[&DOC615, &PARTED];

static B200_180_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R570 (>=570.133.20)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "family-assumed",
    profiles: &[
        ONE.named("1g.23gb").engines(2, 1, 0, 1, 0).documented(B200_180_ROWS),
        ONE_MEDIA.named("1g.23gb+me").engines(2, 1, 0, 1, 1).documented(B200_180_ROWS),
        ONE_DOUBLE.named("1g.45gb").engines(2, 1, 0, 1, 0).documented(B200_180_ROWS),
        TWO.named("2g.45gb").engines(3, 1, 0, 1, 0).documented(B200_180_ROWS),
        THREE.named("3g.90gb").engines(6, 1, 0, 1, 0).documented(B200_180_ROWS),
        FOUR.named("4g.90gb").engines(8, 1, 0, 1, 0).documented(B200_180_ROWS),
        SEVEN.named("7g.180gb").engines(16, 1, 0, 1, 1).documented(B200_180_ROWS),
    ],
};

/// B200 180GB.
pub(super) static B200_180: Sku = Sku {
    id: "b200-180",
    product: "B200 180GB",
    architecture: Architecture::Blackwell,
    die: "GB100",
    compute_capability: Some((10, 0)),
    memory_gb: Some(180),
    memory_total_mib: None,
    pci: &[pci(0x2901, "B200", &[&PCI_IDS, &PARTED])],
    sms: None,
    mig: MigSupport::Yes(&B200_180_MIG),
    spellings: &[Spelling {
        all: &["b200"],
        also: &["sxm", "sxm6", "180gb", "hbm3e", "hgx", "dgx"],
    }],
    notes: &["0x2909 'HGX B200 168GB' exists in pci.ids, no profile source"],
    conflicts: &[
        "SM per profile: only model values exist (18/36/54/72/126 in go-nvml and k8s-test-infra). Those mocks were wrong for H100 3g/7g, so left null",
        "no real -lgip capture found",
        "go-nvml mock uses device id 0x2B00 (that is Jetson AGX Thor in pci.ids); real 0x2901",
        "go-nvml engines (2 NVDEC for 2g …) contradict docs (1 NVDEC/1 JPEG for all, CE 2/2/2/3/6/8/16)",
        "+me enum: go-nvml 1_SLICE_REV1, an older mock used 1_SLICE_ALL_ME",
    ],
    sources: &[&DOC_GPUS, &DOC_DEPLOY],
};

const B300_269_ROWS: Sources = &[&PARTED, &DERIVED];

static B300_269_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R580 (>=580.82.07), CUDA 12.9"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "family-assumed",
    profiles: &[
        ONE.named("1g.34gb").engines(2, 1, 0, 1, 0).names_only(B300_269_ROWS),
        ONE_MEDIA.named("1g.34gb+me").engines(2, 1, 0, 1, 1).names_only(B300_269_ROWS),
        ONE_DOUBLE.named("1g.67gb").engines(2, 1, 0, 1, 0).names_only(B300_269_ROWS),
        TWO.named("2g.67gb").engines(3, 1, 0, 1, 0).names_only(B300_269_ROWS),
        THREE.named("3g.135gb").engines(6, 1, 0, 1, 0).names_only(B300_269_ROWS),
        FOUR.named("4g.135gb").engines(8, 1, 0, 1, 0).names_only(B300_269_ROWS),
        SEVEN.named("7g.269gb").engines(16, 1, 0, 1, 1).names_only(B300_269_ROWS),
    ],
};

/// B300 (HGX, 288GB physical, 269GB visible).
pub(super) static B300_269: Sku = Sku {
    id: "b300-269",
    product: "B300 (HGX, 288GB physical, 269GB visible)",
    architecture: Architecture::BlackwellUltra,
    die: "GB110",
    compute_capability: Some((10, 3)),
    memory_gb: Some(288),
    memory_total_mib: None,
    pci: &[pci(0x3182, "B300 SXM6 AC", &[&PCI_IDS, &PARTED])],
    sms: None,
    mig: MigSupport::Yes(&B300_269_MIG),
    spellings: &[Spelling {
        all: &["b300"],
        also: &["sxm", "sxm6", "ac", "269gb", "288gb", "hbm3e", "hgx", "dgx"],
    }],
    notes: &[
        "engines copied from B200; MIG guide (up to 615) has no B300 table",
        "also in aws/sagemaker-hyperpod-cli PR#403 constants and Bottlerocket settings",
    ],
    conflicts: &[
        "SM per profile: only model values exist (18/36/54/72/126 in go-nvml and k8s-test-infra). Those mocks were wrong for H100 3g/7g, so left null",
        "no real -lgip capture found",
    ],
    sources: &[&DOC_DEPLOY, &PARTED],
};

const GB200_186_ROWS: Sources = &[&PARTED, &K8S_TEST];

static GB200_186_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R570 (>=570.133.20)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "placements NVIDIA model (k8sti), ids family-assumed",
    profiles: &[
        ONE.named("1g.23gb").engines(2, 1, 0, 1, 0).names_only(GB200_186_ROWS),
        ONE_MEDIA.named("1g.23gb+me").engines(2, 1, 0, 1, 1).names_only(GB200_186_ROWS),
        ONE_DOUBLE.named("1g.47gb").engines(2, 1, 0, 1, 0).names_only(GB200_186_ROWS),
        TWO.named("2g.47gb").engines(3, 1, 0, 1, 0).names_only(GB200_186_ROWS),
        THREE.named("3g.93gb").engines(6, 1, 0, 1, 0).names_only(GB200_186_ROWS),
        FOUR.named("4g.93gb").engines(8, 1, 0, 1, 0).names_only(GB200_186_ROWS),
        SEVEN.named("7g.186gb").engines(16, 1, 0, 1, 1).names_only(GB200_186_ROWS),
    ],
};

/// GB200 (HGX/NVL) 186GB.
pub(super) static GB200_186: Sku = Sku {
    id: "gb200-186",
    product: "GB200 (HGX/NVL) 186GB",
    architecture: Architecture::Blackwell,
    die: "GB100",
    compute_capability: Some((10, 0)),
    memory_gb: Some(186),
    memory_total_mib: None,
    pci: &[pci(0x2941, "HGX GB200", &[&PCI_IDS, &PARTED])],
    sms: None,
    mig: MigSupport::Yes(&GB200_186_MIG),
    spellings: &[Spelling {
        all: &["gb200"],
        also: &["186gb", "hbm3e", "hgx", "nvl", "nvl4", "nvl72", "grace", "superchip"],
    }],
    notes: &[],
    conflicts: &[
        "SM per profile: only model values exist (18/36/54/72/126 in go-nvml and k8s-test-infra). Those mocks were wrong for H100 3g/7g, so left null",
        "no real -lgip capture found",
        "mig-parted also ships all-3g.95gb / 4g.95gb / 7g.189gb (189GB naming) besides 93/186",
        "k8s-test-infra lists NVML enum as profile_id (0,7,9,1,2,3,4), not the nvidia-smi id (19,20,15,14,9,5,0)",
    ],
    sources: &[&DOC_GPUS, &PARTED, &K8S_TEST],
};

const GB300_278_ROWS: Sources = &[&DGX_STATION, &PARTED, &K8S_TEST];

static GB300_278_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R595 (>=595.58.03) for GB300 DGX Station, CUDA 13"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "ids documented (dgxstation), placements NVIDIA model (k8sti)",
    profiles: &[
        ONE.named("1g.35gb").engines(2, 1, 0, 1, 0).documented(GB300_278_ROWS),
        ONE_MEDIA.named("1g.35gb+me").engines(2, 1, 0, 1, 1).documented(GB300_278_ROWS),
        ONE_DOUBLE.named("1g.70gb").engines(2, 1, 0, 1, 0).documented(GB300_278_ROWS),
        TWO.named("2g.70gb").engines(3, 1, 0, 1, 0).documented(GB300_278_ROWS),
        THREE.named("3g.139gb").engines(6, 1, 0, 1, 0).documented(GB300_278_ROWS),
        FOUR.named("4g.139gb").engines(8, 1, 0, 1, 0).documented(GB300_278_ROWS),
        SEVEN.named("7g.278gb").engines(16, 1, 0, 1, 1).documented(GB300_278_ROWS),
    ],
};

/// GB300 278GB visible.
pub(super) static GB300_278: Sku = Sku {
    id: "gb300-278",
    product: "GB300 278GB visible",
    architecture: Architecture::BlackwellUltra,
    die: "GB110",
    compute_capability: Some((10, 3)),
    memory_gb: Some(288),
    memory_total_mib: None,
    pci: &[
        pci(0x31C2, "GB300", &[&PCI_IDS, &PARTED]),
        pci(0x31C3, "GB300", &[&PCI_IDS]),
        pci(0x31A1, "GB300 MaxQ", &[&PCI_IDS]),
    ],
    sms: None,
    mig: MigSupport::Yes(&GB300_278_MIG),
    spellings: &[Spelling {
        all: &["gb300"],
        also: &[
            "278gb",
            "hbm3e",
            "maxq",
            "hgx",
            "nvl",
            "nvl72",
            "grace",
            "superchip",
            "dgx",
            "station",
        ],
    }],
    notes: &[],
    conflicts: &[
        "SM per profile: only model values exist (18/36/54/72/126 in go-nvml and k8s-test-infra). Those mocks were wrong for H100 3g/7g, so left null",
        "no real -lgip capture found",
        "playbook overview says 1g.34gb/2g.67gb/7g.269gb (B300 names) but its steps list 1g.35gb…7g.278gb and warns names vary by driver",
        "'1g.35gb' means 1/8 of GB300 (x7) but 2/8 of H200 (x4): mig-parted needs device-filter to disambiguate",
    ],
    sources: &[&DOC_DEPLOY, &PARTED, &DGX_STATION],
};
