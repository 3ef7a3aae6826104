//! `cotenant status`: the seventeen steps of the method.

use cotenant_core::method::{State, steps};
use serde_json::json;

use crate::cli::{CheckFormat, StatusOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file;
use crate::verbs::judged::{Judging, judged};

/// Columns of the terminal.
const WIDTH: usize = 80;
/// Columns before a step's text.
const INDENT: usize = 13;

pub(crate) fn run(options: &StatusOptions, printer: &Printer) -> Result<Code, Failure> {
    let file = site_file::read(&options.site, printer)?;
    let evidence = options.evidence.clone().unwrap_or_else(|| file.evidence());
    let judged = judged(&Judging {
        file: &file,
        evidence: &evidence,
        as_of: None,
        notes: &[],
        next_steps: &[],
    })?;
    let steps = steps(&file.site, &file.name(), &judged.runs, &judged.verdict);
    let parts = |state: &State| match state {
        State::Done(text) => ("done", text.clone()),
        State::Stale(text) => ("stale", text.clone()),
        State::Open(text) => ("open", text.clone()),
    };
    let text = match options.format {
        CheckFormat::Json => {
            let steps: Vec<_> = steps
                .iter()
                .map(|step| {
                    let (state, text) = parts(&step.state);
                    json!({
                        "number": step.number, "title": step.title, "state": state, "text": text,
                    })
                })
                .collect();
            let answer = json!({ "format": "cotenant-status", "version": 1, "site": file.site.name, "steps": steps });
            serde_json::to_string_pretty(&answer).map_err(|e| Failure::Bug(e.to_string()))?
        }
        CheckFormat::Text => {
            let mut lines = Vec::new();
            for step in &steps {
                let (state, text) = parts(&step.state);
                lines.push(format!("{:>4}  {state:<5}  {}", step.number, step.title));
                lines.extend(wrapped(&text));
            }
            lines.join("\n")
        }
    };
    printer.data(&text)?;
    Ok(Code::Answered)
}

/// Text in lines that fit, behind the indent. A word that is too long for a line stays whole.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{:INDENT$}{word}", "")),
        }
    }
    lines
}
