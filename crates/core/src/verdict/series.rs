//! The series of a block that an objective is judged on.

use crate::evidence::Block;

/// A latency that an objective may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Latency {
    /// Time to first token.
    TimeToFirstToken,
    /// Gap between two tokens.
    InterToken,
    /// (last − first) ÷ (tokens − 1).
    TimePerOutputToken,
    /// Whole request.
    EndToEnd,
}

/// Why a block has no series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoSeries {
    /// Chunks carried several tokens, so gaps between chunks say nothing of single tokens.
    SeveralTokensPerChunk,
    /// The gaps were not read.
    GapsNotRead,
}

/// The series of a block in order of intended time, seconds; a request that did not complete is +∞.
pub(super) fn latencies(
    block: &Block,
    latency: Latency,
    class: Option<u16>,
) -> Result<Vec<f64>, NoSeries> {
    let requests =
        || block.judged_requests().filter(move |request| class.is_none_or(|c| request.class == c));
    Ok(match latency {
        Latency::TimeToFirstToken => requests().map(|request| request.ttft_s()).collect(),
        Latency::EndToEnd => requests().map(|request| request.e2e_s()).collect(),
        Latency::TimePerOutputToken => requests()
            .filter_map(|request| {
                if request.outcome.is_complete() { request.tpot_s() } else { Some(f64::INFINITY) }
            })
            .collect(),
        Latency::InterToken => {
            let complete = requests().filter(|request| request.outcome.is_complete()).count();
            if complete > 0 && block.gaps.is_empty() {
                return Err(NoSeries::GapsNotRead);
            }
            let mut series = Vec::new();
            for request in requests() {
                if !request.outcome.is_complete() {
                    // One miss for each answer that never came: its tokens were never counted.
                    series.push(f64::INFINITY);
                    continue;
                }
                let found =
                    block.gaps.binary_search_by_key(&request.index, |gaps| gaps.request).ok();
                let Some(gaps) = found.map(|at| &block.gaps[at]) else { continue };
                if !gaps.single_token {
                    return Err(NoSeries::SeveralTokensPerChunk);
                }
                series.extend(gaps.gaps_us.iter().map(|gap_us| f64::from(*gap_us) / 1e6));
            }
            series
        }
    })
}

/// Duration of each judged step, seconds: the printed one, else the time between two lines.
pub(super) fn step_durations(block: &Block) -> Vec<f64> {
    let mut before: Option<u64> = None;
    let mut durations = Vec::new();
    for step in &block.steps {
        let judged = (block.judged_from_ns..block.judged_until_ns).contains(&step.at_ns);
        let between = before.map(|at_ns| step.at_ns.saturating_sub(at_ns) as f64 / 1e9);
        if let Some(duration) = step.duration_s.or(between).filter(|_| judged) {
            durations.push(duration);
        }
        before = Some(step.at_ns);
    }
    durations
}

/// Wall-clock time per judged step, seconds: with everything between the steps, checkpoints
/// included, since that is what a deadline meets. `None` with fewer than two step lines.
pub(super) fn wall_per_step(block: &Block) -> Option<f64> {
    let mut judged = block.judged_steps();
    let first = judged.next()?;
    let last = judged.last()?;
    let steps = last.step.checked_sub(first.step).filter(|steps| *steps > 0)?;
    Some(last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9 / steps as f64)
}

/// Output tokens of completed, judged requests per second of judged time.
pub(super) fn output_tokens_per_s(block: &Block) -> f64 {
    let complete = block.judged_requests().filter(|request| request.outcome.is_complete());
    let tokens: f64 = complete.map(|request| f64::from(request.output_tokens)).sum();
    tokens / block.judged_s()
}

/// Completed, judged requests per second of judged time.
pub(super) fn completed_per_s(block: &Block) -> f64 {
    let complete = block.judged_requests().filter(|request| request.outcome.is_complete());
    complete.count() as f64 / block.judged_s()
}
