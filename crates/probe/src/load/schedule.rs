//! The requests of a block, all decided before it begins: the same seed gives the same bytes.

use std::fmt::Write as _;
use std::time::Duration;

use rand::Rng as _;
use rand_pcg::Pcg64;
use sha2::{Digest as _, Sha256};

use super::arrivals::Arrivals;
use super::lengths::{LengthScale, Lengths};

/// One request as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRequest {
    /// Position in the block's schedule.
    pub index: u32,
    /// Index of the request class of the workload.
    pub class: u16,
    /// Open loop: intended send time, from the block's start. Closed loop: think time after the
    /// end of the same user's previous request (from the block's start for the first).
    pub intended: Duration,
    /// Prompt tokens to send.
    pub prompt_tokens: u32,
    /// Answer tokens to ask for.
    pub output_tokens: u32,
    /// Seed of the prompt's content.
    pub prompt_seed: u64,
}

/// What makes a request due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Its intended time, whatever the server does.
    Open,
    /// The answer to the same user's previous request. Request i belongs to user i mod `users`.
    Closed {
        /// Users.
        users: u32,
    },
}

/// What to plan.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSpec {
    /// The arrival process.
    pub arrivals: Arrivals,
    /// The lengths.
    pub lengths: Lengths,
    /// The scale of the lengths.
    pub scale: LengthScale,
    /// Length of the block. Has no meaning in a closed loop, which ends with its last request.
    pub duration: Duration,
    /// The class that the requests are of.
    pub class: u16,
    /// The seed.
    pub seed: u64,
    /// Most requests that may be planned; more is an error.
    pub requests_max: usize,
}

impl LoadSpec {
    /// A specification with scale 1, class 0 and at most 10 million requests.
    pub fn new(arrivals: Arrivals, lengths: Lengths, duration: Duration, seed: u64) -> Self {
        Self {
            arrivals,
            lengths,
            scale: LengthScale::default(),
            duration,
            class: 0,
            seed,
            requests_max: 10_000_000,
        }
    }
}

/// Why no schedule can be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    /// A parameter has no meaning.
    #[error("{name} is {value}: {reason}")]
    BadParameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        reason: String,
    },
    /// More requests than may be planned.
    #[error("the load has about {requests:.0} requests, more than the {requests_max} allowed")]
    TooMany {
        /// Expected requests.
        requests: f64,
        /// The bound.
        requests_max: usize,
    },
    /// The trace ends before the block.
    #[error(
        "the trace's window gives {available_s:.1} s at rate factor {rate_factor}, the block needs \
         {block_s:.1} s: take a longer window, a smaller factor or a shorter block"
    )]
    TraceTooShort {
        /// Seconds that the window gives after the rate factor.
        available_s: f64,
        /// Seconds of the block.
        block_s: f64,
        /// The rate factor.
        rate_factor: f64,
    },
    /// Lengths from a trace without a trace.
    #[error("lengths can come from the trace only where the arrivals do: declare a distribution")]
    NoTraceForLengths,
    /// Schedules of open and closed loops cannot be merged.
    #[error("a closed loop cannot be merged with another load")]
    MergeOfClosedLoop,
}

/// The requests of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What makes a request due.
    pub pacing: Pacing,
    /// Every request, in order of index (open loop: also of time).
    pub requests: Vec<PlannedRequest>,
    /// Lengths that a bound of the scale changed.
    pub lengths_clamped: u32,
}

/// Plans a block. A pure function of its argument.
pub fn schedule(spec: &LoadSpec) -> Result<Schedule, ScheduleError> {
    spec.scale.check()?;
    if let Lengths::Drawn { prompt, output } = &spec.lengths {
        prompt.check("prompt length")?;
        output.check("output length")?;
    }
    let mut arrivals_random = stream(spec.seed, 1);
    let arrivals = spec.arrivals.generate(
        spec.duration,
        spec.requests_max.min(u32::MAX as usize),
        &mut arrivals_random,
    )?;
    // Each question has a random stream of its own: other lengths leave the arrivals as they are.
    let (mut prompts, mut outputs, mut contents) =
        (stream(spec.seed, 2), stream(spec.seed, 3), stream(spec.seed, 4));
    let mut lengths_clamped = 0;
    let mut requests = Vec::with_capacity(arrivals.len());
    for (index, arrival) in arrivals.into_iter().enumerate() {
        let (prompt, output) = match &spec.lengths {
            Lengths::FromTrace => {
                let row = arrival.row.ok_or(ScheduleError::NoTraceForLengths)?;
                (row.prompt_tokens, row.output_tokens)
            }
            Lengths::Drawn { prompt, output } => {
                (prompt.draw(&mut prompts), output.draw(&mut outputs))
            }
        };
        let (prompt, output) = (spec.scale.prompt(prompt), spec.scale.output(output));
        lengths_clamped += u32::from(prompt.clamped) + u32::from(output.clamped);
        requests.push(PlannedRequest {
            index: index as u32,
            class: spec.class,
            intended: arrival.at,
            prompt_tokens: prompt.tokens,
            output_tokens: output.tokens,
            prompt_seed: contents.next_u64(),
        });
    }
    let pacing = match spec.arrivals {
        Arrivals::ClosedLoop { users, .. } => Pacing::Closed { users },
        _ => Pacing::Open,
    };
    Ok(Schedule { pacing, requests, lengths_clamped })
}

/// A random stream of one seed. The increment of PCG takes the stream's number.
fn stream(seed: u64, number: u128) -> Pcg64 {
    // The golden ratio spreads small seeds over the upper half of the state.
    let state = (u128::from(seed) << 64)
        | u128::from(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03);
    Pcg64::new(state, number)
}

impl Schedule {
    /// One schedule of several open loops, one for each class of requests, in order of time. The
    /// indices are given anew.
    pub fn merge(parts: Vec<Self>) -> Result<Self, ScheduleError> {
        if parts.len() > 1 && parts.iter().any(|part| part.pacing != Pacing::Open) {
            return Err(ScheduleError::MergeOfClosedLoop);
        }
        let pacing = parts.first().map_or(Pacing::Open, |part| part.pacing);
        let lengths_clamped = parts.iter().map(|part| part.lengths_clamped).sum();
        let mut requests: Vec<PlannedRequest> =
            parts.into_iter().flat_map(|part| part.requests).collect();
        if pacing == Pacing::Open {
            // A stable sort: equal times keep the order of the classes.
            requests.sort_by_key(|request| request.intended);
        }
        for (index, request) in requests.iter_mut().enumerate() {
            request.index = index as u32;
        }
        Ok(Self { pacing, requests, lengths_clamped })
    }

    /// SHA-256 over every arrival, length and prompt seed, in hexadecimal. Two blocks with the same
    /// digest were asked the same.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"cotenant schedule 1\n");
        let users = match self.pacing {
            Pacing::Open => 0,
            Pacing::Closed { users } => users,
        };
        hash.update(users.to_le_bytes());
        for request in &self.requests {
            hash.update(request.index.to_le_bytes());
            hash.update(request.class.to_le_bytes());
            hash.update((request.intended.as_nanos() as u64).to_le_bytes());
            hash.update(request.prompt_tokens.to_le_bytes());
            hash.update(request.output_tokens.to_le_bytes());
            hash.update(request.prompt_seed.to_le_bytes());
        }
        hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// The ⌈qn⌉-th smallest prompt length; `None` in an empty schedule.
    pub fn prompt_tokens_quantile(&self, q: f64) -> Option<u32> {
        self.quantile(q, |request| request.prompt_tokens)
    }

    /// The ⌈qn⌉-th smallest answer length; `None` in an empty schedule.
    pub fn output_tokens_quantile(&self, q: f64) -> Option<u32> {
        self.quantile(q, |request| request.output_tokens)
    }

    fn quantile(&self, q: f64, of: impl Fn(&PlannedRequest) -> u32) -> Option<u32> {
        let mut values: Vec<u32> = self.requests.iter().map(of).collect();
        values.sort_unstable();
        super::health::order_statistic(&values, q).copied()
    }
}
