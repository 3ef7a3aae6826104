//! Lines of a plain or compressed stream, one at a time, with their numbers. Line ends must be of
//! one kind through the file; the last line may lack its end.

use std::io::{BufRead, Read};

use super::content::{self, Compression};
use super::error::{Problem, TraceError};

/// Longest line that is read. A longer one is no row of a trace.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    LineFeed,
    CarriageReturnLineFeed,
}

/// The lines of one file.
pub(crate) struct Lines<'a> {
    file: &'a str,
    input: Box<dyn BufRead + 'a>,
    compression: Compression,
    buffer: Vec<u8>,
    number: u64,
    end: Option<LineEnd>,
    cut: bool,
}

impl<'a> Lines<'a> {
    /// Opens a stream and tells its compression by its first bytes.
    pub(crate) fn open(file: &'a str, input: impl Read + 'a) -> Result<Self, Box<TraceError>> {
        let (compression, input) =
            content::open(input).map_err(|problem| problem.at(file, None))?;
        Ok(Self { file, input, compression, buffer: Vec::new(), number: 0, end: None, cut: false })
    }

    /// The next line without its end, and its number.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, &str)>, Box<TraceError>> {
        self.buffer.clear();
        let line = self.number + 1;
        self.fill(line)?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.number = line;
        self.strip_end(line)?;
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some((line, text))),
            Err(_) => Err(Problem::new(
                "the line is not UTF-8 text",
                "convert the file, for example: iconv -f LATIN1 -t UTF-8",
            )
            .text(&String::from_utf8_lossy(&self.buffer))
            .at(self.file, Some(line))),
        }
    }

    /// Whether the line that was given last has no end: the file may have been cut there.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    fn fill(&mut self, line: u64) -> Result<(), Box<TraceError>> {
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(self.compression.broken(&error).at(self.file, Some(line)));
                }
            };
            let end = memchr::memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |at| at + 1);
            self.buffer.extend_from_slice(&bytes[..taken]);
            self.input.consume(taken);
            if self.buffer.len() > LINE_BYTES_MAX {
                return Err(Problem::new(
                    format!("the line is longer than {} MiB", LINE_BYTES_MAX >> 20),
                    "this is not a trace of one request a line",
                )
                .at(self.file, Some(line)));
            }
            if end.is_some() || taken == 0 {
                return Ok(());
            }
        }
    }

    fn strip_end(&mut self, line: u64) -> Result<(), Box<TraceError>> {
        if self.buffer.last() != Some(&b'\n') {
            // The last line without an end. A lone carriage return is the rest of a cut line end.
            self.cut = true;
            if self.buffer.last() == Some(&b'\r') {
                self.buffer.pop();
            }
            return Ok(());
        }
        self.buffer.pop();
        let end = if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
            LineEnd::CarriageReturnLineFeed
        } else {
            LineEnd::LineFeed
        };
        match self.end {
            None => self.end = Some(end),
            Some(first) if first == end => {}
            Some(_) => {
                return Err(Problem::new(
                    "the line ends otherwise than the lines before it",
                    "two files were joined or one was edited by hand: make all line ends the \
                     same, for example with dos2unix",
                )
                .at(self.file, Some(line)));
            }
        }
        Ok(())
    }
}
