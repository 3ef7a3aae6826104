//! A check that fails makes its own gate fail, with its condition.

use cotenant_core::plan::{Outcome, PlanWord};
use cotenant_core::site::{
    Checkpoint, FigureOrigin, MemoryNeed, Preemption, Server, Site, SiteKind, Workload,
};
use cotenant_core::units::Bytes;

use crate::support::{
    PREEMPTION, duration, inference, normal, planned, serving, site, trainer, training_of,
};

#[expect(clippy::unnecessary_wraps, reason = "the field takes it as it is")]
fn bytes(text: &str) -> Option<Bytes> {
    Some(Bytes::parse(text).unwrap())
}

const MEMORY: MemoryNeed = MemoryNeed {
    origin: FigureOrigin::Measured,
    weights: None,
    kv: None,
    workspace: None,
    graphs: None,
    peak: None,
    fraction_of_total: None,
    host: None,
    processes: None,
    sleep_level: None,
    checkpoint_transient: None,
};

fn with_server(mut place: Site, change: impl FnOnce(&mut Server)) -> Site {
    let SiteKind::Server(server) = &mut place.kind else { panic!("a server") };
    change(server);
    place
}

fn chat() -> Workload {
    serving("chat", inference(&[("daily 00:00-24:00", 0.9)]))
}

/// The gates that fail, with their conditions.
fn failing(place: &Site) -> Vec<(&'static str, usize)> {
    let plan = planned(place);
    for gate in &plan.gates {
        assert!(matches!(gate.word.name(), "FAIL" | "NOT PROVEN"), "a plan proves nothing");
        if gate.word == PlanWord::Fail {
            assert!(plan.reason.contains(gate.name), "{}", plan.reason);
        }
        for condition in &gate.would_be_conditional_on {
            assert!(plan.conditions.contains(condition));
        }
    }
    let mut once = plan.conditions.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), plan.conditions.len(), "each condition once: {:?}", plan.conditions);
    plan.gates
        .iter()
        .filter(|gate| gate.word == PlanWord::Fail)
        .map(|gate| (gate.name, gate.would_be_conditional_on.len()))
        .collect()
}

#[test]
fn memory_that_is_missing_fails_the_gate_of_whom_it_hurts() {
    let host = |workload: Workload, amount: &str| Workload {
        memory: Some(MemoryNeed { host: bytes(amount), processes: Some(1), ..MEMORY }),
        ..workload
    };
    let place = |workloads| with_server(site(4, workloads), |it| it.memory = bytes("100 GiB"));
    let tune = trainer("tune", 1, 5.0, None);
    let both = place(vec![host(chat(), "60 GiB"), host(tune.clone(), "60 GiB")]);
    assert_eq!(failing(&both).iter().map(|it| it.0).collect::<Vec<_>>(), ["inference objectives"]);
    let alone = place(vec![host(tune, "120 GiB")]);
    assert_eq!(failing(&alone).iter().map(|it| it.0).collect::<Vec<_>>(), ["training objective"]);
}

#[test]
fn a_notice_that_is_too_short_fails_preemption_with_its_condition() {
    let mut tune = trainer("tune", 1, 5.0, None);
    let training = training_of(&mut tune);
    training.step_time_alone = Some(duration("1 s"));
    training.checkpoint =
        Some(Checkpoint { duration: Some(duration("148.8 s")), ..Checkpoint::default() });
    training.preemption = Some(Preemption { notice: Some(duration("30 s")), ..PREEMPTION });
    let place = site(4, vec![chat(), tune]);
    let plan = planned(&place);
    let check = plan.checks.iter().find(|it| it.key == "notice").unwrap();
    assert_eq!(check.outcome, Outcome::Fails, "{check:?}");
    let [(name, conditions)] = failing(&place)[..] else { panic!("{:?}", failing(&place)) };
    assert_eq!(name, "preemption and transition");
    assert_eq!(conditions, check.would_be_conditional_on.len());
    assert!(conditions > 0);
}

#[test]
fn every_key_of_a_check_has_a_gate_of_its_own() {
    // The names that the checks really use: a new one must be given its gate.
    let keys = [
        "gpu_memory",
        "memory_fraction",
        "ranks",
        "partition",
        "booked",
        "host_memory",
        "cpu",
        "deadline",
        "notice",
        "fault_domain",
        "changes",
        "availability",
    ];
    let mut place = site(4, vec![chat(), trainer("tune", 1, 5.0, None)]);
    place.workloads[0].memory = Some(MemoryNeed { peak: bytes("10 GiB"), ..MEMORY });
    place.workloads[1].allocation = normal(1.0);
    for check in planned(&place).checks {
        assert!(keys.contains(&check.key), "{} is new", check.key);
    }
}

#[test]
fn a_job_that_gets_no_window_fails_completion() {
    let greedy = serving("chat", inference(&[("daily 00:00-24:00", 3.9)]));
    let place = site(4, vec![greedy, trainer("tune", 1, 5.0, None)]);
    let names: Vec<&str> = failing(&place).iter().map(|it| it.0).collect();
    assert_eq!(names, ["training objective"]);
    assert!(planned(&place).gates[1].reason.contains("tune gets no GPU at any hour"));
}
