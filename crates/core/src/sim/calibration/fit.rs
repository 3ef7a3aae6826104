//! Looks for the parameters of a step model with which the simulator answers as real engines did.

use super::served::{GroupTimes, ServedRun, group_times, serve};
use crate::perf::{Multipliers, StepModel};
use crate::stats::{LeastSquaresSearch, least_squares};

/// What parameters may be, and how far errors count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions<'a> {
    /// Where parameters are looked for first: natural logarithms, so that none becomes negative.
    pub start: &'a [f64],
    /// How far from there each may well be (one standard deviation of its logarithm): what runs
    /// cannot tell apart stays near where it began.
    pub spread: &'a [f64],
    /// An error of this relative size counts as one standard deviation, and much larger ones count
    /// in proportion and no longer by their square (pseudo-Huber), so that one odd run does not
    /// turn all the others.
    pub error: f64,
    /// Steps of the search at most.
    pub steps_max: u32,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Logarithms of the parameters.
    pub at: Vec<f64>,
    /// Their standard errors, where the runs tell any.
    pub standard_errors: Option<Vec<f64>>,
    /// Relative errors of the simulator's times against those seen, of the runs it was fitted on, as
    /// natural logarithms.
    pub errors: Vec<f64>,
}

/// Makes the model of the `n`-th run, and what a neighbour does to it, out of parameters.
pub trait Form: Fn(usize, &[f64]) -> (StepModel, Multipliers) {}
impl<F: Fn(usize, &[f64]) -> (StepModel, Multipliers)> Form for F {}

/// Looks for the parameters with which the simulator answers as the runs were seen to. Runs whose
/// numbers make no engine are as good as any other guess: none.
pub fn fit(
    runs: &[&ServedRun],
    numbers: &[usize],
    form: &impl Form,
    options: FitOptions<'_>,
) -> Fit {
    let residuals = |at: &[f64]| {
        let errors = runs.iter().zip(numbers).flat_map(|(run, number)| {
            let (model, beside) = form(*number, at);
            let errors = errors_of(run, &model, beside);
            errors.into_iter().map(|(error, weight)| robust(weight * error / options.error))
        });
        let drift = at.iter().zip(options.start).zip(options.spread);
        errors.chain(drift.map(|((at, start), spread)| (at - start) / spread)).collect()
    };
    let search =
        LeastSquaresSearch { steps_max: options.steps_max, difference: 0.02, tolerance: 1e-4 };
    let found = least_squares(options.start, search, residuals);
    let errors = runs.iter().zip(numbers).flat_map(|(run, number)| {
        let (model, beside) = form(*number, &found.at);
        errors_of(run, &model, beside).into_iter().map(|(error, _)| error)
    });
    let errors = errors.collect();
    Fit { at: found.at, standard_errors: found.standard_errors, errors }
}

/// Predicts each run from a fit on all the others: (run, group seen, group predicted). Runs with the
/// same `family` are left out together.
pub fn held_out<'a>(
    runs: &'a [ServedRun],
    family: impl Fn(&ServedRun) -> String,
    form: &impl Form,
    options: FitOptions<'_>,
) -> Vec<(&'a ServedRun, GroupTimes, GroupTimes)> {
    let mut predicted = Vec::new();
    for (number, left_out) in runs.iter().enumerate() {
        let others = || runs.iter().enumerate().filter(|(_, run)| family(run) != family(left_out));
        let kept: Vec<&ServedRun> = others().map(|(_, run)| run).collect();
        let numbers: Vec<usize> = others().map(|(number, _)| number).collect();
        let found = fit(&kept, &numbers, form, options);
        let (model, beside) = form(number, &found.at);
        let Ok(there) = serve(left_out, &model, beside) else { continue };
        let groups = group_times(&there.answers);
        for seen in &left_out.seen {
            if let Some(there) = groups.iter().find(|group| group.class == seen.class) {
                predicted.push((left_out, *seen, *there));
            }
        }
    }
    predicted
}

/// The error of a time that the simulator does not give: no request of the group ended.
const FAR_OFF: f64 = 10.0;

/// How much an error counts, for times to the first token, to the last one, between tokens, and over
/// all tokens. Near capacity the first two are mostly waiting, which a small error of the step makes
/// any length of, and tell least of the step.
const WEIGHTS: [f64; 4] = [0.6, 0.8, 1.2, 1.0];

/// Logarithms of predicted over seen times, each with its weight.
fn errors_of(run: &ServedRun, model: &StepModel, beside: Multipliers) -> Vec<(f64, f64)> {
    let groups = serve(run, model, beside).map(|there| group_times(&there.answers));
    let groups = groups.unwrap_or_default();
    let predicted = |seen: &GroupTimes| groups.iter().find(|group| group.class == seen.class);
    let errors = run.seen.iter().flat_map(|seen| {
        let Some(there) = predicted(seen) else {
            return pairs(seen, seen).map(|(_, weight)| (FAR_OFF, weight)).collect();
        };
        let error = |((seen, there), weight): ((f64, f64), f64)| ((there / seen).ln(), weight);
        pairs(seen, there).map(error).collect::<Vec<_>>()
    });
    errors.collect()
}

/// The times that both have, each with its weight.
fn pairs(seen: &GroupTimes, there: &GroupTimes) -> impl Iterator<Item = ((f64, f64), f64)> + use<> {
    seen.times()
        .into_iter()
        .zip(there.times())
        .zip(WEIGHTS)
        .filter_map(|((seen, there), weight)| Some(((seen?, there?), weight)))
}

/// The square root, with its sign, of the pseudo-Huber loss.
fn robust(residual: f64) -> f64 {
    let loss = 2.0 * ((1.0 + residual * residual).sqrt() - 1.0);
    loss.sqrt().copysign(residual)
}
