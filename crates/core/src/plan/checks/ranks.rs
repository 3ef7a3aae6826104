//! Training over GPUs of which some are shared: memory differs by rank, and each step waits for the
//! slowest rank.

use super::amount::{Range, Scale, sum};
use super::draft::{counted, line_of, listed, number, open, quoted};
use super::gpu_memory::outcome;
use super::need;
use super::placement::{self, Device};
use crate::plan::model::{Check, Outcome};
use crate::site::{Site, Training, Workload, WorkloadKind};

pub(super) fn checks(site: &Site) -> Vec<Check> {
    // Numbers of GPUs mean something on one server alone.
    if site.server().is_none() {
        return Vec::new();
    }
    let devices: Vec<Device<'_>> = placement::devices(site).into_iter().flatten().collect();
    site.training().filter_map(|(workload, training)| check(&devices, workload, training)).collect()
}

/// The devices that a job holds, split by whether somebody else is there at the same time.
fn check(devices: &[Device<'_>], workload: &Workload, training: &Training) -> Option<Check> {
    let held: Vec<&Device<'_>> =
        devices.iter().filter(|device| device.holds(workload) && !device.gpus.is_empty()).collect();
    let (shared, own): (Vec<&Device<'_>>, Vec<&Device<'_>>) =
        held.iter().partition(|device| device.tenants.len() > 1);
    if shared.is_empty() || own.is_empty() {
        return None;
    }
    let count =
        |devices: &[&Device<'_>]| devices.iter().map(|device| device.gpus.len()).sum::<usize>();
    let (all, free) = (count(&held) as u32, count(&own) as u32);
    let name = quoted(&workload.name);
    let title = format!("Does {name} gain from the GPUs that it shares?");
    let mut check = open("ranks", title, involved(workload, &shared));
    check.sources = vec![
        "huggingface/open-r1#571: a step of data-parallel training takes as long as its slowest rank",
    ];
    let fits = memory(&held, workload, &mut check);
    let gains = throughput(training, workload, all, free, &mut check);
    conditions(workload, &shared, all, free, &mut check);
    check.outcome = fits.min(gains);
    let split = format!("{} + {}", all - free, free);
    check.answer = match (fits, gains) {
        (Outcome::Fails, _) => {
            format!(
                "no: a rank does not fit beside the neighbour; recommended is the split {split}"
            )
        }
        (_, Outcome::Fails) => format!(
            "no: {} do no more than {} of its own; recommended is the split {split}",
            counted(u64::from(all), "rank"),
            free
        ),
        _ => format!(
            "only a test tells: memory per rank is unequal and every step waits for the slowest \
             rank; recommended is the split {split}"
        ),
    };
    Some(check)
}

fn involved(workload: &Workload, shared: &[&Device<'_>]) -> Vec<String> {
    let mut names = vec![workload.name.clone()];
    for name in shared.iter().flat_map(|device| device.names()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What each rank finds on its device; the batch must fit the smallest.
fn memory(held: &[&Device<'_>], workload: &Workload, check: &mut Check) -> Outcome {
    let amounts = held.iter().flat_map(|device| {
        let tenants = device.tenants.iter();
        tenants
            .flat_map(|tenant| need::declared_amounts(tenant.workload))
            .chain(device.server.gpu_memory)
    });
    let scale = Scale::of(amounts);
    let mut smallest: Option<Range> = None;
    for device in held {
        let Some(capacity) = &device.capacity else {
            super::draft::push_once(&mut check.missing, device.capacity_line.clone());
            return Outcome::Open;
        };
        let left = left(device, workload, capacity.bytes.0 as f64, scale, check);
        smallest = Some(smallest.map_or(left, |smallest| Range {
            low: smallest.low.min(left.low),
            high: smallest.high.zip(left.high).map(|(one, other)| one.min(other)),
        }));
    }
    let Some(smallest) = smallest else { return Outcome::Open };
    let most = smallest.high.unwrap_or(0.0);
    check
        .arithmetic
        .push(format!("the batch of every rank must fit the smallest: {}", scale.range(smallest)));
    let server = held[0].server;
    let Some(need) = need::need(workload, server, None) else { return Outcome::Open };
    check.arithmetic.push(need.line(scale));
    if need.total.low > most {
        check.would_be_conditional_on.push(format!(
            "a rank of {} takes at most {}, by a smaller batch",
            quoted(&workload.name),
            scale.show(most)
        ));
    }
    check.missing.extend(need.missing());
    outcome(need.total, most).min(outcome(need.total, smallest.low).max(Outcome::Open))
}

fn left(
    device: &Device<'_>,
    workload: &Workload,
    total: f64,
    scale: Scale,
    check: &mut Check,
) -> Range {
    let taken = device.server.gpu_memory_taken.map_or(Range::ZERO, Range::bytes);
    let others: Vec<(String, Range)> = device
        .tenants
        .iter()
        .filter(|tenant| tenant.workload.name != workload.name)
        .filter_map(|tenant| {
            let need = need::need(tenant.workload, device.server, Some(total))?.total;
            // What an engine takes by fraction it holds from its start, needed or not.
            let fraction = need::fraction_of_total(tenant.workload).unwrap_or(0.0);
            let held = Range { low: need.low.max(fraction * total), high: need.high };
            Some((tenant.workload.name.clone(), held))
        })
        .collect();
    let beside = sum(others.iter().map(|(_, range)| *range)).plus(taken);
    let left = Range {
        low: beside.high.map_or(0.0, |high| (total - high).max(0.0)),
        high: Some((total - beside.low).max(0.0)),
    };
    let mut terms = vec![scale.show(total)];
    terms.extend(others.iter().map(|(name, range)| format!("{name} {}", scale.range(*range))));
    let sum = match others.as_slice() {
        [] => scale.range(left),
        _ => format!("{} = {}", terms.join(" − "), scale.range(left)),
    };
    check.arithmetic.push(format!("a rank on {} has {sum}", device.name));
    left
}

/// What all ranks may lose to the slowest before fewer ranks do as much.
fn throughput(
    training: &Training,
    workload: &Workload,
    all: u32,
    free: u32,
    check: &mut Check,
) -> Outcome {
    let at = |gpus: u32| {
        training.throughput_alone.iter().find(|row| row.gpus == gpus).map(|row| &row.throughput)
    };
    check.arithmetic.push(format!(
        "each step takes as long as the slowest rank: all {all} wait for {}",
        if all - free == 1 {
            "the shared one".to_owned()
        } else {
            format!("the {} shared ones", all - free)
        }
    ));
    let (Some(with), Some(without)) = (at(all), at(free)) else {
        check.missing.push(line_of(
            &workload.name,
            &format!(
                "training: {{ throughput_alone: [{{ gpus: {free}, throughput: … }}, {{ gpus: {all}, \
                 throughput: … }}] }}"
            ),
        ));
        return Outcome::Open;
    };
    if without.per_second <= 0.0 || with.unit != without.unit {
        return Outcome::Open;
    }
    let gain = with.per_second / without.per_second;
    check
        .arithmetic
        .push(format!("alone {with} on {all} and {without} on {free}: × {}", number(gain, 3)));
    if gain <= 1.0 {
        return Outcome::Fails;
    }
    check.arithmetic.push(format!(
        "the shared rank may be at most {} % slower before {free} ranks do as much",
        number((gain - 1.0) * 100.0, 1)
    ));
    Outcome::Open
}

fn conditions(workload: &Workload, shared: &[&Device<'_>], all: u32, free: u32, check: &mut Check) {
    check.would_be_conditional_on.push(format!(
        "test C shows more throughput of {} on {all} ranks than on {free}, while every objective of \
         the neighbour holds",
        quoted(&workload.name)
    ));
    let where_: Vec<String> = shared.iter().map(|device| device.name.clone()).collect();
    let serves = |device: &&&Device<'_>| {
        device.tenants.iter().any(|t| matches!(t.workload.kind, WorkloadKind::Inference(_)))
    };
    if shared.iter().any(|device| serves(&device)) {
        check.would_be_conditional_on.push(format!(
            "engine and trainer never join one NCCL communicator on {}: NCCL refuses two ranks of \
             one communicator on one GPU (duplicate GPU)",
            listed(&where_)
        ));
    }
}
