//! Versions of drivers and libraries, compared part by part.

use std::fmt;

/// A version of up to three numbers: `580.82.07` is 580, 82, 7. What is absent counts as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl Version {
    /// The version of these numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Reads the numbers at the front of a text: `2.31.1`, `v13.1`, `2.30.7+cuda13.0`, `R595`.
    /// `None` where the text begins with no number.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'V', 'r', 'R']);
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map(str::parse::<u32>);
        let major = numbers.next()?.ok()?;
        // A dot with nothing behind it ends the version.
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
        Some(Self { major, minor: next(), patch: next() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn the_numbers_at_the_front_are_read() {
        let read = |text| Version::parse(text).map(|v| (v.major, v.minor, v.patch));
        assert_eq!(read("580.82.07"), Some((580, 82, 7)));
        assert_eq!(read(" v13.1"), Some((13, 1, 0)));
        assert_eq!(read("2.30.7+cuda13.0"), Some((2, 30, 7)));
        assert_eq!(read("R595"), Some((595, 0, 0)));
        assert_eq!(read("2.31."), Some((2, 31, 0)));
        for bad in ["", "x1", ".5", "unknown", "99999999999"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn versions_are_compared_by_number_and_not_by_letter() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("2.9") < version("2.31"));
        assert!(version("450.80.02") < version("450.80.3"));
        assert!(version("13") == version("13.0.0"));
        assert_eq!(version("570.133.20").to_string(), "570.133.20");
        assert_eq!(version("13.1").to_string(), "13.1");
    }
}
