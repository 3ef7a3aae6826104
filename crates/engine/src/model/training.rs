//! The forward pass of training: whole sequences of equal length, with operations that have a gradient.

use candle_core::{D, Result, Tensor};
use candle_nn::loss::cross_entropy;
use candle_nn::ops::{rms_norm_slow, silu};
use candle_nn::rotary_emb::rope_slow;

use super::inference::causal_mask;
use super::weights::{DecoderWeights, LayerWeights, rotary_tables};
use crate::ModelConfig;

/// Mean cross entropy, in nats per token, of predicting `targets` from `inputs`; both are `[batch, sequence]` of `u32`.
///
/// # Errors
/// Whatever an operation answers.
pub(crate) fn training_loss(
    config: &ModelConfig,
    weights: &DecoderWeights,
    inputs: &Tensor,
    targets: &Tensor,
) -> Result<Tensor> {
    let logits = training_logits(config, weights, inputs)?;
    cross_entropy(&logits, &targets.flatten_all()?)
}

/// Logits of every position, `[batch · sequence, vocabulary]`.
pub(super) fn training_logits(
    config: &ModelConfig,
    weights: &DecoderWeights,
    inputs: &Tensor,
) -> Result<Tensor> {
    let (batch, sequence) = inputs.dims2()?;
    let device = inputs.device();
    let (cosines, sines) = rotary_tables(config, sequence, device)?;
    let mask = causal_mask(0, sequence, device)?;
    let context = Context { config, batch, sequence, cosines, sines, mask };
    let mut rows = weights.embedding.index_select(&inputs.flatten_all()?, 0)?;
    for layer in &weights.layers {
        let normed = rms_norm_slow(&rows, &layer.attention_norm, ModelConfig::NORM_EPSILON)?;
        rows = (rows + context.attention(layer, &normed)?)?;
        let normed = rms_norm_slow(&rows, &layer.feed_forward_norm, ModelConfig::NORM_EPSILON)?;
        let gated = (silu(&normed.matmul(&layer.gate.t()?)?)? * normed.matmul(&layer.up.t()?)?)?;
        rows = (rows + gated.matmul(&layer.down.t()?)?)?;
    }
    let rows = rms_norm_slow(&rows, &weights.final_norm, ModelConfig::NORM_EPSILON)?;
    rows.matmul(&weights.head.t()?)
}

/// What every layer needs beside its own weights.
struct Context<'a> {
    config: &'a ModelConfig,
    batch: usize,
    sequence: usize,
    cosines: Tensor,
    sines: Tensor,
    mask: Tensor,
}

impl Context<'_> {
    fn attention(&self, layer: &LayerWeights, rows: &Tensor) -> Result<Tensor> {
        let ModelConfig { heads, kv_heads, width, .. } = *self.config;
        let head_width = self.config.head_width();
        let (batch, sequence) = (self.batch, self.sequence);
        let split = |matrix: &Tensor, heads: usize| -> Result<Tensor> {
            rows.matmul(&matrix.t()?)?
                .reshape((batch, sequence, heads, head_width))?
                .transpose(1, 2)?
                .contiguous()
        };
        let scale = 1.0 / (head_width as f64).sqrt();
        let query = (rope_slow(&split(&layer.query, heads)?, &self.cosines, &self.sines)? * scale)?;
        let key = rope_slow(&split(&layer.key, kv_heads)?, &self.cosines, &self.sines)?;
        let value = split(&layer.value, kv_heads)?;
        // The query heads that share one key head become further rows of it.
        let grouped = heads / kv_heads * sequence;
        let query = query.reshape((batch, kv_heads, grouped, head_width))?;
        let scores = query.matmul(&key.transpose(2, 3)?)?;
        let scores =
            scores.reshape((batch, heads, sequence, sequence))?.broadcast_add(&self.mask)?;
        let shares = softmax(&scores)?.reshape((batch, kv_heads, grouped, sequence))?;
        let mixed = shares.matmul(&value)?.reshape((batch, heads, sequence, head_width))?;
        mixed.transpose(1, 2)?.reshape((batch * sequence, width))?.matmul(&layer.output.t()?)
    }
}

/// Softmax over the last dimension. The maximum only shifts the exponents, so no gradient needs to flow through it.
fn softmax(scores: &Tensor) -> Result<Tensor> {
    let largest = scores.max_keepdim(D::Minus1)?.detach();
    let exponentials = scores.broadcast_sub(&largest)?.exp()?;
    exponentials.broadcast_div(&exponentials.sum_keepdim(D::Minus1)?)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::model::{InferenceModel, Segment, initial_tensors};

    #[test]
    fn training_and_serving_compute_the_same_model() {
        let config = ModelConfig::new(2, 48, 6, 2);
        let tensors = initial_tensors(&config, 3, &Device::Cpu).unwrap();
        let weights = DecoderWeights::from_tensors(&config, &tensors).unwrap();
        let tokens: Vec<u32> = (0..15).map(|index| (index * 29 + 5) % 256).collect();
        let inputs = Tensor::new(tokens.as_slice(), &Device::Cpu).unwrap().unsqueeze(0).unwrap();
        let training =
            training_logits(&config, &weights, &inputs).unwrap().to_vec2::<f32>().unwrap();

        let model = InferenceModel::new(config, weights, 32, &Device::Cpu).unwrap();
        let mut cache = model.new_cache(15).unwrap();
        for (position, expected) in training.iter().enumerate() {
            let tokens = &tokens[position..=position];
            let logits = model
                .forward(&mut [Segment { cache: &mut cache, tokens, wants_logits: true }])
                .unwrap();
            let actual = logits.unwrap().to_vec2::<f32>().unwrap().remove(0);
            for (a, b) in actual.iter().zip(expected) {
                assert!((a - b).abs() < 2e-4, "{a} and {b} differ at position {position}");
            }
        }
    }
}
