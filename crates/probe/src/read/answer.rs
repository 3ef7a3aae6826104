//! Answers of the Prometheus HTTP API.

use std::collections::BTreeMap;
use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading, FileRefusal, Table};
use jiff::Timestamp;
use serde_json::Value;

use super::look::{Claim, Look, Outcome, short};

const SEEMS: &str = "an answer of a metrics server";

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    let status = look.json.as_ref()?.get("status")?.as_str()?;
    let kind = look.json.as_ref()?.get("data").and_then(|data| data.get("resultType"));
    match (status, kind.and_then(Value::as_str)) {
        ("success", Some(kind)) => {
            let clue = format!("has `status: success` and `data.resultType: {}`", short(kind, 20));
            Some(Claim::sure(clue, read))
        }
        ("error", _) if look.has_keys(&["errorType", "error"]) => {
            Some(Claim::sure("has `status: error` and `errorType`", read))
        }
        _ => None,
    }
}

fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    let nothing = Value::Null;
    let answer = look.json.as_ref().unwrap_or(&nothing);
    let word = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    if word("status") == "error" {
        let why = format!("the server refused the query: {}: {}", word("errorType"), word("error"));
        return Err(look.refuse(SEEMS, short(&why, 400), "mend the query and ask again"));
    }
    let data = answer.get("data").unwrap_or(&nothing);
    let kind = data.get("resultType").and_then(Value::as_str).unwrap_or_default();
    let result = data.get("result").unwrap_or(&nothing);
    let mut reading = FileReading::new(look.name, FileKind::MetricsAnswer, kind.to_owned());
    reading.producer = Some("Prometheus HTTP API".to_owned());
    for warning in answer.get("warnings").and_then(Value::as_array).into_iter().flatten() {
        reading.note(format!("the server warns: {}", warning.as_str().unwrap_or_default()));
    }
    match kind {
        "matrix" => matrix(look, &mut reading, result)?,
        "vector" => vector(look, &mut reading, result)?,
        "scalar" | "string" => {
            let (at_s, text) = sample(result).ok_or_else(|| damaged(look, "the value"))?;
            reading.fact("time", moment(at_s));
            reading.fact("value", value(text));
        }
        other => {
            let why = format!("its result is of the type {}, which is not known", short(other, 40));
            return Err(look.refuse(SEEMS, why, "ask for `query` or `query_range`"));
        }
    }
    Ok(reading.into())
}

fn matrix(look: &Look<'_>, reading: &mut FileReading, result: &Value) -> Result<(), FileRefusal> {
    let list = result.as_array().ok_or_else(|| damaged(look, "`data.result`"))?;
    reading.count("series", list.len());
    let mut table = Table::new(
        "Series",
        &["labels", "points", "from", "until", "min", "mean", "max", "not a number"],
    );
    let mut steps: BTreeMap<u64, u64> = BTreeMap::new();
    for (index, series) in list.iter().enumerate() {
        let what = format!("series {}", index + 1);
        let points = series.get("values").and_then(Value::as_array);
        let Some(points) = points else {
            if series.get("histograms").is_some() {
                reading.skip(format!("{what}: native histograms, which are not read"));
                continue;
            }
            return Err(damaged(look, &what));
        };
        let mut row = Points::default();
        for point in points {
            let (at_s, text) = sample(point).ok_or_else(|| damaged(look, &what))?;
            if let Some(last_s) = row.last_s {
                // Milliseconds, as the server has them.
                *steps.entry(((at_s - last_s) * 1e3).round().max(0.0) as u64).or_default() += 1;
            }
            row.add(at_s, text);
        }
        table.row(row.figures(series));
    }
    if let Some((step_ms, _)) = steps.iter().max_by_key(|(_, count)| **count) {
        reading.fact("step", Figure::number(*step_ms as f64 / 1e3, "s"));
        let others: u64 = steps.iter().filter(|(ms, _)| *ms != step_ms).map(|(_, n)| n).sum();
        if others > 0 {
            reading.note(format!("distances of points other than the step, so gaps: {others}"));
        }
    }
    if list.is_empty() {
        reading.note("the query matched nothing in its range");
    } else {
        reading.next = Some(format!("cotenant demand {}", look.name));
        reading.note("`cotenant demand` reads it as requests per second, if that is what the query asked for");
    }
    reading.table(table);
    Ok(())
}

fn vector(look: &Look<'_>, reading: &mut FileReading, result: &Value) -> Result<(), FileRefusal> {
    let list = result.as_array().ok_or_else(|| damaged(look, "`data.result`"))?;
    reading.count("series", list.len());
    let mut table = Table::new("Values", &["labels", "time", "value"]);
    for (index, series) in list.iter().enumerate() {
        let found = series.get("value").and_then(sample);
        let (at_s, text) = found.ok_or_else(|| damaged(look, &format!("series {}", index + 1)))?;
        table.row(vec![labels(series), moment(at_s), value(text)]);
    }
    if list.is_empty() {
        reading.note("the query matched nothing");
    }
    reading.table(table);
    Ok(())
}

fn damaged(look: &Look<'_>, what: &str) -> FileRefusal {
    look.refuse(SEEMS, format!("{what} is not as the API gives it"), "ask the server again")
}

/// Points of one series.
#[derive(Default)]
struct Points {
    count: u64,
    numbers: u64,
    first_s: Option<f64>,
    last_s: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
    sum: f64,
}

impl Points {
    fn add(&mut self, at_s: f64, text: &str) {
        self.count += 1;
        self.first_s = self.first_s.or(Some(at_s));
        self.last_s = Some(at_s);
        if let Ok(number) = text.parse::<f64>()
            && number.is_finite()
        {
            self.numbers += 1;
            self.least = Some(self.least.map_or(number, |least| least.min(number)));
            self.most = Some(self.most.map_or(number, |most| most.max(number)));
            self.sum += number;
        }
    }

    fn figures(&self, series: &Value) -> Vec<Figure> {
        let why = "no number";
        let mean = (self.numbers > 0).then(|| self.sum / self.numbers as f64);
        let at = |time_s: Option<f64>| time_s.map_or_else(|| Figure::absent("no point"), moment);
        vec![
            labels(series),
            Figure::count(self.count),
            at(self.first_s),
            at(self.last_s),
            Figure::number_or(self.least, "", why),
            Figure::number_or(mean, "", why),
            Figure::number_or(self.most, "", why),
            Figure::count(self.count - self.numbers),
        ]
    }
}

/// `[time, "value"]`.
fn sample(value: &Value) -> Option<(f64, &str)> {
    match value.as_array()?.as_slice() {
        [at, text] => Some((at.as_f64()?, text.as_str()?)),
        _ => None,
    }
}

fn value(text: &str) -> Figure {
    text.parse()
        .map_or_else(|_| Figure::text(short(text, 200)), |number| Figure::number(number, ""))
}

fn moment(at_s: f64) -> Figure {
    let at = Timestamp::from_millisecond((at_s * 1e3).round() as i64).ok();
    at.map_or_else(|| Figure::number(at_s, "s"), |at| Figure::text(at.to_string()))
}

fn labels(series: &Value) -> Figure {
    let metric = series.get("metric").and_then(Value::as_object);
    let text: Vec<String> = metric
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    if text.is_empty() { Figure::text("{}") } else { Figure::text(text.join(", ")) }
}
