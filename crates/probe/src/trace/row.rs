//! One row of a trace, and what its cells say.

use std::time::Duration;

use cotenant_core::demand::ArrivalOutcome;

use super::columns::ColumnMap;
use super::error::Problem;
use super::time;

/// One request as a row of a trace tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// Arrival, nanoseconds from the Unix epoch where the file writes dates, else from an origin that
    /// only the file knows.
    pub at_ns: i128,
    /// Whether the file writes dates.
    pub dated: bool,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the answer.
    pub output_tokens: u32,
    /// How it ended; served where the file does not say.
    pub outcome: ArrivalOutcome,
    /// Time from arrival to the last token, where the file says it.
    pub latency: Option<Duration>,
}

/// The text of each cell that means something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    pub(super) prompt_tokens: &'a str,
    pub(super) output_tokens: &'a str,
    pub(super) latency_s: Option<&'a str>,
    pub(super) status: Option<&'a str>,
}

/// A row from its time and its other cells.
pub(super) fn row(
    at_ns: i128,
    dated: bool,
    cells: &Cells<'_>,
    map: &ColumnMap,
) -> Result<TraceRow, Problem> {
    let prompt_tokens = tokens(cells.prompt_tokens, &map.prompt_tokens)?;
    let output_tokens = tokens(cells.output_tokens, &map.output_tokens)?;
    let latency = match (cells.latency_s, &map.latency_s) {
        (Some(text), Some(column)) => latency(text, column)?,
        _ => None,
    };
    let outcome = match (cells.status, &map.status) {
        (Some(text), Some(column)) => outcome(text, column)?,
        _ if map.no_output_means_failed && output_tokens == 0 => ArrivalOutcome::Refused,
        _ => ArrivalOutcome::Served,
    };
    Ok(TraceRow { at_ns, dated, prompt_tokens, output_tokens, outcome, latency })
}

fn tokens(text: &str, column: &str) -> Result<u32, Problem> {
    let trimmed = text.trim_ascii();
    // Some writers turn counts into floats; 12.0 is a count, 12.5 is not.
    let whole = match trimmed.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => {
            whole
        }
        _ => trimmed,
    };
    whole.parse::<u32>().map_err(|_| {
        let problem = if trimmed.is_empty() {
            "the cell is empty"
        } else if trimmed.starts_with('-') {
            "a negative number of tokens"
        } else {
            "not a whole number of tokens (at most 4294967295)"
        };
        Problem::new(problem, "mend or remove the row").column(column).text(text)
    })
}

/// An empty cell is a row that does not say it.
fn latency(text: &str, column: &str) -> Result<Option<Duration>, Problem> {
    let trimmed = text.trim_ascii();
    if trimmed.is_empty() {
        return Ok(None);
    }
    let ns = time::decimal(trimmed, 9).ok().and_then(|ns| u64::try_from(ns).ok());
    ns.map(|ns| Some(Duration::from_nanos(ns))).ok_or_else(|| {
        Problem::new(
            "not a time that a request can take",
            "write seconds, 0 or more, or leave the cell empty where it is not known",
        )
        .column(column)
        .text(text)
    })
}

fn outcome(text: &str, column: &str) -> Result<ArrivalOutcome, Problem> {
    let word = text.trim_ascii();
    let is = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    if is(&["200", "ok", "success", "served", "completed", "stop", "length"]) {
        Ok(ArrivalOutcome::Served)
    } else if is(&["429", "500", "502", "503", "refused", "rejected", "failed", "error"]) {
        Ok(ArrivalOutcome::Refused)
    } else if is(&["408", "499", "504", "timeout", "timed_out", "cancelled", "aborted"]) {
        Ok(ArrivalOutcome::TimedOut)
    } else {
        Err(Problem::new(
            "the status is none that is known",
            "write `ok`, `refused` or `timeout` (or 200, 429, 503, 504)",
        )
        .column(column)
        .text(text))
    }
}
