//! The verdict and its gates as they are shown.

use cotenant_core::verdict::{
    Condition, Finding, Gate, Missing, Ruling, Sample, Target, Unit, Validity, Verdict,
};

use crate::format;
use crate::model::{ConditionView, FindingView, GateView, Headline, MissingView, Value, Word};

/// The word for a ruling.
pub(super) fn word(ruling: Ruling) -> Word {
    match ruling {
        Ruling::Pass => Word::Pass,
        Ruling::Conditional => Word::Conditional,
        Ruling::NotProven => Word::NotProven,
        Ruling::Fail => Word::Fail,
    }
}

/// The verdict in one glance. Tests that prove nothing take the word.
pub(super) fn headline(verdict: &Verdict) -> Headline {
    let (word, reservations) = match &verdict.validity {
        Validity::Valid => (word(verdict.ruling), Vec::new()),
        Validity::Degraded(reasons) => (word(verdict.ruling), reasons.clone()),
        Validity::Invalid(reasons) => (Word::Invalid, reasons.clone()),
    };
    Headline {
        word,
        question: "May this server serve inference and train at the same time?".to_owned(),
        reason: verdict.reason.clone(),
        reservations,
        conditions: verdict.conditions.iter().map(condition).collect(),
    }
}

fn condition(condition: &Condition) -> ConditionView {
    ConditionView {
        sentence: condition.sentence.clone(),
        watch: condition.watch.clone(),
        operator: condition.operator.to_owned(),
        value: condition.value.clone(),
        predicate: format!("{} {} {}", condition.watch, condition.operator, condition.value),
        tested_by: condition.tested_by.clone(),
    }
}

/// The gates, in the verdict's order.
pub(super) fn gates(verdict: &Verdict) -> Vec<GateView> {
    verdict.gates.iter().map(gate).collect()
}

fn gate(gate: &Gate) -> GateView {
    GateView {
        name: gate.kind.name().to_owned(),
        ruling: word(gate.ruling),
        summary: gate.summary.clone(),
        findings: gate.findings.iter().map(finding).collect(),
    }
}

fn finding(finding: &Finding) -> FindingView {
    let unit = finding.target.as_ref().map(|target| target.unit);
    let judged_unit = judged_unit(finding);
    let bound = |value: f64| judged_unit.map(|unit| format::measured(value, unit));
    FindingView {
        subject: finding.subject.clone(),
        strategy: finding.strategy.name().to_owned(),
        ruling: word(finding.ruling),
        observed: observed(finding, unit),
        judged: finding.judged.and_then(|judged| bound(judged.estimate)),
        lower: finding.judged.and_then(|judged| judged.lower).and_then(bound),
        upper: finding.judged.and_then(|judged| judged.upper).and_then(bound),
        bound_text: bound_text(finding),
        objective: finding.target.as_ref().map(objective),
        misses_allowed: finding
            .target
            .as_ref()
            .and_then(|target| target.misses_allowed)
            .map(|allowed| format::declared(allowed, Unit::Share)),
        origin: finding.origin.map(|origin| origin.name().to_owned()),
        sample_count: finding.sample.count,
        sample_effective: finite(finding.sample.effective),
        blocks: finding.sample.blocks,
        sample_text: sample_text(&finding.sample),
        evidence: finding.evidence.clone(),
        explanation: finding.explanation.clone(),
        blind_spot: finding.blind_spot.clone(),
        missing: finding.missing.iter().map(missing).collect(),
    }
}

fn observed(finding: &Finding, unit: Option<Unit>) -> Value {
    match (finding.observed, unit) {
        (Some(value), Some(unit)) => format::measured(value, unit),
        (Some(value), None) => format::value_with_text(value, "", format::trimmed(value)),
        (None, Some(_)) if finding.origin.is_some() => {
            Value::missing("the sample supports no value")
        }
        (None, Some(_)) => Value::missing("nothing was measured"),
        (None, None) => Value::words("no number"),
    }
}

/// What was judged: a share of misses where the target allows some, else the metric's own unit.
pub(super) fn judged_unit(finding: &Finding) -> Option<Unit> {
    let target = finding.target.as_ref()?;
    Some(if target.misses_allowed.is_some() { Unit::Share } else { target.unit })
}

/// The objective, as the direction of its metric has it: `≤ 500 ms`.
pub(super) fn objective(target: &Target) -> Value {
    let sign = if at_least(&target.metric) { "≥" } else { "≤" };
    let mut value = format::declared(target.value, target.unit);
    value.text = format!("{sign} {}", value.text);
    value
}

/// Whether more of this metric is better.
pub(super) fn at_least(metric: &str) -> bool {
    ["throughput", "availability", "on_time", "retention"]
        .iter()
        .any(|prefix| metric.starts_with(prefix))
}

/// The judged estimate with its bounds: `misses 1.2 % (0.4 % to 3.1 %), 5 % allowed`.
pub(super) fn bound_text(finding: &Finding) -> String {
    let (Some(judged), Some(unit)) = (finding.judged, judged_unit(finding)) else {
        return "no bound".to_owned();
    };
    let text = |value: f64| format::text(value, unit, None);
    let interval = match (judged.lower, judged.upper) {
        (Some(lower), Some(upper)) => format!("{} to {}", text(lower), text(upper)),
        (Some(lower), None) => format!("at least {}, no upper bound", text(lower)),
        (None, Some(upper)) => format!("at most {}, no lower bound", text(upper)),
        (None, None) => "no bounds".to_owned(),
    };
    let allowed = finding.target.as_ref().and_then(|target| target.misses_allowed);
    match allowed {
        Some(allowed) => format!(
            "misses {} ({interval}), {} allowed",
            text(judged.estimate),
            format::declared(allowed, Unit::Share).text
        ),
        None => format!("{} ({interval})", text(judged.estimate)),
    }
}

/// The judged estimate with its bounds, for a narrow cell: `0.4 to 3.1 % miss, 5 % may`.
pub(super) fn short_bound_text(finding: &Finding) -> Option<String> {
    let (judged, unit) = (finding.judged?, judged_unit(finding)?);
    let allowed = finding.target.as_ref().and_then(|target| target.misses_allowed);
    let Some(allowed) = allowed else {
        let (lower, upper) = (judged.lower?, judged.upper?);
        let text = |value: f64| format::text(value, unit, None);
        return Some(format!("bounds {} to {}", text(lower), text(upper)));
    };
    let bounds = match (judged.lower, judged.upper) {
        (Some(lower), Some(upper)) => {
            format!("{} to {}", format::percent(lower), format::share(upper))
        }
        (None, Some(upper)) => format!("at most {}", format::share(upper)),
        (Some(lower), None) => format!("at least {}", format::share(lower)),
        (None, None) => return Some("no bounds".to_owned()),
    };
    Some(format!("{bounds} miss, {} may", format::declared(allowed, Unit::Share).text))
}

fn sample_text(sample: &Sample) -> String {
    if sample.count == 0 {
        return "nothing seen".to_owned();
    }
    let worth = sample.effective.floor().max(0.0) as u64;
    let mut parts = vec![format!("n = {}", format::count(sample.count))];
    if worth > 0 && worth != sample.count {
        parts.push(format!("worth {}", format::count(worth)));
    }
    if sample.blocks > 0 {
        parts.push(format::plural(u64::from(sample.blocks), "block", "blocks"));
    }
    parts.join(", ")
}

/// What would decide an open question.
pub(super) fn missing(missing: &Missing) -> MissingView {
    let minutes = missing.minutes.filter(|minutes| minutes.is_finite());
    MissingView {
        what: missing.what.clone(),
        command: missing.remedy.clone(),
        minutes,
        minutes_text: match minutes {
            Some(minutes) if minutes <= 0.0 => "a line to write".to_owned(),
            Some(minutes) => format::minutes(minutes),
            None => "time unknown".to_owned(),
        },
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
