//! What no file may say.

use crate::tree::{Fault, TextFile, Tree};

/// Marks of work that is not finished. Each is put together here, so that this file may be checked
/// like any other.
const UNFINISHED: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("to", "do!(")];

/// Folders of somebody's machine. A test may make up a path below the first two.
const PLACES: &[(&str, bool)] = &[
    (concat!("/tm", "p/"), true),
    (concat!("/ho", "me/"), true),
    (concat!("/ro", "ot/"), false),
    (concat!("/wo", "rk/"), false),
    (concat!("/Us", "ers/"), false),
];

/// Whether `text` holds `word` with no letter, digit or underscore at either side.
pub(super) fn holds_word(text: &str, word: &str) -> bool {
    let joins = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let open = !word.ends_with(joins);
        !before.is_some_and(joins) && (open || !after.is_some_and(joins))
    })
}

/// Whether `text` names a folder of a machine: the path begins there, rather than go through a
/// folder of that name.
fn holds_place(text: &str, place: &str) -> bool {
    let joins = |character: char| character.is_alphanumeric() || "_-.*$}~/".contains(character);
    text.match_indices(place).any(|(at, _)| !text[..at].chars().next_back().is_some_and(joins))
}

/// The lock file is Cargo's, and the licence is quoted.
fn is_ours(file: &TextFile) -> bool {
    !matches!(file.path.as_str(), "Cargo.lock" | "LICENSE")
}

/// Work that is not finished belongs into the tracker, where it is seen.
pub(super) fn unfinished(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| is_ours(file)) {
        for line in file.lines() {
            for word in UNFINISHED.iter().filter(|word| holds_word(line.text, word)) {
                faults
                    .push(file.fault(line.number, format!("`{word}`: finish it or leave it out")));
            }
        }
    }
    faults
}

/// A path of the machine on which a file was written is wrong on every other.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| is_ours(file)) {
        for line in file.lines() {
            for (place, in_tests) in PLACES {
                if holds_place(line.text, place) && !(*in_tests && line.in_test) {
                    let message = format!("`{place}` is a place on one machine");
                    faults.push(file.fault(line.number, message));
                }
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::{PLACES, UNFINISHED, holds_place, holds_word, machine_paths, unfinished};
    use crate::tree::Tree;

    #[test]
    fn words_are_whole() {
        let [word, _, crosses, call] = UNFINISHED else { panic!("four words") };
        assert!(holds_word(&format!("// {word}: later"), word));
        assert!(holds_word(word, word));
        assert!(!holds_word(&format!("{word}S"), word));
        // A template of mktemp.
        assert!(!holds_word(&format!("cotenant.{crosses}{crosses}"), crosses));
        assert!(holds_word(&format!("    {call})"), call));
    }

    #[test]
    fn unfinished_work_is_found_in_every_kind_of_file() {
        let line = format!("a\nb {} c\n", UNFINISHED[1]);
        let tree = Tree::of(&[("a.rs", &line), ("docs/b.md", &line), ("Cargo.lock", &line)]);
        let found: Vec<_> =
            unfinished(&tree).into_iter().map(|fault| (fault.path, fault.line)).collect();
        assert_eq!(found, [("a.rs".to_owned(), Some(2)), ("docs/b.md".to_owned(), Some(2))]);
    }

    #[test]
    fn a_place_begins_where_the_path_does() {
        let place = PLACES[0].0;
        assert!(holds_place(&format!("cp a {place}b"), place));
        assert!(holds_place(&format!("\"{place}b\""), place));
        assert!(!holds_place(&format!("target{place}b"), place));
        assert!(!holds_place(&format!("https://example.org{place}"), place));
    }

    #[test]
    fn tests_may_make_up_some_paths() {
        let (temporary, work) = (PLACES[0].0, PLACES[3].0);
        let code = format!("let a = \"{temporary}a\";\n#[cfg(test)]\nlet b = \"{temporary}b\";\n");
        let there = format!("{work}main\n");
        let tree = Tree::of(&[("a/src/b.rs", &code), ("a/tests/c.txt", &there)]);
        let found: Vec<_> =
            machine_paths(&tree).into_iter().map(|fault| (fault.path, fault.line)).collect();
        assert_eq!(
            found,
            [("a/src/b.rs".to_owned(), Some(1)), ("a/tests/c.txt".to_owned(), Some(1))]
        );
    }
}
