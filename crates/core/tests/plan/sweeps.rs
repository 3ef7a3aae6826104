//! Points of a sweep of a site that is small enough for paper and pencil, and the pools that it needs.

use cotenant_core::demand::{History, history_of_table};
use cotenant_core::plan::{Choice, Holder, PlanQuestion, PoolNeeds, plan_to_carry_out, pool_needs};
use cotenant_core::policy::reclaim::Rule;
use cotenant_core::sim::sweep::{
    PointFigures, Sweep, SweepQuestion, enough_up_to, pools_at, simulate_point, stops_paying,
};
use cotenant_core::sim::transition::Drilled;
use cotenant_core::site::{Demand, Site, WorkloadKind};
use cotenant_core::units::{Picoseconds, RatePerSecond};

use crate::support::{grid, inference, once, question, serving, site, trainer};

/// One GPU of inference at night and three by day, of so many requests that their chance is nothing beside
/// what a replica carries; and twenty hours of training on two GPUs, from Monday to Friday.
fn small(gpus: u32) -> Site {
    let rates =
        [("daily 00:00-08:00", 5e5), ("daily 08:00-20:00", 2.5e6), ("daily 20:00-24:00", 5e5)];
    let mut chat = inference(&rates);
    let capacity = chat.capacity.as_mut().unwrap();
    capacity.requests = Some(RatePerSecond::new(1e6, "req"));
    let due = once("2026-12-11T18:00:00Z", Some("2026-12-07T00:00:00Z"));
    site(gpus, vec![serving("chat", chat), trainer("train", 2, 20.0, due)])
}

/// Three weeks in which each hour asks for what the table says, so that every drawn week is alike.
fn history(site: &Site) -> [(String, History); 1] {
    let WorkloadKind::Inference(chat) = &site.workloads[0].kind else { panic!("it serves") };
    let Demand::Table(rows) = &chat.demand else { panic!("by a table") };
    let history = history_of_table(rows, &grid("UTC", "2026-11-16", 21, 60), None).unwrap();
    [("chat".to_owned(), history)]
}

const RULE: Rule = Rule {
    high: 1.0,
    low: 0.7,
    high_for: Picoseconds(30 * Picoseconds::SECOND.0),
    low_for: Picoseconds(600 * Picoseconds::SECOND.0),
    turn_min: Picoseconds(900 * Picoseconds::SECOND.0),
    settle: Picoseconds(60 * Picoseconds::SECOND.0),
    gpus_per_change: 1,
};

/// Every point of a sweep.
fn points(site: &Site, axes: &[&str]) -> Vec<Result<PointFigures, String>> {
    let axes: Vec<String> = axes.iter().map(|axis| (*axis).to_owned()).collect();
    let sweep = Sweep::parse(&axes, 100).unwrap();
    let histories = history(site);
    let plan = PlanQuestion { histories: &histories, weeks_drawn: 2, ..question(site) };
    let drilled = Drilled::default();
    let asked =
        SweepQuestion { plan, drilled: &drilled, reclaim: Some(RULE), sweep: &sweep, bases: &[] };
    let all: Vec<_> = (0..sweep.points()).map(|index| simulate_point(&asked, index)).collect();
    // A point is the same alone and in any order.
    for point in all.iter().rev() {
        assert_eq!(simulate_point(&asked, point.index), *point);
    }
    all.into_iter().map(|point| point.figures).collect()
}

#[test]
fn sharing_meets_with_three_gpus_what_a_split_needs_five_for() {
    let found = points(&small(8), &["gpus=3..5", "mode=whole_gpu,temporal"]);
    let told: Vec<(u32, &str, bool, bool)> = found
        .iter()
        .map(|figures| {
            let it = figures.as_ref().unwrap();
            let on_time = it.on_time_share_least() == Some(1.0);
            (it.gpus, it.mode.as_str(), on_time, it.short_share() == 0.0)
        })
        .collect();
    assert_eq!(
        told,
        [
            (3, "whole_gpu", false, true),
            (3, "temporal", true, true),
            (4, "whole_gpu", false, true),
            (4, "temporal", true, true),
            (5, "whole_gpu", true, true),
            (5, "temporal", true, true),
        ]
    );
    let it = found[1].as_ref().unwrap();
    assert!((it.gpu_hours_total() - 3.0 * 168.0).abs() < 1e-9);
    let known = it.gpu_hours_serving + it.gpu_hours_kept + it.gpu_hours_lost + it.gpu_hours_free;
    assert!((known - 3.0 * 168.0).abs() < 1e-6, "{it:?}");
}

#[test]
fn more_demand_than_gpus_is_short_and_a_split_gives_it_no_more() {
    let found = points(&small(4), &["rate=1,2", "split=3"]);
    let short = |place: usize| found[place].as_ref().unwrap().short_share();
    assert_eq!(short(0), 0.0);
    // Five replicas are asked for in twelve of 24 hours, and three serve.
    assert!((short(1) - 0.5).abs() < 1e-9, "{}", short(1));
}

#[test]
fn what_cannot_be_simulated_says_why() {
    let site = small(4);
    let reason = |axes: &[&str]| points(&site, axes)[0].clone().unwrap_err();
    assert_eq!(reason(&["split=5"]), "5 GPUs cannot be split off where there are 4");
    assert!(reason(&["split=2", "mode=temporal"]).contains("nothing is lent"));
    let first = reason(&["first=chat"]);
    assert!(first.contains("there is no job `chat`") && first.contains("there are: train"));
}

#[test]
fn a_deadline_moves_by_hours_over_days() {
    // Twenty hours on two GPUs beside three of inference by day: nights are enough, 56 hours until
    // Friday. By Tuesday 02:00 there are 8 + 6 of them.
    let found = points(&small(3), &["shift=0,-88", "mode=temporal"]);
    assert_eq!(found[0].as_ref().unwrap().on_time_share_least(), Some(1.0));
    let early = found[1].as_ref().unwrap();
    assert_eq!(early.on_time_share_least(), Some(0.0), "{early:?}");
}

#[test]
fn pools_are_counted_as_by_hand() {
    let site = small(8);
    let histories = history(&site);
    let asked = PlanQuestion { histories: &histories, ..question(&site) };
    let needs = pool_needs(&asked).unwrap();
    assert_eq!(needs.hours, 168.0);
    assert_eq!(needs.inference, [("chat".to_owned(), 3)]);
    assert_eq!(needs.jobs, [("train".to_owned(), Some(2))]);
    assert_eq!((needs.dedicated(), needs.shared, needs.saturated()), (Some(5), Some(3), Some(5)));
    // The site's own GPUs change nothing about what is needed.
    let tiny = small(1);
    assert_eq!(pool_needs(&PlanQuestion { site: &tiny, ..asked }).unwrap(), needs);
    // At a quarter one GPU is enough at every hour, so that nothing is ever free on it.
    let sweep = Sweep::parse(&["rate=0.25,1,1.8".to_owned()], 9).unwrap();
    let drilled = Drilled::default();
    let pools = pools_at(&SweepQuestion {
        plan: asked,
        drilled: &drilled,
        reclaim: None,
        sweep: &sweep,
        bases: &[],
    });
    let gpus: Vec<_> = pools
        .iter()
        .map(|at| at.needs.as_ref().map(|it| (it.dedicated(), it.shared)).unwrap())
        .collect();
    assert_eq!(gpus, [(Some(3), Some(3)), (Some(5), Some(3)), (Some(7), Some(5))]);
    assert_eq!(stops_paying(&pools), None);
    assert_eq!(enough_up_to(&pools, 4, |needs| needs.shared), Some(1.0));
    assert_eq!(enough_up_to(&pools, 4, PoolNeeds::dedicated), Some(0.25));
    assert_eq!(enough_up_to(&pools, 2, |needs| needs.shared), None);
}

#[test]
fn under_a_split_inference_holds_its_gpus_at_every_hour() {
    let site = small(6);
    let plan = plan_to_carry_out(&question(&site), Choice::Split(Some(4)));
    let calendar = plan.calendar.unwrap();
    assert!(plan.certificates.is_empty() && plan.backtest.is_none());
    for holders in &calendar.holders {
        let held = holders.iter().filter(|it| matches!(it, Holder::Inference(0))).count();
        assert_eq!(held, 4, "{holders:?}");
        assert!(!holders.iter().any(|it| matches!(it, Holder::Lent(_) | Holder::HotReserve(_))));
    }
}
