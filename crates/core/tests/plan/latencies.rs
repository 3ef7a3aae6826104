//! Latencies foretold from tests whose answers a known engine gave, and candidates carried out with
//! them.

use std::sync::LazyLock;

use cotenant_core::demand::history_of_table;
use cotenant_core::evidence::{
    Aspect, Block, Condition, Fingerprint, Observed, Origin, Outcome, Phase, Pilot, PlannedBlock,
    RequestRecord, Run, Situation, StepRecord, TestedLoad, TokenSource,
};
use cotenant_core::perf::{Coefficient, Multipliers, StepModel};
use cotenant_core::plan::{PlanQuestion, plan_with_calendars};
use cotenant_core::sim::candidates::simulate_candidates;
use cotenant_core::sim::engine::{ReplicaSpec, Role, SimRequest};
use cotenant_core::sim::latency::{Figure, LatencyBasis, LatencyForecast, foretell, latencies_at};
use cotenant_core::sim::transition::Drilled;
use cotenant_core::sim::{Predictable, capacity};
use cotenant_core::site::{SharingMode, Site, SiteKind, TokenCounts, WorkloadKind};
use cotenant_core::units::{Picoseconds, RatePerSecond};
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, Exp1};
use rand_pcg::Pcg64;

use crate::support::{grid, inference, once, question, serving, site, trainer};

const SECOND: u64 = 1_000_000_000;

/// The engine that answered: 10 ms a pass, 0.4 ms for each token where that is longer than 6 ms.
fn truth() -> StepModel {
    let part = |value| Coefficient { value, interval: None, origin: Origin::Measured };
    StepModel {
        host: part(4e-3),
        weights: part(6e-3),
        per_token: part(4e-4),
        per_sequence: part(3e-4),
        per_request: part(8e-3),
        ..StepModel::zero(Origin::Measured)
    }
}

/// What the neighbour did to it.
const BESIDE: Multipliers = Multipliers { compute: 1.5, bandwidth: 1.5, host: 1.5 };

fn spec() -> ReplicaSpec {
    ReplicaSpec {
        step: truth().integer(Multipliers::default()),
        kv_blocks: 1000,
        block_tokens: 16,
        sequences_max: 16,
        batched_tokens_max: 2048,
        requests_max: None,
        prefix_cache: true,
        role: Role::Both,
    }
}

fn requests(rate: f64, seed: u64) -> Vec<SimRequest> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut at = 0.0;
    let mut next = |id| {
        let gap: f64 = Exp1.sample(&mut random);
        at += gap / rate;
        SimRequest {
            id,
            at: Picoseconds::from_seconds(at),
            prompt_tokens: random.random_range(20..200),
            output_tokens: random.random_range(5..40),
            class: 0,
            prefix: None,
        }
    };
    (0..(rate * 40.0) as u64).map(&mut next).collect()
}

/// A block of 40 s in which the known engine answered, each time 2 % off either way.
fn block(index: u32, condition: Condition, rate: f64) -> Block {
    let mut random = Pcg64::seed_from_u64(1000 + u64::from(index));
    let beside = if condition == Condition::C { BESIDE } else { Multipliers::default() };
    let asked = requests(rate, u64::from(index) + 1);
    let mut seen = Ends::default();
    let mut replica = cotenant_core::sim::engine::Replica::new(
        0,
        ReplicaSpec { step: truth().integer(beside), ..spec() },
    )
    .unwrap();
    for request in &asked {
        replica.advance(request.at, &mut seen);
        replica.offer(request.at, *request, &mut seen);
    }
    replica.advance(Picoseconds::MAX, &mut seen);
    let outside_ns = truth().request(beside).0 / 1000;
    let records = seen.0.into_iter().map(|(request, first, last)| {
        let mut off = || 1.0 + random.random_range(-0.02..0.02);
        let ns = |at: Picoseconds, off: f64| {
            let since = (at - request.at).0 / 1000 + outside_ns;
            request.at.0 / 1000 + (since as f64 * off) as u64
        };
        let (first, last) = (ns(first, off()), ns(last, off()));
        RequestRecord {
            index: request.id as u32,
            class: 0,
            intended_ns: request.at.0 / 1000,
            sent_ns: Some(request.at.0 / 1000),
            first_token_ns: Some(first),
            first_visible_ns: None,
            last_token_ns: Some(last.max(first)),
            end_ns: last.max(first),
            prompt_tokens: request.prompt_tokens,
            output_tokens: request.output_tokens,
            token_source: TokenSource::Usage,
            gap_longest_ns: None,
            stalls: 0,
            stalled_ns: 0,
            outcome: Outcome::Completed,
        }
    });
    let requests = if condition == Condition::B { Vec::new() } else { records.collect() };
    // A step of 0.5 s alone; the passes of the engine take 30 % of it together.
    let step_ns = if condition == Condition::C { 700_000_000 } else { 500_000_000 };
    let steps = (1..50).map(|step| StepRecord {
        step,
        at_ns: step * step_ns,
        duration_s: None,
        loss: None,
        tokens: None,
    });
    let steps = if condition == Condition::A { Vec::new() } else { steps.collect() };
    Block {
        plan: PlannedBlock {
            index,
            condition,
            pair: index,
            remedy: None,
            phase: Phase::Steady,
            situation: Situation::Ordinary,
        },
        started: "2026-11-30T10:00:00Z".parse::<jiff::Timestamp>().unwrap()
            + jiff::SignedDuration::from_mins(i64::from(index)),
        judged_from_ns: 2 * SECOND,
        judged_until_ns: 38 * SECOND,
        ended_ns: 45 * SECOND,
        requests,
        gaps: Vec::new(),
        steps,
        checkpoints: Vec::new(),
        drill: None,
        host: Vec::new(),
        engine_waiting: Vec::new(),
        client: None,
        faults: Vec::new(),
        remarks: Vec::new(),
        load_factor: 1.0,
        observed: Observed::default(),
    }
}

#[derive(Default)]
struct Ends(Vec<(SimRequest, Picoseconds, Picoseconds)>);

impl cotenant_core::sim::engine::Watcher for Ends {
    fn finished(&mut self, request: &SimRequest, tokens: cotenant_core::sim::engine::Tokens) {
        self.0.push((*request, tokens.first_at, tokens.last_at));
    }
}

fn run(blocks: Vec<Block>) -> Run {
    let mut fingerprint = Fingerprint::default();
    fingerprint.0.insert(Aspect::Engine, "vLLM 0.32.0".to_owned());
    fingerprint.0.insert(Aspect::EngineArguments, ARGUMENTS.join(" "));
    Run {
        id: "20261130T100000Z-abc".to_owned(),
        started: "2026-11-30T10:00:00Z".parse().unwrap(),
        origin: Origin::Measured,
        inference: "chat".to_owned(),
        neighbour: "tune".to_owned(),
        seed: 1,
        fingerprint,
        load: TestedLoad {
            description: "poisson".to_owned(),
            digest: "x".to_owned(),
            rate_per_s: 4.0,
            prompt_tokens_p50: 100,
            prompt_tokens_p95: 190,
            output_tokens_p50: 20,
            output_tokens_p95: 38,
        },
        pilot: Pilot {
            requests: 0,
            ttft_p95_s: None,
            itl_p95_s: None,
            steps: 0,
            step_s: None,
            warm_up_s: 0.0,
        },
        audits: Vec::new(),
        remedies: Vec::new(),
        schedule: Vec::new(),
        blocks,
        engine_supervised: true,
    }
}

const ARGUMENTS: [&str; 8] = [
    "--max-num-seqs",
    "16",
    "--max-num-batched-tokens",
    "2048",
    "--block-size",
    "16",
    "--num-gpu-blocks-override",
    "1000",
];

fn place() -> Site {
    let mut serves = inference(&[("daily 00:00-24:00", 0.9)]);
    serves.arguments = ARGUMENTS.iter().map(|word| (*word).to_owned()).collect();
    serves.peak_rate = Some(RatePerSecond::new(4.0, "req"));
    let tune = trainer("tune", 1, 10.0, once("2026-12-09T00:00:00Z", Some("2026-12-11T00:00:00Z")));
    site(8, vec![serving("chat", serves), tune])
}

fn foretold(blocks: Vec<Block>) -> Result<LatencyForecast, String> {
    let place = place();
    let (workload, serves) = place.inference().next().unwrap();
    foretell(&place, workload, serves, &[run(blocks)], 7)
}

fn all_blocks() -> Vec<Block> {
    let conditions = [
        (Condition::A, 2.0),
        (Condition::C, 4.0),
        (Condition::A, 5.0),
        (Condition::B, 1.0),
        (Condition::C, 4.0),
        (Condition::A, 7.0),
        (Condition::A, 4.0),
        (Condition::C, 5.0),
        (Condition::B, 1.0),
        (Condition::A, 6.0),
    ];
    let one = |(index, (condition, rate))| block(index as u32, condition, rate);
    conditions.into_iter().enumerate().map(one).collect()
}

/// Told once for all tests.
static FORETOLD: LazyLock<LatencyForecast> = LazyLock::new(|| foretold(all_blocks()).unwrap());

#[test]
fn a_known_engine_is_told_from_its_answers() {
    let forecast = &*FORETOLD;
    assert_eq!((forecast.blocks, forecast.basis.spec.sequences_max), (5, 16));
    assert!(forecast.basis.assumed.is_empty(), "{:?}", forecast.basis.assumed);
    for it in forecast.held_out.iter().filter(|it| it.figure == Figure::E2eMean) {
        assert!(it.error().abs() < 0.05, "{it:?}");
    }
    let real = capacity(spec(), requests(50.0, 3)).unwrap().unwrap().requests_per_s;
    let told = forecast.capacity.unwrap().requests_per_s;
    assert!((told / real - 1.0).abs() < 0.08, "{told} is {real}");
    // The curve ends in overload, and what is near capacity has no number.
    for level in &forecast.levels {
        let has_number = level.margin.predictable() == Predictable::Yes;
        assert_eq!(!level.foretold.is_empty(), has_number, "{level:?}");
    }
    assert_eq!(forecast.levels.last().unwrap().margin.predictable(), Predictable::Overloaded);
    assert!(forecast.levels.iter().any(|it| it.margin.predictable() == Predictable::Yes));
    assert_eq!(forecast.levels[0].name, "declared peak");
}

#[test]
fn together_is_told_from_one_block_of_it() {
    let beside = FORETOLD.beside.as_ref().unwrap();
    assert_eq!((beside.neighbour.as_str(), beside.blocks), ("tune", 2));
    assert_eq!(beside.learnt_from.1, 1, "the first block of C");
    for it in &beside.compared {
        let most = if it.figure == Figure::TtftP95 { 0.15 } else { 0.08 };
        assert!(it.error().abs() < most, "{it:?}");
    }
    let steps = beside.steps.unwrap();
    assert!((steps.alone_s - 0.5).abs() < 1e-6 && (steps.measured_s - 0.7).abs() < 1e-6);
    assert!((steps.predicted_s / steps.measured_s - 1.0).abs() < 0.1, "{steps:?}");
}

#[test]
fn too_little_or_another_stack_tells_nothing() {
    let why = foretold(vec![block(0, Condition::A, 2.0)]).unwrap_err();
    assert!(why.contains("two are needed"), "{why}");
    let why = foretold(vec![block(0, Condition::B, 1.0)]).unwrap_err();
    assert!(why.contains("not tested alone"), "{why}");
    let place = place();
    let (workload, serves) = place.inference().next().unwrap();
    let mut other = run(all_blocks());
    other.fingerprint.0.insert(Aspect::EngineArguments, "--max-num-seqs 8".to_owned());
    let why = foretell(&place, workload, serves, &[other], 7).unwrap_err();
    assert!(why.contains("today's stack"), "{why}");
}

#[test]
fn candidates_are_carried_out_with_latencies_and_no_word_changes() {
    let mut place = place();
    place.sharing.mode = SharingMode::CandidatesAll;
    let SiteKind::Server(server) = &mut place.kind else { panic!("a server") };
    server.gpu = Some("H100-SXM5-80GB".to_owned());
    let (_, serves) = place.inference().next().unwrap();
    let basis = FORETOLD.basis.clone();
    let cotenant_core::site::Demand::Table(rows) = &serves.demand else { panic!("by a table") };
    let grid = grid("UTC", "2026-12-07", 7, 60);
    let histories = [("chat".to_owned(), history_of_table(rows, &grid, None).unwrap())];
    let question = PlanQuestion { histories: &histories, weeks_drawn: 3, ..question(&place) };
    let (plan, calendars) = plan_with_calendars(&question);
    let bases = [("chat".to_owned(), Ok(basis))];
    let simulated =
        simulate_candidates(&question, &plan, &calendars, &bases, &Drilled::default(), None);
    assert_eq!(simulated.len(), plan.candidates.len());
    for (candidate, simulated) in plan.candidates.iter().zip(&simulated) {
        let carried_out = simulated.carried_out.as_ref().unwrap();
        assert_eq!(carried_out.deadlines_held.1, 1, "{}", candidate.name);
        // Without a declared reclaim all GPUs are reserve, and a split leaves none for jobs.
        let has_room = candidate.mode != "whole_gpu";
        assert_eq!(carried_out.gpu_hours_kept > 0.0, has_room, "{}", candidate.name);
        let (rate, latencies) = simulated.latencies[0].foretold.as_ref().unwrap();
        assert!(*rate > 0.0 && !latencies.is_empty(), "{}", candidate.name);
    }
    // Half of each GPU is slower, for the job and for inference; the rate is spread over more.
    let of = |mode: &str| {
        let place = plan.candidates.iter().position(|it| it.mode == mode).unwrap();
        &simulated[place]
    };
    let token = |mode: &str| {
        let (_, latencies) = of(mode).latencies[0].foretold.as_ref().unwrap();
        latencies.iter().find(|it| it.name == "tpot_p95").unwrap().time_s.mean
    };
    assert!(token("mig") > 1.2 * token("whole_gpu"));
    assert!(of("mig").assumed.iter().any(|said| said.contains("half of each GPU")));
    assert!(of("two_servers").carried_out.as_ref().unwrap().short_share_max.is_none());
    assert!(
        plan.candidates
            .iter()
            .all(|it| it.word != Some(cotenant_core::plan::PlanWord::NotProven) || it.looked_at)
    );
}

#[test]
fn an_untested_engine_is_told_from_shapes_and_marked_so() {
    let mut place = place();
    let SiteKind::Server(server) = &mut place.kind else { panic!("a server") };
    server.gpu = Some("H100-SXM5-80GB".to_owned());
    let unknown = |place: &Site| {
        let (workload, serves) = place.inference().next().unwrap();
        LatencyBasis::of_shape(place, workload, serves, 1)
    };
    assert!(unknown(&place).unwrap_err().contains("not declared"));
    place.workloads[0].model = Some(cotenant_core::site::Model {
        name: "meta-llama/Llama-3.1-8B-Instruct".to_owned(),
        parameters: None,
        layers: None,
        kv_heads: None,
        head_size: None,
        dtype: None,
    });
    assert!(unknown(&place).unwrap_err().contains("prompt_tokens"));
    let WorkloadKind::Inference(serves) = &mut place.workloads[0].kind else { panic!() };
    serves.prompt_tokens = Some(TokenCounts { p50: 500, p95: 2000 });
    serves.output_tokens = Some(TokenCounts { p50: 200, p95: 600 });
    let basis = unknown(&place).unwrap();
    assert_eq!(basis.origin, Origin::Assumed);
    assert!(basis.assumed.iter().any(|said| said.contains("nothing was tested")));
    // A plan that shows its numbers says what they rest on.
    let question = question(&place);
    let (plan, calendars) = plan_with_calendars(&question);
    let bases = [("chat".to_owned(), Ok(basis.clone()))];
    let simulated =
        simulate_candidates(&question, &plan, &calendars, &bases, &Drilled::default(), None);
    assert!(simulated[0].assumed.iter().any(|said| said.contains("nothing was tested")));
    let (_, serves) = place.inference().next().unwrap();
    let at = |rate| latencies_at(&basis, serves, rate, Multipliers::default(), 1);
    let token_s = at(1.0).unwrap()[1].time_s.mean;
    assert!((6e-3..20e-3).contains(&token_s), "{token_s} s for each token of an 8B on an H100");
    assert!(at(1e4).unwrap_err().contains("overload"));
    let carried = basis.capacity(Multipliers::default(), 1).unwrap().unwrap().requests_per_s;
    assert!(at(carried).unwrap_err().contains("not predictable"));
}

/// The same words, the same numbers.
#[test]
fn the_same_tests_tell_the_same() {
    assert_eq!(foretold(all_blocks()).unwrap(), *FORETOLD);
}
