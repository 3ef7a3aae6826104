//! Bursts inside a step that is longer than a reclaim: nobody saw them, so they are assumed.
//!
//! The model: requests arrive independently, each with a number of tokens of its own, at a rate that
//! varies inside of steps as it varies from step to step (a doubly stochastic Poisson process, Cox &
//! Isham 1980). The index of dispersion of the counts of h seconds is then φ(h) = 1 + (φ(I) − 1)h/I,
//! with φ(I) that of neighbouring steps of I seconds. What arrives within a stretch of h seconds, or
//! is in the engine because it arrived within a service time of h, has a mean m and a quantile near
//! b·Q(m/b), where Q is the quantile of the Poisson distribution and b = φ(h)·E(X²)/E(X) for X tokens
//! a request. Within a reclaim τ there are 1 + τ/h looks that are nearly independent, and each gets
//! its share of ε (Bonferroni).

use std::time::Duration;

use super::question::ReserveQuestion;
use crate::demand::{Series, WorkUnit};
use crate::site::{Demand, TokenCounts};
use crate::stats::{normal_quantile, quantile};

/// The assumed burst inside a step, for one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Inside {
    /// What arrives together, in the unit; 0 where arrivals are declared to be even.
    pub batch: f64,
    /// Seconds over which a rate counts; 1 for what is in the engine at one moment.
    pub stretch_s: f64,
    /// The quantile.
    pub probability: f64,
    /// The index of dispersion of arrivals.
    pub dispersion: f64,
}

impl Inside {
    /// The highest demand that is to be expected around a mean.
    pub(super) fn highest(&self, mean: f64) -> f64 {
        if self.batch <= 0.0 || mean <= 0.0 {
            return mean.max(0.0);
        }
        let clusters = mean * self.stretch_s / self.batch;
        let highest = self.batch * poisson_quantile(self.probability, clusters) / self.stretch_s;
        highest.max(mean)
    }
}

/// The model for a unit. `None` where nothing says how many tokens a request brings.
pub(super) fn inside(
    question: &ReserveQuestion<'_>,
    unit: WorkUnit,
    reclaim: Option<Duration>,
) -> Option<Inside> {
    let reclaim_s = reclaim.map_or(0.0, |reclaim| reclaim.as_secs_f64());
    let service_s = question.inference.service_time.map(|time| time.as_secs_f64());
    let is_rate = matches!(unit, WorkUnit::Requests | WorkUnit::Prefill | WorkUnit::Output);
    // A rate counts over the time in which requests are served; where that is not known, and for
    // prompts, over the reclaim itself.
    let counted_s = match unit {
        WorkUnit::Prefill => None,
        _ => service_s.filter(|seconds| *seconds > 0.0),
    };
    let stretch_s = if is_rate { counted_s.unwrap_or(reclaim_s).max(1.0) } else { 1.0 };
    let look_s = if is_rate { Some(stretch_s) } else { counted_s };
    let looks = 1.0 + look_s.map_or(0.0, |seconds| reclaim_s / seconds);
    let epsilon = question.epsilon().unwrap_or_else(|| once_in_the_calendar(question, reclaim_s));
    let dispersion = dispersion(question, look_s.unwrap_or(reclaim_s).max(1.0));
    Some(Inside {
        batch: dispersion * tokens_together(question, unit)?,
        stretch_s,
        probability: 1.0 - epsilon / looks,
        dispersion,
    })
}

/// Without a risk tolerance: what is to be expected once among the reclaims that the calendar has
/// room for.
fn once_in_the_calendar(question: &ReserveQuestion<'_>, reclaim_s: f64) -> f64 {
    let calendar_s: f64 = question.grid.windows.iter().map(|window| window.hours() * 3600.0).sum();
    (reclaim_s.max(1.0) / calendar_s.max(1.0)).clamp(1e-9, 0.5)
}

/// The index of dispersion of the arrivals within a stretch: as declared, which holds at every length;
/// else from how neighbouring steps of the history differ beyond a straight line.
fn dispersion(question: &ReserveQuestion<'_>, stretch_s: f64) -> f64 {
    match &question.inference.demand {
        Demand::Gamma { burstiness, .. } => burstiness.max(0.0),
        Demand::Constant { .. } => 0.0,
        Demand::Poisson { .. } | Demand::Table(_) => 1.0,
        _ => {
            let between = question
                .series_of(WorkUnit::Requests)
                .and_then(|series| Some((dispersion_between(series)?, interval_s(series))));
            between.map_or(1.0, |(value, interval_s)| {
                1.0 + (value - 1.0).max(0.0) * (stretch_s / interval_s).min(1.0)
            })
        }
    }
}

/// The length of a series' steps as its source has them, seconds.
fn interval_s(series: &Series) -> f64 {
    series.resolution.max(series.step).as_secs_f64()
}

/// Variance over mean of the counts of intervals, from second differences: for counts of mean m and
/// variance φm their square has a mean of 6φm, and a straight line drops out. The median stands for
/// the mean (the median of χ² with one degree of freedom is 0.4549), so that single jumps do not
/// count. `None` with fewer than ten.
fn dispersion_between(series: &Series) -> Option<f64> {
    const TRIPLES_MIN: usize = 10;
    const MEDIAN_OF_CHI_SQUARE: f64 = 0.454_936;
    let interval_s = interval_s(series);
    let apart = (interval_s / series.step.as_secs_f64()).round().max(1.0) as usize;
    let values: Vec<Option<f64>> = series.values.iter().step_by(apart).copied().collect();
    let ratios: Vec<f64> = values
        .windows(3)
        .filter_map(|triple| {
            let (before, here, after) = (triple[0]?, triple[1]?, triple[2]?);
            let mean = (before + here + after) / 3.0;
            let bend = before - 2.0 * here + after;
            (mean > 0.0).then(|| bend * bend * interval_s / (6.0 * mean))
        })
        .collect();
    if ratios.len() < TRIPLES_MIN {
        return None;
    }
    quantile(&ratios, 0.5).ok().map(|median| median / MEDIAN_OF_CHI_SQUARE)
}

/// E(X²)/E(X) of what one request brings in a unit: 1 for requests, tokens as declared, else twice
/// the mean that the history shows (as for lengths that are exponential).
fn tokens_together(question: &ReserveQuestion<'_>, unit: WorkUnit) -> Option<f64> {
    let (prompt, output) = (question.inference.prompt_tokens, question.inference.output_tokens);
    let declared: Vec<TokenCounts> = match unit {
        WorkUnit::Prefill => prompt.into_iter().collect(),
        WorkUnit::Output => output.into_iter().collect(),
        WorkUnit::KvTokens => prompt.zip(output).map(|(p, o)| vec![p, o]).unwrap_or_default(),
        WorkUnit::Requests | WorkUnit::RequestsInFlight | WorkUnit::Gpus => return Some(1.0),
    };
    if !declared.is_empty() {
        let moments = declared.iter().map(|counts| log_normal_moments(*counts));
        let (mean, variance) = moments.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        return (mean > 0.0).then(|| mean + variance / mean);
    }
    let requests = match unit {
        WorkUnit::KvTokens => WorkUnit::RequestsInFlight,
        _ => WorkUnit::Requests,
    };
    let mean_of = |unit| {
        let series = question.series_of(unit)?;
        let seen = series.seen();
        (seen > 0).then(|| series.values.iter().flatten().sum::<f64>() / seen as f64)
    };
    let mean = mean_of(unit)? / mean_of(requests)?;
    (mean.is_finite() && mean > 0.0).then_some(2.0 * mean)
}

/// Mean and variance of a log-normal number with these quantiles.
fn log_normal_moments(counts: TokenCounts) -> (f64, f64) {
    let median = f64::from(counts.p50.max(1));
    let sigma = (f64::from(counts.p95.max(1)) / median).ln().max(0.0) / normal_quantile(0.95);
    let mean = median * (0.5 * sigma * sigma).exp();
    (mean, mean * mean * (sigma * sigma).exp_m1())
}

/// The smallest k with P(N ≤ k) ≥ p for N Poisson. Above a mean of 500 by Cornish & Fisher's
/// expansion, whose error is then below one.
fn poisson_quantile(p: f64, mean: f64) -> f64 {
    if mean > 500.0 {
        let z = normal_quantile(p);
        // Half a step back: a continuous quantile lies in the middle of its whole number.
        return (mean + z * mean.sqrt() + (z * z - 1.0) / 6.0 - 0.5).ceil();
    }
    let mut term = (-mean).exp();
    let (mut sum, mut count) = (term, 0.0);
    // Beyond the mean the terms fall faster than any quantile below 1 can ask for.
    while sum < p && count < 4.0 * mean + 200.0 {
        count += 1.0;
        term *= mean / count;
        sum += term;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_poisson_are_those_of_tables() {
        // P(N ≤ 4) = 0.9473, P(N ≤ 5) = 0.9834 at a mean of 2; P(N ≤ 15) = 0.9513 at 10.
        for (p, mean, k) in [
            (0.94, 2.0, 4.0),
            (0.95, 2.0, 5.0),
            (0.951, 10.0, 15.0),
            (0.952, 10.0, 16.0),
            (0.36, 1.0, 0.0),
            (0.37, 1.0, 1.0),
            (0.5, 0.0, 0.0),
        ] {
            assert_eq!(poisson_quantile(p, mean), k, "{p} {mean}");
        }
    }

    #[test]
    fn the_expansion_meets_the_sum() {
        for p in [0.5, 0.9, 0.99, 0.9999, 0.999_999] {
            let (below, above) = (poisson_quantile(p, 499.9), poisson_quantile(p, 500.1));
            assert!((below - above).abs() <= 1.0, "{p}: {below} {above}");
        }
    }

    #[test]
    fn steps_that_differ_show_their_dispersion() {
        let series = |values: Vec<Option<f64>>| Series {
            unit: WorkUnit::Requests,
            start: jiff::Timestamp::UNIX_EPOCH,
            step: Duration::from_mins(1),
            values,
            resolution: Duration::from_mins(1),
        };
        // 10 and 12 in turn: the bend is 4, so 16 · 60 / (6 · 10.67) = 15 and 16 · 60 / (6 · 11.33) =
        // 14.118 in turn; the lower one of two is the median.
        let turns = (0..40).map(|index| Some(if index % 2 == 0 { 10.0 } else { 12.0 })).collect();
        let found = dispersion_between(&series(turns)).unwrap();
        assert!((found - 14.117_647 / 0.454_936).abs() < 1e-3, "{found}");
        // A straight line has none, and what is short or full of gaps says nothing.
        let line = (0..40).map(|index| Some(f64::from(index))).collect();
        assert!(dispersion_between(&series(line)).unwrap() < 1e-9);
        assert_eq!(dispersion_between(&series(vec![Some(1.0); 11])), None);
        let gaps = (0..60).map(|index| (index % 3 != 0).then_some(1.0)).collect();
        assert_eq!(dispersion_between(&series(gaps)), None);
    }

    #[test]
    fn even_arrivals_have_no_burst_and_clusters_have_more() {
        let one = Inside { batch: 1.0, stretch_s: 1.0, probability: 0.99, dispersion: 1.0 };
        assert_eq!(one.highest(10.0), 18.0);
        assert_eq!(Inside { batch: 0.0, ..one }.highest(10.0), 10.0);
        // Five at once: 5 · Q(2), and Q₀.₉₉ of a mean of 2 is 6.
        assert_eq!(Inside { batch: 5.0, ..one }.highest(10.0), 30.0);
        // Over 100 s a rate of 10 is a count of 1,000: 1,074 are not exceeded.
        assert_eq!(Inside { stretch_s: 100.0, ..one }.highest(10.0), 10.74);
    }
}
