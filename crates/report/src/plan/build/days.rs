//! The calendar as text: for each day, one letter a step for each group of GPUs.

use std::fmt::Write as _;

use cotenant_core::plan::Calendar;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::blocks::{gpu_list, holder_at};
use super::legend::Legend;
use crate::plan::model::{CalendarDay, DayRow};

/// The step of the text, minutes: half an hour where windows fit into it, else a window of 20
/// minutes, else an hour. A day has at most 75 letters.
pub(super) fn step_minutes(window_minutes: u32) -> u32 {
    match window_minutes {
        60 => 30,
        20 => 20,
        minutes if minutes > 0 && 30 % minutes == 0 => 30,
        _ => 60,
    }
}

/// The windows of each local day: its date, its first window, and the window after its last one.
pub(super) fn days_of(calendar: &Calendar, time_zone: &TimeZone) -> Vec<(Date, usize, usize)> {
    let mut days: Vec<(Date, usize, usize)> = Vec::new();
    for (index, window) in calendar.grid.windows.iter().enumerate() {
        let date = time_zone.to_datetime(window.start).date();
        match days.last_mut() {
            Some((last, _, until)) if *last == date => *until = index + 1,
            _ => days.push((date, index, index + 1)),
        }
    }
    days
}

/// The calendar as text.
pub(super) fn days(calendar: &Calendar, legend: &Legend, time_zone: &TimeZone) -> Vec<CalendarDay> {
    days_of(calendar, time_zone)
        .into_iter()
        .map(|(date, from, until)| CalendarDay {
            label: date.strftime("%a %-d %b").to_string(),
            from: from as u32,
            until: until as u32,
            scale: scale(calendar, time_zone, from, until),
            rows: rows(calendar, legend, from, until),
            x: super::figures::day_axis(calendar, time_zone, from, until),
        })
        .collect()
}

/// How the text is to be read.
pub(super) fn note(window_minutes: u32) -> String {
    let step = step_minutes(window_minutes);
    let inside = if window_minutes < step {
        " Where hands change inside of one, the later holder is shown."
    } else {
        ""
    };
    format!(
        "Each letter is {step} min.{inside} A capital holds. A small letter stands free for a burst, or is \
         lent and given back when inference asks."
    )
}

/// The window that each letter of a day stands for.
fn letters_of(calendar: &Calendar, from: usize, until: usize) -> Vec<usize> {
    let window_minutes = calendar.grid.window_minutes.max(1);
    let step = step_minutes(window_minutes);
    if step < window_minutes {
        return (from..until)
            .flat_map(|window| std::iter::repeat_n(window, (window_minutes / step) as usize))
            .collect();
    }
    let per_letter = (step / window_minutes).max(1) as usize;
    // The last window of each step: a change inside of it shows who holds from then on.
    (from..until).step_by(per_letter).map(|first| (first + per_letter).min(until) - 1).collect()
}

fn rows(calendar: &Calendar, legend: &Legend, from: usize, until: usize) -> Vec<DayRow> {
    let windows = letters_of(calendar, from, until);
    let mut rows: Vec<(Vec<u32>, String)> = Vec::new();
    for gpu in 0..calendar.gpus {
        let letters: String = windows
            .iter()
            .map(|window| {
                let place = legend.place(holder_at(calendar, *window, gpu));
                legend.views.get(place as usize).map_or("", |view| view.letter.as_str())
            })
            .collect();
        match rows.last_mut() {
            Some((gpus, last)) if *last == letters => gpus.push(gpu),
            _ => rows.push((vec![gpu], letters)),
        }
    }
    rows.into_iter().map(|(gpus, letters)| DayRow { label: gpu_list(&gpus), letters }).collect()
}

/// Hours of the clock on the wall above the letters, each third where it has room.
fn scale(calendar: &Calendar, time_zone: &TimeZone, from: usize, until: usize) -> String {
    let mut text = String::new();
    let step = step_minutes(calendar.grid.window_minutes.max(1));
    let mut last = None;
    for (place, window) in letters_of(calendar, from, until).into_iter().enumerate() {
        let Some(window) = calendar.grid.windows.get(window) else { continue };
        let local = time_zone.to_datetime(window.start);
        let is_new = last != Some(local.hour());
        last = Some(local.hour());
        let every = if step == 60 { 6 } else { 3 };
        if is_new && local.hour() % every == 0 && text.len() <= place {
            text.push_str(&" ".repeat(place - text.len()));
            // Writing to a String cannot fail.
            let _ = write!(text, "{:02}", local.hour());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::step_minutes;

    #[test]
    fn a_day_of_any_window_fits_into_a_line() {
        for window in (1..=60).filter(|minutes| 60 % minutes == 0) {
            assert!(25 * 60 / step_minutes(window) <= 75, "{window}");
        }
    }
}
