//! The compressed stream below block and gaps files: one zstd frame with a checksum, read with a
//! bound on every line and on the whole, so that neither a damaged file nor a decompression bomb
//! takes more memory than a block may.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::EvidenceError;
use super::digest::hex;

/// Longest line, bytes.
pub(super) const LINE_BYTES_MAX: u64 = 4 << 20;
/// Largest content of one file, bytes.
pub(super) const CONTENT_BYTES_MAX: u64 = 2 << 30;
/// Compression level: zstd's default. A higher one costs the measuring machine time.
const LEVEL: i32 = 3;
/// Largest window that the decoder allocates, as a power of two in bytes; level 3 uses 21.
const WINDOW_LOG_MAX: u32 = 23;

/// Starts a compressed file.
pub(super) fn encoder<W: Write>(out: W) -> io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(out, LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// Reads a compressed file's content.
pub(super) struct Content<'a> {
    path: &'a Path,
    reader: BufReader<zstd::Decoder<'static, &'a [u8]>>,
    hash: Option<Sha256>,
    bytes: u64,
    lines: u64,
}

impl<'a> Content<'a> {
    /// Begins to read `compressed`, which is the whole file at `path`. `digest` says whether
    /// [`Content::digest`] will be wanted.
    pub(super) fn open(
        path: &'a Path,
        compressed: &'a [u8],
        digest: bool,
    ) -> Result<Self, EvidenceError> {
        let decoder = || {
            let mut decoder = zstd::Decoder::with_buffer(compressed)?.single_frame();
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            Ok(BufReader::with_capacity(128 << 10, decoder))
        };
        let reader = decoder().map_err(|error| broken(path, &error))?;
        let hash = digest.then(Sha256::new);
        Ok(Self { path, reader, hash, bytes: 0, lines: 0 })
    }

    /// SHA-256 of what was read so far, hexadecimal; empty where it was not asked for.
    pub(super) fn digest(&self) -> String {
        self.hash.clone().map(|hash| hex(&hash.finalize())).unwrap_or_default()
    }

    /// The number of the line that was read last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.lines
    }

    /// Replaces `line` by the next one, newline included; false at the end.
    pub(super) fn next_line(&mut self, line: &mut Vec<u8>) -> Result<bool, EvidenceError> {
        line.clear();
        let limited = &mut (&mut self.reader).take(LINE_BYTES_MAX + 1);
        limited.read_until(b'\n', line).map_err(|error| broken(self.path, &error))?;
        if line.is_empty() {
            return Ok(false);
        }
        if line.len() as u64 > LINE_BYTES_MAX {
            return Err(self.too_large("the length of a line in bytes", LINE_BYTES_MAX));
        }
        self.lines += 1;
        if line.last() != Some(&b'\n') {
            let detail = format!("line {} ends early", self.lines);
            return Err(EvidenceError::truncated(self.path, detail));
        }
        self.count(line)?;
        Ok(true)
    }

    /// The next byte.
    pub(super) fn next_byte(&mut self) -> Result<u8, EvidenceError> {
        let mut byte = [0];
        self.reader.read_exact(&mut byte).map_err(|error| broken(self.path, &error))?;
        self.count(&byte)?;
        Ok(byte[0])
    }

    /// Counts bytes that were read, and digests them where that was asked for.
    fn count(&mut self, bytes: &[u8]) -> Result<(), EvidenceError> {
        self.bytes += bytes.len() as u64;
        if self.bytes > CONTENT_BYTES_MAX {
            return Err(self.too_large("its content in bytes", CONTENT_BYTES_MAX));
        }
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        Ok(())
    }

    /// A bound that the file breaks.
    pub(super) fn too_large(&self, what: &'static str, limit: u64) -> EvidenceError {
        EvidenceError::TooLarge { path: self.path.to_owned(), what, limit }
    }

    /// Ends the reading: nothing may follow.
    pub(super) fn finish(mut self) -> Result<(), EvidenceError> {
        let mut next = [0];
        match self.reader.read(&mut next) {
            Ok(0) => {}
            Ok(_) => {
                return Err(EvidenceError::malformed(self.path, None, "content after the end"));
            }
            Err(error) => return Err(broken(self.path, &error)),
        }
        if self.reader.into_inner().finish().is_empty() {
            return Ok(());
        }
        Err(EvidenceError::malformed(self.path, None, "bytes after the end"))
    }
}

/// What an error of the decoder means for the file: memory cannot fail to be read.
fn broken(path: &Path, error: &io::Error) -> EvidenceError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return EvidenceError::truncated(path, "its compressed data ends early");
    }
    EvidenceError::malformed(path, None, format!("its compressed data is broken: {error}"))
}
