//! How long a scrape takes to be read: of 5,000 series of a vLLM, or of the file that is given.
//!
//! `cargo run --release -p cotenant-probe --example scrape_speed [FILE]`

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use cotenant_probe::engine_metrics::{engine_of_names, read_serving};
use cotenant_probe::exposition::{Strictness, detect_format, parse};

const ROUNDS: usize = 200;

/// A scrape with 5,000 series: 40 engines with five histograms of 23 buckets each.
fn made_up() -> String {
    let mut text = String::new();
    for name in
        ["request_queue_time", "time_to_first_token", "inter_token_latency", "e2e", "decode"]
    {
        let _ = writeln!(
            text,
            "# HELP vllm:{name}_seconds Seconds.\n# TYPE vllm:{name}_seconds histogram"
        );
        for engine in 0..40 {
            let labels =
                format!("engine=\"{engine}\",model_name=\"meta-llama/Llama-3.1-70B-Instruct\"");
            for bucket in 1..23 {
                let _ = writeln!(
                    text,
                    "vllm:{name}_seconds_bucket{{{labels},le=\"{bucket}.5\"}} {}.0",
                    bucket * 7
                );
            }
            let _ = writeln!(
                text,
                "vllm:{name}_seconds_bucket{{{labels},le=\"+Inf\"}} 154.0\n\
                 vllm:{name}_seconds_sum{{{labels}}} 812.25\nvllm:{name}_seconds_count{{{labels}}} 154.0"
            );
        }
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => made_up().into_bytes(),
    };
    let mut times_ms = vec![];
    let mut series = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let scrape = parse(&bytes, detect_format(&bytes, None), Strictness::Lenient)?;
        if let Some(engine) = engine_of_names(&scrape) {
            std::hint::black_box(read_serving(&scrape, engine));
        }
        series = scrape.sample_count();
        times_ms.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times_ms.sort_by(f64::total_cmp);
    let (median, p99) = (times_ms[ROUNDS / 2], times_ms[ROUNDS * 99 / 100]);
    println!("{series} series, {} bytes: median {median:.2} ms, p99 {p99:.2} ms", bytes.len());
    Ok(())
}
