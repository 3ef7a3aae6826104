//! What a job is made of.

use crate::plan;
use crate::units::Picoseconds;

/// Millionths of one: what a factor of 1 is written as.
pub const ONE_PPM: u64 = 1_000_000;

/// A job. Its work is counted in units: steps, items, frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// Its name.
    pub name: String,
    /// Units to be done; `None` for work that never ends.
    pub units: Option<u64>,
    /// How fast it is on each number of GPUs on which it can run.
    pub paces: Vec<Pace>,
    /// Times of units relative to the pace's, in millionths, over and over: frames of a scene are
    /// not alike. Empty where all units are alike.
    pub shape_ppm: Vec<u64>,
    /// How its state is saved.
    pub saving: Saving,
    /// Time from its GPUs to its first unit: start or restore, and warm-up.
    pub start: Picoseconds,
    /// How it stops.
    pub stop: Stop,
    /// Mean time between losses that nothing announces, while it holds GPUs.
    pub mean_time_to_loss: Option<Picoseconds>,
    /// When it must be done.
    pub deadline: Option<Picoseconds>,
    /// Its priority among jobs: larger ones are stopped later.
    pub priority: i32,
    /// Time of a unit beside inference as a share of the time alone, in millionths.
    pub beside_ppm: u64,
}

/// How fast a job is on a number of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// GPUs.
    pub gpus: u32,
    /// Time of one unit alone on them.
    pub unit: Picoseconds,
}

/// How often a job saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After so many units; zero counts as one.
    Units(u64),
    /// At the end of the first unit after so much time since the last save.
    Time(Picoseconds),
}

/// How a job's state is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saving {
    /// Not at all: a loss costs everything.
    Never,
    /// A unit that is done is kept: items of a batch, frames of a render.
    EachUnit,
    /// Work stands still while it is written.
    Blocking {
        /// How often.
        every: Every,
        /// How long it takes.
        cost: Picoseconds,
    },
    /// Work stands still for a copy, and goes on while it is written. Only what is written
    /// completely can be restored.
    Asynchronous {
        /// How often. No save begins before the one before it is written.
        every: Every,
        /// How long work stands still.
        stall: Picoseconds,
        /// How long writing takes from there.
        write: Picoseconds,
        /// Time of a unit while it is written, in millionths of the time otherwise.
        slowed_ppm: u64,
    },
}

/// How a job stops when it is told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Whether it finishes the unit that it is in.
    pub finishes_unit: bool,
    /// Whether it saves before it goes.
    pub saves: bool,
    /// From the signal to the end by force; `None` where nothing ends it by force.
    pub notice: Option<Picoseconds>,
    /// From its last useful moment to memory really free.
    pub exit: Picoseconds,
}

impl JobSpec {
    /// The pace on a number of GPUs, where it can run on them.
    pub fn pace(&self, gpus: u32) -> Option<Pace> {
        self.paces.iter().find(|pace| pace.gpus == gpus).copied()
    }

    /// How often it saves, where it does so at intervals.
    pub fn every(&self) -> Option<Every> {
        match self.saving {
            Saving::Never | Saving::EachUnit => None,
            Saving::Blocking { every, .. } | Saving::Asynchronous { every, .. } => Some(every),
        }
    }

    /// Time of a save that nothing else goes on beside: the one before it stops.
    pub fn save_time(&self) -> Picoseconds {
        match self.saving {
            Saving::Never | Saving::EachUnit => Picoseconds::ZERO,
            Saving::Blocking { cost, .. } => cost,
            Saving::Asynchronous { stall, write, .. } => stall + write,
        }
    }

    /// An occurrence of a job of a plan, cut into so many units. `deadline` is an instant on the
    /// simulator's clock. The plan's paces hold what saving costs, so it saves at no cost after each
    /// unit; its start and stop are those that the plan reckons with.
    pub fn of_plan(job: &plan::Job, units: u64, deadline: Option<Picoseconds>) -> Self {
        let units = units.max(1);
        let is_endless = !job.work.is_finite();
        // Work that never ends is cut into units of what the smallest mode does in a minute.
        let first = job.modes.first().map_or(1.0, |mode| mode.work_per_hour);
        let unit_work = if is_endless { first / 60.0 } else { job.work / units as f64 };
        let pace = |mode: &plan::Mode| Pace {
            gpus: mode.gpus,
            unit: Picoseconds::from_seconds(unit_work / mode.work_per_hour * 3600.0)
                .max(Picoseconds(1)),
        };
        Self {
            name: job.name.clone(),
            units: (!is_endless).then_some(units),
            paces: job.modes.iter().filter(|mode| mode.work_per_hour > 0.0).map(pace).collect(),
            shape_ppm: Vec::new(),
            saving: Saving::EachUnit,
            start: Picoseconds::from_seconds(job.start_hours * 3600.0),
            stop: Stop {
                finishes_unit: false,
                saves: false,
                notice: None,
                exit: Picoseconds::from_seconds(job.stop_hours * 3600.0),
            },
            mean_time_to_loss: None,
            deadline,
            priority: 0,
            beside_ppm: ONE_PPM,
        }
    }
}
