//! The search for places.

use super::instance::geometry;
use super::{Blocked, Instance, LayoutFault, Placement};
use crate::gpu::{Mig, MigSupport, Placements, Profile, Sku, Suffix};

/// Places for instances of these profiles, in the order of the names.
///
/// # Errors
/// Why they cannot stand together, or that it is not known ([`LayoutFault::is_unknown`]).
pub fn place(sku: &Sku, profiles: &[&str]) -> Result<Vec<Placement>, LayoutFault> {
    let asked: Vec<_> = profiles.iter().map(|profile| Instance { profile, start: None }).collect();
    place_instances(sku, &asked)
}

/// Places for instances, some of which may have one already, in their order.
///
/// # Errors
/// As [`place`], and an instance that is to begin where its profile cannot.
pub fn place_instances(
    sku: &Sku,
    instances: &[Instance<'_>],
) -> Result<Vec<Placement>, LayoutFault> {
    let mig = partitioning(sku)?;
    let wanted = resolve(sku, mig, instances)?;
    counts(mig, &wanted)?;
    let placed = wanted
        .iter()
        .map(|want| on_grid(sku, mig, *want))
        .collect::<Result<Vec<_>, LayoutFault>>()?;
    arrange(mig.grid_units.unwrap_or_default(), &placed)
}

/// An instance with its profile.
#[derive(Clone, Copy)]
pub(super) struct Want {
    pub(super) profile: &'static Profile,
    pub(super) start: Option<u32>,
}

/// An instance with where it may be.
#[derive(Clone, Copy)]
struct Free {
    profile: &'static Profile,
    placements: Placements,
    start: Option<u32>,
}

impl Free {
    fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        let may = |start: &u32| self.start.is_none_or(|fixed| fixed == *start);
        self.placements.starts.iter().copied().filter(may)
    }

    fn at(&self, start: u32) -> Placement {
        Placement { profile: self.profile, start, size: self.placements.size }
    }
}

pub(super) fn partitioning(sku: &Sku) -> Result<&'static Mig, LayoutFault> {
    match sku.mig {
        MigSupport::Yes(mig) if !mig.profiles.is_empty() => Ok(mig),
        MigSupport::Yes(_) | MigSupport::Unknown => {
            Err(LayoutFault::ProfilesUnknown { product: sku.product })
        }
        MigSupport::No => Err(LayoutFault::NoMig { product: sku.product }),
    }
}

pub(super) fn resolve(
    sku: &Sku,
    mig: &Mig,
    instances: &[Instance<'_>],
) -> Result<Vec<Want>, LayoutFault> {
    let mut wanted = Vec::with_capacity(instances.len());
    for (instance, asked) in instances.iter().enumerate() {
        let profile = sku.profile(asked.profile).ok_or_else(|| LayoutFault::UnknownProfile {
            instance,
            profile: asked.profile.to_owned(),
            product: sku.product,
            known: mig.profiles.iter().map(|profile| profile.name).collect(),
        })?;
        if let (Some(start), Some(placements)) = (asked.start, profile.placements)
            && !placements.starts.contains(&start)
        {
            return Err(LayoutFault::NotAStart {
                instance,
                profile: profile.name,
                start,
                starts: placements.starts.to_vec(),
            });
        }
        wanted.push(Want { profile, start: asked.start });
    }
    Ok(wanted)
}

/// What can be said without the grid: numbers of instances and slices, and the media engines.
pub(super) fn counts(mig: &Mig, wanted: &[Want]) -> Result<(), LayoutFault> {
    let mut slices = 0;
    for (instance, want) in wanted.iter().enumerate() {
        let profile = want.profile;
        let before = &wanted[..instance];
        let same = before.iter().filter(|other| other.profile == profile).count();
        if same as u64 >= u64::from(profile.instances_max) {
            let most = profile.instances_max;
            return Err(LayoutFault::TooManyOfProfile { instance, profile: profile.name, most });
        }
        if instance as u64 >= u64::from(mig.instances_max) {
            return Err(LayoutFault::TooManyInstances { instance, most: mig.instances_max });
        }
        slices += profile.compute_slices;
        if slices > mig.compute_slices {
            return Err(LayoutFault::TooManySlices {
                instance,
                profile: profile.name,
                needed: slices,
                available: mig.compute_slices,
            });
        }
        for other in before {
            media(instance, profile, other.profile)?;
        }
    }
    Ok(())
}

/// Whether two profiles can stand together as to media engines.
fn media(
    instance: usize,
    profile: &'static Profile,
    other: &'static Profile,
) -> Result<(), LayoutFault> {
    let (profile_name, other_name) = (profile.name, other.name);
    match (profile.suffix(), other.suffix()) {
        (Suffix::Media, Suffix::Media) => {
            Err(LayoutFault::SecondMedia { instance, profile: profile_name, other: other_name })
        }
        (Suffix::MediaAll, Suffix::MediaNone) | (Suffix::MediaNone, Suffix::MediaAll) => Ok(()),
        (Suffix::MediaAll, _) | (_, Suffix::MediaAll) => {
            Err(LayoutFault::AllMediaTaken { instance, profile: profile_name, other: other_name })
        }
        _ => Ok(()),
    }
}

fn on_grid(sku: &Sku, mig: &Mig, want: Want) -> Result<Free, LayoutFault> {
    let (_, placements) =
        geometry(mig.grid_units, want.profile).ok_or(LayoutFault::PlacementsUnknown {
            product: sku.product,
            profile: want.profile.name,
        })?;
    Ok(Free { profile: want.profile, placements, start: want.start })
}

/// Places for all, or the first instance for which there is none however the others are placed.
fn arrange(grid_units: u32, instances: &[Free]) -> Result<Vec<Placement>, LayoutFault> {
    let mut found = Vec::new();
    for (instance, last) in instances.iter().enumerate() {
        let Some(places) = search(&instances[..=instance]) else {
            let (profile, places) = (last.profile.name, blocked(*last, &found));
            return Err(LayoutFault::NoRoom { instance, profile, grid_units, places });
        };
        found = places;
    }
    Ok(found)
}

fn blocked(instance: Free, others: &[Placement]) -> Vec<Blocked> {
    let taken = |start: u32| {
        let by = others.iter().copied().find(|other| other.overlaps(instance.at(start)))?;
        Some(Blocked { start, by })
    };
    instance.starts().filter_map(taken).collect()
}

/// Places for all instances, in their order; `None` where there are none. Complete: every combination
/// of allowed starts is tried, but for exchanging equals.
fn search(instances: &[Free]) -> Option<Vec<Placement>> {
    // Those with a place of their own first, then the large ones: both have the fewest choices.
    let mut order: Vec<usize> = (0..instances.len()).collect();
    order.sort_by_key(|&index| {
        let instance = &instances[index];
        (
            instance.start.is_none(),
            u32::MAX - instance.placements.size,
            instance.profile.name,
            index,
        )
    });
    let ordered: Vec<Free> = order.iter().map(|&index| instances[index]).collect();
    let mut places = Vec::with_capacity(ordered.len());
    if !descend(&ordered, &mut places) {
        return None;
    }
    let mut found: Vec<(usize, Placement)> = order.into_iter().zip(places).collect();
    found.sort_by_key(|(index, _)| *index);
    Some(found.into_iter().map(|(_, place)| place).collect())
}

fn descend(ordered: &[Free], places: &mut Vec<Placement>) -> bool {
    let index = places.len();
    let Some(instance) = ordered.get(index) else { return true };
    // Of two equals that may be anywhere, the later one stands further right.
    let equal = ordered[..index].last().filter(|before| {
        before.profile == instance.profile && before.start.is_none() && instance.start.is_none()
    });
    let from = equal.and(places.last()).map_or(0, |place| place.start + 1);
    for start in instance.starts().filter(|start| *start >= from) {
        let place = instance.at(start);
        if places.iter().any(|other| other.overlaps(place)) {
            continue;
        }
        places.push(place);
        if descend(ordered, places) {
            return true;
        }
        places.pop();
    }
    false
}
