//! A printed value, or the reason why there is none.

use std::fmt;

/// A value, or why it is absent.
pub type Reading<T> = Result<T, Absence>;

/// Why a value is absent. None of these is a zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The text does not have the field at all.
    NotPrinted,
    /// `N/A`, `-` or an empty cell: this device, or its mode, does not have it.
    NotAvailable,
    /// `Not Supported`.
    NotSupported,
    /// `Requested functionality has been deprecated`: the driver does not answer anymore.
    Deprecated,
    /// `Insufficient Permissions`: another user, or another container, would see it.
    NoPermission,
    /// `GPU is lost`: it has fallen off the bus; only a reset or a reboot brings it back.
    Lost,
    /// What NVML answered instead, in its words with the way out where one is known.
    Nvml(Box<str>),
    /// Anything else that the tool printed in the value's place, such as `Unknown Error` or `ERR!`.
    Said(String),
}

impl fmt::Display for Absence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotPrinted => "not printed",
            Self::NotAvailable => "not available",
            Self::NotSupported => "not supported",
            Self::Deprecated => "no longer answered by the driver",
            Self::NoPermission => "no permission",
            Self::Lost => "the GPU is lost",
            Self::Nvml(text) => return write!(out, "NVML says «{text}»"),
            Self::Said(text) => return write!(out, "nvidia-smi says «{text}»"),
        })
    }
}

impl Absence {
    /// What a person can do about it; `None` where nothing is to be done.
    pub fn way_out(&self) -> Option<&'static str> {
        match self {
            Self::NoPermission => Some(
                "run it as a user who may do this (root, or a group that may open /dev/nvidia*); in a \
                 container, let the runtime mount the driver with the capability `utility`",
            ),
            Self::Lost => Some(
                "look for Xid lines in the kernel's log, reset the GPU with `nvidia-smi --gpu-reset`, and \
                 reboot if that fails",
            ),
            Self::NotPrinted
            | Self::NotAvailable
            | Self::NotSupported
            | Self::Deprecated
            | Self::Nvml(_)
            | Self::Said(_) => None,
        }
    }
}

/// Texts that stand in the place of a value and are kept as they are, in lower case.
const ERRORS: [&str; 12] = [
    "unknown error",
    "err!",
    "error",
    "invalid argument",
    "function not found",
    "not found",
    "timeout",
    "gpu requires reset",
    "gpu access blocked by the operating system",
    "not available in wddm driver model",
    "in use by another client",
    "driver not loaded",
];

impl Absence {
    /// The absence that a printed text means; `None` where it is a value.
    pub fn of(text: &str) -> Option<Self> {
        let bare = text.trim().trim_start_matches(['[', '<']).trim_end_matches([']', '>']).trim();
        let lower = bare.to_ascii_lowercase();
        match lower.as_str() {
            "" | "-" | "n/a" | "na" | "not available" | "unknown" => Some(Self::NotAvailable),
            "not supported" => Some(Self::NotSupported),
            "requested functionality has been deprecated" => Some(Self::Deprecated),
            "insufficient permissions" | "insufficient permission" | "no permission" => {
                Some(Self::NoPermission)
            }
            _ if lower.contains("gpu is lost") => Some(Self::Lost),
            _ if ERRORS.contains(&lower.as_str()) => Some(Self::Said(bare.to_owned())),
            _ => None,
        }
    }
}

/// The unit in which a field is kept. The text must name one that can be turned into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Mebibytes.
    Mebibytes,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// Megahertz.
    Megahertz,
    /// Percent of the whole.
    Percent,
    /// Gigabytes (10⁹ bytes) per second.
    GigabytesPerSecond,
    /// A bare number.
    Count,
}

impl Unit {
    /// What may be printed, and the factor that turns it into the unit kept.
    const fn names(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Mebibytes => &[
                ("MiB", 1.0),
                ("KiB", 1.0 / 1024.0),
                ("GiB", 1024.0),
                // Old versions wrote MB for what was 2^20 bytes.
                ("MB", 1.0),
            ],
            Self::Watts => &[("W", 1.0), ("mW", 1e-3)],
            Self::Celsius => &[("C", 1.0)],
            Self::Megahertz => &[("MHz", 1.0), ("GHz", 1000.0)],
            Self::Percent => &[("%", 1.0)],
            Self::GigabytesPerSecond => &[("GB/s", 1.0), ("MB/s", 1e-3)],
            Self::Count => &[("", 1.0)],
        }
    }

    /// Reads a number with its unit.
    ///
    /// # Errors
    /// What is wrong with the text, as a fragment of a sentence.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let digits = text
            .find(|character: char| !(character.is_ascii_digit() || "+-.".contains(character)))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let value: f64 = number.parse().map_err(|_| "this is no number".to_owned())?;
        let unit = unit.trim();
        let factor = self.names().iter().find(|(name, _)| *name == unit).map(|(_, by)| *by);
        match factor {
            Some(factor) => Ok(value * factor),
            None if unit.is_empty() => Err(format!("the unit is missing ({})", self.expected())),
            None => Err(format!("the unit is {unit} and not {}", self.expected())),
        }
    }

    fn expected(self) -> &'static str {
        match self.names() {
            [("", _), ..] | [] => "a bare number",
            [(name, _), ..] => name,
        }
    }
}
