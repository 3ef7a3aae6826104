//! A trace row by row, in constant memory.

use std::io::Read;

use serde_json::Value;

use super::columns::{ColumnMap, TraceFormat};
use super::csv_line;
use super::error::{Problem, TraceError};
use super::json_line::{self, Scalar};
use super::lines::Lines;
use super::row::{Cells, TraceRow, row};
use super::time::TimeReader;

/// What a whole trace turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSummary {
    /// The format that it was read as.
    pub format: TraceFormat,
    /// Requests; more than rows where a row holds several.
    pub rows: u64,
    /// Requests that arrived earlier than the one before them in the file.
    pub rows_out_of_order: u64,
    /// Whether times were dates, and so instants.
    pub dates: bool,
    /// Whether at least one date named no zone and was read as UTC.
    pub without_zone: bool,
    /// Whether the last line has no end. It was read; whether the file was cut inside its last
    /// number cannot be seen.
    pub last_line_has_no_end: bool,
}

/// Hands every request of a trace to `each`, in the order of the file. `name` stands in the errors;
/// a `format` of `None` is told by content.
///
/// # Errors
/// The first row that cannot be read, with its line. What was handed over before it must then be
/// thrown away.
pub fn stream(
    name: &str,
    input: impl Read,
    format: Option<&TraceFormat>,
    mut each: impl FnMut(&TraceRow),
) -> Result<StreamSummary, Box<TraceError>> {
    try_stream(name, input, format, |row, _| {
        each(row);
        Ok(())
    })
}

/// What the receiver of a row is told beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The row arrived before the one above it.
    pub(crate) goes_back: bool,
    /// The columns that it was read from.
    pub(crate) columns: &'a ColumnMap,
}

/// As `stream`, with a receiver that may refuse a row.
pub(crate) fn try_stream(
    name: &str,
    input: impl Read,
    format: Option<&TraceFormat>,
    each: impl FnMut(&TraceRow, Context<'_>) -> Result<(), Problem>,
) -> Result<StreamSummary, Box<TraceError>> {
    let mut lines = Lines::open(name, input)?;
    let Some((number, first)) = lines.next_line()? else {
        return Err(no_rows(name));
    };
    let first = first.strip_prefix('\u{feff}').unwrap_or(first).to_owned();
    let mut reader = RowReader::for_first_line(&first, format)
        .map_err(|problem| problem.at(name, Some(number)))?;
    let mut out = Out { each, rows: 0, rows_out_of_order: 0, last_ns: i128::MIN };
    if reader.first_line_is_row {
        reader.read(&first, &mut out).map_err(|problem| problem.at(name, Some(number)))?;
    }
    while let Some((number, line)) = lines.next_line()? {
        if let Err(problem) = reader.read(line, &mut out) {
            return Err(if lines.is_cut() { problem.cut() } else { problem }.at(name, Some(number)));
        }
    }
    if out.rows == 0 {
        return Err(no_rows(name));
    }
    let seen = reader.times.seen();
    Ok(StreamSummary {
        format: reader.format,
        rows: out.rows,
        rows_out_of_order: out.rows_out_of_order,
        dates: seen.dates,
        without_zone: seen.without_zone,
        last_line_has_no_end: lines.is_cut(),
    })
}

fn no_rows(name: &str) -> Box<TraceError> {
    Problem::new("the file has no rows", "give a trace with at least one request").at(name, None)
}

impl Problem {
    /// The problem of a last line that has no end.
    fn cut(self) -> Self {
        Self {
            what: format!("{}, and the line is the last one and has no end", self.what),
            hint: "the file was cut here: fetch it again, or remove the line".to_owned(),
            ..self
        }
    }
}

/// Where requests go, and what is counted of them.
struct Out<F> {
    each: F,
    rows: u64,
    rows_out_of_order: u64,
    last_ns: i128,
}

impl<F: FnMut(&TraceRow, Context<'_>) -> Result<(), Problem>> Out<F> {
    fn take(&mut self, row: &TraceRow, columns: &ColumnMap) -> Result<(), Problem> {
        let goes_back = row.at_ns < self.last_ns;
        self.rows += 1;
        self.rows_out_of_order += u64::from(goes_back);
        self.last_ns = row.at_ns;
        (self.each)(row, Context { goes_back, columns })
    }
}

/// Columns whose place in a row matters: time, prompt, output, latency, status.
const PLACES: usize = 5;

/// Reads lines of one format.
struct RowReader {
    format: TraceFormat,
    times: TimeReader,
    /// The header line; empty for JSONL.
    header: String,
    /// Number of its cells; 0 for JSONL.
    header_cells: usize,
    /// Where the columns stand in a CSV row.
    positions: [Option<usize>; PLACES],
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
        Ok(Self {
            times: TimeReader::new(format.columns().time_unit),
            format,
            header: String::new(),
            header_cells: 0,
            positions: [None; PLACES],
            first_line_is_row: true,
        })
    }

    fn csv(first: &str, asked: Option<&TraceFormat>) -> Result<Self, Problem> {
        let cells = csv_line::cells(first)?;
        let names: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
        let map = match asked {
            Some(format) => format.columns().clone(),
            None => ColumnMap::recognise(&names.iter().copied())
                .filter(|map| map.list.is_none())
                .ok_or_else(|| unknown_columns(&names).text(first))?,
        };
        let position_if_there = |column: Option<&String>| {
            column.map_or(Ok(None), |column| csv_line::position(&names, column))
        };
        let positions = [
            Some(csv_line::required_position(&names, &map.time)?),
            Some(csv_line::required_position(&names, &map.prompt_tokens)?),
            Some(csv_line::required_position(&names, &map.output_tokens)?),
            position_if_there(map.latency_s.as_ref())?,
            position_if_there(map.status.as_ref())?,
        ];
        Ok(Self {
            times: TimeReader::new(map.time_unit),
            format: TraceFormat::Csv(map),
            header: first.to_owned(),
            header_cells: names.len(),
            positions,
            first_line_is_row: false,
        })
    }

    fn read<F>(&mut self, line: &str, out: &mut Out<F>) -> Result<(), Problem>
    where
        F: FnMut(&TraceRow, Context<'_>) -> Result<(), Problem>,
    {
        if line.trim_ascii().is_empty() {
            return Err(Problem::new("the line is empty", "remove it"));
        }
        let Self { format, times, header, header_cells, positions, .. } = self;
        match format {
            TraceFormat::Csv(map) => {
                let row = csv_row(line, map, times, positions, *header_cells);
                let row = row.map_err(|problem| header_again(line, header).unwrap_or(problem))?;
                out.take(&row, map)
            }
            TraceFormat::JsonLines(map) => match &map.list {
                Some(list) => json_list(line, list, map, times, out),
                None => out.take(&json_row(line, map, times)?, map),
            },
        }
    }
}

fn header_again(line: &str, header: &str) -> Option<Problem> {
    (line == header).then(|| {
        Problem::new("the header stands there again", "two files were joined: remove the line")
    })
}

fn csv_row(
    line: &str,
    map: &ColumnMap,
    times: &mut TimeReader,
    positions: &[Option<usize>; PLACES],
    header_cells: usize,
) -> Result<TraceRow, Problem> {
    let wrong_number = |count: usize| {
        Problem::new(
            format!("the row has {count} cells, the header {header_cells}"),
            "the file may be cut or edited: mend or remove the row",
        )
        .text(line)
    };
    if let Some((picked, count)) = csv_line::plain_cells_at(line, positions) {
        if count != header_cells {
            return Err(wrong_number(count));
        }
        return csv_cells(&picked, map, times, positions);
    }
    let cells = csv_line::cells(line)?;
    if cells.len() != header_cells {
        return Err(wrong_number(cells.len()));
    }
    let picked = positions.map(|position| position.map_or("", |position| cells[position].as_ref()));
    csv_cells(&picked, map, times, positions)
}

fn csv_cells(
    picked: &[&str; PLACES],
    map: &ColumnMap,
    times: &mut TimeReader,
    positions: &[Option<usize>; PLACES],
) -> Result<TraceRow, Problem> {
    let [time, prompt_tokens, output_tokens, latency_s, status] = *picked;
    let at_ns = time_of(time, map, times)?;
    let cells = Cells {
        prompt_tokens,
        output_tokens,
        latency_s: positions[3].map(|_| latency_s),
        status: positions[4].map(|_| status),
    };
    row(at_ns, times.seen().dates, &cells, map)
}

fn json_row(line: &str, map: &ColumnMap, times: &mut TimeReader) -> Result<TraceRow, Problem> {
    let picked = json_line::pick(
        line,
        &[
            Some(map.time.as_str()),
            Some(map.prompt_tokens.as_str()),
            Some(map.output_tokens.as_str()),
            map.latency_s.as_deref(),
            map.status.as_deref(),
        ],
    )?;
    let [time, prompt_tokens, output_tokens, latency_s, status] = &picked;
    let at_ns = time_of(needed(time.as_ref(), &map.time, line)?, map, times)?;
    let cells = Cells {
        prompt_tokens: needed(prompt_tokens.as_ref(), &map.prompt_tokens, line)?,
        output_tokens: needed(output_tokens.as_ref(), &map.output_tokens, line)?,
        latency_s: optional(latency_s.as_ref(), map.latency_s.as_ref(), line)?,
        status: optional(status.as_ref(), map.status.as_ref(), line)?,
    };
    row(at_ns, times.seen().dates, &cells, map)
}

/// The requests of one row that lists them.
fn json_list<F>(
    line: &str,
    list: &str,
    map: &ColumnMap,
    times: &mut TimeReader,
    out: &mut Out<F>,
) -> Result<(), Problem>
where
    F: FnMut(&TraceRow, Context<'_>) -> Result<(), Problem>,
{
    let object = json_object(line)?;
    let lacks = |key: &str| {
        Problem::new("the row lacks this key", "mend or remove the row").column(key).text(line)
    };
    let time = object.get(&map.time).ok_or_else(|| lacks(&map.time))?;
    let at_ns = time_of(&plain_text(time), map, times)?;
    let requests = object.get(list).and_then(Value::as_array).ok_or_else(|| lacks(list))?;
    for request in requests {
        let text = |key: &str| request.get(key).map(plain_text).ok_or_else(|| lacks(key));
        let (prompt, output) = (text(&map.prompt_tokens)?, text(&map.output_tokens)?);
        let cells =
            Cells { prompt_tokens: &prompt, output_tokens: &output, latency_s: None, status: None };
        out.take(&row(at_ns, times.seen().dates, &cells, map)?, map)?;
    }
    Ok(())
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn needed<'a>(value: Option<&'a Scalar<'_>>, key: &str, line: &str) -> Result<&'a str, Problem> {
    match value {
        Some(Scalar::Text(text)) => Ok(text),
        Some(Scalar::Null | Scalar::Other) => {
            Err(Problem::new("not a number", "write a plain number").column(key).text(line))
        }
        None => Err(Problem::new("the row lacks this key", "mend or remove the row")
            .column(key)
            .text(line)),
    }
}

/// The text of a key that may be absent or `null`.
fn optional<'a>(
    value: Option<&'a Scalar<'_>>,
    key: Option<&String>,
    line: &str,
) -> Result<Option<&'a str>, Problem> {
    match value {
        Some(Scalar::Text(text)) => Ok(Some(text)),
        Some(Scalar::Null) | None => Ok(None),
        Some(Scalar::Other) => {
            let key = key.map_or("", String::as_str);
            Err(Problem::new("neither a number nor a word", "write a plain one, or null")
                .column(key)
                .text(line))
        }
    }
}

fn json_object(line: &str) -> Result<serde_json::Map<String, Value>, Problem> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Problem::new("not a JSON object", "one object a line").text(line)),
        Err(error) => Err(json_line::not_json(line, &error)),
    }
}

fn time_of(text: &str, map: &ColumnMap, times: &mut TimeReader) -> Result<i128, Problem> {
    times.read(text).map_err(|problem| problem.column(&map.time).text(text))
}

fn unknown_columns(names: &[&str]) -> Problem {
    Problem::new(
        format!("the columns are of no known trace: {}", names.join(", ")),
        "name the columns of time, prompt tokens and output tokens (`columns:` in the site file)",
    )
}
