//! The reserve of an inference workload: how many GPUs it holds at any moment of a window, how many
//! more must stay free because a burst may need them before lent ones can be taken back, and how
//! many beyond those its peak may need and a reclaim can still deliver in time.
//!
//! For each slot of the week, over all start points t that the history shows there:
//! - level = Q₁₋ε of D(t);
//! - burst R = Q₁₋ε of (the highest D in [t, t + τ]) − D(t), with τ the time to reclaim;
//! - peak = Q₁₋ε of the highest D of one passing of the slot.
//!
//! `reserved` are the GPUs of the level, `hot` those of level + R (and never less than Q₁₋ε of the
//! highest D in [t, t + τ]) beside them, `lent` those of the peak beyond both. D is demand in every
//! unit that the history shows and a replica states a figure for, and the worst of them together.
//!
//! Start points of one day are not independent, so the day is what counts for what a history can
//! support: the quantile is the hierarchical conformal one (Dunn, Wasserman & Ramdas, JASA 2023; Lee,
//! Barber & Willett 2023), in which each of n days weighs 1/(n + 1) and the day that was not seen
//! the rest. It exists up to 1 − ε = n/(n + 1): 28 days support at most 96.6 %.

mod answer;
mod demand;
mod gpus;
mod inside;
mod occurrences;
mod pools;
mod quantile;
mod question;
mod remarks;
mod slot;
mod tail;
mod windows;

pub(in crate::plan) use gpus::figure_of;
pub use gpus::gpus_for;
pub use question::{ReserveQuestion, ReserveRefusal, missing_for_reserve};
pub use windows::plan_reserve;
