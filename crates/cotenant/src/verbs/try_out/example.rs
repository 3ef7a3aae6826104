//! The example site that `try` writes.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use cotenant_probe::host::facts;
use cotenant_probe::trace::{self, ReadOptions};

use super::own_path;
use crate::exit::Failure;
use crate::verbs::session::Piloted;

/// The file that marks a folder as made by `try`.
pub(super) const MARKER: &str = ".cotenant-try";
/// What `try` makes in its folder.
pub(super) const OWN: [&str; 8] = [
    "site.yaml",
    "trace.csv",
    "evidence",
    "logs",
    "checkpoints",
    "report.html",
    "report.json",
    MARKER,
];

/// The share of the time that one request at a time would keep the engine busy: low enough that a
/// client on the same cores stays on time, high enough that waiting is seen.
const LOAD: f64 = 0.8;
/// The objective of time to first token: this many times what the pilot saw alone.
const TTFT_FACTOR: f64 = 1.6;
/// The objective of the whole answer: this many times what the pilot saw alone.
const E2E_FACTOR: f64 = 1.8;
/// The objective of the step: this many times what the pilot saw.
const STEP_FACTOR: f64 = 6.0;
/// Tokens of the prompts and answers that are asked without a trace: p50 and p95.
const PROMPT: (u32, u32) = (64, 128);
const OUTPUT: (u32, u32) = (12, 20);
/// Threads of the trainer for each usable core. A trainer brings workers beside its compute threads,
/// and where threads share cores it is their number that divides them.
const TRAINER_THREADS_PER_CORE: u32 = 2;
/// Steps of the example job.
const STEPS: u64 = 20_000;
/// Steps between two checkpoints.
const CHECKPOINT_EVERY: u64 = 5;

/// The load of the example.
#[derive(Clone, Debug)]
pub(super) enum Load {
    Poisson { rate: f64 },
    Trace { rows: usize, from: String, rate: f64, rate_factor: f64, length_factor: f64 },
}

impl Load {
    /// Arrivals at random, at a rate that one request alone says the machine can carry.
    pub(super) fn poisson(service_s: f64) -> Self {
        Self::Poisson { rate: round(LOAD / service_s) }
    }

    /// A trace scaled to the machine: lengths shrunk to what the example's prompts are, times so
    /// that its mean rate is the machine's. The scaled trace is written beside the site file.
    pub(super) fn trace(path: &Path, out: &Path, service_s: f64) -> Result<Self, Failure> {
        let trace = trace::read_file(path, &ReadOptions { format: None, sort: false })
            .map_err(Failure::input)?;
        let span_s = trace.span().as_secs_f64();
        if trace.requests.len() < 100 || span_s <= 0.0 {
            return Err(Failure::input(format!(
                "{} holds {} requests over {span_s:.0} s: too few to replay",
                path.display(),
                trace.requests.len()
            )));
        }
        let mean = |tokens: fn(&trace::TraceRequest) -> u32| {
            trace.requests.iter().map(|request| f64::from(tokens(request))).sum::<f64>()
                / trace.requests.len() as f64
        };
        // One factor for both keeps the trace's own mix of reading and writing.
        let length_factor = (f64::from(PROMPT.0) / mean(|request| request.prompt_tokens))
            .min(f64::from(OUTPUT.0) / mean(|request| request.output_tokens))
            .min(1.0);
        let rate = round(LOAD / service_s);
        let rate_factor = rate / (trace.requests.len() as f64 / span_s);
        let mut text = String::from("time_s,prompt_tokens,output_tokens\n");
        let scaled = |tokens: u32, most: u32| {
            ((f64::from(tokens) * length_factor).round() as u32).clamp(1, most)
        };
        for request in &trace.requests {
            let _ = writeln!(
                text,
                "{:.6},{},{}",
                request.at.as_secs_f64() / rate_factor,
                scaled(request.prompt_tokens, 4 * PROMPT.1),
                scaled(request.output_tokens, 4 * OUTPUT.1)
            );
        }
        let file = out.join("trace.csv");
        fs::write(&file, text)
            .map_err(|error| Failure::world(format!("cannot write {}: {error}", file.display())))?;
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Ok(Self::Trace { rows: trace.requests.len(), from: name, rate, rate_factor, length_factor })
    }

    /// The load in words.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Poisson { rate } => format!(
                "{rate} requests a second at random (Poisson), prompts of {} to {} tokens, answers \
                 of {} to {}",
                PROMPT.0, PROMPT.1, OUTPUT.0, OUTPUT.1
            ),
            Self::Trace { rows, from, rate, rate_factor, length_factor } => format!(
                "{rows} requests of {from}, {rate_factor:.3} times as fast ({rate} requests a \
                 second) and {length_factor:.4} times as long, so that they suit this machine"
            ),
        }
    }
}

/// The example site.
#[derive(Clone, Debug)]
pub(super) struct Example {
    program: String,
    port: u16,
    /// Threads of the engine: all usable cores.
    threads: u32,
    pub(super) load: Load,
    /// TTFT p95, E2E p95 and mean step, seconds: pilot and objective.
    objectives: Option<Objectives>,
}

/// All in seconds.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "the unit stands last in every name")]
struct Objectives {
    ttft_pilot_s: f64,
    ttft_s: f64,
    e2e_pilot_s: f64,
    e2e_s: f64,
    step_pilot_s: f64,
    step_s: f64,
}

impl Example {
    /// An example on a port that is free now.
    pub(super) fn new() -> Result<Self, Failure> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .map_err(|error| Failure::world(format!("no free port on 127.0.0.1: {error}")))?
            .port();
        let cores = facts().cores_usable.map_or(2, |cores| cores.count);
        Ok(Self {
            program: own_path()?.display().to_string(),
            port,
            threads: cores,
            load: Load::Poisson { rate: 2.0 },
            objectives: None,
        })
    }

    /// Sets the objectives to factors of what the pilot saw.
    pub(super) fn set_objectives(&mut self, pilot: &Piloted) -> Result<(), String> {
        let no_answer = "the pilot saw no answer to a request: see the logs";
        let ttft_pilot_s = pilot.record.ttft_p95_s.ok_or(no_answer)?;
        let e2e_pilot_s = pilot.e2e_p95_s.ok_or(no_answer)?;
        let step_pilot_s =
            pilot.record.step_s.ok_or("the pilot saw no training step: see the logs")?;
        self.objectives = Some(Objectives {
            ttft_pilot_s,
            ttft_s: round(TTFT_FACTOR * ttft_pilot_s),
            e2e_pilot_s,
            e2e_s: round(E2E_FACTOR * e2e_pilot_s),
            step_pilot_s,
            step_s: round(STEP_FACTOR * step_pilot_s),
        });
        Ok(())
    }

    /// The objectives in words.
    pub(super) fn objectives_sentence(&self) -> String {
        match self.objectives {
            None => String::new(),
            Some(o) => format!(
                "EXAMPLE OBJECTIVES: first token (TTFT p95) within {:.0} ms, {TTFT_FACTOR} × the \
                 {:.0} ms seen alone; whole answer (E2E p95) within {:.0} ms, {E2E_FACTOR} × the \
                 {:.0} ms seen alone; mean step within {:.0} ms, {STEP_FACTOR} × the {:.0} ms seen \
                 alone",
                o.ttft_s * 1e3,
                o.ttft_pilot_s * 1e3,
                o.e2e_s * 1e3,
                o.e2e_pilot_s * 1e3,
                o.step_s * 1e3,
                o.step_pilot_s * 1e3
            ),
        }
    }

    /// What narrows the meaning of the page.
    pub(super) fn notes(&self) -> Vec<String> {
        vec![self.objectives_sentence(), format!("The load is {}.", self.load.sentence())]
    }

    /// The site file.
    pub(super) fn yaml(&self) -> String {
        let Self { program, port, threads, .. } = self;
        let trainer_threads = threads * TRAINER_THREADS_PER_CORE;
        let program = serde_json::Value::String(program.clone());
        let (prompt, output) = match &self.load {
            Load::Poisson { .. } => (Some(PROMPT), Some(OUTPUT)),
            Load::Trace { .. } => (None, None),
        };
        let demand = match &self.load {
            Load::Poisson { rate } => format!("{{ poisson: {{ rate: {rate} req/s }} }}"),
            Load::Trace { .. } => "{ trace: { file: trace.csv, format: csv } }".to_owned(),
        };
        let counts = |name: &str, counts: Option<(u32, u32)>| {
            counts.map_or_else(String::new, |(p50, p95)| {
                format!("      {name}: {{ p50: {p50}, p95: {p95} }}\n")
            })
        };
        let lengths = counts("prompt_tokens", prompt) + &counts("output_tokens", output);
        let (head, ttft, e2e, step) = match self.objectives {
            None => (
                "# Written before the pilot: the objectives are not set yet.\n".to_owned(),
                "60 s".to_owned(),
                "60 s".to_owned(),
                "60 s".to_owned(),
            ),
            Some(o) => (
                format!(
                    "# EXAMPLE OBJECTIVES, set by `cotenant try` to factors of what a short pilot \
                     saw on this machine:\n#   TTFT p95  {TTFT_FACTOR} × {:.1} ms\n#   E2E p95   \
                     {E2E_FACTOR} × {:.1} ms\n#   step      {STEP_FACTOR} × {:.1} ms\n# Put your own in their place: an objective says \
                     what your users need, not what a machine does.\n",
                    o.ttft_pilot_s * 1e3,
                    o.e2e_pilot_s * 1e3,
                    o.step_pilot_s * 1e3
                ),
                format!("{:.1} ms", o.ttft_s * 1e3),
                format!("{:.1} ms", o.e2e_s * 1e3),
                format!("{:.1} ms", o.step_s * 1e3),
            ),
        };
        format!(
            r#"{head}# On a CPU this demonstrates the method; no GPU claim comes of it.
name: cotenant-try
time_zone: UTC
kind: server
server: {{ gpu: none, gpu_count: 0 }}

workloads:
  - name: chat                     # a small transformer behind an OpenAI-compatible server
    model: {{ name: cotenant-example }}
    inference:
      runtime: cotenant-engine
      endpoint: http://127.0.0.1:{port}
      metrics: http://127.0.0.1:{port}/metrics
      launch:
        argv: [{program}, engine, serve, --model-size, small, --threads, "{threads}",
               --port, "{port}", --served-model-name, cotenant-example]
        ready: {{ path: /health, time_limit: 60 s }}
      demand: {demand}
{lengths}      objectives:
        ttft_p95: {ttft}
        e2e_p95: {e2e}

  - name: tune                     # the same architecture, trained on synthetic text
    training:
      launch:
        argv: [{program}, engine, train, --model-size, tiny, --threads, "{trainer_threads}", --batch, "4",
               --sequence, "128",
               --steps, "{STEPS}", --checkpoint-dir, checkpoints,
               --checkpoint-every, "{CHECKPOINT_EVERY}", --resume]
        ready: {{ time_limit: 60 s }}
      log: {{ format: cotenant }}
      steps: {STEPS}
      objectives:
        step_time_max: {step}
      checkpoint: {{ interval: {CHECKPOINT_EVERY} steps, signal: USR1 }}
      preemption: {{ allowed: true, signal: TERM, notice: 10 s, failure_share_max: 60 % }}

sharing:
  mode: {{ host_cpu: {{ neighbour_priority: normal }} }}

operations:
  failure_domain: {{ accepted: true, accepted_by: example }}
  change_cycle:
    chat: {{ reboot: 30 d }}
    tune: {{ reboot: 30 d }}
  maintenance: {{ accepted_by: example }}
  isolation:
    chat: [faults]
"#
        )
    }
}

/// Rounds to three significant digits: numbers that people read and type.
fn round(value: f64) -> f64 {
    let scale = 10_f64.powf(2.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}
