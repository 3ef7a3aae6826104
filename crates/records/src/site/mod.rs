//! The site file: YAML text to [`cotenant_core::site::Site`], with every problem in its place.
//!
//! The text becomes a tree in which every node knows its place (`tree`). One table of fields
//! (`fields`) says what may stand where; the walk over the tree, the JSON Schema and the reference
//! in the documentation are all made from it, so they cannot disagree. Only a tree without errors
//! is built into core types, and rules across fields are checked last.

mod build;
#[cfg(test)]
mod coverage;
mod cross;
mod deadline;
mod draft;
mod fields;
mod form;
mod nearest;
mod problem;
mod read;
mod reference;
mod render;
mod scalar;
mod schema;
mod shape;
mod times;
mod tree;
mod view;
mod walk;

pub use draft::{draft, open_points};
pub use form::{FilledForm, FormRow, FormSection, filled_form};
pub use problem::{Label, Problem, Severity, Span, has_errors};
pub use read::{PROBLEMS_MAX, SITE_FILE_BYTES_MAX, read_site};
pub use reference::reference;
pub use render::render;
pub use schema::schema;
