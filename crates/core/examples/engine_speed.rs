//! How fast a serving engine is simulated, and in how much memory.
//!
//! `cargo run --release -p cotenant-core --example engine_speed conv|overload|day [TRACE.csv]`, the
//! trace by default the Azure conversation trace of 2023 in `$COTENANT_SHARED` or `../shared`.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made stops")]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures time, reads a file and takes arguments; the crate itself does none of it"
)]

use cotenant_core::perf::IntegerStep;
use cotenant_core::sim::Outcome;
use cotenant_core::sim::engine::{ReplicaSpec, Role, SimRequest};
use cotenant_core::sim::fleet::{Fleet, FleetSpec, Routing, Transfer};
use cotenant_core::units::Picoseconds;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Replicas for a day at 200 requests a second: 6.25 to each, as against 5.5 in the trace.
const DAY_REPLICAS: usize = 32;
const DAY_RATE_PER_S: f64 = 200.0;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scene = arguments.next().unwrap_or_else(|| "conv".into());
    let trace = read_trace(arguments.next());
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let replicas = match scene.as_str() {
        "conv" => 1,
        "overload" => 2,
        "day" => DAY_REPLICAS,
        other => panic!("no scene is called `{other}`: conv, overload or day"),
    };
    // The kernel counts CPU time in ticks of some milliseconds, so what is short is repeated.
    let (began, mut repeats) = (cpu_seconds(), 0);
    let (seconds, outcome) = loop {
        let outcome = match scene.as_str() {
            "conv" => serve(replicas, trace.iter().copied()),
            "overload" => serve(replicas, eight_copies(&trace).into_iter()),
            _ => serve(replicas, day(&trace)),
        };
        repeats += 1;
        let seconds = cpu_seconds() - began;
        if seconds >= 1.0 {
            break (seconds / f64::from(repeats), outcome);
        }
    };
    println!(
        "{scene}: {} requests on {replicas} replicas, {} passes in {} runs; CPU {seconds:.4} s \
         (mean of {repeats}), peak {} MiB; load average {}",
        outcome.arrived,
        outcome.passes,
        outcome.runs,
        memory_mib(),
        load.split(' ').next().unwrap_or("unknown"),
    );
    let quantiles = |histogram: &cotenant_core::sim::Histogram| {
        let at = |share| histogram.quantile(share).and_then(|bounds| bounds.at_most_s).unwrap();
        format!("mean {:.4} p50 {:.4} p99 {:.4} s", histogram.mean_s().unwrap(), at(0.5), at(0.99))
    };
    println!("  ttft {}", quantiles(&outcome.ttft));
    println!("  itl  {}", quantiles(&outcome.itl));
    println!("  e2e  {}", quantiles(&outcome.e2e));
    println!(
        "  busy {:.1} %, batch {:.1}, {} output tokens, {} preemptions, {} refused, {} unfinished",
        100.0 * outcome.busy_share(replicas as u64).unwrap(),
        outcome.batch_mean().unwrap(),
        outcome.output_tokens,
        outcome.preemptions,
        outcome.refused(),
        outcome.unfinished(),
    );
}

/// An 8B on an H100: 6.0 ms + 0.03 ms for each sequence + 40 ns for each KV token, and 0.06 ms for
/// each prompt token; a pass of more than 100 tokens waits for its arithmetic instead of the weights.
fn replica() -> ReplicaSpec {
    let microseconds = |count: u64| Picoseconds(count * 1_000_000);
    ReplicaSpec {
        step: IntegerStep {
            weights: microseconds(6_000),
            per_token: microseconds(60),
            per_sequence: microseconds(30),
            per_kv_token: Picoseconds(40_000),
            ..IntegerStep::default()
        },
        kv_blocks: 27_000,
        block_tokens: 16,
        sequences_max: 256,
        batched_tokens_max: 2_048,
        requests_max: None,
        prefix_cache: false,
        role: Role::Both,
    }
}

fn serve(replicas: usize, requests: impl Iterator<Item = SimRequest>) -> Outcome {
    let spec = FleetSpec {
        replicas: vec![replica(); replicas],
        routing: Routing::RoundRobin,
        transfer: Transfer::default(),
    };
    let mut outcome = Outcome::default();
    Fleet::new(&spec).unwrap().serve(requests, &mut outcome);
    outcome
}

/// Eight copies, each a tenth of a second behind the one before.
fn eight_copies(trace: &[SimRequest]) -> Vec<SimRequest> {
    let mut requests: Vec<SimRequest> = (0..8_u64)
        .flat_map(|copy| {
            trace.iter().map(move |request| SimRequest {
                at: request.at + Picoseconds(copy * 100_000_000_000),
                ..*request
            })
        })
        .collect();
    requests.sort_by_key(|request| request.at);
    requests
}

/// A day of a Poisson process with the lengths of the trace, in any order.
fn day(trace: &[SimRequest]) -> impl Iterator<Item = SimRequest> {
    let mut random = Pcg64::seed_from_u64(1);
    let mut at_s = 0.0;
    (0..).map_while(move |id| {
        at_s -= (1.0 - random.random::<f64>()).ln() / DAY_RATE_PER_S;
        let lengths = trace[random.random_range(0..trace.len())];
        (at_s < 86_400.0).then(|| SimRequest { id, at: Picoseconds::from_seconds(at_s), ..lengths })
    })
}

fn read_trace(path: Option<String>) -> Vec<SimRequest> {
    let path = path.unwrap_or_else(|| {
        let shared = std::env::var("COTENANT_SHARED").unwrap_or_else(|_| "../shared".into());
        format!("{shared}/data/1-llm-traces/azure2023/AzureLLMInferenceTrace_conv.csv")
    });
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let rows: Vec<(f64, u32, u32)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let mut fields = line.trim_end().split(',');
            let mut field = || fields.next().unwrap();
            (second_of_day(field()), field().parse().unwrap(), field().parse().unwrap())
        })
        .collect();
    let start = rows[0].0;
    rows.into_iter()
        .enumerate()
        .map(|(id, (at_s, prompt_tokens, output_tokens))| SimRequest {
            id: id as u64,
            at: Picoseconds::from_seconds(at_s - start),
            prompt_tokens,
            output_tokens,
            class: 0,
            prefix: None,
        })
        .collect()
}

/// The trace lies within one day.
fn second_of_day(text: &str) -> f64 {
    let clock = text.split(' ').nth(1).unwrap();
    clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}

/// CPU time of this process, seconds.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// The most memory that it held, MiB.
fn memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
