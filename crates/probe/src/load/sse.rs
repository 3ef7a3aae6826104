//! An incremental parser of server-sent events, after the event stream grammar of the WHATWG HTML
//! standard (section 9.2.6, "Interpreting an event stream").
//!
//! Bytes go in as the socket gave them; whole events come out. How the bytes were cut into reads
//! never changes the events (a property test holds this), and no input makes the parser panic or
//! hold more than [`EVENT_BYTES_MAX`] bytes.

use memchr::memchr2;

/// Most bytes of one event that the parser holds. A larger one is an error, never more memory.
pub const EVENT_BYTES_MAX: usize = 1 << 20;

/// One event as dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event:` field; empty where the stream gave none.
    pub name: &'a [u8],
    /// The `data:` fields, joined by line feeds.
    pub data: &'a [u8],
}

/// Why the stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is larger than the parser may hold.
    #[error("an event of the stream is larger than {EVENT_BYTES_MAX} bytes")]
    EventTooLong,
}

/// What one call of [`SseParser::push`] should do after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Read on.
    Yes,
    /// Ignore the rest of this input.
    No,
}

/// The parser of one stream.
#[derive(Debug, Default)]
pub struct SseParser {
    /// A line whose end has not arrived.
    line: Vec<u8>,
    /// Data of the event that is being collected.
    data: Vec<u8>,
    /// Whether the event has a data field, which may be empty.
    has_data: bool,
    /// The event's name.
    name: Vec<u8>,
    /// The last byte was a carriage return, so that a line feed belongs to the same line end.
    after_carriage_return: bool,
    /// A byte order mark may only stand before the first line.
    past_first_line: bool,
}

impl SseParser {
    /// A parser at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and calls `on_event` for each event that they complete.
    pub fn push(
        &mut self,
        input: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>) -> Continue,
    ) -> Result<(), SseError> {
        let mut rest = input;
        if self.after_carriage_return && !rest.is_empty() {
            self.after_carriage_return = false;
            if rest[0] == b'\n' {
                rest = &rest[1..];
            }
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let dispatched = if self.line.is_empty() {
                self.take_line(&rest[..end], &mut on_event)?
            } else {
                self.hold(&rest[..end])?;
                let line = std::mem::take(&mut self.line);
                let dispatched = self.take_line(&line, &mut on_event)?;
                self.line = line;
                self.line.clear();
                dispatched
            };
            rest = self.after_line_end(rest, end);
            if dispatched == Continue::No {
                return Ok(());
            }
        }
        self.hold(rest)
    }

    /// Ends the stream. The standard discards an event whose blank line never came; the one
    /// exception here is the marker `[DONE]`, which some servers leave without one.
    pub fn finish(&mut self, mut on_event: impl FnMut(SseEvent<'_>) -> Continue) {
        let line = std::mem::take(&mut self.line);
        // A line that cannot be taken would have failed before: it is within the bound already.
        let taken = line.is_empty() || self.take_line(&line, &mut on_event).is_ok();
        if taken && self.has_data && self.data == b"[DONE]" {
            on_event(SseEvent { name: &self.name, data: &self.data });
        }
        *self = Self::default();
    }

    /// Bytes held for an event that is not complete.
    pub fn held_bytes(&self) -> usize {
        self.line.len() + self.data.len() + self.name.len()
    }

    fn after_line_end<'a>(&mut self, rest: &'a [u8], end: usize) -> &'a [u8] {
        if rest[end] == b'\n' {
            return &rest[end + 1..];
        }
        match rest.get(end + 1) {
            Some(b'\n') => &rest[end + 2..],
            Some(_) => &rest[end + 1..],
            None => {
                self.after_carriage_return = true;
                &[]
            }
        }
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.held_bytes() + bytes.len() > EVENT_BYTES_MAX {
            return Err(SseError::EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(
        &mut self,
        line: &[u8],
        on_event: &mut impl FnMut(SseEvent<'_>) -> Continue,
    ) -> Result<Continue, SseError> {
        let line = if self.past_first_line {
            line
        } else {
            self.past_first_line = true;
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        if line.is_empty() {
            return Ok(self.dispatch(on_event));
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                // One more byte for the line feed that joins the lines.
                if self.data.len() + self.name.len() + value.len() + 1 > EVENT_BYTES_MAX {
                    return Err(SseError::EventTooLong);
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                if self.data.len() + value.len() > EVENT_BYTES_MAX {
                    return Err(SseError::EventTooLong);
                }
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Comments (an empty field name), `id`, `retry` and unknown fields carry nothing here.
            _ => {}
        }
        Ok(Continue::Yes)
    }

    fn dispatch(&mut self, on_event: &mut impl FnMut(SseEvent<'_>) -> Continue) -> Continue {
        let next = if self.has_data {
            on_event(SseEvent { name: &self.name, data: &self.data })
        } else {
            Continue::Yes
        };
        self.data.clear();
        self.has_data = false;
        self.name.clear();
        next
    }
}
