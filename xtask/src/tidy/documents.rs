//! The documents are true: links lead somewhere, tables list what there is.

use std::collections::BTreeSet;

use super::manifests::external;
use crate::tree::{Fault, TextFile, Tree};

/// The anchor that a heading of Markdown gets on GitHub.
fn anchor(heading: &str) -> String {
    let kept = |character: &char| character.is_alphanumeric() || "-_ ".contains(*character);
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

/// The lines of a document outside of fenced code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((index + 1, line))
    })
}

fn anchors(text: &str) -> BTreeSet<String> {
    let heading = |(_, line): (usize, &str)| {
        line.starts_with('#').then(|| anchor(line.trim_start_matches('#')))
    };
    prose(text).filter_map(heading).collect()
}

/// The path that a link in `from` leads to, from the root.
fn resolved(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The targets of the links in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

fn link_fault(tree: &Tree, file: &TextFile, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { file.path.clone() } else { resolved(&file.path, path) };
    let is_folder = tree.paths.iter().any(|known| known.starts_with(&format!("{path}/")));
    if !tree.paths.contains(&path) && !is_folder {
        return Some(format!("the link leads to `{path}`, which is not here"));
    }
    let known = fragment.is_empty() || anchors(tree.text(&path)?).contains(fragment);
    (!known).then(|| format!("`{path}` has no heading for `#{fragment}`"))
}

/// Links between the documents lead to files and headings that exist.
pub(super) fn links(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| file.extension() == "md") {
        for (number, line) in prose(&file.text) {
            let wrong = targets(line).filter_map(|target| link_fault(tree, file, target));
            faults.extend(wrong.map(|message| file.fault(number, message)));
        }
    }
    faults
}

/// The documents that a line mentions by their path from the root.
fn mentioned(line: &str) -> impl Iterator<Item = &str> {
    let joins = |character: char| character.is_alphanumeric() || "/._-".contains(character);
    line.match_indices("docs/").filter_map(move |(at, _)| {
        if line[..at].chars().next_back().is_some_and(joins) {
            return None;
        }
        let path = line[at..].split(|character| !joins(character)).next()?;
        let path = path.trim_end_matches('.');
        path.rsplit('/').next()?.contains('.').then_some(path)
    })
}

/// A document that code, help or another document sends its reader to is there.
pub(super) fn mentions(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| !file.is_test()) {
        for line in file.lines().filter(|line| !line.in_test) {
            for path in mentioned(line.text).filter(|path| !tree.paths.contains(*path)) {
                faults
                    .push(file.fault(line.number, format!("mentions `{path}`, which is not here")));
            }
        }
    }
    faults
}

/// What the first cells of a table's rows quote as code.
fn first_cells(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).filter_map(|(number, line)| {
        let cell = line.strip_prefix("| `")?;
        Some((number, cell.split('`').next()?))
    })
}

/// The part of a document below the heading `## title`.
fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let heading = format!("\n## {title}\n");
    let Some(start) = text.find(&heading) else { return "" };
    let rest = &text[start + heading.len()..];
    rest.split("\n## ").next().unwrap_or(rest)
}

/// CONTRIBUTING.md argues for every dependency, and for none that is gone.
pub(super) fn dependency_table(tree: &Tree) -> Vec<Fault> {
    const DOCUMENT: &str = "CONTRIBUTING.md";
    let table = section(tree.text(DOCUMENT).unwrap_or(""), "Dependencies");
    let argued: BTreeSet<&str> = first_cells(table).map(|(_, name)| name).collect();
    let used: BTreeSet<&str> = external(tree).into_iter().map(|entry| entry.key).collect();
    let missing = used
        .difference(&argued)
        .map(|name| Fault::of(DOCUMENT, format!("says no reason for the dependency `{name}`")));
    let gone = argued
        .difference(&used)
        .map(|name| Fault::of(DOCUMENT, format!("argues for `{name}`, which is no dependency")));
    missing.chain(gone).collect()
}

/// The exit codes that the source of the binary declares.
fn declared_codes(source: &str) -> BTreeSet<&str> {
    let body = source.split("enum Code {").nth(1).unwrap_or("");
    let body = body.split("\n}").next().unwrap_or("");
    let code = |line: &'_ str| -> Option<(usize, usize)> {
        let (_, value) = line.split_once(" = ")?;
        let value = value.strip_suffix(',')?;
        value
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some((line.len() - value.len() - 1, value.len()))
    };
    body.lines().filter_map(|line| code(line).map(|(at, length)| &line[at..at + length])).collect()
}

/// The documented exit codes are those of the binary.
pub(super) fn exit_codes(tree: &Tree) -> Vec<Fault> {
    const SOURCE: &str = "crates/cotenant/src/exit.rs";
    const DOCUMENT: &str = "docs/exit-codes.md";
    let declared = declared_codes(tree.text(SOURCE).unwrap_or(""));
    if declared.is_empty() {
        return vec![Fault::of(SOURCE, "declares no exit codes where they were looked for")];
    }
    let documented: BTreeSet<&str> =
        first_cells(tree.text(DOCUMENT).unwrap_or("")).map(|(_, code)| code).collect();
    let missing = declared
        .difference(&documented)
        .map(|code| Fault::of(DOCUMENT, format!("does not explain exit code {code}")));
    let gone = documented.difference(&declared).map(|code| {
        Fault::of(DOCUMENT, format!("explains exit code {code}, which does not exist"))
    });
    missing.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::{anchor, dependency_table, exit_codes, links, mentions, resolved};
    use crate::tree::Tree;

    fn messages(faults: Vec<crate::tree::Fault>) -> Vec<String> {
        faults.into_iter().map(|fault| fault.to_string()).collect()
    }

    #[test]
    fn anchors_are_as_on_github() {
        assert_eq!(anchor(" How to add a field, or two"), "how-to-add-a-field-or-two");
        assert_eq!(anchor(" `try` and `measure`"), "try-and-measure");
    }

    #[test]
    fn links_are_followed_from_their_file() {
        assert_eq!(resolved("docs/a.md", "../b.md"), "b.md");
        assert_eq!(resolved("docs/a.md", "c/d.png"), "docs/c/d.png");
        let tree = Tree::of(&[
            ("README.md", "[a](docs/a.md) [b](docs/a.md#one-two) ![c](docs/none.png)\n"),
            ("docs/a.md", "# One, two\n[d](#three) [e](..) [f](https://example.org/x)\n"),
            ("docs/b.md", "```\n[g](nowhere.md)\n```\n[h](../README.md)\n"),
        ]);
        assert_eq!(
            messages(links(&tree)),
            [
                "README.md:1: the link leads to `docs/none.png`, which is not here",
                "docs/a.md:2: `docs/a.md` has no heading for `#three`",
                "docs/a.md:2: the link leads to ``, which is not here",
            ]
        );
    }

    #[test]
    fn a_mentioned_document_must_be_there() {
        let tree = Tree::of(&[
            ("docs/a.md", "see docs/a.md.\n"),
            ("crates/a/src/b.rs", "//! `docs/gone.md` tells\n// https://example.org/docs/x.md\n"),
            ("crates/a/tests/c.rs", "// docs/made-up.md\n"),
        ]);
        assert_eq!(
            messages(mentions(&tree)),
            ["crates/a/src/b.rs:1: mentions `docs/gone.md`, which is not here"]
        );
    }

    #[test]
    fn dependencies_are_argued_for() {
        let tree = Tree::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\na = \"1\"\nb = \"2\"\nc = { path = \"c\" }\n",
            ),
            (
                "CONTRIBUTING.md",
                "# X\n| `no` | \n\n## Dependencies\n\n| `a` | why |\n| `z` | why |\n\n## Next\n",
            ),
        ]);
        assert_eq!(
            messages(dependency_table(&tree)),
            [
                "CONTRIBUTING.md: says no reason for the dependency `b`",
                "CONTRIBUTING.md: argues for `z`, which is no dependency",
            ]
        );
    }

    #[test]
    fn exit_codes_are_explained() {
        let source = "enum Code {\n    /// Fine.\n    Fine = 0,\n    Bug = 70,\n}\nlet a = 1;\n";
        let document = "| `0` | fine |\n| `9` | what? |\n";
        let tree =
            Tree::of(&[("crates/cotenant/src/exit.rs", source), ("docs/exit-codes.md", document)]);
        assert_eq!(
            messages(exit_codes(&tree)),
            [
                "docs/exit-codes.md: does not explain exit code 70",
                "docs/exit-codes.md: explains exit code 9, which does not exist",
            ]
        );
        assert_eq!(exit_codes(&Tree::of(&[])).len(), 1);
    }
}
