//! The report as one self-contained HTML page.

mod curve;
mod marks;
mod page;
mod scale;
mod spread;
mod stack;
mod table;
mod timeline;

pub use page::render_html;
