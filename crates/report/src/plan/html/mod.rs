//! The plan as one self-contained HTML page.

mod figure;
mod heat;
mod marks;
mod page;
mod parts;
mod reserve;

pub use page::render_plan_html;
