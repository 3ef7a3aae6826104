//! Answers of a metrics server's `query_range`, as a file or as they come.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::time::Duration;

use cotenant_core::demand::HistoryBuilder;
use jiff::Timestamp;
use serde::Deserialize;

use super::points::{self, Point, Stamp};
use super::read::{DemandError, Part};
use crate::trace::{Problem, open_content};

/// Largest saved answer, unpacked.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// The body of an answer but for its values: what it is.
#[derive(Debug, Deserialize)]
struct Envelope {
    status: String,
    #[serde(default)]
    data: Option<Kind>,
    #[serde(default, rename = "errorType")]
    error_type: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    #[serde(default, rename = "resultType")]
    result_type: String,
}

/// The values of an answer that is a range of them.
#[derive(Debug, Deserialize)]
struct Values {
    data: Matrix,
}

#[derive(Debug, Deserialize)]
struct Matrix {
    result: Vec<Series>,
}

#[derive(Debug, Deserialize)]
struct Series {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
    #[serde(default)]
    histograms: Vec<serde::de::IgnoredAny>,
}

/// The sum of all series at each time.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// By milliseconds of Unix time; `None` where at least one series has no number.
    values: BTreeMap<i64, Option<f64>>,
    labels: BTreeSet<BTreeMap<String, String>>,
    warnings: BTreeSet<String>,
    not_a_number: u64,
}

impl Sums {
    /// Adds the series of one answer.
    pub(super) fn add(&mut self, body: &[u8]) -> Result<(), Problem> {
        for series in series_of(body, &mut self.warnings)? {
            if !series.histograms.is_empty() {
                return Err(Problem::new(
                    "the answer holds native histograms and not numbers",
                    "ask for a rate: wrap the query in histogram_count(…)",
                ));
            }
            for (seconds, text) in &series.values {
                self.add_value(&series, *seconds, text)?;
            }
            self.labels.insert(series.metric);
        }
        Ok(())
    }

    fn add_value(&mut self, series: &Series, seconds: f64, text: &str) -> Result<(), Problem> {
        let at = |what: &str, hint: &str| {
            let labels = shown(&series.metric);
            Problem::new(format!("{what} at {seconds} in {labels}"), hint).text(text)
        };
        let ms = (seconds * 1e3).round();
        if !ms.is_finite() || ms.abs() > 9e15 {
            return Err(at("a time that is none", "the answer is damaged: ask again"));
        }
        let value: f64 = text
            .parse()
            .map_err(|_| at("a value that is no number", "the answer is damaged: ask again"))?;
        if value < 0.0 && value.is_finite() {
            return Err(at(
                "a negative rate",
                "ask for requests per second, for example sum(rate(…[5m]))",
            ));
        }
        let known = value.is_finite().then_some(value);
        self.not_a_number += u64::from(known.is_none());
        self.values
            .entry(ms as i64)
            .and_modify(|sum| *sum = sum.zip(known).map(|(sum, value)| sum + value))
            .or_insert(known);
        Ok(())
    }

    /// Whether no answer held a value.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Counts the sums; `step` is that of the query, told by the values where it is not known.
    ///
    /// # Errors
    /// Series whose sum means nothing, or values whose step cannot be told.
    pub(super) fn fold(
        self,
        name: &str,
        step: Option<Duration>,
        builder: &mut HistoryBuilder,
    ) -> Result<Part, DemandError> {
        let refused = |problem: Problem| DemandError::File(problem.at(name, None));
        let summed = self.summed().map_err(refused)?;
        let mut points: Vec<Point> = self
            .values
            .iter()
            .map(|(ms, rate)| Point { at_ns: i128::from(*ms) * 1_000_000, rate: *rate, line: 0 })
            .collect();
        let step = match step {
            Some(step) => step,
            None => points::order(&mut points).map_err(|(problem, _)| refused(problem))?,
        };
        let missing = points::missing(&points, step);
        let empty = points.iter().filter(|point| point.rate.is_none()).count();
        let mut notes = vec![format!(
            "{name}: values every {} s, each taken as the mean over the {} s before it",
            step.as_secs(),
            step.as_secs()
        )];
        notes.extend(summed.map(|summed| format!("{name}: {summed}")));
        if missing > 0 || empty > 0 {
            notes.push(format!(
                "{name}: gaps, not silence: values that are missing: {missing}, times at which a \
                 series has no finite number: {empty} (in all {} numbers)",
                self.not_a_number
            ));
        }
        notes.extend(
            self.warnings.iter().map(|warning| format!("{name}: the server warns: {warning}")),
        );
        let rows = self.values.len() as u64;
        let mut instants = Vec::with_capacity(self.values.len());
        for (ms, rate) in self.values {
            let at = Timestamp::from_millisecond(ms).map_err(|_| {
                refused(Problem::new(
                    "a time lies outside of the calendar",
                    "the answer is damaged: ask again",
                ))
            })?;
            instants.push((at, rate));
        }
        points::fold(name, instants.into_iter(), step, Stamp::End, builder)?;
        Ok(Part { notes, rows, rows_out_of_order: 0, time_of_week_known: true })
    }

    /// What is said where several series were added up; an error where their sum means nothing.
    fn summed(&self) -> Result<Option<String>, Problem> {
        if self.labels.len() < 2 {
            return Ok(None);
        }
        let names: BTreeSet<&String> = self.labels.iter().flat_map(BTreeMap::keys).collect();
        let differing: Vec<&str> = names
            .into_iter()
            .filter(|name| {
                let values: BTreeSet<_> = self.labels.iter().map(|set| set.get(*name)).collect();
                values.len() > 1
            })
            .map(String::as_str)
            .collect();
        for (label, what) in [
            ("le", "buckets of a histogram, of which each holds the smaller ones"),
            ("quantile", "quantiles"),
            ("__name__", "different metrics"),
        ] {
            if differing.contains(&label) {
                return Err(Problem::new(
                    format!(
                        "the answer has {} series that are {what}: their sum means nothing",
                        self.labels.len()
                    ),
                    "ask for one series of requests per second, for example \
                     sum(rate(vllm:request_success_total[5m]))",
                ));
            }
        }
        Ok(Some(format!(
            "{} series that differ in {} were added up",
            self.labels.len(),
            differing.join(", ")
        )))
    }
}

/// The series of an answer, or what the server says is wrong.
fn series_of(body: &[u8], warnings: &mut BTreeSet<String>) -> Result<Vec<Series>, Problem> {
    let not_an_answer = |error: &serde_json::Error| {
        Problem::new(
            format!("not an answer of query_range: {error}"),
            "save the whole body: curl -G URL/api/v1/query_range -d query=… -d start=… -d end=… \
             -d step=…",
        )
    };
    let envelope: Envelope = serde_json::from_slice(body).map_err(|error| not_an_answer(&error))?;
    if envelope.status != "success" {
        let kind = envelope.error_type.unwrap_or_else(|| "no error type".to_owned());
        let error = envelope.error.unwrap_or_else(|| "no message".to_owned());
        return Err(Problem::new(
            format!("the server answered with an error ({kind}): {error}"),
            "mend the query and ask again",
        ));
    }
    let Some(data) = envelope.data else {
        return Err(Problem::new(
            "the answer has no data",
            "save the answer of query_range, and not of another path",
        ));
    };
    if data.result_type != "matrix" {
        return Err(Problem::new(
            format!("the answer is a {} and not a range of values", data.result_type),
            "ask query_range, and not query",
        ));
    }
    warnings.extend(envelope.warnings);
    let values: Values = serde_json::from_slice(body).map_err(|error| not_an_answer(&error))?;
    Ok(values.data.result)
}

fn shown(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// Counts a saved answer, plain or compressed.
pub(super) fn fold_saved(
    name: &str,
    input: impl std::io::Read,
    builder: &mut HistoryBuilder,
) -> Result<Part, DemandError> {
    let refused = |problem: Problem| DemandError::File(problem.at(name, None));
    let (compression, input) = open_content(input).map_err(refused)?;
    let mut body = Vec::new();
    input
        .take(ANSWER_BYTES_MAX + 1)
        .read_to_end(&mut body)
        .map_err(|error| refused(compression.broken(&error)))?;
    if body.len() as u64 > ANSWER_BYTES_MAX {
        return Err(refused(Problem::new(
            format!("the answer is larger than {} MiB", ANSWER_BYTES_MAX >> 20),
            "add the series up in the query: sum(…)",
        )));
    }
    let mut sums = Sums::default();
    sums.add(&body).map_err(refused)?;
    if sums.is_empty() {
        return Err(refused(Problem::new(
            "the answer holds no values: the query matched nothing in its range",
            "check the metric's name in the query, and the range",
        )));
    }
    sums.fold(name, None, builder)
}
