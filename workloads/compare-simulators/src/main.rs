//! aisimulate-core's vLLM mode on the scenes of Cotenant's `engine_speed`: how fast, in how much memory,
//! and what it says of the latencies.
//!
//! `compare-simulators conv|overload TRACE.csv`, the trace being the Azure conversation trace of 2023.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aisimulate_core::engine::{Backend, EngineConfig, TimingModel};
use aisimulate_core::replay::{
    ReplayAdapters, ReplayEngineConfig, ReplayReport, ReplayRequest, ReplaySpec, ReplayTopology,
    TraceDistributionStats, run_engine_replay_with_timing,
};
use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, path] = arguments.as_slice() else {
        bail!("usage: compare-simulators conv|overload TRACE.csv");
    };
    let trace = read_trace(path)?;
    let (workers, arrivals) = match scene.as_str() {
        "conv" => (1, trace),
        "overload" => (2, eight_copies(&trace)),
        other => bail!("no scene is called `{other}`: conv or overload"),
    };
    let spec = spec(workers, &arrivals)?;
    let step = Arc::new(Step::default());
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let began = cpu_seconds()?;
    let report = run_engine_replay_with_timing(spec, step.clone())?;
    let seconds = cpu_seconds()? - began;
    println!(
        "{scene}: {} requests on {workers} workers, {} passes; CPU {seconds:.2} s, peak {} MiB; \
         load average {}",
        report.request_counts.num_requests,
        step.passes.load(Ordering::Relaxed),
        memory_mib()?,
        load.split(' ').next().unwrap_or("unknown"),
    );
    print_latencies(&report);
    let told = step.prompt_tokens_in_all.load(Ordering::Relaxed);
    let computed = report.committed_prefill_tokens;
    println!("  {computed} prompt tokens computed, of which {told} were told to the step");
    Ok(())
}

fn print_latencies(report: &ReplayReport) {
    let print = |name: &str, of: &TraceDistributionStats| {
        let [mean, p50, p99] = [of.mean_ms, of.median_ms, of.p99_ms].map(|ms| ms / 1000.0);
        println!("  {name} mean {mean:.4} p50 {p50:.4} p99 {p99:.4} s");
    };
    print("ttft", &report.latency.ttft);
    print("itl ", &report.latency.itl.distribution);
    print("e2e ", &report.latency.e2e);
    println!(
        "  {} completed, {} output tokens",
        report.request_counts.completed_requests, report.request_counts.total_output_tokens,
    );
}

/// The step of `engine_speed`: 6.0 ms or 0.06 ms for each token in the pass, whichever is more, 0.03 ms
/// for each decoding sequence and 40 ns for each KV token.
///
/// A pass asks for its prompts first and for its decoding sequences then, and adds the two. For the sum to
/// be the step, what the prompts were charged is remembered until then, and taken off. A pass that decodes
/// nothing asks only once: what is remembered of it ends with the next prompts, which follow in the same
/// worker's next pass. With two workers the other's pass may come between, and is then up to 6 ms short.
#[derive(Debug, Default)]
struct Step {
    prompt_tokens: AtomicU64,
    prompt_tokens_in_all: AtomicU64,
    passes: AtomicU64,
}

/// Milliseconds for the weights or the arithmetic.
fn linear_layers_ms(tokens: u64) -> f64 {
    if tokens == 0 { 0.0 } else { (0.06 * tokens as f64).max(6.0) }
}

impl TimingModel for Step {
    // Neither fails, and saying so spares the simulator copies of its state.
    fn prefill_batch_validation_can_fail(&self) -> bool {
        false
    }

    fn prefill_prediction_can_fail(&self) -> bool {
        false
    }

    fn predict_prefill_ms(&self, prompts: usize, mean: usize, prefix: usize) -> Result<f64> {
        // Means are rounded down, so with several prompts some tokens may be missing: fewer than prompts.
        let tokens = (prompts * mean.saturating_sub(prefix)) as u64;
        self.prompt_tokens.store(tokens, Ordering::Relaxed);
        self.prompt_tokens_in_all.fetch_add(tokens, Ordering::Relaxed);
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(linear_layers_ms(tokens))
    }

    fn predict_decode_ms(&self, batch: usize, kv: usize, _: usize, _: usize) -> Result<f64> {
        let prompt_tokens = self.prompt_tokens.swap(0, Ordering::Relaxed);
        if prompt_tokens == 0 {
            self.passes.fetch_add(1, Ordering::Relaxed);
        }
        let together = linear_layers_ms(prompt_tokens + batch as u64);
        // The token that each sequence puts into the cache in this pass is counted already.
        let kv_before = kv.saturating_sub(batch) as f64;
        Ok(together - linear_layers_ms(prompt_tokens) + 0.03 * batch as f64 + 4e-5 * kv_before)
    }
}

fn spec(workers: usize, arrivals: &[Arrival]) -> Result<ReplaySpec> {
    let engine = ReplayEngineConfig {
        rank: EngineConfig {
            num_gpu_blocks: 27_000,
            block_size: 16,
            max_num_seqs: 256,
            max_num_batched_tokens: 2_048,
            enable_prefix_caching: false,
            ..EngineConfig::for_backend(Backend::Vllm)
        },
        ..ReplayEngineConfig::default()
    };
    let requests = arrivals.iter().enumerate().map(|(id, arrival)| ReplayRequest {
        id: id.to_string(),
        arrival_time_ms: arrival.at_ns as f64 / 1e6,
        input_tokens: arrival.prompt_tokens,
        input_token_ids: None,
        output_tokens: arrival.output_tokens,
        output_token_ids: None,
        dp_rank: None,
        prefill_dp_rank: None,
        session_id: None,
        turn_index: None,
        metadata: serde_json::Value::Null,
    });
    Ok(ReplaySpec {
        version: 1,
        topology: ReplayTopology::aggregated(workers),
        engine: serde_json::to_value(engine)?,
        adapters: ReplayAdapters::default(),
        max_sim_time_ms: None,
        max_in_flight: None,
        record_per_request: false,
        sla: Default::default(),
        requests: requests.collect(),
    })
}

/// A request of the trace.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// Nanoseconds since the first.
    at_ns: u64,
    prompt_tokens: usize,
    output_tokens: usize,
}

/// Eight copies, each a tenth of a second behind the one before.
fn eight_copies(trace: &[Arrival]) -> Vec<Arrival> {
    let copy = |number: u64| {
        let late = move |one: &Arrival| Arrival { at_ns: one.at_ns + number * 100_000_000, ..*one };
        trace.iter().map(late)
    };
    let mut arrivals: Vec<Arrival> = (0..8).flat_map(copy).collect();
    arrivals.sort_by_key(|arrival| arrival.at_ns);
    arrivals
}

fn read_trace(path: &str) -> Result<Vec<Arrival>> {
    let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    let mut arrivals = Vec::new();
    let mut start_s = None;
    for (index, line) in text.lines().enumerate().skip(1) {
        let (at_s, prompt_tokens, output_tokens) =
            row(line).with_context(|| format!("{path}:{}: not a row of the trace", index + 1))?;
        let at_ns = ((at_s - *start_s.get_or_insert(at_s)) * 1e9).round() as u64;
        arrivals.push(Arrival { at_ns, prompt_tokens, output_tokens });
    }
    Ok(arrivals)
}

/// The second of the day, in which the whole trace lies, and the lengths.
fn row(line: &str) -> Option<(f64, usize, usize)> {
    let mut fields = line.trim_end().split(',');
    let clock = fields.next()?.split(' ').nth(1)?;
    let mut second = 0.0;
    for part in clock.split(':') {
        second = second * 60.0 + part.parse::<f64>().ok()?;
    }
    Some((second, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// CPU time of this process with all its threads, seconds.
fn cpu_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // The name may hold spaces; behind its bracket user and system time are the 12th and 13th field, in
    // ticks, of which Linux tells programs 100 a second.
    let fields = text.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(2);
    let ticks: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

/// The most memory that it held, MiB.
fn memory_mib() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).context("no VmHWM")?;
    Ok(kib.parse::<u64>()? / 1024)
}
