//! Bytes to text: compression and encoding are told by the first bytes, and no byte is an error that
//! hides the rest of a file.

use super::refusal::ReadError;
use crate::packing::{PackingError, unpacked};

/// Most bytes that a file may have when unpacked.
pub const TEXT_BYTES_MAX: u64 = 256 << 20;

/// A text, and what was odd about its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) body: String,
    pub(super) caveats: Vec<String>,
}

/// The text of a file. Bytes that are not UTF-8 stand as `�` and are counted: job names come from users.
pub(super) fn decode(file: &str, bytes: &[u8]) -> Result<Decoded, ReadError> {
    let unpacked = unpacked(bytes, TEXT_BYTES_MAX).map_err(|error| match error {
        PackingError::Damaged { name, source } => damaged(file, name, &source),
        PackingError::TooLarge => too_large(file),
    })?;
    let bytes = &*unpacked;
    let mut caveats = Vec::new();
    let body = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes, "UTF-16 LE", &mut caveats),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes, "UTF-16 BE", &mut caveats),
        _ => utf8(bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(bytes), &mut caveats),
    };
    if body.trim().is_empty() {
        return Err(ReadError::file(
            file,
            "an empty file",
            "the command printed nothing: run it again, and keep its error output too",
        ));
    }
    if body.contains('\0') {
        return Err(ReadError::file(
            file,
            "a binary file: it holds a zero byte",
            "give what the command prints as text or JSON",
        ));
    }
    Ok(Decoded { body, caveats })
}

fn utf8(bytes: &[u8], caveats: &mut Vec<String>) -> String {
    let mut body = String::with_capacity(bytes.len());
    let mut bad: u64 = 0;
    for chunk in bytes.utf8_chunks() {
        body.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            bad += 1;
            body.push('\u{fffd}');
        }
    }
    if bad > 0 {
        caveats.push(format!("{bad} places are not UTF-8; each stands as �"));
    }
    body
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, name: &str, caveats: &mut Vec<String>) -> String {
    caveats.push(format!("the text is {name}"));
    let units = bytes.chunks_exact(2).filter_map(|pair| <[u8; 2]>::try_from(pair).ok().map(unit));
    char::decode_utf16(units).map(|one| one.unwrap_or('\u{fffd}')).collect()
}

fn damaged(file: &str, name: &str, error: &std::io::Error) -> ReadError {
    ReadError::file(
        file,
        format!("a damaged {name} file: {error}"),
        format!("fetch it again and check it with `{name} -t`"),
    )
}

fn too_large(file: &str) -> ReadError {
    ReadError::file(
        file,
        format!("a file of more than {} MiB of text", TEXT_BYTES_MAX >> 20),
        "ask the scheduler for fewer days or fewer fields",
    )
}
