//! The forms of demand: the load by time.

use super::vocabulary::{
    DURATION, DURATION_OR_ZERO, INFERENCE, PLAN, POSITIVE, REQUEST_RATE, TEST, TEXT, URL, field,
    required, scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Record, Shape};

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

const MOMENT: Shape = scalar(Scalar::Moment);

const BEGINS_OF_A_TRACE: &str = "The moment of its first request, where its times are relative. \
    A plan by time of week needs it.";

static TRACE_COLUMNS: Record = Record {
    what: "the columns",
    fields: &[
        field("time", TEXT, INFERENCE, "arrived_s", "Arrival, in seconds; without it, `time_s`."),
        field(
            "prompt_tokens",
            TEXT,
            INFERENCE,
            "input",
            "Tokens of the prompt; without it, `prompt_tokens`.",
        ),
        field(
            "output_tokens",
            TEXT,
            INFERENCE,
            "output",
            "Tokens of the answer; without it, `output_tokens`.",
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
            "The file, relative to the site file; `.gz` and `.zst` are read too.",
        ),
        required(
            "format",
            scalar(Scalar::Choice(&["azure", "mooncake", "burstgpt", "csv", "jsonl"])),
            INFERENCE,
            "azure",
            "`azure` (CSV of the Azure LLM traces), `mooncake` (JSON lines), `burstgpt` (CSV), or \
             `csv` with a header and `jsonl` with keys that are named `time_s`, `prompt_tokens`, \
             `output_tokens` unless `columns` names others.",
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
        field("begins", MOMENT, PLAN, "2026-11-02 00:00", BEGINS_OF_A_TRACE),
        field(
            "columns",
            Shape::Record(&TRACE_COLUMNS),
            INFERENCE,
            "{ time: arrived_s, prompt_tokens: input, output_tokens: output }",
            "Names of the columns of a `csv` or the keys of a `jsonl`.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static RATES: Record = Record {
    what: "a series of rates",
    fields: &[
        required(
            "file",
            TEXT,
            PLAN,
            "rates.csv",
            "CSV with a header, relative to the site file: one row for each interval, all of one \
             length. `.gz` and `.zst` are read too.",
        ),
        field(
            "time_column",
            TEXT,
            PLAN,
            "start_s",
            "Column of the times at which the intervals begin: seconds from the first, or moments. \
             Without it, the first column.",
        ),
        field(
            "rate_column",
            TEXT,
            PLAN,
            "rate_rps",
            "Column of the mean rates, requests per second. Without it, the second column.",
        ),
        field(
            "begins",
            MOMENT,
            PLAN,
            "2026-11-02 00:00",
            "The moment of second 0, where the times are seconds. A plan by time of week needs it.",
        ),
        field(
            "rate_factor",
            scalar(Scalar::PositiveNumber),
            PLAN,
            "0.5",
            "What the rates are multiplied with; without it, 1.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static SAVED_QUERY: Record = Record {
    what: "the saved answer",
    fields: &[required(
        "file",
        TEXT,
        PLAN,
        "requests.json",
        "The JSON that the server's `/api/v1/query_range` gave, relative to the site file; its \
         value is requests per second.",
    )],
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

pub(super) static DEMAND: Record = Record {
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
            "saved_query",
            Shape::Record(&SAVED_QUERY),
            PLAN,
            "{ file: requests.json }",
            "The saved answer of such a query.",
        ),
        field(
            "rates",
            Shape::Record(&RATES),
            PLAN,
            "{ file: rates.csv, begins: 2026-11-02 00:00 }",
            "Mean rates by time, in a file.",
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
