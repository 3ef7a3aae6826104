//! Files that are there completely or not at all, their names, and reading with a bound.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use cotenant_core::evidence::PlannedBlock;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::EvidenceError;
use super::digest::{HashingWriter, hex, sha256_hex};

/// The schedule, written before the first block.
pub(super) const SCHEDULE: &str = "schedule.json";
/// The run's record.
pub(super) const RUN: &str = "run.json";
/// Held while a process writes the run.
pub(super) const LOCK: &str = "writer.lock";
/// The chain of what happened.
pub(super) const LEDGER: &str = "ledger.jsonl";
/// How long the ledger is.
pub(super) const LEDGER_HEAD: &str = "ledger.head.json";
/// Added to a file's name until it is complete.
const UNFINISHED: &str = ".tmp";

/// Largest sealed JSON document or ledger, bytes.
pub(super) const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
/// Largest compressed block or gaps file, bytes.
pub(super) const SEALED_BYTES_MAX: u64 = 2 << 30;

/// A sealed file as another file lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SealedFile {
    /// Its name in the run's folder.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
}

/// The file of a block.
pub(super) fn block_name(plan: &PlannedBlock) -> String {
    format!("block-{:04}-{}.jsonl.zst", plan.index, plan.condition.letter())
}

/// The file of a block's chunk gaps.
pub(super) fn gaps_name(plan: &PlannedBlock) -> String {
    format!("block-{:04}-{}.gaps.zst", plan.index, plan.condition.letter())
}

/// The file of the resume that followed a block's drill.
pub(super) fn resume_name(plan: &PlannedBlock) -> String {
    format!("block-{:04}-{}.resume.json", plan.index, plan.condition.letter())
}

/// Whether this program gives such a name to a file of a block.
pub(super) fn is_block_file(name: &str) -> bool {
    let Some((index, rest)) = name.strip_prefix("block-").and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let Some((letter, ending)) = rest.split_once('.') else { return false };
    index.len() >= 4
        && index.bytes().all(|byte| byte.is_ascii_digit())
        && matches!(letter, "A" | "B" | "C")
        && matches!(ending, "jsonl.zst" | "gaps.zst" | "resume.json")
}

/// Whether this program gives such a name to a file that it has not finished.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED)
        .is_some_and(|name| matches!(name, SCHEDULE | RUN) || is_block_file(name))
}

/// Writes a file so that after a crash at any instant it is there completely or not at all: a
/// temporary file beside it, fsync, rename. [`commit`] makes the name last.
pub(super) fn write_unfinished(
    folder: &Path,
    name: &str,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<SealedFile, EvidenceError> {
    let path = folder.join(format!("{name}{UNFINISHED}"));
    let write = || {
        let mut out = HashingWriter::new(BufWriter::new(File::create(&path)?));
        content(&mut out)?;
        out.flush()?;
        let sealed = SealedFile { file: name.to_owned(), bytes: out.bytes(), sha256: out.digest() };
        out.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok(sealed)
    };
    write().map_err(|source: io::Error| {
        discard_unfinished(folder, name);
        match source.kind() {
            // The content itself was refused, not the writing of it.
            io::ErrorKind::InvalidInput => EvidenceError::refused(&path, source.to_string()),
            _ => EvidenceError::io(&path, "write", source),
        }
    })
}

/// Removes a temporary file that came to nothing. The error that is told is the one before it.
pub(super) fn discard_unfinished(folder: &Path, name: &str) {
    let _ = fs::remove_file(folder.join(format!("{name}{UNFINISHED}")));
}

/// Gives finished temporary files their names, in this order, and makes the names last.
pub(super) fn commit(folder: &Path, names: &[&str]) -> Result<(), EvidenceError> {
    for name in names {
        let path = folder.join(name);
        fs::rename(folder.join(format!("{name}{UNFINISHED}")), &path)
            .map_err(|source| EvidenceError::io(&path, "rename into place", source))?;
    }
    sync_folder(folder)
}

/// Replaces or creates one file, completely or not at all.
pub(super) fn write_whole(
    folder: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<SealedFile, EvidenceError> {
    let sealed = write_unfinished(folder, name, |out| out.write_all(bytes))?;
    commit(folder, &[name])?;
    Ok(sealed)
}

/// Makes created and renamed entries of a folder last.
pub(super) fn sync_folder(folder: &Path) -> Result<(), EvidenceError> {
    File::open(folder)
        .and_then(|handle| handle.sync_all())
        .map_err(|source| EvidenceError::io(folder, "sync", source))
}

/// The whole of a file of at most `bytes_max` bytes; `None` where there is no such file.
pub(super) fn read_bounded(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, EvidenceError> {
    let failed = |source| EvidenceError::io(path, "read", source);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let size = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::with_capacity(size.min(bytes_max) as usize);
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        let path = path.to_owned();
        return Err(EvidenceError::TooLarge {
            path,
            what: "its length in bytes",
            limit: bytes_max,
        });
    }
    Ok(Some(bytes))
}

/// The whole of a sealed file, if its length and digest are the listed ones; `None` where there is
/// no such file.
pub(super) fn read_sealed(
    folder: &Path,
    sealed: &SealedFile,
) -> Result<Option<Vec<u8>>, EvidenceError> {
    let path = folder.join(&sealed.file);
    let Some(bytes) = read_bounded(&path, SEALED_BYTES_MAX)? else { return Ok(None) };
    check_length(&path, sealed, bytes.len() as u64)?;
    check_digest(&path, sealed, sha256_hex(&bytes))?;
    Ok(Some(bytes))
}

/// Checks a sealed file without keeping its content; `false` where there is no such file.
pub(super) fn verify_sealed(folder: &Path, sealed: &SealedFile) -> Result<bool, EvidenceError> {
    let path = folder.join(&sealed.file);
    let failed = |source| EvidenceError::io(&path, "read", source);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    check_length(&path, sealed, file.metadata().map_err(failed)?.len())?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    check_digest(&path, sealed, hex(&hash.finalize()))?;
    Ok(true)
}

fn check_length(path: &Path, sealed: &SealedFile, bytes: u64) -> Result<(), EvidenceError> {
    if bytes < sealed.bytes {
        let detail = format!("it has {bytes} of {} bytes", sealed.bytes);
        return Err(EvidenceError::truncated(path, detail));
    }
    if bytes > sealed.bytes {
        let why = format!("it has {bytes} bytes, {} were sealed", sealed.bytes);
        return Err(EvidenceError::malformed(path, None, why));
    }
    Ok(())
}

fn check_digest(path: &Path, sealed: &SealedFile, found: String) -> Result<(), EvidenceError> {
    if found == sealed.sha256 {
        return Ok(());
    }
    let (path, recorded) = (path.to_owned(), sealed.sha256.clone());
    Err(EvidenceError::DigestMismatch { path, recorded, found })
}

/// The names of the files and folders in a folder, sorted. Names that are not text are left out:
/// this program writes none.
pub(super) fn list(folder: &Path) -> Result<Vec<String>, EvidenceError> {
    let failed = |source| EvidenceError::io(folder, "list", source);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
