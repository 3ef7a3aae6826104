//! `xtask study`: runs the cells on all cores and writes the tables.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use cotenant_core::stats::Refusal;

use super::cells::{self, Cell};
use super::tables::{self, Results};
use super::trial::{Rates, run_cell};

/// Lines between which `--write` puts the tables.
const MARKERS: [&str; 2] = ["<!-- study: begin -->", "<!-- study: end -->"];

/// What `study` can be told.
#[derive(Args)]
pub(crate) struct StudyArguments {
    /// Trials in each cell.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    trials: u32,
    /// Seed of every cell's stream.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only cells whose name contains this text, as `log-normal σ 0.6` or `12x80`; prints one line
    /// for each instead of tables.
    #[arg(long)]
    cells: Option<String>,
    /// Puts the tables into this file, between the study's markers.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Threads; all cores if not given.
    #[arg(long)]
    threads: Option<usize>,
}

/// Runs the study.
pub(crate) fn run(arguments: &StudyArguments) -> anyhow::Result<()> {
    let wanted = arguments.cells.as_deref().unwrap_or("");
    let cells: Vec<Cell> =
        cells::all().into_iter().filter(|cell| cell.name().contains(wanted)).collect();
    if cells.is_empty() {
        bail!("no cell's name contains \"{wanted}\"");
    }
    if arguments.write.is_some() && arguments.cells.is_some() {
        bail!("--write needs every cell, so it does not go with --cells");
    }
    let threads = match arguments.threads {
        Some(threads) => threads.max(1),
        None => std::thread::available_parallelism()?.get(),
    };
    let began = Instant::now();
    let results = run_cells(&cells, arguments.trials, arguments.seed, threads, |done| {
        progress(done, cells.len(), began);
    })?;
    let text = if arguments.cells.is_some() {
        tables::lines(&results)
    } else {
        tables::markdown(&results, arguments.trials, arguments.seed)
    };
    match &arguments.write {
        Some(path) => replace_between_markers(path, &text),
        None => Ok(std::io::stdout().write_all(text.as_bytes())?),
    }
}

/// The index of a cell, and what came of it.
type Finished = (usize, Result<Vec<Rates>, Refusal>);

/// Runs cells in parallel; the results are in the order of the cells. `finished` hears how many are
/// done after each.
pub(super) fn run_cells(
    cells: &[Cell],
    trials: u32,
    seed: u64,
    threads: usize,
    finished: impl Fn(usize) + Sync,
) -> anyhow::Result<Results> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Finished>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(index) else { break };
                    let rates = run_cell(cell, trials, seed);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((index, rates));
                    finished(done.len());
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    let mut results = Results::default();
    for (index, rates) in done {
        let cell = cells[index];
        results.push((cell, rates.with_context(|| format!("cell {}", cell.name()))?));
    }
    Ok(results)
}

/// One line on stderr that overwrites itself; cells take unequal times, so the time left is rough.
fn progress(done: usize, all: usize, began: Instant) {
    let elapsed_s = began.elapsed().as_secs_f64();
    let left_s = elapsed_s / done as f64 * (all - done) as f64;
    let mut stderr = std::io::stderr().lock();
    let end = if done == all { "\n" } else { "" };
    // Progress is a courtesy: a closed stderr must not end the study.
    let _ = write!(
        stderr,
        "\r{done} of {all} cells, {elapsed_s:.0} s, about {left_s:.0} s left   {end}"
    );
    let _ = stderr.flush();
}

fn replace_between_markers(path: &Path, text: &str) -> anyhow::Result<()> {
    let page = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let [begin, end] = MARKERS;
    let (Some(from), Some(to)) = (page.find(begin), page.find(end)) else {
        bail!("{} has no lines {begin} and {end}", path.display());
    };
    if to < from {
        bail!("{} has its markers in the wrong order", path.display());
    }
    let page = format!("{}{begin}\n\n{text}\n{}", &page[..from], &page[to..]);
    std::fs::write(path, page).with_context(|| path.display().to_string())
}
