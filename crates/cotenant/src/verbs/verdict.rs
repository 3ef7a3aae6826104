//! `cotenant verdict`: judges from evidence alone, offline.

use std::fs;

use cotenant_report::{TerminalOptions, render_html, render_terminal, to_json};

use crate::cli::{Format, VerdictOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file;
use crate::verbs::judged::{Judging, judged};

pub(crate) fn run(options: &VerdictOptions, printer: &Printer) -> Result<Code, Failure> {
    let file = site_file::read(&options.site, printer)?;
    let evidence = options.evidence.clone().unwrap_or_else(|| file.evidence());
    let judged = judged(&Judging {
        file: &file,
        evidence: &evidence,
        as_of: options.as_of,
        notes: &[],
        next_steps: &[],
    })?;
    for remark in &judged.remarks {
        printer.note(&format!("note: {remark}"));
    }
    let color = printer.color() && options.out.is_none();
    let text = match options.format {
        Format::Text => render_terminal(&judged.report, &TerminalOptions { width: 80, color }),
        Format::Json => to_json(&judged.report),
        Format::Html => render_html(&judged.report),
    };
    match &options.out {
        Some(path) => {
            fs::write(path, text).map_err(|error| {
                Failure::world(format!("cannot write {}: {error}", path.display()))
            })?;
            printer.note(&format!("written to {}", path.display()));
        }
        None => printer.data(&text)?,
    }
    Ok(Code::of(&judged.verdict))
}
