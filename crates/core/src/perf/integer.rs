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

/// Time that a pass takes to read the experts that its tokens choose, at 1, 2, 4 … 8,192 tokens;
/// between these a straight line, and the last one beyond them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertReads([Picoseconds; 14]);

impl ExpertReads {
    /// From the time, in seconds, that so many tokens take.
    pub fn new(time_s: impl Fn(f64) -> f64) -> Self {
        Self(std::array::from_fn(|power| {
            Picoseconds::from_seconds(time_s((1_u32 << power).into()))
        }))
    }

    fn at(&self, tokens: u64) -> Picoseconds {
        let Some(power) = tokens.checked_ilog2() else { return Picoseconds::ZERO };
        let index = power as usize;
        let (Some(low), Some(high)) = (self.0.get(index), self.0.get(index + 1)) else {
            return self.0[self.0.len() - 1];
        };
        *low + (*high - *low).scaled(tokens - (1 << power), 1 << power)
    }
}

/// The time of a pass, in whole picoseconds for each unit:
/// fixed + max(weights + experts, tokens · per_token) + prefill pairs · per_token_pair
/// + sequences · per_sequence + KV tokens · per_kv_token + tokens · communication_per_token.
///
/// The second term is the roofline: a pass either waits for the weights or for the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntegerStep {
    /// Host, kernel launches and fixed communication of each pass.
    pub fixed: Picoseconds,
    /// Reading the weights once.
    pub weights: Picoseconds,
    /// Reading the experts that the tokens choose, where there are any.
    pub experts: Option<ExpertReads>,
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
        let experts = self.experts.map_or(Picoseconds::ZERO, |reads| reads.at(pass.tokens));
        self.fixed
            + (self.weights + experts).max(self.per_token * pass.tokens)
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
