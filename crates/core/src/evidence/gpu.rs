//! Readings of GPUs, one a second.

use super::Reading;

/// One GPU at one instant. What a driver does not tell (utilisation under MIG) is a reading that
/// says so, never a zero.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuSample {
    /// Time from the block's start, nanoseconds.
    pub at_ns: u64,
    /// UUID of the GPU or of the MIG device.
    pub uuid: String,
    /// Share of the last sampling period in which a kernel ran, from 0 to 1.
    pub utilization_share: Reading<f64>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Reading<u64>,
    /// Clock of the multiprocessors, MHz.
    pub sm_clock_mhz: Reading<f64>,
    /// Clock of the memory, MHz.
    pub memory_clock_mhz: Reading<f64>,
    /// Power draw, watts.
    pub power_w: Reading<f64>,
    /// Power limit that is enforced, watts.
    pub power_limit_w: Reading<f64>,
    /// Temperature of the die, degrees Celsius.
    pub temperature_c: Reading<f64>,
    /// What holds the clocks down: "power cap", "thermal slowdown". Empty where nothing does.
    pub clocks_limited_by: Reading<Vec<String>>,
}
