//! Lines of a plain or gzip stream, one at a time, with their numbers. Line ends must be of one
//! kind through the file; the last line may lack its end.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::{Problem, TraceError};

/// Longest line that is read. A longer one is no row of a trace.
pub(super) const LINE_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    LineFeed,
    CarriageReturnLineFeed,
}

/// The lines of one file.
pub(super) struct Lines<'a> {
    file: &'a str,
    input: Box<dyn BufRead + 'a>,
    gzip: bool,
    buffer: Vec<u8>,
    number: u64,
    end: Option<LineEnd>,
}

impl<'a> Lines<'a> {
    /// Opens a stream and tells gzip from plain by the first two bytes.
    pub(super) fn open(file: &'a str, input: impl Read + 'a) -> Result<Self, Box<TraceError>> {
        let mut head = BufReader::with_capacity(1 << 16, input);
        let magic = head.fill_buf().map_err(|error| unreadable(file, None, &error))?;
        // A reader may give one byte at first; a trace of one byte is no gzip file anyhow.
        let gzip = magic.starts_with(&[0x1f, 0x8b]);
        if magic.is_empty() {
            return Err(Problem::new("the file is empty", "give a trace with at least one row")
                .at(file, None));
        }
        let input: Box<dyn BufRead + 'a> = if gzip {
            Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(head)))
        } else {
            Box::new(head)
        };
        Ok(Self { file, input, gzip, buffer: Vec::new(), number: 0, end: None })
    }

    /// The next line without its end, and its number.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, &str)>, Box<TraceError>> {
        self.buffer.clear();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = (&mut self.input).take(limit).read_until(b'\n', &mut self.buffer);
        let line = self.number + 1;
        read.map_err(|error| self.broken(line, &error))?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.number = line;
        if self.buffer.len() > LINE_BYTES_MAX {
            return Err(Problem::new(
                format!("the line is longer than {} MiB", LINE_BYTES_MAX >> 20),
                "this is not a trace of one request a line",
            )
            .at(self.file, Some(line)));
        }
        self.strip_end(line)?;
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some((line, text))),
            Err(_) => Err(Problem::new(
                "the line is not UTF-8 text",
                "give a CSV or JSONL trace, plain or gzip",
            )
            .text(&String::from_utf8_lossy(&self.buffer))
            .at(self.file, Some(line))),
        }
    }

    fn strip_end(&mut self, line: u64) -> Result<(), Box<TraceError>> {
        if self.buffer.last() != Some(&b'\n') {
            // The last line without an end. A lone carriage return is the rest of a cut line end.
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

    fn broken(&self, line: u64, error: &io::Error) -> Box<TraceError> {
        if self.gzip {
            let cut = error.kind() == io::ErrorKind::UnexpectedEof;
            let problem = if cut {
                "the gzip file ends too early".to_owned()
            } else {
                format!("the gzip file is damaged: {error}")
            };
            return Problem::new(problem, "fetch it again and check it with `gzip -t`")
                .at(self.file, Some(line));
        }
        unreadable(self.file, Some(line), error)
    }
}

fn unreadable(file: &str, line: Option<u64>, error: &io::Error) -> Box<TraceError> {
    Problem::new(format!("cannot be read: {error}"), "check the path and its permissions")
        .at(file, line)
}
