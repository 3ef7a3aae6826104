//! Sealed JSON documents: an envelope of format, version and content, with a SHA-256 over all
//! three in their canonical form. The canonical form is what [`seal`] writes; a document that says
//! the same in other bytes is not accepted, so no byte of it can change unseen.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::EvidenceError;
use super::digest::sha256_hex;
use super::files::DOCUMENT_BYTES_MAX;

/// The version of every format in this module tree that this program writes and reads.
pub(super) const VERSION: u32 = 2;

/// What is digested.
#[derive(Serialize)]
struct Sealing<'a, T> {
    format: &'a str,
    version: u32,
    content: &'a T,
}

/// What is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<T> {
    format: String,
    version: u32,
    content: T,
    sha256: String,
}

/// What every version of every format has.
#[derive(Deserialize)]
struct Label {
    format: String,
    version: u32,
}

/// A sealed document's bytes, and its digest.
pub(super) struct SealedDocument {
    pub bytes: Vec<u8>,
    pub sha256: String,
}

/// How a document is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// A file for people too, indented.
    File,
    /// One line of a file of many.
    Line,
}

/// Seals `content`.
pub(super) fn seal<T: Serialize>(
    path: &Path,
    format: &str,
    layout: Layout,
    content: &T,
) -> Result<SealedDocument, EvidenceError> {
    // Serialising these types into memory fails only for a bug in them; it is told, not hidden.
    let failed = |error: serde_json::Error| EvidenceError::refused(path, error.to_string());
    let sealing = Sealing { format, version: VERSION, content };
    let sha256 = sha256_hex(&serde_json::to_vec(&sealing).map_err(failed)?);
    let (format, sha256_text) = (format.to_owned(), sha256.clone());
    let envelope = Envelope { format, version: VERSION, content, sha256: sha256_text };
    let mut bytes = match layout {
        Layout::File => serde_json::to_vec_pretty(&envelope),
        Layout::Line => serde_json::to_vec(&envelope),
    }
    .map_err(failed)?;
    bytes.push(b'\n');
    if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
        let why = format!("a document may have {DOCUMENT_BYTES_MAX} bytes");
        return Err(EvidenceError::refused(path, why));
    }
    Ok(SealedDocument { bytes, sha256 })
}

/// The content of a sealed document and its digest, if not one byte of it was changed. `line` is
/// its place in a file of many, from 1.
pub(super) fn unseal<T: Serialize + DeserializeOwned>(
    path: &Path,
    format: &str,
    line: Option<u64>,
    bytes: &[u8],
) -> Result<(T, String), EvidenceError> {
    check_label(path, format, line, bytes)?;
    let envelope: Envelope<T> =
        serde_json::from_slice(bytes).map_err(|error| unreadable(path, line, &error))?;
    let layout = if line.is_some() { Layout::Line } else { Layout::File };
    let expected = seal(path, format, layout, &envelope.content)?;
    if expected.sha256 != envelope.sha256 {
        let path = path.to_owned();
        let (recorded, found) = (envelope.sha256, expected.sha256);
        return Err(EvidenceError::DigestMismatch { path, recorded, found });
    }
    if expected.bytes != bytes {
        let why = "its bytes are not the ones that were written, though they say the same";
        return Err(EvidenceError::malformed(path, line, why));
    }
    Ok((envelope.content, expected.sha256))
}

/// Refuses another format, and a newer version by its number, before anything else is looked at.
pub(super) fn check_label(
    path: &Path,
    format: &str,
    line: Option<u64>,
    bytes: &[u8],
) -> Result<(), EvidenceError> {
    let label: Label =
        serde_json::from_slice(bytes).map_err(|error| unreadable(path, line, &error))?;
    if label.format != format {
        let why = format!("expected the format {format:?}, found {:?}", label.format);
        return Err(EvidenceError::NotEvidence { path: path.to_owned(), why });
    }
    if label.version > VERSION {
        let (path, found) = (path.to_owned(), label.version);
        return Err(EvidenceError::NewerVersion { path, found, supported: VERSION });
    }
    if label.version != VERSION {
        let why = format!("there never was a version {} of this format", label.version);
        return Err(EvidenceError::malformed(path, line, why));
    }
    Ok(())
}

/// What a JSON error means for a file: it ends early, or it is damaged.
pub(super) fn unreadable(
    path: &Path,
    line: Option<u64>,
    error: &serde_json::Error,
) -> EvidenceError {
    if error.is_eof() {
        let detail = match line {
            Some(line) => format!("line {line} ends early"),
            None => "the document ends early".to_owned(),
        };
        return EvidenceError::truncated(path, detail);
    }
    EvidenceError::malformed(path, line, error.to_string())
}
