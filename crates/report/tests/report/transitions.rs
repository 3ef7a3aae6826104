//! What reclaim and transitions cost, against values worked out by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use cotenant_core::evidence::{ChangeKind, ChangePart, Direction, HandChange};
use cotenant_report::{Report, State, Table, Value};

use crate::support::samples;

fn table<'a>(report: &'a Report, key: &str) -> &'a Table {
    report.tables.iter().find(|table| table.key == key).unwrap()
}

/// The row of a part.
fn row<'a>(report: &'a Report, part: &str) -> &'a [Value] {
    let rows = &table(report, "transitions").rows;
    rows.iter()
        .find(|row| row[1].text == part)
        .unwrap_or_else(|| panic!("no row {part}: {rows:#?}"))
}

fn change(total_s: f64, parts: &[(&str, f64)]) -> HandChange {
    HandChange {
        kind: ChangeKind::EngineStart,
        what: "vllm".into(),
        direction: Direction::ToInference,
        began_ns: 0,
        total_s: Some(total_s),
        parts: parts
            .iter()
            .map(|(name, seconds)| ChangePart {
                name: (*name).into(),
                seconds: *seconds,
                logged: true,
            })
            .collect(),
        failure: None,
        remarks: Vec::new(),
    }
}

/// Case P18: 34.1 s are logged of the 59 s to the first answer; quoted parts add up to 10 s more than
/// their whole.
#[test]
fn what_nobody_owns_stands_in_a_row_of_its_own() {
    let mut sample = samples().swap_remove(0);
    sample.runs[0].blocks[0].observed.changes = vec![change(59.0, &[("init engine", 34.1)])];
    let report = sample.report();
    let left = row(&report, "· unexplained")[5].value.unwrap();
    assert!((left - 24.9).abs() < 1e-9, "{left}");
    assert!((row(&report, "engine start: vllm")[5].value.unwrap() - 59.0).abs() < 1e-9);
    assert!(!table(&report, "transitions").note.contains("inconsistency"));

    let quoted =
        [("model download", 16.0), ("loading", 18.0), ("compile", 43.0), ("profile", 210.0)];
    sample.runs[0].blocks[0].observed.changes = vec![change(277.0, &quoted)];
    let report = sample.report();
    let left = &row(&report, "· unexplained")[5];
    assert!((left.value.unwrap() + 10.0).abs() < 1e-9 && left.text.contains('−'), "{left:?}");
    assert!(table(&report, "transitions").note.contains("inconsistency"));
}

#[test]
fn parts_have_their_quantiles_and_failures_their_bound() {
    let sample = samples().swap_remove(0);
    let drills: Vec<_> =
        sample.runs.iter().flat_map(|run| &run.blocks).filter_map(|b| b.drill.as_ref()).collect();
    let mut exits: Vec<f64> = drills.iter().filter_map(|drill| drill.exit_s).collect();
    exits.sort_by(f64::total_cmp);
    let failed = drills.iter().filter(|drill| drill.succeeded() == Some(false)).count();
    let report = sample.report();
    let row = row(&report, "signal → exit");
    assert_eq!(row[2].value, Some(exits.len() as f64));
    assert_eq!(row[3].value, Some(exits[exits.len().div_ceil(2) - 1]));
    assert_eq!(row[5].value, exits.last().copied());
    let note = &table(&report, "transitions").note;
    assert!(note.starts_with(&format!("{failed} of {}", drills.len())), "{note}");
    assert!(note.contains("(95 %)"));
}

#[test]
fn an_interval_follows_from_what_was_measured_and_declared() {
    let mut sample = samples().swap_remove(0);
    let report = sample.report();
    let intervals = table(&report, "checkpoint_interval");
    let rules: Vec<&str> = intervals.rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(rules.len(), 3, "{rules:?}");
    assert!(rules[0].contains("Daly") && rules[1].contains("declared"), "{rules:?}");
    // What is declared is no better than what the rule says.
    let lost = |row: usize| intervals.rows[row][2].value.unwrap();
    assert!(lost(0) <= lost(1));
    sample.checkpoint.mean_time_to_loss_s = None;
    sample.checkpoint.windows_s.clear();
    let report = sample.report();
    let intervals = table(&report, "checkpoint_interval");
    assert!(intervals.rows.is_empty() && intervals.empty.contains("mean_time_to_loss"));
}

#[test]
fn checkpoints_are_shown_beside_what_is_declared() {
    let report = samples().swap_remove(0).report();
    let checkpoints = table(&report, "checkpoints");
    for row in &checkpoints.rows {
        assert_eq!(row[2].state, State::Known, "{row:?}");
    }
    assert!(checkpoints.note.contains("visible stall"));
}
