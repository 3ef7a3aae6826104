//! The schedule against every possible schedule of small questions, its rules, and its proofs.

use cotenant_core::plan::schedule::{
    Effort, Fault, Levels, Shortage, Solution, assign, audit, shortage, shortages, solve,
};
use cotenant_core::plan::{Job, Mode, Problem, Run, Slot};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const EFFORT: Effort = Effort { steps_max: 40, seed: 3 };

fn job(modes: &[(u32, f64)], work: f64, deadline: Option<usize>) -> Job {
    Job {
        name: "job".into(),
        workload: "job".into(),
        modes: modes.iter().map(|&(gpus, work_per_hour)| Mode { gpus, work_per_hour }).collect(),
        work,
        release: 0,
        deadline,
        weight: 1.0,
        preemptible: true,
        min_run: 1,
        start_hours: 0.0,
        stop_hours: 0.0,
    }
}

fn firm(hours: f64, free: &[u32]) -> Vec<Slot> {
    free.iter().map(|&firm| Slot { hours, firm, lendable: 0 }).collect()
}

fn random_problem(gpus: u32, slots: usize, jobs: usize, random: &mut Pcg64) -> Problem {
    let slots: Vec<Slot> = (0..random.random_range(1..=slots))
        .map(|_| {
            let firm = random.random_range(0..=gpus);
            let lendable = random.random_range(0..=gpus - firm);
            Slot { hours: [0.5, 0.5, 1.0][random.random_range(0..3)], firm, lendable }
        })
        .collect();
    let jobs =
        (0..random.random_range(1..=jobs)).map(|_| random_job(gpus, slots.len(), random)).collect();
    Problem { gpus, slots, jobs }
}

fn random_job(gpus: u32, slots: usize, random: &mut Pcg64) -> Job {
    let smallest = random.random_range(1..=gpus);
    let scaling = random.random_range(0.6..1.0);
    let mut modes = vec![(smallest, 8.0 * f64::from(smallest).powf(scaling))];
    if smallest < gpus && random.random_bool(0.6) {
        modes.push((gpus, 8.0 * f64::from(gpus).powf(scaling)));
    }
    let deadline = random.random_bool(0.7).then(|| random.random_range(0..=slots + 1));
    let endless = deadline.is_none() && random.random_bool(0.5);
    let work = modes[0].1 * random.random_range(0.1..0.6) * slots as f64;
    Job {
        release: random.random_range(0..slots.max(2) - 1),
        weight: [0.0, 1.0, 1.0, 3.0][random.random_range(0..4)],
        preemptible: random.random_bool(0.5),
        min_run: [1, 1, 1, 2][random.random_range(0..4)],
        start_hours: [0.0, 0.1, 0.6][random.random_range(0..3)],
        stop_hours: [0.0, 0.05, 0.2][random.random_range(0..3)],
        ..job(&modes, if endless { f64::INFINITY } else { work }, deadline)
    }
}

/// Levels as a list in which less is better.
fn worth(levels: &Levels) -> [f64; 4] {
    [levels.late, levels.lost, -levels.harvest, levels.changes]
}

fn better(one: &[f64; 4], other: &[f64; 4]) -> bool {
    one.iter().zip(other).find(|(a, b)| (**a - **b).abs() > 1e-6).is_some_and(|(a, b)| a < b)
}

/// All ways to run one job: a mode or nothing in each slot. Stretches in one mode are runs.
fn ways(problem: &Problem, place: usize) -> Vec<(Vec<Run>, [f64; 4])> {
    let choices = problem.jobs[place].modes.len() + 1;
    let mut all = Vec::new();
    for code in 0..choices.pow(problem.slots.len() as u32) {
        let digit = |slot: usize| code / choices.pow(slot as u32) % choices;
        let mut runs: Vec<Run> = Vec::new();
        for slot in (0..problem.slots.len()).filter(|&slot| digit(slot) > 0) {
            let mode = digit(slot) - 1;
            match runs.last_mut() {
                Some(run) if run.until == slot && run.mode == mode => run.until += 1,
                _ => runs.push(Run { job: place, from: slot, until: slot + 1, mode }),
            }
        }
        let alone = Problem { jobs: problem.jobs.clone(), ..problem.clone() };
        if let Ok(levels) = audit(&alone, &runs) {
            all.push((runs, levels));
        }
    }
    // What the other jobs, which do nothing here, are late is the same in every way.
    all.into_iter().map(|(runs, levels)| (runs, worth(&levels))).collect()
}

/// The best of all schedules.
fn best_of_all(problem: &Problem) -> [f64; 4] {
    let ways: Vec<_> = (0..problem.jobs.len()).map(|place| ways(problem, place)).collect();
    let idle = worth(&audit(problem, &[]).expect("nobody runs"));
    let mut best = [f64::INFINITY; 4];
    let mut choice = vec![0; ways.len()];
    loop {
        let mut sum = idle;
        for (place, &chosen) in choice.iter().enumerate() {
            for level in 0..4 {
                sum[level] += ways[place][chosen].1[level] - idle[level];
            }
        }
        if better(&sum, &best) {
            let runs: Vec<Run> = choice
                .iter()
                .enumerate()
                .flat_map(|(place, &chosen)| ways[place][chosen].0.clone())
                .collect();
            if let Ok(levels) = audit(problem, &runs) {
                best = worth(&levels);
            }
        }
        let Some(place) = (0..choice.len()).find(|&place| choice[place] + 1 < ways[place].len())
        else {
            return best;
        };
        choice[..place].fill(0);
        choice[place] += 1;
    }
}

fn check_solution(problem: &Problem, solution: &Solution) -> Levels {
    let levels = audit(problem, &solution.runs).expect("every rule is kept");
    for (value, level) in worth(&levels).iter().zip(&solution.levels) {
        let sign = if level.maximise { -1.0 } else { 1.0 };
        assert!((sign * level.value - value).abs() < 1e-6, "{level:?} is {value}");
        if let Some(bound) = level.bound {
            assert!(sign * bound <= value + 1e-6, "{level:?} crosses its bound");
        }
    }
    levels
}

#[test]
fn every_small_question_is_answered_with_the_best_of_all_schedules() {
    let mut random = Pcg64::seed_from_u64(11);
    for case in 0..500 {
        // Three jobs where slots are few, so that all schedules can be looked at.
        let (slots, jobs) = [(5, 1), (5, 2), (4, 2), (3, 3)][case % 4];
        let problem = random_problem(2 + (case % 2) as u32, slots, jobs, &mut random);
        let solution = solve(&problem, &EFFORT);
        let found = worth(&check_solution(&problem, &solution));
        let best = best_of_all(&problem);
        assert!(
            !better(&best, &found) && !better(&found, &best),
            "case {case}: {found:?} is not {best:?}\n{problem:#?}\n{:#?}",
            solution.runs
        );
    }
}

#[test]
fn a_run_is_charged_where_the_holder_changes_and_not_inside() {
    // Two valleys of two hours; 90 s in, 35 s out: statistics 2.8.
    let mut trainer = job(&[(2, 100.0)], 390.0, Some(8));
    (trainer.start_hours, trainer.stop_hours) = (90.0 / 3600.0, 35.0 / 3600.0);
    let problem =
        Problem { gpus: 2, slots: firm(0.5, &[2, 2, 2, 2, 0, 2, 2, 2, 2]), jobs: vec![trainer] };
    let solution = solve(&problem, &EFFORT);
    // 4 windows of half an hour less 125 s, and 3 less the start (the run goes on over the deadline).
    let useful = (2.0 - 125.0 / 3600.0) + (1.5 - 90.0 / 3600.0);
    let late = (390.0 - 100.0 * useful) / 50.0;
    assert!((solution.levels[0].value - late).abs() < 1e-9, "{:?}", solution.levels[0]);
    assert!((solution.levels[1].value - 2.0 * 2.0 * 125.0 / 3600.0).abs() < 1e-9);
}

#[test]
fn work_is_never_linear_in_gpus() {
    // Four GPUs do twice the work of one: 8 h on one, or 4 h on four.
    let problem = Problem {
        gpus: 4,
        slots: firm(1.0, &[4; 8]),
        jobs: vec![job(&[(1, 1.0), (4, 2.0)], 8.0, Some(6))],
    };
    let solution = solve(&problem, &EFFORT);
    let levels = check_solution(&problem, &solution);
    assert_eq!(levels.late, 0.0);
    let held: f64 = solution.late.iter().map(|outcome| outcome.gpu_hours).sum();
    assert!(held >= 2.0 * 4.0 + 4.0 - 1e-9, "{held} GPU-hours are linear");
}

#[test]
fn faults_are_named() {
    let mut waits = job(&[(1, 1.0)], 9.0, None);
    (waits.release, waits.min_run, waits.preemptible) = (1, 2, false);
    let problem = Problem {
        gpus: 2,
        slots: vec![Slot { hours: 1.0, firm: 1, lendable: 1 }; 12],
        jobs: vec![waits, job(&[(1, 1.0), (2, 2.0), (4, 3.0)], 4.0, None)],
    };
    let run = |job, from, until, mode| Run { job, from, until, mode };
    let fault = |runs: &[Run]| audit(&problem, runs).expect_err("a rule is broken");
    assert_eq!(fault(&[run(0, 0, 3, 0)]), Fault::TooEarly { run: 0 });
    assert_eq!(fault(&[run(0, 1, 2, 0)]), Fault::TooShort { run: 0 });
    assert_eq!(fault(&[run(0, 1, 3, 1)]), Fault::Unknown { run: 0 });
    assert_eq!(fault(&[run(1, 0, 2, 0), run(1, 2, 4, 0)]), Fault::Overlap { run: 1 });
    assert_eq!(fault(&[run(1, 0, 3, 1)]), Fault::AfterDone { run: 0 });
    assert_eq!(fault(&[run(1, 0, 2, 2)]), Fault::TooManyGpus { slot: 0, held: 4, free: 2 });
    let firmly =
        Problem { slots: vec![Slot { hours: 1.0, firm: 0, lendable: 1 }; 12], ..problem.clone() };
    let fault = audit(&firmly, &[run(0, 1, 3, 0)]);
    assert_eq!(fault, Err(Fault::LentToFirm { slot: 1, held: 1, firm: 0 }));
}

#[test]
fn a_shortage_names_jobs_interval_and_gpu_hours() {
    // 14.2 GPU-hours are missing between the third and the sixth slot.
    let mut tight = job(&[(1, 5.0), (4, 20.0)], 5.0 * 26.2, Some(6));
    tight.release = 3;
    let relaxed = job(&[(1, 5.0)], 5.0, Some(12));
    let problem = Problem {
        gpus: 8,
        slots: firm(1.0, &[8, 8, 8, 4, 4, 4, 8, 8, 8, 8, 8, 8]),
        jobs: vec![relaxed, tight],
    };
    let found = shortage(&problem).expect("26.2 do not fit into 12");
    assert_eq!((found.jobs.as_slice(), found.from_slot, found.until_slot), (&[1][..], 3, 6));
    assert!((found.needed - 26.2).abs() < 1e-9 && (found.free - 12.0).abs() < 1e-9);
    assert!((found.missing() - 14.2).abs() < 1e-9);
    let solution = solve(&problem, &EFFORT);
    assert_eq!(solution.shortage, Some(found));
    assert!(solution.levels[0].value >= 14.2 - 1e-6);
    let mut met = problem;
    met.jobs[1].deadline = Some(10);
    assert_eq!(shortage(&met), None);
}

/// Missing GPU-hours of a set of jobs, summed over slots.
fn missing(problem: &Problem, jobs: &[usize]) -> f64 {
    let mut missing: f64 = jobs.iter().map(|&place| problem.jobs[place].gpu_hours_min()).sum();
    for (place, slot) in problem.slots.iter().enumerate() {
        let (mut lendable, mut firmly) = (0.0, 0.0);
        for job in jobs.iter().map(|&place| &problem.jobs[place]) {
            if job.release > place || job.deadline.is_some_and(|deadline| deadline <= place) {
                continue;
            }
            let free = slot.firm + if job.preemptible { slot.lendable } else { 0 };
            let fitting = job.modes.iter().filter(|mode| mode.gpus <= free);
            let best = fitting.map(|mode| mode.work_per_hour).fold(0.0, f64::max);
            *(if job.preemptible { &mut lendable } else { &mut firmly }) +=
                best / job.work_per_gpu_hour_max();
        }
        let held = lendable + f64::min(firmly, f64::from(slot.firm));
        missing -= slot.hours * held.min(f64::from(slot.firm + slot.lendable));
    }
    missing
}

#[test]
fn no_set_of_jobs_misses_more_than_the_shortage_says() {
    let mut random = Pcg64::seed_from_u64(7);
    let mut short = 0;
    for case in 0..300 {
        let mut problem = random_problem(4, 10, 5, &mut random);
        for job in &mut problem.jobs {
            job.weight = 1.0;
            job.work *= 2.0;
        }
        let due: Vec<usize> = (0..problem.jobs.len())
            .filter(|&place| problem.jobs[place].deadline.is_some())
            .collect();
        let subsets = (0..1_usize << due.len()).map(|code| {
            let chosen = (0..due.len()).filter(|place| code >> place & 1 == 1);
            missing(&problem, &chosen.map(|place| due[place]).collect::<Vec<_>>())
        });
        let most = subsets.fold(0.0, f64::max);
        let found = shortages(&problem);
        let told: f64 = found.iter().map(Shortage::missing).sum();
        assert!(
            (told - most).abs() < 2e-3 * (1.0 + due.len() as f64),
            "case {case}: {told} {most}"
        );
        for shortage in &found {
            short += 1;
            let direct = missing(&problem, &shortage.jobs);
            assert!((shortage.missing() - direct).abs() < 1e-6, "case {case}: {direct}");
        }
        let solution = solve(&problem, &EFFORT);
        assert!(solution.levels[0].value >= most - 1e-3, "case {case}");
        check_solution(&problem, &solution);
    }
    assert!(short > 50, "{short} shortages are too few to say anything");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_schedule_keeps_every_rule(seed in any::<u64>()) {
        let mut random = Pcg64::seed_from_u64(seed);
        let problem = random_problem(8, 40, 6, &mut random);
        let solution = solve(&problem, &EFFORT);
        check_solution(&problem, &solution);
        prop_assert_eq!(&solution, &solve(&problem, &EFFORT));
        let assigned = assign(&problem, &solution.runs);
        for (place, (run, gpus)) in solution.runs.iter().zip(&assigned).enumerate() {
            prop_assert_eq!(gpus.len(), problem.jobs[run.job].modes[run.mode].gpus as usize);
            prop_assert!(gpus.iter().all(|&gpu| gpu < problem.gpus) && gpus.is_sorted());
            for (other, held) in solution.runs[..place].iter().zip(&assigned) {
                let together = other.from < run.until && run.from < other.until;
                prop_assert!(!together || held.iter().all(|gpu| !gpus.contains(gpu)));
            }
        }
    }
}

#[test]
fn a_job_keeps_its_gpus_and_gets_neighbours() {
    let problem = Problem {
        gpus: 8,
        slots: firm(1.0, &[8; 4]),
        jobs: vec![job(&[(2, 1.0), (4, 2.0)], 1.0, None), job(&[(3, 1.0)], 1.0, None)],
    };
    let run = |job, from, until, mode| Run { job, from, until, mode };
    let runs = [run(0, 0, 2, 1), run(1, 0, 4, 0), run(0, 2, 4, 0)];
    let assigned = assign(&problem, &runs);
    assert_eq!(assigned[1], [5, 6, 7]);
    assert_eq!(assigned[0], [1, 2, 3, 4]);
    assert_eq!(assigned[2], [3, 4]);
}

#[test]
fn nothing_to_run_and_nowhere_to_run_are_answers() {
    let nobody = Problem { gpus: 2, slots: firm(1.0, &[2, 2]), jobs: Vec::new() };
    assert!(solve(&nobody, &EFFORT).runs.is_empty());
    let nowhere =
        Problem { gpus: 2, slots: Vec::new(), jobs: vec![job(&[(1, 1.0)], 3.0, Some(4))] };
    let solution = solve(&nowhere, &EFFORT);
    assert_eq!(solution.levels[0].value, 3.0);
    assert_eq!(solution.levels[0].bound, Some(3.0));
    let cannot = Problem {
        gpus: 1,
        slots: firm(1.0, &[1; 90]),
        jobs: vec![job(&[(2, 1.0)], 3.0, Some(40)), job(&[(1, 1.0)], f64::INFINITY, None)],
    };
    let solution = solve(&cannot, &EFFORT);
    assert_eq!((solution.levels[0].value, solution.levels[2].value), (1.5 * 2.0 * 2.0, 90.0));
}
