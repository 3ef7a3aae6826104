//! A program put to HiGHS.

use anyhow::{Context, bail};
use cotenant_core::plan::Run;
use highs::{HighsModelStatus, HighsSolutionStatus, RowProblem, Sense};

use super::program::{Hold, Program};

/// How far from a whole number a whole column may be, and how far beyond its limits a sum. Both are
/// the tightest that HiGHS takes in earnest.
const FEASIBILITY: f64 = 1e-9;

/// Slack on what the levels above may cost, so that rounding does not tighten them.
const SLACK: f64 = 1e-6;

/// What the solver says of one level.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// What it found, and what that costs; `None` where it found nothing in its time.
    pub(super) found: Option<(Vec<Run>, f64)>,
    /// What nothing can cost less than.
    pub(super) least: f64,
    /// Whether it came to an end rather than to the end of its time.
    pub(super) finished: bool,
}

/// Minimises one level, where each level above may cost at most what `above` says, in at most so many
/// seconds.
pub(super) fn minimise(
    program: &Program,
    above: &[f64],
    seconds_max: f64,
) -> anyhow::Result<Answer> {
    let level = above.len();
    let mut rows = RowProblem::new();
    let columns: Vec<_> = program
        .columns
        .iter()
        .map(|column| {
            rows.add_column_with_integrality(column.costs[level], 0.0..=column.upper, column.whole)
        })
        .collect();
    let mut add = |low: f64, high: f64, sum: &[(usize, f64)]| {
        let terms: Vec<_> = sum.iter().map(|&(column, factor)| (columns[column], factor)).collect();
        rows.add_row(low..=high, terms);
    };
    for row in &program.rows {
        add(row.low, row.high, &row.sum);
    }
    for (level, &cost) in above.iter().enumerate() {
        add(f64::NEG_INFINITY, cost + SLACK, &program.level(level));
    }
    let mut model = rows.try_optimise(Sense::Minimise).ok().context("HiGHS refuses the program")?;
    model.make_quiet();
    for (option, value) in [
        ("time_limit", seconds_max),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", FEASIBILITY),
        ("mip_feasibility_tolerance", FEASIBILITY),
        ("primal_feasibility_tolerance", FEASIBILITY),
        ("dual_feasibility_tolerance", FEASIBILITY),
    ] {
        model.set_option(option, value);
    }
    model.set_option("threads", 1);
    let solved = model.try_solve().ok().context("HiGHS fails")?;
    let finished = match solved.status() {
        HighsModelStatus::Optimal => true,
        HighsModelStatus::ReachedTimeLimit => false,
        status => bail!("HiGHS says {status:?} of a program that our own calendar solves"),
    };
    let least = solved.double_info_value(c"mip_dual_bound").ok().context("no dual bound")?;
    let found = (solved.primal_solution_status() == HighsSolutionStatus::Feasible).then(|| {
        let values = solved.get_solution();
        (runs(&program.holds, values.columns()), solved.objective_value())
    });
    Ok(Answer { found, least, finished })
}

/// The unbroken stretches of what is held.
fn runs(holds: &[Hold], values: &[f64]) -> Vec<Run> {
    let mut held: Vec<&Hold> = holds.iter().filter(|hold| values[hold.column] > 0.5).collect();
    held.sort_by_key(|hold| (hold.job, hold.slot));
    let mut runs: Vec<Run> = Vec::new();
    for hold in held {
        match runs.last_mut() {
            Some(run) if (run.job, run.mode, run.until) == (hold.job, hold.mode, hold.slot) => {
                run.until += 1;
            }
            _ => runs.push(Run {
                job: hold.job,
                from: hold.slot,
                until: hold.slot + 1,
                mode: hold.mode,
            }),
        }
    }
    runs
}
