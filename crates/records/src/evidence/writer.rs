//! Writing a run, one sealed block after the other.

use std::fs;
use std::path::{Path, PathBuf};

use cotenant_core::evidence::{
    Block, EnforcementAudit, Fingerprint, PlannedBlock, ResumeCheck, Situation,
};
use jiff::Timestamp;

use super::block_file::{self, BlockCounts};
use super::files::{block_name, commit, discard_unfinished, gaps_name, resume_name};
use super::folder::{BlockEntry, Folder, fingerprint};
use super::gaps_file;
use super::ledger::{Event, Ledger};
use super::lock::WriterLock;
use super::mirror::{Maybe, Mirror};
use super::stored_run::StoredStatus;
use super::{EvidenceError, RunPlan, RunStatus};

/// The one writer of one run. After every call that returns, what it wrote is on disk and survives
/// a kill; dropping it without [`RunWriter::finish`] leaves the run to be resumed.
#[derive(Debug)]
pub struct RunWriter {
    ledger_root: PathBuf,
    folder: Folder,
    _lock: WriterLock,
}

impl RunWriter {
    pub(super) fn new(ledger_root: PathBuf, folder: Folder, lock: WriterLock) -> Self {
        Self { ledger_root, folder, _lock: lock }
    }

    /// The run's name, which is its folder's.
    pub fn id(&self) -> &str {
        &self.folder.record.run
    }

    /// The run's folder. Logs of workloads go into `logs/` below it; they are not sealed.
    pub fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// What was fixed before the first block.
    pub fn plan(&self) -> &RunPlan {
        &self.folder.plan
    }

    /// The stack as far as it is known by now.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.folder.record)
    }

    /// The audits that were added.
    pub fn audits(&self) -> Vec<EnforcementAudit> {
        self.folder.record.audits.clone().restore()
    }

    /// Indices of the finished blocks, ascending.
    pub fn finished(&self) -> Vec<u32> {
        self.folder.record.blocks.iter().map(|entry| entry.index).collect()
    }

    /// What resuming found: files taken in, files removed.
    pub fn remarks(&self) -> &[String] {
        &self.folder.remarks
    }

    /// Seals one finished block and lists it in the run's record.
    ///
    /// Refused: a block that the schedule does not have in this form, or that is finished already.
    pub fn write_block(&mut self, block: &Block) -> Result<(), EvidenceError> {
        let index = block.plan.index;
        if self.folder.planned(index) != Some(&block.plan) {
            return Err(self.refused(format!("block {index} was not planned like this")));
        }
        if self.finished().contains(&index) {
            return Err(self.refused(format!("block {index} is finished already")));
        }
        let gaps = gaps_file::write_unfinished(self.folder.place(), block)?;
        let (gaps_name, block_name) = (gaps_name(&block.plan), block_name(&block.plan));
        let sealed = block_file::write_unfinished(self.folder.place(), block, gaps.clone())
            .inspect_err(|_| discard_unfinished(&self.folder.path, &gaps_name))?;
        // The gaps first: the block's own file is what makes the block exist.
        match gaps {
            Some(_) => commit(&self.folder.path, &[&gaps_name, &block_name])?,
            None => commit(&self.folder.path, &[&block_name])?,
        }
        self.folder.enter(BlockEntry {
            index,
            condition: Mirror::mirror(&block.plan.condition),
            counts: BlockCounts::of(block),
            sealed,
            gaps: Maybe(gaps),
            resume: Maybe(None),
        });
        self.folder.save()
    }

    /// Seals the resume that followed the drill of a finished block, in a file of its own: it is
    /// known only once the trainer has started again, after the block was sealed.
    ///
    /// Refused: a block that is not finished, that had no drill, or whose resume is known already.
    pub fn write_resume(
        &mut self,
        block_index: u32,
        resume: &ResumeCheck,
    ) -> Result<(), EvidenceError> {
        let Some(entry) = self.folder.entry_mut(block_index).map(|entry| entry.clone()) else {
            return Err(self.refused(format!("block {block_index} is not finished")));
        };
        let block = self.folder.read_block(&entry, false)?;
        let Some(drill) = block.drill else {
            return Err(self.refused(format!("block {block_index} had no drill")));
        };
        if drill.resume.is_some() {
            return Err(self.refused(format!("the resume of block {block_index} is known already")));
        }
        let sealed = self.folder.write_resume(&entry, &resume_name(&block.plan), resume)?;
        if let Some(entry) = self.folder.entry_mut(block_index) {
            entry.resume = Maybe(Some(sealed));
        }
        self.folder.save()
    }

    /// Adds an audit of the enforcement.
    pub fn add_audit(&mut self, audit: &EnforcementAudit) -> Result<(), EvidenceError> {
        self.folder.record.audits.push(Mirror::mirror(audit));
        self.folder.save()
    }

    /// Adds aspects of the stack that only a running process could tell.
    ///
    /// Refused: another value for an aspect that is known. That is another stack, and another run.
    pub fn add_fingerprint(&mut self, observed: &Fingerprint) -> Result<(), EvidenceError> {
        let mut known = self.fingerprint();
        for (aspect, value) in &observed.0 {
            let before = known.0.entry(*aspect).or_insert_with(|| value.clone());
            if before != value {
                let why = format!("its {aspect} was {before:?} and is now {value:?}");
                return Err(self.refused(why));
            }
        }
        self.folder.record.fingerprint = Mirror::mirror(&known);
        self.folder.save()
    }

    /// Ends the run: its record is final, and the ledger keeps the record's digest.
    ///
    /// Refused: `Running`, and `Complete` while planned blocks are missing.
    pub fn finish(mut self, status: RunStatus, at: Timestamp) -> Result<(), EvidenceError> {
        let (finished, planned) = (self.finished().len(), self.folder.plan.schedule.len());
        match status {
            RunStatus::Running => {
                return Err(self.refused("a run does not end by running".to_owned()));
            }
            RunStatus::Complete if finished < planned => {
                return Err(self.refused(format!("{finished} of {planned} blocks are finished")));
            }
            RunStatus::Complete | RunStatus::Interrupted => {}
        }
        self.end(status, at)
    }

    /// Ends a search that knows enough before every planned look was made: the run is complete, and
    /// its record keeps the reason. Only looks may be left out like this, because their number follows
    /// from what they saw by a rule that was written down before; the blocks of a comparison must all
    /// be there, or whoever measures could stop where the result pleases.
    ///
    /// Refused: a schedule that holds anything but looks, no look at all, and an empty reason.
    pub fn finish_decided(mut self, reason: &str, at: Timestamp) -> Result<(), EvidenceError> {
        let is_look = |plan: &PlannedBlock| matches!(plan.situation, Situation::Search(_));
        if !self.folder.plan.schedule.iter().all(is_look) {
            let why = "only a search may end before its schedule";
            return Err(self.refused(why.to_owned()));
        }
        if self.finished().is_empty() || reason.trim().is_empty() {
            let why = "a search that ends early needs a look and a reason";
            return Err(self.refused(why.to_owned()));
        }
        self.folder.record.decided = Some(reason.to_owned());
        self.end(RunStatus::Complete, at)
    }

    fn end(&mut self, status: RunStatus, at: Timestamp) -> Result<(), EvidenceError> {
        self.folder.record.status = Mirror::mirror(&status);
        self.folder.record.ended = Mirror::mirror(&Some(at));
        self.folder.save()?;
        announce_end(&self.ledger_root, &self.folder, at)
    }

    /// Goes on with a run that was interrupted or killed.
    pub(super) fn reopen(
        ledger_root: PathBuf,
        mut folder: Folder,
        lock: WriterLock,
    ) -> Result<Self, EvidenceError> {
        for entry in &folder.record.blocks {
            folder.verify_block(entry)?;
        }
        for name in folder.unfinished()? {
            let path = folder.path.join(&name);
            fs::remove_file(&path).map_err(|error| EvidenceError::io(&path, "remove", error))?;
            folder.remarks.push(format!("{name} was left unfinished by a kill, and was removed"));
        }
        folder.record.status = StoredStatus::Running;
        folder.record.ended = Maybe(None);
        folder.save()?;
        Ok(Self::new(ledger_root, folder, lock))
    }

    fn refused(&self, why: String) -> EvidenceError {
        EvidenceError::refused(&self.folder.path, why)
    }
}

/// Writes into the ledger how a run ended.
pub(super) fn announce_end(
    root: &Path,
    folder: &Folder,
    at: Timestamp,
) -> Result<(), EvidenceError> {
    Ledger::of(root).append(
        at,
        Event::Finished {
            run: folder.record.run.clone(),
            status: folder.record.status,
            record_sha256: folder.record_sha256.clone(),
        },
    )
}
