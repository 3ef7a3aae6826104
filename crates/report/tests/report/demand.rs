//! The view of demand and its renderings, on made-up histories.

use std::time::Duration;

use cotenant_core::demand::{
    Arrival, ArrivalOutcome, History, HistoryBuilder, Interval, WorkUnit, forecast, profile,
};
use cotenant_core::plan::Grid;
use cotenant_report::{
    DEMAND_FORMAT, DEMAND_VERSION, DemandInputs, DemandReport, DemandUnit, TerminalOptions,
    build_demand, demand_from_json, demand_schema, demand_to_json, render_demand_terminal,
};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::renderings::{numbers, without_escapes};

const PLAIN: TerminalOptions = TerminalOptions { width: 80, color: false };

/// Of the heads of tables: quantiles, and the hours above the map of the week.
const IN_HEADS: [&str; 11] = ["50", "95", "99", "0", "3", "6", "9", "12", "15", "18", "21"];

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn later(from: Timestamp, seconds: i64) -> Timestamp {
    from.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

/// Requests per second of an hour of the week: offices by day, little at night and at weekends.
fn rate_of(hour_of_week: i64) -> f64 {
    let (day, hour) = (hour_of_week / 24 % 7, hour_of_week % 24);
    let busy = if day < 5 { 1.0 } else { 0.25 };
    // A whole number of eighths, so that sums are exact.
    2.0 + busy * 8.0 * f64::from(u8::from((8..18).contains(&hour))) + 0.125 * (hour % 4) as f64
}

/// Three weeks of means over an hour from Monday 2 November 2026 on, in UTC, with one day without
/// rows and one hour that is unlike the others.
fn weeks() -> History {
    let begins = at("2026-11-02T00:00:00Z");
    let mut builder = HistoryBuilder::new(Some(Duration::from_secs(4)));
    for hour in (0..3 * 7 * 24).filter(|hour| hour / 24 != 9) {
        let factor = if hour == 15 * 24 + 11 { 4.0 } else { 1.0 };
        let start = later(begins, hour * 3600);
        let mut interval = Interval::rate(start, later(start, 3600), rate_of(hour) * factor);
        interval.refused_per_s = Some(if hour % 24 == 10 { 0.5 } else { 0.0 });
        builder.interval(&interval);
    }
    builder.finish().unwrap()
}

/// Twenty minutes of single requests, every third of a second one, with a burst.
fn minutes() -> History {
    let begins = at("2026-11-04T09:00:00Z");
    let mut builder = HistoryBuilder::new(None);
    for second in 0..1200_i64 {
        let requests = if (600..620).contains(&second) { 9 } else { 3 };
        for place in 0..requests {
            let outcome = match (second, place) {
                (610.., 8) => ArrivalOutcome::Refused,
                _ => ArrivalOutcome::Served,
            };
            let served = outcome == ArrivalOutcome::Served;
            builder.arrival(&Arrival {
                at: later(begins, second),
                prompt_tokens: 500 + 10 * (second % 7) as u32,
                output_tokens: if served { 100 } else { 0 },
                outcome,
                service: served.then(|| Duration::from_secs(5)),
            });
        }
    }
    builder.finish().unwrap()
}

struct Sample {
    name: &'static str,
    history: History,
    zone: &'static str,
    known: bool,
    bin_minutes: u32,
}

impl Sample {
    fn report(&self) -> DemandReport {
        let time_zone = TimeZone::get(self.zone).unwrap();
        let units: Vec<DemandUnit> = WorkUnit::WORK
            .into_iter()
            .filter(|unit| self.history.series(*unit).is_some())
            .map(|unit| self.unit(unit, &time_zone))
            .collect();
        build_demand(&DemandInputs {
            sources: &["load/chat.csv".to_owned()],
            workload: Some("chat").filter(|_| self.known),
            history: &self.history,
            units: &units,
            time_zone: &time_zone,
            time_of_week_known: self.known,
            rows: Some(480),
            notes: &["load/chat.csv: its times name no zone and are read as UTC".to_owned()],
            tool_version: "cotenant 0.1.0",
        })
    }

    fn unit(&self, unit: WorkUnit, time_zone: &TimeZone) -> DemandUnit {
        let by = |minutes| profile(&self.history, unit, time_zone, minutes);
        let ends = time_zone.to_datetime(self.history.span().1).date();
        let grid = Grid::new(time_zone.clone(), ends, 7, self.bin_minutes).unwrap();
        let found = forecast(&self.history.series(unit).unwrap(), &grid, 0.05);
        DemandUnit {
            bins: by(self.bin_minutes),
            hours: by(60),
            days: by(24 * 60),
            forecast: found.map(|forecast| (grid, forecast)).map_err(|refusal| refusal.to_string()),
        }
    }
}

fn samples() -> Vec<Sample> {
    let sample = |name, history, zone, known, bin_minutes| Sample {
        name,
        history,
        zone,
        known,
        bin_minutes,
    };
    vec![
        sample("weeks", weeks(), "Europe/Berlin", true, 60),
        sample("unknown-week", weeks(), "UTC", false, 30),
        sample("minutes", minutes(), "America/New_York", true, 60),
    ]
}

#[test]
fn terminal_text_is_as_it_was() {
    for sample in samples() {
        insta::assert_snapshot!(
            format!("demand-terminal-{}", sample.name),
            render_demand_terminal(&sample.report(), &PLAIN)
        );
    }
}

#[test]
fn json_fits_its_schema_and_reads_back() {
    let validator = jsonschema::validator_for(&demand_schema()).unwrap();
    for sample in samples() {
        let report = sample.report();
        let text = demand_to_json(&report);
        let value: Value = serde_json::from_str(&text).unwrap();
        let problems: Vec<_> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:?}", sample.name);
        assert_eq!(value["format"], DEMAND_FORMAT);
        assert_eq!(value["version"], DEMAND_VERSION);
        assert_eq!(demand_from_json(&text).unwrap(), report);
    }
    assert!(!validator.is_valid(&serde_json::json!({ "format": "cotenant-plan" })));
    assert!(demand_from_json(r#"{"format": "cotenant-plan", "version": 1}"#).is_err());
}

#[test]
fn every_number_that_is_shown_is_in_the_json() {
    for sample in samples() {
        let report = sample.report();
        let known = numbers(&demand_to_json(&report));
        let shown = numbers(&render_demand_terminal(&report, &PLAIN));
        let unknown: Vec<_> = shown
            .difference(&known)
            .filter(|number| !IN_HEADS.contains(&number.as_str()))
            .collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", sample.name);
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_colour_only_adds() {
    for sample in samples() {
        let report = sample.report();
        for width in [60, 72, 80, 120] {
            let plain = render_demand_terminal(&report, &TerminalOptions { width, color: false });
            let colored = render_demand_terminal(&report, &TerminalOptions { width, color: true });
            let wide: Vec<_> = plain.lines().filter(|line| line.width() > width).collect();
            assert!(wide.is_empty(), "{} at {width}: {wide:?}", sample.name);
            assert_eq!(without_escapes(&colored), plain);
            assert_ne!(colored, plain);
        }
    }
}

#[test]
fn figures_of_the_week_are_those_of_the_history() {
    let report = samples().swap_remove(0).report();
    let requests = &report.units[0];
    let week = requests.week.as_ref().unwrap();
    // Monday 09:00 in UTC is 10:00 in Berlin, in winter; 9 % 4 is 1: 2 + 8 + 0.125.
    let monday = &week.days[0];
    assert_eq!(monday.label, "Mon");
    assert_eq!(monday.hours[10].clock, "10:00");
    assert_eq!(monday.hours[10].p50.as_ref().unwrap().value, Some(10.125));
    // 10:00 in UTC has half a refused request a second on top: 2 + 8 + 0.25 + 0.5.
    assert_eq!(monday.hours[11].p50.as_ref().unwrap().value, Some(10.75));
    // The hour that is unlike the rest: the third Tuesday, 11:00 in UTC, 4 · (2 + 8 + 0.375).
    assert_eq!(requests.peaks[0].value.value, Some(41.5));
    assert_eq!(requests.peaks[0].at.at, "2026-11-17T11:00:00Z");
    assert_eq!(requests.peaks[0].at.text, "Tue 17 Nov 12:00");
    assert_eq!(requests.outliers[0].at.at, "2026-11-17T11:00:00Z");
    // One day without rows is a gap and not silence.
    assert_eq!(report.gaps.list.len(), 1);
    assert_eq!(report.gaps.total.value, Some(86_400.0));
    let lowest = requests.slots.iter().map(|slot| slot.figures.mean).fold(f64::MAX, f64::min);
    assert!(lowest >= 2.0, "{lowest}");
    // Little's law: four seconds in the engine.
    let in_flight = report.figures.iter().find(|row| row.name == "requests in flight").unwrap();
    assert!((in_flight.max.value.unwrap() - 4.0 * 41.5).abs() < 1e-9);
}

#[test]
fn refused_requests_are_counted_and_shown() {
    let report = samples().swap_remove(2).report();
    // 1,180 seconds of three and 20 of nine.
    assert_eq!(report.requests.all.value, Some(3720.0));
    assert_eq!(report.requests.refused.value, Some(10.0));
    let text = render_demand_terminal(&report, &PLAIN);
    assert!(text.contains("3,720, of which 10 were refused"), "{text}");
    assert_eq!(report.units[0].course.as_ref().unwrap().rows.len(), 20);
    assert!(report.units[0].forecast.is_none());
    assert!(text.contains("No forecast of requests/s"), "{text}");
}

#[test]
fn where_the_time_of_week_is_not_known_no_day_has_a_name() {
    let report = samples().swap_remove(1).report();
    let text = render_demand_terminal(&report, &PLAIN);
    for name in ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Nov"] {
        assert!(!text.contains(name), "{name}\n{text}");
    }
    assert!(text.contains("day 16 11:00"), "{text}");
}
