//! The section on sensitivity in its three renderings.

use crate::support::{explanation, samples};
use cotenant_report::{
    Report, State, TerminalOptions, from_json, render_html, render_terminal, schema, to_json,
};
use unicode_width::UnicodeWidthStr;

fn report() -> Report {
    samples().swap_remove(1).report_with(Some(&explanation()))
}

fn terminal(report: &Report) -> String {
    render_terminal(report, &TerminalOptions { width: 80, color: false })
}

#[test]
fn without_stressed_blocks_there_is_no_section() {
    let report = samples().swap_remove(1).report();
    assert_eq!(report.why, None);
    assert!(
        !terminal(&report).contains("sensitive") && !render_html(&report).contains("id=\"why\"")
    );
    let value: serde_json::Value = serde_json::from_str(&to_json(&report)).unwrap();
    assert_eq!(value.get("why"), None);
}

#[test]
fn the_text_tells_predicted_measured_and_what_is_left() {
    let report = report();
    let text = terminal(&report);
    let section = text.split_once("Why: what inference is sensitive to").unwrap().1;
    let wide: Vec<&str> = text.lines().filter(|line| line.width() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let words: String = section.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "TTFT p95: predicted at least ×1.37 (1.30 to 1.45), measured ×1.52 (1.44 to 1.61), \
         unexplained ×1.11 (1.05 to 1.18)",
        "the likeliest cause is CPU",
        "ITL p95: predicted not seen, measured not seen",
        "disk write and fsync: 49.6 MiB/s; bytes written",
        "memory bandwidth: at most 7.45 GiB/s; a bound",
        "cotenant measure site.yaml --tests b",
        "its buffers are 24 MiB",
        "95 blocks in 6 rounds, 1 left out",
    ] {
        assert!(words.contains(told), "`{told}` is not in\n{section}");
    }
}

#[test]
fn the_page_draws_a_line_for_each_resource_and_marks_the_neighbour() {
    let report = report();
    let why = report.why.as_ref().unwrap();
    let chart = &why.charts[0];
    assert_eq!(chart.series.len(), 4);
    let cpu = &chart.series[0];
    assert_eq!(cpu.points.len(), 3);
    assert_eq!((cpu.points[2].at, cpu.points[2].factor), (1.0, 1.98));
    assert!((cpu.neighbour_at.unwrap() - 0.98 / (1.97 * 3.0 / 3.05)).abs() < 1e-5);
    // A dose whose quantile has no value is no point, and memory has no mark.
    assert_eq!((chart.series[3].points.len(), chart.series[1].neighbour_at), (2, None));
    assert!(chart.series[3].neighbour_at.unwrap() > 1.0);
    let page = render_html(&report);
    let section = page.split_once("id=\"why\"").unwrap().1.split_once("</section>").unwrap().0;
    assert_eq!(section.matches("class=\"goal\"").count(), 3 * 2);
    for told in ["C predicted", "unexplained", "not counted", "beyond what was tested", "×1.98"] {
        assert!(page.contains(told), "{told}");
    }
    let unbounded = &why.responses.rows[11];
    assert_eq!(unbounded[6].state, State::Missing);
    assert!(unbounded[6].text.contains("too few requests completed"));
}

#[test]
fn the_json_holds_it_and_comes_back() {
    let report = report();
    let text = to_json(&report);
    assert_eq!(from_json(&text).unwrap(), report);
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(value["why"]["outcomes"][0]["measured"]["value"], 1.52);
}
