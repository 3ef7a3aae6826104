//! Pressure stall information: `/proc/pressure/{cpu,memory,io}`.
//!
//! Source: kernel `Documentation/accounting/psi.rst`. The averages are smoothed by the kernel over 10 s
//! and more; the totals are exact, so shares are made from their differences.

use cotenant_core::evidence::{Missing, Pressure, Reading};

/// Stalled time since boot, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PressureTotals {
    /// At least one task waited.
    pub some_us: u64,
    /// All tasks waited; `None` where the kernel does not say.
    pub full_us: Option<u64>,
}

/// Reads the text of a pressure file.
pub fn parse_pressure(text: &str) -> Reading<PressureTotals> {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        let field = line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?;
        field.parse().ok()
    };
    let some_us = total("some").ok_or_else(|| Missing("no total of \"some\"".to_owned()))?;
    Ok(PressureTotals { some_us, full_us: total("full") })
}

/// Shares of `elapsed_s` between two totals.
pub(super) fn shares(before: PressureTotals, after: PressureTotals, elapsed_s: f64) -> Pressure {
    // The kernel accounts stalls a little after they happen, so a share may come out above one.
    let share = |before: u64, after: u64| {
        (after.saturating_sub(before) as f64 / 1e6 / elapsed_s).clamp(0.0, 1.0)
    };
    let full = before.full_us.zip(after.full_us);
    Pressure {
        some_share: share(before.some_us, after.some_us),
        full_share: full.map(|(before, after)| share(before, after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_are_read() {
        let both = "some avg10=1.00 avg60=0.5 avg300=0.1 total=1500\n\
                    full avg10=0.00 avg60=0.0 avg300=0.0 total=400\n";
        let totals = parse_pressure(both).unwrap();
        assert_eq!(totals, PressureTotals { some_us: 1500, full_us: Some(400) });
        // Before Linux 5.13 the file of the CPU has one line.
        let one = parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=7").unwrap();
        assert_eq!(one, PressureTotals { some_us: 7, full_us: None });
    }

    #[test]
    fn no_total_is_missing_not_zero() {
        for text in ["", "some avg10=0.00", "full total=4", "some total=x", "sometotal=4"] {
            assert!(parse_pressure(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_of_the_time_between() {
        let before = PressureTotals { some_us: 1_000_000, full_us: Some(0) };
        let after = PressureTotals { some_us: 1_500_000, full_us: Some(250_000) };
        let pressure = shares(before, after, 2.0);
        assert_eq!((pressure.some_share, pressure.full_share), (0.25, Some(0.125)));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (parse_pressure(&text), parse_pressure(&format!("some total={text}")));
        }
    }
}
