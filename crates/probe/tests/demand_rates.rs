//! Tables of mean rates as demand.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

mod demand_support;

use std::path::Path;
use std::time::Duration;

use cotenant_core::demand::WorkUnit;
use cotenant_core::site::{Demand, RateSeries};
use cotenant_probe::demand::{RatesSource, Source};
use demand_support::{at, file, message, reading, real_data};

fn table(path: &Path) -> RatesSource {
    RatesSource {
        path: path.to_owned(),
        time_column: None,
        rate_column: None,
        begins: None,
        rate_factor: 1.0,
    }
}

fn values(source: RatesSource) -> Vec<Option<f64>> {
    let read = reading(&Source::Rates(source)).unwrap();
    read.history.series(WorkUnit::Requests).unwrap().values
}

#[test]
fn a_missing_row_and_an_empty_cell_are_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let text = "start,rate\n2026-03-29T00:00:00Z,1.5\n2026-03-29T01:00:00Z,\n2026-03-29T03:00:00Z,2\n\
                2026-03-29T02:00:00Z,0\n2026-03-29T06:00:00Z,3\n";
    let source = Source::of_file(&file(folder.path(), "t.csv", text)).unwrap();
    let read = reading(&source).unwrap();
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.step, Duration::from_hours(1));
    assert_eq!(series.start, at("2026-03-29T00:00:00Z"));
    let (some, gap) = (Some, None);
    assert_eq!(series.values, [some(1.5), gap, some(0.0), some(2.0), gap, gap, some(3.0)]);
    assert_eq!((read.rows, read.rows_out_of_order), (5, 1));
    assert!(read.time_of_week_known);
    let said = read.notes.join("\n");
    assert!(said.contains("intervals that are missing: 2, without a value: 1"), "{said}");
    assert!(said.contains("means over 3600 s, times from column start"), "{said}");
}

#[test]
fn columns_by_name_and_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "t.csv", "site,rps,second\na,1,600\na,2,1200\na,4,1800\n");
    let named = RatesSource {
        time_column: Some("second".to_owned()),
        rate_column: Some("rps".to_owned()),
        begins: Some(at("2026-01-05T00:00:00Z")),
        ..table(&path)
    };
    let read = reading(&Source::Rates(named.clone())).unwrap();
    let series = read.history.series(WorkUnit::Requests).unwrap();
    // Second 0 is where it begins, so the first row is ten minutes later.
    assert_eq!(series.start, at("2026-01-05T00:10:00Z"));
    assert_eq!(series.values, [Some(1.0), Some(2.0), Some(4.0)]);
    let numbered = RatesSource {
        time_column: Some("3".to_owned()),
        rate_column: Some("2".to_owned()),
        rate_factor: 0.5,
        ..table(&path)
    };
    let read = reading(&Source::Rates(numbered)).unwrap();
    assert!(!read.time_of_week_known);
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.values, [Some(0.5), Some(1.0), Some(2.0)]);
    // As a site file declares it.
    let demand = Demand::Rates(RateSeries {
        file: "t.csv".to_owned(),
        time_column: Some("second".to_owned()),
        rate_column: Some("rps".to_owned()),
        begins: Some(at("2026-01-05T00:00:00Z")),
        rate_factor: None,
    });
    assert_eq!(Source::of(&demand, folder.path()), Some(Source::Rates(named)));
    // Stamps of Unix time say the instant themselves, milliseconds by the column's name.
    let path = file(folder.path(), "u.csv", "at_ms,rps\n1700000000000,1\n1700000060000,1\n");
    let read = reading(&Source::Rates(table(&path))).unwrap();
    assert_eq!(read.history.span().0.as_second(), 1_700_000_000);
    assert!(read.time_of_week_known);
}

#[test]
fn a_bad_table_has_its_line_and_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, expected) in [
        ("empty.csv", "", "empty.csv: the file is empty; give a trace with at least one row"),
        (
            "header.csv",
            "t,r\n",
            "header.csv: the file has no rows; give a table with at least two rows",
        ),
        (
            "one.csv",
            "t,r\n0,1\n",
            "one.csv:2: one value alone does not say for how long it holds; give at least two rows",
        ),
        (
            "twice.csv",
            "t,r\n0,1\n600,2\n0,3\n",
            "twice.csv:4: the row has the time of line 2; one row for each interval: remove one of the \
             two, or add them up",
        ),
        (
            "uneven.csv",
            "t,r\n0,1\n600,2\n1500,3\n",
            "uneven.csv:4: the row is 900 s after the one before it, which is no multiple of the shortest \
             distance in the file, 600 s; rows must be equally long; a row that is missing is a gap",
        ),
        (
            "fine.csv",
            "t,r\n0,1\n0.5,2\n",
            "fine.csv:3: the rows are 0.5 s apart, which is no whole number of seconds; average them over \
             whole seconds",
        ),
        (
            "negative.csv",
            "t,r\n0,1\n600,-2\n",
            "negative.csv:3, column r: a negative rate (found \"-2\"); mend the row, or leave the cell \
             empty for a gap",
        ),
        (
            "word.csv",
            "t,r\n0,1\n600,many\n",
            "word.csv:3, column r: not a rate (found \"many\"); write requests per second as a number, or \
             leave the cell empty for a gap",
        ),
        (
            "infinite.csv",
            "t,r\n0,1\n600,inf\n",
            "infinite.csv:3, column r: not a rate (found \"inf\"); write requests per second as a number, \
             or leave the cell empty for a gap",
        ),
        (
            "time.csv",
            "t,r\n0,1\nnoon,2\n",
            "time.csv:3, column t: neither a number of seconds nor a date (found \"noon\"); write it as 12.5 or \
             as 2023-11-16 18:15:46.6805900",
        ),
        (
            "cells.csv",
            "t,r\n0,1\n600\n",
            "cells.csv:3: the row has 1 cells, the first line 2 (found \"600\"); the file may be cut or \
             edited: mend or remove the row",
        ),
        (
            "column.csv",
            "t\n0\n600\n",
            "column.csv:1: the table has one column (found \"t\"); give a CSV with a column of times and \
             one of rates, separated by commas",
        ),
        (
            "mixed.csv",
            "t,r\r\n0,1\n600,2\n",
            "mixed.csv:2: the line ends otherwise than the lines before it; two files were joined or one \
             was edited by hand: make all line ends the same, for example with dos2unix",
        ),
    ] {
        let path = file(folder.path(), name, text);
        let error = reading(&Source::Rates(table(&path))).unwrap_err();
        assert_eq!(message(&error, folder.path()), expected);
    }
    let path = file(folder.path(), "t.csv", "t,r\n0,1\n600,2\n");
    let source = RatesSource { rate_column: Some("rps".to_owned()), ..table(&path) };
    let error = reading(&Source::Rates(source)).unwrap_err();
    assert_eq!(
        message(&error, folder.path()),
        "t.csv:1, column rps: the table has no such column; it has t, r; name a column of the header, or \
         give its number from 1"
    );
}

/// The figures that the folder's description gives of the series, and a client's own file, which has
/// no header and carriage returns.
#[test]
fn servegen_as_it_is_written() {
    let Some(data) = real_data() else { return };
    let folder = data.join("1-llm-traces/servegen");
    for (name, rows, mean, max) in [
        ("m-large_rate_10min.csv", 2_016, 195.8, 583.0),
        ("deepseek-r1_rate_10min.csv", 144, 16.0, 42.5),
    ] {
        let source = Source::of_file(&folder.join(name)).unwrap();
        let read = reading(&source).unwrap();
        assert_eq!(read.rows, rows, "{name}");
        assert!(!read.time_of_week_known);
        assert!((read.history.days() - rows as f64 / 144.0).abs() < 1e-6, "{name}");
        let series = read.history.series(WorkUnit::Requests).unwrap();
        assert_eq!(series.step, Duration::from_mins(10));
        let values: Vec<f64> = series.values.iter().flatten().copied().collect();
        assert_eq!(values.len() as u64, rows, "{name}");
        assert!((values.iter().sum::<f64>() / values.len() as f64 - mean).abs() < 0.06, "{name}");
        assert!((values.iter().copied().fold(0.0, f64::max) - max).abs() < 0.5, "{name}");
    }
    let read = Source::of_file(&folder.join("raw_m-large_chunk-0-trace.csv.gz")).unwrap();
    let Source::Rates(source) = read else { panic!("{read:?}") };
    let client = values(source);
    assert_eq!((client.len(), client[0]), (2_016, Some(1.331_666_666_666_666_8)));
}
