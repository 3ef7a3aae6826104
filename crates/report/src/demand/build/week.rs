//! The week at a glance.

use cotenant_core::demand::{Figures, Profile, SlotProfile};

use super::clock::{Clock, clock_of};
use super::inputs::DemandUnit;
use super::scale::Scale;
use crate::demand::model::{PeakHour, ShadeView, WeekDay, WeekHour, WeekView};

/// Shades of the map.
const SHADES: u8 = 5;

/// Days down, hours across; `None` where nothing is known. The shade of an hour is the fifth of the
/// highest hour's mean in which its own lies: one burst does not make all others pale.
pub(super) fn week(unit: &DemandUnit, clock: &Clock<'_>) -> Option<WeekView> {
    let figures = || unit.hours.slots.iter().filter_map(|slot| slot.figures);
    let highest = figures().map(|figures| figures.mean).reduce(f64::max)?;
    let largest = figures().map(|figures| figures.p95).fold(highest, f64::max);
    let scale = Scale::of(unit.hours.unit, largest);
    let days = (0..7).filter_map(|day| {
        let of_day = hours_of(&unit.hours, day);
        let figures = unit.days.slots.get(day).and_then(|slot| slot.figures)?;
        Some(week_day(clock.weekday(day), &figures, of_day, &scale, highest))
    });
    let days: Vec<WeekDay> = days.collect();
    Some(WeekView { printed_in: scale.printed_in(), days, shades: shades(&scale, highest) })
}

fn hours_of(hours: &Profile, day: usize) -> &[SlotProfile] {
    hours.slots.get(24 * day..24 * (day + 1)).unwrap_or_default()
}

fn week_day(
    label: String,
    figures: &Figures,
    hours: &[SlotProfile],
    scale: &Scale,
    highest: f64,
) -> WeekDay {
    let peak = hours
        .iter()
        .filter_map(|slot| Some((slot.minute_of_week, slot.figures?.p95)))
        .reduce(|peak, hour| if hour.1 > peak.1 { hour } else { peak })
        .map(|(minute, p95)| PeakHour { clock: hour_of(minute), p95: scale.value(p95) });
    let hours = hours
        .iter()
        .map(|slot| WeekHour {
            clock: hour_of(slot.minute_of_week),
            shade: slot.figures.map(|figures| shade(figures.mean, highest)),
            mean: slot.figures.map(|figures| scale.value(figures.mean)),
            p50: slot.figures.map(|figures| scale.value(figures.p50)),
            p95: slot.figures.map(|figures| scale.value(figures.p95)),
        })
        .collect();
    WeekDay { label, p50: scale.value(figures.p50), p95: scale.value(figures.p95), peak, hours }
}

fn hour_of(minute_of_week: u32) -> String {
    clock_of(minute_of_week % (24 * 60))
}

fn shade(value: f64, highest: f64) -> u8 {
    if highest <= 0.0 {
        return 0;
    }
    ((value / highest * f64::from(SHADES)).floor() as u8).min(SHADES - 1)
}

fn shades(scale: &Scale, highest: f64) -> Vec<ShadeView> {
    (0..SHADES)
        .rev()
        .map(|shade| ShadeView {
            shade,
            from: scale.value(highest * f64::from(shade) / f64::from(SHADES)),
        })
        .collect()
}
