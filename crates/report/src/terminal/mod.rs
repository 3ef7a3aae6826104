//! The report as text of at most 80 columns, readable without colour.

mod burst;
mod capacity;
pub(crate) mod layout;
pub(crate) mod paper;
mod render;
mod transitions;
mod why;

pub use paper::TerminalOptions;
pub use render::render_terminal;
