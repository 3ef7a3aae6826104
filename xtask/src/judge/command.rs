//! `xtask judge`: poses the questions, and writes what the judge says.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context, bail};
use clap::Args;
use cotenant_core::plan::schedule::{Effort, solve};

use super::questions::{SHAPES, Shape, question};
use super::ruling::{Ruling, judge};

/// What `judge` can be told.
#[derive(Args)]
pub(crate) struct JudgeArguments {
    /// Questions of each size.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    questions: u64,
    /// Seed of the first question of each size.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sizes of at most so many windows.
    #[arg(long, default_value_t = 96)]
    slots_max: usize,
    /// Wall seconds that the judge may take over one level of one question. Out of time, it still has a
    /// bound, and mostly a calendar.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Steps of our own search.
    #[arg(long, default_value_t = Effort::default().steps_max)]
    steps: u64,
}

/// The levels as the table names them.
const NAMES: [&str; 4] = ["late", "lost", "harvest", "changes"];

/// Ours counts as the best up to this share.
const SAME: f64 = 1e-5;

/// Judges the questions. An error where a bound or a value of ours is contradicted.
pub(crate) fn run(arguments: &JudgeArguments) -> anyhow::Result<()> {
    let shapes: Vec<Shape> =
        SHAPES.into_iter().filter(|shape| shape.slots <= arguments.slots_max).collect();
    if shapes.is_empty() {
        bail!("--slots-max is below the smallest size, {} windows", SHAPES[0].slots);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| windows × GPUs × jobs | level | judged to the end | ours is the best | worst: ours above \
         the best | worst: bound below the best | crossings |\n|---|---|---|---|---|---|---|"
    )?;
    let (mut crossings, mut missed) = (Vec::new(), Vec::new());
    for shape in shapes {
        let mut rulings = Vec::new();
        for seed in arguments.seed..arguments.seed + arguments.questions {
            let question_rulings = judge_question(shape, seed, arguments)?;
            for (ruling, level) in question_rulings.iter().zip(NAMES) {
                let name = format!("{} windows, seed {seed}, {level}", shape.slots);
                crossings.extend(ruling.crossing().map(|crossing| format!("{name}: {crossing}")));
                missed.extend(miss(ruling).map(|miss| format!("{name}: {miss}")));
            }
            rulings.push(question_rulings);
        }
        out.write_all(table(shape, &rulings).as_bytes())?;
        out.flush()?;
    }
    for line in missed.iter().chain(&crossings) {
        writeln!(out, "{line}")?;
    }
    if crossings.is_empty() {
        return Ok(());
    }
    bail!("{} of our statements cannot be true", crossings.len())
}

fn judge_question(
    shape: Shape,
    seed: u64,
    arguments: &JudgeArguments,
) -> anyhow::Result<Vec<Ruling>> {
    let problem = question(shape, seed);
    let solution = solve(&problem, &Effort { steps_max: arguments.steps, seed: 1 });
    judge(&problem, &solution, arguments.seconds)
        .with_context(|| format!("{} windows, seed {seed}", shape.slots))
}

/// How far ours is above the best, where it is, in words.
fn miss(ruling: &Ruling) -> Option<String> {
    let optimum = ruling.optimum()?;
    (share(ruling.value, optimum) >= SAME)
        .then(|| format!("ours reaches {:.6}, the best is {optimum:.6}", ruling.value))
}

/// A line for each level of a size.
fn table(shape: Shape, questions: &[Vec<Ruling>]) -> String {
    let mut text = String::new();
    for (level, name) in NAMES.into_iter().enumerate() {
        let rulings: Vec<&Ruling> = questions.iter().map(|rulings| &rulings[level]).collect();
        let finished: Vec<(&Ruling, f64)> = rulings
            .iter()
            .filter_map(|ruling| ruling.optimum().map(|optimum| (*ruling, optimum)))
            .collect();
        let best = finished.iter().filter(|(ruling, _)| miss(ruling).is_none());
        let above = finished.iter().map(|(ruling, optimum)| share(ruling.value, *optimum));
        let below = finished
            .iter()
            .filter_map(|(ruling, optimum)| ruling.bound.map(|bound| share(*optimum, bound)));
        let crossed = rulings.iter().filter(|ruling| ruling.crossing().is_some()).count();
        let _ = writeln!(
            text,
            "| {} × {} × {} | {name} | {} of {} | {} | {} | {} | {crossed} |",
            shape.slots,
            shape.gpus,
            shape.jobs,
            finished.len(),
            rulings.len(),
            best.count(),
            worst(above),
            worst(below),
        );
    }
    text
}

/// The largest of some shares, or that there are none.
fn worst(shares: impl Iterator<Item = f64>) -> String {
    let largest = shares.reduce(f64::max);
    // A share of minus nothing is rounding.
    largest.map_or("—".into(), |share| format!("{:.2} %", 100.0 * share.max(0.0)))
}

/// How far one number is above another, as a share of the larger of both and of one unit.
fn share(upper: f64, lower: f64) -> f64 {
    (upper - lower) / upper.abs().max(lower.abs()).max(1.0)
}
