//! The time of a pass as a sum of terms that each have a cause, and where each of them is known from.

use super::integer::{ExpertReads, IntegerStep};
use crate::evidence::Origin;
use crate::units::Picoseconds;

/// A number with what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// The value, in the unit that its place says.
    pub value: f64,
    /// Between which values it lies (95 %), where that is known.
    pub interval: Option<(f64, f64)>,
    /// Where it comes from.
    pub origin: Origin,
}

impl Coefficient {
    /// A value that nothing of the site has shown.
    pub fn assumed(value: f64) -> Self {
        Self { value, interval: None, origin: Origin::Assumed }
    }
}

/// The time of a pass: host + max(weights + experts, tokens · per token) + pairs · per pair
/// + sequences · per sequence + KV tokens · per KV token + communication.
///
/// Weights and arithmetic overlap, so the longer of the two counts: a sum of both would overcharge
/// passes in which prompts and decoding sequences are mixed. All in seconds, for each unit that the
/// name says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepModel {
    /// Scheduler, launches of kernels, sampling: each pass, whatever is in it.
    pub host: Coefficient,
    /// Reading the weights that every pass reads.
    pub weights: Coefficient,
    /// Reading all experts; a pass reads those that its tokens choose.
    pub experts: Coefficient,
    /// How many experts there are, how many each token chooses, and how independently its tokens
    /// choose: `None` without experts.
    pub choice: Option<ExpertChoice>,
    /// Arithmetic of the layers, for each token.
    pub per_token: Coefficient,
    /// Attention of prompts, for each pair of a new token and one that it looks at.
    pub per_token_pair: Coefficient,
    /// Each decoding sequence.
    pub per_sequence: Coefficient,
    /// Reading the KV cache, for each token in it.
    pub per_kv_token: Coefficient,
    /// Communication between GPUs, each pass.
    pub communication: Coefficient,
    /// The same, for each token.
    pub communication_per_token: Coefficient,
    /// Outside of the passes, once for each request: its way to the engine and its first token's
    /// way back.
    pub per_request: Coefficient,
}

/// How the tokens of a pass choose experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertChoice {
    /// Experts of a layer.
    pub count: u32,
    /// Experts that a token chooses.
    pub chosen: u32,
    /// `n` tokens choose as `n` to this power independent ones would: 1 where they have nothing in
    /// common.
    pub independence: f64,
}

impl ExpertChoice {
    /// The share of a layer's experts that a pass of so many tokens reads: one less the chance that
    /// none of the independent ones chose a given expert.
    pub fn share_read(&self, tokens: f64) -> f64 {
        let missed = 1.0 - f64::from(self.chosen) / f64::from(self.count.max(1));
        1.0 - missed.powf(tokens.powf(self.independence))
    }
}

/// How much longer parts of a pass take beside a neighbour: 1 alone. Fitted from tests A and C of
/// one site, and never true of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multipliers {
    /// Of arithmetic.
    pub compute: f64,
    /// Of reading memory.
    pub bandwidth: f64,
    /// Of what the host does.
    pub host: f64,
}

impl Default for Multipliers {
    fn default() -> Self {
        Self { compute: 1.0, bandwidth: 1.0, host: 1.0 }
    }
}

impl StepModel {
    /// A model without any time, to be filled.
    pub fn zero(origin: Origin) -> Self {
        let none = Coefficient { value: 0.0, interval: None, origin };
        Self {
            host: none,
            weights: none,
            experts: none,
            choice: None,
            per_token: none,
            per_token_pair: none,
            per_sequence: none,
            per_kv_token: none,
            communication: none,
            communication_per_token: none,
            per_request: none,
        }
    }

    /// The same in whole picoseconds, beside a neighbour that makes its parts longer. Communication
    /// between GPUs is left as it is.
    pub fn integer(&self, beside: Multipliers) -> IntegerStep {
        let time = |coefficient: Coefficient, multiplier: f64| {
            Picoseconds::from_seconds(coefficient.value * multiplier)
        };
        IntegerStep {
            fixed: time(self.host, beside.host) + time(self.communication, 1.0),
            weights: time(self.weights, beside.bandwidth),
            experts: self.choice.map(|choice| {
                let all_s = self.experts.value * beside.bandwidth;
                ExpertReads::new(|tokens| all_s * choice.share_read(tokens))
            }),
            per_token: time(self.per_token, beside.compute),
            per_token_pair: time(self.per_token_pair, beside.compute),
            per_sequence: time(self.per_sequence, beside.host),
            per_kv_token: time(self.per_kv_token, beside.bandwidth),
            communication_per_token: time(self.communication_per_token, 1.0),
        }
    }

    /// What a request takes outside of the passes, beside a neighbour.
    pub fn request(&self, beside: Multipliers) -> Picoseconds {
        Picoseconds::from_seconds(self.per_request.value * beside.host)
    }
}
