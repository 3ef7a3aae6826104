//! What is true in a simulated test: how block shares are drawn, and the latencies of one block.

use rand::RngExt;
use rand_distr::{Distribution, Gamma, StandardNormal};
use rand_pcg::Pcg64;

/// Share of blocks that contain the bad phase, in the truths that have one.
pub(super) const BAD_WEIGHT: f64 = 0.1;

/// How much worse a block with the bad phase is than the mean: 30 % where the mean is 5 %.
const BAD_FACTOR: f64 = 6.0;

/// Log-normal spread of blocks inside one phase, where phases are strata.
const PHASE_SPREAD: f64 = 0.3;

/// How the share of misses differs from block to block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Truth {
    /// Not at all.
    Constant,
    /// Log-normal with this standard deviation of the logarithm.
    LogNormal(f64),
    /// Gamma with this coefficient of variation.
    Gamma(f64),
    /// One block in ten misses six times the mean, and nobody knows why.
    RareBad,
    /// The same, but the phase that does it is declared, and each block's phase is known.
    RareBadStratum,
    /// Two declared phases of the same weights that are alike, each log-normal with σ 1: the strata
    /// cost blocks and explain nothing.
    AlikeStrata,
}

impl Truth {
    pub(super) fn name(self) -> String {
        match self {
            Self::Constant => "constant".into(),
            Self::LogNormal(sigma) => format!("log-normal σ {sigma:.1}"),
            Self::Gamma(variation) => format!("gamma cv {variation:.1}"),
            Self::RareBad => "rare bad blocks, unknown".into(),
            Self::RareBadStratum => "rare bad blocks, a stratum".into(),
            Self::AlikeStrata => "two strata alike, σ 1.0".into(),
        }
    }

    /// Whether the truth has two declared phases, which alternate from block to block.
    pub(super) fn has_strata(self) -> bool {
        matches!(self, Self::RareBadStratum | Self::AlikeStrata)
    }

    /// Draws the true share of misses of one block; `mean` is the long-run share over blocks. With a
    /// declared phase, `bad` says whether the block is made to contain it.
    pub(super) fn draw(self, mean: f64, bad: bool, random: &mut Pcg64) -> f64 {
        let share = match self {
            Self::Constant => mean,
            Self::LogNormal(sigma) => log_normal(mean, sigma, random),
            Self::Gamma(variation) => {
                let shape = 1.0 / (variation * variation);
                Gamma::new(shape, mean / shape).map_or(mean, |gamma| gamma.sample(random))
            }
            Self::RareBad => phase_mean(mean, random.random_bool(BAD_WEIGHT)),
            Self::RareBadStratum => log_normal(phase_mean(mean, bad), PHASE_SPREAD, random),
            Self::AlikeStrata => log_normal(mean, 1.0, random),
        };
        share.min(1.0)
    }
}

fn phase_mean(mean: f64, bad: bool) -> f64 {
    if bad {
        BAD_FACTOR * mean
    } else {
        mean * (1.0 - BAD_WEIGHT * BAD_FACTOR) / (1.0 - BAD_WEIGHT)
    }
}

fn log_normal(mean: f64, sigma: f64, random: &mut Pcg64) -> f64 {
    let normal: f64 = StandardNormal.sample(random);
    mean * (sigma * normal - 0.5 * sigma * sigma).exp()
}

/// The limit against which [`latencies`] are judged, in their unit.
pub(super) const LIMIT: f64 = 1.0;

/// Latencies of one block of which each misses [`LIMIT`] with probability `share`. With probability
/// `persistence` a request meets the moment that the one before it met (the same rank among all
/// latencies), else a fresh one: above any threshold the series then has that autocorrelation, and
/// it can be estimated from the median of a block without a single miss.
pub(super) fn latencies(
    share: f64,
    requests: usize,
    persistence: f64,
    random: &mut Pcg64,
    series: &mut Vec<f64>,
) {
    series.clear();
    let scale = LIMIT / (1.0 - share).max(1e-12);
    let mut rank: f64 = random.random();
    for _ in 0..requests {
        if persistence <= 0.0 || random.random::<f64>() >= persistence {
            rank = random.random();
        }
        series.push(rank * scale);
    }
}
