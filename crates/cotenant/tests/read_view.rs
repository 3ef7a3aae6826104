//! `cotenant read` as a user meets it: files, standard input, several at once, and refusals.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;

use support::process::run;
use tempfile::TempDir;

const SCRAPE: &str = "\
a title
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name=\"m\"} 3
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le=\"0.1\",model_name=\"m\"} 8
vllm:time_to_first_token_seconds_bucket{le=\"+Inf\",model_name=\"m\"} 10
vllm:time_to_first_token_seconds_sum{model_name=\"m\"} 2.5
vllm:time_to_first_token_seconds_count{model_name=\"m\"} 10
";

const TRAINER: &str = "\
iter 0: loss 10.9, time 9000.10ms, mfu -100.00%
iter 1: loss 10.1, time 250.00ms, mfu 30.11%
iter 2: loss 9.9, time 350.00ms, mfu 30.11%
";

const TRACE: &str = "time_s,prompt_tokens,output_tokens\n0,100,10\n1.5,300,30\n10,200,20\n";

const RESULT: &str = "{\"completed\": 10, \"request_throughput\": 2.0, \"duration\": 5.0, \
                      \"mean_ttft_ms\": 40.0, \"p99_ttft_ms\": 90.0, \"max_concurrency\": 4, \
                      \"request_rate\": \"inf\", \"model_id\": \"m\", \"num_prompts\": 10}";

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in [
        ("metrics.txt", SCRAPE),
        ("train.log", TRAINER),
        ("trace.csv", TRACE),
        ("result.json", RESULT),
        ("notes.md", "# Notes\n\n## Of today\n\nnothing\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_file_is_told_for_people() {
    let folder = folder();
    for name in ["metrics.txt", "train.log", "trace.csv", "result.json"] {
        let told = run(folder.path(), &["read", name]);
        told.expect(&[0]);
        assert!(told.stdout.lines().all(|line| line.chars().count() <= 80), "{}", told.stdout);
        insta::assert_snapshot!(format!("read-{name}"), told.snapshot());
    }
}

#[test]
fn the_same_is_told_for_programs() {
    let folder = folder();
    let told = run(folder.path(), &["read", "--format", "json", "metrics.txt", "train.log"]);
    told.expect(&[0]);
    let report = told.json();
    assert_eq!((&report["format"], &report["version"]), (&"cotenant-reading".into(), &1.into()));
    assert_eq!((&report["read"], &report["refused"]), (&2.into(), &0.into()));
    let scrape = &report["files"][0]["reading"];
    assert_eq!((&scrape["kind"], &scrape["producer"]), (&"metrics_scrape".into(), &"vLLM".into()));
    assert!(scrape["recognised_by"].to_string().contains("vllm:num_requests_running"));
    assert!(scrape["skipped"][0].as_str().unwrap().starts_with("line 1: "));
    let running = &scrape["tables"][0]["rows"][0];
    assert_eq!(
        (&running[0]["text"], &running[1]["value"]),
        (&"running_requests".into(), &3.0.into())
    );
    let ttft = &scrape["tables"][1]["rows"][0];
    assert_eq!((&ttft[2]["value"], &ttft[2]["unit"]), (&0.25.into(), &"s".into()));
    assert_eq!((&ttft[3]["state"], &ttft[3]["at_most"]), (&"between".into(), &0.1.into()));
    assert_eq!((&ttft[5]["above"], &ttft[5]["at_most"]), (&0.1.into(), &serde_json::Value::Null));
    let trainer = &report["files"][1]["reading"];
    let fact = |name: &str| {
        let facts = trainer["facts"].as_array().unwrap();
        facts.iter().find(|fact| fact["name"] == name).unwrap()["figure"]["value"].as_f64()
    };
    // The first step, of nine seconds, compiles.
    assert_eq!((fact("step time, p50"), fact("step time, p95")), (Some(0.25), Some(0.35)));
    assert_eq!(fact("time of the first step"), Some(9.0001));

    let schema = run(folder.path(), &["schema", "--of", "reading"]).json();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&report), "{report:#}");
    let again = run(folder.path(), &["read", "--format", "json", "metrics.txt", "train.log"]);
    assert_eq!(again.stdout, told.stdout, "the same files give the same bytes");
}

#[test]
fn a_refusal_keeps_no_other_file_from_being_read() {
    let folder = folder();
    let told = run(folder.path(), &["read", "notes.md", "trace.csv", "missing.csv"]);
    told.expect(&[2]).complains("notes.md: a text in Markdown").complains("missing.csv: ");
    insta::assert_snapshot!("read-several", told.stdout);
    let json = run(folder.path(), &["read", "--format", "json", "notes.md", "trace.csv"]).json();
    assert_eq!((&json["read"], &json["refused"]), (&1.into(), &1.into()));
    assert_eq!(json["files"][0]["refusal"]["seems"], "a text in Markdown");
    assert_eq!(json["files"][1]["reading"]["kind"], "request_trace");
    run(folder.path(), &["read"]).expect(&[2]);
    run(folder.path(), &["read", "-", "-"]).expect(&[2]).complains("read once");
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    // Tests give no standard input: it is empty.
    let told = run(folder().path(), &["read", "-"]);
    told.expect(&[2]).complains("standard input: an empty file");
}
