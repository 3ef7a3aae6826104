//! Single numbers from elsewhere: they can neither fail nor pass, but what they suggest is said.

use crate::evidence::{Condition, Origin, PointEstimate, PointMetric};
use crate::site::{InferenceObjectives, LatencyMetric, LatencyObjective};

use super::findings::{Case, Seconds, open};
use super::inference::subject;
use super::{Finding, Strategy, Target, Unit};

/// What points suggest of a test of inference that has no blocks.
pub(super) fn inference(
    case: &Case<'_>,
    condition: Condition,
    strategy: Strategy,
    classes: &[(Option<u16>, InferenceObjectives)],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (class, objectives) in classes {
        for objective in objectives.latency() {
            let metric = metric_of(objective.metric);
            for point in about(case, condition, strategy, metric) {
                if point.quantile.is_some_and(|q| (q - objective.quantile).abs() < 1e-9) {
                    findings.push(latency(case, strategy, *class, &objective, point));
                }
            }
        }
    }
    for point in about(case, condition, strategy, PointMetric::Requests) {
        findings.push(rate(case, condition, strategy, point));
    }
    findings
}

/// What points suggest of the time of a step.
pub(super) fn step_time(case: &Case<'_>, strategy: Strategy, name: &str) -> Vec<Finding> {
    let limit = case.training.and_then(|training| training.objectives.step_time_max);
    about(case, Condition::C, strategy, PointMetric::StepTime)
        .map(|point| {
            let mut finding = begun(case, strategy, format!("{name}: step_time_max"), point);
            let against = limit.map_or_else(String::new, |limit| {
                suggests(
                    point.value,
                    limit.as_secs_f64(),
                    &Seconds(limit.as_secs_f64()).to_string(),
                )
            });
            finding.explanation = format!(
                "a step of {} {}{}{}",
                Seconds(point.value),
                WITHOUT_SAMPLE,
                against,
                beside_alone(case, Condition::B, point)
            );
            finding
        })
        .collect()
}

const WITHOUT_SAMPLE: &str = "is told without a sample, so it can neither fail nor pass";

fn metric_of(metric: LatencyMetric) -> PointMetric {
    match metric {
        LatencyMetric::Ttft => PointMetric::TimeToFirstToken,
        LatencyMetric::Itl => PointMetric::InterToken,
        LatencyMetric::Tpot => PointMetric::TimePerOutputToken,
        LatencyMetric::E2e => PointMetric::EndToEnd,
    }
}

/// Points about one test and metric.
fn about<'a>(
    case: &Case<'a>,
    condition: Condition,
    strategy: Strategy,
    metric: PointMetric,
) -> impl Iterator<Item = &'a PointEstimate> {
    let remedy = Case::remedy(strategy);
    case.points
        .iter()
        .filter(move |point| point.condition == condition && point.metric == metric)
        .filter(move |point| condition == Condition::A || point.remedy == remedy)
}

fn begun(case: &Case<'_>, strategy: Strategy, subject: String, point: &PointEstimate) -> Finding {
    let mut finding = open(subject, strategy);
    finding.observed = Some(point.value);
    finding.origin = Some(Origin::Imported);
    finding.evidence = vec![point.source.clone()];
    finding.missing.push(case.measure(
        "a,c",
        "blocks with requests, from which a bound can be made".into(),
        Some(6.0 * case.pair_minutes()),
    ));
    finding
}

fn latency(
    case: &Case<'_>,
    strategy: Strategy,
    class: Option<u16>,
    objective: &LatencyObjective,
    point: &PointEstimate,
) -> Finding {
    let limit_s = objective.target.as_secs_f64();
    let mut finding = begun(case, strategy, subject(case, class, objective.name), point);
    finding.target = Some(Target {
        metric: objective.name.to_owned(),
        value: limit_s,
        unit: Unit::Seconds,
        misses_allowed: Some(1.0 - objective.quantile),
    });
    finding.explanation = format!(
        "{} {}{}{}",
        Seconds(point.value),
        WITHOUT_SAMPLE,
        suggests(point.value, limit_s, &Seconds(limit_s).to_string()),
        beside_alone(case, Condition::A, point)
    );
    finding
}

/// ": it suggests FAIL (540 ms > 500 ms)", both in the unit that is shown.
fn suggests(value: f64, limit: f64, shown_limit: &str) -> String {
    let (word, sign) = if value > limit { ("FAIL", ">") } else { ("PASS", "≤") };
    format!("; it suggests {word} ({} {sign} {shown_limit})", Seconds(value))
}

/// "; 1.32 times the 410 ms alone".
fn beside_alone(case: &Case<'_>, alone: Condition, point: &PointEstimate) -> String {
    if point.condition == alone {
        return String::new();
    }
    case.points
        .iter()
        .filter(|other| other.condition == alone && other.metric == point.metric)
        .find(|other| other.quantile == point.quantile && other.value > 0.0)
        .map_or_else(String::new, |other| {
            format!("; {:.2} times the {} alone", point.value / other.value, Seconds(other.value))
        })
}

/// A rate that is served, beside what is served alone and beside the declared peak.
fn rate(
    case: &Case<'_>,
    condition: Condition,
    strategy: Strategy,
    point: &PointEstimate,
) -> Finding {
    let mut finding = begun(case, strategy, subject(case, None, "throughput"), point);
    let mut sentence = format!("{:.1} req/s {WITHOUT_SAMPLE}", point.value);
    let alone = about(case, Condition::A, Strategy::Alone, PointMetric::Requests)
        .find(|alone| alone.value > 0.0);
    if let (Condition::C, Some(alone)) = (condition, alone) {
        sentence = format!(
            "{sentence}; {:.2} of the {:.1} req/s alone are kept",
            point.value / alone.value,
            alone.value
        );
    }
    let peak = case.inference.and_then(|(_, inference)| inference.peak_rate.as_ref());
    if let Some(peak) = peak.filter(|peak| peak.is_requests() && point.value < peak.per_second) {
        sentence = format!(
            "{sentence}; if that is all it can serve, the declared peak of {:.1} req/s breaks test \
             {} {}",
            peak.per_second,
            condition.letter(),
            if condition == Condition::A {
                "before anything is shared"
            } else {
                "whatever its latency"
            }
        );
    }
    finding.explanation = sentence;
    finding
}
