//! `cotenant schema`: what a site file, or a report, may hold.

use crate::cli::{SchemaOf, SchemaOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;

pub(crate) fn run(options: &SchemaOptions, printer: &Printer) -> Result<Code, Failure> {
    let schema = match options.of {
        SchemaOf::Site => cotenant_records::site::schema(),
        SchemaOf::Report => cotenant_report::schema(),
        SchemaOf::Plan => cotenant_report::plan_schema(),
        SchemaOf::Demand => cotenant_report::demand_schema(),
        SchemaOf::Reading => cotenant_report::reading_schema(),
        SchemaOf::Simulation => cotenant_report::simulation_schema(),
        SchemaOf::Sweep => cotenant_report::sweep_schema(),
    };
    let text =
        serde_json::to_string_pretty(&schema).map_err(|error| Failure::Bug(error.to_string()))?;
    printer.data(&text)?;
    Ok(Code::Answered)
}
