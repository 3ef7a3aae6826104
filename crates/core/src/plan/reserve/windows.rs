//! From what each slot of the week needs to GPUs in each window of the calendar.

use std::collections::BTreeMap;
use std::time::Duration;

use super::answer::{SlotAnswer, Unit};
use super::demand::{unit_demand, unit_demands};
use super::gpus::{figure_of, whole};
use super::question::{ReserveQuestion, ReserveRefusal};
use super::remarks::{self, Facts};
use super::slot::SlotNeed;
use crate::demand::WorkUnit;
use crate::evidence::Origin;
use crate::plan::{InferencePlan, Window, WindowNeed};
use crate::site::{BurstReserve, ReplicaCapacity};

/// Demand and reserve of an inference workload in each window of the calendar.
///
/// # Errors
/// Demand cannot be turned into GPUs, and no allocation is declared that could stand in its place.
pub fn plan_reserve(question: &ReserveQuestion<'_>) -> Result<InferencePlan, ReserveRefusal> {
    let reclaim = reclaim_time(question);
    let time = reclaim.map(|(time, _)| time);
    let Some(capacity) = &question.inference.capacity else {
        return declared(question, reclaim, None);
    };
    let demands = unit_demands(question, capacity, time);
    if demands.is_empty() {
        return declared(question, reclaim, Some(capacity));
    }
    let mut units: Vec<Unit<'_>> =
        demands.iter().map(|demand| Unit::new(question, demand, time)).collect();
    let mut answers: BTreeMap<u32, SlotAnswer> = BTreeMap::new();
    for window in &question.grid.windows {
        let slot = slot_of(question, window);
        answers
            .entry(slot)
            .or_insert_with(|| SlotAnswer::new(&mut units, slot, capacity, time.is_some()));
    }
    let binding = most_often(question, &answers);
    let shown = units.iter().position(|unit| unit.demand.unit == binding).unwrap_or(0);
    let windows: Vec<WindowGpus> = question
        .grid
        .windows
        .iter()
        .filter_map(|window| answers.get(&slot_of(question, window)))
        .map(|answer| in_gpus(question, answer, shown))
        .collect();
    let facts =
        Facts { question, reclaim, capacity, units: &units, answers: &answers, windows: &windows };
    Ok(InferencePlan {
        workload: question.workload.name.clone(),
        binding,
        replica_gpus: capacity.gpus,
        reclaim_time: reclaim,
        risk_tolerance: question.risk_tolerance,
        gpus_needed_max: windows.iter().map(|window| window.needed).max().unwrap_or(0),
        remarks: remarks::of(&facts),
        bursts_seen: demands.iter().all(|demand| demand.bursts_seen),
        risk_supported: answers.values().all(|answer| answer.supported),
        windows: windows.into_iter().map(|window| window.need).collect(),
    })
}

/// The place of a window in the week, in windows.
pub(super) fn slot_of(question: &ReserveQuestion<'_>, window: &Window) -> u32 {
    window.minute_of_week / question.grid.window_minutes
}

/// The time to reclaim: as given, but never below what the declared steps of the way back take by
/// themselves; and those steps where nothing else is known.
fn reclaim_time(question: &ReserveQuestion<'_>) -> Option<(Duration, Origin)> {
    let steps = question.transition_back;
    match question.reclaim_time {
        Some((time, origin)) if time >= steps => Some((time, origin)),
        None if steps.is_zero() => None,
        _ => Some((steps, Origin::Declared)),
    }
}

/// The unit that binds in most windows; the first of several.
fn most_often(question: &ReserveQuestion<'_>, answers: &BTreeMap<u32, SlotAnswer>) -> WorkUnit {
    let mut counts: BTreeMap<WorkUnit, usize> = BTreeMap::new();
    for window in &question.grid.windows {
        if let Some(answer) = answers.get(&slot_of(question, window)) {
            *counts.entry(answer.binding).or_default() += 1;
        }
    }
    // The last of equal ones wins, so the order is turned.
    counts
        .into_iter()
        .rev()
        .max_by_key(|(_, count)| *count)
        .map_or(WorkUnit::Gpus, |(unit, _)| unit)
}

/// One window in GPUs.
pub(super) struct WindowGpus {
    /// What the place can give.
    pub need: WindowNeed,
    /// GPUs that must be there without a reclaim, before the number of GPUs caps it.
    pub needed: u32,
    /// GPUs that the peak needs, before the cap.
    pub needed_at_peak: u32,
    /// GPUs that a burst needs, by demand and reclaim, whatever is declared for it.
    pub hot_derived: u32,
}

/// Level, burst and peak as GPUs: the minimum that is never lent is part of the reserve and carries
/// bursts as well; a declared burst reserve takes the place of the derived one.
fn in_gpus(question: &ReserveQuestion<'_>, answer: &SlotAnswer, shown: usize) -> WindowGpus {
    let floor = question.inference.minimum_reserved.map_or(0, whole);
    let reserved = answer.level.max(floor);
    let hot_derived = answer.top.saturating_sub(reserved);
    let hot = match question.inference.burst_reserve {
        Some(BurstReserve::Gpus(gpus)) => whole(gpus),
        Some(BurstReserve::Derived) | None => hot_derived,
    };
    let lent = answer.peak.saturating_sub(reserved.saturating_add(hot));
    let (mean, peak) = answer
        .needs
        .get(shown)
        .and_then(Option::as_ref)
        .map_or((0.0, 0.0), |need| (need.mean, need.peak));
    let needed = reserved.saturating_add(hot);
    WindowGpus {
        need: capped(
            question.gpus,
            WindowNeed { demand: mean, demand_peak: peak, reserved, hot, lent },
        ),
        needed,
        needed_at_peak: needed.saturating_add(lent),
        hot_derived,
    }
}

/// No more than the place has: first what is reserved, then what is hot, then what is lent.
fn capped(gpus: u32, need: WindowNeed) -> WindowNeed {
    let reserved = need.reserved.min(gpus);
    let hot = need.hot.min(gpus - reserved);
    let lent = need.lent.min(gpus - reserved - hot);
    WindowNeed { reserved, hot, lent, ..need }
}

/// Without a way from demand to GPUs: the declared allocation, always.
fn declared(
    question: &ReserveQuestion<'_>,
    reclaim: Option<(Duration, Origin)>,
    capacity: Option<&ReplicaCapacity>,
) -> Result<InferencePlan, ReserveRefusal> {
    let allocation = question.workload.allocation.and_then(|allocation| allocation.normal);
    let Some(normal) = allocation else { return Err(refusal(question, capacity)) };
    let reserved = whole(normal).max(question.inference.minimum_reserved.map_or(0, whole));
    let hot = match question.inference.burst_reserve {
        Some(BurstReserve::Gpus(gpus)) => whole(gpus),
        Some(BurstReserve::Derived) | None => 0,
    };
    let demand = WorkUnit::WORK
        .into_iter()
        .find_map(|unit| question.series_of(unit).filter(|series| series.seen() > 0));
    let need = capped(question.gpus, WindowNeed { reserved, hot, ..WindowNeed::default() });
    let shown = demand.map(|series| unit_demand(question, series, 1.0, None));
    let mut unit = shown.as_ref().map(|demand| Unit::new(question, demand, None));
    let mut slots: BTreeMap<u32, Option<SlotNeed>> = BTreeMap::new();
    let windows = question
        .grid
        .windows
        .iter()
        .map(|window| {
            let slot = slot_of(question, window);
            let seen = slots.entry(slot).or_insert_with(|| unit.as_mut()?.need(slot, false));
            let (mean, peak) = seen.map_or((0.0, 0.0), |seen| (seen.mean, seen.peak));
            WindowNeed { demand: mean, demand_peak: peak, ..need }
        })
        .collect();
    Ok(InferencePlan {
        workload: question.workload.name.clone(),
        binding: demand.map_or(WorkUnit::Gpus, |series| series.unit),
        replica_gpus: normal,
        windows,
        reclaim_time: reclaim,
        risk_tolerance: question.risk_tolerance,
        gpus_needed_max: reserved.saturating_add(hot),
        remarks: remarks::of_declared(question, capacity, reserved.saturating_add(hot)),
        bursts_seen: false,
        risk_supported: false,
    })
}

fn refusal(question: &ReserveQuestion<'_>, capacity: Option<&ReplicaCapacity>) -> ReserveRefusal {
    let workload = question.workload.name.clone();
    let Some(capacity) = capacity else { return ReserveRefusal::NoCapacity { workload } };
    let names = |keep: &dyn Fn(WorkUnit) -> bool| {
        let names: Vec<&str> =
            WorkUnit::WORK.into_iter().filter(|unit| keep(*unit)).map(WorkUnit::name).collect();
        if names.is_empty() { "no unit at all".to_owned() } else { names.join(", ") }
    };
    ReserveRefusal::NoCommonUnit {
        workload,
        stated: names(&|unit| figure_of(capacity, unit).is_some()),
        shown: names(&|unit| question.series_of(unit).is_some_and(|series| series.seen() > 0)),
    }
}
