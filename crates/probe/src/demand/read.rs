//! One way in for all sources.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use cotenant_core::demand::{DemandRefusal, History, HistoryBuilder};
use jiff::Timestamp;

use super::source::{RatesSource, Source, TraceSource};
use super::{answer, from_trace, join, rates, server};
use crate::trace::{TraceError, open_file};

/// Where times that are relative to nothing known are put: Monday 2024-01-01 00:00 UTC, Unix seconds.
pub(super) const ANCHOR_S: i64 = 1_704_067_200;

/// What the reader must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Mean time that a request stays in the engine, for sources that state none.
    pub service: Option<Duration>,
    /// The end of what a metrics server is asked for.
    pub now: Timestamp,
    /// Longest wait for one answer of a metrics server.
    pub patience: Duration,
}

/// How far a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How much is read.
    pub done: u64,
    /// How much there is; 0 where that cannot be told, as of a pipe.
    pub total: u64,
    /// Of what.
    pub unit: ProgressUnit,
}

/// What progress counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes of the file, compressed as it is.
    Bytes,
    /// Requests to the server.
    Requests,
}

/// What a source showed.
#[derive(Clone, Debug)]
pub struct Read {
    /// The demand.
    pub history: History,
    /// What whoever uses the history must know about the source, beside the history's own remarks; in
    /// sentences without a full stop that begin with the source's name.
    pub notes: Vec<String>,
    /// Requests, or points of a series.
    pub rows: u64,
    /// Rows that were earlier than the row before them. They are counted where they belong.
    pub rows_out_of_order: u64,
    /// Whether hours of the day and days of the week can be told. Where not, the first row stands at
    /// Monday 2024-01-01 00:00 UTC.
    pub time_of_week_known: bool,
}

/// What one of the sources of a history showed, beside what the builder was given.
pub(crate) struct Part {
    pub(crate) notes: Vec<String>,
    pub(crate) rows: u64,
    pub(crate) rows_out_of_order: u64,
    pub(crate) time_of_week_known: bool,
}

/// Why a source gives no history.
#[derive(Debug, thiserror::Error)]
pub enum DemandError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] Box<TraceError>),
    /// A metrics server does not answer as it should.
    #[error("{url}: {problem}; {hint}")]
    Server {
        /// The server's address.
        url: String,
        /// What is wrong.
        problem: String,
        /// The way out.
        hint: String,
    },
    /// Several sources that are not one history.
    #[error("{problem}; {hint}")]
    Apart {
        /// Why.
        problem: String,
        /// The way out.
        hint: String,
    },
    /// What was read makes no history.
    #[error("{name}: {refusal}")]
    Refused {
        /// The source.
        name: String,
        /// Why.
        refusal: DemandRefusal,
    },
}

/// Reads a source. `progress` is called from time to time and should be quick. A server is asked on
/// a thread of its own, so this may be called from anywhere but blocks.
///
/// # Errors
/// The first line that cannot be read, a server that refuses, or no demand at all.
pub fn read(
    source: &Source,
    options: &ReadOptions,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Read, DemandError> {
    read_all(std::slice::from_ref(source), options, progress)
}

/// Reads sources of one kind as one history, as if they were one file: requests are counted
/// together, and rates must not speak of the same time twice. The time between two of them is a gap.
///
/// # Errors
/// As [`read`]; and sources of several kinds, several servers, or times that have no origin in
/// common.
pub fn read_all(
    sources: &[Source],
    options: &ReadOptions,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Read, DemandError> {
    let rate_factor = join::rate_factor(sources)?;
    let sizes: Vec<u64> = sources.iter().map(size).collect();
    let total = sizes.iter().sum();
    let mut builder = HistoryBuilder::new(options.service);
    let mut parts = Vec::with_capacity(sources.len());
    let mut done = 0;
    for (source, size) in sources.iter().zip(&sizes) {
        let mut so_far = |progress_of_one: Progress| {
            progress(match progress_of_one.unit {
                ProgressUnit::Bytes => {
                    Progress { done: done + progress_of_one.done, total, unit: ProgressUnit::Bytes }
                }
                ProgressUnit::Requests => progress_of_one,
            });
        };
        parts.push(fold(source, options, &mut so_far, &mut builder)?);
        done += size;
    }
    join::one_origin(sources, &parts)?;
    let history = builder.finish().map_err(|refusal| DemandError::Refused {
        name: sources.iter().map(Source::name).collect::<Vec<_>>().join(", "),
        refusal,
    })?;
    Ok(Read {
        history: history.scaled(rate_factor),
        rows: parts.iter().map(|part| part.rows).sum(),
        rows_out_of_order: parts.iter().map(|part| part.rows_out_of_order).sum(),
        time_of_week_known: parts.iter().all(|part| part.time_of_week_known),
        notes: parts.into_iter().flat_map(|part| part.notes).collect(),
    })
}

/// Hands what one source says to the builder.
fn fold(
    source: &Source,
    options: &ReadOptions,
    progress: &mut (dyn FnMut(Progress) + Send),
    builder: &mut HistoryBuilder,
) -> Result<Part, DemandError> {
    let name = source.name();
    match source {
        Source::Trace(trace) => {
            let input = Counted::open(&trace.path, &name, progress)?;
            from_trace::fold(&name, input, trace, builder)
        }
        Source::Rates(rates) => {
            let input = Counted::open(&rates.path, &name, progress)?;
            rates::fold(&name, input, rates, builder)
        }
        Source::SavedQuery(path) => {
            let input = Counted::open(path, &name, progress)?;
            answer::fold_saved(&name, input, builder)
        }
        Source::Query(query) => server::fold(query, options, progress, builder),
    }
}

/// Bytes of a source's file; 0 where that cannot be told.
fn size(source: &Source) -> u64 {
    let path = match source {
        Source::Trace(TraceSource { path, .. })
        | Source::Rates(RatesSource { path, .. })
        | Source::SavedQuery(path) => path,
        Source::Query(_) => return 0,
    };
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// A file that tells how far it is read.
struct Counted<'a> {
    file: File,
    done: u64,
    total: u64,
    progress: &'a mut (dyn FnMut(Progress) + Send),
}

impl<'a> Counted<'a> {
    fn open(
        path: &Path,
        name: &str,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self, DemandError> {
        let file = open_file(path, name)?;
        let total = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(Self { file, done: 0, total, progress })
    }
}

impl io::Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.done += count as u64;
        (self.progress)(Progress { done: self.done, total: self.total, unit: ProgressUnit::Bytes });
        Ok(count)
    }
}
