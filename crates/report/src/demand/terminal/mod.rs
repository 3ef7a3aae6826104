//! Demand as text of at most 80 columns, readable without colour.

mod forecast;
mod render;
mod tables;
mod week;

pub use render::render_demand_terminal;
