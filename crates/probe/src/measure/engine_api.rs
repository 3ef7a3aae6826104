//! How the engines are spoken to: which interface, which prompts, and where each says that it is ready.

use cotenant_core::site::{Inference, Ready};
use serde_json::Value;

use crate::engine_metrics::EngineKind;
use crate::load::{Api, PromptForm, TargetSpec};

/// The engine that a site's `runtime` names, however it is written; `None` where it names none that is
/// known, or nothing.
pub fn declared_engine(inference: &Inference) -> Option<EngineKind> {
    let name: String = inference
        .runtime
        .as_deref()?
        .to_lowercase()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let has = |word: &str| name.contains(word);
    Some(match () {
        // TensorRT-LLM and vLLM are also backends of Triton, which then is who is spoken to.
        () if has("triton") && (has("trtllm") || has("tensorrtllm")) => {
            EngineKind::TensorRtLlmOnTriton
        }
        () if has("triton") => EngineKind::Triton,
        () if has("trtllm") || has("tensorrtllm") => EngineKind::TensorRtLlm,
        () if has("cotenant") => EngineKind::Embedded,
        () if has("vllm") => EngineKind::Vllm,
        () if has("sglang") => EngineKind::Sglang,
        () if has("tgi") || has("textgenerationinference") => EngineKind::Tgi,
        () if has("llamacpp") || has("llamaserver") => EngineKind::LlamaCpp,
        () => return None,
    })
}

/// What stands in requests, by engine: exact lengths where the engine takes token ids or a token is a
/// byte, words elsewhere; and no answer out of a cache of prompts, where the request can say so.
pub fn target_of(engine: Option<EngineKind>, mut spec: TargetSpec) -> TargetSpec {
    match engine {
        Some(EngineKind::Embedded) => {
            spec.api = Api::Completions;
            spec.prompt = PromptForm::Words { bytes_per_token: 1.0 };
        }
        Some(
            EngineKind::Vllm | EngineKind::Sglang | EngineKind::TensorRtLlm | EngineKind::LlamaCpp,
        ) => {
            spec.api = Api::Completions;
            // Ordinary pieces in every common vocabulary: above the special tokens and single bytes.
            spec.prompt = PromptForm::TokenIds { id_min: 1_000, id_max: 10_000 };
        }
        Some(EngineKind::Triton | EngineKind::TensorRtLlmOnTriton) => {
            spec.api = Api::TritonGenerate;
        }
        Some(EngineKind::Tgi) | None => {}
    }
    if engine == Some(EngineKind::LlamaCpp) {
        // Its slots keep the last prompt, and a prompt that begins alike would be answered sooner.
        spec.extra_body.insert("cache_prompt".to_owned(), Value::from(false));
    }
    spec
}

/// The path on which an engine says that it is ready, where the site leaves it at its default: Triton
/// has another one than all the others.
pub fn ready_path(engine: Option<EngineKind>, ready: &Ready) -> &str {
    let is_triton = matches!(engine, Some(EngineKind::Triton | EngineKind::TensorRtLlmOnTriton));
    if is_triton && ready.path == Ready::PATH_DEFAULT { "/v2/health/ready" } else { &ready.path }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::load::Target;

    fn runtime(name: &str) -> Option<EngineKind> {
        declared_engine(&inference(Some(name)))
    }

    pub(in crate::measure) fn inference(runtime: Option<&str>) -> Inference {
        use cotenant_core::site::{Demand, InferenceObjectives};
        use cotenant_core::units::RatePerSecond;
        Inference {
            runtime: runtime.map(str::to_owned),
            version: None,
            arguments: Vec::new(),
            endpoint: "http://127.0.0.1:8000".to_owned(),
            metrics_endpoint: None,
            launch: None,
            demand: Demand::Poisson { rate: RatePerSecond::new(1.0, "req") },
            concurrency: None,
            prompt_tokens: None,
            output_tokens: None,
            peak_rate: None,
            objectives: InferenceObjectives::default(),
            capacity: None,
            service_time: None,
            minimum_reserved: None,
            burst_reserve: None,
            guard: None,
            sleep: None,
        }
    }

    #[test]
    fn a_runtime_is_known_however_it_is_written() {
        assert_eq!(runtime("vLLM"), Some(EngineKind::Vllm));
        assert_eq!(runtime("llama.cpp"), Some(EngineKind::LlamaCpp));
        assert_eq!(runtime("llama-server"), Some(EngineKind::LlamaCpp));
        assert_eq!(runtime("Triton Inference Server"), Some(EngineKind::Triton));
        assert_eq!(runtime("triton + tensorrt_llm"), Some(EngineKind::TensorRtLlmOnTriton));
        assert_eq!(runtime("TensorRT-LLM"), Some(EngineKind::TensorRtLlm));
        assert_eq!(runtime("text-generation-inference"), Some(EngineKind::Tgi));
        assert_eq!(runtime("cotenant"), Some(EngineKind::Embedded));
        assert_eq!(runtime("something else"), None);
        assert_eq!(declared_engine(&inference(None)), None);
    }

    #[test]
    fn every_engine_has_a_target_that_can_be_used() {
        let all = [
            None,
            Some(EngineKind::Vllm),
            Some(EngineKind::Sglang),
            Some(EngineKind::Tgi),
            Some(EngineKind::TensorRtLlm),
            Some(EngineKind::TensorRtLlmOnTriton),
            Some(EngineKind::Triton),
            Some(EngineKind::LlamaCpp),
            Some(EngineKind::Embedded),
        ];
        for engine in all {
            let spec = target_of(engine, TargetSpec::new("http://127.0.0.1:8000", "m"));
            assert!(Target::new(spec).is_ok(), "{engine:?}");
        }
        let llama = target_of(Some(EngineKind::LlamaCpp), TargetSpec::new("http://h", "m"));
        assert_eq!(llama.extra_body["cache_prompt"], Value::from(false));
    }

    #[test]
    fn triton_is_asked_on_its_own_path_unless_the_site_says_another() {
        let default = Ready::default();
        assert_eq!(ready_path(Some(EngineKind::Triton), &default), "/v2/health/ready");
        assert_eq!(ready_path(Some(EngineKind::Vllm), &default), "/health");
        let own = Ready { path: "/v2/models/m/ready".to_owned(), ..Ready::default() };
        assert_eq!(ready_path(Some(EngineKind::Triton), &own), "/v2/models/m/ready");
    }
}
