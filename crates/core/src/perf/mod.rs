//! How long one pass of an engine takes.

mod integer;

pub use integer::{IntegerStep, Pass};
