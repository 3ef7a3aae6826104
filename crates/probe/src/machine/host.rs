//! What the kernel's files say of the machine itself.

use cotenant_core::evidence::{Missing, Reading};
use cotenant_core::machine::{Finding, Found, NumaFound, missing};
use cotenant_core::units::Bytes;

use crate::host::{Root, facts_at, memory_limit, parse_memory};

/// NUMA nodes that are looked at, at most. The kernel's own bound is 1024.
const NODES_MAX: u32 = 1024;

/// The folder of the zones, in the target of `/etc/localtime`.
const ZONES: &str = "zoneinfo/";

/// The machine's name, without its domain.
pub(super) fn name(root: &Root) -> Finding<String> {
    let path = "/proc/sys/kernel/hostname";
    let text = root.read(path)?;
    let name = text.trim().split('.').next().unwrap_or_default().to_owned();
    if name.is_empty() { missing(format!("{path} is empty")) } else { Ok(Found::new(name, path)) }
}

/// The zone of the clock on the wall. A machine without a setting runs on UTC, and says so nowhere.
pub(super) fn time_zone(root: &Root) -> Finding<String> {
    let link = "/etc/localtime";
    if let Ok(target) = std::fs::read_link(root.path(link))
        && let Some((_, zone)) = target.to_string_lossy().split_once(ZONES)
    {
        let zone = zone.trim_start_matches("posix/").trim_start_matches("right/");
        return Ok(Found::new(zone.to_owned(), format!("{link} leads to it")));
    }
    let path = "/etc/timezone";
    match root.read(path) {
        Ok(text) if !text.trim().is_empty() => Ok(Found::new(text.trim().to_owned(), path)),
        _ => missing(format!("neither {link} nor {path} names a zone")),
    }
}

pub(super) fn kernel(root: &Root) -> Finding<String> {
    Ok(Found::new(facts_at(root).kernel?, "/proc/sys/kernel/osrelease"))
}

pub(super) fn cpu_model(root: &Root) -> Finding<String> {
    Ok(Found::new(facts_at(root).cpu_model?, "/proc/cpuinfo"))
}

/// What affinity and quota leave, in parts of a core where a quota says so.
pub(super) fn cores_usable(root: &Root) -> Finding<f64> {
    let usable = facts_at(root).cores_usable?;
    let affinity = f64::from(usable.affinity);
    let cores = usable.quota_cores.map_or(affinity, |quota| quota.min(affinity));
    let quota = match usable.quota_cores {
        Some(quota) => format!("the control group's quota is {quota:.2} cores"),
        None => "no quota".to_owned(),
    };
    Ok(Found::new(cores, format!("affinity allows {}, {quota}", usable.affinity)))
}

pub(super) fn cores_visible(root: &Root) -> Finding<u32> {
    Ok(Found::new(facts_at(root).cores_visible?, "/proc/stat"))
}

/// The machine's memory, or what the control group's limit leaves of it. A limit that cannot be read is
/// told, and not taken for none.
pub(super) fn memory(root: &Root) -> Finding<Bytes> {
    let total = facts_at(root).memory_total_bytes?;
    let shown = Bytes(total);
    Ok(match memory_limit(root) {
        Ok(Some(limit)) if limit < total => {
            Found::new(Bytes(limit), format!("the control group's limit; the machine has {shown}"))
        }
        Ok(_) => Found::new(shown, "/proc/meminfo, no lower limit of the control group"),
        Err(Missing(why)) => Found::new(
            shown,
            format!("/proc/meminfo; whether the control group allows less is not known: {why}"),
        ),
    })
}

/// The NUMA nodes with their CPUs and memory.
pub(super) fn numa(root: &Root) -> Finding<Vec<NumaFound>> {
    let folder = "/sys/devices/system/node";
    let entries = std::fs::read_dir(root.path(folder))
        .map_err(|error| Missing(format!("{folder}: {error}")))?;
    let number = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix("node")?.parse::<u32>().ok().filter(|node| *node < NODES_MAX)
    };
    let mut numbers: Vec<u32> = entries.flatten().filter_map(number).collect();
    numbers.sort_unstable();
    if numbers.is_empty() {
        return missing(format!("{folder} has no node"));
    }
    let node = |node: u32| NumaFound {
        node,
        cpus: root
            .read(&format!("{folder}/node{node}/cpulist"))
            .map(|text| text.trim().to_owned())
            .unwrap_or_default(),
        memory: node_memory(root, &format!("{folder}/node{node}/meminfo")),
    };
    Ok(Found::new(numbers.into_iter().map(node).collect(), folder))
}

/// `Node 0 MemTotal: 527990212 kB`.
fn node_memory(root: &Root, path: &str) -> Reading<Bytes> {
    let text = root.read(path)?;
    let plain: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Node ")?.split_once(' ').map(|(_, rest)| rest))
        .collect();
    parse_memory(&plain.join("\n"), "MemTotal")
        .map(Bytes)
        .map_err(|Missing(why)| Missing(format!("{path}: {why}")))
}
