//! Demand by time of week, as a reader looks at it.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::drift::{Drift, drift_between_weeks};
use super::gaps::Gap;
use super::history::{Counts, History, instant};
use super::local::{DAY_S, MINUTES_PER_DAY, WallWindows, pieces, weekday};
use super::outliers::{Outlier, outliers};
use super::series::{Series, WorkUnit};
use super::tokens::Tokens;
use crate::stats::quantile_sorted;

/// Peaks that are shown, at most.
const PEAKS_SHOWN: usize = 5;

/// Demand in one unit by time of week in the site's time zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The unit of every value.
    pub unit: WorkUnit,
    /// The zone whose clock counts.
    pub time_zone: TimeZone,
    /// Length of a slot, minutes.
    pub slot_minutes: u32,
    /// The slots of the week from Monday 00:00. An hour that the clock shows twice counts twice in
    /// its slot; one that it leaves out does not count.
    pub slots: Vec<SlotProfile>,
    /// Over all that is known; `None` where nothing is.
    pub overall: Option<Figures>,
    /// Length of the history, weeks.
    pub weeks: f64,
    /// Time that is known, hours.
    pub seen_hours: f64,
    /// The windows with the highest values, highest first, one for each day at most.
    pub peaks: Vec<Peak>,
    /// Windows that are unlike their peers, the most unlike first. They count in every figure.
    pub outliers: Vec<Outlier>,
    /// Whether the demand of one week differs from that of another.
    pub drift: Drift,
    /// Tokens of single requests.
    pub tokens: Tokens,
    /// Requests, with those added back that were refused or given up.
    pub counts: Counts,
    /// Time of which nothing is known.
    pub gaps: Vec<Gap>,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

/// Demand in one slot of the week.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotProfile {
    /// Minutes from Monday 00:00 by the clock on the wall.
    pub minute_of_week: u32,
    /// Time that is known in it, hours, over all weeks.
    pub seen_hours: f64,
    /// Weeks in which some of it is known.
    pub weeks: u32,
    /// The demand; `None` where nothing is known.
    pub figures: Option<Figures>,
}

/// Mean and quantiles of demand over time. A quantile is the ⌈qn⌉-th smallest value of equal steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// Exceeded in 5 % of the time.
    pub p95: f64,
    /// Exceeded in 1 % of the time.
    pub p99: f64,
    /// The highest.
    pub max: f64,
}

impl Figures {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| quantile_sorted(&values, q).ok();
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            p50: at(0.5)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            max: *values.last()?,
        })
    }
}

/// A window with a high demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The first known instant of the window.
    pub at: Timestamp,
    /// The highest value in it.
    pub value: f64,
    /// Its mean.
    pub mean: f64,
}

/// The profile of a history in one unit. Where the history cannot show the unit, every slot is
/// without figures and the first remark says why. A slot length that does not divide a day is cut to
/// the next one that does; 0 is an hour.
pub fn profile(
    history: &History,
    unit: WorkUnit,
    time_zone: &TimeZone,
    slot_minutes: u32,
) -> Profile {
    let slot_minutes = dividing_a_day(slot_minutes);
    let series = history.series(unit).unwrap_or_else(|| nothing(history, unit));
    let windows = WallWindows::of(&series, time_zone, slot_minutes);
    let mut remarks = Vec::new();
    if history.series(unit).is_none() {
        remarks.push(history.why_not(unit));
    }
    remarks.extend(history.remarks().iter().cloned());
    let (slots, overall) = fold(&series, time_zone, slot_minutes);
    Profile {
        unit,
        time_zone: time_zone.clone(),
        slot_minutes,
        seen_hours: slots.iter().map(|slot| slot.seen_hours).sum(),
        slots,
        overall,
        weeks: history.days() / 7.0,
        peaks: peaks(&windows),
        outliers: outliers(&windows),
        drift: drift_between_weeks(&windows),
        tokens: *history.tokens(),
        counts: history.counts(),
        gaps: history.gaps().to_vec(),
        remarks,
    }
}

/// The longest length of at most `minutes` that divides a day.
fn dividing_a_day(minutes: u32) -> u32 {
    let asked = if minutes == 0 { 60 } else { minutes.min(MINUTES_PER_DAY) };
    (1..=asked).rev().find(|length| MINUTES_PER_DAY.is_multiple_of(*length)).unwrap_or(1)
}

fn nothing(history: &History, unit: WorkUnit) -> Series {
    Series {
        unit,
        start: history.span().0,
        step: history.step(),
        values: Vec::new(),
        resolution: history.resolution(),
    }
}

/// Values of one slot as they are gathered.
#[derive(Clone, Debug, Default)]
struct Gathered {
    values: Vec<f64>,
    seconds: i64,
    weeks: u32,
    last_day: Option<i64>,
}

fn fold(
    series: &Series,
    time_zone: &TimeZone,
    slot_minutes: u32,
) -> (Vec<SlotProfile>, Option<Figures>) {
    let slot_s = i64::from(slot_minutes) * 60;
    let mut gathered = vec![Gathered::default(); (7 * DAY_S / slot_s) as usize];
    for piece in pieces(series, time_zone, slot_minutes) {
        let day = piece.wall_s.div_euclid(DAY_S);
        let second_of_week = weekday(day) as i64 * DAY_S + piece.wall_s.rem_euclid(DAY_S);
        let Some(slot) = gathered.get_mut((second_of_week / slot_s) as usize) else { continue };
        slot.values.push(piece.value);
        slot.seconds += piece.seconds;
        if slot.last_day != Some(day) {
            slot.last_day = Some(day);
            slot.weeks += 1;
        }
    }
    let overall = Figures::of(series.values.iter().copied().flatten().collect());
    let slots = gathered
        .into_iter()
        .enumerate()
        .map(|(index, slot)| SlotProfile {
            minute_of_week: index as u32 * slot_minutes,
            seen_hours: slot.seconds as f64 / 3600.0,
            weeks: slot.weeks,
            figures: Figures::of(slot.values),
        })
        .collect();
    (slots, overall)
}

/// The highest window of each day, the highest of them first; of equal ones the earlier.
fn peaks(windows: &WallWindows) -> Vec<Peak> {
    let mut peaks: Vec<Peak> = windows
        .days()
        .filter_map(|(_, day)| {
            let highest = day.iter().flatten().reduce(|highest, window| {
                if window.peak > highest.peak { window } else { highest }
            })?;
            Some(Peak { at: instant(highest.at_s), value: highest.peak, mean: highest.mean })
        })
        .collect();
    peaks.sort_by(|left, right| right.value.total_cmp(&left.value));
    peaks.truncate(PEAKS_SHOWN);
    peaks
}
