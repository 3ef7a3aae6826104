//! From gates to one word, in the order that the method fixes: FAIL, NOT PROVEN, CONDITIONAL, PASS.

use crate::evidence::Remedy;

use super::{Condition, Gate, GateKind, Ruling, Strategy};

/// The gates under one way of sharing.
#[derive(Clone, Debug)]
pub(super) struct Evaluation {
    pub(super) strategy: Strategy,
    /// All six, in the order of [`GateKind::ALL`].
    pub(super) gates: Vec<Gate>,
    /// Runs with valid blocks under this way.
    pub(super) tested_by: Vec<String>,
}

impl Evaluation {
    fn ruling(&self, kind: GateKind) -> Ruling {
        self.gates.iter().find(|gate| gate.kind == kind).map_or(Ruling::NotProven, |g| g.ruling)
    }

    fn worst(&self) -> Ruling {
        self.gates.iter().map(|gate| gate.ruling).max().unwrap_or(Ruling::NotProven)
    }
}

/// The word with its reason.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) ruling: Ruling,
    pub(super) reason: String,
    pub(super) conditions: Vec<Condition>,
    pub(super) gates: Vec<Gate>,
    /// The way of sharing that the word is about.
    pub(super) strategy: Strategy,
}

/// Decides. `declared` is the site's own way of sharing; `remedies` are those that were tested.
///
/// A remedy mends only as a whole: it counts when no gate fails under it and every gate that fails
/// as declared passes under it, so that two remedies that each break something else are never
/// added up to a pass.
pub(super) fn decide(declared: &Evaluation, remedies: &[Evaluation]) -> Decision {
    let failing: Vec<GateKind> =
        GateKind::ALL.into_iter().filter(|kind| declared.ruling(*kind) == Ruling::Fail).collect();
    let open = declared.worst() != Ruling::Pass;
    let mending = remedies
        .iter()
        .filter(|remedy| open && remedy.worst() != Ruling::Fail)
        .filter(|remedy| failing.iter().all(|kind| remedy.ruling(*kind) == Ruling::Pass))
        .filter(|remedy| !failing.is_empty() || remedy.worst() == Ruling::Pass)
        .min_by_key(|remedy| remedy.worst());
    let gates = merge(declared, remedies, mending);
    let effective = mending.unwrap_or(declared);
    let lacking: Vec<&str> = GateKind::ALL
        .into_iter()
        .filter(|kind| effective.ruling(*kind) == Ruling::NotProven)
        .map(GateKind::name)
        .collect();
    let fails = match failing.as_slice() {
        [only] => format!("the gate «{}» fails as declared", only.name()),
        several => {
            let names: Vec<String> =
                several.iter().map(|kind| format!("«{}»", kind.name())).collect();
            format!("the gates {} fail as declared", names.join(", "))
        }
    };

    if !failing.is_empty() && mending.is_none() {
        let tried = if remedies.is_empty() {
            "no remedy was tested".to_owned()
        } else {
            let tried: Vec<&str> = remedies.iter().map(|r| r.strategy.name()).collect();
            format!("what was tested does not mend it ({})", tried.join(", "))
        };
        return Decision {
            ruling: Ruling::Fail,
            reason: format!("{fails}, and {tried}"),
            conditions: Vec::new(),
            gates,
            strategy: effective.strategy,
        };
    }
    if !lacking.is_empty() {
        let mended = match mending {
            Some(remedy) => {
                format!("{fails}; the {} mends that, but ", remedy.strategy.name())
            }
            None => String::new(),
        };
        return Decision {
            ruling: Ruling::NotProven,
            reason: format!("{mended}evidence is missing for {}", lacking.join(", ")),
            conditions: Vec::new(),
            gates,
            strategy: effective.strategy,
        };
    }
    match mending {
        Some(remedy) => Decision {
            ruling: Ruling::Conditional,
            reason: if failing.is_empty() {
                format!("every gate holds with the {}", remedy.strategy.name())
            } else {
                format!("{fails}; with the {} every gate holds", remedy.strategy.name())
            },
            conditions: conditions(remedy),
            gates,
            strategy: effective.strategy,
        },
        None => Decision {
            ruling: Ruling::Pass,
            reason: "every gate holds as declared".into(),
            conditions: Vec::new(),
            gates,
            strategy: effective.strategy,
        },
    }
}

/// The predicates under which a remedy was tested.
fn conditions(remedy: &Evaluation) -> Vec<Condition> {
    match remedy.strategy {
        Strategy::With(Remedy::IdlePriority) => vec![Condition {
            sentence: "the trainer runs at idle CPU priority (SCHED_IDLE) whenever inference runs"
                .into(),
            watch: "neighbour.cpu_scheduling_policy".into(),
            operator: "==",
            value: "SCHED_IDLE".into(),
            tested_by: remedy.tested_by.clone(),
        }],
        Strategy::Alone | Strategy::AsDeclared => Vec::new(),
    }
}

/// One list of gates for the reader: the findings of every way of sharing that was looked at, and
/// the ruling that counts.
fn merge(
    declared: &Evaluation,
    remedies: &[Evaluation],
    mending: Option<&Evaluation>,
) -> Vec<Gate> {
    GateKind::ALL
        .into_iter()
        .filter_map(|kind| {
            let mut gate = declared.gates.iter().find(|gate| gate.kind == kind)?.clone();
            for remedy in remedies {
                let others = remedy.gates.iter().filter(|other| other.kind == kind);
                for finding in others.flat_map(|other| &other.findings) {
                    if !gate.findings.contains(finding) {
                        gate.findings.push(finding.clone());
                    }
                }
            }
            if let Some(mending) = mending {
                let under = mending.gates.iter().find(|other| other.kind == kind);
                if let Some(under) = under.filter(|_| gate.ruling != Ruling::Pass) {
                    gate.ruling = if under.ruling == Ruling::Pass {
                        Ruling::Conditional
                    } else {
                        under.ruling
                    };
                    gate.summary = format!(
                        "as declared: {}; with the {}: {}",
                        gate.summary,
                        mending.strategy.name(),
                        under.summary
                    );
                } else if let Some(under) = under.filter(|under| under.ruling != Ruling::Pass) {
                    gate.ruling = under.ruling;
                    gate.summary =
                        format!("with the {}: {}", mending.strategy.name(), under.summary);
                }
            }
            Some(gate)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(strategy: Strategy, rulings: [Ruling; 6]) -> Evaluation {
        let gates = GateKind::ALL.into_iter().zip(rulings).map(|(kind, ruling)| Gate {
            kind,
            ruling,
            summary: String::new(),
            findings: Vec::new(),
        });
        Evaluation { strategy, gates: gates.collect(), tested_by: vec!["run".into()] }
    }

    const IDLE: Strategy = Strategy::With(Remedy::IdlePriority);
    use Ruling::{Fail, NotProven, Pass};

    #[track_caller]
    fn check(declared: [Ruling; 6], remedy: Option<[Ruling; 6]>, expected: Ruling) {
        let declared = evaluation(Strategy::AsDeclared, declared);
        let remedies: Vec<_> = remedy.into_iter().map(|r| evaluation(IDLE, r)).collect();
        let decision = decide(&declared, &remedies);
        assert_eq!(decision.ruling, expected, "{}", decision.reason);
        assert_eq!(decision.conditions.is_empty(), expected != Ruling::Conditional);
        assert_eq!(decision.gates.len(), 6);
    }

    #[test]
    fn the_order_of_deciding() {
        let all = [Pass; 6];
        let inference_fails = [Fail, Pass, Pass, Pass, Pass, Pass];
        let fails_and_lacks = [Fail, Pass, Pass, NotProven, Pass, Pass];
        let lacks = [Pass, Pass, Pass, NotProven, Pass, Pass];
        check(all, None, Pass);
        check(all, Some(inference_fails), Pass);
        check(inference_fails, None, Fail);
        check(fails_and_lacks, None, Fail);
        check(lacks, None, NotProven);
        check(inference_fails, Some(all), Ruling::Conditional);
        check(inference_fails, Some(inference_fails), Fail);
        // A remedy whose own effect is not proven mends nothing.
        check(inference_fails, Some([NotProven, Pass, Pass, Pass, Pass, Pass]), Fail);
        // A remedy that mends one gate and breaks another mends nothing.
        check(inference_fails, Some([Pass, Fail, Pass, Pass, Pass, Pass]), Fail);
        // Mended, but something else is missing under the remedy.
        check(inference_fails, Some(lacks), NotProven);
        check(fails_and_lacks, Some(lacks), NotProven);
        check(lacks, Some(all), Ruling::Conditional);
        check(lacks, Some(lacks), NotProven);
    }

    /// No combination of gates that holds a gate which nothing proves may end as PASS.
    #[test]
    fn no_pass_without_every_gate() {
        let rulings = [Pass, NotProven, Fail];
        for code in 0..3_usize.pow(6) {
            let digit = |place: u32| rulings[code / 3_usize.pow(place) % 3];
            let gates = [digit(0), digit(1), digit(2), digit(3), digit(4), digit(5)];
            for remedy in [None, Some([Pass; 6]), Some([Pass, Pass, Pass, NotProven, Pass, Pass])] {
                let declared = evaluation(Strategy::AsDeclared, gates);
                let remedies: Vec<_> = remedy.into_iter().map(|r| evaluation(IDLE, r)).collect();
                let decision = decide(&declared, &remedies);
                let all_pass = gates.iter().all(|ruling| *ruling == Pass);
                assert_eq!(decision.ruling == Pass, all_pass, "{gates:?}");
                if decision.ruling == Ruling::Conditional {
                    assert_eq!(remedy, Some([Pass; 6]));
                }
            }
        }
    }
}
