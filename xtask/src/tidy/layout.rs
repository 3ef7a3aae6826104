//! How long a file may be, and what may stand in a `mod.rs`.

use crate::tree::{Fault, Tree};

/// Lines from which a Rust file is too long to be one subject.
const LINES_MAX: usize = 700;
/// Lines from which it is remarked upon.
const LINES_LONG: usize = 600;

fn long(tree: &Tree, is_long: impl Fn(usize) -> bool) -> Vec<Fault> {
    let sources = tree.files.iter().filter(|file| file.extension() == "rs");
    let told = |(path, lines)| Fault::of(path, format!("{lines} lines; split it by subject"));
    sources
        .map(|file| (file.path.as_str(), file.text.lines().count()))
        .filter(|(_, lines)| is_long(*lines))
        .map(told)
        .collect()
}

/// Rust files that are too long.
pub(super) fn long_files(tree: &Tree) -> Vec<Fault> {
    long(tree, |lines| lines > LINES_MAX)
}

/// Rust files that will soon be too long.
pub(super) fn nearly_long_files(tree: &Tree) -> Vec<Fault> {
    long(tree, |lines| lines > LINES_LONG && lines <= LINES_MAX)
}

/// Words that begin an item which belongs into a file with a name. Constants may stay.
const ITEMS: &[&str] =
    &["fn", "struct", "enum", "union", "trait", "impl", "static", "macro_rules!"];
/// Words that may stand before them.
const MODIFIERS: &[&str] = &["pub", "const", "async", "unsafe", "extern", "default"];

/// The item that begins in this line, if it is one that a `mod.rs` may not hold.
fn item(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let first = words.find(|word| {
        let visibility = word.starts_with("pub(") || word.starts_with('"') || word.ends_with(')');
        !visibility && !MODIFIERS.contains(word)
    })?;
    // `impl<T>` and `fn name` begin alike.
    let keyword = first.split(['<', '(']).next()?;
    ITEMS.iter().find(|item| **item == keyword).copied()
}

/// A `mod.rs` says what its folder holds and passes it on; anything else could not be found by its
/// name. Below `tests` Cargo knows shared code by that name alone, so there it may hold code.
pub(super) fn mod_files(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| file.name() == "mod.rs" && !file.is_test()) {
        for line in file.lines().filter(|line| !line.in_test) {
            // What is indented lies inside of an item that is told already.
            if !line.text.starts_with([' ', '/'])
                && let Some(item) = item(line.text)
            {
                let message = format!("`{item}` in a mod.rs; give it a file with a name");
                faults.push(file.fault(line.number, message));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::{item, long_files, mod_files, nearly_long_files};
    use crate::tree::Tree;

    #[test]
    fn length_counts_rust_alone() {
        let (short, long, longer) = ("x\n".repeat(600), "x\n".repeat(700), "x\n".repeat(701));
        let tree =
            Tree::of(&[("a.rs", &short), ("b.rs", &long), ("c.rs", &longer), ("d.snap", &longer)]);
        let paths = |faults: Vec<crate::tree::Fault>| -> Vec<String> {
            faults.into_iter().map(|fault| fault.path).collect()
        };
        assert_eq!(paths(long_files(&tree)), ["c.rs"]);
        assert_eq!(paths(nearly_long_files(&tree)), ["b.rs"]);
    }

    #[test]
    fn items_are_seen_behind_their_modifiers() {
        for line in [
            "fn a() {}",
            "pub fn a() {}",
            "pub(crate) const fn a() {}",
            "pub(super) struct A;",
            "static A: u8 = 1;",
            "impl<'a> A<'a> {",
            "pub async unsafe fn a() {",
        ] {
            assert!(item(line).is_some(), "{line}");
        }
        for line in
            ["mod a;", "pub use a::{B, c};", "pub(crate) mod a;", "const A: u8 = 1;", "", "}"]
        {
            assert_eq!(item(line), None, "{line}");
        }
    }

    #[test]
    fn a_mod_file_passes_on_and_no_more() {
        let tree = Tree::of(&[
            ("a/src/b/mod.rs", "//! Docs.\n\nmod c;\n\n// fn in a comment\npub use c::d;\n"),
            (
                "a/src/e/mod.rs",
                "mod f;\n\npub(super) fn g() {}\nimpl H {\n    fn i() {}\n}\n#[cfg(test)]\nfn only_in_tests() {}\n",
            ),
            ("a/src/h/named.rs", "fn i() {}\n"),
            ("a/tests/support/mod.rs", "pub fn j() {}\n"),
        ]);
        let faults = mod_files(&tree);
        let found: Vec<_> = faults.iter().map(|fault| (fault.path.as_str(), fault.line)).collect();
        assert_eq!(found, [("a/src/e/mod.rs", Some(3)), ("a/src/e/mod.rs", Some(4))]);
    }
}
