//! Keeping a mean rate: work in small parts, with a rest behind each that is ahead of time.

use std::time::Duration;

/// Keeps a mean rate without catching up: time that was lost, because others used the resource, is
/// lost, since a neighbour does not work faster afterwards either.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Units per second; `None` for as much as goes.
    rate: Option<f64>,
    /// How far behind it may fall before the rest is forgotten, seconds.
    debt_s_max: f64,
    /// Time at which the work done so far would be due, seconds of the caller's clock.
    due_s: Option<f64>,
}

impl Pace {
    /// A pace of so many units per second. `debt_s_max` should be a little more than the time that
    /// one part of the work takes.
    pub fn new(rate: Option<f64>, debt_s_max: f64) -> Self {
        Self { rate: rate.filter(|rate| rate.is_finite()), debt_s_max, due_s: None }
    }

    /// How long to rest at `now_s` after `amount` units were done.
    ///
    /// ```
    /// use cotenant_probe::stress::Pace;
    /// let mut pace = Pace::new(Some(10.0), 1.0);
    /// assert_eq!(pace.rest(0.0, 5.0).as_millis(), 500);
    /// // Half a second was rested, and the next five units took no time.
    /// assert_eq!(pace.rest(0.5, 5.0).as_millis(), 500);
    /// // Ten seconds were lost: one second of them may be made up for.
    /// assert_eq!(pace.rest(11.0, 5.0).as_millis(), 0);
    /// assert_eq!(pace.rest(11.0, 20.0).as_millis(), 1000);
    /// ```
    pub fn rest(&mut self, now_s: f64, amount: f64) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        let due_s = self.due_s.unwrap_or(now_s) + amount / rate;
        let due_s = due_s.max(now_s - self.debt_s_max);
        self.due_s = Some(due_s);
        Duration::try_from_secs_f64(due_s - now_s).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_mean_rate_is_never_above_the_one_asked(
            rate in 0.1_f64..1e10,
            costs_s in proptest::collection::vec(0.0_f64..0.02, 50..200),
        ) {
            // Parts of 10 ms each, which take between nothing and twice as long.
            let (mut pace, mut now_s, mut done) = (Pace::new(Some(rate), 0.05), 0.0, 0.0);
            for cost_s in &costs_s {
                now_s += cost_s;
                done += 0.01 * rate;
                now_s += pace.rest(now_s, 0.01 * rate).as_secs_f64();
            }
            let reached = done / (now_s + 0.05 + 0.01);
            prop_assert!(reached <= rate * (1.0 + 1e-6), "{reached} of {rate}");
            if costs_s.iter().all(|cost_s| *cost_s <= 0.01) {
                prop_assert!(done / now_s >= 0.98 * rate);
            }
        }
    }
}
