//! The special functions and distributions against reference values.
//!
//! The values were made with mpmath 1.4.1 at 40 digits: `loggamma`, `betainc(regularized=True)` (for
//! a + b of a million by quadrature of the density), `erfinv`, `ncdf`, `erfc`; Student's quantiles
//! and the Clopper–Pearson bounds by `findroot` on the distribution function, started at scipy
//! 1.17.1's value; the binomial by summation of exact terms.

#![expect(clippy::excessive_precision, reason = "reference values as they were printed")]

use cotenant_core::stats::{
    beta_regularized, beta_regularized_inverse, binomial_cdf, clopper_pearson_lower,
    clopper_pearson_upper, cox_bounds, erfc, ln_gamma, mann_kendall, normal_cdf, normal_quantile,
    paired_t_interval, student_t_cdf, student_t_quantile,
};
use proptest::prelude::*;

/// Largest relative error.
const TOLERANCE: f64 = 1e-9;

#[track_caller]
fn close(actual: f64, expected: f64) {
    let error = (actual - expected).abs() / expected.abs().max(1e-300);
    assert!(error <= TOLERANCE, "{actual} is not {expected}: relative error {error:e}");
}

#[test]
fn logarithm_of_gamma() {
    for (x, expected) in [
        (0.1, 2.252_712_651_734_206),
        (0.5, 0.572_364_942_924_700_1),
        (1.5, -0.120_782_237_635_245_22),
        (3.7, 1.428_072_326_665_387_9),
        (9.99, 12.779_315_214_350_193),
        (10.0, 12.801_827_480_081_47),
        (171.5, 709.143_163_030_928_2),
        (1e6, 12_815_504.569_147_612),
        (1e10, 220_258_509_288.811),
    ] {
        close(ln_gamma(x), expected);
    }
    assert!(ln_gamma(0.0).is_nan() && ln_gamma(-1.5).is_nan() && ln_gamma(f64::NAN).is_nan());
}

#[test]
fn incomplete_beta() {
    for (x, a, b, expected) in [
        (0.5, 0.5, 0.5, 0.5),
        (0.01, 1.0, 300.0, 0.950_959_105_928_714_1),
        (0.006, 13.0, 1988.0, 0.424_034_406_252_921_3),
        (0.9, 2.5, 0.7, 0.623_932_172_900_793_7),
        (0.3, 20.0, 40.0, 0.299_821_675_252_293_15),
        (0.999, 1200.5, 3.25, 0.910_074_587_857_368_7),
        (1e-6, 0.5, 10.0, 0.003_523_930_468_241_314_7),
        (0.05, 50_000.5, 950_001.0, 0.499_771_190_279_321_8),
        (0.0501, 50_000.5, 950_001.0, 0.676_512_682_872_896),
        (0.5, 500_000.0, 500_300.0, 0.617_894_311_992_222_4),
    ] {
        close(beta_regularized(x, a, b), expected);
    }
    assert_eq!((beta_regularized(0.0, 2.0, 3.0), beta_regularized(1.0, 2.0, 3.0)), (0.0, 1.0));
    for (x, a, b) in [(-0.1, 1.0, 1.0), (1.1, 1.0, 1.0), (0.5, 0.0, 1.0), (0.5, 1.0, f64::NAN)] {
        assert!(beta_regularized(x, a, b).is_nan());
        assert!(beta_regularized_inverse(x, a, b).is_nan());
    }
}

#[test]
fn normal_distribution() {
    for (p, expected) in [
        (0.95, 1.644_853_626_951_472_7),
        (0.975, 1.959_963_984_540_054_2),
        (0.99, 2.326_347_874_040_841),
        (0.999, 3.090_232_306_167_813_5),
        (0.05, -1.644_853_626_951_472_7),
        (1e-6, -4.753_424_308_822_899),
        (1e-12, -7.034_483_825_301_132),
    ] {
        close(normal_quantile(p), expected);
    }
    assert!(normal_quantile(0.5).abs() < 1e-15);
    assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
    assert_eq!(normal_quantile(1.0), f64::INFINITY);
    assert!(normal_quantile(-0.1).is_nan() && normal_quantile(f64::NAN).is_nan());
    for (z, expected) in [
        (-8.0, 6.220_960_574_271_784e-16),
        (-3.6, 0.000_159_108_590_157_533_88),
        (-1.96, 0.024_997_895_148_220_434),
        (0.3, 0.617_911_422_188_952_6),
        (2.5, 0.993_790_334_674_223_9),
        (4.0, 0.999_968_328_758_166_9),
    ] {
        close(normal_cdf(z), expected);
    }
    for (x, expected) in [
        (0.1, 0.887_537_083_981_715_1),
        (1.0, 0.157_299_207_050_285_13),
        // On either side of the change from the series to the continued fraction.
        (2.4999, 0.000_407_169_900_333_450_9),
        (2.5, 0.000_406_952_017_444_958_94),
        (3.0, 2.209_049_699_858_544_1e-5),
        (6.0, 2.151_973_671_249_891_3e-17),
        (-1.0, 1.842_700_792_949_715),
    ] {
        close(erfc(x), expected);
    }
}

#[test]
fn student_distribution() {
    for (p, degrees, expected) in [
        (0.95, 1.0, 6.313_751_514_675_043),
        (0.95, 3.0, 2.353_363_434_801_824),
        (0.975, 5.0, 2.570_581_835_636_315_5),
        (0.95, 11.0, 1.795_884_818_704_044),
        (0.99, 15.0, 2.602_480_295_011_123_3),
        (0.9875, 7.0, 2.841_244_248_588_208_5),
        (0.95, 100.0, 1.660_234_326_085_339_6),
        (0.975, 100_000.0, 1.959_987_707_534_609_6),
        (0.999_95, 4.0, 15.544_100_581_545_68),
    ] {
        close(student_t_quantile(p, degrees), expected);
        close(-student_t_quantile(1.0 - p, degrees), student_t_quantile(p, degrees));
    }
    close(student_t_cdf(2.353_363_434_801_823, 3.0), 0.95);
    close(student_t_cdf(1.0, 1.0), 0.75);
    close(student_t_cdf(0.5, 30.0), 0.689_638_497_557_436_4);
    assert_eq!(student_t_quantile(0.5, 4.0), 0.0);
    assert!(student_t_quantile(0.9, 0.0).is_nan());
}

#[test]
fn binomial_distribution() {
    for (k, n, p, expected) in [
        (0, 300, 0.01, 0.049_040_894_071_285_856),
        (12, 2000, 0.009, 0.090_674_252_203_072_09),
        (982, 1000, 0.99, 0.013_832_581_730_008_507),
        (5, 10, 0.5, 0.623_046_875),
        (50, 1000, 0.05, 0.537_529_040_801_427_7),
    ] {
        close(binomial_cdf(k, n, p), expected);
    }
    assert_eq!(binomial_cdf(10, 10, 0.3), 1.0);
}

#[test]
fn clopper_pearson_with_whole_and_broken_counts() {
    for (k, n, upper) in [
        (12.0, 2000.0, 0.009_703_194_529_571_086),
        (0.0, 300.0, 0.009_936_081_944_457_712),
        (3.0, 80.0, 0.094_074_546_525_213_71),
        (50.0, 960.0, 0.065_464_173_482_452_08),
        (2.5, 101.25, 0.067_927_011_841_454_42),
    ] {
        close(clopper_pearson_upper(k, n, 0.05).unwrap(), upper);
    }
    for (k, n, lower) in [
        (12.0, 2000.0, 0.003_465_642_024_523_098_7),
        (8.0, 8.0, 0.687_656_021_933_632_1),
        (3.0, 80.0, 0.010_297_801_360_077_684),
        (50.0, 960.0, 0.040_804_131_514_282_125),
        (2.5, 101.25, 0.005_682_821_658_732_05),
    ] {
        close(clopper_pearson_lower(k, n, 0.05).unwrap(), lower);
    }
    // Closed forms: with no miss 1 − α^(1/n), with nothing but misses α^(1/n).
    close(clopper_pearson_upper(0.0, 40.0, 0.05).unwrap(), 1.0 - 0.05_f64.powf(1.0 / 40.0));
    close(clopper_pearson_lower(40.0, 40.0, 0.05).unwrap(), 0.05_f64.powf(1.0 / 40.0));
    assert_eq!(clopper_pearson_upper(7.0, 7.0, 0.05).unwrap(), 1.0);
    assert_eq!(clopper_pearson_lower(0.0, 7.0, 0.05).unwrap(), 0.0);
    for (k, n) in [(1.0, 0.0), (-1.0, 5.0), (6.0, 5.0), (f64::NAN, 5.0), (1.0, f64::INFINITY)] {
        assert!(clopper_pearson_upper(k, n, 0.05).is_err(), "{k} of {n}");
        assert!(clopper_pearson_lower(k, n, 0.05).is_err(), "{k} of {n}");
    }
}

/// numpy 2: `l = log((k + .5)/61)` for k = 0, 3, 2, 5; s² with divisor 3; scipy's t at 0.95 and 3.
#[test]
fn cox_bounds_of_four_blocks() {
    let logarithms: Vec<f64> =
        [0.0, 3.0, 2.0, 5.0].iter().map(|k: &f64| ((k + 0.5) / 61.0).ln()).collect();
    let bounds = cox_bounds(&logarithms, 0.05).unwrap();
    close(bounds.upper, 0.314_032_360_029_069_2);
    close(bounds.lower, 0.012_471_192_629_539_985);
}

/// scipy: `ttest_1samp([1.02, .97, 1.10, 1.05, .99], 0).confidence_interval(0.9)`.
#[test]
fn student_interval_of_five_means() {
    let interval = paired_t_interval(&[1.02, 0.97, 1.10, 1.05, 0.99], 0.9).unwrap();
    close(interval.mean, 1.026);
    close(interval.lower, 0.977_106_755_078_893_7);
    close(interval.upper, 1.074_893_244_921_106_3);
}

/// S and its variance by their definitions in Python, `scipy.stats.norm.sf`, `theilslopes`.
#[test]
fn trend_with_a_tie() {
    let trend = mann_kendall(&[1., 3., 2., 2., 5., 4., 6., 6., 7., 9., 8., 10.]).unwrap();
    assert_eq!(trend.s, 56);
    close(trend.variance, 210.666_666_666_666_66);
    close(trend.z, 3.789_350_500_440_659);
    close(trend.p_increasing, 7.552_083_871_968_166e-5);
    close(trend.slope, 0.8);
}

proptest! {
    #[test]
    fn beta_inverse_is_the_inverse(share in 1e-6_f64..0.999_999, a in 0.3_f64..3e3, b in 0.3_f64..3e3) {
        let x = beta_regularized_inverse(share, a, b);
        prop_assert!((0.0..=1.0).contains(&x));
        let back = beta_regularized(x, a, b);
        // Where x is the double next to 1 the inverse cannot be closer than the spacing of doubles.
        if x < 1.0 - 1e-12 {
            prop_assert!((back - share).abs() < 1e-9, "{back} {share} at {x}");
        }
    }

    #[test]
    fn beta_has_its_symmetry(x in 0.0_f64..1.0, a in 0.1_f64..1e3, b in 0.1_f64..1e3) {
        let sum = beta_regularized(x, a, b) + beta_regularized(1.0 - x, b, a);
        prop_assert!((sum - 1.0).abs() < 1e-9);
    }

    #[test]
    fn quantiles_invert_their_distributions(p in 1e-9_f64..1.0, degrees in 1.0_f64..1e4) {
        prop_assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-12);
        prop_assert!((student_t_cdf(student_t_quantile(p, degrees), degrees) - p).abs() < 1e-9);
    }
}
