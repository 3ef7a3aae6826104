//! Folds what a reader hands over into a history, in bounded memory.

use std::time::Duration;

use jiff::Timestamp;

use super::events;
use super::history::History;
use super::intervals;
use super::refusal::DemandRefusal;
use super::source::{Arrival, ArrivalOutcome, Interval};
use super::steps::{Stay, Steps};
use super::tokens::TokenCounter;

/// Takes requests one by one, or means over intervals, and makes a [`History`] of them.
///
/// Single requests cost no memory of their own: they are counted in at most [`super::STEPS_MAX`]
/// steps, of a second as long as that suffices, of two, four, … seconds beyond. Their order does not
/// matter. Intervals are kept, up to the same number.
#[derive(Clone, Debug)]
pub struct HistoryBuilder {
    pub(super) service: Option<Duration>,
    pub(super) steps: Steps,
    /// The first and the last arrival, ms since 1970.
    pub(super) arrived: Option<(i64, i64)>,
    pub(super) totals: Totals,
    pub(super) prompts: TokenCounter,
    pub(super) outputs: TokenCounter,
    pub(super) intervals: Vec<(usize, Interval)>,
    /// Whether a rate of zero is a statement, and not something that was seen.
    pub(super) is_declared: bool,
    rows: usize,
    fault: Option<DemandRefusal>,
}

/// Counts over all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) requests: u64,
    pub(super) refused: u64,
    pub(super) timed_out: u64,
    /// Requests that stated their own time in the engine, and the sum of these times.
    pub(super) with_service: u64,
    pub(super) service_ms: u128,
}

impl HistoryBuilder {
    /// A builder. `service` is the mean time that a request stays in the engine, for requests that
    /// do not state their own; without either, requests in flight and KV tokens stay unknown.
    pub fn new(service: Option<Duration>) -> Self {
        Self {
            service: service.filter(|service| !service.is_zero()),
            steps: Steps::default(),
            arrived: None,
            totals: Totals::default(),
            prompts: TokenCounter::new(),
            outputs: TokenCounter::new(),
            intervals: Vec::new(),
            is_declared: false,
            rows: 0,
            fault: None,
        }
    }

    /// Counts a request. The order of requests does not matter, and none is dropped.
    ///
    /// A refused request has no stay that says anything about demand, so it gets the mean one; it
    /// and one that was given up get the mean tokens of those that were served where they state
    /// none.
    pub fn arrival(&mut self, arrival: &Arrival) {
        let at_ms = arrival.at.as_millisecond();
        let (first, last) = self.arrived.unwrap_or((at_ms, at_ms));
        self.arrived = Some((first.min(at_ms), last.max(at_ms)));
        self.totals.requests += 1;
        let length_ms = match arrival.outcome {
            ArrivalOutcome::Served => {
                self.prompts.add(arrival.prompt_tokens);
                self.outputs.add(arrival.output_tokens);
                self.own_stay_ms(arrival).or_else(|| self.service.map(milliseconds))
            }
            ArrivalOutcome::Refused => {
                self.totals.refused += 1;
                None
            }
            ArrivalOutcome::TimedOut => {
                self.totals.timed_out += 1;
                self.own_stay_ms(arrival)
            }
        };
        let is_served = arrival.outcome == ArrivalOutcome::Served;
        if !is_served && arrival.prompt_tokens > 0 {
            self.prompts.add(arrival.prompt_tokens);
        }
        let (step, _) = self.steps.at(at_ms);
        step.requests += 1;
        step.prompt_tokens += u64::from(arrival.prompt_tokens);
        step.output_tokens += u64::from(arrival.output_tokens);
        if !is_served {
            let is_silent = |tokens: u32| u32::from(tokens == 0);
            step.without_prompt += is_silent(arrival.prompt_tokens);
            step.without_output += is_silent(arrival.output_tokens);
        }
        let Some(length_ms) = length_ms else {
            step.without_stay += 1;
            return;
        };
        self.steps.stay(&Stay {
            from_ms: at_ms,
            length_ms,
            requests: 1,
            prompt_tokens: f64::from(arrival.prompt_tokens),
            output_tokens: f64::from(arrival.output_tokens),
        });
    }

    /// The stay that the request states, counted for the mean.
    fn own_stay_ms(&mut self, arrival: &Arrival) -> Option<i64> {
        let length_ms = milliseconds(arrival.service?);
        self.totals.with_service += 1;
        self.totals.service_ms += u128::from(length_ms.unsigned_abs());
        Some(length_ms)
    }

    /// Takes means over an interval. Intervals may come in any order and must not overlap; what is
    /// wrong with one is said by [`Self::finish`].
    pub fn interval(&mut self, interval: &Interval) {
        let row = self.rows;
        self.rows += 1;
        if self.fault.is_some() {
            return;
        }
        if let Err(fault) = intervals::check(row, interval) {
            self.fault = Some(fault);
        } else if self.intervals.len() == super::STEPS_MAX {
            self.fault = Some(DemandRefusal::TooManyIntervals { limit: super::STEPS_MAX });
        } else {
            self.intervals.push((row, *interval));
        }
    }

    /// The history. Refuses a source without any demand, one that mixes requests with intervals,
    /// and intervals that have no length, overlap, or hold a value that is no rate.
    pub fn finish(self) -> Result<History, DemandRefusal> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match (self.arrived, self.intervals.is_empty()) {
            (None, true) => Err(DemandRefusal::Empty),
            (Some(_), false) => Err(DemandRefusal::Mixed),
            (Some(arrived), true) => Ok(events::finish(self, arrived)),
            (None, false) => intervals::finish(self),
        }
    }
}

/// Whole milliseconds, at most as many as the calendar has.
fn milliseconds(length: Duration) -> i64 {
    let calendar_ms = Timestamp::MAX.as_millisecond() - Timestamp::MIN.as_millisecond();
    i64::try_from(length.as_millis()).unwrap_or(calendar_ms).min(calendar_ms)
}
