//! The functions under the driver's names, with the signatures of nvml.h, and of cuda.h those that a
//! stressor calls.

#![expect(
    unsafe_code,
    reason = "a library that C loads has C functions, which write where the caller points"
)]

mod card;
mod cuda;
mod mig;
mod system;
mod write;
