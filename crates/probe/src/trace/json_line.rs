//! One line of JSON, of which only the keys that mean something are built.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::error::Problem;

/// What stands behind a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    /// A number or a string, as text.
    Text(Cow<'a, str>),
    /// `null`: the row does not say.
    Null,
    /// A list, an object, true or false.
    Other,
}

/// The values of some keys of a JSON object in one line, each at its key's place.
pub(super) fn pick<'a, const N: usize>(
    line: &'a str,
    keys: &[Option<&str>; N],
) -> Result<[Option<Scalar<'a>>; N], Problem> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let picked = Picker { keys }
        .deserialize(&mut deserializer)
        .and_then(|picked| deserializer.end().map(|()| picked));
    picked.map_err(|error| not_json(line, &error))
}

/// What is said of a line that is no JSON object.
pub(super) fn not_json(line: &str, error: &serde_json::Error) -> Problem {
    // The line's number stands in front of the message; a second one, always 1, would mislead.
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message);
    let problem = if error.is_data() {
        message.to_owned()
    } else {
        format!("not JSON: {message} in column {}", error.column())
    };
    Problem::new(problem, "one JSON object a line").text(line)
}

struct Picker<'k, const N: usize> {
    keys: &'k [Option<&'k str>; N],
}

impl<'de, const N: usize> DeserializeSeed<'de> for Picker<'_, N> {
    type Value = [Option<Scalar<'de>>; N];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Picker<'_, N> {
    type Value = [Option<Scalar<'de>>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut picked = [const { None }; N];
        while let Some(at) = map.next_key_seed(KeySeed { keys: self.keys })? {
            match at {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some(at) if picked[at].is_some() => {
                    let key = self.keys[at].unwrap_or_default();
                    return Err(de::Error::custom(format!("the key `{key}` stands there twice")));
                }
                Some(at) => picked[at] = Some(map.next_value_seed(ScalarSeed)?),
            }
        }
        Ok(picked)
    }
}

struct KeySeed<'k, const N: usize> {
    keys: &'k [Option<&'k str>; N],
}

impl<'de, const N: usize> DeserializeSeed<'de> for KeySeed<'_, N> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<const N: usize> Visitor<'_> for KeySeed<'_, N> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.keys.iter().position(|key| *key == Some(text)))
    }
}

struct ScalarSeed;

impl<'de> DeserializeSeed<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        // The shortest digits that mean this double, with `.0` where it is whole.
        Ok(Scalar::Text(Cow::Owned(format!("{number:?}"))))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Null)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
