//! Writes the page, the text, the JSON and the exports of each made-up plan into a folder, to look at.
//!
//! `cargo run -p cotenant-report --example sample_plan -- FOLDER`

#[path = "../tests/report/support/plans.rs"]
#[expect(
    clippy::unwrap_used,
    reason = "the plans are made up of constants, and tests use them too"
)]
mod plans;

use std::path::PathBuf;

use cotenant_report::{
    ExportFormat, ExportOptions, TerminalOptions, export, plan_to_json, render_plan_html,
    render_plan_terminal,
};

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "sample-plan".into()));
    std::fs::create_dir_all(&folder)?;
    for sample in plans::plan_samples() {
        let report = sample.report();
        let file = |name: &str| folder.join(format!("{}-{name}", sample.name));
        std::fs::write(file("page.html"), render_plan_html(&report))?;
        std::fs::write(
            file("text.txt"),
            render_plan_terminal(&report, &TerminalOptions { width: 80, color: false }),
        )?;
        std::fs::write(file("plan.json"), plan_to_json(&report))?;
        let options = ExportOptions { node: Some("gpu1"), ..ExportOptions::default() };
        for format in ExportFormat::ALL {
            if let Ok(written) = export(&report, format, &options) {
                std::fs::write(file(format.file_name()), written.text)?;
            }
        }
    }
    Ok(())
}
