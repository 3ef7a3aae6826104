//! Demand as it was seen.

use std::time::Duration;

use jiff::Timestamp;

use super::gaps::Gap;
use super::series::{Series, WorkUnit};
use super::tokens::Tokens;
use crate::evidence::Origin;

/// Demand as it was seen, in equal steps of whole seconds, in every unit of work that its source can
/// show. Made by [`super::HistoryBuilder`] or from a table ([`super::history_of_table`]).
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    pub(super) start: Timestamp,
    pub(super) step_s: u64,
    pub(super) resolution_s: u64,
    pub(super) begins: Timestamp,
    pub(super) until: Timestamp,
    /// In the order of [`WorkUnit::WORK`].
    pub(super) columns: [Column; 5],
    pub(super) tokens: Tokens,
    pub(super) counts: Counts,
    pub(super) gaps: Vec<Gap>,
    pub(super) origin: Origin,
    pub(super) service: Option<Duration>,
    pub(super) remarks: Vec<String>,
}

/// Demand in one unit, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    /// The value of each step; NaN is a gap.
    Shown(Vec<f64>),
    /// Why the source cannot show it.
    Unknown(String),
}

/// Requests over the whole history. Fractions where the source states rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// All that asked for service.
    pub requests: f64,
    /// Of these, turned away.
    pub refused: f64,
    /// Of these, given up before their end.
    pub timed_out: f64,
}

impl History {
    /// The demand in one unit; `None` where the source cannot show it, for which [`Self::why_not`]
    /// has the reason. In GPUs no source states it.
    pub fn series(&self, unit: WorkUnit) -> Option<Series> {
        let Column::Shown(values) = self.column(unit)? else { return None };
        Some(Series {
            unit,
            start: self.start,
            step: Duration::from_secs(self.step_s),
            values: values.iter().map(|value| (!value.is_nan()).then_some(*value)).collect(),
            resolution: Duration::from_secs(self.resolution_s.max(self.step_s)),
        })
    }

    /// Every unit of work that the source can show, as series.
    pub fn all_series(&self) -> Vec<Series> {
        WorkUnit::WORK.into_iter().filter_map(|unit| self.series(unit)).collect()
    }

    /// Why the demand is not known in a unit; empty where it is.
    pub fn why_not(&self, unit: WorkUnit) -> String {
        match self.column(unit) {
            Some(Column::Shown(_)) => String::new(),
            Some(Column::Unknown(why)) => why.clone(),
            None => "no source states demand in GPUs: the capacity of a replica turns it into them"
                .to_owned(),
        }
    }

    fn column(&self, unit: WorkUnit) -> Option<&Column> {
        let index = WorkUnit::WORK.iter().position(|known| *known == unit)?;
        self.columns.get(index)
    }

    /// The first and the last instant of which the source speaks.
    pub fn span(&self) -> (Timestamp, Timestamp) {
        (self.begins, self.until)
    }

    /// The length of the span, days.
    pub fn days(&self) -> f64 {
        self.until.duration_since(self.begins).as_secs_f64() / 86_400.0
    }

    /// The length of a step.
    pub fn step(&self) -> Duration {
        Duration::from_secs(self.step_s)
    }

    /// The shortest burst that the source can show.
    pub fn resolution(&self) -> Duration {
        Duration::from_secs(self.resolution_s.max(self.step_s))
    }

    /// Tokens of prompts and answers, one request at a time. Sources of means state none.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Requests, with those that were refused or given up.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The time of which the demand is not known, in order.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Where the figures come from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The mean time in the engine by which requests in flight were reckoned, where it was needed.
    pub fn service(&self) -> Option<Duration> {
        self.service
    }

    /// What a reader must know: what was added back, filled in or could not be told.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The history with its demand multiplied, as a declared `rate_factor` asks for: rates, levels
    /// and counts; tokens of a single request stay. A factor that is not finite and positive changes
    /// nothing.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        if !(factor.is_finite() && factor > 0.0) || factor == 1.0 {
            return self;
        }
        for column in &mut self.columns {
            if let Column::Shown(values) = column {
                for value in values.iter_mut() {
                    *value *= factor;
                }
            }
        }
        let Counts { requests, refused, timed_out } = self.counts;
        self.counts = Counts {
            requests: requests * factor,
            refused: refused * factor,
            timed_out: timed_out * factor,
        };
        self.remarks.push(format!("the demand is multiplied by the declared factor {factor}"));
        self
    }

    /// The same history with another origin.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }
}

/// An instant from seconds; beyond the calendar it is the calendar's end.
pub(super) fn instant(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(if second < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}
