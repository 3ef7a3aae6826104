//! Step times: shapes against published counts, whole picoseconds against seconds, and fits that find
//! what made the data.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use cotenant_core::evidence::Origin;
use cotenant_core::perf::{
    Coefficient, Efficiencies, ExpertChoice, ExpertReads, IntegerStep, Multipliers, Pass,
    PeakRates, StepModel, known_model, prior,
};
use cotenant_core::sim::calibration::{
    Answer, FitOptions, ServedRun, fit, group_times, held_out, serve,
};
use cotenant_core::sim::engine::{ReplicaSpec, Role, SimRequest};
use cotenant_core::stats::{LeastSquaresSearch, least_squares};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;
use rand_distr::{Distribution as _, Exp1};
use rand_pcg::Pcg64;

fn close(one: f64, other: f64, relative: f64) -> bool {
    (one - other).abs() <= relative * other.abs()
}

/// Parameters as their makers count them, without embeddings, which no pass reads whole.
#[test]
fn shapes_have_the_published_number_of_weights() {
    for (name, billions) in [
        ("meta-llama/Llama-2-7b-hf", 6.74),
        ("meta-llama/Llama-3.1-8B", 8.03),
        ("meta-llama/Llama-3.1-70B-Instruct", 70.6),
        ("Qwen/Qwen2.5-7B-Instruct", 7.62),
        ("Qwen/Qwen3-14B", 14.8),
        ("mistralai/Mistral-Nemo-Instruct-2407", 12.2),
        ("01-ai/Yi-34B", 34.4),
        ("codellama/CodeLlama-34b-Instruct-hf", 33.7),
        ("mistralai/Mixtral-8x7B-v0.1", 46.7),
    ] {
        let shape = known_model(name).unwrap();
        let embeddings = f64::from(shape.vocabulary) * f64::from(shape.hidden);
        let weights = f64::midpoint(shape.bytes_always(), shape.bytes_of_experts()) + embeddings;
        assert!(close(weights, billions * 1e9, 0.01), "{name}: {weights:e}");
    }
    // Mixtral uses 12.9 billion of its parameters for each token (its paper, 2024), embeddings and
    // head among them.
    let mixtral = known_model("Mixtral-8x7B").unwrap();
    let active = mixtral.flops_per_token() / 2.0 + 2.0 * 32_000.0 * 4096.0;
    assert!(close(active, 12.9e9, 0.01), "{active:e}");
}

#[test]
fn names_are_whole_and_quantisation_is_in_them() {
    assert!(known_model("llama-2-7bx").is_none());
    let eight = known_model("RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic").unwrap();
    assert!((eight.weight_bytes - 1.0).abs() < 1e-12);
    assert!(PeakRates::of("no-such-card").unwrap_err().to_string().contains("h100-80-sxm"));
}

/// Linear layers of an 8B at 1 and 2,048 tokens on an H100: 5.03 and 34.2 ms summed over measured
/// kernels, and 40.5 ns for each KV token. The efficiencies come from runs of whole engines, in
/// which none of these kernels was looked at.
#[test]
fn a_prior_is_near_measured_kernels() {
    let shape = known_model("llama-3.1-8b").unwrap();
    let rates = PeakRates::of("h100-80-sxm").unwrap();
    let step = prior(&shape, rates, 1, &Efficiencies::default());
    assert!(close(step.weights.value, 5.03e-3, 0.15), "{:?}", step.weights);
    assert!(close(step.per_token.value * 2048.0, 34.2e-3, 0.15), "{:?}", step.per_token);
    assert!(close(step.per_kv_token.value, 4.05e-8, 0.35), "{:?}", step.per_kv_token);
    assert!(step.communication.value == 0.0, "one GPU talks to nobody");
    assert_eq!(step.weights.origin, Origin::Assumed);
}

/// With one token one of 16 experts is read; with many all are: 16·(1 − (15/16)ⁿ) by hand.
#[test]
fn experts_are_read_as_tokens_choose_them() {
    let choice = ExpertChoice { count: 16, chosen: 1, independence: 1.0 };
    assert!(close(choice.share_read(1.0), 1.0 / 16.0, 1e-12));
    assert!(close(choice.share_read(32.0), 1.0 - 0.126_800, 1e-4));
    let reads = ExpertReads::new(|tokens| choice.share_read(tokens));
    let step = IntegerStep { experts: Some(reads), ..IntegerStep::default() };
    let at = |tokens| step.step(Pass { tokens, ..Pass::default() }).seconds();
    assert!(close(at(1), 1.0 / 16.0, 1e-9));
    assert!(close(at(32), choice.share_read(32.0), 1e-9));
    assert!(close(at(20_000), 1.0, 1e-9));
    assert_eq!(step.step(Pass::default()), Picoseconds::ZERO);
}

#[test]
fn neighbours_make_their_own_parts_longer() {
    let part = |value| Coefficient { value, interval: None, origin: Origin::Measured };
    let model = StepModel {
        host: part(1e-3),
        weights: part(4e-3),
        per_token: part(1e-4),
        per_kv_token: part(1e-7),
        communication: part(2e-3),
        ..StepModel::zero(Origin::Measured)
    };
    let pass = Pass { tokens: 1, sequences: 1, kv_tokens: 1000, prefill_pairs: 0 };
    let at = |beside| model.integer(beside).step(pass).seconds();
    let alone = at(Multipliers::default());
    assert!(close(alone, 1e-3 + 4e-3 + 1e-4 + 2e-3, 1e-9));
    let host = at(Multipliers { host: 3.0, ..Multipliers::default() });
    assert!(close(host - alone, 2e-3, 1e-6), "only the host's part grew");
    let memory = at(Multipliers { bandwidth: 2.0, ..Multipliers::default() });
    assert!(close(memory - alone, 4e-3 + 1e-4, 1e-6), "weights and the KV cache grew");
    let compute = at(Multipliers { compute: 10.0, ..Multipliers::default() });
    assert!(close(compute, alone, 1e-9), "arithmetic still hides behind the weights");
}

proptest! {
    /// A pass of more tokens never takes less, whatever experts it reads.
    #[test]
    fn more_tokens_never_take_less(
        all in 1_u64..1_000_000_000_000, per_token in 0_u64..1_000_000_000, tokens in 0_u64..20_000,
        more in 0_u64..5_000, independence in 0.2_f64..1.0,
    ) {
        let choice = ExpertChoice { count: 16, chosen: 2, independence };
        let all_s = all as f64 / 1e12;
        let step = IntegerStep {
            experts: Some(ExpertReads::new(|tokens| all_s * choice.share_read(tokens))),
            per_token: Picoseconds(per_token),
            ..IntegerStep::default()
        };
        let at = |tokens| step.step(Pass { tokens, ..Pass::default() });
        prop_assert!(at(tokens) <= at(tokens + more));
    }
}

/// Rosenbrock's valley, whose minimum is at (1, 1); and a line through points, whose standard errors
/// are known in closed form (Montgomery, Peck, Vining, "Introduction to Linear Regression Analysis").
#[test]
fn least_squares_finds_known_minima_and_their_errors() {
    let search = LeastSquaresSearch { steps_max: 200, ..LeastSquaresSearch::default() };
    let valley =
        least_squares(&[-1.2, 1.0], search, |at| vec![10.0 * (at[1] - at[0] * at[0]), 1.0 - at[0]]);
    assert!(valley.at.iter().all(|value| (value - 1.0).abs() < 1e-4), "{valley:?}");
    let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 10.1)];
    let line = least_squares(&[0.0, 0.0], search, |at| {
        points.iter().map(|(x, y)| at[0] + at[1] * x - y).collect()
    });
    // Slope 1.99 and intercept 0.05; s² = 0.107 / 3; se of the slope √(s² / 10), of the intercept
    // √(s²·(1/5 + 9/10)).
    assert!((line.at[1] - 1.99).abs() < 1e-6 && (line.at[0] - 0.05).abs() < 1e-5, "{line:?}");
    let errors = line.standard_errors.unwrap();
    let variance = 0.107_f64 / 3.0;
    assert!(close(errors[1], (variance / 10.0).sqrt(), 1e-3), "{errors:?}");
    assert!(close(errors[0], (variance * 1.1).sqrt(), 1e-3), "{errors:?}");
}

fn spec() -> ReplicaSpec {
    ReplicaSpec {
        step: IntegerStep::default(),
        kv_blocks: 10_000,
        block_tokens: 16,
        sequences_max: 16,
        batched_tokens_max: 512,
        requests_max: None,
        prefix_cache: false,
        role: Role::Both,
    }
}

fn truth(at: &[f64]) -> StepModel {
    let part = |index: usize| Coefficient {
        value: at[index].exp(),
        interval: None,
        origin: Origin::Measured,
    };
    StepModel {
        host: part(0),
        per_token: part(1),
        per_kv_token: part(2),
        per_request: part(3),
        ..StepModel::zero(Origin::Measured)
    }
}

/// Runs answered by a known step, at some loads and lengths.
fn known_runs(known: &[f64]) -> Vec<ServedRun> {
    let loads = [(2.0, 60, 40), (5.0, 400, 10), (6.0, 100, 30), (1.0, 900, 80), (4.0, 200, 20)];
    let run = |(number, (rate, prompt, output)): (usize, (f64, u32, u32))| {
        let mut random = Pcg64::new(number as u128, 1);
        let mut at = 0.0;
        let requests = (0..150).map(|id: u64| {
            let gap: f64 = Exp1.sample(&mut random);
            at += gap / rate;
            SimRequest {
                id,
                at: Picoseconds::from_seconds(at),
                prompt_tokens: prompt + (id as u32 % 7) * prompt / 5,
                output_tokens: output + id as u32 % 5,
                class: (id % 2) as u16,
                prefix: None,
            }
        });
        let requests = requests.collect();
        let mut run =
            ServedRun { name: format!("{number}"), spec: spec(), requests, seen: Vec::new() };
        let there = serve(&run, &truth(known), Multipliers::default()).unwrap();
        run.seen = group_times(&there.answers);
        run
    };
    loads.into_iter().enumerate().map(run).collect()
}

/// What made the answers is found again from a start that is wrong by a factor of two to four.
#[test]
fn a_fit_finds_the_step_that_made_the_answers() {
    let known = [8e-3_f64.ln(), 9e-5_f64.ln(), 4e-7_f64.ln(), 12e-3_f64.ln()];
    let runs = known_runs(&known);
    let start: Vec<f64> =
        known.iter().zip([0.7, -0.7, 1.2, -1.0]).map(|(known, off)| known + off).collect();
    let all: Vec<&ServedRun> = runs.iter().collect();
    let options = FitOptions { start: &start, spread: &[2.0; 4], error: 0.02, steps_max: 40 };
    let form = |_: usize, at: &[f64]| (truth(at), Multipliers::default());
    let found = fit(&all, &[0, 1, 2, 3, 4], &form, options);
    for (found, known) in found.at.iter().zip(known).take(2) {
        assert!((found - known).abs() < 0.05, "{:.2e} is {:.2e}", found.exp(), known.exp());
    }
    let worst = found.errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
    assert!(worst < 0.02, "{worst}");
    // And runs that it did not see are told as well.
    let told = held_out(&runs, |run| run.name.clone(), &form, options);
    assert_eq!(told.len(), 10);
    for (run, seen, there) in told {
        for (seen, there) in seen.compared(&there) {
            assert!(close(there, seen, 0.05), "{}: {there} is {seen}", run.name);
        }
    }
}

#[test]
fn a_neighbour_is_found_from_one_run_beside_it() {
    let known = [8e-3_f64.ln(), 9e-5_f64.ln(), 4e-7_f64.ln(), 12e-3_f64.ln()];
    let mut runs = known_runs(&known);
    let beside = Multipliers { compute: 1.7, bandwidth: 1.0, host: 1.4 };
    for run in &mut runs {
        let there = serve(run, &truth(&known), beside).unwrap();
        run.seen = group_times(&there.answers);
    }
    let form = |_: usize, at: &[f64]| {
        let beside =
            Multipliers { compute: at[0].exp(), bandwidth: at[1].exp(), host: at[2].exp() };
        (truth(&known), beside)
    };
    let options = FitOptions { start: &[0.0; 3], spread: &[0.7; 3], error: 0.02, steps_max: 30 };
    let found = fit(&[&runs[2]], &[0], &form, options);
    assert!(close(found.at[0].exp(), 1.7, 0.06), "{found:?}");
    assert!(close(found.at[2].exp(), 1.4, 0.06), "{found:?}");
}

#[test]
fn answers_of_one_token_have_no_time_between_tokens() {
    let one = Answer { class: 0, ttft_s: 0.1, e2e_s: 0.1, output_tokens: 1 };
    let three = Answer { class: 0, ttft_s: 0.1, e2e_s: 0.5, output_tokens: 3 };
    assert!(one.token_s().is_none());
    let [group] = group_times(&[one, three])[..] else { panic!("one class") };
    assert!(close(group.token_s.unwrap(), 0.2, 1e-12));
    assert!(close(group.normalised_token_s.unwrap(), f64::midpoint(0.1, 0.5 / 3.0), 1e-12));
}
