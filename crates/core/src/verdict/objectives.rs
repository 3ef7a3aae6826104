//! Each objective of inference against the blocks of one test.

use crate::evidence::Condition;
use crate::site::{InferenceObjectives, LatencyMetric, LatencyObjective};
use crate::stats::{self, ALPHA, BlockMisses, Decision, ShareBounds, ShareDecision, Stratum};
use crate::units::RatePerSecond;

use super::claims::Claim;
use super::findings::{Case, Percent, Seconds, open};
use super::inference::{count, subject};
use super::phases::Phases;
use super::pool::{Member, Pool};
use super::series::{self, NoSeries};
use super::{Bounded, Finding, Ruling, Sample, Strategy, Target, Unit, means};

/// One test in its setting.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) condition: Condition,
    pub(super) strategy: Strategy,
    pub(super) members: &'a [Member<'a>],
}

impl<'a> Look<'a> {
    /// Judges what is declared for a class, or for the whole workload.
    pub(super) fn objectives(
        self,
        class: Option<u16>,
        objectives: &InferenceObjectives,
        findings: &mut Vec<Finding>,
        claims: &mut Vec<Claim<'a>>,
    ) {
        let mut add = |judged: Judged<'a>| {
            if let Some(beyond) = judged.beyond {
                claims.push(Claim { finding: findings.len(), beyond, tests: "a,c" });
            }
            findings.push(judged.finding);
        };
        for objective in objectives.latency() {
            add(self.latency(class, &objective));
        }
        if let Some(allowed) = objectives.error_rate {
            add(self.errors(class, allowed.value()));
        }
        if let Some(least) = &objectives.throughput {
            add(self.throughput(class, least));
        }
        if let Some(most) = objectives.queue_length {
            add(self.queue_length(class, most));
        }
        if let Some(most) = objectives.queue_time {
            add(self.queue_time(class, most));
        }
    }

    /// Requests of a class that the site does not declare are held against nothing.
    pub(super) fn undeclared_classes(
        self,
        classes: &[(Option<u16>, InferenceObjectives)],
    ) -> Option<Finding> {
        if classes.iter().all(|(class, _)| class.is_none()) {
            return None;
        }
        let known = |class: u16| classes.iter().any(|(declared, _)| *declared == Some(class));
        let unknown = self
            .members
            .iter()
            .flat_map(|member| member.block.judged_requests())
            .filter(|request| !known(request.class))
            .count();
        if unknown == 0 {
            return None;
        }
        let mut finding = self.begun(None, "requests of no declared class");
        finding.explanation = format!(
            "{} belong to a class that the site does not declare",
            count(unknown, "request")
        );
        finding
            .missing
            .push(self.case.declare("every class of requests", "classes: [{ name: … }]"));
        Some(finding)
    }

    pub(super) fn begun(self, class: Option<u16>, what: &str) -> Finding {
        let mut finding = open(subject(self.case, class, what), self.strategy);
        finding.evidence = Pool::run_ids(self.members);
        finding.origin = Pool::origin(self.members);
        finding
    }

    fn latency(self, class: Option<u16>, objective: &LatencyObjective) -> Judged<'a> {
        let target_s = objective.target.as_secs_f64();
        let mut finding = self.begun(class, objective.name);
        finding.target = Some(Target {
            metric: objective.name.to_owned(),
            value: target_s,
            unit: Unit::Seconds,
            misses_allowed: Some(1.0 - objective.quantile),
        });
        let mut all = Vec::new();
        let mut misses = Vec::new();
        for member in self.members {
            match series::latencies(member.block, latency_of(objective.metric), class) {
                Ok(values) => {
                    misses.push(BlockMisses::from_latencies(&values, target_s).ok());
                    all.extend(values);
                }
                Err(why) => {
                    no_series(self.case, why, &mut finding);
                    return Judged { finding, beyond: None };
                }
            }
        }
        // A quantile that so few values cannot bound is no value to show.
        finding.observed = stats::require_sample(objective.quantile, all.len() as f64, ALPHA)
            .and_then(|()| stats::quantile(&all, objective.quantile))
            .ok();
        let quantile = per_cent(objective.quantile);
        let seen = match finding.observed {
            Some(value) if value.is_finite() => format!("p{quantile} {}; ", Seconds(value)),
            Some(_) => format!("p{quantile} has no value, because so many had no answer; "),
            None => few(&all),
        };
        let noun = if objective.metric == LatencyMetric::Itl { "gaps" } else { "requests" };
        let limit = Seconds(target_s);
        let what = Wording {
            before: seen,
            noun,
            did: format!("took longer than {limit} or had no answer"),
        };
        self.share(finding, &misses, objective.quantile, &what)
    }

    /// The share of requests that do not complete.
    fn errors(self, class: Option<u16>, allowed: f64) -> Judged<'a> {
        let mut finding = self.begun(class, "error_rate");
        finding.target = Some(Target {
            metric: "error_rate".into(),
            value: allowed,
            unit: Unit::Share,
            misses_allowed: None,
        });
        let misses: Vec<Option<BlockMisses>> = self
            .members
            .iter()
            .map(|member| {
                let values =
                    series::latencies(member.block, series::Latency::EndToEnd, class).ok()?;
                BlockMisses::from_latencies(&values, f64::MAX).ok()
            })
            .collect();
        if allowed <= 0.0 {
            return self.no_error_at_all(finding, &misses);
        }
        if allowed >= 1.0 {
            finding.ruling = Ruling::Pass;
            finding.explanation = "any share of requests may fail".into();
            return Judged { finding, beyond: None };
        }
        let mut judged = self.share(
            finding,
            &misses,
            1.0 - allowed,
            &Wording { before: String::new(), noun: "requests", did: "failed".to_owned() },
        );
        judged.finding.observed = judged.finding.judged.map(|judged| judged.estimate);
        judged
    }

    /// "None may fail" is refuted by one failure and proven by no number of requests.
    fn no_error_at_all(self, mut finding: Finding, misses: &[Option<BlockMisses>]) -> Judged<'a> {
        let failed: u64 = misses.iter().flatten().map(|block| block.misses).sum();
        let requests: u64 = misses.iter().flatten().map(|block| block.requests).sum();
        finding.sample.count = requests;
        finding.sample.blocks = misses.iter().flatten().count() as u32;
        if failed > 0 {
            finding.observed = Some(failed as f64 / requests as f64);
            finding.explanation = format!("{failed} of {requests} requests failed, none may");
            return Judged { finding, beyond: Some(Box::new(|_| true)) };
        }
        finding.explanation = format!(
            "none of {requests} requests failed, but no number of requests proves that none ever \
             will"
        );
        finding
            .missing
            .push(self.case.declare("a share of failing requests above zero", "error_rate: 0.1 %"));
        Judged { finding, beyond: None }
    }

    /// Error level of one bound. Whoever adds a run and judges again has looked once more, and each
    /// look is a chance to pass wrongly: the looks share the error between them
    /// (`docs/statistics.md`, «Looking more than once»).
    fn alpha(self) -> f64 {
        let looks = Pool::run_ids(self.members).len().max(1);
        stats::LookPlan { first_blocks: 1, step_blocks: 1, last_blocks: looks }
            .alpha_per_look(ALPHA)
    }

    /// Bounds the share of misses and rules, all but FAIL, which waits for the other objectives.
    pub(super) fn share(
        self,
        mut finding: Finding,
        misses: &[Option<BlockMisses>],
        quantile: f64,
        what: &Wording,
    ) -> Judged<'a> {
        let phases = Phases::new(self.case, self.condition, self.members);
        let ways = phases.strata(misses);
        let mut worst: Option<ShareDecision> = None;
        for strata in &ways {
            match stats::decide_share(strata, quantile, self.alpha()) {
                Ok(decided) => {
                    if worst.as_ref().is_none_or(|than| is_worse(&decided, than)) {
                        worst = Some(decided);
                    }
                }
                Err(refusal) => {
                    finding.explanation = format!("no bound can be given: {refusal}");
                    let missing = phases.obstacle.map(|(_, missing)| missing);
                    finding.missing.push(missing.unwrap_or_else(|| {
                        self.case.measure(
                            "a,c",
                            "blocks with requests".into(),
                            Some(6.0 * self.case.pair_minutes()),
                        )
                    }));
                    return Judged { finding, beyond: None };
                }
            }
        }
        if let Some(decided) = worst {
            self.rule(&mut finding, &phases, decided, quantile, what);
        }
        let beyond = move |level: f64| is_beyond(&ways, quantile, level);
        Judged { finding, beyond: Some(Box::new(beyond)) }
    }

    fn rule(
        self,
        finding: &mut Finding,
        phases: &Phases,
        decided: ShareDecision,
        quantile: f64,
        what: &Wording,
    ) {
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
        finding.explanation = explain(bounds, quantile, what);
        if decided.decision == Decision::Fail {
            return;
        }
        if let Some((why, missing)) = &phases.obstacle {
            finding.explanation = format!("{why}; {}", finding.explanation);
            finding.missing.push(missing.clone());
            return;
        }
        match decided.decision {
            Decision::Pass => {
                finding.ruling = Ruling::Pass;
                finding.blind_spot = Some(format!(
                    "a phase in fewer than {} of blocks would probably have gone unseen ({}, 95 %)",
                    Percent(stats::unseen_phase(bounds.blocks, 1.0 - ALPHA)),
                    count(bounds.blocks, "block")
                ));
            }
            Decision::Fail => {}
            Decision::Undecided(need) => {
                for obstacle in &need.obstacles {
                    finding.explanation = format!("{obstacle}; {}", finding.explanation);
                }
                let what = match need.further_blocks {
                    Some(blocks) => {
                        format!("about {} like these", count(blocks, "more pair") + " of blocks")
                    }
                    None => {
                        "a larger distance between the share of misses and what is allowed: no \
                             number of blocks is likely to decide"
                            .to_owned()
                    }
                };
                let minutes =
                    need.further_blocks.map(|blocks| blocks as f64 * self.case.pair_minutes());
                finding.missing.push(self.case.measure("a,c", what, minutes));
            }
        }
    }

    /// Finished work over time, as a mean over blocks.
    fn throughput(self, class: Option<u16>, least: &RatePerSecond) -> Judged<'a> {
        let tokens = least.is_tokens();
        let mut finding = self.begun(class, "throughput");
        finding.target = Some(Target {
            metric: "throughput".into(),
            value: least.per_second,
            unit: if tokens { Unit::TokensPerSecond } else { Unit::RequestsPerSecond },
            misses_allowed: None,
        });
        if !tokens && !least.is_requests() {
            finding.explanation =
                format!("nothing counts `{}` of inference, so it was not seen", least.unit);
            finding.missing.push(
                self.case.declare("a throughput in requests or tokens", "throughput: 12 req/s"),
            );
            return Judged { finding, beyond: None };
        }
        let values: Option<Vec<f64>> = self
            .members
            .iter()
            .map(|member| series::finished_per_s(member.block, class, tokens))
            .collect();
        let Some(values) = values else {
            finding.explanation = "a block has no judged time, so it has no throughput".into();
            finding.missing.push(self.case.measure("a,c", "blocks that are judged".into(), None));
            return Judged { finding, beyond: None };
        };
        let phases = Phases::new(self.case, self.condition, self.members);
        let ways = phases.means(&values);
        let unit = if tokens { "tok/s" } else { "req/s" };
        let limit = least.per_second;
        let aim = means::Aim { limit, side: stats::Side::AtLeast, tests: "a,c" };
        means::decide(self.case, &mut finding, &ways, phases.obstacle.as_ref(), aim, |value| {
            format!("{value:.2} {unit}")
        });
        // What was never asked for cannot be served: too little load is no fault of the sharing.
        let asked: Vec<f64> =
            self.members.iter().filter_map(|m| series::asked_per_s(m.block, class)).collect();
        let asked = series::mean(&asked).unwrap_or(0.0);
        let served_all = {
            let served: Vec<f64> = self
                .members
                .iter()
                .filter_map(|m| series::finished_per_s(m.block, class, false))
                .collect();
            series::mean(&served).unwrap_or(0.0) >= 0.98 * asked
        };
        let asked_enough = if tokens { !served_all } else { asked >= limit };
        if !asked_enough && finding.ruling == Ruling::NotProven {
            finding.explanation =
                format!("only {asked:.2} req/s were asked for; {}", finding.explanation);
            finding.missing = vec![self.case.at_declared_load()];
            return Judged { finding, beyond: None };
        }
        let beyond = move |level: f64| means::is_beyond(&ways, limit, stats::Side::AtLeast, level);
        Judged { finding, beyond: Some(Box::new(beyond)) }
    }

    /// Requests that wait in the engine, from its own metrics, for 95 % of the time.
    fn queue_length(self, class: Option<u16>, most: u32) -> Judged<'a> {
        let mut finding = self.begun(class, "queue_length");
        finding.target = Some(Target {
            metric: "queue_length".into(),
            value: f64::from(most),
            unit: Unit::Count,
            misses_allowed: Some(ALPHA),
        });
        if class.is_some() {
            finding.explanation =
                "the engine counts waiting requests of all classes together".into();
            finding.missing.push(self.case.declare(
                "the objective for the whole workload",
                &format!("objectives: {{ queue_length: {most} }}"),
            ));
            return Judged { finding, beyond: None };
        }
        let counts: Vec<Vec<f64>> = self
            .members
            .iter()
            .map(|member| {
                let block = member.block;
                let judged = block.judged_from_ns..block.judged_until_ns;
                let waiting = block.engine_waiting.iter();
                waiting.filter(|(at, _)| judged.contains(at)).map(|(_, count)| *count).collect()
            })
            .collect();
        if counts.iter().any(Vec::is_empty) {
            finding.explanation =
                "the engine's own count of waiting requests was not seen in every block".into();
            finding
                .missing
                .push(self.case.declare("the engine's metrics", "metrics: http://…/metrics"));
            return Judged { finding, beyond: None };
        }
        let all: Vec<f64> = counts.iter().flatten().copied().collect();
        finding.observed = stats::quantile(&all, 1.0 - ALPHA).ok();
        let misses: Vec<Option<BlockMisses>> = counts
            .iter()
            .map(|counts| BlockMisses::from_latencies(counts, f64::from(most)).ok())
            .collect();
        let did = format!("found more than {most} waiting");
        let what = Wording { before: String::new(), noun: "readings of the queue", did };
        self.share(finding, &misses, 1.0 - ALPHA, &what)
    }
}

/// How the misses of an objective are told: "5 % of 320 requests took longer than 500 ms".
pub(super) struct Wording {
    /// What comes first, with its separator.
    pub(super) before: String,
    /// What is counted.
    pub(super) noun: &'static str,
    /// What those that miss did.
    pub(super) did: String,
}

/// A finding, and what would make it fail.
pub(super) struct Judged<'a> {
    pub(super) finding: Finding,
    pub(super) beyond: Option<Box<dyn Fn(f64) -> bool + 'a>>,
}

pub(crate) fn latency_of(metric: LatencyMetric) -> series::Latency {
    match metric {
        LatencyMetric::Ttft => series::Latency::TimeToFirstToken,
        LatencyMetric::Itl => series::Latency::InterToken,
        LatencyMetric::Tpot => series::Latency::TimePerOutputToken,
        LatencyMetric::E2e => series::Latency::EndToEnd,
    }
}

fn no_series(case: &Case<'_>, why: NoSeries, finding: &mut Finding) {
    match why {
        NoSeries::SeveralTokensPerChunk => {
            finding.explanation =
                "the server sends several tokens in a chunk, so the gaps between \
                                   chunks are no inter-token latencies, and none are invented"
                    .into();
            finding
                .missing
                .push(case.declare("an objective that can be seen", "objectives: { tpot_p95: … }"));
        }
        NoSeries::GapsNotRead => {
            finding.explanation =
                "the gaps between the tokens of some answers are not in the evidence".into();
            finding.missing.push(case.measure(
                "a,c",
                "gaps between tokens".into(),
                Some(6.0 * case.pair_minutes()),
            ));
        }
    }
}

/// Whether one way of weighting says less for a pass than another.
fn is_worse(one: &ShareDecision, than: &ShareDecision) -> bool {
    let rank = |decided: &ShareDecision| match decided.decision {
        Decision::Pass => 0,
        // FAIL takes all ways of weighting, so a way that is undecided decides.
        Decision::Fail => 1,
        Decision::Undecided(_) => 2,
    };
    rank(one) > rank(than) || (rank(one) == rank(than) && one.bounds.upper > than.bounds.upper)
}

/// Whether the share of misses is above what is allowed at level 1 − `alpha`, in every way of
/// weighting.
pub(super) fn is_beyond(ways: &[Vec<Stratum>], quantile: f64, alpha: f64) -> bool {
    !ways.is_empty()
        && ways.iter().all(|strata| {
            stats::bound_misses(strata, alpha)
                .is_ok_and(|bounds| bounds.lower > 1.0 - quantile + 1e-12)
        })
}

fn per_cent(quantile: f64) -> f64 {
    (quantile * 1000.0).round() / 10.0
}

/// What can be said of values too few for a quantile.
fn few(values: &[f64]) -> String {
    match (series::mean(values), values.iter().copied().reduce(f64::max)) {
        (Some(mean), Some(longest)) => format!(
            "{} took {} on average and {} at most; ",
            count(values.len(), "request"),
            Seconds(mean),
            Seconds(longest)
        ),
        _ => String::new(),
    }
}

fn explain(bounds: &ShareBounds, quantile: f64, what: &Wording) -> String {
    let Wording { before, noun, did } = what;
    // Neighbouring requests share their weather; where they hardly do, it goes without saying.
    let worth = if bounds.effective_requests < 0.95 * bounds.requests as f64 {
        format!(", worth {:.0} independent ones", bounds.effective_requests.floor())
    } else {
        String::new()
    };
    format!(
        "{before}{} of {} {noun} {did} ({}{worth}); in the long run {} to {} do ({} each), {} \
         may",
        Percent(bounds.estimate),
        bounds.requests,
        count(bounds.blocks, "block"),
        Percent(bounds.lower),
        Percent(bounds.upper),
        Percent(1.0 - bounds.alpha),
        Percent(1.0 - quantile)
    )
}
