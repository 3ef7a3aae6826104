//! How fast a job does its work, on how many GPUs, and how much of it there is.

use std::time::Duration;

use super::problem::Mode;
use crate::site::{
    Allocation, Batch, BatchRoute, CheckpointInterval, Render, Site, Training, Workload,
    WorkloadKind,
};

/// How fast a job does its work.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// The ways in which it may run, by GPUs ascending. Never empty.
    pub modes: Vec<Mode>,
    /// Work of one job in the modes' unit; `None` where it never ends.
    pub work: Option<f64>,
    /// What a reader must know about it.
    pub remarks: Vec<String>,
}

/// The pace of a job, or the line of the site file that is missing to know it.
pub fn pace(site: &Site, workload: &Workload) -> Result<Pace, String> {
    match &workload.kind {
        WorkloadKind::Training(training) => of_training(workload, training),
        WorkloadKind::Batch(batch) => of_batch(site, workload, batch),
        WorkloadKind::Render(render) => of_render(workload, render),
        WorkloadKind::Inference(_) => Err(format!("{} is inference, not a job", workload.name)),
    }
}

/// GPUs of a whole job: what it is normally given, else what its parallelism needs.
fn normal_gpus(workload: &Workload, training: Option<&Training>) -> Result<u32, String> {
    let declared = workload.allocation.and_then(|allocation| allocation.normal);
    let parallel =
        training.and_then(|training| training.parallelism.as_ref()).map(|p| f64::from(p.gpus()));
    match declared.or(parallel) {
        Some(gpus) if gpus > 0.0 => Ok(gpus.ceil() as u32),
        _ => Err(format!("workloads.{}: allocation: {{ normal: 2 }}", workload.name)),
    }
}

fn of_training(workload: &Workload, training: &Training) -> Result<Pace, String> {
    let normal = normal_gpus(workload, Some(training))?;
    let (duty, mut remarks) = saving_duty(workload, training);
    let alone = duration_alone(training);
    let allocation = workload.allocation;
    let mut modes = declared_modes(training, allocation, normal);
    let work = if modes.is_empty() {
        remarks.extend(not_at_normal(workload, training, normal));
        // Without throughputs only the normal allocation is known, and its own time is the unit.
        modes = vec![Mode { gpus: normal, work_per_hour: 1.0 }];
        if alone.is_none() && (training.steps.is_some() || training.work.is_some()) {
            return Err(format!(
                "workloads.{}: training: {{ duration: 5 h }}, or step_time_alone with steps",
                workload.name
            ));
        }
        alone.map(hours)
    } else {
        declared_work(workload, training, alone, normal)?
    };
    for mode in &mut modes {
        mode.work_per_hour *= duty;
    }
    remarks.extend(never_ends(workload, work));
    Ok(Pace { modes, work, remarks })
}

/// What is to be said of work without an amount.
fn never_ends(workload: &Workload, work: Option<f64>) -> Option<String> {
    work.is_none()
        .then(|| format!("{}: no amount of work is declared, so it never ends", workload.name))
}

/// What is to be said where throughputs are stated, and none for an allocation that it may have.
fn not_at_normal(workload: &Workload, training: &Training, normal: u32) -> Option<String> {
    (!training.throughput_alone.is_empty()).then(|| {
        format!(
            "{}: it has {normal} GPUs, for which `throughput_alone` says nothing; only its time \
             alone counts there",
            workload.name
        )
    })
}

/// Modes from the throughputs that the site states, up to the normal allocation: scaling is never
/// assumed, and nobody is given more than what is normal for it.
fn declared_modes(training: &Training, allocation: Option<Allocation>, normal: u32) -> Vec<Mode> {
    let minimum = allocation.and_then(|allocation| allocation.minimum_useful).unwrap_or(1.0);
    let gang = allocation.and_then(|allocation| allocation.gang).unwrap_or(false);
    let mut modes: Vec<Mode> = training
        .throughput_alone
        .iter()
        .filter(|at| f64::from(at.gpus) >= minimum && at.gpus <= normal)
        .filter(|at| !gang || at.gpus == normal)
        .map(|at| Mode { gpus: at.gpus, work_per_hour: at.throughput.per_second * 3600.0 })
        .collect();
    modes.sort_by_key(|mode| mode.gpus);
    modes.dedup_by_key(|mode| mode.gpus);
    modes
}

/// Work of one job in the unit of its throughputs; `None` where none is declared at all.
fn declared_work(
    workload: &Workload,
    training: &Training,
    alone: Option<Duration>,
    normal: u32,
) -> Result<Option<f64>, String> {
    let unit = training.throughput_alone.first().map(|at| at.throughput.unit.as_str());
    if let Some(work) = &training.work
        && Some(work.unit.as_str()) == unit
    {
        return Ok(Some(work.amount as f64));
    }
    let Some(alone) = alone else {
        if training.steps.is_none() && training.work.is_none() {
            return Ok(None);
        }
        return Err(format!(
            "workloads.{}: training: {{ duration: 5 h }}: the time of one job alone on {normal} GPUs",
            workload.name
        ));
    };
    let at_normal = training.throughput_alone.iter().find(|at| at.gpus == normal);
    match at_normal {
        Some(at) => Ok(Some(at.throughput.per_second * alone.as_secs_f64())),
        None => Err(format!(
            "workloads.{}: throughput_alone on its normal {normal} GPUs",
            workload.name
        )),
    }
}

/// Time of one job alone on its normal allocation.
fn duration_alone(training: &Training) -> Option<Duration> {
    let from_steps = || {
        let steps = training.steps? as f64;
        let step = training.step_time_alone?.as_secs_f64();
        Duration::try_from_secs_f64(steps * step).ok()
    };
    training.duration.or_else(from_steps)
}

/// The share of the time that is left for work beside checkpoints that stop it.
fn saving_duty(workload: &Workload, training: &Training) -> (f64, Vec<String>) {
    let Some(checkpoint) = &training.checkpoint else { return (1.0, Vec::new()) };
    let (Some(every), Some(duration)) = (checkpoint.interval, checkpoint.duration) else {
        return (1.0, Vec::new());
    };
    if checkpoint.asynchronous == Some(true) {
        let remark = format!(
            "{}: its checkpoints are asynchronous and counted as free; test B shows what they cost",
            workload.name
        );
        return (1.0, vec![remark]);
    }
    let interval = match (every, training.step_time_alone) {
        (CheckpointInterval::Time(interval), _) => interval.as_secs_f64(),
        (CheckpointInterval::Steps(steps), Some(step)) => steps as f64 * step.as_secs_f64(),
        (CheckpointInterval::Steps(_), None) => {
            let remark = format!(
                "{}: its checkpoints come by steps whose time is not declared (`step_time_alone`), \
                 and are counted as free",
                workload.name
            );
            return (1.0, vec![remark]);
        }
    };
    let whole = interval + duration.as_secs_f64();
    (if whole > 0.0 { interval / whole } else { 1.0 }, Vec::new())
}

fn of_batch(site: &Site, workload: &Workload, batch: &Batch) -> Result<Pace, String> {
    let throughput = batch.throughput_alone.as_ref().ok_or_else(|| {
        format!("workloads.{}: batch: {{ throughput_alone: 40 items/s }}", workload.name)
    })?;
    let mut remarks = Vec::new();
    let gpus = match &batch.route {
        BatchRoute::Job(_) => normal_gpus(workload, None)?,
        BatchRoute::Serving(engine) => {
            let replica = site
                .inference()
                .find(|(inference, _)| &inference.name == engine)
                .and_then(|(_, inference)| inference.capacity.as_ref())
                .map(|capacity| capacity.gpus.ceil() as u32);
            remarks.push(format!(
                "{}: it runs as requests of {engine}; the calendar gives it replicas of their own, \
                 and what spare room inside of {engine}'s replicas can carry is not counted",
                workload.name
            ));
            match replica {
                Some(gpus) => gpus.max(1),
                None => normal_gpus(workload, None)?,
            }
        }
    };
    let modes = vec![Mode { gpus, work_per_hour: throughput.per_second * 3600.0 }];
    let work = batch.items.map(|items| items as f64);
    remarks.extend(never_ends(workload, work));
    Ok(Pace { modes, work, remarks })
}

fn of_render(workload: &Workload, render: &Render) -> Result<Pace, String> {
    let gpus = normal_gpus(workload, None)?;
    let frame = render.job.step_time_alone.filter(|time| !time.is_zero()).ok_or_else(|| {
        format!("workloads.{}: render: {{ frame_time_alone: 40 s }}", workload.name)
    })?;
    let modes = vec![Mode { gpus, work_per_hour: 3600.0 / frame.as_secs_f64() }];
    let work = render.job.steps.map(|frames| frames as f64);
    Ok(Pace { modes, work, remarks: never_ends(workload, work).into_iter().collect() })
}

/// A length of time in hours.
pub(super) fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}
