//! The study's tables, as Markdown.

use std::fmt::Write;

use super::cells::{
    BEYOND_TRUTHS, BOUND_TRUTHS, Cell, DESIGNS, GOOD, LOOK_REQUESTS, LOOK_TRUTHS, MARGIN,
    PERSISTENCES, PHASE_TRUTHS, POWER_TRUTHS, Procedure, STRATA_TRUTHS,
};
use super::trial::{DIVISORS, Rates};
use super::truth::Truth;

/// Cells with their rates.
pub(super) type Results = Vec<(Cell, Vec<Rates>)>;

/// One line for each cell.
pub(super) fn lines(results: &Results) -> String {
    let mut text = String::new();
    for (cell, all) in results {
        for (rates, divisor) in all.iter().zip(DIVISORS) {
            // Writing into a String cannot fail.
            let _ = writeln!(
                text,
                "{} α/{divisor}: pass {} (t {}, Cox {}), fail {}, blocks {:.1}",
                cell.name(),
                percent(rates.pass),
                percent(rates.pass_student),
                percent(rates.pass_cox),
                percent(rates.fail),
                rates.blocks
            );
        }
    }
    text
}

/// All tables.
pub(super) fn markdown(results: &Results, trials: u32, seed: u64) -> String {
    let mut text = format!(
        "{trials} trials a cell, seed {seed}; two standard errors of a rate of 5 % are {:.1} points. \
         Triples are for a persistence ρ of 0, 0.3 and 0.5 inside blocks. All rates in %.\n",
        200.0 * (0.05 * 0.95 / f64::from(trials)).sqrt()
    );
    text += &worst_table(results);
    text += "\n### False PASS and false FAIL at the margin, one look\n\nTrue share 5 %.\n";
    text += &margin_table(results, &BOUND_TRUTHS);
    text += "\n### Rare bad blocks\n\nOne block in ten misses 30 %, the mean is 5 %. As a stratum, \
             every other block is made to contain the phase.\n";
    text += &margin_table(results, &PHASE_TRUTHS);
    text += "\n### Blocks that differ more than is assumed\n\nTrue share 5 %.\n";
    text += &margin_table(results, &BEYOND_TRUTHS);
    for mean in GOOD {
        let _ = write!(text, "\n### Power, one look, true share {} %\n", 100.0 * mean);
        text += &power_table(results, mean);
    }
    text += "\n### Several looks: 4, 6, … 16 blocks, stop at PASS or FAIL\n\nTrue share 5 %, false \
             PASS over the whole procedure by the α of each look.\n";
    text += &look_table(results);
    text += "\nTrue share 1.5 %, PASS and mean number of blocks.\n";
    text += &look_power_table(results);
    text
}

/// The targets beside the worst cells.
fn worst_table(results: &Results) -> String {
    let bound = |truth: &Truth| BOUND_TRUTHS.contains(truth);
    let one = |cell: &Cell| cell.procedure == Procedure::OneLook;
    let margin = |cell: &Cell| cell.mean == MARGIN;
    let designed = |cell: &Cell| {
        let smooth = matches!(cell.truth, Truth::Constant)
            || matches!(cell.truth, Truth::LogNormal(sigma) if sigma <= 0.6);
        one(cell) && cell.mean == GOOD[0] && (cell.blocks, cell.requests) == (12, 80) && smooth
    };
    let mut text =
        String::from("\n| question | target | the rule | Cox as published |\n|---|---|---|---|\n");
    let mut row = |question: &str,
                   target: &str,
                   least: bool,
                   wanted: &dyn Fn(&Cell) -> bool,
                   index: usize| {
        let extreme = |value: fn(&Rates) -> f64| {
            let rates = results.iter().filter(|(cell, _)| wanted(cell));
            let mut pairs: Vec<(f64, &Cell)> =
                rates.filter_map(|(c, all)| all.get(index).map(|r| (value(r), c))).collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let found = if least { pairs.first() } else { pairs.last() };
            found.map_or("–".into(), |(rate, cell)| {
                let design = match cell.procedure {
                    Procedure::OneLook => format!("{}×{}", cell.blocks, cell.requests),
                    Procedure::Looks => format!("n {}", cell.requests),
                };
                format!(
                    "{} ({}, {design}, ρ {})",
                    percent(*rate),
                    cell.truth.name(),
                    cell.persistence
                )
            })
        };
        let _ = writeln!(
            text,
            "| {question} | {target} | {} | {} |",
            extreme(|r| r.pass),
            extreme(|r| r.pass_cox)
        );
    };
    row(
        "worst false PASS, smooth and skewed, one look",
        "≤ 5.5",
        false,
        &|c| one(c) && margin(c) && bound(&c.truth),
        0,
    );
    row(
        "worst false PASS, rare bad blocks as a stratum",
        "≤ 5.5",
        false,
        &|c| one(c) && margin(c) && c.truth == Truth::RareBadStratum,
        0,
    );
    row(
        "worst false PASS, rare bad blocks unknown",
        "published",
        false,
        &|c| one(c) && margin(c) && c.truth == Truth::RareBad,
        0,
    );
    row("worst false PASS, seven looks, each at α", "≤ 5.5", false, &|c| !one(c) && margin(c), 0);
    row("worst false PASS, seven looks, each at α/4", "≤ 5.5", false, &|c| !one(c) && margin(c), 2);
    for (index, persistence) in PERSISTENCES.into_iter().enumerate() {
        let target = if index < 2 { "≥ 80" } else { "published" };
        row(
            &format!("least power at 1.5 %, 12×80, σ ≤ 0.6, ρ {persistence}"),
            target,
            true,
            &|c| designed(c) && c.persistence == persistence,
            0,
        );
    }
    text
}

fn margin_table(results: &Results, truths: &[Truth]) -> String {
    let mut text = String::from(
        "\n| blocks differ by | m × n | t over blocks | Cox as published | sum of bounds | **the rule** | false FAIL |\n|---|---|---|---|---|---|---|\n",
    );
    for &truth in truths {
        for design in DESIGNS {
            let triple = |value| one_look_triple(results, truth, MARGIN, design, value);
            let _ = writeln!(
                text,
                "| {} | {} × {} | {} | {} | {} | **{}** | {} |",
                truth.name(),
                design.0,
                design.1,
                triple(|r| r.pass_student),
                triple(|r| r.pass_cox),
                triple(|r| r.pass_sum),
                triple(|r| r.pass),
                triple(|r| r.fail)
            );
        }
    }
    text
}

fn power_table(results: &Results, mean: f64) -> String {
    let mut text = String::from(
        "\n| blocks differ by | m × n | Cox as published | sum of bounds | **the rule** |\n|---|---|---|---|---|\n",
    );
    for truth in POWER_TRUTHS.into_iter().chain(STRATA_TRUTHS) {
        for design in DESIGNS {
            let triple = |value| one_look_triple(results, truth, mean, design, value);
            let _ = writeln!(
                text,
                "| {} | {} × {} | {} | {} | **{}** |",
                truth.name(),
                design.0,
                design.1,
                triple(|r| r.pass_cox),
                triple(|r| r.pass_sum),
                triple(|r| r.pass)
            );
        }
    }
    text
}

fn look_table(results: &Results) -> String {
    let mut text = String::from(
        "\n| blocks differ by | n | Cox, α | Cox, α/4 | the rule, α | α/2 | **α/4** | false FAIL, α/4 |\n|---|---|---|---|---|---|---|---|\n",
    );
    for truth in LOOK_TRUTHS {
        for requests in LOOK_REQUESTS {
            let triple =
                |index, value| looks_triple(results, truth, MARGIN, requests, index, value);
            let _ = writeln!(
                text,
                "| {} | {requests} | {} | {} | {} | {} | **{}** | {} |",
                truth.name(),
                triple(0, |r| r.pass_cox),
                triple(2, |r| r.pass_cox),
                triple(0, |r| r.pass),
                triple(1, |r| r.pass),
                triple(2, |r| r.pass),
                triple(2, |r| r.fail)
            );
        }
    }
    text
}

fn look_power_table(results: &Results) -> String {
    let mut text = String::from(
        "\n| blocks differ by | n | PASS, α | blocks | PASS, **α/4** | blocks |\n|---|---|---|---|---|---|\n",
    );
    for truth in LOOK_TRUTHS {
        for requests in LOOK_REQUESTS {
            let triple =
                |index, value| looks_triple(results, truth, GOOD[0], requests, index, value);
            let _ = writeln!(
                text,
                "| {} | {requests} | {} | {} | **{}** | {} |",
                truth.name(),
                triple(0, |r| r.pass),
                // A number of blocks is shown in the same form as a rate.
                triple(0, |r| r.blocks / 100.0),
                triple(2, |r| r.pass),
                triple(2, |r| r.blocks / 100.0)
            );
        }
    }
    text
}

fn one_look_triple(
    results: &Results,
    truth: Truth,
    mean: f64,
    design: (usize, usize),
    value: fn(&Rates) -> f64,
) -> String {
    triple(results, value, 0, |cell| {
        cell.procedure == Procedure::OneLook
            && cell.truth == truth
            && cell.mean == mean
            && (cell.blocks, cell.requests) == design
    })
}

fn looks_triple(
    results: &Results,
    truth: Truth,
    mean: f64,
    requests: usize,
    index: usize,
    value: fn(&Rates) -> f64,
) -> String {
    triple(results, value, index, |cell| {
        cell.procedure == Procedure::Looks
            && cell.truth == truth
            && cell.mean == mean
            && cell.requests == requests
    })
}

fn triple(
    results: &Results,
    value: fn(&Rates) -> f64,
    index: usize,
    wanted: impl Fn(&Cell) -> bool,
) -> String {
    let parts: Vec<String> = PERSISTENCES
        .into_iter()
        .map(|persistence| {
            results
                .iter()
                .find(|(cell, _)| wanted(cell) && cell.persistence == persistence)
                .and_then(|(_, rates)| rates.get(index))
                .map_or("–".into(), |rates| percent(value(rates)))
        })
        .collect();
    parts.join(" / ")
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}
