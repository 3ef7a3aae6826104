//! What a job that must be done by a time asks for, at the best efficiency that is declared.

use std::time::Duration;

use super::draft::{line_of, number};
use crate::site::{Batch, BatchRoute, Deadline, Render, Training, Workload, WorkloadKind};

/// A way in which a job may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    /// GPUs that it holds; 0 for work that runs through somebody else's engine.
    pub(super) gpus: f64,
    /// Time of the whole job on them, hours.
    pub(super) hours: f64,
}

/// A job with a deadline.
#[derive(Clone, Debug)]
pub(super) struct Job<'a> {
    pub(super) name: &'a str,
    pub(super) deadline: &'a Deadline,
    /// Every way whose throughput is declared. Never empty.
    pub(super) ways: Vec<Way>,
    /// Jobs in a week, where more or fewer than one for each deadline.
    pub(super) per_week: Option<f64>,
    /// How the work was computed.
    pub(super) how: String,
}

impl Job<'_> {
    /// GPU-hours at the best efficiency.
    pub(super) fn gpu_hours(&self) -> f64 {
        self.ways.iter().map(|way| way.gpus * way.hours).fold(f64::INFINITY, f64::min)
    }

    /// The shortest time of the whole job on at most this many GPUs; `None` where no way fits.
    pub(super) fn hours_on(&self, gpus: f64) -> Option<f64> {
        let fit = self.ways.iter().filter(|way| way.gpus <= gpus);
        fit.map(|way| way.hours).reduce(f64::min)
    }

    /// The fewest GPUs of any way.
    pub(super) fn gpus_min(&self) -> f64 {
        self.ways.iter().map(|way| way.gpus).fold(f64::INFINITY, f64::min)
    }
}

/// The job of a workload with a deadline, or the lines of the site file that would give it. `None`
/// where there is no deadline. On a machine without GPUs only time counts.
pub(super) fn job(workload: &Workload, has_gpus: bool) -> Option<Result<Job<'_>, Vec<String>>> {
    let normal = workload.allocation.and_then(|allocation| allocation.normal);
    let normal = if has_gpus { normal } else { Some(0.0) };
    let found = match &workload.kind {
        WorkloadKind::Inference(_) => None,
        WorkloadKind::Training(training) => of_training(workload, training, normal),
        WorkloadKind::Batch(batch) => of_batch(workload, batch, normal),
        WorkloadKind::Render(render) => of_render(workload, render, normal),
    };
    found.map(|found| {
        found.map(|mut job| {
            for way in job.ways.iter_mut().filter(|_| !has_gpus) {
                way.gpus = 0.0;
            }
            job
        })
    })
}

/// `on 4 GPUs`, or nothing where there are none.
fn on_gpus(gpus: f64) -> String {
    if gpus > 0.0 { format!(" on {} GPUs", number(gpus, 2)) } else { String::new() }
}

fn of_training<'a>(
    workload: &'a Workload,
    training: &'a Training,
    normal: Option<f64>,
) -> Option<Result<Job<'a>, Vec<String>>> {
    let deadline = training.objectives.deadline.as_ref()?;
    let normal = normal.or(training.parallelism.as_ref().map(|it| f64::from(it.gpus())));
    let Some((ways, how)) = ways_of_training(training, normal) else {
        let no_gpus = normal.is_none().then_some("allocation: { normal: … }");
        let no_work = "training: { duration: … h }, or { steps: …, step_time_alone: … s }";
        let lines = no_gpus.into_iter().chain([no_work]);
        return Some(Err(lines.map(|line| line_of(&workload.name, line)).collect()));
    };
    let per_week = training.jobs_per_week;
    Some(Ok(Job { name: &workload.name, deadline, ways, per_week, how }))
}

/// Throughput on several numbers of GPUs gives a way each: work that is named in the same unit
/// directly, steps and durations by what the normal allocation does.
fn ways_of_training(training: &Training, normal: Option<f64>) -> Option<(Vec<Way>, String)> {
    if let Some(work) = &training.work {
        let rows = training.throughput_alone.iter();
        let ways: Vec<Way> = rows
            .filter(|row| row.throughput.unit == work.unit && row.throughput.per_second > 0.0)
            .map(|row| Way {
                gpus: f64::from(row.gpus),
                hours: work.amount as f64 / row.throughput.per_second / 3600.0,
            })
            .collect();
        if !ways.is_empty() {
            let amount = crate::units::format_count(work.amount);
            return Some((ways, format!("{amount} {} ÷ declared throughput", work.unit)));
        }
    }
    let gpus = normal?;
    let by_steps = training.steps.zip(training.step_time_alone);
    let (hours, how) = match (by_steps, training.duration) {
        (Some((steps, step)), _) => (
            steps as f64 * step.as_secs_f64() / 3600.0,
            format!(
                "{} steps × {}",
                crate::units::format_count(steps),
                crate::units::format_duration(step)
            ),
        ),
        (None, Some(duration)) => (hours(duration), "declared duration".to_owned()),
        (None, None) => return None,
    };
    let how = format!("{how}{}", on_gpus(gpus));
    let base =
        training.throughput_alone.iter().find(|row| (f64::from(row.gpus) - gpus).abs() < 1e-9);
    let Some(base) = base.filter(|base| base.throughput.per_second > 0.0) else {
        return Some((vec![Way { gpus, hours }], how));
    };
    let same = training.throughput_alone.iter().filter(|row| {
        row.throughput.unit == base.throughput.unit && row.throughput.per_second > 0.0
    });
    let ways = same
        .map(|row| Way {
            gpus: f64::from(row.gpus),
            hours: hours * base.throughput.per_second / row.throughput.per_second,
        })
        .collect();
    Some((ways, how))
}

fn hours(duration: Duration) -> f64 {
    duration.as_secs_f64() / 3600.0
}

fn of_batch<'a>(
    workload: &'a Workload,
    batch: &'a Batch,
    normal: Option<f64>,
) -> Option<Result<Job<'a>, Vec<String>>> {
    let deadline = batch.deadline.as_ref()?;
    let throughput = batch.throughput_alone.as_ref().filter(|rate| rate.per_second > 0.0);
    let (Some(items), Some(throughput)) = (batch.items, throughput) else {
        let line = "batch: { items: …, throughput_alone: … items/s }";
        return Some(Err(vec![line_of(&workload.name, line)]));
    };
    let gpus = match batch.route {
        BatchRoute::Serving(_) => 0.0,
        BatchRoute::Job(_) => match normal {
            Some(gpus) => gpus,
            None => return Some(Err(vec![line_of(&workload.name, "allocation: { normal: … }")])),
        },
    };
    let hours = items as f64 / throughput.per_second / 3600.0;
    let how = format!("{} items ÷ {throughput}", crate::units::format_count(items));
    let ways = vec![Way { gpus, hours }];
    Some(Ok(Job { name: &workload.name, deadline, ways, per_week: None, how }))
}

fn of_render<'a>(
    workload: &'a Workload,
    render: &'a Render,
    normal: Option<f64>,
) -> Option<Result<Job<'a>, Vec<String>>> {
    let deadline = render.job.objectives.deadline.as_ref()?;
    let (Some(frames), Some(time), Some(gpus)) =
        (render.job.steps, render.job.step_time_alone, normal)
    else {
        let line = "allocation: { normal: … }, render: { frames: …, frame_time_alone: … s }";
        return Some(Err(vec![line_of(&workload.name, line)]));
    };
    let how = format!("{frames} frames × {}{}", crate::units::format_duration(time), on_gpus(gpus));
    let ways = vec![Way { gpus, hours: frames as f64 * hours(time) }];
    Some(Ok(Job { name: &workload.name, deadline, ways, per_week: None, how }))
}
