//! The page from top to bottom.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figure::{day_figure, week_figure};
use super::marks::{hatches, legend};
use super::parts::{candidates, certificates, checks, gates, levels, overlap, promises};
use super::reserve::reserves;
use crate::format::glue;
use crate::html::marks::{mark, patterns, word_class};
use crate::html::table::detail;
use crate::html::{STYLE, facts};
use crate::plan::model::{CalendarView, PlanReport};

const PLAN_STYLE: &str = include_str!("plan.css");

/// The plan as one HTML page that needs nothing beside itself: no network, no script, no font. It
/// follows the reader's choice of light or dark, and prints on A4.
pub fn render_plan_html(report: &PlanReport) -> String {
    page(report).into_string()
}

fn page(report: &PlanReport) -> Markup {
    let word = report.headline.word;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(report.tool);
                title { (word.text()) " · plan of " (report.site) " · Cotenant" }
                style { (PreEscaped(STYLE)) (PreEscaped(PLAN_STYLE)) }
            }
            body class={ "plan " (word_class(word)) } {
                (patterns())
                (hatches())
                main {
                    (top(report))
                    (certificates(&report.certificates))
                    (calendar(report))
                    (promises(&report.promises))
                    (candidates(&report.candidates))
                    (reserves(&report.reserves))
                    @if let Some(backtest) = &report.backtest {
                        section id="history" {
                            h2 { "The history, replayed" }
                            (detail(&backtest.table))
                        }
                    }
                    (gates(&report.gates))
                    (checks(&report.checks))
                    (sentences("missing", "What is missing", &report.missing))
                    (sentences("assumptions", "What was assumed", &report.assumptions))
                    (next(report))
                    @if let Some(view) = &report.calendar { (transitions(view)) }
                }
                footer {
                    p { (report.tool) " · " (report.format) " version " (report.version) }
                    p { "Every number on this page is in the JSON form of the same plan." }
                }
            }
        }
    }
}

fn top(report: &PlanReport) -> Markup {
    let head = &report.headline;
    html! {
        header {
            p class="eyebrow" { span { (report.site) } @if let Some(as_of) = &report.as_of { span { "plan as of " (as_of.text) } } }
            p class="question" { (head.question) }
            h1 { (mark(head.word, 60)) span { (head.word.text()) } }
            p class="reason" { (glue(&head.reason)) }
            @if !report.glance.is_empty() {
                ul class="glance" {
                    @for fact in &report.glance { li { b { (fact.text) } span { (fact.name) } } }
                }
            }
            @if !head.would_be_conditional_on.is_empty() {
                section class="conditions" aria-label="Conditions" {
                    h2 { "It would be conditional on" }
                    ol { @for condition in &head.would_be_conditional_on { li { (glue(condition)) } } }
                }
            }
            @if !report.notes.is_empty() {
                ul class="notes" { @for note in &report.notes { li { (note) } } }
            }
            (facts(&report.facts))
        }
    }
}

fn calendar(report: &PlanReport) -> Markup {
    html! {
        section id="calendar" {
            h2 { "The calendar" }
            @if let Some(reason) = &report.calendar_missing { p class="missing" { (reason) } }
            @if let Some(view) = &report.calendar { (calendar_body(view, report)) }
        }
    }
}

fn calendar_body(view: &CalendarView, report: &PlanReport) -> Markup {
    html! {
        p class="note" {
            "Times are local, " (report.time_zone) ". Point at a block or a curve for its numbers. \
             Solid: it holds. Hatched: it stands free for a burst, or is lent and given back when inference \
             asks."
        }
        (legend(&view.holders))
        @for week in &view.weeks { (week_figure(week, view, &report.reserves)) }
        (overlap(view))
        (levels(&view.levels))
        h3 class="sub-title" { "Day by day" }
        div class="days" {
            @for day in &view.days { (day_figure(day, view)) }
        }
    }
}

fn sentences(id: &str, heading: &str, sentences: &[String]) -> Markup {
    html! {
        @if !sentences.is_empty() {
            section id=(id) {
                h2 { (heading) }
                ul class="remarks" { @for sentence in sentences { li { (glue(sentence)) } } }
            }
        }
    }
}

fn next(report: &PlanReport) -> Markup {
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

/// The changes of hands, folded: a long list that is read line by line only in trouble.
fn transitions(view: &CalendarView) -> Markup {
    html! {
        @if !view.transitions.is_empty() {
            section id="transitions" {
                h2 { "Changes of hands" }
                details {
                    summary { (view.transitions_text) }
                    ol class="remarks" { @for change in &view.transitions { li { (change.text) } } }
                }
            }
        }
    }
}
