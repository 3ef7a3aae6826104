//! The processes that this one may see: their programs, arguments and parents.

use std::collections::BTreeMap;

use crate::host::{Root, parse_process_stat};

/// Processes that are looked at, at most.
const PROCESSES_MAX: usize = 200_000;

/// What is known of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The parent.
    pub(super) parent: u32,
    /// The command line; empty for threads of the kernel.
    pub(super) arguments: Vec<String>,
}

impl Seen {
    /// The program's name without its folder.
    fn program(&self) -> &str {
        let first = self.arguments.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }
}

/// The processes by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Processes {
    /// Each.
    pub(super) all: BTreeMap<u32, Seen>,
}

impl Processes {
    /// Those below `/proc`. One that ends meanwhile is left out.
    pub(super) fn of(root: &Root) -> Self {
        let entries = std::fs::read_dir(root.path("/proc")).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let seen = |pid: u32| {
            let stat = parse_process_stat(&root.read(&format!("/proc/{pid}/stat")).ok()?).ok()?;
            let line = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let arguments =
                line.trim_end_matches('\0').split('\0').map(str::to_owned).collect::<Vec<_>>();
            let arguments = if line.is_empty() { Vec::new() } else { arguments };
            Some((pid, Seen { parent: stat.parent, arguments }))
        };
        Self { all: pids.take(PROCESSES_MAX).filter_map(seen).collect() }
    }

    /// Those of a program, ascending.
    pub(super) fn named(&self, program: &str) -> Vec<u32> {
        let is_it = |(_, seen): &(&u32, &Seen)| seen.program() == program;
        self.all.iter().filter(is_it).map(|(pid, _)| *pid).collect()
    }

    /// Whether a process is another one or descends from it.
    pub(super) fn descends(&self, pid: u32, from: u32) -> bool {
        let mut next = pid;
        // A loop cannot be, but what is read while processes end may look like one.
        for _ in 0..64 {
            if next == from {
                return true;
            }
            match self.all.get(&next) {
                Some(seen) if seen.parent != 0 => next = seen.parent,
                _ => return false,
            }
        }
        false
    }
}
