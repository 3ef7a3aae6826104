//! What a checkpoint took, from the steps and readings around it.

use cotenant_core::evidence::{Block, CheckpointRecord, Condition, StepRecord};
use cotenant_core::verdict::{CheckpointKind, CheckpointLook, checkpoint_looks};

use crate::support::{Recipe, host};

/// A block with steps that end at these seconds and one checkpoint.
fn looks(ends_s: &[f64], at_s: f64, duration_s: f64) -> Vec<CheckpointLook> {
    let run = Recipe::good().run();
    let block = run.blocks.iter().find(|block| block.plan.condition == Condition::B).unwrap();
    let at_ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let steps = ends_s.iter().zip(1..).map(|(end_s, step)| StepRecord {
        step,
        at_ns: at_ns(*end_s),
        duration_s: None,
        loss: None,
        tokens: None,
    });
    let readings = (0..40).map(|second| {
        let mut sample = host(second * 1_000_000_000, 3000.0);
        let saving = (10..14).contains(&second);
        let memory = if saving { 5_000 } else { 2_000 };
        sample.workload_memory_bytes = vec![("train".to_owned(), Ok(memory))];
        sample.workload_cpu_cores = vec![("train".to_owned(), Ok(if saving { 2.5 } else { 1.0 }))];
        sample
    });
    let block = Block {
        steps: steps.collect(),
        checkpoints: vec![CheckpointRecord {
            step: 5,
            at_ns: at_ns(at_s),
            duration_s,
            bytes: None,
        }],
        host: readings.collect(),
        drill: None,
        ..block.clone()
    };
    checkpoint_looks(&block, "train")
}

/// Steps of one second, but for one that ends later.
fn ends(gap_at: usize, gap_s: f64) -> Vec<f64> {
    let mut at_s = 0.0;
    let mut ends = Vec::new();
    for step in 0..20 {
        at_s += if step == gap_at { gap_s } else { 1.0 };
        ends.push(at_s);
    }
    ends
}

#[test]
fn the_steps_around_it_show_its_kind_and_its_stall() {
    // Steps stand still from 9.0 to 14.0, in which 4 s of saving lie.
    let sync = looks(&ends(9, 5.0), 13.9, 4.0)[0];
    assert_eq!(sync.kind, CheckpointKind::Synchronous);
    assert!((sync.stall_s.unwrap() - 4.0).abs() < 1e-6 && (sync.cost_s() - 4.0).abs() < 1e-6);
    assert_eq!(sync.host_memory_bytes, Some(3_000));
    assert!(sync.cpu_cores.unwrap() > 0.9, "{sync:?}");
    // A stall of two seconds, and then steps go on while it is written.
    let asynchronous = looks(&ends(9, 3.0), 15.5, 6.0)[0];
    assert_eq!(asynchronous.kind, CheckpointKind::Asynchronous);
    assert!((asynchronous.cost_s() - 2.0).abs() < 1e-6, "{asynchronous:?}");
    let staged = looks(&ends(9, 1.1), 15.5, 6.0)[0];
    assert_eq!(staged.kind, CheckpointKind::Staged);
    assert!(staged.cost_s() < 0.2);
    let short = looks(&ends(9, 1.0), 12.7, 0.3)[0];
    assert_eq!((short.kind, short.kind.is_asynchronous()), (CheckpointKind::Unclear, None));
}

#[test]
fn what_was_not_seen_is_absent() {
    assert!(looks(&[], 13.0, 4.0).is_empty());
    // Before the first reading there is nothing to compare with.
    let early = looks(&ends(30, 1.0), 1.5, 1.2)[0];
    assert_eq!((early.host_memory_bytes, early.cpu_cores), (Some(0), Some(0.0)));
    let very_early = looks(&ends(30, 1.0), 1.5, 1.6)[0];
    assert_eq!((very_early.host_memory_bytes, very_early.cpu_cores), (None, None));
}
