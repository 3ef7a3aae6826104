//! `cotenant check`: every problem of a site file at once, and what arithmetic says of it.

use cotenant_core::plan::checks;
use cotenant_records::site::{self, Severity};
use cotenant_report::{TerminalOptions, build_checks, render_checks_terminal};
use serde_json::json;

use crate::cli::{CheckFormat, CheckOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file;

pub(crate) fn run(options: &CheckOptions, printer: &Printer) -> Result<Code, Failure> {
    let (bytes, found, problems) = site_file::load(&options.site)?;
    let name = options.site.display().to_string();
    let wrong = found.is_none() || site::has_errors(&problems);
    match options.format {
        CheckFormat::Json => {
            let problems: Vec<_> = problems
                .iter()
                .map(|problem| {
                    let labels: Vec<_> = problem
                        .labels
                        .iter()
                        .map(|label| {
                            json!({
                                "start": label.span.start,
                                "end": label.span.end,
                                "text": label.text,
                                "primary": label.is_primary,
                            })
                        })
                        .collect();
                    let error = problem.severity == Severity::Error;
                    json!({
                        "severity": if error { "error" } else { "warning" },
                        "code": problem.code,
                        "message": problem.message,
                        "labels": labels,
                        "hint": problem.hint,
                    })
                })
                .collect();
            let arithmetic =
                found.as_ref().filter(|_| !wrong).map(|found| build_checks(&checks(found)));
            let answer = json!({
                "file": name,
                "usable": !wrong,
                "problems": problems,
                "checks": arithmetic.unwrap_or_default(),
            });
            let text = serde_json::to_string_pretty(&answer)
                .map_err(|error| Failure::Bug(error.to_string()))?;
            printer.data(&text)?;
        }
        CheckFormat::Text => {
            if !problems.is_empty() {
                printer.error_text(&site::render(&problems, &name, &bytes, printer.error_color()));
            }
            if let Some(found) = found.filter(|_| !wrong) {
                printer.data(&site::filled_form(&found).to_string())?;
                let views = build_checks(&checks(&found));
                let options = TerminalOptions { width: 80, color: printer.color() };
                printer.data(&render_checks_terminal(&views, &options))?;
                printer.note(&format!("{name}: no errors"));
            }
        }
    }
    Ok(if wrong { Code::Input } else { Code::Answered })
}
