//! What an engine allows at once, read from the words that it was started with or tells of itself.

use crate::perf::IntegerStep;
use crate::sim::engine::{ReplicaSpec, Role};
use crate::site::Inference;

/// An engine's limits.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineLimits {
    /// The replica; its step is left empty.
    pub spec: ReplicaSpec,
    /// What no word said, as sentences.
    pub assumed: Vec<String>,
}

/// How a kind of engine names its limits, and what it allows where nothing is said.
struct Kind {
    /// The sequences of a batch.
    sequences: (&'static [&'static str], u32),
    /// The tokens of a pass.
    tokens: (&'static [&'static str], u32),
    /// The tokens of a KV block.
    block: (&'static [&'static str], u32),
    /// Names of a number of KV blocks.
    blocks: &'static [&'static str],
    /// Names of a number of KV tokens.
    kv_tokens: (&'static [&'static str], Option<u32>),
    /// Names of a number of requests that may wait.
    waiting: (&'static [&'static str], Option<u32>),
    /// Names of what says whether beginnings are shared.
    prefix: &'static [&'static str],
    /// Whether they are where nothing is said.
    shares: bool,
}

/// vLLM v1: argument names and defaults of `vllm serve`, and `vllm:cache_config_info`.
const VLLM: Kind = Kind {
    sequences: (&["--max-num-seqs"], 256),
    tokens: (&["--max-num-batched-tokens"], 2048),
    block: (&["cache_config.block_size", "--block-size"], 16),
    blocks: &["cache_config.num_gpu_blocks", "--num-gpu-blocks-override"],
    kv_tokens: (&["cache_config.kv_cache_size_tokens"], None),
    waiting: (&[], None),
    prefix: &["cache_config.enable_prefix_caching"],
    shares: true,
};

/// The embedded reference engine, which keeps no beginnings.
const EMBEDDED: Kind = Kind {
    sequences: (&["--max-sequences"], 16),
    tokens: (&["--max-batched-tokens"], 128),
    block: (&[], 1),
    blocks: &[],
    kv_tokens: (&["--kv-tokens"], Some(16_384)),
    waiting: (&["--queue-max"], Some(64)),
    prefix: &[],
    shares: false,
};

/// KV tokens where nothing tells how many there are: more than any batch needs, so that the cache
/// never binds.
const KV_TOKENS_UNBOUNDED: u64 = 1 << 32;

/// The words that tell an engine's limits: those that the site starts it with or declares, and those
/// that it told of itself when it was measured.
pub fn engine_words<'a>(inference: &'a Inference, told: &'a str) -> Vec<&'a str> {
    let launched = inference.launch.iter().flat_map(|launch| &launch.argv);
    let declared = launched.chain(&inference.arguments).map(String::as_str);
    declared.chain(told.split_whitespace()).collect()
}

/// Reads an engine's limits from words: `--max-num-seqs 16`, `cache_config.block_size=128`.
pub fn engine_limits(words: &[&str]) -> EngineLimits {
    let is_embedded = words.windows(2).any(|pair| pair == ["engine", "serve"]);
    let kind = if is_embedded { &EMBEDDED } else { &VLLM };
    let mut assumed = Vec::new();
    let mut or_assumed = |names: &[&str], default: u32, what: &str| {
        number(words, names).unwrap_or_else(|| {
            if !is_embedded && !names.is_empty() {
                assumed.push(format!("{what}: {default}, as `{}` is not told", names[0]));
            }
            default.into()
        })
    };
    let sequences = or_assumed(kind.sequences.0, kind.sequences.1, "sequences in a batch");
    let tokens = or_assumed(kind.tokens.0, kind.tokens.1, "tokens in a pass");
    let block = or_assumed(kind.block.0, kind.block.1, "tokens in a KV block").max(1);
    let kv_tokens = number(words, kind.kv_tokens.0).or(kind.kv_tokens.1.map(u64::from));
    let kv_blocks = number(words, kind.blocks).or(kv_tokens.map(|tokens| tokens / block));
    let kv_blocks = kv_blocks.unwrap_or_else(|| {
        assumed.push("the KV cache never binds, as its size is not told".to_owned());
        KV_TOKENS_UNBOUNDED / block
    });
    let waiting = number(words, kind.waiting.0).or(kind.waiting.1.map(u64::from));
    let sequences_max = narrow(sequences);
    let spec = ReplicaSpec {
        step: IntegerStep::default(),
        kv_blocks,
        block_tokens: narrow(block),
        sequences_max,
        batched_tokens_max: narrow(tokens).max(sequences_max),
        requests_max: waiting.map(|waiting| narrow(waiting).saturating_add(sequences_max)),
        prefix_cache: truth(words, kind.prefix).unwrap_or(kind.shares),
        role: Role::Both,
    };
    EngineLimits { spec, assumed }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The value after the first of the names that is there: `--name value`, `--name=value`, `name=value`.
fn value<'a>(words: &[&'a str], names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| {
        words.iter().enumerate().find_map(|(place, word)| match word.strip_prefix(name)? {
            "" => words.get(place + 1).copied(),
            rest => rest.strip_prefix('='),
        })
    })
}

fn number(words: &[&str], names: &[&str]) -> Option<u64> {
    value(words, names)?.parse().ok()
}

fn truth(words: &[&str], names: &[&str]) -> Option<bool> {
    value(words, names)?.to_ascii_lowercase().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_after_a_blank_or_an_equals_sign() {
        let words = ["--max-num-seqs", "16", "--block-size=32", "cache_config.num_gpu_blocks=7"];
        assert_eq!(number(&words, &["--max-num-seqs"]), Some(16));
        assert_eq!(number(&words, &["--block-size"]), Some(32));
        assert_eq!(number(&words, &["cache_config.num_gpu_blocks"]), Some(7));
        assert_eq!(number(&words, &["--max"]), None);
        assert_eq!(truth(&["a.b=True"], &["a.b"]), Some(true));
    }
}
