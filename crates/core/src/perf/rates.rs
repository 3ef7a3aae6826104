//! Peak rates of GPUs as their makers state them: what nothing reaches, and what efficiencies are
//! shares of.

use thiserror::Error;

/// What a GPU could do at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakRates {
    /// The id of the card in the catalogue: `h100-80-sxm`.
    pub sku: &'static str,
    /// Floating-point operations of bfloat16 matrices each second, without sparsity.
    pub flops_bf16: f64,
    /// The same in eight bits; `None` where the card has none.
    pub flops_fp8: Option<f64>,
    /// Bytes of its memory each second.
    pub memory_bytes_per_s: f64,
    /// Bytes each second to another GPU, in one direction.
    pub link_bytes_per_s: f64,
}

/// No peak rates are known of a card.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the peak rates of {sku} are not known; known are {}",
    RATES.iter().map(|rates| rates.sku).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownRates {
    /// The id that was asked for.
    pub sku: String,
}

impl PeakRates {
    /// Those of a card of the catalogue.
    ///
    /// # Errors
    /// No figures are at hand for the card; nothing is guessed from another.
    pub fn of(sku: &str) -> Result<&'static Self, UnknownRates> {
        let found = RATES.iter().find(|rates| rates.sku == sku);
        found.ok_or_else(|| UnknownRates { sku: sku.to_owned() })
    }

    /// Operations each second with weights of so many bytes.
    pub fn flops(&self, weight_bytes: f64) -> f64 {
        if weight_bytes <= 1.0 {
            self.flops_fp8.unwrap_or(self.flops_bf16)
        } else {
            self.flops_bf16
        }
    }
}

const TERA: f64 = 1e12;
const GIGA: f64 = 1e9;

/// NVIDIA's data sheets of A100, H100, H200, L40S and B200 (dense figures; NVLink halved to one
/// direction, PCIe for the L40S).
static RATES: [PeakRates; 6] = [
    PeakRates {
        sku: "a100-40",
        flops_bf16: 312.0 * TERA,
        flops_fp8: None,
        memory_bytes_per_s: 1555.0 * GIGA,
        link_bytes_per_s: 300.0 * GIGA,
    },
    PeakRates {
        sku: "a100-80",
        flops_bf16: 312.0 * TERA,
        flops_fp8: None,
        memory_bytes_per_s: 2039.0 * GIGA,
        link_bytes_per_s: 300.0 * GIGA,
    },
    PeakRates {
        sku: "h100-80-sxm",
        flops_bf16: 989.4 * TERA,
        flops_fp8: Some(1978.9 * TERA),
        memory_bytes_per_s: 3350.0 * GIGA,
        link_bytes_per_s: 450.0 * GIGA,
    },
    PeakRates {
        sku: "h200-141",
        flops_bf16: 989.4 * TERA,
        flops_fp8: Some(1978.9 * TERA),
        memory_bytes_per_s: 4800.0 * GIGA,
        link_bytes_per_s: 450.0 * GIGA,
    },
    PeakRates {
        sku: "l40s",
        flops_bf16: 362.0 * TERA,
        flops_fp8: Some(733.0 * TERA),
        memory_bytes_per_s: 864.0 * GIGA,
        link_bytes_per_s: 32.0 * GIGA,
    },
    PeakRates {
        sku: "b200-180",
        flops_bf16: 2250.0 * TERA,
        flops_fp8: Some(4500.0 * TERA),
        memory_bytes_per_s: 8000.0 * GIGA,
        link_bytes_per_s: 900.0 * GIGA,
    },
];
