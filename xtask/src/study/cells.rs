//! Which cells the study has.

use super::truth::Truth;

/// How a test is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Procedure {
    /// Once, at a number of blocks fixed before.
    OneLook,
    /// After 4, 6, … 16 blocks, stopping at PASS or FAIL.
    Looks,
}

/// One truth under one design.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) procedure: Procedure,
    pub(super) truth: Truth,
    /// True share of misses over all blocks.
    pub(super) mean: f64,
    /// Blocks; the last look's where there are several.
    pub(super) blocks: usize,
    /// Requests per block.
    pub(super) requests: usize,
    /// Probability that a request meets the moment of the one before it.
    pub(super) persistence: f64,
}

impl Cell {
    /// A name to select cells by: `look/log-normal σ 0.6/0.050/12x80/0.3`.
    pub(super) fn name(&self) -> String {
        let procedure = match self.procedure {
            Procedure::OneLook => "look",
            Procedure::Looks => "looks",
        };
        format!(
            "{procedure}/{}/{:.3}/{}x{}/{:.1}",
            self.truth.name(),
            self.mean,
            self.blocks,
            self.requests,
            self.persistence
        )
    }

    /// Number of the random stream: FNV-1a of the name, which stays the same when cells are added.
    pub(super) fn stream(&self) -> u64 {
        self.name().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// True share at the edge of the objective: a PASS is false.
pub(super) const MARGIN: f64 = 0.05;

/// True shares at which a PASS is right.
pub(super) const GOOD: [f64; 2] = [0.015, 0.025];

pub(super) const PERSISTENCES: [f64; 3] = [0.0, 0.3, 0.5];

/// Blocks and requests per block of a single look.
pub(super) const DESIGNS: [(usize, usize); 7] =
    [(4, 60), (8, 60), (12, 80), (4, 200), (6, 200), (12, 200), (12, 500)];

/// Requests per block where the test is looked at several times.
pub(super) const LOOK_REQUESTS: [usize; 3] = [80, 200, 500];

/// Smooth and skewed truths: the false PASS of the rule has to stay at or below 5.5 %.
pub(super) const BOUND_TRUTHS: [Truth; 7] = [
    Truth::Constant,
    Truth::LogNormal(0.2),
    Truth::LogNormal(0.3),
    Truth::LogNormal(0.6),
    Truth::LogNormal(1.0),
    Truth::Gamma(0.6),
    Truth::Gamma(1.0),
];

/// Truths with a bad phase.
pub(super) const PHASE_TRUTHS: [Truth; 3] =
    [Truth::RareBadStratum, Truth::AlikeStrata, Truth::RareBad];

/// Truths with declared phases.
pub(super) const STRATA_TRUTHS: [Truth; 2] = [Truth::RareBadStratum, Truth::AlikeStrata];

/// Truths that spread more than the rule assumes.
pub(super) const BEYOND_TRUTHS: [Truth; 2] = [Truth::LogNormal(1.5), Truth::Gamma(1.5)];

/// Truths for which the power is mapped.
pub(super) const POWER_TRUTHS: [Truth; 4] =
    [Truth::Constant, Truth::LogNormal(0.3), Truth::LogNormal(0.6), Truth::LogNormal(1.0)];

/// Truths for which the looks are mapped.
pub(super) const LOOK_TRUTHS: [Truth; 6] = [
    Truth::LogNormal(0.3),
    Truth::LogNormal(0.6),
    Truth::LogNormal(1.0),
    Truth::Gamma(1.0),
    Truth::RareBadStratum,
    Truth::AlikeStrata,
];

/// Every cell of the study.
pub(super) fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    let margin_truths = BOUND_TRUTHS.iter().chain(&PHASE_TRUTHS).chain(&BEYOND_TRUTHS);
    for &truth in margin_truths {
        cells.extend(one_look(truth, MARGIN));
    }
    for truth in POWER_TRUTHS.into_iter().chain(STRATA_TRUTHS) {
        for mean in GOOD {
            cells.extend(one_look(truth, mean));
        }
    }
    for truth in LOOK_TRUTHS {
        for mean in [MARGIN, GOOD[0]] {
            cells.extend(looks(truth, mean));
        }
    }
    cells
}

fn one_look(truth: Truth, mean: f64) -> impl Iterator<Item = Cell> {
    DESIGNS.into_iter().flat_map(move |(blocks, requests)| {
        PERSISTENCES.into_iter().map(move |persistence| Cell {
            procedure: Procedure::OneLook,
            truth,
            mean,
            blocks,
            requests,
            persistence,
        })
    })
}

fn looks(truth: Truth, mean: f64) -> impl Iterator<Item = Cell> {
    LOOK_REQUESTS.into_iter().flat_map(move |requests| {
        PERSISTENCES.into_iter().map(move |persistence| Cell {
            procedure: Procedure::Looks,
            truth,
            mean,
            blocks: 16,
            requests,
            persistence,
        })
    })
}
