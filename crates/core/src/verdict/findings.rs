//! What the gates' files share: how a finding is begun, and what they look at.

use std::fmt;
use std::time::Duration;

use crate::evidence::{Condition, Remedy};
use crate::site::{Inference, Site, Training, Workload};

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
}

impl<'a> Case<'a> {
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

    /// What would supply blocks of some tests.
    pub(super) fn measure(&self, tests: &str, what: String, minutes: Option<f64>) -> Missing {
        let minutes_flag = minutes.map_or_else(String::new, |minutes| {
            format!(" --minutes {}", minutes.ceil().max(1.0))
        });
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
        if self.0.is_finite() {
            let text = crate::units::format_duration(Duration::from_secs_f64(
                round_significant(self.0.max(0.0)),
            ));
            f.write_str(&text)
        } else {
            f.write_str("unbounded")
        }
    }
}

/// Rounds to three significant digits.
fn round_significant(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powf(2.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

/// A share for people.
pub(super) struct Percent(pub(super) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let digits = if percent >= 9.95 { 0 } else { 1 };
        write!(f, "{percent:.digits$} %")
    }
}
