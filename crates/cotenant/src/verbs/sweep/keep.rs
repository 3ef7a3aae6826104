//! Points that were finished, on disk, so that a sweep that was interrupted goes on.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cotenant_core::sim::sweep::PointOutcome;
use cotenant_records::sweep::{PartHead, head_line, point_line, read_part};

use crate::exit::Failure;
use crate::printer::Printer;

/// The file in the folder.
const FILE: &str = "points.jsonl";

/// Where finished points are kept; nowhere, where nobody asked for it.
pub(super) struct Keep {
    kept: BTreeMap<u64, PointOutcome>,
    file: Option<(PathBuf, File)>,
}

impl Keep {
    /// Opens a folder, or begins one.
    pub(super) fn open(
        folder: Option<&Path>,
        key: &str,
        points: u64,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let Some(folder) = folder else { return Ok(Self { kept: BTreeMap::new(), file: None }) };
        let path = folder.join(FILE);
        let cannot = |error: std::io::Error| {
            Failure::world_hint(
                format!("cannot keep points in {}: {error}", path.display()),
                "name a folder that can be written: `--keep FOLDER`",
            )
        };
        fs::create_dir_all(folder).map_err(cannot)?;
        let mut kept = BTreeMap::new();
        let head = PartHead::new(key, points, 1, 1);
        let mut is_begun = false;
        if path.exists() {
            let text = fs::read_to_string(&path).map_err(cannot)?;
            // A file that was cut off before its first line ended holds nothing.
            if text.contains('\n') {
                let part = read_part(&text).map_err(|error| other(&path, &error.to_string()))?;
                if part.head.key != head.key {
                    return Err(other(
                        &path,
                        "it is of another site, demand, seed or sweep, or of another version of this \
                         program",
                    ));
                }
                if !part.damaged.is_empty() {
                    printer.note(&format!(
                        "note: {} has {} that are not whole; their points are computed again",
                        path.display(),
                        lines(part.damaged.len())
                    ));
                }
                kept = part.points.into_iter().map(|point| (point.index, point)).collect();
                is_begun = true;
            }
        }
        let mut file = if is_begun {
            OpenOptions::new().append(true).open(&path).map_err(cannot)?
        } else {
            File::create(&path).map_err(cannot)?
        };
        // What was cut off in the middle of a line must not swallow the next one.
        let first = if is_begun { "\n".to_owned() } else { head_line(&head) };
        file.write_all(first.as_bytes()).map_err(cannot)?;
        Ok(Self { kept, file: Some((path, file)) })
    }

    /// A point that was kept.
    pub(super) fn take(&mut self, index: u64) -> Option<PointOutcome> {
        self.kept.remove(&index)
    }

    /// Keeps a point.
    pub(super) fn add(&mut self, point: &PointOutcome) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        file.write_all(point_line(point).as_bytes())
            .map_err(|error| Failure::world(format!("cannot write {}: {error}", path.display())))
    }

    /// What is told when the user interrupts.
    pub(super) fn interrupted(&self, done: usize, all: usize) -> Failure {
        Failure::Interrupted(match &self.file {
            Some((path, _)) => format!(
                "interrupted: {done} of {all} points are kept in {}; the same command goes on from there",
                path.display()
            ),
            None => format!(
                "interrupted: {done} of {all} points were computed and are gone\n\nhint: with `--keep \
                 FOLDER` they stay, and the next run goes on from there"
            ),
        })
    }
}

fn lines(count: usize) -> String {
    if count == 1 { "a line".to_owned() } else { format!("{count} lines") }
}

fn other(path: &Path, why: &str) -> Failure {
    Failure::input(format!(
        "{} does not hold points of this sweep: {why}\n\nhint: name another folder, or remove this file",
        path.display()
    ))
}
