//! Who is asked, in which order.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::Path;

use cotenant_core::reading::{FileReading, FileRefusal, RefusalCause};

use super::content::Content;
use super::look::{Claim, Look};
use super::{
    answer, benchmarks, dashboard, devices, fields, foreign, log, mig, own, schedulers, scrape,
    tables,
};
use crate::benchmark::{self, BenchmarkFile};

/// A file that was read.
#[derive(Clone, Debug)]
pub struct ReadFile {
    /// What it holds.
    pub reading: FileReading,
    /// The result itself, where the file is one: reports of one run are held against each other.
    pub benchmark: Option<BenchmarkFile>,
}

impl From<FileReading> for ReadFile {
    fn from(reading: FileReading) -> Self {
        Self { reading, benchmark: None }
    }
}

/// What reports of one run contradict in each other, a sentence each: stages must add up to their
/// summary, and so must requests. Reports of one folder are taken to be of one run; where their
/// names have a part before `stage_`, `summary_` or `per_request_`, that part must be the same.
pub fn contradictions(files: &[&ReadFile]) -> Vec<String> {
    let mut runs: BTreeMap<String, Vec<BenchmarkFile>> = BTreeMap::new();
    for file in files {
        let Some(result) = &file.benchmark else { continue };
        let marks = ["stage_", "summary_", "per_request_"];
        let ends = marks.iter().filter_map(|mark| result.file.rfind(mark)).max();
        if let Some(end) = ends {
            runs.entry(result.file[..end].to_owned()).or_default().push(result.clone());
        }
    }
    let sentences = |run: &Vec<BenchmarkFile>| benchmark::contradictions(run);
    runs.values().flat_map(sentences).map(|refusal| refusal.to_string()).collect()
}

type Recogniser = fn(&Look<'_>) -> Option<Claim>;

/// The recognisers, the most particular first: a document of ours is JSON, too, and a table of
/// results has columns as a table of rates has.
const RECOGNISERS: [Recogniser; 16] = [
    foreign::bytes,
    own::claim,
    answer::claim,
    dashboard::claim,
    devices::claim,
    mig::claim,
    benchmarks::claim,
    log::document,
    fields::claim,
    tables::trace,
    foreign::tables,
    scrape::typed,
    schedulers::claim,
    scrape::samples,
    log::claim,
    tables::rates,
];

/// Reads a file of any kind.
///
/// # Errors
/// What the file seems to be, why it cannot be read, and what would be needed.
///
/// ```
/// # use cotenant_core::reading::FileKind;
/// # use cotenant_probe::read::read;
/// let text = "# TYPE up gauge\nup{job=\"a\"} 1\n";
/// let read_file = read("metrics.txt", text.as_bytes()).unwrap();
/// assert_eq!(read_file.reading.kind, FileKind::MetricsScrape);
/// let refused = read("notes.txt", "no numbers here\n".as_bytes()).unwrap_err();
/// assert!(refused.to_string().starts_with("notes.txt:"));
/// ```
pub fn read(name: &str, input: impl Read) -> Result<ReadFile, FileRefusal> {
    let Content { packing, head, is_whole, mut rest, half_unit } = Content::open(name, input)?;
    let look = Look::new(name, &head, is_whole);
    let mut file = recognised(&look, &mut rest)?;
    let reading = &mut file.reading;
    let replaced = look.text.matches('\u{fffd}').count();
    if replaced > 0 && std::str::from_utf8(&head).is_err() {
        reading.note(format!("bytes that are no UTF-8 were replaced: {replaced}"));
    }
    if half_unit.get() {
        reading.note("half a unit of UTF-16 at the end was left out");
    }
    reading.packing = packing;
    Ok(file)
}

/// Reads a file of any kind by its path.
///
/// # Errors
/// As [`read`]; and a file that cannot be opened.
pub fn read_file(path: &Path) -> Result<ReadFile, FileRefusal> {
    let name = path.display().to_string();
    let refused = |why: String| {
        FileRefusal::new(
            &name,
            "a file that cannot be opened",
            why,
            "check the path and its permissions",
        )
    };
    let file = std::fs::File::open(path).map_err(|error| refused(error.to_string()))?;
    // A folder can be opened, but says so only when it is read.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(FileRefusal::new(
            &name,
            "a folder",
            "files are read one by one",
            format!("name the files, as {name}/*"),
        ));
    }
    read(&name, file)
}

/// Asks the recognisers.
fn recognised(look: &Look<'_>, rest: &mut dyn BufRead) -> Result<ReadFile, FileRefusal> {
    let mut likely: Vec<Claim> = Vec::new();
    for recogniser in RECOGNISERS {
        let Some(claim) = recogniser(look) else { continue };
        if claim.is_sure && likely.is_empty() {
            return run(&claim, look, rest);
        }
        likely.push(claim);
    }
    let name = look.name.trim_end_matches(".gz").trim_end_matches(".zst");
    likely.sort_by_key(|claim| !claim.endings.iter().any(|ending| name.ends_with(ending)));
    let mut first = None;
    for claim in likely {
        match run(&claim, look, rest) {
            Ok(reading) => return Ok(reading),
            Err(refusal) if refusal.cause == RefusalCause::Machine || claim.is_sure => {
                return Err(refusal);
            }
            Err(refusal) => first = first.or(Some(refusal)),
        }
        // What was read of a stream is gone.
        if !look.is_whole {
            break;
        }
    }
    Err(first.or_else(|| schedulers::said_instead(look)).unwrap_or_else(|| foreign::text(look)))
}

fn run(claim: &Claim, look: &Look<'_>, rest: &mut dyn BufRead) -> Result<ReadFile, FileRefusal> {
    let mut file = (claim.read)(look, rest)?;
    file.reading.clues.insert(0, claim.clue.clone());
    Ok(file)
}
