//! What the gates' files share: how a finding is begun, and what they look at.

use std::fmt;
use std::time::Duration;

use crate::evidence::{Condition, PointEstimate, Remedy};
use crate::site::{Inference, Site, Training, Workload, WorkloadKind};

use super::pool::{Member, Pool};
use super::{Finding, Gate, GateKind, Missing, Ruling, Sample, Strategy};

/// Everything that a gate looks at.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) site: &'a Site,
    /// The site file's name, for commands that are printed.
    pub(super) site_file: &'a str,
    pub(super) inference: Option<(&'a Workload, &'a Inference)>,
    pub(super) neighbour: Option<&'a Workload>,
    pub(super) training: Option<&'a Training>,
    pub(super) pool: Option<&'a Pool<'a>>,
    pub(super) as_of: Option<jiff::Timestamp>,
    /// Single numbers without a sample.
    pub(super) points: &'a [PointEstimate],
}

impl<'a> Case<'a> {
    /// Whether the neighbour renders: each of its frames stands for itself, saved or not.
    pub(super) fn renders(&self) -> bool {
        self.neighbour.is_some_and(|workload| matches!(workload.kind, WorkloadKind::Render(_)))
    }

    /// What a step of the neighbour is called.
    pub(super) fn step_word(&self) -> &'static str {
        self.neighbour.map_or("step", Workload::step_word)
    }

    /// The remedy of a strategy under which C and B blocks ran.
    pub(super) fn remedy(strategy: Strategy) -> Option<Remedy> {
        match strategy {
            Strategy::With(remedy) => Some(remedy),
            Strategy::Alone | Strategy::AsDeclared => None,
        }
    }

    /// Valid blocks of a condition under a strategy.
    pub(super) fn blocks(&self, condition: Condition, strategy: Strategy) -> Vec<Member<'a>> {
        self.pool.map(|p| p.blocks(condition, Self::remedy(strategy))).unwrap_or_default()
    }

    /// Blocks that show how the machine changes hands under a strategy.
    pub(super) fn drills(&self, strategy: Strategy) -> Vec<Member<'a>> {
        self.pool.map(|p| p.drills(Self::remedy(strategy))).unwrap_or_default()
    }

    /// What would supply blocks of some tests.
    pub(super) fn measure(&self, tests: &str, what: String, minutes: Option<f64>) -> Missing {
        let minutes_flag = minutes
            .map_or_else(String::new, |minutes| format!(" --minutes {}", minutes.ceil().max(1.0)));
        Missing {
            what,
            remedy: format!("cotenant measure {} --tests {tests}{minutes_flag}", self.site_file),
            minutes,
        }
    }

    /// What a line of the site file would supply.
    pub(super) fn declare(&self, what: &str, line: &str) -> Missing {
        Missing {
            what: what.to_owned(),
            remedy: format!("declare `{line}` in {}", self.site_file),
            minutes: Some(0.0),
        }
    }

    /// What would test at the declared load.
    pub(super) fn at_declared_load(&self) -> Missing {
        let minutes = Some(6.0 * self.pair_minutes());
        self.measure("a,c", "tests A and C at the declared load".into(), minutes)
    }

    /// Blocks of test B: those under a remedy where there are some, else those as declared. Alone,
    /// the remedy changes little.
    pub(super) fn training_alone(&self, strategy: Strategy) -> Vec<Member<'a>> {
        let own = self.blocks(Condition::B, strategy);
        if own.is_empty() { self.blocks(Condition::B, Strategy::AsDeclared) } else { own }
    }

    /// Minutes of one drill, with the starts around it.
    pub(super) fn drill_minutes(&self) -> f64 {
        let drilled = self.drills(Strategy::AsDeclared);
        let only = drilled.iter().filter(|member| !member.block.plan.situation.is_ordinary());
        let longest = only.map(|member| member.block.ended_ns).max();
        let around_s = 5.0;
        longest.map_or(self.pair_minutes() / 2.0, |ns| (ns as f64 / 1e9 + around_s) / 60.0)
    }

    /// Minutes of one pair of A and C blocks, with what lies between them.
    pub(super) fn pair_minutes(&self) -> f64 {
        let blocks = self.pool.map(|pool| &pool.members[..]).unwrap_or_default();
        let longest = blocks.iter().map(|member| member.block.ended_ns).max();
        let settle_s = 3.0;
        2.0 * (longest.map_or(60.0, |ns| ns as f64 / 1e9) + settle_s) / 60.0
    }
}

/// A finding that nothing is known of yet.
pub(super) fn open(subject: impl Into<String>, strategy: Strategy) -> Finding {
    Finding {
        subject: subject.into(),
        strategy,
        ruling: Ruling::NotProven,
        target: None,
        observed: None,
        judged: None,
        sample: Sample::default(),
        origin: None,
        evidence: Vec::new(),
        explanation: String::new(),
        blind_spot: None,
        missing: Vec::new(),
    }
}

/// A test of which no block counts.
pub(super) fn not_tested(
    case: &Case<'_>,
    condition: Condition,
    strategy: Strategy,
    workload: &str,
) -> Finding {
    let letter = condition.letter();
    let mut finding = open(format!("{workload}: test {letter}"), strategy);
    let other = case
        .pool
        .and_then(|pool| pool.differences.iter().rev().find(|other| other.condition == condition));
    let rejected =
        case.pool.and_then(|pool| pool.rejected.iter().find(|rejected| rejected.letter == letter));
    finding.explanation = match (other, rejected) {
        (_, Some(rejected)) => format!(
            "no block of test {letter} counts: block {} was left out, because {}",
            rejected.index, rejected.reason
        ),
        (Some(other), None) => {
            format!("test {letter} of run {} does not count: {}", other.run, other.what)
        }
        (None, None) => format!("no block of test {letter} exists {}", strategy.in_words()),
    };
    let (tests, pairs) = match condition {
        Condition::A => ("a", 6.0),
        Condition::B => ("b", 3.0),
        Condition::C => ("a,c", 6.0),
    };
    finding.missing.push(case.measure(
        tests,
        format!("test {letter} on the stack and load of today"),
        Some(pairs * case.pair_minutes()),
    ));
    finding
}

/// A workload of the site that was not in the test.
pub(super) fn untested_workload(case: &Case<'_>, strategy: Strategy, name: &str) -> Finding {
    let mut finding = open(format!("{name}: not in the test"), strategy);
    finding.explanation = format!(
        "`{name}` is declared on this site too, and no test had all of its workloads at once"
    );
    finding.missing.push(case.declare(
        "only workloads that were tested together, each other pair as a site of its own",
        "workloads: [ … ]",
    ));
    finding
}

/// A gate from its findings: it fails where one fails, and passes only where there is one and all
/// pass.
pub(super) fn gate(kind: GateKind, findings: Vec<Finding>) -> Gate {
    let ruling = findings.iter().map(|f| f.ruling).max().unwrap_or(Ruling::NotProven);
    let deciding: Vec<&Finding> = findings.iter().filter(|f| f.ruling == ruling).collect();
    let summary = match (ruling, deciding.as_slice()) {
        (_, []) => "nothing was looked at".to_owned(),
        (Ruling::Pass, [only]) => only.explanation.clone(),
        (Ruling::Pass, all) => format!("all {} findings hold", all.len()),
        (_, [only]) => format!("{}: {}", only.subject, only.explanation),
        (_, [first, rest @ ..]) => {
            format!("{}: {} (and {} more)", first.subject, first.explanation, rest.len())
        }
    };
    let mut findings = findings;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.ruling));
    Gate { kind, ruling, summary, findings }
}

/// A time for people: three significant digits, in the unit that suits it.
pub(super) struct Seconds(pub(super) f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = Duration::try_from_secs_f64(round_significant(self.0.max(0.0)));
        match rounded.ok().filter(|_| self.0 <= LONGEST_S) {
            Some(duration) => f.write_str(&crate::units::format_duration(duration)),
            None => f.write_str("no finite time"),
        }
    }
}

/// Longer times are shown as none: a thousand years.
const LONGEST_S: f64 = 1000.0 * 365.0 * 86_400.0;

/// Rounds to three significant digits.
fn round_significant(value: f64) -> f64 {
    // Below a nanosecond there is nothing to round, and beyond a minute the form has two units.
    if !(1e-9..60.0).contains(&value) {
        return value;
    }
    let scale = 10_f64.powf(2.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

/// A share for people.
pub(super) struct Percent(pub(super) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        // A hundredth of a percent is not shown as none, and a round number has no decimals.
        let digits =
            if percent >= 9.95 || (percent - percent.round()).abs() < 0.005 && percent > 0.9 {
                0
            } else if percent >= 0.1 {
                1
            } else if percent > 0.0 {
                2
            } else {
                0
            };
        write!(f, "{percent:.digits$} %")
    }
}
