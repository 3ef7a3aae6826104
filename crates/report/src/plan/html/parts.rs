//! Promises, proofs, ways of sharing, gates and checks.

use maud::{Markup, html};

use super::marks::{fill, holder_class, swatch};
use crate::format::glue;
use crate::html::marks::{ruling, word_class};
use crate::html::scale::place;
use crate::html::table::cell;
use crate::model::Word;
use crate::plan::model::{
    CalendarView, CandidateSimulation, CandidateView, CertificateView, CheckOutcome, CheckView,
    LevelView, PlanGateView, PromiseView,
};

/// A list under a word: `Would be conditional on`, `To test`.
fn listed(lead: &str, texts: &[String]) -> Markup {
    html! {
        @for text in texts { p { b { (lead) ": " } (glue(text)) } }
    }
}

pub(super) fn gates(gates: &[PlanGateView]) -> Markup {
    html! {
        @if !gates.is_empty() {
            section id="gates" {
                h2 { "The gates" }
                p class="note" { "As far as a plan can decide them. Only tests prove a gate." }
                ul class="plain" {
                    @for gate in gates { li {
                        p { (ruling(gate.word)) b { (gate.name) } }
                        div class="why" {
                            p { (glue(&gate.reason)) }
                            (listed("Would be conditional on", &gate.would_be_conditional_on))
                            (listed("To test", &gate.to_test))
                        }
                    } }
                }
            }
        }
    }
}

pub(super) fn levels(levels: &[LevelView]) -> Markup {
    html! {
        @if !levels.is_empty() {
            h3 class="sub-title" { "What was optimised, in this order" }
            p class="note" { "A later level never worsens an earlier one." }
            div class="scroll" tabindex="0" role="region" aria-label="What was optimised" {
                table class="levels" {
                    thead { tr {
                        th scope="col" { "level" }
                        th scope="col" class="num" { "reached" }
                        th scope="col" class="num" { "no calendar is better than" }
                        th scope="col" class="num" { "gap" }
                    } }
                    tbody {
                        @for level in levels { tr {
                            th scope="row" {
                                (level.name)
                                span class="sub" { @if level.maximise { "more is better" } @else { "less is better" } }
                            }
                            td class="num" { (cell(&level.value)) }
                            td class="num" { (cell(&level.bound)) }
                            td class="num" { (cell(&level.gap)) }
                        } }
                    }
                }
            }
        }
    }
}

/// GPU-hours by what they are for, as one bar, and the hours together.
pub(super) fn overlap(view: &CalendarView) -> Markup {
    const WIDTH: f64 = 1060.0;
    let mut at = 0.0;
    let mut bars = Vec::new();
    for part in &view.overlap.parts {
        let share = part.share.value.unwrap_or(0.0).clamp(0.0, 1.0);
        if let Some(holder) = view.holders.get(part.holder as usize) {
            bars.push((part, holder, at, share * WIDTH));
        }
        at += share * WIDTH;
    }
    html! {
        h3 class="sub-title" { "Overlap of the workloads" }
        p class="note" { (glue(&view.overlap.sentences.join(" "))) }
        figure class="wide overlap" {
            svg class="chart" viewBox={ "0 0 " (WIDTH) " 40" } role="img"
                aria-label=(view.overlap.sentences.join(" ")) {
                @for (part, holder, from, width) in &bars {
                    g class={ "cell " (holder_class(holder)) } {
                        title { (holder.text) ": " (part.gpu_hours.text) ", " (part.share.text) }
                        rect class="area" x=(place(*from)) y="2" width=(place(*width)) height="34"
                            fill=(fill(holder)) {}
                        @if *width > 64.0 {
                            text class={ "inside " (if holder.kind.is_loose() { "on-hatch" } else { "on-fill" }) } x=(place(from + width / 2.0)) y="19" dy="0.34em" {
                                (part.share.text)
                            }
                        }
                    }
                }
            }
            ul class="key" {
                @for (part, holder, _, _) in &bars {
                    li { (swatch(holder)) (holder.text) " " b { (part.gpu_hours.text) } }
                }
                li { "in all " b { (view.overlap.total.text) } }
            }
        }
    }
}

pub(super) fn promises(promises: &[PromiseView]) -> Markup {
    html! {
        @if !promises.is_empty() {
            section id="promises" {
                h2 { "What can be promised" }
                div class="scroll" tabindex="0" role="region" aria-label="Promises" {
                    table class="findings" {
                        thead { tr {
                            th scope="col" { "job" }
                            th scope="col" { "due" }
                            th scope="col" { "done" }
                            th scope="col" class="num" { "work in time" }
                            th scope="col" class="num" { "lost" }
                            th scope="col" { "on time" }
                        } }
                        @for promise in promises { (promise_rows(promise)) }
                    }
                }
            }
        }
    }
}

fn promise_rows(promise: &PromiseView) -> Markup {
    let late = promise.in_time == Some(false);
    let short = promise.keeps_share == Some(false);
    html! {
        tbody {
            tr {
                th scope="row" { (promise.job) @if promise.job != promise.workload { span class="sub" { (promise.workload) } } }
                td { @if let Some(at) = &promise.deadline { (at.text) } @else { "–" } }
                td class={ (if late { "fail" } else { "" }) } {
                    @if let Some(at) = &promise.done { (at.text) } @else { "–" }
                    span class={ "sub " (if late { "accent" } else { "" }) } {
                        @if late { "✗ " } (promise.margin_text)
                    }
                }
                td class="num" {
                    (cell(&promise.gpu_hours_in_time))
                    span class="sub" { (promise.work_text) }
                }
                td class="num" { (cell(&promise.gpu_hours_lost)) }
                td class=(if short { "fail" } else { "" }) {
                    span class=(if short { "accent" } else { "" }) {
                        @if short { "✗ " } (promise.on_time_text)
                    }
                }
            }
            @if !promise.remarks.is_empty() {
                tr class="why" { td colspan="6" {
                    @for remark in &promise.remarks { p { (glue(remark)) } }
                } }
            }
        }
    }
}

pub(super) fn certificates(certificates: &[CertificateView]) -> Markup {
    html! {
        @if !certificates.is_empty() {
            section id="certificates" {
                h2 { "Deadlines that cannot be met" }
                p class="note" {
                    "Each is a proof: at every job's best efficiency and with no time lost, the free \
                     GPUs of the interval do not suffice. Cheapest changes first."
                }
                @for certificate in certificates {
                    article class="certificate fail" {
                        h3 { (ruling(Word::Fail)) span { (certificate.jobs.join(", ")) } }
                        p class="proof" { (glue(&certificate.sentence)) }
                        p { code { (certificate.arithmetic) } }
                        @if certificate.changes.is_empty() {
                            p class="missing" { "No change was found that would meet it." }
                        } @else {
                            ol class="steps" {
                                @for change in &certificate.changes { li {
                                    b { (change.what) } span class="price" { (glue(&change.text)) }
                                } }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn candidates(candidates: &[CandidateView]) -> Markup {
    html! {
        @if !candidates.is_empty() {
            section id="candidates" {
                h2 { "Ways of sharing" }
                p class="note" { "In the order in which they are considered: the simplest first." }
                ol class="candidates" {
                    @for candidate in candidates { (candidate_card(candidate)) }
                }
            }
        }
    }
}

fn candidate_card(candidate: &CandidateView) -> Markup {
    let word = candidate.word.map_or("", word_class);
    let class = format!(
        "{word}{}{}",
        if candidate.chosen { " chosen" } else { "" },
        if candidate.looked_at { "" } else { " unseen" }
    );
    html! {
        li class=(class) {
            h3 {
                span { (candidate.place) ". " (candidate.name) }
                @if candidate.chosen { span class="tag" { "shown above" } }
                @if let Some(word) = candidate.word { (ruling(word)) } @else {
                    span class="origin-plain" { "not looked at" }
                }
            }
            p class="note" { (glue(&candidate.why)) }
            @if candidate.looked_at {
                p class="figures-line" {
                    span { b { (candidate.gpu_hours.text) } " for jobs" }
                    span { "deadlines met: " b { (candidate.deadlines.text) } }
                    @for gate in &candidate.gates {
                        span class={ "gate-word " (word_class(gate.word)) } {
                            (gate.word.mark()) " " (gate.gate)
                        }
                    }
                }
            }
            @for line in candidate.simulated.iter().flat_map(CandidateSimulation::sentences) {
                p class="note" { b { "Simulated: " } (glue(&line)) }
            }
            @for test in &candidate.to_test { p class="test" { b { "To test: " } (glue(test)) } }
        }
    }
}

/// The class and the mark of an outcome.
fn outcome(outcome: CheckOutcome) -> Markup {
    let class = match outcome {
        CheckOutcome::Fails => "fail",
        CheckOutcome::Open => "open",
        CheckOutcome::Holds => "pass",
    };
    html! {
        span class={ "ruling " (class) } { (outcome.mark()) " " (outcome.text()) }
    }
}

pub(super) fn checks(checks: &[CheckView]) -> Markup {
    html! {
        @if !checks.is_empty() {
            section id="checks" {
                h2 { "Checks by arithmetic" }
                p class="note" { "They need no test. One that fails ends the matter as declared." }
                ul class="plain checks" {
                    @for check in checks { li id={ "check-" (check.key) } {
                        p {
                            (outcome(check.outcome)) b { (check.title) }
                            span class="sub" { (check.workloads.join(", ")) }
                        }
                        div class="why" {
                            p class="answer" { (glue(&check.answer)) }
                            @if !check.arithmetic.is_empty() {
                                pre { code { (check.arithmetic.join("\n")) } }
                            }
                            (listed("Would be conditional on", &check.would_be_conditional_on))
                            (listed("Missing", &check.missing))
                            @if !check.sources.is_empty() {
                                p class="sources" { "Sources: " (check.sources.join("; ")) }
                            }
                        }
                    } }
                }
            }
        }
    }
}
