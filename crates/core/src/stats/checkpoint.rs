//! How often to save a training job, and how much of a window is left for it.

use super::refusal::Refusal;

/// Young's checkpoint interval √(2CM) (CACM 1974): work between two checkpoints in the unit of
/// `cost`, for a checkpoint that costs C and a mean time M to an unannounced loss.
pub fn young_interval(cost: f64, mean_time_to_loss: f64) -> Result<f64, Refusal> {
    check_positive("checkpoint cost", cost)?;
    check_positive("mean time to loss", mean_time_to_loss)?;
    Ok((2.0 * cost * mean_time_to_loss).sqrt())
}

/// Daly's higher-order interval (Future Generation Computer Systems 2006):
/// √(2CM)·[1 + ⅓√(C/2M) + (1/9)(C/2M)] − C for C < 2M, else M.
///
/// ```
/// # use cotenant_core::stats::daly_interval;
/// // A checkpoint of 6.3 s and a loss every four hours: save every seven minutes.
/// assert!((daly_interval(6.3, 14_400.0)? - 421.768).abs() < 1e-3);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn daly_interval(cost: f64, mean_time_to_loss: f64) -> Result<f64, Refusal> {
    let young = young_interval(cost, mean_time_to_loss)?;
    if cost >= 2.0 * mean_time_to_loss {
        return Ok(mean_time_to_loss);
    }
    let ratio = cost / (2.0 * mean_time_to_loss);
    Ok(young * (1.0 + ratio.sqrt() / 3.0 + ratio / 9.0) - cost)
}

/// Exact expected overhead, as a share of the work, of saving after each `interval` of work when
/// losses are exponential with mean M, a checkpoint costs C and a restart R:
/// e^(R/M)·M·(e^((T+C)/M) − 1)/T − 1 (Daly 2006). All in one unit of time.
pub fn checkpoint_overhead(
    interval: f64,
    cost: f64,
    mean_time_to_loss: f64,
    restart: f64,
) -> Result<f64, Refusal> {
    check_positive("checkpoint interval", interval)?;
    check_positive("mean time to loss", mean_time_to_loss)?;
    check_not_negative("checkpoint cost", cost)?;
    check_not_negative("restart time", restart)?;
    let cycle = ((interval + cost) / mean_time_to_loss).exp_m1();
    Ok((restart / mean_time_to_loss).exp() * mean_time_to_loss * cycle / interval - 1.0)
}

/// Useful time of a window: max(0, W − T_in − T_out − C), the time left between the transition into
/// it, the transition out of it and the save at its end. All in one unit.
///
/// ```
/// # use cotenant_core::stats::useful_window;
/// // Five minutes with 90 s in, 35 s out and a save of 30 s leave 145 s; one minute leaves nothing.
/// assert_eq!(useful_window(300.0, 90.0, 35.0, 30.0)?, 145.0);
/// assert_eq!(useful_window(60.0, 90.0, 35.0, 30.0)?, 0.0);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn useful_window(
    window: f64,
    transition_in: f64,
    transition_out: f64,
    save: f64,
) -> Result<f64, Refusal> {
    check_not_negative("window", window)?;
    check_not_negative("transition into the window", transition_in)?;
    check_not_negative("transition out of the window", transition_out)?;
    check_not_negative("save at the end of the window", save)?;
    Ok((window - transition_in - transition_out - save).max(0.0))
}

pub(super) fn check_positive(name: &'static str, value: f64) -> Result<(), Refusal> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Refusal::OutOfRange { name, value, range: "finite and above 0" })
}

pub(super) fn check_not_negative(name: &'static str, value: f64) -> Result<(), Refusal> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Refusal::OutOfRange { name, value, range: "finite and at least 0" })
}
