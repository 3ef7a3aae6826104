//! Steps once: repeated ranks dropped, restarts seen, and times from the clocks at hand.

use std::collections::{BTreeSet, VecDeque};

use super::clean::LineClock;
use super::event::{StepEvent, StepLine, StepTimeSource};
use super::format::Format;
use super::number::seconds;

/// Steps that are remembered, to know late copies.
const RECENT_STEPS: usize = 8;
/// How many steps a slower rank may lag in its printing.
const LAG_STEPS: usize = 4;
/// What buffering and scheduling may add to the arrival of a line, seconds.
const ARRIVAL_RESOLUTION_S: f64 = 0.01;
/// A difference of clocks that may be wrong by more than this share yields to a smoothed rate.
const COARSE_SHARE: f64 = 0.05;

/// What was seen beside the events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogNotes {
    /// Lines read.
    pub lines: u64,
    /// Steps given.
    pub steps: u64,
    /// Lines of steps that other ranks had printed before.
    pub duplicates: u64,
    /// Times that the counter of steps went back, or that state was restored after steps.
    pub restarts: u64,
    /// Steps without a time.
    pub steps_without_time: u64,
    /// Ranks whose lines of steps were seen.
    pub ranks: BTreeSet<u32>,
    /// The last line of a file had no end, so its last word was left out.
    pub last_line_cut: bool,
    /// Formats that claimed the same line, so that none was chosen by it.
    pub contested: Vec<Format>,
}

#[derive(Clone, Debug)]
struct Seen {
    step: u64,
    elapsed_s: Option<f64>,
    copies: u64,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    step: u64,
    elapsed_s: Option<f64>,
    clock: Option<LineClock>,
    at_ns: Option<u64>,
}

/// Follows the steps of one job.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    recent: VecDeque<Seen>,
    before: Option<Before>,
    leader: Option<u32>,
    copies_max: u64,
    position: u64,
    resumed: bool,
}

enum Admission {
    Next,
    Restart,
    Copy,
}

impl Track {
    /// State was restored: the next step does not follow from the one before.
    pub(super) fn resume(&mut self) {
        self.resumed = true;
    }

    /// Whether a restore was seen since the last step.
    pub(super) fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Takes a line of a step; none where another rank has said it.
    pub(super) fn step(
        &mut self,
        line: StepLine,
        rank: Option<u32>,
        clock: Option<LineClock>,
        at_ns: Option<u64>,
        notes: &mut LogNotes,
    ) -> Option<StepEvent> {
        notes.ranks.extend(rank);
        let restarted = match self.admit(&line, rank) {
            Admission::Copy => {
                notes.duplicates += 1;
                return None;
            }
            Admission::Restart => {
                notes.restarts += 1;
                self.recent.clear();
                (self.before, self.position) = (None, 0);
                true
            }
            Admission::Next => false,
        };
        self.resumed = false;
        let clock = line.times.clock.or(clock);
        let elapsed_s = line.times.elapsed.map(|(elapsed_s, _)| elapsed_s);
        let steps = self.before.map_or(1, |before| line.step.saturating_sub(before.step)).max(1);
        let timed = self.time(&line, steps, clock, at_ns);
        let event = StepEvent {
            step_s: timed.map(|(step_s, _)| step_s),
            source: timed.map(|(_, source)| source),
            steps,
            position: self.position,
            restarted,
            rank,
            at_ns,
            line,
        };
        notes.steps += 1;
        notes.steps_without_time += u64::from(timed.is_none());
        self.before = Some(Before { step: event.line.step, elapsed_s, clock, at_ns });
        self.position += 1;
        if self.recent.len() == RECENT_STEPS {
            self.recent.pop_front();
        }
        self.recent.push_back(Seen { step: event.line.step, elapsed_s, copies: 1 });
        Some(event)
    }

    fn admit(&mut self, line: &StepLine, rank: Option<u32>) -> Admission {
        let other = rank.zip(self.leader).is_some_and(|(rank, leader)| rank != leader);
        if self.leader.is_none() || rank.zip(self.leader).is_some_and(|(r, leader)| r < leader) {
            self.leader = rank.or(self.leader);
        }
        let Some(last) = self.recent.back() else { return Admission::Next };
        if self.resumed {
            return Admission::Restart;
        }
        if line.step > last.step {
            return Admission::Next;
        }
        let again = line.step == last.step;
        if !other && self.went_back(line, again) {
            return Admission::Restart;
        }
        if let Some(seen) = self.recent.iter_mut().rev().find(|seen| seen.step == line.step) {
            seen.copies += 1;
            self.copies_max = self.copies_max.max(seen.copies);
        }
        Admission::Copy
    }

    /// Whether a counter that is not beyond the last step means a new start, and not a slower rank.
    fn went_back(&self, line: &StepLine, again: bool) -> bool {
        let last_s = self.recent.back().and_then(|seen| seen.elapsed_s);
        if let (Some((elapsed_s, _)), Some(last_s)) = (line.times.elapsed, last_s) {
            // Ranks that print side by side count the same time, give or take a few lines.
            let earlier = self.recent.iter().rev().nth(3).and_then(|seen| seen.elapsed_s);
            return elapsed_s < earlier.unwrap_or(last_s / 2.0);
        }
        let lags = self.recent.iter().rev().take(LAG_STEPS).any(|seen| seen.step == line.step);
        !(again || lags && self.copies_max > 1)
    }

    fn time(
        &self,
        line: &StepLine,
        steps: u64,
        clock: Option<LineClock>,
        at_ns: Option<u64>,
    ) -> Option<(f64, StepTimeSource)> {
        if let Some(step_s) = line.times.step_s {
            return Some((step_s, StepTimeSource::Printed));
        }
        let smoothed = line.times.smoothed_s.map(|step_s| (step_s, StepTimeSource::SmoothedRate));
        let Some(before) = self.before else { return smoothed };
        let elapsed =
            line.times.elapsed.zip(before.elapsed_s).map(|((now_s, resolution_s), then_s)| {
                (now_s - then_s, resolution_s, StepTimeSource::Elapsed)
            });
        let clocks = clock.zip(before.clock).map(|(now, then)| {
            let resolution_s = now.resolution_s.max(then.resolution_s);
            let source = StepTimeSource::LineClock { resolution_s };
            (now.at_s - then.at_s, resolution_s, source)
        });
        let arrivals = at_ns.zip(before.at_ns).and_then(|(now, then)| {
            let between_s = now.checked_sub(then)? as f64 / 1e9;
            Some((between_s, ARRIVAL_RESOLUTION_S, StepTimeSource::Arrival))
        });
        // A trainer's own clock that is as fine as the arrival is better: nothing buffers it.
        let best = [elapsed, clocks, arrivals]
            .into_iter()
            .flatten()
            .filter(|(between_s, _, _)| *between_s > 0.0)
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match (best, smoothed) {
            (Some((between_s, resolution_s, _)), Some(smoothed))
                if resolution_s > COARSE_SHARE * between_s =>
            {
                Some(smoothed)
            }
            (Some((between_s, _, source)), _) => {
                seconds(between_s / steps as f64).map(|step_s| (step_s, source))
            }
            (None, smoothed) => smoothed,
        }
    }
}
