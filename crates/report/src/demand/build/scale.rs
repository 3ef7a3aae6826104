//! One scale for the numbers of a table, so that they compare at a glance.

use cotenant_core::demand::WorkUnit;

use crate::format;
use crate::model::Value;

/// The most decimals: what a column of four characters has room for.
const DECIMALS_MAX: i32 = 2;

/// How the numbers of a table are printed: at most four characters, the largest with three digits.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    unit: WorkUnit,
    factor: f64,
    decimals: usize,
}

impl Scale {
    /// The scale that suits numbers up to `largest`.
    pub(super) fn of(unit: WorkUnit, largest: f64) -> Self {
        let magnitude =
            if largest.is_finite() && largest > 0.0 { largest.log10().floor() as i32 } else { 0 };
        let thousands = magnitude.div_euclid(3).clamp(-3, 4);
        let decimals = (DECIMALS_MAX - (magnitude - 3 * thousands)).clamp(0, DECIMALS_MAX);
        Self { unit, factor: 10_f64.powi(3 * thousands), decimals: decimals as usize }
    }

    /// What the numbers are counted in: `requests/s`, `1,000 KV tokens`.
    pub(super) fn printed_in(&self) -> String {
        if self.factor == 1.0 {
            return self.unit.name().to_owned();
        }
        format!("{} {}", format::trimmed(self.factor), self.unit.name())
    }

    /// A number of the table; its value stays in the unit itself.
    pub(super) fn value(&self, value: f64) -> Value {
        let text = format!("{:.*}", self.decimals, value / self.factor);
        format::value_with_text(value, self.unit.name(), text)
    }
}

/// A number by itself, with three digits.
pub(super) fn alone(unit: WorkUnit, value: f64) -> Value {
    format::value_with_text(value, unit.name(), format::number(value))
}

/// A number by itself with its unit: `179 requests/s`.
pub(super) fn with_unit(unit: WorkUnit, value: f64) -> String {
    format!("{} {}", format::number(value), unit.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_table_have_one_scale() {
        for (largest, value, text, counted_in) in [
            (287.4, 179.2, "179", "requests/s"),
            (28.74, 1.79, "1.8", "requests/s"),
            (2.874, 0.179, "0.18", "requests/s"),
            (28_740.0, 1_790.0, "1.8", "1,000 requests/s"),
            (0.2874, 0.1792, "179", "0.001 requests/s"),
            (0.0, 0.0, "0.00", "requests/s"),
            (999.9, 999.9, "1000", "requests/s"),
        ] {
            let scale = Scale::of(WorkUnit::Requests, largest);
            assert_eq!(scale.value(value).text, text, "{largest}");
            assert_eq!(scale.printed_in(), counted_in, "{largest}");
            assert_eq!(scale.value(value).value, Some(value));
        }
    }
}
