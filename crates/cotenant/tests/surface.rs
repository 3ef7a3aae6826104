//! The binary as a user meets it: help, wrong input, wrong files, closed pipes. Nothing is measured.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::process::Stdio;

use support::process::{Process, Told, run};
use support::sites::PLAIN;
use support::{PATIENCE, workspace};
use tempfile::TempDir;

const VERBS: [&[&str]; 15] = [
    &[],
    &["try"],
    &["init"],
    &["check"],
    &["read"],
    &["demand"],
    &["plan"],
    &["schema"],
    &["measure"],
    &["verdict"],
    &["status"],
    &["exclude"],
    &["engine"],
    &["engine", "serve"],
    &["engine", "train"],
];

/// A folder with `site.yaml` in it.
fn folder_with(site: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("site.yaml"), site).unwrap();
    folder
}

fn in_empty_folder(arguments: &[&str]) -> Told {
    run(TempDir::new().unwrap().path(), arguments)
}

fn validator(schema: &serde_json::Value) -> jsonschema::Validator {
    jsonschema::validator_for(schema).unwrap()
}

#[test]
fn every_verb_explains_itself() {
    for verb in VERBS {
        let mut arguments = verb.to_vec();
        arguments.push("--help");
        let told = in_empty_folder(&arguments);
        told.expect(&[0]);
        assert_eq!(told.stderr, "", "help that was asked for is data");
        let name = if verb.is_empty() { "cotenant".to_owned() } else { verb.join("-") };
        insta::assert_snapshot!(format!("help-{name}"), told.stdout);
    }
}

#[test]
fn the_version_is_told() {
    let told = in_empty_folder(&["--version"]);
    told.expect(&[0]);
    assert_eq!(told.stdout, concat!("cotenant ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_wrong_command_line_is_told_and_ends_with_two() {
    let wrong: [(&str, &[&str]); 14] = [
        ("nothing", &[]),
        ("unknown-verb", &["mesure"]),
        ("unknown-option", &["check", "site.yaml", "--frmat", "json"]),
        ("no-site", &["verdict"]),
        ("no-engine-verb", &["engine"]),
        ("unknown-format", &["verdict", "site.yaml", "--format", "pdf"]),
        ("check-has-no-html", &["check", "site.yaml", "--format", "html"]),
        ("no-minutes", &["try", "--minutes", "0"]),
        ("minutes-not-a-number", &["measure", "site.yaml", "--minutes", "NaN"]),
        ("minutes-without-end", &["measure", "site.yaml", "--minutes", "inf"]),
        ("as-of-without-zone", &["verdict", "site.yaml", "--as-of", "2026-12-01"]),
        ("no-reason", &["exclude", "site.yaml", "some-run", "--by", "me"]),
        ("negative-seed", &["try", "--seed", "-1"]),
        ("unknown-remedy", &["measure", "site.yaml", "--remedy", "prayer"]),
    ];
    for (name, arguments) in wrong {
        let told = in_empty_folder(arguments);
        told.expect(&[2]);
        assert_eq!(told.stdout, "", "{name}");
        insta::assert_snapshot!(format!("usage-{name}"), told.snapshot());
    }
}

#[test]
fn check_tells_every_problem_of_a_bad_site() {
    let bad: [(&str, &str, &str); 6] = [
        ("typo", "peak_rate", ""),
        ("unknown-key", "objectives: { ttft_p95", "objectives: { ttft_p59"),
        ("several", "500 ms", "-5 parsec"),
        ("unknown-zone", "time_zone: UTC", "time_zone: Mars/Olympus"),
        ("no-gpu-for-the-mode", "mode: host_cpu", "mode: time_slicing"),
        ("two-with-one-name", "name: tune", "name: chat"),
    ];
    for (name, from, to) in bad {
        let site = match name {
            "typo" => PLAIN.replace("demand:", "demnad:"),
            "several" => PLAIN.replace(from, to).replace("gpu_count: 0", "gpu_count: -1"),
            _ => PLAIN.replace(from, to),
        };
        assert_ne!(site, PLAIN, "{name} changes nothing");
        let folder = folder_with(&site);
        let told = run(folder.path(), &["check", "site.yaml"]);
        told.expect(&[2]);
        assert_eq!(told.stdout, "", "{name}");
        insta::assert_snapshot!(format!("check-{name}"), told.snapshot());
        // Every verb that reads a site tells the same, before it does anything else.
        for verb in [&["verdict"][..], &["status"], &["measure"]] {
            let mut arguments = verb.to_vec();
            arguments.push("site.yaml");
            let other = run(folder.path(), &arguments);
            assert_eq!((other.code, &other.stderr), (told.code, &told.stderr), "{verb:?}, {name}");
        }
    }
}

#[test]
fn check_shows_what_a_good_site_means() {
    let told = run(folder_with(PLAIN).path(), &["check", "site.yaml"]);
    told.expect(&[0]);
    assert_eq!(told.stderr, "site.yaml: no errors\n");
    for part in ["Capacity calendar", "Intake form", "Poisson, 2 req/s", "____"] {
        assert!(told.stdout.contains(part), "{part} is not in\n{}", told.stdout);
    }
    let quiet = run(folder_with(PLAIN).path(), &["check", "site.yaml", "--quiet"]);
    assert_eq!((quiet.stdout, quiet.stderr), (told.stdout, String::new()));
}

#[test]
fn check_tells_programs_the_same() {
    let bad = PLAIN.replace("500 ms", "500").replace("sharing:", "shraing:");
    let folder = folder_with(&bad);
    let told = run(folder.path(), &["check", "site.yaml", "--format", "json"]);
    told.expect(&[2]);
    assert_eq!(told.stderr, "");
    insta::assert_snapshot!("check-json", told.stdout);
    let answer = told.json();
    assert_eq!(answer["usable"], false);
    for problem in answer["problems"].as_array().unwrap() {
        for label in problem["labels"].as_array().unwrap() {
            let (start, end) = (label["start"].as_u64(), label["end"].as_u64());
            let span = start.unwrap() as usize..end.unwrap() as usize;
            assert!(bad.get(span).is_some(), "{label} lies outside the file");
        }
    }
    let told = run(folder_with(PLAIN).path(), &["check", "site.yaml", "--format", "json"]);
    told.expect(&[0]);
    assert_eq!(told.json()["usable"], true);
    assert_eq!(told.json()["problems"], serde_json::json!([]));
}

#[test]
fn the_printed_schema_accepts_the_examples_and_refuses_a_typo() {
    let validator = validator(&in_empty_folder(&["schema"]).expect(&[0]).json());
    for name in ["cpu-demo.yaml", "h100-server.yaml"] {
        let text = fs::read_to_string(workspace().join("examples").join(name)).unwrap();
        let site: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&site).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let typo = text.replacen("objectives", "objektives", 1);
        let site: serde_json::Value = serde_saphyr::from_str(&typo).unwrap();
        assert!(!validator.is_valid(&site), "{name} with a typo");
    }
}

#[test]
fn the_examples_of_the_repository_pass_check() {
    for name in [
        "cpu-demo.yaml",
        "h100-server.yaml",
        "day-chat-night-finetune.yaml",
        "steady-chat-endless-jobs.yaml",
    ] {
        let told = run(&workspace().join("examples"), &["check", name]);
        told.expect(&[0]);
    }
}

#[test]
fn a_site_without_evidence_is_not_proven() {
    let folder = folder_with(PLAIN);
    let json = run(folder.path(), &["verdict", "site.yaml", "--format", "json"]);
    json.expect(&[30]);
    assert_eq!(json.json()["verdict"]["word"], "NOT PROVEN");
    let schema = in_empty_folder(&["schema", "--of", "report"]).expect(&[0]).json();
    let errors: Vec<String> =
        validator(&schema).iter_errors(&json.json()).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let text = run(folder.path(), &["verdict", "site.yaml"]);
    text.expect(&[30]);
    assert!(text.stdout.contains("NOT PROVEN"), "{text:#?}");
    assert!(text.stdout.contains("cotenant measure site.yaml --tests a"), "{text:#?}");
    let status = run(folder.path(), &["status", "site.yaml"]);
    status.expect(&[0]);
    assert!(status.stdout.contains("17  open"), "{status:#?}");
    assert!(!folder.path().join("evidence").exists(), "judging writes nothing");
}

#[test]
fn what_cannot_be_read_as_a_site_is_told_and_ends_with_two() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("folder.yaml")).unwrap();
    fs::write(path("empty.yaml"), "").unwrap();
    fs::write(path("binary.yaml"), [0x7f, b'E', b'L', b'F', 0, 1, 2, 0xff, 0xfe]).unwrap();
    fs::write(path("not-utf8.yaml"), b"name: caf\xe9\n").unwrap();
    fs::write(path("large.yaml"), PLAIN).unwrap();
    File::options().write(true).open(path("large.yaml")).unwrap().set_len(100_000_000).unwrap();
    fs::write(path("cyclic.yaml"), "name: &a [*a]\nserver: *a\n").unwrap();
    for name in ["missing", "folder", "empty", "binary", "not-utf8", "large", "cyclic"] {
        for verb in ["check", "verdict"] {
            let told = run(folder.path(), &[verb, &format!("{name}.yaml")]);
            told.expect(&[2]);
            assert_eq!(told.stdout, "", "{name}");
            if verb == "check" {
                insta::assert_snapshot!(format!("unreadable-{name}"), told.snapshot());
            }
        }
    }
    // A file without an end must not be read to its end.
    run(folder.path(), &["check", "/dev/zero"]).expect(&[2]);
}

#[test]
fn a_name_that_is_no_text_is_no_panic() {
    let folder = TempDir::new().unwrap();
    let name = OsString::from_vec(b"caf\xe9.yaml".to_vec());
    let told = run(folder.path(), &[OsStr::new("check"), &name]);
    told.expect(&[2]);
    fs::write(folder.path().join(&name), PLAIN).unwrap();
    let told = run(folder.path(), &[OsStr::new("check"), &name]);
    told.expect(&[0]);
}

/// Runs the binary with a standard output whose reader is gone before it starts.
fn without_reader(folder: &Path, arguments: &[&str]) -> Told {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Process::spawn(folder, arguments, Some(Stdio::from(writer))).finish(PATIENCE)
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let folder = folder_with(PLAIN);
    for arguments in [
        &["schema"][..],
        &["schema", "--of", "report"],
        &["--help"],
        &["check", "site.yaml"],
        &["status", "site.yaml"],
    ] {
        let told = without_reader(folder.path(), arguments);
        told.expect(&[0]);
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let folder = folder_with(PLAIN);
    for arguments in [&["schema"][..], &["check", "site.yaml"], &["verdict", "site.yaml"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let told =
            Process::spawn(folder.path(), arguments, Some(Stdio::from(full))).finish(PATIENCE);
        told.expect(&[3]).complains("No space left");
    }
    let nowhere = ["verdict", "site.yaml", "--out", "missing/report.html"];
    run(folder.path(), &nowhere).expect(&[3]).complains("missing/report.html");
}

#[test]
fn an_evidence_folder_that_is_none_is_told_with_the_reason() {
    let folder = folder_with(PLAIN);
    let told = run(folder.path(), &["verdict", "site.yaml", "--evidence", "site.yaml"]);
    told.expect(&[2, 3]).complains("site.yaml is not evidence");
    // What the operating system says must be in the message, not only that it refused.
    let told = run(folder.path(), &["verdict", "site.yaml", "--evidence", "site.yaml/below"]);
    told.expect(&[2, 3]).complains("Not a directory");
}

#[test]
fn measure_refuses_what_it_cannot_measure_before_it_starts_anything() {
    let alone =
        PLAIN.split("  - name: tune").next().unwrap().to_owned() + "sharing: { mode: host_cpu }\n";
    let no_launch = PLAIN.replace("      launch: { argv: [sh, -c, \"exit 7\"] }\n", "");
    let no_log = PLAIN.replace("      log: { format: cotenant }\n", "");
    let missing_trace = PLAIN
        .replace("{ poisson: { rate: 2 req/s } }", "{ trace: { file: missing.csv, format: csv } }");
    let refused: [(&str, &str, &[&str]); 8] = [
        ("unknown-test", PLAIN, &["--tests", "a,d"]),
        ("no-test", PLAIN, &["--tests", ""]),
        ("unknown-inference", PLAIN, &["--inference", "chatt"]),
        ("unknown-neighbour", PLAIN, &["--neighbour", "tuna"]),
        ("no-neighbour", &alone, &[]),
        ("no-launch", &no_launch, &[]),
        ("no-log", &no_log, &[]),
        ("nothing-to-resume", PLAIN, &["--resume"]),
    ];
    for (name, site, options) in refused {
        let folder = folder_with(site);
        let mut arguments = vec!["measure", "site.yaml"];
        arguments.extend(options);
        let told = run(folder.path(), &arguments);
        told.expect(&[2]);
        insta::assert_snapshot!(format!("measure-{name}"), told.snapshot());
        assert!(!folder.path().join("evidence").exists(), "{name}");
    }
    let folder = folder_with(&missing_trace);
    run(folder.path(), &["measure", "site.yaml"]).expect(&[2, 3]).complains("missing.csv");
}

#[test]
fn a_workload_that_does_not_run_is_a_failure_of_the_world() {
    let folder = folder_with(PLAIN);
    let guarded = ["measure", "site.yaml", "--no-guard", "nothing listens there"];
    let mut down = Process::start(folder.path(), &guarded);
    down.end(PATIENCE)
        .expect(&[3])
        .complains("`chat` does not answer at http://127.0.0.1:9/health");
    down.expect_no_family();

    let launch = "demand: { poisson: { rate: 2 req/s } }\n      launch: { argv: ";
    let launched = |argv: &str| {
        let site =
            PLAIN.replace("demand: { poisson: { rate: 2 req/s } }", &format!("{launch}{argv} }}"));
        let folder = folder_with(&site);
        let mut process = Process::start(folder.path(), &["measure", "site.yaml"]);
        let told = process.end(PATIENCE);
        process.expect_no_family();
        told
    };
    launched("[sh, -c, \"echo no model here; sleep 0.1; exit 5\"]")
        .expect(&[3])
        .complains("`chat` ended by itself")
        .complains("no model here");
    launched("[there-is-no-such-program]").expect(&[3]).complains("there-is-no-such-program");
}

#[test]
fn try_touches_no_folder_that_it_did_not_make() {
    let folder = folder_with(PLAIN);
    let told = run(folder.path(), &["try", "--out", "."]);
    told.expect(&[2]).complains("holds something that `try` did not make");
    assert_eq!(fs::read_to_string(folder.path().join("site.yaml")).unwrap(), PLAIN);
    let told = run(folder.path(), &["try", "--out", "site.yaml"]);
    told.expect(&[2, 3]).complains("site.yaml");
    let told = run(folder.path(), &["try", "--trace", "missing.csv", "--out", "new"]);
    told.expect(&[2, 3]).complains("missing.csv");
}
