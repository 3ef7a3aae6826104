//! The report as text.

mod render;

pub use render::{TerminalOptions, render_terminal};
