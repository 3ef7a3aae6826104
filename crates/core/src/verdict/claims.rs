//! FAIL claims are made together (Holm), so that looking at many objectives does not make a false
//! FAIL likelier.

use crate::stats::{self, ALPHA};

use super::findings::Case;
use super::{Finding, Ruling};

/// An objective whose FAIL waits for the others.
pub(super) struct Claim<'a> {
    /// The finding's place.
    pub(super) finding: usize,
    /// Whether the objective is missed at level 1 − α. What holds at a strict level must hold at a
    /// looser one.
    pub(super) beyond: Box<dyn Fn(f64) -> bool + 'a>,
    /// The tests that would bring more blocks.
    pub(super) tests: &'static str,
}

/// Rules on the claims of one gate.
pub(super) fn rule_failures(case: &Case<'_>, findings: &mut [Finding], claims: &[Claim<'_>]) {
    let failed = stats::holm(claims.len(), ALPHA, |index, level| (claims[index].beyond)(level));
    for (claim, failed) in claims.iter().zip(failed) {
        let finding = &mut findings[claim.finding];
        if failed {
            finding.ruling = Ruling::Fail;
            finding.blind_spot = None;
            finding.missing.clear();
        } else if finding.ruling == Ruling::NotProven && finding.missing.is_empty() {
            finding.explanation.push_str(
                "; missed by itself, but not surely enough beside the other objectives (Holm)",
            );
            let blocks = f64::from(finding.sample.blocks.max(2));
            finding.missing.push(case.measure(
                claim.tests,
                "as many blocks again".into(),
                Some(blocks * case.pair_minutes()),
            ));
        }
    }
}
