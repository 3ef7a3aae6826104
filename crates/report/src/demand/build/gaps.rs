//! Time of which nothing is known.

use cotenant_core::demand::Gap;

use super::clock::Clock;
use crate::demand::model::{GapView, GapsView};
use crate::format;
use crate::model::Value;

/// Gaps that are shown, at most.
const SHOWN_MAX: usize = 6;

pub(super) fn gaps(gaps: &[Gap], clock: &Clock<'_>) -> GapsView {
    let seconds = |gap: &Gap| gap.until.duration_since(gap.from).as_secs_f64();
    let total_s: f64 = gaps.iter().map(seconds).sum();
    let mut longest: Vec<usize> = (0..gaps.len()).collect();
    longest.sort_by(|left, right| seconds(&gaps[*right]).total_cmp(&seconds(&gaps[*left])));
    longest.truncate(SHOWN_MAX);
    longest.sort_unstable();
    let list: Vec<GapView> = gaps
        .iter()
        .map(|gap| {
            let length = length(seconds(gap));
            GapView {
                from: clock.moment(gap.from),
                until: clock.moment(gap.until),
                text: format!("{} · {}", clock.stretch(gap.from, gap.until), length.text),
                length,
                kind: gap.kind.name().to_owned(),
                why: gap.why.clone(),
            }
        })
        .collect();
    let total = length(total_s);
    let hidden = gaps.len() - longest.len();
    GapsView {
        summary: match gaps.len() {
            0 => "No gap: what is silent is silence, and counts as such.".to_owned(),
            count => format!(
                "{}, {} in all: time of which nothing is known. It is neither counted as silence \
                 nor filled in.",
                format::plural(count as u64, "gap", "gaps"),
                total.text
            ),
        },
        total,
        list,
        shown: longest.into_iter().map(|place| place as u32).collect(),
        not_shown: (hidden > 0).then(|| {
            format!("{} not shown here; the JSON has them all", {
                format::plural(hidden as u64, "shorter one is", "shorter ones are")
            })
        }),
    }
}

/// A length of time: `12 min`, `3.5 h`.
pub(super) fn length(seconds: f64) -> Value {
    format::value_with_text(seconds, "s", format::minutes(seconds / 60.0))
}
