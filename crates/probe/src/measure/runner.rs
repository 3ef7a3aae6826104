//! The run: blocks in the order of the schedule, each handed over as soon as it is finished.

use std::collections::BTreeSet;
use std::time::Duration;

use cotenant_core::evidence::{BlockFault, Condition, PlannedBlock, Situation, Stress};

use crate::load::Schedule;

use super::block::{BlockError, Interrupt, run_block};
use super::plan::{Loads, Rules, Sink};
use super::rig::{Rig, RigError};

/// Times a block is tried before the run gives up: a workload that fails to start once may start
/// the next time.
const TRIES: u32 = 2;

/// About how long a drill takes from its signal on.
const DRILL: Duration = Duration::from_secs(3);

/// What the run tells while it goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// A block begins.
    Begun {
        /// The block.
        plan: PlannedBlock,
        /// Blocks finished so far, those of an earlier part of the run included.
        finished: usize,
        /// Blocks in all.
        planned: usize,
        /// About how long the rest takes.
        left: Duration,
    },
    /// A block is finished and safe on disk.
    Finished {
        /// The block.
        plan: PlannedBlock,
        /// Why it does not count, if it does not.
        faults: Vec<String>,
    },
    /// A block failed and is tried again.
    Again {
        /// The block.
        plan: PlannedBlock,
        /// Why.
        reason: String,
    },
}

/// Why a run ended before its schedule.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user asked to stop. Finished blocks are kept.
    #[error("interrupted; the finished blocks are kept")]
    Interrupted,
    /// Whoever was asked whether to go on said no. Finished blocks are kept.
    #[error("stopped before the end of the schedule; the finished blocks are kept")]
    Stopped,
    /// A block could not be run.
    #[error("block {index} of test {letter}: {source}")]
    Block {
        /// Its index.
        index: u32,
        /// Its test.
        letter: char,
        /// Why.
        source: BlockError,
    },
    /// The guard stopped the neighbour. The block is kept with its reason, and nothing more is run.
    #[error("block {index}: {sentence}; the run ends")]
    Guarded {
        /// The block's index.
        index: u32,
        /// What was broken.
        sentence: String,
    },
    /// A workload.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The load could not be made.
    #[error("no load can be made: {0}")]
    Load(String),
    /// The evidence could not be written.
    #[error("{0}")]
    Sink(String),
}

/// One run.
pub struct Runner<'a> {
    /// The workloads.
    pub rig: &'a mut Rig,
    /// How blocks are run.
    pub rules: &'a Rules,
    /// What to run, in order.
    pub schedule: &'a [PlannedBlock],
    /// Blocks that are finished already.
    pub finished: BTreeSet<u32>,
    /// The load of each pair.
    pub loads: &'a dyn Loads,
    /// Where blocks go.
    pub sink: &'a mut dyn Sink,
    /// Who is told.
    pub progress: &'a mut dyn FnMut(Progress),
    /// Asked after each block, with the number of finished ones, whether to go on.
    pub go_on: &'a mut dyn FnMut(usize) -> bool,
    /// The user's switch.
    pub interrupt: Interrupt,
}

impl Runner<'_> {
    /// Runs what is left of the schedule. Whatever happens, no neighbour runs when this returns.
    ///
    /// # Errors
    /// Blocks that were finished before are safe in the sink.
    pub async fn run(mut self) -> Result<(), RunError> {
        // A stop that an earlier run made is no drill of this one.
        self.rig.forget_stops();
        let result = self.run_blocks().await;
        // The last drill has a resume too: the neighbour is started once more, and only for that.
        let result = match result {
            Ok(()) => self.last_resume().await,
            Err(RunError::Stopped) => self.last_resume().await.and(Err(RunError::Stopped)),
            Err(error) => Err(error),
        };
        let down = self.rig.neighbour_down(crate::clock::monotonic_ns(), None).await;
        let resumes = self.hand_over_resumes();
        self.rig.forget_stops();
        result.and(down.map(|_| ()).map_err(RunError::from)).and(resumes)
    }

    async fn run_blocks(&mut self) -> Result<(), RunError> {
        for plan in self.schedule {
            if self.finished.contains(&plan.index) {
                continue;
            }
            if *self.interrupt.borrow() {
                return Err(RunError::Interrupted);
            }
            let left = self.time_left();
            (self.progress)(Progress::Begun {
                plan: *plan,
                finished: self.finished.len(),
                planned: self.schedule.len(),
                left,
            });
            let load = match plan.condition {
                Condition::B => None,
                Condition::A | Condition::C => {
                    Some(self.loads.of_pair(plan.pair).map_err(RunError::Load)?)
                }
            };
            self.one(*plan, load.as_ref()).await?;
        }
        Ok(())
    }

    async fn one(&mut self, plan: PlannedBlock, load: Option<&Schedule>) -> Result<(), RunError> {
        let mut tries = 0;
        let mut block = loop {
            tries += 1;
            let running = run_block(self.rig, self.rules, plan, load, &mut self.interrupt);
            match Box::pin(running).await {
                Ok(block) => break block,
                Err(BlockError::Interrupted) => return Err(RunError::Interrupted),
                Err(error) if tries < TRIES => {
                    (self.progress)(Progress::Again { plan, reason: error.to_string() });
                    self.rig.neighbour_down(crate::clock::monotonic_ns(), None).await?;
                }
                Err(source) => {
                    let letter = plan.condition.letter();
                    return Err(RunError::Block { index: plan.index, letter, source });
                }
            }
        };
        if load.is_some() {
            block.load_factor = self.loads.factor_of(plan.pair);
        }
        self.sink.block(&block).map_err(RunError::Sink)?;
        self.finished.insert(plan.index);
        self.hand_over_resumes()?;
        let faults = block.faults.iter().map(BlockFault::sentence).collect();
        (self.progress)(Progress::Finished { plan, faults });
        let guarded = block.faults.iter().find(|f| matches!(f, BlockFault::Guarded { .. }));
        if let Some(fault) = guarded {
            return Err(RunError::Guarded { index: plan.index, sentence: fault.sentence() });
        }
        let is_last = self.finished.len() == self.schedule.len();
        if is_last || (self.go_on)(self.finished.len()) { Ok(()) } else { Err(RunError::Stopped) }
    }

    /// Starts the neighbour once more to see whether it resumes from the last drill.
    async fn last_resume(&mut self) -> Result<(), RunError> {
        if !self.rig.awaits_resume() {
            return Ok(());
        }
        let remedy = self.schedule.iter().find_map(|plan| plan.remedy);
        let steps = self.rules.steps_before_load.max(super::rig::RESUME_STEPS);
        self.rig.neighbour_up(remedy, steps).await?;
        self.rig.see_resume();
        self.hand_over_resumes()
    }

    fn hand_over_resumes(&mut self) -> Result<(), RunError> {
        self.rig
            .take_resumes()
            .into_iter()
            .try_for_each(|(index, resume)| self.sink.resume(index, &resume))
            .map_err(RunError::Sink)
    }

    fn time_left(&self) -> Duration {
        let left = self.schedule.iter().filter(|plan| !self.finished.contains(&plan.index));
        left.map(|plan| expected(self.rules, plan)).sum()
    }
}

/// About how long a block takes, with the rest and the starts around it.
pub fn expected(rules: &Rules, plan: &PlannedBlock) -> Duration {
    let starts = match plan.condition {
        Condition::A => Duration::ZERO,
        Condition::B | Condition::C => Duration::from_secs(1),
    };
    let stressor = match plan.situation {
        Situation::Stressed(Stress { dose: 1.., .. }) => Duration::from_secs(1),
        _ => Duration::ZERO,
    };
    // A drill ends when inference answers: of its planned load behind the signal little is sent.
    let load = match plan.situation {
        Situation::Drill => rules.shape.warm_up + rules.shape.judged + DRILL,
        _ => rules.shape.load(),
    };
    load + rules.settle + starts + stressor
}
