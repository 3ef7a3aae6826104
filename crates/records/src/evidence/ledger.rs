//! The ledger of an evidence folder: one line for each thing that happened to a run. Lines are only
//! ever added, and each contains the digest of the one before it, so a line in the middle cannot
//! change or vanish. Lines cut off the end are noticed by a small file beside it, the head, which
//! says how long the ledger is; it is written after the ledger, so the ledger may be ahead of it by
//! what was added an instant before a crash, never behind.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::EvidenceError;
use super::files::{DOCUMENT_BYTES_MAX, LEDGER, LEDGER_HEAD, read_bounded, write_whole};
use super::lock::wait_for;
use super::mirror::Stamp;
use super::plan::Exclusion;
use super::sealed::{Layout, seal, unseal};
use super::stored_run::StoredStatus;

const FORMAT: &str = "cotenant ledger";
const HEAD_FORMAT: &str = "cotenant ledger head";
/// What the first line has for the digest of the line before it.
const NO_LINE: &str = "";

/// One thing that happened to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Event {
    /// Its schedule was written; no block has run.
    Started { run: String, schedule_sha256: String },
    /// A process went on with it: its record may change again.
    Resumed { run: String },
    /// A process ended it in order, with this record.
    Finished { run: String, status: StoredStatus, record_sha256: String },
    /// Somebody left it out.
    Excluded { run: String, reason: String, who: String },
}

/// One line's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Position, from 1.
    pub line: u64,
    /// Digest of the line before.
    pub previous: String,
    /// When it was written.
    pub at: Stamp,
    pub event: Event,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    lines: u64,
    /// Digest of the last of them.
    last: String,
}

/// The ledger of one evidence folder.
pub(super) struct Ledger {
    root: PathBuf,
    path: PathBuf,
}

/// What the ledger says.
#[derive(Default)]
pub(super) struct Chain {
    pub entries: Vec<Entry>,
    /// Digest of the last line.
    last: String,
    /// Bytes of complete lines.
    bytes: u64,
    /// Whether an append that was interrupted left part of a line.
    pub torn: bool,
}

impl Ledger {
    pub(super) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), path: root.join(LEDGER) }
    }

    /// The ledger's file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that happened. A folder without a ledger and without a head has an empty one.
    pub(super) fn read(&self) -> Result<Chain, EvidenceError> {
        match File::open(&self.path) {
            Ok(mut file) => {
                wait_for(&self.path, || file.try_lock_shared())?;
                self.read_locked(&mut file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.read_head()?.is_some() {
                    let (path, needed_by) = (self.path.clone(), self.root.join(LEDGER_HEAD));
                    return Err(EvidenceError::MissingFile { path, needed_by });
                }
                Ok(Chain::default())
            }
            Err(error) => Err(EvidenceError::io(&self.path, "read", error)),
        }
    }

    /// Adds a line. What is there is verified first: nothing is chained to a broken chain.
    pub(super) fn append(&self, at: jiff::Timestamp, event: Event) -> Result<(), EvidenceError> {
        let failed = |source| EvidenceError::io(&self.path, "append to", source);
        if !self.path.exists() {
            // Where a head stands without its ledger, this refuses to begin a new one.
            self.read()?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path)
            .map_err(failed)?;
        wait_for(&self.path, || file.try_lock())?;
        let chain = self.read_locked(&mut file)?;
        let line = chain.entries.len() as u64 + 1;
        let entry = Entry { line, previous: chain.last, at: Stamp(at), event };
        let sealed = seal(&self.path, FORMAT, Layout::Line, &entry)?;
        if chain.bytes + sealed.bytes.len() as u64 > DOCUMENT_BYTES_MAX {
            return Err(EvidenceError::refused(&self.path, "the ledger is full"));
        }
        let mut write = || {
            // Cuts off what an interrupted append may have left.
            file.set_len(chain.bytes)?;
            file.seek(SeekFrom::Start(chain.bytes))?;
            file.write_all(&sealed.bytes)?;
            file.sync_all()
        };
        write().map_err(failed)?;
        let head = Head { lines: line, last: sealed.sha256 };
        let path = self.root.join(LEDGER_HEAD);
        let head = seal(&path, HEAD_FORMAT, Layout::File, &head)?;
        write_whole(&self.root, LEDGER_HEAD, &head.bytes)?;
        Ok(())
    }

    fn read_locked(&self, file: &mut File) -> Result<Chain, EvidenceError> {
        let failed = |source| EvidenceError::io(&self.path, "read", source);
        let mut bytes = Vec::new();
        file.rewind().map_err(failed)?;
        file.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
            let (path, limit) = (self.path.clone(), DOCUMENT_BYTES_MAX);
            return Err(EvidenceError::TooLarge { path, what: "its length in bytes", limit });
        }
        let chain = self.parse(&bytes)?;
        self.check_head(&chain)?;
        Ok(chain)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Chain, EvidenceError> {
        let mut chain = Chain::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if line.last() != Some(&b'\n') {
                chain.torn = true;
                break;
            }
            let number = chain.entries.len() as u64 + 1;
            let (entry, sha256): (Entry, String) = unseal(&self.path, FORMAT, Some(number), line)?;
            if entry.line != number || entry.previous != chain.last {
                let why = "it does not follow from the line before it";
                return Err(EvidenceError::malformed(&self.path, Some(number), why));
            }
            chain.entries.push(entry);
            chain.last = sha256;
            chain.bytes += line.len() as u64;
        }
        debug_assert!(chain.entries.is_empty() == (chain.last == NO_LINE));
        Ok(chain)
    }

    fn read_head(&self) -> Result<Option<Head>, EvidenceError> {
        let path = self.root.join(LEDGER_HEAD);
        let Some(bytes) = read_bounded(&path, DOCUMENT_BYTES_MAX)? else { return Ok(None) };
        Ok(Some(unseal(&path, HEAD_FORMAT, None, &bytes)?.0))
    }

    fn check_head(&self, chain: &Chain) -> Result<(), EvidenceError> {
        let lines = chain.entries.len() as u64;
        let Some(head) = self.read_head()? else {
            if lines <= 1 {
                // The very first append was interrupted before the head was written.
                return Ok(());
            }
            let (path, needed_by) = (self.root.join(LEDGER_HEAD), self.path.clone());
            return Err(EvidenceError::MissingFile { path, needed_by });
        };
        if head.lines > lines {
            let detail = format!("it has {lines} complete lines of {}", head.lines);
            return Err(EvidenceError::truncated(&self.path, detail));
        }
        // The line after names the digest of the one that the head means.
        let found = match chain.entries.get(head.lines as usize) {
            Some(next) => &next.previous,
            None => &chain.last,
        };
        if *found != head.last {
            let (path, recorded, found) = (self.path.clone(), head.last, found.clone());
            return Err(EvidenceError::DigestMismatch { path, recorded, found });
        }
        Ok(())
    }
}

/// What the ledger says about one run.
pub(super) struct History {
    pub run: String,
    pub schedule_sha256: String,
    /// How it ended, and the digest of its record; `None` while a process may still write it.
    pub finished: Option<(StoredStatus, String)>,
    pub excluded: Option<Exclusion>,
}

impl Chain {
    /// The runs in the order in which they began.
    pub(super) fn histories(&self, ledger: &Ledger) -> Result<Vec<History>, EvidenceError> {
        let mut histories: Vec<History> = Vec::new();
        for entry in &self.entries {
            apply(entry, &mut histories)
                .map_err(|why| EvidenceError::malformed(&ledger.path, Some(entry.line), why))?;
        }
        Ok(histories)
    }
}

fn apply(entry: &Entry, histories: &mut Vec<History>) -> Result<(), String> {
    let (Event::Started { run, .. }
    | Event::Resumed { run }
    | Event::Finished { run, .. }
    | Event::Excluded { run, .. }) = &entry.event;
    let known = histories.iter_mut().find(|history| history.run == *run);
    match (&entry.event, known) {
        (Event::Started { schedule_sha256, .. }, None) => histories.push(History {
            run: run.clone(),
            schedule_sha256: schedule_sha256.clone(),
            finished: None,
            excluded: None,
        }),
        (Event::Started { .. }, Some(_)) => return Err(format!("run {run} began twice")),
        (_, None) => return Err(format!("run {run} never began")),
        (Event::Resumed { .. }, Some(history)) => history.finished = None,
        (Event::Finished { status, record_sha256, .. }, Some(history)) => {
            history.finished = Some((*status, record_sha256.clone()));
        }
        (Event::Excluded { reason, who, .. }, Some(history)) => {
            let (reason, who) = (reason.clone(), who.clone());
            history.excluded = Some(Exclusion { reason, who, at: entry.at.0 });
        }
    }
    Ok(())
}
