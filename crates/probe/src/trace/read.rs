//! A whole trace in memory, in order of arrival.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use super::columns::TraceFormat;
use super::error::{Problem, TraceError};
use super::row::TraceRow;
use super::stream::try_stream;

/// Most rows that a trace may have: 100 million rows are 5.6 GB of memory while they are put in
/// order.
const ROWS_MAX: usize = 100_000_000;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// Arrival, from the trace's first arrival.
    pub at: Duration,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the answer.
    pub output_tokens: u32,
}

/// A whole trace, in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The file's name, as given.
    pub name: String,
    /// The format that it was read as.
    pub format: TraceFormat,
    /// Every row.
    pub requests: Vec<TraceRequest>,
    /// Rows that arrived earlier than the row before them. More than 0 only where sorting was
    /// asked for; otherwise the first such row is an error.
    pub rows_out_of_order: u64,
}

impl Trace {
    /// Last arrival, from the first.
    pub fn span(&self) -> Duration {
        self.requests.last().map_or(Duration::ZERO, |request| request.at)
    }
}

/// How to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; `None` tells it by content.
    pub format: Option<TraceFormat>,
    /// Sort rows whose times go back, and count them, in place of refusing the file.
    pub sort: bool,
}

/// Reads a trace from a file.
pub fn read_file(path: &Path, options: &ReadOptions) -> Result<Trace, Box<TraceError>> {
    let name = path.display().to_string();
    let file = open(path, &name)?;
    read(&name, file, options)
}

/// Opens a file; `name` stands in the error.
pub(crate) fn open(path: &Path, name: &str) -> Result<File, Box<TraceError>> {
    let refused = |problem: String| {
        Problem::new(problem, "check the path and its permissions").at(name, None)
    };
    let file = File::open(path).map_err(|error| refused(format!("cannot be opened: {error}")))?;
    // A folder can be opened, but says so only when it is read.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(refused("is a folder and not a file".to_owned()));
    }
    Ok(file)
}

/// Reads a trace from any reader; `name` stands in the errors.
pub fn read(name: &str, input: impl Read, options: &ReadOptions) -> Result<Trace, Box<TraceError>> {
    let mut rows = Vec::new();
    let summary = try_stream(name, input, options.format.as_ref(), |row, context| {
        if rows.len() >= ROWS_MAX {
            return Err(Problem::new(
                format!("the trace has more than {ROWS_MAX} rows"),
                "cut it into parts",
            ));
        }
        if context.goes_back && !options.sort {
            return Err(Problem::new(
                "the row arrived before the row above it",
                "if the order of the file means nothing, ask for sorting (sort: true)",
            ));
        }
        rows.push(Arrived::from(row));
        Ok(())
    })?;
    Ok(Trace {
        name: name.to_owned(),
        format: summary.format,
        requests: requests(name, rows)?,
        rows_out_of_order: summary.rows_out_of_order,
    })
}

/// What is kept of a row.
#[derive(Clone, Copy)]
struct Arrived {
    at_ns: i128,
    prompt_tokens: u32,
    output_tokens: u32,
}

impl From<&TraceRow> for Arrived {
    fn from(row: &TraceRow) -> Self {
        let TraceRow { at_ns, prompt_tokens, output_tokens, .. } = *row;
        Self { at_ns, prompt_tokens, output_tokens }
    }
}

/// The requests in order, with times from the first.
fn requests(name: &str, mut rows: Vec<Arrived>) -> Result<Vec<TraceRequest>, Box<TraceError>> {
    // A stable sort keeps rows that share one stamp in the order of the file.
    rows.sort_by_key(|row| row.at_ns);
    let origin_ns = rows.first().map_or(0, |row| row.at_ns);
    rows.iter()
        .map(|row| {
            let ns = u64::try_from(row.at_ns - origin_ns).map_err(|_| {
                Problem::new(
                    "the trace spans more than 500 years",
                    "the unit of its times is another one: name it",
                )
                .at(name, None)
            })?;
            Ok(TraceRequest {
                at: Duration::from_nanos(ns),
                prompt_tokens: row.prompt_tokens,
                output_tokens: row.output_tokens,
            })
        })
        .collect()
}
