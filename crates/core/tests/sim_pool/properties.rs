//! What holds of any pool.

use cotenant_core::sim::pool::{
    Ending, GpuTime, Packing, PlacementTimeout, PoolSpec, QueueSpec, Quota, Reclaim,
    Strategy as Order, Within, Workload, simulate,
};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;

use crate::support::{alone, job, pool, seconds, with_nodes};

const NODES: [(u32, u32); 2] = [(3, 8), (2, 4)];

fn queues() -> impl Strategy<Value = Vec<QueueSpec>> {
    let limit = prop::option::of(0..12_u32);
    let one = (
        prop::option::of(0..2_u16),
        any::<bool>(),
        0..3_u8,
        any::<bool>(),
        (0..16_u32, limit.clone(), limit),
    );
    prop::collection::vec(one, 1..6).prop_map(|queues| {
        let make = |(cohort, strict, reclaim, within, (nominal, borrow, lend))| QueueSpec {
            name: "any".to_owned(),
            cohort,
            strategy: if strict { Order::StrictFifo } else { Order::BestEffortFifo },
            reclaim: [Reclaim::Never, Reclaim::LowerPriority, Reclaim::Any][usize::from(reclaim)],
            within: if within { Within::LowerPriority } else { Within::Never },
            quotas: vec![Quota { nominal, borrowing_limit: borrow, lending_limit: lend }],
        };
        queues.into_iter().map(make).collect()
    })
}

pub(crate) fn workloads() -> impl Strategy<Value = Vec<Workload>> {
    let one = ((0..6_u16, 0..3, 0..60_u64), (1..4_u32, 1..9_u32), (0..3_u64, 0..20_u64), 0..8_u64);
    prop::collection::vec(one, 0..60).prop_map(|all| {
        let make = |(id, ((queue, priority, at_s), (pods, gpus), (start, work), save))| Workload {
            priority,
            pods,
            start: seconds(start),
            checkpoint: (save > 0).then(|| seconds(save)),
            deadline: Some(seconds(30)),
            ..job(id, queue, at_s, gpus, work)
        };
        (0..).zip(all).map(make).collect()
    })
}

pub(crate) fn specs() -> impl Strategy<Value = PoolSpec> {
    (queues(), any::<bool>(), 0..4_u64, prop::option::of(1..20_u64), any::<bool>()).prop_map(
        |(queues, first_fit, exit_s, timeout_s, nodes)| {
            let spec = PoolSpec {
                packing: if first_fit { Packing::FirstFit } else { Packing::BestFit },
                exit: seconds(exit_s),
                placement_timeout: timeout_s.map(|after| PlacementTimeout {
                    after: seconds(after),
                    backoff: seconds(after),
                    backoff_max: seconds(100),
                }),
                ..pool(queues)
            };
            if nodes { with_nodes(spec, &NODES) } else { spec }
        },
    )
}

/// The workloads that can run at all.
pub(crate) fn possible(spec: &PoolSpec, workloads: Vec<Workload>) -> Vec<Workload> {
    workloads.into_iter().filter(|workload| simulate(spec, &[*workload]).is_ok()).collect()
}

/// The most that a queue may use, by what its own limits say.
fn most(spec: &PoolSpec, number: usize) -> u64 {
    let queue = &spec.queues[number];
    let quota = queue.quotas[0];
    let Some(cohort) = queue.cohort else { return u64::from(quota.nominal) };
    let others = spec.queues.iter().enumerate();
    let others = others.filter(|(other, it)| *other != number && it.cohort == Some(cohort));
    let lent = others.map(|(_, it)| {
        u64::from(it.quotas[0].lending_limit.unwrap_or(u32::MAX).min(it.quotas[0].nominal))
    });
    let limit = quota.borrowing_limit.map_or(u64::MAX, u64::from);
    u64::from(quota.nominal) + lent.sum::<u64>().min(limit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every workload ends once, with all its time accounted for; nobody has more than the limits say;
    /// and the GPU-time of the books is that of the records.
    #[test]
    fn books_balance(spec in specs(), workloads in workloads()) {
        let workloads = possible(&spec, workloads);
        let outcome = simulate(&spec, &workloads).unwrap();
        prop_assert_eq!(outcome.records.len(), workloads.len());
        // Those few in which workloads stop each other in a circle end there, and say so.
        prop_assume!(outcome.livelock.is_none());
        prop_assert_eq!(outcome.all.finished, workloads.len() as u64);
        for (record, workload) in outcome.records.iter().zip(&workloads) {
            prop_assert_eq!(record.id, workload.id);
            let took = record.quota_wait + record.placement_wait + record.held;
            prop_assert_eq!(record.ending, Ending::Finished(workload.at + took));
            prop_assert!(record.held >= workload.start + workload.work);
        }
        for (number, queue) in outcome.queues.iter().enumerate() {
            prop_assert!(queue.used_max[0] <= most(&spec, number));
        }
        let kept: u128 = workloads.iter().map(|it| GpuTime::of(it.gpus(), it.work).0).sum();
        prop_assert_eq!(outcome.all.kept.0, kept);
        prop_assert!(outcome.all.held >= outcome.all.kept + outcome.all.lost);
        let by_queue: u128 = outcome.queues.iter().map(|it| it.tally.held.0).sum();
        let by_priority: u128 = outcome.priorities.values().map(|it| it.held.0).sum();
        prop_assert_eq!(by_queue, outcome.all.held.0);
        prop_assert_eq!(by_priority, outcome.all.held.0);
        if outcome.capacity > GpuTime(0) {
            prop_assert_eq!(outcome.capacity.0 - outcome.free.0, outcome.all.held.0);
            prop_assert!(outcome.fragmented <= outcome.free);
        } else {
            let used: u128 = outcome.queues.iter().map(|it| it.used.0).sum();
            prop_assert_eq!(used, outcome.all.held.0);
        }
        prop_assert_eq!(outcome.all.on_time + outcome.all.late, outcome.all.finished);
    }

    /// The order in which the workloads are given changes nothing.
    #[test]
    fn the_same_pool_has_the_same_outcome(spec in specs(), workloads in workloads()) {
        let workloads = possible(&spec, workloads);
        let outcome = simulate(&spec, &workloads).unwrap();
        let mut turned = workloads;
        turned.reverse();
        let again = simulate(&spec, &turned).unwrap();
        prop_assert_eq!(format!("{outcome:?}"), format!("{again:?}"));
    }

    /// Cut off anywhere, each workload that came is in one place.
    #[test]
    fn nobody_is_lost_at_the_end(spec in specs(), workloads in workloads(), until in 0..80_u64) {
        let workloads = possible(&spec, workloads);
        let spec = PoolSpec { until: seconds(until), ..spec };
        let outcome = simulate(&spec, &workloads).unwrap();
        let end = outcome.livelock.unwrap_or(seconds(until));
        let all = outcome.all;
        let waiting = all.waiting_for_quota + all.waiting_for_places;
        prop_assert_eq!(all.arrived, all.finished + waiting + all.running);
        let came = workloads.iter().filter(|it| it.at <= end).count();
        prop_assert_eq!(all.arrived, came as u64);
    }

    /// Of two that ask for the same in one queue without preemption, the higher priority that was there
    /// first or together is not admitted later.
    #[test]
    fn priorities_hold_among_equals(
        jobs in prop::collection::vec((0..3, 0..20_u64, 0..9_u64), 0..40), quota in 1..5_u32,
    ) {
        let make = |(id, (priority, at_s, work))| {
            Workload { priority, ..job(id, 0, at_s, 1, work) }
        };
        let jobs: Vec<Workload> = (0..).zip(jobs).map(make).collect();
        let outcome = simulate(&pool(vec![alone(quota)]), &jobs).unwrap();
        for (one, first) in jobs.iter().zip(&outcome.records) {
            for (other, second) in jobs.iter().zip(&outcome.records) {
                if one.at <= other.at && one.priority > other.priority {
                    prop_assert!(first.first_admitted_at <= second.first_admitted_at);
                }
            }
        }
    }

    /// With equal sizes in one queue, more quota lets nobody be admitted later.
    #[test]
    fn more_quota_is_no_worse(
        jobs in prop::collection::vec((0..40_u64, 0..9_u64), 0..40), quota in 1..5_u32,
    ) {
        let jobs: Vec<Workload> =
            (0..).zip(jobs).map(|(id, (at_s, work))| job(id, 0, at_s, 1, work)).collect();
        let less = simulate(&pool(vec![alone(quota)]), &jobs).unwrap();
        let more = simulate(&pool(vec![alone(quota + 1)]), &jobs).unwrap();
        for (less, more) in less.records.iter().zip(&more.records) {
            prop_assert!(more.first_admitted_at <= less.first_admitted_at);
        }
        prop_assert!(more.end <= less.end || less.all.arrived == 0);
        prop_assert!(more.all.quota_wait.largest() <= less.all.quota_wait.largest());
        let zero = (less.all.arrived == 0).then_some(Picoseconds::ZERO);
        prop_assert_eq!(zero, (less.all.arrived == 0).then_some(less.end));
    }

    /// The pool does not know what time it is.
    #[test]
    fn later_is_the_same_later(spec in specs(), workloads in workloads(), by in 0..1000_u64) {
        let workloads = possible(&spec, workloads);
        let outcome = simulate(&spec, &workloads).unwrap();
        let later: Vec<Workload> =
            workloads.iter().map(|it| Workload { at: it.at + seconds(by), ..*it }).collect();
        let later = simulate(&spec, &later).unwrap();
        prop_assert_eq!(outcome.livelock.map(|at| at + seconds(by)), later.livelock);
        prop_assert_eq!(&outcome.all, &later.all);
        prop_assert_eq!(outcome.fragmented, later.fragmented);
        for (one, other) in outcome.records.iter().zip(&later.records) {
            prop_assert_eq!(one.quota_wait, other.quota_wait);
            prop_assert_eq!(one.placement_wait, other.placement_wait);
        }
    }

    /// Without nodes in common, what one cohort does is nothing to another.
    #[test]
    fn cohorts_do_not_touch_each_other(queues in queues(), workloads in workloads()) {
        let spec = pool(queues);
        let workloads = possible(&spec, workloads);
        let both = simulate(&spec, &workloads).unwrap();
        let first = |number: u16| spec.queues[usize::from(number)].cohort == Some(0);
        let (mine, _): (Vec<Workload>, Vec<Workload>) =
            workloads.iter().partition(|it| first(it.queue));
        let alone = simulate(&spec, &mine).unwrap();
        prop_assume!(both.livelock.is_none() && alone.livelock.is_none());
        for record in &alone.records {
            let same = both.records.iter().find(|it| it.id == record.id);
            prop_assert_eq!(same, Some(record));
        }
    }
}
