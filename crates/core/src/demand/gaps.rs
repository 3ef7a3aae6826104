//! Gaps told from silence: where a source stopped recording, and where nobody asked.

use std::ops::Range;

use jiff::Timestamp;

/// A stretch of silence is a gap where its probability is below this.
pub const IMPROBABLE: f64 = 1e-6;

/// How far the surroundings of a stretch reach to either side, seconds.
const SURROUNDINGS_S: u64 = 3600;

/// The surroundings are at least this many bins on either side.
const SURROUNDING_BINS_MIN: usize = 3;

const DAY_S: u64 = 24 * 3600;

/// Time of which the demand is not known. It is neither counted as silence nor filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// Its start.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
    /// How it was recognised.
    pub kind: GapKind,
    /// One sentence: why it is a gap.
    pub why: String,
}

/// How a gap was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GapKind {
    /// The source has no row for it, or a row without a value.
    Missing,
    /// The source shows no request, and the demand around it makes that improbable: a gap, or a
    /// silence that nothing before or after announces.
    Improbable,
}

impl GapKind {
    /// The words for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "gap",
            Self::Improbable => "gap or silence",
        }
    }
}

/// Bins without a request that their surroundings do not explain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quiet {
    pub(super) bins: Range<usize>,
    /// Requests that the surroundings would have made one expect.
    pub(super) expected: f64,
    /// Base-10 logarithm of the probability that there was none.
    pub(super) log10_probability: f64,
}

impl Quiet {
    pub(super) fn gap(&self, from: Timestamp, until: Timestamp) -> Gap {
        Gap {
            from,
            until,
            kind: GapKind::Improbable,
            why: format!(
                "no request, where the time around it makes one expect {:.0}: that is less likely \
                 than 1e{:.0}, and the same stretch of other weeks or days is not silent",
                self.expected,
                self.log10_probability.ceil().max(-300.0),
            ),
        }
    }
}

/// The runs of bins with exactly no request that are gaps rather than silence. `counts` are requests
/// in bins of `bin_s` seconds; `None` is known to be a gap.
///
/// The rule. Let μ and D be the mean and the dispersion (variance ÷ mean, at least 1) of the counts
/// in the bins around a run of k empty bins: an hour, and at least three bins, on either side; of the
/// two sides the one with the lower mean. For independent negative binomial counts the probability
/// of the run is D^(−kμ/(D−1)), which is e^(−kμ) for D = 1 (Poisson). The run is a gap where that is
/// below [`IMPROBABLE`], unless silence is the habit at this time: in at least half of the other
/// weeks the same stretch is mostly empty too, or, where no other week is seen, in at least half of
/// the other days.
pub(super) fn improbable_quiet(counts: &[Option<f64>], bin_s: u64) -> Vec<Quiet> {
    let around = ((SURROUNDINGS_S / bin_s.max(1)) as usize).max(SURROUNDING_BINS_MIN);
    let tally = Tally::of(counts);
    empty_runs(counts)
        .into_iter()
        .filter_map(|run| {
            let (mean, dispersion) = surroundings(counts, &run, around)?;
            let expected = mean * run.len() as f64;
            let log_probability = if dispersion > 1.0 + 1e-9 {
                -expected * dispersion.ln() / (dispersion - 1.0)
            } else {
                -expected
            };
            let is_improbable = log_probability < IMPROBABLE.ln();
            (is_improbable && !tally.is_habit(&run, bin_s)).then(|| Quiet {
                bins: run,
                expected,
                log10_probability: log_probability / std::f64::consts::LN_10,
            })
        })
        .collect()
}

/// Runs of empty bins.
fn empty_runs(counts: &[Option<f64>]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = None;
    for (index, count) in counts.iter().enumerate() {
        match (count, start) {
            (Some(0.0), None) => start = Some(index),
            (Some(0.0), Some(_)) | (_, None) => {}
            (_, Some(from)) => {
                runs.push(from..index);
                start = None;
            }
        }
    }
    runs.extend(start.map(|from| from..counts.len()));
    runs
}

/// Mean and dispersion of the counts on the side of a run that has the lower mean; `None` where
/// neither side shows enough.
fn surroundings(counts: &[Option<f64>], run: &Range<usize>, around: usize) -> Option<(f64, f64)> {
    let before = &counts[run.start.saturating_sub(around)..run.start];
    let after = &counts[run.end..(run.end + around).min(counts.len())];
    let figures = |side: &[Option<f64>]| {
        let seen: Vec<f64> = side.iter().copied().flatten().collect();
        if seen.len() < SURROUNDING_BINS_MIN {
            return None;
        }
        let n = seen.len() as f64;
        let mean = seen.iter().sum::<f64>() / n;
        let variance = seen.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let dispersion = if mean > 0.0 { (variance / mean).max(1.0) } else { 1.0 };
        Some((mean, dispersion))
    };
    match (figures(before), figures(after)) {
        (Some(before), Some(after)) => Some(if before.0 <= after.0 { before } else { after }),
        (one, other) => one.or(other),
    }
}

/// How many bins are known, and how many of these are empty, before each bin: so that a stretch is
/// counted in no time, however long it is.
struct Tally {
    known: Vec<u32>,
    empty: Vec<u32>,
}

impl Tally {
    fn of(counts: &[Option<f64>]) -> Self {
        let running = |is_counted: fn(&Option<f64>) -> bool| {
            let mut sums = Vec::with_capacity(counts.len() + 1);
            let mut sum = 0;
            sums.push(sum);
            sums.extend(counts.iter().map(|count| {
                sum += u32::from(is_counted(count));
                sum
            }));
            sums
        };
        Self { known: running(Option::is_some), empty: running(|count| *count == Some(0.0)) }
    }

    /// Known and empty bins of a stretch, without those of `apart`.
    fn in_stretch(&self, from: i64, until: i64, apart: &Range<usize>) -> (u32, u32) {
        let end = (self.known.len() - 1) as i64;
        let within = |from: i64, until: i64| {
            let (from, until) = (from.clamp(0, end) as usize, until.clamp(0, end) as usize);
            let sum = |sums: &[u32]| if from < until { sums[until] - sums[from] } else { 0 };
            (sum(&self.known), sum(&self.empty))
        };
        let all = within(from, until);
        let (apart_from, apart_until) = (apart.start as i64, apart.end as i64);
        let common = within(from.max(apart_from), until.min(apart_until));
        (all.0 - common.0, all.1 - common.1)
    }

    /// Whether the same stretch is mostly empty in at least half of the other weeks, or else days.
    fn is_habit(&self, run: &Range<usize>, bin_s: u64) -> bool {
        [7 * DAY_S, DAY_S]
            .into_iter()
            .filter(|period_s| 2 * bin_s <= *period_s)
            .find_map(|period_s| {
                // A bin that does not divide a day makes the shift wrong by half a bin at most.
                let period = (period_s as f64 / bin_s.max(1) as f64).round() as i64;
                let votes = self.peers(run, period);
                let quiet = votes.iter().filter(|is_quiet| **is_quiet).count();
                (!votes.is_empty()).then_some(2 * quiet >= votes.len())
            })
            .unwrap_or(false)
    }

    /// For each whole number of periods away from the run where most of the stretch is known:
    /// whether it is mostly empty there. Bins of the run itself do not count.
    fn peers(&self, run: &Range<usize>, period: i64) -> Vec<bool> {
        let phases = self.known.len() as i64 / period + 1;
        (-phases..=phases)
            .filter(|shift| *shift != 0)
            .filter_map(|shift| {
                let (from, until) = (run.start as i64, run.end as i64);
                let (known, empty) =
                    self.in_stretch(from + shift * period, until + shift * period, run);
                (2 * known as usize > run.len()).then_some(2 * empty > known)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(counts: &[f64], bin_s: u64) -> Vec<Range<usize>> {
        let counts: Vec<Option<f64>> = counts.iter().copied().map(Some).collect();
        improbable_quiet(&counts, bin_s).into_iter().map(|quiet| quiet.bins).collect()
    }

    #[test]
    fn a_hole_amid_steady_demand_is_a_gap() {
        let mut counts = vec![100.0; 60];
        counts[30..33].fill(0.0);
        assert_eq!(found(&counts, 600), vec![30..33]);
        // One request in a bin of ten minutes: e^-3 is nothing to wonder at.
        let mut rare = vec![1.0; 60];
        rare[30..33].fill(0.0);
        assert!(found(&rare, 600).is_empty());
    }

    #[test]
    fn the_probability_is_that_of_the_formula() {
        // Poisson: equal counts of 5, three bins: e^-15 = 3.06e-7.
        let mut counts = vec![Some(5.0); 40];
        counts[20..23].fill(Some(0.0));
        let quiet = &improbable_quiet(&counts, 600)[0];
        assert!((quiet.log10_probability - (3.059_023_205e-7_f64).log10()).abs() < 1e-9);
        // Two bins are likelier than one in a million: e^-10 = 4.5e-5.
        counts[22] = Some(5.0);
        assert!(improbable_quiet(&counts, 600).is_empty());
        // Counts of 0.5 and 9.5 in turn have a mean of 5 and a sample variance of 24.3, D = 4.86:
        // 4.86^(-3 * 5 / 3.86) = 0.00214.
        let mut bursty: Vec<Option<f64>> =
            (0..40).map(|index| Some(if index % 2 == 0 { 0.5 } else { 9.5 })).collect();
        bursty[20..23].fill(Some(0.0));
        assert!(improbable_quiet(&bursty, 600).is_empty());
    }

    #[test]
    fn nights_are_silence_and_a_lost_day_is_a_gap() {
        // Three weeks of hours: work from 8 to 18 on weekdays, and one Wednesday without a record.
        let mut counts: Vec<f64> = (0..3 * 7 * 24)
            .map(|hour| {
                let (day, hour) = (hour / 24 % 7, hour % 24);
                if day < 5 && (8..18).contains(&hour) { 400.0 } else { 0.0 }
            })
            .collect();
        assert!(found(&counts, 3600).is_empty(), "nights and weekends are a habit");
        let wednesday = (7 + 2) * 24;
        counts[wednesday + 10..wednesday + 14].fill(0.0);
        assert_eq!(found(&counts, 3600), vec![wednesday + 10..wednesday + 14]);
    }

    #[test]
    fn without_another_week_days_are_asked() {
        let mut counts: Vec<f64> =
            (0..4 * 24).map(|hour| if hour % 24 < 8 { 0.0 } else { 50.0 }).collect();
        assert!(found(&counts, 3600).is_empty());
        counts[2 * 24 + 12] = 0.0;
        assert_eq!(found(&counts, 3600), vec![60..61]);
    }
}
