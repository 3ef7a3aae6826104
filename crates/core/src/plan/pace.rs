//! How fast a job does its work, on how many GPUs, and how much of it there is.

use std::time::Duration;

use super::problem::Mode;
use crate::site::{
    Allocation, Batch, BatchRoute, Checkpoint, CheckpointInterval, Render, Site, Training, Workload,
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
    let (duty, mut remarks) = saving_duty(workload, training.checkpoint.as_ref());
    let alone = duration_alone(training);
    let allocation = workload.allocation;
    let mut modes = declared_modes(training, allocation, normal);
    let work = if modes.is_empty() {
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
    if work.is_none() {
        remarks.push(format!("{}: no amount of work is declared, so it never ends", workload.name));
    }
    Ok(Pace { modes, work, remarks })
}

/// Modes from the throughputs that the site states: scaling is never assumed.
fn declared_modes(training: &Training, allocation: Option<Allocation>, normal: u32) -> Vec<Mode> {
    let minimum = allocation.and_then(|allocation| allocation.minimum_useful).unwrap_or(1.0);
    let gang = allocation.and_then(|allocation| allocation.gang).unwrap_or(false);
    let mut modes: Vec<Mode> = training
        .throughput_alone
        .iter()
        .filter(|at| f64::from(at.gpus) >= minimum && (!gang || at.gpus == normal))
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
fn saving_duty(workload: &Workload, checkpoint: Option<&Checkpoint>) -> (f64, Vec<String>) {
    let Some(checkpoint) = checkpoint else { return (1.0, Vec::new()) };
    let (Some(CheckpointInterval::Time(interval)), Some(duration)) =
        (checkpoint.interval, checkpoint.duration)
    else {
        return (1.0, Vec::new());
    };
    if checkpoint.asynchronous == Some(true) {
        let remark = format!(
            "{}: its checkpoints are asynchronous and counted as free; test B shows what they cost",
            workload.name
        );
        return (1.0, vec![remark]);
    }
    let (interval, duration) = (interval.as_secs_f64(), duration.as_secs_f64());
    (interval / (interval + duration), Vec::new())
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
    Ok(Pace { modes, work: batch.items.map(|items| items as f64), remarks })
}

fn of_render(workload: &Workload, render: &Render) -> Result<Pace, String> {
    let gpus = normal_gpus(workload, None)?;
    let frame = render.frame_time_alone.filter(|time| !time.is_zero()).ok_or_else(|| {
        format!("workloads.{}: render: {{ frame_time_alone: 40 s }}", workload.name)
    })?;
    let modes = vec![Mode { gpus, work_per_hour: 3600.0 / frame.as_secs_f64() }];
    let work = render.frames.map(|frames| frames as f64);
    Ok(Pace { modes, work, remarks: Vec::new() })
}

fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}
