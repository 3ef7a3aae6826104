//! From the demand that a site declares to the requests of each pair of blocks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cotenant_core::evidence::TestedLoad;
use cotenant_core::protocol::BlockShape;
use cotenant_core::site::{
    self, Demand, Inference, RequestClass, TokenCounts, TraceDemand, Workload,
};
use cotenant_core::units::Share;
use sha2::{Digest as _, Sha256};

use crate::load::{
    Arrivals, LengthDistribution, Lengths, LoadSpec, Schedule, ScheduleError, TraceWindow, schedule,
};
use crate::trace::{self, ReadOptions, TraceFormat};

use super::plan::Loads;

/// Most tokens of a drawn length, as a multiple of its 95th percentile: a log-normal tail has no
/// end, and one absurd prompt would decide a block.
const LENGTH_MAX_FACTOR: u32 = 4;

/// Why a declared demand makes no load.
#[derive(Debug, thiserror::Error)]
pub enum DemandError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] Box<trace::TraceError>),
    /// No schedule can be made.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The lengths are not declared.
    #[error(
        "`{0}` declares no token counts, and its demand has none: declare `prompt_tokens: {{ p50: \
         …, p95: … }}` and `output_tokens`"
    )]
    NoLengths(String),
    /// No rate to test at.
    #[error("`{0}` declares no rate to test at: declare `peak_rate`")]
    NoRate(String),
}

/// The load of each pair of blocks.
#[derive(Clone, Debug)]
pub struct DeclaredLoad {
    shape: BlockShape,
    seed: u64,
    parts: Vec<Part>,
}

/// The requests of one class.
#[derive(Clone, Debug)]
struct Part {
    class: u16,
    arrivals: Arrivals,
    lengths: Lengths,
}

impl DeclaredLoad {
    /// Prepares the load of a workload. Relative paths are taken from `folder`, the site file's.
    ///
    /// # Errors
    /// A trace that cannot be read, or a demand that says too little.
    pub fn new(
        workload: &Workload,
        inference: &Inference,
        folder: &Path,
        shape: BlockShape,
        seed: u64,
    ) -> Result<Self, DemandError> {
        let arrivals = arrivals(workload, inference, folder)?;
        let is_trace = matches!(arrivals, Arrivals::Trace { .. });
        if workload.classes.is_empty() || is_trace {
            let drawn = drawn(inference.prompt_tokens, inference.output_tokens);
            let lengths = if is_trace { Some(Lengths::FromTrace) } else { drawn };
            let lengths = lengths.ok_or_else(|| DemandError::NoLengths(workload.name.clone()))?;
            let parts = vec![Part { class: 0, arrivals, lengths }];
            return Ok(Self { shape, seed, parts });
        }
        let shares = shares(&workload.classes);
        let mut parts = Vec::new();
        for (index, (class, share)) in workload.classes.iter().zip(shares).enumerate() {
            let lengths = drawn(
                class.prompt_tokens.or(inference.prompt_tokens),
                class.output_tokens.or(inference.output_tokens),
            )
            .ok_or_else(|| DemandError::NoLengths(class.name.clone()))?;
            parts.push(Part { class: index as u16, arrivals: scaled(&arrivals, share), lengths });
        }
        Ok(Self { shape, seed, parts })
    }

    /// What the load is, with everything that makes it poolable with another: not the seed.
    pub fn description(&self) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|part| format!("{}, {}", part.arrivals.describe(), describe(part.lengths)))
            .collect();
        parts.join(" + ")
    }

    /// The load that `pairs` pairs of blocks are tested under.
    ///
    /// # Errors
    /// A trace too short for one block.
    pub fn tested(&self, pairs: u32) -> Result<TestedLoad, DemandError> {
        let mut digest = Sha256::new();
        let (mut prompts, mut outputs) = (Vec::new(), Vec::new());
        let judged = self.shape.warm_up..self.shape.warm_up + self.shape.judged;
        for pair in 0..pairs {
            let schedule = self.schedule_of(pair, self.shape.load())?;
            digest.update(schedule.digest());
            for request in schedule.requests.iter().filter(|r| judged.contains(&r.intended)) {
                prompts.push(request.prompt_tokens);
                outputs.push(request.output_tokens);
            }
        }
        prompts.sort_unstable();
        outputs.sort_unstable();
        let rank = |sorted: &[u32], q: f64| match sorted.len() {
            0 => 0,
            count => sorted[cotenant_core::stats::quantile_rank(q, count) - 1],
        };
        let judged_s = f64::from(pairs) * self.shape.judged.as_secs_f64();
        Ok(TestedLoad {
            description: self.description(),
            digest: format!("{:x}", HexDigest(&digest.finalize())),
            rate_per_s: prompts.len() as f64 / judged_s,
            prompt_tokens_p50: rank(&prompts, 0.5),
            prompt_tokens_p95: rank(&prompts, 0.95),
            output_tokens_p50: rank(&outputs, 0.5),
            output_tokens_p95: rank(&outputs, 0.95),
        })
    }

    /// The mean rate that is asked for, requests per second: of a trace that of its window, of a ramp
    /// that of its middle. `None` in a closed loop, whose rate follows from the answers.
    pub fn rate_per_s(&self) -> Option<f64> {
        self.parts.iter().map(|part| part.arrivals.rate_per_s()).sum()
    }

    /// The largest multiple of the declared rate at which a block of this shape can be replayed: a
    /// trace ends. `None` where nothing bounds it.
    pub fn factor_max(&self) -> Option<f64> {
        let of_part = |part: &Part| match &part.arrivals {
            Arrivals::Trace { trace, window, rate_factor } => {
                let available_s = window.bounds(trace).1.as_secs_f64();
                // A thousandth is left to rounding.
                Some(0.999 * available_s / rate_factor / self.shape.load().as_secs_f64())
            }
            _ => None,
        };
        self.parts.iter().filter_map(of_part).reduce(f64::min)
    }

    /// The requests of one pair of this shape at a multiple of the declared rate, with the same
    /// lengths.
    ///
    /// # Errors
    /// A trace too short for one block at that rate.
    pub fn schedule_at(&self, pair: u32, factor: f64) -> Result<Schedule, DemandError> {
        self.schedule_over(pair, self.shape.load(), factor)
    }

    /// The same over another length.
    ///
    /// # Errors
    /// A trace too short for it at that rate.
    pub fn schedule_over(
        &self,
        pair: u32,
        length: Duration,
        factor: f64,
    ) -> Result<Schedule, DemandError> {
        let parts = self
            .parts
            .iter()
            .map(|part| Part { arrivals: scaled(&part.arrivals, factor), ..part.clone() })
            .collect();
        Self { parts, ..self.clone() }.schedule_of(pair, length)
    }

    /// The requests of one pair over some length: each pair has arrivals of its own, and of a trace
    /// the next stretch.
    ///
    /// # Errors
    /// A trace too short for one block.
    pub fn schedule_of(&self, pair: u32, length: Duration) -> Result<Schedule, DemandError> {
        let parts = self
            .parts
            .iter()
            .map(|part| {
                let arrivals = stretch(&part.arrivals, pair, length);
                let seed = mix(self.seed, pair, part.class);
                let mut spec = LoadSpec::new(arrivals, part.lengths, length, seed);
                spec.class = part.class;
                schedule(&spec)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Schedule::merge(parts)?)
    }
}

impl Loads for DeclaredLoad {
    fn of_pair(&self, pair: u32) -> Result<Schedule, String> {
        self.schedule_of(pair, self.shape.load()).map_err(|error| error.to_string())
    }
}

struct HexDigest<'a>(&'a [u8]);

impl std::fmt::LowerHex for HexDigest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A seed for each pair and class (SplitMix64's finaliser).
fn mix(seed: u64, pair: u32, class: u16) -> u64 {
    let mut value =
        seed ^ (u64::from(pair) << 16 | u64::from(class)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Shares of classes that sum to one; a class without one gets an equal part of what is left.
fn shares(classes: &[RequestClass]) -> Vec<f64> {
    let declared: f64 = classes.iter().filter_map(|class| class.share).map(Share::value).sum();
    let silent = classes.iter().filter(|class| class.share.is_none()).count();
    let each = (1.0 - declared).max(0.0) / silent.max(1) as f64;
    let shares: Vec<f64> =
        classes.iter().map(|class| class.share.map_or(each, Share::value)).collect();
    let sum: f64 = shares.iter().sum();
    shares.into_iter().map(|share| share / sum).collect()
}

fn drawn(prompt: Option<TokenCounts>, output: Option<TokenCounts>) -> Option<Lengths> {
    let distribution = |counts: TokenCounts| {
        if counts.p50 == counts.p95 {
            LengthDistribution::Fixed(counts.p50)
        } else {
            LengthDistribution::LogNormal {
                p50: counts.p50,
                p95: counts.p95,
                min: 1,
                max: counts.p95.saturating_mul(LENGTH_MAX_FACTOR),
            }
        }
    };
    Some(Lengths::Drawn { prompt: distribution(prompt?), output: distribution(output?) })
}

fn describe(lengths: Lengths) -> String {
    let one = |distribution: LengthDistribution| match distribution {
        LengthDistribution::Fixed(tokens) => format!("{tokens} tokens"),
        LengthDistribution::LogNormal { p50, p95, .. } => {
            format!("log-normal p50 {p50} p95 {p95} tokens")
        }
    };
    match lengths {
        Lengths::FromTrace => "lengths of the trace".to_owned(),
        Lengths::Drawn { prompt, output } => {
            format!("prompts {}, answers {}", one(prompt), one(output))
        }
    }
}

fn arrivals(
    workload: &Workload,
    inference: &Inference,
    folder: &Path,
) -> Result<Arrivals, DemandError> {
    let peak = || {
        let rate = inference.peak_rate.as_ref();
        rate.map(|rate| Arrivals::Poisson { rate_per_s: rate.per_second })
    };
    let no_rate = || DemandError::NoRate(workload.name.clone());
    Ok(match &inference.demand {
        Demand::Trace(demand) => trace_arrivals(demand, folder)?,
        Demand::Poisson { rate } => Arrivals::Poisson { rate_per_s: rate.per_second },
        Demand::Gamma { rate, burstiness } => {
            Arrivals::Gamma { rate_per_s: rate.per_second, burstiness: *burstiness }
        }
        Demand::Constant { rate } => Arrivals::Constant { rate_per_s: rate.per_second },
        Demand::Ramp { from, to, .. } => {
            Arrivals::Ramp { from_per_s: from.per_second, to_per_s: to.per_second }
        }
        Demand::Closed { users, think_time } => Arrivals::ClosedLoop {
            users: *users,
            think: *think_time,
            // A closed loop has no end of its own: so many that none of the users runs out.
            requests: users.saturating_mul(10_000).min(1_000_000),
        },
        // What is tested is the peak: a table's own highest rate where no peak is declared.
        Demand::Table(rows) => peak()
            .or_else(|| {
                let highest = rows.iter().map(|row| row.rate.per_second).fold(0.0, f64::max);
                (highest > 0.0).then_some(Arrivals::Poisson { rate_per_s: highest })
            })
            .ok_or_else(no_rate)?,
        Demand::Query(_) | Demand::SavedQuery(_) | Demand::Rates(_) => {
            peak().ok_or_else(no_rate)?
        }
    })
}

fn trace_arrivals(demand: &TraceDemand, folder: &Path) -> Result<Arrivals, DemandError> {
    let path: PathBuf = folder.join(&demand.file);
    let format = TraceFormat::of_site(demand);
    let mut trace = trace::read_file(&path, &ReadOptions { format: Some(format), sort: false })?;
    // The name goes into the load's description, which must not depend on where the site lies.
    trace.name.clone_from(&demand.file);
    Ok(Arrivals::Trace {
        trace: Arc::new(trace),
        window: match demand.window {
            None => TraceWindow::Whole,
            Some(site::TraceWindow::Busiest(length)) => TraceWindow::Busiest { length },
            Some(site::TraceWindow::From { start, length }) => TraceWindow::From { start, length },
        },
        rate_factor: demand.rate_factor.unwrap_or(1.0),
    })
}

/// The stretch of a trace that a pair replays: one after the other, and again from the start of the
/// window where it ends. Other arrivals are as they are.
fn stretch(arrivals: &Arrivals, pair: u32, length: Duration) -> Arrivals {
    let Arrivals::Trace { trace, window, rate_factor } = arrivals else { return arrivals.clone() };
    let (start, available) = window.bounds(trace);
    let each = length.mul_f64(*rate_factor);
    let fits = (available.as_secs_f64() / each.as_secs_f64()).floor().max(1.0) as u32;
    let window =
        TraceWindow::From { start: start + each * (pair % fits), length: each.min(available) };
    Arrivals::Trace { trace: Arc::clone(trace), window, rate_factor: *rate_factor }
}

fn scaled(arrivals: &Arrivals, share: f64) -> Arrivals {
    match arrivals.clone() {
        Arrivals::Poisson { rate_per_s } => Arrivals::Poisson { rate_per_s: rate_per_s * share },
        Arrivals::Gamma { rate_per_s, burstiness } => {
            Arrivals::Gamma { rate_per_s: rate_per_s * share, burstiness }
        }
        Arrivals::Constant { rate_per_s } => Arrivals::Constant { rate_per_s: rate_per_s * share },
        Arrivals::Ramp { from_per_s, to_per_s } => {
            Arrivals::Ramp { from_per_s: from_per_s * share, to_per_s: to_per_s * share }
        }
        Arrivals::Trace { trace, window, rate_factor } => {
            Arrivals::Trace { trace, window, rate_factor: rate_factor * share }
        }
        closed @ Arrivals::ClosedLoop { .. } => closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::ColumnMap;
    use crate::trace::{Trace, TraceRequest};

    fn load(arrivals: Arrivals, lengths: Lengths) -> DeclaredLoad {
        let shape = BlockShape {
            warm_up: Duration::from_secs(10),
            judged: Duration::from_secs(90),
            tail: Duration::ZERO,
        };
        DeclaredLoad { shape, seed: 3, parts: vec![Part { class: 0, arrivals, lengths }] }
    }

    fn drawn_lengths() -> Lengths {
        let prompt = LengthDistribution::LogNormal { p50: 100, p95: 300, min: 1, max: 1200 };
        Lengths::Drawn { prompt, output: LengthDistribution::Fixed(20) }
    }

    #[test]
    fn a_factor_changes_the_rate_and_not_the_lengths() {
        let declared = load(Arrivals::Poisson { rate_per_s: 20.0 }, drawn_lengths());
        assert_eq!((declared.rate_per_s(), declared.factor_max()), (Some(20.0), None));
        let count = |factor: f64| declared.schedule_at(5, factor).unwrap().requests.len() as f64;
        // 2,000, 6,000 and 500 are expected; six standard deviations are left.
        for (factor, expected) in [(1.0, 2000.0), (3.0, 6000.0), (0.25, 500.0)] {
            let strays = (count(factor) - expected).abs();
            assert!(strays < 6.0 * f64::sqrt(expected), "{factor}: {}", count(factor));
        }
        let mut prompts: Vec<u32> = declared
            .schedule_at(5, 3.0)
            .unwrap()
            .requests
            .iter()
            .map(|r| r.prompt_tokens)
            .collect();
        prompts.sort_unstable();
        let middle = prompts[prompts.len() / 2];
        assert!((90..111).contains(&middle), "{middle}");
    }

    #[test]
    fn a_trace_is_replayed_faster_until_it_ends() {
        // One request a second for 400 s.
        let rows = (0..400).map(|second| TraceRequest {
            at: Duration::from_secs(second),
            prompt_tokens: 10,
            output_tokens: 2,
        });
        let trace = Trace {
            name: "made".into(),
            format: TraceFormat::JsonLines(ColumnMap::mooncake()),
            requests: rows.collect(),
            rows_out_of_order: 0,
        };
        let arrivals = Arrivals::Trace {
            trace: Arc::new(trace),
            window: TraceWindow::Whole,
            rate_factor: 2.0,
        };
        let declared = load(arrivals, Lengths::FromTrace);
        let rate = declared.rate_per_s().unwrap();
        assert!((rate - 2.0).abs() < 0.02, "{rate}");
        // 399 s at twice the rate are 199.5 s, and a block needs 100 s.
        let most = declared.factor_max().unwrap();
        assert!((1.98..2.0).contains(&most), "{most}");
        assert!(declared.schedule_at(0, most).unwrap().requests.len() >= 395);
        assert!(declared.schedule_at(0, 1.1 * most).is_err());
    }
}
