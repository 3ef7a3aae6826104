//! Ranges of memory, and the unit in which a check shows them.

use super::draft::number;
use crate::units::Bytes;

/// An amount of which only bounds may be known, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    /// It is at least this.
    pub(super) low: f64,
    /// It is at most this; `None` where nothing bounds it.
    pub(super) high: Option<f64>,
}

impl Range {
    pub(super) const ZERO: Self = Self { low: 0.0, high: Some(0.0) };
    /// Nothing is known but that it is not negative.
    pub(super) const UNKNOWN: Self = Self { low: 0.0, high: None };

    pub(super) fn exactly(value: f64) -> Self {
        Self { low: value, high: Some(value) }
    }

    pub(super) fn bytes(bytes: Bytes) -> Self {
        Self::exactly(bytes.0 as f64)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            high: self.high.zip(other.high).map(|(one, two)| one + two),
        }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high.map(|high| high * factor) }
    }

    /// What a cap of its own leaves of it.
    pub(super) fn capped(self, cap: f64) -> Self {
        Self { low: self.low.min(cap), high: Some(self.high.map_or(cap, |high| high.min(cap))) }
    }

    pub(super) fn is_exact(self) -> bool {
        self.high == Some(self.low)
    }
}

/// Sums ranges.
pub(super) fn sum(ranges: impl IntoIterator<Item = Range>) -> Range {
    ranges.into_iter().fold(Range::ZERO, Range::plus)
}

/// The unit in which the amounts of one check are shown, so that its lines add up before the reader's
/// eyes: the first in which every declared amount is a round number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    unit: &'static str,
    factor: f64,
    decimals: usize,
}

const SCALES: [Scale; 4] = [
    Scale { unit: "GiB", factor: 1_073_741_824.0, decimals: 2 },
    Scale { unit: "GB", factor: 1e9, decimals: 2 },
    Scale { unit: "MiB", factor: 1_048_576.0, decimals: 1 },
    Scale { unit: "MB", factor: 1e6, decimals: 1 },
];

impl Scale {
    /// The scale for these amounts. GiB where none fits all.
    pub(super) fn of(amounts: impl IntoIterator<Item = Bytes>) -> Self {
        let amounts: Vec<Bytes> = amounts.into_iter().collect();
        SCALES
            .into_iter()
            .find(|scale| amounts.iter().all(|amount| scale.is_round(*amount)))
            .unwrap_or(SCALES[0])
    }

    /// Whether an amount was written with no more decimals than are shown. Reading rounds to bytes.
    fn is_round(self, amount: Bytes) -> bool {
        let step = self.factor / 10_f64.powi(self.decimals as i32);
        let bytes = amount.0 as f64;
        ((bytes / step).round() * step - bytes).abs() <= 1.0
    }

    /// `40.1 GiB`, `1,751.4 MiB`.
    pub(super) fn show(self, bytes: f64) -> String {
        format!("{} {}", number(bytes / self.factor, self.decimals), self.unit)
    }

    /// `16 GiB`, `3 GiB to 5 GiB`, `at least 3 GiB`, `unknown`.
    pub(super) fn range(self, range: Range) -> String {
        match range.high {
            _ if range.is_exact() => self.show(range.low),
            Some(high) => format!("{} to {}", self.show(range.low), self.show(high)),
            None if range.low == 0.0 => "unknown".to_owned(),
            None => format!("at least {}", self.show(range.low)),
        }
    }

    /// A range as the object of a sentence.
    pub(super) fn amount(self, range: Range) -> String {
        if range == Range::UNKNOWN { "an unknown amount".to_owned() } else { self.range(range) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_in_the_unit_in_which_they_were_written() {
        let read = |texts: &[&str]| {
            let amounts: Vec<Bytes> =
                texts.iter().map(|text| Bytes::parse(text).unwrap()).collect();
            Scale::of(amounts).unit
        };
        assert_eq!(read(&["44.56 GiB", "15 GiB", "1.5 GiB"]), "GiB");
        assert_eq!(read(&["24564 MiB", "23859 MiB"]), "MiB");
        assert_eq!(read(&["650 GB", "780 GB"]), "GB");
        assert_eq!(read(&["11.1 GB", "96 GB"]), "GB");
        assert_eq!(read(&["17.8 GB", "24 GiB"]), "GiB");
        assert_eq!(read(&[]), "GiB");
    }

    #[test]
    fn ranges_add_and_are_capped() {
        let known = Range { low: 1.0, high: Some(2.0) };
        assert_eq!(known.plus(Range::exactly(3.0)), Range { low: 4.0, high: Some(5.0) });
        assert_eq!(known.plus(Range::UNKNOWN), Range { low: 1.0, high: None });
        assert_eq!(Range::UNKNOWN.capped(4.0), Range { low: 0.0, high: Some(4.0) });
        assert_eq!(Range::exactly(6.0).capped(4.0), Range::exactly(4.0));
        let scale = Scale::of([Bytes(1 << 30)]);
        assert_eq!(scale.range(Range::UNKNOWN), "unknown");
        assert_eq!(scale.range(Range { low: 1e9, high: None }), "at least 0.93 GiB");
    }
}
