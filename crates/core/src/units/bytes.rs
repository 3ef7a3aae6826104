//! Memory and bandwidth.

use std::fmt;

use super::error::{Quantity, UnitError, UnitProblem};
use super::number::{format_significant, split_number};

/// An amount of memory or storage, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Bytes over time, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct BytesPerSecond(pub f64);

/// Units of memory with their size in bytes. Binary and decimal ones differ by 7 % at a gigabyte,
/// so both are read exactly as written.
const UNITS: [(&str, f64); 12] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("PiB", 1_125_899_906_842_624.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("PB", 1e15),
];

/// Units of bandwidth in bits, with their size in bytes.
const BIT_UNITS: [(&str, f64); 4] =
    [("kbit", 125.0), ("Mbit", 125e3), ("Gbit", 125e6), ("Tbit", 125e9)];

/// What a word that is nearly a unit of memory was meant to be.
fn meant_unit(unit: &str) -> Option<&'static str> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "k" | "kb" | "kib" | "ki" => "KiB",
        "m" | "mb" | "mib" | "mi" => "MiB",
        "g" | "gb" | "gib" | "gi" | "gig" | "gigs" | "gbyte" => "GiB",
        "t" | "tb" | "tib" | "ti" => "TiB",
        "byte" | "bytes" => "B",
        _ => return None,
    })
}

fn factor_of(units: &[(&'static str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

impl Bytes {
    /// Reads an amount of memory: `80 GiB`, `512 MiB`, `80 GB` (decimal), `1024 B`.
    ///
    /// # Errors
    /// No unit, an unknown unit, a negative or infinite number, or more than 8192 PiB (2⁶³ bytes).
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        const BYTES_MAX: f64 = 9_223_372_036_854_775_808.0;
        let fail = |problem| Err(UnitError::new(Quantity::Bytes, text, problem));
        let (number, unit) = split_number(Quantity::Bytes, text)?;
        if unit.is_empty() {
            if number == 0.0 {
                return Ok(Self(0));
            }
            return fail(UnitProblem::NoUnit(text.trim().to_owned()));
        }
        let Some(factor) = factor_of(&UNITS, unit) else {
            let meant = meant_unit(unit);
            return fail(UnitProblem::UnknownUnit { unit: unit.to_owned(), meant });
        };
        let bytes = (number * factor).round();
        if bytes > BYTES_MAX {
            return fail(UnitProblem::TooLarge("8192 PiB"));
        }
        Ok(Self(bytes as u64))
    }

    /// The amount in GiB, for arithmetic shown to people.
    pub fn gib(self) -> f64 {
        self.0 as f64 / 1_073_741_824.0
    }
}

impl fmt::Display for Bytes {
    /// In the largest binary unit of which there is at least one: `80 GiB`, `1.5 MiB`, `12 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        let (unit, factor) = UNITS[..6]
            .iter()
            .rev()
            .find(|(_, factor)| value >= *factor * 0.999_95)
            .unwrap_or(&UNITS[0]);
        write!(f, "{} {unit}", format_significant(value / factor))
    }
}

impl BytesPerSecond {
    /// Reads a bandwidth: `3.5 GB/s`, `900 MiB/s`, `25 Gbit/s`.
    ///
    /// # Errors
    /// No unit, an unknown unit, a negative or infinite number.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        const BYTES_PER_SECOND_MAX: f64 = 1e18;
        let fail = |problem| Err(UnitError::new(Quantity::BytesPerSecond, text, problem));
        let (number, unit) = split_number(Quantity::BytesPerSecond, text)?;
        if unit.is_empty() {
            return fail(UnitProblem::NoUnit(text.trim().to_owned()));
        }
        let factor = match unit.split_once('/') {
            Some((amount, "s")) => {
                let amount = amount.trim();
                factor_of(&UNITS, amount).or_else(|| factor_of(&BIT_UNITS, amount))
            }
            _ => None,
        };
        let Some(factor) = factor else {
            let meant = match unit.to_ascii_lowercase().as_str() {
                "gbps" | "gbit" | "gb/s" | "gbe" | "gbits" => Some("Gbit/s"),
                "gib" | "gibps" => Some("GiB/s"),
                "gb" => Some("GB/s"),
                "mb" | "mb/s" | "mbps" => Some("MB/s"),
                _ => None,
            };
            return fail(UnitProblem::UnknownUnit { unit: unit.to_owned(), meant });
        };
        let value = number * factor;
        if value > BYTES_PER_SECOND_MAX {
            return fail(UnitProblem::TooLarge("1e18 bytes a second"));
        }
        Ok(Self(value))
    }
}

impl fmt::Display for BytesPerSecond {
    /// In the largest decimal unit of which there is at least one: `3.5 GB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
        let (unit, factor) =
            units.into_iter().find(|(_, factor)| self.0 >= factor * 0.999_95).unwrap_or(("B", 1.0));
        write!(f, "{} {unit}/s", format_significant(self.0 / factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_are_kept_apart() {
        assert_eq!(Bytes::parse("80 GiB"), Ok(Bytes(85_899_345_920)));
        assert_eq!(Bytes::parse("80 GB"), Ok(Bytes(80_000_000_000)));
        assert_eq!(Bytes::parse("0.5MiB"), Ok(Bytes(524_288)));
        assert_eq!(Bytes::parse("0"), Ok(Bytes(0)));
        assert_eq!(Bytes(85_899_345_920).to_string(), "80 GiB");
        assert_eq!(Bytes(80_000_000_000).to_string(), "74.51 GiB");
        assert_eq!(Bytes(12).to_string(), "12 B");
        assert_eq!(Bytes(0).to_string(), "0 B");
    }

    #[test]
    fn bandwidth_is_read_in_bytes_and_in_bits() {
        assert_eq!(BytesPerSecond::parse("25 Gbit/s"), Ok(BytesPerSecond(3.125e9)));
        assert_eq!(BytesPerSecond::parse("3.5 GB/s"), Ok(BytesPerSecond(3.5e9)));
        assert_eq!(BytesPerSecond(3.125e9).to_string(), "3.125 GB/s");
        assert_eq!(BytesPerSecond::parse("25 Gbps").unwrap_err().hint(), "did you mean `Gbit/s`?");
    }

    #[test]
    fn refused_forms_say_what_to_write() {
        for (text, message, hint) in [
            ("80", "`80` has no unit", "write the unit: `80 MiB`, `80 GiB` or decimal `80 GB`"),
            ("80 G", "`G` is not a unit of an amount of memory", "did you mean `GiB`?"),
            ("80 gb", "`gb` is not a unit of an amount of memory", "did you mean `GiB`?"),
            ("-1 GiB", "`-1 GiB` is negative", "write `80 GiB`"),
            ("1e30 GiB", "`1e30 GiB` is more than 8192 PiB", "write `80 GiB`"),
            ("500 ms", "`ms` is not a unit of an amount of memory", "write `80 GiB`"),
        ] {
            let error = Bytes::parse(text).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
            assert!(error.hint().starts_with(hint), "{text}: {}", error.hint());
        }
    }
}
