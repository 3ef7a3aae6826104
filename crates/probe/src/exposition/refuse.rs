//! Why a scrape is refused, and bytes that are no text of metrics at all.

/// Why a scrape cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpositionError {
    /// The bytes are something else altogether.
    #[error("this is {what}, not metrics text: {way_out}")]
    NotText {
        /// What it looks like.
        what: &'static str,
        /// What to do.
        way_out: &'static str,
    },
    /// A line breaks the format.
    #[error("line {line}: {what}; {way_out}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// What to do.
        way_out: &'static str,
    },
    /// More than is read.
    #[error("line {line}: more than {max} samples in one scrape; scrape fewer series")]
    TooMany {
        /// The line, from 1.
        line: usize,
        /// How many are read.
        max: usize,
    },
}

/// Says what bytes are that cannot be metrics text, from how they begin.
pub(super) fn not_text(bytes: &[u8]) -> Option<ExpositionError> {
    let refuse = |what, way_out| Some(ExpositionError::NotText { what, way_out });
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return refuse("a gzip file", "decompress it first");
    }
    if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return refuse("a zstd file", "decompress it first");
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return refuse("UTF-16 text", "save it as UTF-8");
    }
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'<') {
        return refuse("HTML or XML", "give the address of the metrics, /metrics as a rule");
    }
    // A quoted name may begin with a brace, so that only JSON's next characters decide.
    if first == Some(&b'[') {
        return refuse("JSON", "ask for `Accept: text/plain;version=0.0.4`");
    }
    let head = &bytes[..bytes.len().min(4096)];
    let control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    if head.iter().any(control) {
        return if delimited_protobuf(bytes) {
            refuse("Prometheus protobuf", "ask for `Accept: text/plain;version=0.0.4`")
        } else {
            refuse("binary data", "ask for `Accept: text/plain;version=0.0.4`")
        };
    }
    None
}

/// Whether bytes begin as delimited `io.prometheus.client.MetricFamily` messages do: a length as a
/// varint, the tag of field 1 (a string), and a length that fits into the message.
fn delimited_protobuf(bytes: &[u8]) -> bool {
    let Some((length, rest)) = varint(bytes) else { return false };
    let Some((&0x0a, rest)) = rest.split_first() else { return false };
    varint(rest).is_some_and(|(name, rest)| {
        name < length
            && rest.len() as u64 >= name
            && rest[..name as usize].iter().all(u8::is_ascii_graphic)
    })
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}
