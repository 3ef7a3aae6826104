//! What may be concluded from a sample: bounds, refusals, and the rule that decides.
//!
//! `docs/statistics.md` tells the rule and the study, with known truth, that chose it.

mod autocorrelation;
mod blocks;
mod distributions;
mod order;
mod proportion;
mod refusal;
mod special;

pub use autocorrelation::{autocorrelation, effective_sample_size};
pub use blocks::{
    BLOCKS_MIN, MeanBounds, Moments, cox_bounds, moments, paired_t_interval, student_bounds,
};
pub use distributions::{
    binomial_cdf, erfc, normal_cdf, normal_quantile, student_t_cdf, student_t_quantile,
};
pub use order::{
    QuantileRanks, quantile, quantile_interval, quantile_interval_ranks, quantile_rank,
    quantile_sorted, quantile_upper_rank, require_sample, sample_size_min,
    sample_size_min_two_sided,
};
pub use proportion::{clopper_pearson_lower, clopper_pearson_upper, wilson_interval};
pub use refusal::Refusal;
pub use special::{beta_regularized, beta_regularized_inverse, ln_gamma};
