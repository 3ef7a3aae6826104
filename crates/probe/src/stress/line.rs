//! What a stressor prints, and how it is read.

use serde::{Deserialize, Serialize};

/// The word that begins each of its lines.
pub const STRESS_LINE: &str = "cotenant-stress ";

/// One line of a stressor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StressLine {
    /// A bound that it keeps or a trait of the machine, in a sentence.
    Note(String),
    /// What it reached since the line before.
    Rate {
        /// End of the interval, nanoseconds of the monotonic clock.
        at_ns: u64,
        /// Mean rate over it, in the stressor's unit.
        rate: f64,
    },
}

impl StressLine {
    /// The line as it is printed, with its line feed.
    pub fn print(&self) -> String {
        // Text and numbers that are finite: nothing here can fail to be printed.
        format!("{STRESS_LINE}{}\n", serde_json::to_string(self).unwrap_or_default())
    }

    /// Reads a line; `None` for one that is no stressor's.
    ///
    /// ```
    /// use cotenant_probe::stress::StressLine;
    /// let line = StressLine::Rate { at_ns: 7, rate: 1.5 };
    /// assert_eq!(StressLine::read(line.print().trim_end()), Some(line));
    /// assert_eq!(StressLine::read("step=1 loss=2.0"), None);
    /// ```
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text.strip_prefix(STRESS_LINE)?).ok()
    }
}
