//! Bounds from the errors that were seen, and what a short history supports.

use crate::stats::conformal_rank;

/// Errors (what came − what was forecast) by time of the day, one for each day.
#[derive(Clone, Debug)]
pub(super) struct Residuals {
    slots: Vec<Vec<f64>>,
}

impl Residuals {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: vec![Vec::new(); slots] }
    }

    /// Adds an error; each list stays in ascending order.
    pub(super) fn add(&mut self, slot: usize, error: f64) {
        if let Some(errors) = self.slots.get_mut(slot) {
            let place = errors.partition_point(|held| *held < error);
            errors.insert(place, error);
        }
    }

    /// Days of the slot that was seen least often, of those that were seen.
    pub(super) fn days(&self) -> u32 {
        let seen = self.slots.iter().map(Vec::len).filter(|days| *days > 0);
        seen.min().unwrap_or(0) as u32
    }

    /// What is added to a forecast for its upper (or lower) bound at 1 − `alpha`; the extreme where
    /// the days are too few. `None` where there is no day.
    pub(super) fn bound(&self, slot: usize, alpha: f64, upper: bool) -> Option<f64> {
        let errors = self.slots.get(slot)?;
        let days = errors.len();
        // A miscoverage of nothing is the widest bound there is.
        let rank = match conformal_rank(days as u64, alpha.max(f64::MIN_POSITIVE)).ok()? {
            Some(rank) => rank as usize,
            None => days,
        };
        let from_below = if upper { rank.checked_sub(1)? } else { days.checked_sub(rank)? };
        errors.get(from_below).copied()
    }
}

/// The level of a split conformal bound from a number of days: 1 − `alpha`, or n/(n + 1) where that
/// is less. The maximum of n days is above the next one with probability n/(n + 1), and nothing that
/// was seen is above it.
pub fn supported_level(days: u32, alpha: f64) -> f64 {
    let days = f64::from(days);
    (days / (days + 1.0)).min(1.0 - alpha)
}

/// What must be said where the days do not support the level that is asked for; `None` where they
/// do.
///
/// ```
/// # use cotenant_core::demand::supported_sentence;
/// let sentence = supported_sentence(28, 0.01).unwrap();
/// assert_eq!(sentence, "28 days support at most 96.6 %, and 99 % needs 99 days");
/// assert_eq!(supported_sentence(28, 0.05), None);
/// ```
pub fn supported_sentence(days: u32, alpha: f64) -> Option<String> {
    let rank = conformal_rank(u64::from(days), alpha).ok()?;
    if rank.is_some() {
        return None;
    }
    // n/(n + 1) ≥ 1 − α holds from n = 1/α − 1 on.
    let needed = (1.0 / alpha - 1.0 - 1e-9).ceil();
    let asked = format!("{:.3}", 100.0 * (1.0 - alpha));
    let asked = asked.trim_end_matches('0').trim_end_matches('.');
    Some(match days {
        0 => format!("no day supports a bound, and {asked} % needs {needed} days"),
        days => format!(
            "{days} day{} support{} at most {:.1} %, and {asked} % needs {needed} days",
            if days == 1 { "" } else { "s" },
            if days == 1 { "s" } else { "" },
            100.0 * supported_level(days, alpha),
        ),
    })
}

/// Adaptive conformal inference: the miscoverage to use next, α_{t+1} = α_t + γ(α − err_t), where
/// err_t is the share of the values of one period that lay outside of their bound (Gibbs & Candès,
/// *Adaptive conformal inference under distribution shift*, NeurIPS 2021, eq. 2). It grows where
/// bounds held too often and shrinks where they failed; it may leave the range from 0 to 1, and a
/// bound at a level of 0 or less is the widest there is.
///
/// ```
/// # use cotenant_core::demand::adapted_alpha;
/// assert!((adapted_alpha(0.10, 0.05, 0.0, 0.02) - 0.101).abs() < 1e-12);
/// assert!((adapted_alpha(0.10, 0.05, 1.0, 0.02) - 0.081).abs() < 1e-12);
/// ```
pub fn adapted_alpha(now: f64, asked: f64, missed_share: f64, rate: f64) -> f64 {
    now + rate * (asked - missed_share)
}
