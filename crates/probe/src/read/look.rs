//! What recognisers and readers are shown of a file, and what they say about it.

use std::borrow::Cow;
use std::io::{BufRead, Read};

use cotenant_core::reading::{FileRefusal, RefusalCause};
use serde_json::Value;

use super::content::WHOLE_BYTES_MAX;
use super::door::ReadFile;

/// Text that recognisers of lines look at, bytes.
const SAMPLE_BYTES: usize = 256 << 10;

/// A file as it lies before the recognisers.
pub(super) struct Look<'a> {
    /// The name, as given.
    pub(super) name: &'a str,
    /// The bytes of the text that is held.
    pub(super) bytes: &'a [u8],
    /// These as text; bytes that are no UTF-8 are replaced.
    pub(super) text: Cow<'a, str>,
    /// The value, where the whole text is one JSON document.
    pub(super) json: Option<Value>,
    /// The value of the first line, where the text is lines of JSON.
    pub(super) json_line: Option<Value>,
    /// Whether what is held is all there is.
    pub(super) is_whole: bool,
}

/// What a reader gives.
pub(super) type Outcome = Result<ReadFile, FileRefusal>;

/// Somebody who knows what a file is.
pub(super) struct Claim {
    /// By what it is known, in words.
    pub(super) clue: String,
    /// Whether nobody else can be right. Who is not sure is asked in turn, and whose reader refuses
    /// leaves the file to the next.
    pub(super) is_sure: bool,
    /// Endings of names that speak for it where several are not sure.
    pub(super) endings: &'static [&'static str],
    /// Reads it; what is not held follows.
    pub(super) read: fn(&Look<'_>, &mut dyn BufRead) -> Outcome,
}

impl Claim {
    /// A claim that nobody can contest.
    pub(super) fn sure(
        clue: impl Into<String>,
        read: fn(&Look<'_>, &mut dyn BufRead) -> Outcome,
    ) -> Self {
        Self { clue: clue.into(), is_sure: true, endings: &[], read }
    }

    /// A claim that holds if the reader can read it.
    pub(super) fn likely(
        clue: impl Into<String>,
        endings: &'static [&'static str],
        read: fn(&Look<'_>, &mut dyn BufRead) -> Outcome,
    ) -> Self {
        Self { clue: clue.into(), is_sure: false, endings, read }
    }
}

impl<'a> Look<'a> {
    /// Looks at a text.
    pub(super) fn new(name: &'a str, bytes: &'a [u8], is_whole: bool) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let begins_as_json = text.trim_start().starts_with(['{', '[']);
        let json = (begins_as_json && is_whole)
            .then(|| crate::benchmark::parse_json(&text).ok())
            .flatten()
            .filter(|value| value.is_object() || value.is_array());
        let json_line = (begins_as_json && json.is_none())
            .then(|| text.lines().find(|line| !line.trim().is_empty()))
            .flatten()
            .and_then(|line| crate::benchmark::parse_json(line).ok())
            .filter(Value::is_object);
        Self { name, bytes, text, json, json_line, is_whole }
    }

    /// The first stretch of the text, in whole lines where it is cut.
    pub(super) fn sample(&self) -> &str {
        let text = &*self.text;
        if text.len() <= SAMPLE_BYTES {
            return text;
        }
        let mut end = SAMPLE_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].rfind('\n').map_or(&text[..end], |at| &text[..=at])
    }

    /// The first line that is not blank, and its number from 1.
    pub(super) fn first_line(&self) -> (u64, &str) {
        (1..)
            .zip(self.sample().lines())
            .find(|(_, line)| !line.trim().is_empty())
            .unwrap_or((1, ""))
    }

    /// Whether the JSON document is an object with all of these keys.
    pub(super) fn has_keys(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|value| keys.iter().all(|key| value.get(key).is_some()))
    }

    /// The whole text as a stream.
    pub(super) fn stream<'s>(&'s self, rest: &'s mut dyn BufRead) -> impl Read + 's {
        self.bytes.chain(rest)
    }

    /// Refuses a file of which only the beginning is held.
    ///
    /// # Errors
    /// A file that is longer than [`WHOLE_BYTES_MAX`].
    pub(super) fn require_whole(&self, seems: &str) -> Result<(), FileRefusal> {
        if self.is_whole {
            return Ok(());
        }
        let why = format!(
            "it has more than {} MiB of text, and must be read as a whole",
            WHOLE_BYTES_MAX >> 20
        );
        Err(self.refuse(
            seems,
            why,
            "give a part of it: traces, tables of rates and logs alone may be longer",
        ))
    }

    /// A refusal of this file.
    pub(super) fn refuse(
        &self,
        seems: impl Into<String>,
        why: impl Into<String>,
        way_out: impl Into<String>,
    ) -> FileRefusal {
        FileRefusal::new(self.name, seems, why, way_out)
    }

    /// A refusal because the machine failed while the file was read.
    pub(super) fn failed(&self, seems: &str, error: &std::io::Error) -> FileRefusal {
        let mut refusal =
            self.refuse(seems, error.to_string(), "check the disk or the pipe, and read it again");
        refusal.cause = RefusalCause::Machine;
        refusal
    }
}

/// A text of at most so many characters.
pub(super) fn short(text: &str, characters_max: usize) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(characters_max).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
