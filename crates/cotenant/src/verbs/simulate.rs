//! `cotenant simulate`: what would happen if the plan's calendar were carried out.

use std::fs;
use std::path::Path;

use cotenant_core::evidence::ReclaimDrill;
use cotenant_core::plan::plan;
use cotenant_core::policy::reclaim::Rule;
use cotenant_core::sim::transition::Drilled;
use cotenant_core::sim::world::simulate_weeks;
use cotenant_core::units::Picoseconds;
use cotenant_report::{
    SimulationInputs, TerminalOptions, build_simulation, render_simulation_terminal,
    simulation_to_json,
};

use crate::cli::{SimulateFormat, SimulateOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file;
use crate::verbs::planned::Planned;
use crate::verbs::sweep;

/// When lent GPUs are asked back, for want of anything that a site could say of it: told as assumed.
pub(super) const RECLAIM: Rule = Rule {
    high: 1.0,
    low: 0.7,
    high_for: Picoseconds(30 * Picoseconds::SECOND.0),
    low_for: Picoseconds(600 * Picoseconds::SECOND.0),
    turn_min: Picoseconds(900 * Picoseconds::SECOND.0),
    settle: Picoseconds(60 * Picoseconds::SECOND.0),
    gpus_per_change: 1,
};

/// [`RECLAIM`] in words.
pub(super) const RECLAIM_TEXT: &str = "lent GPUs are asked back after 30 s in which replicas lack, one at \
     a time with a minute between, and lent again after ten minutes below 70 %, a quarter of an hour after \
     the last at the earliest";

pub(crate) fn run(options: &SimulateOptions, printer: &Printer) -> Result<Code, Failure> {
    if !options.sweep.sweep.is_empty() {
        return sweep::run(options, printer);
    }
    if options.format == SimulateFormat::Html {
        return Err(no_page());
    }
    let file = site_file::read(&options.site, printer)?;
    let planned = Planned::read(&file, options.evidence.as_deref(), *printer)?;
    let question = planned.question(&options.drawing);
    let made = plan(&question);
    let drills: Vec<ReclaimDrill> = planned.drills().cloned().collect();
    let simulated = simulate_weeks(&question, &made, &Drilled::of(&drills), Some(RECLAIM));
    let mut simulated = simulated.map_err(|why| {
        Failure::input(format!(
            "{why}\n\nhint: `cotenant plan {}` says what the plan lacks",
            file.name()
        ))
    })?;
    simulated.assumed.push(RECLAIM_TEXT.to_owned());
    let report = build_simulation(&SimulationInputs {
        site_name: &file.site.name,
        tool_version: concat!("cotenant ", env!("CARGO_PKG_VERSION")),
        simulated: &simulated,
        notes: &planned.histories.notes,
    });
    let text = match options.format {
        SimulateFormat::Text => {
            let color = printer.color() && options.out.is_none();
            render_simulation_terminal(&report, &TerminalOptions { width: 80, color })
        }
        SimulateFormat::Json => simulation_to_json(&report),
        SimulateFormat::Html => return Err(no_page()),
    };
    write_answer(options.out.as_deref(), &text, printer)?;
    Ok(Code::Answered)
}

fn no_page() -> Failure {
    Failure::input(
        "`--format html` is the page of a sweep\n\nhint: add `--sweep rate=0.5,1,2`, or leave the format away",
    )
}

/// Writes an answer to the file that was asked for, else to standard output.
pub(super) fn write_answer(
    out: Option<&Path>,
    text: &str,
    printer: &Printer,
) -> Result<(), Failure> {
    let Some(path) = out else { return printer.data(text) };
    fs::write(path, text)
        .map_err(|error| Failure::world(format!("cannot write {}: {error}", path.display())))?;
    printer.note(&format!("written to {}", path.display()));
    Ok(())
}
