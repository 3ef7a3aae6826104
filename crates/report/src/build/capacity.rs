//! The section of capacity: what a search found, its curve, and what does not count.

use cotenant_core::capacity::{CapacityEstimate, CurvePoint, MeasuredCapacity, Word};

use super::axes::coordinate;
use crate::format;
use crate::model::{
    Axis, AxisScale, CapacityView, Column, Fact, RateChart, RateLine, State, Table, Tick, Value,
};

/// One section for each workload that was searched.
pub(super) fn capacity(measured: &[MeasuredCapacity]) -> Vec<CapacityView> {
    measured.iter().map(view).collect()
}

fn view(measured: &MeasuredCapacity) -> CapacityView {
    let mut remarks: Vec<String> =
        measured.estimate.iter().flat_map(|estimate| estimate.remarks.iter().cloned()).collect();
    if measured.rejected > 0 {
        remarks.push(format!(
            "{} of its looks were rejected for causes outside",
            format::count(u64::from(measured.rejected))
        ));
    }
    for stale in &measured.stale {
        remarks.push(format!("run {} does not count any more: {}", stale.run, stale.why));
    }
    let none = "no look of it counts";
    let estimate = measured.estimate.as_ref();
    let end = |of: fn(&CapacityEstimate) -> Option<f64>, why: &str| match estimate {
        Some(estimate) => of(estimate).map_or_else(|| Value::missing(why), rate),
        None => Value::missing(none),
    };
    CapacityView {
        workload: measured.workload.clone(),
        headline: headline(measured),
        rate: end(|e| Some(e.requests_per_s), none),
        low: end(|e| e.low, "the looks bound nothing from below"),
        high: end(|e| e.high, "the looks bound nothing from above"),
        confidence: estimate.map(|estimate| estimate.confidence),
        facts: facts(measured),
        remarks,
        chart: chart(&measured.workload, estimate),
        curve: curve(&measured.workload, estimate),
    }
}

fn rate(per_s: f64) -> Value {
    Value {
        value: Some(per_s),
        state: State::Known,
        unit: "req/s".into(),
        text: format!("{} req/s", format::trimmed(three_digits(per_s))),
    }
}

/// As many digits as a capacity deserves.
fn three_digits(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return value;
    }
    let factor = 10_f64.powi(2 - value.log10().floor() as i32);
    (value * factor).round() / factor
}

fn headline(measured: &MeasuredCapacity) -> String {
    let name = &measured.workload;
    let Some(estimate) = &measured.estimate else {
        return format!("{name}: a search was made, and no look of it counts any more");
    };
    let per_cent = format::share(estimate.confidence);
    let text = |value: f64| rate(value).text;
    let about = text(estimate.requests_per_s);
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!(
            "{name} alone keeps its objectives up to about {about} ({} to {}, {per_cent}), limited by {}",
            text(low),
            text(high),
            estimate.limited_by
        ),
        (Some(low), None) => format!(
            "{name} alone keeps its objectives at {} at least ({per_cent}); nothing that was tried \
             bounds it from above",
            text(low)
        ),
        (None, Some(high)) => format!(
            "no rate of {name} alone is shown to keep its objectives; {} is too much ({per_cent}), \
             limited by {}",
            text(high),
            estimate.limited_by
        ),
        (None, None) => format!(
            "{name} alone: about {about}, but the looks are too few or too unlike to bound it"
        ),
    }
}

fn facts(measured: &MeasuredCapacity) -> Vec<Fact> {
    let Some(estimate) = &measured.estimate else { return Vec::new() };
    let fact = |name: &str, text: String, origin: &str| Fact {
        name: name.to_owned(),
        text,
        origin: Some(origin.to_owned()),
    };
    let mut facts = vec![fact(
        "looks",
        format!(
            "{} with {} requests, in {}",
            format::count(u64::from(estimate.looks)),
            format::count(estimate.requests),
            measured.runs.join(", ")
        ),
        "measured",
    )];
    if let Some(carried) = estimate.carried {
        let number = |value: f64| format::trimmed(three_digits(value));
        let mut text = format!(
            "{} requests in flight, {} prompt tokens/s, {} output tokens/s",
            number(carried.requests_in_flight),
            number(carried.prefill_tokens_per_s),
            number(carried.output_tokens_per_s)
        );
        if let Some(share) = carried.kv_use_share {
            text = format!("{text}, {} of the cache in use", format::share(share));
        }
        facts.push(fact("at the low end", text, "measured"));
    }
    if let Some(gpus) = measured.gpus {
        facts.push(fact("on", format!("{} GPUs", format::trimmed(gpus)), "declared"));
    }
    facts
}

/// What a point proves, in a word.
fn word(point: &CurvePoint) -> &'static str {
    match point.word {
        Word::Within => "holds",
        Word::Beyond => "too much",
        Word::Undecided(_) => "open",
    }
}

fn curve(workload: &str, estimate: Option<&CapacityEstimate>) -> Table {
    let column = |key: &str, title: &str, numeric: bool| Column {
        key: key.to_owned(),
        title: title.to_owned(),
        numeric,
    };
    let mut columns = vec![
        column("rate_per_s", "rate", true),
        column("looks", "looks", true),
        column("requests", "requests", true),
        column("overloaded", "queue grew", true),
    ];
    let points = estimate.map(|estimate| estimate.curve.as_slice()).unwrap_or_default();
    let names = points.first().map(|point| point.shares.as_slice()).unwrap_or_default();
    columns.extend(names.iter().map(|(name, allowed, _)| Column {
        key: name.clone(),
        title: format!("{name}, {} may miss", format::share(*allowed)),
        numeric: true,
    }));
    columns.push(column("word", "so", false));
    let count = |value: u64| Value {
        value: Some(value as f64),
        state: State::Known,
        unit: "count".into(),
        text: format::count(value),
    };
    let rows = points
        .iter()
        .map(|point| {
            let mut row = vec![
                rate(point.rate_per_s),
                count(u64::from(point.looks)),
                count(point.requests),
                count(u64::from(point.overloaded)),
            ];
            row.extend(point.shares.iter().map(|(_, _, share)| match share {
                Some(share) => Value {
                    value: Some(*share),
                    state: State::Known,
                    unit: "share".into(),
                    text: format::share(*share),
                },
                None => Value::missing("the look shows no such series"),
            }));
            row.push(Value::words(word(point)));
            row
        })
        .collect();
    Table {
        key: "capacity".into(),
        title: format!("Looks at {workload}, by rate"),
        note: "Share of requests that missed each objective at each rate; a look in which the queue grew \
               is overload whatever its latencies. «holds» and «too much» are proven by the bounds of \
               the verdict."
            .into(),
        columns,
        rows,
        empty: "no look counts".into(),
    }
}

/// What never missed stands here, and what missed by more stands at the top.
const FOOT: f64 = 0.05;
const TOP: f64 = 20.0;

fn chart(workload: &str, estimate: Option<&CapacityEstimate>) -> RateChart {
    let points = estimate.map(|estimate| estimate.curve.as_slice()).unwrap_or_default();
    let rates: Vec<f64> = points.iter().map(|point| point.rate_per_s).collect();
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    let names = points.first().map(|point| point.shares.as_slice()).unwrap_or_default();
    let lines: Vec<RateLine> = names
        .iter()
        .enumerate()
        .map(|(index, (name, allowed, _))| RateLine {
            label: name.clone(),
            points: points
                .iter()
                .filter_map(|point| {
                    let share = if point.overloaded > 0 && 2 * point.overloaded > point.looks {
                        1.0
                    } else {
                        point.shares.get(index)?.2?
                    };
                    let ratio = (share / allowed.max(1e-9)).clamp(FOOT, TOP);
                    Some((coordinate(point.rate_per_s), coordinate(ratio)))
                })
                .collect(),
        })
        .collect();
    let ends = estimate.and_then(|estimate| estimate.low.zip(estimate.high));
    let told = lines.iter().map(|line| {
        let at: Vec<String> = line
            .points
            .iter()
            .map(|(rate, ratio)| {
                format!("{} at {}", format::trimmed(*ratio), format::trimmed(*rate))
            })
            .collect();
        format!("{}: {}", line.label, at.join(", "))
    });
    RateChart {
        description: format!(
            "Share of misses of {workload}, as a multiple of what each objective allows, by requests \
             per second. {}",
            told.collect::<Vec<_>>().join(". ")
        ),
        x: log_axis("requests per second", low, high),
        y: Axis {
            title: "misses ÷ allowed".into(),
            scale: AxisScale::Log,
            min: FOOT,
            max: TOP,
            ticks: [(FOOT, "none"), (0.2, "0.2"), (1.0, "1"), (5.0, "5"), (TOP, "20")]
                .map(|(at, text)| Tick { at, text: text.into() })
                .into(),
        },
        missing: lines.is_empty().then(|| "not seen: no look counts".to_owned()),
        lines,
        interval: ends.map(|(low, high)| (coordinate(low), coordinate(high))),
    }
}

fn log_axis(title: &str, low: f64, high: f64) -> Axis {
    let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
    let (min, max) = (low / 1.1, high.max(low * 1.5) * 1.1);
    let first = min.log10().floor() as i32;
    let last = max.log10().ceil() as i32;
    let ticks = (first..=last)
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(exponent)))
        .filter(|at| (min..=max).contains(at))
        .map(|at| Tick { at: coordinate(at), text: format::trimmed(at) })
        .collect();
    Axis {
        title: title.to_owned(),
        scale: AxisScale::Log,
        min: coordinate(min),
        max: coordinate(max),
        ticks,
    }
}
