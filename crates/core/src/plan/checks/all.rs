//! Every cheap check, in the order in which a reader asks.

use super::{
    availability, booked, changes, cpu, deadline, fault_domain, gpu_memory, host_memory,
    memory_fraction, notice, partition, ranks,
};
use crate::plan::model::Check;
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
