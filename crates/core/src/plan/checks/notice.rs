//! Does a job save within its notice, and what does it lose where it does not?

use std::time::Duration;

use super::draft::{line_of, number, open, quoted};
use crate::plan::model::{Check, Outcome};
use crate::site::{
    CheckpointInterval, LostWork, Preemption, Signal, Site, Training, TransitionStepKind, Workload,
};
use crate::stats::{checkpoint_overhead, daly_interval, young_interval};
use crate::units;

pub(super) fn checks(site: &Site) -> Vec<Check> {
    site.training()
        .filter_map(|(workload, training)| {
            let preemption = training.preemption.as_ref().filter(|it| it.allowed)?;
            Some(Question { site, workload, training, preemption }.check())
        })
        .collect()
}

struct Question<'a> {
    site: &'a Site,
    workload: &'a Workload,
    training: &'a Training,
    preemption: &'a Preemption,
}

impl Question<'_> {
    fn check(&self) -> Check {
        let name = quoted(&self.workload.name);
        let title = format!("Does {name} save before it is stopped by force?");
        let mut check = open("notice", title, vec![self.workload.name.clone()]);
        check.sources = vec![
            "announced stop: p99 of the checkpoint under contention + drain < notice \
             (ray-project/ray#63968: 120 s and 30 s are common notices)",
            "Young, CACM 1974: T = √(2CM)",
            "Daly, Future Generation Computer Systems 2006: the higher-order interval and the exact \
             overhead",
        ];
        let duration = self.duration();
        let fits = duration.and_then(|duration| self.fits(duration, &mut check));
        let is_last_word = self.preemption.signal == Some(Signal::Kill);
        match (duration, fits) {
            (None, _) => {
                check.answer = "cannot be decided: the time of a checkpoint is not declared".into();
                check.missing.push(self.line("training: { checkpoint: { duration: … s } }"));
            }
            (Some(_), None) => {
                check.answer = "cannot be decided: the notice is not declared".into();
                check.missing.push(self.line("training: { preemption: { notice: … s } }"));
            }
            (Some(duration), Some(Outcome::Fails)) => self.does_not_fit(duration, &mut check),
            (Some(duration), Some(_)) if is_last_word => {
                check.arithmetic.push("the signal is KILL: no job can react to it".to_owned());
                self.does_not_fit(duration, &mut check);
            }
            (Some(_), Some(Outcome::Open)) => {
                check.answer =
                    "the checkpoint alone fits; how long the step before it still runs is \
                                not declared"
                        .into();
                check.missing.push(self.line("training: { step_time_alone: … s }"));
            }
            (Some(_), Some(Outcome::Holds)) => {
                check.outcome = Outcome::Holds;
                check.answer = format!("{name} saves within its notice");
            }
        }
        if let Some(duration) = duration {
            self.unannounced(duration, &mut check);
        }
        check
    }

    fn line(&self, yaml: &str) -> String {
        line_of(&self.workload.name, yaml)
    }

    /// The longest time of a checkpoint that the file names.
    fn duration(&self) -> Option<Duration> {
        let declared = self.training.checkpoint.as_ref().and_then(|it| it.duration);
        declared.max(self.step(TransitionStepKind::Checkpoint))
    }

    /// A declared step of the way back to inference.
    fn step(&self, kind: TransitionStepKind) -> Option<Duration> {
        let transition = self.site.operations.transition.as_ref()?;
        transition.to_inference.iter().find(|step| step.kind == kind)?.duration
    }

    /// Whether the rest of a step, a drain and the save fit into the notice.
    fn fits(&self, duration: Duration, check: &mut Check) -> Option<Outcome> {
        let notice = self.preemption.notice?;
        let drain = self.step(TransitionStepKind::Drain).unwrap_or(Duration::ZERO);
        let step = self.training.step_time_alone;
        let mut parts = vec![format!("checkpoint {}", format_duration(duration))];
        if !drain.is_zero() {
            parts.push(format!("drain {}", format_duration(drain)));
        }
        parts.push(match step {
            Some(step) => format!("rest of a step, at most {}", format_duration(step)),
            None => "rest of a step, not declared".to_owned(),
        });
        let least = duration + drain;
        let most = step.map(|step| least + step);
        let sum =
            most.map_or_else(|| format!("at least {}", format_duration(least)), format_duration);
        check.arithmetic.push(format!(
            "{} = {sum}; the notice is {}",
            parts.join(" + "),
            format_duration(notice)
        ));
        check.arithmetic.push(
            "the declared time is taken for its 99th percentile beside inference; drills measure it"
                .to_owned(),
        );
        if self.training.checkpoint.as_ref().and_then(|it| it.asynchronous) == Some(true) {
            check.arithmetic.push(
                "asynchronous: it is the time until the save is complete that counts, not the time \
                 for which training stands still"
                    .to_owned(),
            );
        }
        Some(if least >= notice {
            Outcome::Fails
        } else if most.is_some_and(|most| most < notice) {
            Outcome::Holds
        } else if most.is_some() {
            Outcome::Fails
        } else {
            Outcome::Open
        })
    }

    /// What cannot save on time must save now and then, and accept what that loses.
    fn does_not_fit(&self, duration: Duration, check: &mut Check) {
        let name = quoted(&self.workload.name);
        let interval = self.training.checkpoint.as_ref().and_then(|it| it.interval);
        let accepted = self.preemption.lost_work.filter(|lost| *lost != LostWork::None);
        let at_most = interval.map(|interval| self.at_most(interval));
        if let (Some(accepted), Some(interval)) = (accepted, interval) {
            match self.exceeds(accepted, interval) {
                Some(false) => {
                    check.outcome = Outcome::Holds;
                    check.answer = format!(
                        "{name} does not save within its notice, and the file accepts what that \
                         loses: {}",
                        at_most.unwrap_or_default()
                    );
                    return;
                }
                Some(true) => {
                    check.outcome = Outcome::Fails;
                    check.answer = format!(
                        "no: a stop of {name} loses {}, which is more than the file accepts",
                        at_most.unwrap_or_default()
                    );
                }
                None => {
                    check.answer =
                        "steps and times of the accepted loss and of the interval cannot \
                                    be compared without the time of a step"
                            .into();
                    check.missing.push(self.line("training: { step_time_alone: … s }"));
                }
            }
        } else {
            check.outcome = Outcome::Fails;
            check.answer = format!(
                "no: a checkpoint of {name} takes {}, which its notice does not allow, so a stop loses {}",
                format_duration(duration),
                at_most.unwrap_or_else(|| "everything since the last one".to_owned())
            );
        }
        self.conditions(duration, check);
    }

    /// The most that one interval loses, in its own unit.
    fn at_most(&self, interval: CheckpointInterval) -> String {
        match interval {
            CheckpointInterval::Time(time) => format!(
                "up to {} of work, {} on average",
                format_duration(time),
                format_duration(time / 2)
            ),
            CheckpointInterval::Steps(steps) => {
                let time = self.training.step_time_alone.map_or_else(String::new, |step| {
                    format!(" ({})", format_duration(step.mul_f64(steps as f64)))
                });
                format!("up to {steps} steps of work{time}, {} on average", steps / 2)
            }
        }
    }

    /// Whether an interval can lose more than is accepted.
    fn exceeds(&self, accepted: LostWork, interval: CheckpointInterval) -> Option<bool> {
        let step = self.training.step_time_alone;
        let seconds = |steps: u64| step.map(|step| step.as_secs_f64() * steps as f64);
        match (accepted, interval) {
            (LostWork::None, _) => Some(true),
            (LostWork::SinceCheckpoint, _) => Some(false),
            (LostWork::Steps(most), CheckpointInterval::Steps(steps)) => Some(steps > most),
            (LostWork::Time(most), CheckpointInterval::Time(time)) => Some(time > most),
            (LostWork::Steps(most), CheckpointInterval::Time(time)) => {
                Some(time.as_secs_f64() > seconds(most)?)
            }
            (LostWork::Time(most), CheckpointInterval::Steps(steps)) => {
                Some(seconds(steps)? > most.as_secs_f64())
            }
        }
    }

    fn conditions(&self, duration: Duration, check: &mut Check) {
        let step = self.training.step_time_alone.unwrap_or(Duration::ZERO);
        let drain = self.step(TransitionStepKind::Drain).unwrap_or(Duration::ZERO);
        let notice = format_duration(duration + step + drain);
        let periodic = self.intervals(duration).map_or_else(String::new, |(young, _)| {
            format!(" about every {} of work", format_duration(Duration::from_secs_f64(young)))
        });
        check.would_be_conditional_on.push(format!(
            "a notice of more than {notice}, or a checkpoint{periodic} and the loss accepted \
             (`preemption: {{ lost_work: since_checkpoint }}`)"
        ));
    }

    /// Young's and Daly's interval, seconds.
    fn intervals(&self, duration: Duration) -> Option<(f64, f64)> {
        let cost = duration.as_secs_f64();
        let mean = self.preemption.mean_time_to_loss?.as_secs_f64();
        Some((young_interval(cost, mean).ok()?, daly_interval(cost, mean).ok()?))
    }

    /// Losses that nothing announces: the table of the best interval and what it costs.
    fn unannounced(&self, duration: Duration, check: &mut Check) {
        let Some(mean) = self.preemption.mean_time_to_loss else {
            check.missing.push(self.line("training: { preemption: { mean_time_to_loss: … h } }"));
            return;
        };
        let Some((young, daly)) = self.intervals(duration) else { return };
        let show = |seconds: f64| format_duration(Duration::from_secs_f64(seconds.max(0.0)));
        check.arithmetic.push(format!(
            "unannounced loss, C = {}, M = {}: T = √(2 C M) = {} s (Young), {} s (Daly)",
            format_duration(duration),
            format_duration(mean),
            number(young, 0),
            number(daly, 0)
        ));
        let resume = self.training.checkpoint.as_ref().and_then(|it| it.resume_duration);
        let Some(resume) = resume else {
            check.missing.push(self.line("training: { checkpoint: { resume_duration: … s } }"));
            check.arithmetic.push(format!(
                "expected loss: T ÷ 2 = {} + resume, not declared",
                show(daly / 2.0)
            ));
            return;
        };
        check.arithmetic.push(format!(
            "expected loss: T ÷ 2 + R = {} s ÷ 2 + {} s = {} s",
            number(daly, 0),
            number(resume.as_secs_f64(), 1),
            number(daly / 2.0 + resume.as_secs_f64(), 0)
        ));
        let cost = duration.as_secs_f64();
        let overhead = checkpoint_overhead(daly, cost, mean.as_secs_f64(), resume.as_secs_f64());
        if let Ok(overhead) = overhead {
            check.arithmetic.push(format!(
                "overhead of saving and of losses at that interval: {} % of the work",
                number(overhead * 100.0, 1)
            ));
        }
    }
}

/// A duration with the tenths of a second that decide between a save and a notice.
fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if (1.0..600.0).contains(&seconds) {
        format!("{} s", number(seconds, 1))
    } else {
        units::format_duration(duration)
    }
}
