//! The server as a client sees it, over loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod common;

use std::time::{Duration, Instant};

use common::{Engine, Server};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A model of about 60,000 parameters, so that a debug build answers at once.
const SMALL: [&str; 10] =
    ["--layers", "2", "--width", "48", "--heads", "4", "--kv-heads", "2", "--threads", "1"];

#[test]
#[ignore = "not a test: the engine process of the tests"]
fn engine_process() {
    common::become_engine();
}

/// An output that no test waits for: it ends only when its client goes away.
const ENDLESS: usize = 30_000;
/// Room for endless outputs.
const ROOM: [&str; 4] = ["--max-model-len", "32000", "--kv-tokens", "100000"];

fn start(more: &[&str]) -> Server {
    Server::start(&[&SMALL, more].concat())
}

fn body(prompt: &str, tokens: usize, more: &Value) -> String {
    let mut body =
        json!({"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": true});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body.to_string()
}

#[test]
fn a_stream_and_a_whole_answer_hold_the_same_text_and_usage() {
    let server = start(&["--served-model-name", "m"]);
    let whole = server.post("/v1/completions", &body("hello", 12, &json!({"model": "m"})));
    assert_eq!(whole.status, 200);
    let whole = whole.json();
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 12, "total_tokens": 17});
    assert_eq!(whole["usage"], usage);
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    let text = whole["choices"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 12);

    let stream = json!({"stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true}});
    let reply = server.post("/v1/completions", &body("hello", 12, &stream));
    assert!(reply.head.contains("content-type: text/event-stream"));
    let (events, done) = reply.events();
    assert!(done);
    // One event a token, then the usage.
    assert_eq!(events.len(), 13);
    let parts: Vec<&str> =
        events[..12].iter().map(|event| event["choices"][0]["text"].as_str().unwrap()).collect();
    assert!(parts.iter().all(|part| part.len() == 1));
    assert_eq!(parts.concat(), text);
    for (index, event) in events[..12].iter().enumerate() {
        assert_eq!(event["usage"]["completion_tokens"], index + 1);
        assert_eq!(
            event["choices"][0]["finish_reason"],
            if index == 11 { json!("length") } else { json!(null) }
        );
    }
    assert_eq!(events[12]["usage"], usage);
    assert_eq!(events[12]["choices"], json!([]));
}

#[test]
fn token_ids_chat_and_the_model_list_work() {
    let server = start(&["--model-size", "tiny"]);
    let models = server.get("/v1/models").json();
    assert_eq!(models["data"][0]["id"], "cotenant-tiny");
    assert_eq!(server.get("/health").status, 200);
    let by_text = server.post("/v1/completions", &body("ab", 6, &json!({}))).json();
    let by_ids = server.post("/v1/completions", &body("", 6, &json!({"prompt": [97, 98]}))).json();
    assert_eq!(by_text["choices"][0]["text"], by_ids["choices"][0]["text"]);

    let chat = json!({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4, "ignore_eos": true, "seed": 3});
    let reply = server.post("/v1/chat/completions", &chat.to_string()).json();
    assert_eq!(reply["object"], "chat.completion");
    assert_eq!(reply["usage"]["prompt_tokens"], 5);
    let mut streamed = chat.clone();
    streamed["stream"] = json!(true);
    let (events, done) = server.post("/v1/chat/completions", &streamed.to_string()).events();
    assert!(done);
    assert_eq!(events.len(), 5);
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String = events[1..]
        .iter()
        .map(|event| event["choices"][0]["delta"]["content"].as_str().unwrap())
        .collect();
    // The request's seed makes the draws equal.
    assert_eq!(reply["choices"][0]["message"]["content"], text);
}

#[test]
fn answers_depend_on_the_seeds_alone() {
    let text = |server: &Server| {
        let reply = server.post("/v1/completions", &body("seed", 24, &json!({})));
        reply.json()["choices"][0]["text"].as_str().unwrap().to_owned()
    };
    let first = text(&start(&["--seed", "5"]));
    assert_eq!(first, text(&start(&["--seed", "5"])));
    assert_ne!(first, text(&start(&["--seed", "6"])));
}

#[test]
fn concurrent_requests_get_what_each_would_get_alone() {
    let server = start(&["--max-batched-tokens", "16", "--max-sequences", "4"]);
    let prompts: Vec<String> =
        (0..10).map(|index| format!("{index} {}", "long ".repeat(index * 3))).collect();
    let text = |prompt: &str| {
        let reply = server.post("/v1/completions", &body(prompt, 20, &json!({})));
        reply.json()["choices"][0]["text"].as_str().unwrap().to_owned()
    };
    let alone: Vec<String> = prompts.iter().map(|prompt| text(prompt)).collect();
    let together: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = prompts.iter().map(|prompt| scope.spawn(|| text(prompt))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    assert_eq!(server.metric("vllm:request_success_total", "length"), 20.0);
}

#[test]
fn wrong_requests_get_an_error_in_the_shape_of_the_api() {
    let server = start(&["--max-model-len", "64", "--kv-tokens", "40"]);
    for (path, text, status) in [
        ("/v1/completions", "{".to_owned(), 400),
        ("/v1/completions", r#"{"prompt":"a","max_tokens":"x"}"#.to_owned(), 400),
        ("/v1/completions", body("a", 40, &json!({})), 400),
        ("/v1/completions", body(&"a".repeat(64), 1, &json!({})), 400),
        ("/v1/completions", body("a", 1, &json!({"model": "other"})), 404),
        ("/v1/chat/completions", body("a", 1, &json!({})), 400),
        ("/v1/none", body("a", 1, &json!({})), 404),
        ("/health", String::new(), 405),
    ] {
        let reply = server.post(path, &text);
        assert_eq!(reply.status, status, "{path} {text}");
        let error = &reply.json()["error"];
        assert!(
            error["message"].is_string() && error["type"] == "invalid_request_error",
            "{error}"
        );
    }
    // One token less fits exactly.
    assert_eq!(server.post("/v1/completions", &body("a", 39, &json!({}))).status, 200);
}

#[test]
fn a_body_beyond_the_bound_is_refused() {
    let server = start(&[]);
    let reply = server.post("/v1/completions", &"x".repeat((8 << 20) + 1));
    assert_eq!(reply.status, 413);
    assert!(reply.json()["error"]["message"].is_string());
}

#[test]
fn a_full_queue_refuses_with_429_and_takes_again_when_it_is_not() {
    let server = start(&[&ROOM[..], &["--max-sequences", "1", "--queue-max", "2"]].concat());
    let long = body("x", ENDLESS, &json!({"stream": true}));
    let mut running = server.open("/v1/completions", &long);
    running.line("data: ");
    let waiting = [server.open("/v1/completions", &long), server.open("/v1/completions", &long)];
    server.wait_for_metric("vllm:num_requests_waiting", "", 2.0);
    let refused = server.post("/v1/completions", &body("x", 1, &json!({})));
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: 1"));
    assert_eq!(refused.json()["error"]["code"], "queue_full");
    assert_eq!(server.metric("vllm:admission_rejections_total", ""), 1.0);
    drop((running, waiting));
    server.wait_for_metric("vllm:num_requests_waiting", "", 0.0);
    assert_eq!(server.post("/v1/completions", &body("x", 1, &json!({}))).status, 200);
}

#[test]
fn a_request_that_does_not_fit_beside_others_waits() {
    let server = start(&["--kv-tokens", "40000", "--max-model-len", "32000"]);
    let mut first = server.open("/v1/completions", &body("x", ENDLESS, &json!({"stream": true})));
    first.line("data: ");
    assert!((server.metric("vllm:kv_cache_usage_perc", "") - 30_001.0 / 40_000.0).abs() < 1e-9);
    let mut second = server.open("/v1/completions", &body("x", 10_000, &json!({"stream": true})));
    server.wait_for_metric("vllm:num_requests_waiting", "", 1.0);
    assert_eq!(server.metric("vllm:num_requests_running", ""), 1.0);
    drop(first);
    second.line("data: ");
}

#[test]
fn a_client_that_goes_away_frees_its_memory() {
    let server = start(&[&ROOM[..], &["--max-sequences", "1"]].concat());
    let mut streaming =
        server.open("/v1/completions", &body("x", ENDLESS, &json!({"stream": true})));
    streaming.line("data: ");
    let whole = server.open("/v1/completions", &body("x", ENDLESS, &json!({})));
    server.wait_for_metric("vllm:num_requests_waiting", "", 1.0);
    assert!(server.metric("vllm:kv_cache_usage_perc", "") > 0.1);
    drop((streaming, whole));
    server.wait_for_metric("vllm:kv_cache_usage_perc", "", 0.0);
    server.wait_for_metric("vllm:num_requests_running", "", 0.0);
    server.wait_for_metric("vllm:request_success_total", "abort", 2.0);
    assert_eq!(server.metric("vllm:request_success_total", "length"), 0.0);
}

#[test]
fn metrics_have_the_names_of_vllm_and_count_each_request_once() {
    let server = start(&[]);
    for _ in 0..5 {
        server.post("/v1/completions", &body("12345678", 10, &json!({"stream": true})));
    }
    for (name, label, expected) in [
        ("vllm:prompt_tokens_total", "", 40.0),
        ("vllm:generation_tokens_total", "", 50.0),
        ("vllm:request_success_total", "finished_reason=\"length\"", 5.0),
        ("vllm:num_preemptions_total", "model_name=\"cotenant-medium\"", 0.0),
        ("vllm:request_queue_time_seconds_count", "", 5.0),
        ("vllm:time_to_first_token_seconds_count", "", 5.0),
        ("vllm:inter_token_latency_seconds_count", "", 45.0),
        ("vllm:e2e_request_latency_seconds_count", "", 5.0),
        ("vllm:e2e_request_latency_seconds_bucket", "le=\"+Inf\"", 5.0),
    ] {
        assert_eq!(server.metric(name, label), expected, "{name}");
    }
    server.wait_for_metric("vllm:num_requests_running", "", 0.0);
    let sum = |name: &str| server.metric(&format!("vllm:{name}_seconds_sum"), "");
    // A request's latency is its first token's and the steps between its tokens.
    let parts = sum("time_to_first_token") + sum("inter_token_latency");
    assert!((parts / sum("e2e_request_latency") - 1.0).abs() < 1e-6);
    assert!(sum("request_queue_time") < sum("time_to_first_token"));
}

#[test]
fn sigterm_lets_running_requests_finish_and_exits_0() {
    let mut server = start(&[]);
    let mut request = server.open("/v1/completions", &body("x", 200, &json!({"stream": true})));
    request.line("data: ");
    server.engine.signal(Signal::TERM);
    let (events, done) = request.reply_after_head().events();
    assert!(done && events.len() == 199, "{} events", events.len());
    assert_eq!(server.engine.wait().code(), Some(0));
}

#[test]
fn sigint_ends_within_the_grace_whatever_runs() {
    let mut server = start(&[&ROOM[..], &["--grace-s", "0", "--max-sequences", "1"]].concat());
    let mut request = server.open("/v1/completions", &body("x", ENDLESS, &json!({"stream": true})));
    request.line("data: ");
    let waiting = server.open("/v1/completions", &body("x", ENDLESS, &json!({})));
    server.wait_for_metric("vllm:num_requests_waiting", "", 1.0);
    let started = Instant::now();
    server.engine.signal(Signal::INT);
    let (events, done) = request.reply_after_head().events();
    assert!(!done && events.last().unwrap()["error"].is_object());
    assert_eq!(waiting.reply().status, 503);
    assert_eq!(server.engine.wait().code(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn impossible_options_are_refused_before_anything_starts() {
    for options in [
        vec!["--heads", "3"],
        vec!["--max-batched-tokens", "4", "--max-sequences", "5"],
        vec!["--device", "abacus"],
        vec!["--device", "cuda:0"],
    ] {
        let mut arguments = vec!["serve", "--port", "0", "--model-size", "tiny", "--threads", "1"];
        arguments.extend(&options);
        if cfg!(feature = "cuda") && options[1] == "cuda:0" {
            continue;
        }
        let (code, errors) = Engine::start(&arguments).outcome();
        assert_eq!(code, Some(2), "{options:?}: {errors}");
        assert!(errors.contains(options[0]), "{errors}");
    }
}

#[test]
fn a_port_that_is_taken_is_a_clear_error() {
    let first = start(&[]);
    let port = first.address.port().to_string();
    let (code, errors) =
        Engine::start(&["serve", "--model-size", "tiny", "--threads", "1", "--port", &port])
            .outcome();
    assert_eq!(code, Some(3));
    assert!(errors.contains(&format!("failed to listen on 127.0.0.1:{port}")), "{errors}");
}

#[test]
fn one_thread_uses_one_core() {
    let server = Server::start(&["--model-size", "small", "--threads", "1"]);
    let before = server.engine.cpu_s();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        let prompt = "p".repeat(200);
        assert_eq!(server.post("/v1/completions", &body(&prompt, 20, &json!({}))).status, 200);
    }
    let cores = (server.engine.cpu_s() - before) / started.elapsed().as_secs_f64();
    assert!(cores <= 1.2, "{cores} cores were used");
    assert!(cores > 0.02, "{cores} cores: nothing was computed");
}
