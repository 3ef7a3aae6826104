//! The seventeen steps of the method, each with its state: done by which evidence, stale because of
//! what, or open with the command that does it.

use crate::evidence::{Block, Condition, Run};
use crate::site::{SharingMode, Site, WorkloadKind};
use crate::verdict::{GateKind, Ruling, Stale, Verdict, stale};

/// How far a step is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Done, by this evidence or this part of the site file.
    Done(String),
    /// Done once, but on something else.
    Stale(String),
    /// Not done; what does it.
    Open(String),
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// 1 to 17.
    pub number: u8,
    /// What it is.
    pub title: &'static str,
    /// How far it is.
    pub state: State,
}

/// The steps of a site with its evidence. `verdict` is what the evidence says now.
pub fn steps(site: &Site, site_file: &str, runs: &[Run], verdict: &Verdict) -> Vec<Step> {
    let look = Look { site, site_file, runs, verdict, stale: stale(site, runs) };
    [
        ("inference SLA", look.inference_objectives()),
        ("inference profile by time", look.inference_profile()),
        ("training objective and deadline", look.neighbour_objectives()),
        ("training profile", look.neighbour_profile()),
        ("temporal overlap", look.temporal_overlap()),
        ("whole-GPU baseline", look.whole_gpu()),
        ("MIG, MPS, time-slicing where they gain something", look.finer_sharing()),
        ("exact versions recorded", look.versions()),
        ("test A: inference alone", look.test(Condition::A)),
        ("test B: training alone", look.test(Condition::B)),
        ("test C: both together", look.test(Condition::C)),
        ("checkpoint and preemption measured", look.drills()),
        ("reconfiguration measured", look.reconfiguration()),
        ("CPU, RAM, storage, network contention", look.contention()),
        ("maintenance lifecycle", look.gate(GateKind::Maintenance)),
        ("failure domain", look.gate(GateKind::FailureDomain)),
        ("one server: PASS, CONDITIONAL or FAIL", look.answer()),
    ]
    .into_iter()
    .zip(1..)
    .map(|((title, state), number)| Step { number, title, state })
    .collect()
}

struct Look<'a> {
    site: &'a Site,
    site_file: &'a str,
    runs: &'a [Run],
    verdict: &'a Verdict,
    stale: Vec<Stale>,
}

impl Look<'_> {
    fn declare(&self, line: &str) -> State {
        State::Open(format!("declare `{line}` in {}", self.site_file))
    }

    /// A declaration that is right only under a condition, or is followed by something.
    fn declare_then(&self, line: &str, then: &str) -> State {
        State::Open(format!("declare `{line}` in {} {then}", self.site_file))
    }

    fn measure(&self, tests: &str) -> State {
        State::Open(format!("cotenant measure {} --tests {tests}", self.site_file))
    }

    fn inference_objectives(&self) -> State {
        let declared: Vec<&str> = self
            .site
            .inference()
            .filter(|(_, inference)| !inference.objectives.is_empty())
            .map(|(workload, _)| workload.name.as_str())
            .collect();
        if declared.is_empty() {
            return self.declare("objectives: { ttft_p95: 500 ms }");
        }
        State::Done(format!("declared for {}", declared.join(", ")))
    }

    fn inference_profile(&self) -> State {
        match self.site.inference().next() {
            Some((_, inference)) => State::Done(format!("declared: {}", inference.demand.name())),
            None => self.declare("demand: { poisson: { rate: 8 req/s } }"),
        }
    }

    fn neighbour_objectives(&self) -> State {
        let declared = self.site.workloads.iter().find(|workload| match &workload.kind {
            WorkloadKind::Inference(_) => false,
            WorkloadKind::Training(training) => !training.objectives.is_empty(),
            WorkloadKind::Batch(batch) => batch.deadline.is_some(),
            WorkloadKind::Render(render) => !render.job.objectives.is_empty(),
        });
        match declared {
            Some(workload) => State::Done(format!("declared for {}", workload.name)),
            None => self.declare("objectives: { deadline: …, step_time_max: … }"),
        }
    }

    fn neighbour_profile(&self) -> State {
        let measured = self.runs_with(Condition::B);
        if let Some(run) = measured.last() {
            return State::Done(format!("step times of run {}", run.id));
        }
        let declared = self.site.training().any(|(_, training)| training.step_time_alone.is_some());
        if declared {
            return State::Done("declared: step_time_alone".into());
        }
        self.measure("b")
    }

    fn temporal_overlap(&self) -> State {
        match &self.site.sharing.mode {
            SharingMode::Temporal(windows) => {
                State::Done(format!("declared: {} windows", windows.len()))
            }
            _ => {
                self.declare_then("sharing: { mode: { temporal: […] } }", "if they may take turns")
            }
        }
    }

    fn whole_gpu(&self) -> State {
        if self.site.gpu_count() == 0 {
            return State::Done("the site has no GPU to split".into());
        }
        match &self.site.sharing.mode {
            SharingMode::WholeGpu(_) => State::Done("declared: sharing.mode whole_gpu".into()),
            _ => self.declare_then("sharing: { mode: { whole_gpu: … } }", "and measure it first"),
        }
    }

    fn finer_sharing(&self) -> State {
        match &self.site.sharing.mode {
            SharingMode::Mig(_) | SharingMode::Mps(_) | SharingMode::TimeSlicing(_) => {
                State::Done(format!("declared: {}", self.site.sharing.mode.name()))
            }
            _ => State::Done("not used: only where the whole-GPU split does not do".into()),
        }
    }

    fn versions(&self) -> State {
        match self.runs.last() {
            Some(run) => State::Done(format!(
                "{} aspects of the stack in run {}",
                run.fingerprint.0.len(),
                run.id
            )),
            None => self.measure("a,b,c"),
        }
    }

    fn runs_with(&self, condition: Condition) -> Vec<&Run> {
        let has = |run: &&Run| run.blocks.iter().any(|block| counts(block, condition));
        self.runs.iter().filter(has).collect()
    }

    fn test(&self, condition: Condition) -> State {
        let runs = self.runs_with(condition);
        let command = match condition {
            Condition::A => "a",
            Condition::B => "b",
            Condition::C => "a,c",
        };
        if runs.is_empty() {
            return self.measure(command);
        }
        let stale: Vec<&Stale> =
            self.stale.iter().filter(|stale| stale.condition == condition).collect();
        let fresh: Vec<&Run> =
            runs.into_iter().filter(|run| stale.iter().all(|stale| stale.run != run.id)).collect();
        if fresh.is_empty() {
            let why = stale
                .last()
                .map_or_else(String::new, |stale| format!("run {}: {}", stale.run, stale.what));
            return State::Stale(why);
        }
        let blocks: usize = fresh
            .iter()
            .flat_map(|run| &run.blocks)
            .filter(|block| counts(block, condition))
            .count();
        let ids: Vec<&str> = fresh.iter().map(|run| run.id.as_str()).collect();
        State::Done(format!("{blocks} blocks in {}", ids.join(", ")))
    }

    fn drills(&self) -> State {
        let blocks = || self.runs.iter().flat_map(|run| &run.blocks);
        let drills: Vec<_> = blocks().filter_map(|block| block.drill.as_ref()).collect();
        if drills.is_empty() {
            return self.measure("reclaim");
        }
        let failed = drills.iter().filter(|drill| drill.succeeded() == Some(false)).count();
        let checkpoints: usize = blocks().map(|block| block.checkpoints.len()).sum();
        State::Done(format!("{} drills, {failed} failed; {checkpoints} checkpoints", drills.len()))
    }

    fn reconfiguration(&self) -> State {
        let changes: Vec<_> = self
            .runs
            .iter()
            .flat_map(|run| &run.blocks)
            .flat_map(|block| &block.observed.changes)
            .collect();
        if !changes.is_empty() {
            let failed = changes.iter().filter(|change| change.failure.is_some()).count();
            return State::Done(format!("{} changes of hands, {failed} failed", changes.len()));
        }
        match &self.site.operations.transition {
            Some(transition) if transition.source.is_some() => {
                State::Done("declared: operations.transition".into())
            }
            _ if self.site.gpu_count() == 0 => {
                State::Done("nothing is reconfigured without a GPU".into())
            }
            _ => self.measure("transition"),
        }
    }

    fn contention(&self) -> State {
        let seen: usize =
            self.runs.iter().flat_map(|run| &run.blocks).map(|block| block.host.len()).sum();
        if seen == 0 {
            return self.measure("a,b,c");
        }
        State::Done(format!("{seen} s of the host beside the blocks"))
    }

    fn gate(&self, kind: GateKind) -> State {
        let Some(gate) = self.verdict.gates.iter().find(|gate| gate.kind == kind) else {
            return self.measure("a,b,c");
        };
        match gate.ruling {
            Ruling::Pass | Ruling::Fail | Ruling::Conditional => {
                State::Done(format!("{}: {}", gate.ruling.word(), gate.summary))
            }
            Ruling::NotProven => {
                let missing = gate.findings.iter().flat_map(|finding| &finding.missing).next();
                State::Open(missing.map_or_else(String::new, |missing| missing.remedy.clone()))
            }
        }
    }

    fn answer(&self) -> State {
        match self.verdict.ruling {
            Ruling::NotProven => {
                let first = self.verdict.missing.first();
                State::Open(first.map_or_else(String::new, |missing| missing.remedy.clone()))
            }
            ruling => State::Done(format!("{}: {}", ruling.word(), self.verdict.reason)),
        }
    }
}

/// Whether a block is one of a test: what was measured at another rate or under a stressor answers
/// another question.
fn counts(block: &Block, condition: Condition) -> bool {
    block.plan.condition == condition && block.plan.situation.is_ordinary() && block.is_valid()
}
