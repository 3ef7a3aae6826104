//! Real demand: the ServeGen pools of fourteen days.

use cotenant_core::demand::{GapKind, WorkUnit, bootstrap_weeks, forecast, profile};
use cotenant_core::plan::Grid;
use jiff::tz::TimeZone;

use crate::support::{at, date, servegen, servegen_history};

/// The files state no time zone; this one is as good as any.
const START: &str = "2026-03-02T00:00:00Z";

#[test]
fn the_zeros_of_m_small_are_gaps_and_nothing_else_is() {
    let (Some(rows), Some(history)) = (servegen("m-small"), servegen_history("m-small", at(START)))
    else {
        return;
    };
    let series = history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.values.len(), 2016);
    let zeros = rows.iter().filter(|(_, rate)| *rate == 0.0).count();
    assert_eq!(zeros, 37);
    for ((second, rate), value) in rows.iter().zip(&series.values) {
        assert_eq!(value.is_none(), *rate == 0.0, "second {second}, rate {rate}");
    }
    assert!(history.gaps().iter().all(|gap| gap.kind == GapKind::Improbable));
    let gaps = history.gaps().iter();
    let seconds: i64 = gaps.map(|gap| gap.until.duration_since(gap.from).as_secs()).sum();
    assert_eq!(seconds, 37 * 600);
}

#[test]
fn m_large_has_no_gap_and_its_figures_are_those_of_its_file() {
    let Some(history) = servegen_history("m-large", at(START)) else { return };
    assert!(history.gaps().is_empty());
    let profile = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 30);
    let overall = profile.overall.unwrap();
    // The figures of the data's own description: mean 195.8, highest 583.
    assert!((overall.mean - 195.8).abs() < 0.05, "{}", overall.mean);
    assert!((overall.max - 583.0).abs() < 0.5, "{}", overall.max);
    assert_eq!(profile.weeks, 2.0);
    assert!(profile.slots.iter().all(|slot| slot.weeks == 2 && slot.seen_hours == 1.0));
    let p_value = profile.drift.p_value.unwrap();
    assert!(p_value > 0.0 && p_value <= 1.0);
    println!("{}", profile.drift.sentence);
}

#[test]
fn the_forecast_of_m_large_never_scores_worse_than_last_week() {
    let Some(history) = servegen_history("m-large", at(START)) else { return };
    let series = history.series(WorkUnit::Requests).unwrap();
    let grid = Grid::new(TimeZone::UTC, date("2026-03-16"), 7, 30).unwrap();
    let forecast = forecast(&series, &grid, 0.05).unwrap();
    println!("{}", forecast.sentence);
    let [naive, rival] = forecast.scores[..] else { panic!("{:?}", forecast.scores) };
    assert_eq!((naive.days, rival.days), (7, 7));
    let used = if forecast.method == naive.method { naive } else { rival };
    assert!(used.mase <= naive.mase && used.pinball <= naive.pinball);
    assert!(forecast.sentence.contains("7 days support at most 87.5 %"), "{}", forecast.sentence);
    for window in &forecast.windows {
        let (lower, point) = (window.lower.unwrap(), window.point.unwrap());
        assert!(lower <= window.upper.unwrap() && point > 0.0);
    }
}

#[test]
fn weeks_drawn_from_m_large_stay_within_what_was_seen() {
    let Some(history) = servegen_history("m-large", at(START)) else { return };
    let series = history.series(WorkUnit::Requests).unwrap();
    let grid = Grid::new(TimeZone::UTC, date("2026-03-16"), 7, 30).unwrap();
    let weeks = bootstrap_weeks(&series, &grid, 50, 7);
    assert_eq!(weeks.len(), 50);
    let seen = series.values.iter().copied().flatten();
    let (low, high) = seen.fold((f64::MAX, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    assert!(weeks.iter().flatten().all(|value| (low..=high).contains(value)));
}
