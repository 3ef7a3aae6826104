//! The cheap no: what arithmetic alone refuses, before anything is measured.
//!
//! Amounts are ranges. A check FAILS where even the least does not fit, HOLDS where the most does,
//! and is OPEN between, with the lines of the site file that would decide it. So a figure that grows
//! never turns a no into a yes, and a file that is silent is never given a value that is not printed.

mod all;
mod amount;
mod arguments;
mod availability;
mod booked;
mod capacity;
mod changes;
mod cpu;
mod deadline;
mod draft;
mod fault_domain;
mod gpu_memory;
mod host_memory;
mod job;
mod memory_fraction;
mod need;
mod notice;
mod partition;
mod placement;
mod ranks;

pub use all::checks;
pub use cpu::declared_threads;
