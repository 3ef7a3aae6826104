//! Quantities with units, as people write them in a site file and read them in a report.
//!
//! Each quantity has one parser, whose error says what was found and which forms are accepted, and
//! one formatter. A bare number where a unit is needed is an error: `500` could be milliseconds or
//! seconds, and a wrong guess would change a verdict.

mod bytes;
mod duration;
mod error;
mod money;
mod number;
mod picoseconds;
mod rate;
mod share;

pub use bytes::{Bytes, BytesPerSecond};
pub use duration::{DURATION_MAX, format_duration, parse_duration};
pub use error::{Quantity, UnitError, UnitProblem};
pub use money::Money;
pub use number::{format_count, parse_count};
pub use picoseconds::Picoseconds;
pub use rate::{RatePerSecond, RateTime};
pub use share::Share;
