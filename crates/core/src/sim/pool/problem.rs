//! What cannot be simulated, and why.

use std::collections::BTreeSet;

use thiserror::Error;

use super::placement::Nodes;
use super::quota::Ledger;
use super::spec::PoolSpec;
use super::workload::Workload;
use crate::units::Picoseconds;

/// Why a pool cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PoolProblem {
    /// There is nothing to give.
    #[error("the pool has no {0}")]
    Nothing(&'static str),
    /// A queue's quotas do not go with the flavours.
    #[error("queue {queue}: {found} quotas for {flavours} flavours; give one for each, 0 for none")]
    Quotas {
        /// Its name.
        queue: String,
        /// How many it has.
        found: usize,
        /// How many there are to be.
        flavours: usize,
    },
    /// More than can be numbered.
    #[error("{found} {what} are more than the {most} that can be simulated together")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// How many can be.
        most: usize,
    },
    /// A node has more GPUs than any machine, which is a total given for a node.
    #[error(
        "flavour {flavour}: {gpus} GPUs in one node are more than 1024; give GPUs of each node"
    )]
    NodeSize {
        /// Its name.
        flavour: String,
        /// The GPUs.
        gpus: u32,
    },
    /// Two workloads have the same number.
    #[error("two workloads have the number {0}")]
    Twice(u64),
    /// A workload names a queue or a flavour that is not there.
    #[error("workload {id}: there is no {what} {number}")]
    Unknown {
        /// The workload.
        id: u64,
        /// A queue or a flavour.
        what: &'static str,
        /// Its number.
        number: u16,
    },
    /// A gang without GPUs.
    #[error("workload {0}: a gang has at least one pod, and each at least one GPU")]
    Empty(u64),
    /// Saves that never end.
    #[error("workload {0}: a checkpoint after no work at all; leave it out if it does not save")]
    Checkpoint(u64),
    /// Quota never admits it.
    #[error(
        "workload {id}: {gpus} GPUs are more than the {most} that queue {queue} can ever have with all that it may borrow"
    )]
    NeverAdmitted {
        /// The workload.
        id: u64,
        /// Its queue's name.
        queue: String,
        /// What it asks for.
        gpus: u64,
        /// What its queue can have when nobody else uses anything.
        most: u64,
    },
    /// It never finds places, not even in an empty pool.
    #[error(
        "workload {id}: {pods} pods of {gpus_per_pod} GPUs never fit on the nodes of {flavour}, which take {most} such pods when empty"
    )]
    NeverPlaced {
        /// The workload.
        id: u64,
        /// Its flavour's name.
        flavour: String,
        /// Its pods.
        pods: u32,
        /// GPUs of each.
        gpus_per_pod: u32,
        /// How many of them the empty nodes take.
        most: u64,
    },
}

const GPUS_OF_A_NODE_MAX: u32 = 1024;

/// Looks at the pool alone.
pub(super) fn check_spec(spec: &PoolSpec) -> Result<(), PoolProblem> {
    if spec.flavours.is_empty() {
        return Err(PoolProblem::Nothing("flavour of GPU"));
    }
    if spec.queues.is_empty() {
        return Err(PoolProblem::Nothing("queue"));
    }
    for (what, found) in [("flavours", spec.flavours.len()), ("queues", spec.queues.len())] {
        let most = usize::from(u16::MAX);
        if found > most {
            return Err(PoolProblem::TooMany { what, found, most });
        }
    }
    for flavour in &spec.flavours {
        let large = flavour.nodes.iter().find(|group| group.gpus_each > GPUS_OF_A_NODE_MAX);
        if let Some(group) = large {
            let gpus = group.gpus_each;
            return Err(PoolProblem::NodeSize { flavour: flavour.name.clone(), gpus });
        }
    }
    let flavours = spec.flavours.len();
    match spec.queues.iter().find(|queue| queue.quotas.len() != flavours) {
        Some(queue) => Err(PoolProblem::Quotas {
            queue: queue.name.clone(),
            found: queue.quotas.len(),
            flavours,
        }),
        None => Ok(()),
    }
}

/// Looks at the workloads in a pool that is empty.
pub(super) fn check_workloads(
    spec: &PoolSpec,
    workloads: &[Workload],
    ledger: &Ledger,
    nodes: &[Nodes],
) -> Result<(), PoolProblem> {
    let most = u32::MAX as usize;
    if workloads.len() > most {
        return Err(PoolProblem::TooMany { what: "workloads", found: workloads.len(), most });
    }
    let mut seen = BTreeSet::new();
    for workload in workloads {
        if !seen.insert(workload.id) {
            return Err(PoolProblem::Twice(workload.id));
        }
        check_workload(spec, workload, ledger, nodes)?;
    }
    Ok(())
}

fn check_workload(
    spec: &PoolSpec,
    workload: &Workload,
    ledger: &Ledger,
    nodes: &[Nodes],
) -> Result<(), PoolProblem> {
    let Workload { id, queue: number, pods, gpus_per_pod, .. } = *workload;
    let Some(queue) = spec.queues.get(usize::from(number)) else {
        return Err(PoolProblem::Unknown { id, what: "queue", number });
    };
    let (number, at) = (workload.flavour, usize::from(workload.flavour));
    let (Some(flavour), Some(empty)) = (spec.flavours.get(at), nodes.get(at)) else {
        return Err(PoolProblem::Unknown { id, what: "flavour", number });
    };
    if pods == 0 || gpus_per_pod == 0 {
        return Err(PoolProblem::Empty(id));
    }
    if workload.checkpoint == Some(Picoseconds::ZERO) {
        return Err(PoolProblem::Checkpoint(id));
    }
    let (gpus, most) = (workload.gpus(), ledger.most(usize::from(workload.queue), at));
    if gpus > most {
        return Err(PoolProblem::NeverAdmitted { id, queue: queue.name.clone(), gpus, most });
    }
    let most = empty.room(gpus_per_pod);
    if empty.limited() && most < u64::from(pods) {
        let flavour = flavour.name.clone();
        return Err(PoolProblem::NeverPlaced { id, flavour, pods, gpus_per_pod, most });
    }
    Ok(())
}
