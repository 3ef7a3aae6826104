//! What the load is, by time.
//!
//! A reader hands over requests or means ([`HistoryBuilder`]); a [`History`] shows them as a
//! [`Series`] in each unit of work, with gaps told from silence. A [`Profile`] is what a reader
//! looks at, a [`Forecast`] what is to be expected, and bootstrap weeks are what might come.

mod bootstrap;
mod builder;
mod conformal;
mod drift;
mod events;
mod forecast;
mod gaps;
mod history;
mod holt_winters;
mod intervals;
mod local;
mod outliers;
mod profile;
mod refusal;
mod scores;
mod series;
mod source;
mod steps;
mod table;
mod tokens;

pub use bootstrap::{bootstrap_week_peaks, bootstrap_weeks};
pub use builder::HistoryBuilder;
pub use conformal::{adapted_alpha, supported_level, supported_sentence};
pub use drift::{DRIFT_ALPHA, Drift};
pub use forecast::{Forecast, ForecastMethod, ForecastWindow, Score, forecast};
pub use gaps::{Gap, GapKind, IMPROBABLE};
pub use history::{Counts, History};
pub use holt_winters::Smoothing;
pub use outliers::{OUTLIER_Z, Outlier};
pub use profile::{Figures, Peak, Profile, SlotProfile, profile};
pub use refusal::DemandRefusal;
pub use scores::{mase, pinball_loss};
pub use series::{Series, WorkUnit};
pub use source::{Arrival, ArrivalOutcome, Interval};
pub use steps::STEPS_MAX;
pub use table::history_of_table;
pub use tokens::{TokenCounter, TokenQuantiles, Tokens};
