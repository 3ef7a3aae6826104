//! Forecasts by closed forms, and what a short history supports.

use cotenant_core::demand::{
    DemandRefusal, ForecastMethod, bootstrap_week_peaks, bootstrap_weeks, forecast, mase,
    pinball_loss, supported_level, supported_sentence,
};
use cotenant_core::plan::Grid;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use crate::support::{date, half_hours, noise};

const MONDAY: &str = "2026-03-02";

fn next_week(days_after: i64) -> Grid {
    let begins = date(MONDAY).checked_add(jiff::Span::new().days(days_after)).unwrap();
    Grid::new(TimeZone::UTC, begins, 7, 30).unwrap()
}

/// A shape over the week that is nowhere flat.
fn shape(minute_of_week: u32) -> f64 {
    let day = f64::from(minute_of_week / 1440);
    let hour = f64::from(minute_of_week % 1440) / 60.0;
    40.0 + 3.0 * day + 20.0 * ((hour - 14.0) / 24.0 * std::f64::consts::TAU).cos()
}

#[test]
fn a_pure_weekly_pattern_is_met_by_the_naive_forecast() {
    let series = half_hours(&TimeZone::UTC, MONDAY, 28, |minute, _| shape(minute));
    let forecast = forecast(&series, &next_week(28), 0.05).unwrap();
    assert_eq!(forecast.method, ForecastMethod::SeasonalNaive, "{}", forecast.sentence);
    let naive = forecast.scores[0];
    assert_eq!((naive.mase, naive.pinball), (0.0, Some(0.0)));
    for (window, expected) in next_week(28).windows.iter().zip(&forecast.windows) {
        assert_eq!(expected.point, Some(shape(window.minute_of_week)));
        assert_eq!(expected.lower, expected.point);
        assert_eq!(expected.upper, expected.point);
    }
    // Three of the four weeks could be compared with the one before.
    assert_eq!(forecast.calibration_days, 21);
    assert_eq!(forecast.level, 0.95);
}

#[test]
fn a_trend_is_met_by_holt_winters_and_not_by_the_naive_forecast() {
    let truth = |minute: u32, index: usize| shape(minute) + 0.02 * index as f64;
    let series = half_hours(&TimeZone::UTC, MONDAY, 28, truth);
    let grid = next_week(28);
    let forecast = forecast(&series, &grid, 0.1).unwrap();
    let ForecastMethod::HoltWinters { season_days: 7, .. } = forecast.method else {
        panic!("{}", forecast.sentence);
    };
    for (index, (window, expected)) in grid.windows.iter().zip(&forecast.windows).enumerate() {
        let value = truth(window.minute_of_week, 28 * 48 + index);
        assert!((expected.point.unwrap() - value).abs() < 1e-6, "{index}");
    }
    let [naive, rival] = forecast.scores[..] else { panic!("{:?}", forecast.scores) };
    assert!(rival.mase < 1e-9 && naive.mase > 1.0, "{naive:?} {rival:?}");
    // The naive one is behind by a week of trend: 336 · 0.02.
    let step: f64 = 6.72;
    let changes: Vec<f64> = series.values[..14 * 48]
        .windows(2)
        .map(|pair| (pair[1].unwrap() - pair[0].unwrap()).abs())
        .collect();
    let scale = changes.iter().sum::<f64>() / changes.len() as f64;
    assert!((naive.mase - step / scale).abs() < 1e-9);
}

#[test]
fn holt_winters_is_never_used_where_the_naive_forecast_scores_better() {
    // Noise around a weekly shape, many seeds: whatever is chosen has the best score.
    for seed in 0..6 {
        let series = half_hours(&TimeZone::UTC, MONDAY, 24, |minute, index| {
            shape(minute) * (0.5 + noise(index / 48 * 7919 + seed * 104_729) + 0.1 * noise(index))
        });
        let forecast = forecast(&series, &next_week(24), 0.2).unwrap();
        let [naive, rival] = forecast.scores[..] else { panic!("{:?}", forecast.scores) };
        if forecast.method == ForecastMethod::SeasonalNaive {
            let better = rival.mase < naive.mase && rival.pinball < naive.pinball;
            assert!(!better, "{naive:?} {rival:?}");
        } else {
            assert!(rival.mase <= naive.mase && rival.pinball <= naive.pinball);
        }
    }
}

#[test]
fn bounds_are_order_statistics_of_the_errors_at_the_time_of_day() {
    // A week at 50, and 21 days that are 21, 20, … 1 above it. Seen 21 days ahead, each of them is
    // forecast from the first week.
    let series = half_hours(&TimeZone::UTC, MONDAY, 28, |_, index| {
        let day = index / 48;
        if day < 7 { 50.0 } else { (50 + 28 - day) as f64 }
    });
    // Holt–Winters cannot be scored 21 days ahead, so the naive forecast stands.
    let begins = date(MONDAY).checked_add(jiff::Span::new().days(28)).unwrap();
    let grid = Grid::new(TimeZone::UTC, begins, 21, 30).unwrap();
    let forecast = forecast(&series, &grid, 0.1).unwrap();
    assert_eq!(forecast.method, ForecastMethod::SeasonalNaive);
    // Rank ⌈22 · 0.9⌉ = 20 of 21.
    for expected in &forecast.windows {
        let point = expected.point.unwrap();
        assert_eq!(expected.upper, Some(point + 20.0));
        assert_eq!(expected.lower, Some(point + 2.0));
    }
    assert_eq!(forecast.level, 0.9);
    // No bound failed on the 20 days that had one: 0.1 + 20 · 0.005 · 0.1.
    assert!((forecast.adapted_alpha - 0.11).abs() < 1e-12);
}

#[test]
fn bounds_that_fail_day_after_day_grow() {
    // As above, and rising: each day is above every bound. 0.1 + 20 · 0.005 · (0.1 − 1) = 0.01.
    let series = half_hours(&TimeZone::UTC, MONDAY, 28, |_, index| {
        let day = index / 48;
        if day < 7 { 50.0 } else { (50 + day - 6) as f64 }
    });
    let begins = date(MONDAY).checked_add(jiff::Span::new().days(28)).unwrap();
    let grid = Grid::new(TimeZone::UTC, begins, 21, 30).unwrap();
    let forecast = forecast(&series, &grid, 0.1).unwrap();
    assert!((forecast.adapted_alpha - 0.01).abs() < 1e-12);
    // The largest of the errors in place of the 20th.
    let expected = forecast.windows[0];
    assert_eq!(expected.upper, Some(expected.point.unwrap() + 21.0));
}

#[test]
fn a_short_history_says_what_it_supports() {
    assert_eq!(
        supported_sentence(28, 0.01).unwrap(),
        "28 days support at most 96.6 %, and 99 % needs 99 days"
    );
    assert_eq!(supported_sentence(99, 0.01), None);
    assert!(supported_sentence(98, 0.01).is_some());
    assert_eq!(supported_sentence(19, 0.05), None);
    assert_eq!(
        supported_sentence(1, 0.05).unwrap(),
        "1 day supports at most 50.0 %, and 95 % needs 19 days"
    );
    assert!((supported_level(28, 0.01) - 28.0 / 29.0).abs() < 1e-15);
    let series =
        half_hours(&TimeZone::UTC, MONDAY, 14, |minute, index| shape(minute) + noise(index));
    let forecast = forecast(&series, &next_week(14), 0.05).unwrap();
    assert_eq!(forecast.calibration_days, 7);
    assert!((forecast.level - 7.0 / 8.0).abs() < 1e-15);
    assert!(forecast.sentence.contains("7 days support at most 87.5 %"), "{}", forecast.sentence);
}

#[test]
fn what_cannot_be_forecast_is_refused() {
    let series = half_hours(&TimeZone::UTC, MONDAY, 6, |minute, _| shape(minute));
    let refusal = forecast(&series, &next_week(6), 0.05).unwrap_err();
    assert_eq!(refusal, DemandRefusal::TooShort { days: 6.0 });
    assert!(refusal.to_string().contains("7 days"), "{refusal}");
    let series = half_hours(&TimeZone::UTC, MONDAY, 14, |minute, _| shape(minute));
    assert!(matches!(forecast(&series, &next_week(14), 1.0), Err(DemandRefusal::Alpha { .. })));
    let empty = Grid { windows: Vec::new(), ..next_week(14) };
    assert_eq!(forecast(&series, &empty, 0.1).unwrap_err(), DemandRefusal::NoWindows);
}

#[test]
fn seven_days_from_noon_to_noon_are_a_week() {
    let mut series = half_hours(&TimeZone::UTC, MONDAY, 8, |minute, _| shape(minute));
    series.values[..28].fill(None);
    series.values.truncate(7 * 48 + 28);
    let forecast = forecast(&series, &next_week(8), 0.05).unwrap();
    for (window, expected) in next_week(8).windows.iter().zip(&forecast.windows) {
        assert_eq!(expected.point, Some(shape(window.minute_of_week)));
    }
}

#[test]
fn a_calendar_long_after_the_history_is_not_left_to_a_trend() {
    let series =
        half_hours(&TimeZone::UTC, MONDAY, 28, |minute, index| shape(minute) + 0.02 * index as f64);
    let forecast = forecast(&series, &next_week(7 * 60), 0.1).unwrap();
    assert_eq!(forecast.method, ForecastMethod::SeasonalNaive);
    assert_eq!(forecast.scores.len(), 1);
    // The last week that was seen.
    assert_eq!(forecast.windows[5].point, series.values[21 * 48 + 5]);
}

#[test]
fn a_gap_is_forecast_from_the_week_before_it() {
    let mut series = half_hours(&TimeZone::UTC, MONDAY, 14, |minute, _| shape(minute));
    series.values[7 * 48 + 20..7 * 48 + 30].fill(None);
    let forecast = forecast(&series, &next_week(14), 0.2).unwrap();
    for (window, expected) in next_week(14).windows.iter().zip(&forecast.windows) {
        assert_eq!(expected.point, Some(shape(window.minute_of_week)));
    }
}

#[test]
fn scores_by_hand() {
    // Changes of the training series: 2, 2, 4: mean 8/3. Errors 4 and 0 (one is unknown): mean 2.
    let training = [1.0, 3.0, 5.0, 1.0].map(Some);
    let score = mase(&training, &[Some(9.0), None, Some(2.0)], &[Some(5.0), Some(1.0), Some(2.0)]);
    assert!((score.unwrap() - 0.75).abs() < 1e-15);
    assert_eq!(mase(&[], &[Some(1.0)], &[Some(1.0)]), Some(0.0));
    assert_eq!(mase(&[Some(1.0); 3], &[Some(1.0)], &[Some(2.0)]), Some(f64::INFINITY));
    assert_eq!(mase(&training, &[None], &[Some(2.0)]), None);
    assert!((pinball_loss(0.95, 100.0, 90.0) - 9.5).abs() < 1e-12);
    assert!((pinball_loss(0.95, 90.0, 100.0) - 0.5).abs() < 1e-12);
    assert_eq!(pinball_loss(0.5, 4.0, 4.0), 0.0);
}

/// Values that tell their day and window: day · 1000 + window of the day.
fn labelled(days: u32) -> cotenant_core::demand::Series {
    half_hours(&TimeZone::UTC, MONDAY, days, |minute, index| {
        (index / 48 * 1000) as f64 + f64::from(minute % 1440 / 30)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_drawn_value_comes_from_the_same_time_of_day(days in 1..30_u32, seed in any::<u64>()) {
        let (series, grid) = (labelled(days), next_week(60));
        let weeks = bootstrap_weeks(&series, &grid, 3, seed);
        prop_assert_eq!(weeks.len(), 3);
        for week in &weeks {
            prop_assert_eq!(week.len(), grid.windows.len());
            for (window, value) in grid.windows.iter().zip(week) {
                let (day, slot) = ((*value / 1000.0).floor(), *value % 1000.0);
                prop_assert_eq!(slot, f64::from(window.minute_of_week % 1440 / 30));
                prop_assert!(day < f64::from(days));
                if days >= 14 {
                    prop_assert_eq!(day % 7.0, f64::from(window.minute_of_week / 1440));
                }
            }
            // A whole day of the calendar comes from one day of the history.
            for day in week.chunks(48) {
                prop_assert!(day.iter().all(|value| (value / 1000.0).floor() == (day[0] / 1000.0).floor()));
            }
        }
        prop_assert_eq!(&weeks, &bootstrap_weeks(&series, &grid, 3, seed));
        prop_assert_eq!(&weeks, &bootstrap_week_peaks(&series, &grid, 3, seed));
    }
}

#[test]
fn another_seed_draws_another_week() {
    let (series, grid) = (labelled(28), next_week(28));
    assert_ne!(bootstrap_weeks(&series, &grid, 2, 1), bootstrap_weeks(&series, &grid, 2, 2));
}

#[test]
fn nothing_is_made_up_for_a_time_of_day_that_was_never_seen() {
    let mut series = labelled(14);
    for day in 0..14 {
        series.values[day * 48 + 7] = None;
    }
    assert!(bootstrap_weeks(&series, &next_week(14), 3, 1).is_empty());
    // One day that knows it is enough, and it is taken from there.
    series.values[3 * 48 + 7] = Some(3007.0);
    let weeks = bootstrap_weeks(&series, &next_week(14), 3, 1);
    assert!(weeks.iter().all(|week| (0..7).all(|day| week[day * 48 + 7] == 3007.0)));
}
