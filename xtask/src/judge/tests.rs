//! The judge itself: that it agrees with what can be counted out by hand, and that it can refuse.

use cotenant_core::plan::schedule::{Effort, audit, solve};
use cotenant_core::plan::{Job, Mode, Problem, Run, Slot};

use super::program::Program;
use super::questions::{SHAPES, question};
use super::ruling::judge;
use super::solver::minimise;

const SECONDS_MAX: f64 = 60.0;

/// Two GPUs for four windows of an hour, and two jobs that both want to run for an hour and a quarter on
/// both GPUs, and half an hour of transitions, before the fourth.
fn crowded() -> Problem {
    let job = |name: &str, weight: f64| Job {
        name: name.into(),
        workload: name.into(),
        modes: vec![Mode { gpus: 2, work_per_hour: 20.0 }],
        work: 25.0,
        release: 0,
        deadline: Some(3),
        weight,
        preemptible: true,
        min_run: 1,
        start_hours: 0.25,
        stop_hours: 0.25,
    };
    let slot = Slot { hours: 1.0, firm: 2, lendable: 0 };
    Problem { gpus: 2, slots: vec![slot; 4], jobs: vec![job("light", 1.0), job("heavy", 3.0)] }
}

/// The heavy job takes the first two windows. The light one starts in the third and goes on in the fourth,
/// so that three quarters of an hour of it lie before its deadline: of 2.5 GPU-hours 1.5 are in time, 1 is
/// late and done after all. Each of the two runs loses half an hour of two GPUs, starts and stops.
#[test]
fn what_can_be_counted_out_by_hand() {
    let problem = crowded();
    let program = Program::of(&problem);
    let late = minimise(&program, &[], SECONDS_MAX).expect("solves");
    assert!(late.finished);
    assert!((late.least - 1.0).abs() < 1e-6, "{}", late.least);
    let lost = minimise(&program, &[late.least], SECONDS_MAX).expect("solves");
    assert!((lost.least - 2.0).abs() < 1e-6, "{}", lost.least);
    let harvest = minimise(&program, &[late.least, lost.least], SECONDS_MAX).expect("solves");
    assert!((harvest.least + 1.0).abs() < 1e-6, "{}", harvest.least);
    let changes = minimise(&program, &[late.least, lost.least, harvest.least], SECONDS_MAX);
    assert!((changes.expect("solves").least - 4.0).abs() < 1e-6);
}

#[test]
fn nothing_of_ours_is_contradicted() {
    for (shape, seeds) in [(SHAPES[0], 1..=20), (SHAPES[1], 1..=4)] {
        for seed in seeds {
            let problem = question(shape, seed);
            let solution = solve(&problem, &Effort { steps_max: 200, seed: 1 });
            for ruling in judge(&problem, &solution, SECONDS_MAX).expect("judges") {
                assert_eq!(ruling.crossing(), None, "seed {seed}: {ruling:?}");
            }
        }
    }
}

#[test]
fn a_bound_above_the_best_and_a_value_below_it_are_refused() {
    let problem = crowded();
    let solution = solve(&problem, &Effort::default());
    let rulings = judge(&problem, &solution, SECONDS_MAX).expect("judges");
    for ruling in rulings {
        assert_eq!(ruling.crossing(), None);
        let mut high = ruling;
        high.bound = Some(ruling.least + 1e-4);
        assert!(high.crossing().is_some_and(|text| text.starts_with("our bound")), "{high:?}");
        let mut low = ruling;
        low.value = ruling.least - 1e-4;
        assert!(low.crossing().is_some_and(|text| text.starts_with("our calendar")), "{low:?}");
    }
}

/// A value that nobody audited must not be judged.
#[test]
fn a_value_that_the_runs_do_not_reach_is_an_error() {
    let problem = crowded();
    let mut solution = solve(&problem, &Effort::default());
    solution.levels[0].value -= 0.5;
    let error = judge(&problem, &solution, SECONDS_MAX).expect_err("not what is audited");
    assert!(format!("{error:#}").contains("is audited"), "{error:#}");
}

/// The program counts any given calendar as the audit does, so that it poses the same question.
#[test]
fn the_program_counts_as_the_audit_does() {
    for seed in 1..=12 {
        let problem = question(SHAPES[1], seed);
        let runs = solve(&problem, &Effort { steps_max: 20, seed: 1 }).runs;
        let levels = audit(&problem, &runs).expect("keeps every rule");
        let audited = [levels.late, levels.lost, -levels.harvest, levels.changes];
        let mut program = Program::of(&problem);
        hold_only(&mut program, &runs);
        for level in 0..audited.len() {
            let cost = minimise(&program, &audited[..level], SECONDS_MAX).expect("solves").least;
            let apart = (cost - audited[level]).abs();
            assert!(apart < 1e-5, "seed {seed}, level {level}: {cost} for {}", audited[level]);
        }
    }
}

/// Leaves no calendar but one.
fn hold_only(program: &mut Program, runs: &[Run]) {
    for hold in &program.holds {
        let held = runs.iter().any(|run| {
            (run.job, run.mode) == (hold.job, hold.mode)
                && (run.from..run.until).contains(&hold.slot)
        });
        let value = f64::from(u8::from(held));
        program.rows.push(super::program::Row {
            low: value,
            high: value,
            sum: vec![(hold.column, 1.0)],
        });
    }
}
