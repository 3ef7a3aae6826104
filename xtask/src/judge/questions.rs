//! Seeded questions of sizes that a solver of mixed integer programs can still judge.

use cotenant_core::plan::{Job, Mode, Problem, Slot};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// What a question looks like. Slots last half an hour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) slots: usize,
    pub(super) gpus: u32,
    pub(super) jobs: usize,
}

/// From what can be counted out by hand to two days.
pub(super) const SHAPES: [Shape; 5] = [
    Shape { slots: 8, gpus: 3, jobs: 3 },
    Shape { slots: 16, gpus: 4, jobs: 4 },
    Shape { slots: 24, gpus: 4, jobs: 5 },
    Shape { slots: 48, gpus: 6, jobs: 6 },
    Shape { slots: 96, gpus: 8, jobs: 8 },
];

const SLOT_HOURS: f64 = 0.5;

/// The question of a shape and a seed: room that comes and goes, jobs of which some cannot be done in
/// time, and one without an end.
pub(super) fn question(shape: Shape, seed: u64) -> Problem {
    let mut random = Pcg64::seed_from_u64(seed);
    let phase = random.random_range(0.0..std::f64::consts::TAU);
    let slots =
        (0..shape.slots).map(|place| slot(shape, phase, place, &mut random)).collect::<Vec<_>>();
    let jobs = (0..shape.jobs).map(|place| job(shape, place, &mut random)).collect();
    Problem { gpus: shape.gpus, slots, jobs }
}

fn slot(shape: Shape, phase: f64, place: usize, random: &mut Pcg64) -> Slot {
    // A day's wave, so that short questions see a part of one.
    let wave = (std::f64::consts::TAU * place as f64 / 48.0 + phase).sin();
    let gpus = f64::from(shape.gpus);
    let firm = (gpus * (0.45 + 0.4 * wave)).round().max(0.0) as u32;
    let lendable = if random.random_bool(0.3) { 1.min(shape.gpus - firm) } else { 0 };
    Slot { hours: SLOT_HOURS, firm, lendable }
}

fn job(shape: Shape, place: usize, random: &mut Pcg64) -> Job {
    let exponent = random.random_range(0.75..1.0);
    let mode = |gpus: u32| Mode { gpus, work_per_hour: 40.0 * f64::from(gpus).powf(exponent) };
    let modes: Vec<Mode> = [1, 2, 4]
        .into_iter()
        .filter(|&gpus| gpus <= shape.gpus)
        .take(random.random_range(1..=3))
        .skip(usize::from(random.random_bool(0.2)))
        .map(mode)
        .collect();
    let modes = if modes.is_empty() { vec![mode(1)] } else { modes };
    let release = random.random_range(0..=shape.slots / 2);
    let deadline = random.random_range(release + shape.slots / 4..=shape.slots);
    let endless = place == 0;
    let hours = SLOT_HOURS * (deadline - release) as f64 * random.random_range(0.15..0.9);
    let second = 1.0 / 3600.0;
    Job {
        name: format!("job {place}"),
        workload: "jobs".into(),
        work: if endless { f64::INFINITY } else { hours * modes[0].work_per_hour },
        modes,
        release: if endless { 0 } else { release },
        deadline: (!endless && random.random_bool(0.9)).then_some(deadline),
        weight: [1.0, 1.0, 1.0, 2.0, 5.0][random.random_range(0..5)],
        preemptible: random.random_bool(0.7),
        min_run: if random.random_bool(0.3) { random.random_range(2..=4) } else { 1 },
        start_hours: second * random.random_range(30.0..900.0),
        stop_hours: second * random.random_range(10.0..400.0),
    }
}
