//! A renderer as the neighbour: its frames are the steps, each is saved by itself, and it ends by the
//! signal that stops it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use cotenant_core::evidence::{Block, Condition, Phase, PlannedBlock, ResumeCheck, Situation};
use cotenant_core::protocol::BlockShape;
use cotenant_probe::load::mock::{MockOptions, MockServer};
use cotenant_probe::load::{
    Arrivals, LengthDistribution, Lengths, Limits, LoadSpec, Schedule, Target, TargetSpec, schedule,
};
use cotenant_probe::measure::{
    BlockLimits, InferenceRig, Loads, NeighbourRig, Rig, Rules, Runner, Sink,
};
use cotenant_probe::progress_log::ProgressReader;
use cotenant_probe::progress_log::formats::{Format, LogReader};
use cotenant_probe::supervisor::{GuardianCommand, Launch, Priority, Signal};

/// Prints what Cycles prints of a frame, adds the number of each whole frame to a file, and dies of
/// SIGTERM as a renderer without a handler does.
const RENDERER: &str = "n=$(tail -n 1 saved 2>/dev/null || echo 0); while :; do n=$((n+1)); sleep 0.05; \
     echo \"Fra:$n Mem:19.40M (Peak 19.84M) | Time:00:00.05 | Scene, ViewLayer | Finished\"; \
     echo $n >> saved; echo ' Time: 00:00.05 (Saving: 00:00.00)'; done";

#[derive(Default)]
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
            prompt: LengthDistribution::Fixed(8),
            output: LengthDistribution::Fixed(2),
        };
        let arrivals = Arrivals::Constant { rate_per_s: 20.0 };
        schedule(&LoadSpec::new(arrivals, lengths, SHAPE.load(), u64::from(pair)))
            .map_err(|error| error.to_string())
    }
}

const SHAPE: BlockShape = BlockShape {
    warm_up: Duration::from_millis(200),
    judged: Duration::from_millis(600),
    tail: Duration::from_millis(200),
};

fn rig(mock: &MockServer, folder: &std::path::Path) -> Rig {
    let inference = InferenceRig {
        name: "chat".to_owned(),
        launch: None,
        ready_url: format!("{}/stats", mock.base_url()),
        ready_within: Duration::from_secs(20),
        target: Target::new(TargetSpec::new(mock.base_url(), "mock")).unwrap(),
        metrics_url: None,
    };
    let argv = ["/bin/sh", "-c", RENDERER].map(str::to_owned).to_vec();
    let launch =
        Launch { name: "film".to_owned(), argv, cwd: Some(folder.to_owned()), ..Launch::default() };
    let neighbour = NeighbourRig {
        name: "film".to_owned(),
        launch,
        idle: Priority { nice: None, idle: true },
        ready_within: Duration::from_mins(1),
        log: ProgressReader::Known {
            reader: Box::new(LogReader::new(Format::Cycles)),
            checkpoint: None,
            resumed: None,
        },
        checkpoint_signal: None,
        stop_signal: Signal::Terminate,
        notice: Duration::from_secs(20),
        saves_each_step: true,
        slurm: None,
        gpu: None,
        memory_patience: Duration::from_secs(10),
    };
    let guardian =
        GuardianCommand { program: support::helper(), arguments: vec!["guardian".to_owned()] };
    Rig::new(guardian, Some(inference), Some(neighbour)).unwrap()
}

#[tokio::test]
async fn frames_are_steps_and_a_stop_is_no_failure() {
    let mock = MockServer::start(MockOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut rig = rig(&mock, folder.path());
    let rules = Rules {
        shape: SHAPE,
        limits: BlockLimits::new(1.0, 0.5),
        request_limits: Limits::default(),
        settle: Duration::from_millis(10),
        steps_before_load: 2,
        guard: None,
        hand_over: None,
        burst: None,
    };
    let plan = |index| PlannedBlock {
        index,
        condition: Condition::C,
        pair: index,
        remedy: None,
        phase: Phase::Steady,
        situation: Situation::Ordinary,
    };
    let plans = [plan(0), plan(1)];
    let mut kept = Kept::default();
    let (_throw, interrupt) = tokio::sync::watch::channel(false);
    let runner = Runner {
        rig: &mut rig,
        rules: &rules,
        schedule: &plans,
        finished: BTreeSet::new(),
        loads: &Steady,
        sink: &mut kept,
        progress: &mut |_| {},
        go_on: &mut |_| true,
        interrupt,
    };
    runner.run().await.unwrap();
    rig.shutdown().await;
    assert_eq!(kept.blocks.len(), 2);
    for block in &kept.blocks {
        assert!(block.steps.len() >= 2, "{:?}", block.steps);
        assert!(block.steps.iter().all(|step| step.duration_s == Some(0.05)));
        let drill = block.drill.as_ref().unwrap();
        assert_eq!(drill.failure, None);
        // What was finished is saved, without a checkpoint.
        assert_eq!(drill.checkpoint_step, drill.last_step);
        assert_eq!(block.checkpoints, []);
    }
    assert_eq!(kept.resumes.len(), 2);
    for ((index, resume), block) in kept.resumes.iter().zip(&kept.blocks) {
        assert_eq!(*index, block.plan.index);
        assert_eq!(resume.failure, None);
        // The frame that the signal cut off is rendered again; it had not been finished.
        assert_eq!(resume.lost_steps, 0);
        assert_eq!(resume.loss_after, None);
    }
}
