//! The normal, Student and binomial distributions.

use std::f64::consts::{PI, SQRT_2};

use super::special::{beta_regularized, beta_regularized_inverse, rough_normal_quantile};

/// Complementary error function, 2/√π ∫ₓ^∞ e^(−t²) dt.
///
/// Below 2.5 the series of NIST DLMF 7.6.2, whose terms are all positive; above, the continued
/// fraction of DLMF 7.9.1.
pub fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.5 { 1.0 - erf_series(x) } else { erfc_fraction(x) }
}

fn erf_series(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for index in 1..200_u32 {
        term *= 2.0 * x * x / f64::from(2 * index + 1);
        let next = sum + term;
        if next == sum {
            break;
        }
        sum = next;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

fn erfc_fraction(x: f64) -> f64 {
    // x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …))), from the far end: 80 levels give full precision
    // from 2.5 upwards.
    let tail = (1..=80_u32).rev().fold(x, |tail, level| x + f64::from(level) / 2.0 / tail);
    (-x * x).exp() / PI.sqrt() / tail
}

/// Standard normal distribution function Φ(z).
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// Standard normal quantile Φ⁻¹(p): −∞ at 0, +∞ at 1, NaN outside [0, 1].
///
/// The rational start of Abramowitz & Stegun 26.2.23 (error below 4.5e-4), then Halley steps.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p == 1.0 {
        return f64::INFINITY;
    }
    if p > 0.5 {
        // In the upper half 1 − p is exact enough, and the lower tail keeps relative precision.
        return -normal_quantile(1.0 - p);
    }
    let mut z = rough_normal_quantile(p);
    for _ in 0..3 {
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        let step = (normal_cdf(z) - p) / density;
        z -= step / (1.0 + 0.5 * z * step);
    }
    z
}

/// Student's t distribution function with `degrees` degrees of freedom (any positive real).
///
/// P(T ≤ −t) = ½ I_{ν/(ν + t²)}(ν/2, ½) (NIST DLMF 8.17 with Johnson, Kotz & Balakrishnan, vol. 2,
/// ch. 28).
pub fn student_t_cdf(t: f64, degrees: f64) -> f64 {
    let lower = 0.5 * beta_regularized(degrees / (degrees + t * t), 0.5 * degrees, 0.5);
    if t <= 0.0 { lower } else { 1.0 - lower }
}

/// Student's t quantile: the value that T with `degrees` degrees of freedom stays below with
/// probability `p`. NaN where `p` is outside [0, 1] or `degrees` is not positive.
pub fn student_t_quantile(p: f64, degrees: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || degrees.is_nan() || degrees <= 0.0 {
        return f64::NAN;
    }
    if p == 0.5 {
        return 0.0;
    }
    if p > 0.5 {
        return -student_t_quantile(1.0 - p, degrees);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1e-4 {
        // t²/(ν + t²) is solved for, which keeps its precision where ν is large.
        let y = beta_regularized_inverse(1.0 - 2.0 * p, 0.5, 0.5 * degrees);
        -(degrees * y / (1.0 - y)).sqrt()
    } else {
        let x = beta_regularized_inverse(2.0 * p, 0.5 * degrees, 0.5);
        -(degrees * (1.0 - x) / x).sqrt()
    }
}

/// P(X ≤ successes) for X binomial with `trials` trials of probability `p`:
/// I_{1−p}(n − k, k + 1) (NIST DLMF 8.17.5).
pub fn binomial_cdf(successes: u64, trials: u64, p: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    beta_regularized(1.0 - p, (trials - successes) as f64, successes as f64 + 1.0)
}
