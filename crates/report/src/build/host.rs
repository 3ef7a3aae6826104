//! The host beside the tests: who used the CPU, and how much pressure there was. Everything else that
//! was read is in `observed`.

use cotenant_core::evidence::{HostSample, Missing, Pressure, Reading};

use super::axes::linear;
use super::pool::{Placed, Pool};
use crate::format;
use crate::model::{HostBar, HostChart, Segment, SeriesKind, State, Value};

/// A reading of one sample, given the block it belongs to.
type Reader = fn(&Placed<'_>, &HostSample) -> Reading<f64>;

const KINDS: [SeriesKind; 4] = [
    SeriesKind::InferenceAlone,
    SeriesKind::TrainingAlone,
    SeriesKind::Together,
    SeriesKind::WithRemedy,
];

const USERS: [(&str, Reader); 5] = [
    ("inference", |placed, sample| workload(sample, &placed.run.inference)),
    ("trainer", |placed, sample| workload(sample, &placed.run.neighbour)),
    ("load client", |_, sample| sample.own_cpu_cores.clone()),
    ("others", |_, sample| sample.foreign_cpu_cores()),
    ("steal", |_, sample| sample.steal_cores.clone()),
];

/// CPU of one workload. A workload that does not run in a block has no reading there, which is not
/// the same as zero cores.
fn workload(sample: &HostSample, name: &str) -> Reading<f64> {
    sample.workload_cpu_cores.iter().find(|(workload, _)| workload == name).map_or_else(
        || Err(Missing("it did not run, or was not supervised".to_owned())),
        |(_, cores)| cores.clone(),
    )
}

/// The chart of CPU by user.
pub(super) fn host(pool: &Pool<'_>) -> HostChart {
    let seen: Vec<_> = KINDS
        .into_iter()
        .map(|kind| (kind, pool.of(kind)))
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect();
    let bars: Vec<_> = seen.iter().map(|(kind, blocks)| bar(*kind, blocks)).collect();
    let total = |bar: &HostBar| -> f64 {
        bar.segments.iter().filter_map(|segment| segment.value.value).sum()
    };
    let largest = bars.iter().map(total).fold(0.0, f64::max);
    let intro = "Mean CPU of the judged part of the valid blocks, by who used it.";
    let mut sentences = vec![intro.to_owned()];
    sentences.extend(bars.iter().map(sentence));
    let nothing = bars
        .iter()
        .all(|bar| bar.segments.iter().all(|segment| segment.value.state != State::Known));
    HostChart {
        title: "CPU by who used it".to_owned(),
        description: sentences.join(" "),
        x: linear("cores", largest, format::trimmed),
        missing: (bars.is_empty() || nothing)
            .then(|| "not seen: no block has host readings".to_owned()),
        bars,
    }
}

fn sentence(bar: &HostBar) -> String {
    let part = |segment: &Segment| format!("{} {}", segment.name, segment.value.text);
    let parts: Vec<_> = bar.segments.iter().map(part).collect();
    format!("{}: {}; pressure {}.", bar.kind.letter(), parts.join(", "), bar.pressure_cpu.text)
}

fn bar(kind: SeriesKind, blocks: &[&Placed<'_>]) -> HostBar {
    let label = match kind {
        SeriesKind::InferenceAlone => "inference alone",
        SeriesKind::TrainingAlone => "training alone",
        SeriesKind::Together => "together",
        SeriesKind::WithRemedy => "with remedy",
    };
    let segment = |(name, read): (&str, Reader)| Segment {
        name: name.to_owned(),
        value: shown(mean_of(blocks, read), format::cores),
    };
    HostBar {
        kind,
        label: label.to_owned(),
        segments: USERS.into_iter().map(segment).collect(),
        pressure_cpu: shown(
            mean_of(blocks, |_, sample| some_share(&sample.pressure_cpu)),
            share_value,
        ),
    }
}

fn some_share(pressure: &Reading<Pressure>) -> Reading<f64> {
    pressure.as_ref().map(|pressure| pressure.some_share).map_err(Clone::clone)
}

fn share_value(value: f64) -> Value {
    format::value_with_text(value, "share", format::share(round_share(value)))
}

/// Pressure is read to a tenth of a percent: more digits would claim too much.
fn round_share(value: f64) -> f64 {
    if value.is_finite() { (value * 1e3).round() / 1e3 } else { value }
}

fn shown(reading: Reading<f64>, text: fn(f64) -> Value) -> Value {
    match reading {
        Ok(value) => text(value),
        Err(Missing(reason)) => Value::missing(reason),
    }
}

/// Mean over the judged samples of the blocks. Samples that say why they are missing are left out of
/// the mean; where all are missing, the first reason stands.
fn mean_of(blocks: &[&Placed<'_>], read: Reader) -> Reading<f64> {
    let mut sum = 0.0;
    let mut count = 0_u32;
    let mut reason = None;
    for placed in blocks {
        for sample in judged(placed) {
            match read(placed, sample) {
                Ok(value) if value.is_finite() => {
                    sum += value;
                    count += 1;
                }
                Ok(_) => {}
                Err(missing) => reason = reason.or(Some(missing)),
            }
        }
    }
    if count > 0 {
        return Ok(sum / f64::from(count));
    }
    Err(reason.unwrap_or_else(|| Missing("no host reading in the judged part".to_owned())))
}

fn judged<'a>(placed: &'a Placed<'_>) -> impl Iterator<Item = &'a HostSample> {
    let block = placed.block;
    block
        .host
        .iter()
        .filter(|sample| (block.judged_from_ns..block.judged_until_ns).contains(&sample.at_ns))
}
