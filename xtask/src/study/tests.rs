//! The study in small: the targets of the rule, asserted with a margin of three standard errors,
//! and the study's own honesty (known truth, same seed, same numbers).

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::cells::{self, Cell, MARGIN, Procedure};
use super::command::run_cells;
use super::trial::{Rates, run_cell};
use super::truth::{LIMIT, Truth, latencies};

const TRIALS: u32 = 500;
const SEED: u64 = 1;

fn cell(truth: Truth, mean: f64, blocks: usize, requests: usize, persistence: f64) -> Cell {
    Cell { procedure: Procedure::OneLook, truth, mean, blocks, requests, persistence }
}

fn rates(cell: &Cell) -> Rates {
    run_cell(cell, TRIALS, SEED).unwrap()[0]
}

/// Three standard errors of a rate near `share`.
fn margin(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(TRIALS)).sqrt()
}

#[test]
fn false_pass_stays_at_its_target() {
    for cell in [
        cell(Truth::LogNormal(0.3), MARGIN, 8, 60, 0.3),
        cell(Truth::LogNormal(1.0), MARGIN, 4, 60, 0.3),
        cell(Truth::LogNormal(1.0), MARGIN, 12, 80, 0.5),
        cell(Truth::Gamma(1.0), MARGIN, 6, 200, 0.0),
        cell(Truth::RareBadStratum, MARGIN, 12, 80, 0.3),
        cell(Truth::AlikeStrata, MARGIN, 12, 80, 0.3),
    ] {
        let rates = rates(&cell);
        assert!(rates.pass <= 0.055 + margin(0.055), "{}: {rates:?}", cell.name());
        assert!(rates.fail <= 0.05 + margin(0.05), "{}: {rates:?}", cell.name());
    }
}

/// The plain t bound, which the rule replaced, does err: the study can see a bad rule.
#[test]
fn the_study_can_see_a_bad_rule() {
    let rates = rates(&cell(Truth::LogNormal(1.0), MARGIN, 6, 200, 0.0));
    assert!(rates.pass_student > 0.15, "{rates:?}");
    assert!(rates.pass < rates.pass_student / 3.0, "{rates:?}");
}

#[test]
fn power_reaches_its_target() {
    for truth in [Truth::Constant, Truth::LogNormal(0.6)] {
        for persistence in [0.0, 0.3] {
            let cell = cell(truth, 0.015, 12, 80, persistence);
            let rates = rates(&cell);
            assert!(rates.pass >= 0.8 - margin(0.8), "{}: {rates:?}", cell.name());
        }
    }
    // A plainly bad system fails.
    assert!(rates(&cell(Truth::LogNormal(0.6), 0.25, 12, 80, 0.3)).fail > 0.95);
}

#[test]
fn looks_at_a_quarter_of_alpha_keep_the_target() {
    let cell =
        Cell { procedure: Procedure::Looks, ..cell(Truth::LogNormal(1.0), MARGIN, 16, 80, 0.3) };
    let all = run_cell(&cell, TRIALS, SEED).unwrap();
    let (whole, quarter) = (all[0], all[2]);
    assert!(quarter.pass <= 0.055 + margin(0.055), "{quarter:?}");
    assert!(whole.pass > quarter.pass, "{whole:?} {quarter:?}");
}

#[test]
fn the_truth_is_what_it_says() {
    let mut random = Pcg64::seed_from_u64(5);
    let mut series = Vec::new();
    for truth in [Truth::LogNormal(0.6), Truth::Gamma(1.0), Truth::RareBad] {
        let draws = 40_000;
        let mean = (0..draws).map(|_| truth.draw(MARGIN, false, &mut random)).sum::<f64>()
            / f64::from(draws);
        assert!((mean / MARGIN - 1.0).abs() < 0.03, "{}: {mean}", truth.name());
    }
    // The phases of the strata have the long-run share between them.
    let phase = |bad, random: &mut Pcg64| {
        (0..20_000).map(|_| Truth::RareBadStratum.draw(MARGIN, bad, random)).sum::<f64>() / 2e4
    };
    let whole = 0.9 * phase(false, &mut random) + 0.1 * phase(true, &mut random);
    assert!((whole / MARGIN - 1.0).abs() < 0.02, "{whole}");
    latencies(0.2, 100_000, 0.5, &mut random, &mut series);
    let misses = series.iter().filter(|latency| **latency > LIMIT).count();
    assert!((misses as f64 / 1e5 - 0.2).abs() < 0.01, "{misses}");
}

#[test]
fn threads_and_neighbours_change_nothing() {
    let cells: Vec<Cell> =
        cells::all().into_iter().filter(|cell| cell.name().contains("/4x60/0.3")).collect();
    let one = run_cells(&cells, 20, SEED, 1, |_| {}).unwrap();
    assert_eq!(one, run_cells(&cells, 20, SEED, 3, |_| {}).unwrap());
    let alone = run_cells(&cells[3..4], 20, SEED, 1, |_| {}).unwrap();
    assert_eq!(alone[0], one[3]);
    assert_ne!(one, run_cells(&cells, 20, SEED + 1, 2, |_| {}).unwrap());
}
