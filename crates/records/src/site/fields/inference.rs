//! What is particular to inference.

use super::vocabulary::{
    DURATION, DURATION_OR_ZERO, FAILURE_DOMAIN, GPUS, INFERENCE, PLAN, POSITIVE, RATE,
    REQUEST_RATE, SHARE, STACK, TEST, TEXT, TEXTS, URL, WHOLE, field, required, scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Names, Record, Shape};

static READY: Record = Record {
    what: "the readiness",
    fields: &[
        field(
            "path",
            TEXT,
            TEST,
            "/health",
            "Path on the endpoint's host that answers 2xx when an engine is ready; without it, \
             `/health`. A training job is ready at its first step line.",
        ),
        field(
            "time_limit",
            DURATION,
            TEST,
            "10 min",
            "It has failed to start when it is not ready by then; without it, 10 min.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

pub(super) static LAUNCH: Record = Record {
    what: "the launch",
    fields: &[
        required(
            "argv",
            Shape::List(&TEXTS),
            STACK,
            "[vllm, serve, llama]",
            "Program and arguments; no shell reads them.",
        ),
        field(
            "cwd",
            TEXT,
            TEST,
            "runs",
            "Working directory, relative to the site file; without it, the site file's own.",
        ),
        field(
            "env",
            Shape::ByName(Names::Free, &TEXTS),
            STACK,
            "{ CUDA_VISIBLE_DEVICES: \"0\" }",
            "Variables added to the environment.",
        ),
        field(
            "ready",
            Shape::Record(&READY),
            TEST,
            "{ path: /health, time_limit: 10 min }",
            "How readiness is seen.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

pub(super) static TOKENS: Record = Record {
    what: "a number of tokens",
    fields: &[
        required("p50", WHOLE, INFERENCE, "200", "Median."),
        required("p95", WHOLE, INFERENCE, "900", "95th percentile."),
    ],
    one_of: &[],
    bare: &[],
};

static PART: Record = Record {
    what: "a part of a trace",
    fields: &[
        required("start", DURATION_OR_ZERO, TEST, "1 h", "Its start, from the first request."),
        required("length", DURATION, TEST, "20 min", "Its length."),
    ],
    one_of: &[],
    bare: &[],
};

static TRACE_WINDOW: Record = Record {
    what: "the window",
    fields: &[
        field(
            "busiest",
            DURATION,
            TEST,
            "20 min",
            "The part of this length with the most requests.",
        ),
        field(
            "from",
            Shape::Record(&PART),
            TEST,
            "{ start: 1 h, length: 20 min }",
            "A part by its place.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static TRACE: Record = Record {
    what: "the trace",
    fields: &[
        required(
            "file",
            TEXT,
            INFERENCE,
            "arrivals.csv",
            "The file, relative to the site file; `.gz` is read too.",
        ),
        required(
            "format",
            scalar(Scalar::Choice(&["azure", "mooncake", "csv"])),
            INFERENCE,
            "azure",
            "`azure` (CSV of the Azure LLM traces), `mooncake` (JSON lines), or `csv` with a header \
             that names `time_s`, `prompt_tokens`, `output_tokens`.",
        ),
        field(
            "rate_factor",
            scalar(Scalar::PositiveNumber),
            INFERENCE,
            "0.5",
            "What its rate is multiplied with; without it, 1.",
        ),
        field(
            "window",
            Shape::Variant(&TRACE_WINDOW),
            TEST,
            "{ busiest: 20 min }",
            "The part that is replayed; without it, from the start.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static RATE_RECORD: Record = Record {
    what: "the arrivals",
    fields: &[required("rate", REQUEST_RATE, INFERENCE, "2 req/s", "Mean rate.")],
    one_of: &[],
    bare: &[],
};

static GAMMA: Record = Record {
    what: "the arrivals",
    fields: &[
        required("rate", REQUEST_RATE, INFERENCE, "2 req/s", "Mean rate."),
        required(
            "burstiness",
            scalar(Scalar::PositiveNumber),
            INFERENCE,
            "4",
            "Squared coefficient of variation of the times between arrivals: 1 is Poisson.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static RAMP: Record = Record {
    what: "the ramp",
    fields: &[
        required("from", REQUEST_RATE, INFERENCE, "1 req/s", "Rate at the start."),
        required("to", REQUEST_RATE, INFERENCE, "8 req/s", "Rate at the end."),
        required("duration", DURATION, INFERENCE, "10 min", "Length."),
    ],
    one_of: &[],
    bare: &[],
};

static CLOSED: Record = Record {
    what: "the closed loop",
    fields: &[
        required("users", POSITIVE, INFERENCE, "16", "Users, each of whom waits for the answer."),
        required(
            "think_time",
            DURATION_OR_ZERO,
            INFERENCE,
            "5 s",
            "Time between an answer and the next request.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static QUERY: Record = Record {
    what: "the query",
    fields: &[
        required(
            "url",
            URL,
            PLAN,
            "http://prometheus:9090",
            "Server with the Prometheus query API.",
        ),
        required(
            "query",
            TEXT,
            PLAN,
            "sum(rate(vllm:request_success_total[5m]))",
            "PromQL expression; its value is requests per second.",
        ),
        required("range", DURATION, PLAN, "4 w", "How far back it looks."),
    ],
    one_of: &[],
    bare: &[],
};

static TABLE_ROW: Record = Record {
    what: "a row of the table",
    fields: &[
        required(
            "when",
            scalar(Scalar::Window),
            PLAN,
            "Mon-Fri 08:00-18:00",
            "Weekly window, in local time of the site.",
        ),
        required("rate", REQUEST_RATE, PLAN, "12 req/s", "Mean rate in it."),
    ],
    one_of: &[],
    bare: &[],
};
static TABLE: Shape = Shape::Record(&TABLE_ROW);

static DEMAND: Record = Record {
    what: "the demand",
    fields: &[
        field(
            "trace",
            Shape::Record(&TRACE),
            INFERENCE,
            "{ file: arrivals.csv, format: azure }",
            "Recorded arrivals and lengths.",
        ),
        field(
            "poisson",
            Shape::Record(&RATE_RECORD),
            INFERENCE,
            "{ rate: 2 req/s }",
            "Independent arrivals at a constant mean rate.",
        ),
        field(
            "gamma",
            Shape::Record(&GAMMA),
            INFERENCE,
            "{ rate: 2 req/s, burstiness: 4 }",
            "Bursty arrivals at a constant mean rate.",
        ),
        field(
            "constant",
            Shape::Record(&RATE_RECORD),
            INFERENCE,
            "{ rate: 2 req/s }",
            "Equal times between arrivals.",
        ),
        field(
            "ramp",
            Shape::Record(&RAMP),
            INFERENCE,
            "{ from: 1 req/s, to: 8 req/s, duration: 10 min }",
            "A rate that grows or falls in a straight line.",
        ),
        field(
            "closed",
            Shape::Record(&CLOSED),
            INFERENCE,
            "{ users: 16, think_time: 5 s }",
            "Users who wait for their answers: not an open loop.",
        ),
        field(
            "query",
            Shape::Record(&QUERY),
            PLAN,
            "{ url: http://prometheus:9090, query: \"sum(rate(x[5m]))\", range: 4 w }",
            "A query of a metrics server.",
        ),
        field(
            "table",
            Shape::List(&TABLE),
            PLAN,
            "[{ when: daily 08:00-18:00, rate: 12 req/s }]",
            "Mean rates by time.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

pub(super) static OBJECTIVES: Record = Record {
    what: "the objectives",
    fields: &[
        field(
            "ttft_p95",
            DURATION,
            INFERENCE,
            "500 ms",
            "95th percentile of the time to first token, at most.",
        ),
        field(
            "ttft_p99",
            DURATION,
            INFERENCE,
            "1.2 s",
            "99th percentile of the time to first token, at most.",
        ),
        field(
            "itl_p95",
            DURATION,
            INFERENCE,
            "60 ms",
            "95th percentile of the time between tokens, at most.",
        ),
        field(
            "tpot_p95",
            DURATION,
            INFERENCE,
            "50 ms",
            "95th percentile over requests of (last − first token) ÷ (tokens − 1), at most.",
        ),
        field(
            "e2e_p95",
            DURATION,
            INFERENCE,
            "20 s",
            "95th percentile of the time to the last byte, at most.",
        ),
        field("queue_length", WHOLE, INFERENCE, "32", "Requests that wait in the engine, at most."),
        field(
            "queue_time",
            DURATION,
            INFERENCE,
            "300 ms",
            "Time that a request waits in the engine, at most.",
        ),
        field(
            "error_rate",
            SHARE,
            INFERENCE,
            "0.1 %",
            "Share of requests that do not complete, at most.",
        ),
        field("throughput", RATE, INFERENCE, "4000 tok/s", "Finished work over time, at least."),
        field(
            "availability",
            SHARE,
            FAILURE_DOMAIN,
            "99.9 %",
            "Share of time in which it serves, at least.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

pub(super) static INFERENCE_RECORD: Record = Record {
    what: "an inference workload",
    fields: &[
        field("runtime", TEXT, STACK, "vllm", "The engine."),
        field("version", TEXT, STACK, "0.33.0", "Its exact version."),
        field(
            "arguments",
            Shape::List(&TEXTS),
            STACK,
            "[--max-num-seqs, \"128\"]",
            "Its arguments, where Cotenant does not launch it.",
        ),
        required(
            "endpoint",
            URL,
            INFERENCE,
            "http://127.0.0.1:8000",
            "Base URL of the OpenAI-compatible server, without `/v1`.",
        ),
        field(
            "metrics",
            URL,
            INFERENCE,
            "http://127.0.0.1:8000/metrics",
            "URL of the engine's Prometheus metrics: queue and cache.",
        ),
        field(
            "launch",
            Shape::Record(&LAUNCH),
            TEST,
            "{ argv: [vllm, serve, llama] }",
            "How to start it; without it, it runs already and is never stopped, so training alone (test B) needs it.",
        ),
        required(
            "demand",
            Shape::Variant(&DEMAND),
            INFERENCE,
            "{ poisson: { rate: 2 req/s } }",
            "The load by time: exactly one of the forms.",
        ),
        field("concurrency", POSITIVE, INFERENCE, "64", "Requests in flight at peak."),
        field(
            "prompt_tokens",
            Shape::Record(&TOKENS),
            INFERENCE,
            "{ p50: 400, p95: 3000 }",
            "Tokens of the prompts. Required unless the demand is a trace or classes have their own.",
        ),
        field(
            "output_tokens",
            Shape::Record(&TOKENS),
            INFERENCE,
            "{ p50: 150, p95: 600 }",
            "Tokens of the answers. Required unless the demand is a trace or classes have their own.",
        ),
        field(
            "peak_rate",
            REQUEST_RATE,
            INFERENCE,
            "12 req/s",
            "Highest rate for which the objectives must hold. A test below it proves nothing about it.",
        ),
        required(
            "objectives",
            Shape::Record(&OBJECTIVES),
            INFERENCE,
            "{ ttft_p95: 500 ms }",
            "What must hold: at least one.",
        ),
        field("minimum_reserved", GPUS, PLAN, "4", "GPUs that are never lent."),
        field(
            "burst_reserve",
            scalar(Scalar::Reserve),
            PLAN,
            "derived",
            "GPUs kept free for bursts beyond the minimum, or `derived`.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
