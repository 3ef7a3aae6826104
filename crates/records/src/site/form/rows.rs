//! Values of a site as words.

use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::site::{
    BatchRoute, BurstReserve, CheckpointInterval, Demand, Guard, Launch, LayoutChange,
    LayoutDriver, LostWork, MpsMode, NeighbourPriority, Parallelism, RateSeries, ReplicaCapacity,
    SharingMode, SlicePeriod, TimeSlicing, TokenCounts, TraceDemand, TraceWindow, TransitionStep,
    WeeklyWindow,
};
use cotenant_core::units::{Bytes, format_count, format_duration};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::model::FormRow;

pub(super) fn row(label: impl Into<String>, value: Option<String>) -> FormRow {
    FormRow { label: label.into(), value }
}

/// Anything that can be shown.
pub(super) fn show<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

pub(super) fn time(duration: Option<Duration>) -> Option<String> {
    duration.map(format_duration)
}

pub(super) fn yes_no(flag: Option<bool>) -> Option<String> {
    flag.map(|flag| if flag { "yes" } else { "no" }.to_owned())
}

/// Words in a row, `None` where there are none.
pub(super) fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> Option<String> {
    let words: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Named amounts, `None` where none is given: `weights 16 GiB, KV 40 GiB`.
pub(super) fn amounts<const N: usize>(parts: [(&str, Option<String>); N]) -> Option<String> {
    joined(parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))))
}

pub(super) fn bytes(bytes: Option<Bytes>) -> Option<String> {
    show(bytes.as_ref())
}

pub(super) fn windows(windows: &[WeeklyWindow]) -> Option<String> {
    joined(windows)
}

pub(super) fn tokens(tokens: Option<TokenCounts>) -> Option<String> {
    tokens.map(|tokens| format!("p50 {}, p95 {}", tokens.p50, tokens.p95))
}

pub(super) fn launch(launch: Option<&Launch>) -> Option<String> {
    launch.map(|launch| launch.argv.join(" "))
}

pub(super) fn demand(demand: &Demand, zone: &TimeZone) -> String {
    match demand {
        Demand::Trace(trace) => trace_demand(trace, zone),
        Demand::Poisson { rate } => format!("Poisson, {rate}"),
        Demand::Gamma { rate, burstiness } => format!("gamma, {rate}, burstiness {burstiness}"),
        Demand::Constant { rate } => format!("constant, {rate}"),
        Demand::Ramp { from, to, duration } => {
            format!("from {from} to {to} in {}", format_duration(*duration))
        }
        Demand::Closed { users, think_time } => {
            format!("{users} users, think time {} (closed loop)", format_duration(*think_time))
        }
        Demand::Query(query) => {
            format!("{} at {}, last {}", query.query, query.url, format_duration(query.range))
        }
        Demand::SavedQuery(file) => format!("saved answer {file}"),
        Demand::Rates(series) => rates(series, zone),
        Demand::Table(rows) => rows
            .iter()
            .map(|row| format!("{}: {}", row.when, row.rate))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

fn trace_demand(trace: &TraceDemand, zone: &TimeZone) -> String {
    let factor = trace.rate_factor.map_or(String::new(), |factor| format!(", rate × {factor}"));
    let window = match trace.window {
        Some(TraceWindow::Busiest(length)) => format!(", busiest {}", format_duration(length)),
        Some(TraceWindow::From { start, length }) => {
            format!(", {} from {}", format_duration(length), format_duration(start))
        }
        None => String::new(),
    };
    let begins = begins(trace.begins, zone);
    let columns = trace.columns.as_ref().and_then(|columns| {
        amounts([
            ("time", columns.time.clone()),
            ("prompt", columns.prompt_tokens.clone()),
            ("output", columns.output_tokens.clone()),
        ])
    });
    let columns = columns.map_or(String::new(), |columns| format!("; columns: {columns}"));
    format!("trace {} ({}){factor}{window}{begins}{columns}", trace.file, trace.format.name())
}

fn rates(series: &RateSeries, zone: &TimeZone) -> String {
    let columns =
        amounts([("time", series.time_column.clone()), ("rate", series.rate_column.clone())]);
    let columns = columns.map_or(String::new(), |columns| format!("; columns: {columns}"));
    let factor = series.rate_factor.map_or(String::new(), |factor| format!(", rate × {factor}"));
    format!("rates {}{factor}{}{columns}", series.file, begins(series.begins, zone))
}

/// An instant as local time of the site.
fn begins(instant: Option<Timestamp>, zone: &TimeZone) -> String {
    instant.map_or(String::new(), |instant| {
        let local = instant.to_zoned_datetime(zone.clone());
        format!(", begins {}", local.strftime("%Y-%m-%d %H:%M"))
    })
}

/// What one replica carries.
pub(super) fn capacity(capacity: Option<&ReplicaCapacity>) -> Option<String> {
    let capacity = capacity?;
    let figures = joined(
        [
            show(capacity.requests.as_ref()),
            capacity.requests_in_flight.map(|count| format!("{count} in flight")),
            capacity.kv_tokens.map(|tokens| format!("{tokens} tokens in the cache")),
            capacity.prefill.as_ref().map(|rate| format!("prefill {rate}")),
            capacity.output.as_ref().map(|rate| format!("output {rate}")),
        ]
        .into_iter()
        .flatten(),
    );
    let gpus = gpus(capacity.gpus);
    let origin = capacity.origin.name();
    Some(figures.map_or_else(
        || format!("{gpus} ({origin})"),
        |figures| format!("{figures} on {gpus} ({origin})"),
    ))
}

/// A number of GPUs in words.
pub(super) fn gpus(count: f64) -> String {
    if count == 1.0 { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}

pub(super) fn guard(guard: &Guard) -> String {
    let times = [
        ("ttft_p95", guard.ttft_p95),
        ("e2e_p95", guard.e2e_p95),
        ("longest_gap_p95", guard.longest_gap_p95),
    ];
    let mut parts: Vec<String> = times
        .into_iter()
        .filter_map(|(name, time)| Some(format!("{name} {}", format_duration(time?))))
        .collect();
    parts.extend(guard.error_rate.map(|share| format!("error_rate {share}")));
    parts.extend(guard.window.map(|window| format!("over {}", format_duration(window))));
    parts.join(", ")
}

pub(super) fn reserve(reserve: Option<BurstReserve>) -> Option<String> {
    reserve.map(|reserve| match reserve {
        BurstReserve::Gpus(gpus) => format!("{gpus} GPUs"),
        BurstReserve::Derived => "derived by the plan".to_owned(),
    })
}

pub(super) fn parallelism(parallelism: Option<&Parallelism>) -> Option<String> {
    let parallelism = parallelism?;
    let sizes = [
        ("DP", parallelism.dp),
        ("FSDP", parallelism.fsdp),
        ("TP", parallelism.tp),
        ("PP", parallelism.pp),
        ("EP", parallelism.ep),
    ];
    let used = sizes.into_iter().filter(|(_, size)| *size > 1);
    let sizes = joined(used.map(|(name, size)| format!("{name} {size}")));
    let mut words = vec![sizes.unwrap_or_else(|| "single".to_owned())];
    words.extend(joined(&parallelism.collectives));
    if let Some(needs_p2p) = parallelism.needs_p2p {
        words.push(if needs_p2p { "needs P2P" } else { "no P2P" }.to_owned());
    }
    Some(words.join("; "))
}

pub(super) fn interval(interval: Option<CheckpointInterval>) -> Option<String> {
    interval.map(|interval| match interval {
        CheckpointInterval::Time(duration) => format_duration(duration),
        CheckpointInterval::Steps(steps) => format!("{} steps", format_count(steps)),
    })
}

pub(super) fn lost_work(lost: Option<LostWork>) -> Option<String> {
    lost.map(|lost| match lost {
        LostWork::None => "none".to_owned(),
        LostWork::SinceCheckpoint => "since the last checkpoint".to_owned(),
        LostWork::Steps(steps) => format!("{} steps", format_count(steps)),
        LostWork::Time(duration) => format_duration(duration),
    })
}

pub(super) fn route(route: &BatchRoute) -> String {
    match route {
        BatchRoute::Serving(workload) => format!("through the engine of {workload}"),
        BatchRoute::Job(launch) => format!("job: {}", launch.argv.join(" ")),
    }
}

pub(super) fn steps(steps: &[TransitionStep]) -> Option<String> {
    joined(steps.iter().map(|step| match step.duration {
        Some(duration) => format!("{} {}", step.kind.name(), format_duration(duration)),
        None => step.kind.name().to_owned(),
    }))
}

/// How a layout is changed.
pub(super) fn layout_change(change: Option<&LayoutChange>) -> Option<String> {
    let change = change?;
    let by = match &change.by {
        LayoutDriver::Command(argv) => argv.join(" "),
        LayoutDriver::MigManager { node, config, .. } => {
            format!("MIG Manager: {config} on {node}")
        }
    };
    let checks = change.postconditions.len();
    let limit = change.time_limit.map(|limit| format!("within {}", format_duration(limit)));
    let checks = (checks > 0).then(|| format!("{checks} post-conditions"));
    joined([Some(by), limit, checks].into_iter().flatten())
}

/// Numbers in runs: `0-3, 6`.
pub(super) fn indexes(indexes: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => runs.push((index, index)),
        }
    }
    let show = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.into_iter().map(show).collect::<Vec<_>>().join(", ")
}

fn named(map: &BTreeMap<String, Vec<u32>>, what: &str) -> Option<String> {
    let mut parts = map.iter().map(|(name, list)| format!("{name}: {what} {}", indexes(list)));
    let first = parts.next()?;
    Some(parts.fold(first, |text, part| format!("{text}; {part}")))
}

/// The settings of a sharing mode.
pub(super) fn mode_settings(mode: &SharingMode) -> Option<String> {
    match mode {
        SharingMode::WholeGpu(whole) => named(&whole.gpus, "GPU"),
        SharingMode::Mig(layouts) => {
            let layout = |layout: &cotenant_core::site::MigGpu| {
                let instances = layout.instances.iter().map(|instance| {
                    let placement =
                        instance.placement.map_or(String::new(), |start| format!(" at {start}"));
                    let owner = instance
                        .workload
                        .as_ref()
                        .map_or(String::new(), |name| format!(" for {name}"));
                    format!("{}{placement}{owner}", instance.profile)
                });
                let instances: Vec<String> = instances.collect();
                format!("GPU {}: {}", indexes(&layout.gpus), instances.join(" + "))
            };
            joined(layouts.iter().map(layout))
        }
        SharingMode::Mps(mode) => mps(mode),
        SharingMode::TimeSlicing(slicing) => time_slicing(slicing),
        SharingMode::Temporal(windows) => joined(windows.iter().map(|window| {
            let gpus = if window.gpus.is_empty() {
                "all GPUs".to_owned()
            } else {
                format!("GPU {}", indexes(&window.gpus))
            };
            format!("{}: {} ({gpus})", window.when, window.workload)
        })),
        SharingMode::HostCpu(host) => {
            let priority = match host.neighbour_priority {
                NeighbourPriority::Normal => "neighbour at normal priority".to_owned(),
                NeighbourPriority::Idle => "neighbour at idle priority".to_owned(),
                NeighbourPriority::Nice(value) => format!("neighbour at nice {value}"),
            };
            Some(match named(&host.affinity, "cores") {
                Some(affinity) => format!("{priority}; {affinity}"),
                None => priority,
            })
        }
        SharingMode::CandidatesAll => Some("all that the GPU allows".to_owned()),
    }
}

fn time_slicing(slicing: &TimeSlicing) -> Option<String> {
    let booked = slicing.booked.iter().map(|(name, share)| format!("{name} {share}"));
    let parts = [
        named(&slicing.gpus, "GPU"),
        joined(booked).map(|booked| format!("booked: {booked}")),
        amounts([
            ("replicas", show(slicing.replicas.as_ref())),
            ("slice", slicing.slice.map(slice)),
        ]),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn slice(period: SlicePeriod) -> String {
    match period {
        SlicePeriod::Time(duration) => format_duration(duration),
        named => SlicePeriod::NAMED
            .into_iter()
            .find(|(period, _)| *period == named)
            .map_or(String::new(), |(_, name)| name.to_owned()),
    }
}

fn mps(mode: &MpsMode) -> Option<String> {
    let with_memory = |name: &String, amount: String, limits: &BTreeMap<String, Bytes>| {
        let memory = limits.get(name).map_or(String::new(), |memory| format!(", memory {memory}"));
        format!("{name} {amount}{memory}")
    };
    match mode {
        MpsMode::Default { percentages, memory_limits } => {
            let mut names: Vec<&String> = percentages.keys().chain(memory_limits.keys()).collect();
            names.sort();
            names.dedup();
            let clients = names.into_iter().map(|name| {
                let amount =
                    percentages.get(name).map_or("no limit".to_owned(), ToString::to_string);
                with_memory(name, amount, memory_limits)
            });
            Some(joined(clients).unwrap_or_else(|| "default, no limits".to_owned()))
        }
        MpsMode::Static { partitions, memory_limits } => joined(
            partitions
                .iter()
                .map(|(name, chunks)| with_memory(name, format!("{chunks} chunks"), memory_limits)),
        ),
    }
}
