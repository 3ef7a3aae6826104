//! Which GPU each run holds.

use crate::plan::{Problem, Run};

/// The GPUs of each run, ascending, in the order of the runs.
///
/// A run keeps its GPUs from its start to its end. It gets those of its job's run before where they
/// are free, else a block of neighbours that leaves the fewest beside it unused, else what is free;
/// from the highest number down, so that inference keeps the lowest ones. The runs must pass
/// [`audit`](super::audit): then a GPU is always free, for runs are given theirs in the order in
/// which they start.
pub fn assign(problem: &Problem, runs: &[Run]) -> Vec<Vec<u32>> {
    let gpus = |run: &Run| problem.jobs[run.job].modes[run.mode].gpus as usize;
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&place| {
        let run = &runs[place];
        (run.from, std::cmp::Reverse(run.until), std::cmp::Reverse(gpus(run)), run.job)
    });
    let mut held_until = vec![0; problem.gpus as usize];
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); problem.jobs.len()];
    let mut assigned = vec![Vec::new(); runs.len()];
    for place in order {
        let run = &runs[place];
        let free: Vec<u32> =
            (0..problem.gpus).filter(|&gpu| held_until[gpu as usize] <= run.from).collect();
        let chosen = choose(&free, &before[run.job], gpus(run));
        for &gpu in &chosen {
            held_until[gpu as usize] = run.until;
        }
        before[run.job].clone_from(&chosen);
        assigned[place] = chosen;
    }
    assigned
}

/// So many of the free GPUs, which are ascending.
fn choose(free: &[u32], before: &[u32], count: usize) -> Vec<u32> {
    let kept: Vec<u32> = before.iter().copied().filter(|gpu| free.contains(gpu)).collect();
    let mut chosen = if kept.len() >= count {
        kept[kept.len() - count..].to_vec()
    } else if kept.is_empty() {
        block(free, count).unwrap_or_default()
    } else {
        kept
    };
    for &gpu in free.iter().rev() {
        if chosen.len() >= count {
            break;
        }
        if !chosen.contains(&gpu) {
            chosen.push(gpu);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// The top of the smallest block of neighbours that is large enough; of such blocks the highest.
fn block(free: &[u32], count: usize) -> Option<Vec<u32>> {
    let blocks = free.chunk_by(|one, other| one + 1 == *other);
    let fitting = blocks.rev().filter(|block| block.len() >= count);
    let smallest = fitting.min_by_key(|block| block.len())?;
    Some(smallest[smallest.len() - count..].to_vec())
}
