//! Whom to stop when GPUs must come back: nobody of a higher priority where lower ones suffice, and
//! among those the ones that lose the least work together.

use crate::units::Picoseconds;

/// A job that may be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its number.
    pub id: u32,
    /// GPUs that it would give back.
    pub gpus: u32,
    /// Its priority: larger ones are stopped later.
    pub priority: i32,
    /// GPU-time that is lost when it is stopped now: work since its last save that would be done
    /// again, the save that it makes instead, its resume; of one GPU times the GPUs it holds.
    pub lost: Picoseconds,
}

/// What stopping some of them costs: GPU-time lost by priority, highest first, then GPUs too many,
/// then jobs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    lost: Vec<u64>,
    gpus: u32,
    jobs: u32,
}

/// The jobs to stop so that at least so many GPUs come back, by number; all of them where even that
/// is too few.
///
/// It is the cheapest such set, found by going over the GPUs that are covered: first as little as
/// can be is lost of the highest priority, then of the next, then as few GPUs too many as can be,
/// then as few jobs. Among equals the smaller numbers go.
pub fn choose(victims: &[Victim], gpus_needed: u32) -> Vec<u32> {
    let mut sorted = victims.to_vec();
    sorted.sort_by_key(|victim| victim.id);
    let available: u64 = sorted.iter().map(|victim| u64::from(victim.gpus)).sum();
    if available <= u64::from(gpus_needed) {
        return if gpus_needed == 0 { Vec::new() } else { sorted.iter().map(|it| it.id).collect() };
    }
    let mut priorities: Vec<i32> = sorted.iter().map(|victim| victim.priority).collect();
    priorities.sort_unstable_by(|a, b| b.cmp(a));
    priorities.dedup();
    let needed = gpus_needed as usize;
    let none = Cost { lost: vec![0; priorities.len()], gpus: 0, jobs: 0 };
    // The cheapest way to cover so many GPUs, with the jobs of it.
    let mut best: Vec<Option<(Cost, Vec<u32>)>> = vec![None; needed + 1];
    best[0] = Some((none, Vec::new()));
    for victim in sorted.iter().filter(|victim| victim.gpus > 0) {
        let class = priorities.iter().position(|it| *it == victim.priority).unwrap_or(0);
        for covered in (0..=needed).rev() {
            let Some((cost, jobs)) = best[covered].clone() else { continue };
            let reaches = (covered + victim.gpus as usize).min(needed);
            if reaches == covered {
                continue;
            }
            let with = (cost.with(class, victim), [jobs, vec![victim.id]].concat());
            if best[reaches].as_ref().is_none_or(|known| with < *known) {
                best[reaches] = Some(with);
            }
        }
    }
    best.pop().flatten().map(|(_, jobs)| jobs).unwrap_or_default()
}

impl Cost {
    fn with(mut self, class: usize, victim: &Victim) -> Self {
        if let Some(lost) = self.lost.get_mut(class) {
            // One who loses nothing is still not to be stopped for nothing.
            *lost = lost.saturating_add(victim.lost.0.max(1));
        }
        self.gpus = self.gpus.saturating_add(victim.gpus);
        self.jobs += 1;
        self
    }
}
