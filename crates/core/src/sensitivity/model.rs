//! The explanation as data.

use crate::evidence::Stressor;
use crate::site::LatencyObjective;

/// Why inference is slower beside its neighbour.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Runs under stress that it rests on.
    pub runs: Vec<String>,
    /// Rounds with at least one valid reference block.
    pub rounds: u32,
    /// Valid blocks under stress, references among them.
    pub blocks: u32,
    /// Blocks under stress that are left out, for a cause outside both tenants.
    pub blocks_left_out: u32,
    /// The resources that were stressed.
    pub resources: Vec<Resource>,
    /// One entry for each latency objective.
    pub objectives: Vec<Explained>,
    /// What is missing for a prediction or for a comparison with test C, and what supplies it.
    pub missing: Vec<MissingTest>,
    /// What narrows what may be read from it, in sentences.
    pub remarks: Vec<String>,
}

/// A test without which something cannot be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingTest {
    /// What cannot be said.
    pub what: String,
    /// The command.
    pub command: String,
}

/// A resource: how it was stressed, and what the neighbour presses on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The resource.
    pub stressor: Stressor,
    /// Unit of every pressure on it: "cores" or "B/s".
    pub unit: String,
    /// What all of it gave when it was calibrated, in the unit.
    pub calibrated: Option<f64>,
    /// The doses that have valid blocks, in order.
    pub doses: Vec<Dose>,
    /// The neighbour's pressure.
    pub neighbour: NeighbourPressure,
}

/// One dose as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Dose {
    /// The dose, from 1.
    pub dose: u8,
    /// Mean pressure over the valid blocks, in the resource's unit; `None` where it was not seen.
    pub pressure: Option<f64>,
    /// Cores that the stressor itself used.
    pub cpu_cores: Option<f64>,
    /// Share of time in which some task waited for the resource, where the kernel tells.
    pub stall_share: Option<f64>,
    /// Valid blocks.
    pub blocks: u32,
}

/// How much the neighbour alone presses on a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeighbourPressure {
    /// Mean over the valid blocks of test B, in the resource's unit.
    pub value: Option<f64>,
    /// Where no counter is readable: more than this it cannot be.
    pub at_most: Option<f64>,
    /// Share of time in which some task waited for the resource, where the kernel tells.
    pub stall_share: Option<f64>,
    /// What the value is read from, or why there is none.
    pub how: String,
}

/// A factor on a latency, with a 95 % interval where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The factor: 1.3 is 30 % slower.
    pub ratio: f64,
    /// Lower and upper end; `None` with fewer than two rounds or pairs.
    pub interval: Option<(f64, f64)>,
}

/// What is said of one objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The objective.
    pub objective: LatencyObjective,
    /// The quantile with nothing stressed, seconds: geometric mean over the reference blocks.
    pub alone_s: Option<f64>,
    /// What each dose of each stressor made of it.
    pub responses: Vec<Response>,
    /// What the neighbour's pressures predict of C ÷ A; `None` without test B or without responses.
    pub prediction: Option<Prediction>,
    /// C ÷ A as measured over pairs; `None` without them.
    pub measured: Option<Effect>,
    /// Pairs of A and C.
    pub pairs: u32,
    /// Measured ÷ predicted.
    pub unexplained: Option<Effect>,
    /// The likeliest cause.
    pub cause: Cause,
    /// The same in one or two sentences.
    pub sentence: String,
}

/// What one dose of one stressor made of an objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The stressor.
    pub stressor: Stressor,
    /// The dose, from 1.
    pub dose: u8,
    /// Factor against the reference blocks of the same rounds; `None` where there is none.
    pub effect: Option<Effect>,
    /// Rounds behind it.
    pub rounds: u32,
    /// Blocks in which so many requests did not complete that the quantile has no value. Such a dose
    /// is no point of the curve.
    pub unbounded: u32,
}

/// What the neighbour's pressures predict.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The product of the known parts.
    pub effect: Effect,
    /// The part of each resource.
    pub parts: Vec<Part>,
    /// Whether it is a floor: a resource is pressed beyond what was tested, or cannot be read.
    pub is_floor: bool,
    /// Factor that resources without a readable counter could add at most.
    pub more_at_most: f64,
}

/// The part that one resource has in a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The resource.
    pub stressor: Stressor,
    /// Its factor.
    pub effect: Effect,
    /// How it was found.
    pub state: PartState,
}

/// How a part of a prediction was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartState {
    /// The neighbour's pressure lies within what was tested.
    Tested,
    /// It lies beyond what was tested: the factor is that of the largest tested pressure.
    Beyond,
    /// No counter is readable: the factor is that of the most that it can be, and it is not part of
    /// the prediction.
    AtMost,
    /// Nothing is known of it.
    Unknown,
}

/// The likeliest cause of a difference between A and C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// C is not measurably slower than A.
    NothingToExplain,
    /// One resource explains at least half of it.
    Resource(Stressor),
    /// Several resources explain parts of it, the largest first.
    Several(Vec<Stressor>),
    /// No tested resource explains it.
    None,
    /// It cannot be said yet.
    Unknown,
}
