//! Several sources as one history: equal to one file of the same rows, or refused with a way out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_probe::demand::{DemandError, Progress, Read, ReadOptions, Source, read, read_all};
use jiff::Timestamp;

fn options() -> ReadOptions {
    ReadOptions {
        service: Some(Duration::from_secs(3)),
        now: Timestamp::UNIX_EPOCH,
        patience: Duration::from_secs(1),
    }
}

fn source(folder: &Path, name: &str, text: &str) -> Source {
    let path: PathBuf = folder.join(name);
    fs::write(&path, text).unwrap();
    Source::of_file(&path).unwrap()
}

fn joined(sources: &[Source]) -> Result<Read, DemandError> {
    read_all(sources, &options(), &mut |_| {})
}

const HEADER: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

fn requests(minutes: std::ops::Range<u32>) -> String {
    let row = |minute: u32| {
        format!("2023-11-16 {:02}:{:02}:07.25,{},{}\n", minute / 60, minute % 60, 10 + minute, 5)
    };
    minutes.map(row).collect()
}

#[test]
fn traces_in_any_order_are_as_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let early = source(folder.path(), "a.csv", &format!("{HEADER}{}", requests(0..300)));
    let late = source(folder.path(), "b.csv", &format!("{HEADER}{}", requests(300..500)));
    let whole = source(folder.path(), "c.csv", &format!("{HEADER}{}", requests(0..500)));
    let whole = read(&whole, &options(), &mut |_| {}).unwrap();
    for sources in [[early.clone(), late.clone()], [late, early]] {
        let mut last =
            Progress { done: 0, total: 0, unit: cotenant_probe::demand::ProgressUnit::Bytes };
        let two = read_all(&sources, &options(), &mut |progress| {
            assert!(progress.done >= last.done && progress.done <= progress.total);
            last = progress;
        })
        .unwrap();
        assert_eq!(two.history, whole.history);
        assert_eq!((two.rows, two.time_of_week_known), (500, true));
        assert_eq!(last.done, last.total, "both files are read to their end");
    }
}

#[test]
fn tables_of_rates_meet_without_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |hours: std::ops::Range<u32>| -> String {
        let row = |hour: u32| format!("{},{}\n", hour * 3600, 1 + hour % 5);
        format!("start_s,rate_rps\n{}", hours.map(row).collect::<String>())
    };
    let first = source(folder.path(), "a.csv", &rows(0..30));
    let second = source(folder.path(), "b.csv", &rows(30..48));
    let whole = source(folder.path(), "c.csv", &rows(0..48));
    let whole = read(&whole, &options(), &mut |_| {}).unwrap();
    assert_eq!(joined(&[first.clone(), second]).unwrap().history, whole.history);
    // The last hour of the first is there twice.
    let overlapping = source(folder.path(), "d.csv", &rows(29..48));
    let error = joined(&[first, overlapping]).unwrap_err().to_string();
    assert!(error.contains("overlap") && error.contains("d.csv"), "{error}");
}

#[test]
fn what_is_not_one_history_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dated = source(folder.path(), "dated.csv", &format!("{HEADER}{}", requests(0..9)));
    let rates = source(folder.path(), "rates.csv", "start_s,rate_rps\n0,1\n60,2\n");
    let rows = "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 3}\n\
                {\"timestamp\": 900, \"input_length\": 5, \"output_length\": 3}\n";
    let relative = source(folder.path(), "relative.jsonl", rows);
    let error = joined(&[dated.clone(), rates]).unwrap_err().to_string();
    assert!(error.contains("a trace of requests and") && error.contains("one by one"), "{error}");
    for pair in [[relative.clone(), relative.clone()], [dated.clone(), relative]] {
        let error = joined(&pair).unwrap_err().to_string();
        assert!(error.contains("relative.jsonl are relative"), "{error}");
    }
    let mut shifted = dated.clone();
    if let Source::Trace(trace) = &mut shifted {
        trace.begins = Some(Timestamp::UNIX_EPOCH);
    }
    assert!(joined(&[dated.clone(), shifted]).unwrap_err().to_string().contains("`begins`"));
    let mut doubled = dated.clone();
    if let Source::Trace(trace) = &mut doubled {
        trace.rate_factor = 2.0;
    }
    assert!(joined(&[dated, doubled]).unwrap_err().to_string().contains("rate factor"));
    assert!(matches!(joined(&[]), Err(DemandError::Apart { .. })));
}
