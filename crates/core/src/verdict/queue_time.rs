//! The objective of the queue's time, from the engine's own histogram.
//!
//! No client sees how long a request waits inside of an engine, and a histogram says of each wait
//! only in which bucket it lies. So each block gives two numbers of misses: those above the first
//! bound at or beyond the target surely miss, those above the last bound at or before it may. A PASS
//! takes the larger number, a FAIL the smaller one; what lies between them no further block decides.

use std::time::Duration;

use crate::evidence::{Block, EngineHistogram};
use crate::stats::{self, ALPHA, BlockMisses, Stratum};
use crate::units::format_duration;

use super::findings::{Percent, Seconds};
use super::inference::count;
use super::objectives::{Judged, Look, Wording, is_beyond};
use super::phases::Phases;
use super::series::{self, Latency};
use super::{Finding, Missing, Target, Unit};

/// The canonical name of the histogram.
const METRIC: &str = "queue_time_s";
/// The quantile that the objective is about, as for the queue's length.
const QUANTILE: f64 = 1.0 - ALPHA;
/// Least share of the judged interval that the engine's account must cover.
const COVERED_MIN: f64 = 0.9;
/// A request that ends so near to a scrape may be on either side of it, nanoseconds.
const EDGE_NS: u64 = 250_000_000;

/// What one block says of waits against the target.
struct Waits {
    /// Surely above it.
    least: BlockMisses,
    /// Possibly above it.
    most: BlockMisses,
    /// Requests of which the engine's histogram says nothing, among those possibly above.
    unseen: u64,
}

impl<'a> Look<'a> {
    /// The time that requests wait in the engine, for 95 % of them.
    pub(super) fn queue_time(self, class: Option<u16>, target: Duration) -> Judged<'a> {
        let target_s = target.as_secs_f64();
        let mut finding = self.begun(class, "queue_time");
        finding.target = Some(Target {
            metric: "queue_time".into(),
            value: target_s,
            unit: Unit::Seconds,
            misses_allowed: Some(ALPHA),
        });
        if class.is_some() {
            finding.explanation = "the engine counts waits of all classes together".into();
            finding.missing.push(self.case.declare(
                "the objective for the whole workload",
                &format!("objectives: {{ queue_time: {} }}", format_duration(target)),
            ));
            return Judged { finding, beyond: None };
        }
        let (pooled, waits) = match self.waits(target_s) {
            Ok(seen) => seen,
            Err((why, missing)) => {
                finding.explanation = why;
                finding.missing.push(missing);
                return Judged { finding, beyond: None };
            }
        };
        let told = told(&pooled, &waits);
        let least: Vec<_> = waits.iter().map(|block| Some(block.least)).collect();
        let most: Vec<_> = waits.iter().map(|block| Some(block.most)).collect();
        let phases = Phases::new(self.case, self.condition, self.members);
        let (ways_least, ways_most) = (phases.strata(&least), phases.strata(&most));
        let allowed = 1.0 - QUANTILE;
        let did = |how: &str| format!("{how} waited longer than {}", Seconds(target_s));
        let wording = |how: &str| Wording { before: told.clone(), noun: "requests", did: did(how) };
        let mut judged = if estimate(&ways_most) <= allowed {
            let how = if least == most { "have" } else { "may have" };
            self.share(finding, &most, QUANTILE, &wording(how))
        } else if estimate(&ways_least) > allowed {
            self.share(finding, &least, QUANTILE, &wording("surely have"))
        } else {
            self.too_coarse(&mut finding, &pooled, &waits, target_s, &told);
            return Judged { finding, beyond: None };
        };
        let beyond = move |level: f64| is_beyond(&ways_least, QUANTILE, level);
        judged.beyond = judged.beyond.is_some().then(|| Box::new(beyond) as Box<_>);
        judged
    }

    /// Each block's waits, and all of them together; or what is missing.
    fn waits(self, target_s: f64) -> Result<(EngineHistogram, Vec<Waits>), (String, Missing)> {
        let mut pooled: Option<EngineHistogram> = None;
        let mut waits = Vec::new();
        let (mut silent, mut lacking) = (0, 0);
        for member in self.members {
            let block = member.block;
            let engine = block.observed.engine.as_ref().filter(|engine| {
                let covered = engine.covered_share(block.judged_from_ns, block.judged_until_ns);
                covered >= COVERED_MIN
            });
            let Some(engine) = engine else {
                silent += 1;
                continue;
            };
            let Some(histogram) = engine.histogram(METRIC) else {
                lacking += 1;
                continue;
            };
            match &mut pooled {
                Some(pooled) => pooled.add(histogram),
                None => pooled = Some(histogram.clone()),
            }
            waits.extend(of_block(block, histogram, target_s));
        }
        let blocks = self.members.len();
        let ttft = || {
            self.case.declare(
                "an objective that holds the queue and can be seen: time to first token contains it",
                "objectives: { ttft_p95: … }",
            )
        };
        if silent > 0 {
            let why = format!(
                "the engine's own account of waits was not seen in {silent} of {}",
                count(blocks, "block")
            );
            let line = "metrics: http://…/metrics";
            return Err((why, self.case.declare("the engine's metrics", line)));
        }
        match pooled {
            Some(pooled) if lacking == 0 && waits.len() == blocks => Ok((pooled, waits)),
            _ => {
                let why = format!(
                    "the engine told no histogram of the time in its queue in {} of {}",
                    blocks - waits.len(),
                    count(blocks, "block")
                );
                Err((why, ttft()))
            }
        }
    }

    fn too_coarse(
        self,
        finding: &mut Finding,
        pooled: &EngineHistogram,
        waits: &[Waits],
        target_s: f64,
        told: &str,
    ) {
        let (least, most, requests) = waits.iter().fold((0, 0, 0), |sums, block| {
            (sums.0 + block.least.misses, sums.1 + block.most.misses, sums.2 + block.most.requests)
        });
        finding.sample.count = requests;
        finding.sample.blocks = waits.len() as u32;
        let share = |misses: u64| Percent(misses as f64 / requests.max(1) as f64);
        let (before, after) = pooled.buckets().around(target_s);
        let place = match (before, after) {
            (Some(before), Some(after)) => {
                format!("between the bounds {} and {}", Seconds(before), Seconds(after))
            }
            (None, Some(after)) => format!("below the first bound, {}", Seconds(after)),
            (Some(before), None) => format!("beyond the last bound, {}", Seconds(before)),
            (None, None) => "in a histogram without buckets".to_owned(),
        };
        finding.explanation = format!(
            "{told}too coarse: {} lies {place}, so that {} to {} of {requests} requests ({}) may have \
             waited longer and {} may; no number of blocks decides",
            Seconds(target_s),
            share(least),
            share(most),
            count(waits.len(), "block"),
            Percent(1.0 - QUANTILE)
        );
        let bounds: Vec<String> =
            [before, after].into_iter().flatten().map(|bound| Seconds(bound).to_string()).collect();
        finding.missing.push(match bounds.first() {
            Some(first) => self.case.declare(
                &format!("a target on a bound of the engine's buckets ({})", bounds.join(" or ")),
                &format!("objectives: {{ queue_time: {first} }}"),
            ),
            None => self.case.declare(
                "an objective that holds the queue and can be seen: time to first token contains it",
                "objectives: { ttft_p95: … }",
            ),
        });
    }
}

/// What one block says. `None` where neither engine nor client counted a request.
///
/// Requests without an answer and those that the client saw end but the engine's histogram lacks
/// (its process began anew, or it does not count them) may have waited for any time.
fn of_block(block: &Block, histogram: &EngineHistogram, target_s: f64) -> Option<Waits> {
    let (least, most) = histogram.buckets().above(target_s);
    let unanswered = block.judged_requests().filter(|r| !r.outcome.is_complete()).count() as u64;
    let unseen = unanswered + series::lost(block) as u64 + not_counted(block, histogram.count);
    let requests = whole(histogram.count) + unseen;
    if requests == 0 {
        return None;
    }
    // The order of waits is not in a histogram. Their correlation is taken from the times to first
    // token, which hold them.
    let latencies = series::latencies(block, Latency::TimeToFirstToken, None).unwrap_or_default();
    let autocorrelation = stats::autocorrelation(&latencies).unwrap_or(0.0);
    let misses = |misses: u64| BlockMisses { misses, requests, autocorrelation };
    Some(Waits { least: misses(whole(least)), most: misses(whole(most) + unseen), unseen })
}

/// Answers that surely ended between the two scrapes, beyond those that the engine counted.
fn not_counted(block: &Block, counted: f64) -> u64 {
    let Some(engine) = &block.observed.engine else { return 0 };
    let inside = engine.from_ns + EDGE_NS..engine.until_ns.saturating_sub(EDGE_NS);
    let ended = block
        .requests
        .iter()
        .filter(|request| request.outcome.is_complete() && inside.contains(&request.end_ns))
        .count();
    (ended as u64).saturating_sub(whole(counted))
}

fn whole(count: f64) -> u64 {
    count.max(0.0).round() as u64
}

/// The largest share of misses over the ways of weighting; 1 where nothing can be said.
fn estimate(ways: &[Vec<Stratum>]) -> f64 {
    let of_way = |strata: &Vec<Stratum>| {
        stats::bound_misses(strata, ALPHA).map_or(1.0, |bounds| bounds.estimate)
    };
    ways.iter().map(of_way).fold(0.0, f64::max)
}

/// "by the engine's histogram p95 is above 300 ms and at most 500 ms, mean 120 ms; ".
fn told(pooled: &EngineHistogram, waits: &[Waits]) -> String {
    let place = match pooled.quantile(QUANTILE) {
        Some(bounds) => match bounds.at_most_s {
            Some(at_most_s) if bounds.above_s <= 0.0 => {
                format!("p95 is at most {}", Seconds(at_most_s))
            }
            Some(at_most_s) => {
                format!(
                    "p95 is above {} and at most {}",
                    Seconds(bounds.above_s),
                    Seconds(at_most_s)
                )
            }
            None => format!("p95 is above {}", Seconds(bounds.above_s)),
        },
        None => "there is no wait".to_owned(),
    };
    let mean = pooled.mean().map_or(String::new(), |mean| format!(", mean {}", Seconds(mean)));
    let unseen: u64 = waits.iter().map(|block| block.unseen).sum();
    let unseen = if unseen == 0 {
        String::new()
    } else {
        format!("; {} without a wait there counts as a long one", count(unseen as usize, "request"))
    };
    format!("by the engine's histogram {place}{mean}{unseen}; ")
}
