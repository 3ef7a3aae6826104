//! The plan as text of at most 80 columns, readable without colour.

mod calendar;
mod parts;
mod render;
mod reserve;

pub use render::{render_checks_terminal, render_plan_terminal};
