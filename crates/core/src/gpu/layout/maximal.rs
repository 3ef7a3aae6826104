//! Layouts to which nothing can be added.

use super::Placement;
use super::instance::geometry;
use super::place::{Want, counts};
use crate::gpu::{Profile, Sku, Suffix};

/// The profiles that a layout is usually made of: without suffix, and of those with the same compute
/// slices the one that takes least of the grid.
pub fn plain_profiles(sku: &Sku) -> Vec<&'static Profile> {
    let Some(mig) = sku.mig() else { return Vec::new() };
    let size = |profile: &Profile| profile.placements.map_or(0, |placements| placements.size);
    let mut plain: Vec<&'static Profile> = Vec::new();
    for profile in mig.profiles.iter().filter(|profile| profile.suffix() == Suffix::None) {
        match plain.iter_mut().find(|other| other.compute_slices == profile.compute_slices) {
            Some(other) if size(profile) < size(other) => *other = profile,
            Some(_) => {}
            None => plain.push(profile),
        }
    }
    plain
}

/// Every layout of plain profiles to which no further instance can be added. Layouts that differ in
/// places alone are different ones. `None` where the card has no MIG or its placements have no
/// source.
pub fn maximal_layouts(sku: &Sku) -> Option<Vec<Vec<Placement>>> {
    maximal_layouts_of(sku, &plain_profiles(sku))
}

/// Every layout of these profiles to which no instance of one of them can be added, each by ascending
/// place.
pub fn maximal_layouts_of(sku: &Sku, profiles: &[&'static Profile]) -> Option<Vec<Vec<Placement>>> {
    let mig = sku.mig()?;
    let mut places = Vec::new();
    for profile in profiles {
        let (_, placements) = geometry(mig.grid_units, profile)?;
        places.extend(placements.starts.iter().map(|&start| Placement {
            profile,
            start,
            size: placements.size,
        }));
    }
    if places.is_empty() {
        return None;
    }
    places.sort_by_key(|place| place.start);
    let may_stand = |stands: &[Placement], new: Placement| {
        let wants: Vec<Want> = stands
            .iter()
            .chain([&new])
            .map(|place| Want { profile: place.profile, start: None })
            .collect();
        !stands.iter().any(|other| other.overlaps(new)) && counts(mig, &wants).is_ok()
    };
    let mut found = Vec::new();
    let mut open: Vec<(Vec<Placement>, u32)> = vec![(Vec::new(), 0)];
    while let Some((stands, from)) = open.pop() {
        let next: Vec<Placement> =
            places.iter().copied().filter(|place| may_stand(&stands, *place)).collect();
        if next.is_empty() {
            found.push(stands);
            continue;
        }
        for place in next.into_iter().rev().filter(|place| place.start >= from) {
            let mut larger = stands.clone();
            larger.push(place);
            open.push((larger, place.start + 1));
        }
    }
    Some(found)
}
