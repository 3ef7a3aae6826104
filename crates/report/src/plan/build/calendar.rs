//! The calendar.

use cotenant_core::plan::{Calendar, Level, TransitionRow};
use jiff::tz::TimeZone;

use super::blocks::{blocks, gpu_hours, holder_at, holds, start_of};
use super::legend::Legend;
use super::overlap::overlap;
use super::times::{moment, stretch};
use super::{days, figures};
use crate::format;
use crate::model::Value;
use crate::plan::model::{CalendarView, LevelView, TenantView, TransitionView, WindowView};

pub(super) fn calendar(calendar: &Calendar, time_zone: &TimeZone) -> CalendarView {
    let legend = Legend::new(calendar);
    let end = calendar.grid.windows.len();
    CalendarView {
        gpus: calendar.gpus,
        window_minutes: calendar.grid.window_minutes,
        from: moment(start_of(calendar, 0), time_zone),
        until: moment(start_of(calendar, end), time_zone),
        windows: windows(calendar, &legend, time_zone),
        tenants: calendar
            .tenants
            .iter()
            .map(|tenant| TenantView {
                name: tenant.name.clone(),
                workload: tenant.workload.clone(),
                kind: tenant.kind.to_owned(),
            })
            .collect(),
        blocks: blocks(calendar, &legend, time_zone),
        holds: holds(calendar, time_zone),
        transitions: calendar
            .transitions
            .iter()
            .map(|row| transition(row, calendar, time_zone))
            .collect(),
        transitions_text: format::plural(
            calendar.transitions.len() as u64,
            "change of hands",
            "changes of hands",
        ),
        levels: calendar.levels.iter().enumerate().map(level).collect(),
        overlap: overlap(calendar, &legend),
        days: days::days(calendar, &legend, time_zone),
        days_note: days::note(calendar.grid.window_minutes),
        weeks: figures::weeks(calendar, time_zone),
        holders: legend.views,
    }
}

/// Each window with the GPUs of each holder, in the order of the legend.
fn windows(calendar: &Calendar, legend: &Legend, time_zone: &TimeZone) -> Vec<WindowView> {
    calendar
        .grid
        .windows
        .iter()
        .enumerate()
        .map(|(index, window)| {
            let mut counts = vec![0_u32; legend.views.len()];
            for gpu in 0..calendar.gpus {
                let place = legend.place(holder_at(calendar, index, gpu));
                if let Some(count) = counts.get_mut(place as usize) {
                    *count += 1;
                }
            }
            let held: Vec<_> = legend
                .views
                .iter()
                .zip(counts)
                .filter(|(_, count)| *count > 0)
                .map(|(view, count)| format!("{count} × {}", view.text))
                .collect();
            let when = stretch(window.start, window.end, time_zone);
            WindowView {
                start: moment(window.start, time_zone),
                hours: window.hours(),
                text: format!("{when}: {}", held.join(", ")),
            }
        })
        .collect()
}

fn transition(row: &TransitionRow, calendar: &Calendar, time_zone: &TimeZone) -> TransitionView {
    let at = moment(row.at, time_zone);
    let seconds = row.hours * 3600.0;
    let lost = format::value_with_text(seconds, "s", format::round_time(seconds));
    let name = calendar.tenants.get(row.tenant as usize).map_or("a job", |tenant| &tenant.name);
    let deed = if row.starts { "starts" } else { "stops" };
    let gpus = format::plural(row.gpus.into(), "GPU", "GPUs");
    TransitionView {
        text: format!("{}: {name} {deed} on {gpus}; no work for {}", at.text, lost.text),
        at,
        tenant: row.tenant,
        starts: row.starts,
        gpus: row.gpus,
        lost,
    }
}

fn level((place, level): (usize, &Level)) -> LevelView {
    let value = |value: f64| match level.unit {
        "GPU-h" => gpu_hours(value),
        unit => format::value_with_text(value, unit, format!("{} {unit}", format::trimmed(value))),
    };
    let gap = |gap: f64| format::value_with_text(gap, "share", format::share(gap));
    LevelView {
        place: place as u32 + 1,
        name: level.name.to_owned(),
        value: value(level.value),
        bound: level.bound.map_or_else(|| Value::words("none was proven"), value),
        gap: level.gap().map_or_else(|| Value::words("unknown"), gap),
        maximise: level.maximise,
    }
}
