//! What is said about bad site files: every fixture's problems as a person sees them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::Path;

use cotenant_records::site::{PROBLEMS_MAX, SITE_FILE_BYTES_MAX, Severity, read_site, render};
use proptest::prelude::*;

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bad");
    let mut fixtures: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    fixtures.sort();
    fixtures
}

#[test]
fn every_bad_file_is_refused_with_its_problems_in_place() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 20);
    for (name, bytes) in fixtures {
        let (site, problems) = read_site(&name, &bytes);
        assert!(site.is_none(), "{name} makes a site");
        assert!(problems.iter().any(|problem| problem.severity == Severity::Error), "{name}");
        let rendered = render(&problems, &name, &bytes, false);
        insta::assert_snapshot!(format!("bad_{}", name.trim_end_matches(".yaml")), rendered);
        // A source line wider than the page is cropped as well as its marks allow.
        let is_wide = String::from_utf8_lossy(&bytes).lines().any(|line| line.chars().count() > 72);
        for line in rendered.lines() {
            let is_quoted =
                line.trim_start_matches([' ', '.']).trim_start_matches(char::is_numeric);
            if !(is_wide && is_quoted.trim_start().starts_with('|')) {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }
}

#[test]
fn a_file_of_100_mb_is_refused_by_its_size() {
    let bytes = vec![b'a'; 100 << 20];
    let (site, problems) = read_site("large.yaml", &bytes);
    assert!(site.is_none());
    let rendered = render(&problems, "large.yaml", &bytes[..SITE_FILE_BYTES_MAX], false);
    let expected = [
        "error[too-large]: large.yaml is larger than 1024 KiB",
        "--> large.yaml",
        " = help: a site file names traces and evidence by their path, and holds none",
        "         of them",
        "",
    ];
    assert_eq!(rendered, expected.join("\n"));
}

/// Files as large as is read, made to be slow: each must be answered, whatever the answer.
#[test]
fn files_as_large_as_is_read_are_answered() {
    let repeat = |part: &dyn Fn(usize) -> String| -> String {
        let mut text = String::new();
        for number in 0.. {
            let next = part(number);
            if text.len() + next.len() > SITE_FILE_BYTES_MAX - 4096 {
                break;
            }
            text.push_str(&next);
        }
        text
    };
    let head = "name: x\ntime_zone: UTC\nserver: { gpu: L4, gpu_count: 1 }\n";
    let workload = |number| {
        format!("  - {{ name: w{number}, training: {{ objectives: {{ step_time_max: 1 s }} }} }}\n")
    };
    let window = |number: usize| {
        let minute = number % 1439;
        let (hour, minute) = (minute / 60, minute % 60);
        format!("    - {{ when: \"daily {hour:02}:{minute:02}-24:00\", workload: w{number} }}\n")
    };
    let files = [
        repeat(&|number| format!("k{number}:\n")),
        repeat(&|_| "k:\n".to_owned()),
        format!("{head}workloads:\n{}sharing: {{ mode: time_slicing }}\n", repeat(&workload)),
        format!(
            "{head}workloads:\n{}sharing:\n  mode:\n    temporal:\n{}",
            workload(0),
            repeat(&window)
        ),
        repeat(&|_| "[".to_owned()),
        repeat(&|_| "- ".to_owned()),
        repeat(&|number| format!("a{number}: &a{number} x\n")),
        "x".repeat(SITE_FILE_BYTES_MAX),
        " ".repeat(SITE_FILE_BYTES_MAX),
        "#".repeat(SITE_FILE_BYTES_MAX),
        "\"".repeat(SITE_FILE_BYTES_MAX),
    ];
    for text in files {
        let began = std::time::Instant::now();
        check(text.as_bytes());
        println!(
            "{:?} for {}",
            began.elapsed(),
            text.chars().take(40).collect::<String>().escape_debug()
        );
    }
}

#[test]
fn problems_are_bounded_in_number() {
    let keys: Vec<String> = (0..1000).map(|number| format!("zzz{number}: 1")).collect();
    let (site, problems) = read_site("many.yaml", keys.join("\n").as_bytes());
    assert!(site.is_none());
    assert_eq!(problems.len(), PROBLEMS_MAX + 1);
    assert!(problems.last().unwrap().message.contains("more problems"));
}

#[test]
fn warnings_alone_keep_the_site() {
    let text = include_str!("../../../examples/h100-server.yaml").replace("80 GiB", "80 GB");
    let (site, problems) = read_site("site.yaml", text.as_bytes());
    assert!(site.is_some());
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].severity, Severity::Warning);
}

#[test]
fn a_launched_trainer_whose_log_is_not_read_is_a_warning() {
    let good = include_str!("../../../examples/cpu-demo.yaml");
    let without: Vec<&str> = good.lines().filter(|line| !line.contains("log: {")).collect();
    assert_eq!(without.len() + 1, good.lines().count());
    let (site, problems) = read_site("site.yaml", without.join("\n").as_bytes());
    assert!(site.is_some());
    let found: Vec<_> = problems.iter().map(|problem| (problem.severity, problem.code)).collect();
    assert_eq!(found, [(Severity::Warning, "no-log")]);
}

#[test]
fn a_guard_tighter_than_what_is_judged_is_a_warning() {
    let good = include_str!("../../../examples/cpu-demo.yaml");
    let at = good.find("      objectives:").unwrap();
    let found = |guard: &str| {
        let text = format!("{}      guard: {{ {guard} }}\n{}", &good[..at], &good[at..]);
        let (site, problems) = read_site("site.yaml", text.as_bytes());
        assert!(site.is_some(), "{problems:?}");
        problems.into_iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    assert_eq!(found("ttft_p95: 1 ms, e2e_p95: 10 h"), ["tight-guard"]);
    assert_eq!(found("ttft_p95: 10 min"), Vec::<&str>::new());
}

/// The rules of a plan that need two numbers to disagree: each pair beside one that agrees.
#[test]
fn numbers_of_a_plan_must_agree() {
    let good = include_str!("fixtures/good/full-server.yaml");
    for (from, to, codes) in [
        ("gpu_memory_taken: 2 GiB", "gpu_memory_taken: 80 GiB", &[][..]),
        ("gpu_memory_taken: 2 GiB", "gpu_memory_taken: 81 GiB", &["gpu-memory"]),
        ("cpu_cores_visible: 128", "cpu_cores_visible: 95.5", &[]),
        ("cpu_cores_visible: 128", "cpu_cores_visible: 95", &["cpu-cores"]),
        ("gpus: 0.5", "gpus: 8", &[]),
        ("gpus: 0.5", "gpus: 8.5", &["capacity"]),
        // The declared steps of the way back take 15 s, 50 s, 90 s and nothing.
        ("reclaim_time: 3 min", "reclaim_time: 155 s", &[]),
        ("reclaim_time: 3 min", "reclaim_time: 154 s", &["reclaim-time"]),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let (_, problems) = read_site("site.yaml", text.as_bytes());
        let found: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(found, codes, "{to}");
    }
}

#[test]
fn color_changes_the_look_and_not_the_words() {
    let (name, bytes) = fixtures().into_iter().find(|(name, _)| name == "units.yaml").unwrap();
    let (_, problems) = read_site(&name, &bytes);
    let colored = render(&problems, &name, &bytes, true);
    assert!(colored.contains("\u{1b}["));
    assert!(!render(&problems, &name, &bytes, false).contains('\u{1b}'));
}

const GOOD: [&str; 3] = [
    include_str!("fixtures/good/full-server.yaml"),
    include_str!("fixtures/good/full-pool.yaml"),
    include_str!("../../../examples/cpu-demo.yaml"),
];

/// What must hold of any bytes: no panic, a site or an error, and a rendering of every problem.
fn check(bytes: &[u8]) {
    let (site, problems) = read_site("mutated.yaml", bytes);
    let has_error = problems.iter().any(|problem| problem.severity == Severity::Error);
    assert_eq!(site.is_none(), has_error, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.code != "bug"), "{problems:?}");
    let rendered = render(&problems, "mutated.yaml", bytes, false);
    assert_eq!(rendered.is_empty(), problems.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn edited_files_never_panic(
        file in 0..GOOD.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>()), 1..8),
    ) {
        let mut bytes = GOOD[file].as_bytes().to_vec();
        for (place, kind, byte) in edits {
            let at = place.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => { bytes.remove(at); }
            }
        }
        check(&bytes);
    }

    #[test]
    fn files_with_moved_lines_never_panic(
        file in 0..GOOD.len(),
        moves in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, 0..8_usize), 1..6),
    ) {
        let mut lines: Vec<String> = GOOD[file].lines().map(str::to_owned).collect();
        for (place, kind, amount) in moves {
            let at = place.index(lines.len());
            match kind {
                0 => { lines.remove(at); }
                1 => lines[at] = format!("{}{}", " ".repeat(amount), lines[at].trim_start()),
                2 => { let line = lines[at].clone(); lines.insert(at, line); }
                _ => { let end = (at + amount).min(lines.len() - 1); lines.swap(at, end); }
            }
            if lines.is_empty() { break; }
        }
        check(lines.join("\n").as_bytes());
    }

    #[test]
    fn values_of_yaml_marks_never_panic(
        file in 0..GOOD.len(),
        place in any::<prop::sample::Index>(),
        text in "[-:{}\\[\\]&*!|>'\"%@`#, ?a1\n\u{e9}\u{1f600}]{0,12}",
    ) {
        let mut mutated = GOOD[file].to_owned();
        mutated.insert_str(place.index(mutated.len()), &text);
        check(mutated.as_bytes());
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }
}
