//! The cheap no: what arithmetic alone refuses, before anything is measured.
//!
//! Amounts are ranges. A check FAILS where even the least does not fit, HOLDS where the most does,
//! and is OPEN between, with the lines of the site file that would decide it. So a figure that grows
//! never turns a no into a yes, and a file that is silent is never given a value that is not printed.

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

use super::model::Check;
use crate::site::Site;

/// Every cheap check that a site's declarations allow, in the order in which a reader asks: memory of
/// GPUs, of the host, CPU, then time, faults and operations. A check that nothing in the file is
/// about is absent.
pub fn checks(site: &Site) -> Vec<Check> {
    [
        gpu_memory::checks(site),
        memory_fraction::checks(site),
        ranks::checks(site),
        partition::checks(site),
        booked::checks(site),
        host_memory::checks(site),
        cpu::checks(site),
        deadline::checks(site),
        notice::checks(site),
        fault_domain::checks(site),
        changes::checks(site),
        availability::checks(site),
    ]
    .concat()
}
