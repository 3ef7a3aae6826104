//! How many blocks of which length fit into a time.

use std::time::Duration;

use super::Tests;

/// The lengths inside a block. One shape serves the whole test: a warm-up cut chosen block by block
/// would remove start-up interference unequally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Load before anything is judged.
    pub warm_up: Duration,
    /// Load that is judged.
    pub judged: Duration,
    /// Load that goes on while the neighbour is told to stop, so that the drill is under load.
    pub tail: Duration,
}

impl BlockShape {
    /// Length of the load.
    pub fn load(&self) -> Duration {
        self.warm_up + self.judged + self.tail
    }
}

/// What a run has to fit into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Time for all blocks.
    pub time: Duration,
    /// Tests asked for.
    pub tests: Tests,
    /// Mean rate of requests, per second.
    pub rate_per_s: f64,
    /// Warm-up of each block.
    pub warm_up: Duration,
    /// Load that goes on behind each judged interval.
    pub tail: Duration,
    /// Time around each block: rest, start of the neighbour, its exit.
    pub around: Duration,
    /// Length of the judged interval, where it is fixed.
    pub judged: Option<Duration>,
}

/// How many blocks of which length fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Pairs of A and C.
    pub pairs: u32,
    /// Blocks of B.
    pub training_blocks: u32,
    /// Lengths inside a block.
    pub shape: BlockShape,
}

/// Pairs that are aimed at: with twelve blocks of eighty requests a true share of misses of 1.5 %
/// passes a p95 in four tests of five (see `docs/statistics.md`).
pub const PAIRS_WANTED: u32 = 12;
/// Requests in a judged interval that are aimed at.
pub const REQUESTS_WANTED: f64 = 80.0;
/// Fewest pairs that a run is planned with: less says nothing of how blocks differ.
const PAIRS_MIN: u32 = 3;
/// Bounds of a judged interval that is chosen here.
const JUDGED_RANGE: (Duration, Duration) = (Duration::from_secs(3), Duration::from_mins(2));

impl Budget {
    /// Time that the question needs, where none is given: twelve pairs of eighty requests.
    pub fn needed(&self) -> Duration {
        let judged = self.judged.unwrap_or_else(|| self.judged_for(REQUESTS_WANTED));
        let blocks = self.blocks(PAIRS_WANTED);
        (self.fixed() + judged) * blocks
    }

    /// Fits blocks into the time: as many pairs as are wanted, each as long as the time allows, and
    /// only then fewer. `None` where not even three pairs of the shortest blocks fit.
    pub fn fit(&self) -> Option<Fit> {
        let each = |pairs: u32| self.time / self.blocks(pairs).max(1);
        let pairs = (PAIRS_MIN..=PAIRS_WANTED).rev().find(|pairs| {
            let least = self.judged.unwrap_or_else(|| self.judged_for(REQUESTS_WANTED / 2.0));
            each(*pairs) >= self.fixed() + least
        });
        let pairs = pairs.unwrap_or(PAIRS_MIN);
        let judged = match self.judged {
            Some(judged) => judged,
            None => each(pairs).checked_sub(self.fixed())?.min(JUDGED_RANGE.1),
        };
        if judged < JUDGED_RANGE.0.min(self.judged.unwrap_or(JUDGED_RANGE.0)) {
            return None;
        }
        // What is left over is more pairs: long runs have many blocks, not endless ones.
        let block = self.fixed() + judged;
        let most = self.time.as_secs_f64() / block.as_secs_f64();
        let pairs = (pairs..=u32::MAX).take_while(|p| f64::from(self.blocks(*p)) <= most).last()?;
        Some(Fit {
            pairs,
            training_blocks: self.training_blocks(pairs),
            shape: BlockShape { warm_up: self.warm_up, judged, tail: self.tail },
        })
    }

    fn fixed(&self) -> Duration {
        self.warm_up + self.tail + self.around
    }

    fn judged_for(&self, requests: f64) -> Duration {
        let (least, most) = JUDGED_RANGE;
        Duration::try_from_secs_f64(requests / self.rate_per_s).unwrap_or(most).clamp(least, most)
    }

    fn training_blocks(&self, pairs: u32) -> u32 {
        if self.tests.b { (pairs / 3).max(2) } else { 0 }
    }

    fn blocks(&self, pairs: u32) -> u32 {
        let each = u32::from(self.tests.a) + u32::from(self.tests.c);
        pairs * each + self.training_blocks(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(seconds: u64) -> Budget {
        Budget {
            time: Duration::from_secs(seconds),
            tests: Tests { a: true, b: true, c: true },
            rate_per_s: 10.0,
            warm_up: Duration::from_secs(1),
            tail: Duration::from_secs(1),
            around: Duration::from_secs(1),
            judged: None,
        }
    }

    #[test]
    fn blocks_fit_into_their_time() {
        for seconds in [60, 120, 300, 600, 3600, 36_000] {
            let budget = budget(seconds);
            let Some(fit) = budget.fit() else { panic!("{seconds} s give no fit") };
            let blocks = 2 * fit.pairs + fit.training_blocks;
            let total = (fit.shape.load() + budget.around) * blocks;
            assert!(total <= budget.time, "{seconds} s: {fit:?} takes {total:?}");
            assert!(fit.pairs >= 3 && fit.training_blocks >= 2);
        }
        assert_eq!(budget(20).fit(), None);
    }

    #[test]
    fn the_needed_time_gives_what_is_wanted() {
        let mut budget = budget(1);
        budget.time = budget.needed();
        let fit = budget.fit().unwrap();
        assert_eq!(fit.pairs, PAIRS_WANTED);
        assert!(fit.shape.judged.as_secs_f64() * budget.rate_per_s >= REQUESTS_WANTED - 1e-6);
    }

    #[test]
    fn a_fixed_length_is_kept() {
        let budget = Budget { judged: Some(Duration::from_secs(30)), ..budget(1200) };
        assert_eq!(budget.fit().unwrap().shape.judged, Duration::from_secs(30));
    }
}
