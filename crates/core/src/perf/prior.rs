//! What a pass takes before anything was measured: the model's shape, the GPU's peak rates, and what
//! share of these real engines reach.

use super::architecture::Architecture;
use super::model::{Coefficient, ExpertChoice, StepModel};
use super::rates::PeakRates;

/// What real engines make of peak rates, the same for all models and GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Efficiencies {
    /// Share of the memory's peak at which weights are read.
    pub weights: f64,
    /// Share of the arithmetic's peak that the layers reach.
    pub compute: f64,
    /// Share of the memory's peak at which the KV cache is read.
    pub kv: f64,
    /// Host time of each pass, seconds.
    pub host_s: f64,
    /// Launches and small kernels, each layer of each pass, seconds.
    pub layer_s: f64,
    /// Each decoding sequence of a pass, seconds.
    pub sequence_s: f64,
    /// Each of the two all-reduces of a layer, without their bytes, seconds.
    pub all_reduce_s: f64,
    /// Share of the memory's peak at which chosen experts are read.
    pub experts: f64,
    /// Share of what the layers reach of the arithmetic's peak that experts reach: each gets few of
    /// the tokens.
    pub expert_compute: f64,
    /// Routing tokens to experts and back, each such layer of each pass, seconds.
    pub expert_layer_s: f64,
    /// How independently tokens choose experts; see [`ExpertChoice::independence`].
    pub independence: f64,
    /// Outside of the passes, each request, seconds.
    pub request_s: f64,
}

/// Share of a link's peak that all-reduces of prompts reach. Assumed: too few of the runs that the
/// other efficiencies come from depend on it to tell.
const LINK: f64 = 0.6;

/// The names of the efficiencies, in the order of [`Efficiencies::to_array`].
pub const EFFICIENCY_NAMES: [&str; 12] = [
    "weights",
    "compute",
    "KV cache",
    "host, s",
    "layer, s",
    "sequence, s",
    "all-reduce, s",
    "experts",
    "expert compute",
    "expert layer, s",
    "independence",
    "request, s",
];

impl Efficiencies {
    /// In the order of the fields.
    pub fn to_array(self) -> [f64; 12] {
        [
            self.weights,
            self.compute,
            self.kv,
            self.host_s,
            self.layer_s,
            self.sequence_s,
            self.all_reduce_s,
            self.experts,
            self.expert_compute,
            self.expert_layer_s,
            self.independence,
            self.request_s,
        ]
    }

    /// From the order of the fields.
    pub fn from_array(values: [f64; 12]) -> Self {
        let [
            weights,
            compute,
            kv,
            host_s,
            layer_s,
            sequence_s,
            all_reduce_s,
            experts,
            expert_compute,
            expert_layer_s,
            independence,
            request_s,
        ] = values;
        Self {
            weights,
            compute,
            kv,
            host_s,
            layer_s,
            sequence_s,
            all_reduce_s,
            experts,
            expert_compute,
            expert_layer_s,
            independence,
            request_s,
        }
    }
}

impl Efficiencies {
    /// Before any run of a whole engine was looked at: what kernels of vLLM were measured to reach
    /// on an H100 (weights at 3.0 TB/s, the KV cache at 3.2 TB/s), and guesses of the right size for
    /// the rest. A fit begins here.
    pub fn before_any_run() -> Self {
        Self {
            weights: 0.85,
            compute: 0.6,
            kv: 0.85,
            host_s: 1e-3,
            layer_s: 15e-6,
            sequence_s: 10e-6,
            all_reduce_s: 12e-6,
            experts: 0.6,
            expert_compute: 0.4,
            expert_layer_s: 60e-6,
            independence: 0.7,
            request_s: 6e-3,
        }
    }
}

impl Default for Efficiencies {
    /// Fitted on nine public runs of vLLM 0.15.1 on H100s (inference-sim's accuracy validation), of
    /// seven models from 7B to a mixture of 16 experts, on one to four GPUs; see
    /// `docs/performance.md`. Parts that these runs do not tell apart are known by their sum only.
    fn default() -> Self {
        Self {
            weights: 0.867,
            compute: 0.785,
            kv: 0.738,
            host_s: 0.944e-3,
            layer_s: 12.4e-6,
            sequence_s: 7.05e-6,
            all_reduce_s: 4.3e-6,
            experts: 0.896,
            expert_compute: 0.112,
            expert_layer_s: 232e-6,
            independence: 0.387,
            request_s: 10.6e-3,
        }
    }
}

/// The step of a model on `gpus` GPUs in tensor parallelism, from shapes and peak rates alone: every
/// coefficient is `assumed`.
pub fn prior(
    shape: &Architecture,
    rates: &PeakRates,
    gpus: u32,
    reached: &Efficiencies,
) -> StepModel {
    let gpus_count = f64::from(gpus.max(1));
    let layers = f64::from(shape.layers);
    let memory = rates.memory_bytes_per_s * gpus_count;
    let flops = rates.flops(shape.weight_bytes) * gpus_count * reached.compute;
    let attention_flops = rates.flops_bf16 * gpus_count * reached.compute;
    let of_experts = shape.flops_of_experts_per_token();
    // Each all-reduce sends every GPU's part to all others and the sums back (ring).
    let (reduces, shared) =
        if gpus > 1 { (2.0 * layers, 2.0 * (gpus_count - 1.0) / gpus_count) } else { (0.0, 0.0) };
    let activation_bytes = 2.0 * f64::from(shape.hidden);
    let link = rates.link_bytes_per_s * LINK;
    let known = Coefficient::assumed;
    StepModel {
        host: known(
            reached.host_s
                + layers * reached.layer_s
                + shape.experts.map_or(0.0, |_| layers * reached.expert_layer_s),
        ),
        weights: known(shape.bytes_always() / (memory * reached.weights)),
        experts: known(shape.bytes_of_experts() / (memory * reached.experts)),
        choice: shape.experts.map(|experts| ExpertChoice {
            count: experts.count,
            chosen: experts.chosen,
            independence: reached.independence,
        }),
        per_token: known(
            (shape.flops_per_token() - of_experts + of_experts / reached.expert_compute) / flops,
        ),
        per_token_pair: known(shape.flops_per_pair() / attention_flops),
        per_sequence: known(reached.sequence_s),
        per_kv_token: known(shape.kv_bytes_per_token() / (memory * reached.kv)),
        communication: known(reduces * reached.all_reduce_s),
        communication_per_token: known(reduces * shared * activation_bytes / link),
        per_request: known(reached.request_s),
    }
}
