//! What the host is, for the fingerprint: the facts that do not change while a test runs.
//!
//! Capacity is what the process may use (its CPU affinity and its control group's quota), never the
//! number of CPUs that can be seen: with 96 CPUs visible and a quota of 7.65, seven threads run and
//! the rest are throttled.

use std::collections::BTreeSet;

use cotenant_core::evidence::{Missing, Reading};

use super::cgroup::read_cgroup;
use super::cpu::parse_machine_cpu;
use super::memory::parse_memory;
use super::root::{Root, in_file};

/// The host, each fact on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFacts {
    /// The CPU's model name.
    pub cpu_model: Reading<String>,
    /// CPUs that are on line. What can be seen is not what may be used.
    pub cores_visible: Reading<u32>,
    /// What this process may use.
    pub cores_usable: Reading<UsableCores>,
    /// Release of the kernel.
    pub kernel: Reading<String>,
    /// Memory of the machine, bytes.
    pub memory_total_bytes: Reading<u64>,
    /// What points to a hypervisor, as the files say it; empty where nothing does.
    pub hypervisor_hints: Vec<String>,
    /// Whether the scheduler shares the CPU between sessions first, and a nice value binds only
    /// inside one.
    pub autogroup: Reading<bool>,
}

/// How many cores may be used, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct UsableCores {
    /// Whole cores, at least 1: what a number of threads should be.
    pub count: u32,
    /// CPUs that the affinity allows. The kernel keeps it within the control group's CPU set.
    pub affinity: u32,
    /// Quota of the control group, cores; `None` where there is no limit.
    pub quota_cores: Option<f64>,
    /// The sum in words: "96 of 96 visible cores by affinity, quota 7.65 cores: 7".
    pub arithmetic: String,
}

/// Facts of this machine.
pub fn facts() -> HostFacts {
    facts_at(&Root::of_this_machine())
}

/// The same with the kernel's files below `root`.
pub fn facts_at(root: &Root) -> HostFacts {
    let in_proc = |path: &str, parse: fn(&str) -> Reading<String>| {
        in_file(path, root.read(path).and_then(|text| parse(&text)))
    };
    let cores_visible = visible(root);
    let memory = root.read("/proc/meminfo");
    HostFacts {
        cpu_model: in_proc("/proc/cpuinfo", parse_cpu_model),
        cores_usable: usable(root, &cores_visible),
        cores_visible,
        kernel: root.read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
        memory_total_bytes: in_file(
            "/proc/meminfo",
            memory.and_then(|text| parse_memory(&text, "MemTotal")),
        ),
        hypervisor_hints: hypervisor_hints(root),
        autogroup: autogroup(root),
    }
}

/// The model in the text of `/proc/cpuinfo`. Arm names only numbers of maker and part there.
pub fn parse_cpu_model(text: &str) -> Reading<String> {
    let find = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    let arm = || {
        let (maker, part) = (find("CPU implementer")?, find("CPU part")?);
        Some(format!("Arm implementer {maker} part {part}"))
    };
    find("model name")
        .or_else(|| find("cpu model"))
        .or_else(arm)
        .filter(|model| !model.is_empty())
        .ok_or_else(|| Missing("no model of a CPU".to_owned()))
}

/// Highest number of a CPU that is believed: the kernel is built for 8,192 at most.
const CPU_MAX: u32 = 65_535;

/// The CPUs in a list such as `0-3,8,10-11` (`cpuset(7)`, "List format").
pub fn parse_cpu_list(text: &str) -> Reading<BTreeSet<u32>> {
    let bad = || Missing(format!("{:?} is no list of CPUs", text.trim()));
    let mut cpus = BTreeSet::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) =
            (first.parse().map_err(|_| bad())?, last.parse().map_err(|_| bad())?);
        if first > last || last > CPU_MAX {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// The CPUs that the text of `/proc/<pid>/status` allows.
pub fn parse_allowed_cpus(text: &str) -> Reading<BTreeSet<u32>> {
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    parse_cpu_list(list.ok_or_else(|| Missing("no line Cpus_allowed_list".to_owned()))?)
}

/// How many CPUs that are.
pub fn parse_affinity(text: &str) -> Reading<u32> {
    parse_allowed_cpus(text).map(|cpus| cpus.len() as u32)
}

fn visible(root: &Root) -> Reading<u32> {
    let path = "/proc/stat";
    let machine = in_file(path, root.read(path).and_then(|text| parse_machine_cpu(&text)))?;
    if machine.cpus == 0 {
        return Err(Missing(format!("{path}: no line of a CPU")));
    }
    Ok(machine.cpus)
}

/// A quota that cannot be read is not "no quota": then nothing is known of what may be used.
fn usable(root: &Root, visible: &Reading<u32>) -> Reading<UsableCores> {
    let path = "/proc/self/status";
    let affinity = in_file(path, root.read(path).and_then(|text| parse_affinity(&text)))?;
    let quota_cores = read_cgroup(root)?.quota_cores;
    Ok(usable_cores(affinity, quota_cores, visible.as_ref().ok().copied()))
}

/// floor(min(affinity, quota)), and at least 1.
fn usable_cores(affinity: u32, quota_cores: Option<f64>, visible: Option<u32>) -> UsableCores {
    let least = quota_cores.map_or(f64::from(affinity), |quota| quota.min(f64::from(affinity)));
    let count = (least.floor() as u32).max(1);
    let seen = visible.map_or(String::new(), |visible| format!(" of {visible} visible"));
    let quota =
        quota_cores.map_or("no quota".to_owned(), |quota| format!("quota {quota:.2} cores"));
    let arithmetic = format!("{affinity}{seen} cores by affinity, {quota}: {count}");
    UsableCores { count, affinity, quota_cores, arithmetic }
}

fn hypervisor_hints(root: &Root) -> Vec<String> {
    let mut hints = Vec::new();
    let cpuinfo = root.read("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    if flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") {
        hints.push("the CPU says that it runs under a hypervisor".to_owned());
    }
    let paths =
        ["/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"];
    for path in paths {
        if let Ok(text) = root.read(path)
            && !text.trim().is_empty()
        {
            hints.push(format!("{path}: {}", text.trim()));
        }
    }
    hints
}

/// A kernel built without the feature has no such file, and then does not group.
fn autogroup(root: &Root) -> Reading<bool> {
    let path = "/proc/sys/kernel/sched_autogroup_enabled";
    match root.read_if_present(path)?.as_deref().map(str::trim) {
        Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(Missing(format!("{path}: {other:?} is neither 0 nor 1"))),
        None if root.path("/proc/sys/kernel").is_dir() => Ok(false),
        None => Err(Missing(format!("{path}: there is no such file"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn capacity_is_the_quota_not_what_can_be_seen() {
        let cores = usable_cores(96, Some(7.65), Some(96));
        assert_eq!(cores.count, 7);
        assert_eq!(cores.arithmetic, "96 of 96 visible cores by affinity, quota 7.65 cores: 7");
        assert_eq!(usable_cores(4, Some(7.65), Some(96)).count, 4);
        assert_eq!(usable_cores(4, None, Some(8)).count, 4);
        assert_eq!(usable_cores(8, Some(0.5), None).count, 1);
    }

    #[test]
    fn lists_of_cpus_are_read_and_counted() {
        let cpus = parse_cpu_list("0-3,8,10-11\n").unwrap();
        assert_eq!(cpus.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_affinity("Name:\tx\nCpus_allowed_list:\t0-95\n"), Ok(96));
        for text in ["", "3-1", "a", "0-", "0-4294967295", "0-4294967294,0-4294967294"] {
            assert!(parse_cpu_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn models_of_both_makes() {
        assert_eq!(parse_cpu_model("a: b\nmodel name\t: Xeon\n").unwrap(), "Xeon");
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n";
        assert_eq!(parse_cpu_model(arm).unwrap(), "Arm implementer 0x41 part 0xd40");
        assert!(parse_cpu_model("processor : 0").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", list in "[0-9,-]{0,60}") {
            let _ = (parse_cpu_model(&text), parse_cpu_list(&text), parse_cpu_list(&list));
            let _ = parse_affinity(&format!("Cpus_allowed_list:{list}"));
        }
    }
}
