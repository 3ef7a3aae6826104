//! The shape of an answer: findings make gates, gates make a verdict.

use crate::evidence::{Origin, Remedy};

/// What is said of an objective, a gate or the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ruling {
    /// It holds, as declared.
    Pass,
    /// It holds under conditions that are narrower than what was declared, and were tested.
    Conditional,
    /// Something needed to decide is missing.
    NotProven,
    /// It does not hold.
    Fail,
}

impl Ruling {
    /// The word that is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Conditional => "CONDITIONAL",
            Self::NotProven => "NOT PROVEN",
            Self::Fail => "FAIL",
        }
    }
}

/// The six questions of the verdict, in the order in which they are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateKind {
    /// Does inference keep its objectives?
    Inference,
    /// Does the neighbour (training, batch, render) keep its objective?
    Completion,
    /// Is each property that a workload requires given by the sharing mode, and does it bind?
    Isolation,
    /// Can the machine be given back in time, and does the neighbour resume?
    Preemption,
    /// Can both live with one driver, kernel and reboot cycle?
    Maintenance,
    /// Is the common failure domain accepted?
    FailureDomain,
}

impl GateKind {
    /// Every gate, in order.
    pub const ALL: [Self; 6] = [
        Self::Inference,
        Self::Completion,
        Self::Isolation,
        Self::Preemption,
        Self::Maintenance,
        Self::FailureDomain,
    ];

    /// The gate's name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inference => "inference objectives",
            Self::Completion => "training objective",
            Self::Isolation => "isolation",
            Self::Preemption => "preemption and transition",
            Self::Maintenance => "maintenance lifecycle",
            Self::FailureDomain => "common failure domain",
        }
    }
}

/// How the two workloads share in what a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// Inference with no neighbour: the baseline that any sharing is compared with.
    Alone,
    /// Together, as the site declares.
    AsDeclared,
    /// Together, with a remedy that was tested.
    With(Remedy),
}

impl Strategy {
    /// The strategy's name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::AsDeclared => "together as declared",
            Self::With(remedy) => remedy.name(),
        }
    }

    /// The strategy as the end of a sentence: "with the trainer at idle CPU priority".
    pub(super) fn in_words(self) -> String {
        match self {
            Self::Alone | Self::AsDeclared => self.name().to_owned(),
            Self::With(remedy) => format!("with the {}", remedy.name()),
        }
    }
}

/// The unit of a value that is shown. Values are kept in the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A share between 0 and 1.
    Share,
    /// Requests per second.
    RequestsPerSecond,
    /// Tokens per second.
    TokensPerSecond,
    /// A count.
    Count,
    /// A ratio.
    Ratio,
}

/// What the user declared and a finding is held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The metric as the site file names it: `ttft_p95`.
    pub metric: String,
    /// The target in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Where the metric is a quantile: the share of requests that may miss (0.05 for a p95).
    pub misses_allowed: Option<f64>,
}

/// A value with what bounds it. A bound that cannot be given is absent, never a guess.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// Point estimate.
    pub estimate: f64,
    /// One-sided 95 % lower bound.
    pub lower: Option<f64>,
    /// One-sided 95 % upper bound.
    pub upper: Option<f64>,
}

/// How much was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Requests, steps or drills.
    pub count: u64,
    /// What they are worth after autocorrelation.
    pub effective: f64,
    /// Valid blocks.
    pub blocks: u32,
}

/// What would decide an open question.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// What is missing, one sentence.
    pub what: String,
    /// The command that supplies it, or the line of the site file to write.
    pub remedy: String,
    /// Minutes that it takes, where known. 0 for a declaration.
    pub minutes: Option<f64>,
}

/// One line of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about: "chat: TTFT p95".
    pub subject: String,
    /// Under which way of sharing.
    pub strategy: Strategy,
    /// What is said. Only `Pass`, `NotProven` or `Fail`.
    pub ruling: Ruling,
    /// What it is held against, where that is a number.
    pub target: Option<Target>,
    /// The metric itself as seen, in the target's unit: the p95 in seconds. `None` where the sample
    /// supports no such value, or it is unbounded (+∞ is `Some(f64::INFINITY)`).
    pub observed: Option<f64>,
    /// What the ruling was made on: the share of misses for a quantile, the mean for a mean.
    pub judged: Option<Bounded>,
    /// How much was seen.
    pub sample: Sample,
    /// Where the numbers come from.
    pub origin: Option<Origin>,
    /// Runs (or lines of the site file) that it rests on.
    pub evidence: Vec<String>,
    /// The reason, one or two sentences with the arithmetic.
    pub explanation: String,
    /// The rarest event that the test could have seen, beside a pass.
    pub blind_spot: Option<String>,
    /// What would decide it, where it is not decided.
    pub missing: Vec<Missing>,
}

/// A condition under which the answer holds: a predicate that a machine can watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The sentence for people.
    pub sentence: String,
    /// The predicate for a machine: a name of what is watched…
    pub watch: String,
    /// …an operator (`==`, `<=`, `>=`)…
    pub operator: &'static str,
    /// …and the value.
    pub value: String,
    /// The runs in which it was tested.
    pub tested_by: Vec<String>,
}

/// One gate with its findings. The ruling follows from those under the site's own way of sharing,
/// or, where a remedy mends them, from those under the remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Which.
    pub kind: GateKind,
    /// What is said of it.
    pub ruling: Ruling,
    /// One sentence: why.
    pub summary: String,
    /// All findings, those that decide first.
    pub findings: Vec<Finding>,
}

/// How one objective compares alone and together: a description that judges nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// "amplification of TTFT p95", "slowdown of the step", "retention of throughput".
    pub name: String,
    /// Under which way of sharing.
    pub strategy: Strategy,
    /// Together ÷ alone.
    pub ratio: f64,
    /// 95 % interval from a bootstrap over pairs of blocks, where there are enough.
    pub interval: Option<(f64, f64)>,
    /// Pairs of blocks.
    pub pairs: u32,
}

/// A block that was left out, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Run.
    pub run: String,
    /// Block's index.
    pub index: u32,
    /// Test letter.
    pub letter: char,
    /// The reason, one sentence.
    pub reason: String,
}

/// Whether the tests can prove anything at all.
#[derive(Clone, Debug, PartialEq)]
pub enum Validity {
    /// They can.
    Valid,
    /// They can, with reservations that are told.
    Degraded(Vec<String>),
    /// They prove nothing, in either direction, for these reasons.
    Invalid(Vec<String>),
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The word.
    pub ruling: Ruling,
    /// One sentence: why that word.
    pub reason: String,
    /// Conditions, where the word is CONDITIONAL.
    pub conditions: Vec<Condition>,
    /// The six gates, in order.
    pub gates: Vec<Gate>,
    /// What would decide what is open, cheapest first.
    pub missing: Vec<Missing>,
    /// Descriptions.
    pub comparisons: Vec<Comparison>,
    /// Blocks left out.
    pub rejected: Vec<Rejected>,
    /// Whole runs left out, with the recorded reason.
    pub excluded: Vec<(String, String)>,
    /// Whether the tests can prove anything.
    pub validity: Validity,
    /// The instant that the answer speaks of.
    pub as_of: Option<jiff::Timestamp>,
    /// Remarks that no gate owns: "a CPU demonstration: no GPU claim comes of it".
    pub remarks: Vec<String>,
}
