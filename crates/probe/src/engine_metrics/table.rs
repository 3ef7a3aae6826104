//! Which names of which engine give which quantity, as data.
//!
//! Where several sources stand for one quantity, the first that a scrape holds counts and the others
//! do not: they are older names of it, or twins that count the same events.

use super::kind::EngineKind;
use super::quantity::Quantity;

/// What of a family is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The values of samples of this very name.
    Value,
    /// The sums of a histogram's series.
    HistogramSum,
    /// The counts of a histogram's series.
    HistogramCount,
    /// The histogram itself.
    Histogram,
    /// A running total of time; the named counter says over how many events.
    TotalOver(&'static str),
}

/// How several series become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Added.
    Sum,
    /// The largest.
    Max,
}

/// A label and values of it.
pub type LabelValues = (&'static str, &'static [&'static str]);

/// A family that gives a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Source {
    /// The name on the wire, without the suffixes of histograms.
    pub name: &'static str,
    /// Which versions show it, in words; empty for "the current ones".
    pub versions: &'static str,
    /// What of it is read.
    pub part: Part,
    /// Its unit in terms of the quantity's: 1e-6 where it counts microseconds.
    pub unit: f64,
    /// Only series where this label has one of these values.
    pub only: Option<LabelValues>,
    /// Only series where this label has none of these values.
    pub except: Option<LabelValues>,
    /// A label that is empty on the series of the total: where such a series exists the others are
    /// parts of it.
    pub total_label: Option<&'static str>,
    /// Labels of ranks that repeat each other's requests: only the first rank counts.
    pub repeat_labels: &'static [&'static str],
    /// How the series that remain become one number.
    pub combine: Combine,
}

/// The sources of one quantity of one engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mapping {
    /// The engine.
    pub engine: EngineKind,
    /// The quantity.
    pub quantity: Quantity,
    /// Where it is read, the preferred first.
    pub sources: &'static [Source],
}

const fn value(name: &'static str) -> Source {
    Source {
        name,
        versions: "",
        part: Part::Value,
        unit: 1.0,
        only: None,
        except: None,
        total_label: None,
        repeat_labels: &[],
        combine: Combine::Sum,
    }
}

const fn histogram(name: &'static str) -> Source {
    Source { part: Part::Histogram, ..value(name) }
}

impl Source {
    const fn old(self, versions: &'static str) -> Self {
        Self { versions, ..self }
    }
    const fn part(self, part: Part) -> Self {
        Self { part, ..self }
    }
    const fn unit(self, unit: f64) -> Self {
        Self { unit, ..self }
    }
    const fn only(self, label: &'static str, values: &'static [&'static str]) -> Self {
        Self { only: Some((label, values)), ..self }
    }
    const fn except(self, label: &'static str, values: &'static [&'static str]) -> Self {
        Self { except: Some((label, values)), ..self }
    }
    const fn fullest(self) -> Self {
        Self { combine: Combine::Max, ..self }
    }
    /// SGLang's labels: every rank of tensor and pipeline parallelism may show the same requests, and
    /// with priority scheduling `priority=""` is the total of the other priorities.
    const fn sglang(self) -> Self {
        Self { total_label: Some("priority"), repeat_labels: &["tp_rank", "pp_rank"], ..self }
    }
}

/// The mappings of one engine.
macro_rules! engine {
    ($engine:ident: $($quantity:ident <- [$($source:expr),+ $(,)?]),+ $(,)?) => {
        &[$(Mapping {
            engine: EngineKind::$engine,
            quantity: Quantity::$quantity,
            sources: &[$($source),+],
        }),+]
    };
}

const MICRO: f64 = 1e-6;
const MILLI: f64 = 1e-3;

const VLLM: &[Mapping] = engine!(Vllm:
    Running <- [value("vllm:num_requests_running")],
    // `vllm:num_requests_waiting_by_reason` splits the same requests.
    Waiting <- [value("vllm:num_requests_waiting")],
    KvUseShare <- [
        value("vllm:kv_cache_usage_perc").fullest(),
        value("vllm:gpu_cache_usage_perc").fullest().old("deprecated: v0 and early v1"),
    ],
    // `…_by_source_total` splits the same tokens.
    PromptTokens <- [value("vllm:prompt_tokens_total")],
    OutputTokens <- [value("vllm:generation_tokens_total")],
    Finished <- [value("vllm:request_success_total")],
    // Despite its name it counts every way to end.
    Succeeded <- [value("vllm:request_success_total").except("finished_reason", &["abort", "error"])],
    Aborted <- [value("vllm:request_success_total").only("finished_reason", &["abort"])],
    Failed <- [
        value("vllm:request_success_total").only("finished_reason", &["error"]),
        value("vllm:request_failure_total").old("v0-style"),
    ],
    Refused <- [value("vllm:admission_rejections_total")],
    Preempted <- [value("vllm:num_preemptions_total")],
    PrefixQueried <- [
        value("vllm:prefix_cache_queries_total"),
        value("vllm:gpu_prefix_cache_queries_total").old("deprecated: early v1"),
    ],
    PrefixHit <- [
        value("vllm:prefix_cache_hits_total"),
        value("vllm:gpu_prefix_cache_hits_total").old("deprecated: early v1"),
    ],
    QueueTime <- [histogram("vllm:request_queue_time_seconds")],
    FirstToken <- [histogram("vllm:time_to_first_token_seconds")],
    InterToken <- [
        histogram("vllm:inter_token_latency_seconds"),
        histogram("vllm:time_per_output_token_seconds").old("deprecated: the same times, misnamed"),
    ],
    TimePerOutputToken <- [histogram("vllm:request_time_per_output_token_seconds")],
    WholeRequest <- [histogram("vllm:e2e_request_latency_seconds")],
    Prefill <- [histogram("vllm:request_prefill_time_seconds")],
    Decode <- [histogram("vllm:request_decode_time_seconds")],
);

const SGLANG: &[Mapping] = engine!(Sglang:
    Running <- [value("sglang:num_running_reqs").sglang()],
    Waiting <- [value("sglang:num_queue_reqs").sglang()],
    KvUseShare <- [value("sglang:token_usage").sglang().fullest()],
    PromptTokens <- [value("sglang:prompt_tokens_total").sglang()],
    OutputTokens <- [value("sglang:generation_tokens_total").sglang()],
    Finished <- [value("sglang:num_requests_total").sglang()],
    Aborted <- [value("sglang:num_aborted_requests_total").sglang()],
    Preempted <- [value("sglang:num_retracted_requests_total").sglang()],
    PrefixHit <- [value("sglang:cached_tokens_total").sglang()],
    QueueTime <- [histogram("sglang:queue_time_seconds").sglang()],
    // A request that does not stream has its first answer when it ends.
    FirstToken <- [
        histogram("sglang:time_to_first_token_seconds").sglang().except("is_streaming", &["false", "False"]),
    ],
    InterToken <- [
        histogram("sglang:inter_token_latency_seconds").sglang(),
        histogram("sglang:time_per_output_token_seconds").sglang().old("older name"),
    ],
    TimePerOutputToken <- [histogram("sglang:request_time_per_output_token_seconds").sglang()],
    WholeRequest <- [histogram("sglang:e2e_request_latency_seconds").sglang()],
);

const TGI: &[Mapping] = engine!(Tgi:
    Running <- [value("tgi_batch_current_size")],
    Waiting <- [value("tgi_queue_size")],
    PromptTokens <- [value("tgi_request_input_length").part(Part::HistogramSum)],
    OutputTokens <- [value("tgi_request_generated_tokens").part(Part::HistogramSum)],
    Succeeded <- [
        value("tgi_request_success"),
        value("tgi_request_duration").part(Part::HistogramCount),
    ],
    Failed <- [value("tgi_request_failure").except("err", &["overloaded"])],
    Refused <- [value("tgi_request_failure").only("err", &["overloaded"])],
    QueueTime <- [histogram("tgi_request_queue_duration")],
    TimePerOutputToken <- [histogram("tgi_request_mean_time_per_token_duration")],
    WholeRequest <- [histogram("tgi_request_duration")],
);

const TENSORRT_LLM: &[Mapping] = engine!(TensorRtLlm:
    Running <- [value("trtllm_num_requests_running")],
    Waiting <- [value("trtllm_num_requests_waiting")],
    KvUseShare <- [value("trtllm_kv_cache_utilization").fullest()],
    PromptTokens <- [value("trtllm_prompt_tokens_total")],
    OutputTokens <- [value("trtllm_generation_tokens_total")],
    Finished <- [
        value("trtllm_request_success_total"),
        value("trtllm:request_success_total").old("through older Dynamo"),
    ],
    QueueTime <- [
        histogram("trtllm_request_queue_time_seconds"),
        histogram("trtllm:request_queue_time_seconds").old("through older Dynamo"),
    ],
    FirstToken <- [
        histogram("trtllm_time_to_first_token_seconds"),
        histogram("trtllm:time_to_first_token_seconds").old("through older Dynamo"),
    ],
    TimePerOutputToken <- [
        histogram("trtllm_time_per_output_token_seconds"),
        histogram("trtllm:time_per_output_token_seconds").old("through older Dynamo"),
    ],
    WholeRequest <- [
        histogram("trtllm_e2e_request_latency_seconds"),
        histogram("trtllm:e2e_request_latency_seconds").old("through older Dynamo"),
    ],
);

/// Triton counts requests in time totals, microseconds. Only requests that succeeded are in them.
macro_rules! triton {
    ($engine:ident: $($rest:tt)*) => {
        engine!($engine:
            Succeeded <- [value("nv_inference_request_success")],
            Aborted <- [value("nv_inference_request_failure").only("reason", &["CANCELED"])],
            Failed <- [value("nv_inference_request_failure").except("reason", &["CANCELED", "REJECTED"])],
            Refused <- [value("nv_inference_request_failure").only("reason", &["REJECTED"])],
            QueueTime <- [value("nv_inference_queue_duration_us")
                .part(Part::TotalOver("nv_inference_request_success")).unit(MICRO)],
            WholeRequest <- [value("nv_inference_request_duration_us")
                .part(Part::TotalOver("nv_inference_request_success")).unit(MICRO)],
            FirstToken <- [histogram("nv_inference_first_response_histogram_ms").unit(MILLI)],
            $($rest)*
        )
    };
}

const TRITON: &[Mapping] = triton!(Triton:
    Waiting <- [value("nv_inference_pending_request_count")],
);

const TENSORRT_LLM_ON_TRITON: &[Mapping] = triton!(TensorRtLlmOnTriton:
    // `active` are all that the backend holds, `scheduled` those in the batch.
    Running <- [value("nv_trt_llm_request_metrics").only("request_type", &["scheduled"])],
    KvUseShare <- [
        value("nv_trt_llm_kv_cache_block_metrics").only("kv_cache_block_type", &["fraction"]).fullest(),
    ],
);

const LLAMA_CPP: &[Mapping] = engine!(LlamaCpp:
    Running <- [value("llamacpp:requests_processing")],
    Waiting <- [value("llamacpp:requests_deferred")],
    KvUseShare <- [value("llamacpp:kv_cache_usage_ratio").fullest().old("removed in new builds")],
    // Without the tokens that were reused from the cache.
    PromptTokens <- [value("llamacpp:prompt_tokens_total")],
    OutputTokens <- [value("llamacpp:tokens_predicted_total")],
    PrefixHit <- [value("llamacpp:prompt_tokens_cached_total")],
    InterToken <- [value("llamacpp:tokens_predicted_seconds_total")
        .part(Part::TotalOver("llamacpp:tokens_predicted_total"))],
);

/// Every mapping of every engine.
pub const TABLE: [&[Mapping]; 7] =
    [VLLM, SGLANG, TGI, TENSORRT_LLM, TENSORRT_LLM_ON_TRITON, TRITON, LLAMA_CPP];

/// The mappings of one engine. The embedded engine's are vLLM's.
pub fn mapping(engine: EngineKind) -> &'static [Mapping] {
    match engine {
        EngineKind::Vllm | EngineKind::Embedded => VLLM,
        EngineKind::Sglang => SGLANG,
        EngineKind::Tgi => TGI,
        EngineKind::TensorRtLlm => TENSORRT_LLM,
        EngineKind::TensorRtLlmOnTriton => TENSORRT_LLM_ON_TRITON,
        EngineKind::Triton => TRITON,
        EngineKind::LlamaCpp => LLAMA_CPP,
    }
}
