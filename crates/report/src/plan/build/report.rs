//! Puts the plan's report together.

use cotenant_core::plan::{Holder, Plan};

use super::blocks::gpu_hours;
use super::inputs::PlanInputs;
use super::times::{full, stretch};
use super::{calendar, parts, reserve, sharing, simulated};
use crate::format;
use crate::model::{Fact, NextStep};
use crate::plan::model::{Moment, PlanHeadline, PlanReport};
use crate::plan::{PLAN_FORMAT, PLAN_VERSION};

const QUESTION: &str =
    "Can these workloads share this place, hour by hour, and what can be promised?";

/// The report of a plan. The same inputs give an equal report.
pub fn build_plan(inputs: &PlanInputs<'_>) -> PlanReport {
    let plan = inputs.plan;
    let time_zone = inputs.time_zone;
    let calendar = plan.calendar.as_ref();
    let gpus = calendar.map_or(0, |calendar| calendar.gpus);
    PlanReport {
        format: PLAN_FORMAT.to_owned(),
        version: PLAN_VERSION,
        tool: inputs.tool_version.to_owned(),
        site: inputs.site_name.to_owned(),
        time_zone: time_zone.iana_name().unwrap_or("local time of the site").to_owned(),
        as_of: plan.as_of.map(|at| Moment { at: at.to_string(), text: full(at, time_zone) }),
        notes: inputs.notes.to_vec(),
        headline: PlanHeadline {
            word: parts::word(plan.word),
            question: QUESTION.to_owned(),
            reason: plan.reason.clone(),
            would_be_conditional_on: plan.conditions.clone(),
        },
        glance: glance(plan),
        facts: facts(inputs),
        reserves: reserve::reserves(&plan.reserves, calendar, time_zone),
        calendar: calendar.map(|calendar| calendar::calendar(calendar, time_zone)),
        calendar_missing: calendar
            .is_none()
            .then(|| "no calendar could be made; what is missing below says why".to_owned()),
        promises: parts::promises(&plan.promises, time_zone),
        certificates: plan
            .certificates
            .iter()
            .map(|entry| parts::certificate(entry, time_zone))
            .collect(),
        candidates: plan
            .candidates
            .iter()
            .enumerate()
            .map(|(place, entry)| {
                let found = inputs.simulated.iter().find(|it| it.place == place);
                parts::candidate(place, entry, found.map(simulated::simulated))
            })
            .collect(),
        backtest: plan.backtest.as_ref().map(|entry| parts::backtest(entry, time_zone)),
        checks: parts::build_checks(&plan.checks),
        gates: plan.gates.iter().map(parts::gate).collect(),
        missing: plan.missing.clone(),
        assumptions: plan.assumptions.clone(),
        next_steps: inputs
            .next_steps
            .iter()
            .map(|step| NextStep { text: step.text.clone(), command: step.command.clone() })
            .collect(),
        sharing: sharing::sharing(inputs.sharing, inputs.server, gpus),
    }
}

/// The few figures that are read first: deadlines, work, reserve, and what the history says.
fn glance(plan: &Plan) -> Vec<Fact> {
    let fact = |name: &str, text: String| Fact { name: name.to_owned(), text, origin: None };
    let mut facts = Vec::new();
    let due: Vec<_> = plan.promises.iter().filter(|promise| promise.deadline.is_some()).collect();
    if !due.is_empty() {
        let met =
            due.iter().filter(|promise| promise.done.is_some() && promise.done <= promise.deadline);
        let text = format!("{} of {}", met.count(), due.len());
        facts.push(fact("deadlines met in the calendar", text));
    }
    if let Some(calendar) = &plan.calendar {
        let of = |counts: fn(&Holder) -> bool| {
            let held = calendar.holders.iter().zip(&calendar.grid.windows).map(|(row, window)| {
                row.iter().filter(|holder| counts(holder)).count() as f64 * window.hours()
            });
            gpu_hours(held.sum()).text
        };
        let jobs = of(|holder| matches!(holder, Holder::Job(_) | Holder::Lent(_)));
        facts.push(fact("for training, batch and render", jobs));
        facts.push(fact(
            "kept free for bursts",
            of(|holder| matches!(holder, Holder::HotReserve(_))),
        ));
    }
    if let Some(row) = plan.backtest.as_ref().and_then(|backtest| backtest.rows.first()) {
        let text = format::minutes(row.violation_minutes);
        facts.push(fact("of violation on the replayed history", text));
    }
    facts
}

fn facts(inputs: &PlanInputs<'_>) -> Vec<Fact> {
    let fact = |name: &str, text: String, origin: Option<&str>| Fact {
        name: name.to_owned(),
        text,
        origin: origin.map(str::to_owned),
    };
    let mut facts = Vec::new();
    if !inputs.site_lines.is_empty() {
        facts.push(fact("site", inputs.site_lines.join(" · "), Some("declared")));
    }
    if let Some(calendar) = &inputs.plan.calendar {
        let windows = &calendar.grid.windows;
        if let (Some(first), Some(last)) = (windows.first(), windows.last()) {
            let text = format!(
                "{} · {} of {} min · {}",
                stretch(first.start, last.end, inputs.time_zone),
                format::plural(windows.len() as u64, "window", "windows"),
                calendar.grid.window_minutes,
                format::plural(calendar.gpus.into(), "GPU", "GPUs"),
            );
            facts.push(fact("calendar", text, None));
        }
    }
    if let Some(chosen) = inputs.plan.candidates.iter().find(|candidate| candidate.chosen) {
        facts.push(fact("shown", chosen.name.clone(), None));
    }
    facts
}
