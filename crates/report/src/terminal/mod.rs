//! The report as text of at most 80 columns, readable without colour.

mod layout;
mod render;

pub use render::{TerminalOptions, render_terminal};
