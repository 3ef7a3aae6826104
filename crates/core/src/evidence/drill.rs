//! Drills of giving the machine back: the stop, what held memory after it, and the start that follows.

use super::StepRecord;

/// One drill: the neighbour is told to stop under load, checkpoints, exits, its memory is free, and
/// inference answers; the next start must resume. Durations in seconds from the signal unless said;
/// `None` means that part was not seen, never zero.
#[derive(Clone, Debug, PartialEq)]
pub struct ReclaimDrill {
    /// Who took the machine away: "signal TERM", "scontrol requeuehold".
    pub driver: String,
    /// When the signal was sent, nanoseconds from the block's start.
    pub signal_ns: u64,
    /// To the step boundary at which the neighbour stopped.
    pub step_boundary_s: Option<f64>,
    /// The checkpoint itself, as the neighbour printed it.
    pub checkpoint_s: Option<f64>,
    /// To the exit of the neighbour's first process: what whoever waits for it sees.
    pub exit_s: Option<f64>,
    /// To memory really free: no process of the neighbour lives, it left nothing in shared memory,
    /// and its memory on the GPUs is back. Looked at, and never taken from the exit.
    pub memory_free_s: Option<f64>,
    /// What still held memory after the first process had exited.
    pub held: Vec<HeldMemory>,
    /// To an engine that is awake or started again; `None` where it never was away, too.
    pub engine_ready_s: Option<f64>,
    /// To the first token that inference gave once the memory was free (and the engine back).
    pub first_token_s: Option<f64>,
    /// Last step the neighbour had finished before the signal took effect.
    pub last_step: Option<u64>,
    /// Step of the checkpoint it left.
    pub checkpoint_step: Option<u64>,
    /// Why the drill failed, if it did.
    pub failure: Option<String>,
    /// The start after it, once it has happened.
    pub resume: Option<ResumeCheck>,
}

/// Memory that outlived the exit of the neighbour's first process.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldMemory {
    /// Who: "process 4711 (python)", "/dev/shm/nccl-x", "GPU-1234…".
    pub holder: String,
    /// How much, bytes.
    pub bytes: u64,
    /// Until when, seconds from the signal; `None` where it was not seen to become free.
    pub until_s: Option<f64>,
}

impl ReclaimDrill {
    /// The part of signal-to-exit that no log line owns, seconds. Below zero where the neighbour's
    /// own figures are longer than the clock on the wall.
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

/// Whether a trainer really continued where it stopped. Times count from the start of its process.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeCheck {
    /// To its first finished step, seconds; `None` where none was seen.
    pub first_step_s: Option<f64>,
    /// To restored state, seconds, where the trainer says so.
    pub restore_s: Option<f64>,
    /// To the end of the first step of a steady pace, seconds: three steps in a row that take at
    /// most a tenth longer than the median before the stop.
    pub steady_s: Option<f64>,
    /// Median time of the last steps before the stop, seconds.
    pub step_before_s: Option<f64>,
    /// First step printed after the resume; 0 where none was.
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
/// Steps before a stop whose median is the pace that a resume has to reach.
const PACE_STEPS: usize = 20;
/// Steps in a row that make a pace steady.
const STEADY_STEPS: usize = 3;
/// How much longer than before the stop a steady step may take, as a factor.
const STEADY_FACTOR: f64 = 1.1;

impl ResumeCheck {
    /// Compares what a trainer printed before a stop with what it printed after the next start.
    /// `after` counts from the start of the process.
    ///
    /// The counter must go on from the checkpoint (or, where no checkpoint was seen, not from the
    /// start), and the mean of the first ten losses must lie within four standard deviations of the
    /// last ten before the stop, or within one percent where those hardly vary. A log without losses
    /// leaves continuity unknown, which is told by `None` and is no failure.
    ///
    /// Where `after` is empty the check fails by saying so.
    pub fn compare(
        before: &[StepRecord],
        after: &[StepRecord],
        checkpoint_step: Option<u64>,
        restore_s: Option<f64>,
    ) -> Self {
        let last = before.last().map(|step| step.step);
        let first = after.first().map_or(0, |step| step.step);
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
        let failure = if after.is_empty() {
            Some("no step was seen after the start".to_owned())
        } else {
            counter_failure(last, first, checkpoint_step).or_else(|| {
                let moved = (loss_after? - loss_before?).abs();
                let tolerance = loss_tolerance.filter(|tolerance| moved > *tolerance)?;
                Some(format!("the loss jumped by {moved:.4}, {tolerance:.4} would be continuous"))
            })
        };
        let step_before_s = median(&step_times(before), PACE_STEPS);
        Self {
            first_step_s: after.first().map(|step| step.at_ns as f64 / 1e9),
            restore_s,
            steady_s: step_before_s.and_then(|pace_s| steady_s(after, pace_s)),
            step_before_s,
            first_step: first,
            lost_steps: last
                .filter(|_| !after.is_empty())
                .map_or(0, |last| (last + 1).saturating_sub(first)),
            loss_before,
            loss_after,
            loss_tolerance,
            failure,
        }
    }

    /// A start that gave no step at all, with the reason.
    pub fn failed(before: &[StepRecord], why: String) -> Self {
        Self { failure: Some(why), ..Self::compare(before, &[], None, None) }
    }
}

/// What is wrong with the counter of the first step after a start.
fn counter_failure(last: Option<u64>, first: u64, checkpoint_step: Option<u64>) -> Option<String> {
    if let Some(saved) = checkpoint_step.filter(|saved| first <= *saved) {
        return Some(format!("began at step {first}, before its checkpoint of step {saved}"));
    }
    if let Some(last) = last.filter(|last| first > last + 1) {
        return Some(format!("began at step {first}, but only {last} steps had been finished"));
    }
    let again = checkpoint_step.is_none() && first <= 1 && last.is_some_and(|last| last > 1);
    again.then(|| "began again at the first step".to_owned())
}

/// Step times as printed, else from one line to the next, seconds, each with the end of its step.
fn step_times(steps: &[StepRecord]) -> Vec<(u64, f64)> {
    let mut times = Vec::with_capacity(steps.len());
    let mut previous_ns = None;
    for step in steps {
        let between = previous_ns.map(|ns: u64| step.at_ns.saturating_sub(ns) as f64 / 1e9);
        times.extend(step.duration_s.or(between).map(|seconds| (step.at_ns, seconds)));
        previous_ns = Some(step.at_ns);
    }
    times
}

/// Median of the last `count` times.
fn median(times: &[(u64, f64)], count: usize) -> Option<f64> {
    let mut last: Vec<f64> = times.iter().rev().take(count).map(|(_, seconds)| *seconds).collect();
    last.sort_by(f64::total_cmp);
    last.get(last.len().checked_sub(1)? / 2).copied()
}

/// The end of the first step from which some in a row keep the pace, seconds.
fn steady_s(after: &[StepRecord], pace_s: f64) -> Option<f64> {
    let times = step_times(after);
    let keeps = |window: &[(u64, f64)]| {
        window.iter().all(|(_, seconds)| *seconds <= pace_s * STEADY_FACTOR)
    };
    let first = times.windows(STEADY_STEPS).find(|window| keeps(window))?;
    first.first().map(|(at_ns, _)| *at_ns as f64 / 1e9)
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
        ResumeCheck::compare(before, after, saved, None).failure
    }

    #[test]
    fn a_resume_goes_on_where_the_checkpoint_is() {
        let before = steps(1..21, 3.0);
        let check = ResumeCheck::compare(&before, &steps(21..31, 3.0), Some(20), None);
        assert_eq!((check.failure, check.lost_steps, check.first_step), (None, 0, 21));
        let check = ResumeCheck::compare(&before, &steps(16..31, 3.0), Some(15), None);
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
            None,
        );
        assert_eq!((check.failure, check.loss_after, check.loss_tolerance), (None, None, None));
    }

    fn paced(times_s: &[f64]) -> Vec<StepRecord> {
        let mut at_s = 0.0;
        let step = |(step, seconds): (usize, &f64)| {
            at_s += seconds;
            let at_ns = (at_s * 1e9).round() as u64;
            StepRecord { step: step as u64 + 1, at_ns, duration_s: None, loss: None, tokens: None }
        };
        times_s.iter().enumerate().map(step).collect()
    }

    #[test]
    fn a_pace_is_steady_when_three_steps_in_a_row_keep_it() {
        let before = paced(&[0.2; 12]);
        // The first line has no time of its own: it holds the start of the process.
        let after = paced(&[5.0, 0.6, 0.2, 0.4, 0.21, 0.2, 0.2, 0.2]);
        let check = ResumeCheck::compare(&before, &after, None, None);
        assert!((check.step_before_s.unwrap() - 0.2).abs() < 1e-6);
        assert!((check.first_step_s.unwrap() - 5.0).abs() < 1e-6);
        assert!((check.steady_s.unwrap() - 6.41).abs() < 1e-6, "{check:?}");
        let slow = ResumeCheck::compare(&before, &paced(&[5.0, 0.6, 0.6, 0.6, 0.6]), None, None);
        assert_eq!(slow.steady_s, None);
        assert_eq!(ResumeCheck::failed(&before, "gone".into()).first_step_s, None);
    }

    #[test]
    fn what_no_log_owns_may_be_below_zero() {
        let drill = |exit_s, boundary_s, checkpoint_s| ReclaimDrill {
            driver: "signal TERM".into(),
            signal_ns: 0,
            step_boundary_s: Some(boundary_s),
            checkpoint_s: Some(checkpoint_s),
            exit_s: Some(exit_s),
            memory_free_s: None,
            held: Vec::new(),
            engine_ready_s: None,
            first_token_s: None,
            last_step: None,
            checkpoint_step: None,
            failure: None,
            resume: None,
        };
        assert!((drill(3.0, 0.5, 2.0).unexplained_s().unwrap() - 0.5).abs() < 1e-9);
        assert!((drill(2.0, 0.5, 2.0).unexplained_s().unwrap() + 0.5).abs() < 1e-9);
    }
}
