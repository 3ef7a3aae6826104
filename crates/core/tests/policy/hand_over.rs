//! A calendar, carried out.

use std::collections::BTreeMap;

use cotenant_core::policy::hand_over::{
    Action, Event, HandOver, JobTerms, Party, ServiceTerms, Terms, Use, Why,
};
use cotenant_core::policy::preemption::Victim;
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;

use Use::{Idle, Job, Lent, Maintenance, Service};

fn seconds(seconds: u64) -> Picoseconds {
    Picoseconds::SECOND * seconds
}

fn terms(windows: &[(u64, &[Use])], ends_s: u64) -> Terms {
    Terms {
        windows: windows.iter().map(|(at, uses)| (seconds(*at), uses.to_vec())).collect(),
        ends: seconds(ends_s),
        services: vec![ServiceTerms {
            replica_gpus: 1,
            stop_lead: Picoseconds::ZERO,
            start_lead: seconds(20),
        }],
        jobs: vec![
            JobTerms { gpus: vec![1, 2], stop_lead: seconds(60) },
            JobTerms { gpus: vec![1], stop_lead: seconds(5) },
        ],
        beside: None,
    }
}

fn tell(machine: &mut HandOver, at_s: u64, event: Event) -> Vec<Action> {
    let mut actions = Vec::new();
    machine.step(seconds(at_s), event, &mut actions);
    actions
}

fn start(instance: u32, party: Party, gpus: &[u32]) -> Action {
    Action::Start { instance, party, gpus: gpus.to_vec() }
}

#[test]
fn a_job_leaves_before_the_window_of_the_service_and_the_replica_comes_as_early_as_it_may() {
    let windows: [(u64, &[Use]); 2] =
        [(0, &[Service(0), Job(0)]), (600, &[Service(0), Service(0)])];
    let mut machine = HandOver::new(terms(&windows, 1200));
    let begun = tell(&mut machine, 0, Event::Clock);
    assert_eq!(
        begun,
        [
            start(0, Party::Job(0), &[1]),
            start(1, Party::Service(0), &[0]),
            Action::WakeAt(seconds(540))
        ]
    );
    let told = tell(&mut machine, 540, Event::Clock);
    assert_eq!(told[0], Action::Stop { instance: 0, why: Why::Calendar });
    // It is gone early, but the replica is not wanted sooner than 20 s before its window.
    assert_eq!(tell(&mut machine, 560, Event::Gone(0)), [Action::WakeAt(seconds(580))]);
    let ahead = tell(&mut machine, 580, Event::Clock);
    assert_eq!(ahead[0], start(2, Party::Service(0), &[1]));
    assert_eq!(tell(&mut machine, 600, Event::Clock), [Action::WakeAt(seconds(1140))]);
    assert_eq!(tell(&mut machine, 1200, Event::Clock), [], "behind the calendar it may stay");
}

#[test]
fn lent_gpus_are_taken_from_whoever_loses_least_and_given_again() {
    let windows: [(u64, &[Use]); 2] =
        [(0, &[Service(0), Lent(0), Lent(1)]), (600, &[Service(0), Lent(0), Lent(1)])];
    let mut machine = HandOver::new(terms(&windows, 1200));
    tell(&mut machine, 0, Event::Clock);
    assert_eq!(machine.reclaimable(seconds(1)), [(0, 1), (1, 1)]);
    assert_eq!(machine.lent(seconds(1)), 2);
    let victim = |id, lost_s| Victim { id, gpus: 1, priority: 0, lost: seconds(lost_s) };
    let told = tell(&mut machine, 100, Event::TakeBack(0, 1, vec![victim(0, 9), victim(1, 3)]));
    assert_eq!(told[0], Action::Stop { instance: 1, why: Why::Reclaim });
    assert_eq!(machine.lent(seconds(101)), 1);
    let freed = tell(&mut machine, 110, Event::Gone(1));
    assert_eq!(freed[0], start(3, Party::Service(0), &[2]));
    // The next window lends the same GPU, so what was taken stays with the service.
    assert_eq!(tell(&mut machine, 600, Event::Clock).len(), 1);
    let again = tell(&mut machine, 700, Event::LendAgain(0, 1));
    assert_eq!(again[0], Action::Stop { instance: 3, why: Why::Calendar });
    let freed = tell(&mut machine, 705, Event::Gone(3));
    assert_eq!(freed[0], start(4, Party::Job(1), &[2]));
}

#[test]
fn a_job_that_is_done_is_not_started_again_and_maintenance_empties_the_place() {
    let windows: [(u64, &[Use]); 3] = [
        (0, &[Service(0), Job(1)]),
        (600, &[Maintenance, Maintenance]),
        (900, &[Service(0), Job(1)]),
    ];
    let mut machine = HandOver::new(terms(&windows, 1200));
    tell(&mut machine, 0, Event::Clock);
    assert_eq!(tell(&mut machine, 100, Event::Done(1)).len(), 1);
    assert_eq!(tell(&mut machine, 110, Event::Gone(0)).len(), 1, "nobody takes its place");
    let told = tell(&mut machine, 600, Event::Clock);
    assert_eq!(told[0], Action::Stop { instance: 1, why: Why::Maintenance });
    tell(&mut machine, 610, Event::Gone(1));
    let ahead = tell(&mut machine, 880, Event::Clock);
    assert!(ahead.iter().all(|action| matches!(action, Action::WakeAt(_))), "{ahead:?}");
    let back = tell(&mut machine, 900, Event::Clock);
    assert_eq!(back[0], start(2, Party::Service(0), &[0]));
    assert_eq!(back.len(), 2);
}

#[test]
fn beside_a_service_jobs_come_and_go_on_its_gpus() {
    let windows: [(u64, &[Use]); 2] = [(0, &[Lent(0), Lent(0)]), (600, &[Service(0), Service(0)])];
    let mut machine = HandOver::new(Terms { beside: Some(0), ..terms(&windows, 1200) });
    let begun = tell(&mut machine, 0, Event::Clock);
    assert_eq!(begun[0], start(0, Party::Job(0), &[0, 1]));
    assert_eq!(begun[1], start(1, Party::Service(0), &[0]));
    assert_eq!(begun[2], start(2, Party::Service(0), &[1]));
    let told = tell(&mut machine, 540, Event::Clock);
    assert_eq!(told[0], Action::Stop { instance: 0, why: Why::Calendar });
    assert_eq!(told.len(), 2, "the replicas stay");
}

fn uses() -> impl Strategy<Value = Vec<Vec<Use>>> {
    let one = prop_oneof![
        4 => Just(Service(0)),
        3 => Just(Job(0)),
        3 => Just(Lent(0)),
        2 => Just(Lent(1)),
        1 => Just(Idle),
        1 => Just(Maintenance),
    ];
    proptest::collection::vec(proptest::collection::vec(one, 4), 1..8)
}

proptest! {
    /// Whatever the calendar and however slowly everybody leaves: no GPU has two holders, nobody is
    /// told twice to stop, and what is woken for is in the future.
    #[test]
    fn no_gpu_is_held_by_two(
        uses in uses(),
        gaps in proptest::collection::vec((1_u64..120, 0_u32..4, 0_u32..3), 1..60),
    ) {
        let windows: Vec<(u64, &[Use])> =
            (0_u64..).zip(&uses).map(|(at, uses)| (at * 100, uses.as_slice())).collect();
        let mut machine = HandOver::new(terms(&windows, uses.len() as u64 * 100));
        let mut held: BTreeMap<u32, (Party, Vec<u32>)> = BTreeMap::new();
        let mut leaving: Vec<u32> = Vec::new();
        let mut at_s = 0;
        let mut event = Event::Clock;
        for (gap_s, kind, many) in gaps {
            for action in tell(&mut machine, at_s, event) {
                match action {
                    Action::Start { instance, party, gpus } => {
                        let taken = held.values().flat_map(|(_, gpus)| gpus);
                        let both = taken.filter(|gpu| gpus.contains(gpu)).count();
                        prop_assert_eq!(both, 0);
                        if party == Party::Job(1) {
                            prop_assert_eq!(gpus.len(), 1);
                        }
                        prop_assert!(held.insert(instance, (party, gpus)).is_none());
                    }
                    Action::Stop { instance, .. } => {
                        prop_assert!(held.contains_key(&instance) && !leaving.contains(&instance));
                        leaving.push(instance);
                    }
                    Action::WakeAt(at) => prop_assert!(at > seconds(at_s)),
                }
            }
            at_s += gap_s;
            event = match kind {
                0 if !leaving.is_empty() => {
                    let gone = leaving.remove(many as usize % leaving.len());
                    held.remove(&gone).unwrap();
                    Event::Gone(gone)
                }
                1 => {
                    let victims = machine.reclaimable(seconds(at_s));
                    let lost = Picoseconds::ZERO;
                    let victim = |(id, gpus)| Victim { id, gpus, priority: 0, lost };
                    Event::TakeBack(0, many, victims.into_iter().map(victim).collect())
                }
                2 => Event::LendAgain(0, many),
                _ => Event::Clock,
            };
        }
    }
}
