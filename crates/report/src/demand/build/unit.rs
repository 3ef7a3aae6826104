//! Demand in one unit of work.

use cotenant_core::demand::{
    Drift, Figures, History, OUTLIER_Z, Outlier, Profile, SlotProfile, WorkUnit,
};

use super::clock::Clock;
use super::course::course;
use super::forecast::forecast;
use super::inputs::DemandUnit;
use super::scale::alone;
use super::week::week;
use crate::demand::model::{
    DriftView, FiguresRow, OutlierView, PeakView, SlotFigures, SlotView, UnitView,
};
use crate::format;

pub(super) fn unit(unit: &DemandUnit, history: &History, clock: &Clock<'_>) -> UnitView {
    let profile = &unit.bins;
    let missing = profile.overall.is_none().then(|| history.why_not(profile.unit));
    let course = course(history, profile.unit, clock);
    let (forecast, forecast_missing) = match &unit.forecast {
        Ok((grid, found)) => (Some(forecast(grid, found, clock)), None),
        Err(why) => (None, Some(why.clone())),
    };
    UnitView {
        key: key_of(profile.unit).to_owned(),
        name: profile.unit.name().to_owned(),
        missing,
        bin_minutes: profile.slot_minutes,
        slots: profile.slots.iter().filter_map(slot).collect(),
        week: if course.is_none() { week(unit, clock) } else { None },
        course,
        peaks: profile
            .peaks
            .iter()
            .map(|peak| PeakView {
                at: clock.moment(peak.at),
                value: alone(profile.unit, peak.value),
                mean: alone(profile.unit, peak.mean),
            })
            .collect(),
        outliers: profile.outliers.iter().map(|it| outlier(it, profile.unit, clock)).collect(),
        outlier_sentence: outlier_sentence(profile),
        drift: drift(&profile.drift),
        forecast,
        forecast_missing,
    }
}

/// The word of the option that chooses a unit.
fn key_of(unit: WorkUnit) -> &'static str {
    match unit {
        WorkUnit::Requests => "requests",
        WorkUnit::RequestsInFlight => "in-flight",
        WorkUnit::KvTokens => "kv",
        WorkUnit::Prefill => "prefill",
        WorkUnit::Output => "output",
        WorkUnit::Gpus => "gpus",
    }
}

/// All time together under the unit's name.
pub(super) fn figures_row(profile: &Profile) -> Option<FiguresRow> {
    let Figures { mean, p50, p95, p99, max } = profile.overall?;
    let value = |number: f64| alone(profile.unit, number);
    Some(FiguresRow {
        name: profile.unit.name().to_owned(),
        mean: value(mean),
        p50: value(p50),
        p95: value(p95),
        p99: value(p99),
        max: value(max),
    })
}

fn slot(slot: &SlotProfile) -> Option<SlotView> {
    let Figures { mean, p50, p95, p99, max } = slot.figures?;
    Some(SlotView {
        minute_of_week: slot.minute_of_week,
        seen_hours: slot.seen_hours,
        weeks: slot.weeks,
        figures: SlotFigures { mean, p50, p95, p99, max },
    })
}

fn outlier(outlier: &Outlier, unit: WorkUnit, clock: &Clock<'_>) -> OutlierView {
    let sign = if outlier.z > 0.0 { "+" } else { "" };
    OutlierView {
        at: clock.moment(outlier.at),
        value: alone(unit, outlier.value),
        median: alone(unit, outlier.median),
        z: format::value_with_text(
            outlier.z,
            "ratio",
            format!("{sign}{}", format::number(outlier.z)),
        ),
        peers: if outlier.by_week {
            "the same time of the week".to_owned()
        } else {
            "the same time of days of its kind".to_owned()
        },
    }
}

fn outlier_sentence(profile: &Profile) -> String {
    let minutes = profile.slot_minutes;
    match profile.outliers.len() {
        0 => format!(
            "No window of {minutes} min is unlike its peers (modified z-score above {OUTLIER_Z})."
        ),
        count => format!(
            "Windows of {minutes} min that are unlike the same time of other weeks or days \
             (modified z-score above {OUTLIER_Z}): {}. They count in every figure.",
            format::count(count as u64),
        ),
    }
}

fn drift(drift: &Drift) -> DriftView {
    DriftView {
        weeks: drift.weeks as u32,
        p_value: drift.p_value,
        change_per_week: drift.change_per_week.filter(|change| change.is_finite()),
        differs: drift.differs,
        sentence: sentence_of(&drift.sentence),
    }
}

/// A fragment as a sentence.
pub(super) fn sentence_of(fragment: &str) -> String {
    let mut letters = fragment.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if fragment.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
