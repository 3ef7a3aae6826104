//! The form of a step whose engine and device are known only from tests: which parameters there are,
//! and where the search for them begins.

use crate::evidence::Origin;
use crate::perf::{Coefficient, StepModel};
use crate::sim::calibration::{Answer, Fit, ServedRun};

/// Parameters, in the order of the fit.
const NAMES: usize = 7;

/// One standard deviation of each parameter's logarithm before anything is measured: a factor of
/// about four either way.
pub(super) const SPREAD: [f64; NAMES] = [1.4; NAMES];

/// Where to begin: times of the right size, from the median answer.
pub(super) fn start(run: &ServedRun, answers: &[Answer]) -> Option<[f64; NAMES]> {
    let token_s = median(answers.iter().filter_map(Answer::token_s))?;
    let ttft_s = median(answers.iter().map(|answer| answer.ttft_s))?;
    let prompt = median(run.requests.iter().map(|request| f64::from(request.prompt_tokens)))?;
    let first = [
        token_s / 2.0,
        token_s / 2.0,
        ttft_s / 2.0 / prompt.max(1.0),
        token_s / 50.0,
        token_s / 1e5,
        ttft_s / 20.0,
        ttft_s / 20.0 / (prompt * prompt / 2.0).max(1.0),
    ];
    Some(first.map(|time| time.max(1e-12).ln()))
}

/// The step of a set of parameters: host, weights, each token, each sequence, each KV token, each
/// request outside of the passes, each pair of prompt tokens.
pub(super) fn model(at: &[f64]) -> StepModel {
    coefficients(at, |index| Coefficient {
        value: at[index].exp(),
        interval: None,
        origin: Origin::Measured,
    })
}

/// The same with the intervals that the fit tells.
pub(super) fn fitted(found: &Fit) -> StepModel {
    coefficients(&found.at, |index| {
        let error = found.standard_errors.as_ref().and_then(|errors| errors.get(index));
        let (at, error) = (found.at[index], error.copied());
        Coefficient {
            value: at.exp(),
            interval: error.map(|error| ((at - 1.96 * error).exp(), (at + 1.96 * error).exp())),
            origin: Origin::Measured,
        }
    })
}

fn coefficients(at: &[f64], coefficient: impl Fn(usize) -> Coefficient) -> StepModel {
    debug_assert_eq!(at.len(), NAMES, "one value for each parameter");
    StepModel {
        host: coefficient(0),
        weights: coefficient(1),
        per_token: coefficient(2),
        per_sequence: coefficient(3),
        per_kv_token: coefficient(4),
        per_request: coefficient(5),
        per_token_pair: coefficient(6),
        ..StepModel::zero(Origin::Measured)
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}
