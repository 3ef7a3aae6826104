//! Models of which a PCI id is known and nothing else. That they can be partitioned is likely and not
//! known, so their profiles are to be read from the device.

use super::shape::{Sources, pci};
use crate::gpu::source::PCI_IDS;
use crate::gpu::{Architecture, MigSupport, PciDevice, Sku, Spelling};

const PCI_ONLY: Sources = &[&PCI_IDS];

const fn unlisted(
    id: &'static str,
    product: &'static str,
    memory_gb: Option<u32>,
    pci: &'static [PciDevice],
    spellings: &'static [Spelling],
) -> Sku {
    Sku {
        id,
        product,
        architecture: Architecture::Blackwell,
        die: "",
        compute_capability: None,
        memory_gb,
        memory_total_mib: None,
        pci,
        sms: None,
        mig: MigSupport::Unknown,
        spellings,
        notes: &["only its PCI id has a source; read its profiles from the device"],
        conflicts: &[],
        sources: PCI_ONLY,
    }
}

/// RTX PRO 5000 with 72 GB.
pub(super) static RTX_PRO_5000_72: Sku = unlisted(
    "rtx-pro-5000-72",
    "RTX PRO 5000 Blackwell 72GB",
    Some(72),
    &[pci(0x2BB3, "RTX PRO 5000 48GB and 72GB share this id", &[&PCI_IDS])],
    &[Spelling {
        all: &["rtx", "pro", "5000"],
        also: &["72gb", "gddr7", "edition", "workstation"],
    }],
);

/// RTX PRO 6000D.
pub(super) static RTX_PRO_6000D: Sku = unlisted(
    "rtx-pro-6000d",
    "RTX PRO 6000D Blackwell",
    None,
    &[],
    &[
        Spelling { all: &["rtx", "pro", "6000d"], also: &["edition", "server", "workstation"] },
        Spelling { all: &["rtx", "6000d"], also: &[] },
    ],
);

/// B200 with 168 GB.
pub(super) static B200_168: Sku = unlisted(
    "b200-168",
    "HGX B200 168GB",
    Some(168),
    &[pci(0x2909, "HGX B200 168GB", &[&PCI_IDS])],
    &[Spelling { all: &["b200", "168gb"], also: &["sxm", "sxm6", "hgx", "dgx", "hbm3e"] }],
);
