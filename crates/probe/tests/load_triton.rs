//! The load client against a mock that answers as Triton's generate extension does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use cotenant_core::evidence::{Outcome, TokenSource};
use cotenant_probe::load::mock::{Fault, MockOptions, MockServer};
use cotenant_probe::load::{
    Api, Arrivals, Cancel, LengthDistribution, Lengths, Limits, LoadResult, LoadSpec, PromptForm,
    Target, TargetError, TargetSpec, run_on_thread, schedule,
};

const TOKENS: u32 = 6;

/// A few requests at a constant rate, each asking for [`TOKENS`] tokens.
fn against(options: MockOptions) -> LoadResult {
    let mock = MockServer::start(options).unwrap();
    let lengths = Lengths::Drawn {
        prompt: LengthDistribution::Fixed(8),
        output: LengthDistribution::Fixed(TOKENS),
    };
    let arrivals = Arrivals::Constant { rate_per_s: 50.0 };
    let plan = schedule(&LoadSpec::new(arrivals, lengths, Duration::from_millis(100), 7)).unwrap();
    let mut spec = TargetSpec::new(mock.base_url(), "mock");
    spec.api = Api::TritonGenerate;
    let target = Target::new(spec).unwrap();
    let start = Instant::now() + Duration::from_millis(5);
    run_on_thread(target, Arc::new(plan), Limits::default(), start, Cancel::new(), None)
        .unwrap()
        .join()
        .unwrap()
        .unwrap()
}

#[test]
fn counted_events_give_tokens_and_gaps() {
    let options = MockOptions {
        first_token: Duration::from_millis(10),
        token_gap: Duration::from_millis(4),
        usage_per_chunk: true,
        ..MockOptions::default()
    };
    let result = against(options);
    assert_eq!(result.requests.len(), 5);
    for (record, gaps) in result.requests.iter().zip(&result.gaps) {
        assert_eq!(record.outcome, Outcome::Completed);
        assert_eq!((record.output_tokens, record.token_source), (TOKENS, TokenSource::Usage));
        // What the mock counts as prompt tokens: the bytes of the body, which is more than asked.
        assert!(record.prompt_tokens > 8);
        assert!(gaps.single_token && gaps.gaps_us.len() == TOKENS as usize - 1);
        assert!(record.first_token_ns.unwrap() - record.sent_ns.unwrap() >= 10_000_000);
        assert!(record.last_token_ns.unwrap() - record.sent_ns.unwrap() >= 30_000_000);
    }
    // The answers end without a marker, and the connection is kept all the same.
    assert!(result.connections_opened <= 5);
}

#[test]
fn events_without_a_count_are_chunks_of_unknown_size() {
    let result = against(MockOptions { tokens_per_chunk: 2, ..MockOptions::default() });
    for (record, gaps) in result.requests.iter().zip(&result.gaps) {
        assert_eq!(record.outcome, Outcome::CompletedWithoutUsage);
        assert_eq!((record.output_tokens, record.token_source), (TOKENS / 2, TokenSource::Chunks));
        assert!(!gaps.single_token);
    }
    let counted =
        MockOptions { tokens_per_chunk: 2, usage_per_chunk: true, ..MockOptions::default() };
    for (record, gaps) in against(counted.clone()).requests.iter().zip(&against(counted).gaps) {
        assert_eq!(record.output_tokens, TOKENS);
        assert!(!gaps.single_token);
    }
}

#[test]
fn what_goes_wrong_is_named() {
    let with = |fault| {
        let result = against(MockOptions { fault: Some(fault), ..MockOptions::default() });
        let outcomes: Vec<Outcome> = result.requests.iter().map(|record| record.outcome).collect();
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
        outcomes[0]
    };
    assert_eq!(with(Fault::EndAfter(0)), Outcome::Truncated);
    assert_eq!(with(Fault::CloseAfter(2)), Outcome::Truncated);
    assert_eq!(with(Fault::ErrorObjectAfter(2)), Outcome::StreamError);
    assert_eq!(with(Fault::MalformedAfter(2)), Outcome::Malformed);
    assert_eq!(with(Fault::Status(503)), Outcome::Refused(503));
    assert_eq!(with(Fault::Status(400)), Outcome::HttpError(400));
}

#[test]
fn a_target_needs_a_model_and_text() {
    let spec = |model: &str, prompt| TargetSpec {
        api: Api::TritonGenerate,
        prompt,
        ..TargetSpec::new("http://127.0.0.1:8000", model)
    };
    let words = PromptForm::Words { bytes_per_token: 4.5 };
    assert_eq!(Target::new(spec("", words)).unwrap_err(), TargetError::NoModel);
    let ids = PromptForm::TokenIds { id_min: 1, id_max: 2 };
    assert_eq!(Target::new(spec("m", ids)).unwrap_err(), TargetError::TokenIdsInChat);
    assert!(Target::new(spec("m", words)).is_ok());
}
