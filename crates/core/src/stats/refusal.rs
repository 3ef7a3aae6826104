//! What a sample cannot answer, and why.

use thiserror::Error;

/// Why a statistic is refused. The text is a lowercase fragment for "cannot judge …: {refusal}".
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refusal {
    /// There is nothing to compute from.
    #[error("no observations")]
    Empty,
    /// A value is not a number: it is neither a measurement nor a censored one.
    #[error("observation {index} is not a number")]
    NotANumber {
        /// Its position, from 0.
        index: usize,
    },
    /// A value is infinite where a mean or a logarithm needs a finite one.
    #[error("observation {index} is not finite, so a mean has no value")]
    NotFinite {
        /// Its position, from 0.
        index: usize,
    },
    /// A parameter lies outside the range where the formula holds.
    #[error("{name} is {value}, but must be {range}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Where it must lie, in words.
        range: &'static str,
    },
    /// Too few requests, counted as independent ones, to bound a quantile.
    #[error(
        "p{} needs {needed} effective requests, {} seen",
        percent(*quantile),
        whole(*seen)
    )]
    TooFewRequests {
        /// The quantile, a share: 0.99.
        quantile: f64,
        /// Effective requests that a bound needs at least.
        needed: u64,
        /// Effective requests that there are.
        seen: f64,
    },
    /// Too few blocks to know how much blocks differ.
    #[error("{needed} blocks are needed to see how much blocks differ, {seen} seen")]
    TooFewBlocks {
        /// Blocks that are needed at least.
        needed: usize,
        /// Blocks that there are.
        seen: usize,
    },
    /// A declared phase of the neighbour that no block (or one alone) contained.
    #[error("phase \"{stratum}\" needs {needed} blocks, {seen} seen")]
    UnseenStratum {
        /// Its name.
        stratum: String,
        /// Blocks that are needed at least.
        needed: usize,
        /// Blocks that there are.
        seen: usize,
    },
    /// Fewer observations than the method has a meaning for.
    #[error("{what} needs at least {needed} observations, {seen} seen")]
    TooFewObservations {
        /// The method.
        what: &'static str,
        /// Observations that are needed at least.
        needed: usize,
        /// Observations that there are.
        seen: usize,
    },
}

/// 0.99 as "99", 0.999 as "99.9".
fn percent(share: f64) -> f64 {
    (share * 1e9).round() / 1e7
}

/// Effective requests are shown as whole ones, rounded down: 8.97 of 9 are not 9.
fn whole(count: f64) -> f64 {
    (count + 1e-9).floor()
}
