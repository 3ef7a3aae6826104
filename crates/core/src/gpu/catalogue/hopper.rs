//! Hopper with MIG: the H100 and its relatives up to 96 GB. Names alone tell little: the PCIe card has
//! the profile names of the SXM module and fewer SMs in each.

use super::shape::{FOUR, ONE, ONE_DOUBLE, ONE_MEDIA, SEVEN, Sources, THREE, TWO, pci};
use crate::gpu::source::{
    CAP_GH200, CAP_H100_NVL, CAP_H100_PCIE, CAP_H100_SXM, DERIVED, DOC_DEPLOY, DOC615, PARTED,
    PCI_IDS, VGPU_HOPPER,
};
use crate::gpu::{Architecture, Mig, MigSupport, Sku, Spelling};

const H100_80_SXM_ROWS: Sources = &[&CAP_H100_SXM, &DOC615];

static H100_80_SXM_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R525 (>=525.85.12)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "ids captured, placements same die as H100 NVL + k8sti",
    profiles: &[
        ONE.named("1g.10gb").holds(9.75, 16).engines(1, 1, 0, 1, 0).captured(H100_80_SXM_ROWS),
        ONE_MEDIA
            .named("1g.10gb+me")
            .holds(9.75, 16)
            .engines(1, 1, 0, 1, 1)
            .captured(H100_80_SXM_ROWS),
        ONE_DOUBLE
            .named("1g.20gb")
            .holds(19.62, 26)
            .engines(1, 1, 0, 1, 0)
            .captured(H100_80_SXM_ROWS),
        TWO.named("2g.20gb").holds(19.62, 32).engines(2, 2, 0, 2, 0).captured(H100_80_SXM_ROWS),
        THREE.named("3g.40gb").holds(39.5, 60).engines(3, 3, 0, 3, 0).captured(H100_80_SXM_ROWS),
        FOUR.named("4g.40gb").holds(39.5, 64).engines(4, 4, 0, 4, 0).captured(H100_80_SXM_ROWS),
        SEVEN.named("7g.80gb").holds(79.25, 132).engines(8, 7, 0, 7, 1).captured(H100_80_SXM_ROWS),
    ],
};

/// H100 80GB SXM5 / H800 SXM.
pub(super) static H100_80_SXM: Sku = Sku {
    id: "h100-80-sxm",
    product: "H100 80GB SXM5 / H800 SXM",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(80),
    memory_total_mib: Some(81_559),
    pci: &[
        pci(0x2330, "H100 SXM5 80GB", &[&PCI_IDS, &PARTED]),
        pci(0x2324, "H800", &[&PCI_IDS, &PARTED]),
    ],
    sms: Some(132),
    mig: MigSupport::Yes(&H100_80_SXM_MIG),
    spellings: &[
        Spelling { all: &["h100"], also: &["sxm", "sxm5", "80gb", "hbm3"] },
        Spelling { all: &["h800"], also: &["sxm", "sxm5", "80gb", "hbm3"] },
    ],
    notes: &["3g memory: 39.50 GiB listed; nvidia-smi shows 40448 MiB per GI"],
    conflicts: &[
        "go-nvml/k8s-test-infra mocks give 3g=48, 4g=64, 7g=112 SM and 1g.20gb=16; captures give 60/64/132 and 26",
        "go-nvml h100/h200/b200 placements are wrong: 3g size 3 and 1g(x2mem) size 1; captured grid is 8 units with 3g=4, 1g(x2mem)=2",
        "docs give L2 fraction 1/8 for the double-memory 1g profile although its memory is 1/4",
    ],
    sources: &[&DOC_DEPLOY, &DOC615],
};

const H100_80_PCIE_ROWS: Sources = &[&CAP_H100_PCIE, &DOC615];

static H100_80_PCIE_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R525 (>=525.85.12)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "ids captured, placements same die as H100 NVL",
    profiles: &[
        ONE.named("1g.10gb").holds(9.75, 14).engines(1, 1, 0, 1, 0).captured(H100_80_PCIE_ROWS),
        ONE_MEDIA
            .named("1g.10gb+me")
            .holds(9.75, 14)
            .engines(1, 1, 0, 1, 1)
            .captured(H100_80_PCIE_ROWS),
        ONE_DOUBLE
            .named("1g.20gb")
            .holds(19.62, 14)
            .engines(1, 1, 0, 1, 0)
            .captured(H100_80_PCIE_ROWS),
        TWO.named("2g.20gb").holds(19.62, 30).engines(2, 2, 0, 2, 0).captured(H100_80_PCIE_ROWS),
        THREE.named("3g.40gb").holds(39.5, 46).engines(3, 3, 0, 3, 0).captured(H100_80_PCIE_ROWS),
        FOUR.named("4g.40gb").holds(39.5, 62).engines(4, 4, 0, 4, 0).captured(H100_80_PCIE_ROWS),
        SEVEN.named("7g.80gb").holds(79.25, 114).engines(8, 7, 0, 7, 1).captured(H100_80_PCIE_ROWS),
    ],
};

/// H100 80GB PCIe / H800 PCIe.
pub(super) static H100_80_PCIE: Sku = Sku {
    id: "h100-80-pcie",
    product: "H100 80GB PCIe / H800 PCIe",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(80),
    memory_total_mib: None,
    pci: &[
        pci(0x2331, "H100 PCIe", &[&PCI_IDS, &PARTED]),
        pci(0x2322, "H800 PCIe", &[&PCI_IDS, &PARTED]),
    ],
    sms: Some(114),
    mig: MigSupport::Yes(&H100_80_PCIE_MIG),
    spellings: &[
        Spelling { all: &["h100"], also: &["pcie", "80gb", "hbm2e"] },
        Spelling { all: &["h800"], also: &["pcie", "80gb", "hbm2e"] },
    ],
    notes: &[
        "same profile names as SXM but different SM counts (14/14/14/30/46/62/114): never key SMs by profile name alone",
    ],
    conflicts: &[],
    sources: &[&DOC_DEPLOY, &DOC615],
};

const H100_94_ROWS: Sources = &[&CAP_H100_NVL, &DOC615];

static H100_94_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R525 (>=525.85.12)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "captured (lgipp)",
    profiles: &[
        ONE.named("1g.12gb").holds(10.75, 16).engines(1, 1, 0, 1, 0).captured(H100_94_ROWS),
        ONE_MEDIA
            .named("1g.12gb+me")
            .holds(10.75, 16)
            .engines(1, 1, 0, 1, 1)
            .captured(H100_94_ROWS),
        ONE_DOUBLE.named("1g.24gb").holds(21.62, 26).engines(1, 1, 0, 1, 0).captured(H100_94_ROWS),
        TWO.named("2g.24gb").holds(21.62, 32).engines(2, 2, 0, 2, 0).captured(H100_94_ROWS),
        THREE.named("3g.47gb").holds(46.38, 60).engines(3, 3, 0, 3, 0).captured(H100_94_ROWS),
        FOUR.named("4g.47gb").holds(46.38, 64).engines(4, 4, 0, 4, 0).captured(H100_94_ROWS),
        SEVEN.named("7g.94gb").holds(93.12, 132).engines(8, 7, 0, 7, 1).captured(H100_94_ROWS),
    ],
};

/// H100 NVL 94GB (PCIe) and H100 SXM5 94GB / H800L.
pub(super) static H100_94: Sku = Sku {
    id: "h100-94",
    product: "H100 NVL 94GB (PCIe) and H100 SXM5 94GB / H800L",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(94),
    memory_total_mib: None,
    pci: &[
        pci(0x2321, "H100L 94GB (H100 NVL)", &[&PCI_IDS, &PARTED]),
        pci(0x233A, "H800L 94GB", &[&PCI_IDS, &PARTED]),
        pci(0x2339, "H100 SXM5 94GB", &[&PCI_IDS]),
    ],
    sms: Some(132),
    mig: MigSupport::Yes(&H100_94_MIG),
    spellings: &[
        Spelling { all: &["h100"], also: &["nvl", "94gb", "hbm3"] },
        Spelling { all: &["h100", "nvl"], also: &["pcie", "94gb", "hbm3"] },
        Spelling { all: &["h100"], also: &["sxm", "sxm5", "94gb", "hbm2e", "hbm3"] },
        Spelling { all: &["h800l"], also: &["94gb", "nvl", "pcie", "hbm3"] },
        Spelling { all: &["h100l"], also: &["94gb", "nvl", "pcie", "hbm3"] },
        Spelling { all: &["h800", "nvl"], also: &["94gb", "pcie", "hbm3"] },
    ],
    notes: &[],
    conflicts: &[
        "two captures differ: 21.62/46.38/93.12 vs 21.50/46.12/92.62 GiB",
        "mig-parted has no filter for 0x2339",
    ],
    sources: &[&DOC_DEPLOY, &DOC615, &VGPU_HOPPER],
};

const H100_64_ROWS: Sources = &[&VGPU_HOPPER, &DERIVED];

static H100_64_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R525 (>=525.85.12)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "family-assumed",
    profiles: &[
        ONE.named("1g.8gb").engines(1, 1, 0, 1, 0).names_only(H100_64_ROWS),
        ONE_MEDIA.named("1g.8gb+me").engines(1, 1, 0, 1, 1).names_only(H100_64_ROWS),
        ONE_DOUBLE.named("1g.16gb").engines(1, 1, 0, 1, 0).names_only(H100_64_ROWS),
        TWO.named("2g.16gb").engines(2, 2, 0, 2, 0).names_only(H100_64_ROWS),
        THREE.named("3g.32gb").engines(3, 3, 0, 3, 0).names_only(H100_64_ROWS),
        FOUR.named("4g.32gb").engines(4, 4, 0, 4, 0).names_only(H100_64_ROWS),
        SEVEN.named("7g.64gb").engines(8, 7, 0, 7, 1).names_only(H100_64_ROWS),
    ],
};

/// H100 SXM5 64GB.
pub(super) static H100_64: Sku = Sku {
    id: "h100-64",
    product: "H100 SXM5 64GB",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(64),
    memory_total_mib: None,
    pci: &[pci(0x2337, "H100 SXM5 64GB", &[&PCI_IDS])],
    sms: None,
    mig: MigSupport::Yes(&H100_64_MIG),
    spellings: &[Spelling {
        all: &["h100"],
        also: &["sxm", "sxm5", "64gb", "hbm2", "hbm2e", "hbm3"],
    }],
    notes: &[
        "not in the MIG guide or mig-parted; names and counts from the vGPU page; ids, placements, engines by family",
    ],
    conflicts: &[],
    sources: &[&VGPU_HOPPER],
};

const H100_96_ROWS: Sources = &[&CAP_GH200, &DOC615];

static H100_96_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R525 (>=525.85.12)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "ids captured, placements same die as H100 NVL",
    profiles: &[
        ONE.named("1g.12gb").holds(11.0, 16).engines(1, 1, 0, 1, 0).captured(H100_96_ROWS),
        ONE_MEDIA.named("1g.12gb+me").holds(11.0, 16).engines(1, 1, 0, 1, 1).captured(H100_96_ROWS),
        ONE_DOUBLE.named("1g.24gb").holds(23.0, 26).engines(1, 1, 0, 1, 0).captured(H100_96_ROWS),
        TWO.named("2g.24gb").holds(23.0, 32).engines(2, 2, 0, 2, 0).captured(H100_96_ROWS),
        THREE.named("3g.48gb").holds(46.5, 60).engines(3, 3, 0, 3, 0).captured(H100_96_ROWS),
        FOUR.named("4g.48gb").holds(46.5, 64).engines(4, 4, 0, 4, 0).captured(H100_96_ROWS),
        SEVEN.named("7g.96gb").holds(93.0, 132).engines(8, 7, 0, 7, 1).captured(H100_96_ROWS),
    ],
};

/// H100 96GB (GH200 / SXM5 96GB / PG506-96).
pub(super) static H100_96: Sku = Sku {
    id: "h100-96",
    product: "H100 96GB (GH200 / SXM5 96GB / PG506-96)",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(96),
    memory_total_mib: None,
    pci: &[
        pci(0x2342, "GH200 120GB / 480GB", &[&PCI_IDS, &PARTED]),
        pci(0x233D, "H100 96GB", &[&PCI_IDS, &PARTED]),
        pci(0x2338, "H100 SXM5 96GB", &[&PCI_IDS]),
    ],
    sms: Some(132),
    mig: MigSupport::Yes(&H100_96_MIG),
    spellings: &[
        Spelling { all: &["h100"], also: &["sxm", "sxm5", "96gb", "hbm3"] },
        Spelling {
            all: &["gh200"],
            also: &["96gb", "120gb", "480gb", "hbm3", "grace", "superchip"],
        },
    ],
    notes: &["0x20B6 PG506-232 (GA100 96GB) shares names in mig-parted but is Ampere"],
    conflicts: &[],
    sources: &[&DOC_DEPLOY, &DOC615],
};
