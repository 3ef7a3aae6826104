//! The functions under the driver's names, with the signatures of nvml.h.

#![expect(
    unsafe_code,
    reason = "a library that C loads has C functions, which write where the caller points"
)]

mod card;
mod mig;
mod system;
mod write;
