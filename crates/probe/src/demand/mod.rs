//! Readers of demand over time: request traces, tables of rates, saved answers of a metrics server,
//! and the server itself. Each hands what it saw to `core::demand::HistoryBuilder`, in constant
//! memory for traces, and tells in notes what a reader of the history must know: nothing is dropped
//! and nothing assumed in silence.

mod anchor;
mod answer;
mod from_trace;
mod join;
mod points;
mod promql;
mod rates;
mod read;
mod server;
mod source;

pub(crate) use rates::fold as fold_rates;

pub use read::{DemandError, Progress, ProgressUnit, Read, ReadOptions, read, read_all};
pub use source::{QuerySource, RatesSource, Source, TraceSource};
