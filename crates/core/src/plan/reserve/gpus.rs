//! From demand to GPUs of whole replicas.

use crate::demand::WorkUnit;
use crate::site::ReplicaCapacity;

/// What one replica carries in a unit; `None` where the site does not say, or says nothing that can
/// carry demand. Of GPUs it carries those that it has.
pub(in crate::plan) fn figure_of(capacity: &ReplicaCapacity, unit: WorkUnit) -> Option<f64> {
    let figure = match unit {
        WorkUnit::Requests => capacity.requests.as_ref()?.per_second,
        WorkUnit::RequestsInFlight => capacity.requests_in_flight?,
        WorkUnit::KvTokens => capacity.kv_tokens?,
        WorkUnit::Prefill => capacity.prefill.as_ref()?.per_second,
        WorkUnit::Output => capacity.output.as_ref()?.per_second,
        WorkUnit::Gpus => capacity.gpus,
    };
    (figure.is_finite() && figure > 0.0).then_some(figure)
}

/// Whole GPUs of the whole replicas that carry a demand of `value` in a unit. `None` where the
/// capacity states no figure for the unit. Two replicas of half a GPU each share one.
pub fn gpus_for(capacity: &ReplicaCapacity, unit: WorkUnit, value: f64) -> Option<u32> {
    // A quotient of two decimals can land just above the whole number that it is.
    const SLACK: f64 = 1e-9;
    let figure = figure_of(capacity, unit)?;
    let replicas = (value.max(0.0) / figure - SLACK).ceil().max(0.0);
    // Casting caps what no place has.
    Some((replicas * capacity.gpus - SLACK).ceil().max(0.0) as u32)
}

/// Whole GPUs of a number that a site may state as a fraction.
pub(super) fn whole(gpus: f64) -> u32 {
    (gpus.max(0.0) - 1e-9).ceil().max(0.0) as u32
}
