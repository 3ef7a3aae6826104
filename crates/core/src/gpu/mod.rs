//! The GPU catalogue: which models there are, how MIG divides them, and what each way of sharing a
//! GPU isolates. Facts with their sources; what no source says stays unknown.

mod catalogue;
mod find;
pub mod layout;
mod listed;
pub mod sharing;
mod sku;
pub mod source;
mod version;

pub use catalogue::SKUS;
pub use find::{candidates, find};
pub use layout::{Instance, LayoutFault, maximal_layouts, place};
pub use listed::{Difference, Disagreement, ListedProfile, disagreements};
pub use sku::{
    Architecture, Confidence, Engines, Mig, MigSupport, PciDevice, Placements, Profile, Sku,
    Spelling, Suffix,
};
pub use source::Source;
pub use version::Version;
