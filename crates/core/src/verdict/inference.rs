//! The inference gate: does inference keep its objectives with the neighbour beside it, at the load
//! that was declared?

use crate::evidence::{Condition, Phase};
use crate::site::{
    CheckpointInterval, Demand, InferenceObjectives, LatencyMetric, LatencyObjective,
};
use crate::stats::{self, ALPHA, BlockMisses, Decision, ShareBounds, Stratum};

use super::findings::{Case, Percent, Seconds, gate, open};
use super::overload::overload;
use super::pool::{Member, Pool};
use super::series::{self, NoSeries};
use super::{Bounded, Finding, Gate, GateKind, Ruling, Sample, Strategy, Target, Unit};

/// An objective whose ruling waits for the others: FAIL claims are made together (Holm), so that
/// looking at many objectives does not make a false FAIL likelier.
struct Claim {
    finding: usize,
    strata: Vec<Stratum>,
    quantile: f64,
}

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    let mut findings = Vec::new();
    let Some((workload, inference)) = case.inference else {
        let mut finding = open("inference workload", strategy);
        finding.explanation = "the site declares none".into();
        finding.missing.push(case.declare("an inference workload", "workloads: [{ inference: … }]"));
        return gate(GateKind::Inference, vec![finding]);
    };
    if inference.objectives.is_empty() && workload.classes.iter().all(|c| c.objectives.is_none()) {
        let mut finding = open(format!("{}: objectives", workload.name), strategy);
        finding.explanation = "the site declares no objective for it".into();
        finding.missing.push(case.declare("an objective", "objectives: { ttft_p95: 500 ms }"));
        return gate(GateKind::Inference, vec![finding]);
    }
    let mut claims = Vec::new();
    for (condition, strategy) in
        [(Condition::C, strategy), (Condition::A, Strategy::Alone)]
    {
        let members = case.blocks(condition, strategy);
        if members.is_empty() {
            findings.push(not_tested(case, condition, strategy));
            continue;
        }
        if let Some(finding) = overload(case, &members, strategy) {
            findings.push(finding);
            continue;
        }
        for (class, objectives) in declared_classes(case) {
            for objective in objectives.latency() {
                latency(case, &members, condition, strategy, class, &objective, &mut findings, &mut claims);
            }
            errors(case, &members, strategy, class, &objectives, &mut findings, &mut claims);
        }
        findings.extend(throughput(case, &members, strategy));
        findings.extend(queue(case, &members, strategy));
    }
    rule_failures(&mut findings, &claims);
    findings.extend(load_tie(case, strategy));
    gate(GateKind::Inference, findings)
}

/// The objectives, per class where classes are declared: results of classes are never averaged.
fn declared_classes(case: &Case<'_>) -> Vec<(Option<u16>, InferenceObjectives)> {
    let Some((workload, inference)) = case.inference else { return Vec::new() };
    if workload.classes.is_empty() {
        return vec![(None, inference.objectives.clone())];
    }
    workload
        .classes
        .iter()
        .enumerate()
        .map(|(index, class)| {
            let own = class.objectives.clone().unwrap_or_else(|| inference.objectives.clone());
            (Some(index as u16), own)
        })
        .collect()
}

fn subject(case: &Case<'_>, class: Option<u16>, what: &str) -> String {
    let Some((workload, _)) = case.inference else { return what.to_owned() };
    let class = class.and_then(|index| workload.classes.get(usize::from(index)));
    match class {
        Some(class) => format!("{} ({}): {what}", workload.name, class.name),
        None => format!("{}: {what}", workload.name),
    }
}

fn not_tested(case: &Case<'_>, condition: Condition, strategy: Strategy) -> Finding {
    let letter = condition.letter();
    let mut finding = open(subject(case, None, &format!("test {letter}")), strategy);
    let other: Vec<&str> = case
        .pool
        .iter()
        .flat_map(|pool| &pool.differences)
        .filter(|difference| difference.condition == condition)
        .map(|difference| difference.what.as_str())
        .collect();
    finding.explanation = if let Some(what) = other.first() {
        format!("test {letter} was made on something else and does not count: {what}")
    } else if case.pool.is_some_and(|p| p.rejected.iter().any(|r| r.letter == letter)) {
        format!("every block of test {letter} was rejected")
    } else {
        format!("no block of test {letter} exists")
    };
    let tests = if condition == Condition::A { "a" } else { "a,c" };
    finding.missing.push(case.measure(
        tests,
        format!("test {letter} on the stack and load of today"),
        Some(6.0 * case.pair_minutes()),
    ));
    finding
}

fn latency_of(metric: LatencyMetric) -> series::Latency {
    match metric {
        LatencyMetric::Ttft => series::Latency::TimeToFirstToken,
        LatencyMetric::Itl => series::Latency::InterToken,
        LatencyMetric::Tpot => series::Latency::TimePerOutputToken,
        LatencyMetric::E2e => series::Latency::EndToEnd,
    }
}

#[expect(clippy::too_many_arguments, reason = "one objective in its whole setting")]
fn latency(
    case: &Case<'_>,
    members: &[Member<'_>],
    condition: Condition,
    strategy: Strategy,
    class: Option<u16>,
    objective: &LatencyObjective,
    findings: &mut Vec<Finding>,
    claims: &mut Vec<Claim>,
) {
    let target_s = objective.target.as_secs_f64();
    let allowed = 1.0 - objective.quantile;
    let mut finding = open(subject(case, class, objective.name), strategy);
    finding.target = Some(Target {
        metric: objective.name.to_owned(),
        value: target_s,
        unit: Unit::Seconds,
        misses_allowed: Some(allowed),
    });
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    let mut all = Vec::new();
    let mut per_block = Vec::new();
    for member in members {
        match series::latencies(member.block, latency_of(objective.metric), class) {
            Ok(values) => {
                all.extend_from_slice(&values);
                per_block.push((member.block.observed_phase(), values));
            }
            Err(why) => {
                no_series(case, why, &mut finding);
                findings.push(finding);
                return;
            }
        }
    }
    finding.observed = stats::quantile(&all, objective.quantile).ok();
    let strata = match stratify(case, condition, members, &per_block, target_s) {
        Ok(strata) => strata,
        Err((what, missing)) => {
            finding.explanation = what;
            finding.missing.push(missing);
            findings.push(finding);
            return;
        }
    };
    decide_share(case, &mut finding, &strata, objective.quantile, Some(target_s));
    claims.push(Claim { finding: findings.len(), strata, quantile: objective.quantile });
    findings.push(finding);
}

fn no_series(case: &Case<'_>, why: NoSeries, finding: &mut Finding) {
    match why {
        NoSeries::SeveralTokensPerChunk => {
            finding.explanation = "the server sends several tokens in a chunk, so the gaps between \
                                   chunks are no inter-token latencies, and none are invented"
                .into();
            finding.missing.push(
                case.declare("an objective that can be seen", "objectives: { tpot_p95: … }"),
            );
        }
        NoSeries::GapsNotRead => {
            finding.explanation = "no gaps between chunks are in the evidence".into();
            finding.missing.push(case.measure(
                "a,c",
                "gaps between chunks".into(),
                Some(6.0 * case.pair_minutes()),
            ));
        }
    }
}

/// Sorts blocks by the neighbour's phase, weighted by the declared checkpoint interval. A block of
/// length L contains a checkpoint with probability min(1, L ÷ interval).
fn stratify(
    case: &Case<'_>,
    condition: Condition,
    members: &[Member<'_>],
    per_block: &[(Phase, Vec<f64>)],
    target: f64,
) -> Result<Vec<Stratum>, (String, super::Missing)> {
    let blocks_of = |phase: Option<Phase>| -> Vec<BlockMisses> {
        per_block
            .iter()
            .filter(|(seen, _)| phase.is_none_or(|phase| *seen == phase))
            .filter_map(|(_, values)| BlockMisses::from_latencies(values, target).ok())
            .collect()
    };
    let interval_s = interval_s(case, members);
    let (Condition::C, Some(interval_s)) = (condition, interval_s) else {
        return Ok(vec![Stratum {
            name: "all blocks".into(),
            weight: 1.0,
            blocks: blocks_of(None),
        }]);
    };
    let judged_s = members.iter().map(|member| member.block.judged_s()).sum::<f64>()
        / members.len() as f64;
    let with = (judged_s / interval_s).min(1.0);
    let mut strata = Vec::new();
    for (phase, weight) in [(Phase::Steady, 1.0 - with), (Phase::Checkpoint, with)] {
        let blocks = blocks_of(Some(phase));
        // Where every block of production contains a checkpoint, one that happened to contain none
        // still counts, with those that did.
        if weight <= 0.0 {
            continue;
        }
        if blocks.is_empty() {
            return Err((
                format!(
                    "no block of test C is {}, a phase that {} of such blocks are in (a checkpoint \
                     each {}, blocks of {})",
                    phase.name(),
                    Percent(weight),
                    Seconds(interval_s),
                    Seconds(judged_s)
                ),
                case.measure(
                    "c",
                    format!("blocks of test C {}", phase.name()),
                    Some(4.0 * case.pair_minutes()),
                ),
            ));
        }
        strata.push(Stratum { name: phase.name().to_owned(), weight, blocks });
    }
    if let [only] = strata.as_mut_slice() {
        only.blocks = blocks_of(None);
    }
    Ok(strata)
}

/// The declared checkpoint interval, seconds. One in steps is turned into time by the measured step.
fn interval_s(case: &Case<'_>, members: &[Member<'_>]) -> Option<f64> {
    match case.training?.checkpoint.as_ref()?.interval? {
        CheckpointInterval::Time(time) => Some(time.as_secs_f64()).filter(|s| *s > 0.0),
        CheckpointInterval::Steps(steps) => {
            let walls: Vec<f64> =
                members.iter().filter_map(|m| series::wall_per_step(m.block)).collect();
            let mean = walls.iter().sum::<f64>() / walls.len() as f64;
            Some(mean * steps as f64).filter(|s| s.is_finite() && *s > 0.0)
        }
    }
}

/// Bounds the share of misses and rules, all but FAIL, which waits for the other objectives. For a
/// latency, `target_s` is its limit.
fn decide_share(
    case: &Case<'_>,
    finding: &mut Finding,
    strata: &[Stratum],
    quantile: f64,
    target_s: Option<f64>,
) {
    let decided = match stats::decide_share(strata, quantile, ALPHA) {
        Ok(decided) => decided,
        Err(refusal) => {
            finding.explanation = format!("no bound can be given: {refusal}");
            finding.missing.push(case.measure(
                "a,c",
                "blocks with requests".into(),
                Some(6.0 * case.pair_minutes()),
            ));
            return;
        }
    };
    let bounds = &decided.bounds;
    finding.sample = Sample {
        count: bounds.requests,
        effective: bounds.effective_requests,
        blocks: bounds.blocks as u32,
    };
    finding.judged = Some(Bounded {
        estimate: bounds.estimate,
        lower: Some(bounds.lower),
        upper: Some(bounds.upper),
    });
    finding.explanation = explain(bounds, quantile, target_s, finding.observed);
    match decided.decision {
        Decision::Pass => {
            finding.ruling = Ruling::Pass;
            finding.blind_spot = Some(format!(
                "a phase in fewer than {} of blocks may have gone unseen ({} blocks, 95 %)",
                Percent(stats::unseen_phase(bounds.blocks, 1.0 - ALPHA)),
                bounds.blocks
            ));
        }
        Decision::Fail => {}
        Decision::Undecided(need) => {
            for obstacle in &need.obstacles {
                finding.explanation = format!("{obstacle}; {}", finding.explanation);
            }
            let what = match need.further_blocks {
                Some(blocks) => format!("about {blocks} more pairs of blocks like these"),
                None => "a larger distance between the share of misses and what is allowed: no \
                         number of blocks is likely to decide"
                    .to_owned(),
            };
            let minutes = need.further_blocks.map(|blocks| blocks as f64 * case.pair_minutes());
            finding.missing.push(case.measure("a,c", what, minutes));
        }
    }
}

fn explain(
    bounds: &ShareBounds,
    quantile: f64,
    target_s: Option<f64>,
    observed: Option<f64>,
) -> String {
    let what = match target_s {
        Some(target_s) => {
            let seen = observed.map_or_else(String::new, |value| {
                format!("p{} {}, ", (quantile * 1000.0).round() / 10.0, Seconds(value))
            });
            format!("{seen}over {} in", Seconds(target_s))
        }
        None => "missed by".to_owned(),
    };
    format!(
        "{what} {} of {} ({:.0} effective, {} blocks): between {} and {} in the long run (95 % \
         each), {} allowed",
        Percent(bounds.estimate),
        bounds.requests,
        bounds.effective_requests,
        bounds.blocks,
        Percent(bounds.lower),
        Percent(bounds.upper),
        Percent(1.0 - quantile)
    )
}

/// FAIL claims are made together: Holm's procedure over the objectives.
fn rule_failures(findings: &mut [Finding], claims: &[Claim]) {
    let failed = stats::holm(claims.len(), ALPHA, |index, level| {
        let claim = &claims[index];
        stats::bound_misses(&claim.strata, level)
            .is_ok_and(|bounds| bounds.lower > 1.0 - claim.quantile + 1e-12)
    });
    for (claim, failed) in claims.iter().zip(failed) {
        let finding = &mut findings[claim.finding];
        if failed {
            finding.ruling = Ruling::Fail;
            finding.missing.clear();
        }
    }
}

/// The share of requests that do not complete.
fn errors(
    case: &Case<'_>,
    members: &[Member<'_>],
    strategy: Strategy,
    class: Option<u16>,
    objectives: &InferenceObjectives,
    findings: &mut Vec<Finding>,
    claims: &mut Vec<Claim>,
) {
    let Some(allowed) = objectives.error_rate.map(crate::units::Share::value) else { return };
    let mut finding = open(subject(case, class, "error_rate"), strategy);
    finding.target = Some(Target {
        metric: "error_rate".into(),
        value: allowed,
        unit: Unit::Share,
        misses_allowed: None,
    });
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    let blocks: Vec<_> = members
        .iter()
        .filter_map(|member| {
            series::latencies(member.block, series::Latency::EndToEnd, class).ok()
        })
        .filter_map(|values| BlockMisses::from_latencies(&values, f64::MAX).ok())
        .collect();
    let strata = vec![Stratum { name: "all blocks".into(), weight: 1.0, blocks }];
    let quantile = 1.0 - allowed;
    decide_share(case, &mut finding, &strata, quantile, None);
    finding.observed = finding.judged.map(|judged| judged.estimate);
    claims.push(Claim { finding: findings.len(), strata, quantile });
    findings.push(finding);
}

/// Finished work over time, as a mean over blocks.
fn throughput(case: &Case<'_>, members: &[Member<'_>], strategy: Strategy) -> Option<Finding> {
    let (_, inference) = case.inference?;
    let target = inference.objectives.throughput.as_ref()?;
    let tokens = target.is_tokens();
    let mut finding = open(subject(case, None, "throughput"), strategy);
    finding.target = Some(Target {
        metric: "throughput".into(),
        value: target.per_second,
        unit: if tokens { Unit::TokensPerSecond } else { Unit::RequestsPerSecond },
        misses_allowed: None,
    });
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    let of = if tokens { series::output_tokens_per_s } else { series::completed_per_s };
    let means: Vec<f64> = members.iter().map(|member| of(member.block)).collect();
    super::means::decide(case, &mut finding, &means, target.per_second, stats::Side::AtLeast, "a,c");
    Some(finding)
}

/// Requests that wait in the engine, and for how long, from the engine's own metrics.
fn queue(case: &Case<'_>, members: &[Member<'_>], strategy: Strategy) -> Vec<Finding> {
    let Some((_, inference)) = case.inference else { return Vec::new() };
    let mut findings = Vec::new();
    if let Some(most) = inference.objectives.queue_length {
        let mut finding = open(subject(case, None, "queue_length"), strategy);
        finding.target = Some(Target {
            metric: "queue_length".into(),
            value: f64::from(most),
            unit: Unit::Count,
            misses_allowed: Some(ALPHA),
        });
        finding.evidence = Pool::run_ids(members);
        finding.origin = Pool::origin(members);
        let series: Vec<Vec<f64>> = members
            .iter()
            .map(|member| member.block.engine_waiting.iter().map(|(_, count)| *count).collect())
            .filter(|series: &Vec<f64>| !series.is_empty())
            .collect();
        if series.len() < members.len() {
            finding.explanation =
                "the engine's own count of waiting requests was not seen in every block".into();
            finding.missing.push(case.declare("the engine's metrics", "metrics: http://…/metrics"));
        } else {
            let all: Vec<f64> = series.iter().flatten().copied().collect();
            finding.observed = stats::quantile(&all, 1.0 - ALPHA).ok();
            let blocks = series
                .iter()
                .filter_map(|s| BlockMisses::from_latencies(s, f64::from(most)).ok())
                .collect();
            let strata = [Stratum { name: "all blocks".into(), weight: 1.0, blocks }];
            decide_share(case, &mut finding, &strata, 1.0 - ALPHA, None);
            finding.explanation =
                format!("more than {most} waiting: {}", finding.explanation);
            if finding.judged.is_some_and(|judged| judged.lower.is_some_and(|low| low > ALPHA)) {
                finding.ruling = Ruling::Fail;
                finding.missing.clear();
            }
        }
        findings.push(finding);
    }
    if inference.objectives.queue_time.is_some() {
        let mut finding = open(subject(case, None, "queue_time"), strategy);
        finding.explanation = "engines export queue times as histograms whose first bucket is \
                               often 300 ms, and none was collected"
            .into();
        finding.missing.push(case.declare(
            "an objective that holds the queue and can be seen: time to first token contains it",
            "objectives: { ttft_p95: … }",
        ));
        findings.push(finding);
    }
    findings
}

/// The tested load must be the declared one, or more.
fn load_tie(case: &Case<'_>, strategy: Strategy) -> Option<Finding> {
    let (_, inference) = case.inference?;
    let members = case.blocks(Condition::C, strategy);
    let load = &members.last()?.run.load;
    let mut finding = open(subject(case, None, "tested load"), strategy);
    finding.evidence = Pool::run_ids(&members);
    finding.origin = Pool::origin(&members);
    let declared = inference.peak_rate.as_ref().map(|rate| rate.per_second).or(
        match &inference.demand {
            Demand::Poisson { rate } | Demand::Gamma { rate, .. } | Demand::Constant { rate } => {
                Some(rate.per_second)
            }
            Demand::Ramp { from, to, .. } => Some(from.per_second.max(to.per_second)),
            _ => None,
        },
    );
    let judged_s: f64 = members.iter().map(|member| member.block.judged_s()).sum();
    // A count of Poisson arrivals strays by the root of itself: twice that is chance.
    let chance = 2.0 * (load.rate_per_s / judged_s.max(1.0)).sqrt();
    let mut below = Vec::new();
    if let Some(declared) = declared.filter(|declared| load.rate_per_s + chance < *declared) {
        below.push(format!(
            "{:.2} req/s were tested, the declared peak is {declared:.2} req/s",
            load.rate_per_s
        ));
    }
    // A quantile of a sample strays too: a tenth is allowed.
    let counts = [
        ("prompt", load.prompt_tokens_p50, load.prompt_tokens_p95, inference.prompt_tokens),
        ("output", load.output_tokens_p50, load.output_tokens_p95, inference.output_tokens),
    ];
    for (name, tested_p50, tested_p95, declared) in counts {
        let Some(declared) = declared else { continue };
        for (quantile, tested, declared) in
            [("p50", tested_p50, declared.p50), ("p95", tested_p95, declared.p95)]
        {
            if f64::from(tested) < 0.9 * f64::from(declared) {
                below.push(format!(
                    "{name} tokens {quantile} were {tested}, {declared} are declared"
                ));
            }
        }
    }
    if declared.is_none() && !matches!(inference.demand, Demand::Trace(_)) {
        below.push("the site declares no peak rate to hold the test against".into());
    }
    if below.is_empty() {
        finding.ruling = Ruling::Pass;
        finding.explanation = format!(
            "tested {:.2} req/s, {}; not below what is declared",
            load.rate_per_s, load.description
        );
    } else {
        finding.explanation = below.join("; ");
        finding.missing.push(case.measure(
            "a,c",
            "A and C at the declared load".into(),
            Some(6.0 * case.pair_minutes()),
        ));
    }
    Some(finding)
}
