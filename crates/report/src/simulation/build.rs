//! From a simulated plan to a report.

use cotenant_core::sim::latency::LatencyForecast;
use cotenant_core::sim::world::{GpuTime, SimulatedJob, SimulatedPlan, SimulatedService};
use cotenant_core::units::Picoseconds;
use cotenant_core::verdict::Unit;

use super::{SIMULATION_FORMAT, SIMULATION_VERSION, SimulationReport, latency};
use crate::format;
use crate::model::{Column, Table, Value};

/// Everything that [`build_simulation`] needs.
#[derive(Clone, Copy, Debug)]
pub struct SimulationInputs<'a> {
    /// Name of the site.
    pub site_name: &'a str,
    /// Program and version: `cotenant 0.1.0`.
    pub tool_version: &'a str,
    /// What the plan came to, or why its calendar cannot be carried out.
    pub simulated: Result<&'a SimulatedPlan, &'a str>,
    /// Latencies, for each inference workload or why there are none.
    pub latencies: &'a [Result<LatencyForecast, String>],
    /// What else was assumed, as sentences.
    pub assumed: &'a [String],
    /// Notes on where the histories come from.
    pub notes: &'a [String],
}

/// The report of a simulated plan. The same inputs give an equal report.
pub fn build_simulation(inputs: &SimulationInputs<'_>) -> SimulationReport {
    let simulated = inputs.simulated.ok();
    let part = |of: fn(&SimulatedPlan) -> Table, empty: fn(String) -> Table| match inputs.simulated
    {
        Ok(simulated) => of(simulated),
        Err(why) => empty(why.to_owned()),
    };
    let mut notes = inputs.notes.to_vec();
    notes.extend(inputs.latencies.iter().filter_map(|it| it.as_ref().err().cloned()));
    let mut assumed = simulated.map_or_else(Vec::new, |it| it.assumed.clone());
    assumed.extend_from_slice(inputs.assumed);
    SimulationReport {
        format: SIMULATION_FORMAT.to_owned(),
        version: SIMULATION_VERSION,
        tool: inputs.tool_version.to_owned(),
        site: inputs.site_name.to_owned(),
        origin: "simulated".to_owned(),
        headline: match inputs.simulated {
            Ok(simulated) => headline(simulated),
            Err(why) => format!("No calendar was carried out: {why}."),
        },
        latencies: inputs.latencies.iter().flatten().map(latency::section).collect(),
        weeks: simulated.map_or(0, |it| it.weeks),
        services: part(|it| services(&it.services), |why| Table { empty: why, ..services(&[]) }),
        jobs: part(|it| jobs(&it.jobs), |why| Table { empty: why, ..jobs(&[]) }),
        gpu_time: part(
            |it| gpu_time(&it.gpu_time),
            |why| Table { rows: Vec::new(), empty: why, ..gpu_time(&GpuTime::default()) },
        ),
        assumed,
        notes,
    }
}

fn headline(simulated: &SimulatedPlan) -> String {
    let with_deadline: Vec<f64> =
        simulated.jobs.iter().filter_map(|job| job.on_time_share).collect();
    let always = with_deadline.iter().filter(|share| **share >= 1.0).count();
    let deadlines = match with_deadline.len() {
        0 => "no job has a deadline in it".to_owned(),
        all => format!(
            "{always} of {} held in every one",
            format::plural(all as u64, "deadline", "deadlines")
        ),
    };
    let worst = simulated.services.iter().map(|it| it.short_share_max).fold(0.0, f64::max);
    let inference = if worst > 0.0 {
        format!("inference was short of replicas {} of the worst one", format::share(worst))
    } else {
        "inference never lacked a replica".to_owned()
    };
    let reclaims = match simulated.reclaim_s_max {
        Some(seconds) => format!(
            "; lent GPUs were asked back {:.1} times in one, and served again after at most {}",
            simulated.reclaims,
            format::time(seconds)
        ),
        None => String::new(),
    };
    format!(
        "Carried out in {}: {deadlines}; {inference}{reclaims}. Simulated: no gate passes on it.",
        format::plural(simulated.weeks.into(), "drawn calendar", "drawn calendars")
    )
}

pub(super) fn column(key: &str, title: &str, numeric: bool) -> Column {
    Column { key: key.to_owned(), title: title.to_owned(), numeric }
}

fn share(value: f64) -> Value {
    format::value_with_text(value, "share", format::share(value))
}

fn mean(value: f64, unit: &str) -> Value {
    format::value_with_text(value, unit, format::number(value))
}

fn services(all: &[SimulatedService]) -> Table {
    let row = |it: &SimulatedService| {
        vec![
            Value::words(it.name.clone()),
            share(it.short_share),
            share(it.short_share_max),
            mean(it.starts, "count"),
        ]
    };
    Table {
        key: "services".to_owned(),
        title: "Inference".to_owned(),
        note: "Share of the time in which fewer replicas served than the drawn demand asked for; \
               changes of hands and maintenance count."
            .to_owned(),
        columns: vec![
            column("service", "workload", false),
            column("short_share", "short", true),
            column("short_share_max", "worst one", true),
            column("starts", "starts", true),
        ],
        rows: all.iter().map(row).collect(),
        empty: "the plan has no inference".to_owned(),
    }
}

fn jobs(all: &[SimulatedJob]) -> Table {
    let row = |it: &SimulatedJob| {
        vec![
            Value::words(it.name.clone()),
            it.on_time_share.map_or_else(|| Value::missing("no deadline"), share),
            share(it.done_share),
            mean(it.gpu_hours_kept, "GPU-hours"),
            mean(it.gpu_hours_lost, "GPU-hours"),
            mean(it.stops, "count"),
        ]
    };
    Table {
        key: "jobs".to_owned(),
        title: "Jobs".to_owned(),
        note: "Shares of the drawn calendars, and means of one. Lost are GPU-hours that a job held without \
               keeping work: starts, saves, exits, and steps done again."
            .to_owned(),
        columns: vec![
            column("job", "job", false),
            column("on_time_share", "on time", true),
            column("done_share", "done", true),
            column("gpu_hours_kept", "GPU-h kept", true),
            column("gpu_hours_lost", "GPU-h lost", true),
            column("stops", "stops", true),
        ],
        rows: all.iter().map(row).collect(),
        empty: "the plan has no job".to_owned(),
    }
}

fn gpu_time(time: &GpuTime) -> Table {
    let parts: [(&str, Picoseconds); 5] = [
        ("replicas that serve", time.serving),
        ("replicas that come or go", time.changing),
        ("jobs that work", time.working),
        ("jobs that start, save or leave", time.job_overhead),
        ("nobody, maintenance included", time.free),
    ];
    let total_s = time.total.seconds().max(f64::MIN_POSITIVE);
    let row = |(name, part): (&str, Picoseconds)| {
        vec![
            Value::words(name),
            mean(part.seconds() / 3600.0, "GPU-hours"),
            share(part.seconds() / total_s),
        ]
    };
    let total = format::measured(time.total.seconds(), Unit::Seconds);
    Table {
        key: "gpu_time".to_owned(),
        title: "Where the GPUs' time went".to_owned(),
        note: format!("Means of one drawn calendar, of {} of GPU time in all.", total.text),
        columns: vec![
            column("holder", "held by", false),
            column("gpu_hours", "GPU-hours", true),
            column("share", "share", true),
        ],
        rows: parts.into_iter().map(row).collect(),
        empty: String::new(),
    }
}
