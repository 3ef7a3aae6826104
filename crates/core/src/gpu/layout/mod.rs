//! Whether MIG instances fit on a card, by searching for places on its memory grid.
//!
//! Counting slices is not enough: three `3g` have nine of seven slices, but `3g` and `1g.20gb` and
//! `2g` are decided by where each may begin. The search is complete: where it finds no places there
//! are none. Where a card's placements have no source the answer is «unknown» and never «fits».

mod fault;
mod instance;
mod maximal;
mod place;
mod room;

pub use fault::{Blocked, LayoutFault};
pub use instance::{Instance, Placement, confidence};
pub use maximal::{maximal_layouts, maximal_layouts_of, plain_profiles};
pub use place::{place, place_instances};
pub use room::{CreationOrder, creation_order, room};
