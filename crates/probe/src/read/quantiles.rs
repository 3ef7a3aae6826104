//! Quantiles of what a file holds many of.

use cotenant_core::reading::{Figure, FileReading};
use cotenant_core::stats::quantile_sorted;

/// Most values that are kept of one quantity: 32 MiB.
pub(super) const VALUES_MAX: usize = 4 << 20;

/// Values of one quantity.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: Vec<f64>,
    left_out: u64,
}

impl Values {
    pub(super) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.values.len() < VALUES_MAX {
            self.values.push(value);
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Tells mean, p50, p95 and maximum; of one value that value, of none nothing.
    pub(super) fn tell(mut self, reading: &mut FileReading, name: &str, unit: &'static str) {
        self.values.sort_by(f64::total_cmp);
        let (Some(largest), count) = (self.values.last().copied(), self.values.len()) else {
            return;
        };
        if count == 1 {
            reading.fact(name.to_owned(), Figure::number(largest, unit));
            return;
        }
        let mean = self.values.iter().sum::<f64>() / count as f64;
        reading.fact(format!("{name}, mean"), Figure::number(mean, unit));
        for (word, q) in [("p50", 0.5), ("p95", 0.95)] {
            // Neither can fail: there are values, and the shares lie within (0, 1].
            if let Ok(value) = quantile_sorted(&self.values, q) {
                reading.fact(format!("{name}, {word}"), Figure::number(value, unit));
            }
        }
        reading.fact(format!("{name}, max"), Figure::number(largest, unit));
        if self.left_out > 0 {
            reading.note(format!(
                "{name}: of the first {count} values; {} further ones were left out",
                self.left_out
            ));
        }
    }
}
