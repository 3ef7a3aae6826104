//! Site files: small ones for the surface, and one whose workloads this binary is itself.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use super::process::Process;

/// A site without anything to run: nothing listens at its endpoint.
pub(crate) const PLAIN: &str = "\
name: plain
time_zone: UTC
server: { gpu: none, gpu_count: 0 }
workloads:
  - name: chat
    inference:
      endpoint: http://127.0.0.1:9
      demand: { poisson: { rate: 2 req/s } }
      prompt_tokens: { p50: 20, p95: 40 }
      output_tokens: { p50: 4, p95: 8 }
      objectives: { ttft_p95: 500 ms }
  - name: tune
    training:
      launch: { argv: [sh, -c, \"exit 7\"] }
      log: { format: cotenant }
      objectives: { step_time_max: 2 s }
sharing: { mode: host_cpu }
";

/// The least time and the shortest blocks of a run, for `measure`.
pub(crate) const SHORT: [&str; 6] =
    ["--minutes", "1.2", "--block-seconds", "1", "--pilot-seconds", "2"];

/// A folder with a site whose engine and trainer are the embedded ones, small enough that a block of
/// one second holds several requests and several steps.
pub(crate) fn embedded(folder: &Path) -> PathBuf {
    let port = free_port();
    let program = serde_json::Value::from(env!("CARGO_BIN_EXE_cotenant")).to_string();
    let text = format!(
        r#"name: embedded
time_zone: UTC
server: {{ gpu: none, gpu_count: 0 }}
workloads:
  - name: chat
    model: {{ name: small-one }}
    inference:
      runtime: cotenant-engine
      endpoint: http://127.0.0.1:{port}
      metrics: http://127.0.0.1:{port}/metrics
      launch:
        argv: [{program}, engine, serve, --model-size, tiny, --threads, "1",
               --port, "{port}", --served-model-name, small-one]
        ready: {{ path: /health, time_limit: 120 s }}
      demand: {{ poisson: {{ rate: 8 req/s }} }}
      prompt_tokens: {{ p50: 8, p95: 16 }}
      output_tokens: {{ p50: 3, p95: 6 }}
      objectives: {{ ttft_p95: 2 s }}
  - name: tune
    training:
      launch:
        argv: [{program}, engine, train, --model-size, tiny, --threads, "1", --batch, "1",
               --sequence, "32", --steps, "1000000", --checkpoint-dir, checkpoints,
               --checkpoint-every, "100", --resume]
        ready: {{ time_limit: 120 s }}
      log: {{ format: cotenant }}
      steps: 1000000
      objectives: {{ step_time_max: 2 s }}
      checkpoint: {{ interval: 100 steps, signal: USR1 }}
      preemption: {{ allowed: true, signal: TERM, notice: 30 s }}
sharing: {{ mode: host_cpu }}
"#
    );
    let site = folder.join("site.yaml");
    fs::write(&site, text).unwrap();
    site
}

/// Starts `measure` with short blocks in the folder of a site.
pub(crate) fn measure(folder: &Path, more: &[&str]) -> Process {
    let mut arguments = vec!["measure", "site.yaml"];
    arguments.extend(SHORT);
    arguments.extend(more);
    Process::start(folder, &arguments)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
