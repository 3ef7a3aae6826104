//! Gates, checks, promises, certificates, candidates and the backtest.

use cotenant_core::plan::{
    Backtest, Candidate, Certificate, Change, Check, Outcome, PlanGate, PlanWord, Promise,
};
use jiff::tz::TimeZone;

use super::blocks::gpu_hours;
use super::times::{moment, stretch};
use crate::format;
use crate::model::{Column, Table, Value, Word};
use crate::plan::model::{
    BacktestView, CandidateSimulation, CandidateView, CertificateView, ChangeView, CheckOutcome,
    CheckView, GateWord, PlanGateView, PromiseView,
};

pub(super) fn word(word: PlanWord) -> Word {
    match word {
        PlanWord::Fail => Word::Fail,
        PlanWord::NotProven => Word::NotProven,
    }
}

fn share(value: f64) -> Value {
    format::value_with_text(value, "share", format::share(value))
}

pub(super) fn gate(gate: &PlanGate) -> PlanGateView {
    PlanGateView {
        name: gate.name.to_owned(),
        word: word(gate.word),
        reason: gate.reason.clone(),
        would_be_conditional_on: gate.would_be_conditional_on.clone(),
        to_test: gate.to_test.clone(),
    }
}

/// The checks, those that fail first and those that hold last; else in their own order.
pub fn build_checks(checks: &[Check]) -> Vec<CheckView> {
    let mut views: Vec<_> = checks.iter().map(check).collect();
    views.sort_by_key(|view| view.outcome);
    views
}

fn check(check: &Check) -> CheckView {
    CheckView {
        key: check.key.to_owned(),
        title: check.title.clone(),
        workloads: check.workloads.clone(),
        outcome: match check.outcome {
            Outcome::Fails => CheckOutcome::Fails,
            Outcome::Open => CheckOutcome::Open,
            Outcome::Holds => CheckOutcome::Holds,
        },
        answer: check.answer.clone(),
        arithmetic: check.arithmetic.clone(),
        would_be_conditional_on: check.would_be_conditional_on.clone(),
        missing: check.missing.clone(),
        sources: check.sources.iter().map(|source| (*source).to_owned()).collect(),
    }
}

/// The promises. Jobs of one workload that follow one another, are due at no time and get no GPU at
/// all are told in one line: a queue of forty would say nothing forty times.
pub(super) fn promises(promises: &[Promise], time_zone: &TimeZone) -> Vec<PromiseView> {
    let is_idle = |it: &Promise| it.deadline.is_none() && it.gpu_hours == 0.0;
    let belongs = |one: &Promise, next: &Promise| {
        is_idle(one) && is_idle(next) && one.workload == next.workload
    };
    promises
        .chunk_by(belongs)
        .filter_map(|group| {
            let mut view = promise(group.first()?, time_zone);
            if group.len() > 1 {
                view.job = format!("{}: {} jobs, none of which runs", view.workload, group.len());
            }
            Some(view)
        })
        .collect()
}

fn promise(promise: &Promise, time_zone: &TimeZone) -> PromiseView {
    let asked = promise.on_time_share_asked.map(share);
    let on_time = match promise.on_time_share {
        Some(value) => share(value),
        None => Value::words("not known"),
    };
    let weeks = format::plural(promise.weeks.into(), "drawn week", "drawn weeks");
    let seen = match promise.on_time_share {
        Some(_) => format!("{} of {weeks}", on_time.text),
        None if promise.deadline.is_none() => "no deadline".to_owned(),
        None => "no weeks were drawn".to_owned(),
    };
    let asked_text =
        asked.as_ref().map_or_else(String::new, |asked| format!("; asked {}", asked.text));
    PromiseView {
        job: promise.job.clone(),
        workload: promise.workload.clone(),
        deadline: promise.deadline.map(|at| moment(at, time_zone)),
        done: promise.done.map(|at| moment(at, time_zone)),
        in_time: promise.deadline.map(|deadline| promise.done.is_some_and(|done| done <= deadline)),
        margin_text: margin(promise),
        work_text: if promise.gpu_hours.is_finite() {
            format!("of {}", gpu_hours(promise.gpu_hours).text)
        } else {
            "and goes on".to_owned()
        },
        keeps_share: promise
            .on_time_share
            .zip(promise.on_time_share_asked)
            .map(|(share, asked)| share >= asked),
        gpu_hours: gpu_hours(promise.gpu_hours),
        gpu_hours_in_time: gpu_hours(promise.gpu_hours_in_time),
        gpu_hours_lost: gpu_hours(promise.gpu_hours_lost),
        on_time_share: on_time,
        on_time_share_asked: asked,
        on_time_text: format!("{seen}{asked_text}"),
        remarks: promise.remarks.clone(),
    }
}

/// Done beside the deadline, in words.
fn margin(promise: &Promise) -> String {
    match (promise.done, promise.deadline) {
        (None, _) if promise.gpu_hours.is_infinite() => "never ends".to_owned(),
        (None, _) => "not done in this calendar".to_owned(),
        (Some(_), None) => "no deadline".to_owned(),
        (Some(done), Some(deadline)) => {
            let hours = deadline.duration_since(done).as_secs_f64() / 3600.0;
            let text = format::minutes(hours.abs() * 60.0);
            match hours {
                0.0 => "to the minute".to_owned(),
                hours if hours > 0.0 => format!("{text} early"),
                _ => format!("{text} late"),
            }
        }
    }
}

pub(super) fn certificate(certificate: &Certificate, time_zone: &TimeZone) -> CertificateView {
    let needed = gpu_hours(certificate.needed);
    let free = gpu_hours(certificate.free);
    let missing = gpu_hours(certificate.missing());
    let when = stretch(certificate.from, certificate.until, time_zone);
    let verb = if certificate.jobs.len() == 1 { "needs" } else { "need" };
    CertificateView {
        jobs: certificate.jobs.clone(),
        from: moment(certificate.from, time_zone),
        until: moment(certificate.until, time_zone),
        sentence: format!(
            "{when}: {} {verb} {}, and {} are free for them; {} are missing.",
            certificate.jobs.join(", "),
            needed.text,
            free.text,
            missing.text
        ),
        arithmetic: format!(
            "needed {} − free {} = missing {}",
            needed.text, free.text, missing.text
        ),
        needed,
        free,
        missing,
        changes: certificate.changes.iter().map(change).collect(),
    }
}

fn change(change: &Change) -> ChangeView {
    let mut parts = Vec::new();
    if !change.price.is_empty() {
        parts.push(change.price.clone());
    }
    parts.extend(change.money.clone());
    parts.push(
        if change.confirmed { "planned again: it is met" } else { "not planned again" }.to_owned(),
    );
    ChangeView {
        what: change.what.clone(),
        price: change.price.clone(),
        money: change.money.clone(),
        confirmed: change.confirmed,
        text: parts.join(" · "),
    }
}

pub(super) fn candidate(
    place: usize,
    candidate: &Candidate,
    simulated: Option<CandidateSimulation>,
) -> CandidateView {
    let deadlines = candidate.deadlines_met.map_or_else(
        || Value::words("not known"),
        |(met, all)| {
            let text = format!("{} of {}", format::count(met.into()), format::count(all.into()));
            format::value_with_text(f64::from(met), "count", text)
        },
    );
    CandidateView {
        place: place as u32 + 1,
        name: candidate.name.clone(),
        mode: candidate.mode.to_owned(),
        looked_at: candidate.looked_at,
        why: candidate.why.clone(),
        word: candidate.word.map(word),
        gpu_hours: candidate.gpu_hours.map_or_else(|| Value::words("not known"), gpu_hours),
        deadlines,
        gates: candidate
            .gates
            .iter()
            .map(|(gate, said)| GateWord { gate: gate.clone(), word: word(*said) })
            .collect(),
        to_test: candidate.to_test.clone(),
        chosen: candidate.chosen,
        simulated,
    }
}

pub(super) fn backtest(backtest: &Backtest, time_zone: &TimeZone) -> BacktestView {
    let column = |key: &str, title: &str, numeric: bool| Column {
        key: key.to_owned(),
        title: title.to_owned(),
        numeric,
    };
    let rows = backtest
        .rows
        .iter()
        .map(|row| {
            let minutes = row.violation_minutes;
            vec![
                Value::words(row.name.clone()),
                format::value_with_text(minutes, "min", format::minutes(minutes)),
                share(row.violation_share),
                format::counted(row.evictions),
                gpu_hours(row.gpu_hours_harvested),
                gpu_hours(row.gpu_hours_lost),
                Value::words(row.what.clone()),
            ]
        })
        .collect();
    BacktestView {
        from: moment(backtest.from, time_zone),
        until: moment(backtest.until, time_zone),
        table: Table {
            key: "backtest".to_owned(),
            title: "This plan beside an oracle and three other ways of operating".to_owned(),
            note: format!(
                "{}. A violation is time in which demand was above what inference held and could \
                 get back.",
                stretch(backtest.from, backtest.until, time_zone)
            ),
            columns: vec![
                column("name", "operated as", false),
                column("violation", "violation", true),
                column("violation_share", "of the time", true),
                column("evictions", "evictions", true),
                column("gpu_hours_harvested", "harvested", true),
                column("gpu_hours_lost", "lost", true),
                column("what", "what it does", false),
            ],
            rows,
            empty: "nothing was replayed".to_owned(),
        },
    }
}
