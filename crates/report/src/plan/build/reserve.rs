//! Demand and reserve of each inference workload.

use cotenant_core::plan::{Calendar, Grid, InferencePlan, WindowNeed};
use jiff::tz::TimeZone;

use super::times::stretch;
use crate::build::axes::{coordinate, linear_with, whole};
use crate::format;
use crate::model::Value;
use crate::plan::model::{DemandStep, ReserveView, ReserveWindow, WeekdayReserve};

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// One view for each inference workload. Without a calendar there is no time of day to tell.
pub(super) fn reserves(
    reserves: &[InferencePlan],
    calendar: Option<&Calendar>,
    time_zone: &TimeZone,
) -> Vec<ReserveView> {
    let grid = calendar.map(|calendar| &calendar.grid);
    reserves.iter().map(|reserve| view(reserve, grid, time_zone)).collect()
}

fn view(reserve: &InferencePlan, grid: Option<&Grid>, time_zone: &TimeZone) -> ReserveView {
    let unit = reserve.binding.name();
    let windows: Vec<_> = reserve.windows.iter().map(|need| window(need, unit)).collect();
    let largest = reserve.windows.iter().map(|need| need.demand_peak).fold(0.0, f64::max);
    let replica = format::value_with_text(
        reserve.replica_gpus,
        "GPUs",
        format!(
            "{} {}",
            format::trimmed(reserve.replica_gpus),
            if reserve.replica_gpus == 1.0 { "GPU" } else { "GPUs" }
        ),
    );
    let reclaim_time = reserve.reclaim_time.map_or_else(
        || Value::words("not declared"),
        |(time, _)| {
            let seconds = time.as_secs_f64();
            format::value_with_text(seconds, "s", format::round_time(seconds))
        },
    );
    let origin = reserve.reclaim_time.map(|(_, origin)| origin.name().to_owned());
    let risk = reserve.risk_tolerance.map_or_else(
        || Value::words("not declared"),
        |risk| format::value_with_text(risk, "share", format::share(risk)),
    );
    let mut sentences = vec![format!("{} bind.", capital(unit))];
    sentences.push(format!("A replica has {}.", replica.text));
    sentences.push(match (&reserve.reclaim_time, &origin) {
        (Some(_), Some(origin)) => {
            format!("A lent GPU comes back in {} ({origin}).", reclaim_time.text)
        }
        _ => "How soon a lent GPU comes back is not declared.".to_owned(),
    });
    sentences.push(match reserve.risk_tolerance {
        Some(_) => format!(
            "The reserve may be short in {} of the exposures{}.",
            risk.text,
            if reserve.risk_supported { "" } else { ", which the history does not support" },
        ),
        None => {
            "No risk tolerance is declared: the highest that the history shows is kept.".to_owned()
        }
    });
    let needed = format::plural(reserve.gpus_needed_max.into(), "GPU", "GPUs");
    sentences.push(format!(
        "At the most {needed} must be reserved or kept free, whatever the place has."
    ));
    ReserveView {
        workload: reserve.workload.clone(),
        unit: unit.to_owned(),
        summary: sentences.join(" "),
        replica_gpus: replica,
        reclaim_time,
        reclaim_origin: origin,
        risk_tolerance: risk,
        bursts_seen: reserve.bursts_seen,
        risk_supported: reserve.risk_supported,
        gpus_needed_max: reserve.gpus_needed_max,
        remarks: reserve.remarks.clone(),
        windows,
        hours: (0..24).collect(),
        weekdays: grid.map_or_else(Vec::new, |grid| weekdays(&reserve.windows, grid, time_zone)),
        peak_text: peak(reserve, grid, time_zone),
        gpus_axis: whole("GPUs", reserve.windows.iter().map(total).max().unwrap_or(0)),
        demand_axis: linear_with(unit, largest, 3.0, format::trimmed),
        description: format!(
            "Demand of {} in {unit}: the mean of each window, and above it the peak.",
            reserve.workload
        ),
    }
}

/// The sentence with its first letter as a capital.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn window(need: &WindowNeed, unit: &str) -> ReserveWindow {
    let (mean, peak) = (coordinate(need.demand), coordinate(need.demand_peak));
    ReserveWindow {
        demand: DemandStep { mean, peak },
        reserved: need.reserved,
        hot: need.hot,
        lent: need.lent,
        text: format!(
            "demand {} {unit}, peak {}; {} reserved, {} kept free, {} may be lent",
            format::number(mean),
            format::number(peak),
            format::plural(need.reserved.into(), "GPU", "GPUs"),
            need.hot,
            need.lent,
        ),
    }
}

/// GPUs that a window may need in all.
fn total(need: &WindowNeed) -> u32 {
    need.reserved + need.hot + need.lent
}

/// The window of the highest need, in words.
fn peak(reserve: &InferencePlan, grid: Option<&Grid>, time_zone: &TimeZone) -> String {
    let found = reserve
        .windows
        .iter()
        .enumerate()
        .max_by_key(|(index, need)| (total(need), std::cmp::Reverse(*index)));
    let Some((index, need)) = found else {
        return "no window was planned".to_owned();
    };
    let when = grid.and_then(|grid| grid.windows.get(index)).map_or_else(String::new, |at| {
        format!(", first at {}", stretch(at.start, at.end, time_zone))
    });
    format!(
        "at most {} in one window{when}: {} reserved + {} kept free + {} that may be lent",
        format::plural(total(need).into(), "GPU", "GPUs"),
        need.reserved,
        need.hot,
        need.lent
    )
}

/// Reserved, hot and lent GPUs of each hour of one weekday.
type Hours = [[Option<u32>; 24]; 3];

/// GPUs by hour and weekday: the highest of the hour's windows; days that are alike in one.
fn weekdays(windows: &[WindowNeed], grid: &Grid, time_zone: &TimeZone) -> Vec<WeekdayReserve> {
    let mut days: [Option<Hours>; 7] = [None; 7];
    for (need, window) in windows.iter().zip(&grid.windows) {
        let local = time_zone.to_datetime(window.start);
        let day = local.weekday().to_monday_zero_offset() as usize;
        let hours = days[day].get_or_insert([[None; 24]; 3]);
        for (row, gpus) in hours.iter_mut().zip([need.reserved, need.hot, need.lent]) {
            let cell = &mut row[local.hour() as usize];
            *cell = (*cell).max(Some(gpus));
        }
    }
    let mut groups: Vec<(usize, usize, Hours)> = Vec::new();
    for (day, hours) in days.iter().enumerate() {
        let Some(hours) = hours else { continue };
        match groups.last_mut() {
            Some((_, last, alike)) if *last + 1 == day && alike == hours => *last = day,
            _ => groups.push((day, day, *hours)),
        }
    }
    groups
        .into_iter()
        .map(|(first, last, [reserved, hot, lent])| WeekdayReserve {
            label: if first == last {
                DAYS[first].to_owned()
            } else {
                format!("{}–{}", DAYS[first], DAYS[last])
            },
            reserved: reserved.to_vec(),
            hot: hot.to_vec(),
            lent: lent.to_vec(),
        })
        .collect()
}
