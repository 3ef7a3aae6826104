//! The engines, and how they are told apart by the names of their metrics.

use crate::exposition::Exposition;

/// A serving engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EngineKind {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// Hugging Face's Text Generation Inference.
    Tgi,
    /// TensorRT-LLM as `trtllm-serve` serves it.
    TensorRtLlm,
    /// TensorRT-LLM as a backend of Triton.
    TensorRtLlmOnTriton,
    /// Triton with any other backend.
    Triton,
    /// The server of llama.cpp.
    LlamaCpp,
    /// Cotenant's embedded engine, which names its metrics as vLLM does.
    Embedded,
}

impl EngineKind {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::Tgi => "TGI",
            Self::TensorRtLlm => "TensorRT-LLM",
            Self::TensorRtLlmOnTriton => "TensorRT-LLM on Triton",
            Self::Triton => "Triton",
            Self::LlamaCpp => "llama.cpp server",
            Self::Embedded => "embedded engine",
        }
    }

    /// Which priority the engine serves first, as it is without arguments that say otherwise; `None`
    /// where requests carry no priority.
    pub fn priority_order(self) -> Option<PriorityOrder> {
        match self {
            Self::Vllm => Some(PriorityOrder::LowerFirst),
            Self::Sglang => Some(PriorityOrder::HigherFirst),
            _ => None,
        }
    }

    /// Where its metrics are, as a rule.
    pub fn metrics_path(self) -> &'static str {
        match self {
            Self::TensorRtLlm => "/prometheus/metrics",
            _ => "/metrics",
        }
    }
}

/// Which of two priorities is served first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorityOrder {
    /// The lower number.
    LowerFirst,
    /// The higher number.
    HigherFirst,
}

/// A priority of one order in the terms of another: the sign flips where the directions differ.
///
/// ```
/// # use cotenant_probe::engine_metrics::{PriorityOrder, translate_priority};
/// use PriorityOrder::{HigherFirst, LowerFirst};
/// assert_eq!(translate_priority(10, HigherFirst, LowerFirst), -10);
/// assert_eq!(translate_priority(10, HigherFirst, HigherFirst), 10);
/// ```
pub fn translate_priority(priority: i64, from: PriorityOrder, to: PriorityOrder) -> i64 {
    if from == to { priority } else { priority.saturating_neg() }
}

/// Prefixes of metrics' names. An engine inside of Triton shows Triton's metrics, too, so that
/// Triton's stand last.
const PREFIXES: [(&str, EngineKind); 9] = [
    ("vllm:", EngineKind::Vllm),
    ("sglang:", EngineKind::Sglang),
    ("tgi_", EngineKind::Tgi),
    ("trtllm_", EngineKind::TensorRtLlm),
    ("trtllm:", EngineKind::TensorRtLlm),
    ("llamacpp:", EngineKind::LlamaCpp),
    ("nv_trt_llm_", EngineKind::TensorRtLlmOnTriton),
    ("nv_inference_", EngineKind::Triton),
    ("nv_model_", EngineKind::Triton),
];

/// The engine that names its metrics like this, if any. The embedded engine's names are vLLM's.
pub fn engine_of_names(scrape: &Exposition<'_>) -> Option<EngineKind> {
    PREFIXES.into_iter().find_map(|(prefix, engine)| {
        scrape.families.iter().any(|family| family.name.starts_with(prefix)).then_some(engine)
    })
}
