//! What a change of hands costs: steps of known or observed length, drawn as intervals.

use rand::RngExt;
use rand_pcg::Pcg64;

use crate::evidence::{Origin, ReclaimDrill};
use crate::site::TransitionStepKind;
use crate::units::Picoseconds;

/// What is done in a step of a change of hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepKind {
    /// Running requests finish. How long that takes is simulated, up to a bound.
    Drain,
    /// A job saves. How long that takes is simulated, from the step that it is in on.
    Checkpoint,
    /// An engine gives its memory back, and stays.
    EngineSleep,
    /// It takes it again.
    EngineWake,
    /// An engine ends.
    EngineStop,
    /// An engine starts.
    EngineStart,
    /// The GPU is partitioned anew.
    Layout,
    /// The machine boots.
    Reboot,
    /// A service restarts.
    ServiceRestart,
    /// Weights are loaded.
    ModelReload,
    /// Caches fill and graphs are captured.
    WarmUp,
    /// A job continues.
    Resume,
}

impl StepKind {
    /// Its name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Checkpoint => "checkpoint",
            Self::EngineSleep => "engine sleep",
            Self::EngineWake => "engine wake-up",
            Self::EngineStop => "engine stop",
            Self::EngineStart => "engine start",
            Self::Layout => "layout",
            Self::Reboot => "reboot",
            Self::ServiceRestart => "service restart",
            Self::ModelReload => "model reload",
            Self::WarmUp => "warm-up",
            Self::Resume => "resume",
        }
    }

    /// Whether the simulation itself says how long it takes.
    pub fn is_simulated(self) -> bool {
        matches!(self, Self::Drain | Self::Checkpoint)
    }

    /// Whether it is the job's and not the engine's.
    pub fn is_of_job(self) -> bool {
        matches!(self, Self::Checkpoint | Self::Resume)
    }
}

impl From<TransitionStepKind> for StepKind {
    fn from(kind: TransitionStepKind) -> Self {
        match kind {
            TransitionStepKind::Drain => Self::Drain,
            TransitionStepKind::Checkpoint => Self::Checkpoint,
            TransitionStepKind::MigReconfiguration => Self::Layout,
            TransitionStepKind::Reboot => Self::Reboot,
            TransitionStepKind::ServiceRestart => Self::ServiceRestart,
            TransitionStepKind::ModelReload => Self::ModelReload,
            TransitionStepKind::WarmUp => Self::WarmUp,
            TransitionStepKind::Resume => Self::Resume,
        }
    }
}

/// How long a step takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always as long.
    Fixed(Picoseconds),
    /// As long as one of these, each as likely. Never empty.
    Observed(Vec<Picoseconds>),
}

/// A step with its length, and where that comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostedStep {
    /// What is done.
    pub kind: StepKind,
    /// How long it takes.
    pub length: Length,
    /// Where the length comes from.
    pub origin: Origin,
}

/// Steps, one after the other. An empty one takes no time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// The steps in order.
    pub steps: Vec<CostedStep>,
}

/// A step that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// What was done.
    pub kind: StepKind,
    /// Its start.
    pub from: Picoseconds,
    /// Its end.
    pub until: Picoseconds,
}

impl Transition {
    /// One step of one length.
    pub fn of(kind: StepKind, length: Picoseconds, origin: Origin) -> Self {
        Self { steps: vec![CostedStep { kind, length: Length::Fixed(length), origin }] }
    }

    /// The steps of a site that are the engine's and whose length the simulation does not say
    /// itself, with their declared times.
    ///
    /// # Errors
    /// The kinds of the steps that have no time.
    pub fn of_site(steps: &[crate::site::TransitionStep]) -> Result<Self, Vec<StepKind>> {
        let kinds = steps.iter().map(|step| (StepKind::from(step.kind), step.duration));
        let (mut costed, mut missing) = (Vec::new(), Vec::new());
        for (kind, duration) in kinds.filter(|(kind, _)| !kind.is_simulated() && !kind.is_of_job())
        {
            match duration.map(Picoseconds::from_duration).map(Length::Fixed) {
                Some(length) => {
                    costed.push(CostedStep { kind, length, origin: Origin::Declared });
                }
                None => missing.push(kind),
            }
        }
        if missing.is_empty() { Ok(Self { steps: costed }) } else { Err(missing) }
    }

    /// The steps as they are carried out from a moment on.
    pub fn draw(&self, from: Picoseconds, random: &mut Pcg64) -> Vec<Interval> {
        let mut at = from;
        let interval = |step: &CostedStep| {
            let from = at;
            at += match &step.length {
                Length::Fixed(length) => *length,
                Length::Observed(lengths) => {
                    let place = random.random_range(0..lengths.len().max(1));
                    lengths.get(place).copied().unwrap_or_default()
                }
            };
            Interval { kind: step.kind, from, until: at }
        };
        self.steps.iter().map(interval).collect()
    }

    /// The longest that it can take.
    pub fn time_max(&self) -> Picoseconds {
        let longest = |step: &CostedStep| match &step.length {
            Length::Fixed(length) => *length,
            Length::Observed(lengths) => lengths.iter().copied().max().unwrap_or_default(),
        };
        self.steps.iter().map(longest).sum()
    }
}

/// What drills have shown of the parts of a change of hands. A list is empty where no drill saw the
/// part; drills that failed are counted and give no length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drilled {
    /// Saving.
    pub checkpoint: Vec<Picoseconds>,
    /// From the job's last useful moment, its save, to its memory really free.
    pub exit: Vec<Picoseconds>,
    /// From memory free to an engine that is awake, or started again.
    pub engine_back: Vec<Picoseconds>,
    /// From there to the first token.
    pub warm_up: Vec<Picoseconds>,
    /// From the start of a job to the start of its first new step.
    pub resume: Vec<Picoseconds>,
    /// Drills that failed.
    pub failed: u32,
}

impl Drilled {
    /// The parts of some drills.
    pub fn of(drills: &[ReclaimDrill]) -> Self {
        let mut parts = Self::default();
        for drill in drills {
            if drill.failure.is_some() {
                parts.failed += 1;
                continue;
            }
            let add = |list: &mut Vec<Picoseconds>, seconds: Option<f64>| {
                list.extend(seconds.map(Picoseconds::from_seconds));
            };
            add(&mut parts.checkpoint, drill.checkpoint_s);
            let saved_s = drill.step_boundary_s.zip(drill.checkpoint_s).map(|(a, b)| a + b);
            add(
                &mut parts.exit,
                drill.memory_free_s.zip(saved_s).map(|(free, saved)| free - saved),
            );
            let engine_s = drill.engine_ready_s.zip(drill.memory_free_s);
            add(&mut parts.engine_back, engine_s.map(|(ready, free)| ready - free));
            let serves_from_s = drill.engine_ready_s.or(drill.memory_free_s);
            let first_s = drill.first_token_s.zip(serves_from_s);
            add(&mut parts.warm_up, first_s.map(|(first, ready)| first - ready));
            let resume = drill.resume.as_ref().filter(|resume| resume.failure.is_none());
            let first_step_s = resume.and_then(|resume| {
                Some(resume.first_step_s? - resume.step_before_s.unwrap_or(0.0))
            });
            add(&mut parts.resume, first_step_s);
        }
        parts
    }

    /// What the engine needs from memory free to the first token; `None` where no drill saw it.
    pub fn to_inference(&self) -> Option<Transition> {
        let parts = [(StepKind::EngineWake, &self.engine_back), (StepKind::WarmUp, &self.warm_up)];
        let steps: Vec<CostedStep> = parts
            .into_iter()
            .filter(|(_, lengths)| !lengths.is_empty())
            .map(|(kind, lengths)| CostedStep {
                kind,
                length: Length::Observed(lengths.clone()),
                origin: Origin::Measured,
            })
            .collect();
        (!steps.is_empty()).then_some(Transition { steps })
    }
}
