//! The state of one job.
//!
//! Between two moments at which it does something else its units follow each other at one pace, so
//! the state at any later time is a division away. It is the same however often somebody looks.

use super::ledger::Ledger;
use super::spec::{Every, JobSpec, ONE_PPM, Saving};
use crate::units::Picoseconds;

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It holds no GPU.
    Away,
    /// It starts or restores.
    Starting,
    /// It works.
    Working,
    /// It stands still while it saves.
    Saving,
    /// It has stopped, and its memory is not free yet.
    Leaving,
}

/// A save that is being written while work goes on.
#[derive(Clone, Copy, Debug)]
struct Writing {
    units: u64,
    worked: Picoseconds,
    until: Picoseconds,
}

/// A job as it stands.
#[derive(Clone, Debug)]
pub struct JobRun {
    spec: JobSpec,
    now: Picoseconds,
    phase: Phase,
    /// The end of the phase; working has none of its own.
    phase_until: Picoseconds,
    gpus: u32,
    /// Units that are done and not lost.
    done: u64,
    /// Units that a loss leaves.
    kept: u64,
    /// Work of this lineage that a save holds.
    worked_kept: Picoseconds,
    /// Time left of the unit that it is in, at the pace that it has.
    unit_left: Picoseconds,
    /// Time worked in the unit that it is in.
    unit_worked: Picoseconds,
    /// When the last save began to hold, in units and in time worked.
    saved_units: u64,
    saved_worked: Picoseconds,
    writing: Option<Writing>,
    /// Whether it leaves after the save that it is in.
    is_last_save: bool,
    beside_ppm: u64,
    is_told_to_stop: bool,
    /// When it is ended by force.
    force_at: Option<Picoseconds>,
    finished_at: Option<Picoseconds>,
    ledger: Ledger,
}

impl JobRun {
    /// A job of which nothing is done, and which holds nothing.
    pub fn new(spec: JobSpec) -> Self {
        Self {
            spec,
            now: Picoseconds::ZERO,
            phase: Phase::Away,
            phase_until: Picoseconds::MAX,
            gpus: 0,
            done: 0,
            kept: 0,
            worked_kept: Picoseconds::ZERO,
            unit_left: Picoseconds::ZERO,
            unit_worked: Picoseconds::ZERO,
            saved_units: 0,
            saved_worked: Picoseconds::ZERO,
            writing: None,
            is_last_save: false,
            beside_ppm: ONE_PPM,
            is_told_to_stop: false,
            force_at: None,
            finished_at: None,
            ledger: Ledger::default(),
        }
    }

    /// What it is made of.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// What it does.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Units that are done and were not lost.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Units that a loss now would leave.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// When its work was done and saved.
    pub fn finished_at(&self) -> Option<Picoseconds> {
        self.finished_at
    }

    /// Where its time went, up to the last moment that it was advanced to.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// GPUs that it holds.
    pub fn gpus(&self) -> u32 {
        self.gpus
    }

    /// Gives it GPUs. It must be away, not be done, and have a pace on so many; else nothing happens
    /// and the answer is no.
    pub fn start(&mut self, now: Picoseconds, gpus: u32) -> bool {
        self.advance(now);
        let is_possible = self.phase == Phase::Away
            && self.finished_at.is_none()
            && self.spec.pace(gpus).is_some();
        if is_possible {
            self.gpus = gpus;
            self.is_told_to_stop = false;
            self.force_at = None;
            self.enter(Phase::Starting, self.spec.start);
        }
        is_possible
    }

    /// Tells it to give its GPUs back.
    pub fn stop(&mut self, now: Picoseconds) {
        self.advance(now);
        if self.is_told_to_stop || matches!(self.phase, Phase::Away | Phase::Leaving) {
            return;
        }
        self.ledger.stops += 1;
        self.is_told_to_stop = true;
        self.force_at = self.spec.stop.notice.map(|notice| now + notice);
        match self.phase {
            // There is nothing yet that could be lost or saved.
            Phase::Starting => self.leave(),
            Phase::Working if !self.spec.stop.finishes_unit => self.last_save(),
            _ => {}
        }
    }

    /// Ends it without a warning, with the loss of what is not saved. It starts again where it is,
    /// unless it was told to stop.
    pub fn lose(&mut self, now: Picoseconds) {
        self.advance(now);
        if matches!(self.phase, Phase::Away | Phase::Leaving) {
            return;
        }
        self.ledger.losses += 1;
        self.forget();
        if self.is_told_to_stop {
            self.leave();
        } else {
            self.enter(Phase::Starting, self.spec.start);
        }
    }

    /// Whether inference runs beside it from now on.
    pub fn set_beside(&mut self, now: Picoseconds, is_beside: bool) {
        self.advance(now);
        let ppm = if is_beside { self.spec.beside_ppm } else { ONE_PPM };
        self.repace(|job| job.beside_ppm = ppm);
    }

    /// GPU-time that would be lost if it were told to stop now: what is done again, or the save that
    /// it makes instead, and its next start.
    pub fn lost_if_stopped(&self) -> Picoseconds {
        let unsaved = self.ledger.working - self.worked_held();
        let lost = match self.phase {
            Phase::Away | Phase::Leaving => return Picoseconds::ZERO,
            Phase::Starting => Picoseconds::ZERO,
            Phase::Working | Phase::Saving if self.spec.stop.saves => {
                let boundary =
                    if self.spec.stop.finishes_unit { self.unit_left } else { Picoseconds::ZERO };
                let save = boundary + self.spec.save_time();
                let is_forced = self.spec.stop.notice.is_some_and(|notice| save > notice);
                if is_forced { unsaved } else { self.spec.save_time() }
            }
            Phase::Working | Phase::Saving => unsaved,
        };
        (lost + self.spec.start) * u64::from(self.gpus)
    }

    /// The next moment at which it does something else.
    pub fn next(&self) -> Option<Picoseconds> {
        let own = match self.phase {
            Phase::Away => return None,
            Phase::Working => self.next_boundary(),
            _ => Some(self.phase_until),
        };
        let written = self.writing.map(|writing| writing.until);
        let forced = self.forced_at();
        [own, written, forced].into_iter().flatten().min()
    }

    /// When it will be ended by force.
    fn forced_at(&self) -> Option<Picoseconds> {
        let waits = !matches!(self.phase, Phase::Away | Phase::Leaving);
        self.force_at.filter(|_| waits)
    }

    /// Goes on to a time. An earlier one than it has reached changes nothing.
    pub fn advance(&mut self, until: Picoseconds) {
        while let Some(next) = self.next().filter(|next| *next <= until) {
            self.pass(next);
            self.turn();
        }
        self.pass(until);
    }

    /// Lets time pass in which it does one thing.
    fn pass(&mut self, until: Picoseconds) {
        let time = until - self.now;
        self.now = self.now.max(until);
        if self.phase != Phase::Away {
            self.ledger.gpu_time += time * u64::from(self.gpus);
        }
        match self.phase {
            Phase::Away => {}
            Phase::Starting => self.ledger.starting += time,
            Phase::Saving => self.ledger.saving += time,
            Phase::Leaving => self.ledger.leaving += time,
            Phase::Working => {
                self.ledger.working += time;
                self.ledger.gpu_time_working += time * u64::from(self.gpus);
                self.work(time);
            }
        }
    }

    /// Units that are done in a time: no other moment lies inside of it.
    fn work(&mut self, mut time: Picoseconds) {
        while time >= self.unit_left {
            time = time - self.unit_left;
            self.finish_units(1);
            self.unit_left = self.unit_time();
            if self.spec.shape_ppm.is_empty() {
                let whole = time.0 / self.unit_left.0;
                self.finish_units(whole);
                time = time - self.unit_left * whole;
            }
            self.unit_worked = Picoseconds::ZERO;
            if self.spec.units.is_some_and(|units| self.done >= units) {
                return;
            }
        }
        self.unit_left = self.unit_left - time;
        self.unit_worked += time;
    }

    /// Time worked that whole units hold.
    fn worked_whole(&self) -> Picoseconds {
        self.ledger.working - self.unit_worked
    }

    /// Time worked that a loss leaves.
    fn worked_held(&self) -> Picoseconds {
        if self.spec.saving == Saving::EachUnit { self.worked_whole() } else { self.worked_kept }
    }

    fn finish_units(&mut self, units: u64) {
        self.done += units;
        self.ledger.units_done += units;
        if self.spec.saving == Saving::EachUnit && units > 0 {
            self.kept = self.done;
        }
    }

    /// Time of the unit that it is in, at the pace that it has.
    fn unit_time(&self) -> Picoseconds {
        let alone = self.spec.pace(self.gpus).map_or(Picoseconds::MAX, |pace| pace.unit);
        let shape = &self.spec.shape_ppm;
        let place = (self.done % (shape.len().max(1) as u64)) as usize;
        let mut time = alone;
        if let Some(ppm) = shape.get(place) {
            time = time.scaled(*ppm, ONE_PPM);
        }
        if let (Some(_), Saving::Asynchronous { slowed_ppm, .. }) = (self.writing, self.spec.saving)
        {
            time = time.scaled(slowed_ppm, ONE_PPM);
        }
        time.scaled(self.beside_ppm, ONE_PPM).max(Picoseconds(1))
    }

    /// Changes what the pace depends on; of the unit that it is in the same share is left.
    fn repace(&mut self, change: impl FnOnce(&mut Self)) {
        if self.phase != Phase::Working {
            return change(self);
        }
        let before = self.unit_time();
        change(self);
        let after = self.unit_time();
        self.unit_left = self.unit_left.scaled(after.0, before.0);
    }

    /// The end of the unit at which it does something else than to begin the next one.
    fn next_boundary(&self) -> Option<Picoseconds> {
        let units = self.spec.units.map(|units| units.saturating_sub(self.done));
        let stop = self.is_told_to_stop.then_some(1);
        let saving =
            self.spec.every().filter(|_| self.writing.is_none()).map(|every| match every {
                Every::Units(units) => {
                    (self.saved_units + units.max(1)).saturating_sub(self.done).max(1)
                }
                Every::Time(time) => {
                    let left = (time - (self.ledger.working - self.saved_worked)) - self.unit_left;
                    1 + left.0.div_ceil(self.unit_time().0.max(1))
                }
            });
        let one_by_one = (!self.spec.shape_ppm.is_empty()).then_some(1);
        let units = [units, stop, saving, one_by_one].into_iter().flatten().min()?;
        Some(self.now + self.unit_left + self.unit_time() * units.saturating_sub(1))
    }

    /// What it does at a moment at which it does something else. One thing at a time.
    fn turn(&mut self) {
        if self.writing.is_some_and(|writing| writing.until <= self.now) {
            return self.written();
        }
        match self.phase {
            Phase::Away => {}
            Phase::Starting if self.phase_until <= self.now => self.begin_work(),
            Phase::Saving if self.phase_until <= self.now => self.saved(),
            Phase::Leaving if self.phase_until <= self.now => {
                self.phase = Phase::Away;
                self.gpus = 0;
            }
            Phase::Working if self.is_at_boundary() => self.boundary(),
            _ if self.forced_at().is_some_and(|at| at <= self.now) => {
                self.ledger.forced += 1;
                self.forget();
                self.leave();
            }
            _ => {}
        }
    }

    fn is_at_boundary(&self) -> bool {
        self.unit_left == self.unit_time()
    }

    fn begin_work(&mut self) {
        self.enter(Phase::Working, Picoseconds::ZERO);
        self.saved_units = self.done;
        self.saved_worked = self.ledger.working;
        self.worked_kept = self.ledger.working;
        self.unit_left = self.unit_time();
        self.unit_worked = Picoseconds::ZERO;
    }

    /// At the end of a unit: done, told to stop, or time to save.
    fn boundary(&mut self) {
        let is_done = self.spec.units.is_some_and(|units| self.done >= units);
        if is_done || self.is_told_to_stop {
            return self.last_save();
        }
        let is_due = self.writing.is_none()
            && self.spec.every().is_some_and(|every| match every {
                Every::Units(units) => self.done - self.saved_units >= units.max(1),
                Every::Time(time) => self.ledger.working - self.saved_worked >= time,
            });
        match self.spec.saving {
            Saving::Blocking { cost, .. } if is_due => self.enter(Phase::Saving, cost),
            Saving::Asynchronous { stall, .. } if is_due => self.enter(Phase::Saving, stall),
            _ => {}
        }
    }

    /// Saves for the last time, where it does, and leaves.
    fn last_save(&mut self) {
        let is_done = self.spec.units.is_some_and(|units| self.done >= units);
        let time = self.spec.save_time();
        if (is_done || self.spec.stop.saves) && time > Picoseconds::ZERO {
            // Nothing goes on beside it, so it is written in one piece.
            self.drop_writing();
            self.is_last_save = true;
            self.enter(Phase::Saving, time);
        } else {
            self.gone_from_work(is_done || self.spec.stop.saves);
        }
    }

    fn drop_writing(&mut self) {
        self.repace(|job| job.writing = None);
    }

    /// The end of a phase in which it stood still for a save.
    fn saved(&mut self) {
        let Saving::Asynchronous { write, .. } = self.spec.saving else { return self.held() };
        if self.is_last_save {
            return self.held();
        }
        if self.is_told_to_stop {
            if !self.spec.stop.saves {
                return self.gone_from_work(false);
            }
            // What was copied is still to be written, and nothing goes on beside that.
            self.is_last_save = true;
            return self.enter(Phase::Saving, write);
        }
        let worked = self.worked_whole();
        (self.saved_units, self.saved_worked) = (self.done, self.ledger.working);
        self.enter(Phase::Working, Picoseconds::ZERO);
        let until = self.now + write;
        self.repace(|job| job.writing = Some(Writing { units: job.done, worked, until }));
    }

    /// A save that nothing went on beside holds.
    fn held(&mut self) {
        self.ledger.saves += 1;
        self.keep(self.done, self.worked_whole());
        (self.saved_units, self.saved_worked) = (self.done, self.ledger.working);
        if self.is_last_save || self.is_told_to_stop {
            return self.gone_from_work(true);
        }
        self.enter(Phase::Working, Picoseconds::ZERO);
    }

    /// A save that was written beside work holds.
    fn written(&mut self) {
        let Some(writing) = self.writing else { return };
        self.drop_writing();
        self.ledger.saves += 1;
        self.keep(writing.units, writing.worked);
    }

    fn keep(&mut self, units: u64, worked: Picoseconds) {
        self.kept = self.kept.max(units);
        self.worked_kept = self.worked_kept.max(worked);
    }

    /// Leaves after the last useful moment; what is not kept is lost.
    fn gone_from_work(&mut self, is_kept: bool) {
        let is_done = self.spec.units.is_some_and(|units| self.done >= units);
        if is_kept && (is_done || self.spec.saving != Saving::Never) {
            self.keep(self.done, self.worked_whole());
        }
        if is_done {
            self.finished_at = Some(self.now);
        }
        self.forget();
        self.leave();
    }

    /// Goes back to what is kept.
    fn forget(&mut self) {
        self.writing = None;
        self.ledger.units_lost += self.done - self.kept;
        self.ledger.lost += self.ledger.working - self.worked_held();
        self.worked_kept = self.ledger.working;
        self.unit_worked = Picoseconds::ZERO;
        self.is_last_save = false;
        self.done = self.kept;
    }

    fn leave(&mut self) {
        self.enter(Phase::Leaving, self.spec.stop.exit);
    }

    fn enter(&mut self, phase: Phase, time: Picoseconds) {
        self.phase = phase;
        let has_end = phase != Phase::Working;
        self.phase_until = if has_end { self.now + time } else { Picoseconds::MAX };
    }
}
