//! What one call of `measure` is asked to test.

use std::collections::BTreeSet;

use super::Tests;

/// A test beside A, B and C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldTest {
    /// What it takes until the neighbour is gone and inference answers, and back.
    Reclaim,
    /// What it takes until the engine sleeps, wakes, restarts, or the GPU has another layout.
    Transition,
    /// Which resource inference is sensitive to, and what that predicts for C.
    Sensitivity,
    /// Whether each limit that the site relies on binds.
    Audit,
    /// What inference loses when the neighbour fails.
    Faults,
    /// The highest rate at which inference alone meets its objectives.
    Capacity,
    /// How soon the neighbour yields to a burst, and when either is as before.
    Burst,
}

impl FieldTest {
    /// Every test, in the order in which they run: what a later one relies on comes first.
    pub const ALL: [Self; 7] = [
        Self::Audit,
        Self::Capacity,
        Self::Reclaim,
        Self::Transition,
        Self::Sensitivity,
        Self::Burst,
        Self::Faults,
    ];

    /// The test of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.name() == name)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reclaim => "reclaim",
            Self::Transition => "transition",
            Self::Sensitivity => "sensitivity",
            Self::Audit => "audit",
            Self::Faults => "faults",
            Self::Capacity => "capacity",
            Self::Burst => "burst",
        }
    }
}

/// Everything that one call of `measure` is asked to test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// Tests A, B and C; `None` where none of them is asked for.
    pub compare: Option<Tests>,
    /// The others.
    pub field: BTreeSet<FieldTest>,
}

impl Campaign {
    /// Reads a list such as `a,b,c` or `reclaim,capacity`.
    ///
    /// # Errors
    /// A sentence that names the first word that is no test, or says that none is named.
    ///
    /// ```
    /// use cotenant_core::protocol::{Campaign, FieldTest};
    /// let campaign = Campaign::parse("c, Reclaim").unwrap();
    /// assert!(campaign.compare.unwrap().c && campaign.field.contains(&FieldTest::Reclaim));
    /// assert!(Campaign::parse("a,d").unwrap_err().contains("`d`"));
    /// ```
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut tests = Tests { a: false, b: false, c: false };
        let mut field = BTreeSet::new();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.to_ascii_lowercase().as_str() {
                "a" => tests.a = true,
                "b" => tests.b = true,
                "c" => tests.c = true,
                name => match FieldTest::ALL.into_iter().find(|test| test.name() == name) {
                    Some(test) => {
                        field.insert(test);
                    }
                    None => return Err(format!("`{word}` is no test: {}", known())),
                },
            }
        }
        let compare = (tests.a || tests.b || tests.c).then_some(tests);
        if compare.is_none() && field.is_empty() {
            return Err(format!("no test named: {}", known()));
        }
        Ok(Self { compare, field })
    }
}

/// The words that a list may have.
fn known() -> String {
    let names: Vec<&str> = FieldTest::ALL.into_iter().map(FieldTest::name).collect();
    format!("write a list of a, b, c, {}", names.join(", "))
}
