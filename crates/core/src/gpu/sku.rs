//! A GPU model as the catalogue knows it: what it is called, what it holds, how it can be divided.
//!
//! `None` means that no source says it. Nothing is computed from a profile's name: `1g.18gb` of an
//! H200 holds 16.00 GiB, and two cards with the same profile names have different numbers of SMs.

use super::Source;
use super::version::Version;
use crate::units::Bytes;

/// One GPU model. Where two products differ in nothing that the catalogue holds they are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sku {
    /// A name of ours that never changes: `h100-80-sxm`.
    pub id: &'static str,
    /// The products that are meant.
    pub product: &'static str,
    /// The generation.
    pub architecture: Architecture,
    /// The die: `GH100`. Empty where no source is needed for it.
    pub die: &'static str,
    /// CUDA compute capability, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// The memory in the product's name, GB. It is not what a program gets.
    pub memory_gb: Option<u32>,
    /// The memory that `nvidia-smi` prints for the whole card without MIG, MiB, where a real one
    /// was seen.
    pub memory_total_mib: Option<u32>,
    /// PCI device ids, all of the vendor 10DE.
    pub pci: &'static [PciDevice],
    /// SMs that the driver reports; under MIG where the card has it.
    pub sms: Option<u32>,
    /// Whether and how the card can be partitioned.
    pub mig: MigSupport,
    /// How people and tools write the name.
    pub spellings: &'static [Spelling],
    /// What else is worth knowing.
    pub notes: &'static [&'static str],
    /// Where sources disagree, and which was followed.
    pub conflicts: &'static [&'static str],
    /// Where the facts of the card itself come from.
    pub sources: &'static [&'static Source],
}

impl Sku {
    /// The partitioning, where the card is known to have it.
    pub fn mig(&self) -> Option<&'static Mig> {
        match self.mig {
            MigSupport::Yes(mig) => Some(mig),
            MigSupport::No | MigSupport::Unknown => None,
        }
    }

    /// The MIG profile with this name, with or without the word `MIG` before it.
    pub fn profile(&self, name: &str) -> Option<&'static Profile> {
        let name = name.trim();
        let name = name.strip_prefix("MIG ").unwrap_or(name).trim();
        let profiles = self.mig()?.profiles;
        profiles.iter().find(|profile| profile.name.eq_ignore_ascii_case(name))
    }

    /// The whole card's memory as a program may find it, where a real card was seen.
    pub fn memory_total(&self) -> Option<Bytes> {
        self.memory_total_mib.map(|mib| Bytes(u64::from(mib) << 20))
    }
}

/// A generation of GPUs, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// Pascal, 2016.
    Pascal,
    /// Volta, 2017.
    Volta,
    /// Turing, 2018.
    Turing,
    /// Ampere, 2020.
    Ampere,
    /// Ada Lovelace, 2022.
    Ada,
    /// Hopper, 2022.
    Hopper,
    /// Blackwell, 2024.
    Blackwell,
    /// Blackwell Ultra, 2025.
    BlackwellUltra,
    /// Several generations go by one name (`GeForce`).
    Various,
}

impl Architecture {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pascal => "Pascal",
            Self::Volta => "Volta",
            Self::Turing => "Turing",
            Self::Ampere => "Ampere",
            Self::Ada => "Ada",
            Self::Hopper => "Hopper",
            Self::Blackwell => "Blackwell",
            Self::BlackwellUltra => "Blackwell Ultra",
            Self::Various => "various",
        }
    }
}

/// A PCI device id, and the board that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciDevice {
    /// The device id under the vendor 10DE.
    pub id: u16,
    /// The board's name.
    pub name: &'static str,
    /// Where the pair comes from.
    pub sources: &'static [&'static Source],
}

/// Words that make up one way to write a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// Words that must all be there.
    pub all: &'static [&'static str],
    /// Words that may be there as well. Any other word means another model.
    pub also: &'static [&'static str],
}

/// Whether a card can be partitioned by the hardware.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MigSupport {
    /// It can, like this.
    Yes(&'static Mig),
    /// It cannot.
    No,
    /// No source says.
    Unknown,
}

/// How a card is partitioned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mig {
    /// Instances on one card, at most.
    pub instances_max: u32,
    /// Compute slices of the card.
    pub compute_slices: u32,
    /// Units of the memory grid on which instances are placed.
    pub grid_units: Option<u32>,
    /// The oldest driver that can, as the guide words it.
    pub driver_min: Option<&'static str>,
    /// Whether some profiles can draw.
    pub graphics: bool,
    /// Whether switching MIG on resets the GPU.
    pub enabling_resets: Option<bool>,
    /// What the placements rest on.
    pub geometry_basis: &'static str,
    /// The profiles; empty where no source lists them.
    pub profiles: &'static [Profile],
}

impl Mig {
    /// The oldest driver version that can, where one is known.
    pub fn driver_version_min(&self) -> Option<Version> {
        let text = self.driver_min?;
        match text.split_once(">=") {
            Some((_, version)) => Version::parse(version.split([')', ',', ' ']).next()?),
            None => None,
        }
    }
}

/// A kind of GPU instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// The name as the driver prints it: `1g.10gb+me`. Names vary with the driver.
    pub name: &'static str,
    /// The id with which an instance is created (`nvidia-smi mig -cgi`).
    pub id: Option<u32>,
    /// The other id: `NVML_GPU_INSTANCE_PROFILE_*`, with which NVML is asked about it.
    pub nvml_profile: u32,
    /// Compute slices.
    pub compute_slices: u32,
    /// Where on the grid instances may begin and what they take.
    pub placements: Option<Placements>,
    /// Instances of this profile on one card, at most.
    pub instances_max: u32,
    /// Memory as `nvidia-smi mig -lgip` prints it, GiB in two decimals.
    pub memory_gib: Option<f64>,
    /// SMs.
    pub sms: Option<u32>,
    /// Engines beside the SMs.
    pub engines: Engines,
    /// Whether an instance reaches another one's memory (P2P).
    pub peer_to_peer: Option<bool>,
    /// How well all this is known.
    pub confidence: Confidence,
    /// Where it comes from.
    pub sources: &'static [&'static Source],
    /// What else is worth knowing; empty where nothing is.
    pub note: &'static str,
}

impl Profile {
    /// What the name's ending says of media engines and graphics.
    pub fn suffix(&self) -> Suffix {
        Suffix::of(self.name)
    }

    /// Whether graphics interfaces (OpenGL, Vulkan) work in such an instance.
    pub fn graphics(&self) -> bool {
        self.suffix() == Suffix::Graphics
    }

    /// Compute slices that a compute instance inside of such an instance may have, ascending; empty
    /// where no source says.
    pub fn compute_instance_slices(&self) -> &'static [u32] {
        match self.compute_slices {
            1 => &[1],
            2 => &[1, 2],
            3 => &[1, 2, 3],
            4 => &[1, 2, 4],
            7 => &[1, 2, 3, 4, 7],
            _ => &[],
        }
    }

    /// The memory, never more than there is: two printed decimals are cut, not rounded up.
    pub fn memory(&self) -> Option<Bytes> {
        self.memory_gib.map(|gib| Bytes((gib * f64::from(1 << 30)).floor() as u64))
    }
}

/// Where instances of a profile may be, in units of the card's memory grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placements {
    /// Units at which one may begin, ascending.
    pub starts: &'static [u32],
    /// Units that it takes.
    pub size: u32,
}

/// Engines of an instance beside its SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Engines {
    /// Copy engines.
    pub copy: u32,
    /// Video decoders (NVDEC).
    pub decoders: u32,
    /// Video encoders (NVENC).
    pub encoders: u32,
    /// JPEG decoders.
    pub jpeg: u32,
    /// Optical flow accelerators.
    pub optical_flow: u32,
}

/// The ending of a profile's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suffix {
    /// No ending.
    None,
    /// `+me`: at least one of each media engine; one such instance on a card.
    Media,
    /// `+me.all`: all media engines; only instances without any may stand beside it.
    MediaAll,
    /// `-me`: no media engines.
    MediaNone,
    /// `+gfx`: graphics interfaces work.
    Graphics,
}

impl Suffix {
    /// The ending of a profile's name.
    pub fn of(name: &str) -> Self {
        match name.find(['+', '-']).map(|at| &name[at..]) {
            Some("+me") => Self::Media,
            Some("+me.all") => Self::MediaAll,
            Some("-me") => Self::MediaNone,
            Some("+gfx") => Self::Graphics,
            _ => Self::None,
        }
    }

    /// The ending as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Media => "+me",
            Self::MediaAll => "+me.all",
            Self::MediaNone => "-me",
            Self::Graphics => "+gfx",
        }
    }
}

/// How well a profile is known, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// From real `nvidia-smi` output.
    Captured,
    /// Memory from real output, SMs inferred.
    CapturedInPart,
    /// From a table of NVIDIA's documentation; ids and placements by family.
    Documented,
    /// From a model file of NVIDIA's.
    Modelled,
    /// Inferred from a sibling of the same die.
    Derived,
    /// Only names and counts have a source; ids, placements and engines are those of the family.
    NamesOnly,
}

impl Confidence {
    /// The confidence in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::CapturedInPart => "captured-partial",
            Self::Documented => "documented",
            Self::Modelled => "modelled",
            Self::Derived => "derived",
            Self::NamesOnly => "names-only",
        }
    }
}
