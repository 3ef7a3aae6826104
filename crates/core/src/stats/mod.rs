//! What may be concluded from a sample: bounds, refusals, and the rule that decides.
//!
//! `docs/statistics.md` tells the rule and the study, with known truth, that chose it.

mod autocorrelation;
mod blocks;
mod bootstrap;
mod buckets;
mod checkpoint;
mod decision;
mod distributions;
mod excesses;
mod extremes;
mod least_squares;
mod misses;
mod order;
mod proportion;
mod queueing;
mod refusal;
mod special;
mod spread;
mod steady;
mod trend;

pub use autocorrelation::{autocorrelation, effective_sample_size};
pub use blocks::{
    BLOCKS_MIN, MeanBounds, Moments, cox_bounds, moments, paired_t_interval, student_bounds,
};
pub use bootstrap::{
    PAIRS_MIN, RatioInterval, bootstrap_mean_interval, bootstrap_ratio, log_ratio,
};
pub use buckets::{Buckets, Comparison, QuantileBounds};
pub use checkpoint::{
    checkpoint_overhead, daly_interval, renewal_cost_rate, renewal_interval, useful_window,
    young_interval,
};
pub use decision::{
    ALPHA, BLOCKS_PROPOSED_MAX, Decision, LookPlan, MeanDecision, Need, ShareDecision, Side,
    decide_mean, decide_share, holm,
};
pub use distributions::{
    binomial_cdf, erfc, normal_cdf, normal_quantile, student_t_cdf, student_t_quantile,
};
pub use excesses::{EXCESSES_MIN, ParetoFit, TailLevel, fit_pareto};
pub use extremes::{conformal_rank, pareto_level};
pub use least_squares::{Minimum, Search as LeastSquaresSearch, least_squares};
pub use misses::{BlockMisses, ShareBounds, Stratum, StratumBounds, bound_misses, unseen_phase};
pub use order::{
    QuantileRanks, quantile, quantile_interval, quantile_interval_ranks, quantile_rank,
    quantile_sorted, quantile_upper_rank, require_sample, sample_size_min,
    sample_size_min_two_sided,
};
pub use proportion::{
    clopper_pearson_lower, clopper_pearson_upper, drills_needed, wilson_interval,
};
pub use queueing::{
    BoundedQueue, allen_cunneen_wait, bounded_queue, erlang_b, erlang_c, wait_tail,
};
pub use refusal::Refusal;
pub use special::{beta_regularized, beta_regularized_inverse, ln_gamma};
pub use spread::{ASSUMED_LOG_SPREAD, assumed_spread_upper, cox_upper_lifted};
pub use steady::{MSER_BATCH, Truncation, mser5};
pub use trend::{TREND_OBSERVATIONS_MIN, Trend, mann_kendall, mann_kendall_at};
