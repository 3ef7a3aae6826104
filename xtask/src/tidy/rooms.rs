//! Which crate may know what: the rooms of ARCHITECTURE.md.

use super::manifests::{entries, members};
use crate::tree::{Fault, Tree};

/// What the manifest of a crate may not name, and why.
struct Room {
    manifest: &'static str,
    reason: &'static str,
    closed_to: &'static [&'static str],
}

const ROOMS: &[Room] = &[
    Room {
        manifest: "crates/core/Cargo.toml",
        reason: "core knows no file, no wire and no clock",
        closed_to: &[
            "axum",
            "cotenant",
            "cotenant-engine",
            "cotenant-probe",
            "cotenant-records",
            "cotenant-report",
            "hyper",
            "hyper-util",
            "reqwest",
            "rustix",
            "schemars",
            "serde",
            "serde_json",
            "tokio",
        ],
    },
    Room {
        manifest: "crates/records/Cargo.toml",
        reason: "records turns text into core types and back, and talks to nobody",
        closed_to: &[
            "axum",
            "cotenant",
            "cotenant-engine",
            "cotenant-probe",
            "cotenant-report",
            "hyper",
            "hyper-util",
            "reqwest",
            "tokio",
        ],
    },
    Room {
        manifest: "crates/probe/Cargo.toml",
        reason: "probe looks; it knows no file format of ours and shows nothing",
        closed_to: &["axum", "cotenant", "cotenant-engine", "cotenant-records", "cotenant-report"],
    },
    Room {
        manifest: "crates/report/Cargo.toml",
        reason: "a report is made from core types alone",
        closed_to: &[
            "axum",
            "cotenant",
            "cotenant-engine",
            "cotenant-probe",
            "cotenant-records",
            "hyper",
            "hyper-util",
            "reqwest",
            "rustix",
            "tokio",
        ],
    },
    Room {
        manifest: "crates/engine/Cargo.toml",
        reason: "the reference workloads stand alone: no verdict may come to depend on them",
        closed_to: &[
            "cotenant",
            "cotenant-core",
            "cotenant-probe",
            "cotenant-records",
            "cotenant-report",
        ],
    },
    Room {
        manifest: "xtask/Cargo.toml",
        reason: "a check of texts must not need the matrix kernels built",
        closed_to: &["cotenant", "cotenant-engine"],
    },
];

/// No manifest names what its room is closed to, not even for tests.
pub(super) fn dependencies(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in members(tree) {
        let Some(room) = ROOMS.iter().find(|room| room.manifest == file.path) else { continue };
        for entry in entries(&file.text).into_iter().filter(|entry| entry.is_dependency()) {
            if room.closed_to.contains(&entry.key) {
                faults.push(file.fault(entry.line, format!("`{}`: {}", entry.key, room.reason)));
            }
        }
    }
    faults
}

/// What no source of core may say, in tests neither: a clock, a file, a socket, the environment, a
/// global random number generator, a wire format.
const OUTSIDE_CORE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::os",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "ZonedDateTime::now",
    "TimeZone::system",
    "thread::sleep",
    "rand::rng",
    "from_os_rng",
    "Serialize",
    "Deserialize",
];

/// Lines of code, comments apart, that say one of some words.
fn sources_that_say(tree: &Tree, below: &[&str], words: &[&str], why: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let is_below = |path: &str| below.iter().any(|prefix| path.starts_with(prefix));
    for file in tree.files.iter().filter(|file| file.extension() == "rs" && is_below(&file.path)) {
        for line in file.lines() {
            let code = line.text.split("//").next().unwrap_or("");
            for word in words.iter().filter(|word| code.contains(**word)) {
                faults.push(file.fault(line.number, format!("`{word}`: {why}")));
            }
        }
    }
    faults
}

/// Core gives the same output for the same input.
pub(super) fn core_sources(tree: &Tree) -> Vec<Fault> {
    let why = "core reads nothing but its arguments";
    sources_that_say(tree, &["crates/core/src/"], OUTSIDE_CORE, why)
}

/// Renderers see the report and nothing that it was computed from, so that any number in the page or
/// the terminal is in the JSON.
pub(super) fn renderers(tree: &Tree) -> Vec<Fault> {
    let renderers = [
        "crates/report/src/export/",
        "crates/report/src/html/",
        "crates/report/src/json.rs",
        "crates/report/src/plan/html/",
        "crates/report/src/plan/json.rs",
        "crates/report/src/plan/model/",
        "crates/report/src/plan/terminal/",
        "crates/report/src/reading/json.rs",
        "crates/report/src/reading/model.rs",
        "crates/report/src/reading/terminal.rs",
        "crates/report/src/terminal/",
    ];
    let why = "a renderer sees the model alone and computes no number";
    sources_that_say(tree, &renderers, &["cotenant_core", "crate::build"], why)
}

#[cfg(test)]
mod tests {
    use super::{ROOMS, core_sources, dependencies, renderers};
    use crate::tree::{Tree, root};

    #[test]
    fn every_room_refuses_what_it_is_closed_to() {
        for room in ROOMS {
            for guest in room.closed_to {
                let manifest = format!("[dev-dependencies]\n{guest} = {{ workspace = true }}\n");
                assert_eq!(dependencies(&Tree::of(&[(room.manifest, &manifest)])).len(), 1);
            }
            assert!(root().join(room.manifest).is_file(), "{} has moved", room.manifest);
        }
    }

    #[test]
    fn core_may_not_look_out() {
        let code = "//! Not std::fs.\nuse std::time::Duration;\nlet now = Instant::now();\n";
        let tree = Tree::of(&[("crates/core/src/a.rs", code), ("crates/probe/src/a.rs", code)]);
        let faults = core_sources(&tree);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].line, Some(3));
    }

    #[test]
    fn renderers_see_the_model_alone() {
        let code = "use cotenant_core::verdict::Verdict;\n";
        let tree = Tree::of(&[
            ("crates/report/src/html/a.rs", code),
            ("crates/report/src/build/a.rs", code),
        ]);
        assert_eq!(renderers(&tree).len(), 1);
    }
}
