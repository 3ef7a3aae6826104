//! From looks to a capacity with its interval.

use std::fmt;

use super::bounds::{Word, word_at};
use super::fit::{Crossing, Point, crossing, isotonic};
use super::look::Look;
use super::pooled;
use super::response::{self, Response};
use crate::stats::{ALPHA, Refusal, effective_sample_size, require_sample};

/// The highest rate at which every objective holds, from looks at several rates.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityEstimate {
    /// The estimate, requests per second: where the isotonic fit of the first objective to do so
    /// crosses what is allowed.
    pub requests_per_s: f64,
    /// Lower end of its interval: the rate to count on. `None` where the looks bound nothing from
    /// below.
    pub low: Option<f64>,
    /// Upper end of its interval; `None` where the looks bound nothing from above.
    pub high: Option<f64>,
    /// Confidence of the interval, a share.
    pub confidence: f64,
    /// What breaks first.
    pub limited_by: LimitedBy,
    /// Looks that count.
    pub looks: u32,
    /// Judged requests in them.
    pub requests: u64,
    /// What the engine carried at `low`; `None` without one.
    pub carried: Option<Carried>,
    /// Rate against each objective, ascending by rate.
    pub curve: Vec<CurvePoint>,
    /// What a reader must know, in sentences.
    pub remarks: Vec<String>,
}

/// What breaks first when the rate grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// This objective.
    Objective(String),
    /// The queue grows without end.
    Overload,
    /// Nothing, up to the highest rate that was tried.
    Nothing,
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objective(name) => f.write_str(name),
            Self::Overload => f.write_str("overload: the queue grows"),
            Self::Nothing => f.write_str("nothing that was tried"),
        }
    }
}

/// What an engine carried at a rate, means over the looks nearest to it, scaled to the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Requests in the engine at once.
    pub requests_in_flight: f64,
    /// Prompt tokens per second.
    pub prefill_tokens_per_s: f64,
    /// Output tokens per second.
    pub output_tokens_per_s: f64,
    /// Share of the key-value cache in use, where the engine tells.
    pub kv_use_share: Option<f64>,
}

/// All looks at one rate together.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The rate, requests per second.
    pub rate_per_s: f64,
    /// Looks at it.
    pub looks: u32,
    /// Looks in which the queue grew.
    pub overloaded: u32,
    /// Judged requests.
    pub requests: u64,
    /// What the looks at it and near it prove, by the bounds of the verdict.
    pub word: Word,
    /// Each objective by its name, the share of misses that it allows, and the share that was seen;
    /// `None` where it was not.
    pub shares: Vec<(String, f64, Option<f64>)>,
}

/// Estimates from looks; `None` where there is none, or none with an objective.
pub fn estimate(looks: &[Look]) -> Option<CapacityEstimate> {
    let crossing = crossing_of(looks)?;
    let interval = interval(looks, crossing);
    let curve = curve(looks);
    let refuted = refuted(&curve);
    let blind = blind(looks, crossing.rate());
    // No rate is called fine that was refuted, or at which the queue grew again and again; and what
    // grows too slowly for one look is taken off.
    let most = refuted.into_iter().chain(interval.high).fold(f64::INFINITY, f64::min);
    let low = interval.low.map(|low| low.min(most) / (1.0 + blind));
    let at = interval.at.unwrap_or(crossing.rate());
    Some(CapacityEstimate {
        requests_per_s: at.max(low.unwrap_or(0.0)).min(interval.high.unwrap_or(f64::INFINITY)),
        low,
        high: interval.high,
        confidence: CONFIDENCE,
        limited_by: limit(looks, crossing),
        looks: looks.len() as u32,
        requests: looks.iter().map(|look| look.requests).sum(),
        carried: low.and_then(|low| carried(looks, low)),
        remarks: remarks(looks, &interval, crossing, blind),
        curve,
    })
}

/// Error probability of one way to an end. There are two, a line and pooled looks, and the better one
/// counts: together they err as often as is claimed.
const ALPHA_END: f64 = 0.025;
/// Confidence that is claimed of the interval: 5 % lie beyond each end.
const CONFIDENCE: f64 = 0.90;
/// Looks within this ratio of a first estimate count for the line around it.
pub(super) const NEAR: f64 = 2.0;

/// The interval of the capacity, and what is to be said about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Interval {
    /// Where the first line crosses; `None` where none does.
    pub(super) at: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// Objectives that so few requests cannot bound, with the requests that they would need.
    pub(super) too_strict: Vec<(String, u64)>,
}

/// The interval around a first estimate: of each objective by [`response::dose`] over the looks near
/// it, and of all of them the lowest. An objective that is so strict that the requests could not bound
/// it though none missed bounds nothing from below, and is named.
pub(super) fn interval(looks: &[Look], crossing: Crossing) -> Interval {
    let first = crossing.rate();
    let near = |look: &&Look| (first / NEAR..=first * NEAR).contains(&look.rate_per_s);
    let near: Vec<Look> = looks.iter().filter(near).cloned().collect();
    let mut interval = Interval::default();
    let Some(names) = near.first().map(|look| &look.objectives) else { return interval };
    let mut lows: Vec<Option<f64>> = Vec::new();
    let least = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => Some(f64::min(one, other)),
        (one, other) => one.or(other),
    };
    for (objective, (points, allowed)) in names.iter().zip(columns(&near)) {
        let seen: Vec<Response> = points.iter().flatten().map(|point| point.response()).collect();
        if seen.len() < points.len() {
            // What was not seen in every look is kept by no rate.
            lows.push(None);
            continue;
        }
        let missed = seen.iter().any(|look| look.share > 0.0);
        let requests: f64 = seen.iter().map(|look| look.requests).sum();
        match require_sample(objective.quantile, requests, ALPHA_END) {
            Err(Refusal::TooFewRequests { needed, .. }) if !missed => {
                interval.too_strict.push((objective.name.clone(), needed));
                continue;
            }
            _ => {}
        }
        let line = response::dose(&seen, allowed, ALPHA_END);
        let (low, high) = pooled::ends(&seen, allowed, ALPHA_END);
        let low = line.and_then(|line| line.low).into_iter().chain(low).reduce(f64::max);
        let high = line.and_then(|line| line.high).into_iter().chain(high).reduce(f64::min);
        lows.push(low.map(f64::exp));
        interval.at = least(interval.at, line.and_then(|line| line.at).map(f64::exp));
        interval.high = least(interval.high, high.map(f64::exp));
    }
    let all: Option<Vec<f64>> = lows.into_iter().collect();
    interval.low = all.and_then(|lows| lows.into_iter().reduce(f64::min));
    interval
}

/// What each look says of each objective, with the share that is allowed. A look whose queue grew
/// missed everything.
fn columns(looks: &[Look]) -> Vec<(Vec<Option<Point>>, f64)> {
    let Some(first) = looks.first() else { return Vec::new() };
    let column = |index: usize| {
        let points = looks.iter().map(|look| {
            let objective = look.objectives.get(index)?;
            let misses = objective.misses.as_ref().ok()?;
            let share = if look.is_overload() { 1.0 } else { objective.share()? };
            let requests = misses.requests as f64;
            let weight = effective_sample_size(requests, misses.autocorrelation);
            Some(Point { rate: look.rate_per_s, share, weight })
        });
        points.collect()
    };
    let objectives = first.objectives.iter().enumerate();
    objectives.map(|(index, objective)| (column(index), objective.allowed())).collect()
}

/// The lowest rate at which an objective is refuted, or at which most of several looks were
/// overloaded.
fn refuted(curve: &[CurvePoint]) -> Option<f64> {
    let is_refuted = |point: &&CurvePoint| {
        point.word == Word::Beyond || (point.looks > 1 && 2 * point.overloaded > point.looks)
    };
    curve.iter().find(is_refuted).map(|point| point.rate_per_s)
}

/// Where the first objective crosses what is allowed, a look whose queue grew having missed all.
pub(super) fn crossing_of(looks: &[Look]) -> Option<Crossing> {
    crossings(looks, true).into_iter().map(|(_, crossing)| crossing).min_by(by_rank)
}

fn by_rank(one: &Crossing, other: &Crossing) -> std::cmp::Ordering {
    let ((kind, rate), (other_kind, other_rate)) = (one.rank(), other.rank());
    kind.cmp(&other_kind).then(rate.total_cmp(&other_rate))
}

/// The crossing of each objective, the looks with a growing queue counting as missed or left out.
fn crossings(looks: &[Look], with_overload: bool) -> Vec<(String, Crossing)> {
    let counted: Vec<Look> =
        looks.iter().filter(|look| with_overload || !look.is_overload()).cloned().collect();
    let Some(first) = counted.first() else { return Vec::new() };
    let names = first.objectives.iter().map(|objective| objective.name.clone());
    names
        .zip(columns(&counted))
        .filter_map(|(name, (points, allowed))| {
            let points: Vec<Point> = points.into_iter().flatten().collect();
            Some((name, crossing(&isotonic(&points), allowed)?))
        })
        .collect()
}

/// What breaks first: the objective that crosses in looks without overload, unless the queue begins
/// to grow at a lower rate.
fn limit(looks: &[Look], all: Crossing) -> LimitedBy {
    if matches!(all, Crossing::Above(_)) {
        return LimitedBy::Nothing;
    }
    let grows: Vec<Point> = looks
        .iter()
        .map(|look| Point {
            rate: look.rate_per_s,
            share: f64::from(u8::from(look.is_overload())),
            weight: look.requests.max(1) as f64,
        })
        .collect();
    let overload = crossing(&isotonic(&grows), 0.5);
    let first = crossings(looks, false)
        .into_iter()
        .filter(|(_, crossing)| !matches!(crossing, Crossing::Above(_)))
        .min_by(|(_, one), (_, other)| by_rank(one, other));
    match (first, overload) {
        (Some((name, at)), Some(overload)) if by_rank(&at, &overload).is_le() => {
            LimitedBy::Objective(name)
        }
        (Some((name, _)), None) => LimitedBy::Objective(name),
        _ => LimitedBy::Overload,
    }
}

/// The part of a rate by which it may lie above what can be served for ever and still look fine: a
/// queue that grows by fewer than four requests in one look does not show.
fn blind(looks: &[Look], rate: f64) -> f64 {
    let longest = looks.iter().map(|look| look.judged_s).fold(0.0, f64::max);
    if longest <= 0.0 || rate <= 0.0 { 0.0 } else { 4.0 / (rate * longest) }
}

/// Means over the three looks nearest to a rate, each scaled to it.
fn carried(looks: &[Look], low: f64) -> Option<Carried> {
    let mut nearest: Vec<&Look> = looks.iter().filter(|look| !look.is_overload()).collect();
    nearest.sort_by(|one, other| {
        let far = |look: &Look| (look.rate_per_s / low).ln().abs();
        far(one).total_cmp(&far(other))
    });
    let window = &nearest[..nearest.len().min(3)];
    let mean = |value: &dyn Fn(&Look) -> Option<f64>| {
        // Each is scaled from the look's rate to the rate that is told.
        let scaled: Option<Vec<f64>> =
            window.iter().map(|look| Some(value(look)? * low / look.rate_per_s)).collect();
        crate::verdict::mean(&scaled?)
    };
    Some(Carried {
        requests_in_flight: mean(&|look| Some(look.in_flight))?,
        prefill_tokens_per_s: mean(&|look| Some(look.prompt_tokens_per_s))?,
        output_tokens_per_s: mean(&|look| Some(look.output_tokens_per_s))?,
        kv_use_share: mean(&|look| look.kv_use_share),
    })
}

fn curve(looks: &[Look]) -> Vec<CurvePoint> {
    let mut sorted: Vec<&Look> = looks.iter().collect();
    sorted.sort_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
    let same = |one: &&Look, other: &&Look| one.rate_per_s == other.rate_per_s;
    sorted
        .chunk_by(same)
        .map(|at| CurvePoint {
            rate_per_s: at[0].rate_per_s,
            looks: at.len() as u32,
            overloaded: at.iter().filter(|look| look.is_overload()).count() as u32,
            requests: at.iter().map(|look| look.requests).sum(),
            word: word_at(looks, at[0].rate_per_s, ALPHA),
            shares: at[0]
                .objectives
                .iter()
                .enumerate()
                .map(|(index, objective)| {
                    (objective.name.clone(), objective.allowed(), pooled_share(at, index))
                })
                .collect(),
        })
        .collect()
}

fn pooled_share(looks: &[&Look], index: usize) -> Option<f64> {
    let seen = looks.iter().filter_map(|look| look.objectives.get(index)?.misses.as_ref().ok());
    let (misses, requests) =
        seen.fold((0, 0), |(m, r), block| (m + block.misses, r + block.requests));
    (requests > 0).then(|| misses as f64 / requests as f64)
}

fn remarks(looks: &[Look], interval: &Interval, crossing: Crossing, blind: f64) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut unseen: Vec<String> = looks
        .iter()
        .flat_map(|look| &look.objectives)
        .filter_map(|objective| {
            let why = objective.misses.as_ref().err()?;
            Some(format!("{} was not seen in every look: {why}", objective.name))
        })
        .collect();
    unseen.sort();
    unseen.dedup();
    remarks.extend(unseen);
    match crossing {
        Crossing::Below(rate) => {
            remarks
                .push(format!("even {rate:.3} req/s, the lowest rate that was tried, is too much"));
        }
        Crossing::Above(rate) => remarks
            .push(format!("{rate:.3} req/s, the highest rate that was tried, still keeps all")),
        Crossing::Between { .. } => {}
    }
    for (name, needed) in &interval.too_strict {
        remarks.push(format!(
            "{name} was broken by no request near the capacity; so few bound nothing ({needed} would \
             be needed), and it is no part of the lower end"
        ));
    }
    if interval.low.is_none() {
        remarks.push("too few looks lie below the capacity for a lower end".to_owned());
    } else {
        remarks.push(format!(
            "the lower end is less by {:.1} %: a queue that grows by fewer than four requests in a \
             look does not show",
            100.0 * blind / (1.0 + blind)
        ));
    }
    if interval.high.is_none() {
        remarks.push("too few looks lie above the capacity for an upper end".to_owned());
    }
    remarks
}
