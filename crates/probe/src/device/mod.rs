//! What devices say of themselves.

pub mod dcgm;
pub mod mig_listing;
pub mod smi;
