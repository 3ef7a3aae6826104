//! What must always hold: more need never turns a no into a yes, more room never a yes into a no, and
//! the same site gives the same words.

use std::collections::BTreeMap;

use cotenant_core::plan::{Check, Outcome, checks};
use cotenant_core::site::{
    Checkpoint, Dtype, Faults, MemoryNeed, Model, MpsMode, Preemption, Server, SharingMode, Site,
    SiteKind, TimeSlicing, Training, WorkloadKind,
};
use cotenant_core::units::{Bytes, Share};
use proptest::prelude::*;

use crate::builder::{MEMORY, inference, server, site, trainer, workload};

const GIB: u64 = 1 << 30;

fn amount() -> impl Strategy<Value = Option<Bytes>> {
    proptest::option::weighted(0.8, (0_u64..60 * GIB).prop_map(Bytes))
}

prop_compose! {
    fn memory()(
        (weights, kv, workspace, graphs) in (amount(), amount(), amount(), amount()),
        peak in proptest::option::weighted(0.2, (0_u64..60 * GIB).prop_map(Bytes)),
        fraction in proptest::option::weighted(0.4, 0.0..=1.0_f64),
        host in amount(),
        processes in proptest::option::of(1_u32..9),
        sleep_level in proptest::option::of(1_u32..3),
        checkpoint_transient in amount(),
    ) -> MemoryNeed {
        MemoryNeed {
            weights, kv, workspace, graphs, peak,
            fraction_of_total: fraction.and_then(Share::new),
            host, processes, sleep_level, checkpoint_transient,
            ..MEMORY
        }
    }
}

fn mode() -> impl Strategy<Value = SharingMode> {
    let limit = (GIB..80 * GIB).prop_map(Bytes);
    prop_oneof![
        Just(SharingMode::CandidatesAll),
        Just(SharingMode::TimeSlicing(TimeSlicing::default())),
        Just(SharingMode::TimeSlicing(TimeSlicing {
            gpus: BTreeMap::from([("chat".to_owned(), vec![0])]),
            ..TimeSlicing::default()
        })),
        proptest::option::of(limit).prop_map(|limit| SharingMode::Mps(MpsMode::Default {
            percentages: BTreeMap::new(),
            memory_limits: limit.map(|limit| ("tune".to_owned(), limit)).into_iter().collect(),
        })),
    ]
}

prop_compose! {
    fn any_site()(
        chat in memory(),
        tune in memory(),
        mode in mode(),
        gpus in 1_u32..9,
        capacity in GIB..100 * GIB,
        host in proptest::option::of(GIB..900 * GIB),
        taken in proptest::option::weighted(0.3, 0..20 * GIB),
        parameters in proptest::option::of(1_000_000_u64..80_000_000_000),
        concurrency in proptest::option::of(1_u32..500),
        (save_s, notice_s) in (1_u64..300, 1_u64..300),
        faults in proptest::option::of(0.0..40.0_f64),
    ) -> Site {
        let place = Server {
            gpu_memory: Some(Bytes(capacity)),
            gpu_memory_taken: taken.map(Bytes),
            memory: host.map(Bytes),
            ..server(gpus, "1 GiB")
        };
        let mut engine = inference();
        engine.concurrency = concurrency;
        engine.objectives.availability = Share::new(0.999);
        let mut chat = workload("chat", WorkloadKind::Inference(Box::new(engine)), Some(chat));
        chat.model = Some(Model {
            name: "m".to_owned(),
            parameters,
            layers: Some(32),
            kv_heads: Some(8),
            head_size: Some(128),
            dtype: Some(Dtype::Bfloat16),
        });
        let training = Training {
            step_time_alone: Some(std::time::Duration::from_secs(1)),
            checkpoint: Some(Checkpoint {
                duration: Some(std::time::Duration::from_secs(save_s)),
                ..Checkpoint::default()
            }),
            preemption: Some(Preemption {
                allowed: true,
                signal: None,
                notice: Some(std::time::Duration::from_secs(notice_s)),
                lost_work: None,
                mean_time_to_loss: None,
                failure_share_max: None,
                slurm: None,
            }),
            ..Training::default()
        };
        let mut tune = trainer("tune", tune, training);
        tune.faults = faults.map(|per_month| Faults {
            per_month,
            recovery: Some(std::time::Duration::from_mins(5)),
        });
        site(place, vec![chat, tune], mode)
    }
}

/// Which declared need grows.
#[derive(Clone, Copy, Debug)]
enum Term {
    Weights,
    Kv,
    Workspace,
    Graphs,
    Peak,
    Host,
    Processes,
    Transient,
}

fn term() -> impl Strategy<Value = Term> {
    prop::sample::select(vec![
        Term::Weights,
        Term::Kv,
        Term::Workspace,
        Term::Graphs,
        Term::Peak,
        Term::Host,
        Term::Processes,
        Term::Transient,
    ])
}

fn grow(memory: &mut MemoryNeed, term: Term, more: u64) {
    let field = match term {
        Term::Weights => &mut memory.weights,
        Term::Kv => &mut memory.kv,
        Term::Workspace => &mut memory.workspace,
        Term::Graphs => &mut memory.graphs,
        Term::Peak => &mut memory.peak,
        Term::Host => &mut memory.host,
        Term::Transient => &mut memory.checkpoint_transient,
        Term::Processes => {
            memory.processes = memory.processes.map(|processes| processes + 1);
            return;
        }
    };
    *field = field.map(|amount| Bytes(amount.0 + more));
}

/// No check of the second list is better than the one with its title in the first.
fn no_better(before: &[Check], after: &[Check]) -> Result<(), TestCaseError> {
    for check in after {
        let same = before.iter().find(|one| one.key == check.key && one.title == check.title);
        if let Some(same) = same {
            prop_assert!(check.outcome <= same.outcome, "{same:#?}\nbecame\n{check:#?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_need_never_makes_an_outcome_better(
        mut site in any_site(),
        which in 0_usize..2,
        term in term(),
        more in 1_u64..40 * GIB,
    ) {
        let before = checks(&site);
        if let Some(memory) = &mut site.workloads[which].memory {
            grow(memory, term, more);
        }
        no_better(&before, &checks(&site))?;
    }

    #[test]
    fn less_room_never_makes_an_outcome_better(
        mut site in any_site(),
        gpu in 0.1..1.0_f64,
        host in 0.1..1.0_f64,
    ) {
        // A fraction of a smaller total is a smaller budget: that is no equal need.
        for workload in &mut site.workloads {
            if let Some(memory) = &mut workload.memory {
                memory.fraction_of_total = None;
            }
        }
        let before = checks(&site);
        if let SiteKind::Server(server) = &mut site.kind {
            let shrink = |amount: Bytes, by: f64| Bytes((amount.0 as f64 * by) as u64);
            server.gpu_memory = server.gpu_memory.map(|memory| shrink(memory, gpu));
            server.memory = server.memory.map(|memory| shrink(memory, host));
        }
        no_better(&before, &checks(&site))?;
    }

    #[test]
    fn a_longer_save_or_a_shorter_notice_is_never_better(
        mut site in any_site(),
        longer_s in 0_u64..200,
        shorter_s in 0_u64..200,
    ) {
        let before = checks(&site);
        if let WorkloadKind::Training(training) = &mut site.workloads[1].kind {
            let (Some(checkpoint), Some(preemption)) =
                (&mut training.checkpoint, &mut training.preemption)
            else {
                return Ok(());
            };
            let longer = std::time::Duration::from_secs(longer_s);
            let shorter = std::time::Duration::from_secs(shorter_s);
            checkpoint.duration = checkpoint.duration.map(|duration| duration + longer);
            preemption.notice = preemption.notice.map(|notice| notice.saturating_sub(shorter));
        }
        no_better(&before, &checks(&site))?;
    }

    #[test]
    fn every_check_says_what_it_needs(site in any_site()) {
        let found = checks(&site);
        prop_assert_eq!(&found, &checks(&site));
        for check in &found {
            prop_assert!(!check.answer.is_empty(), "{:#?}", check);
            prop_assert!(!check.workloads.is_empty(), "{:#?}", check);
            match check.outcome {
                // Nothing stays open without a line that would decide it or a test that would.
                Outcome::Open => prop_assert!(
                    !check.missing.is_empty() || !check.would_be_conditional_on.is_empty(),
                    "{:#?}", check
                ),
                Outcome::Fails => prop_assert!(!check.arithmetic.is_empty(), "{:#?}", check),
                Outcome::Holds => {}
            }
        }
    }
}
