//! Admission without preemption, written once more in the plainest way: everybody is looked at at each
//! moment, and quota is a set of inequalities.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use cotenant_core::sim::pool::{
    PoolSpec, QueueSpec, Reclaim, Strategy as Order, Within, Workload, simulate,
};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;

use crate::properties::{possible, specs, workloads};

/// Whether nobody has more than the quotas allow.
fn allowed(queues: &[QueueSpec], used: &[u64]) -> bool {
    let quota = |number: usize| queues[number].quotas[0];
    let kept = |number: usize| {
        let lent = quota(number)
            .lending_limit
            .map_or(quota(number).nominal, |it| it.min(quota(number).nominal));
        u64::from(quota(number).nominal - lent)
    };
    queues.iter().enumerate().all(|(number, queue)| {
        let nominal = u64::from(quota(number).nominal);
        let Some(cohort) = queue.cohort else { return used[number] <= nominal };
        let limit = quota(number).borrowing_limit.map_or(u64::MAX, u64::from);
        let members: Vec<usize> =
            (0..queues.len()).filter(|it| queues[*it].cohort == Some(cohort)).collect();
        let lendable: u64 =
            members.iter().map(|it| u64::from(quota(*it).nominal) - kept(*it)).sum();
        let lent: u64 = members.iter().map(|it| used[*it].saturating_sub(kept(*it))).sum();
        used[number] <= nominal.saturating_add(limit) && lent <= lendable
    })
}

/// When each is admitted, by its place in the list, which is sorted by arrival.
fn admissions(spec: &PoolSpec, workloads: &[Workload]) -> Vec<Option<Picoseconds>> {
    let mut admitted: Vec<Option<Picoseconds>> = vec![None; workloads.len()];
    let mut used = vec![0_u64; spec.queues.len()];
    let mut moments: BTreeSet<Picoseconds> = workloads.iter().map(|it| it.at).collect();
    let mut running: Vec<(Picoseconds, usize)> = Vec::new();
    // What is known not to fit: queue, priority and GPUs.
    let mut tried: BTreeSet<(u16, i32, u64)> = BTreeSet::new();
    let kind = |at: usize| (workloads[at].queue, workloads[at].priority, workloads[at].gpus());
    let together = |one: u16, other: u16| {
        let cohort = |number: u16| spec.queues[usize::from(number)].cohort;
        one == other || (cohort(one).is_some() && cohort(one) == cohort(other))
    };
    while let Some(now) = moments.pop_first() {
        running.retain(|(ends, at)| {
            if *ends <= now {
                let queue = workloads[*at].queue;
                used[usize::from(queue)] -= workloads[*at].gpus();
                tried.retain(|other| !together(other.0, queue));
            }
            *ends > now
        });
        for at in (0..workloads.len()).filter(|at| workloads[*at].at == now) {
            tried.remove(&kind(at));
        }
        loop {
            let mut heads: Vec<usize> = Vec::new();
            for (number, queue) in spec.queues.iter().enumerate() {
                let waits = |at: &usize| {
                    let it = &workloads[*at];
                    usize::from(it.queue) == number && it.at <= now && admitted[*at].is_none()
                };
                let strict = queue.strategy == Order::StrictFifo;
                let all = (0..workloads.len()).filter(waits);
                let all = all.filter(|at| strict || !tried.contains(&kind(*at)));
                let head = all.min_by_key(|at| (Reverse(workloads[*at].priority), *at));
                heads.extend(head.filter(|at| !tried.contains(&kind(*at))));
            }
            if heads.is_empty() {
                break;
            }
            let before = used.clone();
            let nominal = |at: usize| {
                u64::from(spec.queues[usize::from(workloads[at].queue)].quotas[0].nominal)
            };
            let with = |used: &[u64], at: usize| {
                let mut with = used.to_vec();
                with[usize::from(workloads[at].queue)] += workloads[at].gpus();
                with
            };
            heads.sort_by_key(|at| {
                let queue = usize::from(workloads[*at].queue);
                (with(&before, *at)[queue] > nominal(*at), Reverse(workloads[*at].priority), *at)
            });
            // What is used, with what is kept in this round for those that are within their own quota.
            let mut kept = used.clone();
            for at in heads {
                let it = &workloads[at];
                let queue = usize::from(it.queue);
                if !allowed(&spec.queues, &with(&before, at)) {
                    tried.insert(kind(at));
                    if it.gpus() <= nominal(at) {
                        kept[queue] += it.gpus().min(nominal(at).saturating_sub(kept[queue]));
                    }
                } else if allowed(&spec.queues, &with(&kept, at)) {
                    kept = with(&kept, at);
                    used = with(&used, at);
                    admitted[at] = Some(now);
                    running.push((now + it.start + it.work, at));
                    moments.insert(now + it.start + it.work);
                }
            }
        }
    }
    admitted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn admission_is_that_of_the_plain_one(spec in specs(), workloads in workloads()) {
        let mut spec = spec;
        spec.flavours[0].nodes.clear();
        for queue in &mut spec.queues {
            (queue.reclaim, queue.within) = (Reclaim::Never, Within::Never);
        }
        let mut workloads = possible(&spec, workloads);
        // What takes no time at all ends in the moment in which it began, which the plain one does not
        // look at again.
        for workload in &mut workloads {
            workload.work = workload.work.max(Picoseconds::SECOND);
        }
        workloads.sort_by_key(|it| it.at);
        let mut numbered = workloads;
        for (id, workload) in (0..).zip(&mut numbered) {
            workload.id = id;
        }
        let outcome = simulate(&spec, &numbered).unwrap();
        let found: Vec<_> = outcome.records.iter().map(|it| it.first_admitted_at).collect();
        prop_assert_eq!(found, admissions(&spec, &numbered));
    }
}
