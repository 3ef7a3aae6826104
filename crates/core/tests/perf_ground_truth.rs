//! Real runs of vLLM on H100s against what shapes, peak rates and the published efficiencies tell of
//! them. The efficiencies were fitted on these runs, so this says that nothing broke since; how well
//! runs are told that a fit did not see is `examples/step_accuracy.rs`, minutes in a debug build.

#![expect(clippy::disallowed_methods, reason = "it reads a real file, which the crate does not")]

#[path = "support/ground_truth.rs"]
mod ground_truth;

use std::path::PathBuf;

use cotenant_core::perf::{Efficiencies, Multipliers};
use cotenant_core::sim::calibration::{group_times, serve};

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[test]
fn published_efficiencies_tell_the_runs_that_they_come_from() {
    let shared = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let path = shared.join("data/5-bench/vllm-h100-ground-truth.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    let (runs, shapes) = ground_truth::runs(&text);
    assert_eq!(runs.len(), 9);
    let at: Vec<f64> = Efficiencies::default().to_array().iter().map(|it| it.ln()).collect();
    let (mut e2e, mut ttft, mut token) = (Vec::new(), Vec::new(), Vec::new());
    for (run, shape) in runs.iter().zip(&shapes) {
        let there = serve(run, &ground_truth::model(shape, &at), Multipliers::default()).unwrap();
        for (seen, there) in run.seen.iter().zip(group_times(&there.answers)) {
            assert_eq!(seen.class, there.class);
            let error = |seen: Option<f64>, there: Option<f64>| {
                (there.unwrap() / seen.unwrap() - 1.0).abs()
            };
            e2e.push(error(seen.e2e_s, there.e2e_s));
            ttft.push(error(seen.ttft_s, there.ttft_s));
            token.push(error(seen.normalised_token_s, there.normalised_token_s));
        }
    }
    assert_eq!(e2e.len(), 14, "one for each stage");
    for (name, errors, most) in [("E2E", e2e, 0.10), ("TTFT", ttft, 0.20), ("ITL", token, 0.10)] {
        let median = median(errors);
        assert!(median <= most, "{name}: {median}");
    }
}
