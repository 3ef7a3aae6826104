//! Every model in one list.

use super::{ampere, blackwell, blackwell_rtx, hopper, hopper_large, unlisted, without_mig};
use crate::gpu::Sku;

/// Every model that is known: those with MIG first, then those of which only a PCI id is known, then
/// those without MIG.
pub static SKUS: [&Sku; 40] = [
    &ampere::A30,
    &ampere::A100_40,
    &ampere::A100_80,
    &ampere::A100_64,
    &hopper::H100_80_SXM,
    &hopper::H100_80_PCIE,
    &hopper::H100_94,
    &hopper::H100_64,
    &hopper::H100_96,
    &hopper_large::H20_96,
    &hopper_large::H20_141,
    &hopper_large::H200_141,
    &hopper_large::GH200_144,
    &blackwell::B200_180,
    &blackwell::B300_269,
    &blackwell::GB200_186,
    &blackwell::GB300_278,
    &blackwell_rtx::RTX_PRO_6000,
    &blackwell_rtx::RTX_PRO_5000,
    &blackwell_rtx::RTX_PRO_4500,
    &blackwell_rtx::THOR,
    &unlisted::RTX_PRO_5000_72,
    &unlisted::RTX_PRO_6000D,
    &unlisted::B200_168,
    &without_mig::L40S,
    &without_mig::L40,
    &without_mig::L4,
    &without_mig::T4,
    &without_mig::A10,
    &without_mig::A10G,
    &without_mig::A40,
    &without_mig::A16,
    &without_mig::V100_16,
    &without_mig::V100_32,
    &without_mig::P100,
    &without_mig::RTX_PRO_4000,
    &without_mig::RTX_4090,
    &without_mig::RTX_3090,
    &without_mig::GEFORCE,
    &without_mig::GB10,
];
