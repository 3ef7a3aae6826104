//! The report as one self-contained HTML page.

mod curve;
pub(crate) mod grid;
pub(crate) mod marks;
mod page;
mod rate;
pub(crate) mod scale;
mod spread;
mod stack;
pub(crate) mod table;
mod timeline;
mod why;

pub use page::render_html;
pub(crate) use page::{STYLE, facts};
