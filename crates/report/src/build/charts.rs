//! Latency curves and step boxes.

use cotenant_core::stats::quantile_rank;
use cotenant_core::verdict::GateKind;

use super::axes::{coordinate, linear_time, log_time, nines};
use super::gates;
use super::inputs::ReportInputs;
use super::ordered::Ordered;
use super::pool::{Placed, Pool};
use super::sample::{Latencies, StreamSample, durations_s, mean, quantile};
use super::story::{same_metric, stream_label};
use crate::format::{self, TimeScale};
use crate::model::{CurveChart, CurveSeries, ReferenceLine, SeriesKind, SpreadBox, SpreadChart};

/// Streams beyond this many have their numbers in the story and no curve of their own.
const STREAMS_DRAWN_MAX: usize = 4;

/// Points of one curve. The curve is drawn through order statistics at evenly spaced nines.
const CURVE_POINTS_MAX: usize = 160;

/// Boxes of the step chart; the blocks beyond are in the table of blocks.
const BOXES_MAX: usize = 48;

/// Two curves for each stream: time to first token, and the gaps between chunks.
pub(super) fn latency(inputs: &ReportInputs<'_>, streams: &[StreamSample]) -> Vec<CurveChart> {
    let mut charts = Vec::new();
    for stream in streams.iter().take(STREAMS_DRAWN_MAX) {
        let samples = stream.seen();
        let name = if streams.len() > 1 {
            format!(", {}", stream_label(inputs, &stream.stream))
        } else {
            String::new()
        };
        charts.push(ttft(inputs, &samples, &name));
        charts.push(gaps(inputs, &samples, &name));
    }
    charts
}

fn ttft(inputs: &ReportInputs<'_>, samples: &[(SeriesKind, &Latencies)], name: &str) -> CurveChart {
    let series = samples
        .iter()
        .map(|(kind, sample)| curve(*kind, &sample.ttft_s, "request", "requests"))
        .collect();
    curve_chart(
        "ttft",
        format!("Time to first token{name}"),
        "share of requests that got their first token within the time",
        series,
        targets(inputs, "ttft_"),
        "no judged request",
    )
}

fn gaps(inputs: &ReportInputs<'_>, samples: &[(SeriesKind, &Latencies)], name: &str) -> CurveChart {
    let pooled = samples.iter().any(|(_, sample)| !sample.gaps_s.is_empty());
    if !pooled {
        // Without the gaps themselves, the longest of each answer still tells of pauses.
        let series = samples
            .iter()
            .filter(|(_, sample)| !sample.longest_gap_s.is_empty())
            .map(|(kind, sample)| curve(*kind, &sample.longest_gap_s, "answer", "answers"))
            .collect();
        return curve_chart(
            "longest_gap",
            format!("Longest gap of each answer{name}"),
            "share of answers whose longest gap is within the time",
            series,
            Vec::new(),
            "the evidence holds no gap between chunks",
        );
    }
    let token = samples.iter().all(|(_, sample)| sample.single_token);
    let title = if token { "Inter-token latency" } else { "Gap between chunks" };
    let series = samples
        .iter()
        .filter(|(_, sample)| !sample.gaps_s.is_empty())
        .map(|(kind, sample)| curve(*kind, &sample.gaps_s, "gap", "gaps"))
        .collect();
    curve_chart(
        "gap",
        format!("{title}{name}"),
        "share of gaps that are within the time",
        series,
        targets(inputs, "itl_"),
        "the evidence holds no gap between chunks",
    )
}

fn curve(kind: SeriesKind, values: &Ordered, one: &str, many: &str) -> CurveSeries {
    let n = values.len();
    let finite = values.finite();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let last_nine = (n.max(2) as f64).log10();
    let mut previous = 0;
    for index in 0..=CURVE_POINTS_MAX {
        let nine = last_nine * index as f64 / CURVE_POINTS_MAX as f64;
        let share = 1.0 - 10_f64.powf(-nine);
        let rank = quantile_rank(share.max(1e-9), n);
        if rank > finite || rank == previous {
            continue;
        }
        previous = rank;
        // The point stands at the middle of its step, so that the last of n lies inside the axis.
        let middle = (rank as f64 - 0.5) / n as f64;
        points.extend(values.at_rank(rank).map(|value| (coordinate(middle), coordinate(value))));
    }
    let failed = n - finite;
    let label = match kind {
        SeriesKind::InferenceAlone => "A alone",
        SeriesKind::TrainingAlone => "B alone",
        SeriesKind::Together => "C together",
        SeriesKind::WithRemedy => "C′ with remedy",
    };
    CurveSeries {
        kind,
        label: format!("{label}, {}", format::plural(n as u64, one, many)),
        count: n as u64,
        points,
        unbounded_from: (failed > 0).then(|| coordinate(finite as f64 / n as f64)),
        unbounded_text: (failed > 0).then(|| {
            format!(
                "{} of {} ({}) never completed",
                format::count(failed as u64),
                format::count(n as u64),
                format::share(failed as f64 / n as f64)
            )
        }),
    }
}

fn curve_chart(
    key: &str,
    title: String,
    meaning: &str,
    series: Vec<CurveSeries>,
    lines: Vec<ReferenceLine>,
    why_missing: &str,
) -> CurveChart {
    let values = || {
        let points = series.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
        points.chain(lines.iter().map(|line| line.at)).filter(|value| *value > 0.0)
    };
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(0.0, f64::max);
    let missing = series.iter().all(|curve| curve.points.is_empty());
    let (low, high) = if missing { (0.01, 1.0) } else { (low, high) };
    let n = series.iter().map(|curve| curve.count).max().unwrap_or(0);
    let description = describe_curves(&title, meaning, &series, &lines);
    CurveChart {
        key: key.to_owned(),
        title,
        description,
        x: nines(meaning, n),
        y: log_time("", low, high),
        series,
        lines,
        missing: missing.then(|| format!("not seen: {why_missing}")),
    }
}

/// A chart of curves in words.
fn describe_curves(
    title: &str,
    meaning: &str,
    series: &[CurveSeries],
    lines: &[ReferenceLine],
) -> String {
    let names: Vec<_> = series.iter().map(|curve| curve.label.as_str()).collect();
    let mut sentences = vec![format!("{title}: {meaning}. Curves: {}.", names.join("; "))];
    for curve in series {
        let letter = curve.kind.letter();
        for (share, name) in [(0.5, "half of"), (0.95, "95 % of"), (0.99, "99 % of")] {
            let seen = curve.count as f64 * (1.0 - share) >= 1.0;
            let point = curve.points.iter().find(|point| seen && point.0 >= share);
            sentences.extend(
                point.map(|point| {
                    format!("{letter}: {name} them within {}.", format::time(point.1))
                }),
            );
        }
        sentences.extend(curve.unbounded_text.as_ref().map(|text| format!("{letter}: {text}.")));
    }
    sentences.extend(lines.iter().map(|line| format!("Objective: {}.", line.text)));
    sentences.join(" ")
}

/// The declared targets whose metric begins with `prefix`, each once.
fn targets(inputs: &ReportInputs<'_>, prefix: &str) -> Vec<ReferenceLine> {
    let mut lines: Vec<ReferenceLine> = Vec::new();
    let judged = inputs
        .verdict
        .gates
        .iter()
        .filter(|gate| gate.kind == GateKind::Inference)
        .flat_map(|gate| &gate.findings)
        .filter_map(|finding| finding.target.as_ref())
        .map(|target| (target.metric.as_str(), target.value));
    let declared = inputs
        .objectives
        .iter()
        .filter_map(|objective| Some((objective.metric.as_str(), objective.target?)));
    for (metric, value) in judged.chain(declared) {
        let Some(percentile) = metric.strip_prefix(prefix) else { continue };
        let digits = percentile.trim_start_matches('p').replace('_', ".");
        let share = digits.parse::<f64>().ok().map(|percent| percent / 100.0);
        let text = format!("{percentile} ≤ {}", format::round_time(value));
        if value > 0.0 && value.is_finite() && !lines.iter().any(|line| line.text == text) {
            lines.push(ReferenceLine { at: coordinate(value), share, text });
        }
    }
    lines
}

/// Step times by block: B, C and C′.
pub(super) fn steps(inputs: &ReportInputs<'_>, pool: &Pool<'_>) -> SpreadChart {
    let mut boxes: Vec<_> =
        [SeriesKind::TrainingAlone, SeriesKind::Together, SeriesKind::WithRemedy]
            .into_iter()
            .flat_map(|kind| pool.of(kind))
            .filter_map(step_box)
            .collect();
    let left_out = boxes.len().saturating_sub(BOXES_MAX);
    boxes.truncate(BOXES_MAX);
    let lines = step_targets(inputs);
    let largest = boxes
        .iter()
        .map(|entry| entry.high)
        .chain(lines.iter().map(|line| line.at))
        .fold(0.0, f64::max);
    let intro = "Duration of the training steps of each block: a thin line from the shortest to the \
                 longest, a bar over the middle half, a dot at the mean.";
    let mut sentences = vec![intro.to_owned()];
    sentences.extend(boxes.iter().map(|entry| entry.text.clone()));
    if left_out > 0 {
        let blocks = format::plural(left_out as u64, "block", "blocks");
        sentences.push(format!("Not drawn: {blocks}."));
    }
    SpreadChart {
        title: "Step time by block".to_owned(),
        description: sentences.join(" "),
        x: linear_time("", largest),
        missing: boxes.is_empty().then(|| "not seen: no block has a judged step".to_owned()),
        boxes,
        lines,
    }
}

fn step_box(placed: &Placed<'_>) -> Option<SpreadBox> {
    let mut durations = durations_s(placed.block);
    durations.sort_unstable_by(f64::total_cmp);
    let mean = mean(&durations)?;
    let at = |q: f64| quantile(&durations, q).map(coordinate);
    let scale = TimeScale::of([mean]);
    let label = placed.label();
    let (low, high) = (*durations.first()?, *durations.last()?);
    Some(SpreadBox {
        kind: placed.kind,
        count: durations.len() as u64,
        low: coordinate(low),
        quarter: at(0.25)?,
        middle: at(0.5)?,
        three_quarters: at(0.75)?,
        high: coordinate(high),
        mean: coordinate(mean),
        text: format!(
            "{label}: mean {} of {}, from {} to {}.",
            format::time_in(scale, mean),
            format::plural(durations.len() as u64, "step", "steps"),
            format::time_in(scale, low),
            format::time_in(scale, high)
        ),
        label,
    })
}

fn step_targets(inputs: &ReportInputs<'_>) -> Vec<ReferenceLine> {
    let judged = inputs
        .verdict
        .gates
        .iter()
        .filter(|gate| gate.kind == GateKind::Completion)
        .flat_map(|gate| &gate.findings)
        .filter_map(|finding| finding.target.as_ref())
        .find(|target| same_metric(&target.metric, "step_time"));
    judged
        .map(|target| ReferenceLine {
            at: coordinate(target.value),
            share: None,
            text: format!("mean {}", gates::objective(target).text),
        })
        .into_iter()
        .collect()
}
