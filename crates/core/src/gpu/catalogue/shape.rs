//! Building rows of the catalogue: short words for what many rows have in common.

use crate::gpu::{Confidence, Engines, PciDevice, Placements, Profile, Source};

/// The sources of a row.
pub(super) type Sources = &'static [&'static Source];

/// A profile of this id, NVML number, slices and placements, of which a card holds so many.
pub(super) const fn shape(
    id: Option<u32>,
    nvml_profile: u32,
    compute_slices: u32,
    placements: Option<Placements>,
    instances_max: u32,
) -> Profile {
    Profile {
        name: "",
        id,
        nvml_profile,
        compute_slices,
        placements,
        instances_max,
        memory_gib: None,
        sms: None,
        engines: Engines { copy: 0, decoders: 0, encoders: 0, jpeg: 0, optical_flow: 0 },
        peer_to_peer: None,
        confidence: Confidence::NamesOnly,
        sources: &[],
        note: "",
    }
}

/// A profile whose id and placements no source prints.
pub(super) const fn unplaced(nvml_profile: u32, slices: u32, instances_max: u32) -> Profile {
    shape(None, nvml_profile, slices, None, instances_max)
}

/// Where instances may begin, and the units of the grid that one takes.
pub(super) const fn at(starts: &'static [u32], size: u32) -> Placements {
    Placements { starts, size }
}

// The profiles of every card with seven compute slices on a grid of eight units, as the driver lists
// them. `ONE_DOUBLE` is one slice with twice the memory.
pub(super) const ONE: Profile = shape(Some(19), 0, 1, Some(at(&[0, 1, 2, 3, 4, 5, 6], 1)), 7);
pub(super) const ONE_MEDIA: Profile = shape(Some(20), 7, 1, Some(at(&[0, 1, 2, 3, 4, 5, 6], 1)), 1);
pub(super) const ONE_DOUBLE: Profile = shape(Some(15), 9, 1, Some(at(&[0, 2, 4, 6], 2)), 4);
pub(super) const TWO: Profile = shape(Some(14), 1, 2, Some(at(&[0, 2, 4], 2)), 3);
pub(super) const THREE: Profile = shape(Some(9), 2, 3, Some(at(&[0, 4], 4)), 2);
pub(super) const FOUR: Profile = shape(Some(5), 3, 4, Some(at(&[0], 4)), 1);
pub(super) const SEVEN: Profile = shape(Some(0), 4, 7, Some(at(&[0], 8)), 1);

impl Profile {
    /// With the name that the driver prints.
    pub(super) const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// With memory as printed, GiB, and SMs.
    pub(super) const fn holds(self, memory_gib: f64, sms: u32) -> Self {
        Self { memory_gib: Some(memory_gib), sms: Some(sms), ..self }
    }

    /// With copy engines, video decoders, video encoders, JPEG decoders, optical flow accelerators.
    pub(super) const fn engines(
        self,
        copy: u32,
        decoders: u32,
        encoders: u32,
        jpeg: u32,
        optical_flow: u32,
    ) -> Self {
        Self { engines: Engines { copy, decoders, encoders, jpeg, optical_flow }, ..self }
    }

    const fn from(self, confidence: Confidence, sources: Sources) -> Self {
        Self { confidence, sources, ..self }
    }

    /// Seen in real output, which prints `No` under P2P in every row.
    pub(super) const fn captured(self, sources: Sources) -> Self {
        Self { peer_to_peer: Some(false), ..self.from(Confidence::Captured, sources) }
    }

    /// Seen in real output as to memory.
    pub(super) const fn captured_in_part(self, sources: Sources) -> Self {
        Self { peer_to_peer: Some(false), ..self.from(Confidence::CapturedInPart, sources) }
    }

    /// Seen, but not in a listing that prints P2P.
    pub(super) const fn peers_unknown(self) -> Self {
        Self { peer_to_peer: None, ..self }
    }

    /// From a table of the documentation.
    pub(super) const fn documented(self, sources: Sources) -> Self {
        self.from(Confidence::Documented, sources)
    }

    /// From a model file.
    pub(super) const fn modelled(self, sources: Sources) -> Self {
        self.from(Confidence::Modelled, sources)
    }

    /// From a sibling row.
    pub(super) const fn derived(self, sources: Sources) -> Self {
        self.from(Confidence::Derived, sources)
    }

    /// Name and count alone have a source.
    pub(super) const fn names_only(self, sources: Sources) -> Self {
        self.from(Confidence::NamesOnly, sources)
    }

    /// With a remark.
    pub(super) const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }
}

/// A PCI device id with the board's name.
pub(super) const fn pci(id: u16, name: &'static str, sources: Sources) -> PciDevice {
    PciDevice { id, name, sources }
}
