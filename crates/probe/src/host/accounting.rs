//! CPU time of a set of processes whose members come and go.
//!
//! The kernel keeps a process's time until its parent has waited for it, and then adds it to the
//! parent's time of waited-for children. So between two looks the set used
//!
//! `Σ Δown + max(0, Σ Δreaped − Σ what the vanished had already been counted for)`
//!
//! with `own` and `reaped` the times of `proc_pid_stat(5)`. The first sum is of processes that are
//! there now; the second is what children that ended between the looks used after the first one.
//! Both are at least zero, whoever exits. What is not seen is the last part of a process whose parent
//! is outside the set (the first process of a workload) or does not wait for it: at most one interval
//! of one process, and too little rather than too much.

use std::collections::BTreeMap;

use super::process::{Identity, ProcessStat};

/// What was counted of each process at the last look.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    seen: BTreeMap<Identity, Account>,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    own_ticks: u64,
    reaped_ticks: u64,
    parent: u32,
}

impl Accounts {
    /// Ticks used since the last look, which this look then is. A process that was not there then
    /// counts in full if it was started since (`since_ticks`, after boot), and else from now on: it
    /// was there, but not known to belong.
    pub(super) fn used_ticks(&mut self, processes: &[&ProcessStat], since_ticks: u64) -> u64 {
        let before = std::mem::take(&mut self.seen);
        let (mut own, mut reaped) = (0_u64, 0_u64);
        for process in processes {
            let account = Account {
                own_ticks: process.own_ticks(),
                reaped_ticks: process.reaped_ticks,
                parent: process.parent,
            };
            let base = match before.get(&process.identity()) {
                Some(base) => *base,
                None if process.start_ticks >= since_ticks => {
                    Account { own_ticks: 0, reaped_ticks: 0, parent: 0 }
                }
                None => account,
            };
            own += account.own_ticks.saturating_sub(base.own_ticks);
            reaped += account.reaped_ticks.saturating_sub(base.reaped_ticks);
            self.seen.insert(process.identity(), account);
        }
        let was_inside = |pid: u32| before.keys().any(|identity| identity.pid == pid);
        let counted: u64 = before
            .iter()
            .filter(|(identity, account)| {
                !self.seen.contains_key(identity) && was_inside(account.parent)
            })
            .map(|(_, account)| account.own_ticks + account.reaped_ticks)
            .sum();
        own + reaped.saturating_sub(counted)
    }

    /// Ticks that its processes used themselves since the last look, without waited-for children.
    pub(super) fn own_ticks(&mut self, processes: &[&ProcessStat], since_ticks: u64) -> u64 {
        let alone: Vec<ProcessStat> = processes
            .iter()
            .map(|process| ProcessStat { reaped_ticks: 0, ..(*process).clone() })
            .collect();
        self.used_ticks(&alone.iter().collect::<Vec<_>>(), since_ticks)
    }

    /// The processes of the last look.
    pub(super) fn identities(&self) -> impl Iterator<Item = Identity> {
        self.seen.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn process(pid: u32, parent: u32, own: u64, reaped: u64, start: u64) -> ProcessStat {
        ProcessStat {
            pid,
            state: 'R',
            parent,
            group: 1,
            session: 1,
            user_ticks: own,
            system_ticks: 0,
            reaped_ticks: reaped,
            nice: 0,
            start_ticks: start,
            resident_pages: 0,
            policy: 0,
        }
    }

    fn used(accounts: &mut Accounts, processes: &[ProcessStat], since: u64) -> u64 {
        accounts.used_ticks(&processes.iter().collect::<Vec<_>>(), since)
    }

    #[test]
    fn a_child_that_ended_is_found_in_its_parent() {
        let mut accounts = Accounts::default();
        used(&mut accounts, &[process(1, 0, 100, 0, 1), process(2, 1, 50, 0, 1)], 5);
        // The child used 8 more and was waited for; the parent used 3.
        assert_eq!(used(&mut accounts, &[process(1, 0, 103, 58, 1)], 10), 11);
        // A child that came and went between two looks.
        assert_eq!(used(&mut accounts, &[process(1, 0, 103, 65, 1)], 20), 7);
    }

    #[test]
    fn a_grandchild_is_counted_once() {
        let mut accounts = Accounts::default();
        let tree = [process(1, 0, 10, 0, 1), process(2, 1, 20, 0, 1), process(3, 2, 30, 0, 1)];
        used(&mut accounts, &tree, 5);
        // 3 used 4 more and ended, then 2 used 5 more and ended.
        assert_eq!(used(&mut accounts, &[process(1, 0, 10, 59, 1)], 10), 9);
    }

    #[test]
    fn a_first_process_that_ended_makes_nothing_negative() {
        let mut accounts = Accounts::default();
        used(&mut accounts, &[process(1, 0, 1000, 500, 1), process(2, 1, 50, 0, 1)], 5);
        assert_eq!(used(&mut accounts, &[process(2, 9, 60, 0, 1)], 10), 10);
        assert_eq!(used(&mut accounts, &[], 20), 0);
    }

    #[test]
    fn the_young_count_in_full_and_the_newly_known_do_not() {
        let mut accounts = Accounts::default();
        used(&mut accounts, &[process(1, 0, 0, 0, 1)], 5);
        let now = [process(1, 0, 0, 0, 1), process(2, 1, 7, 0, 100), process(3, 1, 900, 0, 2)];
        assert_eq!(used(&mut accounts, &now, 100), 7);
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let mut accounts = Accounts::default();
        used(&mut accounts, &[process(1, 0, 500, 0, 1)], 5);
        assert_eq!(used(&mut accounts, &[process(1, 0, 4, 0, 90)], 50), 4);
    }

    proptest! {
        #[test]
        fn the_time_used_is_at_least_what_the_living_used(
            before in proptest::collection::vec((1u32..6, 0u32..6, 0u64..1000, 0u64..1000), 0..6),
            after in proptest::collection::vec((1u32..6, 0u32..6, 0u64..1000, 0u64..1000), 0..6),
        ) {
            let table = |rows: &[(u32, u32, u64, u64)]| -> Vec<ProcessStat> {
                rows.iter().map(|row| process(row.0, row.1, row.2, row.3, 1)).collect()
            };
            let mut accounts = Accounts::default();
            used(&mut accounts, &table(&before), 5);
            let sum = used(&mut accounts, &table(&after), 5);
            let most: u64 = after.iter().map(|row| row.2 + row.3).sum();
            prop_assert!(sum <= most);
        }
    }
}
