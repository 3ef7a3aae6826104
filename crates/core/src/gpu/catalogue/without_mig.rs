//! Models without MIG: they can be shared by time, by MPS, or not at all. The guide's list of
//! supported GPUs does not have them. Memory stands here where a real card was seen.

use super::shape::{Sources, pci};
use crate::gpu::source::{CARDS, DOC_GPUS};
use crate::gpu::{Architecture, MigSupport, PciDevice, Sku, Spelling};

const GUIDE: Sources = &[&DOC_GPUS];
const GUIDE_AND_CARD: Sources = &[&DOC_GPUS, &CARDS];

/// A model without MIG, of this generation, compute capability and memory in its name, GB.
const fn plain(
    id: &'static str,
    product: &'static str,
    architecture: Architecture,
    compute_capability: Option<(u32, u32)>,
    memory_gb: Option<u32>,
    spellings: &'static [Spelling],
) -> Sku {
    Sku {
        id,
        product,
        architecture,
        die: "",
        compute_capability,
        memory_gb,
        memory_total_mib: None,
        pci: &[],
        sms: None,
        mig: MigSupport::No,
        spellings,
        notes: &[],
        conflicts: &[],
        sources: GUIDE,
    }
}

impl Sku {
    /// With the memory that a real card printed, MiB, and its PCI device ids.
    const fn seen(self, memory_total_mib: u32, pci: &'static [PciDevice]) -> Self {
        Self { memory_total_mib: Some(memory_total_mib), pci, sources: GUIDE_AND_CARD, ..self }
    }

    const fn remark(self, notes: &'static [&'static str]) -> Self {
        Self { notes, ..self }
    }
}

/// One spelling: the words that must be there, and those that may.
const fn words(all: &'static [&'static str], also: &'static [&'static str]) -> Spelling {
    Spelling { all, also }
}

const AMPERE: Architecture = Architecture::Ampere;
const ADA: Architecture = Architecture::Ada;

/// L40S.
pub(super) static L40S: Sku =
    plain("l40s", "L40S", ADA, Some((8, 9)), Some(48), &[words(&["l40s"], &["48gb", "pcie"])])
        .seen(46_068, &[pci(0x26B9, "L40S", &[&CARDS])]);

/// L40.
pub(super) static L40: Sku =
    plain("l40", "L40", ADA, Some((8, 9)), Some(48), &[words(&["l40"], &["48gb", "pcie"])]);

/// L4.
pub(super) static L4: Sku =
    plain("l4", "L4", ADA, Some((8, 9)), Some(24), &[words(&["l4"], &["24gb", "pcie"])]);

/// T4.
pub(super) static T4: Sku = plain(
    "t4",
    "Tesla T4",
    Architecture::Turing,
    Some((7, 5)),
    Some(16),
    &[words(&["t4"], &["16gb", "15gb", "pcie"])],
)
.seen(15_360, &[pci(0x1EB8, "Tesla T4", &[&CARDS])]);

/// A10.
pub(super) static A10: Sku =
    plain("a10", "A10", AMPERE, Some((8, 6)), Some(24), &[words(&["a10"], &["24gb", "pcie"])]);

/// A10G.
pub(super) static A10G: Sku =
    plain("a10g", "A10G", AMPERE, Some((8, 6)), Some(24), &[words(&["a10g"], &["24gb", "pcie"])])
        .seen(23_028, &[]);

/// A40.
pub(super) static A40: Sku =
    plain("a40", "A40", AMPERE, Some((8, 6)), Some(48), &[words(&["a40"], &["48gb", "pcie"])]);

/// A16.
pub(super) static A16: Sku =
    plain("a16", "A16", AMPERE, Some((8, 6)), Some(16), &[words(&["a16"], &["16gb", "pcie"])])
        .remark(&["one board carries four GPUs; this is one of them"]);

/// V100 with 16 GB.
pub(super) static V100_16: Sku = plain(
    "v100-16",
    "Tesla V100 16GB",
    Architecture::Volta,
    Some((7, 0)),
    Some(16),
    &[words(&["v100"], &["16gb", "sxm", "sxm2", "pcie", "hbm2"])],
);

/// V100 with 32 GB.
pub(super) static V100_32: Sku = plain(
    "v100-32",
    "Tesla V100 32GB",
    Architecture::Volta,
    Some((7, 0)),
    Some(32),
    &[
        words(&["v100"], &["32gb", "sxm", "sxm2", "sxm3", "pcie", "hbm2"]),
        words(&["v100s"], &["32gb", "pcie", "hbm2"]),
    ],
);

/// P100 with 16 GB.
pub(super) static P100: Sku = plain(
    "p100-16",
    "Tesla P100 16GB",
    Architecture::Pascal,
    Some((6, 0)),
    Some(16),
    &[words(&["p100", "16gb"], &["sxm", "sxm2", "pcie", "hbm2"])],
)
.seen(16_384, &[pci(0x15F8, "Tesla P100 PCIe 16GB", &[&CARDS])]);

/// RTX PRO 4000 and lower.
pub(super) static RTX_PRO_4000: Sku = plain(
    "rtx-pro-4000",
    "RTX PRO 4000 Blackwell and lower",
    Architecture::Blackwell,
    Some((12, 0)),
    None,
    &[
        words(&["rtx", "pro", "4000"], &["sff", "edition", "24gb", "gddr7", "laptop"]),
        words(&["rtx", "pro", "3000"], &["laptop", "12gb", "gddr7"]),
        words(&["rtx", "pro", "2000"], &["edition", "16gb", "gddr7", "laptop"]),
        words(&["rtx", "pro", "1000"], &["laptop", "8gb", "gddr7"]),
        words(&["rtx", "pro", "500"], &["laptop", "6gb", "gddr7"]),
    ],
);

/// GeForce RTX 4090.
pub(super) static RTX_4090: Sku = plain(
    "rtx-4090",
    "GeForce RTX 4090",
    ADA,
    Some((8, 9)),
    Some(24),
    &[words(&["rtx", "4090"], &["geforce", "24gb", "gddr6x"])],
)
.seen(24_564, &[pci(0x2684, "GeForce RTX 4090", &[&CARDS])]);

/// GeForce RTX 3090.
pub(super) static RTX_3090: Sku = plain(
    "rtx-3090",
    "GeForce RTX 3090",
    AMPERE,
    Some((8, 6)),
    Some(24),
    &[words(&["rtx", "3090"], &["geforce", "24gb", "gddr6x"])],
)
.seen(24_576, &[]);

/// Any other GeForce. Its name is recognised by rule.
pub(in crate::gpu) static GEFORCE: Sku =
    plain("geforce", "GeForce (any)", Architecture::Various, None, None, &[]);

/// GB10, the GPU of the DGX Spark.
pub(super) static GB10: Sku = plain(
    "gb10",
    "GB10 (DGX Spark)",
    Architecture::Blackwell,
    None,
    Some(128),
    &[
        words(&["gb10"], &["dgx", "spark", "grace", "superchip", "128gb"]),
        words(&["dgx", "spark"], &["128gb"]),
    ],
)
.remark(&["the memory is the machine's own, shared with the CPU"]);
