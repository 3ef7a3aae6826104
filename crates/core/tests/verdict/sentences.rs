//! The words, as an engineer reads them.

use std::time::Duration;

use cotenant_core::evidence::Remedy;
use cotenant_core::site::CheckpointInterval;
use cotenant_core::units::Share;

use crate::support::{Recipe, inference_mut, judged, site, told, training_mut};

#[test]
fn a_conditional_verdict_reads_well() {
    let declared = Recipe { misses_together: 0.3, ..Recipe::good() };
    let remedy = Recipe {
        id: "20270102T000000Z-abc",
        day: 1,
        seed: 2,
        remedy: Some(Remedy::IdlePriority),
        ..Recipe::good()
    };
    insta::assert_snapshot!(told(&judged(&site(), &[declared.run(), remedy.run()])));
}

#[test]
fn an_unproven_verdict_reads_well() {
    let mut site = site();
    let objectives = &mut inference_mut(&mut site).objectives;
    objectives.ttft_p99 = Some(Duration::from_secs(1));
    objectives.error_rate = Share::new(0.001);
    let training = training_mut(&mut site);
    training.checkpoint.as_mut().unwrap().interval =
        Some(CheckpointInterval::Time(Duration::from_mins(10)));
    training.preemption.as_mut().unwrap().failure_share_max = Share::new(0.05);
    site.operations.failure_domain = None;
    let few = Recipe { pairs: 4, misses_together: 0.03, ..Recipe::good() };
    insta::assert_snapshot!(told(&judged(&site, &[few.run()])));
}
