//! Histories by hand-computed numbers and by what must always hold.

use std::time::Duration;

use cotenant_core::demand::{
    Arrival, ArrivalOutcome, DemandRefusal, GapKind, HistoryBuilder, Interval, STEPS_MAX, WorkUnit,
};
use proptest::prelude::*;

use crate::support::{after, at, history, rates, request};

const START: &str = "2026-03-02T08:00:00Z";

fn values(history: &cotenant_core::demand::History, unit: WorkUnit) -> Vec<Option<f64>> {
    history.series(unit).unwrap().values
}

#[test]
fn one_request_by_hand() {
    // From 8:00:00.5 for 3 s, 100 prompt tokens at once and 60 output tokens at 20 a second.
    let start = at(START);
    let mut arrival = request(at("2026-03-02T08:00:00.5Z"), 100, 60);
    arrival.service = Some(Duration::from_secs(3));
    // A last one far enough away that the stay is seen whole.
    let mut last = request(after(start, 5), 1, 1);
    last.service = Some(Duration::from_secs(1));
    let history = history(&[last, arrival], None);
    let requests = history.series(WorkUnit::Requests).unwrap();
    assert_eq!(requests.start, start);
    assert_eq!(requests.step, Duration::from_secs(1));
    let seen: Vec<f64> = requests.values.iter().copied().flatten().collect();
    assert_eq!(seen, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    // At the edges of the steps: 0, 1, 1, 1, 0, 0; the request of 8:00:05 is there at the end.
    let in_flight: Vec<f64> =
        values(&history, WorkUnit::RequestsInFlight).into_iter().flatten().collect();
    assert_eq!(in_flight, [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
    // Tokens at the ends of the steps: 110, 130, 150, and 160 leave at 8:00:03.5.
    let kv: Vec<f64> = values(&history, WorkUnit::KvTokens).into_iter().flatten().collect();
    for (seen, expected) in kv.iter().zip([110.0, 130.0, 150.0, 150.0, 0.0]) {
        assert!((seen - expected).abs() < 1e-9, "{kv:?}");
    }
    assert_eq!(values(&history, WorkUnit::Prefill)[0], Some(100.0));
    assert_eq!(values(&history, WorkUnit::Output)[5], Some(1.0));
    assert_eq!(history.series(WorkUnit::Gpus), None);
    assert!(history.why_not(WorkUnit::Gpus).contains("GPUs"));
}

#[test]
fn what_rises_and_falls_inside_a_step_shows_as_its_mean() {
    // Ten requests of 200 ms in one second: on average two in the engine, each with 40 tokens of
    // prompt and on average 5 of 10 tokens of answer.
    let start = at(START);
    let mut arrivals = Vec::new();
    for tenth in 0..10 {
        let begins = start + jiff::SignedDuration::from_millis(tenth * 80);
        let mut arrival = request(begins, 40, 10);
        arrival.service = Some(Duration::from_millis(200));
        arrivals.push(arrival);
    }
    arrivals.push(request(after(start, 3), 40, 10));
    let history = history(&arrivals, Some(Duration::from_millis(200)));
    let in_flight = values(&history, WorkUnit::RequestsInFlight)[0].unwrap();
    assert!((in_flight - 2.0).abs() < 1e-9, "{in_flight}");
    let kv = values(&history, WorkUnit::KvTokens)[0].unwrap();
    assert!((kv - 2.0 * 45.0).abs() < 1e-9, "{kv}");
}

#[test]
fn requests_that_were_not_served_are_demand() {
    let start = at(START);
    let served = |second: i64| Arrival {
        service: Some(Duration::from_secs(2)),
        ..request(after(start, second), 100, 20)
    };
    let refused = Arrival {
        at: after(start, 10),
        prompt_tokens: 0,
        output_tokens: 0,
        outcome: ArrivalOutcome::Refused,
        // The time that it took to say no is no demand.
        service: Some(Duration::from_millis(3)),
    };
    let timed_out = Arrival {
        at: after(start, 20),
        prompt_tokens: 300,
        output_tokens: 7,
        outcome: ArrivalOutcome::TimedOut,
        service: Some(Duration::from_secs(5)),
    };
    let history = history(&[served(0), refused, timed_out, served(30)], None);
    let counts = history.counts();
    assert_eq!((counts.requests, counts.refused, counts.timed_out), (4.0, 1.0, 1.0));
    assert_eq!(values(&history, WorkUnit::Requests)[10], Some(1.0));
    // The refused one asks for what the served ones ask for on average: prompts of 100, 300 and 100
    // are known, answers of 20.
    assert_eq!(values(&history, WorkUnit::Prefill)[10], Some(167.0));
    assert_eq!(values(&history, WorkUnit::Output)[10], Some(20.0));
    // Its stay is the mean of 2, 5 and 2 s, from the middle of its second on.
    let in_flight = values(&history, WorkUnit::RequestsInFlight);
    let held: Vec<f64> = in_flight[9..15].iter().copied().flatten().collect();
    assert_eq!(held, [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(in_flight[24], Some(1.0));
    assert!(history.remarks().iter().any(|remark| remark.contains("count as demand")));
}

#[test]
fn what_a_source_does_not_state_stays_unknown() {
    let start = at(START);
    let history = history(&[request(start, 0, 0), request(after(start, 60), 0, 0)], None);
    for unit in [WorkUnit::RequestsInFlight, WorkUnit::KvTokens, WorkUnit::Prefill] {
        assert_eq!(history.series(unit), None);
        assert!(history.why_not(unit).starts_with(unit.name()), "{}", history.why_not(unit));
    }
    assert!(history.why_not(WorkUnit::RequestsInFlight).contains("service_time"));
    assert_eq!(history.why_not(WorkUnit::Requests), "");
    assert_eq!(history.tokens().prompt, None);
}

#[test]
fn steps_double_where_a_history_is_long_and_nothing_is_lost() {
    let start = at("2026-01-01T00:00:00Z");
    let seconds = STEPS_MAX as i64 + 10;
    let mut arrivals: Vec<Arrival> = (0..400)
        .map(|index| Arrival {
            service: Some(Duration::from_secs(7)),
            ..request(after(start, index * (seconds - 1) / 399), 11, 5)
        })
        .collect();
    let forwards = history(&arrivals, None);
    arrivals.reverse();
    let backwards = history(&arrivals, None);
    assert_eq!(forwards.step(), Duration::from_secs(2));
    assert_eq!(forwards.series(WorkUnit::Requests), backwards.series(WorkUnit::Requests));
    let series = forwards.series(WorkUnit::Prefill).unwrap();
    assert!(series.values.len() <= STEPS_MAX);
    // Requests more than an hour apart are no silence that anything announces against: none is lost.
    let tokens: f64 = series.values.iter().copied().flatten().map(|rate| rate * 2.0).sum();
    assert_eq!(tokens, 400.0 * 11.0);
    let remark = &forwards.remarks().join("; ");
    assert!(remark.contains("steps of 2 s"), "{remark}");
}

#[test]
fn the_ends_of_the_calendar_are_no_trap() {
    let mut last = request(jiff::Timestamp::MAX, 10, 10);
    last.service = Some(Duration::MAX);
    let history =
        history(&[last, request(jiff::Timestamp::MIN, 10, 10), request(at(START), 1, 1)], None);
    let series = history.series(WorkUnit::Requests).unwrap();
    assert!(series.values.len() <= STEPS_MAX);
    let seen: f64 = series.values.iter().copied().flatten().sum();
    let requests = seen * series.step.as_secs_f64();
    assert!((requests - 3.0).abs() < 1e-9, "{requests}");
}

#[test]
fn a_recorder_that_stopped_is_a_gap_or_silence() {
    // Two requests a second for an hour, twenty minutes without any, another hour.
    let start = at(START);
    let arrivals: Vec<Arrival> = (0..2 * 3600 * 2)
        .map(|half| i64::from(half) * 500)
        .map(|ms| if ms < 3_600_000 { ms } else { ms + 1_200_000 })
        .map(|ms| request(start + jiff::SignedDuration::from_millis(ms), 10, 10))
        .collect();
    let history = history(&arrivals, None);
    let [gap] = history.gaps() else { panic!("{:?}", history.gaps()) };
    assert_eq!(gap.kind, GapKind::Improbable);
    assert_eq!((gap.from, gap.until), (after(start, 3600), after(start, 4800)));
    assert!(gap.why.contains("expect 2400"), "{}", gap.why);
    let series = history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.values[3600], None);
    assert_eq!(series.values[3599], Some(2.0));
    assert_eq!(series.values.len() - series.seen(), 1200);
}

#[test]
fn a_quiet_night_of_a_slow_source_is_silence() {
    // A request each ten minutes, and an hour without one: e^-6 is nothing to wonder at.
    let start = at(START);
    let arrivals: Vec<Arrival> = (0..60)
        .filter(|index| !(30..36).contains(index))
        .map(|index| request(after(start, index * 600), 10, 10))
        .collect();
    let history = history(&arrivals, None);
    assert!(history.gaps().is_empty(), "{:?}", history.gaps());
}

#[test]
fn intervals_are_demand_with_what_was_refused() {
    let start = at(START);
    let mut builder = HistoryBuilder::new(Some(Duration::from_secs(4)));
    for minute in 0..3 {
        let from = after(start, minute * 60);
        builder.interval(&Interval {
            refused_per_s: Some(2.0),
            prompt_tokens_per_s: Some(800.0),
            output_tokens_per_s: Some(160.0),
            ..Interval::rate(from, after(from, 60), 8.0)
        });
    }
    let history = builder.finish().unwrap();
    // 8 were served and 2 were not: everything is a quarter more.
    assert_eq!(values(&history, WorkUnit::Requests), [Some(10.0); 3]);
    assert_eq!(values(&history, WorkUnit::Prefill), [Some(1000.0); 3]);
    assert_eq!(values(&history, WorkUnit::Output), [Some(200.0); 3]);
    // Little's law, and prompts with half of the answers in the cache.
    assert_eq!(values(&history, WorkUnit::RequestsInFlight), [Some(40.0); 3]);
    assert_eq!(values(&history, WorkUnit::KvTokens), [Some(4400.0); 3]);
    assert_eq!(history.counts().refused, 360.0);
    assert_eq!(history.resolution(), Duration::from_mins(1));
}

#[test]
fn missing_rows_and_rows_without_a_value_are_gaps() {
    let start = at(START);
    let mut builder = HistoryBuilder::new(None);
    // 0 and 1 are there, 2 is missing, 3 is empty, 4 is there; handed over backwards.
    builder.interval(&Interval::rate(after(start, 2400), after(start, 3000), 5.0));
    builder.interval(&Interval::empty(after(start, 1800), after(start, 2400)));
    builder.interval(&Interval::rate(start, after(start, 600), 4.0));
    builder.interval(&Interval::rate(after(start, 600), after(start, 1200), 3.0));
    let history = builder.finish().unwrap();
    assert_eq!(values(&history, WorkUnit::Requests), [Some(4.0), Some(3.0), None, None, Some(5.0)]);
    let [gap] = history.gaps() else { panic!("{:?}", history.gaps()) };
    assert_eq!((gap.kind, gap.from), (GapKind::Missing, after(start, 1200)));
    assert_eq!(gap.until, after(start, 2400));
}

#[test]
fn intervals_of_several_lengths_share_steps() {
    let start = at(START);
    let mut builder = HistoryBuilder::new(None);
    builder.interval(&Interval::rate(start, after(start, 600), 4.0));
    builder.interval(&Interval::rate(after(start, 600), after(start, 1500), 6.0));
    let history = builder.finish().unwrap();
    assert_eq!(history.step(), Duration::from_mins(5));
    assert_eq!(history.resolution(), Duration::from_mins(15));
    let seen: Vec<f64> = values(&history, WorkUnit::Requests).into_iter().flatten().collect();
    assert_eq!(seen, [4.0, 4.0, 6.0, 6.0, 6.0]);
}

#[test]
fn what_is_no_demand_is_refused() {
    let start = at(START);
    let finish = |intervals: &[Interval]| {
        let mut builder = HistoryBuilder::new(None);
        for interval in intervals {
            builder.interval(interval);
        }
        builder.finish().unwrap_err()
    };
    assert_eq!(finish(&[]), DemandRefusal::Empty);
    assert_eq!(finish(&[Interval::empty(start, after(start, 60))]), DemandRefusal::Empty);
    let one = Interval::rate(start, after(start, 60), 1.0);
    assert_eq!(
        finish(&[one, Interval::rate(after(start, 60), after(start, 120), 1.0), one]),
        DemandRefusal::Overlap { first: 0, second: 2, at: start }
    );
    let touching = Interval::rate(after(start, 59), after(start, 119), 1.0);
    assert!(matches!(finish(&[one, touching]), DemandRefusal::Overlap { first: 0, second: 1, .. }));
    assert!(matches!(
        finish(&[one, Interval::rate(start, start, 1.0)]),
        DemandRefusal::NoLength { row: 1, .. }
    ));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let refusal = finish(&[Interval::rate(start, after(start, 60), bad)]);
        assert!(matches!(refusal, DemandRefusal::BadValue { row: 0, .. }), "{refusal}");
    }
    let mut mixed = HistoryBuilder::new(None);
    mixed.interval(&one);
    mixed.arrival(&request(start, 1, 1));
    assert_eq!(mixed.finish().unwrap_err(), DemandRefusal::Mixed);
}

#[test]
fn a_factor_multiplies_demand_and_is_told() {
    let history = rates(at(START), 60, &[1.0, 2.0, 3.0]).scaled(1.5);
    assert_eq!(values(&history, WorkUnit::Requests), [1.5, 3.0, 4.5].map(Some));
    assert!(history.remarks().iter().any(|remark| remark.contains("1.5")));
    assert_eq!(history.counts().requests, 540.0);
}

/// An arrival within three hours, of any outcome.
fn any_arrival() -> impl Strategy<Value = Arrival> {
    let outcome = prop_oneof![
        6 => Just(ArrivalOutcome::Served),
        1 => Just(ArrivalOutcome::Refused),
        1 => Just(ArrivalOutcome::TimedOut),
    ];
    (0..10_800_000_i64, 0..4000_u32, 0..800_u32, outcome, proptest::option::of(1..90_000_u64))
        .prop_map(|(ms, prompt_tokens, output_tokens, outcome, service_ms)| Arrival {
            at: at(START) + jiff::SignedDuration::from_millis(ms),
            prompt_tokens,
            output_tokens,
            outcome,
            service: service_ms.map(Duration::from_millis),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_order_does_not_matter_and_no_request_is_lost(
        arrivals in proptest::collection::vec(any_arrival(), 1..60),
        seed in any::<u64>(),
    ) {
        let forwards = history(&arrivals, Some(Duration::from_secs(5)));
        let mut shuffled = arrivals.clone();
        shuffled.sort_by_key(|arrival| {
            (arrival.at.as_millisecond() as u64).wrapping_mul(seed | 1)
        });
        let other = history(&shuffled, Some(Duration::from_secs(5)));
        let requests = forwards.series(WorkUnit::Requests).unwrap();
        prop_assert_eq!(&requests, &other.series(WorkUnit::Requests).unwrap());
        prop_assert_eq!(
            forwards.series(WorkUnit::RequestsInFlight),
            other.series(WorkUnit::RequestsInFlight)
        );
        prop_assert_eq!(forwards.tokens(), other.tokens());
        let sum: f64 = requests.values.iter().copied().flatten().sum();
        prop_assert_eq!(sum, arrivals.len() as f64);
    }

    #[test]
    fn requests_in_flight_are_those_that_are_there(
        arrivals in proptest::collection::vec(any_arrival(), 2..40),
    ) {
        // Served ones with their own stay alone, so that every stay is known.
        let arrivals: Vec<Arrival> = arrivals
            .into_iter()
            .map(|arrival| Arrival {
                outcome: ArrivalOutcome::Served,
                service: arrival.service.or(Some(Duration::from_secs(30))),
                ..arrival
            })
            .collect();
        let history = history(&arrivals, None);
        let in_flight = history.series(WorkUnit::RequestsInFlight).unwrap();
        let kv = history.series(WorkUnit::KvTokens).unwrap();
        for index in (0..in_flight.values.len()).step_by(97) {
            let Some(shown) = in_flight.values[index] else { continue };
            let now = in_flight.time_of(index).as_millisecond();
            let there = arrivals.iter().filter(|arrival| {
                let from = arrival.at.as_millisecond();
                let until = from + arrival.service.unwrap().as_millis() as i64;
                from < now && now < until
            });
            let (count, tokens) = there.fold((0.0, 0.0), |(count, tokens), arrival| {
                let share = (now - arrival.at.as_millisecond()) as f64
                    / arrival.service.unwrap().as_millis() as f64;
                let held = f64::from(arrival.prompt_tokens)
                    + share * f64::from(arrival.output_tokens);
                (count + 1.0, tokens + held)
            });
            prop_assert!(shown >= count, "{shown} shown, {count} there at {now}");
            let shown_tokens = kv.values[index].unwrap();
            prop_assert!(shown_tokens >= tokens - 1e-6 * (1.0 + tokens));
        }
    }
}
