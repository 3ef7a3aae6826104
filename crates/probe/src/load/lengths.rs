//! How long prompts and answers are: pure functions of a seed.

use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::schedule::ScheduleError;

/// The 95 % point of the standard normal distribution.
const Z95: f64 = 1.644_853_626_951_472_2;

/// A distribution of token counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LengthDistribution {
    /// Always the same.
    Fixed(u32),
    /// Log-normal through a median and a 95th percentile: μ = ln p50, σ = ln(p95 ÷ p50) ÷ z₀.₉₅,
    /// rounded to whole tokens and clamped to `[min, max]`.
    LogNormal {
        /// Median, tokens.
        p50: u32,
        /// 95th percentile, tokens.
        p95: u32,
        /// Least, tokens.
        min: u32,
        /// Most, tokens.
        max: u32,
    },
}

/// Where the lengths of a block come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lengths {
    /// The trace row of each arrival. Only with trace arrivals.
    FromTrace,
    /// Drawn independently of each other.
    Drawn {
        /// Of the prompt.
        prompt: LengthDistribution,
        /// Of the answer.
        output: LengthDistribution,
    },
}

/// What a length is multiplied by before it is asked for, so that the prompts of a large model's
/// trace fit a small one. Part of the record of a test: it is a different load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthScale {
    /// Factor of prompt lengths.
    pub prompt_factor: f64,
    /// Factor of answer lengths.
    pub output_factor: f64,
    /// Bounds of a prompt after the factor, tokens.
    pub prompt_tokens_range: (u32, u32),
    /// Bounds of an answer after the factor, tokens.
    pub output_tokens_range: (u32, u32),
}

impl Default for LengthScale {
    /// No change, but that a request has at least one token each way.
    fn default() -> Self {
        Self {
            prompt_factor: 1.0,
            output_factor: 1.0,
            prompt_tokens_range: (1, u32::MAX),
            output_tokens_range: (1, u32::MAX),
        }
    }
}

/// A length after the scale, and whether a bound changed it.
pub(super) struct Scaled {
    pub(super) tokens: u32,
    pub(super) clamped: bool,
}

impl LengthScale {
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        let factors =
            [("prompt_factor", self.prompt_factor), ("output_factor", self.output_factor)];
        for (name, value) in factors {
            if !value.is_finite() || value <= 0.0 {
                return Err(ScheduleError::BadParameter {
                    name,
                    value,
                    reason: "must be more than 0".to_owned(),
                });
            }
        }
        let ranges = [
            ("prompt_tokens_range", self.prompt_tokens_range),
            ("output_tokens_range", self.output_tokens_range),
        ];
        for (name, (min, max)) in ranges {
            if min == 0 || min > max {
                return Err(ScheduleError::BadParameter {
                    name,
                    value: f64::from(min),
                    reason: format!("the least must be at least 1 and at most the most ({max})"),
                });
            }
        }
        Ok(())
    }

    pub(super) fn prompt(&self, tokens: u32) -> Scaled {
        scaled(tokens, self.prompt_factor, self.prompt_tokens_range)
    }

    pub(super) fn output(&self, tokens: u32) -> Scaled {
        scaled(tokens, self.output_factor, self.output_tokens_range)
    }
}

fn scaled(tokens: u32, factor: f64, (min, max): (u32, u32)) -> Scaled {
    // The conversion saturates, so a product beyond u32 becomes the largest count.
    let wanted = (f64::from(tokens) * factor).round() as u32;
    let tokens = wanted.clamp(min, max);
    Scaled { tokens, clamped: tokens != wanted }
}

impl LengthDistribution {
    pub(super) fn check(&self, name: &'static str) -> Result<(), ScheduleError> {
        let refuse = |value: u32, reason: &str| {
            Err(ScheduleError::BadParameter {
                name,
                value: f64::from(value),
                reason: reason.to_owned(),
            })
        };
        match *self {
            Self::Fixed(0) => refuse(0, "a length must be at least 1 token"),
            Self::LogNormal { p50: 0, .. } => refuse(0, "the median must be at least 1 token"),
            Self::LogNormal { p50, p95, .. } if p95 < p50 => {
                refuse(p95, "the 95th percentile must be at least the median")
            }
            Self::LogNormal { min, max, .. } if min == 0 || min > max => {
                refuse(min, "the least must be at least 1 and at most the most")
            }
            Self::Fixed(_) | Self::LogNormal { .. } => Ok(()),
        }
    }

    pub(super) fn draw(&self, random: &mut Pcg64) -> u32 {
        match *self {
            Self::Fixed(tokens) => tokens,
            Self::LogNormal { p50, p95, min, max } => {
                let sigma = (f64::from(p95) / f64::from(p50)).ln() / Z95;
                let normal: f64 = StandardNormal.sample(random);
                let tokens = (f64::from(p50).ln() + sigma * normal).exp();
                (tokens.round() as u32).clamp(min, max)
            }
        }
    }
}
