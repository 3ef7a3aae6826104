//! A request trace into a history.

use cotenant_core::demand::{Arrival, ArrivalOutcome, HistoryBuilder};

use super::anchor::{Anchor, Meaning};
use super::read::{DemandError, Part};
use super::source::TraceSource;
use crate::trace::{ColumnMap, Problem, StreamSummary, TraceRow, try_stream};

/// Counts a trace row by row. Rows that go back in time are counted where they belong.
pub(super) fn fold(
    name: &str,
    input: impl std::io::Read,
    source: &TraceSource,
    builder: &mut HistoryBuilder,
) -> Result<Part, DemandError> {
    let mut rows = Rows::new(source, builder);
    let summary = try_stream(name, input, source.format.as_ref(), |row, context| {
        rows.take(row, context.columns)
    })?;
    Ok(Part {
        notes: rows.notes(name, &summary),
        rows: summary.rows,
        rows_out_of_order: summary.rows_out_of_order,
        time_of_week_known: rows.anchor.is_some_and(|anchor| anchor.meaning.knows_time_of_week()),
    })
}

/// What is kept while the rows go by.
struct Rows<'a> {
    source: &'a TraceSource,
    builder: &'a mut HistoryBuilder,
    anchor: Option<Anchor>,
    first_ns: i128,
    before_first: u64,
    refused: u64,
    timed_out: u64,
}

impl<'a> Rows<'a> {
    fn new(source: &'a TraceSource, builder: &'a mut HistoryBuilder) -> Self {
        Self {
            source,
            builder,
            anchor: None,
            first_ns: 0,
            before_first: 0,
            refused: 0,
            timed_out: 0,
        }
    }

    fn take(&mut self, row: &TraceRow, columns: &ColumnMap) -> Result<(), Problem> {
        let anchor = match self.anchor {
            Some(anchor) => anchor,
            None => self.begin(row, columns),
        };
        let at = anchor.instant(row.at_ns).ok_or_else(|| {
            Problem::new(
                "the time lies outside of the years 1677 to 2262",
                "the unit of its times is another one: name the column so that it ends in _ms, _us \
                 or _ns",
            )
        })?;
        self.before_first += u64::from(row.at_ns < self.first_ns);
        match row.outcome {
            ArrivalOutcome::Served => {}
            ArrivalOutcome::Refused => self.refused += 1,
            ArrivalOutcome::TimedOut => self.timed_out += 1,
        }
        let arrival = Arrival {
            at,
            prompt_tokens: row.prompt_tokens,
            output_tokens: row.output_tokens,
            outcome: row.outcome,
            service: row.latency,
        };
        self.builder.arrival(&arrival);
        Ok(())
    }

    fn begin(&mut self, row: &TraceRow, columns: &ColumnMap) -> Anchor {
        let midnight = columns.counts_from_midnight();
        let anchor = Anchor::of_first_row(row.at_ns, row.dated, self.source.begins, midnight);
        self.anchor = Some(anchor);
        self.first_ns = row.at_ns;
        anchor
    }

    fn notes(&self, name: &str, summary: &StreamSummary) -> Vec<String> {
        let mut notes = Vec::new();
        let meaning = self.anchor.map_or(Meaning::Unknown, |anchor| anchor.meaning);
        notes.extend(meaning.note(name, "its first row"));
        let dates_count = meaning == Meaning::Dates;
        if summary.without_zone && dates_count {
            notes.push(format!("{name}: its times name no zone and are read as UTC"));
        }
        if summary.rows_out_of_order > 0 {
            notes.push(format!(
                "{name}: {} of {} requests were written after later ones; each is counted at its \
                 own time",
                summary.rows_out_of_order, summary.rows
            ));
        }
        if self.before_first > 0 && !dates_count {
            notes.push(format!(
                "{name}: {} requests are earlier than the first row",
                self.before_first
            ));
        }
        if self.refused + self.timed_out > 0 {
            notes.push(format!(
                "{name}: {} requests were refused or failed and {} timed out; they are demand too",
                self.refused, self.timed_out
            ));
        }
        if summary.last_line_has_no_end {
            notes.push(format!(
                "{name}: its last line has no end; if the file was cut there, the last number may \
                 be too short"
            ));
        }
        notes
    }
}
