//! The calendar's cells as rectangles, and as stretches in which a tenant holds the same.

use std::collections::BTreeMap;

use cotenant_core::plan::{Calendar, Holder};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::legend::{Legend, tenant_of};
use super::times::{moment, stretch};
use crate::format;
use crate::model::Value;
use crate::plan::model::{BlockView, HoldView};

/// The holder of a GPU in a window. A cell that the calendar leaves out is idle.
pub(super) fn holder_at(calendar: &Calendar, window: usize, gpu: u32) -> Holder {
    let row = calendar.holders.get(window);
    row.and_then(|row| row.get(gpu as usize)).copied().unwrap_or(Holder::Idle)
}

/// GPU-hours as a value.
pub(super) fn gpu_hours(value: f64) -> Value {
    let number = format::trimmed(value);
    let text = if value.is_finite() { format!("{number} GPU-h") } else { number };
    format::value_with_text(value, "GPU-h", text)
}

/// GPUs by their numbers, neighbours as a range: `GPU 0–3, 5`.
pub(super) fn gpu_list(gpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &gpu in gpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == gpu => *last = gpu,
            _ => ranges.push((gpu, gpu)),
        }
    }
    let texts: Vec<_> = ranges
        .iter()
        .map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}–{last}") }
            },
        )
        .collect();
    format!("GPU {}", texts.join(", "))
}

/// The start of a window, or the calendar's end.
pub(super) fn start_of(calendar: &Calendar, window: usize) -> Timestamp {
    let windows = &calendar.grid.windows;
    windows
        .get(window)
        .map(|window| window.start)
        .or_else(|| windows.last().map(|window| window.end))
        .unwrap_or_default()
}

/// Hours of a range of windows.
fn hours(calendar: &Calendar, from: usize, until: usize) -> f64 {
    start_of(calendar, until).duration_since(start_of(calendar, from)).as_secs_f64() / 3600.0
}

/// The calendar as rectangles. Each run of one GPU joins that of the GPU above it where both begin
/// and end together and have one holder, so every cell lies in exactly one rectangle.
pub(super) fn blocks(calendar: &Calendar, legend: &Legend, time_zone: &TimeZone) -> Vec<BlockView> {
    let mut found: Vec<(Holder, usize, usize, u32, u32)> = Vec::new();
    let mut open: BTreeMap<(Holder, usize, usize), usize> = BTreeMap::new();
    let windows = calendar.grid.windows.len();
    for gpu in 0..calendar.gpus {
        let mut joined = BTreeMap::new();
        let mut from = 0;
        while from < windows {
            let holder = holder_at(calendar, from, gpu);
            let until = (from + 1..windows)
                .find(|window| holder_at(calendar, *window, gpu) != holder)
                .unwrap_or(windows);
            let key = (holder, from, until);
            let place = open.get(&key).copied().unwrap_or(found.len());
            match found.get_mut(place) {
                Some(block) => block.4 += 1,
                None => found.push((holder, from, until, gpu, 1)),
            }
            joined.insert(key, place);
            from = until;
        }
        open = joined;
    }
    found.sort_by_key(|block| (block.1, block.3));
    found
        .into_iter()
        .map(|(holder, from, until, gpu, gpus)| {
            let numbers: Vec<u32> = (gpu..gpu + gpus).collect();
            let what = what(calendar, legend, holder);
            let when = stretch(start_of(calendar, from), start_of(calendar, until), time_zone);
            let hours = gpu_hours(f64::from(gpus) * hours(calendar, from, until)).text;
            BlockView {
                holder: legend.place(holder),
                tenant: tenant_of(holder),
                from: from as u32,
                until: until as u32,
                gpu,
                gpus,
                text: format!("{what} · {} · {when} · {hours}", gpu_list(&numbers)),
            }
        })
        .collect()
}

/// What a holder does, with the tenant's own name: `fine-tune (1st of 3): runs`.
fn what(calendar: &Calendar, legend: &Legend, holder: Holder) -> String {
    let text = legend
        .views
        .get(legend.place(holder) as usize)
        .map_or_else(String::new, |view| view.text.clone());
    let tenant = tenant_of(holder).and_then(|tenant| calendar.tenants.get(tenant as usize));
    match (tenant, text.split_once(": ")) {
        (Some(tenant), Some((_, deed))) => format!("{}: {deed}", tenant.name),
        _ => text,
    }
}

/// Firm and loose GPUs of one holder of a stretch.
type Held = (Vec<u32>, Vec<u32>);

/// What each tenant holds in one window; `None` stands for maintenance.
fn held_in(calendar: &Calendar, window: usize) -> BTreeMap<Option<u32>, Held> {
    let mut held: BTreeMap<Option<u32>, Held> = BTreeMap::new();
    for gpu in 0..calendar.gpus {
        let holder = holder_at(calendar, window, gpu);
        let entry = match holder {
            Holder::Idle => continue,
            _ => held.entry(tenant_of(holder)).or_default(),
        };
        match holder {
            Holder::HotReserve(_) | Holder::Lent(_) => entry.1.push(gpu),
            _ => entry.0.push(gpu),
        }
    }
    held
}

/// Stretches in which a tenant holds the same GPUs, in order of time.
pub(super) fn holds(calendar: &Calendar, time_zone: &TimeZone) -> Vec<HoldView> {
    let mut done: Vec<(usize, usize, Option<u32>, Held)> = Vec::new();
    let mut open: BTreeMap<Option<u32>, (usize, Held)> = BTreeMap::new();
    let windows = calendar.grid.windows.len();
    for window in 0..=windows {
        let held = if window < windows { held_in(calendar, window) } else { BTreeMap::new() };
        let before = std::mem::take(&mut open);
        for (tenant, (from, was)) in before {
            if held.get(&tenant) == Some(&was) {
                open.insert(tenant, (from, was));
            } else {
                done.push((from, window, tenant, was));
            }
        }
        for (tenant, is) in held {
            open.entry(tenant).or_insert((window, is));
        }
    }
    done.sort_by_key(|(from, _, tenant, _)| (*from, tenant.is_none(), *tenant));
    done.into_iter()
        .map(|(from, until, tenant, (firm, loose))| {
            let span = (start_of(calendar, from), start_of(calendar, until));
            let count = (firm.len() + loose.len()) as f64;
            let held_hours = gpu_hours(count * hours(calendar, from, until));
            let text = hold_text(calendar, tenant, &firm, &loose);
            HoldView {
                tenant,
                from: moment(span.0, time_zone),
                until: moment(span.1, time_zone),
                text: format!(
                    "{text} · {} · {}",
                    stretch(span.0, span.1, time_zone),
                    held_hours.text
                ),
                gpu_hours: held_hours,
                gpus: firm,
                loose_gpus: loose,
            }
        })
        .collect()
}

fn hold_text(calendar: &Calendar, tenant: Option<u32>, firm: &[u32], loose: &[u32]) -> String {
    let tenant = tenant.and_then(|tenant| calendar.tenants.get(tenant as usize));
    let Some(tenant) = tenant else {
        return format!("maintenance: {}", gpu_list(firm));
    };
    let inference = tenant.kind == "inference";
    let mut parts = Vec::new();
    if !firm.is_empty() {
        parts.push(format!("{} {}", gpu_list(firm), if inference { "reserved" } else { "firm" }));
    }
    if !loose.is_empty() {
        let deed = if inference { "kept free for bursts" } else { "lent, given back when asked" };
        parts.push(format!("{} {deed}", gpu_list(loose)));
    }
    format!("{}: {}", tenant.name, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::gpu_list;

    #[test]
    fn neighbours_are_a_range() {
        for (gpus, text) in
            [(&[0, 1, 2, 3][..], "GPU 0–3"), (&[0, 2, 3], "GPU 0, 2–3"), (&[7], "GPU 7")]
        {
            assert_eq!(gpu_list(gpus), text);
        }
    }
}
