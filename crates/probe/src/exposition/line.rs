//! The grammar of one line: names, labels, values, escapes.

use std::borrow::Cow;

use super::model::{Exemplar, Labels, Sample};
use super::parse::LABELS_MAX;

/// A line's text that is still to be read.
pub(super) struct Cursor<'a> {
    rest: &'a str,
}

fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    fn peek(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.peek() == Some(byte);
        if eaten {
            self.rest = &self.rest[1..];
        }
        eaten
    }

    /// Text up to the next blank.
    pub(super) fn word(&mut self) -> &'a str {
        let end = self.rest.bytes().position(blank).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// A name as the classic grammar has it; colons only in names of metrics.
    fn plain_name(&mut self, colons: bool) -> Option<&'a str> {
        let letter =
            |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || (colons && byte == b':');
        if !self.peek().is_some_and(letter) {
            return None;
        }
        let end = self
            .rest
            .bytes()
            .position(|byte| !(letter(byte) || byte.is_ascii_digit()))
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(name)
    }

    /// A metric's name, quoted where it holds other characters.
    pub(super) fn metric_name(&mut self) -> Result<Cow<'a, str>, String> {
        if self.peek() == Some(b'"') {
            return self.quoted();
        }
        self.plain_name(true).map(Cow::Borrowed).ok_or_else(|| {
            format!("a name begins with a letter, `_` or `:`, not with {}", self.found())
        })
    }

    /// Text in double quotes with the escapes `\\`, `\"` and `\n`.
    fn quoted(&mut self) -> Result<Cow<'a, str>, String> {
        if !self.eat(b'"') {
            return Err(format!("a value in double quotes was expected, not {}", self.found()));
        }
        let (text, used) = unescape_until_quote(self.rest)?;
        self.rest = &self.rest[used..];
        Ok(text)
    }

    /// Labels in braces. A quoted text without a value is the metric's name, as Prometheus 3 writes it.
    fn labels(&mut self) -> Result<(Option<Cow<'a, str>>, Labels<'a>), String> {
        let mut name = None;
        let mut labels = Labels::new();
        loop {
            self.skip_blanks();
            if self.eat(b'}') {
                return Ok((name, labels));
            }
            let quoted = self.peek() == Some(b'"');
            let key = if quoted {
                self.quoted()?
            } else {
                Cow::Borrowed(self.plain_name(false).ok_or_else(|| {
                    format!("a label's name begins with a letter or `_`, not with {}", self.found())
                })?)
            };
            self.skip_blanks();
            if self.eat(b'=') {
                self.skip_blanks();
                let value = self.quoted().map_err(|error| format!("label {key}: {error}"))?;
                if key == "__name__" {
                    return Err("the label `__name__` is reserved".into());
                }
                if labels.iter().any(|(other, _)| *other == key) {
                    return Err(format!("the label {key} stands twice"));
                }
                if labels.len() == LABELS_MAX {
                    return Err(format!("more than {LABELS_MAX} labels"));
                }
                labels.push((key, value));
            } else if quoted && name.is_none() && labels.is_empty() {
                name = Some(key);
            } else {
                return Err(format!(
                    "`=` was expected after the label {key}, not {}",
                    self.found()
                ));
            }
            self.skip_blanks();
            if !self.eat(b',') && self.peek() != Some(b'}') {
                return Err(format!(
                    "`,` or `}}` was expected in the labels, not {}",
                    self.found()
                ));
            }
        }
    }

    /// What stands next, for a message.
    fn found(&self) -> String {
        self.rest
            .chars()
            .next()
            .map_or("the line's end".into(), |next| format!("`{}`", next.escape_debug()))
    }
}

fn unescape_until_quote(text: &str) -> Result<(Cow<'_, str>, usize), String> {
    let unterminated = || "the quote is not closed on this line".to_owned();
    let plain = memchr::memchr2(b'"', b'\\', text.as_bytes()).ok_or_else(unterminated)?;
    if text.as_bytes()[plain] == b'"' {
        return Ok((Cow::Borrowed(&text[..plain]), plain + 1));
    }
    let mut value = text[..plain].to_owned();
    let mut characters = text[plain..].char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((Cow::Owned(value), plain + at + 1)),
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                Some((_, other)) => {
                    let other = other.escape_debug();
                    return Err(format!("`\\{other}` is no escape; only \\\\, \\\" and \\n are"));
                }
                None => return Err(unterminated()),
            },
            other => value.push(other),
        }
    }
    Err(unterminated())
}

/// Text of a HELP line, where `\\` and `\n` are escapes (and `\"` in OpenMetrics); any other
/// backslash stands for itself.
pub(super) fn unescape_help(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = match (character, characters.peek()) {
            ('\\', Some('n')) => Some('\n'),
            ('\\', Some('\\')) => Some('\\'),
            ('\\', Some('"')) => Some('"'),
            _ => None,
        };
        if escaped.is_some() {
            characters.next();
        }
        value.push(escaped.unwrap_or(character));
    }
    Cow::Owned(value)
}

/// A number as Go writes and reads it.
pub(super) fn number(word: &str) -> Result<f64, String> {
    word.parse().map_err(|_| {
        if word.is_empty() {
            "the value is missing".to_owned()
        } else {
            format!("`{}` is no number", shorten(word))
        }
    })
}

/// The begin of a text, for a message.
pub(super) fn shorten(text: &str) -> String {
    let mut characters = text.chars();
    let begin: String = characters.by_ref().take(40).collect();
    let begin = begin.escape_debug().to_string();
    if characters.next().is_some() { format!("{begin}…") } else { begin }
}

/// Reads a line with a value. `open` is whether OpenMetrics' rules hold for times and exemplars.
pub(super) fn sample(text: &str, line: usize, open: bool) -> Result<Sample<'_>, String> {
    let mut cursor = Cursor::new(text);
    let mut name = if cursor.peek() == Some(b'{') { None } else { Some(cursor.metric_name()?) };
    cursor.skip_blanks();
    let mut labels = Labels::new();
    if cursor.eat(b'{') {
        let (quoted, read) = cursor.labels()?;
        labels = read;
        if quoted.is_some() && name.is_some() {
            return Err("the name stands twice".into());
        }
        name = name.or(quoted);
    } else if name
        .as_ref()
        .is_some_and(|name| text.len() > name.len() && !blank(text.as_bytes()[name.len()]))
    {
        return Err(format!("`{}` is no name", shorten(Cursor::new(text).word())));
    }
    let name = name.ok_or("the metric's name is missing")?;
    cursor.skip_blanks();
    let value = number(cursor.word())?;
    let time_s = time(&mut cursor, open)?;
    cursor.skip_blanks();
    let exemplar = if cursor.eat(b'#') {
        if !open {
            return Err("an exemplar, which only OpenMetrics has".into());
        }
        Some(exemplar(&mut cursor)?)
    } else {
        None
    };
    cursor.skip_blanks();
    if !cursor.rest.is_empty() {
        return Err(format!("`{}` follows the sample", shorten(cursor.rest)));
    }
    Ok(Sample { name, labels, value, time_s, exemplar, line })
}

fn time(cursor: &mut Cursor<'_>, open: bool) -> Result<Option<f64>, String> {
    cursor.skip_blanks();
    if matches!(cursor.peek(), None | Some(b'#')) {
        return Ok(None);
    }
    let word = cursor.word();
    let time_s = if open {
        number(word).ok().filter(|seconds| seconds.is_finite())
    } else {
        word.parse::<i64>().ok().map(|milliseconds| milliseconds as f64 / 1000.0)
    };
    time_s.map(Some).ok_or_else(|| {
        let unit = if open { "seconds" } else { "whole milliseconds" };
        format!("`{}` is no time in {unit}", shorten(word))
    })
}

fn exemplar<'a>(cursor: &mut Cursor<'a>) -> Result<Exemplar<'a>, String> {
    cursor.skip_blanks();
    if !cursor.eat(b'{') {
        return Err(format!("an exemplar begins with `{{`, not with {}", cursor.found()));
    }
    let (name, labels) = cursor.labels()?;
    if name.is_some() {
        return Err("an exemplar has no name".into());
    }
    cursor.skip_blanks();
    let value = number(cursor.word())?;
    let time_s = time(cursor, true)?;
    Ok(Exemplar { labels, value, time_s })
}
