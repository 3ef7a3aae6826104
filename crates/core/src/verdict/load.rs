//! Whether the tested load is the declared one. Below it a pass proves nothing, above it a failure.

use crate::evidence::{Condition, TokenSource};
use crate::site::{Demand, TokenCounts};
use crate::stats;

use super::expected::load_words;
use super::findings::{Case, open};
use super::inference::subject;
use super::pool::{Member, Pool};
use super::{Finding, Ruling, Strategy};

/// How a tested load lies beside the declared one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tie {
    /// In what it falls short, or is of another kind.
    pub(super) below: Vec<String>,
    /// In what it is more.
    pub(super) above: Vec<String>,
    /// What was tested, for people.
    tested: String,
}

/// Lengths that lie this far above the declared ones make another load.
const LENGTH_ABOVE: f64 = 1.25;
/// Lengths within this of the declared ones are taken for them.
const LENGTH_BELOW: f64 = 0.9;
/// Lengths below this share of the declared ones fall short, however few were seen.
const LENGTH_SHORT: f64 = 0.6;
/// A rate this far above the declared one, beside chance, is more than was declared.
const RATE_ABOVE: f64 = 1.1;

/// Holds the load of some blocks against the declared one.
pub(super) fn tie(case: &Case<'_>, members: &[Member<'_>]) -> Tie {
    let Some((workload, inference)) = case.inference else { return Tie::default() };
    let mut tie = Tie::default();
    let judged_s: f64 = members.iter().map(|member| member.block.judged_s()).sum();
    let requests: usize = members.iter().map(|member| member.block.judged_requests().count()).sum();
    let rate = if judged_s > 0.0 { requests as f64 / judged_s } else { 0.0 };
    let description = members.last().map_or("", |member| member.run.load.description.as_str());
    tie.tested = format!("{rate:.2} req/s were tested ({description})");
    let missing: Vec<String> = load_words(&inference.demand)
        .into_iter()
        .filter(|word| !description.to_lowercase().contains(&word.to_lowercase()))
        .collect();
    if !missing.is_empty() {
        tie.below.push(format!(
            "the tested load is «{description}», the declared one is «{}»",
            load_words(&inference.demand).join(", ")
        ));
    }
    match declared_rate(case) {
        Some(declared) => {
            // A count of Poisson arrivals strays by the root of itself: twice that is chance.
            let chance = 2.0 * (declared / judged_s.max(1e-9)).sqrt();
            if rate + chance.min(0.5 * declared) < declared {
                tie.below.push(format!(
                    "{rate:.2} req/s were tested, the declared peak is {declared:.2} req/s"
                ));
            } else if rate > RATE_ABOVE * declared + chance {
                tie.above.push(format!("{rate:.2} req/s, {declared:.2} req/s are declared"));
            }
        }
        None if matches!(inference.demand, Demand::Trace(_) | Demand::Closed { .. }) => {}
        None => tie.below.push("the site declares no peak rate to hold the test against".into()),
    }
    if workload.classes.is_empty() {
        lengths(&mut tie, members, None, "", inference.prompt_tokens, inference.output_tokens);
    }
    for (index, class) in workload.classes.iter().enumerate() {
        lengths(
            &mut tie,
            members,
            Some(index as u16),
            &format!(" of class {}", class.name),
            class.prompt_tokens.or(inference.prompt_tokens),
            class.output_tokens.or(inference.output_tokens),
        );
    }
    tie
}

/// The rate at which the objectives must hold, requests per second.
fn declared_rate(case: &Case<'_>) -> Option<f64> {
    let (_, inference) = case.inference?;
    let peak = inference.peak_rate.as_ref().filter(|rate| rate.is_requests());
    let of_demand = match &inference.demand {
        Demand::Poisson { rate } | Demand::Gamma { rate, .. } | Demand::Constant { rate } => {
            Some(rate.per_second)
        }
        // Over the whole ramp the mean rate is that of its middle.
        Demand::Ramp { from, to, .. } => Some(f64::midpoint(from.per_second, to.per_second)),
        Demand::Table(rows) => rows.iter().map(|row| row.rate.per_second).reduce(f64::max),
        Demand::Trace(_)
        | Demand::Closed { .. }
        | Demand::Query(_)
        | Demand::SavedQuery(_)
        | Demand::Rates(_) => None,
    };
    peak.map(|rate| rate.per_second).or(of_demand)
}

fn lengths(
    tie: &mut Tie,
    members: &[Member<'_>],
    class: Option<u16>,
    of: &str,
    prompt: Option<TokenCounts>,
    output: Option<TokenCounts>,
) {
    let requests = || {
        members
            .iter()
            .flat_map(|member| member.block.judged_requests())
            .filter(|request| class.is_none_or(|class| request.class == class))
    };
    let prompts: Vec<f64> = requests().map(|request| f64::from(request.prompt_tokens)).collect();
    // Counted chunks are no tokens, and an answer that broke off has no length.
    let outputs: Vec<f64> = requests()
        .filter(|r| r.outcome.is_complete() && r.token_source == TokenSource::Usage)
        .map(|request| f64::from(request.output_tokens))
        .collect();
    if let Some(declared) = output.filter(|_| outputs.is_empty() && class.is_none()) {
        scheduled(tie, members, declared);
    }
    let output = output.filter(|_| !outputs.is_empty() || class.is_some());
    for (name, values, declared) in [("prompt", prompts, prompt), ("output", outputs, output)] {
        let Some(declared) = declared else { continue };
        for (word, quantile, declared) in [("p50", 0.5, declared.p50), ("p95", 0.95, declared.p95)]
        {
            length(tie, &format!("{name} tokens {word}{of}"), &values, quantile, declared.into());
        }
    }
}

/// Where the server counts no output tokens, those that were asked for stand in.
fn scheduled(tie: &mut Tie, members: &[Member<'_>], declared: TokenCounts) {
    for load in members.iter().map(|member| &member.run.load) {
        for (word, tested, declared) in [
            ("p50", load.output_tokens_p50, declared.p50),
            ("p95", load.output_tokens_p95, declared.p95),
        ] {
            let sentence =
                format!("output tokens {word} asked for were {tested}, {declared} are declared");
            let falls_short = f64::from(tested) < LENGTH_BELOW * f64::from(declared);
            if falls_short && !tie.below.contains(&sentence) {
                tie.below.push(sentence);
            }
        }
    }
}

/// A quantile of lengths. It falls short where it does and so does its upper 97.5 % bound.
fn length(tie: &mut Tie, name: &str, values: &[f64], quantile: f64, declared: f64) {
    let Ok(tested) = stats::quantile(values, quantile) else {
        tie.below.push(format!("{name} were not seen, {declared} are declared"));
        return;
    };
    let (lower, upper) = stats::quantile_interval(values, quantile, 0.95).unwrap_or((None, None));
    let sentence = || format!("{name} were {tested}, {declared} are declared");
    let is_short = upper.is_some_and(|upper| upper < declared) || tested < LENGTH_SHORT * declared;
    if tested < LENGTH_BELOW * declared && is_short {
        tie.below.push(sentence());
    } else if tested > LENGTH_ABOVE * declared && lower.is_some_and(|lower| lower > declared) {
        tie.above.push(sentence());
    }
}

/// What is said of the load of a test.
pub(super) fn finding(
    case: &Case<'_>,
    condition: Condition,
    strategy: Strategy,
    members: &[Member<'_>],
    tie: &Tie,
) -> Finding {
    let what = format!("tested load of {}", condition.letter());
    let mut finding = open(subject(case, None, &what), strategy);
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    if tie.below.is_empty() {
        finding.ruling = Ruling::Pass;
        finding.explanation = format!("{}; not less than what is declared", tie.tested);
    } else {
        finding.explanation = tie.below.join("; ");
        finding.missing.push(case.at_declared_load());
    }
    finding
}
