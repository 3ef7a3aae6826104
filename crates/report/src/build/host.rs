//! The host beside the tests: who used the CPU, and how much pressure there was.

use cotenant_core::evidence::{HostSample, Missing, Pressure, Reading};

use super::axes::linear;
use super::pool::{Placed, Pool};
use crate::format;
use crate::model::{Column, HostBar, HostChart, Segment, SeriesKind, State, Table, Value};

/// A reading of one sample, given the block it belongs to.
type Reader = fn(&Placed<'_>, &HostSample) -> Reading<f64>;

/// A row of the table: its name, what it reads, and how its mean is printed.
type Row = (&'static str, Reader, fn(f64) -> Value);

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

/// The chart of CPU by user and the table of everything else that was read each second.
pub(super) fn host(pool: &Pool<'_>) -> (HostChart, Table) {
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
    let chart = HostChart {
        title: "CPU by who used it".to_owned(),
        description: sentences.join(" "),
        x: linear("cores", largest, format::trimmed),
        missing: (bars.is_empty() || nothing)
            .then(|| "not seen: no block has host readings".to_owned()),
        bars,
    };
    (chart, table(&seen))
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

fn table(seen: &[(SeriesKind, Vec<&Placed<'_>>)]) -> Table {
    let readings: [Row; 14] = [
        ("CPU of the whole machine", |_, s| s.machine_cpu_cores.clone(), core_text),
        ("CPU pressure, some task waited", |_, s| some_share(&s.pressure_cpu), share_value),
        ("memory pressure, some task waited", |_, s| some_share(&s.pressure_memory), share_value),
        ("io pressure, some task waited", |_, s| some_share(&s.pressure_io), share_value),
        (
            "cgroup throttled, share of periods",
            |_, s| s.cgroup_cpu.as_ref().map(|cpu| cpu.throttled_share).map_err(Clone::clone),
            share_value,
        ),
        ("runnable tasks", |_, s| s.run_queue.clone().map(f64::from), plain),
        ("CPU clock", |_, s| s.cpu_clock_mhz.clone(), megahertz),
        ("memory of inference", |placed, s| workload_memory(s, &placed.run.inference), bytes),
        ("memory of the trainer", |placed, s| workload_memory(s, &placed.run.neighbour), bytes),
        ("memory available", |_, s| s.memory_available_bytes.clone().map(|b| b as f64), bytes),
        ("dirty pages", |_, s| s.dirty_bytes.clone().map(|b| b as f64), bytes),
        ("disk reads", |_, s| s.disk_read_bytes_per_s.clone(), bytes_per_s),
        ("disk writes", |_, s| s.disk_write_bytes_per_s.clone(), bytes_per_s),
        ("network, both directions", network, bytes_per_s),
    ];
    let mut columns =
        vec![Column { key: "reading".to_owned(), title: "mean of".to_owned(), numeric: false }];
    for (kind, _) in seen {
        let title = kind.letter().to_owned();
        columns.push(Column { key: title.clone(), title, numeric: true });
    }
    let row = |(name, read, text): Row| {
        let cells = seen.iter().map(|(_, blocks)| shown(mean_of(blocks, read), text));
        std::iter::once(Value::words(name)).chain(cells).collect()
    };
    Table {
        key: "host".to_owned(),
        title: "The host beside the tests".to_owned(),
        note: "Means of one reading a second over the judged part of the valid blocks. What the \
               neighbour causes here explains a block and never removes it."
            .to_owned(),
        columns,
        rows: if seen.is_empty() { Vec::new() } else { readings.into_iter().map(row).collect() },
        empty: "not seen: no valid block".to_owned(),
    }
}

fn workload_memory(sample: &HostSample, name: &str) -> Reading<f64> {
    let found = sample.workload_memory_bytes.iter().find(|(workload, _)| workload == name);
    found.map_or_else(
        || Err(Missing("it did not run, or was not supervised".to_owned())),
        |(_, bytes)| bytes.clone().map(|bytes| bytes as f64),
    )
}

fn network(_: &Placed<'_>, sample: &HostSample) -> Reading<f64> {
    let received = sample.network_receive_bytes_per_s.clone()?;
    Ok(received + sample.network_transmit_bytes_per_s.clone()?)
}

fn core_text(value: f64) -> Value {
    let mut shown = format::cores(value);
    shown.text += " cores";
    shown
}

fn plain(value: f64) -> Value {
    format::value_with_text(value, "count", format::number(value))
}

fn megahertz(value: f64) -> Value {
    format::value_with_text(value, "MHz", format!("{} MHz", format::number(value)))
}

fn bytes(value: f64) -> Value {
    format::value_with_text(value, "B", format::bytes(value))
}

fn bytes_per_s(value: f64) -> Value {
    format::value_with_text(value, "B/s", format!("{}/s", format::bytes(value)))
}
