//! A request, and where it stands.

use crate::units::Picoseconds;

/// A beginning that several prompts have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Which group of requests shares it.
    pub group: u32,
    /// How many tokens of the prompt are shared.
    pub tokens: u32,
}

/// A request as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimRequest {
    /// Its number; the caller's own.
    pub id: u64,
    /// When it arrives.
    pub at: Picoseconds,
    /// Tokens of its prompt. One without any counts as one of one token.
    pub prompt_tokens: u32,
    /// Tokens that it will be given. A pass that ends a prompt always gives one.
    pub output_tokens: u32,
    /// A class to tell results apart; the engine serves all alike.
    pub class: u16,
    /// What its prompt has in common with others.
    pub prefix: Option<Prefix>,
}

impl SimRequest {
    /// Tokens in the KV cache when it ends. The last token is never fed back.
    pub fn kv_tokens_at_end(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.output_tokens) - 1
    }
}

/// A request within the engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub(super) request: SimRequest,
    /// Tokens given so far.
    pub(super) emitted: u32,
    /// Tokens in the KV cache; of a decoding sequence, those when it began to.
    pub(super) computed: u32,
    /// KV tokens that came from another replica and wait to be taken over.
    pub(super) received: u32,
    /// Blocks at the beginning that belong to its group.
    pub(super) shared_blocks: u32,
    /// Times in a row that it gave its blocks up with less than a block of tokens in between.
    pub(super) evictions: u32,
    pub(super) emitted_at_eviction: u32,
    pub(super) admitted_before: bool,
    pub(super) first_token_at: Picoseconds,
    pub(super) last_token_at: Picoseconds,
}

impl Sequence {
    pub(super) fn new(mut request: SimRequest) -> Self {
        request.prompt_tokens = request.prompt_tokens.max(1);
        request.output_tokens = request.output_tokens.max(1);
        Self {
            request,
            emitted: 0,
            computed: 0,
            received: 0,
            shared_blocks: 0,
            evictions: 0,
            emitted_at_eviction: 0,
            admitted_before: false,
            first_token_at: Picoseconds::ZERO,
            last_token_at: Picoseconds::ZERO,
        }
    }

    /// Tokens known: the prompt and what was given. All but the last must be computed to go on.
    pub(super) fn tokens(&self) -> u32 {
        self.request.prompt_tokens + self.emitted
    }

    pub(super) fn is_done(&self) -> bool {
        self.emitted >= self.request.output_tokens
    }
}
