//! What frames the demonstration: the machine's measure before it, and the way on after it.

use std::path::Path;
use std::time::Duration;

use cotenant_core::protocol::BlockShape;
use cotenant_core::stats;
use cotenant_probe::load::{Arrivals, LengthDistribution, Lengths, LoadSpec, schedule};
use cotenant_probe::measure;
use cotenant_report::NextStepInput;

use crate::exit::Failure;
use crate::verbs::session::{Session, block_failure};

/// Requests, one after the other, from which the machine's capacity is taken.
const REQUESTS: u32 = 24;

/// Median time of one request with the machine to itself, seconds.
pub(super) async fn service_time(session: &mut Session<'_>) -> Result<f64, Failure> {
    let lengths = Lengths::Drawn {
        prompt: LengthDistribution::Fixed(64),
        output: LengthDistribution::Fixed(12),
    };
    let one_by_one = Arrivals::ClosedLoop { users: 1, think: Duration::ZERO, requests: REQUESTS };
    let load = schedule(&LoadSpec::new(one_by_one, lengths, Duration::from_secs(30), session.seed))
        .map_err(Failure::world)?;
    let shape = BlockShape {
        warm_up: Duration::ZERO,
        judged: Duration::from_secs(30),
        tail: Duration::ZERO,
    };
    let rules = session.rules(shape);
    let mut interrupt = session.interrupt.clone();
    let pilot = measure::pilot_inference(&mut session.rig, &rules, &load, &mut interrupt)
        .await
        .map_err(block_failure)?;
    // From the send, not from the intended time: this is the machine's own time for one request.
    let times: Vec<f64> = pilot
        .requests
        .iter()
        .filter(|request| request.outcome.is_complete())
        .filter_map(|request| Some((request.end_ns - request.sent_ns?) as f64 / 1e9))
        .collect();
    stats::quantile(&times, 0.5)
        .map_err(|_| Failure::world("the embedded engine answered no request"))
}

/// Three things to do next.
pub(super) fn next_steps(out: &Path) -> Vec<NextStepInput> {
    let site = out.join("site.yaml");
    let step = |text: &str, command: String| NextStepInput { text: text.to_owned(), command };
    vec![
        step(
            "Look at the page: distributions, steps and the host, alone and together.",
            format!("open {}", out.join("report.html").display()),
        ),
        step(
            "Judge again from the files alone: the same evidence gives the same bytes.",
            format!("cotenant verdict {} --format json", site.display()),
        ),
        step(
            "Put your own engine, trainer and objectives in place of the examples, and measure.",
            format!("cp {} site.yaml && cotenant check site.yaml", site.display()),
        ),
    ]
}
