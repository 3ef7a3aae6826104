//! The page from top to bottom.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::curve::curve_figure;
use super::marks::{badge, mark, patterns, ruling, word_class};
use super::rate::capacity;
use super::spread::spread_figure;
use super::stack::{drill_figure, host_figure};
use super::table::{cell, detail};
use super::timeline::timeline_figure;
use crate::format::glue;
use crate::model::{
    Fact, FindingView, GateView, Headline, MissingView, Report, Story, StoryCell, StoryRow,
};

/// The look that every page of ours has.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The report as one HTML page that needs nothing beside itself: no network, no script, no font. It
/// follows the reader's choice of light or dark, and prints on A4.
pub fn render_html(report: &Report) -> String {
    page(report).into_string()
}

fn page(report: &Report) -> Markup {
    let word = report.verdict.word;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(report.tool);
                title { (word.text()) " · " (report.site) " · Cotenant" }
                style { (PreEscaped(STYLE)) }
            }
            body class=(word_class(word)) {
                (patterns())
                main {
                    (top(report))
                    (open(&report.missing))
                    (tested(report))
                    (story(&report.story))
                    (charts(report))
                    (capacity(&report.capacity))
                    @if let Some(why) = &report.why { (super::why::section(why)) }
                    (gates(&report.gates))
                    (next(report))
                    section id="details" {
                        h2 { "Details" }
                        @for table in &report.tables { (detail(table)) }
                    }
                }
                footer {
                    p { (report.tool) " · " (report.format) " version " (report.version) }
                    p { "Every number on this page is in the JSON form of the same report." }
                }
            }
        }
    }
}

fn top(report: &Report) -> Markup {
    let Headline { word, question, reason, reservations, conditions } = &report.verdict;
    html! {
        header {
            p class="eyebrow" { span { (report.site) } span { (report.as_of_text) } }
            p class="question" { (question) }
            h1 { (mark(*word, 60)) span { (word.text()) } }
            p class="reason" { (reason) }
            @if !conditions.is_empty() {
                section class="conditions" aria-label="Conditions" {
                    h2 { "It holds on these conditions" }
                    ol {
                        @for condition in conditions { li {
                            (condition.sentence)
                            div class="by" {
                                code { (condition.predicate) }
                                @if !condition.tested_by.is_empty() {
                                    " tested in " (condition.tested_by.join(", "))
                                }
                            }
                        } }
                    }
                }
            }
            @if !reservations.is_empty() {
                section class="reservations" aria-label="Reservations" {
                    h2 { "About the tests" }
                    ul { @for line in reservations { li { (line) } } }
                }
            }
            @if !report.notes.is_empty() {
                ul class="notes" { @for note in &report.notes { li { (note) } } }
            }
        }
    }
}

/// Named texts with their origin.
pub(crate) fn facts(facts: &[Fact]) -> Markup {
    html! {
        dl {
            @for fact in facts {
                div {
                    dt { (fact.name) }
                    dd {
                        (glue(&fact.text))
                        @if let Some(origin) = &fact.origin { " " span class="origin" { (origin) } }
                    }
                }
            }
        }
    }
}

fn tested(report: &Report) -> Markup {
    html! {
        section id="tested" {
            h2 { "What was tested" }
            (facts(&report.tested))
            h3 { "What was asked for" }
            @if report.objectives.is_empty() {
                p class="missing" { "not seen: the site declares no objective" }
            } @else {
                (facts(&report.objectives))
            }
        }
    }
}

fn story(story: &Story) -> Markup {
    html! {
        section id="story" {
            h2 { "Alone, together, apart" }
            p class="note" { (story.note) }
            div class="scroll" tabindex="0" role="region" aria-label="Alone, together, apart" {
                table class="story" {
                    thead {
                        tr {
                            td {}
                            th scope="col" class="num" { "objective" }
                            @for column in &story.columns {
                                th scope="col" {
                                    span class="way" {
                                        @if let Some(kind) = column.kind { (badge(kind)) " " }
                                        (column.letters)
                                    }
                                    span class="title" { (column.title) }
                                    span class="seen" { (column.seen) }
                                }
                            }
                        }
                        tr class="rulings" {
                            td colspan="2" {}
                            @for column in &story.columns {
                                td {
                                    @if let Some(word) = column.ruling { (ruling(word)) }
                                    span class="summary" { (column.summary) }
                                }
                            }
                        }
                    }
                    (story_body(story))
                }
            }
        }
    }
}

fn story_body(story: &Story) -> Markup {
    let mut groups: Vec<(&str, Vec<&StoryRow>)> = Vec::new();
    for row in &story.rows {
        match groups.iter_mut().find(|(group, _)| *group == row.group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((&row.group, vec![row])),
        }
    }
    html! {
        @for (group, rows) in groups {
            tbody {
                tr class="group" {
                    th scope="rowgroup" colspan=(story.columns.len() + 2) { (group) }
                }
                @for row in rows {
                    tr {
                        th scope="row" { (row.title) }
                        td class="num objective" {
                            @if let Some(objective) = &row.objective { (cell(objective)) }
                        }
                        @for entry in &row.cells { (story_cell(entry)) }
                    }
                }
            }
        }
    }
}

fn story_cell(entry: &StoryCell) -> Markup {
    html! {
        td class="num" {
            span class="value" {
                @if let Some(word) = entry.ruling {
                    span class={ "small " (word_class(word)) } title=(word.text()) {
                        (mark(word, 13))
                        span class="hidden" { (word.text()) " " }
                    }
                }
                (cell(&entry.value))
            }
            @if let Some(detail) = &entry.detail { span class="sub" { (glue(detail)) } }
        }
    }
}

fn charts(report: &Report) -> Markup {
    let charts = &report.charts;
    html! {
        section id="charts" {
            h2 { "What requests and steps felt" }
            p class="note" {
                "Each further nine of a percentile takes the same width, so the tail is as wide as the \
                 bulk. Lower is better; a curve that passes below a diamond keeps that objective."
            }
            div class="figures" {
                @for chart in &charts.latency { (curve_figure(chart)) }
                (spread_figure(&charts.steps))
                div class="stacked" {
                    (host_figure(&charts.host))
                    (drill_figure(&charts.drills))
                }
            }
            (timeline_figure(&charts.timeline))
        }
    }
}

fn gates(gates: &[GateView]) -> Markup {
    html! {
        section id="gates" {
            h2 { "The gates" }
            @for gate in gates {
                article class="gate" {
                    h3 { span { (gate.name) } (ruling(gate.ruling)) }
                    p class="note" { (gate.summary) }
                    @let (numbers, words): (Vec<_>, Vec<_>) =
                        gate.findings.iter().partition(|finding| has_number(finding));
                    @if !numbers.is_empty() { (findings(&numbers)) }
                    @if !words.is_empty() { (plain(&words)) }
                }
            }
        }
    }
}

/// Whether a finding is held against a number. Others are told in words.
fn has_number(finding: &FindingView) -> bool {
    finding.objective.is_some() || finding.judged.is_some() || finding.observed.value.is_some()
}

fn plain(findings: &[&FindingView]) -> Markup {
    html! {
        ul class="plain" {
            @for finding in findings { li {
                p {
                    (ruling(finding.ruling))
                    b { (finding.subject) }
                    span class="sub" { (finding.strategy) }
                    @if let Some(origin) = &finding.origin { span class="origin" { (origin) } }
                    @if finding.sample_count > 0 { span class="sub" { (finding.sample_text) } }
                }
                div class="why" { (why(finding)) }
            } }
        }
    }
}

fn findings(findings: &[&FindingView]) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Findings" {
            table class="findings" {
                thead { tr {
                    th scope="col" { "finding" }
                    th scope="col" { "ruling" }
                    th scope="col" class="num" { "seen" }
                    th scope="col" class="num" { "objective" }
                    th scope="col" { "judged on, with bounds" }
                    th scope="col" { "sample" }
                    th scope="col" { "origin" }
                } }
                @for finding in findings { tbody { (finding_rows(finding)) } }
            }
        }
    }
}

fn finding_rows(finding: &FindingView) -> Markup {
    html! {
        tr {
            th scope="row" {
                (finding.subject)
                span class="sub" { (finding.strategy) }
            }
            td { (ruling(finding.ruling)) }
            td class="num" { (cell(&finding.observed)) }
            td class="num" { @if let Some(value) = &finding.objective { (cell(value)) } }
            td { (glue(&finding.bound_text)) }
            td { (finding.sample_text) }
            td { (finding.origin.as_deref().unwrap_or("none yet")) }
        }
        tr class="why" {
            td colspan="7" { (why(finding)) }
        }
    }
}

fn why(finding: &FindingView) -> Markup {
    html! {
        p { (glue(&finding.explanation)) }
        @if let Some(blind) = &finding.blind_spot {
            p { b { "Blind spot: " } (blind) }
        }
        @for missing in &finding.missing {
            p { b { "Missing: " } (missing_line(missing)) }
        }
    }
}

fn missing_line(missing: &MissingView) -> Markup {
    html! {
        (missing.what) " " code { (missing.command) } " "
        span class="minutes" { (missing.minutes_text) }
    }
}

fn open(missing: &[MissingView]) -> Markup {
    html! {
        @if !missing.is_empty() {
            section id="missing" {
                h2 { "What is missing" }
                p class="note" { "Cheapest first." }
                ol class="steps" {
                    @for entry in missing { li {
                        p { (entry.what) " " span class="minutes" { (entry.minutes_text) } }
                        pre { code { (entry.command) } }
                    } }
                }
            }
        }
    }
}

fn next(report: &Report) -> Markup {
    html! {
        @if !report.next_steps.is_empty() {
            section id="next" {
                h2 { "Next steps" }
                ol class="steps" {
                    @for step in &report.next_steps { li {
                        p { (step.text) }
                        @if !step.command.is_empty() { pre { code { (step.command) } } }
                    } }
                }
            }
        }
    }
}
