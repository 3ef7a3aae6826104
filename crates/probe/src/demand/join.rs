//! What several sources must have in common to be one history.

use super::read::{DemandError, Part};
use super::source::{RatesSource, Source, TraceSource};

/// The factor that all sources share. Refuses sources of several kinds, with several factors,
/// several servers, and traces whose first rows would all be put at one instant.
pub(super) fn rate_factor(sources: &[Source]) -> Result<f64, DemandError> {
    let Some(first) = sources.first() else {
        return Err(apart("there is no source".to_owned(), "name a file"));
    };
    let factor = factor_of(first);
    for source in sources.iter().skip(1) {
        if kind(source) != kind(first) {
            let problem = format!(
                "{} is {} and {} is {}, which are not one history",
                first.name(),
                kind(first),
                source.name(),
                kind(source)
            );
            return Err(apart(problem, "give sources of one kind, or look at them one by one"));
        }
        if matches!(source, Source::Query(_)) {
            let problem = "several metrics servers are not one history".to_owned();
            return Err(apart(problem, "ask the one that has them all"));
        }
        if factor_of(source) != factor {
            let problem =
                format!("{} has another rate factor than {}", source.name(), first.name());
            return Err(apart(problem, "give both the same, or look at them one by one"));
        }
    }
    let begins = |source: &Source| matches!(source, Source::Trace(trace) if trace.begins.is_some());
    if sources.len() > 1 && sources.iter().any(begins) {
        let problem = "`begins` would put the first row of every trace at one instant".to_owned();
        return Err(apart(problem, "write dates or Unix time into the files"));
    }
    Ok(factor)
}

/// Refuses sources whose times cannot be laid beside each other. Tables of rates share their
/// second 0; a trace without dates begins anywhere.
pub(super) fn one_origin(sources: &[Source], parts: &[Part]) -> Result<(), DemandError> {
    if sources.len() < 2 {
        return Ok(());
    }
    let mut named = sources.iter().zip(parts);
    let relative = |(_, part): &(&Source, &Part)| !part.time_of_week_known;
    let Some((first, _)) = named.find(relative) else { return Ok(()) };
    let all_relative = parts.iter().all(|part| !part.time_of_week_known);
    if all_relative && matches!(first, Source::Rates(_)) {
        return Ok(());
    }
    let problem = format!(
        "the times of {} are relative, and nothing says how they lie to those of the other files",
        first.name()
    );
    Err(apart(problem, "write dates or Unix time into the files, or look at them one by one"))
}

fn apart(problem: String, hint: &str) -> DemandError {
    DemandError::Apart { problem, hint: hint.to_owned() }
}

fn kind(source: &Source) -> &'static str {
    match source {
        Source::Trace(_) => "a trace of requests",
        Source::Rates(_) => "a table of rates",
        Source::SavedQuery(_) => "a saved answer of a metrics server",
        Source::Query(_) => "a metrics server",
    }
}

fn factor_of(source: &Source) -> f64 {
    match source {
        Source::Trace(TraceSource { rate_factor, .. })
        | Source::Rates(RatesSource { rate_factor, .. }) => *rate_factor,
        Source::SavedQuery(_) | Source::Query(_) => 1.0,
    }
}
