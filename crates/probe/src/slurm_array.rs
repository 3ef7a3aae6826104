//! A job array of Slurm's: submitted, looked at, taken away. What is in it is a script of the caller's.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The programs of Slurm.
#[derive(Clone, Debug)]
pub struct Slurm {
    sbatch: PathBuf,
    squeue: PathBuf,
    scancel: PathBuf,
}

impl Default for Slurm {
    /// As the path of the environment finds them.
    fn default() -> Self {
        Self { sbatch: "sbatch".into(), squeue: "squeue".into(), scancel: "scancel".into() }
    }
}

/// A job array that was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmArray {
    /// Its number.
    pub id: u64,
    /// The name under which it was submitted.
    pub name: String,
}

impl Slurm {
    /// Programs at other places than the path of the environment has.
    pub fn at(folder: &Path) -> Self {
        Self {
            sbatch: folder.join("sbatch"),
            squeue: folder.join("squeue"),
            scancel: folder.join("scancel"),
        }
    }

    /// Submits a script as an array of these tasks.
    ///
    /// # Errors
    /// What `sbatch` said.
    pub fn submit(
        &self,
        name: &str,
        script: &Path,
        tasks: &[u32],
        options: &[String],
    ) -> Result<SlurmArray, String> {
        let mut command = Command::new(&self.sbatch);
        command.arg("--parsable").arg(format!("--job-name={name}"));
        command.args(options).arg(format!("--array={}", ranges(tasks))).arg(script);
        let told = text(&mut command)?;
        // On a federation the cluster's name follows the number.
        let number = told.trim().split(';').next().unwrap_or_default();
        let id =
            number.parse().map_err(|_| format!("sbatch told no job number: «{}»", told.trim()))?;
        Ok(SlurmArray { id, name: name.to_owned() })
    }

    /// The tasks of an array that wait or run.
    ///
    /// # Errors
    /// What `squeue` said.
    pub fn unfinished(&self, array: &SlurmArray) -> Result<BTreeSet<u32>, String> {
        let mut command = Command::new(&self.squeue);
        // By name, as a number that is long gone is an error, and no list without it.
        command.args(["--noheader", "--array", "--format=%F %K"]);
        command.arg(format!("--name={}", array.name));
        Ok(tasks_in(&text(&mut command)?, array.id))
    }

    /// Takes an array away.
    ///
    /// # Errors
    /// What `scancel` said.
    pub fn cancel(&self, array: &SlurmArray) -> Result<(), String> {
        text(Command::new(&self.scancel).arg(array.id.to_string())).map(|_| ())
    }
}

/// Tasks of an array in lines of its number and the task's.
fn tasks_in(lines: &str, id: u64) -> BTreeSet<u32> {
    let task = |line: &str| {
        let (array, task) = line.trim().split_once(' ')?;
        (array.parse() == Ok(id)).then(|| task.trim().parse().ok())?
    };
    lines.lines().filter_map(task).collect()
}

/// Numbers as `sbatch --array` takes them: `1-3,7`.
fn ranges(tasks: &[u32]) -> String {
    let sorted: BTreeSet<u32> = tasks.iter().copied().collect();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for task in sorted {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(task) => *last = task,
            _ => runs.push((task, task)),
        }
    }
    let mut text = String::new();
    for (first, last) in runs {
        let gap = if text.is_empty() { "" } else { "," };
        // Text grows as long as there is memory.
        let _ = match last - first {
            0 => write!(text, "{gap}{first}"),
            _ => write!(text, "{gap}{first}-{last}"),
        };
    }
    text
}

/// What a command printed; what it said on standard error where it failed.
fn text(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let Output { status, stdout, stderr } = command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{shown}` cannot be started: {error}"))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr);
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    Err(format!("`{shown}` ended with {status}: «{said}»"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_written_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 8, 7]), "1-3,7-9");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[u32::MAX, 1]), format!("1,{}", u32::MAX));
    }

    #[test]
    fn tasks_of_other_arrays_are_not_ours() {
        let lines = "41 3\n 42 1\n42 16 \n42 N/A\nslurmctld is away\n";
        assert_eq!(tasks_in(lines, 42), BTreeSet::from([1, 16]));
    }
}
