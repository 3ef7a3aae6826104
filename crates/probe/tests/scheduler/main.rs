//! What schedulers printed on real machines, against what a person reads in the files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod files;
mod kubernetes;
mod properties;
mod slurm;
mod slurm_json;

use std::path::PathBuf;

use cotenant_probe::scheduler::{Reading, read};

/// The folder of the collected outputs; `None`, and said so, where it is missing.
#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn data() -> Option<PathBuf> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data");
    if path.is_dir() {
        return Some(path);
    }
    let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|value| value == "1");
    assert!(!required, "{} is missing", path.display());
    println!("skipped: {} is missing", path.display());
    None
}

fn bytes(path: &str) -> Option<Vec<u8>> {
    let path = data()?.join("4-device-sched").join(path);
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A file of the collection, read.
fn reading(path: &str) -> Option<Reading> {
    Some(read(path, &bytes(path)?).unwrap_or_else(|error| panic!("{error}")))
}

/// A text as a file, read.
fn of_text(text: &str) -> Reading {
    read("given", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}
