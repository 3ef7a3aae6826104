//! The simulator's time: an integer, so that two ways of adding the same steps agree exactly.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::time::Duration;

/// Picoseconds since the start of the simulated time, or a length of it. 64 bits hold 213 days;
/// sums and products stay at the largest value instead of wrapping.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Picoseconds(pub u64);

impl Picoseconds {
    /// The start of the simulated time, or no time.
    pub const ZERO: Self = Self(0);
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000_000);
    /// The largest time, which stands for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The nearest picosecond; zero below zero and for what is no number, the largest above it.
    pub fn from_seconds(seconds: f64) -> Self {
        // A conversion from a floating point number saturates, and takes no number for zero.
        Self((seconds * 1e12).round() as u64)
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The same length, exact up to 213 days and the largest time above.
    pub fn from_duration(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX))
    }

    /// This time as a share of another one, in a product of integers: `self · numerator ÷
    /// denominator`, rounded up. A denominator of zero gives the largest time.
    #[must_use]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        if denominator == 0 {
            return Self::MAX;
        }
        let product = u128::from(self.0) * u128::from(numerator);
        Self(u64::try_from(product.div_ceil(u128::from(denominator))).unwrap_or(u64::MAX))
    }
}

impl Add for Picoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Picoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Time from a later to an earlier moment is none.
impl Sub for Picoseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Picoseconds {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Sum for Picoseconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}
