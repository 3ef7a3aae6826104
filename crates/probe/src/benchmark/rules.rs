//! What every result is held against, whoever wrote it.

use super::model::{Arrivals, Counts, ImportedBenchmark, ImportedMetric, ImportedPoint};
use super::node::Node;
use super::refusal::{Claim, Refusal};

/// The client must send this share of what was asked, or it measured another load than it names.
/// Sampling of a Poisson process moves a rate by √n, which at the usual hundreds of requests is
/// within a tenth.
const SENT_SHARE_MIN: f64 = 0.9;

/// Statistics of one distribution under the names that tools give them. Lower tails are not read:
/// no objective is about them.
const QUANTILES: [(&str, f64); 12] = [
    ("median", 0.5),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p80", 0.8),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
    ("p99.9", 0.999),
    ("p99p9", 0.999),
    ("max", 1.0),
    ("min", 0.0),
];

/// A metric's place in a benchmark: what it is, and its unit in seconds (or per second).
#[derive(Clone, Copy)]
pub(super) struct Meaning {
    pub(super) metric: ImportedMetric,
    pub(super) scale: f64,
}

pub(super) fn meaning(metric: ImportedMetric, scale: f64) -> Meaning {
    Meaning { metric, scale }
}

/// The unit in which points of a metric are given.
pub(super) fn unit_of(metric: ImportedMetric) -> &'static str {
    match metric {
        ImportedMetric::Requests => "req/s",
        ImportedMetric::OutputTokens => "tokens/s",
        ImportedMetric::TrainingSamples => "samples/s",
        ImportedMetric::Throughput => "per second",
        _ => "s",
    }
}

/// Adds a mean and quantiles of a distribution to the points. Quantiles must not fall.
pub(super) fn distribution(
    benchmark: &mut ImportedBenchmark,
    at: &Node<'_>,
    quantiles_at: Option<&Node<'_>>,
    meaning: Meaning,
    samples: Option<u64>,
) -> Result<(), Box<Refusal>> {
    let mut found: Vec<(f64, f64, String)> = Vec::new();
    for (key, quantile) in QUANTILES {
        let node = at.get(key).or_else(|| quantiles_at.and_then(|node| node.get(key)));
        let Some(node) = node else { continue };
        if found.iter().any(|(known, ..)| *known == quantile) {
            continue;
        }
        found.push((quantile, node.amount()? * meaning.scale, node.path));
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    for pair in found.windows(2) {
        if let [(low, at_low, _), (high, at_high, field)] = pair
            && at_high < at_low
        {
            let mut refusal = Refusal::new(
                at.file,
                Claim::Anything,
                format!("quantile {high} lies below quantile {low}, which no sample can give"),
                "fetch the tool's own file again",
            )
            .at(field.clone())
            .found(&format!("{at_high} < {at_low}"));
            refusal.line = at.line;
            return Err(Box::new(refusal));
        }
    }
    if let Some(mean) = at.any(&["mean", "avg"]) {
        let value = mean.amount()? * meaning.scale;
        let outside = match (found.first(), found.last()) {
            (Some((0.0, low, _)), Some((1.0, high, _))) => {
                value < low * (1.0 - 1e-9) || value > high * (1.0 + 1e-9)
            }
            _ => false,
        };
        if outside {
            return Err(mean.refuse(
                "a mean cannot lie outside of minimum and maximum",
                "fetch the tool's own file again",
            ));
        }
        push(benchmark, meaning.metric, None, value, samples, mean.path);
    }
    for (quantile, value, field) in found {
        if quantile > 0.0 && quantile < 1.0 {
            push(benchmark, meaning.metric, Some(quantile), value, samples, field);
        }
    }
    Ok(())
}

/// Adds a single number that was checked before.
pub(super) fn push(
    benchmark: &mut ImportedBenchmark,
    metric: ImportedMetric,
    quantile: Option<f64>,
    value: f64,
    samples: Option<u64>,
    field: impl Into<String>,
) {
    benchmark.points.push(ImportedPoint {
        metric,
        quantile,
        value,
        unit: unit_of(metric).to_owned(),
        samples,
        field: field.into(),
    });
}

/// Mean and quantiles of values that the file gives one by one: nearest rank, as in Hyndman and Fan's
/// first definition. `None` values are not there; they are failures and belong to no percentile.
pub(super) fn from_values(
    benchmark: &mut ImportedBenchmark,
    metric: ImportedMetric,
    mut values: Vec<f64>,
    how: &str,
) {
    if values.is_empty() {
        return;
    }
    values.sort_by(f64::total_cmp);
    let samples = Some(values.len() as u64);
    let field = format!("computed here from {} requests: {how}", values.len());
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    push(benchmark, metric, None, mean, samples, field.clone());
    for quantile in [0.5, 0.9, 0.95, 0.99] {
        let rank = (quantile * values.len() as f64).ceil().max(1.0) as usize;
        if let Some(value) = values.get(rank - 1) {
            push(benchmark, metric, Some(quantile), *value, samples, field.clone());
        }
    }
}

/// Counts must add up: a result that lost requests has lost the slow ones.
pub(super) fn counts_add_up(file: &str, field: &str, counts: &Counts) -> Result<(), Box<Refusal>> {
    let (Some(total), Some(succeeded)) = (counts.total, counts.succeeded) else { return Ok(()) };
    let (failed, incomplete) = (counts.failed.unwrap_or(0), counts.incomplete.unwrap_or(0));
    let sum = succeeded.saturating_add(failed).saturating_add(incomplete);
    if sum == total {
        return Ok(());
    }
    Err(Box::new(
        Refusal::new(
            file,
            Claim::Anything,
            format!(
                "the counts do not add up: {succeeded} succeeded + {failed} failed + {incomplete} \
                 incomplete is not {total}"
            ),
            "fetch the tool's own file again; if it still says so, repeat the run: requests were lost \
             or counted twice",
        )
        .at(field),
    ))
}

/// Refuses the claims that the load and the content of a benchmark cannot support.
pub(super) fn judge(file: &str, benchmark: &mut ImportedBenchmark) {
    impossible_requests(file, benchmark);
    impossible_means(file, benchmark);
    let has_latency = benchmark.points.iter().any(|point| point.metric.is_latency());
    if has_latency || benchmark.requests.is_some() {
        objectives(file, benchmark);
    }
    if has_latency {
        tails(file, benchmark);
        token_gaps(file, benchmark);
    }
    let load = benchmark.load;
    if let (Some(asked), Some(sent)) = (load.rate_requested, load.rate_sent)
        && sent < SENT_SHARE_MIN * asked
    {
        benchmark.refusals.push(
            Refusal::new(
                file,
                Claim::RequestedRate,
                format!(
                    "the client sent {sent:.2} req/s where {asked:.2} req/s were asked: its latencies \
                     belong to the rate that was sent, and what waited in the client is not in them"
                ),
                format!("use it at {sent:.2} req/s, or repeat it with more client processes"),
            )
            .at("requested rate"),
        );
    }
}

/// A request must be sent, begin to answer, finish and end in this order. A tool that writes 0 for a
/// time that it lost gives requests that end before they begin.
fn impossible_requests(file: &str, benchmark: &mut ImportedBenchmark) {
    let broken = benchmark.requests.iter().flatten().find(|request| {
        let times: Vec<u64> =
            [request.sent_ns, request.first_token_ns, request.last_token_ns, request.end_ns]
                .into_iter()
                .flatten()
                .collect();
        times.windows(2).any(|pair| pair[1] < pair[0])
    });
    if let Some(request) = broken {
        benchmark.refusals.push(
            Refusal::new(
                file,
                Claim::Anything,
                "a request must be sent, begin to answer, finish and end in this order",
                "repeat the run: the tool lost a time and wrote another in its place",
            )
            .at(format!("request {}", request.id)),
        );
    }
}

/// The first token cannot come after the whole answer, on average as well.
fn impossible_means(file: &str, benchmark: &mut ImportedBenchmark) {
    let mean =
        |metric| benchmark.points.iter().find(|p| p.metric == metric && p.quantile.is_none());
    let first = mean(ImportedMetric::TimeToFirstToken);
    let whole = mean(ImportedMetric::EndToEnd);
    if let (Some(first), Some(whole)) = (first, whole)
        && first.value > whole.value * (1.0 + 1e-6)
    {
        let refusal = Refusal::new(
            file,
            Claim::Anything,
            format!(
                "the first token takes {} s and the whole answer {} s on average, which cannot be",
                first.value, whole.value
            ),
            "check the units of both, and give the tool's own file",
        )
        .at(first.field.clone());
        benchmark.refusals.push(refusal);
    }
}

fn objectives(file: &str, benchmark: &mut ImportedBenchmark) {
    let complete = benchmark.requests.as_ref().is_some_and(|requests| {
        !requests.is_empty() && requests.iter().all(|request| request.intended_ns.is_some())
    });
    let load = benchmark.load;
    // A cap that is no smaller than the number of requests holds nothing back.
    let cap_binds = load
        .concurrency_max
        .is_some_and(|cap| benchmark.counts.total.is_none_or(|total| total > cap));
    let rule = if matches!(load.arrivals, Arrivals::ClosedLoop) {
        "a cap on concurrency decides when requests are sent (closed loop), and no intended times are \
         in the file: a slow answer delays the next request instead of counting against it \
         (coordinated omission)"
    } else if matches!(load.arrivals, Arrivals::AllAtOnce) {
        "requests were sent as fast as possible: there is no rate at which they were wanted, and the \
         wait of the last is made by the length of the list"
    } else if cap_binds && !complete {
        "a cap on concurrency holds requests back, and no intended times are in the file: what waited \
         in the client is in no latency (coordinated omission)"
    } else if complete && matches!(load.arrivals, Arrivals::Unknown) {
        "the file does not say how requests arrived, so their intended times may follow the answers \
         (closed loop)"
    } else if complete {
        return;
    } else if benchmark.requests.is_some() {
        "requests are in the file with the time at which they were sent, but not with the time at \
         which they were wanted: a late client looks like a fast server"
    } else {
        "only summary statistics are in the file: without single requests and their intended times no \
         bound can be made"
    };
    let refusal = Refusal::new(
        file,
        Claim::Objectives,
        rule,
        "its numbers are used as point estimates, which suggest and do not prove; measure it: cotenant \
         measure --tests a,c",
    );
    benchmark.refusals.push(match benchmark.name.as_str() {
        "" => refusal,
        name => refusal.at(name),
    });
}

fn tails(file: &str, benchmark: &mut ImportedBenchmark) {
    let has_tail = benchmark.points.iter().any(|point| {
        point.metric.is_latency() && point.quantile.is_some_and(|quantile| quantile > 0.5)
    });
    if !has_tail {
        benchmark.refusals.push(Refusal::new(
            file,
            Claim::Tails,
            "only means and medians are in the file: half of all requests may take any time",
            "export higher quantiles (`--metric-percentiles 95,99` in vLLM) or every request",
        ));
    }
}

fn token_gaps(file: &str, benchmark: &mut ImportedBenchmark) {
    let chunk = benchmark.points.iter().find(|point| {
        matches!(point.metric, ImportedMetric::ChunkGap | ImportedMetric::InterTokenUnclear)
    });
    if let Some(point) = chunk {
        benchmark.refusals.push(
            Refusal::new(
                file,
                Claim::TokenGaps,
                "its inter-token latency is the time between chunks, or does not say what it is: with \
                 several tokens in a chunk it is no gap between tokens",
                "use the time per output token, or measure it: cotenant measure",
            )
            .at(point.field.clone()),
        );
    }
}
