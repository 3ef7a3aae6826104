//! All of it, in one look.

use cotenant_core::evidence::Missing;
use cotenant_core::machine::{Found, Machine, MpsFound, missing};

use super::processes::Processes;
use super::surroundings::Surroundings;
use super::{engines, gpus, host, nccl, scheduler, storage};

/// Looks at the machine. It takes as long as the slowest source may, a minute at most where a driver
/// hangs, and seconds otherwise.
pub async fn survey(around: &Surroundings) -> Machine {
    let root = &around.root;
    let processes = Processes::of(root);
    let gpus = gpus::gpus(around);
    let name = host::name(root);
    let engines = engines::engines(around, &processes, &gpus).await;
    Machine {
        time_zone: host::time_zone(root),
        kernel: host::kernel(root),
        cpu_model: host::cpu_model(root),
        cores_usable: host::cores_usable(root),
        cores_visible: host::cores_visible(root),
        memory: host::memory(root),
        numa: host::numa(root),
        filesystems: storage::filesystems(root),
        nccl: nccl::version(around, &processes, &gpus),
        mps: mps(&processes),
        scheduler: scheduler::scheduler(around, &processes, name.as_ref().ok()),
        name,
        gpus,
        engines,
    }
}

/// The control daemon of MPS by its process. Its pipes may lie anywhere, and asking it would start a
/// server where none runs: its process is what shows without a touch.
fn mps(processes: &Processes) -> cotenant_core::machine::Finding<Option<MpsFound>> {
    if processes.all.is_empty() {
        return missing("no process can be seen in /proc");
    }
    let named = |program: &str| processes.named(program);
    let daemons = named("nvidia-cuda-mps-control");
    let servers = named("nvidia-cuda-mps-server");
    if daemons.is_empty() && servers.is_empty() {
        return Ok(Found::new(None, "no process nvidia-cuda-mps-control is seen"));
    }
    let list = |pids: &[u32]| pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let how = match (daemons.as_slice(), servers.as_slice()) {
        (daemons, []) => format!("nvidia-cuda-mps-control runs (process {})", list(daemons)),
        ([], servers) => format!("nvidia-cuda-mps-server runs (process {})", list(servers)),
        (daemons, servers) => format!(
            "nvidia-cuda-mps-control runs (process {}), with nvidia-cuda-mps-server (process {})",
            list(daemons),
            list(servers)
        ),
    };
    Ok(Found::new(Some(MpsFound { daemons, servers }), how))
}

/// The reason of a reading that is absent, for a sentence.
pub(super) fn reason(missing: &Missing) -> &str {
    &missing.0
}
