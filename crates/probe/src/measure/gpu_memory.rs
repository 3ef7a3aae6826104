//! Memory in use on the GPUs, as the driver counts it: before a neighbour starts, while it runs, and
//! after it has gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use cotenant_core::evidence::{Missing, Reading};

use super::child::{Child, run};

/// Longest wait for the driver's answer: with many GPUs and no persistence daemon it takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// Share of a neighbour's memory that must be back. The driver counts in MiB, and an engine beside
/// it breathes.
const BACK_SHARE: f64 = 0.95;

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuReader {
    /// The program: `nvidia-smi`, or a path.
    pub program: PathBuf,
}

/// What the driver counts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GpuMemory {
    /// Memory in use, bytes, by UUID of the GPU.
    pub(super) used_bytes: BTreeMap<String, u64>,
    /// Processes that have a context on a GPU.
    pub(super) processes: BTreeSet<(String, u32)>,
}

impl GpuReader {
    /// Asks the driver.
    pub(super) async fn read(&self) -> Reading<GpuMemory> {
        let gpus = self.ask("--query-gpu=uuid,memory.used").await?;
        // Without rights, or under MIG, no process is listed; the memory in use still is.
        let processes = self.ask("--query-compute-apps=gpu_uuid,pid").await.unwrap_or_default();
        parse(&gpus, &processes)
    }

    async fn ask(&self, query: &str) -> Reading<String> {
        let argv = [&*self.program.to_string_lossy(), query, "--format=csv,noheader,nounits"];
        let child = Child { argv: argv.map(str::to_owned).to_vec(), cwd: None };
        let ended = run(&child, PATIENCE).await.map_err(Missing)?;
        if ended.code == Some(0) { Ok(ended.stdout) } else { Err(Missing(ended.complaint())) }
    }
}

fn parse(gpus: &str, processes: &str) -> Reading<GpuMemory> {
    let mut memory = GpuMemory::default();
    for line in gpus.lines().filter(|line| !line.trim().is_empty()) {
        let (uuid, used) = line.split_once(',').unwrap_or((line, ""));
        let mib: u64 = used.trim().parse().map_err(|_| {
            Missing(format!("memory in use of {}: `{}` is no number", uuid.trim(), used.trim()))
        })?;
        memory.used_bytes.insert(uuid.trim().to_owned(), mib << 20);
    }
    if memory.used_bytes.is_empty() {
        return Err(Missing("no GPU is listed".to_owned()));
    }
    let pairs = processes.lines().filter_map(|line| line.split_once(','));
    memory.processes.extend(
        pairs.filter_map(|(uuid, pid)| Some((uuid.trim().to_owned(), pid.trim().parse().ok()?))),
    );
    Ok(memory)
}

impl GpuMemory {
    /// What of the memory that a neighbour took between `before` and `held` is still in use now, by
    /// UUID and in bytes. Empty where nearly all of it is back and none of its processes has a
    /// context any more.
    pub(super) fn still_held(
        &self,
        before: &Self,
        held: &Self,
        pids: &BTreeSet<u32>,
    ) -> Vec<(String, u64)> {
        let mut left = Vec::new();
        for (uuid, held_bytes) in &held.used_bytes {
            let before_bytes = before.used_bytes.get(uuid).copied().unwrap_or(0);
            let taken = held_bytes.saturating_sub(before_bytes);
            let now = self.used_bytes.get(uuid).copied().unwrap_or(0);
            let back = held_bytes.saturating_sub(now);
            let lives = self.processes.iter().any(|(gpu, pid)| gpu == uuid && pids.contains(pid));
            if taken > 0 && (lives || (back as f64) < BACK_SHARE * taken as f64) {
                left.push((uuid.clone(), taken.saturating_sub(back)));
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mib: u64, pids: &[u32]) -> GpuMemory {
        let apps: Vec<String> = pids.iter().map(|pid| format!("GPU-a, {pid}\n")).collect();
        parse(&format!("GPU-a, {mib}\nGPU-b, 4\n"), &apps.concat()).unwrap()
    }

    #[test]
    fn memory_is_free_when_it_is_back_and_no_context_is_left() {
        let (before, held) = (at(40_000, &[1]), at(70_000, &[1, 7]));
        let pids = BTreeSet::from([7]);
        let left = |now: GpuMemory| now.still_held(&before, &held, &pids);
        assert_eq!(left(at(40_000, &[1])), []);
        // The engine has grown a little meanwhile.
        assert_eq!(left(at(40_900, &[1])), []);
        assert_eq!(left(at(55_000, &[1])), [("GPU-a".to_owned(), 15_000 << 20)]);
        assert_eq!(left(at(40_000, &[1, 7])), [("GPU-a".to_owned(), 0)]);
    }

    #[test]
    fn what_is_no_answer_is_no_memory() {
        assert!(parse("", "").is_err());
        assert!(parse("GPU-a, [N/A]\n", "").is_err());
        assert!(parse("No devices were found\n", "").is_err());
    }
}
