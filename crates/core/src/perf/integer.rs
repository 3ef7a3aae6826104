//! The time of one pass in whole picoseconds, so that a run of passes is the sum of them exactly.

use crate::units::Picoseconds;

/// What one pass of an engine works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Tokens that go through the layers: those of prompts, and one for each decoding sequence.
    pub tokens: u64,
    /// Sequences that decode.
    pub sequences: u64,
    /// Tokens in the KV cache of the sequences that decode, before the pass.
    pub kv_tokens: u64,
    /// Pairs of tokens that the attention of prompts looks at: the sum over all chunks of
    /// chunk · (context before it + chunk/2), each rounded down.
    pub prefill_pairs: u64,
}

/// The time of a pass, in whole picoseconds for each unit:
/// fixed + max(weights, tokens · per_token) + prefill pairs · per_token_pair
/// + sequences · per_sequence + KV tokens · per_kv_token + tokens · communication_per_token.
///
/// The second term is the roofline: a pass either waits for the weights or for the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntegerStep {
    /// Host, kernel launches and fixed communication of each pass.
    pub fixed: Picoseconds,
    /// Reading the weights once.
    pub weights: Picoseconds,
    /// Arithmetic of the linear layers, for each token in the pass.
    pub per_token: Picoseconds,
    /// Attention of prompts, for each pair of a new token and one that it looks at.
    pub per_token_pair: Picoseconds,
    /// Attention and sampling, for each decoding sequence.
    pub per_sequence: Picoseconds,
    /// Reading the KV cache, for each token in it.
    pub per_kv_token: Picoseconds,
    /// Communication between GPUs, for each token in the pass.
    pub communication_per_token: Picoseconds,
}

impl IntegerStep {
    /// How long one pass takes. Saturates instead of wrapping.
    pub fn step(&self, pass: Pass) -> Picoseconds {
        self.fixed
            + self.weights.max(self.per_token * pass.tokens)
            + self.per_token_pair * pass.prefill_pairs
            + self.per_sequence * pass.sequences
            + self.per_kv_token * pass.kv_tokens
            + self.communication_per_token * pass.tokens
    }

    /// How much longer each pass is than the one before, while `sequences` decode and nothing else
    /// happens: each adds one token to the KV cache.
    pub fn decode_growth(&self, sequences: u64) -> Picoseconds {
        self.per_kv_token * sequences
    }

    /// The sum of `passes` passes in which `sequences` decode, of which the first finds `kv_tokens`
    /// in the cache. An arithmetic series, and therefore exact: n·first + growth·n(n − 1)/2.
    pub fn decode_run(&self, sequences: u64, kv_tokens: u64, passes: u64) -> Picoseconds {
        let first = self.step(Pass { tokens: sequences, sequences, kv_tokens, prefill_pairs: 0 });
        let pairs = passes.saturating_mul(passes.saturating_sub(1)) / 2;
        first * passes + self.decode_growth(sequences) * pairs
    }
}
