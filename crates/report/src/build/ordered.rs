//! Values in order, and their order statistics. Gaps between chunks come by the hundred million, so
//! they are counted by microsecond, which is as fine as they are recorded: nothing is rounded.

use cotenant_core::stats::quantile_rank;

/// Values in ascending order.
#[derive(Clone, Debug)]
pub(super) enum Ordered {
    /// Each value by itself.
    Values(Vec<f64>),
    /// Each different value once.
    Counts {
        /// The values.
        values: Vec<f64>,
        /// How many are at most the value in the same place.
        at_most: Vec<u64>,
    },
}

impl Default for Ordered {
    fn default() -> Self {
        Self::Values(Vec::new())
    }
}

impl Ordered {
    /// Sorts a list.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self::Values(values)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Counts { at_most, .. } => at_most.last().map_or(0, |count| *count as usize),
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are finite.
    pub(super) fn finite(&self) -> usize {
        match self {
            Self::Values(values) => values.partition_point(|value| value.is_finite()),
            Self::Counts { .. } => self.len(),
        }
    }

    /// The value of a rank from 1 to `len`.
    pub(super) fn at_rank(&self, rank: usize) -> Option<f64> {
        match self {
            Self::Values(values) => values.get(rank.checked_sub(1)?).copied(),
            Self::Counts { values, at_most } => {
                let place = at_most.partition_point(|count| *count < rank as u64);
                values.get(place).copied().filter(|_| rank > 0)
            }
        }
    }

    /// The ⌈qn⌉-th smallest; `None` of nothing.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        if self.is_empty() {
            return None;
        }
        self.at_rank(quantile_rank(q, self.len()))
    }
}

/// Gaps up to this many microseconds (four seconds) are counted in place; longer ones are rare.
const COUNTED_US: usize = 1 << 22;

/// Counts gaps of whole microseconds.
#[derive(Debug, Default)]
pub(super) struct GapCounter {
    counts: Vec<u64>,
    long_us: Vec<u32>,
}

impl GapCounter {
    /// Takes the gaps of one request in.
    pub(super) fn add(&mut self, gaps_us: &[u32]) {
        if self.counts.is_empty() && !gaps_us.is_empty() {
            self.counts = vec![0; COUNTED_US];
        }
        for gap in gaps_us {
            match self.counts.get_mut(*gap as usize) {
                Some(count) => *count += 1,
                None => self.long_us.push(*gap),
            }
        }
    }

    /// All gaps in order, in seconds.
    pub(super) fn ordered(mut self) -> Ordered {
        self.long_us.sort_unstable();
        let short = self.counts.iter().enumerate().map(|(gap, count)| (gap as u32, *count));
        let long = self.long_us.iter().map(|gap| (*gap, 1));
        let (mut values, mut at_most) = (Vec::new(), Vec::new());
        let mut total = 0;
        for (gap_us, count) in short.chain(long).filter(|(_, count)| *count > 0) {
            total += count;
            values.push(f64::from(gap_us) / 1e6);
            at_most.push(total);
        }
        Ordered::Counts { values, at_most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_gaps_have_the_order_statistics_of_listed_ones() {
        let gaps_us =
            [30_000, 5_000_000, 20_000, 30_000, 4_194_303, 4_194_304, 0, 30_000, 5_000_000];
        let listed = Ordered::of(gaps_us.iter().map(|gap| f64::from(*gap) / 1e6).collect());
        let mut counter = GapCounter::default();
        for pair in gaps_us.chunks(2) {
            counter.add(pair);
        }
        let counted = counter.ordered();
        assert_eq!(counted.len(), gaps_us.len());
        for rank in 0..=gaps_us.len() + 1 {
            assert_eq!(counted.at_rank(rank), listed.at_rank(rank), "rank {rank}");
        }
        for q in [0.01, 0.5, 0.9, 1.0] {
            assert_eq!(counted.quantile(q), listed.quantile(q));
        }
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(GapCounter::default().ordered().quantile(0.5), None);
        assert_eq!(Ordered::default().quantile(0.5), None);
        assert_eq!(Ordered::of(vec![f64::INFINITY, 1.0]).finite(), 1);
    }
}
