//! Core types have no serialised form, so that a change inside core cannot change a file format by
//! accident. Each type that is stored has a mirror here in `evidence`, and this module has what the
//! mirrors are made of. The macros take every field and every variant by name: a new one in core
//! does not compile until somebody has decided how it is stored.

use std::fmt;
use std::str::FromStr;

use cotenant_core::evidence::{Missing, Reading};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A stored form of a core type. The way there and back loses nothing.
pub(super) trait Mirror {
    /// The type in core.
    type Core;
    /// The stored form of `core`.
    fn mirror(core: &Self::Core) -> Self;
    /// The core value that was stored.
    fn restore(self) -> Self::Core;
}

macro_rules! mirrors_itself {
    ($($name:ty),+) => {$(
        impl Mirror for $name {
            type Core = Self;
            fn mirror(core: &Self) -> Self {
                core.clone()
            }
            fn restore(self) -> Self {
                self
            }
        }
    )+};
}
mirrors_itself!(bool, u8, u16, u32, u64, String);

impl<W: Mirror> Mirror for Vec<W> {
    type Core = Vec<W::Core>;
    fn mirror(core: &Self::Core) -> Self {
        core.iter().map(W::mirror).collect()
    }
    fn restore(self) -> Self::Core {
        self.into_iter().map(W::restore).collect()
    }
}

impl<V: Mirror, W: Mirror> Mirror for (V, W) {
    type Core = (V::Core, W::Core);
    fn mirror(core: &Self::Core) -> Self {
        (V::mirror(&core.0), W::mirror(&core.1))
    }
    fn restore(self) -> Self::Core {
        (self.0.restore(), self.1.restore())
    }
}

/// An optional value that is always written, as `null` where there is none. Serde's own `Option`
/// takes a field that is not there for `None`; this does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Maybe<W>(pub Option<W>);

impl<W: Mirror> Mirror for Maybe<W> {
    type Core = Option<W::Core>;
    fn mirror(core: &Self::Core) -> Self {
        Self(core.as_ref().map(W::mirror))
    }
    fn restore(self) -> Self::Core {
        self.0.map(W::restore)
    }
}

/// A floating point number, exact. JSON has no infinities and no NaN: they are written as text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Real(pub f64);

impl Mirror for Real {
    type Core = f64;
    fn mirror(core: &f64) -> Self {
        Self(*core)
    }
    fn restore(self) -> f64 {
        self.0
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_finite() => serializer.serialize_f64(value),
            value if value.is_nan() => serializer.serialize_str("NaN"),
            value if value > 0.0 => serializer.serialize_str("+inf"),
            _ => serializer.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RealVisitor;
        impl Visitor<'_> for RealVisitor {
            type Value = Real;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"+inf\", \"-inf\" or \"NaN\"")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Real, E> {
                Ok(Real(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Real, E> {
                Ok(Real(value as f64))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Real, E> {
                Ok(Real(value as f64))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Real, E> {
                match text {
                    "NaN" => Ok(Real(f64::NAN)),
                    "+inf" => Ok(Real(f64::INFINITY)),
                    "-inf" => Ok(Real(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(RealVisitor)
    }
}

/// An instant, as RFC 3339 text with as many digits as it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stamp(pub jiff::Timestamp);

impl Mirror for Stamp {
    type Core = jiff::Timestamp;
    fn mirror(core: &jiff::Timestamp) -> Self {
        Self(*core)
    }
    fn restore(self) -> jiff::Timestamp {
        self.0
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        jiff::Timestamp::from_str(&text).map(Self).map_err(de::Error::custom)
    }
}

/// A reading, or the reason why there is none: `{"value":…}` or `{"missing":"…"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredReading<W> {
    Value(W),
    Missing(String),
}

impl<W: Mirror> Mirror for StoredReading<W> {
    type Core = Reading<W::Core>;
    fn mirror(core: &Self::Core) -> Self {
        match core {
            Ok(value) => Self::Value(W::mirror(value)),
            Err(Missing(why)) => Self::Missing(why.clone()),
        }
    }
    fn restore(self) -> Self::Core {
        match self {
            Self::Value(value) => Ok(value.restore()),
            Self::Missing(why) => Err(Missing(why)),
        }
    }
}

/// Declares the mirror of a struct: same field names, each with its stored type.
macro_rules! mirror_struct {
    ($(#[$meta:meta])* $stored:ident of $core:ident { $($field:ident: $kind:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $stored { $(pub $field: $kind),+ }

        impl $crate::evidence::mirror::Mirror for $stored {
            type Core = $core;
            fn mirror(core: &$core) -> Self {
                let $core { $($field),+ } = core;
                Self { $($field: $crate::evidence::mirror::Mirror::mirror($field)),+ }
            }
            fn restore(self) -> $core {
                $core { $($field: $crate::evidence::mirror::Mirror::restore(self.$field)),+ }
            }
        }
    };
}
pub(super) use mirror_struct;

/// Declares the mirror of an enum without data: each variant with its stored name.
macro_rules! mirror_enum {
    ($(#[$meta:meta])* $stored:ident of $core:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        pub(super) enum $stored { $(#[serde(rename = $name)] $variant),+ }

        impl $crate::evidence::mirror::Mirror for $stored {
            type Core = $core;
            fn mirror(core: &$core) -> Self {
                match core { $($core::$variant => Self::$variant),+ }
            }
            fn restore(self) -> $core {
                match self { $(Self::$variant => $core::$variant),+ }
            }
        }
    };
}
pub(super) use mirror_enum;
