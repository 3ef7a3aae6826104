//! One run's folder: its schedule, its record, its blocks, and whether they belong together.

use std::path::{Path, PathBuf};

use cotenant_core::evidence::{Block, Fingerprint, PlannedBlock, ResumeCheck, Run};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::EvidenceError;
use super::block_file::{self, BlockCounts, Place};
use super::digest::sha256_hex;
use super::files::{
    DOCUMENT_BYTES_MAX, RUN, SCHEDULE, SEALED_BYTES_MAX, SealedFile, block_name, gaps_name,
    is_block_file, is_unfinished, list, read_bounded, read_sealed, resume_name, verify_sealed,
    write_whole,
};
use super::gaps_file::{self, GapsEntry};
use super::mirror::{Maybe, Mirror, Stamp};
use super::plan::RunPlan;
use super::sealed::{Layout, SealedDocument, seal, unseal};
use super::stored_block::StoredResume;
use super::stored_run::{
    StoredAudit, StoredCondition, StoredFingerprint, StoredPlan, StoredStatus,
};

const SCHEDULE_FORMAT: &str = "cotenant schedule";
const RECORD_FORMAT: &str = "cotenant run";
const RESUME_FORMAT: &str = "cotenant resume";

/// What `run.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub run: String,
    pub inference: String,
    pub neighbour: String,
    pub started: Stamp,
    pub ended: Maybe<Stamp>,
    pub status: StoredStatus,
    /// Why it is complete although planned blocks are missing: what a search found it knew enough by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<String>,
    pub schedule_sha256: String,
    pub fingerprint: StoredFingerprint,
    pub audits: Vec<StoredAudit>,
    pub blocks: Vec<BlockEntry>,
}

/// One finished block as the record lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockEntry {
    pub index: u32,
    pub condition: StoredCondition,
    pub counts: BlockCounts,
    pub sealed: SealedFile,
    pub gaps: Maybe<GapsEntry>,
    pub resume: Maybe<SealedFile>,
}

/// What a resume's file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResumeFile {
    run: String,
    index: u32,
    block_sha256: String,
    resume: StoredResume,
}

/// One run's folder, with its schedule and record verified.
#[derive(Debug)]
pub(super) struct Folder {
    pub path: PathBuf,
    pub plan: RunPlan,
    pub schedule_sha256: String,
    pub record: Record,
    pub record_sha256: String,
    pub remarks: Vec<String>,
}

impl Folder {
    /// Writes a new run's schedule and its first record into an empty folder.
    pub(super) fn create(path: PathBuf, run: &str, plan: RunPlan) -> Result<Self, EvidenceError> {
        let stored = StoredPlan::mirror(&plan);
        let schedule = seal(&path.join(SCHEDULE), SCHEDULE_FORMAT, Layout::File, &stored)?;
        write_whole(&path, SCHEDULE, &schedule.bytes)?;
        let record = Record {
            run: run.to_owned(),
            inference: plan.inference.clone(),
            neighbour: plan.neighbour.clone(),
            started: Stamp(plan.started),
            ended: Maybe(None),
            status: StoredStatus::Running,
            decided: None,
            schedule_sha256: schedule.sha256.clone(),
            fingerprint: Mirror::mirror(&plan.fingerprint),
            audits: Vec::new(),
            blocks: Vec::new(),
        };
        let mut folder = Self {
            path,
            plan,
            schedule_sha256: schedule.sha256,
            record,
            record_sha256: String::new(),
            remarks: Vec::new(),
        };
        folder.save()?;
        Ok(folder)
    }

    /// Opens a run that the ledger knows, with this schedule.
    pub(super) fn open(
        path: PathBuf,
        run: &str,
        schedule_sha256: &str,
        ledger: &Path,
    ) -> Result<Self, EvidenceError> {
        if !path.is_dir() {
            return Err(EvidenceError::MissingRun { run: run.to_owned(), path });
        }
        let (plan, found): (StoredPlan, _) =
            read_document(&path.join(SCHEDULE), SCHEDULE_FORMAT, ledger)?;
        if found != schedule_sha256 {
            let (path, recorded) = (path.join(SCHEDULE), schedule_sha256.to_owned());
            return Err(EvidenceError::DigestMismatch { path, recorded, found });
        }
        let (record, record_sha256): (Record, _) =
            read_document(&path.join(RUN), RECORD_FORMAT, ledger)?;
        let (plan, schedule_sha256, remarks) = (plan.restore(), found, Vec::new());
        let folder = Self { path, plan, schedule_sha256, record, record_sha256, remarks };
        folder.check_record(run)?;
        Ok(folder)
    }

    /// Whether a folder that no ledger knows holds evidence: sealed blocks, or a record that lists
    /// some or cannot be read. A run that was stopped before it was announced holds none.
    pub(super) fn holds_evidence(path: &Path) -> Result<bool, EvidenceError> {
        if list(path)?.iter().any(|name| is_block_file(name)) {
            return Ok(true);
        }
        let record = path.join(RUN);
        let Some(bytes) = read_bounded(&record, DOCUMENT_BYTES_MAX)? else { return Ok(false) };
        Ok(unseal::<Record>(&record, RECORD_FORMAT, None, &bytes)
            .map_or(true, |(record, _)| !record.blocks.is_empty()))
    }

    /// Where this run's files belong.
    pub(super) fn place(&self) -> Place<'_> {
        let schedule_sha256 = &self.schedule_sha256;
        Place { folder: &self.path, run: &self.record.run, schedule_sha256 }
    }

    /// Rewrites the record.
    pub(super) fn save(&mut self) -> Result<(), EvidenceError> {
        let SealedDocument { bytes, sha256 } = self.seal_record()?;
        write_whole(&self.path, RUN, &bytes)?;
        self.record_sha256 = sha256;
        Ok(())
    }

    fn seal_record(&self) -> Result<SealedDocument, EvidenceError> {
        seal(&self.path.join(RUN), RECORD_FORMAT, Layout::File, &self.record)
    }

    /// Lists a sealed block.
    pub(super) fn enter(&mut self, entry: BlockEntry) {
        self.record.blocks.push(entry);
        self.record.blocks.sort_by_key(|entry| entry.index);
    }

    /// The planned block with this index.
    pub(super) fn planned(&self, index: u32) -> Option<&PlannedBlock> {
        self.plan.schedule.get(index as usize)
    }

    /// The listed block with this index.
    pub(super) fn entry_mut(&mut self, index: u32) -> Option<&mut BlockEntry> {
        self.record.blocks.iter_mut().find(|entry| entry.index == index)
    }

    /// Seals the resume that followed a block's drill.
    pub(super) fn write_resume(
        &self,
        entry: &BlockEntry,
        name: &str,
        resume: &ResumeCheck,
    ) -> Result<SealedFile, EvidenceError> {
        let content = ResumeFile {
            run: self.record.run.clone(),
            index: entry.index,
            block_sha256: entry.sealed.sha256.clone(),
            resume: Mirror::mirror(resume),
        };
        let document = seal(&self.path.join(name), RESUME_FORMAT, Layout::File, &content)?;
        write_whole(&self.path, name, &document.bytes)
    }

    /// Reads one listed block, every file of it verified.
    pub(super) fn read_block(
        &self,
        entry: &BlockEntry,
        with_gaps: bool,
    ) -> Result<Block, EvidenceError> {
        let path = self.path.join(&entry.sealed.file);
        let bytes =
            read_sealed(&self.path, &entry.sealed)?.ok_or_else(|| self.missing_block(entry))?;
        let read = block_file::read(self.place(), &path, &bytes, false)?;
        drop(bytes);
        if read.counts != entry.counts || read.gaps != entry.gaps.0 {
            let why = format!("{RUN} lists it with other counts");
            return Err(EvidenceError::inconsistent(&path, why));
        }
        self.check_planned(&path, &read.block.plan)?;
        let mut block = read.block;
        if let Some(gaps) = &entry.gaps.0 {
            block.gaps = self.read_gaps(entry, gaps, with_gaps)?;
        }
        if let Some(resume) = &entry.resume.0 {
            let path = self.path.join(&resume.file);
            let resume = self.read_resume(entry, resume)?;
            match &mut block.drill {
                Some(drill) if drill.resume.is_none() => drill.resume = Some(resume),
                _ => return Err(EvidenceError::inconsistent(&path, "its block awaits no resume")),
            }
        }
        Ok(block)
    }

    /// Verifies a listed block's files without reading their content.
    pub(super) fn verify_block(&self, entry: &BlockEntry) -> Result<(), EvidenceError> {
        if !verify_sealed(&self.path, &entry.sealed)? {
            return Err(self.missing_block(entry));
        }
        if let Some(gaps) = &entry.gaps.0 {
            self.read_gaps(entry, gaps, false)?;
        }
        if let Some(resume) = &entry.resume.0 {
            self.read_resume(entry, resume)?;
        }
        Ok(())
    }

    fn read_gaps(
        &self,
        entry: &BlockEntry,
        gaps: &GapsEntry,
        wanted: bool,
    ) -> Result<Vec<cotenant_core::evidence::ChunkGaps>, EvidenceError> {
        let missing = || EvidenceError::MissingFile {
            path: self.path.join(&gaps.sealed.file),
            needed_by: self.path.join(&entry.sealed.file),
        };
        if !wanted {
            let is_there = verify_sealed(&self.path, &gaps.sealed)?;
            return if is_there { Ok(Vec::new()) } else { Err(missing()) };
        }
        let bytes = read_sealed(&self.path, &gaps.sealed)?.ok_or_else(missing)?;
        gaps_file::read(self.place(), entry.index, gaps, &bytes)
    }

    fn read_resume(
        &self,
        entry: &BlockEntry,
        sealed: &SealedFile,
    ) -> Result<ResumeCheck, EvidenceError> {
        let path = self.path.join(&sealed.file);
        let bytes = read_sealed(&self.path, sealed)?.ok_or_else(|| EvidenceError::MissingFile {
            path: path.clone(),
            needed_by: self.path.join(RUN),
        })?;
        self.parse_resume(entry, &path, &bytes)
    }

    fn parse_resume(
        &self,
        entry: &BlockEntry,
        path: &Path,
        bytes: &[u8],
    ) -> Result<ResumeCheck, EvidenceError> {
        let (content, _): (ResumeFile, _) = unseal(path, RESUME_FORMAT, None, bytes)?;
        let belongs = (&content.run, content.index, &content.block_sha256)
            == (&self.record.run, entry.index, &entry.sealed.sha256);
        if !belongs {
            let why = format!("it follows another block {} of run {}", content.index, content.run);
            return Err(EvidenceError::inconsistent(path, why));
        }
        Ok(content.resume.restore())
    }

    fn missing_block(&self, entry: &BlockEntry) -> EvidenceError {
        EvidenceError::MissingBlock {
            run: self.record.run.clone(),
            index: entry.index,
            path: self.path.join(&entry.sealed.file),
        }
    }

    fn check_record(&self, run: &str) -> Result<(), EvidenceError> {
        let path = self.path.join(RUN);
        let (record, plan) = (&self.record, &self.plan);
        let belongs = record.run == run
            && record.schedule_sha256 == self.schedule_sha256
            && record.inference == plan.inference
            && record.neighbour == plan.neighbour
            && record.started.0 == plan.started;
        if !belongs {
            let why = format!("it is the record of run {}, not of {run}", record.run);
            return Err(EvidenceError::inconsistent(&path, why));
        }
        let mut before = None;
        for entry in &record.blocks {
            let fits = self.planned(entry.index).is_some_and(|planned| fits(entry, planned));
            if !fits || before >= Some(entry.index) {
                let why = format!("block {} is not listed as it was planned", entry.index);
                return Err(EvidenceError::inconsistent(&path, why));
            }
            before = Some(entry.index);
        }
        Ok(())
    }

    fn check_planned(&self, path: &Path, plan: &PlannedBlock) -> Result<(), EvidenceError> {
        if self.planned(plan.index) == Some(plan) {
            return Ok(());
        }
        Err(EvidenceError::inconsistent(path, format!("{SCHEDULE} plans another block here")))
    }

    /// Looks for sealed files that the record does not list. A run that ended in order has none.
    /// Where the program was killed between sealing a file and listing it, the file is listed here
    /// (in memory) once its own counts and digest are checked.
    pub(super) fn adopt(&mut self, ended_in_order: bool) -> Result<(), EvidenceError> {
        let listed = self.listed();
        let mut found: Vec<String> = list(&self.path)?;
        found.retain(|name| is_block_file(name) && !listed.contains(name));
        if let (true, Some(name)) = (ended_in_order, found.first()) {
            return Err(self.unlisted(name));
        }
        let mut adopted = false;
        for index in 0..self.plan.schedule.len() {
            let planned = self.plan.schedule[index];
            let mut take = |name: String| {
                let place = found.iter().position(|found| *found == name)?;
                Some(found.swap_remove(place))
            };
            let gaps = take(gaps_name(&planned));
            if let Some(name) = take(block_name(&planned)) {
                self.adopt_block(&name, &planned)?;
                adopted = true;
            } else if let Some(name) = gaps {
                self.remarks.push(format!("{name} was left by a block that was never sealed"));
            }
            if let Some(name) = take(resume_name(&planned)) {
                self.adopt_resume(&name, &planned)?;
                adopted = true;
            }
        }
        if let Some(name) = found.first() {
            return Err(self.unlisted(name));
        }
        if adopted {
            self.record_sha256 = self.seal_record()?.sha256;
        }
        Ok(())
    }

    fn listed(&self) -> Vec<String> {
        let files = |entry: &BlockEntry| {
            let gaps = entry.gaps.0.as_ref().map(|gaps| gaps.sealed.file.clone());
            let resume = entry.resume.0.as_ref().map(|resume| resume.file.clone());
            [Some(entry.sealed.file.clone()), gaps, resume]
        };
        self.record.blocks.iter().flat_map(files).flatten().collect()
    }

    fn unlisted(&self, name: &str) -> EvidenceError {
        EvidenceError::UnlistedFile { path: self.path.join(name), record: self.path.join(RUN) }
    }

    fn adopt_block(&mut self, name: &str, planned: &PlannedBlock) -> Result<(), EvidenceError> {
        let path = self.path.join(name);
        let Some(bytes) = read_bounded(&path, SEALED_BYTES_MAX)? else { return Ok(()) };
        let read = block_file::read(self.place(), &path, &bytes, true)?;
        self.check_planned(&path, &read.block.plan)?;
        let entry = BlockEntry {
            index: planned.index,
            condition: Mirror::mirror(&planned.condition),
            counts: read.counts,
            sealed: SealedFile {
                file: name.to_owned(),
                bytes: bytes.len() as u64,
                sha256: sha256_hex(&bytes),
            },
            gaps: Maybe(read.gaps),
            resume: Maybe(None),
        };
        if !fits(&entry, planned) {
            return Err(EvidenceError::inconsistent(&path, "its gaps file has another name"));
        }
        self.verify_block(&entry)?;
        self.remarks.push(format!("{name} was sealed but not yet listed, and is taken in"));
        self.enter(entry);
        Ok(())
    }

    fn adopt_resume(&mut self, name: &str, planned: &PlannedBlock) -> Result<(), EvidenceError> {
        let path = self.path.join(name);
        let Some(bytes) = read_bounded(&path, DOCUMENT_BYTES_MAX)? else { return Ok(()) };
        let Some(entry) = self.record.blocks.iter().find(|entry| entry.index == planned.index)
        else {
            return Err(EvidenceError::MissingBlock {
                run: self.record.run.clone(),
                index: planned.index,
                path: self.path.join(block_name(planned)),
            });
        };
        self.parse_resume(entry, &path, &bytes)?;
        let sealed = SealedFile {
            file: name.to_owned(),
            bytes: bytes.len() as u64,
            sha256: sha256_hex(&bytes),
        };
        if let Some(entry) = self.entry_mut(planned.index) {
            entry.resume = Maybe(Some(sealed));
        }
        self.remarks.push(format!("{name} was sealed but not yet listed, and is taken in"));
        Ok(())
    }

    /// Names of files that a killed process left unfinished.
    pub(super) fn unfinished(&self) -> Result<Vec<String>, EvidenceError> {
        let mut names = list(&self.path)?;
        names.retain(|name| is_unfinished(name));
        Ok(names)
    }

    /// The run as core knows it.
    pub(super) fn into_run(self, blocks: Vec<Block>) -> (Run, RunPlan, Record) {
        let (plan, record) = (self.plan, self.record);
        let run = Run {
            id: record.run.clone(),
            started: plan.started,
            origin: plan.origin,
            inference: plan.inference.clone(),
            neighbour: plan.neighbour.clone(),
            seed: plan.seed,
            fingerprint: fingerprint(&record),
            load: plan.load.clone(),
            pilot: plan.pilot.clone(),
            audits: record.audits.clone().restore(),
            remedies: plan.remedies.clone(),
            schedule: plan.schedule.clone(),
            blocks,
            engine_supervised: plan.engine_supervised,
        };
        (run, plan, record)
    }
}

/// The stack as far as the record knows it.
pub(super) fn fingerprint(record: &Record) -> Fingerprint {
    record.fingerprint.clone().restore()
}

/// Whether an entry has the condition and the file names that its planned block gives.
fn fits(entry: &BlockEntry, planned: &PlannedBlock) -> bool {
    let named = |file: Option<&SealedFile>, name: String| file.is_none_or(|file| file.file == name);
    entry.index == planned.index
        && entry.condition.restore() == planned.condition
        && named(Some(&entry.sealed), block_name(planned))
        && named(entry.gaps.0.as_ref().map(|gaps| &gaps.sealed), gaps_name(planned))
        && named(entry.resume.0.as_ref(), resume_name(planned))
}

fn read_document<T: Serialize + DeserializeOwned>(
    path: &Path,
    format: &str,
    needed_by: &Path,
) -> Result<(T, String), EvidenceError> {
    let Some(bytes) = read_bounded(path, DOCUMENT_BYTES_MAX)? else {
        let (path, needed_by) = (path.to_owned(), needed_by.to_owned());
        return Err(EvidenceError::MissingFile { path, needed_by });
    };
    unseal(path, format, None, &bytes)
}
