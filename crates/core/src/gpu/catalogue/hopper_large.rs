//! Hopper with MIG and more or other memory: H20, H200, and the GH200 of 144 GB.

use super::shape::{FOUR, ONE, ONE_DOUBLE, ONE_MEDIA, SEVEN, Sources, THREE, TWO, pci};
use crate::gpu::source::{
    CAP_H200, DERIVED, DOC_DEPLOY, DOC_GPUS, DOC615, PARTED, PCI_IDS, VGPU_HOPPER,
};
use crate::gpu::{Architecture, Mig, MigSupport, Sku, Spelling};

const H20_96_ROWS: Sources = &[&VGPU_HOPPER, &PARTED, &DOC_GPUS];

static H20_96_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R535 (>=535.161.07)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "family-assumed",
    profiles: &[
        ONE.named("1g.12gb").engines(1, 1, 0, 1, 0).names_only(H20_96_ROWS),
        ONE_MEDIA.named("1g.12gb+me").engines(1, 1, 0, 1, 1).names_only(H20_96_ROWS),
        ONE_DOUBLE.named("1g.24gb").engines(1, 1, 0, 1, 0).names_only(H20_96_ROWS),
        TWO.named("2g.24gb").engines(2, 2, 0, 2, 0).names_only(H20_96_ROWS),
        THREE.named("3g.48gb").engines(3, 3, 0, 3, 0).names_only(H20_96_ROWS),
        FOUR.named("4g.48gb").engines(4, 4, 0, 4, 0).names_only(H20_96_ROWS),
        SEVEN.named("7g.96gb").engines(8, 7, 0, 7, 1).names_only(H20_96_ROWS),
    ],
};

/// H20 96GB.
pub(super) static H20_96: Sku = Sku {
    id: "h20-96",
    product: "H20 96GB",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(96),
    memory_total_mib: None,
    pci: &[
        pci(0x2329, "H20", &[&PCI_IDS, &PARTED]),
        pci(0x2328, "H20B", &[&PCI_IDS]),
        pci(0x230C, "H20 NVL16", &[&PCI_IDS]),
        pci(0x230E, "H20 NVL16", &[&PCI_IDS]),
    ],
    sms: None,
    mig: MigSupport::Yes(&H20_96_MIG),
    spellings: &[
        Spelling { all: &["h20"], also: &["sxm", "sxm5", "96gb", "hbm3"] },
        Spelling { all: &["h20", "nvl16"], also: &["96gb", "hbm3"] },
        Spelling { all: &["h20b"], also: &["96gb"] },
    ],
    notes: &[
        "3g.48gb+1g.24gb+2x1g.12gb seen live on H20",
        "SM and exact GiB per profile not sourced (H20 has fewer SMs than H100)",
    ],
    conflicts: &[],
    sources: &[&DOC_GPUS, &DOC_DEPLOY],
};

const H20_141_ROWS: Sources = &[&VGPU_HOPPER];

static H20_141_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R535 (>=535.161.07)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "family-assumed",
    profiles: &[
        ONE.named("1g.18gb").engines(1, 1, 0, 1, 0).names_only(H20_141_ROWS),
        ONE_MEDIA.named("1g.18gb+me").engines(1, 1, 0, 1, 1).names_only(H20_141_ROWS),
        ONE_DOUBLE.named("1g.35gb").engines(1, 1, 0, 1, 0).names_only(H20_141_ROWS),
        TWO.named("2g.35gb").engines(2, 2, 0, 2, 0).names_only(H20_141_ROWS),
        THREE.named("3g.71gb").engines(3, 3, 0, 3, 0).names_only(H20_141_ROWS),
        FOUR.named("4g.71gb").engines(4, 4, 0, 4, 0).names_only(H20_141_ROWS),
        SEVEN.named("7g.141gb").engines(8, 7, 0, 7, 1).names_only(H20_141_ROWS),
    ],
};

/// H20 141GB HBM3e.
pub(super) static H20_141: Sku = Sku {
    id: "h20-141",
    product: "H20 141GB HBM3e",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(141),
    memory_total_mib: None,
    pci: &[pci(0x232C, "H20 HBM3e", &[&PCI_IDS])],
    sms: None,
    mig: MigSupport::Yes(&H20_141_MIG),
    spellings: &[
        Spelling { all: &["h20"], also: &["sxm", "sxm5", "141gb", "hbm3e"] },
        Spelling { all: &["h20", "3e"], also: &["sxm", "sxm5", "141gb", "hbm3e"] },
    ],
    notes: &["no mig-parted filter for 0x232C"],
    conflicts: &[],
    sources: &[&VGPU_HOPPER],
};

const H200_141_ROWS: Sources = &[&CAP_H200, &DOC615];
const H200_141_DERIVED: Sources = &[&DOC615, &DERIVED];

static H200_141_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: Some("R550 (>=550.90.07)"),
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "ids captured, placements same die as H100 NVL",
    profiles: &[
        ONE.named("1g.18gb").holds(16.0, 16).engines(1, 1, 0, 1, 0).captured(H200_141_ROWS),
        ONE_MEDIA
            .named("1g.18gb+me")
            .holds(16.0, 16)
            .engines(1, 1, 0, 1, 1)
            .captured(H200_141_ROWS),
        ONE_DOUBLE
            .named("1g.35gb")
            .holds(32.5, 26)
            .engines(1, 1, 0, 1, 0)
            .derived(H200_141_DERIVED)
            .note("memory/SM derived from sibling (2g / 3g) and H100 SXM SM map"),
        TWO.named("2g.35gb").holds(32.5, 32).engines(2, 2, 0, 2, 0).captured(H200_141_ROWS),
        THREE
            .named("3g.71gb")
            .holds(69.75, 60)
            .engines(3, 3, 0, 3, 0)
            .captured_in_part(H200_141_ROWS)
            .note(
                "71424 MiB; SM 60 inferred: capture splits it 1c(16)+2c(32) as compute instances",
            ),
        FOUR.named("4g.71gb")
            .holds(69.75, 64)
            .engines(4, 4, 0, 4, 0)
            .derived(H200_141_DERIVED)
            .note("memory/SM derived from sibling (2g / 3g) and H100 SXM SM map"),
        SEVEN.named("7g.141gb").holds(140.0, 132).engines(8, 7, 0, 7, 1).captured(H200_141_ROWS),
    ],
};

/// H200 SXM 141GB, H200 NVL.
pub(super) static H200_141: Sku = Sku {
    id: "h200-141",
    product: "H200 SXM 141GB, H200 NVL",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(141),
    memory_total_mib: Some(143_771),
    pci: &[
        pci(0x2335, "H200 SXM 141GB", &[&PCI_IDS, &PARTED]),
        pci(0x233B, "H200 NVL", &[&PCI_IDS, &PARTED]),
    ],
    sms: Some(132),
    mig: MigSupport::Yes(&H200_141_MIG),
    spellings: &[
        Spelling { all: &["h200"], also: &["sxm", "sxm5", "141gb", "hbm3e"] },
        Spelling { all: &["h200", "nvl"], also: &["pcie", "141gb", "hbm3e"] },
    ],
    notes: &[],
    conflicts: &[
        "'18gb' is 16.00 GiB usable, '35gb' is 32.50 GiB, '141gb' is 140.00 GiB: do not compute capacity from the name",
        "go-nvml uses device id 0x2333 and 18432/35840/72704/144384 MiB; real id 0x2335",
        "mig-parted all-1g.35gb filters only 0x2335 so H200 NVL (0x233B) gets nothing from it",
        "go-nvml/k8s-test-infra mocks give 3g=48, 4g=64, 7g=112 SM and 1g.20gb=16; captures give 60/64/132 and 26",
        "go-nvml h100/h200/b200 placements are wrong: 3g size 3 and 1g(x2mem) size 1; captured grid is 8 units with 3g=4, 1g(x2mem)=2",
    ],
    sources: &[&DOC_DEPLOY, &DOC615],
};

const GH200_144_ROWS: Sources = &[&PARTED];

static GH200_144_MIG: Mig = Mig {
    instances_max: 7,
    compute_slices: 7,
    grid_units: Some(8),
    driver_min: None,
    graphics: false,
    enabling_resets: Some(false),
    geometry_basis: "family-assumed",
    profiles: &[
        ONE.named("1g.18gb").engines(1, 1, 0, 1, 0).names_only(GH200_144_ROWS),
        ONE_MEDIA.named("1g.18gb+me").engines(1, 1, 0, 1, 1).names_only(GH200_144_ROWS),
        ONE_DOUBLE.named("1g.36gb").engines(1, 1, 0, 1, 0).names_only(GH200_144_ROWS),
        TWO.named("2g.36gb").engines(2, 2, 0, 2, 0).names_only(GH200_144_ROWS),
        THREE.named("3g.72gb").engines(3, 3, 0, 3, 0).names_only(GH200_144_ROWS),
        FOUR.named("4g.72gb").engines(4, 4, 0, 4, 0).names_only(GH200_144_ROWS),
        SEVEN.named("7g.144gb").engines(8, 7, 0, 7, 1).names_only(GH200_144_ROWS),
    ],
};

/// GH200 144GB HBM3e.
pub(super) static GH200_144: Sku = Sku {
    id: "gh200-144",
    product: "GH200 144GB HBM3e",
    architecture: Architecture::Hopper,
    die: "GH100",
    compute_capability: Some((9, 0)),
    memory_gb: Some(144),
    memory_total_mib: None,
    pci: &[pci(0x2348, "GH200 144G HBM3e", &[&PCI_IDS, &PARTED])],
    sms: None,
    mig: MigSupport::Yes(&GH200_144_MIG),
    spellings: &[Spelling { all: &["gh200"], also: &["144gb", "hbm3e", "grace", "superchip"] }],
    notes: &[],
    conflicts: &[],
    sources: &[&PARTED],
};
