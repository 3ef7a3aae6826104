//! The catalogue: every GPU model that is known, one file for each generation.

mod ampere;
mod blackwell;
mod blackwell_rtx;
mod hopper;
mod hopper_large;
mod shape;
mod skus;
mod unlisted;
mod without_mig;

pub use skus::SKUS;
pub(super) use without_mig::GEFORCE;
