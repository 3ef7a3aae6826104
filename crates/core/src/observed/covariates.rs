//! What was read beside the tests, condition by condition and phase by phase: its mean and its 95th
//! percentile, or the reason why there is none.

use std::collections::BTreeSet;

use crate::evidence::{Block, Condition, GpuSample, HostSample, Missing, Phase, Pressure, Reading};

/// The time that one reading of rates speaks of, nanoseconds.
const READING_NS: u64 = 1_000_000_000;

/// Blocks whose readings belong together, and which of their readings.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// What ran.
    pub condition: Condition,
    /// Whether a remedy was under test.
    pub with_remedy: bool,
    /// Readings while a checkpoint was written, or those of all other time. Where no checkpoint was
    /// written in any block of the condition, all readings are [`Phase::Steady`].
    pub phase: Phase,
    /// The blocks.
    pub blocks: Vec<&'a Block>,
    /// Name of the inference workload.
    pub inference: &'a str,
    /// Name of the neighbour.
    pub neighbour: &'a str,
}

impl Group<'_> {
    /// The letter of the test, with a prime under a remedy, and the phase where it is not the
    /// ordinary one: "C", "C, saving".
    pub fn label(&self) -> String {
        let prime = if self.with_remedy && self.condition == Condition::C { "′" } else { "" };
        let saving = if self.phase == Phase::Checkpoint { ", saving" } else { "" };
        format!("{}{prime}{saving}", self.condition.letter())
    }

    /// Whether an instant of a block is one of this group's.
    fn holds(&self, block: &Block, at_ns: u64) -> bool {
        (block.judged_from_ns..block.judged_until_ns).contains(&at_ns)
            && is_saving(block, at_ns) == (self.phase == Phase::Checkpoint)
    }
}

/// Whether a checkpoint was written during the second that ends at an instant of a block.
pub fn is_saving(block: &Block, at_ns: u64) -> bool {
    block.checkpoints.iter().any(|checkpoint| {
        let began_ns =
            checkpoint.at_ns.saturating_sub((checkpoint.duration_s.max(0.0) * 1e9) as u64);
        began_ns < at_ns && checkpoint.at_ns > at_ns.saturating_sub(READING_NS)
    })
}

/// The groups that have a reading, in the order A, B, C, C′, each with its saving part behind it.
/// Every block comes with the names of its run's inference and neighbour.
pub fn groups<'a>(blocks: &[(&'a Block, &'a str, &'a str)]) -> Vec<Group<'a>> {
    let mut groups = Vec::new();
    for condition in [Condition::A, Condition::B, Condition::C] {
        for with_remedy in [false, true] {
            let of: Vec<_> = blocks
                .iter()
                .filter(|(block, ..)| {
                    let remedied = condition == Condition::C && block.plan.remedy.is_some();
                    block.plan.condition == condition && remedied == with_remedy
                })
                .collect();
            let Some((_, inference, neighbour)) = of.first().copied() else { continue };
            let blocks: Vec<&Block> = of.iter().map(|(block, ..)| *block).collect();
            let saved = blocks.iter().any(|block| {
                let mut instants = block.host.iter().map(|sample| sample.at_ns);
                let judged = block.judged_from_ns..block.judged_until_ns;
                instants.any(|at_ns| judged.contains(&at_ns) && is_saving(block, at_ns))
            });
            for phase in [Phase::Steady, Phase::Checkpoint] {
                if phase == Phase::Checkpoint && !saved {
                    continue;
                }
                let blocks = blocks.clone();
                groups.push(Group { condition, with_remedy, phase, blocks, inference, neighbour });
            }
        }
    }
    groups
}

/// Mean and 95th percentile of readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The 95th percentile, an order statistic.
    pub p95: f64,
    /// Readings.
    pub count: usize,
}

/// Mean and 95th percentile of the readings that there are; where there is none, the first reason.
pub fn spread_of(readings: impl IntoIterator<Item = Reading<f64>>) -> Reading<Spread> {
    let (mut values, mut reason) = (Vec::new(), None);
    for reading in readings {
        match reading {
            Ok(value) if value.is_finite() => values.push(value),
            Ok(_) => {}
            Err(missing) => reason = reason.or(Some(missing)),
        }
    }
    if values.is_empty() {
        return Err(reason.unwrap_or_else(|| Missing("no reading in the judged part".to_owned())));
    }
    let p95 = crate::stats::quantile(&values, 0.95)
        .map_err(|refusal| Missing(format!("no percentile: {refusal}")))?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Ok(Spread { mean, p95, count: values.len() })
}

/// The unit of a covariate, and how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingUnit {
    /// CPU cores.
    Cores,
    /// A share, 0 to 1.
    Share,
    /// A count.
    Count,
    /// MHz.
    Megahertz,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
}

/// One thing that was read, in every group.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariate {
    /// What it is.
    pub name: String,
    /// Its unit.
    pub unit: ReadingUnit,
    /// One entry a group.
    pub groups: Vec<Reading<Spread>>,
}

type HostReader = fn(&Group<'_>, &HostSample) -> Reading<f64>;
type GpuReader = fn(&GpuSample) -> Reading<f64>;

const HOST: [(&str, ReadingUnit, HostReader); 20] = [
    ("CPU of the whole machine", ReadingUnit::Cores, |_, s| s.machine_cpu_cores.clone()),
    ("CPU of inference", ReadingUnit::Cores, |g, s| of(&s.workload_cpu_cores, g.inference)),
    ("CPU of the neighbour", ReadingUnit::Cores, |g, s| of(&s.workload_cpu_cores, g.neighbour)),
    ("CPU of others", ReadingUnit::Cores, |_, s| s.foreign_cpu_cores()),
    ("CPU taken by the hypervisor", ReadingUnit::Cores, |_, s| s.steal_cores.clone()),
    ("CPU quota", ReadingUnit::Cores, |_, s| {
        let quota = s.cgroup_cpu.clone()?.quota_cores;
        quota.ok_or_else(|| Missing("no limit is set".to_owned()))
    }),
    ("throttled, share of periods", ReadingUnit::Share, |_, s| {
        s.cgroup_cpu.clone().map(|cpu| cpu.throttled_share)
    }),
    ("CPU pressure, some task waited", ReadingUnit::Share, |_, s| some(&s.pressure_cpu)),
    ("memory pressure, some task waited", ReadingUnit::Share, |_, s| some(&s.pressure_memory)),
    ("io pressure, some task waited", ReadingUnit::Share, |_, s| some(&s.pressure_io)),
    ("runnable tasks", ReadingUnit::Count, |_, s| s.run_queue.clone().map(f64::from)),
    ("CPU clock", ReadingUnit::Megahertz, |_, s| s.cpu_clock_mhz.clone()),
    ("memory of inference", ReadingUnit::Bytes, |g, s| {
        of(&s.workload_memory_bytes, g.inference).map(|bytes| bytes as f64)
    }),
    ("memory of the neighbour", ReadingUnit::Bytes, |g, s| {
        of(&s.workload_memory_bytes, g.neighbour).map(|bytes| bytes as f64)
    }),
    ("memory available", ReadingUnit::Bytes, |_, s| {
        s.memory_available_bytes.clone().map(|bytes| bytes as f64)
    }),
    ("dirty pages", ReadingUnit::Bytes, |_, s| s.dirty_bytes.clone().map(|bytes| bytes as f64)),
    ("disk reads", ReadingUnit::BytesPerSecond, |_, s| s.disk_read_bytes_per_s.clone()),
    ("disk writes", ReadingUnit::BytesPerSecond, |_, s| s.disk_write_bytes_per_s.clone()),
    ("network received", ReadingUnit::BytesPerSecond, |_, s| s.network_receive_bytes_per_s.clone()),
    ("network sent", ReadingUnit::BytesPerSecond, |_, s| s.network_transmit_bytes_per_s.clone()),
];

const GPU: [(&str, ReadingUnit, GpuReader); 8] = [
    ("GPU utilisation", ReadingUnit::Share, |s| s.utilization_share.clone()),
    ("GPU memory in use", ReadingUnit::Bytes, |s| {
        s.memory_used_bytes.clone().map(|bytes| bytes as f64)
    }),
    ("SM clock", ReadingUnit::Megahertz, |s| s.sm_clock_mhz.clone()),
    ("GPU memory clock", ReadingUnit::Megahertz, |s| s.memory_clock_mhz.clone()),
    ("GPU power", ReadingUnit::Watts, |s| s.power_w.clone()),
    ("GPU power limit", ReadingUnit::Watts, |s| s.power_limit_w.clone()),
    ("GPU temperature", ReadingUnit::Celsius, |s| s.temperature_c.clone()),
    ("clocks held down, share of readings", ReadingUnit::Share, |s| {
        s.clocks_limited_by.clone().map(|causes| f64::from(u8::from(!causes.is_empty())))
    }),
];

const ENGINE: [(&str, &str, ReadingUnit); 3] = [
    ("requests running in the engine", "running_requests", ReadingUnit::Count),
    ("requests waiting in the engine", "waiting_requests", ReadingUnit::Count),
    ("KV cache in use", "kv_use_share", ReadingUnit::Share),
];

/// A reading of one workload. One that does not run in a block has no reading there, which is not the
/// same as zero.
fn of<T: Clone>(readings: &[(String, Reading<T>)], name: &str) -> Reading<T> {
    readings.iter().find(|(workload, _)| workload == name).map_or_else(
        || Err(Missing("it did not run, or was not supervised".to_owned())),
        |(_, reading)| reading.clone(),
    )
}

fn some(pressure: &Reading<Pressure>) -> Reading<f64> {
    pressure.clone().map(|pressure| pressure.some_share)
}

/// Everything that was read, in the order host, GPUs (each by itself where there are several),
/// engine.
pub fn covariates(groups: &[Group<'_>]) -> Vec<Covariate> {
    let mut all: Vec<Covariate> = HOST
        .into_iter()
        .map(|(name, unit, read)| Covariate {
            name: name.to_owned(),
            unit,
            groups: groups.iter().map(|group| host(group, read)).collect(),
        })
        .collect();
    let uuids: BTreeSet<&str> = groups
        .iter()
        .flat_map(|group| &group.blocks)
        .flat_map(|block| &block.observed.gpus)
        .map(|sample| sample.uuid.as_str())
        .collect();
    if uuids.is_empty() {
        let none = || Err(Missing("no GPU was read".to_owned()));
        all.push(Covariate {
            name: "GPUs".to_owned(),
            unit: ReadingUnit::Count,
            groups: groups.iter().map(|_| none()).collect(),
        });
    }
    let several = uuids.len() > 1;
    for (name, unit, read) in GPU {
        for uuid in &uuids {
            let name = if several { format!("{name}, {}", short(uuid)) } else { name.to_owned() };
            let groups = groups.iter().map(|group| gpu(group, uuid, read)).collect();
            all.push(Covariate { name, unit, groups });
        }
    }
    all.extend(ENGINE.into_iter().map(|(name, metric, unit)| Covariate {
        name: name.to_owned(),
        unit,
        groups: groups.iter().map(|group| engine(group, metric)).collect(),
    }));
    all
}

/// The beginning of a UUID, enough to tell GPUs of a host apart.
fn short(uuid: &str) -> &str {
    let end = uuid.char_indices().nth(12).map_or(uuid.len(), |(end, _)| end);
    &uuid[..end]
}

fn host(group: &Group<'_>, read: HostReader) -> Reading<Spread> {
    spread_of(group.blocks.iter().flat_map(|block| {
        let samples = block.host.iter().filter(|sample| group.holds(block, sample.at_ns));
        samples.map(|sample| read(group, sample))
    }))
}

fn gpu(group: &Group<'_>, uuid: &str, read: GpuReader) -> Reading<Spread> {
    if group.blocks.iter().all(|block| block.observed.gpus.is_empty()) {
        return Err(Missing("no GPU was read".to_owned()));
    }
    spread_of(group.blocks.iter().flat_map(|block| {
        let samples = block.observed.gpus.iter();
        samples.filter(|sample| sample.uuid == uuid && group.holds(block, sample.at_ns)).map(read)
    }))
}

fn engine(group: &Group<'_>, metric: &str) -> Reading<Spread> {
    if group.condition == Condition::B {
        return Err(Missing("no load reaches an engine in test B".to_owned()));
    }
    let gauges: Vec<_> = group
        .blocks
        .iter()
        .filter_map(|block| Some((*block, block.observed.engine.as_ref()?.gauge(metric)?)))
        .collect();
    if gauges.is_empty() {
        let seen = group.blocks.iter().any(|block| block.observed.engine.is_some());
        let why = if seen { "the engine does not tell it" } else { "its metrics were not seen" };
        return Err(Missing(why.to_owned()));
    }
    spread_of(gauges.into_iter().flat_map(|(block, gauge)| {
        let readings = gauge.readings.iter().filter(|(at_ns, _)| group.holds(block, *at_ns));
        readings.map(|(_, value)| Ok(*value))
    }))
}
