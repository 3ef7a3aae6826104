//! A history of means over intervals.

use std::time::Duration;

use super::builder::HistoryBuilder;
use super::gaps::{self, Gap, GapKind};
use super::history::{Column, Counts, History, instant};
use super::refusal::DemandRefusal;
use super::series::WorkUnit;
use super::source::Interval;
use super::steps::STEPS_MAX;
use super::tokens::Tokens;
use crate::evidence::Origin;

/// Refuses an interval without length or with a value that cannot be demand.
pub(super) fn check(row: usize, interval: &Interval) -> Result<(), DemandRefusal> {
    let Interval { start, end, .. } = *interval;
    if end.as_second() <= start.as_second() {
        return Err(DemandRefusal::NoLength { row, start, end });
    }
    for (what, value) in interval.values() {
        if let Some(value) = value
            && !(value.is_finite() && value >= 0.0)
        {
            return Err(DemandRefusal::BadValue { row, what, value });
        }
    }
    Ok(())
}

/// Demand in each unit of work over one interval, with what was refused added back.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Demand {
    values: [Option<f64>; 5],
}

impl Demand {
    /// Refused requests are assumed to be like those that were served: every other unit grows by
    /// the same factor. Requests in flight that are not stated follow from Little's law, and tokens
    /// in the cache from the prompt and half of the answer, which is their mean over a stay.
    fn of(interval: &Interval, service: Option<Duration>) -> Self {
        let served = interval.requests_per_s;
        let refused = interval.refused_per_s.unwrap_or(0.0);
        let grown = match served {
            Some(served) if served > 0.0 => (served + refused) / served,
            _ => 1.0,
        };
        let service_s = service.map(|service| service.as_secs_f64());
        let requests = match (served, interval.refused_per_s) {
            (None, None) => None,
            (served, refused) => Some(served.unwrap_or(0.0) + refused.unwrap_or(0.0)),
        };
        let prompt = interval.prompt_tokens_per_s.map(|tokens| tokens * grown);
        let output = interval.output_tokens_per_s.map(|tokens| tokens * grown);
        let in_flight = interval
            .requests_in_flight
            .map(|requests| requests * grown)
            .or_else(|| Some(requests? * service_s?));
        let kv = interval.kv_tokens.map(|tokens| tokens * grown).or_else(|| {
            let per_s = match (prompt, output) {
                (None, None) => return None,
                (prompt, output) => prompt.unwrap_or(0.0) + output.unwrap_or(0.0) / 2.0,
            };
            Some(per_s * service_s?)
        });
        Self { values: [requests, in_flight, kv, prompt, output] }
    }
}

/// Sorts the intervals, refuses those that overlap, and lays them on equal steps.
pub(super) fn finish(builder: HistoryBuilder) -> Result<History, DemandRefusal> {
    let HistoryBuilder { intervals: mut rows, service, is_declared, .. } = builder;
    rows.sort_by_key(|(row, interval)| (interval.start, *row));
    if let Some(pair) =
        rows.windows(2).find(|pair| pair[1].1.start.as_second() < pair[0].1.end.as_second())
    {
        let ((first, _), (second, later)) = (pair[0], pair[1]);
        return Err(DemandRefusal::Overlap { first, second, at: later.start });
    }
    let layout = Layout::of(&rows);
    let mut columns = layout.columns(&rows, service);
    if columns.iter().all(|values| values.iter().all(|value| value.is_nan())) {
        return Err(DemandRefusal::Empty);
    }
    let mut gaps = layout.missing(&columns);
    if !is_declared {
        gaps.extend(layout.mark_improbable(&mut columns));
    }
    gaps.sort_by_key(|gap| gap.from);
    Ok(layout.history(&rows, columns, gaps, service))
}

/// Where intervals lie on equal steps.
struct Layout {
    start_s: i64,
    step_s: u64,
    steps: usize,
    /// The longest interval: no burst below it shows.
    resolution_s: u64,
    /// Whether every interval is as long as the others.
    is_regular: bool,
}

impl Layout {
    /// The step is the greatest common divisor of all starts and lengths, and doubled until the
    /// history fits.
    fn of(rows: &[(usize, Interval)]) -> Self {
        let bounds = |interval: &Interval| (interval.start.as_second(), interval.end.as_second());
        let start_s = rows.first().map_or(0, |(_, interval)| bounds(interval).0);
        let mut divisor = 0_u64;
        let (mut resolution_s, mut shortest_s, mut end_s) = (0, u64::MAX, start_s);
        for (_, interval) in rows {
            let (from, until) = bounds(interval);
            let length = until.abs_diff(from);
            divisor = greatest_common_divisor(divisor, from.abs_diff(start_s));
            divisor = greatest_common_divisor(divisor, length);
            resolution_s = resolution_s.max(length);
            shortest_s = shortest_s.min(length);
            end_s = end_s.max(until);
        }
        let span_s = end_s.abs_diff(start_s);
        let mut step_s = divisor.max(1);
        while span_s.div_ceil(step_s) > STEPS_MAX as u64 {
            step_s *= 2;
        }
        let steps = span_s.div_ceil(step_s) as usize;
        Self { start_s, step_s, steps, resolution_s, is_regular: resolution_s == shortest_s }
    }

    /// Values of each unit by step; NaN where nothing is known. Where a step holds several
    /// intervals, the highest.
    fn columns(&self, rows: &[(usize, Interval)], service: Option<Duration>) -> [Vec<f64>; 5] {
        let mut columns: [Vec<f64>; 5] = std::array::from_fn(|_| vec![f64::NAN; self.steps]);
        for (_, interval) in rows {
            let from = interval.start.as_second().abs_diff(self.start_s) / self.step_s;
            let until = interval.end.as_second().abs_diff(self.start_s).div_ceil(self.step_s);
            let demand = Demand::of(interval, service);
            for (column, value) in columns.iter_mut().zip(demand.values) {
                let Some(value) = value else { continue };
                for held in &mut column[from as usize..until as usize] {
                    *held = held.max(value);
                }
            }
        }
        columns
    }

    fn at(&self, index: usize) -> jiff::Timestamp {
        instant(self.start_s.saturating_add(index as i64 * self.step_s as i64))
    }

    /// Stretches in which no unit has a value.
    fn missing(&self, columns: &[Vec<f64>; 5]) -> Vec<Gap> {
        let is_missing = |index: usize| columns.iter().all(|values| values[index].is_nan());
        let mut gaps = Vec::new();
        let mut index = 0;
        while index < self.steps {
            let length = (index..self.steps).take_while(|step| is_missing(*step)).count();
            if length > 0 {
                gaps.push(Gap {
                    from: self.at(index),
                    until: self.at(index + length),
                    kind: GapKind::Missing,
                    why: "the source has no value for it".to_owned(),
                });
            }
            index += length.max(1);
        }
        gaps
    }

    /// Takes off the zeros that the rates around them do not explain. Only rates of requests tell:
    /// a level may be zero between two requests.
    fn mark_improbable(&self, columns: &mut [Vec<f64>; 5]) -> Vec<Gap> {
        // Intervals of several lengths are asked about in steps of the longest.
        let per_bin = if self.is_regular { 1 } else { (self.resolution_s / self.step_s).max(1) };
        let seconds = self.step_s as f64;
        let counts: Vec<Option<f64>> = columns[0]
            .chunks(per_bin as usize)
            .map(|bin| {
                let sum: f64 = bin.iter().map(|rate| rate * seconds).sum();
                (!sum.is_nan()).then_some(sum)
            })
            .collect();
        gaps::improbable_quiet(&counts, per_bin * self.step_s)
            .into_iter()
            .map(|quiet| {
                let from = quiet.bins.start * per_bin as usize;
                let until = (quiet.bins.end * per_bin as usize).min(self.steps);
                for column in columns.iter_mut() {
                    column[from..until].fill(f64::NAN);
                }
                quiet.gap(self.at(from), self.at(until))
            })
            .collect()
    }

    fn history(
        &self,
        rows: &[(usize, Interval)],
        columns: [Vec<f64>; 5],
        gaps: Vec<Gap>,
        service: Option<Duration>,
    ) -> History {
        let mut counts = Counts::default();
        for (_, interval) in rows {
            let seconds = (interval.end.as_second() - interval.start.as_second()) as f64;
            counts.refused += interval.refused_per_s.unwrap_or(0.0) * seconds;
            counts.requests += interval.requests_per_s.unwrap_or(0.0) * seconds;
        }
        counts.requests += counts.refused;
        let mut remarks = vec![format!(
            "the source states means over up to {} s: shorter bursts do not show",
            self.resolution_s
        )];
        if counts.refused > 0.0 {
            remarks.push(
                "refused requests count as demand, as long and as large as those that were served; \
                 a request that was sent again counts each time"
                    .to_owned(),
            );
        }
        let states_in_flight = rows.iter().any(|(_, row)| row.requests_in_flight.is_some());
        if !states_in_flight && let Some(service) = service {
            remarks.push(format!(
                "requests in flight are rate × time in the engine ({:.1} s), a mean",
                service.as_secs_f64()
            ));
        }
        let mut units = WorkUnit::WORK.into_iter();
        History {
            start: instant(self.start_s),
            step_s: self.step_s,
            resolution_s: self.resolution_s,
            begins: instant(self.start_s),
            until: rows.last().map_or(instant(self.start_s), |(_, interval)| interval.end),
            columns: columns.map(|values| column(units.next(), values)),
            tokens: Tokens::default(),
            counts,
            gaps,
            origin: Origin::Imported,
            service: service.filter(|_| !states_in_flight),
            remarks,
        }
    }
}

fn column(unit: Option<WorkUnit>, values: Vec<f64>) -> Column {
    if values.iter().any(|value| !value.is_nan()) {
        return Column::Shown(values);
    }
    let why = match unit {
        Some(WorkUnit::RequestsInFlight | WorkUnit::KvTokens) => {
            "the source does not state it, and no time in the engine is declared (`service_time` of \
             the workload) from which it would follow"
        }
        _ => "the source does not state it",
    };
    Column::Unknown(format!("{}: {why}", unit.map_or("", WorkUnit::name)))
}

fn greatest_common_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}
