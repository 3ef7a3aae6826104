//! What a card says of itself (`nvidia-smi mig -lgip`, `-lgipp`) beside the catalogue.
//!
//! The card is right: the catalogue plans and cross-checks. A disagreement is no error by itself,
//! since names and memory vary with the driver, but whoever plans must know of it.

use std::fmt;

use super::{Engines, Placements, Profile, Sku};

/// A profile as a card lists it. What a listing does not print is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedProfile {
    /// The number of the GPU.
    pub gpu: u32,
    /// The name without the word `MIG`.
    pub name: Option<String>,
    /// The id of the profile.
    pub id: u32,
    /// Instances that can still be created.
    pub instances_free: Option<u32>,
    /// Instances on an empty card.
    pub instances_max: Option<u32>,
    /// Memory as printed, GiB.
    pub memory_gib: Option<f64>,
    /// Whether P2P is possible.
    pub peer_to_peer: Option<bool>,
    /// SMs.
    pub sms: Option<u32>,
    /// Engines beside the SMs.
    pub engines: Option<Engines>,
    /// Where instances may begin, ascending, and the units that one takes.
    pub placements: Option<(Vec<u32>, u32)>,
}

/// One value in which a card and the catalogue differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Disagreement {
    /// The id of the profile.
    pub id: u32,
    /// The profile's name, in the catalogue or else in the listing.
    pub profile: String,
    /// In what they differ.
    pub difference: Difference,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (id {}): {}", self.profile, self.id, self.difference)
    }
}

/// In what a card and the catalogue differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The catalogue has no profile with this id.
    NotInCatalogue,
    /// The card does not list a profile of the catalogue. Older drivers know fewer.
    NotListed,
    /// A value is another one.
    Value {
        /// What it is: `memory, GiB`.
        what: &'static str,
        /// What the card says.
        listed: String,
        /// What the catalogue says.
        catalogue: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInCatalogue => write!(f, "the card lists it, the catalogue does not"),
            Self::NotListed => write!(f, "the catalogue has it, the card does not list it"),
            Self::Value { what, listed, catalogue } => {
                write!(f, "{what}: the card says {listed}, the catalogue {catalogue}")
            }
        }
    }
}

/// Everything in which a listing of one card differs from the catalogue, in the order of the listing,
/// then of the catalogue. What either does not say is no difference.
pub fn disagreements(sku: &Sku, listed: &[ListedProfile]) -> Vec<Disagreement> {
    let profiles = sku.mig().map_or(&[][..], |mig| mig.profiles);
    let mut found = Vec::new();
    for row in listed {
        match profiles.iter().find(|profile| is_meant(profile, row)) {
            Some(profile) => compare(profile, row, &mut found),
            None => found.push(Disagreement {
                id: row.id,
                profile: row.name.clone().unwrap_or_default(),
                difference: Difference::NotInCatalogue,
            }),
        }
    }
    for profile in profiles {
        let Some(id) = profile.id else { continue };
        if !listed.is_empty() && !listed.iter().any(|row| is_meant(profile, row)) {
            let difference = Difference::NotListed;
            found.push(Disagreement { id, profile: profile.name.to_owned(), difference });
        }
    }
    found
}

/// The id decides; the name does where the catalogue has no id.
fn is_meant(profile: &Profile, row: &ListedProfile) -> bool {
    match profile.id {
        Some(id) => id == row.id,
        None => row.name.as_deref() == Some(profile.name),
    }
}

fn compare(profile: &Profile, row: &ListedProfile, found: &mut Vec<Disagreement>) {
    let mut differ = |what: &'static str, listed: Option<String>, catalogue: Option<String>| {
        if let (Some(listed), Some(catalogue)) = (listed, catalogue)
            && listed != catalogue
        {
            let difference = Difference::Value { what, listed, catalogue };
            found.push(Disagreement { id: row.id, profile: profile.name.to_owned(), difference });
        }
    };
    let number = |value: u32| value.to_string();
    let gib = |value: f64| format!("{value:.2}");
    let yes_or_no = |value: bool| if value { "yes" } else { "no" }.to_owned();
    differ("name", row.name.clone(), Some(profile.name.to_owned()));
    differ("instances", row.instances_max.map(number), Some(number(profile.instances_max)));
    differ("memory, GiB", row.memory_gib.map(gib), profile.memory_gib.map(gib));
    differ("P2P", row.peer_to_peer.map(yes_or_no), profile.peer_to_peer.map(yes_or_no));
    differ("SMs", row.sms.map(number), profile.sms.map(number));
    for (what, of) in ENGINES {
        let listed = row.engines.as_ref().map(of).map(number);
        differ(what, listed, Some(number(of(&profile.engines))));
    }
    let starts = |starts: &[u32], size: u32| format!("{starts:?}:{size}");
    let listed = row.placements.as_ref().map(|(at, size)| starts(at, *size));
    let known = profile.placements.map(|Placements { starts: at, size }| starts(at, size));
    differ("placements", listed, known);
}

type EngineCount = fn(&Engines) -> u32;

const ENGINES: [(&str, EngineCount); 5] = [
    ("copy engines", |engines| engines.copy),
    ("video decoders", |engines| engines.decoders),
    ("video encoders", |engines| engines.encoders),
    ("JPEG decoders", |engines| engines.jpeg),
    ("optical flow accelerators", |engines| engines.optical_flow),
];
