//! Values of JSON and YAML documents as schedulers write them.

use serde_json::Value;

use super::stated::{
    Absence, SchedulerTime, Stated, absence_of, instant, number, time, unreadable,
};

/// The value under several keys in turn; null counts as absent.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// The first of several keys that is there.
pub(super) fn any<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| value.get(*key).filter(|value| !value.is_null()))
}

/// Text, or a number as text. An empty text is not set.
pub(super) fn text(value: Option<&Value>) -> Stated<String> {
    match value {
        None => Err(Absence::NotInFile),
        Some(Value::String(text)) => match absence_of(text) {
            Some(absence) => Err(absence),
            None => Ok(text.trim().to_owned()),
        },
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(Value::Bool(flag)) => Ok(flag.to_string()),
        Some(other) => unreadable(&other.to_string()),
    }
}

/// A text that may be any word, "None" included: a name that a user chose.
pub(super) fn name(value: Option<&Value>) -> Stated<String> {
    match value {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        other => text(other),
    }
}

/// Texts of a list, or of one text with commas.
pub(super) fn texts(value: Option<&Value>) -> Stated<Vec<String>> {
    match value {
        None => Err(Absence::NotInFile),
        Some(Value::Array(items)) => {
            let list: Vec<String> =
                items.iter().filter_map(|item| item.as_str()).map(str::to_owned).collect();
            if list.is_empty() { Err(Absence::NotSet) } else { Ok(list) }
        }
        other => Ok(text(other)?.split(',').map(|part| part.trim().to_owned()).collect()),
    }
}

/// A number: plain, as text, or `{set, infinite, number}` as Slurm has it since 23.02.
pub(super) fn amount(value: Option<&Value>) -> Stated<f64> {
    match value {
        None => Err(Absence::NotInFile),
        Some(Value::Number(number)) => number.as_f64().ok_or(Absence::NotSet),
        Some(Value::Object(wrapped)) => {
            let flag = |key: &str| wrapped.get(key).and_then(Value::as_bool);
            if flag("infinite") == Some(true) {
                return Err(Absence::Unlimited);
            }
            if flag("set") == Some(false) {
                return Err(Absence::NotSet);
            }
            match wrapped.get("number") {
                Some(Value::Number(number)) => number.as_f64().ok_or(Absence::NotSet),
                _ => unreadable(&value.map(Value::to_string).unwrap_or_default()),
            }
        }
        Some(Value::String(text)) => number(text),
        Some(other) => unreadable(&other.to_string()),
    }
}

/// A whole number that is not negative.
pub(super) fn whole(value: Option<&Value>) -> Stated<u64> {
    let number = amount(value)?;
    // Slurm writes -1 and numbers near the end of a range for "no limit" and "not set".
    if number < 0.0 {
        return Err(Absence::NotSet);
    }
    if number > 9e15 || number.fract() != 0.0 {
        return unreadable(&number.to_string());
    }
    Ok(number as u64)
}

/// An instant by seconds since 1970. Zero is what the caller says it is.
pub(super) fn seconds(value: Option<&Value>, zero: &Absence) -> Stated<SchedulerTime> {
    match value {
        Some(Value::String(text)) => time(text),
        _ => match whole(value)? {
            0 => Err(zero.clone()),
            // The highest numbers of 32 bits are marks: INFINITE and NO_VAL.
            4_294_967_294..=4_294_967_295 => Err(Absence::NotSet),
            number => instant(number as i64).ok_or(Absence::NotSet),
        },
    }
}

/// Seconds of a limit in minutes.
pub(super) fn minutes(value: Option<&Value>) -> Stated<u64> {
    match amount(value)? {
        minutes if minutes < 0.0 => Err(Absence::Unlimited),
        minutes if minutes >= 4_294_967_294.0 => Err(Absence::Unlimited),
        minutes => Ok((minutes * 60.0).round() as u64),
    }
}

/// A flag.
pub(super) fn flag(value: Option<&Value>) -> Stated<bool> {
    match value {
        None => Err(Absence::NotInFile),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" => Ok(true),
            "false" | "no" => Ok(false),
            "unknown" => Err(Absence::Unknown),
            _ => unreadable(text),
        },
        Some(other) => unreadable(&other.to_string()),
    }
}

/// The items of a list under a key.
pub(super) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
