//! What every workload has.

use super::completion::{BATCH, RENDER, TRAINING};
use super::inference::{INFERENCE_RECORD, OBJECTIVES, TOKENS};
use super::vocabulary::{
    ALL, BYTES, COMPLETION, COUNT, DURATION, DURATION_OR_ZERO, FAILURE_DOMAIN, FLAG, GPUS,
    INFERENCE, ISOLATION, NAME, PLAN, POSITIVE, REPORT, SHARE, STACK, TEXT, WHOLE, field, required,
    scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Record, Shape};

static MODEL: Record = Record {
    what: "the model",
    fields: &[
        required(
            "name",
            NAME,
            STACK,
            "meta-llama/Llama-3.1-8B",
            "Name by which requests ask for it.",
        ),
        field("parameters", COUNT, PLAN, "8.03 B", "Number of parameters."),
        field("layers", POSITIVE, PLAN, "32", "Transformer layers."),
        field("kv_heads", POSITIVE, PLAN, "8", "Key-value heads in one layer."),
        field("head_size", POSITIVE, PLAN, "128", "Values in one head."),
        field(
            "dtype",
            scalar(Scalar::Dtype),
            PLAN,
            "bfloat16",
            "Type of its numbers: `float32`, `float16`, `bfloat16`, `fp8`, `fp4`, `int8`, `int4`.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static MEMORY: Record = Record {
    what: "the memory",
    fields: &[
        field(
            "origin",
            scalar(Scalar::Choice(&["declared", "measured"])),
            PLAN,
            "measured",
            "Where the figures come from; without it, declared.",
        ),
        field("weights", BYTES, PLAN, "16 GiB", "Weights on the GPU."),
        field("kv", BYTES, PLAN, "40 GiB", "Key-value cache on the GPU."),
        field("workspace", BYTES, PLAN, "4 GiB", "Activations and work buffers on the GPU."),
        field("graphs", BYTES, PLAN, "2 GiB", "Captured graphs on the GPU."),
        field(
            "peak",
            BYTES,
            PLAN,
            "68 GiB",
            "The highest use of one GPU that was seen on the device while it ran, everything included.",
        ),
        field(
            "fraction_of_total",
            SHARE,
            PLAN,
            "0.9",
            "Part of a GPU's total memory that the engine takes for itself \
             (`gpu_memory_utilization`): of the total, not of what is free.",
        ),
        field("host", BYTES, PLAN, "12 GiB", "Memory of one of its processes on the host."),
        field("processes", POSITIVE, PLAN, "4", "Its processes on one server."),
        field(
            "sleep_level",
            scalar(Scalar::Integer(1, 2)),
            PLAN,
            "1",
            "How deep it sleeps while its GPUs are lent: at level 1 its weights are kept on the \
             host, at level 2 they are not.",
        ),
        field(
            "checkpoint_transient",
            BYTES,
            PLAN,
            "120 GiB",
            "What a checkpoint takes for a while on the host.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static ALLOCATION: Record = Record {
    what: "the allocation",
    fields: &[
        field(
            "normal",
            GPUS,
            PLAN,
            "4",
            "GPUs in normal operation; a fraction where a GPU is split.",
        ),
        field("minimum_useful", GPUS, PLAN, "2", "The fewest GPUs with which it is of use."),
        field(
            "gang",
            FLAG,
            PLAN,
            "true",
            "Whether it runs on its normal allocation or not at all. Without it, it may run on fewer \
             where its throughput there is declared.",
        ),
        field(
            "minimum_run",
            DURATION,
            PLAN,
            "2 h",
            "The shortest time for which it is worth starting.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static FAULTS: Record = Record {
    what: "a record of faults",
    fields: &[
        required(
            "per_month",
            scalar(Scalar::Number),
            FAILURE_DOMAIN,
            "2",
            "Mean number in 30 days.",
        ),
        field(
            "recovery",
            DURATION_OR_ZERO,
            FAILURE_DOMAIN,
            "4 min",
            "Time until what it took with it serves again.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static LIMITS: Record = Record {
    what: "the limits",
    fields: &[
        field("concurrent", POSITIVE, INFERENCE, "64", "Requests or jobs at once."),
        field("queued", WHOLE, INFERENCE, "256", "Requests or jobs that may wait."),
    ],
    one_of: &[],
    bare: &[],
};

static CLASS: Record = Record {
    what: "a request class",
    fields: &[
        required(
            "name",
            NAME,
            INFERENCE,
            "interactive",
            "Name of the class, unique in its workload.",
        ),
        field(
            "share",
            SHARE,
            INFERENCE,
            "80 %",
            "Its part of all requests. Shares add up to 100 %.",
        ),
        field(
            "prompt_tokens",
            Shape::Record(&TOKENS),
            INFERENCE,
            "{ p50: 200, p95: 900 }",
            "Tokens of its prompts.",
        ),
        field(
            "output_tokens",
            Shape::Record(&TOKENS),
            INFERENCE,
            "{ p50: 60, p95: 300 }",
            "Tokens of its answers.",
        ),
        field(
            "objectives",
            Shape::Record(&OBJECTIVES),
            INFERENCE,
            "{ ttft_p95: 300 ms }",
            "Its own objectives, beside those of the workload.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
static CLASSES: Shape = Shape::Record(&CLASS);

pub(super) static WORKLOAD: Record = Record {
    what: "a workload",
    fields: &[
        required("name", NAME, ALL, "chat", "Name of the workload, unique in the site."),
        field(
            "kind",
            scalar(Scalar::Choice(&["inference", "training", "batch", "render"])),
            REPORT,
            "inference",
            "`inference`, `training`, `batch` or `render`. May be left out: the key of that name \
             says the same.",
        ),
        field("owner", TEXT, REPORT, "team-assist", "Who answers for it."),
        field(
            "model",
            Shape::Record(&MODEL),
            PLAN,
            "{ name: llama, parameters: 8.03 B }",
            "The model that it serves or trains: what memory arithmetic needs.",
        ),
        field(
            "weight",
            scalar(Scalar::PositiveNumber),
            PLAN,
            "3",
            "What its lateness weighs beside that of others; without it, 1.",
        ),
        field(
            "faults",
            Shape::Record(&FAULTS),
            FAILURE_DOMAIN,
            "{ per_month: 2, recovery: 4 min }",
            "How often it dies by a fault of its own, and how long what it took with it is gone.",
        ),
        field(
            "memory",
            Shape::Record(&MEMORY),
            PLAN,
            "{ origin: measured, weights: 16 GiB }",
            "Memory that it really takes, not the size of a file.",
        ),
        field(
            "allocation",
            Shape::Record(&ALLOCATION),
            PLAN,
            "{ normal: 4, minimum_useful: 2 }",
            "Its GPUs.",
        ),
        field(
            "priority",
            scalar(Scalar::Integer(i64::MIN + 1, i64::MAX)),
            PLAN,
            "100",
            "Higher goes first.",
        ),
        field(
            "limits",
            Shape::Record(&LIMITS),
            INFERENCE,
            "{ concurrent: 64, queued: 256 }",
            "What it admits.",
        ),
        field(
            "on_out_of_memory",
            scalar(Scalar::Choice(&["refuse", "shed", "restart", "stop_neighbour"])),
            ISOLATION,
            "refuse",
            "What happens when it runs out of memory: `refuse` new requests, `shed` running ones, \
             `restart`, or `stop_neighbour`.",
        ),
        field(
            "classes",
            Shape::List(&CLASSES),
            INFERENCE,
            "[{ name: interactive, share: 80 % }]",
            "Classes of its requests. Results are shown per class, never averaged over them.",
        ),
        field(
            "inference",
            Shape::Record(&INFERENCE_RECORD),
            INFERENCE,
            "{ endpoint: http://127.0.0.1:8000 }",
            "It answers requests: latency matters.",
        ),
        field(
            "training",
            Shape::Record(&TRAINING),
            COMPLETION,
            "{ objectives: { step_time_max: 2 s } }",
            "It trains: completion of steps matters.",
        ),
        field(
            "batch",
            Shape::Record(&BATCH),
            COMPLETION,
            "{ serving: chat, items: 10 k }",
            "It works through items: completion matters.",
        ),
        field(
            "render",
            Shape::Record(&RENDER),
            COMPLETION,
            "{ engine: cycles, frames: 240 }",
            "It renders frames: completion matters.",
        ),
    ],
    one_of: &["inference", "training", "batch", "render"],
    bare: &[],
};
