//! The cap of CPU time and the set of CPUs.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Audited, Bench};
use crate::clock::monotonic_ns;
use crate::host::ProcessTable;
use crate::supervisor::{Resource, Workload};

/// How long CPU time is weighed: twenty periods of 100 ms, the kernel's default.
const WEIGH: Duration = Duration::from_secs(2);
/// Times that it is tried to find the machine with CPU to give.
const TRIES: u32 = 3;
/// How far above the limit counts as within it: a slice of 5 ms in each period and CPU, and what the
/// two readings are apart.
const TOLERANCE: f64 = 1.10;
const TOLERANCE_CORES: f64 = 0.05;
/// What the same load must get outside, relative to the limit, so that the limit can be seen.
const ROOM: f64 = 1.25;
/// Pause between two looks at where a thread runs.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
const LOOKS: u32 = 100;
/// Largest number of a CPU that is believed.
const CPUS_MAX: u32 = 65_535;

/// More threads than the limit has cores, outside and then inside the neighbour's group.
pub(super) async fn audit_time(bench: &Bench<'_>, limit_cores: f64) -> Audited {
    let group = bench.group("cpu")?;
    let usable = own_cpus()?.len() as u32;
    let threads = (limit_cores.ceil() as u32 + 1).min(usable);
    if f64::from(threads) < limit_cores * ROOM {
        return Err(format!(
            "{usable} CPUs can be used here, too few to see a cap of {limit_cores} cores bind"
        ));
    }
    let resource = Resource::Cpu { threads };
    let mut free_cores = 0.0_f64;
    for _ in 0..TRIES {
        let outside = bench.start(&[], 30, resource.clone()).await?;
        let got = weigh(|| tree_ns(outside)).await;
        bench.stop(outside).await?;
        free_cores = free_cores.max(got?);
        if free_cores >= limit_cores * ROOM {
            break;
        }
    }
    if free_cores < limit_cores * ROOM {
        return Err(format!(
            "outside the cap the same load got {free_cores:.2} cores: other programs leave too little \
             to see a cap of {limit_cores} cores bind; try again when the machine is quieter"
        ));
    }
    let inside = bench.start(&[&group], 30, resource).await?;
    let threads_file = if group.is_unified { "cgroup.threads" } else { "tasks" };
    let list = bench.root.path(&format!("{}/{threads_file}", group.folder));
    let got = weigh(|| group_ns(&list)).await;
    bench.stop(inside).await?;
    let got = got?;
    let binds = got <= limit_cores * TOLERANCE + TOLERANCE_CORES;
    let method = format!(
        "{threads} busy threads beside the neighbour in {}: together they got {got:.2} cores for \
         {:.0} s where {limit_cores} are allowed; outside the threads alone got {free_cores:.2}",
        group.folder,
        WEIGH.as_secs_f64()
    );
    Ok(bench.concluded(limit_cores, got, free_cores, binds, method))
}

/// A load that widens its affinity as far as it can, in the neighbour's group, and where it runs;
/// and where the neighbour's own threads may run.
pub(super) async fn audit_set(bench: &Bench<'_>, cpus: &[u32]) -> Audited {
    let group = bench.group("cpuset")?;
    let usable = own_cpus()?;
    let allowed: BTreeSet<u32> = cpus.iter().copied().collect();
    if usable.iter().all(|cpu| allowed.contains(cpu)) {
        return Err("the machine has no CPU outside the set, so nothing could leave it".to_owned());
    }
    let strays = neighbour_strays(bench, &allowed)?;
    let threads = usable.len() as u32;
    let load = bench.start(&[&group], 30, Resource::Cpu { threads }).await?;
    let seen = ran_on(load).await;
    bench.stop(load).await?;
    let seen = seen?;
    let outside = seen.iter().filter(|cpu| !allowed.contains(cpu)).count();
    let share = outside as f64 / seen.len() as f64;
    let own = match strays {
        0 => "all threads of the neighbour are held to it".to_owned(),
        strays => format!("{strays} threads of the neighbour may run elsewhere"),
    };
    let method = format!(
        "{threads} busy threads in {} that ask for every CPU were seen {outside} of {} times outside \
         the set; {own}",
        group.folder,
        seen.len()
    );
    Ok(bench.concluded(0.0, share, 1.0, outside == 0 && strays == 0, method))
}

/// How many threads of the neighbour's processes may run outside the set.
fn neighbour_strays(bench: &Bench<'_>, allowed: &BTreeSet<u32>) -> Result<usize, String> {
    let mut strays = 0;
    for pid in tree(bench.neighbour)? {
        for thread in threads_of(pid) {
            let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/status"))
            else {
                continue;
            };
            let cpus = allowed_cpus(&status)
                .ok_or_else(|| format!("/proc/{pid}/task/{thread}/status names no CPUs"))?;
            strays += usize::from(cpus.iter().any(|cpu| !allowed.contains(cpu)));
        }
    }
    Ok(strays)
}

/// The CPUs on which the threads of a load were last seen, looked at again and again.
async fn ran_on(load: Workload) -> Result<Vec<u32>, String> {
    let mut seen = Vec::new();
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK_PAUSE).await;
        for thread in threads_of(load.pid) {
            let path = format!("/proc/{}/task/{thread}/stat", load.pid);
            seen.extend(std::fs::read_to_string(path).ok().as_deref().and_then(processor));
        }
    }
    if seen.is_empty() { Err("the load was never seen to run".to_owned()) } else { Ok(seen) }
}

/// The CPU on which a thread ran last: field 39 of `stat`, counted behind the name, which may contain
/// anything (`proc_pid_stat(5)`).
fn processor(stat: &str) -> Option<u32> {
    stat.rsplit_once(") ")?.1.split_ascii_whitespace().nth(36)?.parse().ok()
}

fn threads_of(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The CPUs that this process may use.
fn own_cpus() -> Result<BTreeSet<u32>, String> {
    let path = "/proc/self/status";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    allowed_cpus(&text).ok_or_else(|| format!("{path} names no CPUs"))
}

/// The CPUs in the line `Cpus_allowed_list` of a status file: "0-3,8".
fn allowed_cpus(status: &str) -> Option<BTreeSet<u32>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut cpus = BTreeSet::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?.min(CPUS_MAX));
    }
    Some(cpus)
}

/// Mean CPU use over the time of weighing, cores.
async fn weigh(cpu_ns: impl Fn() -> Result<u64, String>) -> Result<f64, String> {
    let (began_ns, before) = (monotonic_ns(), cpu_ns()?);
    tokio::time::sleep(WEIGH).await;
    let (ended_ns, after) = (monotonic_ns(), cpu_ns()?);
    Ok(after.saturating_sub(before) as f64 / (ended_ns - began_ns) as f64)
}

/// CPU time of a load with its threads and children, nanoseconds.
fn tree_ns(load: Workload) -> Result<u64, String> {
    let threads =
        tree(load)?.into_iter().flat_map(|pid| threads_of(pid).into_iter().map(move |t| (pid, t)));
    Ok(threads.filter_map(|(pid, thread)| run_ns(&format!("/proc/{pid}/task/{thread}"))).sum())
}

/// CPU time of every thread in a control group, nanoseconds.
fn group_ns(list: &std::path::Path) -> Result<u64, String> {
    let text = std::fs::read_to_string(list)
        .map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    Ok(text.lines().filter_map(|thread| run_ns(&format!("/proc/{thread}"))).sum())
}

/// Time on a CPU: the first number of `schedstat`, nanoseconds
/// (`Documentation/scheduler/sched-stats.rst`).
fn run_ns(folder: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("{folder}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn tree(load: Workload) -> Result<Vec<u32>, String> {
    let table = ProcessTable::scan(std::path::Path::new("/proc")).map_err(|missing| missing.0)?;
    let below = table.descendants_of(load.pid).into_iter().map(|process| process.pid);
    Ok(std::iter::once(load.pid).chain(below).collect())
}

#[cfg(test)]
mod tests {
    use super::{allowed_cpus, processor};

    #[test]
    fn lists_of_cpus_are_read() {
        let cpus = |text: &str| allowed_cpus(text).map(|cpus| cpus.into_iter().collect::<Vec<_>>());
        assert_eq!(cpus("Name:\tx\nCpus_allowed_list:\t0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(cpus("Cpus_allowed_list:\tall\n"), None);
        assert_eq!(cpus(""), None);
    }

    #[test]
    fn the_processor_is_found_behind_a_name_with_brackets() {
        let stat = "42 (a) b (c)) R 1 42 42 0 -1 4194304 1 0 0 0 9 1 0 0 20 0 3 0 77 1 2 3 4 5 6 7 8 \
                    0 0 0 0 0 0 0 17 5 0 0 0";
        assert_eq!(processor(stat), Some(5));
        assert_eq!(processor(""), None);
    }
}
