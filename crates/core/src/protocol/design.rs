//! Which block runs when.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::evidence::{Condition, Phase, PlannedBlock, Remedy, Situation};

/// Which tests are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tests {
    /// Inference alone.
    pub a: bool,
    /// Training alone.
    pub b: bool,
    /// Both.
    pub c: bool,
}

impl Tests {
    /// Reads a list such as `a,b,c`.
    ///
    /// # Errors
    /// Names the first word that is no test.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut tests = Self { a: false, b: false, c: false };
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.to_ascii_lowercase().as_str() {
                "a" => tests.a = true,
                "b" => tests.b = true,
                "c" => tests.c = true,
                _ => return Err(format!("`{word}` is no test: write a list of a, b and c")),
            }
        }
        if tests == (Self { a: false, b: false, c: false }) {
            return Err("no test named: write a list of a, b and c".into());
        }
        Ok(tests)
    }

    /// The letters, as they stand in a run's name.
    pub fn letters(self) -> String {
        [(self.a, 'a'), (self.b, 'b'), (self.c, 'c')]
            .into_iter()
            .filter_map(|(asked, letter)| asked.then_some(letter))
            .collect()
    }
}

/// What a schedule is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Tests asked for.
    pub tests: Tests,
    /// Pairs of A and C.
    pub pairs: u32,
    /// Blocks of B.
    pub training_blocks: u32,
    /// The remedy that every C and B block of this run is under, if any.
    pub remedy: Option<Remedy>,
    /// Share of C blocks that should contain a checkpoint of the neighbour.
    pub checkpoint_share: f64,
    /// Seed of the order.
    pub seed: u64,
}

/// Writes down the order of blocks. The same design gives the same order.
///
/// Each pair holds one A and one C; the second pair of every two runs in the mirrored order of the
/// first. Blocks of B stand at random places between pairs.
///
/// ```
/// use cotenant_core::protocol::{Design, Tests, schedule};
/// let tests = Tests { a: true, b: true, c: true };
/// let design = Design {
///     tests, pairs: 4, training_blocks: 2, remedy: None, checkpoint_share: 0.5, seed: 1,
/// };
/// assert_eq!(schedule(&design).len(), 4 * 2 + 2);
/// ```
pub fn schedule(design: &Design) -> Vec<PlannedBlock> {
    let mut random = Pcg64::seed_from_u64(design.seed);
    let mut units: Vec<Vec<(Condition, u32)>> = Vec::new();
    let mut a_first = true;
    for pair in 0..design.pairs {
        // The first of two pairs is drawn, the second mirrors it.
        a_first = if pair % 2 == 0 { random.random() } else { !a_first };
        let mut unit = Vec::new();
        if design.tests.a {
            unit.push((Condition::A, pair));
        }
        if design.tests.c {
            unit.push((Condition::C, pair));
        }
        if !a_first {
            unit.reverse();
        }
        units.push(unit);
    }
    if design.tests.b {
        for number in 0..design.training_blocks {
            let place = random.random_range(0..=units.len());
            units.insert(place, vec![(Condition::B, number)]);
        }
    }
    let phases = phases(design, &mut random);
    let order = units.into_iter().flatten().enumerate();
    order
        .map(|(index, (condition, pair))| PlannedBlock {
            index: index as u32,
            condition,
            pair,
            remedy: if condition == Condition::A { None } else { design.remedy },
            situation: Situation::Ordinary,
            phase: match condition {
                Condition::C => phases[pair as usize],
                Condition::A | Condition::B => Phase::Steady,
            },
        })
        .collect()
}

/// The phase of each pair's C block: the asked share, in random places.
fn phases(design: &Design, random: &mut Pcg64) -> Vec<Phase> {
    let with = (design.checkpoint_share.clamp(0.0, 1.0) * f64::from(design.pairs)).round() as u32;
    let mut phases: Vec<Phase> = (0..design.pairs)
        .map(|pair| if pair < with { Phase::Checkpoint } else { Phase::Steady })
        .collect();
    phases.shuffle(random);
    phases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(pairs: u32, training_blocks: u32, seed: u64) -> Design {
        Design {
            tests: Tests { a: true, b: true, c: true },
            pairs,
            training_blocks,
            remedy: None,
            checkpoint_share: 0.5,
            seed,
        }
    }

    #[test]
    fn every_pair_has_one_a_and_one_c() {
        for seed in 0..50 {
            let blocks = schedule(&design(7, 3, seed));
            for pair in 0..7 {
                for condition in [Condition::A, Condition::C] {
                    let count = blocks
                        .iter()
                        .filter(|block| block.pair == pair && block.condition == condition)
                        .count();
                    assert_eq!(count, 1, "pair {pair} {condition:?} seed {seed}");
                }
            }
            assert_eq!(blocks.iter().filter(|b| b.condition == Condition::B).count(), 3);
            assert!(blocks.iter().enumerate().all(|(at, block)| block.index == at as u32));
        }
    }

    #[test]
    fn neighbouring_pairs_mirror_each_other() {
        for seed in 0..50 {
            let blocks = schedule(&design(6, 0, seed));
            for two in blocks.chunks(4) {
                let letters: String = two.iter().map(|block| block.condition.letter()).collect();
                assert!(letters == "ACCA" || letters == "CAAC", "{letters}");
            }
        }
    }

    #[test]
    fn orders_differ_between_seeds_and_agree_within_one() {
        let orders: Vec<Vec<char>> = (0..20)
            .map(|seed| {
                schedule(&design(6, 2, seed)).iter().map(|b| b.condition.letter()).collect()
            })
            .collect();
        assert!(orders.iter().any(|order| order != &orders[0]));
        assert_eq!(schedule(&design(6, 2, 9)), schedule(&design(6, 2, 9)));
    }

    #[test]
    fn the_asked_share_of_c_blocks_contains_a_checkpoint() {
        let blocks = schedule(&design(8, 0, 3));
        let with = blocks.iter().filter(|block| block.phase == Phase::Checkpoint).count();
        assert_eq!(with, 4);
        assert!(
            blocks
                .iter()
                .all(|block| block.condition == Condition::C || block.phase == Phase::Steady)
        );
    }

    #[test]
    fn a_list_of_tests_is_read_and_a_wrong_one_named() {
        assert_eq!(Tests::parse("A, c").map(Tests::letters).as_deref(), Ok("ac"));
        assert!(Tests::parse("a,d").is_err_and(|message| message.contains("`d`")));
        assert!(Tests::parse(" , ").is_err());
    }
}
