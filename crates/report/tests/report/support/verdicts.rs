//! Hand-made verdicts. Their numbers are made up and only have to look like real ones.

use cotenant_core::evidence::{Origin, Remedy};
use cotenant_core::verdict::{
    Bounded, Comparison, Condition, Finding, Gate, GateKind, Missing, Rejected, Ruling, Sample,
    Strategy, Target, Unit, Validity, Verdict,
};

const RUN: &str = "20261130T090000Z-abc";
const IDLE: Strategy = Strategy::With(Remedy::IdlePriority);

fn target(metric: &str, value: f64, misses_allowed: Option<f64>) -> Target {
    Target { metric: metric.to_owned(), value, unit: Unit::Seconds, misses_allowed }
}

fn latency(
    subject: &str,
    strategy: Strategy,
    ruling: Ruling,
    target: Target,
    observed: Option<f64>,
    misses: (f64, Option<f64>, Option<f64>),
) -> Finding {
    let (estimate, lower, upper) = misses;
    Finding {
        subject: subject.to_owned(),
        strategy,
        ruling,
        target: Some(target),
        observed,
        judged: Some(Bounded { estimate, lower, upper }),
        sample: Sample { count: 420, effective: 288.4, blocks: 6 },
        origin: Some(Origin::Measured),
        evidence: vec![RUN.to_owned()],
        explanation:
            "The larger of Cox's bound over the blocks and Clopper–Pearson at the effective \
                      sample size is held against the share that may miss."
                .to_owned(),
        blind_spot: (ruling == Ruling::Pass)
            .then(|| "a phase in fewer than 1 of 6 blocks would have gone unseen".to_owned()),
        missing: Vec::new(),
    }
}

fn step_time(strategy: Strategy, ruling: Ruling, mean: f64) -> Finding {
    Finding {
        subject: "tune: step time".to_owned(),
        strategy,
        ruling,
        target: Some(target("step_time_max", 1.6, None)),
        observed: Some(mean),
        judged: Some(Bounded {
            estimate: mean,
            lower: Some(mean * 0.98),
            upper: Some(mean * 1.02),
        }),
        sample: Sample { count: 84, effective: 84.0, blocks: 6 },
        origin: Some(Origin::Measured),
        evidence: vec![RUN.to_owned()],
        explanation: "A t bound over the means of 6 blocks.".to_owned(),
        blind_spot: None,
        missing: Vec::new(),
    }
}

fn plain(subject: &str, ruling: Ruling, origin: Option<Origin>, explanation: &str) -> Finding {
    Finding {
        subject: subject.to_owned(),
        strategy: Strategy::AsDeclared,
        ruling,
        target: None,
        observed: None,
        judged: None,
        sample: Sample::default(),
        origin,
        evidence: Vec::new(),
        explanation: explanation.to_owned(),
        blind_spot: None,
        missing: Vec::new(),
    }
}

fn alone() -> Vec<Finding> {
    vec![
        latency(
            "chat: TTFT p95",
            Strategy::Alone,
            Ruling::Pass,
            target("ttft_p95", 0.5, Some(0.05)),
            Some(0.142),
            (0.0, Some(0.0), Some(0.0124)),
        ),
        latency(
            "chat: ITL p99",
            Strategy::Alone,
            Ruling::Pass,
            target("itl_p99", 0.12, Some(0.01)),
            Some(0.0416),
            (0.0, Some(0.0), Some(0.0031)),
        ),
    ]
}

fn together(ruling: Ruling) -> Vec<Finding> {
    let (ttft, ttft_misses, itl, itl_misses) = match ruling {
        Ruling::Pass => {
            (0.412, (0.021, Some(0.011), Some(0.0387)), 0.101, (0.004, Some(0.002), Some(0.0081)))
        }
        _ => (0.688, (0.0952, Some(0.0711), Some(0.124)), 0.418, (0.018, Some(0.013), Some(0.026))),
    };
    vec![
        latency(
            "chat: TTFT p95",
            Strategy::AsDeclared,
            ruling,
            target("ttft_p95", 0.5, Some(0.05)),
            Some(ttft),
            ttft_misses,
        ),
        latency(
            "chat: ITL p99",
            Strategy::AsDeclared,
            ruling,
            target("itl_p99", 0.12, Some(0.01)),
            Some(itl),
            itl_misses,
        ),
    ]
}

fn remedied() -> Vec<Finding> {
    vec![
        latency(
            "chat: TTFT p95",
            IDLE,
            Ruling::Pass,
            target("ttft_p95", 0.5, Some(0.05)),
            Some(0.187),
            (0.0071, Some(0.002), Some(0.0231)),
        ),
        latency(
            "chat: ITL p99",
            IDLE,
            Ruling::Pass,
            target("itl_p99", 0.12, Some(0.01)),
            Some(0.0499),
            (0.0013, Some(0.0004), Some(0.0058)),
        ),
    ]
}

fn gate(kind: GateKind, ruling: Ruling, summary: &str, findings: Vec<Finding>) -> Gate {
    Gate { kind, ruling, summary: summary.to_owned(), findings }
}

/// The four gates that most samples share.
fn other_gates(accepted: bool) -> Vec<Gate> {
    let declared = |subject: &str, what: &str| {
        if accepted {
            plain(subject, Ruling::Pass, Some(Origin::Declared), "Declared by ops@example.org.")
        } else {
            let mut open = plain(subject, Ruling::NotProven, None, "The site file is silent.");
            open.missing = vec![Missing {
                what: what.to_owned(),
                remedy: format!(
                    "site.yaml: operations.{}.accepted_by: <name>",
                    subject.replace(' ', "_")
                ),
                minutes: Some(0.0),
            }];
            open
        }
    };
    let word = if accepted { Ruling::Pass } else { Ruling::NotProven };
    let summary = if accepted { "Accepted, as declared." } else { "Nobody has accepted it." };
    vec![
        gate(
            GateKind::Isolation,
            Ruling::Pass,
            "No workload requires a property that the mode does not give.",
            vec![plain(
                "CPU shares",
                Ruling::Pass,
                Some(Origin::Measured),
                "The audit saw the trainer's share at 1.27 % of inference's: it binds.",
            )],
        ),
        gate(
            GateKind::Preemption,
            Ruling::Pass,
            "6 of 6 drills gave the machine back, and training went on each time.",
            vec![plain(
                "tune: reclaim and resume",
                Ruling::Pass,
                Some(Origin::Measured),
                "The slowest drill took 1.9 s from the signal to memory free.",
            )],
        ),
        gate(
            GateKind::Maintenance,
            word,
            summary,
            vec![declared(
                "maintenance",
                "Who accepts one driver, kernel and reboot cycle for both",
            )],
        ),
        gate(
            GateKind::FailureDomain,
            word,
            summary,
            vec![declared("failure domain", "Who accepts that one board failing stops both")],
        ),
    ]
}

fn comparisons(remedy: bool) -> Vec<Comparison> {
    let compare = |name: &str, strategy, ratio: f64, pairs| Comparison {
        name: name.to_owned(),
        strategy,
        ratio,
        interval: Some((ratio * 0.9, ratio * 1.12)),
        pairs,
    };
    let mut list = vec![
        compare("amplification of TTFT p95", Strategy::AsDeclared, 4.85, 6),
        compare("slowdown of the step", Strategy::AsDeclared, 1.39, 6),
        compare("retention of throughput", Strategy::AsDeclared, 0.97, 6),
    ];
    if remedy {
        list.push(compare("amplification of TTFT p95", IDLE, 1.32, 6));
        list.push(compare("slowdown of the step", IDLE, 1.59, 6));
        list.push(compare("retention of throughput", IDLE, 0.99, 6));
    }
    list
}

fn verdict(ruling: Ruling, reason: &str, gates: Vec<Gate>) -> Verdict {
    Verdict {
        ruling,
        reason: reason.to_owned(),
        conditions: Vec::new(),
        missing: gates
            .iter()
            .flat_map(|gate| &gate.findings)
            .flat_map(|finding| finding.missing.clone())
            .collect(),
        gates,
        comparisons: comparisons(false),
        rejected: Vec::new(),
        excluded: Vec::new(),
        validity: Validity::Valid,
        as_of: Some(jiff::Timestamp::constant(1_796_030_400, 0)),
        remarks: vec!["A CPU demonstration of the method; no GPU claim comes of it".to_owned()],
    }
}

/// Everything holds as declared.
pub(crate) fn pass() -> Verdict {
    let mut findings = together(Ruling::Pass);
    findings.extend(alone());
    let mut gates = vec![
        gate(GateKind::Inference, Ruling::Pass, "Both objectives hold beside training.", findings),
        gate(
            GateKind::Completion,
            Ruling::Pass,
            "The step stays within its time.",
            vec![step_time(Strategy::AsDeclared, Ruling::Pass, 1.28)],
        ),
    ];
    gates.extend(other_gates(true));
    verdict(Ruling::Pass, "Every gate holds as declared.", gates)
}

/// Fails as declared, holds with the remedy.
pub(crate) fn conditional() -> Verdict {
    let mut findings = together(Ruling::Fail);
    findings.extend(remedied());
    findings.extend(alone());
    let mut gates = vec![
        gate(
            GateKind::Inference,
            Ruling::Conditional,
            "Two objectives are missed as declared; both hold with the trainer at idle CPU priority.",
            findings,
        ),
        gate(
            GateKind::Completion,
            Ruling::Pass,
            "The step stays within its time, with the remedy too.",
            vec![
                step_time(Strategy::AsDeclared, Ruling::Pass, 1.28),
                step_time(IDLE, Ruling::Pass, 1.46),
            ],
        ),
    ];
    gates.extend(other_gates(true));
    let mut verdict = verdict(
        Ruling::Conditional,
        "As declared, inference misses two objectives; with the trainer at idle CPU priority every \
         gate holds.",
        gates,
    );
    verdict.conditions = vec![Condition {
        sentence: "The trainer runs at idle CPU priority whenever inference is served.".to_owned(),
        watch: "trainer.cpu_policy".to_owned(),
        operator: "==",
        value: "SCHED_IDLE".to_owned(),
        tested_by: vec![RUN.to_owned()],
    }];
    verdict.comparisons = comparisons(true);
    verdict.rejected = vec![Rejected {
        run: RUN.to_owned(),
        index: 7,
        letter: 'C',
        reason: "the hypervisor took 0.31 cores away, the limit is 0.05".to_owned(),
    }];
    verdict.excluded = vec![(
        "20261129T170000Z-ac".to_owned(),
        "the kernel was updated after it: left out by ops@example.org".to_owned(),
    )];
    verdict.validity =
        Validity::Degraded(vec!["1 of 24 blocks is left out for stolen CPU.".to_owned()]);
    verdict
}

/// Inference misses its objectives and nothing mends it.
pub(crate) fn fail() -> Verdict {
    let mut findings = together(Ruling::Fail);
    findings.extend(alone());
    let mut gates = vec![
        gate(
            GateKind::Inference,
            Ruling::Fail,
            "Two objectives are missed, and no remedy was tested.",
            findings,
        ),
        gate(
            GateKind::Completion,
            Ruling::Pass,
            "The step stays within its time.",
            vec![step_time(Strategy::AsDeclared, Ruling::Pass, 1.28)],
        ),
    ];
    gates.extend(other_gates(true));
    verdict(
        Ruling::Fail,
        "Inference misses TTFT p95 and ITL p99 beside training, beyond doubt, and nothing that was \
         tested mends it.",
        gates,
    )
}

/// Too little was seen.
pub(crate) fn not_proven() -> Verdict {
    let mut open = latency(
        "chat: TTFT p95",
        Strategy::AsDeclared,
        Ruling::NotProven,
        target("ttft_p95", 0.5, Some(0.05)),
        Some(f64::INFINITY),
        (0.06, Some(0.01), None),
    );
    open.sample = Sample { count: 70, effective: 22.0, blocks: 1 };
    open.missing = vec![Missing {
        what: "11 more blocks of A and C would decide chat: TTFT p95".to_owned(),
        remedy: "cotenant measure site.yaml --tests a,c --blocks 12".to_owned(),
        minutes: Some(11.5),
    }];
    let mut no_sample = latency(
        "chat: ITL p99",
        Strategy::AsDeclared,
        Ruling::NotProven,
        target("itl_p99", 0.12, Some(0.01)),
        None,
        (0.0, None, None),
    );
    no_sample.judged = None;
    no_sample.origin = None;
    no_sample.sample = Sample::default();
    let mut deadline = plain("tune: deadline", Ruling::NotProven, None, "No calendar was planned.");
    deadline.missing = vec![Missing {
        what: "a plan that holds the deadline against the measured step times".to_owned(),
        remedy: "cotenant measure site.yaml --tests b".to_owned(),
        minutes: None,
    }];
    let mut gates = vec![
        gate(
            GateKind::Inference,
            Ruling::NotProven,
            "One block of C decides nothing.",
            vec![open, no_sample],
        ),
        gate(
            GateKind::Completion,
            Ruling::NotProven,
            "The deadline was not held against a calendar.",
            vec![deadline],
        ),
    ];
    gates.extend(other_gates(false));
    let mut verdict = verdict(
        Ruling::NotProven,
        "Four gates lack evidence; the cheapest needs a line in the site file.",
        gates,
    );
    verdict.missing.sort_by(|left, right| {
        let minutes = |missing: &Missing| missing.minutes.unwrap_or(f64::INFINITY);
        minutes(left).total_cmp(&minutes(right))
    });
    verdict.comparisons = vec![Comparison {
        name: "amplification of TTFT p95".to_owned(),
        strategy: Strategy::AsDeclared,
        ratio: f64::INFINITY,
        interval: None,
        pairs: 1,
    }];
    verdict
}

/// The client was late throughout.
pub(crate) fn invalid() -> Verdict {
    let gates = GateKind::ALL
        .into_iter()
        .map(|kind| gate(kind, Ruling::NotProven, "The tests prove nothing.", Vec::new()))
        .collect();
    let mut verdict = verdict(
        Ruling::NotProven,
        "The load client was late in every block: its own delay is as large as what it measured.",
        gates,
    );
    verdict.validity = Validity::Invalid(vec![
        "lateness p99 was 180 ms where TTFT p95 was 210 ms".to_owned(),
        "the client waited 7.2 s on the run queue in 24 s".to_owned(),
    ]);
    verdict.comparisons = Vec::new();
    verdict.as_of = None;
    verdict
}
