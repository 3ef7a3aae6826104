//! What devices say of themselves.

pub mod mig_listing;
pub mod smi;
