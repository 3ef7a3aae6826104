//! Writes the page, the text and the JSON of each made-up sample into a folder, to look at.
//!
//! `cargo run -p cotenant-report --example sample_report -- FOLDER`

#[path = "../tests/report/support/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod support;

use std::path::PathBuf;

use cotenant_report::{TerminalOptions, render_html, render_terminal, to_json};

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "sample-report".into()));
    std::fs::create_dir_all(&folder)?;
    for sample in support::samples() {
        let explanation = support::explanation();
        let report = sample.report_with(Some(&explanation));
        let file = |extension: &str| folder.join(format!("{}.{extension}", sample.name));
        std::fs::write(file("html"), render_html(&report))?;
        std::fs::write(
            file("txt"),
            render_terminal(&report, &TerminalOptions { width: 80, color: false }),
        )?;
        std::fs::write(file("json"), to_json(&report))?;
    }
    Ok(())
}
