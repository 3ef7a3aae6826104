//! AdamW (Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019, algorithm 2) whose moments can be saved.
//!
//! m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², θ ← θ − η·(m̂ / (√v̂ + ε) + λθ), with m̂ = m / (1 − β₁ᵗ) and
//! v̂ = v / (1 − β₂ᵗ). Only matrices decay. A run that resumes without its moments is a different run, so they belong to
//! the checkpoint.

use std::collections::BTreeMap;

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, InplaceOp2, InplaceOp3, Layout, Result, Tensor, Var};

const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.99;
const EPSILON: f64 = 1e-8;
const WEIGHT_DECAY: f64 = 0.01;

/// One parameter and its two moments.
#[derive(Debug)]
struct Slot {
    parameter: Var,
    first: Var,
    second: Var,
}

/// The optimiser and the parameters that it updates, by name.
#[derive(Debug)]
pub(crate) struct AdamW {
    slots: BTreeMap<String, Slot>,
}

impl AdamW {
    /// Starts with moments of zero.
    pub(crate) fn new(parameters: &BTreeMap<String, Tensor>) -> Result<Self> {
        let zeros: BTreeMap<String, Tensor> = parameters
            .iter()
            .map(|(name, tensor)| Ok((name.clone(), tensor.zeros_like()?)))
            .collect::<Result<_>>()?;
        Self::with_moments(parameters, &zeros, &zeros)
    }

    /// Starts with the given parameters and moments, copying all three.
    pub(crate) fn with_moments(
        parameters: &BTreeMap<String, Tensor>,
        first: &BTreeMap<String, Tensor>,
        second: &BTreeMap<String, Tensor>,
    ) -> Result<Self> {
        let slots = parameters
            .iter()
            .map(|(name, parameter)| {
                let moment = |moments: &BTreeMap<String, Tensor>| match moments.get(name) {
                    Some(moment) if moment.dims() == parameter.dims() => {
                        Var::from_tensor(&moment.copy()?)
                    }
                    _ => {
                        candle_core::bail!("the moments of {name} are missing or of another shape")
                    }
                };
                let parameter = Var::from_tensor(&parameter.copy()?)?;
                Ok((
                    name.clone(),
                    Slot { parameter, first: moment(first)?, second: moment(second)? },
                ))
            })
            .collect::<Result<_>>()?;
        Ok(Self { slots })
    }

    /// The parameters, sharing their storage with the optimiser: an update is seen at once.
    pub(crate) fn parameters(&self) -> BTreeMap<String, Tensor> {
        self.slots
            .iter()
            .map(|(name, slot)| (name.clone(), slot.parameter.as_tensor().clone()))
            .collect()
    }

    /// First and second moments, sharing their storage with the optimiser.
    pub(crate) fn moments(&self) -> (BTreeMap<String, Tensor>, BTreeMap<String, Tensor>) {
        let collect = |take: fn(&Slot) -> &Var| {
            self.slots
                .iter()
                .map(|(name, slot)| (name.clone(), take(slot).as_tensor().clone()))
                .collect()
        };
        (collect(|slot| &slot.first), collect(|slot| &slot.second))
    }

    /// Updates every parameter that has a gradient; `step` counts from 1.
    pub(crate) fn update(
        &self,
        gradients: &GradStore,
        learning_rate: f64,
        step: u64,
    ) -> Result<()> {
        let rule = UpdateRule::new(learning_rate, step);
        for slot in self.slots.values() {
            let Some(gradient) = gradients.get(&slot.parameter) else { continue };
            let gradient = gradient.contiguous()?;
            let decays = slot.parameter.rank() > 1;
            if gradient.device().is_cpu() {
                update_in_place(slot, &gradient, &rule, decays)?;
            } else {
                update_by_tensors(slot, &gradient, &rule, decays)?;
            }
        }
        Ok(())
    }
}

/// The numbers of one update that are the same for all parameters.
struct UpdateRule {
    /// η / (1 − β₁ᵗ)
    first_scale: f64,
    /// 1 / (1 − β₂ᵗ)
    second_scale: f64,
    /// 1 − ηλ
    keep: f64,
}

impl UpdateRule {
    fn new(learning_rate: f64, step: u64) -> Self {
        let step = step as f64;
        Self {
            first_scale: learning_rate / (1.0 - FIRST_DECAY.powf(step)),
            second_scale: 1.0 / (1.0 - SECOND_DECAY.powf(step)),
            keep: 1.0 - learning_rate * WEIGHT_DECAY,
        }
    }
}

/// One pass over memory for each of the three arrays. The general way below makes ten, each with a fresh array, which
/// for a small model costs as much as the backward pass.
fn update_in_place(slot: &Slot, gradient: &Tensor, rule: &UpdateRule, decays: bool) -> Result<()> {
    slot.first.inplace_op2(gradient, &Blend { decay: FIRST_DECAY as f32, squared: false })?;
    slot.second.inplace_op2(gradient, &Blend { decay: SECOND_DECAY as f32, squared: true })?;
    slot.parameter.inplace_op3(
        &slot.first,
        &slot.second,
        &Descend {
            first_scale: rule.first_scale as f32,
            second_scale: rule.second_scale as f32,
            keep: if decays { rule.keep as f32 } else { 1.0 },
        },
    )
}

/// The same update by tensor operations, for devices that have no in-place kernel of ours.
fn update_by_tensors(
    slot: &Slot,
    gradient: &Tensor,
    rule: &UpdateRule,
    decays: bool,
) -> Result<()> {
    let blend = |moment: &Var, new: &Tensor, decay: f64| -> Result<()> {
        let blended = ((moment.as_tensor() * decay)? + (new * (1.0 - decay))?)?;
        moment.set(&blended)
    };
    blend(&slot.first, gradient, FIRST_DECAY)?;
    blend(&slot.second, &gradient.sqr()?, SECOND_DECAY)?;
    let root = ((slot.second.as_tensor() * rule.second_scale)?.sqrt()? + EPSILON)?;
    let descent = ((slot.first.as_tensor() * rule.first_scale)? / root)?;
    let kept = if decays {
        (slot.parameter.as_tensor() * rule.keep)?
    } else {
        slot.parameter.as_tensor().copy()?
    };
    slot.parameter.set(&(kept - descent)?)
}

/// `s1 ← decay · s1 + (1 − decay) · s2`, or with the square of `s2`.
struct Blend {
    decay: f32,
    squared: bool,
}

impl InplaceOp2 for Blend {
    fn name(&self) -> &'static str {
        "adamw-blend"
    }

    fn cpu_fwd(
        &self,
        s1: &mut CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
    ) -> Result<()> {
        let (moments, gradients) = (writable(s1, l1)?, readable(s2, l2)?);
        let share = 1.0 - self.decay;
        for (moment, &gradient) in moments.iter_mut().zip(gradients) {
            let new = if self.squared { gradient * gradient } else { gradient };
            *moment = self.decay * *moment + share * new;
        }
        Ok(())
    }
}

/// `s1 ← keep · s1 − first_scale · s2 / (√(second_scale · s3) + ε)`.
struct Descend {
    first_scale: f32,
    second_scale: f32,
    keep: f32,
}

impl InplaceOp3 for Descend {
    fn name(&self) -> &'static str {
        "adamw-descend"
    }

    fn cpu_fwd(
        &self,
        s1: &mut CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<()> {
        let (parameters, first, second) = (writable(s1, l1)?, readable(s2, l2)?, readable(s3, l3)?);
        for ((parameter, &first), &second) in parameters.iter_mut().zip(first).zip(second) {
            let root = (self.second_scale * second).sqrt() + EPSILON as f32;
            *parameter = self.keep * *parameter - self.first_scale * first / root;
        }
        Ok(())
    }
}

fn readable<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&storage.as_slice::<f32>()?[start..end]),
        None => candle_core::bail!("the optimiser needs contiguous tensors"),
    }
}

fn writable<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    match (layout.contiguous_offsets(), storage) {
        (Some((start, end)), CpuStorage::F32(values)) => Ok(&mut values[start..end]),
        _ => candle_core::bail!("the optimiser needs contiguous tensors of f32"),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    fn optimiser(values: &[f32]) -> AdamW {
        let matrix = Tensor::from_slice(values, (1, values.len()), &Device::Cpu).unwrap();
        let vector = Tensor::from_slice(values, values.len(), &Device::Cpu).unwrap();
        let parameters =
            BTreeMap::from([("matrix".to_owned(), matrix), ("vector".to_owned(), vector)]);
        AdamW::new(&parameters).unwrap()
    }

    fn values(optimiser: &AdamW, name: &str) -> Vec<f32> {
        optimiser.parameters()[name].flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Gradients of Σθ², which are 2θ.
    fn gradients(optimiser: &AdamW) -> GradStore {
        let parameters = optimiser.parameters();
        let sum = |name: &str| parameters[name].sqr().unwrap().sum_all().unwrap();
        (sum("matrix") + sum("vector")).unwrap().backward().unwrap()
    }

    #[test]
    fn first_steps_equal_the_formula_by_hand() {
        let optimiser = optimiser(&[1.0, -2.0]);
        optimiser.update(&gradients(&optimiser), 0.1, 1).unwrap();
        // At the first step m̂/√v̂ is the gradient's sign: θ − 0.1·sign, and for the matrix 0.1·0.01·θ less.
        for (actual, expected) in values(&optimiser, "vector").iter().zip([0.9, -1.9]) {
            assert!((actual - expected).abs() < 1e-6, "{actual}");
        }
        for (actual, expected) in values(&optimiser, "matrix").iter().zip([0.899, -1.898]) {
            assert!((actual - expected).abs() < 1e-6, "{actual}");
        }
        optimiser.update(&gradients(&optimiser), 0.1, 2).unwrap();
        // Second step of the first element: g₁ = 2, g₂ = 1.8.
        let first: f64 = (0.9 * 0.1 * 2.0 + 0.1 * 1.8) / (1.0 - 0.81);
        let second: f64 = (0.99 * 0.01 * 4.0 + 0.01 * 1.8 * 1.8) / (1.0 - 0.99 * 0.99);
        let expected = 0.9 - 0.1 * first / second.sqrt();
        assert!((f64::from(values(&optimiser, "vector")[0]) - expected).abs() < 1e-5);
    }

    #[test]
    fn both_ways_of_updating_agree() {
        let (fused, general) = (optimiser(&[0.5, -0.25, 3.0]), optimiser(&[0.5, -0.25, 3.0]));
        for step in 1..=20 {
            fused.update(&gradients(&fused), 0.1, step).unwrap();
            let gradients = gradients(&general);
            for slot in general.slots.values() {
                let gradient = gradients.get(&slot.parameter).unwrap();
                let rule = UpdateRule::new(0.1, step);
                update_by_tensors(slot, gradient, &rule, slot.parameter.rank() > 1).unwrap();
            }
        }
        for name in ["matrix", "vector"] {
            for (a, b) in values(&fused, name).iter().zip(values(&general, name)) {
                assert!((a - b).abs() < 1e-5, "{a} and {b} differ");
            }
        }
    }
}
