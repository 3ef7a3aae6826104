//! How fast the pool is: the baseline of Kueue's performance runner, which is five cohorts of six
//! queues with 500 workloads each. Build it with
//! `cargo build --release -p cotenant-core --example pool_speed` and run
//! `target/release/examples/pool_speed`; it counts its CPU seconds and its memory itself.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(
    clippy::disallowed_methods,
    reason = "it reads its own CPU time and memory; the crate itself reads no file"
)]

use std::error::Error;
use std::fs;

use cotenant_core::sim::pool::{
    Flavour, Packing, PoolSpec, QueueSpec, Quota, Reclaim, Strategy, Within, Workload, simulate,
};
use cotenant_core::units::Picoseconds;

const COHORTS: u16 = 5;
const QUEUES_OF_A_COHORT: u16 = 6;
const MILLISECOND: Picoseconds = Picoseconds(1_000_000_000);

/// Workloads of one size: how many in each queue, how long apart, how long they run, in milliseconds,
/// their priority and the GPUs that they ask for.
const SIZES: [(u64, u64, u64, i32, u32); 3] =
    [(350, 100, 200, 50, 1), (100, 500, 500, 100, 5), (50, 1200, 1000, 200, 20)];

fn main() -> Result<(), Box<dyn Error>> {
    let spec = pool();
    let workloads = workloads();
    let (began_s, mut runs) = (cpu_s()?, 0_u32);
    // What is short is repeated until a second is full.
    let (cpu, outcome) = loop {
        let outcome = simulate(&spec, &workloads)?;
        runs += 1;
        let cpu = cpu_s()? - began_s;
        if cpu >= 1.0 {
            break (cpu / f64::from(runs), outcome);
        }
    };
    println!("{} of {} workloads finished", outcome.all.finished, workloads.len());
    println!("{:.1} simulated seconds", outcome.end.seconds());
    println!("{} preemptions, {} rounds of admission", outcome.all.preemptions, outcome.cycles);
    for (priority, tally) in &outcome.priorities {
        let wait_s = tally.quota_wait.mean_s().unwrap_or_default();
        println!("priority {priority}: {wait_s:.1} s mean wait for quota");
    }
    let load = fs::read_to_string("/proc/loadavg")?;
    println!("load average {}", load.split(' ').next().unwrap_or_default());
    println!("{cpu:.4} CPU seconds, mean of {runs} runs");
    println!("{} MiB of memory at most", peak_kib()? / 1024);
    Ok(())
}

fn pool() -> PoolSpec {
    let queue = |number: u16| QueueSpec {
        name: format!("queue {number}"),
        cohort: Some(number / QUEUES_OF_A_COHORT),
        strategy: Strategy::BestEffortFifo,
        reclaim: Reclaim::Any,
        within: Within::LowerPriority,
        quotas: vec![Quota { nominal: 20, borrowing_limit: Some(100), lending_limit: None }],
    };
    PoolSpec {
        flavours: vec![Flavour { name: "one".to_owned(), nodes: Vec::new() }],
        queues: (0..COHORTS * QUEUES_OF_A_COHORT).map(queue).collect(),
        packing: Packing::BestFit,
        exit: Picoseconds::ZERO,
        placement_timeout: None,
        until: Picoseconds::SECOND * 100_000,
    }
}

fn workloads() -> Vec<Workload> {
    let mut workloads = Vec::new();
    for queue in 0..COHORTS * QUEUES_OF_A_COHORT {
        for (count, apart_ms, work_ms, priority, gpus) in SIZES {
            for nth in 0..count {
                workloads.push(Workload {
                    id: workloads.len() as u64,
                    queue,
                    flavour: 0,
                    priority,
                    at: MILLISECOND * apart_ms * nth,
                    pods: 1,
                    gpus_per_pod: gpus,
                    start: Picoseconds::ZERO,
                    work: MILLISECOND * work_ms,
                    checkpoint: None,
                    deadline: None,
                });
            }
        }
    }
    workloads
}

/// CPU time of this process, seconds.
fn cpu_s() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

/// The most memory that it held, KiB.
fn peak_kib() -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    Ok(line.split_whitespace().nth(1).unwrap_or_default().parse()?)
}
