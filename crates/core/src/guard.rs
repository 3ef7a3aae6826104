//! The guard of a production endpoint: from what its users feel now to whether the neighbour must go.
//!
//! It looks at a short window of requests, those included that have no answer yet and are late already:
//! an engine that stands still finishes none. It trips on few requests, because its errors are not
//! alike: a neighbour stopped for nothing costs a test, one that goes on costs users.

use std::time::Duration;

use crate::site::Guard;

/// Window where the site names none.
pub const GUARD_WINDOW_DEFAULT: Duration = Duration::from_secs(10);
/// Fewest requests beyond a bound that trip the guard: a single one is no state of the engine.
pub const GUARD_REQUESTS_MIN: usize = 3;
/// Share of a window that may lie beyond a bound of a 95th percentile.
const MISSES_ALLOWED: f64 = 0.05;

/// One request as the client sees it now. Durations in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveRequest {
    /// Since when it should have been on its way.
    pub age_s: f64,
    /// When it ended, counted back from now; `None` while it is open.
    pub ended_ago_s: Option<f64>,
    /// Time to first token, where one has come.
    pub ttft_s: Option<f64>,
    /// Whole time, where it has ended whole.
    pub e2e_s: Option<f64>,
    /// Whether it ended without its whole answer.
    pub failed: bool,
    /// Longest gap between two tokens of it.
    pub gap_longest_s: Option<f64>,
}

/// What tripped the guard.
#[derive(Clone, Debug, PartialEq)]
pub struct Trip {
    /// The bound, as it stands in the site file.
    pub objective: &'static str,
    /// The bound, in seconds or as a share.
    pub bound: f64,
    /// What was seen over the window.
    pub seen: f64,
}

/// Whether a bound is broken now; the first one in the order of the fields.
///
/// A latency bound is broken where, of the requests that ended within the window or are open, the
/// ⌈95 %⌉-th value lies beyond it and at least three do. An open request without a first token counts
/// with its age so far, once that is beyond the bound. A failed one lies beyond every bound. Of the gaps
/// between tokens the longest of each request counts.
pub fn tripped(guard: &Guard, requests: &[LiveRequest]) -> Option<Trip> {
    let window_s = guard.window.unwrap_or(GUARD_WINDOW_DEFAULT).as_secs_f64();
    let recent: Vec<&LiveRequest> = requests
        .iter()
        .filter(|request| request.ended_ago_s.is_none_or(|ago| ago <= window_s))
        .collect();
    let latency = |objective, bound: Option<Duration>, value: fn(&LiveRequest) -> Option<f64>| {
        let bound = bound?.as_secs_f64();
        let values: Vec<f64> = recent
            .iter()
            .filter_map(|request| {
                if request.failed {
                    return Some(f64::INFINITY);
                }
                // What is open and not late yet says nothing.
                value(request)
                    .or(Some(request.age_s)
                        .filter(|age| request.ended_ago_s.is_none() && *age > bound))
            })
            .collect();
        beyond(&values, bound).map(|seen| Trip { objective, bound, seen })
    };
    latency("ttft_p95", guard.ttft_p95, |request| request.ttft_s)
        .or_else(|| latency("e2e_p95", guard.e2e_p95, |request| request.e2e_s))
        .or_else(|| {
            let bound = guard.longest_gap_p95?.as_secs_f64();
            let values: Vec<f64> =
                recent.iter().filter_map(|request| request.gap_longest_s).collect();
            beyond(&values, bound).map(|seen| Trip { objective: "longest_gap_p95", bound, seen })
        })
        .or_else(|| {
            let bound = guard.error_rate?.value();
            let ended = recent.iter().filter(|request| request.ended_ago_s.is_some());
            let (failed, all) =
                ended.fold((0, 0), |(failed, all), r| (failed + usize::from(r.failed), all + 1));
            let share = failed as f64 / f64::from(all.max(1));
            (failed >= GUARD_REQUESTS_MIN && share > bound).then_some(Trip {
                objective: "error_rate",
                bound,
                seen: share,
            })
        })
}

/// The 95th percentile of a window, where it lies beyond a bound and three values do.
fn beyond(values: &[f64], bound: f64) -> Option<f64> {
    let late = values.iter().filter(|value| **value > bound).count();
    let too_many = late as f64 > MISSES_ALLOWED * values.len() as f64;
    if late < GUARD_REQUESTS_MIN || !too_many {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = crate::stats::quantile_rank(1.0 - MISSES_ALLOWED, sorted.len());
    // A window so small that its rank is not late yet is told by what is.
    Some(sorted[rank - 1]).filter(|seen| *seen > bound).or_else(|| sorted.last().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Share;

    fn guard() -> Guard {
        Guard {
            ttft_p95: Some(Duration::from_secs(3)),
            e2e_p95: None,
            longest_gap_p95: Some(Duration::from_secs(1)),
            error_rate: Share::new(0.05),
            window: Some(Duration::from_secs(5)),
        }
    }

    fn answered(ttft_s: f64, ago_s: f64) -> LiveRequest {
        LiveRequest {
            age_s: ttft_s + ago_s + 1.0,
            ended_ago_s: Some(ago_s),
            ttft_s: Some(ttft_s),
            e2e_s: Some(ttft_s + 1.0),
            failed: false,
            gap_longest_s: Some(0.1),
        }
    }

    fn open(age_s: f64) -> LiveRequest {
        LiveRequest {
            age_s,
            ended_ago_s: None,
            ttft_s: None,
            e2e_s: None,
            failed: false,
            gap_longest_s: None,
        }
    }

    #[test]
    fn quick_answers_and_a_single_slow_one_do_not_trip() {
        let mut requests = vec![answered(0.2, 1.0); 20];
        assert_eq!(tripped(&guard(), &requests), None);
        requests.push(answered(9.0, 1.0));
        requests.push(answered(9.0, 1.0));
        assert_eq!(tripped(&guard(), &requests), None, "two of 22");
        requests.push(answered(9.0, 1.0));
        let trip = tripped(&guard(), &requests).unwrap();
        assert_eq!((trip.objective, trip.bound, trip.seen), ("ttft_p95", 3.0, 9.0));
        // One in a hundred is what a p95 allows, however many there are.
        let mut many = vec![answered(0.2, 1.0); 400];
        many.extend(vec![answered(9.0, 1.0); 4]);
        assert_eq!(tripped(&guard(), &many), None);
    }

    #[test]
    fn an_engine_that_stands_still_trips_by_requests_that_have_no_answer() {
        let still: Vec<LiveRequest> = (0..8).map(|at| open(0.5 * f64::from(at))).collect();
        assert_eq!(tripped(&guard(), &still), None, "two are older than 3 s at most");
        let later: Vec<LiveRequest> = (0..8).map(|at| open(2.0 + 0.5 * f64::from(at))).collect();
        let trip = tripped(&guard(), &later).unwrap();
        assert_eq!(trip.objective, "ttft_p95");
        assert!(trip.seen >= 5.0, "{trip:?}");
    }

    #[test]
    fn what_lies_before_the_window_is_over() {
        let mut requests = vec![answered(9.0, 6.0); 10];
        requests.extend(vec![answered(0.2, 1.0); 3]);
        assert_eq!(tripped(&guard(), &requests), None);
    }

    #[test]
    fn errors_and_gaps_trip_by_their_own_names() {
        let failed = LiveRequest { failed: true, ttft_s: None, e2e_s: None, ..answered(0.1, 1.0) };
        let mut only_errors = guard();
        only_errors.ttft_p95 = None;
        let mut requests = vec![answered(0.2, 1.0); 10];
        requests.extend(vec![failed; 3]);
        let trip = tripped(&only_errors, &requests).unwrap();
        assert_eq!(trip.objective, "error_rate");
        assert!((trip.seen - 3.0 / 13.0).abs() < 1e-12);
        // Under a bound of latency a failure is later than any.
        assert_eq!(tripped(&guard(), &requests).unwrap().objective, "ttft_p95");
        let stalled = LiveRequest { gap_longest_s: Some(2.0), ..answered(0.2, 1.0) };
        assert_eq!(tripped(&guard(), &[stalled; 4]).unwrap().objective, "longest_gap_p95");
    }
}
