//! Made-up plans: a week that works, a deadline that cannot be met, and no calendar at all. Nothing
//! here was planned or measured.

use std::time::Duration;

use cotenant_core::demand::WorkUnit;
use cotenant_core::evidence::Origin;
use cotenant_core::plan::{
    Backtest, BacktestRow, Calendar, Candidate, Certificate, Change, Check, Grid, Holder,
    InferencePlan, Level, Outcome, Plan, PlanGate, PlanWord, Promise, Tenant, TransitionRow,
    Window, WindowNeed,
};
use cotenant_core::site::{Server, Sharing, SharingMode};
use cotenant_report::{NextStepInput, PlanInputs, PlanReport, build_plan};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

const GPUS: u32 = 8;
const CHAT: u32 = 0;
const TUNE_FIRST: u32 = 1;
const TUNE_SECOND: u32 = 2;
const RENDER: u32 = 3;
const EMBED: u32 = 4;

/// Everything that a plan's report is built from, owned.
pub(crate) struct PlanSample {
    pub(crate) name: &'static str,
    pub(crate) plan: Plan,
    pub(crate) time_zone: TimeZone,
    pub(crate) sharing: Sharing,
    pub(crate) server: Server,
}

impl PlanSample {
    fn new(name: &'static str, plan: Plan) -> Self {
        Self {
            name,
            plan,
            time_zone: berlin(),
            sharing: sharing_of(SharingMode::Temporal(Vec::new())),
            server: Server {
                gpu: Some("NVIDIA H200".to_owned()),
                gpu_count: GPUS,
                ..Server::default()
            },
        }
    }

    pub(crate) fn report(&self) -> PlanReport {
        build_plan(&PlanInputs {
            simulated: &[],
            plan: &self.plan,
            site_name: "made-up server",
            site_lines: &[
                "1 server, 8 × NVIDIA H200".to_owned(),
                "chat (inference) beside fine-tune (training), scenes (render), embed (batch)"
                    .to_owned(),
                "sharing: temporal".to_owned(),
            ],
            time_zone: &self.time_zone,
            tool_version: "cotenant 0.1.0",
            notes: &["Made-up plan: nothing on this page was planned or measured".to_owned()],
            next_steps: &[NextStepInput {
                text: "Measure how long a lent GPU takes to come back".to_owned(),
                command: "cotenant measure site.yaml --tests c".to_owned(),
            }],
            sharing: Some(&self.sharing),
            server: Some(&self.server),
        })
    }
}

pub(crate) fn sharing_of(mode: SharingMode) -> Sharing {
    Sharing {
        mode,
        versions: std::collections::BTreeMap::new(),
        mps_server_per_gpu: None,
        caps: std::collections::BTreeMap::new(),
        saturating_load: None,
    }
}

pub(crate) fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

/// The plans, one of each kind.
pub(crate) fn plan_samples() -> Vec<PlanSample> {
    vec![
        PlanSample::new("week", week(date(2026, 11, 2), 7, 30)),
        PlanSample::new("late", late()),
        PlanSample::new("nothing", nothing()),
    ]
}

/// A week by the clock on the wall of Berlin.
pub(crate) fn week(begins: Date, days: u32, window_minutes: u32) -> Plan {
    let grid = Grid::new(berlin(), begins, days, window_minutes).unwrap();
    let needs: Vec<_> = grid.windows.iter().map(need).collect();
    let holders = grid.windows.iter().zip(&needs).map(|(window, need)| row(window, need));
    let calendar = Calendar {
        gpus: GPUS,
        holders: holders.collect(),
        tenants: tenants(),
        transitions: transitions(&grid),
        levels: levels(0.0, Some(0.0)),
        grid: grid.clone(),
    };
    Plan {
        as_of: Some(begins.at(7, 30, 0, 0).to_zoned_datetime(berlin()).unwrap().timestamp()),
        checks: checks(),
        reserves: vec![reserve(needs)],
        calendar: Some(calendar),
        promises: promises(&grid),
        certificates: Vec::new(),
        candidates: candidates(),
        backtest: Some(backtest()),
        gates: gates(),
        word: PlanWord::NotProven,
        reason: "Every deadline fits into the nights and the weekend, and nothing speaks against \
                 it that arithmetic can see; the reclaim time is declared and was never measured."
            .to_owned(),
        conditions: vec![
            "a lent GPU comes back within 45 s in all of 59 drills".to_owned(),
            "embed gives way at any hour".to_owned(),
        ],
        missing: vec![
            "operations.reclaim_time was never measured: cotenant measure site.yaml --tests c"
                .to_owned(),
        ],
        assumptions: vec![
            "bursts inside of the 10 min of the rate file are taken to be 1.4 times its mean"
                .to_owned(),
        ],
    }
}

/// The same week with a job whose deadline no calendar can meet.
fn late() -> Plan {
    let mut plan = week(date(2026, 11, 2), 7, 30);
    plan.word = PlanWord::Fail;
    plan.reason = String::from(
        "fine-tune (2nd of 2) cannot be done by Fri 6 Nov 18:00: 38.5 GPU-h are missing.",
    );
    plan.conditions.clear();
    plan.checks[2].outcome = Outcome::Fails;
    plan.checks[2].answer = String::from("It lacks 88 GiB while fine-tune saves.");
    if let Some(calendar) = &mut plan.calendar {
        calendar.levels = levels(41.2, Some(38.5));
    }
    let deadline = instant(6, 18);
    if let Some(promise) = plan.promises.get_mut(1) {
        promise.done = Some(instant(7, 3));
        promise.gpu_hours = 180.0;
        promise.gpu_hours_in_time = 138.8;
        promise.on_time_share = Some(0.0);
        promise.remarks = vec!["It needs a night more than there is.".to_owned()];
    }
    plan.certificates = vec![Certificate {
        jobs: vec!["fine-tune (2nd of 2)".to_owned()],
        from: instant(4, 12),
        until: deadline,
        needed: 180.0,
        free: 141.5,
        changes: vec![
            Change {
                what: "deadline 9 h later".to_owned(),
                price: "9 h later".to_owned(),
                money: None,
                confirmed: true,
            },
            Change {
                what: "one more GPU on three nights".to_owned(),
                price: "39 GPU-h".to_owned(),
                money: Some("117 EUR".to_owned()),
                confirmed: true,
            },
            Change {
                what: "reclaim 12 s faster".to_owned(),
                price: "1 GPU less is kept free".to_owned(),
                money: None,
                confirmed: false,
            },
        ],
    }];
    let chosen = &mut plan.candidates[1];
    chosen.word = Some(PlanWord::Fail);
    chosen.why = String::from("Nights and weekends hold two of three deadlines.");
    chosen.deadlines_met = Some((2, 3));
    chosen.gates[1].1 = PlanWord::Fail;
    plan.gates[1].word = PlanWord::Fail;
    plan.gates[1].reason = String::from("fine-tune (2nd of 2): 38.5 GPU-h are missing");
    plan
}

/// A plan that could not be made.
fn nothing() -> Plan {
    Plan {
        as_of: Some(instant(2, 8)),
        checks: checks().into_iter().take(1).collect(),
        reserves: Vec::new(),
        calendar: None,
        promises: Vec::new(),
        certificates: Vec::new(),
        candidates: Vec::new(),
        backtest: None,
        gates: Vec::new(),
        word: PlanWord::NotProven,
        reason: "The demand of chat is not declared.".to_owned(),
        conditions: Vec::new(),
        missing: vec!["demand: under chat, as a trace or a table".to_owned()],
        assumptions: Vec::new(),
    }
}

fn instant(day: i8, hour: i8) -> Timestamp {
    date(2026, 11, day).at(hour, 0, 0, 0).to_zoned_datetime(berlin()).unwrap().timestamp()
}

fn hour_of(window: &Window) -> (u32, f64) {
    let day = window.minute_of_week / (24 * 60);
    (day, f64::from(window.minute_of_week % (24 * 60)) / 60.0)
}

/// Demand with a hump in the working hours, a little wave on it, and quiet weekends.
fn need(window: &Window) -> WindowNeed {
    let (day, hour) = hour_of(window);
    let hump = (-((hour - 13.5) / 4.2).powi(2)).exp();
    let weekday = if day < 5 { 1.0 } else { 0.35 };
    let wave = 1.0 + 0.06 * (hour * 2.1 + f64::from(day)).sin();
    let demand = (0.6 + 9.4 * hump * weekday) * wave;
    let peak = demand * 1.35 + 0.4;
    let reserved = (demand / 2.1).ceil() as u32;
    let hot = u32::from(demand > 3.0) + u32::from(demand > 8.0);
    let lent = ((peak / 2.1).ceil() as u32).saturating_sub(reserved + hot).min(2);
    WindowNeed { demand, demand_peak: peak, reserved, hot, lent }
}

fn row(window: &Window, need: &WindowNeed) -> Vec<Holder> {
    let (day, hour) = hour_of(window);
    let (need_reserved, need_hot) = (need.reserved.min(GPUS), need.hot);
    if day == 1 && (4.0..6.0).contains(&hour) {
        return vec![Holder::Maintenance; GPUS as usize];
    }
    let night = !(7.0..20.0).contains(&hour);
    (0..GPUS)
        .map(|gpu| match gpu {
            gpu if gpu < need_reserved => Holder::Inference(CHAT),
            gpu if gpu < need_reserved + need_hot => Holder::HotReserve(CHAT),
            gpu if gpu >= GPUS - 4 && night && day < 2 => Holder::Job(TUNE_FIRST),
            gpu if gpu >= GPUS - 4 && night && (2..5).contains(&day) => Holder::Job(TUNE_SECOND),
            gpu if gpu >= GPUS - 4 && day == 5 => Holder::Job(RENDER),
            gpu if gpu < need_reserved + need_hot + need.lent => Holder::Lent(EMBED),
            _ if night || day > 4 => Holder::Job(EMBED),
            _ => Holder::Idle,
        })
        .collect()
}

fn tenants() -> Vec<Tenant> {
    let tenant = |name: &str, workload: &str, kind| Tenant {
        name: name.to_owned(),
        workload: workload.to_owned(),
        kind,
    };
    vec![
        tenant("chat", "chat", "inference"),
        tenant("fine-tune (1st of 2)", "fine-tune", "training"),
        tenant("fine-tune (2nd of 2)", "fine-tune", "training"),
        tenant("scenes", "scenes", "render"),
        tenant("embed", "embed", "batch"),
    ]
}

fn transitions(grid: &Grid) -> Vec<TransitionRow> {
    grid.windows
        .iter()
        .filter_map(|window| {
            let (day, hour) = hour_of(window);
            let tenant = if day < 2 { TUNE_FIRST } else { TUNE_SECOND };
            let starts = hour == 20.0;
            (day < 5 && (starts || hour == 7.0)).then_some(TransitionRow {
                at: window.start,
                gpus: 4,
                tenant,
                starts,
                hours: if starts { 0.1 } else { 0.0375 },
            })
        })
        .collect()
}

fn levels(late: f64, bound: Option<f64>) -> Vec<Level> {
    let level = |name, unit, value, bound, maximise| Level { name, unit, value, bound, maximise };
    vec![
        level("weighted late GPU-hours", "GPU-h", late, bound, false),
        level("GPU-hours lost to transitions and evictions", "GPU-h", 5.5, Some(5.2), false),
        level("GPU-hours harvested by work without a deadline", "GPU-h", 388.0, Some(390.5), true),
        level("changes of hands", "changes", 21.0, None, false),
    ]
}

fn reserve(windows: Vec<WindowNeed>) -> InferencePlan {
    InferencePlan {
        workload: "chat".to_owned(),
        binding: WorkUnit::Requests,
        replica_gpus: 1.0,
        windows,
        reclaim_time: Some((Duration::from_secs(45), Origin::Declared)),
        risk_tolerance: Some(0.01),
        gpus_needed_max: 7,
        remarks: vec![
            "28 days support at most 96.6 %: a rarer burst than that was never seen.".to_owned(),
            "The forecast by the last weeks (MASE 0.84) beats Holt–Winters (MASE 0.97), and is \
             used."
                .to_owned(),
        ],
        bursts_seen: false,
        risk_supported: false,
    }
}

fn promises(grid: &Grid) -> Vec<Promise> {
    let end = grid.windows.last().map(|window| window.end);
    let promise = |job: &str, workload: &str, deadline, done, hours, share| Promise {
        job: job.to_owned(),
        workload: workload.to_owned(),
        deadline,
        done,
        gpu_hours: hours,
        gpu_hours_in_time: hours,
        gpu_hours_lost: hours / 60.0,
        on_time_share: share,
        weeks: 200,
        on_time_share_asked: share.map(|_| 0.95),
        remarks: Vec::new(),
    };
    let mut promises = vec![
        promise(
            "fine-tune (1st of 2)",
            "fine-tune",
            Some(instant(4, 12)),
            Some(instant(4, 6)),
            96.0,
            Some(0.985),
        ),
        promise(
            "fine-tune (2nd of 2)",
            "fine-tune",
            Some(instant(6, 18)),
            Some(instant(6, 7)),
            120.0,
            Some(0.93),
        ),
        promise("scenes", "scenes", Some(instant(9, 8)), Some(instant(8, 0)), 96.0, Some(1.0)),
        promise("embed", "embed", None, end, f64::INFINITY, None),
    ];
    promises[1].remarks =
        vec!["In 14 of 200 drawn weeks a busy Thursday takes the night it needs.".to_owned()];
    promises[3].done = None;
    promises[3].gpu_hours_in_time = 388.0;
    promises[3].gpu_hours_lost = 0.7;
    promises
}

fn checks() -> Vec<Check> {
    let check = |key, title: &str, outcome, answer: &str, arithmetic: &[&str]| Check {
        key,
        title: title.to_owned(),
        workloads: vec!["chat".to_owned(), "fine-tune".to_owned()],
        outcome,
        answer: answer.to_owned(),
        arithmetic: arithmetic.iter().map(|line| (*line).to_owned()).collect(),
        would_be_conditional_on: Vec::new(),
        missing: Vec::new(),
        sources: vec!["NVIDIA MIG user guide, supported profiles"],
    };
    let mut checks = vec![
        check(
            "gpu_memory",
            "Do weights, cache and workspace fit on one GPU?",
            Outcome::Holds,
            "Each holds its GPU alone: 84 GiB of 140.4 GiB.",
            &[
                "weights 16 GiB + KV 60 GiB + workspace 6 GiB + graphs 2 GiB = 84 GiB",
                "84 GiB ≤ 140.4 GiB (real capacity, not 141 GB)",
            ],
        ),
        check(
            "notice",
            "Is the notice long enough for a checkpoint?",
            Outcome::Open,
            "The checkpoint takes 38 s; the notice is not declared.",
            &["checkpoint 38 s + exit 2 s = 40 s"],
        ),
        check(
            "host_memory",
            "Does host memory hold the checkpoint's transient?",
            Outcome::Open,
            "The transient of a checkpoint is assumed, not declared.",
            &["4 ranks × 150 GiB + chat 40 GiB = 640 GiB", "640 GiB > 552 GiB usable"],
        ),
    ];
    checks[1].missing = vec!["preemption.notice under fine-tune".to_owned()];
    checks[2].would_be_conditional_on =
        vec!["saving one rank after the other, or 88 GiB more host memory".to_owned()];
    checks
}

fn gates() -> Vec<PlanGate> {
    let gate = |name, reason: &str, test: &str| PlanGate {
        name,
        word: PlanWord::NotProven,
        reason: reason.to_owned(),
        would_be_conditional_on: Vec::new(),
        to_test: vec![test.to_owned()],
    };
    vec![
        gate(
            "inference",
            "The reserve rests on a declared reclaim time of 45 s.",
            "cotenant measure site.yaml --tests a,c",
        ),
        gate(
            "completion",
            "Every deadline is met in the calendar; step times were never measured beside chat.",
            "cotenant measure site.yaml --tests b,c",
        ),
    ]
}

fn candidates() -> Vec<Candidate> {
    vec![
        Candidate {
            name: "whole-GPU split 6 + 2".to_owned(),
            mode: "whole_gpu",
            looked_at: true,
            why: "It is the simplest; chat needs 7 GPUs at noon, so a split wastes the nights."
                .to_owned(),
            word: Some(PlanWord::Fail),
            gpu_hours: Some(336.0),
            deadlines_met: Some((1, 3)),
            gates: vec![("completion".to_owned(), PlanWord::Fail)],
            to_test: Vec::new(),
            chosen: false,
        },
        Candidate {
            name: "whole GPUs, lent at quiet hours".to_owned(),
            mode: "temporal",
            looked_at: true,
            why: "Nights and weekends hold every deadline.".to_owned(),
            word: Some(PlanWord::NotProven),
            gpu_hours: Some(696.0),
            deadlines_met: Some((3, 3)),
            gates: vec![
                ("inference".to_owned(), PlanWord::NotProven),
                ("completion".to_owned(), PlanWord::NotProven),
            ],
            to_test: vec!["59 reclaim drills: cotenant measure site.yaml --tests c".to_owned()],
            chosen: true,
        },
        Candidate {
            name: "MIG 3g.71gb + 4g.71gb".to_owned(),
            mode: "mig",
            looked_at: false,
            why: "Lending meets every deadline already; slices would add a reset and gain nothing."
                .to_owned(),
            word: None,
            gpu_hours: None,
            deadlines_met: None,
            gates: Vec::new(),
            to_test: Vec::new(),
            chosen: false,
        },
    ]
}

fn backtest() -> Backtest {
    let row = |name: &str, what: &str, minutes: f64, evictions, harvested, lost| BacktestRow {
        name: name.to_owned(),
        what: what.to_owned(),
        violation_minutes: minutes,
        violation_share: minutes / (28.0 * 24.0 * 60.0),
        evictions,
        gpu_hours_harvested: harvested,
        gpu_hours_lost: lost,
    };
    Backtest {
        from: instant(2, 0) - jiff::SignedDuration::from_hours(28 * 24),
        until: instant(2, 0),
        rows: vec![
            row("this plan", "the calendar above, reclaim in 45 s", 11.0, 19, 2310.0, 24.5),
            row("oracle", "knows the demand of the next hour", 0.0, 0, 2675.0, 20.1),
            row("static split", "6 GPUs for chat at all times", 0.0, 0, 1344.0, 0.0),
            row("night shift", "chat by day, jobs from 20 to 7", 64.0, 0, 1980.0, 21.0),
            row("threshold", "lends a GPU below 40 % utilisation", 388.0, 212, 2790.0, 240.0),
        ],
    }
}
