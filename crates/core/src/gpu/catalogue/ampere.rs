//! Ampere with MIG: A30 and A100. Enabling MIG resets the GPU, and the mode outlives a reboot.

use super::shape::{FOUR, ONE, ONE_DOUBLE, ONE_MEDIA, SEVEN, Sources, THREE, TWO, at, pci, shape};
use crate::gpu::source::{
    CAP_A30, CAP_A100_40, CAP_A100_80, DOC_DEPLOY, DOC615, GO_NVML, PARTED, PCI_IDS,
};
use crate::gpu::{Architecture, Mig, MigSupport, Profile, Sku, Spelling};

/// Profiles of the A30, whose four slices take one of four units each.
const fn quarter(id: u32, nvml_profile: u32, instances_max: u32) -> Profile {
    shape(Some(id), nvml_profile, 1, Some(at(&[0, 1, 2, 3], 1)), instances_max)
}

const fn half(id: u32, nvml_profile: u32, instances_max: u32) -> Profile {
    shape(Some(id), nvml_profile, 2, Some(at(&[0, 2], 2)), instances_max)
}

const fn full(id: u32, nvml_profile: u32, instances_max: u32) -> Profile {
    shape(Some(id), nvml_profile, 4, Some(at(&[0], 4)), instances_max)
}

const A30_ROWS: Sources = &[&CAP_A30, &DOC615];
const A30_OTHER: Sources = &[&CAP_A30, &DOC615, &GO_NVML];

static A30_MIG: Mig = Mig {
    instances_max: 4,
    compute_slices: 4,
    grid_units: Some(4),
    driver_min: Some("R460 (>=460.73.01)"),
    graphics: false,
    enabling_resets: Some(true),
    geometry_basis: "captured (lgipp)",
    profiles: &[
        quarter(14, 0, 4)
            .named("1g.6gb")
            .holds(5.81, 14)
            .engines(1, 1, 0, 0, 0)
            .captured(A30_ROWS)
            .note("docs table says 0 NVDEC; captures show DEC 1"),
        quarter(21, 7, 1)
            .named("1g.6gb+me")
            .holds(5.81, 14)
            .engines(1, 1, 0, 1, 1)
            .captured(A30_ROWS),
        half(5, 1, 2).named("2g.12gb").holds(11.69, 28).engines(2, 2, 0, 0, 0).captured(A30_ROWS),
        half(6, 8, 1)
            .named("2g.12gb+me")
            .holds(11.69, 28)
            .engines(2, 2, 0, 1, 1)
            .captured(A30_OTHER)
            .note("needs R525+; placements from gonvml"),
        full(0, 3, 1)
            .named("4g.24gb")
            .holds(23.44, 56)
            .engines(4, 4, 0, 1, 1)
            .captured(A30_ROWS)
            .note("23.50 in another capture"),
    ],
};

/// A30 24GB.
pub(super) static A30: Sku = Sku {
    id: "a30-24",
    product: "A30 24GB",
    architecture: Architecture::Ampere,
    die: "GA100",
    compute_capability: Some((8, 0)),
    memory_gb: Some(24),
    memory_total_mib: None,
    pci: &[pci(0x20B7, "A30 PCIe", &[&PCI_IDS, &PARTED]), pci(0x20B9, "A30X", &[&PCI_IDS])],
    sms: Some(56),
    mig: MigSupport::Yes(&A30_MIG),
    spellings: &[
        Spelling { all: &["a30"], also: &["pcie", "24gb", "hbm2"] },
        Spelling { all: &["a30x"], also: &["24gb", "hbm2e"] },
    ],
    notes: &[],
    conflicts: &[
        "A30 1g.6gb NVDEC: docs 0, captures 1, gonvml 0",
        "go-nvml memory 5836/11672/23344 MiB vs captured 5.81/11.69/23.44-23.50 GiB (5949/11971/24003+)",
    ],
    sources: &[&DOC_DEPLOY, &DOC615],
};

const A100_40_ROWS: Sources = &[&GO_NVML, &DOC615, &CAP_A100_40];

static A100_40_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R450 (>=450.80.02)"),
    graphics: false,
    enabling_resets: Some(true),
    geometry_basis: "NVIDIA model (go-nvml) + guide diagram",
    profiles: &[
        ONE.named("1g.5gb").holds(4.75, 14).engines(1, 0, 0, 0, 0).modelled(A100_40_ROWS),
        ONE_MEDIA.named("1g.5gb+me").holds(4.75, 14).engines(1, 1, 0, 1, 1).modelled(A100_40_ROWS),
        ONE_DOUBLE.named("1g.10gb").holds(9.62, 14).engines(1, 1, 0, 0, 0).modelled(A100_40_ROWS),
        TWO.named("2g.10gb").holds(9.62, 28).engines(2, 1, 0, 0, 0).modelled(A100_40_ROWS),
        THREE.named("3g.20gb").holds(19.5, 42).engines(3, 2, 0, 0, 0).captured(A100_40_ROWS),
        FOUR.named("4g.20gb").holds(19.5, 56).engines(4, 2, 0, 0, 0).modelled(A100_40_ROWS),
        SEVEN.named("7g.40gb").holds(39.25, 98).engines(7, 5, 0, 1, 1).modelled(A100_40_ROWS),
    ],
};

/// A100 40GB (SXM4, PCIe).
pub(super) static A100_40: Sku = Sku {
    id: "a100-40",
    product: "A100 40GB (SXM4, PCIe)",
    architecture: Architecture::Ampere,
    die: "GA100",
    compute_capability: Some((8, 0)),
    memory_gb: Some(40),
    memory_total_mib: Some(40_960),
    pci: &[
        pci(0x20B0, "A100 SXM4 40GB", &[&PCI_IDS, &PARTED]),
        pci(0x20B1, "A100 PCIe 40GB", &[&PCI_IDS, &PARTED]),
        pci(0x20F1, "A100 PCIe 40GB", &[&PCI_IDS, &PARTED]),
        pci(0x20F6, "A800 40GB PCIe", &[&PCI_IDS, &PARTED]),
        pci(0x20BD, "A800 SXM4 40GB", &[&PCI_IDS]),
    ],
    sms: Some(98),
    mig: MigSupport::Yes(&A100_40_MIG),
    spellings: &[
        Spelling { all: &["a100"], also: &["sxm", "sxm4", "pcie", "40gb", "hbm2"] },
        Spelling { all: &["a800"], also: &["sxm", "sxm4", "pcie", "40gb", "active", "hbm2"] },
    ],
    notes: &[
        "1g.5gb+me needs R470+, 1g.10gb needs R525+ (doc615)",
        "108 SMs on the die; only 98 usable in MIG mode",
        "3g.20gb memory: 19968 MiB captured",
    ],
    conflicts: &[
        "exact GiB differs by driver generation (4.75 vs older 4.95 etc.); read it from the device",
    ],
    sources: &[&DOC_DEPLOY, &DOC615],
};

const A100_80_ROWS: Sources = &[&CAP_A100_80, &DOC615];
const A100_80_OTHER: Sources = &[&CAP_A100_80, &GO_NVML];

static A100_80_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R450 (>=450.80.02)"),
    graphics: false,
    enabling_resets: Some(true),
    geometry_basis: "NVIDIA model (go-nvml) + guide diagram",
    profiles: &[
        ONE.named("1g.10gb").holds(9.5, 14).engines(1, 0, 0, 0, 0).captured(A100_80_ROWS),
        ONE_MEDIA.named("1g.10gb+me").holds(9.5, 14).engines(1, 1, 0, 1, 1).captured(A100_80_ROWS),
        ONE_DOUBLE
            .named("1g.20gb")
            .holds(19.5, 14)
            .engines(1, 1, 0, 0, 0)
            .captured(A100_80_OTHER)
            .peers_unknown()
            .note(
                "not in the 515 listing; four 19968 MiB instances seen in telegraf XML (535.54.03)",
            ),
        TWO.named("2g.20gb").holds(19.5, 28).engines(2, 1, 0, 0, 0).captured(A100_80_ROWS),
        THREE.named("3g.40gb").holds(39.25, 42).engines(3, 2, 0, 0, 0).captured(A100_80_ROWS),
        FOUR.named("4g.40gb").holds(39.25, 56).engines(4, 2, 0, 0, 0).captured(A100_80_ROWS),
        SEVEN.named("7g.80gb").holds(79.0, 98).engines(7, 5, 0, 1, 1).captured(A100_80_ROWS),
    ],
};

/// A100 80GB (SXM4, PCIe), A100X.
pub(super) static A100_80: Sku = Sku {
    id: "a100-80",
    product: "A100 80GB (SXM4, PCIe), A100X",
    architecture: Architecture::Ampere,
    die: "GA100",
    compute_capability: Some((8, 0)),
    memory_gb: Some(80),
    memory_total_mib: Some(81_920),
    pci: &[
        pci(0x20B2, "A100 SXM4 80GB", &[&PCI_IDS, &PARTED]),
        pci(0x20B5, "A100 PCIe 80GB", &[&PCI_IDS, &PARTED]),
        pci(0x20F3, "A800-SXM4-80GB", &[&PCI_IDS, &PARTED]),
        pci(0x20F5, "A800 80GB PCIe", &[&PCI_IDS, &PARTED]),
        pci(0x20B8, "A100X", &[&PCI_IDS]),
    ],
    sms: Some(98),
    mig: MigSupport::Yes(&A100_80_MIG),
    spellings: &[
        Spelling { all: &["a100"], also: &["sxm", "sxm4", "pcie", "80gb", "hbm2e"] },
        Spelling { all: &["a800"], also: &["sxm", "sxm4", "pcie", "80gb", "hbm2e"] },
        Spelling { all: &["a100x"], also: &["80gb", "pcie", "hbm2e"] },
    ],
    notes: &[],
    conflicts: &[
        "1g.10gb NVDEC: capture 0, go-nvml mock 1",
        "7g name: mig-parted/docs 7g.80gb, HAMi device-configmap 7g.79gb for A100-80",
        "go-nvml 7g 80384 MiB vs captured 79.00 GiB (80896 MiB)",
    ],
    sources: &[&DOC_DEPLOY, &DOC615],
};

static A100_64_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: None,
    graphics: false,
    enabling_resets: Some(true),
    geometry_basis: "not sourced",
    profiles: &[],
};

/// A100-SXM-64GB (custom).
pub(super) static A100_64: Sku = Sku {
    id: "a100-64",
    product: "A100-SXM-64GB (custom)",
    architecture: Architecture::Ampere,
    die: "GA100",
    compute_capability: Some((8, 0)),
    memory_gb: Some(64),
    memory_total_mib: None,
    pci: &[pci(0x20B3, "A100-SXM-64GB", &[&PCI_IDS])],
    sms: None,
    mig: MigSupport::Yes(&A100_64_MIG),
    spellings: &[Spelling { all: &["a100"], also: &["sxm", "sxm4", "64gb", "hbm2", "hbm2e"] }],
    notes: &["no profile source found; read from the device"],
    conflicts: &[],
    sources: &[&PCI_IDS],
};
