//! `cotenant plan` as a user meets it: both examples, the acceptance cases, exports, wrong files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::process::{Told, run};
use support::workspace;
use tempfile::TempDir;

const DAY: &str = "examples/day-chat-night-finetune.yaml";
const STEADY: &str = "examples/steady-chat-endless-jobs.yaml";

/// Plans a file of the repository; the search is short, for what is looked at holds of any.
fn planned(site: &str, more: &[&str]) -> Told {
    let mut arguments = vec!["plan", site, "--steps", "200", "--weeks-drawn", "20"];
    arguments.extend(more);
    let told = run(&workspace(), &arguments);
    told.expect(&[0]);
    told
}

fn json(site: &str) -> Value {
    planned(site, &["--format", "json"]).json()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

/// The word of a gate and what it would be conditional on.
fn gate(plan: &Value, name: &str) -> (String, String) {
    let gate = list(plan, "gates").iter().find(|gate| gate["name"] == name).unwrap();
    (gate["word"].as_str().unwrap().to_owned(), gate["would_be_conditional_on"].to_string())
}

#[test]
fn a_chat_by_day_lends_its_gpus_by_night() {
    let plan = json(DAY);
    assert_eq!(plan["headline"]["word"], "NOT PROVEN", "{}", plan["headline"]);
    let candidates = list(&plan, "candidates");
    assert_eq!(
        (&candidates[0]["mode"], &candidates[0]["word"]),
        (&"whole_gpu".into(), &"FAIL".into())
    );
    assert_eq!(candidates[1]["mode"], "temporal");
    assert_eq!(
        (&candidates[1]["chosen"], &candidates[1]["word"]),
        (&true.into(), &"NOT PROVEN".into())
    );
    assert_eq!(candidates[1]["deadlines"]["text"], "3 of 3");
    assert_eq!(candidates.last().unwrap()["mode"], "two_servers");
    assert!(list(&plan, "certificates").is_empty());
    let due: Vec<&Value> =
        list(&plan, "promises").iter().filter(|it| !it["deadline"].is_null()).collect();
    assert_eq!(due.len(), 3);
    assert!(due.iter().all(|promise| promise["in_time"] == true), "{due:?}");
    let calendar = &plan["calendar"];
    assert_eq!(list(calendar, "windows").len(), 336);
    assert_eq!(calendar["from"]["at"], "2026-12-06T23:00:00Z", "midnight in Berlin");
    let names: Vec<&Value> =
        list(&plan["backtest"]["table"], "rows").iter().map(|row| &row[0]["text"]).collect();
    assert_eq!(names.len(), 5);
    assert_eq!((names[0], names[1]), (&"this plan".into(), &"oracle".into()));
}

#[test]
fn a_chat_that_is_never_quiet_has_no_window_to_lend() {
    let plan = json(STEADY);
    assert_eq!(plan["headline"]["word"], "FAIL");
    let (word, _) = gate(&plan, "training objective");
    assert_eq!(word, "FAIL");
    let reason = plan["headline"]["reason"].as_str().unwrap();
    assert!(reason.contains("experiments gets no GPU at any hour"), "{reason}");
    let (word, conditions) = gate(&plan, "inference objectives");
    assert_eq!(word, "NOT PROVEN", "its bursts are assumed, and what is assumed proves nothing");
    assert!(conditions.contains("more GPUs for inference"), "{conditions}");
    assert_eq!(list(&plan, "candidates").last().unwrap()["looked_at"], true);
}

#[test]
fn the_same_file_has_the_same_bytes() {
    for format in ["json", "text"] {
        let once = planned(DAY, &["--format", format]);
        assert_eq!(once.stdout, planned(DAY, &["--format", format]).stdout, "{format}");
        assert!(once.stdout.contains("chat"));
    }
}

#[test]
fn a_plan_is_exported() {
    let csv = planned(DAY, &["--format", "csv"]).stdout;
    // A header and one line for each of eight GPUs in each of 336 windows.
    assert_eq!(csv.lines().count(), 1 + 8 * 336);
    let ical = planned(DAY, &["--format", "ical"]).stdout;
    assert!(ical.starts_with("BEGIN:VCALENDAR\r\n") && ical.ends_with("END:VCALENDAR\r\n"));
    assert!(ical.contains("BEGIN:VEVENT"));
}

#[test]
fn a_file_that_cannot_be_planned_from_is_told() {
    let text = fs::read_to_string(workspace().join(DAY)).unwrap();
    let told = |text: String| {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("site.yaml"), text).unwrap();
        run(folder.path(), &["plan", "site.yaml"])
    };
    let missing = told(text.replace("day-chat-rates.csv", "no-such.csv"));
    missing.expect(&[2, 3]).complains("no-such.csv");
    assert_eq!(missing.stdout, "");
    let zone = told(text.replace("Europe/Berlin", "Mars/Olympus"));
    zone.expect(&[2]).complains("there is no time zone `Mars/Olympus`");
}

/// A case with its word, the gate that says it, and words of the condition under which it would
/// hold.
const CASES: [(&str, &str, &str, &str); 9] = [
    ("p01", "FAIL", "inference objectives", "fraction_of_total at most 0.62"),
    ("p02", "FAIL", "inference objectives", "hard-capped at 705 MiB"),
    ("p03", "NOT PROVEN", "training objective", "more throughput of `grpo` on 8 ranks than on 7"),
    ("p04", "FAIL", "inference objectives", "an exclusive lease"),
    ("p05", "FAIL", "inference objectives", "staged buckets"),
    ("p06", "FAIL", "inference objectives", "sleeps at level 2"),
    ("p11", "NOT PROVEN", "isolation", "a mode that enforces"),
    ("p13", "NOT PROVEN", "common failure domain", "one MPS server for each GPU"),
    ("p17", "FAIL", "preemption and transition", "a notice of more than 149.8 s"),
];

#[test]
fn real_situations_get_their_word_and_their_condition() {
    let folder = Path::new("crates/records/tests/fixtures/cases");
    for (case, word, name, condition) in CASES {
        let site = folder.join(format!("{case}.yaml"));
        let plan = json(site.to_str().unwrap());
        assert_eq!(plan["headline"]["word"], word, "{case}: {}", plan["headline"]);
        let (found, conditions) = gate(&plan, name);
        assert_eq!(found, word, "{case}: {name}");
        assert!(conditions.contains(condition), "{case}: {conditions}");
        let all = plan["headline"]["would_be_conditional_on"].to_string();
        assert!(all.contains(condition), "{case}: {all}");
        // A plan proves nothing, and a condition is no word of it.
        for gate in list(&plan, "gates") {
            assert!(gate["word"] == "FAIL" || gate["word"] == "NOT PROVEN", "{case}: {gate}");
        }
    }
}
