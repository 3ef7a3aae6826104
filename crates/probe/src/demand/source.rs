//! Where demand is read from.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::site::Demand;
use jiff::Timestamp;

use super::read::DemandError;
use crate::trace::{ColumnMap, Problem, TraceFormat, csv_cells, open_content, open_file};

/// A place that shows demand by time.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A file with one request a row.
    Trace(TraceSource),
    /// A file with one mean rate a row.
    Rates(RatesSource),
    /// The saved answer of a metrics server's `query_range`.
    SavedQuery(PathBuf),
    /// A metrics server.
    Query(QuerySource),
}

/// A request trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSource {
    /// The file.
    pub path: PathBuf,
    /// Its format; `None` tells it by content.
    pub format: Option<TraceFormat>,
    /// The instant of the file's first row; `None` takes its dates, where it has any.
    pub begins: Option<Timestamp>,
    /// What its demand is multiplied with.
    pub rate_factor: f64,
}

/// A table of mean rates.
#[derive(Clone, Debug, PartialEq)]
pub struct RatesSource {
    /// The file.
    pub path: PathBuf,
    /// The column of times, by its name or its number from 1; `None` takes the first.
    pub time_column: Option<String>,
    /// The column of rates per second, likewise; `None` takes the second.
    pub rate_column: Option<String>,
    /// The instant of second 0; `None` takes the file's dates, where it has any.
    pub begins: Option<Timestamp>,
    /// What its demand is multiplied with.
    pub rate_factor: f64,
}

/// A query of a metrics server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuerySource {
    /// Base URL of a server with the Prometheus query API.
    pub url: String,
    /// The PromQL expression; its value is requests per second.
    pub query: String,
    /// How far back it looks.
    pub range: Duration,
}

impl Source {
    /// The source that a site declares, with relative paths taken from `base`, the site file's
    /// folder. `None` where the demand is declared and not observed, as in a table.
    pub fn of(demand: &Demand, base: &Path) -> Option<Self> {
        match demand {
            Demand::Trace(trace) => Some(Self::Trace(TraceSource {
                path: base.join(&trace.file),
                format: Some(TraceFormat::of_site(trace)),
                begins: trace.begins,
                rate_factor: trace.rate_factor.unwrap_or(1.0),
            })),
            Demand::Rates(rates) => Some(Self::Rates(RatesSource {
                path: base.join(&rates.file),
                time_column: rates.time_column.clone(),
                rate_column: rates.rate_column.clone(),
                begins: rates.begins,
                rate_factor: rates.rate_factor.unwrap_or(1.0),
            })),
            Demand::SavedQuery(file) => Some(Self::SavedQuery(base.join(file))),
            Demand::Query(query) => Some(Self::Query(QuerySource {
                url: query.url.clone(),
                query: query.query.clone(),
                range: query.range,
            })),
            Demand::Poisson { .. }
            | Demand::Gamma { .. }
            | Demand::Constant { .. }
            | Demand::Ramp { .. }
            | Demand::Closed { .. }
            | Demand::Table(_) => None,
        }
    }

    /// The source that a file is, told by its beginning: a saved answer, a trace of known columns,
    /// or else a table of rates.
    ///
    /// # Errors
    /// The file cannot be opened, is empty, or is no text.
    pub fn of_file(path: &Path) -> Result<Self, DemandError> {
        let name = path.display().to_string();
        let beginning = beginning(path, &name)?;
        let first = beginning.lines().next().unwrap_or_default();
        let is_json = beginning.starts_with('{');
        // An answer may be one line of many megabytes or spread over many; a row of a trace is one
        // whole object.
        let is_answer = is_json
            && (first.trim() == "{"
                || beginning.contains("\"resultType\"")
                || beginning.contains("\"errorType\""));
        let is_trace = if is_json {
            !is_answer
        } else {
            let cells = csv_cells(first).unwrap_or_default();
            let names: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
            // A trace of other columns is read as one, so that the error asks for their names.
            ColumnMap::knows(&names) || names.iter().any(|name| name.contains("oken"))
        };
        let path = path.to_owned();
        Ok(if is_trace {
            Self::Trace(TraceSource { path, format: None, begins: None, rate_factor: 1.0 })
        } else if is_answer {
            Self::SavedQuery(path)
        } else {
            Self::Rates(RatesSource {
                path,
                time_column: None,
                rate_column: None,
                begins: None,
                rate_factor: 1.0,
            })
        })
    }

    /// The file's path as it was joined, or the server's address: what stands in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Trace(TraceSource { path, .. })
            | Self::Rates(RatesSource { path, .. })
            | Self::SavedQuery(path) => path.display().to_string(),
            Self::Query(query) => query.url.clone(),
        }
    }
}

/// The first bytes of a file as text, unpacked.
fn beginning(path: &Path, name: &str) -> Result<String, DemandError> {
    let problem_at = |problem: Problem| DemandError::File(problem.at(name, None));
    let (compression, mut input) = open_content(open_file(path, name)?).map_err(problem_at)?;
    let bytes = input.fill_buf().map_err(|error| problem_at(compression.broken(&error)))?;
    let text = String::from_utf8_lossy(bytes);
    Ok(text.trim_start_matches('\u{feff}').trim_start().to_owned())
}
