//! Latencies foretold, as tables.

use cotenant_core::perf::{Coefficient, Multipliers, StepModel};
use cotenant_core::sim::latency::{
    BesideForecast, Comparison, Figure, Foretold, LatencyForecast, Level,
};
use cotenant_core::sim::{LoadMargin, Predictable};
use cotenant_core::stats::quantile;

use super::build::column;
use super::model::LatencySection;
use crate::format;
use crate::model::{Column, Table, Value};

/// One workload's latencies.
pub(super) fn section(forecast: &LatencyForecast) -> LatencySection {
    let mut tables = vec![step(forecast), held_out(forecast), levels(forecast)];
    tables.extend(forecast.beside.as_ref().map(beside));
    LatencySection {
        workload: forecast.workload.clone(),
        headline: headline(forecast),
        tables,
        assumed: forecast.basis.assumed.clone(),
    }
}

fn headline(forecast: &LatencyForecast) -> String {
    let fitted = format!(
        "{}'s step was fitted on {} of it alone ({})",
        forecast.workload,
        format::plural(forecast.blocks as u64, "block", "blocks"),
        format::plural(forecast.requests as u64, "request", "requests"),
    );
    let Some(capacity) = forecast.capacity else {
        return format!("{fitted}; too few requests could be simulated to tell its capacity.");
    };
    let load = forecast.levels.first().map_or_else(String::new, |level| {
        format!("; {} of {} is {}", level.name, rate(level.rate_per_s), of_capacity(level.margin))
    });
    format!(
        "{fitted}; it carries {} of the tested mix, ± {}{load}. Simulated: no gate passes on it.",
        rate(capacity.requests_per_s),
        format::share(forecast.basis.capacity_error),
    )
}

fn rate(per_s: f64) -> String {
    format!("{} req/s", format::number(per_s))
}

fn of_capacity(margin: LoadMargin) -> String {
    let span = format!("ρ {:.2} ({:.2} to {:.2})", margin.rho, margin.low, margin.high);
    match margin.predictable() {
        Predictable::Yes => span,
        Predictable::No => format!("{span}: not predictable, as capacity may lie on either side"),
        Predictable::Overloaded => format!("{span}: overload, in which the queue only grows"),
    }
}

fn step(forecast: &LatencyForecast) -> Table {
    let model: &StepModel = &forecast.basis.model;
    let parts: [(&str, Coefficient); 6] = [
        ("each pass: host", model.host),
        ("each pass: weights", model.weights),
        ("each token in it, instead, once longer", model.per_token),
        ("each decoding sequence", model.per_sequence),
        ("each 1,000 KV tokens", thousand(model.per_kv_token)),
        ("each request, outside of passes", model.per_request),
    ];
    let row = |(name, part): (&str, Coefficient)| {
        let bound = |of: fn((f64, f64)) -> f64| {
            part.interval.map_or_else(|| Value::missing("not told by the fit"), |it| time(of(it)))
        };
        vec![Value::words(name), time(part.value), bound(|it| it.0), bound(|it| it.1)]
    };
    Table {
        key: "step".to_owned(),
        title: format!("Time of a pass of {}", forecast.engine),
        note: "Fitted until the simulator answered as the engine did; 95 % intervals. Parts that no test \
               tells apart have wide ones, and only their sum counts."
            .to_owned(),
        columns: vec![
            column("part", "part", false),
            column("time", "time", true),
            column("low", "from", true),
            column("high", "to", true),
        ],
        rows: parts.into_iter().map(row).collect(),
        empty: String::new(),
    }
}

fn thousand(per_token: Coefficient) -> Coefficient {
    Coefficient {
        value: per_token.value * 1e3,
        interval: per_token.interval.map(|(low, high)| (low * 1e3, high * 1e3)),
        ..per_token
    }
}

fn held_out(forecast: &LatencyForecast) -> Table {
    let row = |figure: Figure| {
        let errors: Vec<f64> = of(&forecast.held_out, figure).map(|it| it.error().abs()).collect();
        let median = quantile(&errors, 0.5).ok()?;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        Some(vec![
            Value::words(figure.name()),
            format::counted(errors.len() as u64),
            percent(median),
            percent(worst),
        ])
    };
    Table {
        key: "held_out".to_owned(),
        title: "How well it tells blocks that it did not see".to_owned(),
        note: "Each block predicted from a fit on others only.".to_owned(),
        columns: vec![
            column("figure", "figure", false),
            column("blocks", "blocks", true),
            column("error_median", "median", true),
            column("error_max", "worst", true),
        ],
        rows: Figure::ALL.into_iter().filter_map(row).collect(),
        empty: "no block could be predicted".to_owned(),
    }
}

fn of(compared: &[Comparison], figure: Figure) -> impl Iterator<Item = &Comparison> {
    compared.iter().filter(move |it| it.figure == figure)
}

fn levels(forecast: &LatencyForecast) -> Table {
    let names: Vec<(&str, Option<f64>)> = forecast
        .levels
        .iter()
        .max_by_key(|level| level.foretold.len())
        .map(|level| level.foretold.iter().map(|it| (it.name, it.target_s)).collect())
        .unwrap_or_default();
    let mut columns: Vec<Column> = vec![
        column("level", "load", false),
        column("rate", "req/s", true),
        column("rho", "ρ", true),
    ];
    columns.extend(names.iter().map(|(name, _)| column(name, &name.replace('_', " "), true)));
    let row = |level: &Level| {
        let mut cells = vec![
            Value::words(level.name.clone()),
            format::value_with_text(level.rate_per_s, "1/s", format::number(level.rate_per_s)),
            format::value_with_text(level.margin.rho, "share", rho(level.margin)),
        ];
        cells.extend(names.iter().map(|(name, _)| {
            let found = level.foretold.iter().find(|it| it.name == *name);
            found.map_or_else(|| unpredictable(level.margin), foretold)
        }));
        cells
    };
    let targets = names.iter().filter_map(|(name, target_s)| {
        Some(format!("{} {}", name.replace('_', " "), format::round_time(*target_s.as_ref()?)))
    });
    let targets: Vec<String> = targets.collect();
    let declared = if targets.is_empty() {
        "No objective is declared.".to_owned()
    } else {
        format!("Declared: {}.", targets.join(", "))
    };
    Table {
        key: "levels".to_owned(),
        title: "Latencies by load, alone".to_owned(),
        note: format!(
            "Means of replications with Poisson arrivals and the tested lengths, with their 90 % \
             intervals. ρ is the load by capacity, with the error of that. {declared}"
        ),
        columns,
        rows: forecast.levels.iter().map(row).collect(),
        empty: "its capacity is not known".to_owned(),
    }
}

fn rho(margin: LoadMargin) -> String {
    if margin.high.is_finite() {
        format!("{:.2}±{:.2}", margin.rho, (margin.high - margin.low) / 2.0)
    } else {
        format!("{:.2}±?", margin.rho)
    }
}

/// Why there is no number.
fn unpredictable(margin: LoadMargin) -> Value {
    match margin.predictable() {
        Predictable::Overloaded => Value::missing("overload: the queue only grows"),
        Predictable::Yes | Predictable::No => {
            Value::missing("not predictable: capacity may lie on either side of the load")
        }
    }
}

/// The mean, with half the width of its 90 % interval.
fn foretold(it: &Foretold) -> Value {
    let (mean, half) = (it.time_s.mean, (it.time_s.upper - it.time_s.lower) / 2.0);
    let text = format::time(mean);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let scale = if unit == "ms" {
        1e3
    } else if unit == "µs" {
        1e6
    } else {
        1.0
    };
    let half = format::trimmed_to(half * scale, 1);
    format::value_with_text(mean, "s", format!("{number}±{half} {unit}"))
}

fn beside(beside: &BesideForecast) -> Table {
    let compared = |it: &Comparison| {
        vec![
            Value::words(it.figure.name()),
            time(it.measured_s),
            time(it.predicted_s),
            signed(it.error()),
        ]
    };
    let mut rows: Vec<Vec<Value>> = beside.compared.iter().map(compared).collect();
    rows.extend(beside.steps.map(|steps| {
        vec![
            Value::words(format!("step of {}", beside.neighbour)),
            time(steps.measured_s),
            time(steps.predicted_s),
            signed(steps.predicted_s / steps.measured_s - 1.0),
        ]
    }));
    let Multipliers { compute, bandwidth, host } = beside.multipliers;
    let steps = beside.steps.map_or_else(String::new, |steps| {
        format!(
            " While a pass runs the neighbour works {:.2} times as long.",
            steps.slowdown_while_busy
        )
    });
    let near = beside.margin.map_or_else(String::new, |margin| {
        format!(" Beside it the load is {}.", of_capacity(margin))
    });
    Table {
        key: "beside".to_owned(),
        title: format!("Test C beside {}, predicted and measured", beside.neighbour),
        note: format!(
            "From A, B and block {} of run {}, in which arithmetic took {compute:.2} times as long, \
             memory {bandwidth:.2}, the host {host:.2}; the other {} were predicted.{steps}{near} \
             True of this site alone.",
            beside.learnt_from.1,
            beside.learnt_from.0,
            format::plural(beside.blocks as u64, "block of C", "blocks of C"),
        ),
        columns: vec![
            column("figure", "figure", false),
            column("measured", "measured", true),
            column("predicted", "predicted", true),
            column("error", "error", true),
        ],
        rows,
        empty: String::new(),
    }
}

fn time(seconds: f64) -> Value {
    format::value_with_text(seconds, "s", format::time(seconds))
}

fn percent(share: f64) -> Value {
    format::value_with_text(share, "share", format::share(share))
}

fn signed(share: f64) -> Value {
    let sign = if share < 0.0 { "−" } else { "+" };
    format::value_with_text(share, "share", format!("{sign}{}", format::share(share.abs())))
}
