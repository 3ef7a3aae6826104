//! `simulate` on sites of the examples: the same bytes each time, narrow enough for a terminal, and refused
//! in words where there is nothing to draw from.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::path::Path;

use support::process::{Told, run};

fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"))
}

fn simulated(more: &[&str]) -> Told {
    let site = "steady-chat-endless-jobs.yaml";
    let mut arguments = vec!["simulate", site, "--weeks-drawn", "3", "--steps", "100"];
    arguments.extend(more);
    let told = run(examples(), &arguments);
    told.expect(&[0]);
    told
}

#[test]
fn a_calendar_is_carried_out_and_the_answer_is_simulated() {
    let text = simulated(&[]).stdout;
    for said in
        ["Simulated: no gate passes on it", "maintenance count", "Assumed", "in 3 drawn calendars"]
    {
        assert!(text.contains(said), "{said} is not in\n{text}");
    }
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");

    let json = simulated(&["--format", "json"]);
    assert_eq!(json.stdout, simulated(&["--format", "json"]).stdout, "the same bytes");
    let report = json.json();
    assert_eq!((&report["origin"], &report["weeks"]), (&"simulated".into(), &3.into()));
    let schema = run(examples(), &["schema", "--of", "simulation"]).json();
    assert!(jsonschema::is_valid(&schema, &report), "{report:#}");
    // The site is down four hours each Sunday, and every replica comes back after that.
    let short = report["services"]["rows"][0][1]["value"].as_f64().unwrap();
    assert!((4.0 / 168.0..6.0 / 168.0).contains(&short), "{short}");
    let hours = |row: usize| report["gpu_time"]["rows"][row][1]["value"].as_f64().unwrap();
    let all: f64 = (0..5).map(hours).sum();
    assert!((all - 8.0 * 168.0).abs() < 1e-6, "{all} GPU-hours of eight GPUs in a week");
}

#[test]
fn a_site_without_a_history_is_refused_with_what_it_lacks() {
    let arguments = ["simulate", "h100-server.yaml", "--weeks-drawn", "2", "--steps", "10"];
    run(examples(), &arguments)
        .expect(&[2])
        .complains("needs a history")
        .complains("cotenant plan");
}
