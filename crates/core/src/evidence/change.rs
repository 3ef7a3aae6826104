//! Changes of hands beside the neighbour's own stop and start: an engine that sleeps, wakes, stops or
//! starts, a GPU that is laid out anew.

/// Whom a change of hands makes ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The GPUs go to inference.
    ToInference,
    /// The GPUs go to the neighbour.
    ToNeighbour,
}

impl Direction {
    /// Both, in the order in which reports show them.
    pub const ALL: [Self; 2] = [Self::ToInference, Self::ToNeighbour];

    /// Its name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToInference => "to inference",
            Self::ToNeighbour => "to the neighbour",
        }
    }
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// The engine gives its memory back and stays.
    EngineSleep,
    /// It takes its memory again.
    EngineWake,
    /// The engine's process ends.
    EngineStop,
    /// It starts.
    EngineStart,
    /// The GPU is laid out anew.
    Layout,
}

impl ChangeKind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::EngineSleep, Self::EngineWake, Self::EngineStop, Self::EngineStart, Self::Layout];

    /// Its name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::EngineSleep => "engine sleep",
            Self::EngineWake => "engine wake",
            Self::EngineStop => "engine stop",
            Self::EngineStart => "engine start",
            Self::Layout => "layout",
        }
    }
}

/// One change, by the clock on the wall, with the parts that somebody owns.
#[derive(Clone, Debug, PartialEq)]
pub struct HandChange {
    /// What is changed.
    pub kind: ChangeKind,
    /// How: "sleep level 1", "MIG Manager: all-1g.10gb", "relayout.sh balanced".
    pub what: String,
    /// Whom it makes ready.
    pub direction: Direction,
    /// When it began, nanoseconds from the block's start.
    pub began_ns: u64,
    /// To its end as it was seen (an engine that answers, post-conditions that hold), seconds;
    /// `None` where it did not get there.
    pub total_s: Option<f64>,
    /// What is known of the time between.
    pub parts: Vec<ChangePart>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// What else was seen, in sentences.
    pub remarks: Vec<String>,
}

/// A part of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePart {
    /// What it was: "wake_up", "model loading".
    pub name: String,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Whether the figure is the workload's own, from its log, and not of our clock.
    pub logged: bool,
}

impl HandChange {
    /// The part of the whole that nobody owns, seconds. Below zero where the parts are longer than
    /// the clock on the wall, which is an inconsistency of whoever told them. `None` where the end
    /// was not seen, or nobody told a part.
    pub fn unexplained_s(&self) -> Option<f64> {
        if self.parts.is_empty() {
            return None;
        }
        let known: f64 = self.parts.iter().map(|part| part.seconds).sum();
        Some(self.total_s? - known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(total_s: Option<f64>, parts: &[f64]) -> HandChange {
        let part = |seconds: &f64| ChangePart { name: "a".into(), seconds: *seconds, logged: true };
        HandChange {
            kind: ChangeKind::EngineStart,
            what: "vllm".into(),
            direction: Direction::ToInference,
            began_ns: 0,
            total_s,
            parts: parts.iter().map(part).collect(),
            failure: None,
            remarks: Vec::new(),
        }
    }

    /// Case P18: vllm#20264 logs 34.1 s of 59 s; the parts quoted in vllm#44881 are 10 s longer than
    /// their whole.
    #[test]
    fn what_nobody_owns_is_told_with_its_sign() {
        let unexplained = change(Some(59.0), &[34.1]).unexplained_s().unwrap();
        assert!((unexplained - 24.9).abs() < 1e-9);
        let inconsistent = change(Some(277.0), &[16.0, 18.0, 43.0, 210.0]).unexplained_s().unwrap();
        assert!((inconsistent + 10.0).abs() < 1e-9);
        assert_eq!(change(None, &[34.1]).unexplained_s(), None);
        assert_eq!(change(Some(59.0), &[]).unexplained_s(), None);
    }
}
