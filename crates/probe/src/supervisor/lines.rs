//! Cutting a stream of bytes into lines of bounded length.

use serde::{Deserialize, Serialize};

/// Longest text of one line, bytes. What is beyond is counted and left out.
pub const LINE_BYTES_MAX: usize = 16 * 1024;

/// One line of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineText {
    /// The line without its end; bytes that are not UTF-8 are replaced by U+FFFD.
    pub text: String,
    /// Bytes left out because the line was longer than [`LINE_BYTES_MAX`].
    pub cut_bytes: u64,
}

/// Cuts what arrives into lines. A line ends at `\n`, and a `\r` before it belongs to the end.
#[derive(Debug, Default)]
pub struct LineCutter {
    kept: Vec<u8>,
    cut_bytes: u64,
}

impl LineCutter {
    /// The lines that these bytes complete, in order.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<LineText> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            lines.push(self.take());
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
        lines
    }

    /// The last line, if the stream ended inside one.
    pub fn finish(&mut self) -> Option<LineText> {
        (!self.kept.is_empty()).then(|| self.take())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.cut_bytes += (bytes.len() - room) as u64;
    }

    fn take(&mut self) -> LineText {
        if self.cut_bytes == 0 && self.kept.last() == Some(&b'\r') {
            self.kept.pop();
        }
        let text = String::from_utf8_lossy(&self.kept).into_owned();
        self.kept.clear();
        LineText { text, cut_bytes: std::mem::take(&mut self.cut_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(lines: &[LineText]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn lines_span_reads() {
        let mut cutter = LineCutter::default();
        assert_eq!(texts(&cutter.push(b"one\ntw")), ["one"]);
        assert_eq!(texts(&cutter.push(b"o\r\n\nthree")), ["two", ""]);
        assert_eq!(cutter.finish().unwrap().text, "three");
        assert_eq!(cutter.finish(), None);
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let mut cutter = LineCutter::default();
        cutter.push(&vec![b'x'; LINE_BYTES_MAX + 10]);
        let lines = cutter.push(b"yz\nnext\n");
        assert_eq!((lines[0].text.len(), lines[0].cut_bytes), (LINE_BYTES_MAX, 12));
        assert_eq!((lines[1].text.as_str(), lines[1].cut_bytes), ("next", 0));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(texts(&LineCutter::default().push(b"a\xffb\n")), ["a\u{fffd}b"]);
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_split_changes_nothing(
            text in "[a-z\r\n]{0,200}",
            splits in proptest::collection::vec(0usize..200, 0..6),
        ) {
            let whole = LineCutter::default().push(text.as_bytes());
            let mut cutter = LineCutter::default();
            let mut pieces = Vec::new();
            let mut ends: Vec<usize> =
                splits.into_iter().map(|split| split.min(text.len())).collect();
            ends.push(text.len());
            ends.sort_unstable();
            let mut from = 0;
            for end in ends {
                pieces.extend(cutter.push(&text.as_bytes()[from..end]));
                from = end;
            }
            prop_assert_eq!(whole, pieces);
        }
    }
}
