//! What one block at one rate says.

use crate::evidence::Block;
use crate::site::{Inference, Workload};
use crate::stats::{ALPHA, BlockMisses};
use crate::verdict::{self, Latency, NoSeries};

/// One block of a search: inference alone at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The rate that was asked for, requests per second: the block's factor times the declared rate,
    /// not the count of one block, which strays by chance.
    pub rate_per_s: f64,
    /// Length of the judged interval, seconds.
    pub judged_s: f64,
    /// Judged requests.
    pub requests: u64,
    /// The objectives, in the order in which they are declared.
    pub objectives: Vec<SeenObjective>,
    /// How fast the queue grew, requests per second, where it did: then the rate is overload,
    /// whatever the latencies of so short a look.
    pub growth_per_s: Option<f64>,
    /// Requests in the engine, mean over the judged interval.
    pub in_flight: f64,
    /// Prompt tokens per second of the judged requests.
    pub prompt_tokens_per_s: f64,
    /// Output tokens per second of the judged requests that completed.
    pub output_tokens_per_s: f64,
    /// Mean share of the key-value cache in use, where the engine tells.
    pub kv_use_share: Option<f64>,
}

/// One objective in one look.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenObjective {
    /// The field's name in the site file, with its class where it belongs to one.
    pub name: String,
    /// The share of requests that must keep it: 0.95 for a p95, 1 − the allowed share for errors.
    pub quantile: f64,
    /// What missed it, or why that could not be seen. What was not seen proves nothing.
    pub misses: Result<BlockMisses, String>,
}

impl SeenObjective {
    /// The share of misses that is allowed.
    pub fn allowed(&self) -> f64 {
        // 1 − 0.95 is not 0.05 in binary; a billionth of a share decides nothing.
        ((1.0 - self.quantile) * 1e12).round() / 1e12
    }

    /// The share that missed, where it was seen and there was a request.
    pub fn share(&self) -> Option<f64> {
        let misses = self.misses.as_ref().ok()?;
        (misses.requests > 0).then(|| misses.misses as f64 / misses.requests as f64)
    }
}

impl Look {
    /// Whether the queue grew.
    pub fn is_overload(&self) -> bool {
        self.growth_per_s.is_some()
    }
}

/// Reads a look off a block that counts. `rate_per_s` is the rate that was asked for.
///
/// Objectives of throughput are no limit from above and are left out, as is what only an engine's
/// histogram of queue times could show.
pub fn look(workload: &Workload, inference: &Inference, block: &Block, rate_per_s: f64) -> Look {
    let judged_s = block.judged_s();
    let mut objectives = Vec::new();
    for (class, declared) in verdict::declared_classes(workload, inference) {
        let named = |name: &str| match class.and_then(|c| workload.classes.get(usize::from(c))) {
            Some(class) => format!("{name} ({})", class.name),
            None => name.to_owned(),
        };
        for objective in declared.latency() {
            let series = verdict::latencies(block, verdict::latency_of(objective.metric), class);
            objectives.push(SeenObjective {
                name: named(objective.name),
                quantile: objective.quantile,
                misses: counted(series, objective.target.as_secs_f64()),
            });
        }
        if let Some(allowed) = declared.error_rate.map(crate::units::Share::value)
            && (0.0..1.0).contains(&allowed)
        {
            let series = verdict::latencies(block, Latency::EndToEnd, class);
            objectives.push(SeenObjective {
                name: named("error_rate"),
                // No number of requests bounds a share at zero; one in a thousand stands for it.
                quantile: 1.0 - allowed.max(1e-3),
                misses: counted(series, f64::MAX),
            });
        }
        if let Some(most) = declared.queue_length.filter(|_| class.is_none()) {
            objectives.push(SeenObjective {
                name: "queue_length".into(),
                quantile: 1.0 - ALPHA,
                misses: waiting(block, most),
            });
        }
    }
    let per_s = |tokens: u64| if judged_s > 0.0 { tokens as f64 / judged_s } else { 0.0 };
    let in_flight: Vec<f64> =
        verdict::in_flight(block).into_iter().map(|(_, count)| count).collect();
    Look {
        rate_per_s,
        judged_s,
        requests: block.judged_requests().count() as u64,
        objectives,
        growth_per_s: verdict::growth(block).map(|growth| growth.per_s),
        in_flight: verdict::mean(&in_flight).unwrap_or(0.0),
        prompt_tokens_per_s: per_s(
            block.judged_requests().map(|request| u64::from(request.prompt_tokens)).sum(),
        ),
        output_tokens_per_s: per_s(
            block
                .judged_requests()
                .filter(|request| request.outcome.is_complete())
                .map(|request| u64::from(request.output_tokens))
                .sum(),
        ),
        kv_use_share: kv_use(block),
    }
}

fn counted(series: Result<Vec<f64>, NoSeries>, limit: f64) -> Result<BlockMisses, String> {
    let series = series.map_err(|why| match why {
        NoSeries::SeveralTokensPerChunk => {
            "the server sends several tokens in a chunk, so no gap between tokens was seen".into()
        }
        NoSeries::GapsNotRead => {
            "the gaps between the tokens of some answers are not in the evidence".to_owned()
        }
    })?;
    BlockMisses::from_latencies(&series, limit).map_err(|refusal| refusal.to_string())
}

fn waiting(block: &Block, most: u32) -> Result<BlockMisses, String> {
    let judged = block.judged_from_ns..block.judged_until_ns;
    let counts: Vec<f64> = block
        .engine_waiting
        .iter()
        .filter(|(at_ns, _)| judged.contains(at_ns))
        .map(|(_, count)| *count)
        .collect();
    if counts.is_empty() {
        return Err("the engine's own count of waiting requests was not seen".into());
    }
    BlockMisses::from_latencies(&counts, f64::from(most)).map_err(|refusal| refusal.to_string())
}

/// Mean of the engine's gauge of its cache in the judged interval.
fn kv_use(block: &Block) -> Option<f64> {
    let gauges = &block.observed.engine.as_ref()?.gauges;
    let gauge = gauges.iter().find(|gauge| gauge.metric == "kv_use_share")?;
    let judged = block.judged_from_ns..block.judged_until_ns;
    let readings: Vec<f64> = gauge
        .readings
        .iter()
        .filter(|(at_ns, _)| judged.contains(at_ns))
        .map(|(_, share)| *share)
        .collect();
    verdict::mean(&readings)
}
