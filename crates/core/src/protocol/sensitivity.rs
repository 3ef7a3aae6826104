//! The design of a sensitivity test: which resource is stressed when, decided before the first
//! block runs.
//!
//! A round holds one block of each stressor at each dose, dose 0 included, and all of them replay
//! the same arrivals. Every second round runs in the mirrored order of the one before it, so that a
//! slow drift of the machine weighs on early and late blocks alike. The blocks at dose 0 are alike
//! and serve every stressor as reference: where k things are compared with one reference, the
//! variance of the comparisons is least with about √k references for each of the others (Dunnett,
//! JASA 50, 1955), and one for each stressor of three doses is near that.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::BlockShape;
use crate::evidence::{Condition, Phase, PlannedBlock, Situation, Stress, Stressor};

/// What the schedule of a sensitivity test is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensitivityDesign {
    /// The stressors; one that stands twice counts once.
    pub stressors: Vec<Stressor>,
    /// Rounds.
    pub rounds: u32,
    /// Seed of the order.
    pub seed: u64,
}

/// Writes down the order of blocks. The same design gives the same order. The number of a round is
/// the pair number of its blocks, which fixes their arrivals.
///
/// ```
/// use cotenant_core::evidence::Stressor;
/// use cotenant_core::protocol::{SensitivityDesign, sensitivity_schedule};
/// let stressors = vec![Stressor::Cpu, Stressor::DiskSync];
/// let design = SensitivityDesign { stressors, rounds: 3, seed: 1 };
/// assert_eq!(sensitivity_schedule(&design).len(), 3 * 2 * 4);
/// ```
pub fn sensitivity_schedule(design: &SensitivityDesign) -> Vec<PlannedBlock> {
    let mut random = Pcg64::seed_from_u64(design.seed);
    let mut stressors = design.stressors.clone();
    stressors.sort_unstable();
    stressors.dedup();
    let doses = || 0..=Stress::DOSE_MAX;
    let mut unit: Vec<Stress> = stressors
        .into_iter()
        .flat_map(|stressor| doses().map(move |dose| Stress { stressor, dose }))
        .collect();
    let mut order: Vec<(u32, Stress)> = Vec::new();
    for round in 0..design.rounds {
        // The first of two rounds is drawn, the second mirrors it.
        if round % 2 == 0 {
            unit.shuffle(&mut random);
        } else {
            unit.reverse();
        }
        order.extend(unit.iter().map(|stress| (round, *stress)));
    }
    order
        .into_iter()
        .enumerate()
        .map(|(index, (round, stress))| PlannedBlock {
            index: index as u32,
            condition: Condition::A,
            pair: round,
            remedy: None,
            phase: Phase::Steady,
            situation: Situation::Stressed(stress),
        })
        .collect()
}

/// What a sensitivity test has to fit into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensitivityBudget {
    /// Time for all blocks; [`SensitivityBudget::needed`] where the user gives none.
    pub time: Duration,
    /// Number of stressors.
    pub stressors: u32,
    /// Mean rate of requests, per second.
    pub rate_per_s: f64,
    /// Warm-up of each block.
    pub warm_up: Duration,
    /// Time around each block: rest, start of the stressor, its end.
    pub around: Duration,
    /// Length of the judged interval, where it is fixed.
    pub judged: Option<Duration>,
}

/// How many rounds of which blocks fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensitivityFit {
    /// Rounds.
    pub rounds: u32,
    /// Lengths inside a block.
    pub shape: BlockShape,
}

/// Rounds that are aimed at. With m rounds a percentile bootstrap is too narrow by about
/// √((m − 1)/m): a tenth with six.
pub const ROUNDS_WANTED: u32 = 6;
/// Fewest rounds that are planned: less says nothing of how blocks differ.
pub const ROUNDS_MIN: u32 = 2;
/// Requests in a judged interval that are aimed at: the 95th percentile is then the second largest.
const REQUESTS_WANTED: f64 = 40.0;
/// Bounds of a judged interval that is chosen here.
const JUDGED_RANGE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(1));

impl SensitivityBudget {
    /// Time for the wanted rounds of forty requests.
    pub fn needed(&self) -> Duration {
        self.block(self.judged_wanted()) * self.blocks(ROUNDS_WANTED)
    }

    /// Fits blocks into the time: as many rounds as are wanted, and where the time is longer, longer
    /// blocks up to a minute. `None` where not even two rounds of the shortest blocks fit.
    pub fn fit(&self) -> Option<SensitivityFit> {
        let (least, most) = JUDGED_RANGE;
        let wanted = self.judged_wanted();
        let around = self.warm_up + self.around;
        let room = |rounds: u32| (self.time / self.blocks(rounds)).checked_sub(around);
        let fitting =
            (ROUNDS_MIN..=ROUNDS_WANTED).rev().find(|rounds| room(*rounds) >= Some(wanted));
        let room = room(fitting.unwrap_or(ROUNDS_MIN))?;
        let judged = match (self.judged, fitting) {
            (Some(judged), _) => judged,
            // What is left over makes blocks longer, and only then more rounds.
            (None, Some(ROUNDS_WANTED)) => room.min(most.max(wanted)),
            (None, Some(_)) => wanted,
            (None, None) => room,
        };
        let round = self.block(judged) * self.blocks(1);
        let rounds = (self.time.as_nanos() / round.as_nanos().max(1)) as u32;
        if rounds < ROUNDS_MIN || judged < self.judged.unwrap_or(least) {
            return None;
        }
        let shape = BlockShape { warm_up: self.warm_up, judged, tail: Duration::ZERO };
        Some(SensitivityFit { rounds, shape })
    }

    fn block(&self, judged: Duration) -> Duration {
        self.warm_up + judged + self.around
    }

    fn blocks(&self, rounds: u32) -> u32 {
        rounds * self.stressors.max(1) * (u32::from(Stress::DOSE_MAX) + 1)
    }

    fn judged_wanted(&self) -> Duration {
        let (least, most) = JUDGED_RANGE;
        let chosen = Duration::try_from_secs_f64(REQUESTS_WANTED / self.rate_per_s);
        self.judged.unwrap_or_else(|| chosen.unwrap_or(most).clamp(least, most))
    }
}
