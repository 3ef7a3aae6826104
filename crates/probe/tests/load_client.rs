//! The load client against a mock whose times are known.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use cotenant_core::evidence::{Outcome, TokenSource};
use cotenant_probe::load::mock::{Fault, MockOptions, MockServer, Pause};
use cotenant_probe::load::{
    Api, Arrivals, Cancel, LengthDistribution, Lengths, Limits, LoadResult, LoadSpec, PromptForm,
    Schedule, Target, TargetSpec, run_on_thread, schedule,
};

fn fixed(prompt: u32, output: u32) -> Lengths {
    Lengths::Drawn {
        prompt: LengthDistribution::Fixed(prompt),
        output: LengthDistribution::Fixed(output),
    }
}

fn constant(rate_per_s: f64, seconds: f64, output: u32) -> Schedule {
    let arrivals = Arrivals::Constant { rate_per_s };
    let duration = Duration::from_secs_f64(seconds);
    schedule(&LoadSpec::new(arrivals, fixed(8, output), duration, 7)).unwrap()
}

fn limits() -> Limits {
    Limits {
        request_timeout: Duration::from_secs(20),
        stall_limit: Duration::from_secs(10),
        stall_threshold: Duration::from_millis(200),
        ..Limits::default()
    }
}

fn load(spec: TargetSpec, plan: Schedule, limits: Limits, cancel: &Cancel) -> LoadResult {
    let target = Target::new(spec).unwrap();
    let start = Instant::now() + Duration::from_millis(5);
    let plan = Arc::new(plan);
    let thread = run_on_thread(target, Arc::clone(&plan), limits, start, cancel.clone(), None);
    let result = thread.unwrap().join().unwrap().unwrap();
    assert_eq!(result.requests.len(), plan.requests.len(), "one record a request");
    for (record, planned) in result.requests.iter().zip(&plan.requests) {
        assert_eq!(record.index, planned.index, "in order of index");
    }
    result
}

fn against(options: MockOptions, plan: Schedule, limits: Limits) -> LoadResult {
    let mock = MockServer::start(options).unwrap();
    load(TargetSpec::new(mock.base_url(), "mock"), plan, limits, &Cancel::new())
}

/// The FIFO recursion of a single server: a request begins when it has come and the one before it
/// has ended. Latencies from the intended times, seconds.
fn recursion(requests: u32, interval_s: f64, service_s: f64) -> Vec<f64> {
    let mut free_at = 0.0_f64;
    (0..requests)
        .map(|index| {
            let intended = f64::from(index) * interval_s;
            free_at = intended.max(free_at) + service_s;
            free_at - intended
        })
        .collect()
}

/// Case P16: at 10 requests a second and 507 ms each, eight requests one at a time have a mean of
/// 1,931.5 ms and a largest latency of 3,356 ms from their intended times.
#[test]
fn the_recursion_of_p16_gives_the_published_numbers() {
    let latencies = recursion(8, 0.1, 0.507);
    let mean = latencies.iter().sum::<f64>() / 8.0;
    assert!((mean - 1.9315).abs() < 1e-9, "{mean}");
    assert!((latencies[7] - 3.356).abs() < 1e-9, "{}", latencies[7]);
}

/// The same through the client at a tenth of the times. A client that waits for a free server and
/// counts from the send would report 50.7 ms for each.
#[test]
fn latencies_of_p16_count_from_the_intended_times() {
    let service = Duration::from_micros(50_700);
    let options = MockOptions { service_one_at_a_time: Some(service), ..MockOptions::default() };
    let result = against(options, constant(100.0, 0.08, 1), limits());
    let expected = recursion(8, 0.01, 0.0507);
    assert_eq!(result.requests.len(), 8);
    for (record, expected_s) in result.requests.iter().zip(expected) {
        assert_eq!(record.outcome, Outcome::Completed);
        let (ttft_s, e2e_s) = (record.ttft_s(), record.e2e_s());
        // A busy machine only adds; a tenth of a second is far below what separates the two ways
        // of counting (284 ms at the last request).
        assert!(ttft_s > expected_s - 0.001, "{ttft_s} against {expected_s}");
        assert!(ttft_s < expected_s + 0.1, "{ttft_s} against {expected_s}");
        assert!(e2e_s >= ttft_s && e2e_s < expected_s + 0.11, "{e2e_s}");
    }
}

#[test]
fn a_completed_answer_has_every_time_in_order() {
    let options = MockOptions {
        first_token: Duration::from_millis(20),
        token_gap: Duration::from_millis(5),
        role_chunk: true,
        reasoning_tokens: 3,
        ..MockOptions::default()
    };
    let result = against(options, constant(50.0, 0.2, 10), limits());
    assert_eq!(result.health.requests_sent, 10);
    assert!(result.failures.is_empty());
    for (record, gaps) in result.requests.iter().zip(&result.gaps) {
        assert_eq!(record.outcome, Outcome::Completed);
        assert_eq!((record.output_tokens, record.token_source), (10, TokenSource::Usage));
        let sent = record.sent_ns.unwrap();
        let (first, visible) = (record.first_token_ns.unwrap(), record.first_visible_ns.unwrap());
        let last = record.last_token_ns.unwrap();
        assert!(record.intended_ns <= sent && sent < first, "{record:?}");
        // The role chunk comes at once and is no token; three reasoning tokens come first.
        assert!(first - sent >= 20_000_000, "{record:?}");
        assert!(visible - sent >= 35_000_000, "{record:?}");
        assert!(last <= record.end_ns && last - sent >= 65_000_000, "{record:?}");
        assert!(gaps.single_token && gaps.gaps_us.len() == 9);
        let longest = gaps.gaps_us.iter().max().copied().unwrap();
        assert_eq!(u64::from(longest), (record.gap_longest_ns.unwrap() + 500) / 1000);
        assert_eq!((record.stalls, record.stalled_ns), (0, 0));
    }
}

#[test]
fn chunks_of_several_tokens_are_no_inter_token_latencies() {
    let options = MockOptions { tokens_per_chunk: 4, ..MockOptions::default() };
    let result = against(options.clone(), constant(100.0, 0.05, 16), limits());
    assert!(result.gaps.iter().all(|gaps| !gaps.single_token && gaps.gaps_us.len() == 3));
    assert!(result.requests.iter().all(|record| record.output_tokens == 16));

    let counted = MockOptions { usage_per_chunk: true, usage: false, ..options };
    let result = against(counted, constant(100.0, 0.05, 16), limits());
    assert!(result.gaps.iter().all(|gaps| !gaps.single_token));
    assert!(result.requests.iter().all(|record| record.output_tokens == 16));

    let single = MockOptions { usage_per_chunk: true, ..MockOptions::default() };
    let result = against(single, constant(100.0, 0.05, 16), limits());
    assert!(result.gaps.iter().all(|gaps| gaps.single_token));
}

#[test]
fn without_usage_the_tokens_are_an_estimate() {
    let options = MockOptions { usage: false, ..MockOptions::default() };
    let result = against(options, constant(100.0, 0.03, 5), limits());
    for record in &result.requests {
        assert_eq!(record.outcome, Outcome::CompletedWithoutUsage);
        assert_eq!((record.output_tokens, record.token_source), (5, TokenSource::Chunks));
        assert_eq!(record.prompt_tokens, 8, "what was asked for");
    }
    assert!(result.gaps.iter().all(|gaps| !gaps.single_token), "nothing is known of chunks");
}

#[test]
fn each_fault_has_its_outcome() {
    let quick = Limits {
        request_timeout: Duration::from_millis(1500),
        stall_limit: Duration::from_millis(400),
        ..limits()
    };
    let cases = [
        (Fault::Status(429), Outcome::Refused(429)),
        (Fault::Status(503), Outcome::Refused(503)),
        (Fault::Status(500), Outcome::HttpError(500)),
        (Fault::Status(404), Outcome::HttpError(404)),
        (Fault::CloseBeforeAnswer, Outcome::Reset),
        (Fault::NeverAnswer, Outcome::TimedOut),
        (Fault::ResetAfter(2), Outcome::Reset),
        (Fault::CloseAfter(2), Outcome::Truncated),
        (Fault::EndAfter(2), Outcome::Truncated),
        (Fault::StallAfter(2), Outcome::Stalled),
        (Fault::MalformedAfter(2), Outcome::Malformed),
        (Fault::ErrorObjectAfter(2), Outcome::StreamError),
        (Fault::ErrorEventAfter(2), Outcome::StreamError),
        (Fault::PlainJson, Outcome::Malformed),
    ];
    for (fault, outcome) in cases {
        let options = MockOptions {
            fault: Some(fault),
            token_gap: Duration::from_millis(1),
            ..MockOptions::default()
        };
        let result = against(options, constant(100.0, 0.03, 4), quick);
        for record in &result.requests {
            assert_eq!(record.outcome, outcome, "{fault:?}: {:?}", result.failures);
            assert!(record.e2e_s().is_infinite() && record.ttft_s().is_infinite(), "{fault:?}");
            assert!(record.sent_ns.is_some(), "{fault:?}");
        }
        assert_eq!(result.failures.len(), 3, "{fault:?}");
        assert!(result.failures.iter().all(|failure| !failure.detail.is_empty()));
    }
}

#[test]
fn a_port_without_a_server_is_a_failed_connect() {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let plan = constant(100.0, 0.03, 4);
    let result = load(TargetSpec::new(url, "mock"), plan, limits(), &Cancel::new());
    assert!(result.requests.iter().all(|record| record.outcome == Outcome::ConnectFailed));
    assert!(result.requests.iter().all(|record| record.sent_ns.is_none()));
    assert_eq!(result.health.requests_sent, 0);
}

#[test]
fn the_end_of_the_test_cancels_what_is_open_and_what_is_to_come() {
    let options = MockOptions { token_gap: Duration::from_millis(20), ..MockOptions::default() };
    let mock = MockServer::start(options).unwrap();
    let cancel = Cancel::new();
    let thrower = {
        let cancel = cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            cancel.cancel();
        })
    };
    let began = Instant::now();
    let spec = TargetSpec::new(mock.base_url(), "mock");
    // Answers of 0.2 s, one each 50 ms for a minute.
    let result = load(spec, constant(20.0, 60.0, 10), limits(), &cancel);
    thrower.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    let count = |wanted: fn(Outcome) -> bool| {
        result.requests.iter().filter(|record| wanted(record.outcome)).count()
    };
    assert!(count(Outcome::is_complete) >= 1);
    assert!(count(|outcome| outcome == Outcome::Cancelled) > 1_000);
    let never_sent = result.requests.last().unwrap();
    assert_eq!((never_sent.outcome, never_sent.sent_ns), (Outcome::Cancelled, None));
    assert!(result.health.lateness_max_s < 1.0, "what was never due was never late");
}

#[test]
fn a_pause_of_all_streams_is_seen_as_stalls() {
    let options = MockOptions {
        token_gap: Duration::from_millis(10),
        pause: Some(Pause {
            every: Duration::from_millis(600),
            length: Duration::from_millis(400),
        }),
        ..MockOptions::default()
    };
    let result = against(options, constant(10.0, 0.3, 100), limits());
    for record in &result.requests {
        assert_eq!(record.outcome, Outcome::Completed);
        assert!(record.stalls >= 1 && record.gap_longest_ns.unwrap() > 200_000_000, "{record:?}");
        assert!(record.stalled_ns >= record.gap_longest_ns.unwrap());
    }
}

#[test]
fn open_loop_never_waits_for_a_connection_unless_streams_run_out() {
    let options = MockOptions { first_token: Duration::from_millis(400), ..MockOptions::default() };
    // 20 requests in 0.1 s, each open for 0.4 s.
    let mock = MockServer::start(options.clone()).unwrap();
    let spec = TargetSpec::new(mock.base_url(), "mock");
    let result = load(spec, constant(200.0, 0.1, 1), limits(), &Cancel::new());
    assert_eq!(mock.stats().streams_open_max, 20);
    assert_eq!((result.health.streams_open_max, result.connections_opened), (20, 20));

    let narrow = Limits { streams_max: 5, ..limits() };
    let result = against(options, constant(200.0, 0.1, 1), narrow);
    assert_eq!(result.health.streams_open_max, 5);
    // Four rounds of five: those of the last round are sent 1.2 s after the first.
    assert!(result.requests.iter().all(|record| record.outcome == Outcome::Completed));
    assert!(result.requests[19].lateness_s().unwrap() > 1.05);
    assert!(result.health.lateness_max_s > 1.05);
    assert!(result.requests[19].e2e_s() > 1.45);
}

#[test]
fn a_request_whose_time_passes_while_it_waits_for_a_stream_timed_out() {
    let options = MockOptions { first_token: Duration::from_millis(400), ..MockOptions::default() };
    let narrow = Limits { streams_max: 1, request_timeout: Duration::from_millis(600), ..limits() };
    // Ten requests in a millisecond.
    let result = against(options, constant(10_000.0, 0.001, 1), narrow);
    assert_eq!(result.requests[0].outcome, Outcome::Completed);
    let last = result.requests.last().unwrap();
    assert_eq!((last.outcome, last.sent_ns), (Outcome::TimedOut, None));
    assert!(result.health.lateness_max_s >= 0.6);
}

#[test]
fn connections_are_kept_and_a_closed_one_is_replaced() {
    let mock = MockServer::start(MockOptions::default()).unwrap();
    let spec = TargetSpec::new(mock.base_url(), "mock");
    // One at a time, so that one connection is enough.
    let arrivals = Arrivals::ClosedLoop { users: 1, think: Duration::from_millis(1), requests: 50 };
    let plan = schedule(&LoadSpec::new(arrivals, fixed(8, 3), Duration::from_secs(1), 3)).unwrap();
    let result = load(spec, plan, limits(), &Cancel::new());
    assert!(result.requests.iter().all(|record| record.outcome == Outcome::Completed));
    assert_eq!(result.connections_opened, 1);
    assert_eq!(mock.stats().connections, 1);

    let closing = MockServer::start(MockOptions {
        answers_per_connection: Some(5),
        ..MockOptions::default()
    })
    .unwrap();
    let arrivals = Arrivals::ClosedLoop { users: 1, think: Duration::from_millis(1), requests: 50 };
    let plan = schedule(&LoadSpec::new(arrivals, fixed(8, 3), Duration::from_secs(1), 3)).unwrap();
    let spec = TargetSpec::new(closing.base_url(), "mock");
    let result = load(spec, plan, limits(), &Cancel::new());
    assert!(result.requests.iter().all(|record| record.outcome == Outcome::Completed));
    assert_eq!(closing.stats().connections, 10);
}

#[test]
fn a_closed_loop_thinks_after_each_answer() {
    let options = MockOptions { first_token: Duration::from_millis(30), ..MockOptions::default() };
    let arrivals = Arrivals::ClosedLoop { users: 2, think: Duration::from_millis(20), requests: 6 };
    let plan = schedule(&LoadSpec::new(arrivals, fixed(8, 1), Duration::from_secs(1), 3)).unwrap();
    let result = against(options, plan, limits());
    assert_eq!(result.health.streams_open_max, 2);
    for user in 0..2 {
        for turn in [user, user + 2] {
            let (earlier, later) = (&result.requests[turn], &result.requests[turn + 2]);
            assert_eq!(later.intended_ns, earlier.end_ns + 20_000_000);
        }
    }
}

#[test]
fn completions_take_token_ids() {
    let mock = MockServer::start(MockOptions::default()).unwrap();
    let spec = TargetSpec {
        api: Api::Completions,
        prompt: PromptForm::TokenIds { id_min: 100, id_max: 200 },
        ..TargetSpec::new(format!("{}/v1/", mock.base_url()), "mock")
    };
    let result = load(spec, constant(100.0, 0.03, 5), limits(), &Cancel::new());
    assert!(result.requests.iter().all(|record| record.outcome == Outcome::Completed));
    assert!(result.requests.iter().all(|record| record.first_visible_ns.is_some()));
}

#[test]
fn a_target_that_cannot_be_used_says_why() {
    let message = |spec: TargetSpec| Target::new(spec).unwrap_err().to_string();
    let https = message(TargetSpec::new("https://gpu.example.org", "m"));
    assert!(https.contains("https") && https.contains("does not speak"), "{https}");
    assert!(message(TargetSpec::new("localhost:8000", "m")).contains("http://"));
    assert!(message(TargetSpec::new("", "m")).contains("http://"));
    let ids = PromptForm::TokenIds { id_min: 0, id_max: 9 };
    let chat = TargetSpec { prompt: ids, ..TargetSpec::new("http://h:1", "m") };
    assert!(message(chat).contains("completions"));
    let header = TargetSpec {
        headers: vec![("bad name".to_owned(), "x".to_owned())],
        ..TargetSpec::new("http://h:1", "m")
    };
    assert!(message(header).contains("bad name"));
}

#[test]
fn the_client_reports_its_own_cost_and_lateness() {
    let result = against(MockOptions::default(), constant(200.0, 0.5, 4), limits());
    let health = &result.health;
    assert_eq!((health.requests_planned, health.requests_sent), (100, 100));
    assert!(health.cpu_s > 0.0 && health.cpu_s < 1.0, "{health:?}");
    assert!(health.lateness_p50_s <= health.lateness_p99_s, "{health:?}");
    assert!(health.lateness_p99_s <= health.lateness_max_s, "{health:?}");
    assert!(health.lateness_p50_s < 0.1, "{health:?}");
}
