//! A metrics server that is asked for a range of values, part by part.

use std::time::Duration;

use cotenant_core::demand::{HistoryBuilder, STEPS_MAX};
use jiff::Timestamp;

use super::answer::Sums;
use super::promql;
use super::read::{DemandError, Part, Progress, ProgressUnit, ReadOptions};
use super::source::QuerySource;
use crate::http;

/// Most values of one series that a Prometheus server gives at once.
const POINTS_MAX: u64 = 11_000;

/// The distance of values where the query looks over no range of its own.
const STEP: Duration = Duration::from_mins(1);

/// Asks the server on a thread of its own, because its caller may live in an asynchronous runtime.
pub(super) fn fold(
    source: &QuerySource,
    options: &ReadOptions,
    progress: &mut (dyn FnMut(Progress) + Send),
    builder: &mut HistoryBuilder,
) -> Result<Part, DemandError> {
    let failed = |problem: String, hint: &str| DemandError::Server {
        url: source.url.clone(),
        problem,
        hint: hint.to_owned(),
    };
    let questions =
        Questions::of(source, options.now).map_err(|(problem, hint)| failed(problem, hint))?;
    let ask = || {
        // The runtime lives and ends on this thread: it may not end inside of another one.
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(format!("no way to ask: {error}"), "free some file handles"))?
            .block_on(ask_all(source, &questions, options.patience, progress))
    };
    let sums = std::thread::scope(|scope| scope.spawn(ask).join());
    let sums = match sums {
        Ok(sums) => sums?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    if sums.is_empty() {
        return Err(failed(
            format!("the query `{}` matched nothing in its range", source.query),
            "check the metric's name: look for it under URL/api/v1/label/__name__/values",
        ));
    }
    let mut part = sums.fold(&source.url, Some(questions.step), builder)?;
    if questions.range.is_none() {
        part.notes.push(format!(
            "{}: the query looks over no range of its own, so a burst between two values is not seen",
            source.url
        ));
    }
    Ok(part)
}

/// The times that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Questions {
    /// The longest range of the query.
    range: Option<Duration>,
    step: Duration,
    /// The first and the last time of a value, Unix seconds: whole multiples of the step, so that
    /// the same values come whenever one asks.
    first_s: i64,
    last_s: i64,
}

impl Questions {
    /// The values stand as far apart as the query looks back, so that together they cover all of the
    /// time, and no time twice.
    fn of(source: &QuerySource, now: Timestamp) -> Result<Self, (String, &'static str)> {
        let range = promql::longest_range(&source.query);
        let step_s = range.unwrap_or(STEP).as_secs_f64().ceil().max(1.0) as i64;
        let count = i64::try_from(source.range.as_secs()).unwrap_or(i64::MAX) / step_s;
        if count < 1 {
            let problem = format!(
                "a range of {} s is shorter than the {step_s} s that one value speaks of",
                source.range.as_secs()
            );
            return Err((problem, "ask for a longer range, or for a rate over a shorter one"));
        }
        if count > STEPS_MAX as i64 {
            let problem =
                format!("the range holds {count} values, and at most {STEPS_MAX} are kept");
            return Err((problem, "ask for a shorter range, or for a rate over a longer one"));
        }
        let last_s = now.as_second().div_euclid(step_s) * step_s;
        Ok(Self {
            range,
            step: Duration::from_secs(step_s as u64),
            first_s: last_s - (count - 1) * step_s,
            last_s,
        })
    }

    /// The first and the last time of each request.
    fn parts(&self) -> Vec<(i64, i64)> {
        let step_s = self.step.as_secs() as i64;
        let length_s = (POINTS_MAX as i64 - 1) * step_s;
        let starts = (0..).map(|part| self.first_s + part * (length_s + step_s));
        starts
            .take_while(|start| *start <= self.last_s)
            .map(|start| (start, (start + length_s).min(self.last_s)))
            .collect()
    }
}

async fn ask_all(
    source: &QuerySource,
    questions: &Questions,
    patience: Duration,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Sums, DemandError> {
    let parts = questions.parts();
    let mut sums = Sums::default();
    for (done, part) in (1_u64..).zip(&parts) {
        ask(source, questions.step, *part, patience, &mut sums).await?;
        progress(Progress { done, total: parts.len() as u64, unit: ProgressUnit::Requests });
    }
    Ok(sums)
}

async fn ask(
    source: &QuerySource,
    step: Duration,
    (start, end): (i64, i64),
    patience: Duration,
    sums: &mut Sums,
) -> Result<(), DemandError> {
    let base = source.url.trim_end_matches('/');
    let query = promql::percent_encoded(&source.query);
    let url = format!(
        "{base}/api/v1/query_range?query={query}&start={start}&end={end}&step={}",
        step.as_secs()
    );
    let failed = |problem: String, hint: &str| DemandError::Server {
        url: source.url.clone(),
        problem,
        hint: hint.to_owned(),
    };
    let (status, body) = http::get(&url, patience).await.map_err(|error| {
        // hyper's words for a body beyond what is read.
        if error.reason.contains("length limit") {
            return failed(error.reason, "add the series up in the query: sum(…)");
        }
        failed(
            error.reason,
            "check the address and that the server runs; where it needs a password or https, save \
             an answer with curl and declare it as `saved_query`",
        )
    })?;
    match sums.add(&body) {
        Ok(()) if status == 200 => Ok(()),
        Ok(()) => {
            Err(failed(format!("it answered with status {status}"), "ask it by hand with curl"))
        }
        // A proxy's page is no answer of the server's: its status says more than its text.
        Err(problem) if status != 200 && problem.what.starts_with("not an answer") => Err(failed(
            format!("it answered with status {status} and a page that is no answer of Prometheus"),
            "check the address: the query API lies under URL/api/v1",
        )),
        Err(problem) => Err(failed(problem.what, &problem.hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions(query: &str, range_s: u64, now_s: i64) -> Option<Questions> {
        let source = QuerySource {
            url: "http://server".to_owned(),
            query: query.to_owned(),
            range: Duration::from_secs(range_s),
        };
        Questions::of(&source, Timestamp::from_second(now_s).unwrap()).ok()
    }

    #[test]
    fn values_tile_the_range() {
        let asked = questions("rate(x[5m])", 3600, 1_700_000_123).unwrap();
        assert_eq!(asked.step, Duration::from_mins(5));
        assert_eq!(asked.last_s, 1_699_999_800 + 300);
        // Each value speaks of the step before it: twelve of them are an hour.
        assert_eq!(asked.last_s - asked.first_s, 11 * 300);
        assert_eq!(asked.parts(), [(asked.first_s, asked.last_s)]);
        assert_eq!(questions("x", 3600, 0).unwrap().step, STEP);
        assert!(questions("rate(x[1h])", 3599, 0).is_none());
    }

    #[test]
    fn parts_hold_every_value_once_and_no_more_than_the_server_gives() {
        for count in [1_u64, 2, 10_999, 11_000, 11_001, 22_000, 40_321] {
            let asked = questions("x", count * 60, 1_700_000_000).unwrap();
            let mut expected = asked.first_s;
            for (start, end) in asked.parts() {
                assert_eq!(start, expected);
                assert!((end - start) / 60 < POINTS_MAX as i64);
                expected = end + 60;
            }
            assert_eq!(expected, asked.last_s + 60, "{count}");
        }
    }
}
