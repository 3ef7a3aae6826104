//! The forward pass of serving: many sequences at once, each with its own key-value cache.
//!
//! The rows of all sequences go through the matrices together, because a matrix product of eight rows costs little more
//! than one of a single row; only attention looks at each sequence alone. A row may be a decoded token or one of a chunk
//! of a prompt, so one pass can hold both (Agrawal et al., Sarathi-Serve, 2024).

use candle_core::{Device, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::rope_thd;

use super::weights::{DecoderWeights, LayerWeights, rotary_tables};
use crate::{ModelConfig, TokenId};

/// Keys and values of one sequence, for all layers, in memory that is reserved when the sequence is admitted.
#[derive(Debug)]
pub struct KeyValueCache {
    /// Per layer, `[kv heads, capacity, head width]`.
    keys: Vec<Tensor>,
    values: Vec<Tensor>,
    length: usize,
    capacity: usize,
}

impl KeyValueCache {
    /// Number of tokens that it holds.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Number of tokens that it can hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// The part of one sequence that one forward pass computes.
#[derive(Debug)]
pub struct Segment<'a> {
    /// The sequence's cache; the pass appends the segment's tokens to it.
    pub cache: &'a mut KeyValueCache,
    /// The next tokens of the sequence; not empty.
    pub tokens: &'a [TokenId],
    /// Whether the logits after the last token are wanted.
    pub wants_logits: bool,
}

/// A model that is ready to serve.
#[derive(Debug)]
pub struct InferenceModel {
    config: ModelConfig,
    weights: DecoderWeights,
    cosines: Tensor,
    sines: Tensor,
    device: Device,
}

impl InferenceModel {
    /// Prepares `weights` for sequences of at most `positions` tokens.
    ///
    /// # Errors
    /// Whatever the device answers when the position tables are copied to it.
    pub fn new(
        config: ModelConfig,
        weights: DecoderWeights,
        positions: usize,
        device: &Device,
    ) -> Result<Self> {
        let (cosines, sines) = rotary_tables(&config, positions, device)?;
        Ok(Self { config, weights, cosines, sines, device: device.clone() })
    }

    /// Reserves the cache of a sequence of at most `capacity` tokens.
    ///
    /// # Errors
    /// Whatever the device answers when memory is reserved.
    pub fn new_cache(&self, capacity: usize) -> Result<KeyValueCache> {
        let shape = (self.config.kv_heads, capacity, self.config.head_width());
        let reserve = || -> Result<Vec<Tensor>> {
            (0..self.config.layers)
                .map(|_| Tensor::zeros(shape, candle_core::DType::F32, &self.device))
                .collect()
        };
        Ok(KeyValueCache { keys: reserve()?, values: reserve()?, length: 0, capacity })
    }

    /// Runs one pass over all segments and returns the logits, `[segments that want them, vocabulary]`, in their order.
    ///
    /// # Errors
    /// An error when a segment is empty or does not fit its cache or the position tables, or when an operation fails.
    pub fn forward(&self, segments: &mut [Segment<'_>]) -> Result<Option<Tensor>> {
        let layout = BatchLayout::new(segments, self.cosines.dim(0)?, &self.device)?;
        let mut rows = self.weights.embedding.index_select(&layout.tokens, 0)?;
        let cosines = self.cosines.index_select(&layout.positions, 0)?;
        let sines = self.sines.index_select(&layout.positions, 0)?;
        for (index, layer) in self.weights.layers.iter().enumerate() {
            let normed = rms_norm(&rows, &layer.attention_norm, ModelConfig::NORM_EPSILON)?;
            let attended =
                self.attention(index, layer, &normed, (&cosines, &sines), segments, &layout)?;
            rows = (rows + attended.matmul(&layer.output.t()?)?)?;
            let normed = rms_norm(&rows, &layer.feed_forward_norm, ModelConfig::NORM_EPSILON)?;
            let gated =
                (silu(&normed.matmul(&layer.gate.t()?)?)? * normed.matmul(&layer.up.t()?)?)?;
            rows = (rows + gated.matmul(&layer.down.t()?)?)?;
        }
        for segment in segments.iter_mut() {
            segment.cache.length += segment.tokens.len();
        }
        let Some(last_rows) = &layout.logit_rows else { return Ok(None) };
        let rows = rows.index_select(last_rows, 0)?;
        let rows = rms_norm(&rows, &self.weights.final_norm, ModelConfig::NORM_EPSILON)?;
        Ok(Some(rows.matmul(&self.weights.head.t()?)?))
    }

    /// Attention of all segments in one layer; returns `[rows, width]`.
    fn attention(
        &self,
        index: usize,
        layer: &LayerWeights,
        rows: &Tensor,
        (cosines, sines): (&Tensor, &Tensor),
        segments: &[Segment<'_>],
        layout: &BatchLayout,
    ) -> Result<Tensor> {
        let ModelConfig { heads, kv_heads, .. } = self.config;
        let head_width = self.config.head_width();
        let count = rows.dim(0)?;
        let scale = 1.0 / (head_width as f64).sqrt();
        let queries = rows.matmul(&layer.query.t()?)?.reshape((1, count, heads, head_width))?;
        let queries = (rope_thd(&queries, cosines, sines)?.squeeze(0)? * scale)?;
        let keys = rows.matmul(&layer.key.t()?)?.reshape((1, count, kv_heads, head_width))?;
        let keys = rope_thd(&keys, cosines, sines)?.squeeze(0)?;
        let values = rows.matmul(&layer.value.t()?)?.reshape((count, kv_heads, head_width))?;

        let mut outputs = Vec::with_capacity(segments.len());
        let mut start = 0;
        for (segment, mask) in segments.iter().zip(&layout.masks) {
            let length = segment.tokens.len();
            let cache = &*segment.cache;
            let total = cache.length + length;
            for (store, new) in [(&cache.keys[index], &keys), (&cache.values[index], &values)] {
                let new = new.narrow(0, start, length)?.transpose(0, 1)?.contiguous()?;
                store.slice_set(&new, 1, cache.length)?;
            }
            let past_keys = cache.keys[index].narrow(1, 0, total)?;
            let past_values = cache.values[index].narrow(1, 0, total)?;
            // The query heads that share one key head become further rows of it.
            let grouped = heads / kv_heads * length;
            let query = queries.narrow(0, start, length)?.transpose(0, 1)?.contiguous()?;
            let query = query.reshape((kv_heads, grouped, head_width))?;
            let scores = query.matmul(&past_keys.transpose(1, 2)?)?;
            let scores = match mask {
                Some(mask) => scores.reshape((heads, length, total))?.broadcast_add(mask)?,
                None => scores,
            };
            let shares = softmax_last_dim(&scores)?.reshape((kv_heads, grouped, total))?;
            let mixed = shares.matmul(&past_values)?.reshape((heads, length, head_width))?;
            outputs.push(mixed.transpose(0, 1)?.reshape((length, self.config.width))?);
            start += length;
        }
        Tensor::cat(&outputs, 0)
    }
}

/// What the layers need to know about the batch, worked out once for all of them.
struct BatchLayout {
    tokens: Tensor,
    positions: Tensor,
    logit_rows: Option<Tensor>,
    /// Per segment, the causal mask `[tokens, cached + tokens]`; none where a single row sees everything.
    masks: Vec<Option<Tensor>>,
}

impl BatchLayout {
    fn new(segments: &[Segment<'_>], positions_max: usize, device: &Device) -> Result<Self> {
        let mut tokens = Vec::new();
        let mut positions = Vec::new();
        let mut logit_rows = Vec::new();
        let mut masks = Vec::with_capacity(segments.len());
        for segment in segments {
            let past = segment.cache.length;
            let length = segment.tokens.len();
            if length == 0
                || past + length > segment.cache.capacity
                || past + length > positions_max
            {
                candle_core::bail!(
                    "a segment of {length} tokens after {past} does not fit a cache of {} and {positions_max} positions",
                    segment.cache.capacity
                );
            }
            tokens.extend_from_slice(segment.tokens);
            positions.extend((past..past + length).map(|position| position as u32));
            masks.push(if length == 1 { None } else { Some(causal_mask(past, length, device)?) });
            if segment.wants_logits {
                logit_rows.push(tokens.len() as u32 - 1);
            }
        }
        let logit_rows = if logit_rows.is_empty() {
            None
        } else {
            Some(Tensor::new(logit_rows.as_slice(), device)?)
        };
        Ok(Self {
            tokens: Tensor::new(tokens.as_slice(), device)?,
            positions: Tensor::new(positions.as_slice(), device)?,
            logit_rows,
            masks,
        })
    }
}

/// Zero where row i (at position `past + i`) may look and −∞ where it may not: `[length, past + length]`.
pub(super) fn causal_mask(past: usize, length: usize, device: &Device) -> Result<Tensor> {
    let total = past + length;
    let values: Vec<f32> = (0..length)
        .flat_map(|row| {
            (0..total).map(move |column| if column <= past + row { 0.0 } else { f32::NEG_INFINITY })
        })
        .collect();
    Tensor::from_vec(values, (length, total), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::initial_tensors;

    fn model() -> InferenceModel {
        let config = ModelConfig::new(3, 64, 4, 2);
        let tensors = initial_tensors(&config, 7, &Device::Cpu).unwrap();
        let weights = DecoderWeights::from_tensors(&config, &tensors).unwrap();
        InferenceModel::new(config, weights, 128, &Device::Cpu).unwrap()
    }

    fn prompt(length: usize, salt: u32) -> Vec<TokenId> {
        (0..length as u32).map(|index| (index * 37 + salt * 11) % 256).collect()
    }

    /// The logits after each token of `tokens`, computed by feeding them in chunks of the given sizes.
    fn in_chunks(model: &InferenceModel, tokens: &[TokenId], sizes: &[usize]) -> Vec<Vec<f32>> {
        let mut cache = model.new_cache(tokens.len()).unwrap();
        let mut rest = tokens;
        let mut logits = Vec::new();
        for &size in sizes {
            let (now, later) = rest.split_at(size);
            rest = later;
            let mut segments = [Segment { cache: &mut cache, tokens: now, wants_logits: true }];
            let out = model.forward(&mut segments).unwrap().unwrap();
            logits.push(out.to_vec2::<f32>().unwrap().remove(0));
        }
        assert!(rest.is_empty());
        assert_eq!(cache.length(), tokens.len());
        logits
    }

    fn assert_close(left: &[f32], right: &[f32]) {
        assert_eq!(left.len(), right.len());
        for (a, b) in left.iter().zip(right) {
            assert!((a - b).abs() < 2e-4, "{a} and {b} differ");
        }
    }

    #[test]
    fn decoding_from_the_cache_equals_a_pass_over_the_whole_context() {
        let model = model();
        let tokens = prompt(20, 1);
        let whole = in_chunks(&model, &tokens, &[20]);
        let decoded = in_chunks(&model, &tokens, &[16, 1, 1, 1, 1]);
        assert_close(&whole[0], &decoded[4]);
        // An intermediate position, too: its logits are those of the shorter context.
        assert_close(&in_chunks(&model, &tokens[..17], &[17])[0], &decoded[1]);
    }

    #[test]
    fn a_prompt_in_chunks_equals_the_prompt_at_once() {
        let model = model();
        let tokens = prompt(23, 2);
        let chunked = in_chunks(&model, &tokens, &[7, 9, 1, 6]);
        assert_close(&in_chunks(&model, &tokens, &[23])[0], &chunked[3]);
    }

    #[test]
    fn a_mixed_batch_equals_each_sequence_alone() {
        let model = model();
        let sequences = [prompt(9, 3), prompt(17, 4), prompt(30, 5)];
        let alone: Vec<Vec<f32>> = sequences
            .iter()
            .map(|tokens| in_chunks(&model, tokens, &[tokens.len() - 1, 1]).remove(1))
            .collect();
        let mut caches: Vec<KeyValueCache> =
            sequences.iter().map(|tokens| model.new_cache(tokens.len()).unwrap()).collect();
        // The first two have all but one token behind them; the third brings its whole prompt into the mixed pass.
        for (cache, tokens) in caches.iter_mut().zip(&sequences).take(2) {
            let tokens = &tokens[..tokens.len() - 1];
            assert!(
                model
                    .forward(&mut [Segment { cache, tokens, wants_logits: false }])
                    .unwrap()
                    .is_none()
            );
        }
        let mut segments: Vec<Segment<'_>> = caches
            .iter_mut()
            .zip(&sequences)
            .map(|(cache, tokens)| {
                let done = cache.length();
                Segment { cache, tokens: &tokens[done..], wants_logits: true }
            })
            .collect();
        let logits = model.forward(&mut segments).unwrap().unwrap();
        let together = logits.to_vec2::<f32>().unwrap();
        for (one, other) in together.iter().zip(&alone) {
            assert_close(one, other);
        }
        assert_eq!(together.len(), 3);
    }

    #[test]
    fn an_earlier_token_does_not_see_a_later_one() {
        let model = model();
        let mut tokens = prompt(12, 6);
        let before = in_chunks(&model, &tokens, &[6, 6]);
        tokens[11] = (tokens[11] + 1) % 256;
        let after = in_chunks(&model, &tokens, &[6, 6]);
        assert_close(&before[0], &after[0]);
        assert!(before[1].iter().zip(&after[1]).any(|(a, b)| (a - b).abs() > 1e-3));
    }

    #[test]
    fn a_segment_beyond_its_cache_is_an_error() {
        let model = model();
        let mut cache = model.new_cache(4).unwrap();
        let tokens = prompt(5, 1);
        let error = model.forward(&mut [Segment {
            cache: &mut cache,
            tokens: &tokens,
            wants_logits: true,
        }]);
        assert!(error.unwrap_err().to_string().contains("does not fit"));
        let mut long = model.new_cache(200).unwrap();
        let tokens = prompt(129, 1);
        assert!(
            model
                .forward(&mut [Segment { cache: &mut long, tokens: &tokens, wants_logits: true }])
                .is_err()
        );
    }
}
