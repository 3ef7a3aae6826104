//! The burst test: load rises far above the declared rate, the neighbour has to yield, and both come
//! back. What is looked at, from the records of one block.
//!
//! A request is late where it breaks a bound of the objectives' tail, or fails. Inference is well where
//! of twenty requests in a row fewer than three are late: so few are what a p95 allows by chance, and the
//! guard would not act on them either.

use crate::evidence::RequestRecord;
use crate::guard::GUARD_REQUESTS_MIN;
use crate::site::{Guard, InferenceObjectives, LatencyMetric};

/// How far the load rises where no peak is declared, as a multiple of the declared rate.
pub const FACTOR_DEFAULT: f64 = 3.0;
/// Requests in a row that are looked at together.
pub const REQUESTS_IN_A_ROW: usize = 20;
/// The lowest quantile whose objective bounds the tail: a median says nothing of late requests.
const TAIL_QUANTILE_MIN: f64 = 0.9;

/// What decides that inference is late: the guard of the site, else the objectives. `None` where
/// neither bounds a time or the errors.
pub fn bounds(guard: Option<&Guard>, objectives: &InferenceObjectives) -> Option<Guard> {
    let something = Guard::bounds_something;
    let declared = guard.filter(|guard| something(guard)).cloned();
    declared.or_else(|| Some(of_objectives(objectives)).filter(something))
}

/// The objectives as bounds. Of several quantiles of one metric the tightest tail counts.
fn of_objectives(objectives: &InferenceObjectives) -> Guard {
    let tail = |metric: LatencyMetric| {
        let all = objectives.latency();
        let of_metric =
            all.into_iter().filter(|one| one.metric == metric && one.quantile >= TAIL_QUANTILE_MIN);
        of_metric.map(|one| one.target).min()
    };
    Guard {
        ttft_p95: tail(LatencyMetric::Ttft),
        e2e_p95: tail(LatencyMetric::E2e),
        longest_gap_p95: None,
        error_rate: objectives.error_rate,
        window: None,
    }
}

/// Whether a request breaks a bound. One that failed breaks every bound.
pub fn is_late(bounds: &Guard, request: &RequestRecord) -> bool {
    let beyond = |bound: Option<std::time::Duration>, seen_s: f64| {
        bound.is_some_and(|bound| seen_s > bound.as_secs_f64())
    };
    let gap_s = request.gap_longest_ns.map_or(0.0, |gap_ns| gap_ns as f64 / 1e9);
    !request.outcome.is_complete()
        || beyond(bounds.ttft_p95, request.ttft_s())
        || beyond(bounds.e2e_p95, request.e2e_s())
        || beyond(bounds.longest_gap_p95, gap_s)
}

/// Whether and when inference was well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It was well all the time.
    NeverLeft,
    /// Requests from this moment on were served within the bounds, nanoseconds from the block's start.
    At(u64),
    /// Not before the load ended, or too few requests came after it to say so.
    NotSeen,
}

/// When inference was well again after a burst that began at `began_ns`.
///
/// It is the moment at which the first request was due behind the last late one of the last row of
/// [`REQUESTS_IN_A_ROW`] that was not well. As many must follow it, or nobody saw that it lasted.
pub fn inference_recovery(bounds: &Guard, requests: &[RequestRecord], began_ns: u64) -> Recovery {
    let mut due: Vec<(u64, bool)> = requests
        .iter()
        .filter(|request| request.intended_ns >= began_ns)
        .map(|request| (request.intended_ns, is_late(bounds, request)))
        .collect();
    due.sort_unstable_by_key(|(intended_ns, _)| *intended_ns);
    let last_bad = (0..due.len()).rev().find_map(|first| {
        let row = &due[first..due.len().min(first + REQUESTS_IN_A_ROW)];
        let late = row.iter().filter(|(_, late)| *late).count();
        let last = row.iter().rposition(|(_, late)| *late)?;
        (late >= GUARD_REQUESTS_MIN).then_some(first + last)
    });
    let well_from = last_bad.map_or(0, |last| last + 1);
    match due.get(well_from) {
        Some(_) if due.len() - well_from < REQUESTS_IN_A_ROW => Recovery::NotSeen,
        Some(_) if last_bad.is_none() => Recovery::NeverLeft,
        Some((intended_ns, _)) => Recovery::At(*intended_ns),
        None => Recovery::NotSeen,
    }
}

/// How far the load rises: to the declared peak, where that is above the tested rate.
///
/// ```
/// use cotenant_core::burst::factor;
/// assert_eq!(factor(Some(30.0), 12.0), 2.5);
/// // A peak that is not above the declared rate is no burst.
/// assert_eq!(factor(Some(12.0), 12.0), 3.0);
/// assert_eq!(factor(None, 12.0), 3.0);
/// ```
pub fn factor(peak_per_s: Option<f64>, declared_per_s: f64) -> f64 {
    peak_per_s
        .map(|peak_per_s| peak_per_s / declared_per_s)
        .filter(|factor| factor.is_finite() && *factor > 1.05)
        .unwrap_or(FACTOR_DEFAULT)
}
