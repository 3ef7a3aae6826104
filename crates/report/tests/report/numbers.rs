//! The numbers that a report computes, against values worked out by hand.

use crate::support::samples;
use cotenant_core::evidence::{Condition, Outcome};
use cotenant_core::verdict::Validity;
use cotenant_report::{AxisScale, Report, SeriesKind, State, StoryCell, Value, Word};

fn cell<'a>(report: &'a Report, key: &str, letters: &str) -> &'a StoryCell {
    let column = report.story.columns.iter().position(|column| column.letters == letters).unwrap();
    let row = report.story.rows.iter().find(|row| row.key == key).unwrap();
    &row.cells[column]
}

#[test]
fn quantiles_are_order_statistics_of_the_judged_requests() {
    let sample = samples().swap_remove(0);
    let mut alone: Vec<f64> = sample.runs[0]
        .blocks
        .iter()
        .filter(|block| block.plan.condition == Condition::A && block.is_valid())
        .flat_map(|block| {
            block
                .requests
                .iter()
                .filter(|r| r.intended_ns >= block.judged_from_ns)
                .filter(|r| r.intended_ns < block.judged_until_ns)
        })
        .map(|request| (request.first_token_ns.unwrap() - request.intended_ns) as f64 / 1e9)
        .collect();
    alone.sort_by(f64::total_cmp);
    let rank = (alone.len() * 99).div_ceil(100);
    let report = sample.report();
    assert_eq!(cell(&report, "ttft_p99", "A").value.value, Some(alone[rank - 1]));
}

#[test]
fn a_request_that_never_completed_has_no_limit() {
    let mut sample = samples().swap_remove(0);
    for block in &mut sample.runs[0].blocks {
        for request in block.requests.iter_mut().filter(|request| request.index % 10 == 5) {
            request.outcome = Outcome::Reset;
        }
    }
    let report = sample.report();
    let value = &cell(&report, "ttft_p99", "A").value;
    assert_eq!((value.state, value.value), (State::Unbounded, None));
    let errors = cell(&report, "error_rate", "A").value.value.unwrap();
    assert!((0.08..0.12).contains(&errors), "{errors}");
    let curve = &report.charts.latency[0].series[0];
    assert_eq!(curve.kind, SeriesKind::InferenceAlone);
    assert!((curve.unbounded_from.unwrap() - (1.0 - errors)).abs() < 1e-5);
    assert!(curve.points.iter().all(|(_, value)| value.is_finite()));
}

#[test]
fn a_sample_too_small_for_a_quantile_says_so() {
    let mut sample = samples().swap_remove(3);
    for block in &mut sample.runs[0].blocks {
        block.requests.truncate(20);
        block.gaps.truncate(20);
    }
    sample.verdict.gates[0].findings.clear();
    let report = sample.report();
    let value = &cell(&report, "ttft_p99", "A").value;
    assert_eq!(value.state, State::Missing);
    assert!(value.text.ends_with("values support no p99"), "{}", value.text);
}

#[test]
fn the_verdict_s_own_value_and_ruling_stand_in_the_story() {
    let report = samples().swap_remove(1).report();
    let together = cell(&report, "ttft_p95", "C");
    assert_eq!(together.value.value, Some(0.688));
    assert_eq!(together.ruling.map(Word::text), Some("FAIL"));
    let remedied = cell(&report, "ttft_p95", "C′");
    assert_eq!(remedied.ruling.map(Word::text), Some("PASS"));
    let letters: Vec<_> = report.story.columns.iter().map(|c| c.letters.as_str()).collect();
    assert_eq!(letters, ["A", "C", "C′", "A | B"]);
    let rulings: Vec<_> =
        report.story.columns.iter().filter_map(|c| c.ruling.map(Word::text)).collect();
    assert_eq!(rulings, ["PASS", "FAIL", "PASS", "NOT PROVEN"], "no calendar was judged");
}

#[test]
fn tests_that_prove_nothing_rule_on_nothing() {
    let mut sample = samples().swap_remove(0);
    sample.verdict.validity = Validity::Invalid(vec!["the client was late".to_owned()]);
    let report = sample.report();
    assert_eq!(report.verdict.word, Word::Invalid);
    assert!(report.story.columns.iter().all(|column| column.ruling.is_none()));
    let cells = || report.story.rows.iter().flat_map(|row| &row.cells);
    assert!(cells().all(|cell| cell.ruling.is_none()));
    assert!(cells().any(|cell| cell.value.value.is_some()));
}

#[test]
fn a_block_that_is_left_out_moves_no_number_and_is_shown() {
    let sample = samples().swap_remove(1);
    let report = sample.report();
    let mut without = samples().swap_remove(1);
    without.runs[0].blocks.retain(|block| block.plan.index != 7);
    let without = without.report();
    assert_eq!(cell(&report, "ttft_p99", "C′"), cell(&without, "ttft_p99", "C′"));
    let shown: Vec<_> = report.charts.timeline.lanes[0]
        .blocks
        .iter()
        .filter(|block| block.rejected.is_some())
        .map(|block| block.index)
        .collect();
    assert_eq!(shown, [7]);
    let table = report.tables.iter().find(|table| table.key == "rejected").unwrap();
    assert!(table.rows.iter().any(|row| row[3].text.contains("0.31 cores")));
}

#[test]
fn a_run_that_is_left_out_leaves_nothing_seen() {
    let mut sample = samples().swap_remove(0);
    sample.verdict.excluded = vec![(sample.runs[0].id.clone(), "another kernel".to_owned())];
    let report = sample.report();
    assert_eq!(cell(&report, "ttft_p99", "A").value.state, State::Missing);
    assert!(report.charts.steps.missing.is_some());
}

#[test]
fn classes_are_never_averaged() {
    let mut sample = samples().swap_remove(0);
    for block in &mut sample.runs[0].blocks {
        for request in block.requests.iter_mut().filter(|request| request.index % 2 == 1) {
            request.class = 1;
        }
    }
    let report = sample.report();
    let rows: Vec<_> = report.story.rows.iter().filter(|row| row.key == "ttft_p95").collect();
    assert_eq!(rows.len(), 2);
    assert_ne!(rows[0].group, rows[1].group);
    assert_eq!(report.charts.latency.len(), 4);
}

#[test]
fn missing_host_readings_are_no_zeros() {
    let report = samples().swap_remove(0).report();
    let table = report.tables.iter().find(|table| table.key == "covariates").unwrap();
    let clock = table.rows.iter().find(|row| row[0].text == "CPU clock").unwrap();
    assert_eq!(clock[1].state, State::Missing);
    assert!(clock[1].text.contains("names no clock"), "{}", clock[1].text);
    let alone = &report.charts.host.bars[0];
    assert_eq!(alone.segments[1].value.state, State::Missing);
}

/// Cells of the row that begins with these texts.
fn cells<'r>(report: &'r Report, table: &str, begins: &[&str]) -> Vec<&'r Value> {
    let table = report.tables.iter().find(|found| found.key == table).unwrap();
    let is_it = |row: &&Vec<Value>| begins.iter().zip(*row).all(|(text, cell)| *text == cell.text);
    table.rows.iter().find(is_it).unwrap().iter().collect()
}

#[test]
fn the_engines_account_stands_beside_the_clients() {
    let report = samples().swap_remove(0).report();
    let table = report.tables.iter().find(|table| table.key == "engine").unwrap();
    let at = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap();
    let first = cells(&report, "engine", &["A", "time to first token"]);
    assert!(["agrees", "differs, explained"].contains(&first[at("answer")].text.as_str()));
    let (client, engine) = (first[at("client_mean_s")].value, first[at("engine_mean_s")].value);
    assert!((client.unwrap() - engine.unwrap() - 0.0005).abs() < 1e-6);
    assert!(first[at("engine_p95")].text.contains(" to "), "{:?}", first[at("engine_p95")]);
    let gaps = cells(&report, "engine", &["A", "gap between tokens"]);
    assert_eq!(gaps[at("client_p95_s")].state, State::Missing);
    assert!(gaps[at("why")].text.contains("no such histogram"));
    let queue = cells(&report, "engine", &["C", "time in the queue"]);
    assert_eq!(queue[at("answer")].text, "agrees");
    assert!(cells(&report, "engine_counts", &["preemptions"])[1].value == Some(0.0));
    let remark = &report.tables.iter().find(|t| t.key == "engine_remarks").unwrap().rows[0];
    assert!(remark[0].text.contains("more"), "{remark:?}");
}

#[test]
fn readings_stand_with_mean_and_percentile_by_phase() {
    let report = samples().swap_remove(0).report();
    let table = report.tables.iter().find(|table| table.key == "covariates").unwrap();
    let at = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap();
    let pressure = cells(&report, "covariates", &["CPU pressure, some task waited"]);
    let (mean, p95) = (pressure[at("C mean")].value.unwrap(), pressure[at("C p95")].value.unwrap());
    assert!(mean > pressure[at("A mean")].value.unwrap() && p95 >= mean);
    assert_eq!(pressure[at("C, saving mean")].state, State::Known);
    let none = cells(&report, "covariates", &["GPUs"]);
    assert!(none[1].text.contains("no GPU was read"), "{:?}", none[1]);
    let running = cells(&report, "covariates", &["requests running in the engine"]);
    assert_eq!(running[at("B mean")].state, State::Missing);
    assert!(running[at("C mean")].value.is_some());
}

#[test]
fn curves_rise_and_lie_inside_their_axes() {
    for sample in samples() {
        for chart in sample.report().charts.latency {
            assert_eq!((chart.x.scale, chart.y.scale), (AxisScale::Nines, AxisScale::Log));
            for curve in &chart.series {
                assert!(
                    curve
                        .points
                        .windows(2)
                        .all(|pair| { pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1 })
                );
                for (share, value) in &curve.points {
                    assert!((chart.x.min..=chart.x.max).contains(share), "{share}");
                    assert!((chart.y.min..=chart.y.max).contains(value), "{value}");
                }
            }
        }
    }
}

#[test]
fn drills_add_up_to_memory_free() {
    let report = samples().swap_remove(1).report();
    let table = report.tables.iter().find(|table| table.key == "drills").unwrap();
    let free = table.columns.iter().position(|column| column.key == "memory_free_s").unwrap();
    assert_eq!(report.charts.drills.bars.len(), table.rows.len());
    for (bar, row) in report.charts.drills.bars.iter().zip(&table.rows) {
        let sum: f64 = bar.parts.iter().map(|part| part.value.value.unwrap()).sum();
        assert!((sum - row[free].value.unwrap()).abs() < 1e-9);
    }
    assert!(table.note.starts_with("12 drills, 1 failed"), "{}", table.note);
}

#[test]
fn nothing_at_all_still_makes_a_report() {
    let sample = samples().swap_remove(4);
    let report = sample.report();
    assert!(report.charts.latency.iter().all(|chart| chart.missing.is_some()));
    assert!(report.charts.timeline.missing.is_some());
    assert!(
        report
            .story
            .rows
            .iter()
            .all(|row| { row.cells.iter().all(|cell| cell.value.value.is_none()) })
    );
}
