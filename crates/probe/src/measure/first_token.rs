//! The first token that inference gives after the machine is its own again.

use std::time::{Duration, Instant};

use cotenant_core::evidence::{Outcome, RequestRecord};

use crate::clock::monotonic_ns;
use crate::load::{Pacing, PlannedRequest, Schedule};

use super::block::{BlockError, Client};
use super::plan::Rules;
use super::rig::Rig;

/// Longest that is asked for a token.
const PATIENCE: Duration = Duration::from_mins(2);
/// Pause between two requests that gave none.
const PAUSE: Duration = Duration::from_millis(200);

/// The first token at or after a moment among requests of a load, nanoseconds from the block's start.
/// An engine that was away may answer requests that came before it was back; one that stayed must be
/// asked after that moment, else the token says nothing.
pub(super) fn first_token_after(
    requests: &[RequestRecord],
    back_ns: u64,
    was_away: bool,
) -> Option<u64> {
    requests
        .iter()
        .filter(|request| request.outcome.is_complete() || request.outcome == Outcome::Cancelled)
        .filter(|request| was_away || request.intended_ns >= back_ns)
        .filter_map(|request| request.first_token_ns)
        .filter(|at_ns| *at_ns >= back_ns)
        .min()
}

/// Sends one request after the other until one gives a token. `None` where none does in time.
pub(super) async fn ask_for_token(
    rig: &Rig,
    rules: &Rules,
    request: PlannedRequest,
    zero_ns: u64,
) -> Result<Option<u64>, BlockError> {
    let request = PlannedRequest { index: 0, intended: Duration::ZERO, ..request };
    let schedule = Schedule { pacing: Pacing::Open, requests: vec![request], lengths_clamped: 0 };
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let (zero, asked_ns) = (Instant::now(), monotonic_ns());
        let result = Client::start(rig, rules, &schedule, zero)?.finish().await?;
        let answered = result.requests.iter().find(|request| request.outcome.is_complete());
        if let Some(at_ns) = answered.and_then(|request| request.first_token_ns) {
            return Ok(Some((asked_ns + at_ns).saturating_sub(zero_ns)));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use cotenant_core::evidence::TokenSource;

    use super::*;

    fn request(intended_ns: u64, first_token_ns: u64, outcome: Outcome) -> RequestRecord {
        RequestRecord {
            index: 0,
            class: 0,
            intended_ns,
            sent_ns: Some(intended_ns),
            first_token_ns: Some(first_token_ns),
            first_visible_ns: None,
            last_token_ns: None,
            end_ns: first_token_ns,
            prompt_tokens: 1,
            output_tokens: 1,
            token_source: TokenSource::Usage,
            gap_longest_ns: None,
            stalls: 0,
            stalled_ns: 0,
            outcome,
        }
    }

    #[test]
    fn the_first_token_must_come_from_a_machine_that_is_back() {
        let requests = [
            request(10, 90, Outcome::Completed),
            request(60, 130, Outcome::Reset),
            request(95, 120, Outcome::Completed),
            request(105, 140, Outcome::Completed),
        ];
        assert_eq!(first_token_after(&requests, 100, true), Some(120));
        assert_eq!(first_token_after(&requests, 100, false), Some(140));
        assert_eq!(first_token_after(&requests, 141, true), None);
    }
}
