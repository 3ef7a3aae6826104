//! What a replica carries: by the evidence where that fits the site, else as declared.

use super::InferencePlan;
use crate::capacity::MeasuredCapacity;
use crate::site::{FigureOrigin, Inference, ReplicaCapacity, Site, WorkloadKind};
use crate::units::RatePerSecond;

/// The site with measured capacities in the place of declared ones, and what is to be said of each
/// workload. `None` where no capacity was searched.
pub(super) fn with_measured(
    site: &Site,
    measured: &[MeasuredCapacity],
) -> Option<(Site, Vec<(String, String)>)> {
    if measured.is_empty() {
        return None;
    }
    let mut changed = site.clone();
    let mut remarks = Vec::new();
    for one in measured {
        let workload = changed.workloads.iter_mut().find(|workload| workload.name == one.workload);
        let Some(workload) = workload else { continue };
        let WorkloadKind::Inference(inference) = &mut workload.kind else { continue };
        let mut say = |remark: String| remarks.push((one.workload.clone(), remark));
        match replica(one, inference) {
            Ok((capacity, remark)) => {
                say(remark);
                inference.capacity = Some(capacity);
            }
            Err(why) => say(why),
        }
        for stale in &one.stale {
            say(format!(
                "the capacity that run {} measured does not count any more: {}",
                stale.run, stale.why
            ));
        }
    }
    Some((changed, remarks))
}

/// The measured capacity of a replica at the lower end of its interval, and the sentence beside it; or
/// why the declared one stands.
fn replica(
    measured: &MeasuredCapacity,
    inference: &Inference,
) -> Result<(ReplicaCapacity, String), String> {
    let declared = inference.capacity.as_ref();
    let stands = match declared {
        Some(_) => "the declared capacity stands",
        None => "no capacity is declared in its place",
    };
    let Some(estimate) = &measured.estimate else {
        return Err(format!("no look of a search for capacity counts: {stands}"));
    };
    let (Some(low), Some(carried)) = (estimate.low, estimate.carried) else {
        return Err(format!(
            "{} looks at rates around {:.2} req/s prove no rate to count on: {stands}",
            estimate.looks, estimate.requests_per_s
        ));
    };
    let Some(gpus) = measured.gpus else {
        return Err(format!(
            "{low:.2} req/s were measured, but nothing says on how many GPUs: declare `allocation: {{ \
             normal: 1 }}` of `{}`, the GPUs of the engine that was tested",
            measured.workload
        ));
    };
    let above = match estimate.high {
        Some(high) => format!("{low:.2} to {high:.2} req/s"),
        None => format!("{low:.2} req/s or more"),
    };
    let beside = match declared.and_then(|capacity| capacity.requests.as_ref()) {
        Some(rate) => format!("; it goes before the declared {:.2} req/s", rate.per_second),
        None if declared.is_some() => "; it goes before what is declared".to_owned(),
        None => String::new(),
    };
    let remark = format!(
        "what one replica carries is measured: {above} ({:.0} %, {} looks in {}), limited by {}; the \
         lower end counts{beside}",
        100.0 * estimate.confidence,
        estimate.looks,
        measured.runs.join(", "),
        estimate.limited_by
    );
    let positive = |value: f64| (value > 0.0).then_some(value);
    let tokens = |value: f64| positive(value).map(|value| RatePerSecond::new(value, "tok"));
    let capacity = ReplicaCapacity {
        gpus,
        origin: FigureOrigin::Measured,
        requests: Some(RatePerSecond::new(low, "req")),
        requests_in_flight: positive(carried.requests_in_flight),
        // No engine tells how many tokens its cache holds: what is declared of it may still bind.
        kv_tokens: declared.and_then(|capacity| capacity.kv_tokens),
        prefill: tokens(carried.prefill_tokens_per_s),
        output: tokens(carried.output_tokens_per_s),
    };
    Ok((capacity, remark))
}

/// Puts the remarks beside the reserves that they are about; what is about none is given back.
pub(super) fn tell(reserves: &mut [InferencePlan], remarks: Vec<(String, String)>) -> Vec<String> {
    let mut left = Vec::new();
    for (workload, remark) in remarks.into_iter().rev() {
        match reserves.iter_mut().find(|plan| plan.workload == workload) {
            Some(plan) => plan.remarks.insert(0, remark),
            None => left.insert(0, format!("{workload}: {remark}")),
        }
    }
    left
}
