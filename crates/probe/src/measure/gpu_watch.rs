//! The GPUs while a block runs: a reading a second, and now and then who is on them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::GpuSample;
use tokio::sync::watch;

use crate::clock::monotonic_ns;
use crate::device::nvml::{NvmlLibrary, describe};
use crate::device::smi::{DeviceProcess, DeviceReport};
use crate::device::{GpuWatch, NvmlUnavailable};
use crate::host::ProcessTable;

/// Pause between two readings.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// What was seen of the GPUs.
#[derive(Debug, Default)]
pub(super) struct GpusSeen {
    /// Readings, in order of time.
    pub(super) samples: Vec<GpuSample>,
    /// Processes of neither tenant on a GPU of theirs.
    pub(super) strangers: Vec<String>,
    /// What a reader of the block must know.
    pub(super) remarks: Vec<String>,
}

/// Whose processes are whose.
#[derive(Clone, Debug)]
pub(super) struct Tenants {
    /// The first processes of the workloads, which lead their groups.
    pub(super) roots: Vec<u32>,
    /// Processes of Cotenant itself.
    pub(super) own: Vec<u32>,
}

/// Watches until `stopped`. Where no GPU can be read, which on a machine without one is known after a
/// millisecond, it ends at once and nothing is said.
pub(super) async fn watch_gpus(
    library: NvmlLibrary,
    tenants: Tenants,
    zero_ns: u64,
    judged_ns: Range<u64>,
    mut stopped: watch::Receiver<bool>,
) -> GpusSeen {
    let opened = {
        let library = library.clone();
        tokio::task::spawn_blocking(move || GpuWatch::start(&library, zero_ns, SAMPLE_EVERY)).await
    };
    let Ok(Ok(watching)) = opened else { return GpusSeen::default() };
    let mut seen = GpusSeen::default();
    // Whoever is on a GPU when the judged interval begins, in its middle, or when it ends.
    let middle_ns = judged_ns.start + (judged_ns.end.saturating_sub(judged_ns.start)) / 2;
    for at_ns in [judged_ns.start, middle_ns, judged_ns.end] {
        let left_ns = (zero_ns + at_ns).saturating_sub(monotonic_ns());
        let ended = tokio::select! {
            () = tokio::time::sleep(Duration::from_nanos(left_ns)) => false,
            _ = stopped.wait_for(|stopped| *stopped) => true,
        };
        if ended {
            break;
        }
        seen.look(&library, &tenants).await;
    }
    // A sender that is gone is a block that has ended.
    let _ = stopped.wait_for(|stopped| *stopped).await;
    if let Ok(watched) = tokio::task::spawn_blocking(move || watching.finish()).await {
        seen.samples = watched.samples;
        seen.remarks.extend(watched.remarks);
    }
    seen
}

impl GpusSeen {
    async fn look(&mut self, library: &NvmlLibrary, tenants: &Tenants) {
        let (library, tenants) = (library.clone(), tenants.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let report = library.open().map(|nvml| describe(&nvml))?;
            let table = ProcessTable::scan(Path::new("/proc")).ok();
            Ok::<_, NvmlUnavailable>(who(&report, &Places::of(&tenants, table.as_ref())))
        });
        if let Ok(Ok(found)) = looked.await {
            for (to, from) in
                [(&mut self.strangers, found.strangers), (&mut self.remarks, found.remarks)]
            {
                to.extend(from);
                to.sort();
                to.dedup();
            }
        }
    }
}

/// Processes by whose they are.
#[derive(Debug, Default)]
struct Places {
    tenants: BTreeSet<u32>,
    own: BTreeSet<u32>,
    /// All that this process can see.
    all: BTreeSet<u32>,
}

impl Places {
    fn of(tenants: &Tenants, table: Option<&ProcessTable>) -> Self {
        let Some(table) = table else { return Self::default() };
        let with_descendants = |heads: Vec<u32>| -> BTreeSet<u32> {
            let below = heads.iter().flat_map(|head| table.descendants_of(*head));
            let below: Vec<u32> = below.map(|process| process.pid).collect();
            heads.into_iter().chain(below).collect()
        };
        let grouped = table.iter().filter(|process| tenants.roots.contains(&process.group));
        let heads = tenants.roots.iter().copied().chain(grouped.map(|process| process.pid));
        Self {
            tenants: with_descendants(heads.collect()),
            own: with_descendants(tenants.own.clone()),
            all: table.iter().map(|process| process.pid).collect(),
        }
    }
}

/// Who is on which GPU beside the tenants.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    strangers: Vec<String>,
    remarks: Vec<String>,
}

/// A stranger that computes on a GPU on which a tenant is too is outside of both. One on another GPU, and
/// one whose number this process cannot see (the driver counts in its own namespace), is a remark.
fn who(report: &DeviceReport, places: &Places) -> Found {
    let mut found = Found::default();
    for gpu in &report.gpus {
        let Ok(processes) = &gpu.processes else { continue };
        let uuid = gpu.uuid.as_deref().unwrap_or("a GPU without a UUID");
        let is_tenants = |process: &DeviceProcess| {
            process.pid.as_ref().is_ok_and(|pid| places.tenants.contains(pid))
        };
        let shared = processes.iter().any(is_tenants);
        for process in processes.iter().filter(|process| computes(process)) {
            let Ok(pid) = process.pid.as_ref() else { continue };
            if places.tenants.contains(pid) || places.own.contains(pid) {
                continue;
            }
            let told = told(process, *pid, uuid);
            if !places.all.contains(pid) {
                found.remarks.push(format!(
                    "{told}: its number is of another namespace, so whose it is cannot be told"
                ));
            } else if shared {
                found.strangers.push(told);
            } else {
                found.remarks.push(format!("{told}, on which no tenant was"));
            }
        }
    }
    found
}

fn computes(process: &DeviceProcess) -> bool {
    process.kind.as_ref().map_or(true, |kind| kind.contains('C'))
}

fn told(process: &DeviceProcess, pid: u32, uuid: &str) -> String {
    let name = process.name.as_deref().unwrap_or("a process without a name");
    let memory = process
        .memory_mib
        .as_ref()
        .map_or(String::new(), |memory_mib| format!(", {memory_mib:.0} MiB"));
    format!("{name} (process {pid}{memory}) was on {uuid}")
}

#[cfg(test)]
mod tests {
    use nvml_double::{hosts, install};
    use serde_json::{Value, json};

    use super::*;

    /// The host of the double with these processes on its first two GPUs.
    fn host(processes: [&[u32]; 2]) -> String {
        let mut host: Value = serde_json::from_str(hosts::H100_8).unwrap();
        for (gpu, pids) in processes.iter().enumerate() {
            let list: Vec<Value> = pids
                .iter()
                .map(|pid| json!({"pid": pid, "name": "python", "memory_mib": 1000, "kind": "C"}))
                .collect();
            host["gpus"][gpu]["processes"] = Value::Array(list);
        }
        for gpu in 2..8 {
            host["gpus"][gpu]["processes"] = json!([]);
        }
        host.to_string()
    }

    fn places(tenants: &[u32], all: &[u32]) -> Places {
        Places {
            tenants: tenants.iter().copied().collect(),
            own: BTreeSet::new(),
            all: all.iter().copied().collect(),
        }
    }

    fn look(host: &str, places: &Places) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let library = NvmlLibrary::at(install(folder.path(), host).unwrap());
        who(&describe(&library.open().unwrap()), places)
    }

    #[test]
    fn a_stranger_beside_a_tenant_is_told_from_one_elsewhere() {
        let found = look(&host([&[10, 77], &[78]]), &places(&[10], &[10, 77, 78]));
        assert_eq!(found.strangers.len(), 1, "{found:?}");
        assert!(found.strangers[0].contains("process 77"), "{found:?}");
        assert!(found.strangers[0].contains("GPU-00000000"), "{found:?}");
        assert_eq!(found.remarks.len(), 1, "{found:?}");
        assert!(found.remarks[0].contains("on which no tenant was"), "{found:?}");
        assert_eq!(look(&host([&[10], &[11]]), &places(&[10, 11], &[10, 11])), Found::default());
    }

    #[test]
    fn a_number_of_another_namespace_removes_no_block() {
        let found = look(&host([&[10, 4_000_000], &[]]), &places(&[10], &[10]));
        assert_eq!(found.strangers, [""; 0]);
        assert!(found.remarks[0].contains("another namespace"), "{found:?}");
    }

    #[tokio::test]
    async fn a_watch_gives_samples_and_nothing_where_there_is_no_gpu() {
        let folder = tempfile::tempdir().unwrap();
        let library = NvmlLibrary::at(install(folder.path(), hosts::H100_8).unwrap());
        let (stop, stopped) = watch::channel(false);
        let tenants = Tenants { roots: Vec::new(), own: vec![std::process::id()] };
        let zero_ns = monotonic_ns();
        let watching = tokio::spawn(watch_gpus(
            library,
            tenants.clone(),
            zero_ns,
            1_000_000..2_000_000,
            stopped.clone(),
        ));
        // The first reading is taken when the watch begins; how long that takes, the machine decides.
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.send(true).unwrap();
        let seen = watching.await.unwrap();
        assert!(seen.samples.len() >= 8 && seen.samples.len() % 8 == 0, "{}", seen.samples.len());

        let none = NvmlLibrary::at(folder.path().join("nothing.so"));
        let seen = watch_gpus(none, tenants, zero_ns, 1..2, stopped).await;
        assert!(seen.samples.is_empty() && seen.remarks.is_empty());
    }
}
