//! Which model is built: presets, overrides and the checks between them.

use candle_core::Device;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::EngineError;
use crate::tokenizer::VOCABULARY_SIZE;

/// Preset sizes of the reference model, named by their number of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModelSize {
    /// About 1.2 million parameters.
    Tiny,
    /// About 4.6 million parameters.
    Small,
    /// About 22 million parameters.
    Medium,
    /// About 55 million parameters.
    Large,
}

impl ModelSize {
    /// The shape of this preset.
    pub fn config(self) -> ModelConfig {
        let (layers, width, heads, kv_heads) = match self {
            Self::Tiny => (6, 128, 4, 2),
            Self::Small => (6, 256, 4, 2),
            Self::Medium => (8, 512, 8, 2),
            Self::Large => (12, 640, 10, 5),
        };
        ModelConfig::new(layers, width, heads, kv_heads)
    }
}

/// The shape of a model. Two models with equal shapes have tensors of equal names and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Number of decoder layers.
    pub layers: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Number of query heads; `width` is a multiple of it.
    pub heads: usize,
    /// Number of key and value heads; `heads` is a multiple of it.
    pub kv_heads: usize,
    /// Inner width of the SwiGLU block.
    pub hidden: usize,
    /// Number of token ids.
    pub vocabulary: usize,
}

impl ModelConfig {
    /// Base of the rotary frequencies (Su et al., RoFormer, section 3.2.2).
    pub const ROPE_BASE: f32 = 10_000.0;
    /// Added under the square root of RMSNorm (Zhang and Sennrich, 2019) so that it is defined for a zero row.
    pub const NORM_EPSILON: f32 = 1e-5;

    /// A shape whose SwiGLU width is 8/3 of `width`, rounded up to a multiple of 32, so that the three matrices cost what
    /// the two of a plain block with factor 4 would (Shazeer, GLU Variants Improve Transformer, 2020).
    pub fn new(layers: usize, width: usize, heads: usize, kv_heads: usize) -> Self {
        Self {
            layers,
            width,
            heads,
            kv_heads,
            hidden: (width * 8).div_ceil(3).next_multiple_of(32),
            vocabulary: VOCABULARY_SIZE,
        }
    }

    /// Width of one head.
    pub fn head_width(&self) -> usize {
        self.width / self.heads
    }

    /// Width of all key heads together, which is that of all value heads too.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_width()
    }

    /// Number of trainable parameters.
    pub fn parameters(&self) -> usize {
        let attention = 2 * self.width * self.width + 2 * self.width * self.kv_width();
        let feed_forward = 3 * self.width * self.hidden;
        let norms = 2 * self.width;
        self.layers * (attention + feed_forward + norms)
            + 2 * self.vocabulary * self.width
            + self.width
    }

    /// Checks that the shape can be built.
    ///
    /// # Errors
    /// [`EngineError::Arguments`] naming the first rule that is broken.
    pub fn check(&self) -> Result<(), EngineError> {
        let broken = |text: String| Err(EngineError::Arguments(text));
        if self.layers == 0 || self.width == 0 || self.heads == 0 || self.kv_heads == 0 {
            return broken(
                "--layers, --width, --heads and --kv-heads must be at least 1".to_owned(),
            );
        }
        if !self.width.is_multiple_of(self.heads) {
            return broken(format!(
                "--width {} is not a multiple of --heads {}",
                self.width, self.heads
            ));
        }
        if !self.head_width().is_multiple_of(2) {
            return broken(format!(
                "--width {} over --heads {} gives heads of {}; rotary positions need an even width",
                self.width,
                self.heads,
                self.head_width()
            ));
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return broken(format!(
                "--heads {} is not a multiple of --kv-heads {}",
                self.heads, self.kv_heads
            ));
        }
        Ok(())
    }
}

/// The options that choose the model, its seed and where it runs; shared by serving and training.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// Number of decoder layers [default: that of the preset]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub layers: Option<u16>,
    /// Width of the residual stream [default: that of the preset]
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..=16384))]
    pub width: Option<u16>,
    /// Number of query heads [default: that of the preset]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub heads: Option<u16>,
    /// Number of key and value heads [default: that of the preset]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub kv_heads: Option<u16>,
    /// Compute threads [default: the cores this process may use]
    #[arg(long)]
    pub threads: Option<std::num::NonZeroUsize>,
    /// Seed of the random weights and of everything else that is drawn
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Where to compute: `cpu`, or `cuda` or `cuda:N` in a build with the `cuda` feature
    #[arg(long, default_value = "cpu")]
    pub device: String,
}

impl ModelArgs {
    /// The shape that the preset and the overrides give together.
    ///
    /// # Errors
    /// [`EngineError::Arguments`] when the overrides contradict one another.
    pub fn config(&self, size: ModelSize) -> Result<ModelConfig, EngineError> {
        let preset = size.config();
        let pick = |value: Option<u16>, default: usize| value.map_or(default, usize::from);
        let config = ModelConfig::new(
            pick(self.layers, preset.layers),
            pick(self.width, preset.width),
            pick(self.heads, preset.heads),
            pick(self.kv_heads, preset.kv_heads),
        );
        config.check()?;
        Ok(config)
    }

    /// Opens the device that `--device` names.
    ///
    /// # Errors
    /// [`EngineError::Arguments`] for a name that is unknown or a device that this build cannot use.
    pub fn open_device(&self) -> Result<Device, EngineError> {
        let unknown = || {
            EngineError::Arguments(format!("--device {} is not cpu, cuda or cuda:N", self.device))
        };
        if self.device == "cpu" {
            return Ok(Device::Cpu);
        }
        let ordinal = match self.device.strip_prefix("cuda").ok_or_else(unknown)? {
            "" => 0,
            rest => {
                let number = rest.strip_prefix(':').ok_or_else(unknown)?;
                number.parse::<usize>().map_err(|_| unknown())?
            }
        };
        Device::new_cuda(ordinal).map_err(|error| {
            EngineError::Arguments(format!("--device {} cannot be used: {error}", self.device))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_as_large_as_documented() {
        for (size, millions) in [
            (ModelSize::Tiny, 1.2),
            (ModelSize::Small, 4.6),
            (ModelSize::Medium, 22.0),
            (ModelSize::Large, 55.0),
        ] {
            let config = size.config();
            config.check().unwrap();
            let actual = config.parameters() as f64 / 1e6;
            assert!(
                (actual / millions - 1.0).abs() < 0.03,
                "{size:?} has {actual} million parameters"
            );
        }
    }

    #[test]
    fn impossible_shapes_are_refused_by_name() {
        for (config, word) in [
            (ModelConfig::new(0, 128, 4, 2), "--layers"),
            (ModelConfig::new(2, 130, 4, 2), "multiple of --heads"),
            (ModelConfig::new(2, 12, 4, 2), "even"),
            (ModelConfig::new(2, 128, 4, 3), "--kv-heads"),
        ] {
            let text = config.check().unwrap_err().to_string();
            assert!(text.contains(word), "{text}");
        }
    }
}
