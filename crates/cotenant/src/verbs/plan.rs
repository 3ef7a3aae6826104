//! `cotenant plan`: who may hold which GPU when, what is kept for bursts, and which deadlines hold.

use std::fs;
use std::time::Duration;

use cotenant_core::evidence::Run;
use cotenant_core::plan::schedule::Effort;
use cotenant_core::plan::{PlanQuestion, plan};
use cotenant_records::evidence::ReadWhat;
use cotenant_report::{
    ExportFormat, ExportOptions, NextStepInput, PlanInputs, PlanReport, TerminalOptions,
    build_plan, export, plan_to_json, render_plan_html, render_plan_terminal,
};

use crate::cli::{PlanFormat, PlanOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file::{self, SiteFile};
use crate::verbs::histories;
use crate::verbs::judged;

pub(crate) fn run(options: &PlanOptions, printer: &Printer) -> Result<Code, Failure> {
    let file = site_file::read(&options.site, printer)?;
    let histories = histories::of_site(&file.site, &file.folder(), *printer)?;
    let evidence = options.evidence.clone().unwrap_or_else(|| file.evidence());
    // With the gaps between tokens, on which a capacity may depend.
    let gaps = ReadWhat { gaps: true };
    let runs = if evidence.is_dir() { judged::runs(&evidence, gaps)? } else { Vec::new() };
    let capacities = cotenant_core::capacity::measured(&file.site, &runs);
    let name = file.name();
    let made = plan(&PlanQuestion {
        site: &file.site,
        site_file: &name,
        as_of: options.as_of,
        histories: &histories.list,
        capacities: &capacities,
        drill_measured: longest_drill(&runs),
        effort: Effort { steps_max: options.steps, seed: options.seed },
        weeks_drawn: options.weeks_drawn,
        seed: options.seed,
    });
    let report = build_plan(&PlanInputs {
        plan: &made,
        site_name: &file.site.name,
        site_lines: &judged::site_lines(&file.site),
        time_zone: &file.site.time_zone,
        tool_version: concat!("cotenant ", env!("CARGO_PKG_VERSION")),
        notes: &histories.notes,
        next_steps: &next_steps(&file),
        sharing: Some(&file.site.sharing),
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

/// The longest time from a signal to memory really free that any drill showed.
fn longest_drill(runs: &[Run]) -> Option<Duration> {
    let drills = runs.iter().flat_map(|run| &run.blocks).filter_map(|block| block.drill.as_ref());
    let longest = drills.filter_map(|drill| drill.memory_free_s.or(drill.exit_s)).reduce(f64::max);
    longest.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
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
