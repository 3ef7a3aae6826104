//! What demand cannot be read from, and why.

use jiff::Timestamp;
use thiserror::Error;

/// Why a source gives no demand, or a demand no forecast. The text is a lowercase fragment; rows are
/// counted from 0 in the order in which they were handed over, so that a reader can add its line.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DemandRefusal {
    /// Nothing was handed over, or no row has a value.
    #[error("the source holds no demand: no request, and no interval with a value")]
    Empty,
    /// Requests and intervals in one history.
    #[error("the source mixes single requests and means over intervals; read them apart")]
    Mixed,
    /// An interval that ends where it starts, or before.
    #[error(
        "interval {row} ends at {end}, which is not after its start {start} by a second or more"
    )]
    NoLength {
        /// Its row.
        row: usize,
        /// Its start.
        start: Timestamp,
        /// Its end.
        end: Timestamp,
    },
    /// Two intervals that share time, or one that is there twice.
    #[error("intervals {first} and {second} overlap at {at}: the source counts that time twice")]
    Overlap {
        /// The row of the one that starts earlier.
        first: usize,
        /// The row of the other.
        second: usize,
        /// The start of the time that they share.
        at: Timestamp,
    },
    /// A value that is negative or not finite.
    #[error("the {what} of interval {row} is {value}, but must be a number of at least 0")]
    BadValue {
        /// Its row.
        row: usize,
        /// Which of its values.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// More intervals than are kept.
    #[error("more than {limit} intervals; average them over longer ones")]
    TooManyIntervals {
        /// The most that are kept.
        limit: usize,
    },
    /// A history that is shorter than one season.
    #[error("a forecast by time of week needs 7 days of history, and {} seen", seen(*days))]
    TooShort {
        /// Days from the first to the last value.
        days: f64,
    },
    /// A miscoverage that is no share.
    #[error("alpha is {alpha}, but must lie between 0 and 1")]
    Alpha {
        /// The value.
        alpha: f64,
    },
    /// Nothing to forecast, or a table without a row that matters.
    #[error("the calendar has no windows")]
    NoWindows,
}

/// A length of history as the subject of a sentence: `6.0 days were`, `58 min were`.
fn seen(days: f64) -> String {
    if days >= 2.0 {
        format!("{days:.1} days were")
    } else if days >= 2.0 / 24.0 {
        format!("{:.0} h were", 24.0 * days)
    } else {
        format!("{:.0} min were", 24.0 * 60.0 * days)
    }
}
