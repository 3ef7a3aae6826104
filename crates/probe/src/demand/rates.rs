//! A table of mean rates into a history: CSV with a header whose columns are named or numbered, or
//! without one, as the files of ServeGen's clients.

use std::time::Duration;

use cotenant_core::demand::HistoryBuilder;

use super::anchor::Anchor;
use super::points::{self, Point, Stamp};
use super::read::{DemandError, Part};
use super::source::RatesSource;
use crate::trace::{Lines, Problem, TimeReader, TimeUnit, csv_cells, decimal};

/// Most rows: four years of minutes.
const ROWS_MAX: usize = 1 << 21;

pub(crate) fn fold(
    name: &str,
    input: impl std::io::Read,
    source: &RatesSource,
    builder: &mut HistoryBuilder,
) -> Result<Part, DemandError> {
    let mut table = Table::read(name, input, source)?;
    let Some(first) = table.points.first().copied() else {
        return Err(Problem::new("the file has no rows", "give a table with at least two rows")
            .at(name, None)
            .into());
    };
    let anchor = Anchor::of_second_zero(first.at_ns, table.dated, source.begins);
    let goes_back = |pair: &&[Point]| pair[1].at_ns < pair[0].at_ns;
    let rows_out_of_order = table.points.windows(2).filter(goes_back).count() as u64;
    let step = points::order(&mut table.points)
        .map_err(|(problem, line)| problem.at(name, (line > 0).then_some(line)))?;
    let mut instants = Vec::with_capacity(table.points.len());
    for point in &table.points {
        let at = anchor.instant(point.at_ns).ok_or_else(|| {
            Problem::new(
                "the time lies outside of the years 1677 to 2262",
                "write seconds from the start, Unix seconds, or dates",
            )
            .at(name, Some(point.line))
        })?;
        instants.push((at, point.rate));
    }
    points::fold(name, instants.into_iter(), step, Stamp::Start, builder)?;
    Ok(Part {
        notes: table.notes(name, source, anchor, step, rows_out_of_order),
        rows: table.points.len() as u64,
        rows_out_of_order,
        time_of_week_known: anchor.meaning.knows_time_of_week(),
    })
}

/// The rows as they were read.
struct Table {
    points: Vec<Point>,
    dated: bool,
    without_zone: bool,
    /// The names of the two columns that were read.
    columns: [String; 2],
}

impl Table {
    fn read(
        name: &str,
        input: impl std::io::Read,
        source: &RatesSource,
    ) -> Result<Self, DemandError> {
        let mut lines = Lines::open(name, input)?;
        let Some((_, first)) = lines.next_line()? else {
            return Ok(Self {
                points: Vec::new(),
                dated: false,
                without_zone: false,
                columns: [String::new(), String::new()],
            });
        };
        let first = first.strip_prefix('\u{feff}').unwrap_or(first).to_owned();
        let layout = Layout::of(&first, source).map_err(|problem| problem.at(name, Some(1)))?;
        let mut times = TimeReader::new(layout.unit);
        let mut points = Vec::new();
        if !layout.has_header {
            let point = layout.row(&first, 1, &mut times);
            points.push(point.map_err(|problem| problem.at(name, Some(1)))?);
        }
        while let Some((number, line)) = lines.next_line()? {
            let point = if points.len() < ROWS_MAX {
                layout.row(line, number, &mut times)
            } else {
                Err(Problem::new(
                    format!("the table has more than {ROWS_MAX} rows"),
                    "average them over longer intervals",
                ))
            };
            points.push(point.map_err(|problem| problem.at(name, Some(number)))?);
        }
        let seen = times.seen();
        Ok(Self {
            points,
            dated: seen.dates,
            without_zone: seen.without_zone,
            columns: layout.columns,
        })
    }

    fn notes(
        &self,
        name: &str,
        source: &RatesSource,
        anchor: Anchor,
        step: Duration,
        rows_out_of_order: u64,
    ) -> Vec<String> {
        let [time, rate] = &self.columns;
        let mut notes = vec![format!(
            "{name}: means over {} s, times from column {time}, requests per second from column \
             {rate}",
            step.as_secs()
        )];
        notes.extend(anchor.meaning.note(name, "second 0"));
        if self.without_zone && source.begins.is_none() {
            notes.push(format!("{name}: its times name no zone and are read as UTC"));
        }
        let empty = self.points.iter().filter(|point| point.rate.is_none()).count();
        let missing = points::missing(&self.points, step);
        if empty > 0 || missing > 0 {
            notes.push(format!(
                "{name}: gaps, not silence: intervals that are missing: {missing}, without a value: \
                 {empty}"
            ));
        }
        if rows_out_of_order > 0 {
            notes.push(format!("{name}: rows out of order, which are sorted: {rows_out_of_order}"));
        }
        notes
    }
}

/// Where the two columns stand.
struct Layout {
    has_header: bool,
    cells: usize,
    time_at: usize,
    rate_at: usize,
    unit: TimeUnit,
    columns: [String; 2],
}

impl Layout {
    fn of(first: &str, source: &RatesSource) -> Result<Self, Problem> {
        let cells = csv_cells(first)?;
        let names: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
        if names.len() < 2 {
            return Err(Problem::new(
                "the table has one column",
                "give a CSV with a column of times and one of rates, separated by commas",
            )
            .text(first));
        }
        // A first line of which no cell is a word is a row.
        let has_header = !names.iter().all(|name| is_value(name) || is_shape(name));
        let names = if has_header { names } else { vec![""; names.len()] };
        let time_at = column(&names, source.time_column.as_deref(), 0)?;
        let rate_at = column(&names, source.rate_column.as_deref(), 1)?;
        if time_at == rate_at {
            return Err(Problem::new(
                "one column is named for the times and for the rates",
                "name two columns",
            ));
        }
        let shown = |at: usize| match names[at] {
            "" => format!("{}", at + 1),
            name => name.to_owned(),
        };
        let unit = match names[time_at].rsplit_once('_') {
            Some((_, "ms")) => TimeUnit::Milliseconds,
            Some((_, "us")) => TimeUnit::Microseconds,
            Some((_, "ns")) => TimeUnit::Nanoseconds,
            _ => TimeUnit::ByContent,
        };
        Ok(Self {
            has_header,
            cells: names.len(),
            time_at,
            rate_at,
            unit,
            columns: [shown(time_at), shown(rate_at)],
        })
    }

    fn row(&self, line: &str, number: u64, times: &mut TimeReader) -> Result<Point, Problem> {
        if line.trim_ascii().is_empty() {
            return Err(Problem::new("the line is empty", "remove it"));
        }
        let cells = csv_cells(line)?;
        if cells.len() != self.cells {
            return Err(Problem::new(
                format!("the row has {} cells, the first line {}", cells.len(), self.cells),
                "the file may be cut or edited: mend or remove the row",
            )
            .text(line));
        }
        let (time, rate) = (&cells[self.time_at], &cells[self.rate_at]);
        let at_ns =
            times.read(time).map_err(|problem| problem.column(&self.columns[0]).text(time))?;
        let rate = rate_of(rate).map_err(|problem| problem.column(&self.columns[1]).text(rate))?;
        Ok(Point { at_ns, rate, line: number })
    }
}

/// Whether a cell of the first line is a time or a number rather than a name.
fn is_value(cell: &str) -> bool {
    cell.is_empty()
        || decimal(cell, 9).is_ok()
        || cell.parse::<f64>().is_ok()
        || TimeReader::new(TimeUnit::DateTime).read(cell).is_ok()
}

/// Whether a cell is the name of a distribution in the files of ServeGen's clients.
fn is_shape(cell: &str) -> bool {
    matches!(cell, "Gamma" | "Weibull" | "Exponential" | "Poisson")
}

/// A column by its name, by its number from 1, or the one that is taken without either.
fn column(names: &[&str], asked: Option<&str>, default: usize) -> Result<usize, Problem> {
    let Some(asked) = asked else { return Ok(default) };
    let mut found = names.iter().enumerate().filter(|(_, name)| **name == asked);
    match (found.next(), found.next(), asked.parse::<usize>()) {
        (Some((at, _)), None, _) => Ok(at),
        (Some(_), Some(_), _) => {
            Err(Problem::new("the header names this column twice", "rename one of the two")
                .column(asked))
        }
        (None, _, Ok(number)) if (1..=names.len()).contains(&number) => Ok(number - 1),
        (None, ..) => Err(Problem::new(
            format!("the table has no such column; it has {}", shown_names(names)),
            "name a column of the header, or give its number from 1",
        )
        .column(asked)),
    }
}

fn shown_names(names: &[&str]) -> String {
    if names.iter().all(|name| name.is_empty()) {
        return format!("{} columns without names", names.len());
    }
    names.join(", ")
}

/// A rate per second; an empty cell and NaN say that the source does not know.
fn rate_of(text: &str) -> Result<Option<f64>, Problem> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(rate) if rate.is_nan() => Ok(None),
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(Some(rate)),
        Ok(rate) if rate < 0.0 => {
            Err(Problem::new("a negative rate", "mend the row, or leave the cell empty for a gap"))
        }
        _ => Err(Problem::new(
            "not a rate",
            "write requests per second as a number, or leave the cell empty for a gap",
        )),
    }
}
