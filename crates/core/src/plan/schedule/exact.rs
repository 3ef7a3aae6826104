//! Small questions are answered by looking at every schedule that could be the best one.
//!
//! What a schedule is worth is a sum over jobs, compared level by level. That order agrees with
//! addition, so the sum of what each remaining job could reach alone bounds what they can reach
//! together, and a branch that is no better than the best schedule so far is left.

use std::cmp::Ordering;

use super::draft::Draft;
use super::task::{Clock, Piece, Task, Worth};
use crate::plan::Problem;

/// Ways to run that are listed for one task at most.
const WAYS_MAX: usize = 4_096;

/// Branches that are looked at, at most.
const BRANCHES_MAX: u64 = 2_000_000;

/// A way in which one task may run.
struct Way {
    pieces: Vec<Piece>,
    worth: Worth,
}

/// The best schedule; `None` where the question is too large to look at every one.
pub(super) fn exact(problem: &Problem, tasks: &[Task], clock: &Clock) -> Option<Draft> {
    let empty = Draft::empty(problem, tasks);
    let mut ways = Vec::with_capacity(tasks.len());
    for task in tasks {
        ways.push(ways_of(task, &empty, clock)?);
    }
    let mut ahead = vec![Worth::default(); tasks.len() + 1];
    for job in (0..tasks.len()).rev() {
        let alone = ways[job].first().map_or(Worth::default(), |way| way.worth);
        ahead[job] = ahead[job + 1].plus(alone);
    }
    let mut branch = Branch { tasks, clock, ways: &ways, ahead: &ahead, best: None, looked_at: 0 };
    branch.descend(0, Worth::default(), &mut empty.clone());
    if branch.looked_at > BRANCHES_MAX { None } else { branch.best.map(|(draft, _)| draft) }
}

struct Branch<'a> {
    tasks: &'a [Task],
    clock: &'a Clock,
    ways: &'a [Vec<Way>],
    /// What the jobs from each on could reach alone.
    ahead: &'a [Worth],
    best: Option<(Draft, Worth)>,
    looked_at: u64,
}

impl Branch<'_> {
    fn descend(&mut self, job: usize, so_far: Worth, draft: &mut Draft) {
        if job == self.tasks.len() {
            if self.improves(&so_far) {
                self.best = Some((draft.clone(), so_far));
            }
            return;
        }
        let (task, ways, ahead) = (&self.tasks[job], self.ways, self.ahead);
        for way in &ways[job] {
            self.looked_at += 1;
            if self.looked_at > BRANCHES_MAX {
                return;
            }
            let with = so_far.plus(way.worth);
            // Ways are in order of worth: what follows is worse still.
            if !self.improves(&with.plus(ahead[job + 1])) {
                return;
            }
            let gpus = |piece: &Piece| task.modes[piece.mode].gpus;
            let fits = way.pieces.iter().all(|piece| {
                (piece.from..piece.until).all(|slot| draft.fits(task, slot, gpus(piece)))
            });
            if fits {
                draft.put(job, task, way.pieces.clone(), self.clock);
                self.descend(job + 1, with, draft);
                draft.take(job, task, self.clock);
            }
        }
    }

    fn improves(&self, worth: &Worth) -> bool {
        self.best.as_ref().is_none_or(|(_, best)| worth.order(best) == Ordering::Less)
    }
}

/// Every way in which a task may run alone, best first; `None` where there are too many.
fn ways_of(task: &Task, empty: &Draft, clock: &Clock) -> Option<Vec<Way>> {
    let mut ways = Vec::new();
    let mut pieces = Vec::new();
    extend(task, empty, clock, task.release, &mut pieces, &mut ways)?;
    // Rounded, so that a difference that is only rounding does not decide over the levels after it.
    let rounded = |way: &Way| way.worth.0.map(|value| (value * 1e8).round() as i64);
    ways.sort_by_cached_key(|way| (rounded(way), way.pieces.clone()));
    Some(ways)
}

fn extend(
    task: &Task,
    empty: &Draft,
    clock: &Clock,
    from: usize,
    pieces: &mut Vec<Piece>,
    ways: &mut Vec<Way>,
) -> Option<()> {
    if ways.len() == WAYS_MAX {
        return None;
    }
    ways.push(Way { pieces: pieces.clone(), worth: task.worth(pieces, clock) });
    let before = task.work_of(pieces, clock);
    if before >= task.enough() {
        return Some(());
    }
    for start in from..clock.slots() {
        for mode in 0..task.modes.len() {
            let continues =
                pieces.last().is_some_and(|last| last.until == start && last.mode == mode);
            if continues {
                continue;
            }
            for until in start + 1..=clock.slots() {
                if !empty.fits(task, until - 1, task.modes[mode].gpus) {
                    break;
                }
                let piece = Piece { from: start, until, mode };
                if until - start < task.min_run || clock.between(start, until) <= task.transitions()
                {
                    continue;
                }
                pieces.push(piece);
                extend(task, empty, clock, until, pieces, ways)?;
                pieces.pop();
                // A longer run would go on after the work is done.
                if before + task.work_of(&[piece], clock) >= task.enough() {
                    break;
                }
            }
        }
    }
    Some(())
}
