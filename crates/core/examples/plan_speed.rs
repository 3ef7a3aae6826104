//! How long a calendar takes, and how far it is proven to be from the best one.
//!
//! `cargo run --release -p cotenant-core --example plan_speed [week|tight|gangs|month|tight-month] [steps] [seed]`; without arguments, all of them.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it measures time, and takes arguments; the crate itself does neither"
)]

use std::time::Instant;

use cotenant_core::plan::schedule::{Effort, audit, solve};
use cotenant_core::plan::{Job, Mode, Problem, Slot};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// What a question looks like.
struct Shape {
    name: &'static str,
    weeks: usize,
    gpus: u32,
    jobs: usize,
    /// GPU-hours of a job, times this.
    load: f64,
    gangs: bool,
    steps: u64,
}

const SHAPES: [Shape; 5] = [
    Shape { name: "week", weeks: 1, gpus: 8, jobs: 20, load: 0.5, gangs: false, steps: 2_000 },
    Shape { name: "tight", weeks: 1, gpus: 8, jobs: 20, load: 2.6, gangs: false, steps: 2_000 },
    Shape { name: "gangs", weeks: 1, gpus: 8, jobs: 20, load: 0.5, gangs: true, steps: 2_000 },
    Shape { name: "month", weeks: 4, gpus: 64, jobs: 200, load: 1.0, gangs: true, steps: 2_000 },
    Shape {
        name: "tight-month",
        weeks: 4,
        gpus: 64,
        jobs: 200,
        load: 4.0,
        gangs: true,
        steps: 2_000,
    },
];

const SLOTS_PER_DAY: usize = 48;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse::<u64>().ok());
    for shape in SHAPES {
        if arguments.first().is_none_or(|name| name == shape.name) {
            report(&shape, number(1).unwrap_or(shape.steps), number(2).unwrap_or(1));
        }
    }
}

fn report(shape: &Shape, steps_max: u64, seed: u64) {
    let problem = problem(shape, seed);
    let began = Instant::now();
    let solution = solve(&problem, &Effort { steps_max, seed: 1 });
    let seconds = began.elapsed().as_secs_f64();
    audit(&problem, &solution.runs).unwrap_or_else(|fault| panic!("{fault}"));
    let late = solution.late.iter().zip(&problem.jobs).filter(|(outcome, job)| {
        job.deadline.is_some() && outcome.work_done_in_time < job.work * (1.0 - 1e-9)
    });
    let (slots, jobs, late) = (problem.slots.len(), problem.jobs.len(), late.count());
    println!(
        "{}: {slots} slots x {} GPUs x {jobs} jobs, {steps_max} steps: {seconds:.1} s; {late} late, \
         {} runs",
        shape.name,
        problem.gpus,
        solution.runs.len()
    );
    for level in &solution.levels {
        let bound = level.bound.map_or("none".into(), |bound| format!("{bound:.3}"));
        let gap = level.gap().map_or("unknown".into(), |gap| format!("{:.2} %", 100.0 * gap));
        println!("  {:38} {:10.3} bound {bound:>10} gap {gap}", level.name, level.value);
    }
    if let Some(shortage) = solution.shortage {
        println!(
            "  certificate: {} jobs lack {:.3} GPU-h",
            shortage.jobs.len(),
            shortage.missing()
        );
    }
}

/// Nights and weekends with room, jobs of 4 to 60 GPU-hours due within a week, and work without end.
fn problem(shape: &Shape, seed: u64) -> Problem {
    let mut random = Pcg64::seed_from_u64(seed);
    let slots: Vec<Slot> =
        (0..7 * shape.weeks * SLOTS_PER_DAY).map(|place| slot(shape, place, &mut random)).collect();
    let endless = if shape.gpus > 8 { 48 } else { 6 };
    let jobs =
        (0..shape.jobs).map(|place| job(shape, place, place < endless, &mut random)).collect();
    Problem { gpus: shape.gpus, slots, jobs }
}

fn slot(shape: &Shape, place: usize, random: &mut Pcg64) -> Slot {
    let (day, part) = (place / SLOTS_PER_DAY % 7, place % SLOTS_PER_DAY);
    let hour = part as f64 / 2.0;
    let daily = (std::f64::consts::PI * ((hour - 6.0) / 16.0).clamp(0.0, 1.0)).sin();
    let weekend = if day >= 5 { 0.4 } else { 1.0 };
    let gpus = f64::from(shape.gpus);
    let reserved = (gpus * (0.12 + 0.7 * daily * weekend)).ceil();
    let hot = (0.08 * gpus).ceil();
    let lent = if random.random_bool(0.2) { (0.1 * gpus).ceil() } else { 0.0 };
    let firm = (gpus - reserved - hot - lent).max(0.0);
    let lendable = lent.min(gpus - reserved - hot - firm).max(0.0);
    Slot { hours: 0.5, firm: firm as u32, lendable: lendable as u32 }
}

fn job(shape: &Shape, place: usize, endless: bool, random: &mut Pcg64) -> Job {
    let day = random.random_range(0..7 * shape.weeks - 2);
    let gang = shape.gangs && random.random_bool(0.3);
    let largest = if shape.gpus > 8 { 4 } else { 3 };
    let exponent = random.random_range(0.75..1.0);
    let first = if gang { random.random_range(1..3) } else { 0 };
    let count = if gang { 1 } else { random.random_range(1..=largest + 1) };
    // A queue of batch work is a number of workers, each with GPUs of its own.
    let powers = if endless { 0..1 } else { first..(first + count).min(largest + 1) };
    let mode = |gpus| Mode { gpus, work_per_hour: 40.0 * f64::from(gpus).powf(exponent) };
    let modes: Vec<Mode> = powers.map(|power| mode(2_u32.pow(power))).collect();
    let best =
        modes.iter().map(|mode| mode.work_per_hour / f64::from(mode.gpus)).fold(0.0, f64::max);
    let fastest = modes.iter().map(|mode| mode.work_per_hour).fold(0.0, f64::max);
    let days = random.random_range(2..=6).min(7 * shape.weeks - day);
    // A job can be done in a third of its time alone.
    let hours = shape.load * random.random_range(4.0..60.0);
    let work = (best * hours).min(fastest * 24.0 * days as f64 / 3.0);
    let second = 1.0 / 3600.0;
    Job {
        name: format!("job {place}"),
        workload: "jobs".into(),
        modes,
        work: if endless { f64::INFINITY } else { work },
        release: if endless { 0 } else { day * SLOTS_PER_DAY + random.random_range(0..20) },
        deadline: (!endless).then_some((day + days) * SLOTS_PER_DAY - random.random_range(0..20)),
        weight: [1.0, 1.0, 1.0, 2.0, 5.0][random.random_range(0..5)],
        preemptible: random.random_bool(0.8),
        min_run: if shape.gangs && random.random_bool(0.3) {
            random.random_range(2..=6)
        } else {
            1
        },
        start_hours: second * random.random_range(30.0..400.0),
        stop_hours: second * random.random_range(10.0..200.0),
    }
}
