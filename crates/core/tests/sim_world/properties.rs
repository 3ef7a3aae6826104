//! What holds in every world.

use cotenant_core::policy::hand_over::Use;
use cotenant_core::policy::reclaim::Rule;
use cotenant_core::sim::job::{JobSpec, Stop};
use cotenant_core::sim::world::{Demand, ServiceSpec, WorldSpec, carry_out};
use proptest::prelude::*;

use super::support::{job, place, seconds, service};

fn worlds() -> impl Strategy<Value = WorldSpec> {
    let one = prop_oneof![
        4 => Just(Use::Service(0)),
        2 => Just(Use::Job(0)),
        2 => Just(Use::Lent(0)),
        2 => Just(Use::Lent(1)),
        1 => Just(Use::Job(2)),
        1 => Just(Use::Idle),
        1 => Just(Use::Maintenance),
    ];
    let windows = proptest::collection::vec(proptest::collection::vec(one, 4), 1..8);
    let demand = proptest::collection::vec(0_u64..4_000_000, 1..30);
    let stop = (any::<bool>(), any::<bool>(), proptest::option::of(1_u64..20));
    (windows, demand, stop, proptest::option::of(50_u64..2000), 10_u64..400, any::<u64>()).prop_map(
        |(windows, demand, (finishes_unit, saves, notice_s), loss_s, units, seed)| {
            let windows: Vec<(u64, Vec<Use>)> =
                (0_u64..).zip(windows).map(|(number, uses)| (number * 400, uses)).collect();
            let until_s = windows.len() as u64 * 400;
            let levels = (0_u64..).zip(demand).map(|(at, ppm)| (seconds(at * 97), ppm)).collect();
            let rule = Rule {
                high: 1.0,
                low: 0.6,
                high_for: seconds(10),
                low_for: seconds(40),
                turn_min: seconds(100),
                settle: seconds(45),
                gpus_per_change: 1,
            };
            let chat = ServiceSpec { reclaim: Some(rule), ..service(Demand::Replicas(levels)) };
            let notice = notice_s.map(seconds);
            let stop = Stop { finishes_unit, saves, notice, ..job("", 1).stop };
            let with = |name: &str| JobSpec {
                stop,
                mean_time_to_loss: loss_s.map(seconds),
                deadline: Some(seconds(1200)),
                ..job(name, units)
            };
            let jobs = vec![with("a"), with("b"), with("c")];
            WorldSpec { seed, ..place(&windows, until_s, chat, jobs) }
        },
    )
}

proptest! {
    #[test]
    fn time_and_work_are_conserved_and_the_same_seed_gives_the_same(spec in worlds()) {
        let outcome = carry_out(spec.clone());
        prop_assert_eq!(&outcome, &carry_out(spec.clone()));
        prop_assert_eq!(outcome.stuck_at, None);
        // Were a GPU held by two, the parts would be more than the whole.
        let time = outcome.gpu_time;
        let held = time.serving + time.changing + time.working + time.job_overhead;
        prop_assert_eq!(held + time.free, time.total);
        for job in &outcome.jobs {
            prop_assert_eq!(job.ledger.units_done, job.done + job.ledger.units_lost);
            prop_assert!(job.kept <= job.done);
            if let Some(at) = job.finished_at {
                prop_assert_eq!(Some(job.kept), job.units);
                prop_assert_eq!(job.on_time, Some(at <= seconds(1200)));
            }
        }
        let chat = &outcome.services[0];
        prop_assert!(chat.short <= spec.until);
        prop_assert!(chat.missing <= spec.until * 4);
        for reclaim in &outcome.reclaims {
            prop_assert!(reclaim.free_at.is_none_or(|free| free >= reclaim.asked_at));
            prop_assert!(reclaim.ready_at.is_none_or(|ready| Some(ready) >= reclaim.free_at));
        }
        // Two reclaims are never closer than the time that the first one had to help.
        let mut asked = outcome.reclaims.windows(2);
        prop_assert!(asked.all(|pair| pair[1].asked_at - pair[0].asked_at >= seconds(45)));
    }

    /// Losses of one job move nothing of another that shares no GPU with it.
    #[test]
    fn a_job_draws_its_own_losses(seed in any::<u64>(), units in 50_u64..200) {
        let windows = [(0, vec![Use::Job(0), Use::Job(1)])];
        let lossy = |units| JobSpec { mean_time_to_loss: Some(seconds(300)), ..job("a", units) };
        let run = |other: u64| {
            let service = service(Demand::Replicas(Vec::new()));
            let jobs = vec![lossy(units), lossy(other)];
            carry_out(WorldSpec { seed, ..place(&windows, 4000, service, jobs) })
        };
        prop_assert_eq!(&run(10).jobs[0], &run(300).jobs[0]);
    }
}
