//! Fractions that a scheduler books: they place work, and enforce nothing.

use super::draft::{line_of, listed, number, open, quoted};
use crate::plan::model::{Check, Outcome};
use crate::site::{SharingMode, Site, TimeSlicing, WorkloadKind};

pub(super) fn checks(site: &Site) -> Vec<Check> {
    match &site.sharing.mode {
        SharingMode::TimeSlicing(slicing) if !slicing.booked.is_empty() => {
            vec![check(site, slicing)]
        }
        _ => Vec::new(),
    }
}

fn check(site: &Site, slicing: &TimeSlicing) -> Check {
    let names: Vec<String> = slicing.booked.keys().cloned().collect();
    let title = "Do the booked fractions of a GPU guarantee anything?".to_owned();
    let mut check = open("booked", title, names.clone());
    check.sources = vec![
        "kai-scheduler/KAI-Scheduler#274: a fraction places pods, each gets equal time slices",
        "README of the Kubernetes device plugin, «With CUDA Time-Slicing»: no memory or fault \
         isolation; equal time for each process",
    ];
    let busy = names.len().max(1) as f64;
    for (name, share) in &slicing.booked {
        check.arithmetic.push(format!(
            "{name}: booked {}; it gets 1 ÷ {busy} = {} % of the time while all are busy, and all of \
             it while the others idle",
            share,
            number(100.0 / busy, 1)
        ));
    }
    if let Some(memory) = site.server().and_then(|server| server.gpu_memory) {
        for (name, share) in &slicing.booked {
            let booked = crate::units::Bytes((memory.0 as f64 * share.value()) as u64);
            check
                .arithmetic
                .push(format!("{name}: {booked} of memory are booked; nothing enforces it"));
        }
    }
    let over: f64 = slicing.booked.values().map(|share| share.value()).sum();
    check.arithmetic.push(format!(
        "booked in all: {} of a GPU; it counts for placement alone",
        number(over, 3)
    ));
    judge(site, &names, &mut check);
    check
}

fn judge(site: &Site, names: &[String], check: &mut Check) {
    let protected: Vec<String> = names
        .iter()
        .filter(|name| {
            let needs = site.operations.isolation_of(name);
            needs.iter().any(|need| *need != crate::site::IsolationProperty::Cpu)
        })
        .map(|name| quoted(name))
        .collect();
    check.answer =
        "no: a booked fraction is accounting for placement; for an objective it counts as \
                    time-slicing without protection"
            .into();
    check.would_be_conditional_on.push(
        "what the busiest neighbour leaves is enough, which test C shows at the declared peak and \
         again after every change of the neighbour; or a mode that enforces: a whole GPU, or a MIG \
         instance for each"
            .to_owned(),
    );
    if !protected.is_empty() {
        check.outcome = Outcome::Fails;
        check.answer = format!(
            "{}; {} must be protected from the neighbour, which it does not do",
            check.answer,
            listed(&protected)
        );
        return;
    }
    for name in names {
        let serves = site
            .workload(name)
            .is_some_and(|workload| matches!(workload.kind, WorkloadKind::Inference(_)));
        if serves && site.operations.isolation.iter().all(|need| need.workload != *name) {
            check.missing.push(line_of(
                name,
                &format!("operations: {{ isolation: {{ {name}: [memory_capacity, faults] }} }}"),
            ));
        }
    }
}
