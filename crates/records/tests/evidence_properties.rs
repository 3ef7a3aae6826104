//! Whatever the values are, what is written comes back: every type, every variant, every `None`,
//! infinities, NaN, and numbers at the ends of their ranges.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod evidence_samples;

use std::collections::BTreeMap;

use cotenant_core::evidence::{
    Aspect, Block, BlockFault, CgroupCpu, ChangeKind, ChangePart, CheckpointRecord, ChunkGaps,
    ClientHealth, Condition, Direction, Disturbance, EnforcementAudit, EngineGauge,
    EngineHistogram, EngineObservation, Fingerprint, GpuSample, HandChange, HeldMemory, HostSample,
    Missing, NeighbourFault, Observed, Origin, Outcome, Phase, Pilot, PlannedBlock, Pressure,
    Reading, ReclaimDrill, Remedy, RequestRecord, ResumeCheck, Situation, StepRecord, Stress,
    StressRecord, Stressor, TestedLoad, TokenSource,
};
use cotenant_records::evidence::{RunPlan, Store};
use evidence_samples::ALL;
use jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::num::f64::ANY,
        0.0..10.0,
        select(vec![0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1 + 0.2, f64::MAX]),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..1_000_000_000_000_u64, Just(0), Just(u64::MAX)]
}

fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..12).prop_map(String::from_iter)
}

fn instant() -> impl Strategy<Value = Timestamp> {
    let ends = Timestamp::MIN.as_nanosecond()..=Timestamp::MAX.as_nanosecond();
    ends.prop_map(|ns| Timestamp::from_nanosecond(ns).unwrap())
}

fn reading<T: std::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Reading<T>> {
    (value, option::of(text())).prop_map(|(value, missing)| match missing {
        Some(why) => Err(Missing(why)),
        None => Ok(value),
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        select(evidence_samples::OUTCOMES.to_vec()),
        any::<u16>().prop_map(Outcome::Refused),
        any::<u16>().prop_map(Outcome::HttpError),
    ]
}

fn request() -> impl Strategy<Value = RequestRecord> {
    let times = (number(), option::of(number()), option::of(number()), option::of(number()));
    let rest = (option::of(number()), number(), option::of(number()), any::<u32>(), number());
    let counts = (any::<u32>(), any::<u16>(), any::<u32>(), any::<u32>(), any::<bool>());
    (times, rest, counts, outcome()).prop_map(|(times, rest, counts, outcome)| RequestRecord {
        index: counts.0,
        class: counts.1,
        intended_ns: times.0,
        sent_ns: times.1,
        first_token_ns: times.2,
        first_visible_ns: times.3,
        last_token_ns: rest.0,
        end_ns: rest.1,
        prompt_tokens: counts.2,
        output_tokens: counts.3,
        token_source: if counts.4 { TokenSource::Usage } else { TokenSource::Chunks },
        gap_longest_ns: rest.2,
        stalls: rest.3,
        stalled_ns: rest.4,
        outcome,
    })
}

fn gaps() -> impl Strategy<Value = ChunkGaps> {
    let gap = prop_oneof![any::<u32>(), 20_000..21_000_u32, Just(0), Just(u32::MAX)];
    (any::<u32>(), any::<bool>(), vec(gap, 0..40))
        .prop_map(|(request, single_token, gaps_us)| ChunkGaps { request, single_token, gaps_us })
}

fn step() -> impl Strategy<Value = StepRecord> {
    (number(), number(), option::of(real()), option::of(real()), option::of(number())).prop_map(
        |(step, at_ns, duration_s, loss, tokens)| StepRecord {
            step,
            at_ns,
            duration_s,
            loss,
            tokens,
        },
    )
}

fn checkpoint() -> impl Strategy<Value = CheckpointRecord> {
    (number(), number(), real(), option::of(number())).prop_map(
        |(step, at_ns, duration_s, bytes)| CheckpointRecord { step, at_ns, duration_s, bytes },
    )
}

fn resume() -> impl Strategy<Value = ResumeCheck> {
    let optional = || option::of(real());
    let losses = (optional(), optional(), optional());
    let times = (optional(), optional(), optional(), optional());
    (times, number(), number(), losses, option::of(text())).prop_map(
        |(times, first_step, lost_steps, losses, failure)| ResumeCheck {
            first_step_s: times.0,
            restore_s: times.1,
            steady_s: times.2,
            step_before_s: times.3,
            first_step,
            lost_steps,
            loss_before: losses.0,
            loss_after: losses.1,
            loss_tolerance: losses.2,
            failure,
        },
    )
}

fn held() -> impl Strategy<Value = HeldMemory> {
    (text(), number(), option::of(real())).prop_map(|(holder, bytes, until_s)| HeldMemory {
        holder,
        bytes,
        until_s,
    })
}

fn change() -> impl Strategy<Value = HandChange> {
    let kind = select(&ChangeKind::ALL[..]);
    let direction = prop_oneof![Just(Direction::ToInference), Just(Direction::ToNeighbour)];
    let part = (text(), real(), any::<bool>()).prop_map(|(name, seconds, logged)| ChangePart {
        name,
        seconds,
        logged,
    });
    let told = (option::of(text()), vec(text(), 0..2));
    let what = (kind, text());
    (what, direction, number(), option::of(real()), vec(part, 0..3), told).prop_map(
        |((kind, what), direction, began_ns, total_s, parts, (failure, remarks))| HandChange {
            kind,
            what,
            direction,
            began_ns,
            total_s,
            parts,
            failure,
            remarks,
        },
    )
}

fn drill(
    resume: impl Strategy<Value = Option<ResumeCheck>>,
) -> impl Strategy<Value = ReclaimDrill> {
    let optional = || option::of(real());
    let parts = (optional(), optional(), optional(), optional());
    let steps = (option::of(number()), option::of(number()));
    let after = (vec(held(), 0..3), optional(), optional());
    (number(), parts, after, steps, option::of(text()), resume).prop_map(
        |(signal_ns, parts, after, steps, failure, resume)| ReclaimDrill {
            driver: "signal TERM".to_owned(),
            signal_ns,
            step_boundary_s: parts.0,
            checkpoint_s: parts.1,
            exit_s: parts.2,
            memory_free_s: parts.3,
            held: after.0,
            engine_ready_s: after.1,
            first_token_s: after.2,
            last_step: steps.0,
            checkpoint_step: steps.1,
            failure,
            resume,
        },
    )
}

fn pressure() -> impl Strategy<Value = Reading<Pressure>> {
    reading((real(), option::of(real())))
        .prop_map(|r| r.map(|(some_share, full_share)| Pressure { some_share, full_share }))
}

fn cgroup_cpu() -> impl Strategy<Value = Reading<CgroupCpu>> {
    reading((option::of(real()), real(), real())).prop_map(|r| {
        r.map(|(quota_cores, throttled_share, throttled_s)| CgroupCpu {
            quota_cores,
            throttled_share,
            throttled_s,
        })
    })
}

fn host() -> impl Strategy<Value = HostSample> {
    let rate = || reading(real());
    let count = || reading(number());
    let cpu = (rate(), rate(), rate(), cgroup_cpu(), rate(), reading(any::<u32>()));
    let workloads = (vec((text(), rate()), 0..3), vec((text(), count()), 0..3));
    let pressures = (pressure(), pressure(), pressure());
    let bytes = (count(), count(), rate(), rate(), rate(), rate());
    (number(), cpu, workloads, pressures, bytes).prop_map(
        |(at_ns, cpu, workloads, pressures, bytes)| HostSample {
            at_ns,
            machine_cpu_cores: cpu.0,
            steal_cores: cpu.1,
            workload_cpu_cores: workloads.0,
            workload_memory_bytes: workloads.1,
            own_cpu_cores: cpu.2,
            cgroup_cpu: cpu.3,
            pressure_cpu: pressures.0,
            pressure_memory: pressures.1,
            pressure_io: pressures.2,
            memory_available_bytes: bytes.0,
            dirty_bytes: bytes.1,
            disk_read_bytes_per_s: bytes.2,
            disk_write_bytes_per_s: bytes.3,
            network_receive_bytes_per_s: bytes.4,
            network_transmit_bytes_per_s: bytes.5,
            cpu_clock_mhz: cpu.4,
            run_queue: cpu.5,
        },
    )
}

fn client() -> impl Strategy<Value = ClientHealth> {
    let counts = (any::<u32>(), any::<u32>(), any::<u32>());
    (counts, (real(), real(), real()), real(), option::of(real())).prop_map(
        |(counts, lateness, cpu_s, run_queue_wait_s)| ClientHealth {
            requests_planned: counts.0,
            requests_sent: counts.1,
            lateness_p50_s: lateness.0,
            lateness_p99_s: lateness.1,
            lateness_max_s: lateness.2,
            cpu_s,
            run_queue_wait_s,
            streams_open_max: counts.2,
        },
    )
}

fn fault() -> impl Strategy<Value = BlockFault> {
    let two = || (real(), real());
    prop_oneof![
        two().prop_map(|(cores, cores_max)| BlockFault::Steal { cores, cores_max }),
        two().prop_map(|(cores, cores_max)| BlockFault::ForeignCpu { cores, cores_max }),
        two().prop_map(|(lateness_p99_s, lateness_max_s)| BlockFault::ClientLate {
            lateness_p99_s,
            lateness_max_s
        }),
        (text(), real(), real()).prop_map(|(objective, bound, seen)| BlockFault::Guarded {
            objective,
            bound,
            seen
        }),
        text().prop_map(BlockFault::ForeignGpu),
        text().prop_map(BlockFault::Incomplete),
    ]
}

fn planned() -> impl Strategy<Value = PlannedBlock> {
    let condition = select(vec![Condition::A, Condition::B, Condition::C]);
    let remedy = option::of(Just(Remedy::IdlePriority));
    let phase = select(vec![Phase::Steady, Phase::Checkpoint]);
    (condition, any::<u32>(), remedy, phase, situation()).prop_map(
        |(condition, pair, remedy, phase, situation)| PlannedBlock {
            index: 0,
            condition,
            pair,
            remedy,
            phase,
            situation,
        },
    )
}

fn situation() -> impl Strategy<Value = Situation> {
    let stress = (select(Stressor::ALL.to_vec()), any::<u8>())
        .prop_map(|(stressor, dose)| Situation::Stressed(Stress { stressor, dose }));
    prop_oneof![
        select(vec![Situation::Ordinary, Situation::Burst, Situation::Drill]),
        stress,
        any::<u32>().prop_map(Situation::Search),
        select(NeighbourFault::ALL.to_vec()).prop_map(Situation::Fault),
    ]
}

fn observed() -> impl Strategy<Value = Observed> {
    let histogram = (text(), vec(real(), 0..4), vec(real(), 0..4), real(), option::of(real()))
        .prop_map(|(metric, bounds, cumulative, count, sum)| EngineHistogram {
            metric,
            bounds,
            cumulative,
            count,
            sum,
        });
    let gauge = (text(), vec((number(), real()), 0..3))
        .prop_map(|(metric, readings)| EngineGauge { metric, readings });
    let counters = vec((text(), real()), 0..3);
    let accounts = (vec(histogram, 0..3), counters, vec(gauge, 0..3), vec(text(), 0..2));
    let engine = (text(), number(), number(), accounts).prop_map(
        |(engine, from_ns, until_ns, (histograms, counters, gauges, remarks))| EngineObservation {
            engine,
            from_ns,
            until_ns,
            histograms,
            counters,
            gauges,
            remarks,
        },
    );
    let late = option::of((number(), number()));
    let moments = (option::of(number()), option::of(number()), option::of(number()), late);
    let disturbance = (text(), number(), option::of(number()), moments, vec(text(), 0..2))
        .prop_map(|(what, began_ns, ended_ns, moments, remarks)| Disturbance {
            what,
            began_ns,
            ended_ns,
            yielded_ns: moments.0,
            inference_recovered_ns: moments.1,
            neighbour_recovered_ns: moments.2,
            requests_late: moments.3,
            remarks,
        })
        .boxed();
    let done = (option::of(disturbance), option::of(stress()), vec(change(), 0..3));
    (option::of(engine), vec(gpu(), 0..3), done).prop_map(
        |(engine, gpus, (disturbance, stress, changes))| Observed {
            engine,
            gpus,
            disturbance,
            stress,
            changes,
        },
    )
}

fn stress() -> impl Strategy<Value = StressRecord> {
    let reached = vec((number(), real()), 0..4);
    (text(), real(), option::of(real()), reached, vec(text(), 0..2)).prop_map(
        |(unit, calibrated, asked, reached, remarks)| StressRecord {
            unit,
            calibrated,
            asked,
            reached,
            remarks,
        },
    )
}

fn gpu() -> impl Strategy<Value = GpuSample> {
    let reals = vec(reading(real()), 6);
    let rest = (reading(number()), reading(vec(text(), 0..3)));
    (number(), text(), reals, rest).prop_map(|(at_ns, uuid, mut reals, rest)| {
        let mut next = || reals.pop().unwrap();
        GpuSample {
            at_ns,
            uuid,
            utilization_share: next(),
            memory_used_bytes: rest.0,
            sm_clock_mhz: next(),
            memory_clock_mhz: next(),
            power_w: next(),
            power_limit_w: next(),
            temperature_c: next(),
            clocks_limited_by: rest.1,
        }
    })
}

/// A block with no drill; its plan is set by the test.
fn block() -> impl Strategy<Value = Block> {
    let times = (instant(), number(), number(), number());
    // Some blocks are longer than one line of requests.
    let requests = prop_oneof![
        4 => vec(request(), 0..30).boxed(),
        1 => request().prop_map(|one| vec![one; 1_001]).boxed(),
    ];
    let records = (requests, vec(gaps(), 0..5), vec(step(), 0..9), vec(checkpoint(), 0..3));
    let waiting = vec((number(), real()), 0..5);
    let rest = (vec(host(), 0..3), waiting, option::of(client()), vec(fault(), 0..3));
    let beside = (vec(text(), 0..3), real(), observed());
    (planned(), times, records, rest, beside).prop_map(
        |(plan, times, records, rest, (remarks, load_factor, observed))| Block {
            plan,
            started: times.0,
            judged_from_ns: times.1,
            judged_until_ns: times.2,
            ended_ns: times.3,
            requests: records.0,
            gaps: records.1,
            steps: records.2,
            checkpoints: records.3,
            drill: None,
            host: rest.0,
            engine_waiting: rest.1,
            client: rest.2,
            faults: rest.3,
            remarks,
            load_factor,
            observed,
        },
    )
}

fn audit() -> impl Strategy<Value = EnforcementAudit> {
    (text(), real(), real(), any::<bool>(), text()).prop_map(
        |(mechanism, ratio_expected, ratio_measured, binds, method)| EnforcementAudit {
            mechanism,
            ratio_expected,
            ratio_measured,
            binds,
            method,
        },
    )
}

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    btree_map(select(Aspect::ALL.to_vec()), text(), 0..14).prop_map(Fingerprint)
}

fn load() -> impl Strategy<Value = TestedLoad> {
    (text(), text(), real(), any::<[u32; 4]>()).prop_map(
        |(description, digest, rate_per_s, tokens)| TestedLoad {
            description,
            digest,
            rate_per_s,
            prompt_tokens_p50: tokens[0],
            prompt_tokens_p95: tokens[1],
            output_tokens_p50: tokens[2],
            output_tokens_p95: tokens[3],
        },
    )
}

fn pilot() -> impl Strategy<Value = Pilot> {
    let optional = || option::of(real());
    (any::<u32>(), optional(), optional(), any::<u32>(), optional(), real()).prop_map(
        |(requests, ttft_p95_s, itl_p95_s, steps, step_s, warm_up_s)| Pilot {
            requests,
            ttft_p95_s,
            itl_p95_s,
            steps,
            step_s,
            warm_up_s,
        },
    )
}

fn plan() -> impl Strategy<Value = RunPlan> {
    let origin = select(vec![
        Origin::Measured,
        Origin::Imported,
        Origin::Declared,
        Origin::Simulated,
        Origin::Assumed,
    ]);
    let texts = (text(), text(), text(), btree_map(text(), text(), 0..4));
    let parts = (fingerprint(), load(), pilot());
    let lengths = (real(), real(), real());
    let flags = (any::<bool>(), any::<bool>());
    (0..4_102_444_800_i64, origin, texts, number(), parts, lengths, flags).prop_map(
        |(second, origin, texts, seed, parts, lengths, flags)| RunPlan {
            started: Timestamp::from_second(second).unwrap(),
            origin,
            inference: texts.0,
            neighbour: texts.1,
            seed,
            fingerprint: parts.0,
            load: parts.1,
            pilot: parts.2,
            remedies: if flags.1 { vec![Remedy::IdlePriority] } else { Vec::new() },
            engine_supervised: flags.0,
            site_digest: texts.2,
            warm_up_s: lengths.0,
            block_s: lengths.1,
            tail_s: lengths.2,
            options: texts.3,
            schedule: Vec::new(),
        },
    )
}

/// NaN is not equal to itself, so values are compared as they are printed: Rust prints a number
/// with as many digits as tell it from every other one, and −0 apart from 0.
fn same<T: std::fmt::Debug>(found: &T, expected: &T) -> Result<(), TestCaseError> {
    prop_assert_eq!(format!("{found:#?}"), format!("{expected:#?}"));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_comes_back(
        mut plan in plan(),
        mut blocks in vec(block(), 1..4),
        drills in vec(option::of(drill(option::of(resume()))), 4),
        later in resume(),
        audits in vec(audit(), 0..3),
    ) {
        let root = tempfile::tempdir().unwrap();
        for (index, (block, drill)) in blocks.iter_mut().zip(drills).enumerate() {
            block.plan.index = index as u32;
            block.drill = drill;
            plan.schedule.push(block.plan);
        }
        let store = Store::open(root.path()).unwrap();
        let mut writer = store.create_run(&plan).unwrap();
        for audit in &audits {
            writer.add_audit(audit).unwrap();
        }
        for block in &blocks {
            writer.write_block(block).unwrap();
        }
        for block in &mut blocks {
            if let Some(drill) = &mut block.drill && drill.resume.is_none() {
                writer.write_resume(block.plan.index, &later).unwrap();
                drill.resume = Some(later.clone());
            }
        }
        same(writer.plan(), &plan)?;
        let id = writer.id().to_owned();
        drop(writer);
        let stored = store.read_all(ALL).unwrap().runs.remove(0);
        same(&stored.run.blocks, &blocks)?;
        same(&stored.run.audits, &audits)?;
        let (writer, _) = store.resume_run(&id, Timestamp::UNIX_EPOCH).unwrap();
        same(writer.plan(), &plan)?;
        same(&stored.run.load, &plan.load)?;
        same(&stored.run.pilot, &plan.pilot)?;
        same(&stored.run.fingerprint, &plan.fingerprint)?;
        same(&stored.run.schedule, &plan.schedule)?;
        prop_assert_eq!(stored.run.seed, plan.seed);
        prop_assert_eq!(stored.run.started, plan.started);
        let options: &BTreeMap<String, String> = &stored.options;
        prop_assert_eq!(options, &plan.options);
    }
}
