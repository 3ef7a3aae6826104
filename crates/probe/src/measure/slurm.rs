//! A neighbour that is a job of Slurm's: submitted, requeued and held by a drill, and released again.
//!
//! Its log is read as any other, through a `tail` that the supervisor owns. The job itself is Slurm's,
//! and what Slurm sends it (SIGCONT and SIGTERM, then SIGKILL after `KillWait`) is Slurm's to decide.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::monotonic_ns;
use crate::supervisor::Launch;

use super::child::{Child, run};

/// Longest wait for an answer of Slurm's.
const ANSWER_MAX: Duration = Duration::from_mins(1);
/// Pause between two questions for a job's state.
const PAUSE: Duration = Duration::from_millis(100);
/// How much longer than its notice a job may take to leave: Slurm's own epilogue belongs to it.
const LEAVE_MARGIN: Duration = Duration::from_mins(1);
/// States in which a job still has its nodes.
const HELD_STATES: [&str; 8] = [
    "RUNNING",
    "COMPLETING",
    "CONFIGURING",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
    "RESIZING",
];

/// A job of Slurm's, as the runner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmRig {
    /// Program and arguments that submit it and print its number.
    pub submit: Vec<String>,
    /// The file of its output; `%j` stands for its number.
    pub output: String,
    /// Where the submission runs, and where relative paths start.
    pub folder: PathBuf,
}

impl SlurmRig {
    /// Submits the job. Returns its number.
    pub(super) async fn submit(&self) -> Result<u64, String> {
        let said = self.ask(&self.submit).await?;
        job_number(&said).ok_or_else(|| {
            format!("{}: its output names no job: `{}`", self.submit.join(" "), said.trim())
        })
    }

    /// What reads a job's output from now on; from its beginning where the job is new.
    pub(super) fn reader(&self, name: &str, job: u64, is_new: bool) -> Launch {
        let path = self.folder.join(self.output.replace("%j", &job.to_string()));
        let lines = if is_new { "+1" } else { "0" };
        let path = path.display().to_string();
        let argv = ["tail", "-n", lines, "-F", path.as_str()].map(str::to_owned).to_vec();
        Launch { name: name.to_owned(), argv, ..Launch::default() }
    }

    /// Takes the machine from a job and keeps it from starting again.
    pub(super) async fn requeue(&self, job: u64) -> Result<(), String> {
        self.control(&["scontrol", "requeuehold", &job.to_string()]).await
    }

    /// Lets a held job start again.
    pub(super) async fn release(&self, job: u64) -> Result<(), String> {
        self.control(&["scontrol", "release", &job.to_string()]).await
    }

    /// Ends a job for good.
    pub(super) async fn cancel(&self, job: u64) -> Result<(), String> {
        self.control(&["scancel", &job.to_string()]).await
    }

    /// Waits until a job has given its nodes back. Returns when that was seen, monotonic nanoseconds.
    pub(super) async fn gone(&self, job: u64, notice: Duration) -> Result<u64, String> {
        let deadline_ns = monotonic_ns() + (notice + LEAVE_MARGIN).as_nanos() as u64;
        loop {
            let state = self.state(job).await?;
            let now_ns = monotonic_ns();
            if !HELD_STATES.contains(&state.as_str()) {
                return Ok(now_ns);
            }
            if now_ns > deadline_ns {
                return Err(format!("Slurm still says {state}"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The state of a job; empty where Slurm has forgotten it.
    async fn state(&self, job: u64) -> Result<String, String> {
        let argv = ["squeue", "--noheader", "--jobs", &job.to_string(), "--format", "%T"];
        let said = self.ask(&argv.map(str::to_owned)).await?;
        Ok(said.lines().next().unwrap_or_default().trim().to_owned())
    }

    async fn control(&self, argv: &[&str]) -> Result<(), String> {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        self.ask(&argv).await.map(|_| ())
    }

    async fn ask(&self, argv: &[String]) -> Result<String, String> {
        let child = Child { argv: argv.to_vec(), cwd: Some(self.folder.clone()) };
        let ended = run(&child, ANSWER_MAX).await?;
        if ended.code == Some(0) {
            return Ok(ended.stdout);
        }
        Err(format!("{}: {}", argv.join(" "), ended.complaint()))
    }
}

/// The number of a job in what a submission prints: `42`, `42;cluster`, `Submitted batch job 42`.
fn job_number(said: &str) -> Option<u64> {
    said.split(|c: char| c.is_whitespace() || c == ';').find_map(|word| word.parse().ok())
}

/// Processes of a job on this machine, told by the environment that Slurm gives them.
pub(super) fn processes(job: u64) -> BTreeSet<u32> {
    let mark = format!("SLURM_JOB_ID={job}");
    let belongs = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(belongs).collect()
}

#[cfg(test)]
mod tests {
    use super::job_number;

    #[test]
    fn a_submission_names_its_job() {
        assert_eq!(job_number("42\n"), Some(42));
        assert_eq!(job_number("42;lab\n"), Some(42));
        assert_eq!(job_number("Submitted batch job 42\n"), Some(42));
        assert_eq!(job_number("sbatch: error\n"), None);
    }
}
