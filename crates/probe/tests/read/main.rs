//! The door through which files come in: every file of the shared tree, files made by us, and damage.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damage;
mod fixtures;
mod kinds;
mod tree;
mod values;

use std::path::PathBuf;

/// The folder of real files; `None`, with a printed reason, where it is not there.
#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn data() -> Option<PathBuf> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data");
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "{} is missing", path.display());
    println!("skipped: {} is missing", path.display());
    None
}
