//! What a set of blocks says about requests and steps.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use cotenant_core::evidence::{Block, RequestRecord, StepRecord};
use cotenant_core::stats;

use super::ordered::{GapCounter, Ordered};
use super::pool::{Placed, Pool};
use crate::model::SeriesKind;

/// One kind of request that is shown apart: results of different workloads or classes are never
/// averaged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stream {
    pub(super) workload: String,
    pub(super) class: u16,
}

/// One stream with what was seen of it under each condition that holds requests.
#[derive(Clone, Debug)]
pub(super) struct StreamSample {
    pub(super) stream: Stream,
    alone: Latencies,
    together: Latencies,
    with_remedy: Latencies,
}

impl StreamSample {
    /// What was seen under a condition; in B there are no requests, so it is A's.
    pub(super) fn of(&self, kind: SeriesKind) -> &Latencies {
        match kind {
            SeriesKind::InferenceAlone | SeriesKind::TrainingAlone => &self.alone,
            SeriesKind::Together => &self.together,
            SeriesKind::WithRemedy => &self.with_remedy,
        }
    }

    /// The conditions under which some request was judged, in order.
    pub(super) fn seen(&self) -> Vec<(SeriesKind, &Latencies)> {
        [SeriesKind::InferenceAlone, SeriesKind::Together, SeriesKind::WithRemedy]
            .into_iter()
            .map(|kind| (kind, self.of(kind)))
            .filter(|(_, sample)| sample.requests > 0)
            .collect()
    }
}

/// Every stream that appears in the blocks, gathered once. Where there is none, one stream of
/// `workload` of which nothing was seen, so that the report can say so.
pub(super) fn stream_samples(pool: &Pool<'_>, workload: &str) -> Vec<StreamSample> {
    let mut found = BTreeSet::new();
    for placed in &pool.blocks {
        for request in &placed.block.requests {
            found.insert((placed.run.inference.as_str(), request.class));
        }
    }
    if found.is_empty() {
        found.insert((workload, 0));
    }
    found
        .into_iter()
        .map(|(workload, class)| {
            let stream = Stream { workload: workload.to_owned(), class };
            StreamSample {
                alone: Latencies::gather(&pool.of(SeriesKind::InferenceAlone), &stream),
                together: Latencies::gather(&pool.of(SeriesKind::Together), &stream),
                with_remedy: Latencies::gather(&pool.of(SeriesKind::WithRemedy), &stream),
                stream,
            }
        })
        .collect()
}

/// Latencies and outcomes of the judged requests of one stream in a set of blocks. Latencies are in
/// seconds and in order; a request that did not complete counts as +∞.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    pub(super) blocks: usize,
    pub(super) requests: u64,
    pub(super) failed: BTreeMap<&'static str, u64>,
    pub(super) ttft_s: Ordered,
    pub(super) e2e_s: Ordered,
    pub(super) tpot_s: Ordered,
    /// Gaps between chunks, seconds, pooled over requests.
    pub(super) gaps_s: Ordered,
    /// Whether every gap is the time of one token.
    pub(super) single_token: bool,
    /// Longest gap of each request that has one, seconds.
    pub(super) longest_gap_s: Ordered,
    pub(super) stalls: u64,
    pub(super) stalled_s: f64,
    pub(super) requests_with_stall: u64,
    pub(super) output_tokens: u64,
    /// Sum of the judged intervals, seconds.
    pub(super) judged_s: f64,
}

impl Latencies {
    /// Gathers one stream from a set of blocks.
    pub(super) fn gather(blocks: &[&Placed<'_>], stream: &Stream) -> Self {
        let mut sample = Self { single_token: true, ..Self::default() };
        let mut lists = Lists::default();
        for placed in blocks.iter().filter(|placed| placed.run.inference == stream.workload) {
            sample.add_block(placed.block, stream.class, &mut lists);
        }
        sample.ttft_s = Ordered::of(lists.ttft_s);
        sample.e2e_s = Ordered::of(lists.e2e_s);
        sample.tpot_s = Ordered::of(lists.tpot_s);
        sample.longest_gap_s = Ordered::of(lists.longest_gap_s);
        sample.gaps_s = lists.gaps.ordered();
        sample
    }

    fn add_block(&mut self, block: &Block, class: u16, lists: &mut Lists) {
        let mut judged = HashSet::new();
        let before = self.requests;
        for request in block.judged_requests().filter(|request| request.class == class) {
            if !block.gaps.is_empty() {
                judged.insert(request.index);
            }
            self.add_request(request);
            lists.add(request);
        }
        if self.requests > before {
            self.blocks += 1;
            self.judged_s += block.judged_s();
        }
        for gaps in block.gaps.iter().filter(|gaps| judged.contains(&gaps.request)) {
            self.single_token &= gaps.single_token;
            lists.gaps.add(&gaps.gaps_us);
        }
    }

    fn add_request(&mut self, request: &RequestRecord) {
        self.requests += 1;
        if !request.outcome.is_complete() {
            *self.failed.entry(request.outcome.name()).or_default() += 1;
        }
        self.stalls += u64::from(request.stalls);
        self.requests_with_stall += u64::from(request.stalls > 0);
        self.stalled_s += request.stalled_ns as f64 / 1e9;
        if request.outcome.is_complete() {
            self.output_tokens += u64::from(request.output_tokens);
        }
    }

    /// Requests that did not complete.
    pub(super) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// Values as they come, before they are in order.
#[derive(Debug, Default)]
struct Lists {
    ttft_s: Vec<f64>,
    e2e_s: Vec<f64>,
    tpot_s: Vec<f64>,
    longest_gap_s: Vec<f64>,
    gaps: GapCounter,
}

impl Lists {
    fn add(&mut self, request: &RequestRecord) {
        self.ttft_s.push(request.ttft_s());
        self.e2e_s.push(request.e2e_s());
        self.tpot_s.extend(request.tpot_s());
        self.longest_gap_s.extend(request.gap_longest_ns.map(|gap| gap as f64 / 1e9));
    }
}

/// Training steps of a set of blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) blocks: usize,
    /// Durations of the judged steps, seconds, sorted.
    pub(super) durations_s: Vec<f64>,
    pub(super) tokens: Option<u64>,
    /// Sum of the judged intervals, seconds.
    pub(super) judged_s: f64,
    /// Durations of the checkpoints, seconds.
    pub(super) checkpoints_s: Vec<f64>,
}

impl Steps {
    /// Gathers the judged steps of a set of blocks.
    pub(super) fn gather(blocks: &[&Placed<'_>]) -> Self {
        let mut sample = Self::default();
        for placed in blocks {
            let block = placed.block;
            let durations = durations_s(block);
            if durations.is_empty() {
                continue;
            }
            sample.blocks += 1;
            sample.judged_s += block.judged_s();
            sample.durations_s.extend(durations);
            let tokens: Option<u64> = block.judged_steps().map(|step| step.tokens).sum();
            if let Some(tokens) = tokens {
                sample.tokens = Some(sample.tokens.unwrap_or(0) + tokens);
            }
            sample
                .checkpoints_s
                .extend(block.checkpoints.iter().map(|checkpoint| checkpoint.duration_s));
        }
        sample.durations_s.sort_unstable_by(f64::total_cmp);
        sample
    }

    /// Mean step time, seconds.
    pub(super) fn mean_s(&self) -> Option<f64> {
        mean(&self.durations_s)
    }
}

/// Durations of a block's judged steps, in order: what the trainer printed, else the time between
/// the lines of two consecutive steps.
pub(super) fn durations_s(block: &Block) -> Vec<f64> {
    let judged =
        |step: &StepRecord| (block.judged_from_ns..block.judged_until_ns).contains(&step.at_ns);
    let mut previous: Option<&StepRecord> = None;
    let mut durations = Vec::new();
    for step in &block.steps {
        let between = previous
            .filter(|previous| previous.step + 1 == step.step)
            .map(|previous| step.at_ns.saturating_sub(previous.at_ns) as f64 / 1e9);
        if judged(step) {
            durations.extend(step.duration_s.or(between));
        }
        previous = Some(step);
    }
    durations
}

/// Arithmetic mean; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The ⌈qn⌉-th order statistic of a sorted sample; `None` of nothing.
pub(super) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    stats::quantile_sorted(sorted, q).ok()
}

/// How many independent observations a one-sided 95 % upper bound of the q-quantile needs.
pub(super) fn needed_for_bound(q: f64) -> u64 {
    stats::sample_size_min(q, 0.05).unwrap_or(u64::MAX)
}

/// Whether the sample is so small that its q-quantile is just its largest value.
pub(super) fn is_largest(q: f64, n: usize) -> bool {
    n == 0 || ((1.0 - q) * n as f64) < 1.0 - 1e-9
}
