//! The examples of the repository are good site files, by the reader and by the schema.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::{Path, PathBuf};

use cotenant_records::site::{filled_form, read_site, render, schema};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no YAML in {}", folder.display());
    files
}

/// The text as an editor's YAML parser sees it; another parser than the one under test.
fn as_json(text: &str) -> serde_json::Value {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn every_example_has_no_problem_and_validates() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut files = yaml_files(&workspace().join("examples"));
    files.extend(yaml_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/good")));
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let (site, problems) = read_site(name, &bytes);
        assert!(problems.is_empty(), "{}", render(&problems, name, &bytes, false));
        assert!(site.is_some());
        let instance = as_json(std::str::from_utf8(&bytes).unwrap());
        let errors: Vec<String> = validator
            .iter_errors(&instance)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses_by_structure() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let good = std::fs::read_to_string(workspace().join("examples/cpu-demo.yaml")).unwrap();
    assert!(validator.is_valid(&as_json(&good)));
    for (from, to) in [
        ("name: cpu-demo", "nam: cpu-demo"),
        ("500 ms", "500"),
        ("500 ms", "5 parsec"),
        ("500 ms", "-5 s"),
        ("gpu: none", "gpu: none, gpu_count: -1"),
        ("mode: host_cpu", "mode: host"),
        ("mode: host_cpu", "mode: { host_cpu: {}, candidates: all }"),
        ("format: csv", "format: json"),
        ("argv: [cotenant, engine, train]", "argv: cotenant"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("server: {", "pool: {}\nserver: {"),
        ("ttft_p95", "latency"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(good, bad, "{from}");
        assert!(!validator.is_valid(&as_json(&bad)), "the schema accepts `{to}` for `{from}`");
        let (site, problems) = read_site("site.yaml", bad.as_bytes());
        assert!(site.is_none() && !problems.is_empty(), "the reader accepts `{to}` for `{from}`");
    }
}

#[test]
fn forms_of_the_examples() {
    for path in yaml_files(&workspace().join("examples")) {
        let (site, _) = read_site("site.yaml", &std::fs::read(&path).unwrap());
        let form = filled_form(&site.unwrap());
        let text = form.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let name = path.file_stem().unwrap().to_str().unwrap();
        insta::assert_snapshot!(format!("form_{name}"), text);
    }
}
