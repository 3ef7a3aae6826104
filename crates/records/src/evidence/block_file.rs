//! A block's own file: a header, lines of records, a footer.
//!
//! The header says what the file is, which run and schedule it belongs to, and how many records
//! follow; the footer repeats the counts and adds a digest of everything before it. So a block that
//! was sealed an instant before the program was killed can be told from half of one without its
//! run's record.

use std::io::{self, Write};
use std::path::Path;

use cotenant_core::evidence::{Block, Observed};
use serde::{Deserialize, Serialize};

use super::EvidenceError;
use super::digest::HashingWriter;
use super::files::{self, SealedFile, block_name};
use super::gaps_file::GapsEntry;
use super::lines::{CONTENT_BYTES_MAX, Content, LINE_BYTES_MAX, encoder};
use super::mirror::{Maybe, Mirror, Real, Stamp};
use super::request_columns::{REQUESTS_PER_LINE, RequestColumns};
use super::sealed::{VERSION, check_label, unreadable};
use super::stored_block::{
    StoredCheckpoint, StoredClient, StoredDrill, StoredFault, StoredHostSample, StoredStep,
};
use super::stored_engine::{StoredEngine, StoredGpuSample};
use super::stored_run::StoredPlannedBlock;
use super::stored_situation::{StoredDisturbance, StoredHandChange, StoredStress};

/// The format's name in the header.
const FORMAT: &str = "cotenant block";
/// Steps, or readings of the engine's queue, in one line.
const RECORDS_PER_LINE: usize = 1_000;
/// Most records of one kind in one block: at 136 bytes each, half a gibibyte of requests.
const RECORDS_MAX: u64 = 1 << 22;

/// How many records of each kind a block has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockCounts {
    pub requests: u64,
    pub steps: u64,
    pub checkpoints: u64,
    pub drills: u64,
    pub host_samples: u64,
    pub engine_waiting: u64,
    pub clients: u64,
    pub faults: u64,
    pub remarks: u64,
    pub engines: u64,
    pub gpu_samples: u64,
    pub disturbances: u64,
    pub stresses: u64,
    pub changes: u64,
}

/// Where a block's file belongs.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The run's folder.
    pub folder: &'a Path,
    /// The run's name.
    pub run: &'a str,
    /// SHA-256 of the run's schedule.
    pub schedule_sha256: &'a str,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    run: String,
    schedule_sha256: String,
    plan: StoredPlannedBlock,
    started: Stamp,
    judged_from_ns: u64,
    judged_until_ns: u64,
    ended_ns: u64,
    load_factor: Real,
    counts: BlockCounts,
    gaps: Maybe<GapsEntry>,
}

/// Any line after the header.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Requests(Box<RequestColumns>),
    Steps(Vec<StoredStep>),
    Checkpoint(StoredCheckpoint),
    Drill(Box<StoredDrill>),
    Host(Box<StoredHostSample>),
    EngineWaiting(Vec<(u64, Real)>),
    Client(StoredClient),
    Fault(StoredFault),
    Remark(String),
    Engine(Box<StoredEngine>),
    Gpus(Vec<StoredGpuSample>),
    Disturbance(StoredDisturbance),
    Stress(StoredStress),
    Change(Box<StoredHandChange>),
    Footer(Footer),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    counts: BlockCounts,
    /// SHA-256 of every byte before the footer's line, hexadecimal.
    content_sha256: String,
}

/// A block as it was read.
pub(super) struct ReadBlock {
    /// The block, with no gaps.
    pub block: Block,
    /// What the footer counts.
    pub counts: BlockCounts,
    /// Its gaps file, where it has one.
    pub gaps: Option<GapsEntry>,
}

impl BlockCounts {
    /// What `block` holds.
    pub(super) fn of(block: &Block) -> Self {
        Self {
            requests: block.requests.len() as u64,
            steps: block.steps.len() as u64,
            checkpoints: block.checkpoints.len() as u64,
            drills: u64::from(block.drill.is_some()),
            host_samples: block.host.len() as u64,
            engine_waiting: block.engine_waiting.len() as u64,
            clients: u64::from(block.client.is_some()),
            faults: block.faults.len() as u64,
            remarks: block.remarks.len() as u64,
            engines: u64::from(block.observed.engine.is_some()),
            gpu_samples: block.observed.gpus.len() as u64,
            disturbances: u64::from(block.observed.disturbance.is_some()),
            stresses: u64::from(block.observed.stress.is_some()),
            changes: block.observed.changes.len() as u64,
        }
    }

    fn all(&self) -> [u64; 14] {
        [
            self.requests,
            self.steps,
            self.checkpoints,
            self.drills,
            self.host_samples,
            self.engine_waiting,
            self.clients,
            self.faults,
            self.remarks,
            self.engines,
            self.gpu_samples,
            self.disturbances,
            self.stresses,
            self.changes,
        ]
    }

    fn most(&self) -> u64 {
        self.all().into_iter().fold(0, u64::max)
    }

    fn exceed(&self, limits: &Self) -> bool {
        self.all().into_iter().zip(limits.all()).any(|(count, limit)| count > limit)
    }
}

/// Writes a block's file under its temporary name. A line or a count that a reader would refuse is
/// refused here.
pub(super) fn write_unfinished(
    place: Place<'_>,
    block: &Block,
    gaps: Option<GapsEntry>,
) -> Result<SealedFile, EvidenceError> {
    let counts = BlockCounts::of(block);
    if counts.most() > RECORDS_MAX {
        let why = format!("a block may hold {RECORDS_MAX} records of a kind");
        return Err(EvidenceError::refused(place.folder, why));
    }
    files::write_unfinished(place.folder, &block_name(&block.plan), |out| {
        let mut lines = LineWriter::new(out)?;
        lines.write(&Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            run: place.run.to_owned(),
            schedule_sha256: place.schedule_sha256.to_owned(),
            plan: Mirror::mirror(&block.plan),
            started: Stamp(block.started),
            judged_from_ns: block.judged_from_ns,
            judged_until_ns: block.judged_until_ns,
            ended_ns: block.ended_ns,
            load_factor: Real(block.load_factor),
            counts,
            gaps: Maybe(gaps),
        })?;
        write_records(&mut lines, block)?;
        let content_sha256 = lines.out.digest();
        lines.write(&Line::Footer(Footer { counts, content_sha256 }))?;
        lines.out.into_inner().finish()?;
        Ok(())
    })
}

fn write_records(lines: &mut LineWriter<'_>, block: &Block) -> io::Result<()> {
    for requests in block.requests.chunks(REQUESTS_PER_LINE) {
        lines.write(&Line::Requests(Box::new(RequestColumns::of(requests))))?;
    }
    for steps in block.steps.chunks(RECORDS_PER_LINE) {
        lines.write(&Line::Steps(steps.iter().map(Mirror::mirror).collect()))?;
    }
    for checkpoint in &block.checkpoints {
        lines.write(&Line::Checkpoint(Mirror::mirror(checkpoint)))?;
    }
    if let Some(drill) = &block.drill {
        lines.write(&Line::Drill(Box::new(Mirror::mirror(drill))))?;
    }
    for sample in &block.host {
        lines.write(&Line::Host(Box::new(Mirror::mirror(sample))))?;
    }
    for waiting in block.engine_waiting.chunks(RECORDS_PER_LINE) {
        lines.write(&Line::EngineWaiting(waiting.iter().map(Mirror::mirror).collect()))?;
    }
    if let Some(client) = &block.client {
        lines.write(&Line::Client(Mirror::mirror(client)))?;
    }
    for fault in &block.faults {
        lines.write(&Line::Fault(Mirror::mirror(fault)))?;
    }
    for remark in &block.remarks {
        lines.write(&Line::Remark(remark.clone()))?;
    }
    write_observed(lines, &block.observed)
}

fn write_observed(lines: &mut LineWriter<'_>, observed: &Observed) -> io::Result<()> {
    if let Some(engine) = &observed.engine {
        lines.write(&Line::Engine(Box::new(Mirror::mirror(engine))))?;
    }
    for samples in observed.gpus.chunks(RECORDS_PER_LINE) {
        lines.write(&Line::Gpus(samples.iter().map(Mirror::mirror).collect()))?;
    }
    if let Some(disturbance) = &observed.disturbance {
        lines.write(&Line::Disturbance(Mirror::mirror(disturbance)))?;
    }
    if let Some(stress) = &observed.stress {
        lines.write(&Line::Stress(Mirror::mirror(stress)))?;
    }
    for change in &observed.changes {
        lines.write(&Line::Change(Box::new(Mirror::mirror(change))))?;
    }
    Ok(())
}

/// Writes lines of JSON into a compressed file.
struct LineWriter<'a> {
    out: HashingWriter<zstd::Encoder<'static, &'a mut dyn Write>>,
    line: Vec<u8>,
}

impl<'a> LineWriter<'a> {
    fn new(out: &'a mut dyn Write) -> io::Result<Self> {
        Ok(Self { out: HashingWriter::new(encoder(out)?), line: Vec::new() })
    }

    fn write<T: Serialize>(&mut self, line: &T) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        if self.line.len() as u64 > LINE_BYTES_MAX {
            let why = format!("a line may have {LINE_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if self.out.bytes() + self.line.len() as u64 > CONTENT_BYTES_MAX {
            let why = format!("a block may have {CONTENT_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.out.write_all(&self.line)
    }
}

/// Reads a block's file from the bytes that are it. `check_content` says whether to check the
/// footer's digest, which is needed only where the digest of the whole file was not checked.
pub(super) fn read(
    place: Place<'_>,
    path: &Path,
    compressed: &[u8],
    check_content: bool,
) -> Result<ReadBlock, EvidenceError> {
    let mut content = Content::open(path, compressed, check_content)?;
    let mut line = Vec::new();
    if !content.next_line(&mut line)? {
        return Err(EvidenceError::truncated(path, "it is empty"));
    }
    check_label(path, FORMAT, None, &line)?;
    let header: Header =
        serde_json::from_slice(&line).map_err(|error| unreadable(path, Some(1), &error))?;
    check_place(place, path, &header)?;
    if header.counts.most() > RECORDS_MAX {
        return Err(content.too_large("the number of its records", RECORDS_MAX));
    }
    let mut block = empty_block(&header);
    let footer = loop {
        let digest_before = if check_content { content.digest() } else { String::new() };
        if !content.next_line(&mut line)? {
            return Err(EvidenceError::truncated(path, "its footer is missing"));
        }
        let parsed = serde_json::from_slice(&line)
            .map_err(|e| unreadable(path, Some(content.line()), &e))?;
        if let Some(footer) = take(parsed, &mut block)
            .map_err(|why| EvidenceError::malformed(path, Some(content.line()), why))?
        {
            if check_content && footer.content_sha256 != digest_before {
                let (path, recorded) = (path.to_owned(), footer.content_sha256);
                return Err(EvidenceError::DigestMismatch { path, recorded, found: digest_before });
            }
            break footer;
        }
        if BlockCounts::of(&block).exceed(&header.counts) {
            let why = "it has more records than its header says";
            return Err(EvidenceError::malformed(path, Some(content.line()), why));
        }
    };
    content.finish()?;
    let found = BlockCounts::of(&block);
    if found != header.counts || found != footer.counts {
        let why = format!("it says {:?} but holds {found:?}", footer.counts);
        return Err(EvidenceError::malformed(path, None, why));
    }
    Ok(ReadBlock { block, counts: found, gaps: header.gaps.0 })
}

fn check_place(place: Place<'_>, path: &Path, header: &Header) -> Result<(), EvidenceError> {
    if header.run != place.run || header.schedule_sha256 != place.schedule_sha256 {
        let why = format!("it is a block of run {}, planned by another schedule", header.run);
        return Err(EvidenceError::inconsistent(path, why));
    }
    let name = block_name(&header.plan.clone().restore());
    if path.file_name().is_none_or(|found| found != name.as_str()) {
        return Err(EvidenceError::inconsistent(path, format!("its own name is {name}")));
    }
    Ok(())
}

fn empty_block(header: &Header) -> Block {
    Block {
        plan: header.plan.clone().restore(),
        started: header.started.0,
        judged_from_ns: header.judged_from_ns,
        judged_until_ns: header.judged_until_ns,
        ended_ns: header.ended_ns,
        requests: Vec::with_capacity(header.counts.requests as usize),
        gaps: Vec::new(),
        steps: Vec::new(),
        checkpoints: Vec::new(),
        drill: None,
        host: Vec::new(),
        engine_waiting: Vec::new(),
        client: None,
        faults: Vec::new(),
        remarks: Vec::new(),
        load_factor: header.load_factor.0,
        observed: Observed::default(),
    }
}

/// Adds a line's records to the block, or gives the footer back.
fn take(line: Line, block: &mut Block) -> Result<Option<Footer>, String> {
    match line {
        Line::Requests(columns) => columns.restore_into(&mut block.requests)?,
        Line::Steps(steps) => block.steps.extend(steps.into_iter().map(Mirror::restore)),
        Line::Checkpoint(checkpoint) => block.checkpoints.push(checkpoint.restore()),
        Line::Drill(drill) => {
            if block.drill.replace(drill.restore()).is_some() {
                return Err("a second drill".to_owned());
            }
        }
        Line::Host(sample) => block.host.push(sample.restore()),
        Line::EngineWaiting(waiting) => {
            block.engine_waiting.extend(waiting.into_iter().map(Mirror::restore));
        }
        Line::Client(client) => {
            if block.client.replace(client.restore()).is_some() {
                return Err("a second report of the load client".to_owned());
            }
        }
        Line::Fault(fault) => block.faults.push(fault.restore()),
        Line::Remark(remark) => block.remarks.push(remark),
        Line::Engine(engine) => {
            if block.observed.engine.replace(engine.restore()).is_some() {
                return Err("a second report of the engine".to_owned());
            }
        }
        Line::Gpus(samples) => {
            block.observed.gpus.extend(samples.into_iter().map(Mirror::restore));
        }
        Line::Disturbance(disturbance) => {
            if block.observed.disturbance.replace(disturbance.restore()).is_some() {
                return Err("a second disturbance".to_owned());
            }
        }
        Line::Stress(stress) => {
            if block.observed.stress.replace(stress.restore()).is_some() {
                return Err("a second stressor".to_owned());
            }
        }
        Line::Change(change) => block.observed.changes.push(change.restore()),
        Line::Footer(footer) => return Ok(Some(footer)),
    }
    Ok(None)
}
