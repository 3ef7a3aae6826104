//! Made-up evidence and hand-made verdicts, one for each word. Nothing here was measured.

mod evidence;
mod verdicts;
mod why;

use cotenant_core::capacity::MeasuredCapacity;
use cotenant_core::evidence::Run;
use cotenant_core::sensitivity::Explanation;
use cotenant_core::verdict::{Unit, Verdict};
use cotenant_report::{
    DeclaredCheckpoint, DeclaredLoad, DeclaredObjective, NextStepInput, Report, ReportInputs,
    RequestClass, build,
};

pub(crate) use evidence::made_up_run;
pub(crate) use verdicts::{conditional, fail, invalid, not_proven, pass};
pub(crate) use why::explanation;

/// Everything that a report is built from, owned.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) runs: Vec<Run>,
    pub(crate) capacities: Vec<MeasuredCapacity>,
    pub(crate) site_lines: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) next_steps: Vec<NextStepInput>,
    pub(crate) objectives: Vec<DeclaredObjective>,
    pub(crate) loads: Vec<DeclaredLoad>,
    pub(crate) classes: Vec<RequestClass>,
    pub(crate) checkpoint: DeclaredCheckpoint,
}

impl Sample {
    fn new(name: &'static str, verdict: Verdict, runs: Vec<Run>) -> Self {
        Self {
            name,
            verdict,
            runs,
            capacities: Vec::new(),
            site_lines: vec![
                "1 server, no GPU, 2 CPU cores".to_owned(),
                "chat (inference) beside tune (training)".to_owned(),
                "sharing: time slicing by the CPU scheduler".to_owned(),
            ],
            notes: vec![
                "Made-up evidence: nothing on this page was measured".to_owned(),
                "EXAMPLE OBJECTIVE: 2.5 × what the pilot saw alone".to_owned(),
            ],
            next_steps: vec![
                step(
                    "Put your own objectives in the place of the examples",
                    "cotenant check cotenant-try/site.yaml",
                ),
                step(
                    "Measure your own engine beside your own trainer",
                    "cotenant measure site.yaml --tests a,b,c",
                ),
                step("See which of the seventeen steps are open", "cotenant status site.yaml"),
            ],
            objectives: vec![
                objective("chat", "ttft_p95", 0.5, "TTFT p95 at most 500 ms"),
                objective("chat", "itl_p99", 0.12, "ITL p99 at most 120 ms"),
                objective("tune", "step_time_max", 1.6, "mean step time at most 1.6 s"),
            ],
            loads: vec![DeclaredLoad {
                workload: "chat".to_owned(),
                description: "Poisson".to_owned(),
                rate_per_s: Some(4.0),
                prompt_tokens_p50: Some(64),
                prompt_tokens_p95: Some(180),
                output_tokens_p50: Some(24),
                output_tokens_p95: None,
            }],
            classes: Vec::new(),
            checkpoint: DeclaredCheckpoint {
                asynchronous: Some(false),
                interval_s: Some(1800.0),
                mean_time_to_loss_s: Some(14_400.0),
                windows_s: vec![3_600.0, 7_200.0],
            },
        }
    }

    pub(crate) fn report(&self) -> Report {
        self.report_with(None)
    }

    pub(crate) fn report_with(&self, sensitivity: Option<&Explanation>) -> Report {
        build(&ReportInputs {
            site_name: "made-up server",
            site_lines: &self.site_lines,
            as_of: None,
            verdict: &self.verdict,
            runs: &self.runs,
            capacities: &self.capacities,
            tool_version: "cotenant 0.1.0",
            notes: &self.notes,
            next_steps: &self.next_steps,
            objectives: &self.objectives,
            loads: &self.loads,
            classes: &self.classes,
            sensitivity,
            checkpoint: &self.checkpoint,
        })
    }
}

fn step(text: &str, command: &str) -> NextStepInput {
    NextStepInput { text: text.to_owned(), command: command.to_owned() }
}

fn objective(workload: &str, metric: &str, target: f64, sentence: &str) -> DeclaredObjective {
    DeclaredObjective {
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        target: Some(target),
        unit: Unit::Seconds,
        sentence: sentence.to_owned(),
    }
}

/// One sample for each word.
pub(crate) fn samples() -> Vec<Sample> {
    vec![
        Sample::new("pass", pass(), vec![made_up_run(6, false)]),
        Sample::new("conditional", conditional(), vec![made_up_run(6, true)]),
        Sample::new("fail", fail(), vec![made_up_run(4, false)]),
        Sample::new("not-proven", not_proven(), vec![made_up_run(1, false)]),
        Sample::new("invalid", invalid(), Vec::new()),
    ]
}
