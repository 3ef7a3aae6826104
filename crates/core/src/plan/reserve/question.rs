//! What is asked, and why it may have no answer.

use std::time::Duration;

use thiserror::Error;

use crate::demand::{Series, WorkUnit};
use crate::evidence::Origin;
use crate::plan::Grid;
use crate::site::{Demand, Inference, Workload};

/// Everything that a reserve follows from.
#[derive(Clone, Copy, Debug)]
pub struct ReserveQuestion<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// What is particular to inference in it.
    pub inference: &'a Inference,
    /// Its demand, in every unit that the history can show.
    pub series: &'a [Series],
    /// The windows of the calendar.
    pub grid: &'a Grid,
    /// Time to get a lent GPU back at its worst, and where it comes from.
    pub reclaim_time: Option<(Duration, Origin)>,
    /// Share of the exposures in which the reserve may be short.
    pub risk_tolerance: Option<f64>,
    /// GPUs of the place.
    pub gpus: u32,
    /// What the declared steps of the way back to inference take together; zero where none is
    /// declared.
    pub transition_back: Duration,
}

impl ReserveQuestion<'_> {
    /// The risk tolerance as a share between 0 and 1; `None` where none is declared, or where the
    /// declared one asks for a certainty that no history gives.
    pub(super) fn epsilon(&self) -> Option<f64> {
        self.risk_tolerance.filter(|share| *share > 0.0 && *share < 1.0)
    }

    /// Whether the demand is declared by its shape and was never observed: then it has no days that
    /// could support anything, and a moment of it stands for itself.
    pub(super) fn is_declared(&self) -> bool {
        match self.inference.demand {
            Demand::Poisson { .. }
            | Demand::Gamma { .. }
            | Demand::Constant { .. }
            | Demand::Ramp { .. }
            | Demand::Closed { .. }
            | Demand::Table(_) => true,
            Demand::Trace(_) | Demand::Query(_) | Demand::SavedQuery(_) | Demand::Rates(_) => false,
        }
    }

    /// The series of a unit.
    pub(super) fn series_of(&self, unit: WorkUnit) -> Option<&Series> {
        self.series.iter().find(|series| series.unit == unit)
    }
}

/// Why demand cannot be turned into GPUs. The text is a lowercase fragment.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ReserveRefusal {
    /// Neither what a replica carries nor an allocation is declared.
    #[error(
        "nothing says how many GPUs the demand of `{workload}` needs: declare what one replica \
         carries, `capacity: {{ gpus: 1, origin: measured, requests_in_flight: 64 }}` under \
         `inference` of `{workload}`, or the GPUs that it always has, `allocation: {{ normal: 4 }}` \
         of `{workload}`"
    )]
    NoCapacity {
        /// The workload.
        workload: String,
    },
    /// What a replica carries is declared in units that the demand does not show.
    #[error(
        "the capacity of `{workload}` is stated in {stated}, and its demand shows {shown}: state \
         what one replica carries in one of those under `capacity` of `{workload}`, or declare what \
         turns one into the other (`service_time`, `prompt_tokens`, `output_tokens`)"
    )]
    NoCommonUnit {
        /// The workload.
        workload: String,
        /// The units of the capacity.
        stated: String,
        /// The units of the demand.
        shown: String,
    },
}

/// The lines of the site file without which a reserve is less than it could be, each with what it
/// would decide. Empty where nothing is missing.
pub fn missing_for_reserve(question: &ReserveQuestion<'_>) -> Vec<String> {
    let name = &question.workload.name;
    let mut missing = Vec::new();
    if question.risk_tolerance.is_none() {
        missing.push(
            "`risk_tolerance: 1 %` under `operations`: the share of moments in which the reserve \
             may be short"
                .to_owned(),
        );
    }
    if question.reclaim_time.is_none() {
        missing.push(
            "`reclaim_time: 2 min` under `operations`, or a measured drill: the time in which a \
             lent GPU is back, without which nothing can be lent against bursts"
                .to_owned(),
        );
    }
    if question.inference.capacity.is_none() {
        missing.push(format!(
            "`capacity: {{ gpus: 1, origin: measured, requests_in_flight: 64 }}` under `inference` \
             of `{name}`: what one replica carries, which turns demand into GPUs"
        ));
    }
    missing
}
