//! What came of a simulation, gathered while it runs.

use super::engine::{PassRun, RefusalReason, SimRequest, Tokens, Watcher};
use super::histogram::Histogram;
use crate::stats::{Trend, mann_kendall, mser5};
use crate::units::Picoseconds;

/// Spans of time in which arrivals and ends are counted; twice as many at most.
const SPANS: usize = 64;

/// Latencies, counts and use of one or several replicas. Needs the same memory whatever is counted.
///
/// Requests that arrive before `measured_from` are served and not counted in the latencies: the
/// warm-up. Times between tokens are counted by the moment at which their passes begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// From when on arrivals are measured.
    pub measured_from: Picoseconds,
    /// From arrival to first token.
    pub ttft: Histogram,
    /// Between two tokens of a request.
    pub itl: Histogram,
    /// From arrival to last token.
    pub e2e: Histogram,
    /// From arrival to the first pass that it is in.
    pub queue: Histogram,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that were served whole.
    pub finished: u64,
    /// Requests refused since the KV cache is too small for them.
    pub refused_too_long: u64,
    /// Requests refused since too many ran and waited.
    pub refused_queue_full: u64,
    /// Requests refused since the replica took no more.
    pub refused_draining: u64,
    /// Tokens given to requests that were served whole.
    pub output_tokens: u64,
    /// Prompt tokens computed, those computed again included.
    pub prefill_tokens: u64,
    /// KV tokens thrown away by preemption, to be computed again.
    pub lost_tokens: u64,
    /// How often a request was preempted.
    pub preemptions: u64,
    /// Requests that were preempted again and again with less than a block of tokens in between.
    pub livelocks: u64,
    /// The first of them, and when it was noticed.
    pub first_livelock: Option<(u64, Picoseconds)>,
    /// Passes of all replicas.
    pub passes: u64,
    /// Batches simulated as one: runs of passes without a change.
    pub runs: u64,
    /// Time in passes, summed over replicas, picoseconds.
    pub busy: u128,
    /// Decoding sequences times the time of their passes, picoseconds.
    pub decoding: u128,
    /// Most blocks of one replica's KV cache in use.
    pub kv_blocks_used_max: u64,
    /// The end of the last pass.
    pub until: Picoseconds,
    /// How many requests were in the system over time.
    pub backlog: Backlog,
}

impl Outcome {
    /// One that measures arrivals from a moment on.
    pub fn new(measured_from: Picoseconds) -> Self {
        Self { measured_from, ..Self::default() }
    }

    /// Share of the time until the last pass ended in which passes ran, over so many replicas. A
    /// replica is busy with one sequence as with many: how much more it could take is what
    /// [`super::LoadMargin`] says.
    pub fn busy_share(&self, replicas: u64) -> Option<f64> {
        let all = u128::from(self.until.0) * u128::from(replicas);
        (all > 0).then(|| self.busy as f64 / all as f64)
    }

    /// Mean number of decoding sequences in a pass, weighted by time. `None` without a pass.
    pub fn batch_mean(&self) -> Option<f64> {
        (self.busy > 0).then(|| self.decoding as f64 / self.busy as f64)
    }

    /// Requests that arrived and neither ended nor were refused.
    pub fn unfinished(&self) -> u64 {
        self.arrived - self.finished - self.refused()
    }

    /// Requests that were refused, whatever the reason.
    pub fn refused(&self) -> u64 {
        self.refused_too_long + self.refused_queue_full + self.refused_draining
    }

    /// Share of the KV tokens computed that preemption threw away.
    pub fn lost_share(&self) -> Option<f64> {
        let computed = self.prefill_tokens + self.output_tokens;
        (computed > 0).then(|| self.lost_tokens as f64 / computed as f64)
    }

    fn is_measured(&self, request: &SimRequest) -> bool {
        request.at >= self.measured_from
    }
}

impl Watcher for Outcome {
    fn arrived(&mut self, request: &SimRequest) {
        self.arrived += 1;
        self.backlog.count(request.at, 1);
    }

    fn admitted(&mut self, request: &SimRequest, at: Picoseconds) {
        if self.is_measured(request) {
            self.queue.add(at - request.at, 1);
        }
    }

    fn first_token(&mut self, request: &SimRequest, at: Picoseconds) {
        if self.is_measured(request) {
            self.ttft.add(at - request.at, 1);
        }
    }

    fn passes(&mut self, run: &PassRun) {
        self.passes += run.passes;
        self.runs += 1;
        let took = u128::from((run.until - run.from).0);
        self.busy += took;
        self.decoding += took * u128::from(run.sequences);
        self.prefill_tokens += run.prefill_tokens;
        self.kv_blocks_used_max = self.kv_blocks_used_max.max(run.kv_blocks_used);
        self.until = self.until.max(run.until);
        if run.from < self.measured_from || run.sequences == 0 {
            return;
        }
        if run.waited == Picoseconds::ZERO {
            self.itl.add_series(run.first, run.growth, run.passes, run.sequences);
        } else {
            self.itl.add(run.first + run.waited, run.sequences);
            let second = run.first + run.growth;
            self.itl.add_series(second, run.growth, run.passes - 1, run.sequences);
        }
    }

    fn late_token(&mut self, request: &SimRequest, tokens: Tokens, at: Picoseconds) {
        if self.is_measured(request) {
            self.itl.add(at - tokens.last_at, 1);
        }
    }

    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        self.finished += 1;
        self.output_tokens += u64::from(request.output_tokens);
        self.backlog.count(tokens.last_at, -1);
        if self.is_measured(request) {
            self.e2e.add(tokens.last_at - request.at, 1);
        }
    }

    fn preempted(&mut self, _: &SimRequest, _: Picoseconds, lost_tokens: u64) {
        self.preemptions += 1;
        self.lost_tokens += lost_tokens;
    }

    fn livelock(&mut self, request: &SimRequest, at: Picoseconds, _: u32) {
        self.livelocks += 1;
        self.first_livelock.get_or_insert((request.id, at));
    }

    fn refused(&mut self, _: &SimRequest, at: Picoseconds, reason: RefusalReason) {
        self.backlog.count(at, -1);
        *match reason {
            RefusalReason::TooLong => &mut self.refused_too_long,
            RefusalReason::QueueFull => &mut self.refused_queue_full,
            RefusalReason::Draining => &mut self.refused_draining,
        } += 1;
    }
}

/// How many requests are in the system at the end of each of some equal spans of time. The spans
/// double as time goes on, so their number stays bounded, and the order in which moments are
/// counted does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Length of a span, less than which nothing is told apart; 0 before anything is counted.
    span: Picoseconds,
    changes: Vec<i64>,
    last_arrival: Picoseconds,
}

impl Backlog {
    fn count(&mut self, at: Picoseconds, change: i64) {
        if self.span == Picoseconds::ZERO {
            self.span = Picoseconds(1_000_000_000);
        }
        if change > 0 {
            self.last_arrival = self.last_arrival.max(at);
        }
        while at.0 / self.span.0 >= 2 * SPANS as u64 {
            self.span = self.span * 2;
            self.changes = self.changes.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let index = (at.0 / self.span.0) as usize;
        if self.changes.len() <= index {
            self.changes.resize(index + 1, 0);
        }
        self.changes[index] += change;
    }

    /// Length of a span.
    pub fn span(&self) -> Picoseconds {
        self.span
    }

    /// Requests in the system at the end of each span in which requests still arrived, the last one
    /// left out where it is not over.
    pub fn levels(&self) -> Vec<f64> {
        let whole = self.last_arrival.0.checked_div(self.span.0).unwrap_or(0) as usize;
        let mut level = 0;
        let levels = self.changes.iter().take(whole).map(|change| {
            level += change;
            level as f64
        });
        levels.collect()
    }

    /// Whether the backlog drifts: the trend of its levels, in requests for each span. `None` with
    /// fewer than ten spans.
    pub fn drift(&self) -> Option<Trend> {
        mann_kendall(&self.levels()).ok()
    }

    /// When the backlog was steady for the first time, by MSER-5 on its levels: what arrives before
    /// is warm-up, for `measured_from` of the run that is reported. `None` with fewer than twenty
    /// spans, and where half of them are not enough: such a load is not steady, or ran too shortly.
    pub fn warm_up(&self) -> Option<Picoseconds> {
        let truncation = mser5(&self.levels()).ok()?;
        (!truncation.at_limit).then(|| self.span * truncation.drop as u64)
    }
}
