//! The files that git tracks, as text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// One text file of the repository.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// Path from the root, with `/` between folders.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

impl TextFile {
    /// What the path ends with, behind the last dot.
    pub(crate) fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&self.path, |(_, name)| name)
    }

    /// Whether the whole file is part of a test.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests") || self.name() == "tests.rs"
    }

    /// The lines with their numbers, from 1, and whether each is part of a test: what follows
    /// `#[cfg(test)]` in a Rust file is, for test modules stand at the end of their file.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut in_test = self.is_test();
        self.text.lines().enumerate().map(move |(index, text)| {
            in_test |= self.extension() == "rs" && text.trim_start().starts_with("#[cfg(test)]");
            Line { number: index + 1, text, in_test }
        })
    }

    /// A fault at a line of this file.
    pub(crate) fn fault(&self, line: usize, message: impl Into<String>) -> Fault {
        Fault { path: self.path.clone(), line: Some(line), message: message.into() }
    }
}

/// One line of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// Without the line end.
    pub(crate) text: &'a str,
    /// Whether it is part of a test.
    pub(crate) in_test: bool,
}

/// Something that is out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Path from the root.
    pub(crate) path: String,
    /// Line, from 1, where there is one.
    pub(crate) line: Option<usize>,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

impl Fault {
    /// A fault of a whole file.
    pub(crate) fn of(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.path, self.message),
            None => write!(formatter, "{}: {}", self.path, self.message),
        }
    }
}

/// All tracked files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Those that are text.
    pub(crate) files: Vec<TextFile>,
    /// The paths of all, text or not.
    pub(crate) paths: BTreeSet<String>,
}

impl Tree {
    /// Reads what git tracks below `root`. A file that is tracked but gone is passed over: git says
    /// so itself.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["ls-files", "-z"])
            .output()
            .context("git must list the files of this checkout")?;
        if !output.status.success() {
            bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let mut tree = Self::default();
        for path in String::from_utf8(output.stdout)?.split_terminator('\0') {
            let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
            tree.paths.insert(path.to_owned());
            if let Ok(text) = String::from_utf8(bytes) {
                tree.files.push(TextFile { path: path.to_owned(), text });
            }
        }
        Ok(tree)
    }

    /// The text of a file, if it is there.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// A tree of made-up files, for tests of the rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self {
            files: files.iter().map(file).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
        }
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}
