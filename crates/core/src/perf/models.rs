//! Shapes of models that are served widely, from their published `config.json`.

use super::architecture::{Architecture, Experts};

/// The shape of a model by its public name, with or without the organisation before it; `None` for
/// any other name. Quantisation is read from the name's ending: `FP8`.
///
/// ```
/// use cotenant_core::perf::known_model;
/// let model = known_model("meta-llama/Llama-3.1-8B-Instruct").unwrap();
/// assert_eq!(model.kv_bytes_per_token(), 131_072.0);
/// assert!(known_model("my-own").is_none());
/// ```
pub fn known_model(name: &str) -> Option<Architecture> {
    let name = name.rsplit('/').next()?.to_ascii_lowercase().replace(['_', ' '], "-");
    let (_, shape) = MODELS.iter().find(|(known, _)| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })?;
    let eight_bits = name.split('-').any(|word| word == "fp8");
    Some(Architecture { weight_bytes: if eight_bits { 1.0 } else { 2.0 }, ..*shape })
}

const fn dense(
    layers: u32,
    hidden: u32,
    heads: u32,
    kv_heads: u32,
    intermediate: u32,
    vocabulary: u32,
) -> Architecture {
    Architecture {
        layers,
        hidden,
        heads,
        kv_heads,
        head_dim: 128,
        intermediate,
        vocabulary,
        experts: None,
        weight_bytes: 2.0,
        attention_weight_bytes: 2.0,
        kv_bytes: 2.0,
    }
}

const fn mixture(shape: Architecture, count: u32, chosen: u32, intermediate: u32) -> Architecture {
    Architecture { experts: Some(Experts { count, chosen, intermediate }), ..shape }
}

static MODELS: [(&str, Architecture); 14] = [
    ("llama-2-7b", dense(32, 4096, 32, 32, 11_008, 32_000)),
    ("llama-2-70b", dense(80, 8192, 64, 8, 28_672, 32_000)),
    ("codellama-34b", dense(48, 8192, 64, 8, 22_016, 32_000)),
    ("llama-3-8b", dense(32, 4096, 32, 8, 14_336, 128_256)),
    ("llama-3.1-8b", dense(32, 4096, 32, 8, 14_336, 128_256)),
    ("llama-3-70b", dense(80, 8192, 64, 8, 28_672, 128_256)),
    ("llama-3.1-70b", dense(80, 8192, 64, 8, 28_672, 128_256)),
    ("llama-3.3-70b", dense(80, 8192, 64, 8, 28_672, 128_256)),
    ("llama-4-scout", mixture(dense(48, 5120, 40, 8, 8192, 202_048), 16, 1, 8192)),
    ("mistral-nemo", dense(40, 5120, 32, 8, 14_336, 131_072)),
    ("mixtral-8x7b", mixture(dense(32, 4096, 32, 8, 0, 32_000), 8, 2, 14_336)),
    ("qwen2.5-7b", dense(28, 3584, 28, 4, 18_944, 152_064)),
    ("qwen3-14b", dense(40, 5120, 40, 8, 17_408, 151_936)),
    ("yi-34b", dense(60, 7168, 56, 8, 20_480, 64_000)),
];
