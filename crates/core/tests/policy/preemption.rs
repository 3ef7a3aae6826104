//! Whom to stop.

use cotenant_core::policy::preemption::{Victim, choose};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;

fn victim(id: u32, gpus: u32, priority: i32, lost_s: u64) -> Victim {
    Victim { id, gpus, priority, lost: Picoseconds::SECOND * lost_s }
}

#[test]
fn the_least_work_is_lost_and_nobody_is_stopped_in_vain() {
    let jobs = [victim(1, 2, 0, 100), victim(2, 1, 0, 30), victim(3, 1, 0, 40), victim(4, 1, 0, 5)];
    assert_eq!(choose(&jobs, 1), [4]);
    assert_eq!(choose(&jobs, 2), [2, 4]);
    assert_eq!(choose(&jobs, 3), [2, 3, 4]);
    assert_eq!(choose(&jobs, 4), [1, 2, 4]);
    assert!(choose(&jobs, 0).is_empty());
    assert_eq!(choose(&jobs, 9), [1, 2, 3, 4], "all of them where that is too few");
}

#[test]
fn a_high_priority_is_spared_where_a_lower_one_suffices() {
    let jobs = [victim(1, 4, 9, 1), victim(2, 2, 0, 900), victim(3, 2, 0, 900)];
    assert_eq!(choose(&jobs, 4), [2, 3]);
    assert_eq!(choose(&jobs, 5), [1, 2], "the first alone is too few, and with one more enough");
    assert_eq!(choose(&[victim(1, 4, 9, 1), victim(2, 2, 0, 1)], 4), [1], "the second is no help");
}

proptest! {
    /// Against every subset.
    #[test]
    fn no_other_set_is_cheaper(
        jobs in proptest::collection::vec((1_u32..5, 0_i32..3, 1_u64..9), 1..8),
        needed in 1_u32..14,
    ) {
        let jobs: Vec<Victim> = jobs
            .iter()
            .enumerate()
            .map(|(id, (gpus, priority, lost))| victim(id as u32, *gpus, *priority, *lost))
            .collect();
        let cost = |ids: &[u32]| {
            let lost = |priority: i32| -> u64 {
                ids.iter().map(|id| jobs[*id as usize])
                    .filter(|job| job.priority == priority).map(|job| job.lost.0).sum()
            };
            let gpus: u32 = ids.iter().map(|id| jobs[*id as usize].gpus).sum();
            (lost(2), lost(1), lost(0), gpus, ids.len())
        };
        let total: u32 = jobs.iter().map(|job| job.gpus).sum();
        let chosen = choose(&jobs, needed);
        if total >= needed {
            let mine = cost(&chosen);
            prop_assert!(mine.3 >= needed);
            for subset in 0_u32..1 << jobs.len() {
                let ids: Vec<u32> = (0..jobs.len() as u32).filter(|id| subset & (1 << id) != 0).collect();
                let other = cost(&ids);
                if other.3 >= needed {
                    prop_assert!((mine.0, mine.1, mine.2) <= (other.0, other.1, other.2));
                }
            }
        } else {
            prop_assert_eq!(chosen.len(), jobs.len());
        }
    }
}
