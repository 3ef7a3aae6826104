//! What is particular to inference.

use super::demand::DEMAND;
use super::vocabulary::{
    COUNT, DURATION, FAILURE_DOMAIN, GPUS, INFERENCE, PLAN, POSITIVE, RATE, REQUEST_RATE, SHARE,
    STACK, TEST, TEXT, TEXTS, TOKEN_RATE, TRANSITION, URL, WHOLE, field, required, scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Names, Record, Shape};

static SLEEP: Record = Record {
    what: "the sleep of an engine",
    fields: &[required(
        "level",
        scalar(Scalar::Integer(1, 2)),
        TRANSITION,
        "1",
        "1: weights go to host memory. 2: they are dropped, and loaded again at the wake-up.",
    )],
    one_of: &[],
    bare: &[],
};

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

static GUARD: Record = Record {
    what: "the guard",
    fields: &[
        field(
            "ttft_p95",
            DURATION,
            TEST,
            "3 s",
            "Time to first token, 95th percentile over the window: requests without an answer count \
             once they are later.",
        ),
        field("e2e_p95", DURATION, TEST, "60 s", "Time to the last byte, 95th percentile."),
        field(
            "longest_gap_p95",
            DURATION,
            TEST,
            "2 s",
            "Longest time between two tokens of a request, 95th percentile over requests.",
        ),
        field("error_rate", SHARE, TEST, "5 %", "Share of requests that do not complete."),
        field("window", DURATION, TEST, "5 s", "How far back is looked; without it, 10 s."),
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
            "Time that a request waits in the engine, at most, for 95 % of the requests; read from the \
             engine's own histogram, so a bound of its buckets decides best.",
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

static CAPACITY: Record = Record {
    what: "the capacity",
    fields: &[
        required(
            "gpus",
            scalar(Scalar::PositiveNumber),
            PLAN,
            "1",
            "GPUs of one replica; a fraction where it runs in a slice.",
        ),
        field(
            "origin",
            scalar(Scalar::Choice(&["declared", "measured"])),
            PLAN,
            "measured",
            "Where the figures come from; without it, declared.",
        ),
        field("requests", REQUEST_RATE, PLAN, "4 req/s", "Requests."),
        field(
            "requests_in_flight",
            scalar(Scalar::PositiveNumber),
            PLAN,
            "128",
            "Requests in flight.",
        ),
        field("kv_tokens", COUNT, PLAN, "400 k", "Tokens in the key-value cache."),
        field("prefill", TOKEN_RATE, PLAN, "18000 tok/s", "Prompt tokens."),
        field("output", TOKEN_RATE, PLAN, "2500 tok/s", "Output tokens."),
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
        field(
            "sleep",
            Shape::Record(&SLEEP),
            TRANSITION,
            "{ level: 1 }",
            "It may be put to sleep over its API (vLLM with `--enable-sleep-mode` and `VLLM_SERVER_DEV_MODE=1`); without it, it never is.",
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
        field(
            "capacity",
            Shape::Record(&CAPACITY),
            PLAN,
            "{ gpus: 1, origin: measured, requests: 4 req/s }",
            "What one replica carries while every objective holds: it turns demand into GPUs. \
             Capacity comes in whole replicas, and the unit that needs the most of them binds.",
        ),
        field(
            "service_time",
            DURATION,
            PLAN,
            "6 s",
            "Mean time that a request stays in the engine: it turns rates into requests in flight.",
        ),
        field("minimum_reserved", GPUS, PLAN, "4", "GPUs that are never lent."),
        field(
            "burst_reserve",
            scalar(Scalar::Reserve),
            PLAN,
            "derived",
            "GPUs kept free for bursts beyond the minimum, or `derived`.",
        ),
        field(
            "guard",
            Shape::Record(&GUARD),
            TEST,
            "{ ttft_p95: 3 s, error_rate: 5 %, window: 5 s }",
            "Bounds beyond which a test stops the neighbour at once and ends. A test beside an endpoint \
             that it did not start needs them.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
