//! The cap of CPU time and the set of CPUs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Audited, Bench};
use crate::clock::monotonic_ns;
use crate::host::{ControlGroup, ProcessTable, parse_allowed_cpus, run_ns};
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
    let got = weigh(|| group_ns(bench, &group)).await;
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
            let cpus = parse_allowed_cpus(&status)
                .map_err(|missing| format!("/proc/{pid}/task/{thread}/status: {}", missing.0))?;
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
    parse_allowed_cpus(&text).map_err(|missing| format!("{path}: {}", missing.0))
}

/// CPU time that was used so far, by thread or, where the kernel counts the whole, under one number.
/// A thread that ends takes its time with it, so that totals must not be subtracted.
type Used = BTreeMap<u32, u64>;

/// Mean CPU use over the time of weighing, cores.
async fn weigh(used: impl Fn() -> Result<Used, String>) -> Result<f64, String> {
    let (began_ns, before) = (monotonic_ns(), used()?);
    tokio::time::sleep(WEIGH).await;
    let (ended_ns, after) = (monotonic_ns(), used()?);
    Ok(used_between(&before, &after) as f64 / (ended_ns - began_ns) as f64)
}

/// What was used between two looks, nanoseconds: of a thread that is new, or whose number was given
/// again, all that it has.
fn used_between(before: &Used, after: &Used) -> u64 {
    let since = |(thread, now): (&u32, &u64)| {
        now.checked_sub(before.get(thread).copied().unwrap_or(0)).unwrap_or(*now)
    };
    after.iter().map(since).sum()
}

/// CPU time of a load with its threads and children, nanoseconds.
fn tree_ns(load: Workload) -> Result<Used, String> {
    let threads =
        tree(load)?.into_iter().flat_map(|pid| threads_of(pid).into_iter().map(move |t| (pid, t)));
    let used = |(pid, thread)| Some((thread, run_ns(&format!("/proc/{pid}/task/{thread}"))?));
    Ok(threads.filter_map(used).collect())
}

/// CPU time of a control group, nanoseconds: the kernel's own count where there is one
/// (`usage_usec` of version 2), else that of every thread in it.
fn group_ns(bench: &Bench<'_>, group: &ControlGroup) -> Result<Used, String> {
    let read = |file: &str| {
        let path = format!("{}/{file}", group.folder);
        bench.root.read(&path).map_err(|missing| missing.0)
    };
    if group.is_unified {
        let text = read("cpu.stat")?;
        let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
        let usage: Option<u64> = usage.and_then(|value| value.trim().parse().ok());
        let usage = usage.ok_or_else(|| format!("{}/cpu.stat: no usage_usec", group.folder))?;
        return Ok([(0, usage.saturating_mul(1_000))].into());
    }
    let text = read("tasks")?;
    let threads = text.lines().filter_map(|thread| thread.parse().ok());
    Ok(threads
        .filter_map(|thread: u32| Some((thread, run_ns(&format!("/proc/{thread}"))?)))
        .collect())
}

fn tree(load: Workload) -> Result<Vec<u32>, String> {
    let table = ProcessTable::scan(std::path::Path::new("/proc")).map_err(|missing| missing.0)?;
    let below = table.descendants_of(load.pid).into_iter().map(|process| process.pid);
    Ok(std::iter::once(load.pid).chain(below).collect())
}

#[cfg(test)]
mod tests {
    use super::{processor, used_between};

    #[test]
    fn a_thread_that_ends_takes_nothing_from_what_others_used() {
        let before = [(1, 3_600_000_000_000), (2, 500)].into();
        // Thread 1, of an hour, is gone; 2 went on; 3 is new; 4 has the number of another.
        let after = [(2, 700), (3, 90)].into();
        assert_eq!(used_between(&before, &after), 290);
        assert_eq!(used_between(&[(4, 900)].into(), &[(4, 10)].into()), 10);
    }

    #[test]
    fn the_processor_is_found_behind_a_name_with_brackets() {
        let stat = "42 (a) b (c)) R 1 42 42 0 -1 4194304 1 0 0 0 9 1 0 0 20 0 3 0 77 1 2 3 4 5 6 7 8 \
                    0 0 0 0 0 0 0 17 5 0 0 0";
        assert_eq!(processor(stat), Some(5));
        assert_eq!(processor(""), None);
    }
}
