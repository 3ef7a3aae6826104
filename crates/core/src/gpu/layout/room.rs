//! Instances one after the other: what a running card still has room for, and whether the order of
//! creation matters.
//!
//! The driver chooses where an instance begins unless it is told (`nvidia-smi mig -cgi 9:4`, or
//! NVML's creation with placement). Which place it takes is not documented, so a layout is called
//! safe only if no choice of the driver's leads to a dead end.

use super::instance::geometry;
use super::place::{Want, counts, partitioning, resolve};
use super::{Blocked, Instance, LayoutFault, Placement, place, place_instances};
use crate::gpu::{Profile, Sku};

/// The places at which an instance of a profile can still be created beside those that exist,
/// ascending and never empty.
///
/// # Errors
/// There is none: [`LayoutFault::Fragmented`] where all would fit if they were made anew. Or it is
/// not known.
pub fn room(sku: &Sku, existing: &[Placement], profile: &str) -> Result<Vec<u32>, LayoutFault> {
    let mig = partitioning(sku)?;
    let asked = Instance { profile, start: None };
    let new = resolve(sku, mig, &[asked]).map_err(|fault| numbered(fault, existing.len()))?[0];
    let mut all: Vec<Want> = existing
        .iter()
        .map(|placed| Want { profile: placed.profile, start: Some(placed.start) })
        .collect();
    all.push(new);
    counts(mig, &all)?;
    let unknown =
        LayoutFault::PlacementsUnknown { product: sku.product, profile: new.profile.name };
    let (grid_units, placements) = geometry(mig.grid_units, new.profile).ok_or(unknown)?;
    let mut free = Vec::new();
    let mut places = Vec::new();
    for &start in placements.starts {
        let candidate = Placement { profile: new.profile, start, size: placements.size };
        match existing.iter().copied().find(|other| other.overlaps(candidate)) {
            Some(by) => places.push(Blocked { start, by }),
            None => free.push(start),
        }
    }
    if !free.is_empty() {
        return Ok(free);
    }
    let names: Vec<&str> = all.iter().map(|want| want.profile.name).collect();
    let (instance, profile) = (existing.len(), new.profile.name);
    if place(sku, &names).is_ok() {
        Err(LayoutFault::Fragmented { instance, profile, places })
    } else {
        Err(LayoutFault::NoRoom { instance, profile, grid_units, places })
    }
}

/// The fault with the instance's number among all.
fn numbered(fault: LayoutFault, instance: usize) -> LayoutFault {
    match fault {
        LayoutFault::UnknownProfile { profile, product, known, .. } => {
            LayoutFault::UnknownProfile { instance, profile, product, known }
        }
        other => other,
    }
}

/// Whether instances can be created in an order with the driver choosing the places.
#[derive(Clone, Debug, PartialEq)]
pub enum CreationOrder {
    /// Whatever the driver chooses, all get a place.
    AnyPlace,
    /// The driver may choose so that one gets none: their places must be given.
    PlacesNeeded {
        /// The first instance that may get none.
        instance: usize,
        /// What stands there then.
        stuck: Vec<Placement>,
        /// Places at which all fit, in the order of creation.
        places: Vec<Placement>,
    },
}

/// Whether the driver may be left to place instances that are created in this order.
///
/// # Errors
/// As [`place`]: they fit in no order, or it is not known.
pub fn creation_order(sku: &Sku, profiles: &[&str]) -> Result<CreationOrder, LayoutFault> {
    let instances: Vec<_> =
        profiles.iter().map(|profile| Instance { profile, start: None }).collect();
    let places = place_instances(sku, &instances)?;
    let wanted: Vec<_> = places.iter().map(|placed| placed.profile).collect();
    let mut stands = Vec::new();
    Ok(match dead_end(&wanted, &mut stands) {
        None => CreationOrder::AnyPlace,
        Some(stuck) => CreationOrder::PlacesNeeded { instance: stuck.len(), stuck, places },
    })
}

/// What stands when the next instance has no place, for some choice of places.
fn dead_end(wanted: &[&'static Profile], stands: &mut Vec<Placement>) -> Option<Vec<Placement>> {
    let profile = *wanted.get(stands.len())?;
    let placements = profile.placements?;
    let mut has_place = false;
    for &start in placements.starts {
        let new = Placement { profile, start, size: placements.size };
        if stands.iter().any(|other| other.overlaps(new)) {
            continue;
        }
        has_place = true;
        stands.push(new);
        let stuck = dead_end(wanted, stands);
        stands.pop();
        if stuck.is_some() {
            return stuck;
        }
    }
    if has_place { None } else { Some(stands.clone()) }
}
