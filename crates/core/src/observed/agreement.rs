//! The client's latencies held against the engine's own histograms, bucket by bucket.
//!
//! The client counts from the moment at which it began to send, the engine from the arrival of the
//! request inside of it: client − engine = what lies before the engine's clock starts (its HTTP
//! server, a proxy, the network) and after it stops, and how late the client reads. A histogram says
//! between which bounds a quantile lies, so agreement is that the client's quantile lies there, too.

use crate::evidence::{Block, ChunkGaps, EngineHistogram, EngineObservation, RequestRecord};
use crate::stats::QuantileBounds;

/// What network, HTTP and reading may add on one machine or one network, seconds, beside the client's
/// own lateness.
const OVERHEAD_S: f64 = 0.010;
/// Largest difference of the two counts, as a share, below which both are about the same requests.
const COUNT_TOLERANCE: f64 = 0.05;
/// Gaps shorter than this are of tokens that one read returned, microseconds.
const ONE_READ_US: u32 = 100;
/// Means that differ by less than this share are taken to be equal.
const MEAN_TOLERANCE: f64 = 0.05;
/// The quantiles that are compared.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// A latency that both tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientMetric {
    /// Time to first token; the client's from its send.
    FirstToken,
    /// Gaps between tokens.
    InterToken,
    /// Mean time to a token after the first, one of each request.
    PerOutputToken,
    /// The whole request; the client's from its send to the last byte.
    WholeRequest,
    /// Time in the engine's queue; the client's is its time to first token less the engine's
    /// prefill, of which only the mean is known.
    Queue,
}

impl ClientMetric {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::FirstToken, Self::InterToken, Self::PerOutputToken, Self::WholeRequest, Self::Queue];

    /// The canonical name of the engine's histogram.
    pub fn canonical(self) -> &'static str {
        match self {
            Self::FirstToken => "ttft_s",
            Self::InterToken => "itl_s",
            Self::PerOutputToken => "tpot_s",
            Self::WholeRequest => "e2e_s",
            Self::Queue => "queue_time_s",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstToken => "time to first token",
            Self::InterToken => "gap between tokens",
            Self::PerOutputToken => "time per output token",
            Self::WholeRequest => "whole request",
            Self::Queue => "time in the queue",
        }
    }
}

/// Whether client and engine agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Every compared quantile of the client lies in the engine's bucket.
    Agrees,
    /// They differ, and what was measured says why.
    Explained,
    /// They differ, and nothing that was measured says why.
    Unexplained,
    /// There is nothing to compare.
    NotCompared,
}

/// A quantile of the client beside the engine's bounds of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedQuantile {
    /// The quantile, from 0 to 1.
    pub share: f64,
    /// The client's order statistic, seconds.
    pub client_s: f64,
    /// The engine's bucket.
    pub engine: QuantileBounds,
    /// How far the client's value lies outside of it, seconds: positive above, negative below, 0
    /// inside. Ranks may stray by as many as the counts differ.
    pub outside_s: f64,
}

/// One latency as the client and as the engine have it, over the same blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Which.
    pub metric: ClientMetric,
    /// Observations in the engine's histogram.
    pub engine_count: f64,
    /// Observations of the client between the same scrapes.
    pub client_count: usize,
    /// The engine's mean, seconds: exact, whatever its buckets.
    pub engine_mean_s: Option<f64>,
    /// The client's mean, seconds.
    pub client_mean_s: Option<f64>,
    /// The compared quantiles, as far as the sample has them.
    pub quantiles: Vec<ComparedQuantile>,
    /// Whether they agree.
    pub answer: Answer,
    /// Why, in one sentence without a full stop.
    pub why: String,
}

/// What both have of one metric.
struct Pair {
    engine: EngineHistogram,
    /// Name and version of the engine.
    engine_name: String,
    /// Whether answers came in more than one chunk. Of Triton's models only decoupled ones do that.
    is_streamed: bool,
    client_s: Vec<f64>,
    /// Share of gaps that one read returned, for gaps alone.
    one_read: f64,
}

/// Compares every metric over blocks of one condition.
pub fn agreements(blocks: &[&Block]) -> Vec<Agreement> {
    let overhead_s = OVERHEAD_S
        + blocks
            .iter()
            .filter_map(|block| block.client.as_ref())
            .map(|client| client.lateness_p99_s)
            .filter(|late_s| late_s.is_finite())
            .fold(0.0, f64::max);
    let first = pair(blocks, ClientMetric::FirstToken);
    let whole = pair(blocks, ClientMetric::WholeRequest);
    let shift = |pair: &Result<Pair, String>| -> Option<f64> {
        let pair = pair.as_ref().ok()?;
        Some(mean(&pair.client_s)? - pair.engine.mean()?)
    };
    let shifts = Shifts { first_and_whole: (shift(&first), shift(&whole)), overhead_s };
    let merged = has_merged_chunks(blocks);
    let queue = queue(blocks, &first, shifts);
    let mut all = vec![
        compare(ClientMetric::FirstToken, first, shifts, merged),
        compare(ClientMetric::InterToken, pair(blocks, ClientMetric::InterToken), shifts, merged),
        compare(
            ClientMetric::PerOutputToken,
            pair(blocks, ClientMetric::PerOutputToken),
            shifts,
            merged,
        ),
        compare(ClientMetric::WholeRequest, whole, shifts, merged),
    ];
    all.push(queue);
    all
}

/// By how much the client's means exceed the engine's.
#[derive(Clone, Copy)]
struct Shifts {
    /// Of the time to first token and of the whole request, seconds.
    first_and_whole: (Option<f64>, Option<f64>),
    /// What network, HTTP and reading may add, seconds.
    overhead_s: f64,
}

impl Shifts {
    /// Whether first token and end are shifted alike: the time lies before the engine's clock.
    fn is_before_the_clock(self) -> bool {
        let both = self.first_and_whole.0.zip(self.first_and_whole.1);
        both.is_some_and(|(first_s, whole_s)| {
            (first_s - whole_s).abs() <= self.overhead_s + 0.1 * first_s.abs()
        })
    }
}

/// The engine's account of a block with its histogram of a metric.
fn account(block: &Block, metric: ClientMetric) -> Option<(&EngineObservation, &EngineHistogram)> {
    let engine = block.observed.engine.as_ref()?;
    Some((engine, engine.histogram(metric.canonical())?))
}

fn pair(blocks: &[&Block], metric: ClientMetric) -> Result<Pair, String> {
    let (mut pooled, mut client_s) = (None::<EngineHistogram>, Vec::new());
    let mut engine_name = String::new();
    let (mut gaps, mut one_read, mut answers) = (0_usize, 0_usize, 0_usize);
    for block in blocks {
        let Some((engine, histogram)) = account(block, metric) else { continue };
        engine_name.clone_from(&engine.engine);
        match &mut pooled {
            Some(pooled) => pooled.add(histogram),
            None => pooled = Some(histogram.clone()),
        }
        let between = engine.from_ns..engine.until_ns;
        let requests = block.requests.iter();
        match metric {
            ClientMetric::FirstToken | ClientMetric::Queue => {
                client_s.extend(requests.filter_map(|request| {
                    let first_ns = request.first_token_ns.filter(|ns| between.contains(ns))?;
                    Some(seconds(first_ns.saturating_sub(request.sent_ns?)))
                }));
            }
            ClientMetric::WholeRequest => client_s.extend(requests.filter_map(|request| {
                let ended = request.outcome.is_complete() && between.contains(&request.end_ns);
                ended.then_some(seconds(request.end_ns.saturating_sub(request.sent_ns?)))
            })),
            ClientMetric::PerOutputToken => client_s.extend(
                requests
                    .filter(|request| between.contains(&request.end_ns))
                    .filter_map(RequestRecord::tpot_s),
            ),
            ClientMetric::InterToken => {
                if block.gaps.is_empty() {
                    return Err("the gaps between tokens were not read".to_owned());
                }
                let first = |request: &&RequestRecord| {
                    request.first_token_ns.is_some_and(|ns| between.contains(&ns))
                };
                answers += block.requests.iter().filter(first).count();
                let between = between.start / 1000..between.end / 1000;
                for (gap_us, at_us) in block.gaps.iter().flat_map(|gaps| at(block, gaps)) {
                    if between.contains(&at_us) {
                        gaps += 1;
                        one_read += usize::from(gap_us < ONE_READ_US);
                        client_s.push(f64::from(gap_us) / 1e6);
                    }
                }
            }
        }
    }
    // llama.cpp divides the time by all tokens, of which the first of an answer ends no gap.
    let has_no_bounds =
        |engine: &&mut EngineHistogram| engine.bounds.iter().all(|bound| bound.is_infinite());
    if let Some(engine) = pooled.as_mut().filter(has_no_bounds).filter(|_| gaps > 0) {
        let (tokens, off) = ((gaps + answers) as f64, engine.count - (gaps + answers) as f64);
        if off.abs() < (engine.count - gaps as f64).abs() && off.abs() <= COUNT_TOLERANCE * tokens {
            (engine.bounds, engine.cumulative) = (Vec::new(), Vec::new());
            engine.count = gaps as f64;
        }
    }
    let engine = pooled.ok_or_else(|| {
        if blocks.iter().any(|block| block.observed.engine.is_some()) {
            "the engine tells no such histogram".to_owned()
        } else {
            "the engine's metrics were not seen".to_owned()
        }
    })?;
    if engine.count < 1.0 || client_s.is_empty() {
        return Err(format!(
            "the engine counted {} and the client {} of it",
            engine.count,
            client_s.len()
        ));
    }
    client_s.sort_by(f64::total_cmp);
    let is_streamed = blocks
        .iter()
        .flat_map(|block| &block.requests)
        .any(|request| request.gap_longest_ns.is_some());
    Ok(Pair {
        engine,
        engine_name,
        is_streamed,
        client_s,
        one_read: one_read as f64 / gaps.max(1) as f64,
    })
}

/// The gaps of a request with the instants at which they ended, microseconds.
fn at<'b>(block: &'b Block, gaps: &'b ChunkGaps) -> impl Iterator<Item = (u32, u64)> + 'b {
    let found = block.requests.binary_search_by_key(&gaps.request, |request| request.index);
    let first_ns = found.ok().and_then(|place| block.requests[place].first_token_ns);
    first_ns.into_iter().flat_map(move |first_ns| {
        let mut at_us = first_ns / 1000;
        gaps.gaps_us.iter().map(move |gap_us| {
            at_us += u64::from(*gap_us);
            (*gap_us, at_us)
        })
    })
}

/// Whether chunks carried several tokens.
fn has_merged_chunks(blocks: &[&Block]) -> bool {
    blocks.iter().any(|block| block.gaps.iter().any(|gaps| !gaps.single_token))
}

fn compare(
    metric: ClientMetric,
    pair: Result<Pair, String>,
    shifts: Shifts,
    merged: bool,
) -> Agreement {
    let mut agreement = Agreement {
        metric,
        engine_count: 0.0,
        client_count: 0,
        engine_mean_s: None,
        client_mean_s: None,
        quantiles: Vec::new(),
        answer: Answer::NotCompared,
        why: String::new(),
    };
    let pair = match pair {
        Ok(pair) => pair,
        Err(why) => return Agreement { why, ..agreement },
    };
    agreement.engine_count = pair.engine.count;
    agreement.client_count = pair.client_s.len();
    agreement.engine_mean_s = pair.engine.mean();
    agreement.client_mean_s = mean(&pair.client_s);
    if metric == ClientMetric::InterToken && merged {
        let why = "chunks carried several tokens, so the client saw no single gaps".to_owned();
        return Agreement { why, ..agreement };
    }
    agreement.quantiles = quantiles(&pair);
    (agreement.answer, agreement.why) = explain(&agreement, &pair, shifts, merged);
    agreement
}

fn quantiles(pair: &Pair) -> Vec<ComparedQuantile> {
    let count = pair.client_s.len();
    // Requests near a scrape are on either side of it, so the ranks of the two do not match exactly.
    let stray = (pair.engine.count - count as f64).abs().ceil().max(1.0) as usize;
    QUANTILES
        .into_iter()
        .filter(|share| (1.0 - share) * count as f64 >= stray as f64)
        .filter_map(|share| {
            let engine = pair.engine.quantile(share)?;
            let rank = crate::stats::quantile_rank(share, count);
            let value = |rank: usize| pair.client_s[rank.clamp(1, count) - 1];
            let (low_s, high_s) = (value(rank.saturating_sub(stray)), value(rank + stray));
            let outside_s = match (engine.distance(low_s), engine.distance(high_s)) {
                (low_s, _) if low_s > 0.0 => low_s,
                (_, high_s) if high_s < 0.0 => high_s,
                _ => 0.0,
            };
            Some(ComparedQuantile { share, client_s: value(rank), engine, outside_s })
        })
        .collect()
}

fn explain(agreement: &Agreement, pair: &Pair, shifts: Shifts, merged: bool) -> (Answer, String) {
    let is_decoupled_triton =
        pair.is_streamed && pair.engine_name.to_ascii_lowercase().starts_with("triton");
    let (engine_count, client_count) = (agreement.engine_count, agreement.client_count as f64);
    let off = (engine_count - client_count).abs();
    if off > (COUNT_TOLERANCE * engine_count.max(client_count)).max(3.0) {
        let who = if engine_count > client_count {
            "it answered others, too"
        } else {
            "it does not count them all, or began anew"
        };
        return (
            Answer::Explained,
            format!(
                "not the same requests: the engine counted {engine_count} and the client \
                 {client_count}; {who}"
            ),
        );
    }
    if agreement.quantiles.is_empty() {
        return (Answer::NotCompared, "too few for a quantile".to_owned());
    }
    let shift_s = agreement.client_mean_s.zip(agreement.engine_mean_s).map(|(c, e)| c - e);
    let shift =
        shift_s.map_or(String::new(), |shift_s| format!("; the means differ by {}", ms(shift_s)));
    let outside = agreement.quantiles.iter().map(|quantile| quantile.outside_s);
    let most_s = outside.fold(0.0_f64, |most, s| if s.abs() > most.abs() { s } else { most });
    if most_s == 0.0 {
        let has_no_bounds = agreement.quantiles.iter().all(|q| q.engine.at_most_s.is_none());
        return match (agreement.client_mean_s, agreement.engine_mean_s) {
            (Some(client_s), Some(engine_s)) if has_no_bounds => {
                by_means(agreement.metric, (client_s, engine_s), shifts, is_decoupled_triton)
            }
            (_, _) if has_no_bounds => {
                let why = "the engine's buckets end below them, and it tells no sum";
                (Answer::NotCompared, why.to_owned())
            }
            _ => (Answer::Agrees, format!("each quantile lies in the engine's bucket{shift}")),
        };
    }
    let why = why_outside(agreement, pair, shifts, merged, most_s);
    why.map_or_else(
        || {
            let side = if most_s > 0.0 { "above" } else { "below" };
            (Answer::Unexplained, format!("{} {side} the engine's bucket{shift}", ms(most_s.abs())))
        },
        |why| (Answer::Explained, format!("{why}{shift}")),
    )
}

/// The answer where the engine tells a sum and a count, and no bucket in which a quantile could lie.
fn by_means(
    metric: ClientMetric,
    (client_s, engine_s): (f64, f64),
    shifts: Shifts,
    is_decoupled_triton: bool,
) -> (Answer, String) {
    let difference_s = client_s - engine_s;
    let told = format!("by the means alone, which differ by {}", ms(difference_s));
    let from_send = matches!(metric, ClientMetric::FirstToken | ClientMetric::WholeRequest);
    let allowed_s = if from_send { shifts.overhead_s } else { 0.0 };
    if difference_s.abs() <= allowed_s.max(MEAN_TOLERANCE * engine_s.max(client_s)) {
        return (Answer::Agrees, told);
    }
    if from_send && difference_s > 0.0 && shifts.is_before_the_clock() {
        return (
            Answer::Explained,
            format!("{told}: requests wait before the engine's clock starts"),
        );
    }
    let hands_back = metric == ClientMetric::WholeRequest && difference_s > 0.0;
    if hands_back && is_decoupled_triton {
        let why = "Triton counts a decoupled request only until its model has taken it over, which \
                   is before the answer is complete";
        return (Answer::Explained, format!("{told}: {why}"));
    }
    (Answer::Unexplained, told)
}

/// What was measured that explains a client's quantile outside of the engine's bucket, by `most_s`.
fn why_outside(
    agreement: &Agreement,
    pair: &Pair,
    shifts: Shifts,
    merged: bool,
    most_s: f64,
) -> Option<String> {
    if (0.0..=shifts.overhead_s).contains(&most_s) {
        return Some(format!(
            "up to {} above the engine's bucket, which network, HTTP and a client that reads up to {} \
             late may add",
            ms(most_s),
            ms(shifts.overhead_s)
        ));
    }
    let (engine_s, client_s) = (agreement.engine_mean_s?, agreement.client_mean_s?);
    let same_mean = (client_s - engine_s).abs() <= MEAN_TOLERANCE * engine_s.max(client_s);
    if agreement.metric == ClientMetric::InterToken && same_mean && pair.one_read >= 0.01 {
        return Some(format!(
            "{:.0} % of the gaps are of tokens that one read returned",
            100.0 * pair.one_read
        ));
    }
    let from_send =
        matches!(agreement.metric, ClientMetric::FirstToken | ClientMetric::WholeRequest);
    if from_send && most_s > 0.0 && shifts.is_before_the_clock() {
        return Some(format!(
            "first token and end are both {} later for the client on average: requests wait before \
             the engine's clock starts (its HTTP server, a proxy, a connection)",
            ms(client_s - engine_s)
        ));
    }
    (agreement.metric == ClientMetric::FirstToken && most_s > 0.0 && merged).then(|| {
        "the first chunk carried several tokens, so the client saw the first with the last of them"
            .to_owned()
    })
}

/// The queue: the client's time to first token less the engine's prefill, against the engine's own
/// mean. What is left over is the shift of the time to first token.
fn queue(blocks: &[&Block], first: &Result<Pair, String>, shifts: Shifts) -> Agreement {
    let pooled = |metric: &str| -> Option<EngineHistogram> {
        let mut all = blocks
            .iter()
            .filter_map(|block| block.observed.engine.as_ref()?.histogram(metric).cloned());
        let mut sum = all.next()?;
        all.for_each(|next| sum.add(&next));
        Some(sum)
    };
    let waits = pooled(ClientMetric::Queue.canonical());
    let prefill_s = pooled("prefill_s").and_then(|prefill| prefill.mean());
    let first_s = first.as_ref().ok().and_then(|first| mean(&first.client_s));
    let client_mean_s = first_s.zip(prefill_s).map(|(first_s, prefill_s)| first_s - prefill_s);
    let engine_mean_s = waits.as_ref().and_then(EngineHistogram::mean);
    let (answer, why) = client_mean_s.zip(engine_mean_s).map_or_else(
        || {
            let why = if waits.is_none() {
                "the engine tells no time in its queue"
            } else if prefill_s.is_none() {
                "the engine tells no prefill, without which the client's time to first token is not \
                 split"
            } else if first_s.is_none() {
                "there is no time to first token to split"
            } else {
                "the engine tells no sum of its waits"
            };
            (Answer::NotCompared, why.to_owned())
        },
        |(client_s, engine_s)| balance(client_s - engine_s, shifts),
    );
    Agreement {
        metric: ClientMetric::Queue,
        engine_count: waits.map_or(0.0, |waits| waits.count),
        client_count: first.as_ref().map_or(0, |first| first.client_s.len()),
        engine_mean_s,
        client_mean_s,
        quantiles: Vec::new(),
        answer,
        why,
    }
}

/// What the difference of the two means of the queue says.
fn balance(difference_s: f64, shifts: Shifts) -> (Answer, String) {
    if difference_s.abs() <= shifts.overhead_s {
        (Answer::Agrees, format!("the means differ by {}", ms(difference_s)))
    } else if difference_s > 0.0 && shifts.is_before_the_clock() {
        let why = format!("{} more, waited before the engine's clock starts", ms(difference_s));
        (Answer::Explained, why)
    } else {
        (Answer::Unexplained, format!("the means differ by {}", ms(difference_s)))
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn ms(seconds: f64) -> String {
    // A difference that is shown as none has no side: -0.04 would read -0.0.
    let shown = (seconds * 1e4).round() / 10.0;
    format!("{:.1} ms", if shown == 0.0 { 0.0 } else { shown })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
