//! What each metric means, and what other tools call it.

use crate::model::{Column, Table, Value};

/// Metric, formula, and the other tools' names for it.
const FORMULAS: [(&str, &str, &str); 11] = [
    (
        "TTFT",
        "first token of any kind (reasoning included) − intended send; +∞ unless the request completed",
        "vLLM, SGLang: TTFT, from the send · aiperf: time_to_first_token, from the request's start · \
         guidellm: time_to_first_token_ms, from the start",
    ),
    (
        "ITL",
        "time between two chunks of one token each, pooled over requests",
        "vLLM, SGLang: ITL · aiperf: inter_chunk_latency; its inter_token_latency is our TPOT",
    ),
    (
        "chunk gap",
        "time between two chunks that carry tokens, where a chunk may hold several; no single token's \
         time follows from it",
        "vLLM: ITL · aiperf: inter_chunk_latency",
    ),
    (
        "TPOT",
        "(last token − first token) ÷ (output tokens − 1), by request",
        "vLLM, SGLang: TPOT, with (E2E − TTFT) above · aiperf, guidellm: inter_token_latency · \
         guidellm's time_per_output_token holds the TTFT too",
    ),
    (
        "E2E",
        "last byte − intended send; +∞ unless the request completed",
        "vLLM: E2EL, from the send · aiperf: request_latency · guidellm: request_latency",
    ),
    (
        "longest gap",
        "the longest time between two chunks of one answer",
        "aiperf: the maximum of inter_chunk_latency; no other tool names it",
    ),
    (
        "stalls",
        "chunk gaps longer than the client's stall threshold: how many, how long together, and in how \
         many requests",
        "no other tool names them",
    ),
    (
        "error share",
        "requests that did not complete ÷ requests intended in the judged part",
        "aiperf: error_request_count · guidellm: errored and incomplete, apart",
    ),
    (
        "lateness",
        "actual send − intended send, of the load client itself",
        "guidellm: dispatch delay · aiperf: credit_to_start_latency · inference-perf: schedule_delay",
    ),
    (
        "step time",
        "duration of a training step as its line says, else the time between two consecutive lines; \
         the mean is judged",
        "",
    ),
    (
        "amplification, slowdown, retention",
        "latency together ÷ alone · step time together ÷ alone · throughput together ÷ alone, by pair \
         of blocks; they judge nothing",
        "",
    ),
];

/// The table of formulas.
pub(super) fn formulas() -> Table {
    let column = |key: &str, title: &str| Column {
        key: key.to_owned(),
        title: title.to_owned(),
        numeric: false,
    };
    let row = |(metric, formula, others): (&str, &str, &str)| {
        let others = if others.is_empty() { "–" } else { others };
        vec![Value::words(metric), Value::words(formula), Value::words(others)]
    };
    Table {
        key: "formulas".to_owned(),
        title: "What each metric means".to_owned(),
        note:
            "Every quantile is the ⌈qn⌉-th smallest of n values. A quantile objective is judged as \
               the share of requests that miss it, with one-sided 95 % bounds over blocks."
                .to_owned(),
        columns: vec![
            column("metric", "metric"),
            column("formula", "formula"),
            column("others", "other tools' names"),
        ],
        rows: FORMULAS.into_iter().map(row).collect(),
        empty: String::new(),
    }
}
