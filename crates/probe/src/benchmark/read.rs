//! The one door: what a file is, told by its content, and its reader.

use serde_json::Value;

use super::model::{BenchmarkFile, Tool};
use super::node::Node;
use super::refusal::Refusal;
use super::{
    aiperf, bench_serve, csv, guidellm, inference_perf, llmd, llmservingsim, mlperf_inference,
    mlperf_training, parse, tables, text,
};

/// What a file does not say and its owner knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImportOptions {
    /// The unit of times in tables that name none, seconds: 0.001 for milliseconds.
    pub times_in_s: Option<f64>,
}

/// Reads a result of another tool.
///
/// # Errors
///
/// A [`Refusal`] with its place where the file is no result, or a result that contradicts itself.
pub fn read(file: &str, bytes: &[u8]) -> Result<BenchmarkFile, Box<Refusal>> {
    read_with(file, bytes, ImportOptions::default())
}

/// As [`read`], with what the file does not say.
///
/// # Errors
///
/// As [`read`].
pub fn read_with(
    file: &str,
    bytes: &[u8],
    options: ImportOptions,
) -> Result<BenchmarkFile, Box<Refusal>> {
    let (body, encoding) = text::decode(file, bytes)?;
    if body.contains(mlperf_training::MARK) {
        return mlperf_training::log(file, &body);
    }
    let trimmed = body.trim_start();
    if trimmed.starts_with(['{', '[']) {
        return match parse::json(&body) {
            Ok(value) => document(&Node::root(file, None, &value)),
            Err(error) if error.is_eof() || trimmed.starts_with('[') => Err(Refusal::file(
                file,
                format!("the file is no whole JSON: {error}"),
                "fetch it again: it was cut off or edited",
            )),
            Err(_) => lines(file, &parse::json_lines(file, &body)?),
        };
    }
    if let Some(delimiter) = mlperf_inference::delimiter_of(&body) {
        return mlperf_inference::table(file, &body, delimiter, encoding);
    }
    if let Some(found) = comma_separated(file, &body, options) {
        return found;
    }
    if body.lines().any(|line| line.starts_with("apiVersion:")) {
        return Err(Refusal::file(
            file,
            "the file is a Kubernetes manifest: it says what to run, not what was measured",
            "give the report of the run",
        ));
    }
    let value = parse::yaml(file, &body)?;
    document(&Node::root(file, None, &value))
}

/// By what a text is known as the result of a tool, in words; `None` where it is of no known tool.
/// `json` is the document, where the whole text is one, and `line` the first of several.
pub(crate) fn clue(body: &str, json: Option<&Value>, line: Option<&Value>) -> Option<&'static str> {
    if let Some(value) = json {
        return document_clue(value);
    }
    if let Some(value) = line {
        return line_clue(value);
    }
    if body.contains(mlperf_training::MARK) {
        return Some("has lines `:::MLLOG`");
    }
    if mlperf_inference::delimiter_of(body).is_some() {
        return Some("has the columns of MLPerf Inference's table");
    }
    if let Some(clue) = header(body)
        .and_then(|header| header_clue(&header.iter().map(|cell| cell.trim()).collect::<Vec<_>>()))
    {
        return Some(clue);
    }
    let has = |key: &str| body.lines().any(|line| line.starts_with(key));
    if has("scenario:") && (has("metrics:") || has("results:")) {
        return Some("has `scenario` and `metrics` or `results`, as llm-d's report has");
    }
    (has("load_summary:") && has("successes:"))
        .then_some("has `load_summary` and `successes`, as inference-perf has")
}

fn document_clue(value: &Value) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    let first = value.as_array().and_then(|items| items.first()).unwrap_or(value);
    let first_has = |names: &[&str]| names.iter().all(|name| first.get(name).is_some());
    if bench_serve::tool_of(first).is_some() {
        Some("has the fields of a serving benchmark")
    } else if value.is_array() {
        first_has(&["start_time", "end_time", "info"])
            .then_some("each entry has `start_time`, `end_time` and `info`, as inference-perf has")
    } else if value.get("benchmarks").is_some_and(Value::is_array) {
        Some("has the list `benchmarks`, as guidellm has")
    } else if has(&["load_summary", "successes"]) {
        Some("has `load_summary` and `successes`, as inference-perf has")
    } else if has(&["scenario"]) && (has(&["metrics"]) || has(&["results"])) {
        Some("has `scenario` and `metrics` or `results`, as llm-d's report has")
    } else if has(&["engine_kwargs", "vllm_version"]) {
        Some("has `engine_kwargs` and `vllm_version`, as LLMServingSim has")
    } else if has(&["input_config"]) || has(&["aiperf_version"]) {
        Some("has `input_config`, as aiperf has")
    } else if has(&["global", "reports"]) {
        Some("has `global` and `reports`, as inference-perf's validator has")
    } else {
        line_clue(value)
    }
}

fn line_clue(value: &Value) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    if bench_serve::tool_of(value).is_some() {
        Some("each line has the fields of a serving benchmark")
    } else if has(&["metadata", "metrics"]) {
        Some("each line has `metadata` and `metrics`, as aiperf's requests have")
    } else if has(&["queued_ts", "first_token_ts"]) {
        Some("each line has `queued_ts` and `first_token_ts`, as LLMServingSim's have")
    } else {
        None
    }
}

/// The cells of the first line that is not blank.
fn header(body: &str) -> Option<Vec<String>> {
    let first = body.lines().find(|line| !line.trim().is_empty())?;
    csv::rows("", first, ',').ok()?.first().map(|row| row.cells.clone())
}

fn header_clue(header: &[&str]) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().all(|name| header.contains(name));
    if header.first() == Some(&"Metric") && header.len() > 1 {
        Some("begins with the column `Metric`, as aiperf's table does")
    } else if has(&["Type", "Run Id", "Name", "Successful Requests"]) {
        Some("has the columns of guidellm's table")
    } else if has(&["t", "running", "waiting", "kv_cache_pct"]) {
        Some("has the columns `running`, `waiting` and `kv_cache_pct`, as LLMServingSim has")
    } else if has(&["prompt_size", "batch_size", "token_size", "prompt_time"]) {
        Some("has the columns of Splitwise's model")
    } else if tables::names_statistics(header) {
        Some("has columns that name statistics of latencies")
    } else if has(&["TTFT", "ITL"]) {
        Some("has the columns `TTFT` and `ITL`")
    } else {
        None
    }
}

/// A table with commas, told by its header; `None` where the header is of no known table.
fn comma_separated(
    file: &str,
    body: &str,
    options: ImportOptions,
) -> Option<Result<BenchmarkFile, Box<Refusal>>> {
    let header = header(body)?;
    let header: Vec<&str> = header.iter().map(|cell| cell.trim()).collect();
    let has = |names: &[&str]| names.iter().all(|name| header.contains(name));
    Some(if header.first() == Some(&"Metric") && header.len() > 1 {
        aiperf::table(file, body)
    } else if has(&["Type", "Run Id", "Name", "Successful Requests"]) {
        guidellm::table(file, body)
    } else if has(&["t", "running", "waiting", "kv_cache_pct"]) {
        llmservingsim::series(file, body)
    } else if has(&["prompt_size", "batch_size", "token_size", "prompt_time"]) {
        tables::splitwise(file, body)
    } else if tables::names_statistics(&header) {
        tables::statistics(file, body, options.times_in_s)
    } else if has(&["TTFT", "ITL"]) {
        Err(tables::pasted(file))
    } else {
        return None;
    })
}

/// One JSON or YAML value.
fn document(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let has = |names: &[&str]| names.iter().all(|name| root.value.get(name).is_some());
    if let Some(tool) = bench_serve::tool_of(root.value) {
        return bench_serve::runs(root.file, tool, std::slice::from_ref(root));
    }
    if root.value.is_array() {
        let items = root.items();
        let tools: Vec<Option<Tool>> =
            items.iter().map(|item| bench_serve::tool_of(item.value)).collect();
        if let Some(Some(tool)) = tools.first()
            && tools.iter().all(|other| *other == Some(*tool))
        {
            return bench_serve::runs(root.file, *tool, &items);
        }
        let is_requests = items.first().is_some_and(|item| {
            ["start_time", "end_time", "info"].iter().all(|key| item.value.get(key).is_some())
        });
        if is_requests {
            return inference_perf::requests(root);
        }
        return Err(unknown(root));
    }
    if has(&["benchmarks"]) {
        guidellm::report(root)
    } else if has(&["load_summary", "successes"]) {
        inference_perf::report(root)
    } else if has(&["version", "scenario"]) && (has(&["metrics"]) || has(&["results"])) {
        llmd::report(root)
    } else if has(&["engine_kwargs", "vllm_version"]) {
        llmservingsim::meta(root)
    } else if has(&["input_config"]) || has(&["aiperf_version"]) {
        aiperf::json(root)
    } else if has(&["metadata", "metrics"]) || has(&["queued_ts"]) {
        let line = vec![(1, root.value.clone())];
        lines(root.file, &line)
    } else if has(&["global", "reports"]) {
        Err(Refusal::file(
            root.file,
            "the file lists errors of a validator and is no result",
            "give the reports that it speaks of",
        ))
    } else {
        Err(unknown(root))
    }
}

/// JSON lines, told by the first.
fn lines(file: &str, lines: &[(u64, Value)]) -> Result<BenchmarkFile, Box<Refusal>> {
    let Some((line, first)) = lines.first() else {
        return Err(Refusal::file(file, "the file is empty", "give the file of a finished run"));
    };
    let has = |names: &[&str]| names.iter().all(|name| first.get(name).is_some());
    if let Some(tool) = bench_serve::tool_of(first) {
        let nodes: Vec<Node<'_>> =
            lines.iter().map(|(line, value)| Node::root(file, Some(*line), value)).collect();
        return bench_serve::runs(file, tool, &nodes);
    }
    if has(&["metadata", "metrics"]) {
        aiperf::requests(file, lines)
    } else if has(&["queued_ts", "first_token_ts"]) {
        llmservingsim::requests(file, lines)
    } else if has(&["timestamp", "input_length"]) {
        Err(Refusal::file(
            file,
            "the file is a trace of requests: it says what was asked, not how it was served",
            "use it as a demand: cotenant demand",
        ))
    } else {
        Err(unknown(&Node::root(file, Some(*line), first)))
    }
}

fn unknown(root: &Node<'_>) -> Box<Refusal> {
    let keys: Vec<&str> = root
        .value
        .as_object()
        .into_iter()
        .flat_map(|entries| entries.keys().map(String::as_str).take(6))
        .collect();
    Refusal::file(
        root.file,
        format!("the file is the result of no known tool; its keys are {}", keys.join(", ")),
        "give a result of aiperf, guidellm, inference-perf, vllm bench serve, sglang.bench_serving, an \
         llm-d report, an MLPerf log or table",
    )
}
