//! What the settings of a point change about a question.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::axes::{Mode, Setting};
use crate::demand::History;
use crate::plan::Choice;
use crate::policy::reclaim;
use crate::site::{
    CalendarShape, Deadline, Demand, Site, SiteKind, TransitionStep, TransitionStepKind,
    WorkloadKind,
};
use crate::units::{Picoseconds, RatePerSecond};

/// A question's parts as a point has them.
pub(super) struct Changed {
    pub(super) site: Site,
    pub(super) histories: Vec<(String, History)>,
    pub(super) choice: Choice,
    pub(super) reclaim: Option<reclaim::Rule>,
    /// The time to reclaim is set: what drills have shown does not count.
    pub(super) is_reclaim_time_set: bool,
}

impl Changed {
    /// What stands before any change.
    pub(super) fn new(
        site: &Site,
        histories: &[(String, History)],
        reclaim: Option<reclaim::Rule>,
    ) -> Self {
        Self {
            site: site.clone(),
            histories: histories.to_vec(),
            choice: Choice::Best,
            reclaim,
            is_reclaim_time_set: false,
        }
    }

    /// Changes one thing.
    ///
    /// # Errors
    /// Why it cannot be changed at this site, as a sentence.
    pub(super) fn set(&mut self, setting: &Setting) -> Result<(), String> {
        match setting {
            Setting::Rate(factor) => self.rate(*factor),
            Setting::Gpus(gpus) => return self.gpus(*gpus),
            Setting::ReclaimTime(time) => self.reclaim_time(*time),
            Setting::Reclaim(None) => self.reclaim = None,
            Setting::Reclaim(Some(after)) => {
                let high_for = Picoseconds::from_duration(*after);
                self.reclaim = self.reclaim.map(|rule| reclaim::Rule { high_for, ..rule });
            }
            Setting::Mode(mode) => return self.mode(*mode),
            Setting::Split(gpus) => return self.split(*gpus),
            Setting::First(workload) => return self.first(workload),
            Setting::Shift(hours) => return self.shift(*hours),
            Setting::Window(minutes) => {
                let shape = self.site.operations.calendar.unwrap_or_default();
                let window = Some(Duration::from_mins(u64::from(*minutes)));
                self.site.operations.calendar = Some(CalendarShape { window, ..shape });
            }
        }
        Ok(())
    }

    fn rate(&mut self, factor: f64) {
        for (_, history) in &mut self.histories {
            *history = history.clone().scaled(factor);
        }
        let scale = |rate: &mut RatePerSecond| rate.per_second *= factor;
        for workload in &mut self.site.workloads {
            let WorkloadKind::Inference(inference) = &mut workload.kind else { continue };
            match &mut inference.demand {
                Demand::Poisson { rate }
                | Demand::Gamma { rate, .. }
                | Demand::Constant { rate } => {
                    scale(rate);
                }
                Demand::Ramp { from, to, .. } => {
                    scale(from);
                    scale(to);
                }
                Demand::Table(rows) => rows.iter_mut().for_each(|row| scale(&mut row.rate)),
                // What was observed is in the histories.
                Demand::Trace(_)
                | Demand::Closed { .. }
                | Demand::Query(_)
                | Demand::SavedQuery(_)
                | Demand::Rates(_) => {}
            }
        }
    }

    fn gpus(&mut self, gpus: u32) -> Result<(), String> {
        match &mut self.site.kind {
            SiteKind::Server(server) => {
                server.gpu_count = gpus;
                Ok(())
            }
            SiteKind::Pool(_) => {
                Err("`gpus` counts the GPUs of one server, and this site is a pool".to_owned())
            }
        }
    }

    /// Sets the time in which a lent GPU serves again. The declared steps of the way back keep their
    /// proportions; where none has a time, all of it is the loading of the model.
    fn reclaim_time(&mut self, time: Duration) {
        self.is_reclaim_time_set = true;
        self.site.operations.reclaim_time = Some(time);
        let transition = self.site.operations.transition.get_or_insert_default();
        let steps = &mut transition.to_inference;
        let sum: Duration = steps.iter().filter_map(|step| step.duration).sum();
        if sum.is_zero() {
            let step =
                TransitionStep { kind: TransitionStepKind::ModelReload, duration: Some(time) };
            *steps = vec![step];
            return;
        }
        let factor = time.as_secs_f64() / sum.as_secs_f64();
        for step in steps {
            step.duration = step.duration.map(|duration| duration.mul_f64(factor));
        }
    }

    fn mode(&mut self, mode: Mode) -> Result<(), String> {
        let choice = match mode {
            Mode::Best => return Ok(()),
            Mode::WholeGpu => Choice::Split(None),
            Mode::Temporal => Choice::Lending,
        };
        self.choose(choice)
    }

    fn split(&mut self, gpus: u32) -> Result<(), String> {
        self.choose(Choice::Split(Some(gpus)))
    }

    /// A split says how many GPUs of the split that a mode asks for; with lending it makes no sense.
    fn choose(&mut self, choice: Choice) -> Result<(), String> {
        self.choice = match (self.choice, choice) {
            (Choice::Best, choice) => choice,
            (Choice::Split(fixed), Choice::Split(more)) => Choice::Split(fixed.or(more)),
            _ => {
                return Err(
                    "under `split` each GPU has one owner for good, so nothing is lent in it"
                        .to_owned(),
                );
            }
        };
        Ok(())
    }

    /// Puts one workload before all others: its lateness weighs ten times theirs together, and nobody
    /// of a higher priority is left.
    fn first(&mut self, name: &str) -> Result<(), String> {
        let is_job = |kind: &WorkloadKind| !matches!(kind, WorkloadKind::Inference(_));
        let jobs = self.site.workloads.iter().filter(|workload| is_job(&workload.kind));
        let weights: f64 = jobs.clone().map(|workload| workload.weight.unwrap_or(1.0)).sum();
        let highest = jobs.clone().filter_map(|workload| workload.priority).max().unwrap_or(0);
        let names: Vec<String> = jobs.map(|workload| workload.name.clone()).collect();
        let found = self
            .site
            .workloads
            .iter_mut()
            .find(|workload| workload.name == name && is_job(&workload.kind));
        let Some(workload) = found else {
            return Err(format!(
                "there is no job `{name}` that could go first; there are: {}",
                names.join(", ")
            ));
        };
        workload.weight = Some(10.0 * weights.max(1.0));
        workload.priority = Some(highest.saturating_add(1));
        Ok(())
    }

    fn shift(&mut self, hours: f64) -> Result<(), String> {
        for workload in &mut self.site.workloads {
            let deadline = match &mut workload.kind {
                WorkloadKind::Training(training) => &mut training.objectives.deadline,
                WorkloadKind::Batch(batch) => &mut batch.deadline,
                WorkloadKind::Render(render) => &mut render.job.objectives.deadline,
                WorkloadKind::Inference(_) => continue,
            };
            if let Some(deadline) = deadline {
                *deadline = moved(deadline, hours).ok_or_else(|| {
                    format!("the deadline of {} cannot move by {hours} hours", workload.name)
                })?;
            }
        }
        Ok(())
    }
}

/// A deadline some hours later. One that comes each week moves with the time from which its work may be
/// done, which is the deadline before it.
fn moved(deadline: &Deadline, hours: f64) -> Option<Deadline> {
    Some(match deadline {
        Deadline::At { at, time_zone, start } => {
            let by = SignedDuration::try_from_secs_f64(hours * 3600.0).ok()?;
            let at: Timestamp = at.checked_add(by).ok()?;
            if start.is_some_and(|start| start >= at) {
                return None;
            }
            Deadline::At { at, time_zone: time_zone.clone(), start: *start }
        }
        Deadline::Weekly { days, minute } => {
            const DAY: i64 = 24 * 60;
            let total = i64::from(*minute) + (hours * 60.0).round() as i64;
            Deadline::Weekly {
                days: days.shifted(total.div_euclid(DAY)),
                minute: total.rem_euclid(DAY) as u16,
            }
        }
    })
}
