//! What a trainer (or renderer) did: steps, checkpoints, and drills of giving the machine back.

/// One step line of a trainer. Times are nanoseconds from the block's start.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// The step counter that the trainer printed.
    pub step: u64,
    /// When the line was read.
    pub at_ns: u64,
    /// Step duration as the trainer printed it, seconds; `None` where its line has none.
    pub duration_s: Option<f64>,
    /// Loss, where the line has one.
    pub loss: Option<f64>,
    /// Tokens (or samples) of this step, where the line says so.
    pub tokens: Option<u64>,
}

/// One checkpoint. Times are nanoseconds from the block's start.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointRecord {
    /// Step whose state was saved.
    pub step: u64,
    /// When it was complete on disk.
    pub at_ns: u64,
    /// How long it took, seconds, as the trainer printed it.
    pub duration_s: f64,
    /// Bytes written, where known.
    pub bytes: Option<u64>,
}

/// One drill: the trainer is told to stop under load, checkpoints, exits, and the next start must
/// resume. Durations in seconds; `None` means that part was not seen, never zero.
#[derive(Clone, Debug, PartialEq)]
pub struct ReclaimDrill {
    /// When the signal was sent, nanoseconds from the block's start.
    pub signal_ns: u64,
    /// Signal to the step boundary at which the trainer stopped.
    pub step_boundary_s: Option<f64>,
    /// The checkpoint itself.
    pub checkpoint_s: Option<f64>,
    /// Signal to the exit of the last process of the trainer's group.
    pub exit_s: Option<f64>,
    /// Signal to memory really free: the group's resident memory has gone from the machine.
    pub memory_free_s: Option<f64>,
    /// Last step the trainer had finished before the signal took effect.
    pub last_step: Option<u64>,
    /// Step of the checkpoint it left.
    pub checkpoint_step: Option<u64>,
    /// Why the drill failed, if it did.
    pub failure: Option<String>,
    /// The start after it, once it has happened.
    pub resume: Option<ResumeCheck>,
}

impl ReclaimDrill {
    /// The part of signal-to-exit that no log line owns, seconds.
    pub fn unexplained_s(&self) -> Option<f64> {
        let known = self.step_boundary_s? + self.checkpoint_s?;
        Some(self.exit_s? - known)
    }

    /// Whether the drill and its resume both succeeded. `None` while no resume was seen.
    pub fn succeeded(&self) -> Option<bool> {
        if self.failure.is_some() {
            return Some(false);
        }
        self.resume.as_ref().map(|resume| resume.failure.is_none())
    }
}

/// Whether a trainer really continued where it stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeCheck {
    /// Start of the process to its first finished step, seconds.
    pub first_step_s: f64,
    /// Start of the process to restored state, seconds, where the trainer says so.
    pub restore_s: Option<f64>,
    /// First step printed after the resume.
    pub first_step: u64,
    /// Steps that had been finished before the stop and had to be done again.
    pub lost_steps: u64,
    /// Mean loss of the last steps before the stop.
    pub loss_before: Option<f64>,
    /// Mean loss of the first steps after the resume.
    pub loss_after: Option<f64>,
    /// How far the loss may move and still count as continuous: from the spread before the stop.
    pub loss_tolerance: Option<f64>,
    /// Why it does not count as a resume, if it does not.
    pub failure: Option<String>,
}

/// Steps on each side of a stop whose losses are compared.
const LOSS_STEPS: usize = 10;

impl ResumeCheck {
    /// Compares what a trainer printed before a stop with what it printed after the next start.
    ///
    /// The counter must go on from the checkpoint (or, where no checkpoint was seen, not from the
    /// start), and the mean of the first ten losses must lie within four standard deviations of the
    /// last ten before the stop, or within one percent where those hardly vary. A log without losses
    /// leaves continuity unknown, which is told by `None` and is no failure.
    ///
    /// `after` must not be empty; where it is, the check fails by saying so.
    pub fn compare(
        before: &[StepRecord],
        after: &[StepRecord],
        checkpoint_step: Option<u64>,
        first_step_s: f64,
        restore_s: Option<f64>,
    ) -> Self {
        let last = before.last().map(|step| step.step);
        let first = after.first().map_or(0, |step| step.step);
        let lost_steps = last.map_or(0, |last| (last + 1).saturating_sub(first));
        let losses = |steps: &mut dyn Iterator<Item = &StepRecord>| -> Vec<f64> {
            steps.filter_map(|step| step.loss).take(LOSS_STEPS).collect()
        };
        let losses_before = losses(&mut before.iter().rev());
        let losses_after = losses(&mut after.iter());
        let mean = |values: &[f64]| {
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (loss_before, loss_after) = (mean(&losses_before), mean(&losses_after));
        let loss_tolerance = loss_before.map(|centre| {
            let squares: f64 = losses_before.iter().map(|loss| (loss - centre).powi(2)).sum();
            let deviation = (squares / losses_before.len() as f64).sqrt();
            (4.0 * deviation).max(0.01 * centre.abs())
        });
        let moved = loss_before.zip(loss_after).map(|(before, after)| (after - before).abs());
        let failure = if after.is_empty() {
            Some("no step was seen after the start".to_owned())
        } else if let Some(saved) = checkpoint_step.filter(|saved| first <= *saved) {
            Some(format!("began at step {first}, before its checkpoint of step {saved}"))
        } else if let Some(last) = last.filter(|last| first > last + 1) {
            Some(format!("began at step {first}, but only {last} steps had been finished"))
        } else if checkpoint_step.is_none() && first <= 1 && last.is_some_and(|last| last > 1) {
            Some("began again at the first step".to_owned())
        } else {
            moved.zip(loss_tolerance).filter(|(moved, tolerance)| moved > tolerance).map(
                |(moved, tolerance)| {
                    format!("the loss jumped by {moved:.4}, {tolerance:.4} would be continuous")
                },
            )
        };
        Self {
            first_step_s,
            restore_s,
            first_step: first,
            lost_steps,
            loss_before,
            loss_after,
            loss_tolerance,
            failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(range: std::ops::Range<u64>, loss: f64) -> Vec<StepRecord> {
        range
            .map(|step| StepRecord {
                step,
                at_ns: step,
                duration_s: None,
                // A small wobble, so that a spread exists.
                loss: Some(loss + if step % 2 == 0 { 0.01 } else { -0.01 }),
                tokens: None,
            })
            .collect()
    }

    fn failure(before: &[StepRecord], after: &[StepRecord], saved: Option<u64>) -> Option<String> {
        ResumeCheck::compare(before, after, saved, 1.0, None).failure
    }

    #[test]
    fn a_resume_goes_on_where_the_checkpoint_is() {
        let before = steps(1..21, 3.0);
        let check = ResumeCheck::compare(&before, &steps(21..31, 3.0), Some(20), 1.0, None);
        assert_eq!((check.failure, check.lost_steps, check.first_step), (None, 0, 21));
        let check = ResumeCheck::compare(&before, &steps(16..31, 3.0), Some(15), 1.0, None);
        assert_eq!((check.failure, check.lost_steps), (None, 5));
    }

    #[test]
    fn what_is_no_resume() {
        let before = steps(1..21, 3.0);
        let said = |after: &[StepRecord], saved| failure(&before, after, saved).unwrap_or_default();
        assert!(said(&steps(1..9, 3.0), Some(20)).contains("before its checkpoint"));
        assert!(said(&steps(30..40, 3.0), Some(20)).contains("only 20 steps"));
        assert!(said(&steps(1..9, 3.0), None).contains("first step"));
        assert!(said(&steps(21..31, 5.0), Some(20)).contains("loss jumped"));
        assert!(said(&[], Some(20)).contains("no step"));
    }

    #[test]
    fn a_log_without_losses_leaves_continuity_unknown() {
        let quiet = |mut steps: Vec<StepRecord>| {
            for step in &mut steps {
                step.loss = None;
            }
            steps
        };
        let check = ResumeCheck::compare(
            &quiet(steps(1..9, 0.0)),
            &quiet(steps(9..12, 0.0)),
            Some(8),
            1.0,
            None,
        );
        assert_eq!((check.failure, check.loss_after, check.loss_tolerance), (None, None, None));
    }
}
