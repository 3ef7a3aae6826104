//! The site in its two short forms: the records of the capacity calendar, and the intake form.

mod model;
mod rows;
mod sections;
mod text;

pub use model::{FilledForm, FormRow, FormSection};
pub use sections::filled_form;
