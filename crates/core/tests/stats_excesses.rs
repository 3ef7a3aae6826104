//! The tail of excesses: closed forms, the reference vectors, and samples of known parameters.

use cotenant_core::stats::{EXCESSES_MIN, Refusal, TailLevel, fit_pareto};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// P(X > x) = (1 + ξx/σ)^(−1/ξ), turned around.
fn pareto(scale: f64, shape: f64, above: f64) -> f64 {
    if shape == 0.0 { -scale * above.ln() } else { scale / shape * (above.powf(-shape) - 1.0) }
}

fn sample(scale: f64, shape: f64, count: usize, seed: u64) -> Vec<f64> {
    let mut random = Pcg64::seed_from_u64(seed);
    (0..count).map(|_| pareto(scale, shape, 1.0 - random.random::<f64>() * 0.999_999)).collect()
}

/// The quantiles of the distribution itself: a sample without chance.
fn ideal(scale: f64, shape: f64, count: usize) -> Vec<f64> {
    (0..count)
        .map(|index| pareto(scale, shape, 1.0 - (index as f64 + 0.5) / count as f64))
        .collect()
}

fn level(threshold: f64, observations: u64, exceeding: u64, probability: f64) -> TailLevel {
    TailLevel { threshold, observations, exceeding, probability }
}

#[test]
fn parameters_of_an_ideal_sample_come_back() {
    for (scale, shape) in [(1.0, 0.0), (3.0, 0.1), (0.02, 0.3), (500.0, -0.2), (2.0, -0.4)] {
        let excesses = ideal(scale, shape, 5_000);
        let fit = fit_pareto(&excesses).unwrap();
        let (scale_found, shape_found) = (fit.scale, fit.shape);
        assert!((shape_found - shape).abs() < 0.01, "{scale} {shape}: {shape_found}");
        assert!((scale_found / scale - 1.0).abs() < 0.01, "{scale} {shape}: {scale_found}");
        assert_eq!(fit.excesses(), 5_000);
    }
}

#[test]
fn no_neighbour_of_the_fit_is_more_likely() {
    let likelihood = |excesses: &[f64], scale: f64, shape: f64| -> f64 {
        let of_one = |x: &f64| -(1.0 + 1.0 / shape) * (shape * x / scale).ln_1p() - scale.ln();
        excesses.iter().map(of_one).sum()
    };
    for (seed, shape) in [(1, 0.2), (2, -0.2), (3, 0.5), (4, 0.05)] {
        let excesses = sample(2.0, shape, 60, seed);
        let fit = fit_pareto(&excesses).unwrap();
        let best = likelihood(&excesses, fit.scale, fit.shape);
        for (by_scale, by_shape) in
            [(1.01, 0.0), (0.99, 0.0), (1.0, 0.01), (1.0, -0.01), (1.01, 0.01), (0.99, 0.01)]
        {
            let other = likelihood(&excesses, fit.scale * by_scale, fit.shape + by_shape);
            assert!(other < best, "{seed}: {by_scale} {by_shape}");
        }
    }
}

#[test]
fn a_tail_that_ends_abruptly_ends_at_the_largest_excess() {
    // ξ = −1 is the uniform distribution, and the edge of what is looked at.
    let excesses = ideal(1.0, -1.0, 200);
    let fit = fit_pareto(&excesses).unwrap();
    assert!((fit.shape + 1.0).abs() < 0.01 && (fit.scale - excesses[199]).abs() < 0.01);
    let (lower, upper) = fit.shape_interval(0.95).unwrap();
    assert!(lower == -1.0 && upper < -0.8, "{lower} {upper}");
}

/// Of 100 intervals at 95 % about 95 hold the shape that was drawn from, and of 100 upper bounds of
/// a level fifty times rarer than the threshold about 95 hold that: not far fewer, and not all.
#[test]
fn bounds_hold_as_often_as_they_say() {
    let (scale, shape) = (2.0, 0.1);
    let truth = pareto(scale, shape, 0.02);
    let (mut shapes, mut levels) = (0, 0);
    for seed in 0..100 {
        let fit = fit_pareto(&sample(scale, shape, 100, 1_000 + seed)).unwrap();
        let (lower, upper) = fit.shape_interval(0.95).unwrap();
        shapes += u32::from(lower <= shape && shape <= upper);
        let bound = fit.level_upper(&level(0.0, 1_000, 100, 0.002), 0.95).unwrap();
        levels += u32::from(bound >= truth);
    }
    assert!((87..=99).contains(&shapes), "{shapes}");
    assert!((87..=99).contains(&levels), "{levels}");
}

/// vectors.txt has z for u = 20, σ = 3, ξ = 0.1 and ξ → 0, 200 of 10,000 above u, one in 10,000.
#[test]
fn levels_follow_the_reference_vectors() {
    for (shape, expected) in [(0.1, 40.959_393_939_027_42), (0.0, 35.894_952_099_644_11)] {
        let fit = fit_pareto(&ideal(3.0, shape, 5_000)).unwrap();
        let found = fit.level(&level(20.0, 10_000, 200, 1e-4)).unwrap();
        assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
    }
}

#[test]
fn more_confidence_and_rarer_levels_lie_higher() {
    let fit = fit_pareto(&sample(1.0, 0.2, 50, 5)).unwrap();
    let at = level(3.0, 500, 50, 0.01);
    let estimate = fit.level(&at).unwrap();
    let bounds = [0.6, 0.8, 0.95, 0.99].map(|share| fit.level_upper(&at, share).unwrap());
    assert!(estimate < bounds[0] && bounds.is_sorted(), "{estimate} {bounds:?}");
    let rarer = fit.level_upper(&level(3.0, 500, 50, 0.001), 0.95).unwrap();
    assert!(rarer > bounds[2], "{rarer}");
    // The threshold itself is a level without doubt.
    let threshold = fit.level_upper(&level(3.0, 500, 50, 0.1), 0.95).unwrap();
    assert!((threshold - 3.0).abs() < 1e-6);
}

#[test]
fn too_few_excesses_and_the_body_of_a_sample_are_refused() {
    let few = fit_pareto(&ideal(1.0, 0.0, EXCESSES_MIN - 1)).unwrap_err();
    assert_eq!(few.to_string(), "a fit of the tail needs at least 30 observations, 29 seen");
    let mut zero = ideal(1.0, 0.0, 40);
    zero[7] = 0.0;
    assert!(matches!(fit_pareto(&zero), Err(Refusal::OutOfRange { name: "an excess", .. })));
    let fit = fit_pareto(&ideal(1.0, 0.0, 40)).unwrap();
    assert!(fit.level(&level(5.0, 400, 40, 0.2)).is_err(), "that lies in the body");
    assert!((fit.level(&level(5.0, 400, 40, 0.1)).unwrap() - 5.0).abs() < 1e-9);
}
