//! `try` as a newcomer runs it, in the least time that it takes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;

use support::RUN_PATIENCE;
use support::process::{Process, run};
use tempfile::TempDir;

#[test]
fn try_ends_with_a_verdict_that_the_files_alone_give_again() {
    let folder = TempDir::new().unwrap();
    // The least time is enough for a machine that does nothing else; a loaded one says that it is
    // not, and is given more.
    let told = ["1.5", "3", "6"].into_iter().find_map(|minutes| {
        let arguments = ["try", "--minutes", minutes, "--out", "out"];
        let mut process = Process::start(folder.path(), &arguments);
        let told = process.end(2 * RUN_PATIENCE);
        process.expect_no_family();
        (!told.stderr.contains("do not fit into")).then_some(told)
    });
    let told = told.expect("a time that is enough");
    told.expect(&[0, 10, 20, 30, 40]).complains("no GPU claim").complains("EXAMPLE OBJECTIVES");
    let out = folder.path().join("out");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("EXAMPLE OBJECTIVE"));
    let site = fs::read_to_string(out.join("site.yaml")).unwrap();
    assert!(site.starts_with("# EXAMPLE OBJECTIVES"), "{site}");
    run(folder.path(), &["check", "out/site.yaml"]).expect(&[0]);

    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    let arguments = ["verdict", "out/site.yaml", "--format", "json"];
    let first = run(folder.path(), &arguments);
    first.expect(&[0, 10, 20, 30]);
    let second = run(folder.path(), &arguments);
    assert_eq!((first.code, &first.stdout), (second.code, &second.stdout));
    assert_eq!(first.json()["verdict"], report["verdict"]);
    // A test that proves nothing is INVALID for `try`; for `verdict` it is evidence that is missing.
    let same = told.code == first.code || (told.code == Some(40) && first.code == Some(30));
    assert!(same, "try ended with {:?}, verdict with {:?}", told.code, first.code);
    let status = run(folder.path(), &["status", "out/site.yaml"]);
    status.expect(&[0]);

    // What was measured foretells: a machine that was too loaded for two valid blocks of A says so.
    let simulated = run(folder.path(), &["simulate", "out/site.yaml", "--format", "json"]);
    if simulated.code == Some(0) {
        let foretold = simulated.json();
        let schema = run(folder.path(), &["schema", "--of", "simulation"]).json();
        assert!(jsonschema::is_valid(&schema, &foretold), "{foretold:#}");
        let section = &foretold["latencies"][0];
        assert_eq!(
            (&section["workload"], &foretold["origin"]),
            (&"chat".into(), &"simulated".into())
        );
        let keys: Vec<&str> = section["tables"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|table| table["key"].as_str())
            .collect();
        assert!(keys.starts_with(&["step", "held_out", "levels"]), "{keys:?}");
        assert!(foretold["headline"].as_str().unwrap().contains("No calendar"), "no GPU to share");
    } else {
        simulated.expect(&[2]).complains("valid blocks");
    }

    // The folder is known as one that `try` made, and what else lies in it stays.
    fs::write(out.join("mine.txt"), "mine").unwrap();
    let again = ["try", "--minutes", "0.05", "--out", "out"];
    let mut process = Process::start(folder.path(), &again);
    process.end(RUN_PATIENCE).expect(&[2]).complains("--minutes");
    process.expect_no_family();
    assert_eq!(fs::read_to_string(out.join("mine.txt")).unwrap(), "mine");
}
