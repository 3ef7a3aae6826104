//! Reading a trace, row by row.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::columns::{ColumnMap, TimeUnit, TraceFormat};
use super::csv_line;
use super::error::{Problem, TraceError};
use super::lines::Lines;
use super::time;

/// Most rows that a trace may have: 100 million rows are 1.6 GB of memory.
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
    let file = File::open(path).map_err(|error| {
        Problem::new(format!("cannot be opened: {error}"), "check the path and its permissions")
            .at(&name, None)
    })?;
    read(&name, file, options)
}

/// Reads a trace from any reader; `name` stands in the errors.
pub fn read(name: &str, input: impl Read, options: &ReadOptions) -> Result<Trace, Box<TraceError>> {
    let mut lines = Lines::open(name, input)?;
    let Some((number, first)) = lines.next_line()? else {
        return Err(no_rows(name));
    };
    let first = first.strip_prefix('\u{feff}').unwrap_or(first).to_owned();
    let reader = RowReader::for_first_line(&first, options.format.as_ref())
        .map_err(|problem| problem.at(name, Some(number)))?;
    let mut rows = Rows { options_sort: options.sort, ..Rows::default() };
    if reader.first_line_is_row {
        rows.add(reader.row(&first)).map_err(|problem| problem.at(name, Some(number)))?;
    }
    while let Some((number, line)) = lines.next_line()? {
        rows.add(reader.row(line)).map_err(|problem| problem.at(name, Some(number)))?;
    }
    if rows.read.is_empty() {
        return Err(no_rows(name));
    }
    rows.finish(name, reader.format)
}

fn no_rows(name: &str) -> Box<TraceError> {
    Problem::new("the file has no rows", "give a trace with at least one request").at(name, None)
}

#[derive(Clone, Copy)]
struct Row {
    at_ns: i128,
    prompt_tokens: u32,
    output_tokens: u32,
}

#[derive(Default)]
struct Rows {
    read: Vec<Row>,
    out_of_order: u64,
    options_sort: bool,
}

impl Rows {
    fn add(&mut self, row: Result<Row, Problem>) -> Result<(), Problem> {
        let row = row?;
        if self.read.len() >= ROWS_MAX {
            return Err(Problem::new(
                format!("the trace has more than {ROWS_MAX} rows"),
                "cut it into parts",
            ));
        }
        if self.read.last().is_some_and(|last| row.at_ns < last.at_ns) {
            if !self.options_sort {
                return Err(Problem::new(
                    "the row arrived before the row above it",
                    "if the order of the file means nothing, ask for sorting (sort: true)",
                ));
            }
            self.out_of_order += 1;
        }
        self.read.push(row);
        Ok(())
    }

    fn finish(mut self, name: &str, format: TraceFormat) -> Result<Trace, Box<TraceError>> {
        // A stable sort keeps rows that share one stamp in the order of the file.
        self.read.sort_by_key(|row| row.at_ns);
        let origin_ns = self.read.first().map_or(0, |row| row.at_ns);
        let mut requests = Vec::with_capacity(self.read.len());
        for row in &self.read {
            let ns = u64::try_from(row.at_ns - origin_ns).map_err(|_| {
                Problem::new(
                    "the trace spans more than 500 years",
                    "the unit of its times is another one: name it",
                )
                .at(name, None)
            })?;
            requests.push(TraceRequest {
                at: Duration::from_nanos(ns),
                prompt_tokens: row.prompt_tokens,
                output_tokens: row.output_tokens,
            });
        }
        let rows_out_of_order = self.out_of_order;
        Ok(Trace { name: name.to_owned(), format, requests, rows_out_of_order })
    }
}

/// Reads lines of one format.
struct RowReader {
    format: TraceFormat,
    /// The header's cells; empty for JSONL.
    header: Vec<String>,
    /// Positions of time, prompt and output among the cells.
    positions: [usize; 3],
    first_line_is_row: bool,
}

impl RowReader {
    fn for_first_line(first: &str, asked: Option<&TraceFormat>) -> Result<Self, Problem> {
        let json = match asked {
            Some(TraceFormat::JsonLines(_)) => true,
            Some(TraceFormat::Csv(_)) => false,
            None => first.trim_start().starts_with('{'),
        };
        if json { Self::json(first, asked) } else { Self::csv(first, asked) }
    }

    fn json(first: &str, asked: Option<&TraceFormat>) -> Result<Self, Problem> {
        let format = if let Some(format) = asked {
            format.clone()
        } else {
            let object = json_object(first)?;
            let map =
                ColumnMap::recognise(&object.keys().map(String::as_str)).ok_or_else(|| {
                    let keys: Vec<&str> = object.keys().map(String::as_str).collect();
                    unknown_columns(&keys).text(first)
                })?;
            TraceFormat::JsonLines(map)
        };
        Ok(Self { format, header: Vec::new(), positions: [0; 3], first_line_is_row: true })
    }

    fn csv(first: &str, asked: Option<&TraceFormat>) -> Result<Self, Problem> {
        let header: Vec<String> =
            csv_line::cells(first)?.iter().map(|cell| cell.trim().to_owned()).collect();
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        let map = match asked {
            Some(TraceFormat::Csv(map) | TraceFormat::JsonLines(map)) => map.clone(),
            None => ColumnMap::recognise(&names.iter().copied())
                .ok_or_else(|| unknown_columns(&names).text(first))?,
        };
        let position = |column: &str| {
            let mut found = names.iter().enumerate().filter(|(_, name)| **name == column);
            match (found.next(), found.next()) {
                (Some((position, _)), None) => Ok(position),
                (Some(_), Some(_)) => {
                    Err(Problem::new("the header names this column twice", "rename one of the two")
                        .column(column))
                }
                (None, _) => Err(Problem::new(
                    format!("the header has no such column; it has {}", names.join(", ")),
                    "name the columns of time, prompt tokens and output tokens",
                )
                .column(column)),
            }
        };
        let positions =
            [position(&map.time)?, position(&map.prompt_tokens)?, position(&map.output_tokens)?];
        let format = TraceFormat::Csv(map);
        Ok(Self { format, header, positions, first_line_is_row: false })
    }

    fn row(&self, line: &str) -> Result<Row, Problem> {
        if line.trim().is_empty() {
            return Err(Problem::new("the line is empty", "remove it"));
        }
        match &self.format {
            TraceFormat::Csv(map) => self.csv_row(line, map),
            TraceFormat::JsonLines(map) => json_row(line, map),
        }
    }

    fn csv_row(&self, line: &str, map: &ColumnMap) -> Result<Row, Problem> {
        let cells = csv_line::cells(line)?;
        if cells.len() != self.header.len() {
            return Err(Problem::new(
                format!("the row has {} cells, the header {}", cells.len(), self.header.len()),
                "the file may be cut or edited: mend or remove the row",
            )
            .text(line));
        }
        let [time_at, prompt_at, output_at] = self.positions;
        Ok(Row {
            at_ns: time_of(&cells[time_at], map)?,
            prompt_tokens: tokens(&cells[prompt_at], &map.prompt_tokens)?,
            output_tokens: tokens(&cells[output_at], &map.output_tokens)?,
        })
    }
}

fn json_row(line: &str, map: &ColumnMap) -> Result<Row, Problem> {
    let object = json_object(line)?;
    let text = |key: &str| match object.get(key) {
        // Numbers keep the digits that the file has, so that nanoseconds stay exact.
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(Problem::new("not a number", "write a plain number")
            .column(key)
            .text(&other.to_string())),
        None => Err(Problem::new("the row lacks this key", "mend or remove the row")
            .column(key)
            .text(line)),
    };
    Ok(Row {
        at_ns: time_of(&text(&map.time)?, map)?,
        prompt_tokens: tokens(&text(&map.prompt_tokens)?, &map.prompt_tokens)?,
        output_tokens: tokens(&text(&map.output_tokens)?, &map.output_tokens)?,
    })
}

fn json_object(line: &str) -> Result<serde_json::Map<String, Value>, Problem> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Problem::new("not a JSON object", "one object a line").text(line)),
        Err(error) => {
            Err(Problem::new(format!("not JSON: {error}"), "one JSON object a line").text(line))
        }
    }
}

fn time_of(text: &str, map: &ColumnMap) -> Result<i128, Problem> {
    time::parse(text, map.time_unit).map_err(|problem| problem.column(&map.time).text(text))
}

fn tokens(text: &str, column: &str) -> Result<u32, Problem> {
    let trimmed = text.trim();
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

fn unknown_columns(names: &[&str]) -> Problem {
    Problem::new(
        format!("the columns are of no known trace: {}", names.join(", ")),
        format!(
            "name the columns of time, its unit ({:?}, {:?}, {:?}, {:?}, {:?}), prompt tokens and \
             output tokens",
            TimeUnit::Seconds,
            TimeUnit::Milliseconds,
            TimeUnit::Microseconds,
            TimeUnit::Nanoseconds,
            TimeUnit::DateTime
        ),
    )
}
