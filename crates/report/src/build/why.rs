//! The section on sensitivity, from an explanation.

use cotenant_core::sensitivity::{
    Effect, Explained, Explanation, PartState, Prediction, Resource, Response,
};
use cotenant_core::verdict::Unit;

use super::axes::{coordinate, linear_with};
use super::inputs::ReportInputs;
use crate::format;
use crate::model::{
    Column, MissingView, ResponseChart, ResponsePoint, ResponseSeries, Table, Value, WhyOutcome,
    WhyView,
};

/// The section; `None` where nothing was ever stressed.
pub(super) fn why(inputs: &ReportInputs<'_>) -> Option<WhyView> {
    let explanation = inputs.sensitivity?;
    Some(WhyView {
        note: note(explanation),
        outcomes: explanation.objectives.iter().map(outcome).collect(),
        responses: responses(explanation),
        neighbour: neighbour(explanation),
        charts: explanation.objectives.iter().map(|one| chart(explanation, one)).collect(),
        missing: explanation
            .missing
            .iter()
            .map(|missing| MissingView {
                what: missing.what.clone(),
                command: missing.command.clone(),
                minutes: None,
                minutes_text: "minutes not known".to_owned(),
            })
            .collect(),
        remarks: explanation.remarks.clone(),
    })
}

fn note(explanation: &Explanation) -> String {
    let left_out = match explanation.blocks_left_out {
        0 => String::new(),
        count => format!(", {} left out", format::count(count.into())),
    };
    format!(
        "Inference ran alone with one resource stressed at a time: {} in {}{left_out}. Factors are \
         against blocks with nothing stressed under the same arrivals, with 95 % intervals. What \
         the neighbour alone presses on each resource predicts C; this explains and judges nothing.",
        format::plural(explanation.blocks.into(), "block", "blocks"),
        format::plural(explanation.rounds.into(), "round", "rounds"),
    )
}

/// The name of an objective as people write it: `TTFT p95`.
fn title(one: &Explained) -> String {
    let quantile = (one.objective.quantile * 1000.0).round() / 10.0;
    format!("{} p{}", one.objective.metric.name().to_uppercase(), format::trimmed(quantile))
}

fn factor(effect: &Effect) -> Value {
    format::value_with_text(effect.ratio, "ratio", factor_text(effect))
}

/// The same for a cell of a table.
fn narrow_factor(effect: &Effect) -> Value {
    let text = match effect.interval {
        Some((lower, upper)) => format!("×{:.2} ({lower:.2}–{upper:.2})", effect.ratio),
        None => factor_text(effect),
    };
    format::value_with_text(effect.ratio, "ratio", text)
}

fn factor_text(effect: &Effect) -> String {
    match effect.interval {
        Some((lower, upper)) => format!("×{:.2} ({lower:.2} to {upper:.2})", effect.ratio),
        None => format!("×{:.2}", effect.ratio),
    }
}

fn outcome(one: &Explained) -> WhyOutcome {
    let predicted = match &one.prediction {
        Some(prediction) => predicted(prediction),
        None => Value::missing("what the neighbour presses on is not known"),
    };
    let or_missing = |effect: &Option<Effect>, reason: &str| match effect {
        Some(effect) => factor(effect),
        None => Value::missing(reason),
    };
    WhyOutcome {
        key: one.objective.name.to_owned(),
        title: title(one),
        alone: match one.alone_s {
            Some(seconds) => format::measured(seconds, Unit::Seconds),
            None => Value::missing("no reference block has a value"),
        },
        predicted,
        measured: or_missing(&one.measured, "no valid pair of A and C"),
        unexplained: or_missing(&one.unexplained, "it needs a prediction and test C"),
        cause: format!("{}.", one.sentence),
    }
}

fn predicted(prediction: &Prediction) -> Value {
    let mut shown = factor(&prediction.effect);
    if prediction.is_floor {
        shown.text = format!("at least {}", shown.text);
    }
    shown
}

fn column(key: &str, title: &str, numeric: bool) -> Column {
    Column { key: key.to_owned(), title: title.to_owned(), numeric }
}

/// An amount in a resource's unit.
fn amount(value: f64, unit: &str) -> Value {
    match unit {
        "cores" => {
            let mut shown = format::cores(value);
            shown.text += " cores";
            shown
        }
        "FLOP/s" => format::value_with_text(
            value,
            unit,
            format!("{} TFLOP/s", format::number(value / 1e12)),
        ),
        "B/s" => format::value_with_text(value, unit, format!("{}/s", format::bytes(value))),
        unit => format::value_with_text(value, unit, format!("{} {unit}", format::number(value))),
    }
}

fn optional(value: Option<f64>, unit: &str, reason: &str) -> Value {
    value.map_or_else(|| Value::missing(reason), |value| amount(value, unit))
}

fn share(value: Option<f64>) -> Value {
    match value {
        Some(value) => {
            let rounded = (value * 1e3).round() / 1e3;
            format::value_with_text(value, "share", format::share(rounded))
        }
        None => Value::words("–"),
    }
}

fn responses(explanation: &Explanation) -> Table {
    let mut columns = vec![
        column("resource", "resource", false),
        column("dose", "dose", true),
        column("pressure", "reached", true),
        column("cpu_cores", "its own CPU", true),
        column("stall_share", "some task waited", true),
        column("blocks", "blocks", true),
    ];
    columns.extend(
        explanation.objectives.iter().map(|one| column(one.objective.name, &title(one), true)),
    );
    let mut rows = Vec::new();
    for resource in &explanation.resources {
        for dose in &resource.doses {
            let mut row = vec![
                Value::words(resource.stressor.name()),
                format::counted(dose.dose.into()),
                optional(dose.pressure, &resource.unit, "it was not read"),
                optional(dose.cpu_cores, "cores", "it was not read"),
                share(dose.stall_share),
                format::counted(dose.blocks.into()),
            ];
            row.extend(explanation.objectives.iter().map(|one| {
                let found = one
                    .responses
                    .iter()
                    .find(|r| r.stressor == resource.stressor && r.dose == dose.dose);
                response(found)
            }));
            rows.push(row);
        }
    }
    Table {
        key: "responses".to_owned(),
        title: "What each resource makes of inference".to_owned(),
        note: "Dose 1 to 3 asks for a third, two thirds and all of what the resource gave when it \
               was calibrated; what was reached is measured."
            .to_owned(),
        columns,
        rows,
        empty: "not seen: no valid block under stress".to_owned(),
    }
}

fn response(found: Option<&Response>) -> Value {
    match found {
        Some(Response { effect: Some(effect), .. }) => narrow_factor(effect),
        Some(Response { unbounded: 1.., .. }) => {
            Value::missing("too few requests completed for this quantile")
        }
        _ => Value::missing("no value in these blocks"),
    }
}

fn neighbour(explanation: &Explanation) -> Table {
    let mut columns = vec![
        column("resource", "resource", false),
        column("pressure", "pressure alone", true),
        column("of_tested", "of the largest tested", true),
        column("stall_share", "some task waited", true),
        column("how", "read from", false),
    ];
    columns.extend(
        explanation.objectives.iter().map(|one| column(one.objective.name, &title(one), true)),
    );
    let rows = explanation
        .resources
        .iter()
        .map(|resource| {
            let pressure = &resource.neighbour;
            let shown = match (pressure.value, pressure.at_most) {
                (Some(value), _) => amount(value, &resource.unit),
                (None, Some(most)) => {
                    let mut shown = amount(most, &resource.unit);
                    shown.text = format!("at most {}", shown.text);
                    shown
                }
                (None, None) => Value::missing("not read"),
            };
            let of_tested = match share_of_tested(resource) {
                Some(share) => format::value_with_text(share, "share", format::share(share)),
                None => Value::words("–"),
            };
            let mut row = vec![
                Value::words(resource.stressor.name()),
                shown,
                of_tested,
                share(pressure.stall_share),
                Value::words(pressure.how.clone()),
            ];
            row.extend(explanation.objectives.iter().map(|one| part(one, resource)));
            row
        })
        .collect();
    Table {
        key: "pressures".to_owned(),
        title: "What the neighbour presses on, and what that predicts".to_owned(),
        note:
            "Means over the valid blocks of test B. Beyond the largest tested pressure nothing is \
               extrapolated."
                .to_owned(),
        columns,
        rows,
        empty: "not seen: no resource was stressed".to_owned(),
    }
}

fn pressure_max(resource: &Resource) -> Option<f64> {
    resource
        .doses
        .iter()
        .filter_map(|dose| dose.pressure)
        .filter(|pressure| *pressure > 0.0)
        .fold(None, |most: Option<f64>, each| Some(most.map_or(each, |most| most.max(each))))
}

fn share_of_tested(resource: &Resource) -> Option<f64> {
    let pressure = resource.neighbour.value.or(resource.neighbour.at_most)?;
    Some(pressure / pressure_max(resource)?)
}

/// The part of a resource in the prediction of an objective.
fn part(one: &Explained, resource: &Resource) -> Value {
    let found = one
        .prediction
        .as_ref()
        .and_then(|prediction| prediction.parts.iter().find(|p| p.stressor == resource.stressor));
    let Some(part) = found else { return Value::missing("no prediction") };
    let mut shown = narrow_factor(&part.effect);
    match part.state {
        PartState::Tested => {}
        PartState::Beyond => {
            shown.text = format!("at least {}, beyond what was tested", shown.text);
        }
        PartState::AtMost => shown.text = format!("at most {}, not counted", shown.text),
        PartState::Unknown => shown = Value::missing("not read"),
    }
    shown
}

fn chart(explanation: &Explanation, one: &Explained) -> ResponseChart {
    let series: Vec<ResponseSeries> = explanation
        .resources
        .iter()
        .filter_map(|resource| line(resource, one))
        .filter(|line| !line.points.is_empty())
        .collect();
    let highest =
        series.iter().flat_map(|line| &line.points).map(|point| point.high).fold(1.0, f64::max);
    let mut sentences = vec![format!(
        "Factor on {} by how much each resource is pressed; where the neighbour stands is marked.",
        title(one)
    )];
    sentences.extend(series.iter().map(|line| line.text.clone()));
    ResponseChart {
        key: one.objective.name.to_owned(),
        title: format!("{} under stress", title(one)),
        description: sentences.join(" "),
        x: linear_with("pressure, share of the largest tested", 1.0, 4.0, format::share),
        y: linear_with("factor", highest, 5.0, |at| format!("×{}", format::trimmed(at))),
        missing: series.is_empty().then(|| "not seen: no dose has a value".to_owned()),
        series,
    }
}

fn line(resource: &Resource, one: &Explained) -> Option<ResponseSeries> {
    let most = pressure_max(resource)?;
    let mut points: Vec<ResponsePoint> = Vec::new();
    let mut words = Vec::new();
    for dose in &resource.doses {
        let effect = one
            .responses
            .iter()
            .find(|r| r.stressor == resource.stressor && r.dose == dose.dose)
            .and_then(|response| response.effect);
        let (Some(effect), Some(pressure)) = (effect, dose.pressure) else { continue };
        let (low, high) = effect.interval.unwrap_or((effect.ratio, effect.ratio));
        points.push(ResponsePoint {
            at: coordinate(pressure / most),
            low: coordinate(low),
            factor: coordinate(effect.ratio),
            high: coordinate(high),
        });
        words.push(format!("dose {} {}", dose.dose, factor_text(&effect)));
    }
    points.sort_by(|one, other| one.at.total_cmp(&other.at));
    let neighbour_at = resource.neighbour.value.map(|pressure| coordinate(pressure / most));
    if let Some(at) = neighbour_at {
        words.push(format!("the neighbour at {} of the largest", format::share(at)));
    }
    Some(ResponseSeries {
        label: resource.stressor.name().to_owned(),
        points,
        neighbour_at,
        text: format!("{}: {}.", resource.stressor.name(), words.join(", ")),
    })
}
