//! Moments and weekly windows.

use std::time::Duration;

use cotenant_core::site::WeeklyWindow;
use cotenant_core::units::{format_duration, parse_duration};
use jiff::tz::TimeZone;

use super::entries::{key_span, mode, value_span, workloads};
use crate::site::deadline::{parse_written_time, resolve, time_zone};
use crate::site::scalar::{self, shorten};
use crate::site::tree::Node;
use crate::site::view::View;
use crate::site::{Problem, Span};

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    temporal(root, problems);
    reclaim_time(root, problems);
    let Some(zone) = View(root).text("time_zone").and_then(|name| time_zone(name).ok()) else {
        return;
    };
    instant(View(root), "as_of", &zone, problems);
    for workload in workloads(root) {
        if let Some((_, settings)) =
            workload.kind("inference").and_then(|inference| inference.variant("demand"))
        {
            instant(settings, "begins", &zone, problems);
        }
        let holders = [
            workload.kind("training").and_then(|training| training.group("objectives")),
            workload.kind("batch"),
            workload.kind("render"),
        ];
        for deadline in holders.into_iter().flatten().filter_map(|view| view.group("deadline")) {
            deadline_rules(deadline, &zone, problems);
        }
    }
}

/// The instant behind a key; a local time that the change of the clocks removes or doubles is a
/// problem.
fn instant(
    view: View<'_>,
    key: &str,
    zone: &TimeZone,
    problems: &mut Vec<Problem>,
) -> Option<jiff::Timestamp> {
    let written = parse_written_time(view.text(key)?).ok()?;
    match resolve(&written, zone) {
        Ok((timestamp, _)) => Some(timestamp),
        Err(fault) => {
            problems.push(
                Problem::error("local-time", fault.message)
                    .at(value_span(view, key), "not one instant")
                    .hint(fault.hint),
            );
            None
        }
    }
}

fn deadline_rules(deadline: View<'_>, zone: &TimeZone, problems: &mut Vec<Problem>) {
    let at = instant(deadline, "at", zone, problems);
    let start = instant(deadline, "start", zone, problems);
    if let Some((at, start)) = at.zip(start)
        && at <= start
    {
        problems.push(
            Problem::error("deadline", "the deadline comes before the work may begin")
                .at(value_span(deadline, "at"), "must be done by then")
                .beside(value_span(deadline, "start"), "may begin here")
                .hint("swap the two, or correct a date"),
        );
    }
    if deadline.has("start") && !deadline.has("at") {
        problems.push(
            Problem::error("deadline", "`start` belongs to a deadline with `at`")
                .at(value_span(deadline, "start"), "")
                .hint("a recurring deadline begins with the one before it; remove the line"),
        );
    }
}

/// A reclaim holds every step of the way back, so it is at least as long as they are.
fn reclaim_time(root: &Node, problems: &mut Vec<Problem>) {
    let Some(operations) = View(root).group("operations") else { return };
    let Some(reclaim) = operations.duration("reclaim_time") else { return };
    let Some(transition) = operations.group("transition") else { return };
    let steps: Duration = transition
        .list("to_inference")
        .flat_map(|step| step.0.entries())
        .filter_map(|entry| parse_duration(entry.value.text()?).ok())
        .fold(Duration::ZERO, Duration::saturating_add);
    if steps > reclaim {
        problems.push(
            Problem::warning("reclaim-time", "the reclaim is shorter than its own steps")
                .at(value_span(operations, "reclaim_time"), format_duration(reclaim))
                .beside(
                    key_span(transition, "to_inference"),
                    format!("these add up to {}", format_duration(steps)),
                )
                .hint("write the whole time from the signal to the first successful token"),
        );
    }
}

/// Two workloads cannot hold one GPU at one time.
fn temporal(root: &Node, problems: &mut Vec<Problem>) {
    let Some(entry) = mode(root, "temporal") else { return };
    let windows: Vec<Held<'_>> =
        entry.value.items().iter().filter_map(|item| held(View(item))).collect();
    for (at, later) in windows.iter().enumerate() {
        let clash = windows[..at].iter().find(|earlier| {
            let shares_gpus = earlier.gpus.is_empty()
                || later.gpus.is_empty()
                || earlier.gpus.iter().any(|gpu| later.gpus.contains(gpu));
            earlier.workload != later.workload && shares_gpus && overlap(earlier.when, later.when)
        });
        if let Some(earlier) = clash {
            problems.push(
                Problem::error("windows-overlap", "two workloads hold the same GPUs at once")
                    .at(later.span, format!("`{}`", shorten(later.workload)))
                    .beside(earlier.span, format!("`{}`", shorten(earlier.workload)))
                    .hint("end one window where the other begins"),
            );
        }
    }
}

struct Held<'a> {
    when: WeeklyWindow,
    workload: &'a str,
    gpus: Vec<u32>,
    span: Span,
}

fn held(view: View<'_>) -> Option<Held<'_>> {
    Some(Held {
        when: view.parsed("when", scalar::window)?,
        workload: view.text("workload")?,
        gpus: view.indexes("gpus").unwrap_or_default(),
        span: value_span(view, "when"),
    })
}

/// Whether two weekly windows have a minute of the week in common.
fn overlap(left: WeeklyWindow, right: WeeklyWindow) -> bool {
    const MINUTES_PER_WEEK: u32 = 7 * 24 * 60;
    let starts = |window: WeeklyWindow| {
        window.days.days().map(move |day| {
            u32::from(day.to_monday_zero_offset().unsigned_abs()) * 24 * 60
                + u32::from(window.start_minute)
        })
    };
    starts(left).any(|first| {
        starts(right).any(|second| {
            // Distance forward around the week from one start to the other.
            let forward = (second + MINUTES_PER_WEEK - first) % MINUTES_PER_WEEK;
            let backward = (MINUTES_PER_WEEK - forward) % MINUTES_PER_WEEK;
            forward < u32::from(left.wall_minutes()) || backward < u32::from(right.wall_minutes())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_around_midnight_and_around_the_week() {
        let check = |left: &str, right: &str| {
            let parse = |text| WeeklyWindow::parse(text).unwrap();
            assert_eq!(overlap(parse(left), parse(right)), overlap(parse(right), parse(left)));
            overlap(parse(left), parse(right))
        };
        assert!(check("daily 22:00-06:00", "Mon 05:00-07:00"));
        assert!(!check("daily 22:00-06:00", "daily 06:00-22:00"));
        assert!(check("Sun 23:00-02:00", "Mon 01:00-03:00"));
        assert!(!check("Sun 23:00-02:00", "Mon 02:00-03:00"));
        assert!(check("Mon 08:00-09:00", "Mon-Fri 08:30-08:31"));
    }
}
