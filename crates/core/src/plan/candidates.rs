//! The ways of sharing, in the order in which they are to be considered: whole GPUs split for good,
//! whole GPUs lent at quiet hours, then partitions and time-slices where they gain something, and a
//! second server last.

use super::calendar::{maintained, slots};
use super::grid::{Grid, Window};
use super::model::{Candidate, InferencePlan, Outcome, PlanWord};
use super::problem::{Problem, Slot};
use super::question::{PlanQuestion, Posed};
use super::reserves::short;
use super::schedule::{Effort, Solution, late_gpu_hours, solve, solve_unproven};
use crate::gpu::sharing::{Gives, Mechanism, rule};
use crate::gpu::{self, MigSupport};
use crate::site::{Server, SharingMode, Site, SiteKind};
use crate::verdict::GateKind;

/// Which way of sharing whole GPUs a plan takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one that the plan itself would choose.
    Best,
    /// Each GPU of one owner for good: so many for inference, or as many as its peak needs.
    Split(Option<u32>),
    /// GPUs lent at quiet hours.
    Lending,
}

/// A candidate with the schedule behind it, where one was made.
pub(super) struct Considered {
    pub(super) candidate: Candidate,
    pub(super) scheduled: Option<(Problem, Solution)>,
    /// Where jobs are on GPUs of which they have a part, or on GPUs of their own: the share of each
    /// that is theirs. `None` where whole GPUs of the place are shared out.
    pub(super) job_share: Option<f64>,
}

/// Share of a GPU that jobs are taken to have in a partition of it. Assumed: how a GPU is divided
/// is decided by tests.
const JOB_SHARE: f64 = 0.5;

/// Looks at the ways of sharing one after the other. The first whose inference has its reserve and
/// whose deadlines all hold is chosen; where none is, the one with the least late work, and of those
/// the one that gives most to work without a deadline.
pub(super) fn consider(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    reserves: &[InferencePlan],
    posed: &Posed,
    choice: Choice,
) -> Vec<Considered> {
    let split = whole_gpu_split(question, grid, reserves, posed, choice);
    let lending = lending(question, grid, reserves, posed, &split);
    let mut list = vec![split, lending];
    let chosen = match choice {
        Choice::Best => chosen(&list),
        Choice::Split(_) => 0,
        Choice::Lending => 1,
    };
    if let Some(considered) = list.get_mut(chosen) {
        considered.candidate.chosen = true;
    }
    let is_enough =
        list.iter().any(|considered| considered.candidate.word == Some(PlanWord::NotProven));
    let idle = idle_gpu_hours(grid, reserves, question);
    for mechanism in
        [Mechanism::Mig, Mechanism::MpsStatic, Mechanism::MpsDefault, Mechanism::TimeSlicing]
    {
        list.push(partition(question, mechanism, is_enough, idle));
    }
    list.push(two_servers(&list, is_enough));
    let all = matches!(question.site.sharing.mode, SharingMode::CandidatesAll);
    if all && matches!(choice, Choice::Best) {
        for share in [JOB_SHARE, 1.0] {
            let mut shared = list.iter_mut().filter(|it| it.job_share == Some(share)).peekable();
            if shared.peek().is_some() {
                let scheduled = jobs_everywhere(question, grid, posed, share);
                shared.for_each(|considered| considered.scheduled = Some(scheduled.clone()));
            }
        }
    }
    list
}

/// The jobs on all GPUs of the place, with a share of each: beside inference on the same GPUs, or on
/// a server of their own that is like this one. Little effort, as nothing is promised on it.
fn jobs_everywhere(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    posed: &Posed,
    share: f64,
) -> (Problem, Solution) {
    let gpus = posed.problem.gpus;
    let down = maintained(question.site, grid);
    let slot = |(window, is_down): (&Window, bool)| Slot {
        hours: window.hours(),
        firm: if is_down { 0 } else { gpus },
        lendable: 0,
    };
    let mut problem = Problem {
        slots: grid.windows.iter().zip(down).map(slot).collect(),
        ..posed.problem.clone()
    };
    for mode in problem.jobs.iter_mut().flat_map(|job| &mut job.modes) {
        mode.work_per_hour *= share;
    }
    let effort = Effort { steps_max: question.effort.steps_max / 8, seed: question.effort.seed };
    let solution = solve_unproven(&problem, &effort);
    (problem, solution)
}

fn chosen(list: &[Considered]) -> usize {
    let is_enough =
        |considered: &Considered| considered.candidate.word == Some(PlanWord::NotProven);
    if let Some(first) = list.iter().position(is_enough) {
        return first;
    }
    let level = |considered: &Considered, place: usize, otherwise: f64| {
        let levels = considered.scheduled.as_ref().map(|(_, solution)| &solution.levels);
        levels.and_then(|levels| levels.get(place)).map_or(otherwise, |level| level.value)
    };
    let late = |considered: &Considered| level(considered, 0, f64::INFINITY);
    let harvest = |considered: &Considered| level(considered, 2, 0.0);
    let best = list.iter().enumerate().min_by(|(_, a), (_, b)| {
        late(a).total_cmp(&late(b)).then_with(|| harvest(b).total_cmp(&harvest(a)))
    });
    best.map_or(0, |(index, _)| index)
}

/// GPUs that inference needs at its highest, reserve included.
pub(super) fn peak_need(reserves: &[InferencePlan]) -> u32 {
    let windows = reserves.iter().map(|plan| plan.windows.len()).max().unwrap_or(0);
    let need = |window: usize| {
        reserves
            .iter()
            .filter_map(|plan| plan.windows.get(window))
            .map(|need| need.reserved + need.hot + need.lent)
            .sum::<u32>()
    };
    (0..windows).map(need).max().unwrap_or(0)
}

/// Whole GPUs, each of one owner for good.
fn whole_gpu_split(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    reserves: &[InferencePlan],
    posed: &Posed,
    choice: Choice,
) -> Considered {
    let gpus = posed.problem.gpus;
    let short = short(reserves, gpus);
    let needed = short.map_or_else(|| peak_need(reserves), |short| short.needed);
    let inference = match choice {
        Choice::Split(Some(fixed)) => fixed,
        _ => needed,
    };
    let left = gpus.saturating_sub(inference);
    let down = maintained(question.site, grid);
    let problem = Problem {
        slots: grid
            .windows
            .iter()
            .zip(down)
            .map(|(window, is_down)| Slot {
                hours: window.hours(),
                firm: if is_down { 0 } else { left },
                lendable: 0,
            })
            .collect(),
        ..posed.problem.clone()
    };
    let effort = Effort { steps_max: question.effort.steps_max / 2, seed: question.effort.seed };
    let name = format!("whole-GPU split {inference} + {left}");
    let why = if short.is_none() {
        "the simplest: each GPU has one owner, memory is predictable, nothing changes hands".into()
    } else {
        format!("inference alone needs {needed} GPUs at its highest and there are {gpus}")
    };
    let fits = short.is_none_or(|short| !short.is_certain);
    let solution = solve(&problem, &effort);
    scheduled(question, name, "whole_gpu", why, problem, solution, fits)
}

/// Whole GPUs, lent where inference does not need them.
fn lending(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    reserves: &[InferencePlan],
    posed: &Posed,
    split: &Considered,
) -> Considered {
    let gpus = posed.problem.gpus;
    let fits = short(reserves, gpus).is_none_or(|short| !short.is_certain);
    let split_is_enough = split.candidate.word == Some(PlanWord::NotProven);
    let why = if split_is_enough {
        "looked at for what it would add: the split already meets what is asked for".to_owned()
    } else {
        "the split is not enough: GPUs are lent by the hour and come back before they are needed"
            .to_owned()
    };
    let problem =
        Problem { slots: slots(question.site, grid, reserves, gpus), ..posed.problem.clone() };
    let solution = solve(&problem, &question.effort);
    scheduled(
        question,
        "whole GPUs lent at quiet hours".to_owned(),
        "temporal",
        why,
        problem,
        solution,
        fits,
    )
}

fn scheduled(
    question: &PlanQuestion<'_>,
    name: String,
    mode: &'static str,
    why: String,
    problem: Problem,
    solution: Solution,
    fits: bool,
) -> Considered {
    let (met, all) = deadlines_met(&problem, &solution);
    let is_complete = met == all && starved(&problem, &solution).is_empty();
    let gpu_hours =
        solution.late.iter().map(|outcome| outcome.gpu_hours - outcome.gpu_hours_lost).sum();
    let word = |holds: bool| if holds { PlanWord::NotProven } else { PlanWord::Fail };
    let isolation = isolation_word(question, Mechanism::WholeGpu);
    let gates = vec![
        (GateKind::Inference.name().to_owned(), word(fits)),
        (GateKind::Completion.name().to_owned(), word(is_complete)),
        (GateKind::Isolation.name().to_owned(), isolation),
    ];
    let mut to_test = vec![format!("cotenant measure {} --tests a,b,c", question.site_file)];
    if mode == "temporal" {
        to_test.push("the reclaim under load: each C block of that run ends with one".to_owned());
    }
    Considered {
        candidate: Candidate {
            name,
            mode,
            looked_at: true,
            why,
            word: Some(word(fits && is_complete && isolation == PlanWord::NotProven)),
            gpu_hours: Some(gpu_hours),
            deadlines_met: Some((met, all)),
            gates,
            to_test,
            chosen: false,
        },
        scheduled: Some((problem, solution)),
        job_share: None,
    }
}

/// Jobs with a deadline that are done by it, of all that have one.
pub(super) fn deadlines_met(problem: &Problem, solution: &Solution) -> (u32, u32) {
    let with_deadline =
        problem.jobs.iter().zip(&solution.late).filter(|(job, _)| job.deadline.is_some());
    let mut counts = (0, 0);
    for (job, outcome) in with_deadline {
        counts.1 += 1;
        counts.0 += u32::from(late_gpu_hours(job, outcome) <= 0.0);
    }
    counts
}

/// The workloads of which no job runs at all.
pub(super) fn starved(problem: &Problem, solution: &Solution) -> Vec<String> {
    let mut starved: Vec<String> = Vec::new();
    let runs = |workload: &str| {
        let jobs = problem.jobs.iter().zip(&solution.late);
        jobs.filter(|(job, _)| job.workload == workload).any(|(_, outcome)| outcome.gpu_hours > 0.0)
    };
    for job in &problem.jobs {
        if !starved.contains(&job.workload) && !runs(&job.workload) {
            starved.push(job.workload.clone());
        }
    }
    starved
}

/// GPU-hours of the calendar that whole replicas hold and the expected demand does not use: the most
/// that a partition of GPUs could gain. `None` where demand is not known in GPUs.
fn idle_gpu_hours(
    grid: &Grid,
    reserves: &[InferencePlan],
    question: &PlanQuestion<'_>,
) -> Option<f64> {
    let mut idle = 0.0;
    for plan in reserves {
        let (_, inference) =
            question.site.inference().find(|(workload, _)| workload.name == plan.workload)?;
        let capacity = inference.capacity.as_ref()?;
        for (window, need) in grid.windows.iter().zip(&plan.windows) {
            // Whole GPUs of the smallest number of replicas give the figure of one replica.
            let figure = super::reserve::figure_of(capacity, plan.binding)?;
            let used = need.demand / figure * plan.replica_gpus;
            let held = f64::from(need.reserved + need.hot);
            idle += (held - used).max(0.0) * window.hours();
        }
    }
    Some(idle)
}

/// What the isolation rules of a mechanism say about what the site requires.
fn isolation_word(question: &PlanQuestion<'_>, mechanism: Mechanism) -> PlanWord {
    let is_given = unprotected(question.site, mechanism).is_empty();
    if is_given { PlanWord::NotProven } else { PlanWord::Fail }
}

/// What workloads must be protected from and a mechanism does not give, as sentences.
pub(super) fn unprotected(site: &Site, mechanism: Mechanism) -> Vec<String> {
    let mut said = Vec::new();
    for need in &site.operations.isolation {
        for property in &need.properties {
            let rule = rule(mechanism, *property);
            if rule.gives == Gives::No {
                said.push(format!(
                    "{}: {} does not give {}: {}",
                    need.workload,
                    mechanism.name(),
                    property.name(),
                    rule.why
                ));
            }
        }
    }
    said
}

/// A way of sharing one GPU. It is looked at only where whole GPUs are not enough.
fn partition(
    question: &PlanQuestion<'_>,
    mechanism: Mechanism,
    is_enough: bool,
    idle: Option<f64>,
) -> Considered {
    let (name, mode) = match mechanism {
        Mechanism::Mig => ("MIG partitions", "mig"),
        Mechanism::MpsStatic => ("MPS with static partitions", "mps"),
        Mechanism::MpsDefault => ("MPS with percentages", "mps"),
        Mechanism::TimeSlicing => ("time-slicing", "time_slicing"),
        Mechanism::WholeGpu => ("whole GPUs", "whole_gpu"),
    };
    let mut candidate = Candidate {
        name: name.to_owned(),
        mode,
        looked_at: false,
        why: String::new(),
        word: None,
        gpu_hours: None,
        deadlines_met: None,
        gates: Vec::new(),
        to_test: Vec::new(),
        chosen: false,
    };
    if is_enough {
        candidate.why =
            "not looked at: whole GPUs already meet what is asked for, and a shared GPU \
                         would add risk and gain nothing that is asked for"
                .into();
        return Considered { candidate, scheduled: None, job_share: Some(JOB_SHARE) };
    }
    let device = if mechanism == Mechanism::Mig { mig_of(question.site) } else { Device::Can };
    candidate.looked_at = true;
    if let Device::Cannot(why) = device {
        candidate.word = Some(PlanWord::Fail);
        candidate.why = why;
        return Considered { candidate, scheduled: None, job_share: None };
    }
    let isolation = isolation_word(question, mechanism);
    candidate.word = Some(isolation);
    candidate.gates = vec![(GateKind::Isolation.name().to_owned(), isolation)];
    candidate.why = why_partition(mechanism, isolation, idle);
    if let Device::Unknown(why) = device {
        candidate.why = format!("{why}; {}", candidate.why);
    }
    if isolation == PlanWord::NotProven {
        candidate.to_test = vec![
            format!("set `sharing: {{ mode: {{ {mode}: … }} }}` and run"),
            format!("cotenant measure {} --tests a,b,c", question.site_file),
        ];
    }
    Considered { candidate, scheduled: None, job_share: Some(JOB_SHARE) }
}

/// Whether the devices of a place can be partitioned.
enum Device {
    Can,
    Cannot(String),
    Unknown(String),
}

/// What the catalogue knows of MIG on the devices of a place. A name that fits several models is
/// decided only where they agree.
fn mig_of(site: &Site) -> Device {
    let servers: Vec<&Server> = match &site.kind {
        SiteKind::Server(server) => vec![server],
        SiteKind::Pool(pool) => pool.nodes.iter().map(|node| &node.server).collect(),
    };
    let names: Vec<&str> = servers.iter().filter_map(|server| server.gpu.as_deref()).collect();
    let mut unknown = None;
    for name in names {
        let found = gpu::candidates(name);
        if found.is_empty() {
            unknown = Some(format!(
                "whether `{name}` has MIG is not known: no model of the \
                 catalogue has that name"
            ));
        } else if found.iter().all(|sku| matches!(sku.mig, MigSupport::No)) {
            return Device::Cannot(format!("{} has no MIG", found[0].product));
        } else if !found.iter().all(|sku| matches!(sku.mig, MigSupport::Yes(_))) {
            let models: Vec<&str> = found.iter().map(|sku| sku.product).collect();
            unknown = Some(format!(
                "whether `{name}` has MIG is not known: it may be {}",
                models.join(", ")
            ));
        } else if found.len() > 1 {
            let models: Vec<&str> = found.iter().map(|sku| sku.product).collect();
            unknown = Some(format!(
                "which profiles `{name}` has is not known: it may be {}",
                models.join(", ")
            ));
        }
    }
    unknown.map_or(Device::Can, Device::Unknown)
}

fn why_partition(mechanism: Mechanism, isolation: PlanWord, idle: Option<f64>) -> String {
    let gain = match idle {
        Some(hours) => format!(
            "could gain at most the {hours:.0} GPU-h that whole replicas hold beyond the expected \
             demand"
        ),
        None => "what it could gain is not known: demand is not known in GPUs".to_owned(),
    };
    if isolation == PlanWord::Fail {
        return format!("{gain}; but it does not give the isolation that the site requires");
    }
    let caution = match mechanism {
        Mechanism::Mig => {
            "a partition of hardware is no promise of performance: the exact model \
                           must fit its slice, and the peak must be replayed in it"
        }
        Mechanism::MpsStatic | Mechanism::MpsDefault => {
            "a fault of one client ends all clients of the GPU"
        }
        Mechanism::TimeSlicing => "it isolates nothing, and never proves an objective by itself",
        Mechanism::WholeGpu => "each GPU has one owner",
    };
    format!("{gain}; {caution}")
}

/// A second server, which comes last and never by a threshold of utilisation.
fn two_servers(list: &[Considered], is_enough: bool) -> Considered {
    let why = if is_enough {
        "not looked at: one server is enough as far as arithmetic can see".to_owned()
    } else {
        let best = list
            .iter()
            .filter_map(|considered| considered.candidate.deadlines_met)
            .map(|(met, all)| format!("{met} of {all} deadlines"))
            .collect::<Vec<_>>()
            .join(", ");
        format!(
            "to be looked at when nothing above helps: on one server the calendars meet {best}. \
             First see the changes beside the certificates: another hour, a faster reclaim or \
             another class of service is often cheaper"
        )
    };
    Considered {
        candidate: Candidate {
            name: "two servers".to_owned(),
            mode: "two_servers",
            looked_at: !is_enough,
            why,
            word: None,
            gpu_hours: None,
            deadlines_met: None,
            gates: Vec::new(),
            to_test: Vec::new(),
            chosen: false,
        },
        scheduled: None,
        job_share: Some(1.0),
    }
}

/// The word of an outcome of a check: only what fails says FAIL.
pub(super) fn word_of(outcome: Outcome) -> PlanWord {
    match outcome {
        Outcome::Fails => PlanWord::Fail,
        Outcome::Open | Outcome::Holds => PlanWord::NotProven,
    }
}
