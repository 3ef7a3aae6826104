//! When inference is well again after a burst, on requests whose lateness is known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::time::Duration;

use cotenant_core::burst::{REQUESTS_IN_A_ROW, Recovery, bounds, inference_recovery, is_late};
use cotenant_core::evidence::{Outcome, RequestRecord, TokenSource};
use cotenant_core::site::{Guard, InferenceObjectives};
use cotenant_core::units::Share;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn limits() -> Guard {
    Guard { ttft_p95: Some(Duration::from_secs(1)), ..Guard::default() }
}

/// One request each second; the numbers of those that take two seconds to their first token.
fn requests(count: u32, late: &[u32]) -> Vec<RequestRecord> {
    (0..count).map(|index| request(index, if late.contains(&index) { 2.0 } else { 0.5 })).collect()
}

fn request(index: u32, ttft_s: f64) -> RequestRecord {
    let intended_ns = u64::from(index) * SECOND;
    let first_ns = intended_ns + (ttft_s * 1e9) as u64;
    RequestRecord {
        index,
        class: 0,
        intended_ns,
        sent_ns: Some(intended_ns),
        first_token_ns: Some(first_ns),
        first_visible_ns: None,
        last_token_ns: Some(first_ns),
        end_ns: first_ns + 1,
        prompt_tokens: 8,
        output_tokens: 2,
        token_source: TokenSource::Usage,
        gap_longest_ns: None,
        stalls: 0,
        stalled_ns: 0,
        outcome: Outcome::Completed,
    }
}

fn recovery(count: u32, late: &[u32]) -> Recovery {
    inference_recovery(&limits(), &requests(count, late), 10 * SECOND)
}

#[test]
fn inference_is_back_behind_the_last_late_request_of_the_last_bad_row() {
    // Late from 12 to 30 without a break: well from 31 on.
    let late: Vec<u32> = (12..=30).collect();
    assert_eq!(recovery(80, &late), Recovery::At(31 * SECOND));
    // Two further late ones far behind are no row that is not well.
    let mut twice = late.clone();
    twice.extend([55, 58]);
    assert_eq!(recovery(90, &twice), Recovery::At(31 * SECOND));
    // A third one makes it one: well only behind it.
    twice.push(61);
    assert_eq!(recovery(90, &twice), Recovery::At(62 * SECOND));
    // Fewer than a row follow: nobody saw that it lasted.
    assert_eq!(recovery(62 + REQUESTS_IN_A_ROW as u32 - 1, &twice), Recovery::NotSeen);
    assert_eq!(recovery(62 + REQUESTS_IN_A_ROW as u32, &twice), Recovery::At(62 * SECOND));
}

#[test]
fn what_was_late_before_the_burst_says_nothing_of_it() {
    let late: Vec<u32> = (0..10).collect();
    assert_eq!(recovery(80, &late), Recovery::NeverLeft);
    assert_eq!(recovery(80, &[20, 40]), Recovery::NeverLeft);
    // Too few requests to be sure of anything.
    assert_eq!(recovery(20, &[]), Recovery::NotSeen);
    assert_eq!(recovery(5, &[]), Recovery::NotSeen);
}

#[test]
fn the_guard_of_the_site_comes_before_its_objectives_and_a_median_is_no_bound() {
    let none = InferenceObjectives::default();
    assert_eq!(bounds(None, &none), None);
    let objectives = InferenceObjectives {
        ttft_p95: Some(Duration::from_secs(1)),
        ttft_p99: Some(Duration::from_secs(3)),
        e2e_p95: Some(Duration::from_secs(9)),
        error_rate: Share::new(0.01),
        ..InferenceObjectives::default()
    };
    let found = bounds(Some(&Guard::default()), &objectives).unwrap();
    assert_eq!(found.ttft_p95, Some(Duration::from_secs(1)), "the tightest tail");
    assert_eq!(found.e2e_p95, Some(Duration::from_secs(9)));
    assert_eq!(found.error_rate, Share::new(0.01));
    let guard = Guard { e2e_p95: Some(Duration::from_secs(20)), ..Guard::default() };
    assert_eq!(bounds(Some(&guard), &objectives), Some(guard));
}

#[test]
fn a_failed_request_breaks_every_bound() {
    let mut failed = request(3, 0.1);
    failed.outcome = Outcome::Reset;
    assert!(is_late(&limits(), &failed));
    assert!(is_late(&Guard { error_rate: Share::new(0.5), ..Guard::default() }, &failed));
    assert!(!is_late(&limits(), &request(3, 0.99)) && is_late(&limits(), &request(3, 1.01)));
}

proptest! {
    #[test]
    fn from_a_recovery_on_no_row_has_three_late(
        late in prop::collection::btree_set(10_u32..90, 0..30),
        count in 30_u32..120,
    ) {
        let late: Vec<u32> = late.into_iter().filter(|at| *at < count).collect();
        let from = match recovery(count, &late) {
            Recovery::At(at_ns) => (at_ns / SECOND) as u32,
            Recovery::NeverLeft => 10,
            Recovery::NotSeen => return Ok(()),
        };
        prop_assert!(count - from >= REQUESTS_IN_A_ROW as u32);
        for first in from..count {
            let row = first..first + REQUESTS_IN_A_ROW as u32;
            let late = late.iter().filter(|at| row.contains(at)).count();
            prop_assert!(late < 3, "{late} of the row from {first} on");
        }
        if from > 10 {
            prop_assert!(late.contains(&(from - 1)), "it is the earliest such moment");
        }
    }
}
