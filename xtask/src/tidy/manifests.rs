//! What the manifests say.

use std::collections::BTreeSet;

use super::words::holds_word;
use crate::tree::{Fault, TextFile, Tree};

/// One key of a manifest with what stands behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// The table it is in.
    pub(super) table: &'a str,
    /// The key up to its first dot: `a.workspace = true` is an entry of `a`.
    pub(super) key: &'a str,
    /// The rest of the line.
    pub(super) value: &'a str,
    /// Its line, from 1.
    pub(super) line: usize,
}

impl Entry<'_> {
    /// Whether it names a dependency of a crate.
    pub(super) fn is_dependency(self) -> bool {
        self.table != "workspace.dependencies" && self.table.ends_with("dependencies")
    }
}

/// The entries of a manifest. It knows as much TOML as these manifests use; tables of a single
/// dependency, which it could not see, are faults of [`versions`].
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut table = "";
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_start_matches('[').split(']').next().unwrap_or("");
        } else if !line.starts_with(['#', ' ', ']', '}'])
            && let Some((key, value)) = line.split_once('=')
        {
            let (key, value) = (key.trim(), value.trim());
            let key = key.split_once('.').map_or(key, |(name, _)| name);
            entries.push(Entry { table, key, value, line: index + 1 });
        }
    }
    entries
}

/// The manifests of the workspace's crates.
pub(super) fn members(tree: &Tree) -> impl Iterator<Item = &TextFile> {
    // The fuzz targets are a workspace of their own, and so is what drives another simulator.
    let apart = ["fuzz/", "workloads/"];
    let is_apart = move |path: &str| {
        path == "Cargo.toml" || apart.iter().any(|folder| path.starts_with(folder))
    };
    tree.files.iter().filter(move |file| file.name() == "Cargo.toml" && !is_apart(&file.path))
}

/// What the workspace's dependencies are called, the crates of the workspace apart.
pub(super) fn external(tree: &Tree) -> Vec<Entry<'_>> {
    let is_external = |entry: &Entry<'_>| {
        entry.table == "workspace.dependencies" && !entry.value.contains("path = ")
    };
    entries(tree.text("Cargo.toml").unwrap_or("")).into_iter().filter(is_external).collect()
}

/// Every crate obeys the workspace's lints.
pub(super) fn lints(tree: &Tree) -> Vec<Fault> {
    let obeys = |text: &str| {
        entries(text).iter().any(|entry| {
            entry.table == "lints" && entry.key == "workspace" && entry.value == "true"
        })
    };
    members(tree)
        .filter(|file| !obeys(&file.text))
        .map(|file| Fault::of(&file.path, "needs `[lints]` with `workspace = true`"))
        .collect()
}

/// Versions are set in one place.
pub(super) fn versions(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in members(tree) {
        for (index, line) in file.text.lines().enumerate() {
            if line.starts_with('[') && line.contains("dependencies.") {
                faults.push(file.fault(index + 1, "write the dependency on one line"));
            }
        }
        for entry in entries(&file.text).into_iter().filter(|entry| entry.is_dependency()) {
            if !entry.value.contains("workspace = true") && entry.value != "true" {
                let message = format!("`{}`: take the version from the workspace", entry.key);
                faults.push(file.fault(entry.line, message));
            }
        }
    }
    faults
}

/// What sources call a crate: the name of its library where the workspace gives it one, else that of
/// its package.
fn library_name(tree: &Tree, package: &str) -> String {
    let own = members(tree).find_map(|file| {
        let entries = entries(&file.text);
        let value = |table: &str| {
            let is_it = |entry: &&Entry<'_>| entry.table == table && entry.key == "name";
            entries.iter().find(is_it).map(|entry| entry.value.trim_matches('"'))
        };
        (value("package") == Some(package)).then(|| value("lib").map(str::to_owned)).flatten()
    });
    own.unwrap_or_else(|| package.replace('-', "_"))
}

/// Every dependency of a crate is named in its sources.
pub(super) fn idle(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in members(tree) {
        let folder = file.path.trim_end_matches("Cargo.toml");
        let sources: Vec<&str> = tree
            .files
            .iter()
            .filter(|source| source.path.starts_with(folder) && source.extension() == "rs")
            .map(|source| source.text.as_str())
            .collect();
        for entry in entries(&file.text).into_iter().filter(|entry| entry.is_dependency()) {
            let name = library_name(tree, entry.key);
            if !sources.iter().any(|source| holds_word(source, &name)) {
                faults.push(file.fault(entry.line, format!("`{}` is never used here", entry.key)));
            }
        }
    }
    faults
}

/// What the workspace lists, some crate takes.
pub(super) fn unused(tree: &Tree) -> Vec<Fault> {
    let used: BTreeSet<&str> = members(tree)
        .flat_map(|file| entries(&file.text))
        .filter(|entry| entry.is_dependency())
        .map(|entry| entry.key)
        .collect();
    external(tree)
        .into_iter()
        .filter(|entry| !used.contains(entry.key))
        .map(|entry| Fault {
            path: "Cargo.toml".to_owned(),
            line: Some(entry.line),
            message: format!("no crate uses `{}`", entry.key),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{entries, idle, lints, unused, versions};
    use crate::tree::Tree;

    const ROOT: &str = "[workspace]\nmembers = [\n    \"a\",\n]\n[workspace.dependencies]\n\
        own = { path = \"crates/own\" }\nused = \"1\"\nidle = \"2\"\n";

    #[test]
    fn entries_know_their_table() {
        let text = "[package]\nname = \"a\"\nversion.workspace = true\n\n[dev-dependencies]\n# no = 1\n\
            b = { workspace = true, features = [\n    \"c\",\n] }\n[[bin]]\npath = \"x\"\n";
        let seen: Vec<_> =
            entries(text).into_iter().map(|entry| (entry.table, entry.key, entry.line)).collect();
        assert_eq!(
            seen,
            [
                ("package", "name", 2),
                ("package", "version", 3),
                ("dev-dependencies", "b", 7),
                ("bin", "path", 11)
            ]
        );
    }

    #[test]
    fn a_crate_without_the_lints_is_a_fault() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("crates/b/Cargo.toml", "[lints]\n[dependencies]\nworkspace = true\n"),
        ]);
        let faults = lints(&tree);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].path, "crates/b/Cargo.toml");
    }

    #[test]
    fn a_version_of_a_crates_own_is_a_fault() {
        let tree = Tree::of(&[(
            "crates/a/Cargo.toml",
            "[dependencies]\na = { workspace = true }\nb.workspace = true\nc = \"1\"\n\
             [dev-dependencies.d]\nversion = \"1\"\n",
        )]);
        let lines: Vec<_> = versions(&tree).into_iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [Some(5), Some(4)]);
    }

    #[test]
    fn a_dependency_that_no_source_names_is_a_fault() {
        let tree = Tree::of(&[
            (
                "crates/a/Cargo.toml",
                "[dependencies]\nb-c = { workspace = true }\nd = { workspace = true }\n",
            ),
            ("crates/a/src/lib.rs", "use b_c::E;\n"),
            ("crates/f/src/lib.rs", "use d::E;\n"),
        ]);
        let faults = idle(&tree);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].line, Some(3));
    }

    #[test]
    fn what_nobody_uses_is_a_fault() {
        let tree = Tree::of(&[
            ("Cargo.toml", ROOT),
            ("crates/a/Cargo.toml", "[dependencies]\nused = { workspace = true }\n"),
        ]);
        let faults = unused(&tree);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].line, Some(8));
    }
}
