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

/// Share of the time that is lost when a job saves after each `interval` of work and is taken away
/// after each of the observed runs: Σ (⌊X/T⌋·C + (X mod T) + R) ÷ Σ X over the runs X (renewal–reward
/// with the empirical distribution, so nothing is assumed of when reclaims come). All in one unit.
///
/// ```
/// # use cotenant_core::stats::renewal_cost_rate;
/// // Two runs of 100 and 250, saved each 100 for 5, restarted for 10: 3 saves, 50 lost, 2 restarts.
/// assert_eq!(renewal_cost_rate(100.0, 5.0, 10.0, &[100.0, 250.0])?, 85.0 / 350.0);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn renewal_cost_rate(
    interval: f64,
    cost: f64,
    restart: f64,
    runs: &[f64],
) -> Result<f64, Refusal> {
    check_positive("checkpoint interval", interval)?;
    check_not_negative("checkpoint cost", cost)?;
    check_not_negative("restart time", restart)?;
    let whole: f64 = runs.iter().sum();
    check_positive("observed run time", whole)?;
    let lost: f64 = runs
        .iter()
        .map(|run| {
            let saves = (run / interval).floor();
            saves * cost + (run - saves * interval) + restart
        })
        .sum();
    Ok(lost / whole)
}

/// The interval of the least [`renewal_cost_rate`] among those at which something is saved. As long as
/// no run's number of saves changes, a longer interval leaves less behind the last save, so that the
/// best one is X/k for a run X and a whole number k: all of those are tried, down to the cost of a save.
///
/// Only for losses that nothing announces: whoever is announced and saves before going loses nothing.
pub fn renewal_interval(cost: f64, restart: f64, runs: &[f64]) -> Result<f64, Refusal> {
    check_positive("checkpoint cost", cost)?;
    check_positive("observed run time", runs.iter().sum())?;
    let longest = runs.iter().copied().fold(0.0, f64::max);
    let mut best = (f64::INFINITY, longest);
    for run in runs {
        let most = (run / cost).floor().clamp(1.0, SAVES_TRIED_MAX);
        let mut saves = 1.0;
        while saves <= most {
            // A hair below X/k, so that the k-th save falls inside the run.
            let interval = run / saves * (1.0 - 1e-12);
            if interval > 0.0 {
                let rate = renewal_cost_rate(interval, cost, restart, runs)?;
                if rate < best.0 {
                    best = (rate, interval);
                }
            }
            saves += 1.0;
        }
    }
    Ok(best.1)
}

/// Most saves within one run that are tried.
const SAVES_TRIED_MAX: f64 = 5_000.0;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_interval_is_as_good_as_any_of_a_fine_grid() {
        for (cost, restart, runs) in [
            (5.0, 10.0, vec![100.0, 250.0, 260.0]),
            (1.0, 0.0, vec![30.0]),
            (40.0, 5.0, vec![50.0, 900.0, 20.0, 333.0]),
            (7.0, 1.0, vec![3.0, 2.0]),
        ] {
            let best = renewal_interval(cost, restart, &runs).unwrap();
            let least = renewal_cost_rate(best, cost, restart, &runs).unwrap();
            let longest = runs.iter().copied().fold(0.0, f64::max);
            for step in 1..20_000 {
                let interval = longest * f64::from(step) / 20_000.0;
                let rate = renewal_cost_rate(interval, cost, restart, &runs).unwrap();
                assert!(rate >= least - 1e-9, "{interval} gives {rate}, {best} gives {least}");
            }
        }
    }

    #[test]
    fn with_exponential_losses_it_is_near_young() {
        let mean: f64 = 14_400.0;
        let runs: Vec<f64> =
            (0..400).map(|number| -mean * (1.0 - (f64::from(number) + 0.5) / 400.0).ln()).collect();
        for cost in [6.3, 148.8] {
            let best = renewal_interval(cost, 120.0, &runs).unwrap();
            let young = young_interval(cost, mean).unwrap();
            let rate = |interval| renewal_cost_rate(interval, cost, 120.0, &runs).unwrap();
            assert!((0.7..1.4).contains(&(best / young)), "{best} beside {young}");
            assert!(rate(best) <= rate(young) && rate(young) < 1.02 * rate(best) + 0.005);
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert!(renewal_interval(0.0, 1.0, &[5.0]).is_err());
        assert!(renewal_interval(1.0, 1.0, &[]).is_err());
        assert!(renewal_cost_rate(0.0, 1.0, 1.0, &[5.0]).is_err());
    }
}
