//! Inference: the load, and what must hold under it.

use std::time::Duration;

use super::{EngineSleep, FigureOrigin, Launch, WeeklyWindow};
use crate::units::{RatePerSecond, Share};

/// What is particular to an inference workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// The engine: `vllm`, `sglang`, `llama.cpp`.
    pub runtime: Option<String>,
    /// Its exact version.
    pub version: Option<String>,
    /// Its arguments, where Cotenant does not launch it.
    pub arguments: Vec<String>,
    /// Base URL of the OpenAI-compatible server, without a trailing slash and without `/v1`.
    pub endpoint: String,
    /// URL of the engine's Prometheus metrics (`metrics` in the site file).
    pub metrics_endpoint: Option<String>,
    /// How to start it; `None` where it already runs.
    pub launch: Option<Launch>,
    /// How it may be put to sleep; `None` where it may not.
    pub sleep: Option<EngineSleep>,
    /// The load by time.
    pub demand: Demand,
    /// Requests in flight at peak.
    pub concurrency: Option<u32>,
    /// Tokens of the prompts.
    pub prompt_tokens: Option<TokenCounts>,
    /// Tokens of the answers.
    pub output_tokens: Option<TokenCounts>,
    /// The highest rate of requests for which the objectives must hold.
    pub peak_rate: Option<RatePerSecond>,
    /// What must hold.
    pub objectives: InferenceObjectives,
    /// What a replica carries while every objective holds: it turns demand into GPUs.
    pub capacity: Option<ReplicaCapacity>,
    /// Mean time that a request stays in the engine: it turns rates into requests in flight.
    pub service_time: Option<Duration>,
    /// GPUs that are never lent.
    pub minimum_reserved: Option<f64>,
    /// What is kept free for bursts beyond the minimum.
    pub burst_reserve: Option<BurstReserve>,
    /// What stops a test at once.
    pub guard: Option<Guard>,
}

/// Bounds beyond which a test's neighbour is stopped at once, because users of the endpoint feel it.
/// They are wider than the objectives: an objective is judged by a test, a guard ends one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guard {
    /// 95th percentile of the time to first token over the window, at most.
    pub ttft_p95: Option<Duration>,
    /// 95th percentile of the time to the last byte over the window, at most.
    pub e2e_p95: Option<Duration>,
    /// 95th percentile over the requests of the window of the longest time between two tokens.
    pub longest_gap_p95: Option<Duration>,
    /// Share of the requests of the window that do not complete, at most.
    pub error_rate: Option<Share>,
    /// How far back is looked; `None` means ten seconds.
    pub window: Option<Duration>,
}

impl Guard {
    /// Whether it bounds anything.
    pub fn bounds_something(&self) -> bool {
        self.ttft_p95.is_some()
            || self.e2e_p95.is_some()
            || self.longest_gap_p95.is_some()
            || self.error_rate.is_some()
    }
}

/// Two quantiles of a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCounts {
    /// The median.
    pub p50: u32,
    /// The 95th percentile, at least the median.
    pub p95: u32,
}

/// What one replica carries while every objective holds. Capacity comes in whole replicas. `None`
/// means that the file does not say whether the unit binds.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaCapacity {
    /// GPUs of one replica; a fraction where it runs in a slice.
    pub gpus: f64,
    /// Where the figures come from.
    pub origin: FigureOrigin,
    /// Requests.
    pub requests: Option<RatePerSecond>,
    /// Requests in flight.
    pub requests_in_flight: Option<f64>,
    /// Tokens in the key-value cache.
    pub kv_tokens: Option<f64>,
    /// Prompt tokens.
    pub prefill: Option<RatePerSecond>,
    /// Output tokens.
    pub output: Option<RatePerSecond>,
}

/// What is kept free for bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BurstReserve {
    /// This many GPUs.
    Gpus(f64),
    /// What the plan derives from the demand and the time to reclaim.
    Derived,
}

/// The load by time. Paths are as written, relative to the site file.
#[derive(Clone, Debug, PartialEq)]
pub enum Demand {
    /// Recorded arrivals and lengths.
    Trace(TraceDemand),
    /// Independent arrivals at a constant mean rate.
    Poisson {
        /// Mean rate.
        rate: RatePerSecond,
    },
    /// Gamma-distributed times between arrivals.
    Gamma {
        /// Mean rate.
        rate: RatePerSecond,
        /// Squared coefficient of variation of the times between arrivals: 1 is Poisson.
        burstiness: f64,
    },
    /// Equal times between arrivals.
    Constant {
        /// Rate.
        rate: RatePerSecond,
    },
    /// A rate that grows or falls in a straight line.
    Ramp {
        /// Rate at the start.
        from: RatePerSecond,
        /// Rate at the end.
        to: RatePerSecond,
        /// Length of the ramp.
        duration: Duration,
    },
    /// A fixed number of users, each of whom waits for the answer: not an open loop.
    Closed {
        /// Number of users.
        users: u32,
        /// Time between an answer and the user's next request.
        think_time: Duration,
    },
    /// A query of a metrics server that yields the rate by time.
    Query(DemandQuery),
    /// The saved answer of such a query, as the server's `query_range` gave it (JSON); its file as
    /// written, relative to the site file.
    SavedQuery(String),
    /// Mean rates by time, in a file.
    Rates(RateSeries),
    /// Mean rates in weekly windows; arrivals inside a window are Poisson.
    Table(Vec<TableRow>),
}

impl Demand {
    /// The variant's name in the site file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Trace(_) => "trace",
            Self::Poisson { .. } => "poisson",
            Self::Gamma { .. } => "gamma",
            Self::Constant { .. } => "constant",
            Self::Ramp { .. } => "ramp",
            Self::Closed { .. } => "closed",
            Self::Query(_) => "query",
            Self::SavedQuery(_) => "saved_query",
            Self::Rates(_) => "rates",
            Self::Table(_) => "table",
        }
    }
}

/// Recorded arrivals and lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceDemand {
    /// The file, as written, relative to the site file. Names that end in `.gz` are compressed.
    pub file: String,
    /// Its format.
    pub format: TraceFormat,
    /// What its rate is multiplied with; `None` means as recorded.
    pub rate_factor: Option<f64>,
    /// Which part of it is replayed; `None` means from its start.
    pub window: Option<TraceWindow>,
    /// The instant of its first request, where its times are relative. A plan by time of week needs
    /// it.
    pub begins: Option<jiff::Timestamp>,
    /// The names of its columns, where the format does not fix them.
    pub columns: Option<TraceColumns>,
}

/// The names of a trace's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceColumns {
    /// The column of arrival times.
    pub time: Option<String>,
    /// The column of prompt tokens.
    pub prompt_tokens: Option<String>,
    /// The column of output tokens.
    pub output_tokens: Option<String>,
}

/// Mean rates by time, in a CSV file with a header: one row for each interval of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSeries {
    /// The file, as written, relative to the site file. It may be compressed (gzip, zstd).
    pub file: String,
    /// The column of times: seconds from the start, or instants. `None` takes the first column.
    pub time_column: Option<String>,
    /// The column of rates, requests per second. `None` takes the second column.
    pub rate_column: Option<String>,
    /// The instant of second 0, where the times are relative.
    pub begins: Option<jiff::Timestamp>,
    /// What the rates are multiplied with; `None` means as written.
    pub rate_factor: Option<f64>,
}

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// The CSV of the Azure LLM inference traces.
    Azure,
    /// The JSON lines of the Mooncake traces.
    Mooncake,
    /// The CSV of the BurstGPT traces.
    BurstGpt,
    /// CSV with a header that names `time_s`, `prompt_tokens` and `output_tokens`, or whose columns
    /// are named in the site file.
    Csv,
    /// JSON lines with those keys.
    JsonLines,
}

impl TraceFormat {
    /// Every format.
    pub const ALL: [Self; 5] =
        [Self::Azure, Self::Mooncake, Self::BurstGpt, Self::Csv, Self::JsonLines];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Azure => "azure",
            Self::Mooncake => "mooncake",
            Self::BurstGpt => "burstgpt",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

/// Which part of a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWindow {
    /// The part of this length with the most requests.
    Busiest(Duration),
    /// A part by its place.
    From {
        /// Its start, from the trace's first request.
        start: Duration,
        /// Its length.
        length: Duration,
    },
}

/// A query of a metrics server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemandQuery {
    /// Base URL of a server with the Prometheus query API.
    pub url: String,
    /// The PromQL expression; its value is requests per second.
    pub query: String,
    /// How far back it looks.
    pub range: Duration,
}

/// A mean rate in a weekly window.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// When, in local time of the site.
    pub when: WeeklyWindow,
    /// Mean rate of requests.
    pub rate: RatePerSecond,
}

/// What must hold. Each is absolute: nothing here is relative to running alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InferenceObjectives {
    /// 95th percentile of the time to first token, at most.
    pub ttft_p95: Option<Duration>,
    /// 99th percentile of the time to first token, at most.
    pub ttft_p99: Option<Duration>,
    /// 95th percentile of the time between tokens, at most.
    pub itl_p95: Option<Duration>,
    /// 95th percentile over requests of (last − first token) ÷ (tokens − 1), at most.
    pub tpot_p95: Option<Duration>,
    /// 95th percentile of the time to the last byte, at most.
    pub e2e_p95: Option<Duration>,
    /// Requests that wait in the engine, at most.
    pub queue_length: Option<u32>,
    /// Time that a request waits in the engine, at most, for 95 % of the requests.
    pub queue_time: Option<Duration>,
    /// Share of requests that do not complete, at most.
    pub error_rate: Option<Share>,
    /// Finished work over time, at least.
    pub throughput: Option<RatePerSecond>,
    /// Share of time in which it serves, at least.
    pub availability: Option<Share>,
}

/// A latency that the load client measures per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LatencyMetric {
    /// Time to first token.
    Ttft,
    /// Inter-token latency: each gap between tokens counts by itself.
    Itl,
    /// Time per output token: one mean per request.
    Tpot,
    /// Time to the last byte.
    E2e,
}

impl LatencyMetric {
    /// The short name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Itl => "itl",
            Self::Tpot => "tpot",
            Self::E2e => "e2e",
        }
    }
}

/// One declared latency objective: the quantile of the metric must not exceed the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyObjective {
    /// The field's name in the site file.
    pub name: &'static str,
    /// What is measured.
    pub metric: LatencyMetric,
    /// The quantile, from 0 to 1.
    pub quantile: f64,
    /// The largest value that it may have.
    pub target: Duration,
}

impl InferenceObjectives {
    /// The declared latency objectives, in the order of the fields.
    pub fn latency(&self) -> Vec<LatencyObjective> {
        [
            ("ttft_p95", LatencyMetric::Ttft, 0.95, self.ttft_p95),
            ("ttft_p99", LatencyMetric::Ttft, 0.99, self.ttft_p99),
            ("itl_p95", LatencyMetric::Itl, 0.95, self.itl_p95),
            ("tpot_p95", LatencyMetric::Tpot, 0.95, self.tpot_p95),
            ("e2e_p95", LatencyMetric::E2e, 0.95, self.e2e_p95),
        ]
        .into_iter()
        .filter_map(|(name, metric, quantile, target)| {
            target.map(|target| LatencyObjective { name, metric, quantile, target })
        })
        .collect()
    }

    /// Whether nothing is declared.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_objectives_are_listed_with_their_quantiles() {
        let objectives = InferenceObjectives {
            ttft_p99: Some(Duration::from_secs(1)),
            e2e_p95: Some(Duration::from_secs(9)),
            ..InferenceObjectives::default()
        };
        let listed: Vec<_> = objectives
            .latency()
            .into_iter()
            .map(|objective| (objective.name, objective.quantile, objective.target.as_secs()))
            .collect();
        assert_eq!(listed, [("ttft_p99", 0.99, 1), ("e2e_p95", 0.95, 9)]);
        assert!(InferenceObjectives::default().is_empty());
    }
}
