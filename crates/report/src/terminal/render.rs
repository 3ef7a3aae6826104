//! Stub.
use crate::Report;
/// How the text is set.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// w
    pub width: usize,
    /// c
    pub color: bool,
}
/// The report as text.
pub fn render_terminal(_report: &Report, _options: &TerminalOptions) -> String {
    String::new()
}
