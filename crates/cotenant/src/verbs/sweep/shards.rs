//! One shard of a sweep into a file of its own, and all shards back into one answer.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cotenant_core::sim::sweep::{PointOutcome, Sweep};
use cotenant_records::sweep::{PartHead, end_line, head_line, point_line, read_part};

use crate::cli::{Shard, SimulateOptions};
use crate::exit::Failure;

/// Variables in which clusters name a shard, with the number of the first.
const NUMBERED_BY: [(&str, u32); 2] = [("SLURM_ARRAY_TASK_ID", 1), ("JOB_COMPLETION_INDEX", 0)];

/// The number of a shard, from 1: as it was typed, or as the environment names it.
pub(super) fn number(shard: Shard) -> Result<u32, Failure> {
    if let Some(number) = shard.number {
        return Ok(number);
    }
    for (name, first) in NUMBERED_BY {
        let Ok(text) = env::var(name) else { continue };
        let number = text.parse::<u32>().ok().and_then(|it| (it + 1).checked_sub(first));
        return number.filter(|number| (1..=shard.of).contains(number)).ok_or_else(|| {
            Failure::input(format!("{name} is `{text}`, and there are {} shards", shard.of))
        });
    }
    let names = NUMBERED_BY.map(|(name, _)| name);
    Err(Failure::input(format!(
        "no shard is named: neither {} is set\n\nhint: say which: `--shard 1/{}`",
        names.join(" nor "),
        shard.of
    )))
}

/// The file of a shard in a folder of shards.
pub(super) fn file_in(folder: &Path, number: u32, of: u32) -> PathBuf {
    folder.join(format!("part-{number:05}-of-{of:05}.jsonl"))
}

/// Where a shard is written: to the file that was asked for, or into the folder.
pub(super) fn target(out: &Path, number: u32, of: u32) -> PathBuf {
    let is_folder = out.is_dir() || out.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder { file_in(out, number, of) } else { out.to_owned() }
}

/// Writes a finished shard: there completely or not at all.
pub(super) fn write(path: &Path, head: &PartHead, points: &[PointOutcome]) -> Result<(), Failure> {
    let mut text = head_line(head);
    for point in points {
        text.push_str(&point_line(point));
    }
    text.push_str(&end_line(points.len() as u64));
    let cannot = |error: std::io::Error| {
        Failure::world(format!("cannot write the shard to {}: {error}", path.display()))
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    // A name of its own, as two may compute one shard at a time.
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let unfinished = PathBuf::from(name);
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, path));
    written.map_err(|error| {
        // What is left of it would only be in the way.
        let _ = fs::remove_file(&unfinished);
        cannot(error)
    })
}

/// What a folder of shards holds.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Every point that is whole, by its index.
    pub(super) points: BTreeMap<u64, PointOutcome>,
    /// What was wrong with files, as sentences.
    pub(super) remarks: Vec<String>,
    /// How many shards the files say that there are.
    counts: BTreeSet<u32>,
}

/// Reads every file of a folder that is a shard of this sweep. A shard that is there twice changes
/// nothing; two that differ are an error.
pub(super) fn gather(folder: &Path, key: &str) -> Result<Gathered, Failure> {
    let mut gathered = Gathered::default();
    let listed = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let listed = listed.map_err(|error| {
        Failure::input(format!("cannot read the shards in {}: {error}", folder.display()))
    })?;
    let mut paths: Vec<PathBuf> = listed.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "json" || it == "jsonl"));
    // The order of a folder is chance.
    paths.sort();
    for path in paths {
        let name = path.display();
        let Ok(text) = fs::read_to_string(&path) else {
            gathered.remarks.push(format!("{name} cannot be read"));
            continue;
        };
        let part = match read_part(&text) {
            Ok(part) => part,
            Err(error) => {
                gathered.remarks.push(format!("{name} is no shard: {error}"));
                continue;
            }
        };
        if part.head.key != key {
            gathered.remarks.push(format!(
                "{name} is of another site, demand, seed or sweep, or of another version of this program"
            ));
            continue;
        }
        if !part.is_finished {
            gathered.remarks.push(match part.damaged.first() {
                Some(line) => format!("{name} is damaged at line {line}"),
                None => format!("{name} is not finished"),
            });
        }
        gathered.counts.insert(part.head.of);
        for point in part.points {
            let index = point.index;
            if gathered.points.get(&index).is_some_and(|before| *before != point) {
                return Err(Failure::world_hint(
                    format!("two shards in {} differ at point {index}", folder.display()),
                    "they must be of one build of this program: compute one of the two again",
                ));
            }
            gathered.points.insert(index, point);
        }
    }
    Ok(gathered)
}

/// The shards, of so many, of which a point is lacking.
pub(super) fn lacking(gathered: &Gathered, sweep: &Sweep, of: u32) -> Vec<u32> {
    let is_lacking =
        |shard: &u32| sweep.shard(*shard, of).any(|index| !gathered.points.contains_key(&index));
    (1..=of).filter(is_lacking).collect()
}

/// Missing shards of which the commands are shown.
const SHOWN: usize = 8;

/// All points, or which shards are missing and how each is made again.
pub(super) fn merged(
    options: &SimulateOptions,
    folder: &Path,
    sweep: &Sweep,
    gathered: Gathered,
) -> Result<Vec<PointOutcome>, Failure> {
    // Shards may be of several divisions; the finest names the least work.
    let of = gathered.counts.last().copied().unwrap_or(1);
    let lacking = lacking(&gathered, sweep, of);
    if lacking.is_empty() {
        return Ok(gathered.points.into_values().take(sweep.points() as usize).collect());
    }
    let mut hint = gathered.remarks.join("\n");
    if !hint.is_empty() {
        hint.push_str("\n\n");
    }
    hint.push_str("each is made again by\n");
    for shard in lacking.iter().take(SHOWN) {
        hint.push_str("\n  ");
        hint.push_str(&command(options, *shard, of, &file_in(folder, *shard, of)));
    }
    if let Some(more) = lacking.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        // Text grows as long as there is memory.
        let _ = write!(hint, "\n  … and {more} more");
    }
    let numbers: Vec<String> = lacking.iter().take(SHOWN).map(|it| format!("{it}/{of}")).collect();
    Err(Failure::world_hint(
        format!(
            "{} of {} points are in {}; missing or damaged: shard {}{}",
            gathered.points.len(),
            sweep.points(),
            folder.display(),
            numbers.join(", "),
            if lacking.len() > SHOWN { ", …" } else { "" }
        ),
        hint,
    ))
}

/// The command that makes a shard, as it is typed in a shell.
fn command(options: &SimulateOptions, shard: u32, of: u32, out: &Path) -> String {
    let mut arguments = arguments(options, &options.site);
    arguments.extend(["--shard".to_owned(), format!("{shard}/{of}")]);
    arguments.extend(["--out".to_owned(), out.display().to_string()]);
    let quoted: Vec<String> = arguments.iter().map(|it| quoted(it)).collect();
    format!("cotenant {}", quoted.join(" "))
}

/// What every shard is asked with, from the verb on, but for its number and its file.
pub(super) fn arguments(options: &SimulateOptions, site: &Path) -> Vec<String> {
    let drawing = &options.drawing;
    let mut list = vec!["simulate".to_owned(), site.display().to_string()];
    let mut add = |name: &str, value: String| list.extend([name.to_owned(), value]);
    for axis in &options.sweep.sweep {
        add("--sweep", axis.clone());
    }
    add("--points-max", options.sweep.points_max.to_string());
    add("--weeks-drawn", drawing.weeks_drawn.to_string());
    add("--seed", drawing.seed.to_string());
    add("--steps", drawing.steps.to_string());
    if let Some(as_of) = drawing.as_of {
        add("--as-of", as_of.to_string());
    }
    if let Some(evidence) = &options.evidence {
        add("--evidence", evidence.display().to_string());
    }
    list
}

/// A word of a shell's command line.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted_where_they_must_be() {
        assert_eq!(quoted("rate=0.5,1"), "rate=0.5,1");
        assert_eq!(quoted("my site.yaml"), "'my site.yaml'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_folder_gets_a_file_of_the_shards_own_name() {
        assert_eq!(
            target(Path::new("parts/"), 3, 16),
            Path::new("parts/part-00003-of-00016.jsonl")
        );
        assert_eq!(target(Path::new("part.json"), 3, 16), Path::new("part.json"));
    }
}
