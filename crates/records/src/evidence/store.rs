//! The evidence of one site on disk: the ledger, and a folder for each run.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cotenant_core::evidence::{Block, Condition, PlannedBlock};
use jiff::Timestamp;

use super::files::{LOCK, list, sync_folder};
use super::folder::Folder;
use super::ledger::{Chain, Event, History, Ledger};
use super::lock::WriterLock;
use super::mirror::Mirror;
use super::stored_run::StoredStatus;
use super::{
    EvidenceError, Exclusion, LostRun, ReadWhat, RunPlan, RunWriter, StoredEvidence, StoredRun,
};

/// Most blocks in one run: what four digits in a file's name can say.
const BLOCKS_MAX: usize = 10_000;
/// Most runs of the same tests that may begin within one second.
const SAME_SECOND_MAX: u32 = 99;

/// How often a reading is begun anew because a run went on meanwhile.
const READS_MAX: u32 = 4;

/// An evidence folder. Opening one creates nothing.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the evidence folder at `root`, which need not exist yet.
    pub fn open(root: &Path) -> Result<Self, EvidenceError> {
        match fs::metadata(root) {
            Ok(found) if !found.is_dir() => Err(EvidenceError::NotEvidence {
                path: root.to_owned(),
                why: "expected a folder, found a file".to_owned(),
            }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(EvidenceError::io(root, "open", error))
            }
            _ => Ok(Self { root: root.to_owned() }),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Begins a run: makes its folder, writes its schedule, and announces it in the ledger. When
    /// this returns, all three will survive a crash.
    pub fn create_run(&self, plan: &RunPlan) -> Result<RunWriter, EvidenceError> {
        check_plan(&self.root, plan)?;
        // Nothing is begun beside a ledger that is damaged.
        let ledger = Ledger::of(&self.root);
        ledger.read()?;
        fs::create_dir_all(&self.root)
            .map_err(|error| EvidenceError::io(&self.root, "create", error))?;
        let (run, path) = self.create_folder(plan)?;
        let lock = WriterLock::take(&path.join(LOCK))?;
        let folder = Folder::create(path, &run, plan.clone())?;
        sync_folder(&self.root)?;
        // Last: a folder that was never announced holds no block and is no run, while a run that
        // was announced and has no folder would be a run that vanished.
        let schedule_sha256 = folder.schedule_sha256.clone();
        ledger.append(plan.started, Event::Started { run, schedule_sha256 })?;
        Ok(RunWriter::new(self.root.clone(), folder, lock))
    }

    /// Goes on with a run that was interrupted or killed: gives its writer and the indices of the
    /// blocks that are finished. Blocks that were sealed but not yet listed are taken in; files that
    /// were left unfinished are removed; both are told by [`RunWriter::remarks`].
    ///
    /// Refused: a run that is complete, and one that another process is writing.
    pub fn resume_run(
        &self,
        id: &str,
        at: Timestamp,
    ) -> Result<(RunWriter, Vec<u32>), EvidenceError> {
        let ledger = Ledger::of(&self.root);
        let history = self.history(&ledger, id)?;
        let path = self.root.join(&history.run);
        if !path.is_dir() {
            return Err(EvidenceError::MissingRun { run: history.run, path });
        }
        let lock = WriterLock::take(&path.join(LOCK))?;
        let folder = open_run(&self.root, &history, ledger.path())?;
        if folder.record.status == StoredStatus::Complete {
            if history.finished.is_none() {
                // Killed between the final record and its line in the ledger.
                super::writer::announce_end(&self.root, &folder, at)?;
            }
            return Err(EvidenceError::refused(&path, "the run is complete"));
        }
        ledger.append(at, Event::Resumed { run: history.run })?;
        let writer = RunWriter::reopen(self.root.clone(), folder, lock)?;
        let finished = writer.finished();
        Ok((writer, finished))
    }

    /// Records in the ledger that a run is left out, and why. The run stays on disk, and is shown.
    /// There is no way back in: a run that may come and go would be chosen by its result.
    pub fn exclude(
        &self,
        run: &str,
        reason: &str,
        who: &str,
        at: Timestamp,
    ) -> Result<(), EvidenceError> {
        if reason.trim().is_empty() || who.trim().is_empty() {
            let why = "leaving a run out needs a reason and a name";
            return Err(EvidenceError::refused(&self.root, why));
        }
        let ledger = Ledger::of(&self.root);
        let history = self.history(&ledger, run)?;
        if let Some(Exclusion { reason, .. }) = history.excluded {
            let why = format!("run {run} is left out already: {reason}");
            return Err(EvidenceError::refused(&self.root, why));
        }
        let (run, reason, who) = (history.run, reason.to_owned(), who.to_owned());
        ledger.append(at, Event::Excluded { run, reason, who })
    }

    /// All evidence, every file of it verified, runs in the order in which they began. A folder
    /// that does not exist is empty. Anything that is damaged, missing, or there without being
    /// announced is an error, unless it belongs to a run that is excluded.
    ///
    /// It may be called while runs are being written: what is read is then what was there at some
    /// instant in between.
    pub fn read_all(&self, what: ReadWhat) -> Result<StoredEvidence, EvidenceError> {
        if !self.root.exists() {
            return Ok(StoredEvidence::default());
        }
        let ledger = Ledger::of(&self.root);
        for _ in 1..READS_MAX {
            let chain = ledger.read()?;
            match self.read_chain(&ledger, &chain, what) {
                // What looks wrong may be a run that went on between the ledger and its folder.
                Err(_) if ledger.read()?.entries.len() != chain.entries.len() => {}
                result => return result,
            }
        }
        self.read_chain(&ledger, &ledger.read()?, what)
    }

    fn read_chain(
        &self,
        ledger: &Ledger,
        chain: &Chain,
        what: ReadWhat,
    ) -> Result<StoredEvidence, EvidenceError> {
        let mut evidence = StoredEvidence::default();
        if chain.torn {
            let remark = "the ledger's last line was being written when the program was stopped; \
                          it counts for nothing";
            evidence.remarks.push(remark.to_owned());
        }
        let histories = chain.histories(ledger)?;
        for history in &histories {
            match (read_run(&self.root, history, ledger.path(), what), &history.excluded) {
                (Ok(run), _) => evidence.runs.push(run),
                (Err(damage), Some(excluded)) => evidence.lost.push(LostRun {
                    id: history.run.clone(),
                    excluded: excluded.clone(),
                    damage,
                }),
                (Err(damage), None) => return Err(damage),
            }
        }
        self.check_folders(&histories, &mut evidence.remarks)?;
        Ok(evidence)
    }

    /// One run, verified; see [`Store::read_all`].
    pub fn read_run(&self, id: &str, what: ReadWhat) -> Result<StoredRun, EvidenceError> {
        let ledger = Ledger::of(&self.root);
        let history = self.history(&ledger, id)?;
        read_run(&self.root, &history, ledger.path(), what)
    }

    fn history(&self, ledger: &Ledger, run: &str) -> Result<History, EvidenceError> {
        let known = ledger.read()?.histories(ledger)?;
        known.into_iter().find(|history| history.run == run).ok_or_else(|| {
            EvidenceError::UnknownRun { run: run.to_owned(), path: self.root.clone() }
        })
    }

    fn create_folder(&self, plan: &RunPlan) -> Result<(String, PathBuf), EvidenceError> {
        let name =
            format!("{}-{}", plan.started.strftime("%Y%m%dT%H%M%SZ"), tests_of(&plan.schedule));
        for attempt in 1..=SAME_SECOND_MAX {
            let run = if attempt == 1 { name.clone() } else { format!("{name}-{attempt}") };
            let path = self.root.join(&run);
            match fs::create_dir(&path) {
                Ok(()) => return Ok((run, path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(EvidenceError::io(&path, "create", error)),
            }
        }
        Err(EvidenceError::refused(&self.root, format!("too many runs named {name}")))
    }

    /// Folders that the ledger does not know.
    fn check_folders(
        &self,
        histories: &[History],
        remarks: &mut Vec<String>,
    ) -> Result<(), EvidenceError> {
        for name in list(&self.root)? {
            let path = self.root.join(&name);
            let known = histories.iter().any(|history| history.run == name);
            if known || !path.is_dir() {
                continue;
            }
            if Folder::holds_evidence(&path)? {
                return Err(EvidenceError::UnlistedRun { path });
            }
            remarks.push(format!("{name} holds no evidence and is passed over"));
        }
        Ok(())
    }
}

/// The letters of the tests in a schedule, or the word of the first that has no letter. A run without
/// blocks holds audits alone.
fn tests_of(schedule: &[PlannedBlock]) -> String {
    if let Some(word) = schedule.iter().find_map(|block| block.situation.word()) {
        return word.to_owned();
    }
    if schedule.is_empty() {
        return "audit".to_owned();
    }
    let conditions: BTreeSet<Condition> = schedule.iter().map(|block| block.condition).collect();
    conditions.iter().map(|condition| condition.letter().to_ascii_lowercase()).collect()
}

fn check_plan(root: &Path, plan: &RunPlan) -> Result<(), EvidenceError> {
    if plan.schedule.len() > BLOCKS_MAX {
        let why = format!("a schedule has at most {BLOCKS_MAX} blocks");
        return Err(EvidenceError::refused(root, why));
    }
    for (position, block) in plan.schedule.iter().enumerate() {
        if block.index as usize != position {
            let why = format!("block {} stands at position {position}", block.index);
            return Err(EvidenceError::refused(root, why));
        }
    }
    Ok(())
}

/// Opens a run's folder, checks it against the ledger, and takes in what a kill left unlisted.
fn open_run(root: &Path, history: &History, ledger: &Path) -> Result<Folder, EvidenceError> {
    let path = root.join(&history.run);
    let mut folder = Folder::open(path, &history.run, &history.schedule_sha256, ledger)?;
    if let Some((status, recorded)) = &history.finished {
        if (*status, recorded) != (folder.record.status, &folder.record_sha256) {
            let (path, found) = (folder.path.join(super::files::RUN), folder.record_sha256);
            let recorded = recorded.clone();
            return Err(EvidenceError::DigestMismatch { path, recorded, found });
        }
    } else if folder.record.status != StoredStatus::Running {
        let remark = "the program was stopped before the ledger knew that this run had ended";
        folder.remarks.push(remark.to_owned());
    }
    folder.adopt(history.finished.is_some())?;
    Ok(folder)
}

fn read_run(
    root: &Path,
    history: &History,
    ledger: &Path,
    what: ReadWhat,
) -> Result<StoredRun, EvidenceError> {
    let mut folder = open_run(root, history, ledger)?;
    for name in folder.unfinished()? {
        folder.remarks.push(format!("{name} is unfinished and is passed over"));
    }
    let blocks = read_blocks(&folder, what)?;
    let (digest, remarks) = (folder.record_sha256.clone(), folder.remarks.clone());
    let (run, plan, record) = folder.into_run(blocks);
    Ok(StoredRun {
        run,
        status: record.status.restore(),
        decided: record.decided,
        excluded: history.excluded.clone(),
        site_digest: plan.site_digest,
        warm_up_s: plan.warm_up_s,
        block_s: plan.block_s,
        tail_s: plan.tail_s,
        options: plan.options,
        digest,
        remarks,
    })
}

fn read_blocks(folder: &Folder, what: ReadWhat) -> Result<Vec<Block>, EvidenceError> {
    folder.record.blocks.iter().map(|entry| folder.read_block(entry, what.gaps)).collect()
}
