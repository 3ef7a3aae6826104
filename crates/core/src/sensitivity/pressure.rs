//! How much a block presses on a resource, from what was read in it.

use crate::evidence::{Block, HostSample, Missing, Pressure, Reading, Stressor};

/// Mean of a reading over the judged part of a block.
fn mean(block: &Block, read: impl Fn(&HostSample) -> Reading<f64>) -> Reading<f64> {
    let judged = block.judged_from_ns..block.judged_until_ns;
    let mut values = Vec::new();
    let mut reason = None;
    for sample in block.host.iter().filter(|sample| judged.contains(&sample.at_ns)) {
        match read(sample) {
            Ok(value) if value.is_finite() => values.push(value),
            Ok(_) => {}
            Err(missing) => reason = reason.or(Some(missing)),
        }
    }
    if values.is_empty() {
        return Err(reason.unwrap_or_else(|| Missing("no host reading in the judged part".into())));
    }
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

/// Cores that a process group used.
pub(super) fn cores(block: &Block, name: &str) -> Reading<f64> {
    mean(block, |sample| {
        let found = sample.workload_cpu_cores.iter().find(|(workload, _)| workload == name);
        found.map_or_else(
            || Err(Missing(format!("the CPU of `{name}` was not seen"))),
            |(_, cores)| cores.clone(),
        )
    })
}

fn disk_writes(block: &Block) -> Reading<f64> {
    mean(block, |sample| sample.disk_write_bytes_per_s.clone())
}

fn disk_both(block: &Block) -> Reading<f64> {
    mean(block, |sample| {
        Ok(sample.disk_read_bytes_per_s.clone()? + sample.disk_write_bytes_per_s.clone()?)
    })
}

fn network(block: &Block) -> Reading<f64> {
    mean(block, |sample| {
        let received = sample.network_receive_bytes_per_s.clone()?;
        Ok(received + sample.network_transmit_bytes_per_s.clone()?)
    })
}

/// Share of time in which some task waited for a resource, where the kernel tells.
pub(super) fn stall_share(block: &Block, stressor: Stressor) -> Option<f64> {
    let read: fn(&HostSample) -> &Reading<Pressure> = match stressor {
        Stressor::Cpu => |sample| &sample.pressure_cpu,
        Stressor::DiskSync => |sample| &sample.pressure_io,
        Stressor::PageCache => |sample| &sample.pressure_memory,
        Stressor::MemoryBandwidth
        | Stressor::Network
        | Stressor::GpuCompute
        | Stressor::GpuMemory => return None,
    };
    let some = |sample: &HostSample| match read(sample) {
        Ok(pressure) => Ok(pressure.some_share),
        Err(missing) => Err(missing.clone()),
    };
    mean(block, some).ok()
}

/// Pressure of a stressor in its own block. The disk is read where the neighbour's writes are read
/// too, so that both are on one scale; the others by what the stressor counted.
pub(super) fn of_stressor(block: &Block, stressor: Stressor, reference: Reference) -> Option<f64> {
    let told = || {
        let record = block.observed.stress.as_ref()?;
        record.reached_within(block.judged_from_ns..block.judged_until_ns)
    };
    match stressor {
        Stressor::Cpu => cores(block, Stressor::PROCESS).ok().or_else(told),
        Stressor::DiskSync => match (disk_writes(block), reference.disk_writes) {
            (Ok(writes), Some(background)) => Some((writes - background).max(0.0)),
            _ => told(),
        },
        _ => told(),
    }
}

/// What the machine did with nothing stressed: it is taken off what the machine as a whole did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reference {
    disk_writes: Option<f64>,
    disk_both: Option<f64>,
    network: Option<f64>,
}

impl Reference {
    /// Means over the reference blocks.
    pub(super) fn of(blocks: &[&Block]) -> Self {
        let over = |read: fn(&Block) -> Reading<f64>| {
            let values: Vec<f64> = blocks.iter().filter_map(|block| read(block).ok()).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Self { disk_writes: over(disk_writes), disk_both: over(disk_both), network: over(network) }
    }
}

/// Pressure of the neighbour in a block of test B.
pub(super) fn of_neighbour(
    block: &Block,
    stressor: Stressor,
    neighbour: &str,
    reference: Reference,
) -> Reading<f64> {
    let above = |value: Reading<f64>, background: Option<f64>| {
        value.map(|value| (value - background.unwrap_or(0.0)).max(0.0))
    };
    match stressor {
        Stressor::Cpu => cores(block, neighbour),
        Stressor::DiskSync => above(disk_writes(block), reference.disk_writes),
        Stressor::PageCache => above(disk_both(block), reference.disk_both),
        Stressor::Network => above(network(block), reference.network),
        Stressor::MemoryBandwidth => {
            Err(Missing("no counter of memory bandwidth is read on this host".to_owned()))
        }
        Stressor::GpuCompute | Stressor::GpuMemory => {
            Err(Missing("no counter of what it does to the GPU is read".to_owned()))
        }
    }
}

/// What a neighbour's pressure is read from, in words.
pub(super) fn how(stressor: Stressor) -> &'static str {
    match stressor {
        Stressor::Cpu => "CPU time of its processes",
        Stressor::DiskSync => "bytes written to the host's disks, above what no load writes",
        Stressor::PageCache => {
            "a proxy: bytes read from and written to disks, which pass the page cache unless they \
             are opened to go around it"
        }
        Stressor::Network => {
            "a proxy: bytes on all interfaces but loopback, above what no load sends"
        }
        Stressor::MemoryBandwidth => {
            "a bound: its cores times what one core of the stressor moved, for no counter is read"
        }
        Stressor::GpuCompute | Stressor::GpuMemory => "not read",
    }
}
