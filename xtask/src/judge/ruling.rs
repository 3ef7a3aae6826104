//! Whether a calendar and its bounds agree with the judge.

use anyhow::{Context, bail};
use cotenant_core::plan::schedule::{Fault, Levels, Solution, audit};
use cotenant_core::plan::{Problem, Run};

use super::program::{LEVELS, Program};
use super::solver::{Answer, minimise};

/// How far two numbers may be apart that ought to be the same: absolute below one, a share above it.
const TOLERANCE: f64 = 1e-6;

/// How far what is found may be from what the program says of it: the solver's own tolerances, added up
/// over a question's columns.
const PROGRAM_TOLERANCE: f64 = 1e-4;

/// One level, less being better.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ruling {
    /// What our calendar reaches.
    pub(super) value: f64,
    /// What we say no calendar can be better than.
    pub(super) bound: Option<f64>,
    /// What the judge's calendar reaches, where it found one, counted by the audit.
    pub(super) found: Option<f64>,
    /// What the judge says no calendar can be better than.
    pub(super) least: f64,
    /// Whether the judge came to an end: then what it found is the best.
    pub(super) finished: bool,
}

impl Ruling {
    /// What is said that cannot be true, in words.
    pub(super) fn crossing(&self) -> Option<String> {
        let above = |one: f64, other: f64| one > other + TOLERANCE * other.abs().max(1.0);
        if above(self.least, self.value) {
            return Some(format!(
                "our calendar reaches {}, and the judge proves that none is below {}",
                self.value, self.least
            ));
        }
        let (bound, found) = (self.bound?, self.found?);
        above(bound, found).then(|| {
            format!("our bound is {bound}, and the judge found a calendar that reaches {found}")
        })
    }

    /// The best that there is, where the judge found it.
    pub(super) fn optimum(&self) -> Option<f64> {
        self.found.filter(|_| self.finished)
    }
}

/// Judges every level of a solution, each given what the solution reaches at the levels above.
pub(super) fn judge(
    problem: &Problem,
    solution: &Solution,
    seconds_max: f64,
) -> anyhow::Result<Vec<Ruling>> {
    let program = Program::of(problem);
    let reached = costs(&audit(problem, &solution.runs).context("our calendar breaks a rule")?);
    let mut rulings = Vec::new();
    for (level, stated) in solution.levels.iter().enumerate() {
        let sign = if stated.maximise { -1.0 } else { 1.0 };
        let value = sign * stated.value;
        if (value - reached[level]).abs() > TOLERANCE * value.abs().max(1.0) {
            bail!("{}: {value} is stated, {} is audited", stated.name, reached[level]);
        }
        let answer = minimise(&program, &reached[..level], seconds_max)?;
        rulings.push(Ruling {
            value,
            bound: stated.bound.map(|bound| sign * bound),
            found: found(problem, &answer, &reached[..level])
                .with_context(|| format!("{}: the judge's calendar", stated.name))?,
            least: answer.least,
            finished: answer.finished,
        });
    }
    Ok(rulings)
}

/// What the judge's calendar costs at its level. An error where the audit sees it otherwise than the
/// program does: then the program does not pose the question, and nothing is judged.
fn found(problem: &Problem, answer: &Answer, above: &[f64]) -> anyhow::Result<Option<f64>> {
    let Some((runs, cost)) = &answer.found else { return Ok(None) };
    let audited = costs(&audited(problem, runs.clone())?);
    let level = above.len();
    let differs = |one: f64, other: f64| one > other + PROGRAM_TOLERANCE * other.abs().max(1.0);
    for (level, (&audited, &allowed)) in audited.iter().zip(above).enumerate() {
        if differs(audited, allowed) {
            bail!("costs {audited} at level {}, where {allowed} is allowed", level + 1);
        }
    }
    if differs(audited[level], *cost) {
        bail!("costs {} by the audit and {cost} by the program", audited[level]);
    }
    Ok(Some(audited[level]))
}

/// Counts what runs are worth, without those parts that go on after the work is done: the program
/// does not forbid them, since they gain nothing.
fn audited(problem: &Problem, mut runs: Vec<Run>) -> Result<Levels, Fault> {
    loop {
        let run = match audit(problem, &runs) {
            Err(Fault::AfterDone { run }) => run,
            other => return other,
        };
        let shortest = problem.jobs[runs[run].job].min_run.max(1);
        if runs[run].until - runs[run].from > shortest {
            runs[run].until -= 1;
        } else {
            runs.remove(run);
        }
    }
}

/// The levels, less being better.
fn costs(levels: &Levels) -> [f64; LEVELS] {
    [levels.late, levels.lost, -levels.harvest, levels.changes]
}
