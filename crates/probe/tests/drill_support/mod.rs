//! What the tests of drills share: trainers as scripts, a mock of inference, and a sink in memory.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::support::{self, helper};
use cotenant_core::evidence::{
    Block, Condition, HandChange, Phase, PlannedBlock, ReclaimDrill, ResumeCheck, Situation,
};
use cotenant_core::protocol::BlockShape;
use cotenant_probe::load::mock::{MockOptions, MockServer};
use cotenant_probe::load::{
    Arrivals, LengthDistribution, Lengths, Limits, LoadSpec, Schedule, Target, TargetSpec, schedule,
};
use cotenant_probe::measure::{
    BlockLimits, HandOver, InferenceRig, Loads, NeighbourRig, Rig, Rules, RunError, Runner, Sink,
};
use cotenant_probe::progress_log::{ProgressReader, TrainerLog, TrainerPatterns};
use cotenant_probe::supervisor::{GuardianCommand, Priority, Signal};
use tempfile::TempDir;
use tokio::sync::watch;

/// A trainer that prints what the embedded one does: it counts on from the file `saved`, steps every
/// 30 ms, and on SIGTERM does what the test says.
pub(crate) fn trainer(begin: &str, on_term: &str, between: &str) -> String {
    format!(
        "step=0; {begin}
stop=no
trap 'stop=yes' TERM
while :; do
  sleep 0.03
  step=$((step + 1))
  echo \"step=$step loss=3.0$((step % 2)) step_s=0.03 tokens=8\"
  {between}
  if [ $stop = yes ]; then
    echo \"stopping step=$step\"
    {on_term}
  fi
done"
    )
}

/// Goes on from the file that a stop left.
pub(crate) const CONTINUE: &str =
    "[ -f saved ] && step=$(cat saved) && echo \"resumed step=$step seconds=0.01\"";
/// Saves, says so, and leaves.
pub(crate) const SAVE: &str =
    "echo $step > saved; echo \"checkpoint step=$step seconds=0.02 bytes=64\"";

struct Kept {
    blocks: Vec<Block>,
    resumes: Vec<(u32, ResumeCheck)>,
}

impl Sink for Kept {
    fn block(&mut self, block: &Block) -> Result<(), String> {
        self.blocks.push(block.clone());
        Ok(())
    }

    fn resume(&mut self, index: u32, resume: &ResumeCheck) -> Result<(), String> {
        self.resumes.push((index, resume.clone()));
        Ok(())
    }
}

struct Steady;

impl Loads for Steady {
    fn of_pair(&self, pair: u32) -> Result<Schedule, String> {
        let lengths = Lengths::Drawn {
            prompt: LengthDistribution::Fixed(4),
            output: LengthDistribution::Fixed(2),
        };
        let arrivals = Arrivals::Constant { rate_per_s: 40.0 };
        let spec = LoadSpec::new(arrivals, lengths, Duration::from_secs(30), u64::from(pair));
        schedule(&spec).map_err(|error| error.to_string())
    }
}

fn rules() -> Rules {
    Rules {
        shape: BlockShape {
            warm_up: Duration::from_millis(50),
            judged: Duration::from_millis(600),
            tail: Duration::from_secs(30),
        },
        limits: BlockLimits::new(64.0, 1_000.0),
        request_limits: Limits::default(),
        settle: Duration::ZERO,
        steps_before_load: 3,
        hand_over: None,
        burst: None,
        guard: None,
    }
}

pub(crate) fn neighbour(folder: &Path, script: &str, notice: Duration) -> NeighbourRig {
    let mut launch = support::shell(script);
    launch.cwd = Some(folder.to_owned());
    NeighbourRig {
        name: "tune".to_owned(),
        launch,
        idle: Priority { nice: None, idle: true },
        ready_within: Duration::from_secs(20),
        log: ProgressReader::Templates(TrainerLog::new(TrainerPatterns::embedded().unwrap())),
        checkpoint_signal: None,
        stop_signal: Signal::Terminate,
        notice,
        saves_each_step: false,
        slurm: None,
        gpu: None,
        memory_patience: Duration::from_secs(2),
    }
}

/// What drills of a trainer gave.
pub(crate) struct Drilled {
    pub(crate) drills: Vec<ReclaimDrill>,
    pub(crate) resumes: Vec<ResumeCheck>,
    pub(crate) changes: Vec<HandChange>,
    pub(crate) error: Option<RunError>,
    _folder: TempDir,
}

pub(crate) async fn drill(script: &str, notice: Duration, drills: u32) -> Drilled {
    change_hands(script, notice, drills, None).await
}

/// As [`drill`], with what changes hands beside the trainer.
pub(crate) async fn change_hands(
    script: &str,
    notice: Duration,
    drills: u32,
    hand_over: Option<HandOver>,
) -> Drilled {
    let folder = TempDir::new().unwrap();
    let neighbour = neighbour(folder.path(), script, notice);
    drill_with(folder, neighbour, drills, hand_over).await
}

/// Drills of this neighbour, which lives in this folder.
pub(crate) async fn drill_with(
    folder: TempDir,
    neighbour: NeighbourRig,
    drills: u32,
    hand_over: Option<HandOver>,
) -> Drilled {
    let mock = MockServer::start(MockOptions::default()).unwrap();
    let inference = InferenceRig {
        name: "chat".to_owned(),
        launch: None,
        ready_url: format!("{}/stats", mock.base_url()),
        ready_within: Duration::from_secs(5),
        target: Target::new(TargetSpec::new(mock.base_url(), "mock")).unwrap(),
        metrics_url: None,
    };
    let guardian = GuardianCommand { program: helper(), arguments: vec!["guardian".to_owned()] };
    let mut rig = Rig::new(guardian, Some(inference), Some(neighbour)).unwrap();
    let schedule: Vec<PlannedBlock> = (0..drills)
        .map(|index| PlannedBlock {
            index,
            condition: Condition::C,
            pair: index,
            remedy: None,
            phase: Phase::Steady,
            situation: Situation::Drill,
        })
        .collect();
    let mut kept = Kept { blocks: Vec::new(), resumes: Vec::new() };
    let (_throw, interrupt) = watch::channel(false);
    let result = Runner {
        rig: &mut rig,
        rules: &Rules { hand_over, ..rules() },
        schedule: &schedule,
        finished: BTreeSet::new(),
        loads: &Steady,
        sink: &mut kept,
        progress: &mut |_| {},
        go_on: &mut |_| true,
        interrupt,
    }
    .run()
    .await;
    rig.shutdown().await;
    kept.resumes.sort_by_key(|(index, _)| *index);
    Drilled {
        changes: kept.blocks.iter().flat_map(|block| block.observed.changes.clone()).collect(),
        drills: kept.blocks.into_iter().filter_map(|block| block.drill).collect(),
        resumes: kept.resumes.into_iter().map(|(_, resume)| resume).collect(),
        error: result.err(),
        _folder: folder,
    }
}
