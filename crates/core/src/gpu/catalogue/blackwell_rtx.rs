//! Blackwell with MIG and graphics: RTX PRO and Thor. The grid of the RTX PRO 6000 has 12 units.

use super::shape::{Sources, at, pci, shape, unplaced};
use crate::gpu::source::{CAP_RTX6000, DOC_DEPLOY, DOC_GPUS, DOC615, PARTED, PCI_IDS};
use crate::gpu::{Architecture, Mig, MigSupport, Profile, Sku, Spelling};

/// Profiles of the RTX PRO 6000, whose slices take 3 of 12 units each.
const fn quarter(id: u32, nvml_profile: u32, instances_max: u32) -> Profile {
    shape(Some(id), nvml_profile, 1, Some(at(&[0, 3, 6, 9], 3)), instances_max)
}

const fn half(id: u32, nvml_profile: u32, instances_max: u32) -> Profile {
    shape(Some(id), nvml_profile, 2, Some(at(&[0, 6], 6)), instances_max)
}

const fn full(id: u32, nvml_profile: u32, instances_max: u32) -> Profile {
    shape(Some(id), nvml_profile, 4, Some(at(&[0], 12)), instances_max)
}

const RTX_PRO_6000_ROWS: Sources = &[&CAP_RTX6000, &DOC615];

static RTX_PRO_6000_MIG: Mig = Mig {
    instances_max: 4,
    compute_slices: 4,
    grid_units: Some(12),
    driver_min: Some("R575 (>=575.51.03)"),
    graphics: true,
    enabling_resets: Some(false),
    geometry_basis: "captured (lgipp)",
    profiles: &[
        quarter(14, 0, 4)
            .named("1g.24gb")
            .holds(23.62, 46)
            .engines(1, 1, 1, 1, 0)
            .captured(RTX_PRO_6000_ROWS),
        quarter(21, 7, 1)
            .named("1g.24gb+me")
            .holds(23.62, 46)
            .engines(1, 1, 1, 1, 1)
            .captured(RTX_PRO_6000_ROWS),
        quarter(47, 10, 4)
            .named("1g.24gb+gfx")
            .holds(23.62, 46)
            .engines(1, 1, 1, 1, 0)
            .captured(RTX_PRO_6000_ROWS),
        quarter(65, 15, 1)
            .named("1g.24gb+me.all")
            .holds(23.62, 46)
            .engines(1, 4, 4, 4, 1)
            .captured(RTX_PRO_6000_ROWS)
            .note("owns all media engines: only -me instances can coexist (nvml.h comment)"),
        quarter(67, 13, 4)
            .named("1g.24gb-me")
            .holds(23.62, 46)
            .engines(1, 0, 0, 0, 0)
            .captured(RTX_PRO_6000_ROWS),
        half(5, 1, 2)
            .named("2g.48gb")
            .holds(47.38, 94)
            .engines(2, 2, 2, 2, 0)
            .captured(RTX_PRO_6000_ROWS),
        half(35, 11, 2)
            .named("2g.48gb+gfx")
            .holds(47.38, 94)
            .engines(2, 2, 2, 2, 0)
            .captured(RTX_PRO_6000_ROWS),
        half(64, 16, 1)
            .named("2g.48gb+me.all")
            .holds(47.38, 94)
            .engines(2, 4, 4, 4, 1)
            .captured(RTX_PRO_6000_ROWS)
            .note("only -me instances can coexist"),
        half(66, 14, 2)
            .named("2g.48gb-me")
            .holds(47.38, 94)
            .engines(2, 0, 0, 0, 0)
            .captured(RTX_PRO_6000_ROWS),
        full(0, 3, 1)
            .named("4g.96gb")
            .holds(95.12, 188)
            .engines(4, 4, 4, 4, 1)
            .captured(RTX_PRO_6000_ROWS),
        full(32, 12, 1)
            .named("4g.96gb+gfx")
            .holds(95.12, 188)
            .engines(4, 4, 4, 4, 1)
            .captured(RTX_PRO_6000_ROWS),
    ],
};

/// RTX PRO 6000 Blackwell (Server, Workstation, Max-Q) 96GB.
pub(super) static RTX_PRO_6000: Sku = Sku {
    id: "rtx-pro-6000-96",
    product: "RTX PRO 6000 Blackwell (Server, Workstation, Max-Q) 96GB",
    architecture: Architecture::Blackwell,
    die: "GB202",
    compute_capability: Some((12, 0)),
    memory_gb: Some(96),
    memory_total_mib: None,
    pci: &[
        pci(0x2BB5, "Server Edition", &[&PCI_IDS, &PARTED]),
        pci(0x2BB1, "Workstation Edition", &[&PCI_IDS]),
        pci(0x2BB4, "Max-Q Workstation Edition", &[&PCI_IDS]),
    ],
    sms: Some(188),
    mig: MigSupport::Yes(&RTX_PRO_6000_MIG),
    spellings: &[Spelling {
        all: &["rtx", "pro", "6000"],
        also: &["server", "workstation", "se", "ws", "edition", "maxq", "96gb", "gddr7"],
    }],
    notes: &[
        "Only +gfx profiles may run OpenGL/Vulkan/DirectX; others are compute(+media)",
        "vGPU on this card needs +gfx profiles",
        "placement grid is 12 units, not 4",
        "all captured rows are Server Edition; WS/Max-Q share the docs table but were not captured; 2BB2/2BBC (6000D) not listed by NVIDIA",
        "display outputs / driver modeset can hold the GPU and block MIG (mig-parted#181, gpu-operator#2249)",
    ],
    conflicts: &[
        "full-card memory 95.12 (capture) vs 95.00 (two community digests) vs 93.38 GiB on a vGPU host (23.12/46.50/93.38)",
        "mig-parted all-balanced filters only 0x2BB5 (Server)",
        "mig-parted known-good names use suffix forms '+me.all', '-me', '+gfx' as profile names",
    ],
    sources: &[&DOC_GPUS, &DOC_DEPLOY, &DOC615],
};

const RTX_PRO_5000_ROWS: Sources = &[&DOC615];

static RTX_PRO_5000_MIG: Mig = Mig {
    instances_max: 2,
    compute_slices: 2,
    grid_units: None,
    driver_min: Some("R575 (>=575.57.08)"),
    graphics: true,
    enabling_resets: Some(false),
    geometry_basis: "not sourced",
    profiles: &[
        unplaced(0, 1, 2).named("1g.24gb").engines(1, 1, 1, 0, 0).documented(RTX_PRO_5000_ROWS),
        unplaced(7, 1, 1).named("1g.24gb+me").engines(1, 1, 1, 1, 1).documented(RTX_PRO_5000_ROWS),
        unplaced(10, 1, 2)
            .named("1g.24gb+gfx")
            .engines(1, 1, 1, 0, 0)
            .documented(RTX_PRO_5000_ROWS),
        unplaced(15, 1, 1)
            .named("1g.24gb+me.all")
            .engines(1, 3, 3, 1, 1)
            .documented(RTX_PRO_5000_ROWS),
        unplaced(13, 1, 2).named("1g.24gb-me").engines(1, 0, 0, 0, 0).documented(RTX_PRO_5000_ROWS),
        unplaced(1, 2, 1).named("2g.48gb").engines(4, 3, 3, 1, 1).documented(RTX_PRO_5000_ROWS),
        unplaced(11, 2, 1)
            .named("2g.48gb+gfx")
            .engines(4, 3, 3, 1, 1)
            .documented(RTX_PRO_5000_ROWS),
    ],
};

/// RTX PRO 5000 Blackwell 48GB.
pub(super) static RTX_PRO_5000: Sku = Sku {
    id: "rtx-pro-5000-48",
    product: "RTX PRO 5000 Blackwell 48GB",
    architecture: Architecture::Blackwell,
    die: "GB202",
    compute_capability: Some((12, 0)),
    memory_gb: Some(48),
    memory_total_mib: None,
    pci: &[pci(0x2BB3, "RTX PRO 5000 48GB and 72GB share this id", &[&PCI_IDS])],
    sms: None,
    mig: MigSupport::Yes(&RTX_PRO_5000_MIG),
    spellings: &[Spelling {
        all: &["rtx", "pro", "5000"],
        also: &["48gb", "gddr7", "edition", "workstation"],
    }],
    notes: &[],
    conflicts: &[
        "older guide crawl listed 4-way 1g.12gb/+me/+gfx/-me(x3), 2g.24gb-me, 4g.48gb(+gfx) — current guide is 2-way 1g.24gb/2g.48gb",
        "2g.48gb copy engines = 4 with 1g = 1 in the docs (odd; probably a table slip)",
        "72GB variant shares 0x2BB3: tell apart by memory or subsystem id; no MIG table for it",
        "'Universal MIG' text says graphics 'available on RTX PRO 6000 GPUs' yet 5000/4500 tables list +gfx",
    ],
    sources: &[&DOC_GPUS, &DOC_DEPLOY],
};

const RTX_PRO_4500_ROWS: Sources = &[&DOC615];

static RTX_PRO_4500_MIG: Mig = Mig {
    instances_max: 2,
    compute_slices: 2,
    grid_units: None,
    driver_min: Some("R575 (>=575.64)"),
    graphics: true,
    enabling_resets: Some(false),
    geometry_basis: "not sourced",
    profiles: &[
        unplaced(0, 1, 2).named("1g.16gb").engines(1, 1, 1, 1, 0).documented(RTX_PRO_4500_ROWS),
        unplaced(10, 1, 2)
            .named("1g.16gb+gfx")
            .engines(1, 1, 1, 1, 0)
            .documented(RTX_PRO_4500_ROWS),
        unplaced(15, 1, 1)
            .named("1g.16gb+me.all")
            .engines(1, 3, 3, 2, 1)
            .documented(RTX_PRO_4500_ROWS),
        unplaced(13, 1, 2).named("1g.16gb-me").engines(1, 0, 0, 0, 0).documented(RTX_PRO_4500_ROWS),
        unplaced(1, 2, 1).named("2g.32gb").engines(2, 3, 3, 2, 1).documented(RTX_PRO_4500_ROWS),
        unplaced(11, 2, 1)
            .named("2g.32gb+gfx")
            .engines(2, 3, 3, 2, 1)
            .documented(RTX_PRO_4500_ROWS),
    ],
};

/// RTX PRO 4500 Blackwell 32GB (and Server Edition).
pub(super) static RTX_PRO_4500: Sku = Sku {
    id: "rtx-pro-4500-32",
    product: "RTX PRO 4500 Blackwell 32GB (and Server Edition)",
    architecture: Architecture::Blackwell,
    die: "GB203",
    compute_capability: Some((12, 0)),
    memory_gb: Some(32),
    memory_total_mib: None,
    pci: &[
        pci(0x2C31, "RTX PRO 4500 Blackwell", &[&PCI_IDS]),
        pci(0x2C3A, "RTX PRO 4500 Blackwell Server Edition", &[&PCI_IDS]),
    ],
    sms: None,
    mig: MigSupport::Yes(&RTX_PRO_4500_MIG),
    spellings: &[Spelling {
        all: &["rtx", "pro", "4500"],
        also: &["server", "se", "edition", "workstation", "32gb", "gddr7"],
    }],
    notes: &[],
    conflicts: &[
        "NVIDIA AI Enterprise vGPU page (vgpu_b) also names 'MIG 2g.16gb/2g.8gb/1g.8gb' for the SE; those are vGPU framebuffer splits, not GI profiles",
    ],
    sources: &[&DOC_GPUS, &DOC_DEPLOY],
};

const THOR_ROWS: Sources = &[&DOC615];

static THOR_MIG: Mig = Mig {
    instances_max: 2,
    compute_slices: 3,
    grid_units: None,
    driver_min: Some("R595 as in JetPack 7.2, CUDA 13"),
    graphics: true,
    enabling_resets: None,
    geometry_basis: "not sourced",
    profiles: &[
        unplaced(7, 1, 1).named("1g.0gb+me").engines(1, 1, 1, 1, 1).documented(THOR_ROWS),
        unplaced(0, 1, 1).named("1g.0gb").engines(1, 1, 1, 1, 0).documented(THOR_ROWS),
        unplaced(10, 1, 1).named("1g.0gb+gfx").engines(1, 1, 1, 1, 0).documented(THOR_ROWS),
        unplaced(1, 2, 1).named("2g.0gb").engines(1, 1, 1, 1, 0).documented(THOR_ROWS),
        unplaced(11, 2, 1).named("2g.0gb+gfx").engines(1, 1, 1, 1, 0).documented(THOR_ROWS),
        unplaced(2, 3, 1).named("3g.0gb").engines(1, 2, 2, 2, 1).documented(THOR_ROWS),
        unplaced(17, 3, 1).named("3g.0gb+gfx").engines(1, 2, 2, 2, 1).documented(THOR_ROWS),
    ],
};

/// Thor iGPU (Jetson T5000).
pub(super) static THOR: Sku = Sku {
    id: "thor-igpu",
    product: "Thor iGPU (Jetson T5000)",
    architecture: Architecture::Blackwell,
    die: "GB10B",
    compute_capability: None,
    memory_gb: None,
    memory_total_mib: None,
    pci: &[pci(0x2B00, "GB10B Jetson AGX Thor", &[&PCI_IDS])],
    sms: None,
    mig: MigSupport::Yes(&THOR_MIG),
    spellings: &[
        Spelling { all: &["thor"], also: &["jetson", "agx", "igpu", "t5000"] },
        Spelling { all: &["gb10b"], also: &["thor", "igpu"] },
        Spelling { all: &["jetson", "t5000"], also: &["thor", "agx", "igpu"] },
    ],
    notes: &[
        "unified memory: profiles report 0 GB",
        "at most two instances: one compute and one +gfx; 3g cannot coexist",
    ],
    conflicts: &[],
    sources: &[&DOC_GPUS, &DOC_DEPLOY, &DOC615],
};
