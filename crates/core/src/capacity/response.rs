//! The rate at which a share of requests misses, with its interval: the analysis of dose and response
//! (Finney, *Probit Analysis*, 3rd edition 1971), with the rate as the dose.
//!
//! Near the capacity the logit of the share that misses is taken as a straight line over the logarithm
//! of the rate, logit p = a + b·ln(r), fitted by maximum likelihood over the looks near it. Looks
//! differ by more than chance; Finney's heterogeneity factor h = max(1, χ²/(k − 2)) widens everything
//! by that, with Student's t at k − 2 degrees of freedom. The ends are where the band around the line
//! leaves what is allowed: since shares grow with the rate, a rate below which the band stays under it
//! is fine, and so is every lower one.

use crate::stats::student_t_quantile;

/// Fewest looks of which a line and how they differ from it can be known.
pub(super) const LOOKS_MIN: usize = 5;
/// Most steps of Newton's method; it needs fewer than ten where there is an answer.
const STEPS_MAX: u32 = 60;

/// One look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Response {
    /// Logarithm of the rate.
    pub(super) dose: f64,
    /// Share that missed.
    pub(super) share: f64,
    /// Requests, counted as independent ones.
    pub(super) requests: f64,
}

/// What the looks around a rate bound, as logarithms of rates inside the range that was looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dose {
    /// Where the line crosses what is allowed; `None` where it does not inside the range.
    pub(super) at: Option<f64>,
    /// The highest dose whose share is below what is allowed with confidence; `None` where none is.
    pub(super) low: Option<f64>,
    /// The lowest dose whose share is above it with confidence; `None` where none is.
    pub(super) high: Option<f64>,
}

/// The line with its covariance, around the mean dose.
#[derive(Clone, Copy, Debug)]
struct Line {
    centre: f64,
    intercept: f64,
    slope: f64,
    /// Covariance of intercept and slope, times the heterogeneity.
    variance: [f64; 3],
    degrees: f64,
}

/// Doses of the range at which the band is looked at: a third of a percent apart where the range is
/// one octave and a half.
const GRID: u32 = 300;

/// The dose at which `allowed` of the requests miss, each end with an error probability of `alpha`.
/// `None` with too few looks, or without any difference between their rates.
pub(super) fn dose(looks: &[Response], allowed: f64, alpha: f64) -> Option<Dose> {
    let line = fit(looks, allowed)?;
    let target = (allowed / (1.0 - allowed)).ln();
    let t = student_t_quantile(1.0 - alpha, line.degrees);
    let doses = || looks.iter().map(|look| look.dose);
    let from = doses().fold(f64::INFINITY, f64::min);
    let until = doses().fold(f64::NEG_INFINITY, f64::max);
    let grid: Vec<f64> =
        (0..=GRID).map(|step| from + (until - from) * f64::from(step) / f64::from(GRID)).collect();
    // Logit of the share and half the width of its band.
    let band = |dose: f64| {
        let x = dose - line.centre;
        let [aa, ab, bb] = line.variance;
        (line.intercept + line.slope * x, t * (aa + 2.0 * ab * x + bb * x * x).max(0.0).sqrt())
    };
    let below = |dose: &&f64| {
        let (centre, reach) = band(**dose);
        centre + reach <= target
    };
    let above = |dose: &&f64| {
        let (centre, reach) = band(**dose);
        centre - reach > target
    };
    let at = line.centre + (target - line.intercept) / line.slope;
    Some(Dose {
        at: Some(at).filter(|at| line.slope > 0.0 && (from..=until).contains(at)),
        low: grid.iter().rfind(below).copied(),
        high: grid.iter().find(above).copied(),
    })
}

/// Maximum likelihood by Newton's method. To each look one request is added that misses as often as is
/// allowed: without it a clean jump from nothing to everything has no finite line, and this one pulls
/// the crossing to neither side.
fn fit(looks: &[Response], allowed: f64) -> Option<Line> {
    if looks.len() < LOOKS_MIN {
        return None;
    }
    let centre = looks.iter().map(|look| look.dose).sum::<f64>() / looks.len() as f64;
    let data: Vec<(f64, f64, f64)> = looks
        .iter()
        .map(|look| {
            let total = look.requests + 1.0;
            (look.dose - centre, (look.share * look.requests + allowed) / total, total)
        })
        .collect();
    let (mut intercept, mut slope) = (start(&data), 1.0);
    let mut covariance = [0.0; 3];
    for step in 0..=STEPS_MAX {
        let (mut gradient, mut information) = ([0.0; 2], [0.0; 3]);
        for (x, share, total) in &data {
            let fitted = 1.0 / (1.0 + (-(intercept + slope * x)).exp());
            let weight = total * fitted * (1.0 - fitted);
            let residual = total * (share - fitted);
            gradient = [gradient[0] + residual, gradient[1] + residual * x];
            information = [
                information[0] + weight,
                information[1] + weight * x,
                information[2] + weight * x * x,
            ];
        }
        let determinant = information[0] * information[2] - information[1] * information[1];
        if determinant.is_nan() || determinant <= 1e-12 {
            return None;
        }
        covariance = [
            information[2] / determinant,
            -information[1] / determinant,
            information[0] / determinant,
        ];
        let change = [
            covariance[0] * gradient[0] + covariance[1] * gradient[1],
            covariance[1] * gradient[0] + covariance[2] * gradient[1],
        ];
        if change[0].abs() < 1e-10 && change[1].abs() < 1e-9 {
            break;
        }
        if step == STEPS_MAX {
            return None;
        }
        // A step that would leave the range in which the logistic has any slope is shortened.
        let shorten = (4.0 / change[0].abs().max(0.25 * change[1].abs()).max(1e-12)).min(1.0);
        intercept += shorten * change[0];
        slope += shorten * change[1];
    }
    let degrees = looks.len() as f64 - 2.0;
    let chi_square: f64 = data
        .iter()
        .map(|(x, share, total)| {
            let fitted = 1.0 / (1.0 + (-(intercept + slope * x)).exp());
            total * (share - fitted).powi(2) / (fitted * (1.0 - fitted)).max(1e-9)
        })
        .sum();
    let heterogeneity = (chi_square / degrees).max(1.0);
    let variance = covariance.map(|value| value * heterogeneity);
    Some(Line { centre, intercept, slope, variance, degrees })
}

/// The logit of the mean share.
fn start(data: &[(f64, f64, f64)]) -> f64 {
    let total: f64 = data.iter().map(|(_, _, total)| total).sum();
    let share = data.iter().map(|(_, share, total)| share * total).sum::<f64>() / total;
    (share / (1.0 - share)).ln()
}
