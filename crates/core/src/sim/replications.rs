//! The same question asked with several seeds.

use super::outcome::Outcome;
use crate::stats::{MeanBounds, Refusal, student_bounds};

/// Outcomes of the same simulation with different seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replications {
    /// One for each seed, in their order.
    pub outcomes: Vec<Outcome>,
}

impl Replications {
    /// Runs a simulation once for each seed.
    pub fn run(
        seeds: impl IntoIterator<Item = u64>,
        mut simulate: impl FnMut(u64) -> Outcome,
    ) -> Self {
        Self { outcomes: seeds.into_iter().map(&mut simulate).collect() }
    }

    /// The mean of what each replication says, and one-sided bounds with confidence 1 − α each
    /// (Student's t; replications are independent of each other, as requests within one are not).
    ///
    /// `None` where a replication has nothing to say: a mean over the others would be one of those
    /// in which it went well.
    ///
    /// # Errors
    /// Refuses fewer than two replications, and an α outside of (0, 1).
    pub fn bounds(
        &self,
        alpha: f64,
        figure: impl Fn(&Outcome) -> Option<f64>,
    ) -> Result<Option<MeanBounds>, Refusal> {
        let figures: Option<Vec<f64>> = self.outcomes.iter().map(figure).collect();
        figures.map(|figures| student_bounds(&figures, alpha)).transpose()
    }
}
