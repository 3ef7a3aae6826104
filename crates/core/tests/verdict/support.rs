//! A site and evidence made by hand: seeded, with a known share of misses, step time and drills.

use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::evidence::{
    Aspect, Block, CheckpointRecord, ChunkGaps, ClientHealth, Condition, EnforcementAudit,
    Fingerprint, HostSample, Missing, Observed, Origin, Outcome, Phase, Pilot, PlannedBlock,
    ReclaimDrill, Remedy, RequestRecord, ResumeCheck, Run, Situation, StepRecord, TestedLoad,
    TokenSource,
};
use cotenant_core::site::{
    ChangeCycle, Checkpoint, CheckpointInterval, Demand, FailureDomain, HostCpu, Inference,
    InferenceObjectives, IsolationNeed, Maintenance, NeighbourPriority, Operations, Preemption,
    Sharing, SharingMode, Signal, Site, SiteKind, TokenCounts, Training, TrainingObjectives,
    Workload, WorkloadKind,
};
use cotenant_core::units::{RatePerSecond, Share};
use cotenant_core::verdict::{Finding, Gate, GateKind, Question, Ruling, Verdict, judge};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// A workload with nothing but a name and a kind.
pub(crate) fn workload(name: &str, kind: WorkloadKind) -> Workload {
    Workload {
        name: name.to_owned(),
        kind,
        owner: None,
        model: None,
        weight: None,
        faults: None,
        memory: None,
        allocation: None,
        priority: None,
        limits: None,
        on_out_of_memory: None,
        classes: Vec::new(),
    }
}

/// A site on which everything that needs a declaration is declared, and all that is measured can
/// hold: TTFT p95 of 500 ms, steps of at most 1 s, half of the reclaims may fail.
pub(crate) fn site() -> Site {
    let rate = RatePerSecond::new(2.0, "req");
    let inference = Inference {
        runtime: None,
        version: None,
        arguments: Vec::new(),
        endpoint: "http://127.0.0.1:8000".to_owned(),
        metrics_endpoint: None,
        launch: None,
        sleep: None,
        demand: Demand::Poisson { rate: rate.clone() },
        concurrency: None,
        prompt_tokens: Some(TokenCounts { p50: 100, p95: 100 }),
        output_tokens: Some(TokenCounts { p50: 20, p95: 20 }),
        peak_rate: Some(rate),
        objectives: InferenceObjectives {
            ttft_p95: Some(Duration::from_millis(500)),
            ..InferenceObjectives::default()
        },
        capacity: None,
        service_time: None,
        minimum_reserved: None,
        burst_reserve: None,
        guard: None,
    };
    let training = Training {
        steps: Some(10_000),
        objectives: TrainingObjectives {
            step_time_max: Some(Duration::from_secs(1)),
            ..TrainingObjectives::default()
        },
        // As long as the job: it never saves by itself.
        checkpoint: Some(Checkpoint {
            interval: Some(CheckpointInterval::Steps(10_000)),
            ..Checkpoint::default()
        }),
        preemption: Some(Preemption {
            allowed: true,
            signal: Some(Signal::Term),
            notice: Some(Duration::from_secs(30)),
            lost_work: None,
            mean_time_to_loss: None,
            failure_share_max: Share::new(0.5),
            slurm: None,
        }),
        ..Training::default()
    };
    let cycle = |name: &str| ChangeCycle { workload: name.to_owned(), ..ChangeCycle::default() };
    Site {
        name: "made".to_owned(),
        time_zone: jiff::tz::TimeZone::UTC,
        as_of: None,
        kind: SiteKind::Server(Box::default()),
        workloads: vec![
            workload("chat", WorkloadKind::Inference(Box::new(inference))),
            workload("train", WorkloadKind::Training(Box::new(training))),
        ],
        sharing: Sharing {
            mode: SharingMode::HostCpu(HostCpu {
                neighbour_priority: NeighbourPriority::Normal,
                affinity: BTreeMap::new(),
            }),
            versions: BTreeMap::new(),
            mps_server_per_gpu: None,
            caps: std::collections::BTreeMap::new(),
            saturating_load: None,
        },
        operations: Operations {
            failure_domain: Some(FailureDomain {
                accepted: true,
                accepted_by: Some("ops".to_owned()),
            }),
            change_cycle: vec![cycle("chat"), cycle("train")],
            maintenance: Some(Maintenance {
                windows: Vec::new(),
                accepted_by: Some("ops".to_owned()),
            }),
            isolation: vec![IsolationNeed { workload: "chat".to_owned(), properties: Vec::new() }],
            ..Operations::default()
        },
    }
}

/// The inference workload of [`site`], to change.
pub(crate) fn inference_mut(site: &mut Site) -> &mut Inference {
    match &mut site.workloads[0].kind {
        WorkloadKind::Inference(inference) => inference,
        _ => panic!("the first workload is inference"),
    }
}

/// The training workload of [`site`], to change.
pub(crate) fn training_mut(site: &mut Site) -> &mut Training {
    match &mut site.workloads[1].kind {
        WorkloadKind::Training(training) => training,
        _ => panic!("the second workload is training"),
    }
}

/// How evidence is made.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) id: &'static str,
    /// Days after the first of the year, so that runs have an order.
    pub(crate) day: i64,
    pub(crate) seed: u64,
    pub(crate) pairs: u32,
    pub(crate) training_blocks: u32,
    /// True share of requests that take longer than 500 ms.
    pub(crate) misses_alone: f64,
    pub(crate) misses_together: f64,
    /// Standard deviation of the logarithm of a block's share.
    pub(crate) spread: f64,
    /// Mean step, seconds.
    pub(crate) step_alone_s: f64,
    pub(crate) step_together_s: f64,
    pub(crate) remedy: Option<Remedy>,
    /// Every second C block contains a checkpoint.
    pub(crate) checkpoints: bool,
    pub(crate) exit_s: f64,
}

impl Recipe {
    /// Twelve pairs, in which hardly anything misses.
    pub(crate) fn good() -> Self {
        Self {
            id: "20270101T000000Z-abc",
            day: 0,
            seed: 1,
            pairs: 12,
            training_blocks: 4,
            misses_alone: 0.002,
            misses_together: 0.004,
            spread: 0.2,
            step_alone_s: 0.5,
            step_together_s: 0.6,
            remedy: None,
            checkpoints: false,
            exit_s: 3.0,
        }
    }

    pub(crate) fn run(&self) -> Run {
        let mut random = Pcg64::seed_from_u64(self.seed);
        let started: jiff::Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
        let started = started + jiff::SignedDuration::from_hours(24 * self.day);
        let mut plans = Vec::new();
        for pair in 0..self.pairs {
            plans.push((Condition::A, pair));
            plans.push((Condition::C, pair));
        }
        plans.extend((0..self.training_blocks).map(|number| (Condition::B, number)));
        let schedule: Vec<PlannedBlock> = plans
            .into_iter()
            .enumerate()
            .map(|(index, (condition, pair))| PlannedBlock {
                index: index as u32,
                condition,
                pair,
                remedy: self.remedy.filter(|_| condition != Condition::A),
                situation: Situation::Ordinary,
                phase: if self.checkpoints && condition == Condition::C && pair % 2 == 0 {
                    Phase::Checkpoint
                } else {
                    Phase::Steady
                },
            })
            .collect();
        let blocks = schedule.iter().map(|plan| self.block(*plan, started, &mut random)).collect();
        let idle = EnforcementAudit {
            mechanism: Remedy::IdlePriority.name().to_owned(),
            ratio_expected: 0.003,
            ratio_measured: 0.004,
            binds: true,
            method: "two busy processes on one CPU".to_owned(),
        };
        Run {
            id: self.id.to_owned(),
            started,
            origin: Origin::Measured,
            inference: "chat".to_owned(),
            neighbour: "train".to_owned(),
            seed: self.seed,
            fingerprint: Fingerprint(
                Aspect::ALL
                    .into_iter()
                    .filter(|aspect| *aspect != Aspect::Sharing)
                    .map(|aspect| (aspect, format!("{} 1", aspect.name())))
                    .collect(),
            ),
            load: TestedLoad {
                description: "Poisson, 2 requests/s".to_owned(),
                digest: format!("{:x}", self.seed),
                rate_per_s: 2.0,
                prompt_tokens_p50: 100,
                prompt_tokens_p95: 100,
                output_tokens_p50: 20,
                output_tokens_p95: 20,
            },
            pilot: Pilot {
                requests: 20,
                ttft_p95_s: Some(0.3),
                itl_p95_s: Some(0.02),
                steps: 10,
                step_s: Some(0.5),
                warm_up_s: 5.0,
            },
            audits: self.remedy.map(|_| idle).into_iter().collect(),
            remedies: self.remedy.into_iter().collect(),
            schedule,
            blocks,
            engine_supervised: true,
        }
    }

    fn block(&self, plan: PlannedBlock, run: jiff::Timestamp, random: &mut Pcg64) -> Block {
        let with_inference = plan.condition != Condition::B;
        let with_training = plan.condition != Condition::A;
        let share = match plan.condition {
            Condition::A => self.misses_alone,
            _ => self.misses_together,
        };
        let last_c = plan.pair + 1 == self.pairs && self.training_blocks == 0;
        let requests = if with_inference { self.requests(share, random) } else { Vec::new() };
        let gaps = requests
            .iter()
            .map(|request| ChunkGaps {
                request: request.index,
                single_token: true,
                gaps_us: (0..19).map(|_| random.random_range(15_000..25_000)).collect(),
            })
            .collect();
        let step_s = if with_inference { self.step_together_s } else { self.step_alone_s };
        Block {
            plan,
            started: run + jiff::SignedDuration::from_mins(i64::from(plan.index)),
            judged_from_ns: JUDGED_FROM_NS,
            judged_until_ns: JUDGED_UNTIL_NS,
            ended_ns: 50 * SECOND,
            client: with_inference.then(|| ClientHealth {
                requests_planned: requests.len() as u32,
                requests_sent: requests.len() as u32,
                ..ClientHealth::default()
            }),
            requests,
            gaps,
            steps: if with_training { steps(step_s, random) } else { Vec::new() },
            checkpoints: (plan.phase == Phase::Checkpoint)
                .then_some(CheckpointRecord {
                    step: 40,
                    at_ns: 25 * SECOND,
                    duration_s: 1.0,
                    bytes: None,
                })
                .into_iter()
                .collect(),
            drill: (plan.condition == Condition::C).then(|| drill(self.exit_s, !last_c)),
            host: (1..50).map(|second| host(second * SECOND, 3000.0)).collect(),
            engine_waiting: Vec::new(),
            faults: Vec::new(),
            remarks: Vec::new(),
            load_factor: 1.0,
            observed: Observed::default(),
        }
    }

    /// Poisson arrivals at 2 a second. The share of misses of a block strays around the true one.
    fn requests(&self, share: f64, random: &mut Pcg64) -> Vec<RequestRecord> {
        // A log-normal with this location has the mean 1.
        let stray = LogNormal::new(-0.5 * self.spread * self.spread, self.spread).unwrap();
        let share = (share * stray.sample(random)).min(1.0);
        let mut at_s = 0.0;
        let mut requests = Vec::new();
        loop {
            at_s += -random.random_range(f64::MIN_POSITIVE..1.0_f64).ln() / 2.0;
            if at_s >= 48.0 {
                return requests;
            }
            let missed = random.random_bool(share);
            let ttft_s = random.random_range(if missed { 0.55..0.9 } else { 0.1..0.45 });
            requests.push(request(requests.len() as u32, at_s, ttft_s));
        }
    }
}

pub(crate) const JUDGED_FROM_NS: u64 = 5 * SECOND;
pub(crate) const JUDGED_UNTIL_NS: u64 = 45 * SECOND;

/// A request that completed: twenty tokens, 20 ms apart.
pub(crate) fn request(index: u32, intended_s: f64, ttft_s: f64) -> RequestRecord {
    let at = |seconds: f64| (seconds * 1e9).round() as u64;
    RequestRecord {
        index,
        class: 0,
        intended_ns: at(intended_s),
        sent_ns: Some(at(intended_s)),
        first_token_ns: Some(at(intended_s + ttft_s)),
        first_visible_ns: None,
        last_token_ns: Some(at(intended_s + ttft_s + 0.38)),
        end_ns: at(intended_s + ttft_s + 0.38),
        prompt_tokens: 100,
        output_tokens: 20,
        token_source: TokenSource::Usage,
        gap_longest_ns: Some(20_000_000),
        stalls: 0,
        stalled_ns: 0,
        outcome: Outcome::Completed,
    }
}

fn steps(step_s: f64, random: &mut Pcg64) -> Vec<StepRecord> {
    let mut steps = Vec::new();
    let mut at_s = 0.0;
    while at_s < 46.0 {
        let duration_s = step_s * random.random_range(0.97..1.03);
        at_s += duration_s;
        steps.push(StepRecord {
            step: steps.len() as u64 + 1,
            at_ns: (at_s * 1e9) as u64,
            duration_s: Some(duration_s),
            loss: Some(3.0),
            tokens: Some(1024),
        });
    }
    steps
}

pub(crate) fn drill(exit_s: f64, resumed: bool) -> ReclaimDrill {
    ReclaimDrill {
        driver: "signal TERM".to_owned(),
        signal_ns: JUDGED_UNTIL_NS,
        step_boundary_s: Some(0.3),
        checkpoint_s: Some(exit_s * 0.8),
        exit_s: Some(exit_s),
        memory_free_s: Some(exit_s + 0.1),
        held: Vec::new(),
        engine_ready_s: None,
        first_token_s: Some(exit_s + 0.3),
        last_step: Some(70),
        checkpoint_step: Some(70),
        failure: None,
        resume: resumed.then_some(ResumeCheck {
            first_step_s: Some(2.0),
            restore_s: Some(1.0),
            steady_s: Some(2.6),
            step_before_s: Some(0.6),
            first_step: 71,
            lost_steps: 0,
            loss_before: Some(3.0),
            loss_after: Some(3.0),
            loss_tolerance: Some(0.1),
            failure: None,
        }),
    }
}

pub(crate) fn host(at_ns: u64, clock_mhz: f64) -> HostSample {
    fn none<T>() -> Result<T, Missing> {
        Err(Missing("not made".to_owned()))
    }
    HostSample {
        at_ns,
        machine_cpu_cores: none(),
        steal_cores: none(),
        workload_cpu_cores: Vec::new(),
        workload_memory_bytes: Vec::new(),
        own_cpu_cores: none(),
        cgroup_cpu: none(),
        pressure_cpu: none(),
        pressure_memory: none(),
        pressure_io: none(),
        memory_available_bytes: none(),
        dirty_bytes: none(),
        disk_read_bytes_per_s: none(),
        disk_write_bytes_per_s: none(),
        network_receive_bytes_per_s: none(),
        network_transmit_bytes_per_s: none(),
        cpu_clock_mhz: Ok(clock_mhz),
        run_queue: none(),
    }
}

pub(crate) fn judged(site: &Site, runs: &[Run]) -> Verdict {
    judge(&Question { site, site_file: "site.yaml", runs, excluded: &[], as_of: None, points: &[] })
}

pub(crate) fn gate(verdict: &Verdict, kind: GateKind) -> &Gate {
    verdict.gates.iter().find(|gate| gate.kind == kind).unwrap()
}

#[track_caller]
pub(crate) fn check_gate(verdict: &Verdict, kind: GateKind, expected: Ruling) {
    let gate = gate(verdict, kind);
    assert_eq!(gate.ruling, expected, "{}\n{}", gate.summary, told(verdict));
}

#[track_caller]
pub(crate) fn check(verdict: &Verdict, expected: Ruling) {
    assert_eq!(verdict.ruling, expected, "{}", told(verdict));
}

/// The one finding whose subject ends like this, among those of a gate.
#[track_caller]
pub(crate) fn finding<'a>(verdict: &'a Verdict, kind: GateKind, ends: &str) -> &'a Finding {
    gate(verdict, kind)
        .findings
        .iter()
        .find(|finding| finding.subject.ends_with(ends))
        .unwrap_or_else(|| panic!("no finding ends with {ends}\n{}", told(verdict)))
}

/// A whole verdict as text, for messages and snapshots.
pub(crate) fn told(verdict: &Verdict) -> String {
    let mut text = format!("{}: {}\n", verdict.ruling.word(), verdict.reason);
    for gate in &verdict.gates {
        text += &format!("\n{} — {}\n  {}\n", gate.kind.name(), gate.ruling.word(), gate.summary);
        for finding in &gate.findings {
            text += &format!(
                "  [{}] {} ({})\n    {}\n",
                finding.ruling.word(),
                finding.subject,
                finding.strategy.name(),
                finding.explanation
            );
            if let Some(blind_spot) = &finding.blind_spot {
                text += &format!("    unseen: {blind_spot}\n");
            }
            for missing in &finding.missing {
                text += &format!("    missing: {} — {}\n", missing.what, missing.remedy);
            }
        }
    }
    for condition in &verdict.conditions {
        text += &format!(
            "\ncondition: {} ({} {} {})\n",
            condition.sentence, condition.watch, condition.operator, condition.value
        );
    }
    for missing in &verdict.missing {
        text += &format!("\nmissing: {} — {}", missing.what, missing.remedy);
    }
    for (run, reason) in &verdict.excluded {
        text += &format!("\nleft out: {run}: {reason}");
    }
    for remark in &verdict.remarks {
        text += &format!("\nremark: {remark}");
    }
    text + &format!("\n{:?}\n", verdict.validity)
}
