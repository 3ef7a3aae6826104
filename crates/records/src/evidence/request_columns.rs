//! Requests in columns: one line of JSON holds up to [`REQUESTS_PER_LINE`] requests as parallel
//! arrays. A million requests are so read at the speed of parsing numbers, and a line can still be
//! looked at with `zstdcat` and `jq`.
//!
//! Times are small where they are differences: `intended_ns` is counted from the request before it
//! in the line (the first from 0), every other time from its own request's `intended_ns`. The
//! differences wrap at 64 bits, so that every value comes back, however odd.

use cotenant_core::evidence::{Outcome, RequestRecord, TokenSource};
use serde::{Deserialize, Serialize};

/// Requests in one line.
pub(super) const REQUESTS_PER_LINE: usize = 1_000;

/// Up to [`REQUESTS_PER_LINE`] requests. All arrays but `outcomes` have one entry per request.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestColumns {
    /// Position in the schedule, from the one before in the line (the first from 0).
    index_step: Vec<i64>,
    class: Vec<u16>,
    intended_step_ns: Vec<i64>,
    sent_after_ns: Vec<Option<i64>>,
    first_token_after_ns: Vec<Option<i64>>,
    first_visible_after_ns: Vec<Option<i64>>,
    last_token_after_ns: Vec<Option<i64>>,
    end_after_ns: Vec<i64>,
    prompt_tokens: Vec<u32>,
    output_tokens: Vec<u32>,
    /// Whether the output tokens are the server's count; else they are counted chunks.
    server_counted: Vec<bool>,
    gap_longest_ns: Vec<Option<u64>>,
    stalls: Vec<u32>,
    stalled_ns: Vec<u64>,
    /// The outcomes that occur in this line, in order of first appearance.
    outcomes: Vec<StoredOutcome>,
    /// Position of each request's outcome in `outcomes`.
    outcome: Vec<u32>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOutcome {
    Completed,
    CompletedWithoutUsage,
    Refused(u16),
    HttpError(u16),
    ConnectFailed,
    Reset,
    Truncated,
    Stalled,
    TimedOut,
    Malformed,
    StreamError,
    Cancelled,
}

impl RequestColumns {
    /// The columns of these requests.
    pub(super) fn of(requests: &[RequestRecord]) -> Self {
        let mut columns = Self::default();
        let (mut index_before, mut intended_before) = (0, 0);
        for request in requests {
            columns.push(request, index_before, intended_before);
            (index_before, intended_before) = (i64::from(request.index), request.intended_ns);
        }
        columns
    }

    fn push(&mut self, request: &RequestRecord, index_before: i64, intended_before: u64) {
        // Every field by name: one that is new in core must be stored before this compiles.
        let RequestRecord {
            index,
            class,
            intended_ns,
            sent_ns,
            first_token_ns,
            first_visible_ns,
            last_token_ns,
            end_ns,
            prompt_tokens,
            output_tokens,
            token_source,
            gap_longest_ns,
            stalls,
            stalled_ns,
            outcome,
        } = request;
        let after = |at: &Option<u64>| at.map(|at| difference(*intended_ns, at));
        self.index_step.push(i64::from(*index) - index_before);
        self.class.push(*class);
        self.intended_step_ns.push(difference(intended_before, *intended_ns));
        self.sent_after_ns.push(after(sent_ns));
        self.first_token_after_ns.push(after(first_token_ns));
        self.first_visible_after_ns.push(after(first_visible_ns));
        self.last_token_after_ns.push(after(last_token_ns));
        self.end_after_ns.push(difference(*intended_ns, *end_ns));
        self.prompt_tokens.push(*prompt_tokens);
        self.output_tokens.push(*output_tokens);
        self.server_counted.push(match token_source {
            TokenSource::Usage => true,
            TokenSource::Chunks => false,
        });
        self.gap_longest_ns.push(*gap_longest_ns);
        self.stalls.push(*stalls);
        self.stalled_ns.push(*stalled_ns);
        let stored = StoredOutcome::of(*outcome);
        let place = self.outcomes.iter().position(|known| *known == stored).unwrap_or_else(|| {
            self.outcomes.push(stored);
            self.outcomes.len() - 1
        });
        self.outcome.push(place as u32);
    }

    /// How many requests the line holds.
    pub(super) fn len(&self) -> usize {
        self.index_step.len()
    }

    /// Appends the requests to `requests`; an error says which column is wrong.
    pub(super) fn restore_into(self, requests: &mut Vec<RequestRecord>) -> Result<(), String> {
        self.check_lengths()?;
        let outcomes: Vec<Outcome> = self.outcomes.iter().map(|stored| stored.restore()).collect();
        let (mut index, mut intended_ns) = (0_i64, 0_u64);
        for row in 0..self.len() {
            index = index.wrapping_add(self.index_step[row]);
            intended_ns = intended_ns.wrapping_add_signed(self.intended_step_ns[row]);
            let at = |after: Option<i64>| after.map(|after| intended_ns.wrapping_add_signed(after));
            requests.push(RequestRecord {
                index: u32::try_from(index)
                    .map_err(|_| format!("index_step[{row}] leads to {index}"))?,
                class: self.class[row],
                intended_ns,
                sent_ns: at(self.sent_after_ns[row]),
                first_token_ns: at(self.first_token_after_ns[row]),
                first_visible_ns: at(self.first_visible_after_ns[row]),
                last_token_ns: at(self.last_token_after_ns[row]),
                end_ns: intended_ns.wrapping_add_signed(self.end_after_ns[row]),
                prompt_tokens: self.prompt_tokens[row],
                output_tokens: self.output_tokens[row],
                token_source: if self.server_counted[row] {
                    TokenSource::Usage
                } else {
                    TokenSource::Chunks
                },
                gap_longest_ns: self.gap_longest_ns[row],
                stalls: self.stalls[row],
                stalled_ns: self.stalled_ns[row],
                outcome: *outcomes
                    .get(self.outcome[row] as usize)
                    .ok_or_else(|| format!("outcome[{row}] names no entry of outcomes"))?,
            });
        }
        Ok(())
    }

    fn check_lengths(&self) -> Result<(), String> {
        let lengths = [
            ("class", self.class.len()),
            ("intended_step_ns", self.intended_step_ns.len()),
            ("sent_after_ns", self.sent_after_ns.len()),
            ("first_token_after_ns", self.first_token_after_ns.len()),
            ("first_visible_after_ns", self.first_visible_after_ns.len()),
            ("last_token_after_ns", self.last_token_after_ns.len()),
            ("end_after_ns", self.end_after_ns.len()),
            ("prompt_tokens", self.prompt_tokens.len()),
            ("output_tokens", self.output_tokens.len()),
            ("server_counted", self.server_counted.len()),
            ("gap_longest_ns", self.gap_longest_ns.len()),
            ("stalls", self.stalls.len()),
            ("stalled_ns", self.stalled_ns.len()),
            ("outcome", self.outcome.len()),
        ];
        match lengths.into_iter().find(|(_, length)| *length != self.len()) {
            Some((name, length)) => {
                Err(format!("{name} has {length} entries, index_step has {}", self.len()))
            }
            None => Ok(()),
        }
    }
}

/// `to − from` modulo 2⁶⁴.
fn difference(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from) as i64
}

impl StoredOutcome {
    fn of(core: Outcome) -> Self {
        match core {
            Outcome::Completed => Self::Completed,
            Outcome::CompletedWithoutUsage => Self::CompletedWithoutUsage,
            Outcome::Refused(status) => Self::Refused(status),
            Outcome::HttpError(status) => Self::HttpError(status),
            Outcome::ConnectFailed => Self::ConnectFailed,
            Outcome::Reset => Self::Reset,
            Outcome::Truncated => Self::Truncated,
            Outcome::Stalled => Self::Stalled,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Malformed => Self::Malformed,
            Outcome::StreamError => Self::StreamError,
            Outcome::Cancelled => Self::Cancelled,
        }
    }

    fn restore(self) -> Outcome {
        match self {
            Self::Completed => Outcome::Completed,
            Self::CompletedWithoutUsage => Outcome::CompletedWithoutUsage,
            Self::Refused(status) => Outcome::Refused(status),
            Self::HttpError(status) => Outcome::HttpError(status),
            Self::ConnectFailed => Outcome::ConnectFailed,
            Self::Reset => Outcome::Reset,
            Self::Truncated => Outcome::Truncated,
            Self::Stalled => Outcome::Stalled,
            Self::TimedOut => Outcome::TimedOut,
            Self::Malformed => Outcome::Malformed,
            Self::StreamError => Outcome::StreamError,
            Self::Cancelled => Outcome::Cancelled,
        }
    }
}
