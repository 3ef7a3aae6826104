//! Puts the view of demand together.

use cotenant_core::demand::{Counts, History, TokenQuantiles, WorkUnit};

use super::clock::Clock;
use super::gaps::{gaps, length};
use super::inputs::DemandInputs;
use super::scale::with_unit;
use super::unit::{figures_row, sentence_of, unit};
use crate::demand::model::{DemandReport, FiguresRow, RequestCounts, SpanView};
use crate::demand::{DEMAND_FORMAT, DEMAND_VERSION};
use crate::format;
use crate::model::{Fact, Value};

/// The view of a history. The same inputs give an equal view.
pub fn build_demand(inputs: &DemandInputs<'_>) -> DemandReport {
    let history = inputs.history;
    let clock = Clock::new(inputs.time_zone, history.span(), inputs.time_of_week_known);
    let span = span(history, &clock);
    let requests = request_counts(history.counts());
    let gaps = gaps(history.gaps(), &clock);
    DemandReport {
        format: DEMAND_FORMAT.to_owned(),
        version: DEMAND_VERSION,
        tool: inputs.tool_version.to_owned(),
        title: title(inputs),
        sources: inputs.sources.to_vec(),
        workload: inputs.workload.map(str::to_owned),
        time_zone: inputs.time_zone.iana_name().unwrap_or("local time").to_owned(),
        time_of_week_known: inputs.time_of_week_known,
        headline: headline(inputs, &clock),
        notes: inputs.notes.to_vec(),
        facts: facts(inputs, &span, &requests, &gaps.total),
        span,
        rows: inputs.rows,
        resolution_s: history.resolution().as_secs_f64(),
        requests,
        figures: inputs.units.iter().filter_map(|unit| figures_row(&unit.bins)).collect(),
        tokens: [("tokens of a prompt", history.tokens().prompt)]
            .into_iter()
            .chain([("tokens of an answer", history.tokens().output)])
            .filter_map(|(name, tokens)| Some(tokens_row(name, &tokens?)))
            .collect(),
        unknown: unknown(history),
        units: inputs.units.iter().map(|shown| unit(shown, history, &clock)).collect(),
        gaps,
        remarks: history.remarks().iter().map(|remark| sentence_of(remark)).collect(),
    }
}

fn title(inputs: &DemandInputs<'_>) -> String {
    match (inputs.workload, inputs.sources) {
        (Some(workload), _) => format!("Demand of {workload}"),
        (None, [one]) => format!("Demand of {one}"),
        (None, many) => {
            format!("Demand of {}", format::plural(many.len() as u64, "source", "sources"))
        }
    }
}

/// One sentence for the middle and the top of the first unit, and one for its busiest hour.
fn headline(inputs: &DemandInputs<'_>, clock: &Clock<'_>) -> Vec<String> {
    let Some(first) = inputs.units.iter().find(|unit| unit.bins.overall.is_some()) else {
        return vec!["Nothing of what was asked for is known.".to_owned()];
    };
    let unit = first.bins.unit;
    let mut sentences = Vec::new();
    if let Some(overall) = first.bins.overall {
        let highest = first.bins.peaks.first();
        let minutes = first.bins.slot_minutes;
        let when = highest.map_or(String::new(), |peak| {
            format!(", in the {minutes} min from {}", clock.moment(peak.at).text)
        });
        sentences.push(format!(
            "{} on average, more than {} in 5 % of the time, at most {}{when}.",
            with_unit(unit, overall.mean),
            format::number(overall.p95),
            format::number(overall.max),
        ));
    }
    if inputs.history.days() >= 7.0 {
        let hours = first.hours.slots.iter();
        let busiest = hours
            .filter_map(|slot| Some((slot.minute_of_week, slot.figures?.mean)))
            .reduce(|high, next| if next.1 > high.1 { next } else { high });
        if let Some((minute, mean)) = busiest {
            sentences.push(format!(
                "The busiest hour of the week begins {} with a mean of {}.",
                clock.minute_of_week(minute),
                with_unit(unit, mean)
            ));
        }
    }
    sentences
}

fn span(history: &History, clock: &Clock<'_>) -> SpanView {
    let (from, until) = history.span();
    let seconds = until.duration_since(from).as_secs_f64();
    let text = if history.days() < 2.0 {
        length(seconds).text
    } else {
        format!("{} days", format::trimmed((10.0 * history.days()).round() / 10.0))
    };
    SpanView {
        from: clock.moment_in_full(from),
        until: clock.moment_in_full(until),
        length: format::value_with_text(seconds, "s", text),
    }
}

fn request_counts(counts: Counts) -> RequestCounts {
    let whole = |value: f64| {
        format::value_with_text(value, "count", format::count(value.round().max(0.0) as u64))
    };
    RequestCounts {
        all: whole(counts.requests),
        refused: whole(counts.refused),
        timed_out: whole(counts.timed_out),
    }
}

fn facts(
    inputs: &DemandInputs<'_>,
    span: &SpanView,
    requests: &RequestCounts,
    gaps: &Value,
) -> Vec<Fact> {
    let fact = |name: &str, text: String| Fact { name: name.to_owned(), text, origin: None };
    let mut facts = Vec::new();
    let rows = inputs.rows.map(|rows| format!(" · {}", format::plural(rows, "row", "rows")));
    facts.push(Fact {
        name: if inputs.sources.len() == 1 { "source" } else { "sources" }.to_owned(),
        text: format!("{}{}", inputs.sources.join(", "), rows.unwrap_or_default()),
        origin: Some(inputs.history.origin().name().to_owned()),
    });
    let zone = if inputs.time_of_week_known {
        format!(" · {}", inputs.time_zone.iana_name().unwrap_or("local time"))
    } else {
        String::new()
    };
    let unknown = match gaps.value {
        Some(seconds) if seconds > 0.0 => format!(", of which {} are not known", gaps.text),
        _ => String::new(),
    };
    facts.push(fact(
        "span",
        format!("{} to {} · {}{unknown}{zone}", span.from.text, span.until.text, span.length.text),
    ));
    let resolution = format::round_time(inputs.history.resolution().as_secs_f64());
    facts.push(fact("resolution", format!("{resolution}: shorter bursts do not show")));
    let lost = inputs.history.counts().refused + inputs.history.counts().timed_out;
    let added_back = if lost > 0.0 {
        format!(
            ", of which {} were refused and {} timed out; they are demand too",
            requests.refused.text, requests.timed_out.text
        )
    } else {
        "; none is marked as refused or timed out".to_owned()
    };
    facts.push(fact("requests", format!("{}{added_back}", requests.all.text)));
    if let Some(service) = inputs.history.service() {
        let text = format!("{} in the engine on average", format::time(service.as_secs_f64()));
        facts.push(fact("a request", text));
    }
    facts
}

fn tokens_row(name: &str, tokens: &TokenQuantiles) -> FiguresRow {
    let value = |number: f64| {
        format::value_with_text(number, "tokens", format::count(number.round().max(0.0) as u64))
    };
    FiguresRow {
        name: name.to_owned(),
        mean: value(tokens.mean),
        p50: value(tokens.p50.into()),
        p95: value(tokens.p95.into()),
        p99: value(tokens.p99.into()),
        max: value(tokens.max.into()),
    }
}

/// One sentence for each reason, with all the units that it keeps unknown.
fn unknown(history: &History) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for unit in WorkUnit::WORK.into_iter().filter(|unit| history.series(*unit).is_none()) {
        let why = history.why_not(unit);
        let why = why.strip_prefix(&format!("{}: ", unit.name())).unwrap_or(&why).to_owned();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, units)) => units.push(unit.name()),
            None => reasons.push((why, vec![unit.name()])),
        }
    }
    reasons
        .into_iter()
        .map(|(why, units)| format!("{} not known: {why}.", units.join(", ")))
        .collect()
}
