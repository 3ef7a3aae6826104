//! How a run is planned and goes along.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{Block, EnforcementAudit, Remedy, ResumeCheck};
use cotenant_core::protocol::{BlockShape, Design, Fit, Tests, schedule};
use cotenant_probe::measure::{BurstRules, Loads, Progress, RunError, Runner, Sink};
use cotenant_records::evidence::{RunPlan, RunStatus, RunWriter, Store};

use super::{HAND_OVER, Piloted, Session};
use crate::exit::Failure;
use crate::verbs::judged::evidence_failure;

/// How a run goes along: what its blocks are loaded with, and who looks at them.
pub(crate) struct Course<'a> {
    /// The load of each pair.
    pub(crate) loads: &'a dyn Loads,
    /// The burst that is in each of them, if one is.
    pub(crate) burst: Option<BurstRules>,
    /// Shown each block once it is safe on disk.
    pub(crate) seen: &'a mut dyn FnMut(&Block),
    /// Asked after each block, with the number of finished ones, whether to go on.
    pub(crate) go_on: &'a mut dyn FnMut(usize) -> bool,
    /// Why a search that was told not to go on is complete; `None` where it is not.
    pub(crate) decided: &'a dyn Fn() -> Option<String>,
}

/// The lengths inside the blocks of a run.
pub(crate) fn shape_of(plan: &RunPlan) -> BlockShape {
    let seconds = Duration::from_secs_f64;
    BlockShape {
        warm_up: seconds(plan.warm_up_s),
        judged: seconds(plan.block_s),
        tail: seconds(plan.tail_s),
    }
}

/// Writes blocks into a run's folder, and shows them.
struct Folder<'a> {
    writer: &'a mut RunWriter,
    seen: &'a mut dyn FnMut(&Block),
}

impl Sink for Folder<'_> {
    fn block(&mut self, block: &Block) -> Result<(), String> {
        self.writer.write_block(block).map_err(|error| error.to_string())?;
        (self.seen)(block);
        Ok(())
    }

    fn resume(&mut self, index: u32, resume: &ResumeCheck) -> Result<(), String> {
        self.writer.write_resume(index, resume).map_err(|error| error.to_string())
    }
}

/// Begins a run in the evidence folder, with its audits.
pub(crate) fn begin(
    evidence: &Path,
    plan: &RunPlan,
    audits: &[EnforcementAudit],
) -> Result<RunWriter, Failure> {
    let store = Store::open(evidence).map_err(|error| evidence_failure(&error))?;
    let mut writer = store.create_run(plan).map_err(|error| evidence_failure(&error))?;
    for audit in audits {
        writer.add_audit(audit).map_err(|error| evidence_failure(&error))?;
    }
    Ok(writer)
}

impl Session<'_> {
    /// The plan of a run, ready to be written down.
    pub(crate) fn plan(
        &self,
        tests: Tests,
        fit: &Fit,
        piloted: &Piloted,
        remedy: Option<Remedy>,
        checkpoint_share: f64,
    ) -> Result<RunPlan, Failure> {
        let design = Design {
            tests,
            pairs: fit.pairs,
            training_blocks: fit.training_blocks,
            remedy,
            checkpoint_share,
            seed: self.seed,
        };
        let load = self.load(fit.shape)?.tested(fit.pairs).map_err(Failure::input)?;
        let neighbour = self.subject.neighbour.map(|(workload, _)| workload.name.clone());
        let mut options = BTreeMap::new();
        options.insert("tests".to_owned(), tests.letters());
        Ok(RunPlan {
            started: cotenant_probe::clock::wall_clock(),
            origin: cotenant_core::evidence::Origin::Measured,
            inference: self.subject.inference.0.name.clone(),
            neighbour: neighbour.unwrap_or_default(),
            seed: self.seed,
            fingerprint: self.fingerprint(),
            load,
            pilot: piloted.record.clone(),
            remedies: remedy.into_iter().collect(),
            engine_supervised: self.rig.supervises_engine(),
            site_digest: self.file.digest.clone(),
            warm_up_s: fit.shape.warm_up.as_secs_f64(),
            block_s: fit.shape.judged.as_secs_f64(),
            tail_s: fit.shape.tail.as_secs_f64(),
            options,
            schedule: schedule(&design),
        })
    }

    /// Runs what a writer still lacks. `go_on` is asked after each block, with the number of finished
    /// ones.
    pub(crate) async fn run(
        &mut self,
        writer: RunWriter,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<RunStatus, Failure> {
        let loads = self.load(shape_of(writer.plan()))?;
        let course =
            Course { loads: &loads, burst: None, seen: &mut |_| {}, go_on, decided: &|| None };
        self.run_along(writer, course).await
    }

    /// Runs what a writer still lacks, with loads that may follow from the blocks before them.
    pub(crate) async fn run_along(
        &mut self,
        mut writer: RunWriter,
        course: Course<'_>,
    ) -> Result<RunStatus, Failure> {
        let plan = writer.plan().clone();
        let mut rules = self.rules(shape_of(&plan));
        if plan.options.contains_key(HAND_OVER) {
            rules.hand_over = self.hand_over()?;
        }
        let Course { loads, burst, seen, go_on, decided } = course;
        rules.burst = burst;
        let finished = writer.finished().into_iter().collect();
        let work = self.printer.work(plan.schedule.len() as u64);
        let mut sink = Folder { writer: &mut writer, seen };
        let result = Runner {
            rig: &mut self.rig,
            rules: &rules,
            schedule: &plan.schedule,
            finished,
            loads,
            sink: &mut sink,
            progress: &mut |progress| match progress {
                Progress::Begun { plan, finished, left, .. } => {
                    work.step(finished as u64, &doing(&plan), left);
                }
                Progress::Finished { plan, faults } => {
                    for fault in faults {
                        work.say(&format!("  block {}: left out: {fault}", plan.index));
                    }
                }
                Progress::Again { plan, reason } => {
                    work.say(&format!("  block {}: again, because {reason}", plan.index));
                }
            },
            go_on,
            interrupt: self.interrupt.clone(),
        }
        .run()
        .await;
        work.done();
        let now = cotenant_probe::clock::wall_clock();
        let finish = |writer: RunWriter, status| {
            writer.finish(status, now).map_err(|error| evidence_failure(&error))
        };
        match result {
            Ok(()) => {
                finish(writer, RunStatus::Complete)?;
                Ok(RunStatus::Complete)
            }
            Err(RunError::Stopped) => {
                if let Some(reason) = decided() {
                    let ended = writer.finish_decided(&reason, now);
                    ended.map_err(|error| evidence_failure(&error))?;
                    return Ok(RunStatus::Complete);
                }
                finish(writer, RunStatus::Interrupted)?;
                Ok(RunStatus::Interrupted)
            }
            Err(RunError::Interrupted) => {
                finish(writer, RunStatus::Interrupted)?;
                Err(Failure::Interrupted(format!(
                    "interrupted: the finished blocks are kept\n\nhint: `cotenant measure {} \
                     --resume` goes on",
                    self.file.name()
                )))
            }
            Err(error) => {
                finish(writer, RunStatus::Interrupted)?;
                Err(Failure::world_hint(
                    error,
                    format!(
                        "the finished blocks are kept; the workloads' output lies in {}",
                        self.file.folder().join("logs").display()
                    ),
                ))
            }
        }
    }
}

fn doing(plan: &cotenant_core::evidence::PlannedBlock) -> String {
    use cotenant_core::evidence::Condition;
    if !plan.situation.is_ordinary() {
        return plan.situation.to_string();
    }
    let what = match plan.condition {
        Condition::A => "A: inference alone",
        Condition::B => "B: the neighbour alone",
        Condition::C => "C: both",
    };
    match plan.remedy {
        Some(remedy) => format!("{what}, {}", remedy.name()),
        None => what.to_owned(),
    }
}
