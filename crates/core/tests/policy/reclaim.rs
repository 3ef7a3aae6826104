//! Asking lent GPUs back, and lending them again.

use cotenant_core::policy::reclaim::{Action, Event, Reclaim, Rule};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;

fn seconds(seconds: u64) -> Picoseconds {
    Picoseconds::SECOND * seconds
}

fn rule() -> Rule {
    Rule {
        high: 0.9,
        low: 0.5,
        high_for: seconds(10),
        low_for: seconds(60),
        turn_min: seconds(300),
        settle: seconds(40),
        gpus_per_change: 1,
    }
}

fn tell(machine: &mut Reclaim, at_s: u64, event: Event) -> Vec<Action> {
    let mut actions = Vec::new();
    machine.step(seconds(at_s), event, &mut actions);
    actions
}

#[test]
fn pressure_must_last_and_what_is_back_must_have_its_time_to_help() {
    let mut machine = Reclaim::new(rule());
    tell(&mut machine, 0, Event::Lent(2));
    assert_eq!(tell(&mut machine, 1, Event::Pressure(1.2)), [Action::WakeAt(seconds(11))]);
    assert_eq!(tell(&mut machine, 5, Event::Pressure(0.8)), [], "it did not last");
    assert_eq!(tell(&mut machine, 6, Event::Pressure(0.9)), [Action::WakeAt(seconds(16))]);
    let back = tell(&mut machine, 16, Event::Clock);
    assert_eq!(back, [Action::TakeBack(1), Action::WakeAt(seconds(56))]);
    assert_eq!(tell(&mut machine, 30, Event::Pressure(2.0)), [Action::WakeAt(seconds(56))]);
    assert_eq!(tell(&mut machine, 56, Event::Clock), [Action::TakeBack(1)]);
    assert_eq!(tell(&mut machine, 200, Event::Pressure(3.0)), [], "there is no more");
    // Low from 210 on, which suffices at 270; but it may turn no sooner than 300 s after 56.
    assert_eq!(tell(&mut machine, 210, Event::Pressure(0.1)), [Action::WakeAt(seconds(356))]);
    assert_eq!(
        tell(&mut machine, 356, Event::Clock),
        [Action::LendAgain(1), Action::WakeAt(seconds(396))]
    );
    assert_eq!(machine.taken(), 1);
    tell(&mut machine, 357, Event::Taken(0));
    assert_eq!(machine.taken(), 0);
}

#[test]
fn what_is_no_number_changes_nothing() {
    let mut machine = Reclaim::new(rule());
    tell(&mut machine, 0, Event::Lent(1));
    assert_eq!(tell(&mut machine, 1, Event::Pressure(f64::NAN)), []);
    tell(&mut machine, 2, Event::Pressure(1.0));
    assert_eq!(tell(&mut machine, 12, Event::Pressure(f64::NAN)), [Action::TakeBack(1)]);
}

proptest! {
    /// Whatever the pressure does, two changes in opposite directions lie at least `turn_min` apart,
    /// and two in the same at least `settle`; no more is taken than was lent.
    #[test]
    fn it_never_flaps(
        samples in proptest::collection::vec((0_u64..30, 0.0_f64..1.5), 1..300),
        step in 0_u32..4,
    ) {
        let rule = Rule { gpus_per_change: step, ..rule() };
        let mut machine = Reclaim::new(rule);
        let lent_in_all = 6;
        let (mut at_s, mut taken) = (0, 0_u32);
        let mut last: Option<(u64, bool)> = None;
        for (wait_s, pressure) in samples {
            at_s += wait_s;
            let mut actions = tell(&mut machine, at_s, Event::Lent(lent_in_all - taken));
            let more = |action: &Action| matches!(action, Action::TakeBack(_) | Action::LendAgain(_));
            if !actions.iter().any(more) {
                actions = tell(&mut machine, at_s, Event::Pressure(pressure));
            }
            for action in actions {
                let is_back = match action {
                    Action::TakeBack(gpus) => { taken += gpus; true }
                    Action::LendAgain(gpus) => { taken -= gpus; false }
                    Action::WakeAt(at) => { prop_assert!(at > seconds(at_s)); continue }
                };
                prop_assert!(taken <= lent_in_all);
                if let Some((before_s, was_back)) = last {
                    let bound = if was_back == is_back { rule.settle } else { rule.turn_min };
                    prop_assert!(seconds(at_s - before_s) >= bound);
                }
                last = Some((at_s, is_back));
            }
            prop_assert_eq!(machine.taken(), taken);
        }
    }
}
