//! The series of a block that an objective is judged on.

use crate::evidence::{Block, ChunkGaps, RequestRecord};

/// A latency that an objective may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latency {
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
pub(crate) enum NoSeries {
    /// Chunks carried several tokens, so gaps between chunks say nothing of single tokens.
    SeveralTokensPerChunk,
    /// The gaps of some answers were not read.
    GapsNotRead,
}

/// The series of a block in order of intended time, seconds; a request that did not complete is +∞.
///
/// A request that the schedule asked for and of which there is no record is +∞ too: what was lost
/// on the way here must not make an answer better.
pub(crate) fn latencies(
    block: &Block,
    latency: Latency,
    class: Option<u16>,
) -> Result<Vec<f64>, NoSeries> {
    let requests = judged(block, class);
    let mut series: Vec<f64> = match latency {
        Latency::TimeToFirstToken => requests.iter().map(|request| request.ttft_s()).collect(),
        Latency::EndToEnd => requests.iter().map(|request| request.e2e_s()).collect(),
        Latency::TimePerOutputToken => requests
            .iter()
            .filter_map(|request| {
                if request.outcome.is_complete() { request.tpot_s() } else { Some(f64::INFINITY) }
            })
            .collect(),
        Latency::InterToken => return inter_token(block, &requests),
    };
    series.extend(std::iter::repeat_n(f64::INFINITY, lost(block)));
    Ok(series)
}

/// Judged requests of a class, in order of intended time.
fn judged(block: &Block, class: Option<u16>) -> Vec<&RequestRecord> {
    let mut requests: Vec<&RequestRecord> = block
        .judged_requests()
        .filter(|request| class.is_none_or(|class| request.class == class))
        .collect();
    if !requests.is_sorted_by_key(|request| request.intended_ns) {
        requests.sort_by_key(|request| (request.intended_ns, request.index));
    }
    requests
}

/// Requests that the client was to send and of which the block has no record.
pub(super) fn lost(block: &Block) -> usize {
    let planned = block.client.as_ref().map_or(0, |client| client.requests_planned as usize);
    planned.saturating_sub(block.requests.len())
}

/// Gaps between tokens. An answer that never came misses as many as it would have had: its own gaps,
/// or the mean number of the block's answers where that is more. Counted as one miss, a server that
/// fails half of its requests would keep its inter-token objective.
fn inter_token(block: &Block, requests: &[&RequestRecord]) -> Result<Vec<f64>, NoSeries> {
    let gaps_of = |request: &RequestRecord| -> Option<&ChunkGaps> {
        let at = block.gaps.binary_search_by_key(&request.index, |gaps| gaps.request).ok()?;
        Some(&block.gaps[at])
    };
    let seen: Vec<usize> =
        requests.iter().filter_map(|r| gaps_of(r)).map(|gaps| gaps.gaps_us.len()).collect();
    let mean = seen.iter().sum::<usize>().div_ceil(seen.len().max(1)).max(1);
    let mut series = Vec::new();
    for request in requests {
        let gaps = gaps_of(request);
        if !request.outcome.is_complete() {
            let count = gaps.map_or(0, |gaps| gaps.gaps_us.len()).max(mean);
            series.extend(std::iter::repeat_n(f64::INFINITY, count));
            continue;
        }
        match gaps {
            Some(gaps) if !gaps.single_token => return Err(NoSeries::SeveralTokensPerChunk),
            Some(gaps) => series.extend(gaps.gaps_us.iter().map(|gap| f64::from(*gap) / 1e6)),
            None if request.output_tokens > 1 => return Err(NoSeries::GapsNotRead),
            None => {}
        }
    }
    series.extend(std::iter::repeat_n(f64::INFINITY, lost(block) * mean));
    Ok(series)
}

/// Duration of each judged step, seconds: the printed one, else the time between two lines.
pub(crate) fn step_durations(block: &Block) -> Vec<f64> {
    let mut before: Option<u64> = None;
    let mut durations = Vec::new();
    for step in &block.steps {
        let judged = (block.judged_from_ns..block.judged_until_ns).contains(&step.at_ns);
        let between = before.map(|at_ns| step.at_ns.saturating_sub(at_ns) as f64 / 1e9);
        let printed = step.duration_s.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        if let Some(duration) = printed.or(between).filter(|_| judged) {
            durations.push(duration);
        }
        before = Some(step.at_ns);
    }
    durations
}

/// Steps of progress in the judged interval.
///
/// Counted from the counter that stood when the interval began, so that a trainer that does ten
/// steps and then nothing is not taken for one that does ten steps in a row. A counter that falls
/// (the trainer began again at an older step) is progress lost: it can make the number negative.
pub(super) fn steps_done(block: &Block) -> f64 {
    let before = block.steps.iter().rev().find(|step| step.at_ns < block.judged_from_ns);
    let mut judged = block.judged_steps();
    let Some(first) = judged.next() else { return 0.0 };
    let last = judged.last().unwrap_or(first);
    // The first line of the interval stands for one finished step where none came before it.
    let from = before.map_or(first.step as f64 - 1.0, |step| step.step as f64);
    last.step as f64 - from
}

/// Steps of progress per second of judged time, everything between the steps included, since that
/// is what a deadline meets. `None` where nothing was judged.
pub(super) fn steps_per_s(block: &Block) -> Option<f64> {
    let judged_s = block.judged_s();
    (judged_s > 0.0).then(|| steps_done(block) / judged_s)
}

/// Mean tokens (or samples) of a judged step; `None` where a step does not tell, or there is none.
pub(super) fn tokens_per_step(block: &Block) -> Option<f64> {
    let tokens: Option<Vec<f64>> =
        block.judged_steps().map(|step| step.tokens.map(|tokens| tokens as f64)).collect();
    tokens.and_then(|tokens| mean(&tokens))
}

/// The mean, where there is a value.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What was finished inside the judged interval, per second of it: requests, or the output tokens of
/// those. Work that piles up and is finished later is not throughput. `None` where nothing was
/// judged.
pub(crate) fn finished_per_s(block: &Block, class: Option<u16>, tokens: bool) -> Option<f64> {
    let judged_s = block.judged_s();
    let amount: f64 = block
        .requests
        .iter()
        .filter(|request| request.outcome.is_complete())
        .filter(|request| class.is_none_or(|class| request.class == class))
        .filter(|r| (block.judged_from_ns..block.judged_until_ns).contains(&r.end_ns))
        .map(|request| if tokens { f64::from(request.output_tokens) } else { 1.0 })
        .sum();
    (judged_s > 0.0).then(|| amount / judged_s)
}

/// Requests that the schedule asked for in the judged interval, per second of it.
pub(super) fn asked_per_s(block: &Block, class: Option<u16>) -> Option<f64> {
    let judged_s = block.judged_s();
    (judged_s > 0.0).then(|| judged(block, class).len() as f64 / judged_s)
}

/// Requests that wait or run at evenly spaced instants of the judged interval: (seconds, count).
/// Where the engine tells nothing of its queue, one that grows still shows here.
pub(crate) fn in_flight(block: &Block) -> Vec<(f64, f64)> {
    const INSTANTS: u64 = 40;
    let length = block.judged_until_ns.saturating_sub(block.judged_from_ns);
    if length < INSTANTS {
        return Vec::new();
    }
    let mut begins: Vec<u64> = block.requests.iter().map(|request| request.intended_ns).collect();
    let mut ends: Vec<u64> = block.requests.iter().map(|request| request.end_ns).collect();
    begins.sort_unstable();
    ends.sort_unstable();
    (1..=INSTANTS)
        .map(|instant| {
            let at = block.judged_from_ns + length / INSTANTS * instant;
            let begun = begins.partition_point(|begin| *begin <= at);
            let ended = ends.partition_point(|end| *end <= at);
            (at as f64 / 1e9, begun.saturating_sub(ended) as f64)
        })
        .collect()
}

/// Whether the neighbour was seen at work in both halves of the judged interval: by steps, or by the
/// CPU time that it used. A block whose neighbour was dead is a block of test A.
pub(super) fn neighbour_at_work(block: &Block, neighbour: &str) -> bool {
    let middle =
        block.judged_from_ns + block.judged_until_ns.saturating_sub(block.judged_from_ns) / 2;
    let steps_on = |late: bool| block.steps.iter().any(|step| (step.at_ns >= middle) == late);
    let busy_on = |late: bool| {
        let judged = block.judged_from_ns..block.judged_until_ns;
        block
            .host
            .iter()
            .filter(|sample| judged.contains(&sample.at_ns) && (sample.at_ns >= middle) == late)
            .flat_map(|sample| &sample.workload_cpu_cores)
            .filter(|(name, _)| name == neighbour)
            .any(|(_, cores)| cores.as_ref().is_ok_and(|cores| *cores > BUSY_CORES))
    };
    [false, true].into_iter().all(|late| steps_on(late) || busy_on(late))
}

/// CPU that a process which does nothing does not use, cores.
const BUSY_CORES: f64 = 0.02;
