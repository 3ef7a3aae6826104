//! Single values: which texts are accepted, and what is said about the others.

use cotenant_core::site::{
    CheckpointInterval, Dtype, LOG_PLACEHOLDERS, LostWork, NeighbourPriority, Signal, SlicePeriod,
    Work,
};
use cotenant_core::units::{
    Bytes, BytesPerSecond, Money, Quantity, RatePerSecond, Share, UnitError, UnitProblem,
    parse_count, parse_duration,
};

use super::deadline::{parse_written_time, time_zone};
use super::nearest::nearest;
pub(super) use super::times::{calendar_window, date, weekly, window};

/// A kind of single value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    /// Any text.
    Text,
    /// A name: of letters, digits, `-`, `_`, `.`, `/`, `:`.
    Name,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// A number that is not negative.
    Number,
    /// A number above zero.
    PositiveNumber,
    /// A whole number that may carry `k`, `M`, `B` or `T`.
    Count,
    /// A time above zero.
    Duration,
    /// A time, zero allowed.
    DurationOrZero,
    /// Memory.
    Bytes,
    /// Bandwidth.
    BytesPerSecond,
    /// Anything over time.
    Rate,
    /// Requests over time.
    RequestRate,
    /// Tokens over time, above zero.
    TokenRate,
    /// A part of a whole.
    Share,
    /// Money.
    Money,
    /// An IANA time zone.
    TimeZone,
    /// A moment: local time of the site, or with its own zone or offset.
    Moment,
    /// A weekly window.
    Window,
    /// A weekly moment.
    Weekly,
    /// A day.
    Date,
    /// Length of a window of the calendar.
    CalendarWindow,
    /// An `http` or `https` URL.
    Url,
    /// Numbers of GPUs or cores: `0-3,6`.
    Indexes,
    /// The type of a model's numbers.
    Dtype,
    /// A signal's name.
    Signal,
    /// How often a checkpoint is written.
    Interval,
    /// Work lost by a preemption.
    LostWork,
    /// `derived` or a number of GPUs.
    Reserve,
    /// CPU priority of the neighbour.
    Priority,
    /// A time slice.
    Slice,
    /// A template of a log line.
    Template,
    /// An amount of work with its unit.
    Work,
}

/// Why a text is not accepted, and what to write.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) hint: String,
    /// Whether the text is of another kind altogether, rather than a bad value of the right kind.
    pub(super) is_other_kind: bool,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), is_other_kind: false }
    }
}

impl From<UnitError> for Fault {
    fn from(error: UnitError) -> Self {
        let is_other_kind = matches!(
            error.problem,
            UnitProblem::NoNumber | UnitProblem::NoUnit(_) | UnitProblem::UnknownUnit { .. }
        );
        Self { hint: error.hint(), message: error.to_string(), is_other_kind }
    }
}

pub(super) fn fault<T>(message: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new(message, hint))
}

/// Longest text of one value, in bytes.
const TEXT_BYTES_MAX: usize = 16 * 1024;

impl Scalar {
    /// Checks a text.
    pub(super) fn check(self, text: &str) -> Result<(), Fault> {
        if text.len() > TEXT_BYTES_MAX {
            return fault(
                format!("a value is longer than {} KiB", TEXT_BYTES_MAX >> 10),
                "shorten it",
            );
        }
        match self {
            Self::Text => match text.trim() {
                "" => fault("the text is empty", "write it, or remove the line"),
                _ => Ok(()),
            },
            Self::Name => check_name(text),
            Self::Choice(words) => check_word(text, words),
            Self::Flag => flag(text).map(drop),
            Self::Integer(min, max) => integer(text, min, max).map(drop),
            Self::Number => number(text).map(drop),
            Self::PositiveNumber => match number(text)? {
                0.0 => fault("this must be more than zero", "write a number such as `1` or `0.5`"),
                _ => Ok(()),
            },
            Self::Count => Ok(parse_count(text).map(drop)?),
            Self::Duration => {
                if parse_duration(text)?.is_zero() {
                    return fault(format!("`{text}` is no time at all"), "write a time above zero");
                }
                Ok(())
            }
            Self::DurationOrZero => Ok(parse_duration(text).map(drop)?),
            Self::Bytes => Ok(Bytes::parse(text).map(drop)?),
            Self::BytesPerSecond => Ok(BytesPerSecond::parse(text).map(drop)?),
            Self::Rate => check_rate(text).map(drop),
            Self::RequestRate => check_request_rate(text),
            Self::TokenRate => check_token_rate(text),
            Self::Share => Ok(Share::parse(text).map(drop)?),
            Self::Money => Ok(Money::parse(text).map(drop)?),
            Self::TimeZone => time_zone(text).map(drop),
            Self::Moment => parse_written_time(text).map(drop),
            Self::Window => window(text).map(drop),
            Self::Weekly => weekly(text).map(drop),
            Self::Date => date(text).map(drop),
            Self::CalendarWindow => calendar_window(text).map(drop),
            Self::Url => check_url(text),
            Self::Indexes => indexes(text).map(drop),
            Self::Dtype => dtype(text).map(drop),
            Self::Signal => signal(text).map(drop),
            Self::Interval => interval(text).map(drop),
            Self::LostWork => lost_work(text).map(drop),
            Self::Reserve => match text {
                "derived" => Ok(()),
                _ => number(text).map(drop).map_err(|fault| Fault {
                    hint: "write a number of GPUs, or `derived` to let the plan derive it"
                        .to_owned(),
                    ..fault
                }),
            },
            Self::Priority => priority(text).map(drop),
            Self::Slice => slice(text).map(drop),
            Self::Template => check_template(text),
            Self::Work => work(text).map(drop),
        }
    }
}

/// Names are shown in tables and become parts of file names.
fn check_name(text: &str) -> Result<(), Fault> {
    const NAME_CHARACTERS_MAX: usize = 100;
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if text.is_empty() {
        return fault("the name is empty", "write a name such as `chat`");
    }
    if text.chars().count() > NAME_CHARACTERS_MAX {
        return fault(
            format!("a name is longer than {NAME_CHARACTERS_MAX} characters"),
            "shorten it",
        );
    }
    match text.chars().find(|c| !is_allowed(*c)) {
        Some(c) => fault(
            format!("a name cannot hold `{}`", c.escape_debug()),
            "use letters, digits, `-`, `_`, `.`, `/` and `:`",
        ),
        None => Ok(()),
    }
}

fn check_word(text: &str, words: &[&str]) -> Result<(), Fault> {
    if words.contains(&text) {
        return Ok(());
    }
    let hint = match nearest(text, words.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("write {}", alternatives(words)),
    };
    fault(format!("`{}` is not known here", shorten(text)), hint)
}

/// Words as alternatives: `a`, `b` or `c`.
pub(super) fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// A text as a message repeats it.
pub(super) fn shorten(text: &str) -> String {
    const CHARACTERS_MAX: usize = 40;
    let mut short: String =
        text.chars().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().count() > CHARACTERS_MAX {
        short.push('…');
    }
    short
}

pub(super) fn flag(text: &str) -> Result<bool, Fault> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => {
            let hint = match text.to_ascii_lowercase().as_str() {
                "yes" | "y" | "on" | "true" => "write `true`",
                "no" | "n" | "off" | "false" => "write `false`",
                _ => "write `true` or `false`",
            };
            fault(format!("`{}` is neither true nor false", shorten(text)), hint)
        }
    }
}

pub(super) fn integer(text: &str, min: i64, max: i64) -> Result<i64, Fault> {
    let range = match max {
        i64::MAX => format!("write a whole number from {min}"),
        _ => format!("write a whole number from {min} to {max}"),
    };
    match text.replace('_', "").parse::<i64>() {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        Ok(value) if value < 0 && min >= 0 => fault(format!("`{value}` is negative"), range),
        Ok(value) => fault(format!("`{value}` is out of range"), range),
        Err(_) => fault(format!("`{}` is not a whole number", shorten(text)), range),
    }
}

pub(super) fn number(text: &str) -> Result<f64, Fault> {
    const NUMBER_MAX: f64 = 1e15;
    let hint = "write a number such as `2` or `0.5`";
    match text.parse::<f64>() {
        Ok(value) if !value.is_finite() => fault(format!("`{text}` is not a finite number"), hint),
        Ok(value) if value < 0.0 => fault(format!("`{text}` is negative"), hint),
        Ok(value) if value > NUMBER_MAX => fault(format!("`{text}` is more than 1e15"), hint),
        Ok(value) => Ok(value),
        Err(_) => fault(format!("`{}` is not a number", shorten(text)), hint),
    }
}

fn check_rate(text: &str) -> Result<RatePerSecond, Fault> {
    let rate = RatePerSecond::parse(text)?;
    if rate.per_second == 0.0 {
        return fault(format!("`{text}` is nothing at all"), "write a rate above zero");
    }
    Ok(rate)
}

fn check_request_rate(text: &str) -> Result<(), Fault> {
    let rate = RatePerSecond::parse(text)?;
    if rate.is_requests() {
        return Ok(());
    }
    fault(
        format!("this is a rate of requests, not of `{}`", shorten(&rate.unit)),
        "write `12 req/s` or `700 req/min`",
    )
}

fn check_token_rate(text: &str) -> Result<(), Fault> {
    let rate = check_rate(text)?;
    if rate.is_tokens() {
        return Ok(());
    }
    fault(
        format!("this is a rate of tokens, not of `{}`", shorten(&rate.unit)),
        "write `4000 tok/s` or `240000 tok/min`",
    )
}

/// Enough to catch slips; whether anything answers there is seen when it is asked.
fn check_url(text: &str) -> Result<(), Fault> {
    let example = "write a URL such as `http://127.0.0.1:8000`";
    let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
        return fault(
            format!("`{}` does not begin with http:// or https://", shorten(text)),
            example,
        );
    };
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return fault("a URL holds no blanks", example);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return fault("a URL in a site file holds no user or password", example);
    }
    let (host, port) = match authority.rfind(':') {
        Some(at) if !authority[at..].contains(']') => {
            (&authority[..at], Some(&authority[at + 1..]))
        }
        _ => (authority, None),
    };
    if host.is_empty() {
        return fault(format!("`{}` names no host", shorten(text)), example);
    }
    match port.map(str::parse::<u16>) {
        Some(Err(_) | Ok(0)) => fault(
            format!("`{}` has no port from 1 to 65535 behind its colon", shorten(text)),
            example,
        ),
        _ => Ok(()),
    }
}

/// Numbers of GPUs or cores, ascending: `3`, `0-3`, `0-3,6`.
pub(super) fn indexes(text: &str) -> Result<Vec<u32>, Fault> {
    const INDEX_MAX: u32 = 65_535;
    let mut found = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let parse = |number: &str| number.trim().parse::<u32>().ok();
        let range = match part.split_once('-') {
            Some((first, last)) => parse(first).zip(parse(last)),
            None => parse(part).map(|index| (index, index)),
        };
        match range {
            Some((first, last)) if first <= last && last <= INDEX_MAX => found.extend(first..=last),
            _ => {
                return fault(
                    format!("`{}` is not a list of numbers", shorten(text)),
                    "write `0-3,6` or `[0, 1, 2, 3, 6]`",
                );
            }
        }
    }
    Ok(found.into_iter().collect())
}

pub(super) fn dtype(text: &str) -> Result<Dtype, Fault> {
    const SHORT: [(&str, Dtype); 5] = [
        ("fp32", Dtype::Float32),
        ("f32", Dtype::Float32),
        ("fp16", Dtype::Float16),
        ("f16", Dtype::Float16),
        ("bf16", Dtype::Bfloat16),
    ];
    let short = SHORT.into_iter().find(|(name, _)| *name == text).map(|(_, dtype)| dtype);
    let found = short.or_else(|| Dtype::ALL.into_iter().find(|dtype| dtype.name() == text));
    found.map_or_else(
        || {
            let names: Vec<&str> = Dtype::ALL.into_iter().map(Dtype::name).collect();
            check_word(text, &names).and_then(|()| fault("unknown", ""))
        },
        Ok,
    )
}

pub(super) fn signal(text: &str) -> Result<Signal, Fault> {
    Signal::from_name(text).map_or_else(
        || {
            let names: Vec<&str> = Signal::ALL.into_iter().map(Signal::name).collect();
            check_word(text, &names).and_then(|()| fault("unknown", ""))
        },
        Ok,
    )
}

/// A number of steps: `500 steps`.
fn steps(text: &str) -> Option<Result<u64, Fault>> {
    let number = text.trim().strip_suffix("steps").or_else(|| text.trim().strip_suffix("step"))?;
    Some(parse_count(number.trim()).map_err(Fault::from))
}

pub(super) fn interval(text: &str) -> Result<CheckpointInterval, Fault> {
    let hint = "write a time or steps: `30 min` or `500 steps`";
    match steps(text) {
        Some(Ok(0)) => fault("a checkpoint at every 0 steps", hint),
        Some(count) => Ok(CheckpointInterval::Steps(count?)),
        None => match parse_duration(text) {
            Ok(duration) if duration.is_zero() => fault("a checkpoint at every instant", hint),
            Ok(duration) => Ok(CheckpointInterval::Time(duration)),
            Err(error) => fault(error.to_string(), hint),
        },
    }
}

pub(super) fn lost_work(text: &str) -> Result<LostWork, Fault> {
    match text {
        "none" => return Ok(LostWork::None),
        "since_checkpoint" => return Ok(LostWork::SinceCheckpoint),
        _ => {}
    }
    let hint = "write `none`, `since_checkpoint`, `20 steps` or `3 min`";
    match steps(text) {
        Some(count) => Ok(LostWork::Steps(count?)),
        None => parse_duration(text)
            .map(LostWork::Time)
            .map_err(|error| Fault::new(error.to_string(), hint)),
    }
}

pub(super) fn priority(text: &str) -> Result<NeighbourPriority, Fault> {
    let hint = "write `normal`, `idle` or `nice 10` (1 to 19)";
    match text {
        "normal" => Ok(NeighbourPriority::Normal),
        "idle" => Ok(NeighbourPriority::Idle),
        _ => match text.strip_prefix("nice").map(|value| value.trim().parse::<u8>()) {
            Some(Ok(value @ 1..=19)) => Ok(NeighbourPriority::Nice(value)),
            Some(_) => fault(format!("`{}` is not a nice value from 1 to 19", shorten(text)), hint),
            None => fault(format!("`{}` is not a CPU priority", shorten(text)), hint),
        },
    }
}

pub(super) fn slice(text: &str) -> Result<SlicePeriod, Fault> {
    if let Some((period, _)) = SlicePeriod::NAMED.into_iter().find(|(_, name)| *name == text) {
        return Ok(period);
    }
    parse_duration(text).map(SlicePeriod::Time).map_err(|error| {
        Fault::new(
            error.to_string(),
            "write `default`, `short`, `medium`, `long` or a time such as `2 ms`",
        )
    })
}

pub(super) fn work(text: &str) -> Result<Work, Fault> {
    let hint = "write an amount and what it counts: `20 B tok` or `1.2 M samples`";
    let bad = || Fault::new(format!("`{}` is not an amount of work", shorten(text)), hint);
    let (amount, unit) = text.trim().rsplit_once(char::is_whitespace).ok_or_else(bad)?;
    let is_word = unit.chars().all(|c| c.is_alphabetic() || c == '_') && unit.len() > 1;
    if !is_word {
        return Err(bad());
    }
    let amount = parse_count(amount).map_err(|error| Fault::new(error.to_string(), hint))?;
    Ok(Work { amount, unit: unit.to_owned() })
}

/// A template of a log line: text, and names in braces.
fn check_template(text: &str) -> Result<(), Fault> {
    let names: Vec<&str> = LOG_PLACEHOLDERS.iter().map(|(name, _)| *name).collect();
    let braces = "write names in braces: `step={step} loss={loss} step_s={step_s}`";
    let mut rest = text;
    let mut found = 0;
    while let Some(open) = rest.find(['{', '}']) {
        if rest.as_bytes()[open] == b'}' {
            return fault("a `}` has no `{` before it", braces);
        }
        let behind = &rest[open + 1..];
        let Some(close) = behind.find(['{', '}']).filter(|at| behind.as_bytes()[*at] == b'}')
        else {
            return fault("a `{` is not closed", braces);
        };
        check_word(&behind[..close], &names)?;
        found += usize::from(&behind[..close] != "*");
        rest = &behind[close + 1..];
        if rest.starts_with('{') {
            return fault("two names touch, so their values cannot be told apart", braces);
        }
    }
    if found == 0 {
        return fault("the template names no value", braces);
    }
    Ok(())
}

/// The quantity behind a scalar, for the schema.
pub(super) fn quantity(scalar: Scalar) -> Option<Quantity> {
    Some(match scalar {
        Scalar::Duration | Scalar::DurationOrZero | Scalar::CalendarWindow => Quantity::Duration,
        Scalar::Bytes => Quantity::Bytes,
        Scalar::BytesPerSecond => Quantity::BytesPerSecond,
        Scalar::Rate | Scalar::RequestRate | Scalar::TokenRate => Quantity::Rate,
        Scalar::Share => Quantity::Share,
        Scalar::Money => Quantity::Money,
        Scalar::Count => Quantity::Count,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line: kind, accepted texts, refused texts.
    #[test]
    fn each_kind_accepts_its_forms_and_refuses_others() {
        let cases: &[(Scalar, &[&str], &[&str])] = &[
            (Scalar::Text, &["x y"], &["", "  "]),
            (Scalar::Name, &["chat", "meta-llama/Llama-3.1-8B", "é"], &["", "a b", "a\nb"]),
            (Scalar::Flag, &["true", "false"], &["yes", "True", "1"]),
            (Scalar::Integer(0, 8), &["0", "8"], &["-1", "9", "1.0", "", "99999999999999999999"]),
            (Scalar::PositiveNumber, &["0.5", "2"], &["0", "-1", "nan", "inf", "1e300", "x"]),
            (Scalar::Duration, &["1 ms"], &["0 s", "-1 s", "1"]),
            (Scalar::DurationOrZero, &["0 s", "1 ms"], &["-1 s", "1"]),
            (Scalar::Rate, &["4000 tok/s"], &["0 tok/s", "4000"]),
            (Scalar::RequestRate, &["2 req/s", "0 req/min"], &["2 tok/s"]),
            (Scalar::TokenRate, &["2 tok/s", "900 tokens/min"], &["2 req/s", "0 tok/s"]),
            (Scalar::Window, &["Mon 08:00-09:00"], &["Mon", "8-9"]),
            (Scalar::Weekly, &["Fri 18:00", "daily 24:00"], &["Fri", "Fri 25:00", "18:00"]),
            (
                Scalar::Date,
                &["2026-12-07", "2028-02-29"],
                &["2026-12-7", "2026-02-29", "2026-12-07 00:00", "07.12.2026", "Monday"],
            ),
            (
                Scalar::CalendarWindow,
                &["15 min", "20 min", "30 min", "60 min", "1 h", "1800 s"],
                &["10 min", "45 min", "2 h", "30", "0 s"],
            ),
            (
                Scalar::Url,
                &["http://a", "https://a.b:80/x?y", "http://[::1]:8000", "http://[::1]"],
                &[
                    "a.b",
                    "ftp://a",
                    "http://",
                    "http://a:b",
                    "http://a:0",
                    "http://u:p@a",
                    "http://a b",
                ],
            ),
            (Scalar::Indexes, &["3", "0-3,6", "0, 2"], &["", "3-1", "a", "0-99999999"]),
            (Scalar::Dtype, &["bfloat16", "bf16", "fp8"], &["bfloat", "64"]),
            (Scalar::Signal, &["TERM", "SIGUSR1"], &["term", "9"]),
            (Scalar::Interval, &["30 min", "500 steps"], &["0 steps", "500", "0 s", "often"]),
            (Scalar::LostWork, &["none", "since_checkpoint", "20 steps", "3 min"], &["some", "20"]),
            (Scalar::Reserve, &["derived", "1.5"], &["some", "-1"]),
            (
                Scalar::Priority,
                &["normal", "idle", "nice 10"],
                &["nice", "nice 0", "nice 20", "low"],
            ),
            (Scalar::Slice, &["default", "long", "2 ms"], &["2", "longer"]),
            (Scalar::Work, &["20 B tok", "1000 samples"], &["20 B", "tok", "20"]),
            (
                Scalar::Template,
                &["step={step}", "{*} {step}: {loss}"],
                &["step", "{", "}", "{stepp}", "{step}{loss}", "{*}", "{step{loss}}"],
            ),
            (Scalar::TimeZone, &["UTC", "Europe/Berlin"], &["Europe/Berln", "CEST", ""]),
            (
                Scalar::Moment,
                &["2026-12-04 18:00", "2026-12-04T18:00:00Z", "2026-12-04T18:00[Europe/Berlin]"],
                &["2026-13-04 18:00", "tomorrow", "18:00"],
            ),
        ];
        for (scalar, accepted, refused) in cases {
            for text in *accepted {
                assert_eq!(scalar.check(text), Ok(()), "{scalar:?}: {text}");
            }
            for text in *refused {
                let fault = scalar.check(text).expect_err(&format!("{scalar:?}: {text}"));
                assert!(!fault.message.is_empty() && !fault.hint.is_empty(), "{scalar:?}: {text}");
            }
        }
    }

    #[test]
    fn near_words_are_offered() {
        assert_eq!(
            signal("SIGTERMM").unwrap_err().hint,
            "write `TERM`, `INT`, `HUP`, `QUIT`, `USR1`, `USR2` or `KILL`"
        );
        assert_eq!(signal("term").unwrap_err().hint, "did you mean `TERM`?");
        assert_eq!(dtype("bflaot16").unwrap_err().hint, "did you mean `bfloat16`?");
        assert_eq!(time_zone("Europe/Berln").unwrap_err().hint, "did you mean `Europe/Berlin`?");
    }
}
