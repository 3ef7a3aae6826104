//! Why a layout is not possible, or not known to be.

use thiserror::Error;

use super::Placement;

/// Why some instances cannot stand together on one card. Instances are counted from 0 in the order
/// in which they were asked for; the messages count from 1.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LayoutFault {
    /// The card has no MIG.
    #[error("{product} has no MIG")]
    NoMig {
        /// The card.
        product: &'static str,
    },
    /// No source lists the card's profiles.
    #[error("the MIG profiles of {product} are not known; read `nvidia-smi mig -lgip` on the card")]
    ProfilesUnknown {
        /// The card.
        product: &'static str,
    },
    /// The card has no such profile.
    #[error("instance {}: {product} has no profile {profile}; it has {}", .instance + 1, .known.join(", "))]
    UnknownProfile {
        /// Which instance.
        instance: usize,
        /// The name as it was written.
        profile: String,
        /// The card.
        product: &'static str,
        /// The profiles that it has.
        known: Vec<&'static str>,
    },
    /// An instance was to begin where its profile cannot.
    #[error("instance {}: {profile} cannot begin at {start}, only at {}", .instance + 1, list(.starts))]
    NotAStart {
        /// Which instance.
        instance: usize,
        /// Its profile.
        profile: &'static str,
        /// Where it was to begin.
        start: u32,
        /// Where it can begin.
        starts: Vec<u32>,
    },
    /// More instances of one profile than a card holds.
    #[error("instance {}: a card holds {most} of {profile} at most", .instance + 1)]
    TooManyOfProfile {
        /// The first that is too many.
        instance: usize,
        /// Its profile.
        profile: &'static str,
        /// How many a card holds.
        most: u32,
    },
    /// More instances than a card holds.
    #[error("instance {}: a card holds {most} instances at most", .instance + 1)]
    TooManyInstances {
        /// The first that is too many.
        instance: usize,
        /// How many a card holds.
        most: u32,
    },
    /// More compute slices than the card has.
    #[error("instance {}: {profile} makes {needed} compute slices of {available}", .instance + 1)]
    TooManySlices {
        /// The first that is too many.
        instance: usize,
        /// Its profile.
        profile: &'static str,
        /// Slices up to and with it.
        needed: u32,
        /// Slices of the card.
        available: u32,
    },
    /// A second instance with media extensions.
    #[error("instance {}: {profile} beside {other}, but a card has one instance with +me", .instance + 1)]
    SecondMedia {
        /// Which instance.
        instance: usize,
        /// Its profile.
        profile: &'static str,
        /// The one that has them already.
        other: &'static str,
    },
    /// Something with media engines beside an instance that owns all of them.
    #[error("instance {}: {profile} beside {other}, but only -me instances may stand beside +me.all", .instance + 1)]
    AllMediaTaken {
        /// Which instance.
        instance: usize,
        /// Its profile.
        profile: &'static str,
        /// The other one.
        other: &'static str,
    },
    /// No place on the grid.
    #[error("instance {}: {profile} does not fit on the {grid_units} units of the grid: {}", .instance + 1, blocked(.places))]
    NoRoom {
        /// The first instance for which there is none, however those before it are placed.
        instance: usize,
        /// Its profile.
        profile: &'static str,
        /// The grid.
        grid_units: u32,
        /// Where it could begin and what stands there, in one arrangement of the others.
        places: Vec<Blocked>,
    },
    /// No place on the grid as it is now, though all would fit if they were made anew.
    #[error("instance {}: {profile} does not fit beside what is there: {}; made anew in another order, all would fit", .instance + 1, blocked(.places))]
    Fragmented {
        /// Which instance.
        instance: usize,
        /// Its profile.
        profile: &'static str,
        /// Where it could begin and what stands there.
        places: Vec<Blocked>,
    },
    /// The profile's placements have no source.
    #[error(
        "where {profile} may be placed on {product} is not known; read `nvidia-smi mig -lgipp` on the card"
    )]
    PlacementsUnknown {
        /// The card.
        product: &'static str,
        /// The profile.
        profile: &'static str,
    },
}

impl LayoutFault {
    /// Whether the fault is a want of knowledge, so that the layout may fit all the same.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::ProfilesUnknown { .. } | Self::PlacementsUnknown { .. })
    }
}

/// A place that is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocked {
    /// Where the instance would begin.
    pub start: u32,
    /// The first instance that stands in the way.
    pub by: Placement,
}

fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

fn blocked(places: &[Blocked]) -> String {
    let places: Vec<String> = places
        .iter()
        .map(|place| {
            let Placement { profile, start, size } = place.by;
            let end = start + size - 1;
            let units = if size == 1 { format!("{start}") } else { format!("{start}–{end}") };
            format!("at {} stands {} ({units})", place.start, profile.name)
        })
        .collect();
    places.join(", ")
}
