//! Proofs that a deadline cannot be met, checked by direct sums, and changes tried by hand.

use cotenant_core::plan::{Change, Plan, PlanWord};
use cotenant_core::site::{Cost, Site, SiteKind, Workload};
use cotenant_core::units::Money;

use crate::support::{
    at, close, inference, instant, normal, once, planned, serving, site, trainer, training_of,
};

/// 60 hours on two GPUs until Wednesday 00:00, where 48 hours of two GPUs are.
fn short(gpus: u32) -> Site {
    let mut tune = trainer("tune", 2, 60.0, once("2026-12-09T00:00:00Z", None));
    training_of(&mut tune).throughput_alone = vec![at(2, 2000.0), at(4, 4000.0)];
    tune.allocation = normal(4.0);
    let mut place = site(gpus, vec![tune]);
    place.operations.cost =
        Some(Cost { gpu_hour: Some(Money { amount: 2.5, currency: "EUR".into() }), energy: None });
    place
}

fn change<'a>(plan: &'a Plan, words: &str) -> &'a Change {
    let changes = &plan.certificates[0].changes;
    changes.iter().find(|it| it.what.contains(words)).unwrap_or_else(|| panic!("{changes:#?}"))
}

fn with_deadline(mut place: Site, at: &str) -> Site {
    let training = training_of(place.workloads.last_mut().unwrap());
    training.objectives.deadline = once(at, None);
    place
}

fn meets(place: &Site) -> bool {
    let plan = planned(place);
    let met = plan.candidates.iter().find(|it| it.chosen).unwrap().deadlines_met;
    assert_eq!(met == Some((1, 1)), plan.certificates.is_empty(), "{plan:#?}");
    met == Some((1, 1))
}

#[test]
fn the_arithmetic_of_a_certificate_is_a_direct_sum() {
    let plan = planned(&short(2));
    assert_eq!(plan.word, PlanWord::Fail);
    let [certificate] = plan.certificates.as_slice() else { panic!("{:?}", plan.certificates) };
    assert_eq!(certificate.jobs, ["tune"]);
    assert_eq!(certificate.from, instant("2026-12-07T00:00:00Z"));
    assert_eq!(certificate.until, instant("2026-12-09T00:00:00Z"));
    close(certificate.needed, 120.0);
    close(certificate.free, 96.0);
    close(certificate.missing(), 24.0);
}

#[test]
fn what_inference_holds_is_not_free() {
    let rates = [("daily 00:00-12:00", 0.5), ("daily 12:00-24:00", 1.5)];
    let mut place = short(3);
    let chat = serving("chat", inference(&rates));
    place.workloads.insert(0, chat);
    let plan = planned(&place);
    let certificate = &plan.certificates[0];
    // The job uses two GPUs at once or four. Where one is left of three, it uses none: the bound
    // knows, for no mode fits.
    let free: f64 = plan.reserves[0]
        .windows
        .iter()
        .take(48)
        .map(|need| if 3 - need.reserved - need.hot >= 2 { 2.0 } else { 0.0 })
        .sum();
    close(certificate.free, free);
    close(certificate.needed, 120.0);
}

#[test]
fn more_gpus_are_the_fewest_that_are_enough() {
    let plan = planned(&short(2));
    let more = change(&plan, "more GPU");
    assert!(more.confirmed);
    assert_eq!(more.what, "2 more GPUs from Mon 00:00 to Wed 00:00");
    assert_eq!(more.price, "96.0 GPU-h");
    assert_eq!(more.money.as_deref(), Some("240.00 EUR"));
    assert!(meets(&short(4)), "two more");
    assert!(!meets(&short(3)), "one more is no mode of it");
}

#[test]
fn a_later_deadline_is_the_next_that_is_enough() {
    let plan = planned(&short(2));
    let later = change(&plan, "later");
    assert_eq!(later.what, "the deadline 12 h later");
    assert!(meets(&with_deadline(short(2), "2026-12-09T12:00:00Z")));
    assert!(!meets(&with_deadline(short(2), "2026-12-09T11:00:00Z")));
    // From the deadline itself, where it lies inside of a window or before the calendar.
    let inside = planned(&with_deadline(short(2), "2026-12-08T23:40:00Z"));
    assert_eq!(change(&inside, "later").what, "the deadline 12 h 20 min later");
    let passed = planned(&with_deadline(short(2), "2026-12-06T00:00:00Z"));
    assert_eq!(change(&passed, "later").what, "the deadline 3 d 12 h later");
}

#[test]
fn less_work_is_the_least_that_is_enough() {
    let plan = planned(&short(2));
    let less = change(&plan, "less work");
    assert_eq!(less.what, "20 % less work by then", "120 GPU-h less 24");
    let with = |share: f64| {
        let mut place = short(2);
        let work = training_of(&mut place.workloads[0]).work.as_mut().unwrap();
        work.amount = (work.amount as f64 * share) as u64;
        place
    };
    assert!(meets(&with(0.80)));
    assert!(!meets(&with(0.81)));
    assert_eq!(less.money, None);
}

#[test]
fn a_deadline_that_has_passed_is_late_and_not_a_wrong_file() {
    let plan = planned(&with_deadline(short(2), "2026-12-01T00:00:00Z"));
    let certificate = &plan.certificates[0];
    assert!(certificate.from >= certificate.until);
    close(certificate.free, 0.0);
    assert!(
        plan.gates[1].reason.contains("no window lies before its deadline"),
        "{:?}",
        plan.gates
    );
    assert!(!certificate.changes.iter().any(|it| it.what.contains("more GPU")));
    // The same where it may only begin afterwards.
    let mut place = short(2);
    training_of(&mut place.workloads[0]).objectives.deadline =
        once("2026-12-09T00:00:00Z", Some("2026-12-10T00:00:00Z"));
    assert_eq!(planned(&place).word, PlanWord::Fail);
}

#[test]
fn roomier_replicas_help_only_where_inference_is_in_the_way() {
    let chat: Workload = serving("chat", inference(&[("daily 00:00-24:00", 1.2)]));
    let mut place = short(3);
    place.workloads.insert(0, chat);
    place.workloads[1] = {
        let mut tune = trainer("tune", 2, 40.0, once("2026-12-09T00:00:00Z", None));
        tune.allocation = normal(2.0);
        tune
    };
    let plan = planned(&place);
    let roomier = change(&plan, "replicas that carry");
    assert!(roomier.what.contains("25 %"), "{}: 1.2 requests on replicas of 1.25", roomier.what);
    let SiteKind::Server(server) = &mut place.kind else { panic!("a server") };
    server.gpu_count = 4;
    assert!(meets(&place));
    assert!(planned(&short(2)).certificates[0].changes.iter().all(|it| !it.what.contains("carry")));
}
