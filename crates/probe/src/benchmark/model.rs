//! What another tool's result says, in one form for all tools. Nothing is invented: what a file does
//! not say is `None`.

use cotenant_core::evidence::{
    Condition, Outcome, PointEstimate, PointMetric, RequestRecord, StepRecord, TokenSource,
};

use super::refusal::{Claim, Refusal};

/// Who wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// NVIDIA aiperf.
    Aiperf,
    /// guidellm.
    Guidellm,
    /// inference-perf of Kubernetes' serving group.
    InferencePerf,
    /// `vllm bench serve`, formerly `benchmark_serving.py`.
    VllmBenchServe,
    /// `sglang.bench_serving`.
    SglangBenchServing,
    /// llm-d's benchmark report.
    LlmdReport,
    /// The vLLM runs that calibrate LLMServingSim.
    LlmServingSim,
    /// The performance model of Splitwise.
    SplitwisePerfModel,
    /// MLPerf Training's `:::MLLOG` lines.
    MlperfTraining,
    /// MLPerf Inference's published table.
    MlperfInference,
    /// A table of times for several loads, by its column names.
    Table,
}

impl Tool {
    /// The tool's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aiperf => "aiperf",
            Self::Guidellm => "guidellm",
            Self::InferencePerf => "inference-perf",
            Self::VllmBenchServe => "vllm bench serve",
            Self::SglangBenchServing => "sglang.bench_serving",
            Self::LlmdReport => "llm-d benchmark report",
            Self::LlmServingSim => "LLMServingSim vLLM run",
            Self::SplitwisePerfModel => "Splitwise performance model",
            Self::MlperfTraining => "MLPerf Training log",
            Self::MlperfInference => "MLPerf Inference table",
            Self::Table => "table of results",
        }
    }
}

/// One file, read.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkFile {
    /// The file's name, as given.
    pub file: String,
    /// Who wrote it.
    pub tool: Tool,
    /// Which of the tool's files it is: "summary report", "requests".
    pub form: &'static str,
    /// The version that the file names: of its schema, of the tool or of the engine, in words.
    pub version: Option<String>,
    /// One for each load, system or row that the file tells of.
    pub benchmarks: Vec<ImportedBenchmark>,
    /// What a reader should know, of the file as a whole.
    pub caveats: Vec<String>,
}

/// One result: one load on one system.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedBenchmark {
    /// What tells it from its neighbours in the file; empty where it is alone.
    pub name: String,
    /// The model, as the file names it.
    pub model: Option<String>,
    /// The device, as the file names it.
    pub hardware: Option<String>,
    /// When it ran, as the file says it, without a guess of a zone.
    pub when: Option<String>,
    /// How long it was measured, seconds.
    pub duration_s: Option<f64>,
    /// The load.
    pub load: ImportedLoad,
    /// How many requests there were.
    pub counts: Counts,
    /// Every request, where the file holds them all.
    pub requests: Option<Vec<ImportedRequest>>,
    /// Training steps that the file gives one by one; nanoseconds from the run's start.
    pub steps: Vec<StepRecord>,
    /// Single numbers.
    pub points: Vec<ImportedPoint>,
    /// Further facts in the file's own words: name, value.
    pub facts: Vec<(String, String)>,
    /// What a reader should know.
    pub caveats: Vec<String>,
    /// What cannot be concluded from it, and why.
    pub refusals: Vec<Refusal>,
}

/// How requests arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arrivals {
    /// At constant distances.
    Constant,
    /// A Poisson process.
    Poisson,
    /// Gamma-distributed distances with this shape; 1 would be Poisson.
    Gamma(f64),
    /// A request is sent when another ends: a fixed number is open.
    ClosedLoop,
    /// All at once, with no limit.
    AllAtOnce,
    /// At the times of a recorded or drawn trace.
    Trace,
    /// The file does not say.
    #[default]
    Unknown,
}

/// The load of a benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImportedLoad {
    /// Requests per second that were asked for.
    pub rate_requested: Option<f64>,
    /// Requests per second that the client sent.
    pub rate_sent: Option<f64>,
    /// Most requests open at once.
    pub concurrency_max: Option<u64>,
    /// How requests arrived.
    pub arrivals: Arrivals,
}

/// Numbers of requests; `None` where the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All that were tried.
    pub total: Option<u64>,
    /// Those that succeeded.
    pub succeeded: Option<u64>,
    /// Those that failed.
    pub failed: Option<u64>,
    /// Those cut off by the end of the test.
    pub incomplete: Option<u64>,
}

/// One request as a file tells it. Times are nanoseconds from the first request of the file, all on
/// one clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRequest {
    /// Its name in the file.
    pub id: String,
    /// When the schedule wanted it sent; `None` where the file holds no schedule.
    pub intended_ns: Option<u64>,
    /// When it was sent.
    pub sent_ns: Option<u64>,
    /// When the first token arrived.
    pub first_token_ns: Option<u64>,
    /// When the last token arrived.
    pub last_token_ns: Option<u64>,
    /// When it ended; `None` for a failure whose time the file does not give.
    pub end_ns: Option<u64>,
    /// Prompt tokens.
    pub prompt_tokens: Option<u32>,
    /// Output tokens.
    pub output_tokens: Option<u32>,
    /// Longest gap between chunks.
    pub gap_longest_ns: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a number of a file is about. The same word means different things in different tools, so the
/// names here say the formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportedMetric {
    /// Time to first token, seconds.
    TimeToFirstToken,
    /// (last − first token) ÷ (tokens − 1) of a request, seconds: "ITL" of aiperf and guidellm, "TPOT"
    /// of vLLM, SGLang and inference-perf.
    TimePerOutputToken,
    /// (last token − sending) ÷ tokens, seconds: guidellm's "TPOT".
    TimePerTokenWithFirst,
    /// Time between two chunks, pooled, seconds: "ITL" of vLLM, SGLang and inference-perf.
    ChunkGap,
    /// "ITL" in a file that does not say which of the two it is, seconds.
    InterTokenUnclear,
    /// Whole request, seconds.
    EndToEnd,
    /// Finished requests per second.
    Requests,
    /// Output tokens per second.
    OutputTokens,
    /// Mean time of a training step, seconds.
    StepTime,
    /// Training samples per second.
    TrainingSamples,
    /// The unit of the benchmark that the row names (samples, queries or tokens per second).
    Throughput,
    /// Length of the whole training, seconds.
    TimeToTrain,
}

impl ImportedMetric {
    /// The metric's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeToFirstToken => "time to first token",
            Self::TimePerOutputToken => "time per output token after the first",
            Self::TimePerTokenWithFirst => "time per token, first included",
            Self::ChunkGap => "gap between chunks",
            Self::InterTokenUnclear => "inter-token latency, kind not said",
            Self::EndToEnd => "whole request",
            Self::Requests => "finished requests per second",
            Self::OutputTokens => "output tokens per second",
            Self::StepTime => "time of a step",
            Self::TrainingSamples => "training samples per second",
            Self::Throughput => "throughput",
            Self::TimeToTrain => "time to train",
        }
    }

    /// The same quantity in evidence; `None` where evidence has none with this formula.
    pub fn in_evidence(self) -> Option<PointMetric> {
        Some(match self {
            Self::TimeToFirstToken => PointMetric::TimeToFirstToken,
            Self::TimePerOutputToken => PointMetric::TimePerOutputToken,
            Self::EndToEnd => PointMetric::EndToEnd,
            Self::Requests => PointMetric::Requests,
            Self::OutputTokens => PointMetric::OutputTokens,
            Self::StepTime => PointMetric::StepTime,
            Self::TimePerTokenWithFirst
            | Self::ChunkGap
            | Self::InterTokenUnclear
            | Self::TrainingSamples
            | Self::Throughput
            | Self::TimeToTrain => return None,
        })
    }

    /// Whether it is a time of a request of inference.
    pub fn is_latency(self) -> bool {
        matches!(
            self,
            Self::TimeToFirstToken
                | Self::TimePerOutputToken
                | Self::TimePerTokenWithFirst
                | Self::ChunkGap
                | Self::InterTokenUnclear
                | Self::EndToEnd
        )
    }
}

/// One number of a file, in seconds or per second.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedPoint {
    /// What it is about.
    pub metric: ImportedMetric,
    /// The quantile that it is, a share; `None` for a mean or a rate.
    pub quantile: Option<f64>,
    /// The number, seconds or per second.
    pub value: f64,
    /// The unit it is given in here: "s", "req/s", "tokens/s".
    pub unit: String,
    /// How many values lie behind it, where the file says.
    pub samples: Option<u64>,
    /// Where it stands in the file: a path of fields, a cell, or how it was computed.
    pub field: String,
}

impl ImportedBenchmark {
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            model: None,
            hardware: None,
            when: None,
            duration_s: None,
            load: ImportedLoad::default(),
            counts: Counts::default(),
            requests: None,
            steps: Vec::new(),
            points: Vec::new(),
            facts: Vec::new(),
            caveats: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// Whether a claim is refused.
    pub fn refuses(&self, claim: Claim) -> bool {
        self.refusals.iter().any(|refusal| refusal.claim == claim)
    }

    /// A point by metric and quantile (`None`: the mean or rate), for readers.
    pub fn point(&self, metric: ImportedMetric, quantile: Option<f64>) -> Option<f64> {
        self.points
            .iter()
            .find(|point| point.metric == metric && same(point.quantile, quantile))
            .map(|point| point.value)
    }

    /// Point estimates for the verdict: they only suggest, and can neither pass nor fail. Latencies are
    /// left out where the file refuses [`Claim::Latency`] or [`Claim::Anything`].
    pub fn point_estimates(&self, file: &str, condition: Condition) -> Vec<PointEstimate> {
        let latency = !self.refuses(Claim::Latency);
        self.points
            .iter()
            .filter(|_| !self.refuses(Claim::Anything))
            .filter(|point| latency || !point.metric.is_latency())
            .filter_map(|point| {
                Some(PointEstimate {
                    condition,
                    remedy: None,
                    metric: point.metric.in_evidence()?,
                    quantile: point.quantile,
                    value: point.value,
                    source: format!("{file}: {}", point.field),
                })
            })
            .collect()
    }

    /// The requests as evidence, counted from the times at which they were wanted.
    ///
    /// # Errors
    ///
    /// The refusal of [`Claim::Objectives`] where the file lacks requests or their intended times.
    pub fn request_records(&self, file: &str) -> Result<Vec<RequestRecord>, Box<Refusal>> {
        if let Some(refusal) = self
            .refusals
            .iter()
            .find(|refusal| matches!(refusal.claim, Claim::Objectives | Claim::Anything))
        {
            return Err(Box::new(refusal.clone()));
        }
        let missing = |what: &str| {
            Box::new(Refusal::new(
                file,
                Claim::Objectives,
                format!("{what} is not in the file"),
                "export every request with its intended send time, or measure it: cotenant measure",
            ))
        };
        let requests = self.requests.as_ref().ok_or_else(|| missing("any single request"))?;
        let mut records = Vec::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            records.push(request.record(index).ok_or_else(|| {
                missing(&format!("the intended time, the end or a token count of {}", request.id))
            })?);
        }
        records.sort_by_key(|record| record.intended_ns);
        for (index, record) in (0_u32..).zip(&mut records) {
            record.index = index;
        }
        Ok(records)
    }
}

impl ImportedRequest {
    /// Evidence of one request. The file does not know gaps above a stall threshold, so none are
    /// counted: stalls of an imported request are not to be read.
    fn record(&self, index: usize) -> Option<RequestRecord> {
        Some(RequestRecord {
            index: u32::try_from(index).ok()?,
            class: 0,
            intended_ns: self.intended_ns?,
            sent_ns: self.sent_ns,
            first_token_ns: self.first_token_ns,
            first_visible_ns: None,
            last_token_ns: self.last_token_ns,
            end_ns: self.end_ns?,
            prompt_tokens: self.prompt_tokens?,
            output_tokens: self.output_tokens?,
            token_source: TokenSource::Chunks,
            gap_longest_ns: self.gap_longest_ns,
            stalls: 0,
            stalled_ns: 0,
            outcome: self.outcome,
        })
    }
}

fn same(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => (one - other).abs() < 1e-9,
        _ => false,
    }
}
