//! `cotenant read`: what a file is, and its numbers.

use std::io;
use std::path::Path;

use cotenant_core::reading::{FileRefusal, RefusalCause};
use cotenant_probe::read::{ReadFile, contradictions, read, read_file};
use cotenant_report::{
    ReadInput, TerminalOptions, build_reading, reading_to_json, render_reading_terminal,
};

use crate::cli::{CheckFormat, ReadOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;

/// What stands for standard input among the files.
const STANDARD_INPUT: &str = "-";

/// A file that is refused does not keep the others from being read; the code is that of the worst.
pub(crate) fn run(options: &ReadOptions, printer: &Printer) -> Result<Code, Failure> {
    if options.files.iter().filter(|file| is_standard_input(file)).count() > 1 {
        return Err(Failure::input("`-` stands for standard input, which can be read once"));
    }
    let files: Vec<Result<ReadFile, FileRefusal>> =
        options.files.iter().map(|file| one(file)).collect();
    let inputs: Vec<ReadInput<'_>> =
        files.iter().map(|file| file.as_ref().map(|file| &file.reading)).collect();
    let read: Vec<&ReadFile> = files.iter().filter_map(|file| file.as_ref().ok()).collect();
    let report = build_reading(
        &inputs,
        &contradictions(&read),
        concat!("cotenant ", env!("CARGO_PKG_VERSION")),
    );
    let text = match options.format {
        CheckFormat::Json => reading_to_json(&report),
        CheckFormat::Text => {
            render_reading_terminal(&report, &TerminalOptions { width: 80, color: printer.color() })
        }
    };
    printer.data(&text)?;
    let worst = files.iter().filter_map(|file| file.as_ref().err()).map(|refusal| {
        // The answer may be cut by who reads it; what went wrong is told where errors are.
        printer.error_text(&format!("error: {refusal}"));
        refusal.cause
    });
    Ok(match worst.max() {
        None => Code::Answered,
        Some(RefusalCause::Content) => Code::Input,
        Some(RefusalCause::Machine) => Code::World,
    })
}

fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == STANDARD_INPUT
}

fn one(file: &Path) -> Result<ReadFile, FileRefusal> {
    if is_standard_input(file) {
        let mut file = read("standard input", io::stdin().lock())?;
        // What was piped in is gone, and no command can be given it again.
        file.reading.next = None;
        return Ok(file);
    }
    read_file(file)
}
