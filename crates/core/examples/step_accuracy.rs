//! How well latencies are told from coefficients that know only a model's shape and the GPU's peak
//! rates: each run of a file of measured ones is predicted from a fit on all the others.
//!
//! ```text
//! cargo run --release -p cotenant-core --example step_accuracy -- vllm-h100-ground-truth.csv
//! ```

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(clippy::expect_used, reason = "a measurement that cannot be made stops")]
#![expect(clippy::disallowed_methods, reason = "it reads a file and takes arguments")]

#[path = "../tests/support/ground_truth.rs"]
mod ground_truth;

use cotenant_core::perf::{EFFICIENCY_NAMES, Efficiencies, Multipliers};
use cotenant_core::sim::calibration::{FitOptions, ServedRun, fit, held_out};
use ground_truth::{model, runs};

/// Logarithms of how far from the start each efficiency may well be.
const SPREAD: [f64; 12] = [0.1, 0.2, 0.15, 0.7, 0.7, 0.7, 0.7, 0.5, 1.0, 1.0, 0.6, 0.7];

fn main() {
    let path = std::env::args().nth(1).expect("the path of the measured runs");
    let text = std::fs::read_to_string(&path).expect("the file can be read");
    let (runs, shapes) = runs(&text);
    let start: Vec<f64> =
        Efficiencies::before_any_run().to_array().iter().map(|it| it.ln()).collect();
    let form = |number: usize, at: &[f64]| (model(&shapes[number], at), Multipliers::default());
    let options = FitOptions { start: &start, spread: &SPREAD, error: 0.05, steps_max: 12 };
    let all: Vec<&ServedRun> = runs.iter().collect();
    let numbers: Vec<usize> = (0..runs.len()).collect();
    let whole = fit(&all, &numbers, &form, options);
    println!("efficiencies fitted on all runs (start, fitted, standard error of the logarithm):");
    for (index, name) in EFFICIENCY_NAMES.iter().enumerate() {
        let error = whole.standard_errors.as_ref().map_or(f64::NAN, |errors| errors[index]);
        println!(
            "  {name:<14} {:>10.3e} {:>10.3e} {error:>7.3}",
            start[index].exp(),
            whole.at[index].exp()
        );
    }
    println!(
        "\n{:<48}{:>7}{:>10}{:>8}{:>10}{:>8}{:>9}{:>8}",
        "run, each predicted from the others",
        "stage",
        "E2E ms",
        "error",
        "TTFT ms",
        "error",
        "ITL ms",
        "error"
    );
    let mut errors: [Vec<f64>; 3] = Default::default();
    for (run, seen, there) in held_out(&runs, |run| run.name.clone(), &form, options) {
        print!("{:<48}{:>7}", run.name, seen.class);
        let pairs = [
            (seen.e2e_s, there.e2e_s),
            (seen.ttft_s, there.ttft_s),
            (seen.normalised_token_s, there.normalised_token_s),
        ];
        for (list, (seen, there)) in errors.iter_mut().zip(pairs) {
            let (seen, there) = (seen.unwrap_or(f64::NAN), there.unwrap_or(f64::NAN));
            let error = there / seen - 1.0;
            list.push(error.abs());
            print!("{:>10.2}{:>7.1}%", seen * 1e3, error * 100.0);
        }
        println!();
    }
    for (name, list) in ["E2E", "TTFT", "ITL"].iter().zip(&mut errors) {
        list.sort_by(f64::total_cmp);
        println!(
            "median error of {name}: {:.1} %",
            100.0 * (list[list.len() / 2] + list[(list.len() - 1) / 2]) / 2.0
        );
    }
}
