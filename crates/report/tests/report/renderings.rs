//! The three renderings of one report value, for a made-up verdict of each word.

use std::collections::BTreeSet;

use crate::support::{Sample, samples};
use cotenant_report::{
    FORMAT, Report, TerminalOptions, VERSION, from_json, render_html, render_terminal, schema,
    to_json,
};
use unicode_width::UnicodeWidthStr;

const PLAIN: TerminalOptions = TerminalOptions { width: 80, color: false };

fn for_each_sample(check: impl Fn(&Sample, &Report)) {
    for sample in samples() {
        check(&sample, &sample.report());
    }
}

#[test]
fn terminal_text_is_as_it_was() {
    for_each_sample(|sample, report| {
        insta::assert_snapshot!(
            format!("terminal-{}", sample.name),
            render_terminal(report, &PLAIN)
        );
    });
}

#[test]
fn json_is_as_it_was() {
    for_each_sample(|sample, report| {
        // Three of each kind show the shape; the numbers have tests of their own.
        let mut short = report.clone();
        short.charts.steps.boxes.truncate(3);
        short.charts.drills.bars.truncate(3);
        for lane in &mut short.charts.timeline.lanes {
            lane.blocks.truncate(3);
        }
        for table in &mut short.tables {
            table.rows.truncate(3);
        }
        for curve in short.charts.latency.iter_mut().flat_map(|chart| &mut chart.series) {
            curve.points.truncate(3);
        }
        insta::assert_snapshot!(format!("json-{}", sample.name), to_json(&short));
    });
}

#[test]
fn page_is_as_it_was() {
    for_each_sample(|sample, report| {
        let page = render_html(report);
        let body = page.split_once("</style>").map_or("", |(_, body)| body);
        let lines = body.replace("><", ">\n<");
        insta::assert_snapshot!(format!("page-{}", sample.name), lines);
    });
}

#[test]
fn same_input_gives_the_same_bytes() {
    for (left, right) in samples().iter().zip(samples()) {
        assert_eq!(to_json(&left.report()), to_json(&right.report()));
        assert_eq!(render_html(&left.report()), render_html(&right.report()));
    }
}

#[test]
fn each_sample_says_its_word_without_colour() {
    for (sample, word) in
        samples().iter().zip(["PASS", "CONDITIONAL", "FAIL", "NOT PROVEN", "INVALID"])
    {
        let report = sample.report();
        let text = render_terminal(&report, &PLAIN);
        assert!(text.lines().next().is_some_and(|line| line.ends_with(word)), "{word}");
        assert!(!text.contains('\u{1b}'));
        let page = render_html(&report);
        assert!(page.contains(&format!("<span>{word}</span></h1>")), "{word}");
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for_each_sample(|_, report| {
        let coloured = render_terminal(report, &TerminalOptions { color: true, ..PLAIN });
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(without_escapes(&coloured), render_terminal(report, &PLAIN));
    });
}

pub(crate) fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            _ if inside => {}
            c => plain.push(c),
        }
    }
    plain
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for_each_sample(|sample, report| {
        for width in [60, 80, 100, 132] {
            let text = render_terminal(report, &TerminalOptions { width, ..PLAIN });
            for line in text.lines() {
                assert!(line.width() <= width, "{} at {width}: {line:?}", sample.name);
            }
        }
    });
}

#[test]
fn json_fits_its_schema_and_reads_back() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for_each_sample(|sample, report| {
        let text = to_json(report);
        assert!(text.ends_with("}\n"));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let problems: Vec<_> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:?}", sample.name);
        assert_eq!(value["format"], FORMAT);
        assert_eq!(value["version"], VERSION);
        let back = from_json(&text).unwrap();
        assert_eq!(to_json(&back), text, "{}", sample.name);
        assert_eq!(render_terminal(&back, &PLAIN), render_terminal(report, &PLAIN));
    });
}

#[test]
fn schema_refuses_what_is_no_report() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut value = serde_json::to_value(samples()[0].report()).unwrap();
    assert!(validator.is_valid(&value));
    value["verdict"]["word"] = "MAYBE".into();
    assert!(!validator.is_valid(&value));
}

#[test]
fn a_newer_or_foreign_report_is_refused_by_name() {
    let mut report = samples()[0].report();
    report.version = VERSION + 1;
    let error = from_json(&to_json(&report)).unwrap_err().to_string();
    assert!(error.contains("is newer"), "{error}");
    report.format = "other".to_owned();
    let error = from_json(&to_json(&report)).unwrap_err().to_string();
    assert!(error.contains("`other`"), "{error}");
    assert!(from_json("{").is_err());
}

/// Numbers as a reader sees them: a digit, then digits, points and commas.
pub(crate) fn numbers(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))
        .map(|token| token.trim_matches(['.', ',']))
        .filter(|token| token.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// What a reader of the page sees: no tags, no style, no attributes but the described ones.
pub(crate) fn visible(page: &str) -> String {
    let body = page.split_once("</style>").map_or("", |(_, body)| body);
    let mut text = String::new();
    let mut inside = false;
    for c in body.chars() {
        match c {
            '<' => inside = true,
            '>' => {
                inside = false;
                text.push(' ');
            }
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text
}

#[test]
fn every_number_that_is_shown_is_in_the_json() {
    for_each_sample(|sample, report| {
        let known = numbers(&to_json(report));
        for (rendering, text) in
            [("terminal", render_terminal(report, &PLAIN)), ("page", visible(&render_html(report)))]
        {
            let shown = numbers(&text);
            assert!(shown.len() > 10, "{}: {rendering} shows hardly a number", sample.name);
            let unknown: Vec<_> = shown.difference(&known).collect();
            assert!(unknown.is_empty(), "{} {rendering}: {unknown:?}", sample.name);
        }
    });
}

#[test]
fn the_page_needs_nothing_beside_itself() {
    for_each_sample(|_, report| {
        let page = render_html(report);
        for forbidden in
            ["http://", "https://", "<script", "<link", "@import", "src=", "@font-face"]
        {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    });
}

#[test]
fn text_of_the_site_is_escaped() {
    let evil = "<script>alert('x')</script>\"&\u{1b}[2J";
    let mut sample = samples().swap_remove(1);
    sample.site_lines = vec![evil.to_owned()];
    sample.notes = vec![evil.to_owned()];
    sample.runs[0].id = evil.to_owned();
    sample.runs[0].inference = evil.to_owned();
    sample.verdict.reason = evil.to_owned();
    for finding in sample.verdict.gates.iter_mut().flat_map(|gate| &mut gate.findings) {
        finding.subject = evil.to_owned();
        finding.explanation = evil.to_owned();
    }
    let report = sample.report();
    let page = render_html(&report);
    assert!(!page.contains("<script"));
    assert!(page.contains("&lt;script&gt;"));
    assert!(!page.contains("x')</script>\""));
    let text = render_terminal(&report, &PLAIN);
    assert!(!text.contains('\u{1b}'));
    assert!(text.lines().all(|line| line.width() <= 80));
}

#[test]
fn the_page_is_well_formed_where_it_matters() {
    for_each_sample(|_, report| {
        let page = render_html(report);
        assert!(page.starts_with("<!DOCTYPE html>"));
        for tag in ["svg", "table", "section", "figure", "ul", "ol", "dl", "g", "tr", "td", "tbody"]
        {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        let charts = page.matches("<svg class=\"chart\"").count();
        assert_eq!(charts, page.matches("role=\"img\"").count());
    });
}
