//! What can be wrong with evidence on disk: always with the file's name, and with what to do.

use std::io;
use std::path::{Path, PathBuf};

/// A problem with evidence on disk. Every variant names the file or folder that it is about;
/// [`EvidenceError::advice`] says what to do. None of them may ever be read as "no evidence".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The operating system refused.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: "read", "write".
        doing: &'static str,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The ledger knows a run whose folder is gone.
    #[error("run {run} is in the ledger, but its folder {} is missing", path.display())]
    MissingRun {
        /// The run.
        run: String,
        /// Where it should be.
        path: PathBuf,
    },
    /// A run's record lists a block whose file is gone.
    #[error("block {index} of run {run} is missing: there is no {}", path.display())]
    MissingBlock {
        /// The run.
        run: String,
        /// The block's position in the schedule.
        index: u32,
        /// Where it should be.
        path: PathBuf,
    },
    /// Another file that must exist does not.
    #[error("{} is missing, though {} needs it", path.display(), needed_by.display())]
    MissingFile {
        /// Where it should be.
        path: PathBuf,
        /// The file that lists it or that it belongs to.
        needed_by: PathBuf,
    },
    /// The content is not what was sealed.
    #[error("{} was changed: its digest is {found}, but {recorded} was recorded", path.display())]
    DigestMismatch {
        /// The file.
        path: PathBuf,
        /// The SHA-256 that was recorded, in hexadecimal.
        recorded: String,
        /// The SHA-256 of what is there.
        found: String,
    },
    /// The file ends too early.
    #[error("{} is truncated: {detail}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// The content cannot be understood.
    #[error("{} is damaged{}: {why}", path.display(), line.map(|n| format!(" in line {n}")).unwrap_or_default())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where the file has lines.
        line: Option<u64>,
        /// What is wrong.
        why: String,
    },
    /// The file was written by a newer version of this program.
    #[error("{} has format version {found}, this program reads up to {supported}", path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The version it has.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// The file or folder is something else.
    #[error("{} is not evidence: {why}", path.display())]
    NotEvidence {
        /// The file or folder.
        path: PathBuf,
        /// What was expected, and what is there.
        why: String,
    },
    /// Two files that must agree do not.
    #[error("{} does not belong here: {why}", path.display())]
    Inconsistent {
        /// The file that is out of place.
        path: PathBuf,
        /// Which other file it contradicts, and in what.
        why: String,
    },
    /// A folder holds evidence that the ledger does not know.
    #[error("{} holds evidence that the ledger does not know", path.display())]
    UnlistedRun {
        /// The folder.
        path: PathBuf,
    },
    /// A finished run's folder holds a sealed file that its record does not know.
    #[error("{} is not listed in the finished record {}", path.display(), record.display())]
    UnlistedFile {
        /// The sealed file.
        path: PathBuf,
        /// The run's record.
        record: PathBuf,
    },
    /// The file is larger than anything this program writes.
    #[error("{} is too large: {what} exceeds the limit of {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What was counted, with its unit.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Another process writes here.
    #[error("{} is being written by {}", path.display(), pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")))]
    Locked {
        /// The folder or file.
        path: PathBuf,
        /// The writer's process id, where it is known.
        pid: Option<u32>,
    },
    /// No such run.
    #[error("there is no run {run} in {}", path.display())]
    UnknownRun {
        /// The name that was asked for.
        run: String,
        /// The evidence root.
        path: PathBuf,
    },
    /// The request itself makes no sense: an unplanned block, an exclusion without a reason.
    #[error("cannot write to {}: {why}", path.display())]
    Refused {
        /// The run's folder, or the evidence root.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl EvidenceError {
    /// The file or folder that the problem is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::MissingRun { path, .. }
            | Self::MissingBlock { path, .. }
            | Self::MissingFile { path, .. }
            | Self::DigestMismatch { path, .. }
            | Self::Truncated { path, .. }
            | Self::Malformed { path, .. }
            | Self::NewerVersion { path, .. }
            | Self::NotEvidence { path, .. }
            | Self::Inconsistent { path, .. }
            | Self::UnlistedRun { path }
            | Self::UnlistedFile { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Locked { path, .. }
            | Self::UnknownRun { path, .. }
            | Self::Refused { path, .. } => path,
        }
    }

    /// What to do about it, one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Io { .. } => {
                "check that the path is right, readable and writable, and that the disk is not full"
            }
            Self::MissingRun { .. }
            | Self::MissingBlock { .. }
            | Self::MissingFile { .. }
            | Self::DigestMismatch { .. }
            | Self::Truncated { .. }
            | Self::Malformed { .. }
            | Self::Inconsistent { .. }
            | Self::TooLarge { .. } => {
                "restore the file from a copy, or exclude the whole run with a recorded reason and measure again"
            }
            Self::NewerVersion { .. } => {
                "read it with the version of cotenant that wrote it, or a later one"
            }
            Self::NotEvidence { .. } => "point to the evidence folder of a site",
            Self::UnlistedRun { .. } => {
                "restore the ledger it belongs to, or move the folder out: a run that no ledger announced cannot be pooled"
            }
            Self::UnlistedFile { .. } => {
                "restore the run's own files from a copy, or move the foreign file out"
            }
            Self::Locked { .. } => "wait until the other process has finished, or stop it",
            Self::UnknownRun { .. } => "use the name of a run's folder in the evidence folder",
            Self::Refused { .. } => "correct the request; nothing was written",
        }
    }

    pub(super) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, source }
    }

    pub(super) fn malformed(path: &Path, line: Option<u64>, why: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), line, why: why.into() }
    }

    pub(super) fn inconsistent(path: &Path, why: impl Into<String>) -> Self {
        Self::Inconsistent { path: path.to_owned(), why: why.into() }
    }

    pub(super) fn refused(path: &Path, why: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), why: why.into() }
    }

    pub(super) fn truncated(path: &Path, detail: impl Into<String>) -> Self {
        Self::Truncated { path: path.to_owned(), detail: detail.into() }
    }
}
