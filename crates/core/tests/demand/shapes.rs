//! Profiles, outliers and drift on series of known shape.

use cotenant_core::demand::{WorkUnit, profile};
use jiff::tz::TimeZone;

use crate::support::{after, at, noise, rates, request};

/// Hourly rates from a Monday on: a day's shape, 0 at weekends' nights nowhere.
fn hours(days: usize, rate: impl Fn(usize, usize) -> f64) -> cotenant_core::demand::History {
    let values: Vec<f64> = (0..days * 24).map(|hour| rate(hour / 24, hour % 24)).collect();
    rates(at("2026-03-02T00:00:00Z"), 3600, &values)
}

#[test]
fn a_slot_gathers_the_same_time_of_each_week() {
    let history = hours(28, |day, hour| (day / 7 + 1) as f64 * 10.0 + hour as f64);
    let profile = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 60);
    assert_eq!(profile.slots.len(), 168);
    let figures = profile.slots[24 + 5].figures.unwrap();
    // 15, 25, 35 and 45.
    assert_eq!((figures.mean, figures.p50, figures.max), (30.0, 25.0, 45.0));
    assert_eq!((figures.p95, figures.p99), (45.0, 45.0));
    assert_eq!(profile.slots[24 + 5].weeks, 4);
    assert_eq!(profile.slots[24 + 5].minute_of_week, 29 * 60);
    assert_eq!(profile.weeks, 4.0);
    assert_eq!(profile.overall.unwrap().max, 63.0);
    assert_eq!(profile.peaks[0].value, 63.0);
    assert_eq!(profile.peaks[0].at, at("2026-03-23T23:00:00Z"));
}

#[test]
fn a_unit_that_is_not_shown_says_why() {
    let history = hours(7, |_, _| 1.0);
    let profile = profile(&history, WorkUnit::KvTokens, &TimeZone::UTC, 60);
    assert!(profile.slots.iter().all(|slot| slot.figures.is_none()));
    assert!(profile.remarks[0].starts_with("KV tokens"), "{:?}", profile.remarks);
    assert!(profile.drift.sentence.contains("cannot be tested"));
}

#[test]
fn an_odd_slot_length_becomes_one_that_divides_a_day() {
    let history = hours(7, |_, _| 1.0);
    for (asked, used) in [(0, 60), (7, 6), (25, 24), (30, 30), (9999, 1440)] {
        let profile = profile(&history, WorkUnit::Requests, &TimeZone::UTC, asked);
        assert_eq!(profile.slot_minutes, used);
        assert_eq!(profile.slots.len() as u32, 7 * 1440 / used);
    }
}

#[test]
fn an_outlier_is_shown_and_counts() {
    // Six weeks; on the fourth Thursday at 10:00 a tenfold.
    let odd = 3 * 7 + 3;
    let history = hours(42, |day, hour| {
        let usual = 20.0 + hour as f64 + 0.5 * noise(day * 24 + hour);
        if day == odd && hour == 10 { 10.0 * usual } else { usual }
    });
    let profile = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 60);
    let first = profile.outliers[0];
    assert_eq!(first.at, after(at("2026-03-02T00:00:00Z"), ((odd * 24 + 10) * 3600) as i64));
    assert!(first.by_week && first.z > 100.0, "{first:?}");
    assert!((30.0..30.6).contains(&first.median));
    // It is part of its slot.
    assert_eq!(profile.slots[3 * 24 + 10].figures.unwrap().max, first.value);
    assert_eq!(profile.slots[3 * 24 + 10].weeks, 6);
}

#[test]
fn the_score_of_an_outlier_by_hand() {
    // Five Mondays at 00:00: 10, 11, 12, 13, 40. Median 12, deviations 2, 1, 0, 1, 28: MAD 1.
    // 0.6745 · 28 = 18.886.
    let mondays = [10.0, 11.0, 12.0, 13.0, 40.0];
    let history =
        hours(35, |day, hour| if day % 7 == 0 && hour == 0 { mondays[day / 7] } else { 5.0 });
    let profile = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 60);
    let [only] = profile.outliers[..] else { panic!("{:?}", profile.outliers) };
    assert!((only.z - 18.886).abs() < 1e-9);
}

#[test]
fn a_single_week_is_compared_by_kind_of_day() {
    let history = hours(7, |day, hour| if day == 2 && hour == 9 { 90.0 } else { 20.0 });
    let profile = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 60);
    let [only] = profile.outliers[..] else { panic!("{:?}", profile.outliers) };
    assert_eq!(only.at, at("2026-03-04T09:00:00Z"));
    assert!(!only.by_week);
}

#[test]
fn drift_needs_two_weeks_and_finds_a_rise_in_two() {
    let one = hours(7, |_, hour| 10.0 + hour as f64);
    let drift = profile(&one, WorkUnit::Requests, &TimeZone::UTC, 60).drift;
    assert_eq!((drift.s, drift.p_value, drift.differs), (None, None, None));
    assert!(drift.sentence.contains("cannot be tested"), "{}", drift.sentence);
    // Every weekday rises from the first week to the second: of 2^7 orders two are as extreme.
    let two = hours(14, |day, hour| 10.0 + hour as f64 + (day / 7) as f64);
    let drift = profile(&two, WorkUnit::Requests, &TimeZone::UTC, 60).drift;
    assert_eq!(drift.s, Some(7));
    assert_eq!(drift.p_value, Some(2.0 / 128.0));
    assert_eq!(drift.differs, Some(true));
    // A rise of 1 on a mean of 22.
    assert!((drift.change_per_week.unwrap() - 1.0 / 22.0).abs() < 1e-12);
}

#[test]
fn equal_weeks_do_not_drift() {
    let history = hours(28, |day, hour| 10.0 + hour as f64 + (day % 7) as f64);
    let drift = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 60).drift;
    assert_eq!((drift.s, drift.p_value, drift.differs), (Some(0), Some(1.0), Some(false)));
}

/// The exact p-value against the share of all orders, counted out: three weeks, two weekdays.
#[test]
fn the_p_value_is_that_of_all_orders() {
    // Mondays rise, rise: S = 3. Tuesdays rise, fall back between: S = 1. Together 4.
    let (mondays, tuesdays) = ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]);
    let start = at("2026-03-02T00:00:00Z");
    let mut builder = cotenant_core::demand::HistoryBuilder::new(None);
    for week in 0..3 {
        for (day, rate) in [(0, mondays[week]), (1, tuesdays[week])] {
            let from = after(start, ((week * 7 + day) * 86_400) as i64);
            builder.interval(&cotenant_core::demand::Interval::rate(
                from,
                after(from, 86_400),
                rate,
            ));
        }
    }
    let history = builder.finish().unwrap();
    let drift = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 60).drift;
    assert_eq!(drift.s, Some(4));
    // S of three values in all six orders.
    let of_three = [3, 1, 1, -1, -1, -3];
    let pairs = of_three.iter().flat_map(|one| of_three.iter().map(move |other| one + other));
    let extreme = pairs.filter(|sum: &i32| sum.abs() >= 4).count();
    assert!((drift.p_value.unwrap() - extreme as f64 / 36.0).abs() < 1e-12);
}

#[test]
fn noise_alone_is_called_drift_about_as_often_as_it_may() {
    let mut called = 0;
    for seed in 0..100 {
        let history = hours(14, |day, _| 10.0 + noise(seed * 1000 + day));
        let drift = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 1440).drift;
        called += u32::from(drift.differs.unwrap());
    }
    // With two weeks the test can only have p = 2/128 below 5 %, so about 1.6 of 100.
    assert!(called <= 6, "{called}");
}

#[test]
fn tokens_stand_beside_rates() {
    let start = at("2026-03-02T00:00:00Z");
    let mut builder = cotenant_core::demand::HistoryBuilder::new(None);
    for index in 0..1000_u32 {
        builder.arrival(&request(after(start, i64::from(index)), index + 1, 2000 - index));
    }
    let history = builder.finish().unwrap();
    let profile = profile(&history, WorkUnit::Requests, &TimeZone::UTC, 60);
    let (prompt, output) = (profile.tokens.prompt.unwrap(), profile.tokens.output.unwrap());
    assert_eq!((prompt.p50, prompt.p95, prompt.p99), (500, 950, 990));
    assert_eq!((output.p50, output.max), (1500, 2000));
    assert_eq!(profile.counts.requests, 1000.0);
}
