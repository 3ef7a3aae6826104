//! The neighbour is made to fail: killed, out of memory, out of disk.

use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{Disturbance, NeighbourFault};
use cotenant_core::site::{DiskSpace, HostCaps};

use super::block::BlockError;
use super::caps::{Bench, refuse_common_disk};
use super::rig::{Rig, RigError};
use crate::clock::monotonic_ns;
use crate::host::Root;
use crate::supervisor::{Resource, Signal, SupervisorError, Workload};

/// Longest that a load which fills memory or disk works, seconds.
const LOAD_S: u64 = 300;
/// What is asked for above a limit, at least, bytes.
const ABOVE_BYTES: u64 = 64 << 20;
/// Longest wait for what was killed to be gone.
const GONE_PATIENCE: Duration = Duration::from_secs(10);

/// Which faults can be made without taking what inference needs, and for the others the reason.
///
/// A neighbour without a cap of its own would take inference's memory or disk with it; that is what
/// the fault test would show on the first day in production, and it is not tried here.
pub fn possible_faults(
    caps: Option<&HostCaps>,
    site_folder: &Path,
) -> Vec<(NeighbourFault, Result<(), String>)> {
    let without = |cap: &str, line: &str| {
        Err(format!(
            "no cap of {cap} holds the neighbour, so it would take inference's: declare and set one \
             (`sharing: {{ caps: {{ …: {{ {line} }} }} }}`)"
        ))
    };
    let memory = match caps.and_then(|caps| caps.memory) {
        Some(_) => Ok(()),
        None => without(HostCaps::MEMORY, "memory: …"),
    };
    let disk = match caps.and_then(|caps| caps.disk_space.as_ref()) {
        Some(space) => {
            let wanted = space.size.0 + ABOVE_BYTES;
            refuse_common_disk(Path::new(&space.folder), site_folder, wanted)
        }
        None => without(HostCaps::DISK_SPACE, "disk_space: { size: …, folder: … }"),
    };
    vec![
        (NeighbourFault::Killed, Ok(())),
        (NeighbourFault::OutOfMemory, memory),
        (NeighbourFault::DiskFull, disk),
    ]
}

/// A fault that goes on.
#[derive(Debug)]
pub(super) struct Fault {
    load: Option<Workload>,
    pub(super) disturbance: Disturbance,
}

/// Makes the neighbour fail now. `zero_ns` is the start of the block.
///
/// # Errors
/// The guardian has ended, or the load that fills memory or disk cannot be started.
pub(super) async fn make(
    rig: &mut Rig,
    fault: NeighbourFault,
    zero_ns: u64,
) -> Result<Fault, BlockError> {
    let Some((running, name)) =
        rig.running.zip(rig.neighbour.as_ref().map(|neighbour| neighbour.name.clone()))
    else {
        return Err(BlockError::Client("there is no neighbour to fail".to_owned()));
    };
    let caps = rig.caps.clone();
    let (load, what) = match (fault, caps.memory, caps.disk_space) {
        (NeighbourFault::OutOfMemory, Some(memory), _) => {
            let load = fill_memory(rig, running.workload, memory.0).await?;
            (Some(load), format!("the memory of `{name}` filled to its cap of {memory}"))
        }
        (NeighbourFault::DiskFull, _, Some(space)) => {
            let what = format!("the disk of `{name}` filled to its quota of {}", space.size);
            (Some(fill_disk(rig, running.workload, &space).await?), what)
        }
        _ => {
            let killed = rig.supervisor.signal(running.workload.id, Signal::Kill).await;
            killed.map_err(RigError::from)?;
            (None, format!("SIGKILL to `{name}`"))
        }
    };
    let began_ns = monotonic_ns().saturating_sub(zero_ns);
    let disturbance = Disturbance {
        what,
        began_ns,
        ended_ns: None,
        yielded_ns: None,
        inference_recovered_ns: None,
        neighbour_recovered_ns: None,
        requests_late: None,
        remarks: Vec::new(),
    };
    Ok(Fault { load, disturbance })
}

/// Ends a fault with whatever is left of the neighbour.
///
/// # Errors
/// The guardian has ended.
pub(super) async fn end(
    rig: &mut Rig,
    mut fault: Fault,
    zero_ns: u64,
) -> Result<Disturbance, BlockError> {
    let ended_ns = |at_ns: u64| Some(at_ns.saturating_sub(zero_ns));
    if let Some(load) = fault.load {
        let exit = rig.desk.look(load.id, |watched| watched.exit);
        fault.disturbance.remarks.push(match exit {
            Some((_, exit)) => format!("the load that filled it ended: {exit}"),
            None => "the load that filled it went on to the end".to_owned(),
        });
        fault.disturbance.ended_ns = ended_ns(exit.map_or_else(monotonic_ns, |(at_ns, _)| at_ns));
        // A load that the kernel has ended already is no error.
        let _ = rig.supervisor.stop(load.id, Duration::ZERO).await;
    }
    if let Some(running) = rig.running {
        let gone =
            rig.desk.wait(running.workload.id, exit_patience(&fault), |watched| watched.exit).await;
        if let Some((at_ns, exit)) = gone {
            fault.disturbance.yielded_ns = ended_ns(at_ns);
            fault.disturbance.remarks.push(format!("the neighbour ended: {exit}"));
            rig.running = None;
            let _ = rig.supervisor.stop(running.workload.id, Duration::ZERO).await;
        } else {
            fault.disturbance.remarks.push("the neighbour lived through it".to_owned());
            rig.neighbour_killed().await?;
        }
    }
    if fault.load.is_none() {
        fault.disturbance.ended_ns = fault.disturbance.yielded_ns;
    }
    Ok(fault.disturbance)
}

/// A neighbour that was killed is waited for; one whose resource is full may live on.
fn exit_patience(fault: &Fault) -> Duration {
    if fault.load.is_none() { GONE_PATIENCE } else { Duration::from_millis(1) }
}

async fn fill_memory(
    rig: &Rig,
    neighbour: Workload,
    cap_bytes: u64,
) -> Result<Workload, BlockError> {
    let bench = Bench::new(rig, neighbour, "a load that fills the neighbour's memory");
    let group = bench.group("memory").map_err(refused)?;
    // More than the cap whatever the neighbour holds: the kernel chooses who of the group must go.
    let bytes = cap_bytes + ABOVE_BYTES;
    let resource = Resource::Memory { bytes, goes_first: false };
    bench.start(&[&group], LOAD_S, resource).await.map_err(refused)
}

async fn fill_disk(
    rig: &Rig,
    neighbour: Workload,
    space: &DiskSpace,
) -> Result<Workload, BlockError> {
    let bench = Bench::new(rig, neighbour, "a load that fills the neighbour's disk");
    let folder = space.folder.clone().into();
    let resource = Resource::DiskSpace { folder, bytes: space.size.0 + ABOVE_BYTES, hold: true };
    bench.start(&[], LOAD_S, resource).await.map_err(refused)
}

fn refused(reason: String) -> BlockError {
    BlockError::Rig(RigError::Supervisor(SupervisorError::Refused(reason)))
}

impl Bench<'_> {
    /// A bench beside a running neighbour.
    fn new<'a>(rig: &'a Rig, neighbour: Workload, name: &str) -> Bench<'a> {
        Bench {
            supervisor: &rig.supervisor,
            desk: &rig.desk,
            neighbour,
            root: Root::of_this_machine(),
            mechanism: name.to_owned(),
        }
    }
}
