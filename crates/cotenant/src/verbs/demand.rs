//! `cotenant demand`: what the load is, by time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::demand::{
    Forecast, History, Profile, WorkUnit, forecast, history_of_table, profile,
};
use cotenant_core::plan::Grid;
use cotenant_core::site::{Demand, Inference};
use cotenant_probe::clock;
use cotenant_probe::demand::Source;
use cotenant_report::{
    DemandInputs, DemandUnit, TerminalOptions, build_demand, demand_to_json, render_demand_terminal,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::{CheckFormat, DemandOptions, DemandUnitName};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file::{self, SiteFile};
use crate::verbs::histories::read_sources;

/// The share of windows in which demand may lie above a forecast's upper bound.
const ALPHA: f64 = 0.05;

const HOUR_MINUTES: u32 = 60;
const DAY_MINUTES: u32 = 24 * HOUR_MINUTES;

pub(crate) fn run(options: &DemandOptions, printer: &Printer) -> Result<Code, Failure> {
    let minutes = options.bin_minutes;
    if minutes == 0 || !HOUR_MINUTES.is_multiple_of(minutes) {
        return Err(Failure::input(format!(
            "bins of {minutes} min do not fill an hour\n\nhint: --bin-minutes 15, 30 or 60"
        )));
    }
    let asked = match site_among(&options.sources)? {
        Some(site) => of_site(site, options, printer)?,
        None => of_files(options, printer)?,
    };
    let units = units_of(options, &asked.history);
    let shown: Vec<DemandUnit> =
        units.into_iter().map(|unit| look_at(&asked, unit, minutes)).collect();
    let report = build_demand(&DemandInputs {
        sources: &asked.sources,
        workload: asked.workload.as_deref(),
        history: &asked.history,
        units: &shown,
        time_zone: &asked.time_zone,
        time_of_week_known: asked.time_of_week_known,
        rows: asked.rows,
        notes: &asked.notes,
        tool_version: concat!("cotenant ", env!("CARGO_PKG_VERSION")),
    });
    let text = match options.format {
        CheckFormat::Json => demand_to_json(&report),
        CheckFormat::Text => {
            render_demand_terminal(&report, &TerminalOptions { width: 80, color: printer.color() })
        }
    };
    printer.data(&text)?;
    Ok(Code::Answered)
}

/// A history, and how it is to be looked at.
struct Asked {
    sources: Vec<String>,
    workload: Option<String>,
    history: History,
    rows: Option<u64>,
    notes: Vec<String>,
    time_zone: TimeZone,
    time_of_week_known: bool,
}

/// The site file, where it is the source.
fn site_among(sources: &[PathBuf]) -> Result<Option<&Path>, Failure> {
    let is_site = |path: &&PathBuf| {
        path.extension().is_some_and(|ending| {
            ending.eq_ignore_ascii_case("yaml") || ending.eq_ignore_ascii_case("yml")
        })
    };
    match (sources.iter().find(is_site), sources.len()) {
        (Some(site), 2..) => Err(Failure::input(format!(
            "{} is a site file and stands beside other sources\n\nhint: name the site file alone, \
             with --workload NAME",
            site.display()
        ))),
        (site, _) => Ok(site.map(PathBuf::as_path)),
    }
}

fn of_files(options: &DemandOptions, printer: &Printer) -> Result<Asked, Failure> {
    if let Some(workload) = &options.workload {
        return Err(Failure::input(format!(
            "--workload {workload} names a workload of a site file, and no source is one\n\nhint: \
             cotenant demand site.yaml --workload {workload}"
        )));
    }
    let mut sources = Vec::with_capacity(options.sources.len());
    for path in &options.sources {
        let found = Source::of_file(path).map_err(|error| Failure::input(error.to_string()))?;
        sources.push(with_begins(found, options.begins)?);
    }
    let time_zone = zone(options)?.unwrap_or(TimeZone::UTC);
    let service = options.service_seconds.map(Duration::from_secs_f64);
    let read = read_sources(&sources, service, *printer)?;
    Ok(told(Asked {
        sources: sources.iter().map(Source::name).collect(),
        workload: None,
        history: read.history,
        rows: Some(read.rows),
        notes: read.notes,
        time_zone,
        time_of_week_known: read.time_of_week_known,
    }))
}

/// The source with its origin at an instant.
fn with_begins(source: Source, begins: Option<Timestamp>) -> Result<Source, Failure> {
    let Some(begins) = begins else { return Ok(source) };
    match source {
        Source::Trace(mut trace) => {
            trace.begins = Some(begins);
            Ok(Source::Trace(trace))
        }
        Source::Rates(mut rates) => {
            rates.begins = Some(begins);
            Ok(Source::Rates(rates))
        }
        Source::SavedQuery(_) | Source::Query(_) => Err(Failure::input(format!(
            "--begins shifts times that are relative, and those of {} are Unix time\n\nhint: leave \
             --begins out",
            source.name()
        ))),
    }
}

fn of_site(site: &Path, options: &DemandOptions, printer: &Printer) -> Result<Asked, Failure> {
    if options.begins.is_some() {
        return Err(Failure::input(
            "--begins has no meaning beside a site file\n\nhint: declare `begins` in the demand of \
             the workload",
        ));
    }
    let file = site_file::read(site, printer)?;
    let (name, inference) = chosen(&file, options.workload.as_deref())?;
    let time_zone = zone(options)?.unwrap_or_else(|| file.site.time_zone.clone());
    let declared = options.service_seconds.map(Duration::from_secs_f64);
    let service = declared.or(inference.service_time);
    if let Demand::Table(rows) = &inference.demand {
        let today = time_zone.to_datetime(clock::wall_clock()).date();
        let history = Grid::new(time_zone.clone(), today, 7, options.bin_minutes)
            .ok_or_else(|| Failure::Bug("the calendar has no week from today on".to_owned()))
            .and_then(|grid| {
                history_of_table(rows, &grid, service).map_err(|refusal| {
                    Failure::input(format!("{}: {name}: {refusal}", file.name()))
                })
            })?;
        return Ok(Asked {
            sources: vec![file.name()],
            workload: Some(name),
            history,
            rows: None,
            notes: Vec::new(),
            time_zone,
            time_of_week_known: true,
        });
    }
    let Some(source) = Source::of(&inference.demand, &file.folder()) else {
        return Err(Failure::input(format!(
            "{}: the demand of {name} is declared for a test, and not by time\n\nhint: declare \
             `trace`, `rates`, `saved_query`, `query` or `table` as its demand",
            file.name()
        )));
    };
    let read = read_sources(std::slice::from_ref(&source), service, *printer)?;
    Ok(told(Asked {
        sources: vec![source.name()],
        workload: Some(name),
        history: read.history,
        rows: Some(read.rows),
        notes: read.notes,
        time_zone,
        time_of_week_known: read.time_of_week_known,
    }))
}

/// The workload that is named, or the only one.
fn chosen<'a>(
    file: &'a SiteFile,
    workload: Option<&str>,
) -> Result<(String, &'a Inference), Failure> {
    let all: Vec<_> = file.site.inference().collect();
    let found = match (workload, &all[..]) {
        (None, [one]) => Some(*one),
        (None, _) => None,
        (Some(name), _) => all.iter().copied().find(|(workload, _)| workload.name == name),
    };
    if let Some((workload, inference)) = found {
        return Ok((workload.name.clone(), inference));
    }
    let names: Vec<&str> = all.iter().map(|(workload, _)| workload.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(Failure::input(match workload {
        Some(name) => format!(
            "{} has no inference workload named {name}\n\nhint: its inference workloads: {names}",
            file.name()
        ),
        None => format!(
            "{} does not say by itself whose demand is meant\n\nhint: --workload NAME; its \
             inference workloads: {names}",
            file.name()
        ),
    }))
}

fn zone(options: &DemandOptions) -> Result<Option<TimeZone>, Failure> {
    let Some(name) = &options.time_zone else { return Ok(None) };
    let found = TimeZone::get(name).map_err(|_| {
        Failure::input(format!(
            "{name} is no time zone\n\nhint: a name of the IANA database, for example Europe/Berlin \
             or UTC"
        ))
    })?;
    Ok(Some(found))
}

/// Where the time of week is not known no zone means anything: hours count from the source's zero.
fn told(mut asked: Asked) -> Asked {
    if !asked.time_of_week_known {
        asked.time_zone = TimeZone::UTC;
    }
    asked
}

/// The units that were asked for, else requests and whatever else the history can show.
fn units_of(options: &DemandOptions, history: &History) -> Vec<WorkUnit> {
    let mut units = Vec::new();
    for name in &options.unit {
        let unit = match name {
            DemandUnitName::Requests => WorkUnit::Requests,
            DemandUnitName::InFlight => WorkUnit::RequestsInFlight,
            DemandUnitName::Kv => WorkUnit::KvTokens,
            DemandUnitName::Prefill => WorkUnit::Prefill,
            DemandUnitName::Output => WorkUnit::Output,
        };
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    if units.is_empty() {
        units.extend(WorkUnit::WORK.into_iter().filter(|unit| history.series(*unit).is_some()));
    }
    units
}

fn look_at(asked: &Asked, unit: WorkUnit, bin_minutes: u32) -> DemandUnit {
    let by = |minutes: u32| -> Profile { profile(&asked.history, unit, &asked.time_zone, minutes) };
    let hours = by(HOUR_MINUTES);
    DemandUnit {
        bins: if bin_minutes == HOUR_MINUTES { hours.clone() } else { by(bin_minutes) },
        hours,
        days: by(DAY_MINUTES),
        forecast: week_after(asked, unit, bin_minutes),
    }
}

/// The forecast of the seven days from the end of the history on.
fn week_after(
    asked: &Asked,
    unit: WorkUnit,
    window_minutes: u32,
) -> Result<(Grid, Forecast), String> {
    let history = &asked.history;
    let series = history.series(unit).ok_or_else(|| history.why_not(unit))?;
    let ends = history.span().1;
    let today = asked.time_zone.to_datetime(ends).date();
    // Seven days from any time of the first day on touch eight days.
    let mut grid = Grid::new(asked.time_zone.clone(), today, 8, window_minutes)
        .ok_or("the history ends beyond the calendar")?;
    grid.windows.retain(|window| window.start >= ends);
    grid.windows.truncate((7 * DAY_MINUTES / window_minutes) as usize);
    let found = forecast(&series, &grid, ALPHA).map_err(|refusal| refusal.to_string())?;
    Ok((grid, found))
}
