//! `cotenant plan`: who may hold which GPU when, what is kept for bursts, and which deadlines hold.

use std::fs;

use cotenant_core::plan::{CandidateCalendar, Plan, PlanQuestion, plan_with_calendars};
use cotenant_core::sim::candidates::{SimulatedCandidate, simulate_candidates};
use cotenant_core::site::{SharingMode, Site};
use cotenant_report::{
    ExportFormat, ExportOptions, NextStepInput, PlanInputs, PlanReport, TerminalOptions,
    build_plan, export, plan_to_json, render_plan_html, render_plan_terminal,
};

use crate::cli::{PlanFormat, PlanOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file::{self, SiteFile};
use crate::verbs::judged;
use crate::verbs::planned::{Planned, RECLAIM};

pub(crate) fn run(options: &PlanOptions, printer: &Printer) -> Result<Code, Failure> {
    let file = site_file::read(&options.site, printer)?;
    let planned = Planned::read(&file, options.evidence.as_deref(), *printer)?;
    let question = planned.question(&options.drawing);
    let (made, calendars) = plan_with_calendars(&question);
    let simulated = simulated(&file.site, &planned, &question, (&made, &calendars));
    let report = build_plan(&PlanInputs {
        plan: &made,
        site_name: &file.site.name,
        site_lines: &judged::site_lines(&file.site),
        time_zone: &file.site.time_zone,
        tool_version: concat!("cotenant ", env!("CARGO_PKG_VERSION")),
        notes: &planned.histories.notes,
        next_steps: &next_steps(&file),
        sharing: Some(&file.site.sharing),
        simulated: &simulated,
        server: file.site.server(),
    });
    let text = rendered(options, printer, &report)?;
    match &options.out {
        Some(path) => {
            fs::write(path, text).map_err(|error| {
                Failure::world(format!("cannot write {}: {error}", path.display()))
            })?;
            printer.note(&format!("written to {}", path.display()));
        }
        None => printer.data(&text)?,
    }
    Ok(Code::Answered)
}

/// What comes of each way of sharing where the site asks for all of them; nothing where it has
/// decided for one.
fn simulated(
    site: &Site,
    planned: &Planned<'_>,
    question: &PlanQuestion<'_>,
    (made, calendars): (&Plan, &[Option<CandidateCalendar>]),
) -> Vec<SimulatedCandidate> {
    if !matches!(site.sharing.mode, SharingMode::CandidatesAll) {
        return Vec::new();
    }
    let bases = planned.bases(question.seed);
    let drilled = planned.drilled();
    simulate_candidates(question, made, calendars, &bases, &drilled, Some(RECLAIM))
}

fn next_steps(file: &SiteFile) -> Vec<NextStepInput> {
    let name = file.name();
    vec![
        NextStepInput {
            text: "See the week on one page.".into(),
            command: format!("cotenant plan {name} --format html --out plan.html"),
        },
        NextStepInput {
            text: "Prove what the plan takes for granted: inference alone, the jobs alone, both."
                .into(),
            command: format!("cotenant measure {name}"),
        },
        NextStepInput {
            text: "Put the calendar where people look.".into(),
            command: format!("cotenant plan {name} --format ical --out plan.ics"),
        },
    ]
}

fn rendered(
    options: &PlanOptions,
    printer: &Printer,
    report: &PlanReport,
) -> Result<String, Failure> {
    let format = match options.format {
        PlanFormat::Text => {
            let color = printer.color() && options.out.is_none();
            return Ok(render_plan_terminal(report, &TerminalOptions { width: 80, color }));
        }
        PlanFormat::Json => return Ok(plan_to_json(report)),
        PlanFormat::Html => return Ok(render_plan_html(report)),
        PlanFormat::Csv => ExportFormat::Csv,
        PlanFormat::Ical => ExportFormat::Ical,
        PlanFormat::MigParted => ExportFormat::MigParted,
        PlanFormat::GpuOperator => ExportFormat::GpuOperator,
        PlanFormat::DevicePlugin => ExportFormat::DevicePlugin,
        PlanFormat::Mps => ExportFormat::Mps,
        PlanFormat::Slurm => ExportFormat::Slurm,
    };
    let named = ExportOptions {
        node: options.node.as_deref(),
        account: options.account.as_deref(),
        namespace: &options.namespace,
    };
    let written = export(report, format, &named).map_err(Failure::input)?;
    for limit in &written.limits {
        printer.note(&format!("note: {limit}"));
    }
    Ok(written.text)
}
