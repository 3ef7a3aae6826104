//! `cotenant demand` as a user meets it: files, a site file, and what is wrong with them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use support::process::run;
use support::sites::PLAIN;
use tempfile::TempDir;

/// Eight days of hours.
fn rates(folder: &Path, name: &str, first_hour: u32, hours: u32) {
    let mut text = "start_s,rate_rps\n".to_owned();
    for hour in first_hour..first_hour + hours {
        let rate = if (8..18).contains(&(hour % 24)) { 9 } else { 2 };
        writeln!(text, "{},{rate}", hour * 3600).unwrap();
    }
    fs::write(folder.join(name), text).unwrap();
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    rates(folder.path(), "early.csv", 0, 5 * 24);
    rates(folder.path(), "late.csv", 5 * 24, 3 * 24);
    folder
}

#[test]
fn files_are_one_history_for_people_and_for_programs() {
    let folder = folder();
    let files = ["demand", "early.csv", "late.csv", "--begins", "2026-11-02T00:00:00Z"];
    let told = run(folder.path(), &files);
    told.expect(&[0]);
    insta::assert_snapshot!("demand-two-files", told.snapshot());

    let mut asked = files.to_vec();
    asked.extend(["--format", "json", "--service-seconds", "5", "--unit", "in-flight"]);
    asked.extend(["--time-zone", "Europe/Berlin", "--bin-minutes", "30"]);
    let told = run(folder.path(), &asked);
    told.expect(&[0]);
    let report: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(report["time_zone"], "Europe/Berlin");
    assert_eq!(report["units"].as_array().unwrap().len(), 1);
    let unit = &report["units"][0];
    assert_eq!((&unit["key"], &unit["bin_minutes"]), (&"in-flight".into(), &30.into()));
    // Nine requests a second, five seconds each, from 9:00 by the clock of Berlin.
    let slot = &unit["slots"].as_array().unwrap()[18];
    assert_eq!(
        (slot["minute_of_week"].as_u64(), slot["figures"]["p50"].as_f64()),
        (Some(540), Some(45.0))
    );
    assert_eq!(unit["forecast"]["windows"].as_array().unwrap().len(), 7 * 48);

    let schema = run(folder.path(), &["schema", "--of", "demand"]);
    schema.expect(&[0]);
    let schema = serde_json::from_str(&schema.stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&report));
}

#[test]
fn a_workload_of_a_site_file_has_its_own_demand() {
    let folder = folder();
    let start = PLAIN.find("demand:").unwrap();
    let end = start + PLAIN[start..].find('\n').unwrap();
    let declared = &PLAIN[start..end];
    let site = PLAIN.replace(
        declared,
        "demand: { rates: { file: early.csv, begins: \"2026-11-02T00:00:00Z\" } }",
    );
    fs::write(folder.path().join("site.yaml"), &site).unwrap();
    for arguments in [&["demand", "site.yaml"][..], &["demand", "site.yaml", "--workload", "chat"]]
    {
        let told = run(folder.path(), arguments);
        told.expect(&[0]);
        assert!(told.stdout.starts_with("Demand of chat\n"), "{}", told.stdout);
    }
    fs::write(folder.path().join("site.yaml"), PLAIN).unwrap();
    let told = run(folder.path(), &["demand", "site.yaml"]);
    told.expect(&[2]);
    assert!(told.stderr.contains("is declared for a test, and not by time"), "{}", told.stderr);
}

#[test]
fn what_cannot_be_shown_is_told_with_a_way_out() {
    let folder = folder();
    fs::write(folder.path().join("site.yaml"), PLAIN).unwrap();
    let trace = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n";
    fs::write(folder.path().join("trace.csv"), trace).unwrap();
    let wrong: [(&str, &[&str]); 9] = [
        ("no-source", &["demand"]),
        ("missing", &["demand", "none.csv"]),
        ("two-kinds", &["demand", "early.csv", "trace.csv"]),
        ("twice", &["demand", "early.csv", "early.csv"]),
        ("zone", &["demand", "early.csv", "--time-zone", "Mars/Olympus"]),
        ("bins", &["demand", "early.csv", "--bin-minutes", "45"]),
        ("no-site", &["demand", "early.csv", "--workload", "chat"]),
        ("site-beside", &["demand", "site.yaml", "early.csv"]),
        ("no-workload", &["demand", "site.yaml", "--workload", "chta"]),
    ];
    for (name, arguments) in wrong {
        let told = run(folder.path(), arguments);
        told.expect(&[2]);
        assert_eq!(told.stdout, "", "{name}");
        insta::assert_snapshot!(format!("demand-{name}"), told.snapshot());
    }
}
