//! Random questions for tests.

use rand::RngExt;
use rand_pcg::Pcg64;

use crate::plan::{Job, Mode, Problem, Slot};

/// The shape of a random question.
pub(super) struct Shape {
    pub(super) gpus: u32,
    pub(super) slots: usize,
    pub(super) jobs: usize,
    pub(super) modes: usize,
}

/// A question of at most that shape, with everything that a job may ask for.
pub(super) fn sample(shape: &Shape, random: &mut Pcg64) -> Problem {
    let slots = random.random_range(1..=shape.slots);
    let hours = [0.25, 0.5, 1.0][random.random_range(0..3)];
    let slot = |random: &mut Pcg64| {
        let firm = random.random_range(0..=shape.gpus);
        let lendable = random.random_range(0..=shape.gpus - firm);
        let hours = if random.random_bool(0.1) { 2.0 * hours } else { hours };
        Slot { hours, firm, lendable }
    };
    let slots: Vec<Slot> = (0..slots).map(|_| slot(random)).collect();
    let jobs = (0..random.random_range(1..=shape.jobs))
        .map(|place| job(shape, slots.len(), hours, place, random))
        .collect();
    Problem { gpus: shape.gpus, slots, jobs }
}

fn job(shape: &Shape, slots: usize, hours: f64, place: usize, random: &mut Pcg64) -> Job {
    let mut modes = Vec::new();
    let mut gpus = random.random_range(1..=shape.gpus);
    let exponent = random.random_range(0.5..1.0);
    for _ in 0..random.random_range(1..=shape.modes) {
        if gpus > shape.gpus {
            break;
        }
        modes.push(Mode { gpus, work_per_hour: 10.0 * f64::from(gpus).powf(exponent) });
        gpus += random.random_range(1..=2);
    }
    let release = if random.random_bool(0.5) { 0 } else { random.random_range(0..slots) };
    let deadline = random.random_bool(0.7).then(|| random.random_range(release..=slots));
    let length = random.random_range(0.3..1.0) * slots as f64 * hours;
    let endless = deadline.is_none() && random.random_bool(0.5);
    Job {
        name: format!("job {place}"),
        workload: "job".into(),
        work: if endless { f64::INFINITY } else { length * modes[0].work_per_hour },
        modes,
        release,
        deadline,
        weight: [0.0, 1.0, 1.0, 2.0, 5.0][random.random_range(0..5)],
        preemptible: random.random_bool(0.6),
        min_run: if random.random_bool(0.2) { 2 } else { 1 },
        start_hours: [0.0, 0.05, 0.1, 0.3][random.random_range(0..4)],
        stop_hours: [0.0, 0.05, 0.2][random.random_range(0..3)],
    }
}
