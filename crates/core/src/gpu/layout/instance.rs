//! Instances that are asked for, and those that have a place.

use crate::gpu::{Confidence, Placements, Profile, Sku};

/// An instance that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance<'a> {
    /// The profile's name.
    pub profile: &'a str,
    /// Where it must begin, in units of the grid; `None` where any place will do.
    pub start: Option<u32>,
}

/// An instance that has a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Its profile.
    pub profile: &'static Profile,
    /// The first unit of the grid that it takes.
    pub start: u32,
    /// The units that it takes.
    pub size: u32,
}

impl Placement {
    /// The units as a bit for each.
    fn units(self) -> u64 {
        units(self.start, self.size)
    }

    /// Whether two placements have a unit in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.units() & other.units() != 0
    }
}

/// The units from `start` on as a bit for each. No grid has more than 64.
fn units(start: u32, size: u32) -> u64 {
    let ones = 1_u64.checked_shl(size).map_or(u64::MAX, |bit| bit - 1);
    ones.checked_shl(start).unwrap_or(0)
}

/// How well the least known of some profiles of a card is known; `None` where one is no profile of it.
pub fn confidence(sku: &Sku, profiles: &[&str]) -> Option<Confidence> {
    let known: Option<Vec<_>> =
        profiles.iter().map(|name| sku.profile(name).map(|profile| profile.confidence)).collect();
    known?.into_iter().max()
}

/// The units of a card's grid, and where a profile may be on it; `None` where no source says.
pub(super) fn geometry(grid_units: Option<u32>, profile: &Profile) -> Option<(u32, Placements)> {
    Some((grid_units?, profile.placements?))
}
