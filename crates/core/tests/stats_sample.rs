//! Quantiles, autocorrelation, steady state, trend and bootstrap on samples with known answers.

use cotenant_core::stats::{
    Refusal, autocorrelation, bootstrap_mean_interval, bootstrap_ratio, effective_sample_size,
    log_ratio, mann_kendall, mann_kendall_at, mser5, quantile, quantile_interval, quantile_rank,
    quantile_sorted, quantile_upper_rank, require_sample, sample_size_min,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const INF: f64 = f64::INFINITY;

#[test]
fn a_quantile_is_an_order_statistic() {
    let values = [5.0, 1.0, 4.0, 2.0, 3.0];
    for (q, expected) in [(0.01, 1.0), (0.2, 1.0), (0.21, 2.0), (0.5, 3.0), (0.8, 4.0), (1.0, 5.0)]
    {
        assert_eq!(quantile(&values, q).unwrap(), expected, "q {q}");
    }
    // 0.07·100 and 0.55·100 are not whole in binary.
    assert_eq!((quantile_rank(0.07, 100), quantile_rank(0.55, 100)), (7, 55));
    assert_eq!(quantile_sorted(&[1.0, 2.0, INF], 0.99).unwrap(), INF);
}

#[test]
fn what_is_no_sample_is_refused() {
    assert_eq!(quantile(&[], 0.5), Err(Refusal::Empty));
    assert_eq!(quantile(&[1.0, f64::NAN], 0.5), Err(Refusal::NotANumber { index: 1 }));
    for q in [0.0, -0.1, 1.1, f64::NAN] {
        assert!(matches!(quantile(&[1.0], q), Err(Refusal::OutOfRange { .. })));
    }
    assert_eq!(
        require_sample(0.999, 2_994.9, 0.05).unwrap_err().to_string(),
        "p99.9 needs 2995 effective requests, 2994 seen"
    );
    assert!(require_sample(0.999, 2_995.0, 0.05).is_ok());
}

#[test]
fn the_interval_of_a_short_sample_is_open() {
    let values: Vec<f64> = (1..=100).map(f64::from).collect();
    // The ranks are those of `order_ci(100, .95)` in the shared vectors.py.
    let (low, high) = quantile_interval(&values, 0.95, 0.95).unwrap();
    assert_eq!((low, high), (Some(90.0), Some(100.0)));
    assert_eq!(quantile_interval(&values, 0.99, 0.95).unwrap().1, None);
    assert_eq!(quantile_upper_rank(299, 0.99, 0.95).unwrap(), Some(299));
    assert_eq!(quantile_upper_rank(298, 0.99, 0.95).unwrap(), None);
}

#[test]
fn autocorrelation_of_known_series() {
    // 0011 0011 …: pairs alternate between equal and different, so the products cancel.
    let quarter: Vec<f64> = (0..400).map(|i| f64::from((i / 2) % 2)).collect();
    assert!(autocorrelation(&quarter).unwrap().abs() < 0.01);
    let alternating: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
    assert!(autocorrelation(&alternating).unwrap() < -0.99);
    let halves: Vec<f64> = (0..400).map(|i| f64::from(i / 200)).collect();
    assert!(autocorrelation(&halves).unwrap() > 0.99);
    // One observation, however often repeated.
    assert_eq!(autocorrelation(&[INF; 50]).unwrap(), 1.0);
    assert_eq!(autocorrelation(&[0.3]).unwrap(), 1.0);
    assert!(autocorrelation(&[]).is_err() && autocorrelation(&[f64::NAN]).is_err());
    // Most requests time out: the median is +∞ and nothing is above it, but the answered ones
    // still come in a row.
    let mut timeouts = vec![INF; 60];
    timeouts[..20].fill(0.5);
    assert!(autocorrelation(&timeouts).unwrap() > 0.8);
    // More than half of the values tie at the median.
    let mut ties = vec![1.0; 60];
    ties[40..].fill(2.0);
    assert!(autocorrelation(&ties).unwrap() > 0.8);
}

/// A series that keeps its rank with probability ρ has autocorrelation ρ above its median.
#[test]
fn autocorrelation_finds_what_was_put_in() {
    for truth in [0.0, 0.3, 0.5, 0.8] {
        let mut random = Pcg64::seed_from_u64(17);
        let mut rank: f64 = random.random();
        let series: Vec<f64> = (0..40_000)
            .map(|_| {
                if random.random::<f64>() >= truth {
                    rank = random.random();
                }
                rank
            })
            .collect();
        let estimate = autocorrelation(&series).unwrap();
        assert!((estimate - truth).abs() < 0.02, "{estimate} for {truth}");
    }
}

#[test]
fn effective_size_stays_between_one_and_n() {
    assert_eq!(effective_sample_size(100.0, 0.0), 100.0);
    assert_eq!(effective_sample_size(100.0, -0.4), 100.0);
    assert_eq!(effective_sample_size(100.0, 1.0), 1.0);
    assert!((effective_sample_size(130.0, 0.3) - 70.0).abs() < 1e-12);
}

#[test]
fn mser5_drops_the_warm_up_and_nothing_else() {
    // 30 slow observations, then a steady level with a small ripple.
    let series: Vec<f64> = (0..200)
        .map(|i| if i < 30 { 5.0 + f64::from(30 - i) } else { 1.0 + f64::from(i % 2) * 0.01 })
        .collect();
    let truncation = mser5(&series).unwrap();
    assert_eq!(truncation.drop, 30);
    assert!(!truncation.at_limit);
    // By its definition, at d = 6 batches of 40.
    let batches: Vec<f64> = series.chunks(5).map(|b| b.iter().sum::<f64>() / 5.0).collect();
    let rest = &batches[6..];
    let mean = rest.iter().sum::<f64>() / rest.len() as f64;
    let squares: f64 = rest.iter().map(|b| (b - mean).powi(2)).sum();
    let expected = squares / (rest.len() * rest.len()) as f64;
    assert!((truncation.squared_error - expected).abs() < 1e-12);
    // A line that falls to the end was never steady.
    let falling: Vec<f64> = (0..200).map(|i| f64::from(200 - i)).collect();
    assert!(mser5(&falling).unwrap().at_limit);
    // A constant series loses nothing.
    assert_eq!(mser5(&[2.0; 50]).unwrap().drop, 0);
    assert!(matches!(mser5(&[1.0; 19]), Err(Refusal::TooFewObservations { needed: 20, .. })));
    assert!(mser5(&[INF; 40]).is_err());
}

#[test]
fn a_growing_queue_is_told_from_a_steady_one() {
    let rising: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.5 + f64::from(i % 3)).collect();
    let trend = mann_kendall(&rising).unwrap();
    assert!(trend.p_increasing < 1e-9 && trend.p_increasing_corrected < 1e-4, "{trend:?}");
    assert!((trend.slope - 0.5).abs() < 0.02);
    let falling: Vec<f64> = rising.iter().rev().copied().collect();
    assert!(mann_kendall(&falling).unwrap().p_increasing > 0.999);
    // All equal: no trend and no division by a variance of zero.
    let flat = mann_kendall(&[4.0; 30]).unwrap();
    assert_eq!((flat.s, flat.z, flat.slope, flat.p_increasing), (0, 0.0, 0.0, 0.5));
    // Times at half the spacing double the slope.
    let times: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.5).collect();
    let dense = mann_kendall_at(&times, &rising).unwrap();
    assert!((dense.slope - 2.0 * trend.slope).abs() < 1e-12 && dense.s == trend.s);
    assert!(mann_kendall(&[1.0; 9]).is_err());
    assert!(mann_kendall_at(&[0.0; 12], &[1.0; 12]).is_err());
}

/// Without the correction a steady but persistent queue is called growing far too often.
#[test]
fn persistence_is_no_growth() {
    let (mut plain, mut corrected) = (0, 0);
    for seed in 0..300 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut level = 0.0;
        let series: Vec<f64> = (0..120)
            .map(|_| {
                level = 0.8 * level + random.random::<f64>() - 0.5;
                level
            })
            .collect();
        let trend = mann_kendall(&series).unwrap();
        plain += u32::from(trend.p_increasing < 0.01);
        corrected += u32::from(trend.p_increasing_corrected < 0.01);
    }
    assert!(plain > 30, "{plain} of 300");
    assert!(corrected <= 15, "{corrected} of 300");
}

#[test]
fn the_bootstrap_repeats_and_covers() {
    let logs: Vec<f64> =
        [1.2, 1.35, 1.1, 1.28, 1.31, 1.19].iter().map(|r| log_ratio(*r, 1.0).unwrap()).collect();
    let once = bootstrap_ratio(&logs, 0.95, 2_000, &mut Pcg64::seed_from_u64(3)).unwrap();
    let again = bootstrap_ratio(&logs, 0.95, 2_000, &mut Pcg64::seed_from_u64(3)).unwrap();
    assert_eq!(once, again);
    assert!(1.1 < once.lower && once.lower < once.ratio && once.ratio < once.upper);
    assert!(once.upper < 1.35 && once.pairs == 6);
    assert!(log_ratio(INF, 1.0).is_err() && log_ratio(1.0, 0.0).is_err());
    let few = bootstrap_mean_interval(&[0.1], 0.95, 100, &mut Pcg64::seed_from_u64(3));
    assert!(matches!(few, Err(Refusal::TooFewBlocks { needed: 2, seen: 1 })));
    // Of 300 intervals of ten normal-ish values about 95 % hold the mean; the percentile bootstrap
    // of ten is known to fall a little short.
    let mut held = 0;
    for seed in 0..300 {
        let mut random = Pcg64::seed_from_u64(seed);
        let values: Vec<f64> =
            (0..10).map(|_| (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0).collect();
        let (low, high) = bootstrap_mean_interval(&values, 0.95, 400, &mut random).unwrap();
        held += u32::from(low <= 0.0 && 0.0 <= high);
    }
    assert!((255..=295).contains(&held), "{held} of 300");
}

proptest! {
    #[test]
    fn a_quantile_is_a_value_that_was_seen(
        values in prop::collection::vec(-1e6_f64..1e6, 1..80),
        q in 0.001_f64..1.0,
    ) {
        let found = quantile(&values, q).unwrap();
        prop_assert!(values.contains(&found));
        // At least ⌈qn⌉ values are at or below it, and fewer than that lie below.
        let rank = quantile_rank(q, values.len());
        prop_assert!(values.iter().filter(|value| **value <= found).count() >= rank);
        prop_assert!(values.iter().filter(|value| **value < found).count() < rank);
    }

    #[test]
    fn quantiles_keep_their_order(
        values in prop::collection::vec(0.0_f64..1e3, 1..60),
        (low, high) in (0.001_f64..1.0, 0.001_f64..1.0),
    ) {
        let (low, high) = (low.min(high), low.max(high));
        prop_assert!(quantile(&values, low).unwrap() <= quantile(&values, high).unwrap());
    }

    #[test]
    fn the_smallest_sample_is_the_smallest(q in 0.01_f64..0.9995, alpha in 0.001_f64..0.5) {
        let n = sample_size_min(q, alpha).unwrap();
        prop_assert!(q.powf(n as f64) <= alpha * (1.0 + 1e-9));
        prop_assert!(n == 1 || q.powf((n - 1) as f64) > alpha * (1.0 - 1e-9));
    }

    #[test]
    fn autocorrelation_and_size_stay_in_range(
        values in prop::collection::vec(prop_oneof![4 => 0.0_f64..5.0, 1 => Just(INF)], 1..120),
    ) {
        let rho = autocorrelation(&values).unwrap();
        prop_assert!((-1.0..=1.0).contains(&rho), "{}", rho);
        let n = values.len() as f64;
        let effective = effective_sample_size(n, rho);
        prop_assert!((1.0..=n).contains(&effective));
    }
}
