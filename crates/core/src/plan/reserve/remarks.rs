//! What a reader of a reserve must know: what the history supports, what was pooled, what was
//! assumed, and what the place lacks.

use std::collections::BTreeMap;
use std::time::Duration;

use super::answer::{SlotAnswer, Unit};
use super::demand::UnitDemand;
use super::inside::Inside;
use super::pools::PoolKind;
use super::quantile::{days_needed, supports};
use super::question::ReserveQuestion;
use super::slot::{BurstFrom, SlotNeed};
use super::tail::{NoTail, Tail};
use super::windows::{WindowGpus, slot_of};
use crate::demand::WorkUnit;
use crate::evidence::Origin;
use crate::site::{BurstReserve, FigureOrigin, ReplicaCapacity, format_minute_of_day};
use crate::units::{Share, format_duration};

/// Everything that is remarked upon.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    /// The question.
    pub question: &'a ReserveQuestion<'a>,
    /// The time to reclaim that counts.
    pub reclaim: Option<(Duration, Origin)>,
    /// What one replica carries.
    pub capacity: &'a ReplicaCapacity,
    /// The units that were looked at.
    pub units: &'a [Unit<'a>],
    /// What they need, by slot of the week.
    pub answers: &'a BTreeMap<u32, SlotAnswer>,
    /// The windows in GPUs.
    pub windows: &'a [WindowGpus],
}

/// The remarks, in the order in which they matter.
pub(super) fn of(facts: &Facts<'_>) -> Vec<String> {
    let mut remarks = shortages(facts);
    remarks.extend(support(facts));
    remarks.extend(pools(facts));
    remarks.extend(reclaim(facts.question, facts.reclaim));
    for unit in facts.units {
        remarks.extend(hidden(facts, unit));
        remarks.extend(tails(facts, unit));
    }
    remarks.extend(facts.units.iter().filter_map(evened));
    remarks.extend(gaps(facts));
    remarks.extend(declared_reserve(facts));
    if facts.capacity.origin == FigureOrigin::Declared {
        remarks.push("what one replica carries is declared and was not measured".to_owned());
    }
    remarks
}

/// The remarks of a plan that rests on a declared allocation.
pub(super) fn of_declared(
    question: &ReserveQuestion<'_>,
    capacity: Option<&ReplicaCapacity>,
    needed: u32,
) -> Vec<String> {
    let why = match capacity {
        None => "nothing says what one replica carries",
        Some(_) => "the demand shows no unit in which the capacity of a replica is stated",
    };
    let mut remarks = vec![format!(
        "{why}, so demand cannot be turned into GPUs: the declared allocation is reserved in every \
         window, and nothing says whether it is enough or too much"
    )];
    remarks.push(match question.inference.burst_reserve {
        Some(BurstReserve::Gpus(gpus)) => {
            format!("the burst reserve of {} GPUs is declared", number(gpus))
        }
        Some(BurstReserve::Derived) | None => {
            "no burst reserve can be derived; none is kept hot beside the allocation".to_owned()
        }
    });
    if needed > question.gpus {
        remarks.push(format!(
            "{needed} GPUs are declared for `{}`, and the place has {}",
            question.workload.name, question.gpus
        ));
    }
    remarks
}

fn needs<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a SlotNeed> {
    facts.answers.values().flat_map(|answer| answer.needs.iter().flatten())
}

/// How many windows of the calendar have a property of their slot.
fn windows_with(facts: &Facts<'_>, property: impl Fn(&SlotAnswer) -> bool) -> usize {
    let windows = &facts.question.grid.windows;
    let answer = |window| facts.answers.get(&slot_of(facts.question, window));
    windows.iter().filter(|window| answer(window).is_some_and(&property)).count()
}

fn shortages(facts: &Facts<'_>) -> Vec<String> {
    let all = facts.windows.len();
    let gpus = facts.question.gpus;
    let mut remarks = Vec::new();
    let short = |needed: &dyn Fn(&WindowGpus) -> u32| -> Option<(usize, u32, String)> {
        let count = facts.windows.iter().filter(|window| needed(window) > gpus).count();
        let most = facts.windows.iter().map(needed).max().filter(|_| count > 0)?;
        let first = facts.windows.iter().position(|window| needed(window) == most)?;
        let minute = facts.question.grid.windows.get(first)?.minute_of_week;
        Some((count, most, time_of_week(minute)))
    };
    if let Some((count, most, when)) = short(&|window| window.needed) {
        remarks.push(format!(
            "the place is too small: {count} of {all} windows need more GPUs for demand and bursts \
             than its {gpus}, the most {most} ({when})"
        ));
    } else if let Some((count, most, when)) = short(&|window| window.needed_at_peak) {
        remarks.push(format!(
            "{count} of {all} windows may need more GPUs at their peak than the {gpus} of the \
             place, the most {most} ({when})"
        ));
    }
    let empty = facts.windows.iter().filter(|w| w.need.reserved + w.need.hot == 0).count();
    if empty > 0 {
        remarks.push(format!(
            "in {empty} of {all} windows no GPU is held at all, so a first request waits for a \
             whole reclaim: `minimum_reserved: 1` under `inference` keeps one"
        ));
    }
    remarks
}

fn support(facts: &Facts<'_>) -> Vec<String> {
    if facts.question.is_declared() {
        return vec![
            "the demand is declared and was never observed: it counts as it stands, and supports no \
             risk tolerance"
                .to_owned(),
        ];
    }
    let days = facts.units.iter().map(|unit| unit.demand.occurrences.days()).max().unwrap_or(0);
    let Some(epsilon) = facts.question.epsilon() else {
        let why = match facts.question.risk_tolerance {
            None => "no risk tolerance is declared (`risk_tolerance: 1 %` under `operations`)",
            Some(_) => {
                "the declared risk tolerance is none that a history can support: it must lie \
                        between 0 and 100 %, without these"
            }
        };
        return vec![format!("{why}: the highest of {} stands in its place", count_days(days))];
    };
    let asked = Share::new(1.0 - epsilon).map_or_else(String::new, |share| share.to_string());
    let mut remarks = Vec::new();
    if !supports(days, Some(epsilon)) {
        let support = if days == 1 { "supports" } else { "support" };
        remarks.push(format!(
            "{} {support} at most {}; {asked} is asked for, which needs {} days",
            count_days(days),
            supported_share(days),
            days_needed(epsilon)
        ));
    }
    let short = windows_with(facts, |answer| !answer.supported);
    let all = facts.windows.len();
    let few = needs(facts)
        .filter(|need| !need.supported)
        .filter(|need| matches!(need.pool, PoolKind::SlotOfWeek | PoolKind::KindOfDay))
        .map(|need| need.days)
        .min();
    match few {
        Some(few) if short > 0 => remarks.push(format!(
            "in {short} of {all} windows the history does not support {asked} (days that speak for \
             one: {few} at the least, good for at most {}): the highest that was seen stands in its \
             place",
            supported_share(few)
        )),
        None if short > 0 => remarks.push(format!(
            "in {short} of {all} windows the history does not support {asked}: no days of their \
             kind were seen at their time"
        )),
        _ => {
            let days = needs(facts).map(|need| need.days).min().unwrap_or(0);
            remarks.push(format!(
                "at least {} speak for each window and support the {asked} that is asked for",
                count_days(days)
            ));
        }
    }
    if let (Some(least), Some(most)) =
        (needs(facts).map(|n| n.exposures).min(), needs(facts).map(|n| n.exposures).max())
    {
        let points = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        remarks.push(format!(
            "each window rests on {points} moments; those of one day are not independent, so days \
             are counted"
        ));
    }
    remarks
}

fn pools(facts: &Facts<'_>) -> Vec<String> {
    let all = facts.windows.len();
    let count = |kind| {
        windows_with(facts, |answer| answer.needs.iter().flatten().any(|need| need.pool == kind))
    };
    [
        (
            PoolKind::KindOfDay,
            "take the same time of all days of their kind (Mon-Fri, or Sat-Sun) together, because \
             their own day of the week was seen too few times; what it showed itself stays the \
             least",
        ),
        (
            PoolKind::TimeOfDay,
            "take the same time of every day, because their kind of day (Mon-Fri, or Sat-Sun) was \
             seen once at most: a guess, which supports nothing",
        ),
        (
            PoolKind::Everything,
            "lie at a time of day that the history never shows: the highest of the whole history \
             stands there, a guess",
        ),
    ]
    .into_iter()
    .filter_map(|(kind, text)| {
        let windows = count(kind);
        (windows > 0).then(|| format!("{windows} of {all} windows {text}"))
    })
    .collect()
}

fn reclaim(question: &ReserveQuestion<'_>, counts: Option<(Duration, Origin)>) -> Option<String> {
    let Some((time, _)) = counts else {
        return Some(
            "no time to reclaim is known (`reclaim_time: 2 min` under `operations`, or a measured \
             drill): the whole peak of each window is kept free, and nothing is lent against it"
                .to_owned(),
        );
    };
    match question.reclaim_time {
        Some((stated, origin)) if stated < time => Some(format!(
            "the {} time to reclaim of {} is shorter than the steps of the way back, which take {}: \
             these count",
            origin.name(),
            format_duration(stated),
            format_duration(time)
        )),
        Some(_) => None,
        None => Some(format!(
            "no time to reclaim is known: the declared steps of the way back, {}, stand in its place",
            format_duration(time)
        )),
    }
}

/// What is said of steps that are longer than a reclaim.
fn hidden(facts: &Facts<'_>, unit: &Unit<'_>) -> Option<String> {
    let demand = unit.demand;
    let (time, _) = facts.reclaim?;
    if demand.bursts_seen {
        return None;
    }
    let step = Duration::try_from_secs_f64(demand.resolution_s).unwrap_or_default();
    let assumed = match &unit.inside {
        Some(model) => assumption(demand.unit, model),
        None => "nothing says how large they are (`prompt_tokens` and `output_tokens` under \
                 `inference` would), so none is added"
            .to_owned(),
    };
    Some(format!(
        "{}: a step of {} hides bursts within a reclaim of {}: they are assumed, and the gate stays \
         NOT PROVEN; {assumed}",
        demand.unit.name(),
        format_duration(step),
        format_duration(time)
    ))
}

fn assumption(unit: WorkUnit, model: &Inside) -> String {
    if model.batch <= 0.0 {
        return "arrivals are declared to be even, so none is added".to_owned();
    }
    let over = match unit {
        WorkUnit::RequestsInFlight | WorkUnit::KvTokens => "at one moment".to_owned(),
        _ => format!("over {}", format_duration(Duration::from_secs_f64(model.stretch_s.min(1e9)))),
    };
    format!(
        "the model: independent arrivals, an index of dispersion of {}, so that {} come together, \
         {over}, at a quantile of {} %",
        number(model.dispersion),
        number(model.batch),
        precise_percent(model.probability)
    )
}

fn tails(facts: &Facts<'_>, unit: &Unit<'_>) -> Option<String> {
    let place = facts.units.iter().position(|other| std::ptr::eq(other.demand, unit.demand))?;
    let from = |wanted: BurstFrom| {
        windows_with(facts, |answer| {
            answer.needs[place].is_some_and(|need| need.burst_from == wanted)
        })
    };
    let name = unit.demand.unit.name();
    match &unit.tail {
        Ok(tail) => {
            let windows = from(BurstFrom::Tail);
            (windows > 0).then(|| fitted(name, tail, windows))
        }
        Err(NoTail::Refused(refusal)) if from(BurstFrom::Highest) > 0 => {
            Some(format!("{name}: no tail of the bursts is fitted: {refusal}"))
        }
        Err(NoTail::TooHeavy { shape_upper }) if from(BurstFrom::Highest) > 0 => Some(format!(
            "{name}: no tail of the bursts is used: ξ may be as large as {}, where a tail has no \
             mean",
            number(*shape_upper)
        )),
        Err(_) => None,
    }
}

fn fitted(name: &str, tail: &Tail, windows: usize) -> String {
    let what = if tail.extrapolated {
        "EXTRAPOLATED beyond everything that was seen"
    } else {
        "within the range of what was seen on other days"
    };
    format!(
        "{name}: the bursts of {windows} windows come from a fitted tail, {what}: {} times the \
         usual burst of the time of day, at most {} times with 95 % confidence, which is taken \
         where it is above the highest seen; ξ = {} (95 %: {} to {}) from {} clusters of {} \
         passings",
        number(tail.multiple_estimate),
        number(tail.multiple),
        number(tail.fit.shape),
        number(tail.shape.0),
        number(tail.shape.1),
        tail.fit.excesses(),
        tail.passings
    )
}

fn evened(unit: &Unit<'_>) -> Option<String> {
    let demand = unit.demand;
    (demand.evened_s > 0.0).then(|| {
        format!(
            "{} are evened out over the {} in which a request is served",
            demand.unit.name(),
            format_duration(Duration::from_secs_f64(demand.evened_s.min(1e9)))
        )
    })
}

fn gaps(facts: &Facts<'_>) -> Option<String> {
    let share = |demand: &UnitDemand| {
        let seen = demand.values.iter().flatten().count();
        1.0 - seen as f64 / demand.values.len().max(1) as f64
    };
    let worst = facts.units.iter().map(|unit| share(unit.demand)).fold(0.0, f64::max);
    (worst > 0.0).then(|| {
        format!(
            "{} % of the history's time shows nothing: a gap is no demand of 0, and counts for \
             nothing",
            precise_percent(worst)
        )
    })
}

fn declared_reserve(facts: &Facts<'_>) -> Option<String> {
    let Some(BurstReserve::Gpus(gpus)) = facts.question.inference.burst_reserve else {
        return None;
    };
    let all = facts.windows.len();
    let kept = super::gpus::whole(gpus);
    let most = facts.windows.iter().map(|window| window.hot_derived).max().unwrap_or(0);
    let short = facts.windows.iter().filter(|window| window.hot_derived > kept).count();
    Some(if short > 0 {
        format!(
            "the burst reserve of {} GPUs is declared; demand and reclaim ask for more in {short} \
             of {all} windows, up to {most}",
            number(gpus)
        )
    } else {
        format!(
            "the burst reserve of {} GPUs is declared; demand and reclaim ask for {most} at most",
            number(gpus)
        )
    })
}

fn count_days(days: u64) -> String {
    if days == 1 { "1 day".to_owned() } else { format!("{days} days") }
}

/// n/(n + 1): 28 days support 96.6 %.
fn supported_share(days: u64) -> String {
    let percent = 100.0 * days as f64 / (days as f64 + 1.0);
    if percent < 99.9 { format!("{percent:.1} %") } else { format!("{percent:.3} %") }
}

/// As many digits as tell it from 0 and from 100.
fn precise_percent(share: f64) -> String {
    let distance = (100.0 * share.min(1.0 - share)).max(1e-9);
    let decimals = (1.0 - distance.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.decimals$}", 100.0 * share);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Three digits.
fn number(value: f64) -> String {
    let magnitude = value.abs().max(1e-12).log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// `Mon 09:00`.
fn time_of_week(minute_of_week: u32) -> String {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let day = DAYS[(minute_of_week / (24 * 60)) as usize % 7];
    format!("{day} {}", format_minute_of_day((minute_of_week % (24 * 60)) as u16))
}
