//! What a filled form consists of.

use super::sections::RESULT;

/// The site in its two short forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledForm {
    /// System, inference, training, calendar, sharing mode, result.
    pub calendar: Vec<FormSection>,
    /// Server, inference, training, operations.
    pub intake: Vec<FormSection>,
}

/// One record of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormSection {
    /// Its title, with the workload's name where it is about one.
    pub title: String,
    /// Its lines, in order.
    pub rows: Vec<FormRow>,
}

/// One line of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormRow {
    /// What is asked.
    pub label: String,
    /// What the site file says; `None` where it is silent.
    pub value: Option<String>,
}

impl FilledForm {
    /// Lines that are still blank, the result's apart: nobody can declare a result.
    pub fn blanks(&self) -> usize {
        let sections = self.intake.iter().chain(&self.calendar);
        sections
            .filter(|section| section.title != RESULT)
            .flat_map(|section| &section.rows)
            .filter(|row| row.value.is_none())
            .count()
    }
}
