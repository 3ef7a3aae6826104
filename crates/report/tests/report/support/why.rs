//! A made-up explanation: CPU and disk explain most of C, memory has no counter, the network is
//! pressed beyond what was tested.

use std::time::Duration;

use cotenant_core::evidence::Stressor;
use cotenant_core::sensitivity::{
    Cause, Dose, Effect, Explained, Explanation, MissingTest, NeighbourPressure, Part, PartState,
    Prediction, Resource, Response,
};
use cotenant_core::site::{LatencyMetric, LatencyObjective};

fn effect(ratio: f64) -> Effect {
    Effect { ratio, interval: Some((ratio * 0.95, ratio * 1.06)) }
}

fn resource(stressor: Stressor, unit: &str, all: f64, neighbour: NeighbourPressure) -> Resource {
    let dose = |dose: u8| Dose {
        dose,
        pressure: Some(all * f64::from(dose) / 3.05),
        cpu_cores: Some(0.3 * f64::from(dose)),
        stall_share: (stressor == Stressor::Cpu).then_some(0.123),
        blocks: 6,
    };
    Resource {
        stressor,
        unit: unit.to_owned(),
        calibrated: Some(all),
        doses: (1..=3).map(dose).collect(),
        neighbour,
    }
}

fn neighbour(value: Option<f64>, at_most: Option<f64>, how: &str) -> NeighbourPressure {
    NeighbourPressure { value, at_most, stall_share: None, how: how.to_owned() }
}

fn explained(name: &'static str, metric: LatencyMetric, sentence: &str) -> Explained {
    let each = [
        (Stressor::Cpu, [1.1, 1.35, 1.98]),
        (Stressor::MemoryBandwidth, [1.01, 1.02, 1.18]),
        (Stressor::DiskSync, [1.0, 1.04, 1.11]),
        (Stressor::Network, [1.02, 1.09, 1.31]),
    ];
    let responses = each
        .iter()
        .flat_map(|(stressor, factors)| {
            factors.iter().zip(1..).map(|(factor, dose)| Response {
                stressor: *stressor,
                dose,
                effect: (*factor != 1.31).then(|| effect(*factor)),
                rounds: 6,
                unbounded: u32::from(*factor == 1.31),
            })
        })
        .collect();
    let part = |stressor, ratio: f64, state| Part { stressor, effect: effect(ratio), state };
    Explained {
        objective: LatencyObjective {
            name,
            metric,
            quantile: 0.95,
            target: Duration::from_millis(500),
        },
        alone_s: Some(0.1234),
        responses,
        prediction: Some(Prediction {
            effect: effect(1.37),
            parts: vec![
                part(Stressor::Cpu, 1.31, PartState::Tested),
                part(Stressor::MemoryBandwidth, 1.04, PartState::AtMost),
                part(Stressor::DiskSync, 1.03, PartState::Tested),
                part(Stressor::Network, 1.015, PartState::Beyond),
            ],
            is_floor: true,
            more_at_most: 1.04,
        }),
        measured: Some(effect(1.52)),
        pairs: 12,
        unexplained: Some(effect(1.11)),
        cause: Cause::Resource(Stressor::Cpu),
        sentence: sentence.to_owned(),
    }
}

/// The explanation.
pub(crate) fn explanation() -> Explanation {
    let mut unknown = explained("itl_p95", LatencyMetric::Itl, "C has not been measured");
    (unknown.prediction, unknown.measured, unknown.unexplained) = (None, None, None);
    let bound = "a bound: its cores times what one core of the stressor moved";
    Explanation {
        runs: vec!["20261130T100000Z-sensitivity".to_owned()],
        rounds: 6,
        blocks: 95,
        blocks_left_out: 1,
        resources: vec![
            resource(Stressor::Cpu, "cores", 1.97, neighbour(Some(0.98), None, "CPU time")),
            resource(Stressor::MemoryBandwidth, "B/s", 2e10, neighbour(None, Some(8e9), bound)),
            resource(Stressor::DiskSync, "B/s", 4e8, neighbour(Some(5.2e7), None, "bytes written")),
            resource(Stressor::Network, "B/s", 3e8, neighbour(Some(9e8), None, "a proxy: bytes")),
        ],
        objectives: vec![
            explained(
                "ttft_p95",
                LatencyMetric::Ttft,
                "C measures ×1.52 (1.44 to 1.61) of A; the likeliest cause is CPU, with ×1.31 (1.24 \
                 to 1.39)",
            ),
            unknown,
        ],
        missing: vec![MissingTest {
            what: "what the neighbour presses on: no valid block of test B".to_owned(),
            command: "cotenant measure site.yaml --tests b".to_owned(),
        }],
        remarks: vec!["memory bandwidth: its buffers are 24 MiB".to_owned()],
    }
}
