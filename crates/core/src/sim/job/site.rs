//! From a workload of a site and its occurrence in a plan to a job of the simulator.

use std::time::Duration;

use super::spec::{Every, JobSpec, Pace, Saving};
use crate::plan::Occurrence;
use crate::site::{Checkpoint, CheckpointInterval, LostWork, Training, Workload, WorkloadKind};
use crate::units::Picoseconds;

/// Units into which work is cut that is not counted in steps, items or frames.
const UNITS_OF_WORK: u64 = 1000;

impl JobSpec {
    /// A job of a site as a plan has it, and what was assumed for want of a declaration. `deadline`
    /// is an instant on the simulator's clock.
    ///
    /// Where the site says how many steps a training has and how long one takes, they are its units,
    /// and it saves and loses as declared. Else its work is cut into equal parts at the plan's pace,
    /// which holds what saving costs; each part is then kept.
    ///
    /// A plan's start and stop are the whole change of hands; `engine` is the engine's part of the
    /// two, which is not the job's.
    pub fn of_site(
        workload: &Workload,
        occurrence: &Occurrence,
        deadline: Option<Picoseconds>,
        engine: (Picoseconds, Picoseconds),
    ) -> (Self, Vec<String>) {
        let plan = &occurrence.job;
        let units = match &workload.kind {
            WorkloadKind::Batch(batch) => batch.items,
            WorkloadKind::Render(render) => render.job.steps,
            WorkloadKind::Training(_) | WorkloadKind::Inference(_) => None,
        };
        let mut job = Self::of_plan(plan, units.unwrap_or(UNITS_OF_WORK), deadline);
        job.start = job.start - engine.0;
        job.stop.exit = job.stop.exit - engine.1;
        let among_32_bits = |it: i64| it.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        job.priority = workload.priority.map_or(0, among_32_bits);
        let mut assumed = Vec::new();
        if let Some(training) = workload.job() {
            job.mean_time_to_loss = training
                .preemption
                .as_ref()
                .and_then(|preemption| preemption.mean_time_to_loss)
                .map(Picoseconds::from_duration);
            job.stop.notice = training
                .preemption
                .as_ref()
                .and_then(|it| it.notice)
                .map(Picoseconds::from_duration);
        }
        if let WorkloadKind::Training(training) = &workload.kind {
            match step_time(training) {
                Some((steps, step)) => {
                    job.count_steps(&workload.name, training, (steps, step), &mut assumed);
                }
                None => assumed.push(format!(
                    "{}: its work is cut into {UNITS_OF_WORK} parts, each of which is kept, since \
                     `steps` and `step_time_alone` are not declared",
                    workload.name
                )),
            }
        }
        (job, assumed)
    }

    /// Counts in steps, and saves and stops as declared.
    fn count_steps(
        &mut self,
        name: &str,
        training: &Training,
        (steps, step): (u64, Picoseconds),
        assumed: &mut Vec<String>,
    ) {
        // The time of a step is that on the most GPUs, its normal allocation; on fewer it is as much
        // longer as the plan's pace there is slower.
        let normal = self.paces.iter().map(|pace| pace.unit).min().unwrap_or(step);
        let scaled = |pace: &Pace| Pace { unit: step.scaled(pace.unit.0, normal.0), ..*pace };
        self.paces = self.paces.iter().map(scaled).collect();
        self.units = self.units.map(|_| steps);
        let lost = training.preemption.as_ref().and_then(|preemption| preemption.lost_work);
        self.saving = saving(training.checkpoint.as_ref(), name, assumed);
        self.stop.finishes_unit = true;
        self.stop.saves = match lost {
            Some(LostWork::None) => true,
            Some(_) => false,
            // Who can be asked for a save is asked for one.
            None => training.checkpoint.as_ref().is_some_and(|it| it.signal.is_some()),
        };
        if matches!(lost, Some(LostWork::Steps(_) | LostWork::Time(_))) {
            assumed.push(format!(
                "{name}: a stop loses what was done since the last save, whatever `lost_work` says"
            ));
        }
        let checkpoint = training.checkpoint.as_ref();
        if let Some(resume) = checkpoint.and_then(|checkpoint| checkpoint.resume_duration) {
            self.start = Picoseconds::from_duration(resume);
        }
        // The plan's stop holds the save, which the simulation reckons with itself.
        if self.stop.saves {
            self.stop.exit = self.stop.exit - self.save_time();
        }
    }
}

/// Steps and the time of one; `None` where either is unknown.
fn step_time(training: &Training) -> Option<(u64, Picoseconds)> {
    let steps = training.steps.filter(|steps| *steps > 0)?;
    let of_whole = |whole: Duration| whole.as_secs_f64() / steps as f64;
    let step_s = training
        .step_time_alone
        .map(|step| step.as_secs_f64())
        .or_else(|| training.duration.map(of_whole))?;
    Some((steps, Picoseconds::from_seconds(step_s).max(Picoseconds(1))))
}

fn saving(checkpoint: Option<&Checkpoint>, name: &str, assumed: &mut Vec<String>) -> Saving {
    let duration = checkpoint.and_then(|checkpoint| checkpoint.duration);
    let interval = checkpoint.and_then(|checkpoint| checkpoint.interval);
    let Some(cost) = duration.map(Picoseconds::from_duration) else {
        if interval.is_some() {
            assumed.push(format!(
                "{name}: its checkpoints take no time, since `checkpoint.duration` is not declared"
            ));
        }
        return match interval.map(every) {
            Some(every) => Saving::Blocking { every, cost: Picoseconds::ZERO },
            None => Saving::Never,
        };
    };
    // Without an interval it saves only when it is told to stop and at its end.
    let every = interval.map_or(Every::Units(u64::MAX), every);
    if checkpoint.and_then(|checkpoint| checkpoint.asynchronous) == Some(true) {
        assumed.push(format!(
            "{name}: its checkpoints neither halt nor slow its steps, since nothing declares by how \
             much an asynchronous one does"
        ));
        let (stall, slowed_ppm) = (Picoseconds::ZERO, super::ONE_PPM);
        return Saving::Asynchronous { every, stall, write: cost, slowed_ppm };
    }
    Saving::Blocking { every, cost }
}

fn every(interval: CheckpointInterval) -> Every {
    match interval {
        CheckpointInterval::Steps(steps) => Every::Units(steps),
        CheckpointInterval::Time(time) => Every::Time(Picoseconds::from_duration(time)),
    }
}
