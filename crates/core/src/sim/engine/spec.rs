//! What a replica is, and whether its numbers can be meant.

use thiserror::Error;

use crate::perf::IntegerStep;

/// What a replica does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Computes prompts and decodes.
    #[default]
    Both,
    /// Computes prompts, gives the first token, and hands the rest over.
    Prefill,
    /// Takes over what others computed, and decodes.
    Decode,
}

/// One replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaSpec {
    /// How long a pass takes.
    pub step: IntegerStep,
    /// Blocks of the KV cache. Blocks, not tokens.
    pub kv_blocks: u64,
    /// Tokens in a block.
    pub block_tokens: u32,
    /// Most sequences in a batch.
    pub sequences_max: u32,
    /// Most tokens in a pass, those of decoding sequences included.
    pub batched_tokens_max: u32,
    /// Most requests that run and wait; those that come beyond are refused.
    pub requests_max: Option<u32>,
    /// Whether beginnings of prompts that were computed before are used again.
    pub prefix_cache: bool,
    /// What it does.
    pub role: Role,
}

/// Why a replica cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SpecProblem {
    /// A count that must be at least 1 is 0.
    #[error("{name} is 0; it must be at least 1")]
    Zero {
        /// Which count.
        name: &'static str,
    },
    /// More sequences than tokens in a pass, so that some would never be given one.
    #[error(
        "a pass of at most {batched_tokens_max} tokens cannot take {sequences_max} sequences on; raise the tokens in a pass, or lower the sequences"
    )]
    PassTooSmall {
        /// Most tokens in a pass.
        batched_tokens_max: u32,
        /// Most sequences.
        sequences_max: u32,
    },
    /// A pass that takes no time would never let the clock go on.
    #[error("a pass of one token takes no time; give at least one of its coefficients")]
    TimelessPass,
    /// The KV cache would need more memory than there is.
    #[error(
        "{kv_blocks} KV blocks of {block_tokens} tokens need {needed_bytes} bytes, and {memory_bytes} are there: room for {fitting_blocks} blocks{}",
        if *tokens_for_blocks { "; the number of blocks looks like a number of tokens" } else { "" }
    )]
    KvBeyondMemory {
        /// Blocks stated.
        kv_blocks: u64,
        /// Tokens in a block.
        block_tokens: u32,
        /// Bytes that they need.
        needed_bytes: u64,
        /// Bytes for the cache.
        memory_bytes: u64,
        /// Blocks that fit.
        fitting_blocks: u64,
        /// Whether the number stated is about the number of tokens that fit.
        tokens_for_blocks: bool,
    },
    /// The KV cache leaves nearly all of its memory unused.
    #[error(
        "{kv_blocks} KV blocks of {block_tokens} tokens are less than a quarter of the {fitting_blocks} that fit into {memory_bytes} bytes; check their unit"
    )]
    KvFarBelowMemory {
        /// Blocks stated.
        kv_blocks: u64,
        /// Tokens in a block.
        block_tokens: u32,
        /// Bytes for the cache.
        memory_bytes: u64,
        /// Blocks that fit.
        fitting_blocks: u64,
    },
}

impl ReplicaSpec {
    /// Whether the numbers make a replica that gets on.
    pub fn check(&self) -> Result<(), SpecProblem> {
        let counts = [
            ("the number of KV blocks", self.kv_blocks),
            ("the number of tokens in a KV block", u64::from(self.block_tokens)),
            ("the number of sequences in a batch", u64::from(self.sequences_max)),
            ("the number of requests that may run and wait", self.requests_max.unwrap_or(1).into()),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(SpecProblem::Zero { name });
        }
        if self.batched_tokens_max < self.sequences_max {
            return Err(SpecProblem::PassTooSmall {
                batched_tokens_max: self.batched_tokens_max,
                sequences_max: self.sequences_max,
            });
        }
        check_step(&self.step)
    }

    /// Whether the KV blocks agree with the memory that they are said to lie in. A number of tokens
    /// or bytes in the place of blocks made other simulators wrong by whole factors, so this is
    /// asked before anything is simulated. One part in twenty is left for rounding.
    pub fn check_memory(
        &self,
        kv_bytes_per_token: u64,
        memory_bytes: u64,
    ) -> Result<(), SpecProblem> {
        let block_bytes = kv_bytes_per_token.saturating_mul(u64::from(self.block_tokens)).max(1);
        let needed_bytes = self.kv_blocks.saturating_mul(block_bytes);
        let fitting_blocks = memory_bytes / block_bytes;
        if needed_bytes > memory_bytes.saturating_add(memory_bytes / 20) {
            let fitting_tokens = memory_bytes / kv_bytes_per_token.max(1);
            return Err(SpecProblem::KvBeyondMemory {
                kv_blocks: self.kv_blocks,
                block_tokens: self.block_tokens,
                needed_bytes,
                memory_bytes,
                fitting_blocks,
                tokens_for_blocks: self.block_tokens > 1
                    && self.kv_blocks.abs_diff(fitting_tokens) <= fitting_tokens / 10,
            });
        }
        if self.kv_blocks.saturating_mul(4) < fitting_blocks {
            return Err(SpecProblem::KvFarBelowMemory {
                kv_blocks: self.kv_blocks,
                block_tokens: self.block_tokens,
                memory_bytes,
                fitting_blocks,
            });
        }
        Ok(())
    }
}

/// Whether the clock goes on in each pass.
pub(super) fn check_step(step: &IntegerStep) -> Result<(), SpecProblem> {
    let pass = crate::perf::Pass { tokens: 1, ..Default::default() };
    if step.step(pass).0 == 0 {
        return Err(SpecProblem::TimelessPass);
    }
    Ok(())
}
