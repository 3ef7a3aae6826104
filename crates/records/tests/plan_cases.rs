//! Situations that people met, as site files, and the answer that arithmetic gives to each. The same
//! cases with their variations are tests of core.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a failing test shows the arithmetic that it judged")]

use std::path::Path;

use cotenant_core::plan::{Check, Outcome, checks};
use cotenant_records::site::{read_site, render};

/// The checks of a case with this key.
fn of_case(case: &str, key: &str) -> Vec<Check> {
    let name = format!("{case}.yaml");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cases");
    let bytes = std::fs::read(folder.join(&name)).unwrap();
    let (site, problems) = read_site(&name, &bytes);
    // A case that cannot work may warn; it must be readable.
    assert!(site.is_some(), "{}", render(&problems, &name, &bytes, false));
    let found: Vec<Check> =
        checks(&site.unwrap()).into_iter().filter(|check| check.key == key).collect();
    for check in &found {
        println!("{} {}\n  {}", check.outcome.name(), check.title, check.answer);
        let parts = [&check.arithmetic, &check.would_be_conditional_on, &check.missing];
        parts.into_iter().flatten().for_each(|line| println!("    {line}"));
    }
    found
}

/// The one check of a case with this key, with its outcome and words that it must say somewhere.
#[track_caller]
fn assert_case(case: &str, key: &str, outcome: Outcome, says: &[&str]) {
    let found = of_case(case, key);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].outcome, outcome, "{found:#?}");
    assert_says(&found[0], says);
}

#[track_caller]
fn assert_says(check: &Check, says: &[&str]) {
    let parts = [&check.arithmetic, &check.would_be_conditional_on, &check.missing];
    let mut text: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    text.push(&check.answer);
    let text = text.join("\n");
    for words in says {
        assert!(text.contains(words), "`{words}` is not in\n{text}");
    }
}

#[test]
fn p01_a_fraction_is_of_the_total() {
    // 0.9 × 44.56 = 40.104, 44.56 − 15 = 29.56, (44.56 − 15 − 1.5) ÷ 44.56 = 0.6297.
    let says = [
        "0.9 × 44.56 GiB = 40.1 GiB",
        "44.56 GiB − tune 15 GiB = 29.56 GiB",
        "fraction_of_total at most 0.62",
        "`tune` is started first and hard-capped at 15 GiB",
    ];
    assert_case("p01", "memory_fraction", Outcome::Fails, &says);
}

#[test]
fn p02_a_peak_beyond_the_budget_leaves_no_neighbour_room() {
    let says = [
        "0.9 × 24,564 MiB = 22,107.6 MiB",
        "1,751.4 MiB beyond its budget",
        "graphs take 2,464 MiB: 21,395 MiB without them",
        "= 705 MiB",
        "vllm 0.5.4",
    ];
    assert_case("p02", "memory_fraction", Outcome::Fails, &says);
}

#[test]
fn p03_one_shared_rank_slows_all() {
    let says = [
        "all 8 wait for the shared one",
        "at most 12.9 % slower before 7 ranks do as much",
        "split 1 + 7",
        "test C shows more throughput of `grpo` on 8 ranks than on 7",
        "duplicate GPU",
    ];
    assert_case("p03", "ranks", Outcome::Open, &says);
}

#[test]
fn p04_what_does_not_fit_at_once_takes_turns() {
    let says = [
        "= 26.58 GiB",
        "an exclusive lease",
        "requests to `agent` are held",
        "status polls touch no GPU",
    ];
    // 17.8 × 10⁹ ÷ 2³⁰ + 10 = 26.58.
    assert_case("p04", "gpu_memory", Outcome::Fails, &says);
}

#[test]
fn p05_a_checkpoint_takes_most_of_the_host() {
    // 650 ÷ 780 = 83 %; 780 − 140 = 640.
    let says = ["650 GB of 780 GB: 83 %", "130 GB stay", "staged buckets of at most 640 GB"];
    assert_case("p05", "host_memory", Outcome::Fails, &says);
}

#[test]
fn p06_sleeping_engines_fill_the_host() {
    // 8 × 11.1 = 88.8; 88.8 + 16 = 104.8; (96 − 16) ÷ 11.1 = 7.2.
    let says = ["= 88.8 GB", "= 104.8 GB", "level 2", "at most 7 engines"];
    assert_case("p06", "host_memory", Outcome::Fails, &says);
}

#[test]
fn p11_half_of_a_gpu_is_accounting() {
    let says = ["booked 50 %", "it counts for placement alone", "time-slicing without protection"];
    assert_case("p11", "booked", Outcome::Open, &says);
}

#[test]
fn p13_one_server_for_two_gpus_widens_a_fault() {
    // 4 × 5 = 20 of 0.001 × 43,200 = 43.2.
    let says = [
        "all MPS clients of the GPU die together",
        "admission domain: 2 GPUs of one MPS server",
        "20 bad minutes a month",
        "43.2 min a month",
        "one MPS server for each GPU",
    ];
    assert_case("p13", "fault_domain", Outcome::Open, &says);
}

#[test]
fn p17_a_save_fits_its_notice_or_is_periodic() {
    let found = of_case("p17", "notice");
    let outcomes: Vec<(&str, Outcome)> =
        found.iter().map(|check| (check.workloads[0].as_str(), check.outcome)).collect();
    let expected = [
        ("async-30", Outcome::Holds),
        ("sync-30", Outcome::Fails),
        ("async-120", Outcome::Holds),
        ("sync-120", Outcome::Fails),
    ];
    assert_eq!(outcomes, expected);
    // Vectors of 6.3 s and 148.8 s at a loss each four hours and a resume of 120 s.
    assert_says(&found[0], &["422 s (Daly)", "= 331 s", "3.9 %"]);
    assert_says(&found[3], &["1,972 s (Daly)", "= 1,106 s", "16.8 %", "up to 1000 steps"]);
}
