//! Bytes to text: compression and encoding are told by the first bytes.

use super::refusal::Refusal;
use crate::packing::{PackingError, unpacked};

/// Most bytes that a result may have when unpacked.
pub const TEXT_BYTES_MAX: u64 = 256 << 20;

/// The text of a file, and what was odd about its encoding.
pub(super) fn decode(file: &str, bytes: &[u8]) -> Result<(String, Vec<String>), Box<Refusal>> {
    let unpacked = unpacked(bytes, TEXT_BYTES_MAX).map_err(|error| match error {
        PackingError::Damaged { name, source } => damaged(file, name, &source),
        PackingError::TooLarge => too_large(file),
    })?;
    let bytes = &*unpacked;
    let mut caveats = Vec::new();
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => {
            utf16(file, rest, u16::from_le_bytes, "UTF-16 LE", &mut caveats)?
        }
        [0xfe, 0xff, rest @ ..] => {
            utf16(file, rest, u16::from_be_bytes, "UTF-16 BE", &mut caveats)?
        }
        _ => {
            let bytes = bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(bytes);
            let text = std::str::from_utf8(bytes).map_err(|error| {
                Refusal::file(
                    file,
                    format!("the file is no text: byte {} is not UTF-8", error.valid_up_to()),
                    "give the result as JSON, JSONL, CSV, YAML or a log",
                )
            })?;
            text.to_owned()
        }
    };
    if text.trim().is_empty() {
        return Err(Refusal::file(file, "the file is empty", "give the file of a finished run"));
    }
    if text.contains('\0') {
        return Err(Refusal::file(
            file,
            "the file is binary: it holds a zero byte",
            "give the result as JSON, JSONL, CSV, YAML or a log",
        ));
    }
    Ok((text, caveats))
}

fn damaged(file: &str, name: &str, error: &std::io::Error) -> Box<Refusal> {
    Refusal::file(
        file,
        format!("the {name} file is damaged: {error}"),
        format!("fetch it again and check it with `{name} -t`"),
    )
}

fn too_large(file: &str) -> Box<Refusal> {
    Refusal::file(
        file,
        format!("the file has more than {} MiB of text", TEXT_BYTES_MAX >> 20),
        "give the summary, or one run a file",
    )
}

fn utf16(
    file: &str,
    bytes: &[u8],
    unit: fn([u8; 2]) -> u16,
    name: &str,
    caveats: &mut Vec<String>,
) -> Result<String, Box<Refusal>> {
    caveats.push(format!("the text is {name}"));
    let mut pairs = bytes.chunks_exact(2);
    let units: Vec<u16> =
        pairs.by_ref().filter_map(|pair| <[u8; 2]>::try_from(pair).ok().map(unit)).collect();
    if !pairs.remainder().is_empty() {
        caveats.push(format!("one byte at the end is half of a {name} unit and was left out"));
    }
    String::from_utf16(&units).map_err(|_| {
        Refusal::file(
            file,
            format!("the file says that it is {name} and is not"),
            "save it again as UTF-8",
        )
    })
}
