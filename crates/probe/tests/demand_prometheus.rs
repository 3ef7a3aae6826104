//! Demand from a metrics server: saved answers, and a server in this process that answers as
//! Prometheus does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

mod demand_support;

use std::path::Path;
use std::time::Duration;

use cotenant_core::demand::WorkUnit;
use cotenant_core::site::{Demand, DemandQuery};
use cotenant_probe::demand::{DemandError, ProgressUnit, QuerySource, Read, Source, read};
use demand_support::{Server, at, file, message, options, parameter, reading, real_data};

fn saved(folder: &Path, body: &str) -> Result<Read, DemandError> {
    reading(&Source::SavedQuery(file(folder, "a.json", body)))
}

fn matrix(result: &str) -> String {
    format!(r#"{{"status": "success", "data": {{"resultType": "matrix", "result": [{result}]}}}}"#)
}

#[test]
fn values_are_strings_and_speak_of_the_time_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let body = matrix(
        r#"{"metric": {}, "values": [[1700000060, "1.5"], [1700000120, "NaN"], [1700000180, "0"],
           [1700000300.0, "2e1"], [1700000360, "+Inf"]]}"#,
    );
    let read = saved(folder.path(), &body).unwrap();
    assert_eq!((read.rows, read.time_of_week_known), (5, true));
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.start.as_second(), 1_700_000_000);
    assert_eq!(series.step, Duration::from_mins(1));
    let expected = [Some(1.5), None, Some(0.0), None, Some(20.0)];
    assert_eq!(series.values[..5], expected);
    assert!(series.values[5..].iter().all(Option::is_none));
    let said = read.notes.join("\n");
    assert!(
        said.contains(
            "values that are missing: 1, times at which a series has no finite number: 2"
        ),
        "{said}"
    );
}

#[test]
fn series_are_added_up_where_their_sum_means_something() {
    let folder = tempfile::tempdir().unwrap();
    let two = |label: &str| {
        matrix(&format!(
            r#"{{"metric": {{"job": "v", "{label}": "a"}}, "values": [[60, "1"], [120, "2"]]}},
               {{"metric": {{"job": "v", "{label}": "b"}}, "values": [[120, "3"], [180, "4"]]}}"#
        ))
    };
    let read = saved(folder.path(), &two("instance")).unwrap();
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.values, [Some(1.0), Some(5.0), Some(4.0)]);
    let note = "2 series that differ in instance were added up";
    assert!(read.notes.iter().any(|said| said.ends_with(note)), "{:?}", read.notes);
    for (label, what) in [
        ("le", "buckets of a histogram, of which each holds the smaller ones"),
        ("quantile", "quantiles"),
        ("__name__", "different metrics"),
    ] {
        let error = saved(folder.path(), &two(label)).unwrap_err();
        assert_eq!(
            message(&error, folder.path()),
            format!(
                "a.json: the answer has 2 series that are {what}: their sum means nothing; ask for one \
                 series of requests per second, for example sum(rate(vllm:request_success_total[5m]))"
            )
        );
    }
}

#[test]
fn an_answer_that_is_none_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for (body, expected) in [
        (
            r#"{"status": "error", "errorType": "bad_data", "error": "1:1: parse error"}"#.to_owned(),
            "a.json: the server answered with an error (bad_data): 1:1: parse error; mend the query and ask \
             again",
        ),
        (
            matrix(""),
            "a.json: the answer holds no values: the query matched nothing in its range; check the metric's \
             name in the query, and the range",
        ),
        (
            r#"{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}]}}"#
                .to_owned(),
            "a.json: the answer is a vector and not a range of values; ask query_range, and not query",
        ),
        (
            r#"{"status": "success"}"#.to_owned(),
            "a.json: the answer has no data; save the answer of query_range, and not of another path",
        ),
        (
            matrix(r#"{"metric": {"a": "b"}, "values": [[60, "1"], [120, "-2"]]}"#),
            "a.json: a negative rate at 120 in {a=\"b\"} (found \"-2\"); ask for requests per second, for \
             example sum(rate(…[5m]))",
        ),
        (
            matrix(r#"{"metric": {}, "values": [[60, "1"]]}"#),
            "a.json: one value alone does not say for how long it holds; give at least two rows",
        ),
        (
            matrix(r#"{"metric": {}, "values": [[60, "1"], [120, "x"]]}"#),
            "a.json: a value that is no number at 120 in {} (found \"x\"); the answer is damaged: ask again",
        ),
    ] {
        let error = saved(folder.path(), &body).unwrap_err();
        assert_eq!(message(&error, folder.path()), expected);
    }
    let cut = saved(folder.path(), &matrix("")[..40]).unwrap_err().to_string();
    assert!(cut.contains("not an answer of query_range: EOF while parsing"), "{cut}");
    let histograms = matrix(r#"{"metric": {}, "histograms": [[60, {"count": "1"}]]}"#);
    let said = saved(folder.path(), &histograms).unwrap_err().to_string();
    assert!(said.contains("native histograms and not numbers"), "{said}");
}

fn query(url: String, query: &str, range_s: u64) -> Source {
    let demand = Demand::Query(DemandQuery {
        url,
        query: query.to_owned(),
        range: Duration::from_secs(range_s),
    });
    Source::of(&demand, Path::new("/")).unwrap()
}

/// Answers a range query with the hour of the day of each value, as long as it asks for no more
/// points than Prometheus gives.
fn hours(path: &str) -> (u16, String) {
    let number = |name: &str| parameter(path, name).parse::<i64>().unwrap();
    let (start, end, step) = (number("start"), number("end"), number("step"));
    if (end - start) / step > 11_000 {
        let error = "exceeded maximum resolution of 11,000 points per timeseries";
        let body = format!(r#"{{"status":"error","errorType":"bad_data","error":"{error}"}}"#);
        return (400, body);
    }
    let values: Vec<String> = (start..=end)
        .step_by(step as usize)
        .map(|second| format!("[{second},\"{}\"]", second / 3600 % 24))
        .collect();
    (200, matrix(&format!("{{\"metric\":{{}},\"values\":[{}]}}", values.join(","))))
}

#[test]
fn a_long_range_is_asked_for_in_parts() {
    let server = Server::start(hours);
    let days = 28;
    let expression = "sum(rate(vllm:request_success_total{model_name=\"a b\"}[1m]))";
    let source = query(format!("{}/", server.url()), expression, days * 86_400);
    let mut seen = Vec::new();
    let result = read(&source, &options(), &mut |progress| seen.push(progress)).unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    assert!(asked[0].starts_with("/api/v1/query_range?query=sum%28rate%28vllm%3Arequest_success"));
    assert_eq!(parameter(&asked[0], "step"), "60");
    assert_eq!(
        seen.iter().map(|part| (part.done, part.total, part.unit)).collect::<Vec<_>>(),
        [1, 2, 3, 4].map(|done| (done, 4, ProgressUnit::Requests))
    );
    assert_eq!(result.rows, days * 1440);
    let series = result.history.series(WorkUnit::Requests).unwrap();
    assert_eq!(result.history.span(), (at("2024-05-06T12:00:00Z"), at("2024-06-03T12:00:00Z")));
    assert_eq!(series.seen() as u64, days * 1440);
    // The minute before 13:00 has the value that the server gives at 13:00.
    assert_eq!(series.values[59], Some(13.0));
    assert_eq!(series.values[58], Some(12.0));
}

#[test]
fn what_the_server_says_is_said() {
    let server = Server::start(|path| match parameter(path, "query") {
        "bad" => {
            (400, r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#.to_owned())
        }
        "page" => (502, "<html>bad gateway</html>".to_owned()),
        "none" => (200, matrix("")),
        _ => (
            200,
            r#"{"status":"success","warnings":["a shard is away"],"data":{"resultType":"matrix",
             "result":[{"metric":{},"values":[[1717415940,"1"],[1717416000,"2"]]}]}}"#
                .to_owned(),
        ),
    });
    let said = |expression: &str| {
        let error = reading(&query(server.url(), expression, 3600)).unwrap_err().to_string();
        error.replace(&server.url(), "URL")
    };
    assert_eq!(
        said("bad"),
        "URL: the server answered with an error (bad_data): parse error; mend the query and ask again"
    );
    assert_eq!(
        said("page"),
        "URL: it answered with status 502 and a page that is no answer of Prometheus; check the address: \
         the query API lies under URL/api/v1"
    );
    assert_eq!(
        said("none"),
        "URL: the query `none` matched nothing in its range; check the metric's name: look for it under \
         URL/api/v1/label/__name__/values"
    );
    let read = reading(&query(server.url(), "x", 3600)).unwrap();
    let notes = read.notes.join("\n");
    assert!(notes.contains("the server warns: a shard is away"), "{notes}");
    assert!(notes.contains("the query looks over no range of its own"), "{notes}");
    let url = server.url();
    drop(server);
    let error = reading(&query(url, "x", 3600)).unwrap_err().to_string();
    assert!(error.contains("refused") && error.contains("saved_query"), "{error}");
    let error = reading(&query("https://server".to_owned(), "x", 3600)).unwrap_err().to_string();
    assert!(
        error.contains("it does not begin with http://") && error.contains("saved_query"),
        "{error}"
    );
    let short = query("http://server".to_owned(), "rate(x[1h])", 1800);
    assert_eq!(
        reading(&short).unwrap_err().to_string(),
        "http://server: a range of 1800 s is shorter than the 3600 s that one value speaks of; ask for a \
         longer range, or for a rate over a shorter one"
    );
}

/// A runtime around the call is no obstacle.
#[test]
fn a_server_may_be_asked_from_inside_of_a_runtime() {
    let server = Server::start(hours);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let source = query(server.url(), "rate(x[5m])", 3600);
    let read = runtime.block_on(async { reading(&source) }).unwrap();
    assert_eq!(read.rows, 12);
    assert!(matches!(source, Source::Query(QuerySource { .. })));
}

/// Real answers: thirty-second steps, one series for each state.
#[test]
fn saved_answers_of_a_real_server() {
    let Some(data) = real_data() else { return };
    let folder = data.join("3-metrics/prom-api");
    for (name, step_s, rows, series) in
        [("slurmweb_jobs-hour.json", 30, 120, 8), ("slurmweb_cache-hour.json", 60, 61, 1)]
    {
        let source = Source::of_file(&folder.join(name)).unwrap();
        assert!(matches!(source, Source::SavedQuery(_)), "{name}");
        let read = reading(&source).unwrap();
        assert_eq!(read.rows, rows, "{name}");
        let seen = read.history.series(WorkUnit::Requests).unwrap();
        assert_eq!((seen.step.as_secs(), seen.values.len() as u64), (step_s, rows), "{name}");
        let summed = format!("{series} series that differ in state were added up");
        assert_eq!(read.notes.iter().any(|note| note.ends_with(&summed)), series > 1, "{name}");
    }
    let refused = |name: &str| {
        let source = Source::of_file(&folder.join(name)).unwrap();
        message(&reading(&source).unwrap_err(), &folder)
    };
    assert_eq!(
        refused("slurmweb_unknown-path.json"),
        "slurmweb_unknown-path.json: the server answered with an error (bad_data): invalid parameter \
         \"query\": 1:1: parse error: unexpected <op:/>; mend the query and ask again"
    );
    assert!(refused("slurmweb_unknown-metric.json").contains("the answer holds no values"));
}
