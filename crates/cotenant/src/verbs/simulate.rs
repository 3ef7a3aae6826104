//! `cotenant simulate`: what would happen if the plan's calendar were carried out.

use std::fs;
use std::path::Path;

use cotenant_core::plan::plan;
use cotenant_core::sim::latency::foretell;
use cotenant_core::sim::world::simulate_weeks;
use cotenant_report::{
    SimulationInputs, TerminalOptions, build_simulation, render_simulation_terminal,
    simulation_to_json,
};

use crate::cli::{SimulateFormat, SimulateOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file;
use crate::verbs::planned::{Planned, RECLAIM, RECLAIM_TEXT};
use crate::verbs::sweep;

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
    let simulated = simulate_weeks(&question, &made, &planned.drilled(), Some(RECLAIM));
    let latencies: Vec<_> = file
        .site
        .inference()
        .map(|(workload, inference)| {
            foretell(&file.site, workload, inference, planned.runs(), options.drawing.seed)
        })
        .collect();
    if let (Err(why), false) = (&simulated, latencies.iter().any(Result::is_ok)) {
        let latencies: Vec<String> =
            latencies.iter().filter_map(|it| it.as_ref().err().cloned()).collect();
        return Err(Failure::input(format!(
            "nothing can be simulated: {why}; {}\n\nhint: `cotenant plan {}` says what the plan lacks",
            latencies.join("; "),
            file.name()
        )));
    }
    let assumed = [RECLAIM_TEXT.to_owned()];
    let report = build_simulation(&SimulationInputs {
        site_name: &file.site.name,
        tool_version: concat!("cotenant ", env!("CARGO_PKG_VERSION")),
        simulated: simulated.as_ref().map_err(String::as_str),
        latencies: &latencies,
        assumed: if simulated.is_ok() { &assumed } else { &[] },
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
