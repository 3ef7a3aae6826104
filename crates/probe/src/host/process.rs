//! Processes, from `/proc/<pid>/stat`, and who descends from whom.
//!
//! Source of the fields: `proc_pid_stat(5)`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cotenant_core::evidence::{Missing, Reading};

/// What `/proc/<pid>/stat` says about one process. Ticks are of `sysconf(_SC_CLK_TCK)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Process id.
    pub pid: u32,
    /// State letter: R, S, D, T, Z, …
    pub state: char,
    /// Process id of the parent.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Session.
    pub session: u32,
    /// CPU in user mode of its own threads, ticks.
    pub user_ticks: u64,
    /// CPU in kernel mode of its own threads, ticks.
    pub system_ticks: u64,
    /// CPU of its children that it has waited for, and of theirs, user and kernel, ticks.
    pub reaped_ticks: u64,
    /// Nice value, −20 to 19.
    pub nice: i32,
    /// Start, ticks after boot. With the pid it names a process for good: pids are used again.
    pub start_ticks: u64,
    /// Resident memory, pages.
    pub resident_pages: u64,
    /// Scheduling policy of its main thread (`SCHED_OTHER` is 0, `SCHED_IDLE` is 5).
    pub policy: u32,
}

impl ProcessStat {
    /// CPU of its own threads, ticks.
    pub fn own_ticks(&self) -> u64 {
        self.user_ticks.saturating_add(self.system_ticks)
    }

    /// Whether it still runs: a zombie has given everything back but its number.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// What names this process for good.
    pub fn identity(&self) -> Identity {
        Identity { pid: self.pid, start_ticks: self.start_ticks }
    }
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Process id.
    pub pid: u32,
    /// Start, ticks after boot.
    pub start_ticks: u64,
}

/// Reads the text of `/proc/<pid>/stat`. The name in parentheses may hold anything, parentheses
/// too, so the fields are counted from the last one.
pub fn parse_process_stat(text: &str) -> Reading<ProcessStat> {
    let bad = |what: &str| Missing(format!("process stat: {what}"));
    let (pid, rest) = text.split_once(" (").ok_or_else(|| bad("no name"))?;
    let (_, rest) = rest.rsplit_once(')').ok_or_else(|| bad("the name does not end"))?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // `fields[0]` is field 3 of the manual page.
    let field = |number: usize| {
        fields.get(number - 3).copied().ok_or_else(|| bad(&format!("field {number} is absent")))
    };
    let count = |number: usize| {
        field(number)?.parse::<u64>().map_err(|_| bad(&format!("field {number} is no count")))
    };
    let id = |number: usize| {
        field(number)?.parse::<u32>().map_err(|_| bad(&format!("field {number} is no id")))
    };
    // The manual page calls the times of waited-for children signed; they are never negative.
    let reaped_ticks = count(16)?.saturating_add(count(17)?);
    Ok(ProcessStat {
        pid: pid.trim().parse().map_err(|_| bad("the pid is no number"))?,
        state: field(3)?.chars().next().ok_or_else(|| bad("no state"))?,
        parent: id(4)?,
        group: id(5)?,
        session: id(6)?,
        user_ticks: count(14)?,
        system_ticks: count(15)?,
        reaped_ticks,
        nice: field(19)?.parse().map_err(|_| bad("the nice value is no number"))?,
        start_ticks: count(22)?,
        resident_pages: count(24)?,
        policy: id(41)?,
    })
}

/// Reads one process. Linux gives names as bytes, so the text need not be UTF-8.
pub fn read_process(proc: &Path, pid: u32) -> Reading<ProcessStat> {
    let path = proc.join(pid.to_string()).join("stat");
    let bytes =
        std::fs::read(&path).map_err(|error| Missing(format!("{}: {error}", path.display())))?;
    parse_process_stat(&String::from_utf8_lossy(&bytes))
}

/// Every process that could be seen at about one moment.
#[derive(Clone, Debug, Default)]
pub struct ProcessTable {
    by_pid: BTreeMap<u32, ProcessStat>,
    children: BTreeMap<u32, Vec<u32>>,
}

impl ProcessTable {
    /// Reads every process under `proc` (`/proc`, or a fixture). Processes that end while it reads
    /// are left out; a `proc` that cannot be listed is an error.
    pub fn scan(proc: &Path) -> Reading<Self> {
        let entries = std::fs::read_dir(proc)
            .map_err(|error| Missing(format!("{}: {error}", proc.display())))?;
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Ok(Self::from_processes(pids.filter_map(|pid: u32| read_process(proc, pid).ok())))
    }

    /// A table of these processes.
    pub fn from_processes(processes: impl IntoIterator<Item = ProcessStat>) -> Self {
        let mut table = Self::default();
        for process in processes {
            table.children.entry(process.parent).or_default().push(process.pid);
            table.by_pid.insert(process.pid, process);
        }
        table
    }

    /// The process with this number.
    pub fn get(&self, pid: u32) -> Option<&ProcessStat> {
        self.by_pid.get(&pid)
    }

    /// The same process, if it is still there: a later one with its number is not it.
    pub fn find(&self, identity: Identity) -> Option<&ProcessStat> {
        self.get(identity.pid).filter(|process| process.start_ticks == identity.start_ticks)
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = &ProcessStat> {
        self.by_pid.values()
    }

    /// Direct children of a process.
    pub fn children_of(&self, pid: u32) -> impl Iterator<Item = &ProcessStat> {
        self.children.get(&pid).into_iter().flatten().filter_map(|child| self.get(*child))
    }

    /// Children, their children and so on, without `pid` itself.
    pub fn descendants_of(&self, pid: u32) -> Vec<&ProcessStat> {
        let mut seen = BTreeSet::from([pid]);
        let mut found = Vec::new();
        let mut open = vec![pid];
        while let Some(parent) = open.pop() {
            for child in self.children_of(parent) {
                // A table is not of one instant, so a number used again could close a circle.
                if seen.insert(child.pid) {
                    found.push(child);
                    open.push(child.pid);
                }
            }
        }
        found
    }
}

/// Time on a CPU, nanoseconds, of the process or thread with this folder below `/proc`: the first
/// number of its `schedstat` (`Documentation/scheduler/sched-stats.rst`). The ticks of `stat` are too
/// coarse for what lasts a second.
pub(crate) fn run_ns(folder: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("{folder}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = "7183 (a b) c) S 7175 7100 7000 0 -1 4194560 1815 26071 0 2 100 20 18 3 20 \
                        -5 1 0 62013 5124096 935 18446744073709551615 1 1 1 0 0 0 65536 4 \
                        1132560123 1 0 0 17 1 0 5 0 0 0 0 0 0 0 0 0 0 0";

    fn process(pid: u32, parent: u32) -> ProcessStat {
        ProcessStat { pid, parent, ..parse_process_stat(LINE).unwrap() }
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_shifts_no_field() {
        let stat = parse_process_stat(LINE).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.group, stat.session), (7183, 7175, 7100, 7000));
        assert_eq!((stat.own_ticks(), stat.reaped_ticks), (120, 21));
        assert_eq!((stat.nice, stat.start_ticks, stat.resident_pages), (-5, 62013, 935));
        assert_eq!((stat.policy, stat.state), (5, 'S'));
    }

    #[test]
    fn the_own_process_reads_as_itself() {
        let stat = read_process(Path::new("/proc"), std::process::id()).unwrap();
        assert_eq!(stat.pid, std::process::id());
        assert!(stat.is_alive() && stat.resident_pages > 0);
    }

    #[test]
    fn a_cut_line_is_an_error() {
        for end in [0, 5, 12, 40, 120] {
            assert!(parse_process_stat(&LINE[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn descendants_skip_strangers_and_survive_a_circle() {
        let table = ProcessTable::from_processes([
            process(2, 1),
            process(3, 2),
            process(4, 3),
            process(9, 1),
            process(5, 6),
            process(6, 5),
        ]);
        let pids: Vec<u32> = table.descendants_of(2).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [3, 4]);
        assert_eq!(table.descendants_of(5).len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_process_stat(&text);
            let _ = parse_process_stat(&String::from_utf8_lossy(&bytes));
            let _ = parse_process_stat(&format!("1 (x) {text}"));
        }
    }
}
