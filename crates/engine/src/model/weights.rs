//! Names, shapes and seeded initial values of the weights.

use std::collections::BTreeMap;

use candle_core::{Device, Result, Tensor};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::ModelConfig;

/// The weights of one decoder layer. Matrices are stored as `[output width, input width]`.
#[derive(Debug, Clone)]
pub(crate) struct LayerWeights {
    pub(crate) attention_norm: Tensor,
    pub(crate) query: Tensor,
    pub(crate) key: Tensor,
    pub(crate) value: Tensor,
    pub(crate) output: Tensor,
    pub(crate) feed_forward_norm: Tensor,
    pub(crate) gate: Tensor,
    pub(crate) up: Tensor,
    pub(crate) down: Tensor,
}

/// All weights of a model.
#[derive(Debug, Clone)]
pub struct DecoderWeights {
    pub(crate) embedding: Tensor,
    pub(crate) layers: Vec<LayerWeights>,
    pub(crate) final_norm: Tensor,
    pub(crate) head: Tensor,
}

impl DecoderWeights {
    /// Takes the weights out of a table of named tensors, sharing their storage.
    ///
    /// # Errors
    /// An error that names the first tensor that is missing or has another shape than `config` asks for.
    pub fn from_tensors(config: &ModelConfig, tensors: &BTreeMap<String, Tensor>) -> Result<Self> {
        let shapes = tensor_shapes(config);
        let take = |name: String| -> Result<Tensor> {
            let Some(tensor) = tensors.get(&name) else {
                candle_core::bail!("tensor {name} is missing");
            };
            match shapes.get(&name) {
                Some(shape) if tensor.dims() == shape.as_slice() => Ok(tensor.clone()),
                Some(shape) => candle_core::bail!(
                    "tensor {name} is {:?} and should be {shape:?}",
                    tensor.dims()
                ),
                None => candle_core::bail!("tensor {name} is no part of this model"),
            }
        };
        let layers = (0..config.layers)
            .map(|layer| {
                let part = |name: &str| take(layer_name(layer, name));
                Ok(LayerWeights {
                    attention_norm: part("attention_norm")?,
                    query: part("query")?,
                    key: part("key")?,
                    value: part("value")?,
                    output: part("output")?,
                    feed_forward_norm: part("feed_forward_norm")?,
                    gate: part("gate")?,
                    up: part("up")?,
                    down: part("down")?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            embedding: take("embedding".to_owned())?,
            layers,
            final_norm: take("final_norm".to_owned())?,
            head: take("head".to_owned())?,
        })
    }
}

fn layer_name(layer: usize, name: &str) -> String {
    // Three digits keep the alphabetical order of the table equal to the order of the layers.
    format!("layer.{layer:03}.{name}")
}

/// The name and shape of each tensor of a model, in the order of their names.
pub(crate) fn tensor_shapes(config: &ModelConfig) -> BTreeMap<String, Vec<usize>> {
    let ModelConfig { width, hidden, vocabulary, .. } = *config;
    let kv_width = config.kv_width();
    let mut shapes = BTreeMap::from([
        ("embedding".to_owned(), vec![vocabulary, width]),
        ("final_norm".to_owned(), vec![width]),
        ("head".to_owned(), vec![vocabulary, width]),
    ]);
    for layer in 0..config.layers {
        for (name, shape) in [
            ("attention_norm", vec![width]),
            ("query", vec![width, width]),
            ("key", vec![kv_width, width]),
            ("value", vec![kv_width, width]),
            ("output", vec![width, width]),
            ("feed_forward_norm", vec![width]),
            ("gate", vec![hidden, width]),
            ("up", vec![hidden, width]),
            ("down", vec![width, hidden]),
        ] {
            shapes.insert(layer_name(layer, name), shape);
        }
    }
    shapes
}

/// Draws the initial weights of a model from a seed.
///
/// Norms are one. A matrix is uniform with variance 1/fan-in (LeCun et al., Efficient BackProp, 1998), and the two that
/// write into the residual stream are divided by √(2 · layers), so that its variance does not grow with depth (Radford
/// et al., GPT-2, 2019). Equal seeds and shapes give equal bytes on every machine.
///
/// # Errors
/// Whatever the device answers when the tensors are copied to it.
pub fn initial_tensors(
    config: &ModelConfig,
    seed: u64,
    device: &Device,
) -> Result<BTreeMap<String, Tensor>> {
    let mut random = Pcg64::seed_from_u64(seed);
    let residual_scale = 1.0 / ((2 * config.layers) as f32).sqrt();
    tensor_shapes(config)
        .into_iter()
        .map(|(name, shape)| {
            let elements = shape.iter().product();
            let values = if let [_, fan_in] = shape[..] {
                let into_residual = name.ends_with("output") || name.ends_with("down");
                let scale = if into_residual { residual_scale } else { 1.0 };
                // A uniform variable on ±a has variance a²/3.
                let bound = scale * (3.0 / fan_in as f32).sqrt();
                (0..elements).map(|_| random.random_range(-bound..bound)).collect()
            } else {
                vec![1f32; elements]
            };
            Ok((name, Tensor::from_vec(values, shape, device)?))
        })
        .collect()
}

/// Cosines and sines of the rotary positions, each `[positions, head width / 2]`.
///
/// # Errors
/// Whatever the device answers when the tensors are copied to it.
pub(crate) fn rotary_tables(
    config: &ModelConfig,
    positions: usize,
    device: &Device,
) -> Result<(Tensor, Tensor)> {
    let half = config.head_width() / 2;
    let angles: Vec<f32> = (0..positions)
        .flat_map(|position| {
            (0..half).map(move |index| {
                position as f32 / ModelConfig::ROPE_BASE.powf(index as f32 / half as f32)
            })
        })
        .collect();
    let angles = Tensor::from_vec(angles, (positions, half), device)?;
    Ok((angles.cos()?, angles.sin()?))
}
