//! Short ways to write pools.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use cotenant_core::sim::pool::{
    Flavour, NodeGroup, Packing, PoolOutcome, PoolSpec, QueueSpec, Quota, Reclaim, Record,
    Strategy, Within, Workload, simulate,
};
use cotenant_core::units::Picoseconds;

pub(crate) const S: Picoseconds = Picoseconds::SECOND;

pub(crate) fn seconds(count: u64) -> Picoseconds {
    S * count
}

/// A queue of one flavour in cohort 0 that stops nobody.
pub(crate) fn queue(nominal: u32) -> QueueSpec {
    QueueSpec {
        name: format!("queue of {nominal}"),
        cohort: Some(0),
        strategy: Strategy::BestEffortFifo,
        reclaim: Reclaim::Never,
        within: Within::Never,
        quotas: vec![Quota { nominal, ..Quota::default() }],
    }
}

pub(crate) fn alone(nominal: u32) -> QueueSpec {
    QueueSpec { cohort: None, ..queue(nominal) }
}

/// A pool without nodes.
pub(crate) fn pool(queues: Vec<QueueSpec>) -> PoolSpec {
    PoolSpec {
        flavours: vec![Flavour { name: "h100".to_owned(), nodes: Vec::new() }],
        queues,
        packing: Packing::BestFit,
        exit: Picoseconds::ZERO,
        placement_timeout: None,
        until: seconds(1_000_000),
    }
}

pub(crate) fn with_nodes(mut spec: PoolSpec, groups: &[(u32, u32)]) -> PoolSpec {
    let group =
        |(nodes, gpus_each): &(u32, u32)| NodeGroup { nodes: *nodes, gpus_each: *gpus_each };
    spec.flavours[0].nodes = groups.iter().map(group).collect();
    spec
}

/// One pod that works for so many seconds.
pub(crate) fn job(id: u64, queue: u16, at_s: u64, gpus: u32, work_s: u64) -> Workload {
    Workload {
        id,
        queue,
        flavour: 0,
        priority: 0,
        at: seconds(at_s),
        pods: 1,
        gpus_per_pod: gpus,
        start: Picoseconds::ZERO,
        work: seconds(work_s),
        checkpoint: None,
        deadline: None,
    }
}

pub(crate) fn with_priority(priority: i32, workload: Workload) -> Workload {
    Workload { priority, ..workload }
}

pub(crate) fn run(spec: &PoolSpec, workloads: &[Workload]) -> PoolOutcome {
    simulate(spec, workloads).unwrap()
}

pub(crate) fn record(outcome: &PoolOutcome, id: u64) -> Record {
    *outcome.records.iter().find(|record| record.id == id).unwrap()
}

/// When each was admitted first, in seconds, in the order of the numbers.
pub(crate) fn admitted_s(outcome: &PoolOutcome) -> Vec<Option<u64>> {
    let first = |record: &Record| record.first_admitted_at.map(|at| at.0 / S.0);
    outcome.records.iter().map(first).collect()
}
