//! Candidates as the simulator carried them out.

use cotenant_core::sim::candidates::{CandidateLatencies, SimulatedCandidate};
use cotenant_core::sim::latency::Foretold;

use crate::format;
use crate::model::Value;
use crate::plan::model::{CandidateSimulation, PeakLatencies, PeakLatency};

/// A candidate's figures, each marked as simulated by where they stand.
pub(super) fn simulated(candidate: &SimulatedCandidate) -> CandidateSimulation {
    let carried_out = candidate.carried_out.as_ref();
    let figure = |value: fn(&cotenant_core::sim::candidates::CarriedOut) -> Value| {
        carried_out.map_or_else(Value::missing, value)
    };
    CandidateSimulation {
        origin: "simulated".to_owned(),
        calendars: carried_out.map_or(0, |it| it.weeks),
        deadlines: figure(|it| {
            let (held, all) = it.deadlines_held;
            if all == 0 {
                return Value::missing("no job has a deadline in it");
            }
            format::value_with_text(f64::from(held), "count", format!("{held} of {all}"))
        }),
        gpu_hours_kept: figure(|it| hours(it.gpu_hours_kept)),
        gpu_hours_lost: figure(|it| hours(it.gpu_hours_lost)),
        short_share_max: figure(|it| {
            it.short_share_max.map_or_else(
                || Value::missing("inference holds no GPU of its calendar"),
                |share| format::value_with_text(share, "share", format::share(share)),
            )
        }),
        latencies: candidate.latencies.iter().map(latencies).collect(),
        assumed: candidate.assumed.clone(),
    }
}

fn hours(hours: f64) -> Value {
    format::value_with_text(hours, "GPU-hours", format!("{} GPU-h", format::number(hours)))
}

fn latencies(of: &CandidateLatencies) -> PeakLatencies {
    let (rate, figures) = match &of.foretold {
        Ok((rate, foretold)) => {
            let text = format!("{} req/s", format::number(*rate));
            (format::value_with_text(*rate, "req/s", text), foretold.iter().map(latency).collect())
        }
        Err(why) => (Value::missing(why), Vec::new()),
    };
    PeakLatencies { workload: of.workload.clone(), rate, figures }
}

fn latency(foretold: &Foretold) -> PeakLatency {
    let mean = foretold.time_s.mean;
    PeakLatency {
        name: foretold.name.replace('_', " "),
        time: format::value_with_text(mean, "s", format::time(mean)),
        target: foretold
            .target_s
            .map(|target| format::value_with_text(target, "s", format::round_time(target))),
    }
}
