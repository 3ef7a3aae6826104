//! What is particular to training, batch and rendering.

use cotenant_core::site::LogProducer;

use super::inference::LAUNCH;
use super::vocabulary::{
    BYTES, COMPLETION, COUNT, DURATION, DURATION_OR_ZERO, FLAG, ISOLATION, NAME, NAMES, PLAN,
    POSITIVE, RATE, REPORT, SHARE, STACK, TEMPLATE, TEST, TEXT, TEXTS, TRANSITION, field, required,
    scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Record, Shape};

static PARALLELISM: Record = Record {
    what: "the parallelism",
    fields: &[
        field("dp", POSITIVE, PLAN, "2", "Data parallel replicas; without it, 1."),
        field(
            "fsdp",
            POSITIVE,
            PLAN,
            "4",
            "Ranks over which parameters are sharded; without it, 1.",
        ),
        field("tp", POSITIVE, PLAN, "1", "Tensor parallel size; without it, 1."),
        field("pp", POSITIVE, PLAN, "1", "Pipeline stages; without it, 1."),
        field(
            "ep",
            POSITIVE,
            PLAN,
            "1",
            "Expert parallel size, over ranks that the others count; without it, 1.",
        ),
        field(
            "collectives",
            Shape::List(&NAMES),
            PLAN,
            "[all_gather, reduce_scatter]",
            "Collectives that it uses.",
        ),
        field("needs_p2p", FLAG, PLAN, "true", "Whether GPUs must reach each other directly."),
    ],
    one_of: &[],
    bare: &[],
};
static PARALLELISM_SHAPE: Shape = Shape::Record(&PARALLELISM);

static THROUGHPUT_AT: Record = Record {
    what: "a throughput",
    fields: &[
        required("gpus", POSITIVE, COMPLETION, "4", "Number of GPUs."),
        required("throughput", RATE, COMPLETION, "42000 tok/s", "Throughput alone on them."),
    ],
    one_of: &[],
    bare: &[],
};
static THROUGHPUTS: Shape = Shape::Record(&THROUGHPUT_AT);

static DEADLINE: Record = Record {
    what: "the deadline",
    fields: &[
        field(
            "at",
            scalar(Scalar::Moment),
            COMPLETION,
            "2026-12-04 18:00",
            "Once: the last good moment, in the site's time zone unless it names its own.",
        ),
        field(
            "start",
            scalar(Scalar::Moment),
            COMPLETION,
            "2026-12-01 09:00",
            "With `at`: the earliest moment at which the work may begin.",
        ),
        field(
            "weekly",
            scalar(Scalar::Weekly),
            COMPLETION,
            "Fri 18:00",
            "Recurring: days and a local time.",
        ),
    ],
    one_of: &["at", "weekly"],
    bare: &[],
};

static TRAINING_OBJECTIVES: Record = Record {
    what: "the objectives",
    fields: &[
        field(
            "deadline",
            Shape::Record(&DEADLINE),
            COMPLETION,
            "{ at: 2026-12-04 18:00 }",
            "When the work must be done: once or each week.",
        ),
        field(
            "on_time_share",
            SHARE,
            COMPLETION,
            "95 %",
            "Share of the occurrences of a recurring deadline that must be met.",
        ),
        field("step_time_max", DURATION, COMPLETION, "2 s", "Mean time of a step, at most."),
        field("throughput_min", RATE, COMPLETION, "30000 tok/s", "Throughput, at least."),
    ],
    one_of: &[],
    bare: &[],
};

static CHECKPOINT: Record = Record {
    what: "the checkpoint",
    fields: &[
        field(
            "interval",
            scalar(Scalar::Interval),
            TRANSITION,
            "30 min",
            "How often one is written: a time or `500 steps`.",
        ),
        field("duration", DURATION_OR_ZERO, TRANSITION, "40 s", "How long one takes."),
        field(
            "resume_duration",
            DURATION_OR_ZERO,
            TRANSITION,
            "90 s",
            "From start to the first new step.",
        ),
        field(
            "asynchronous",
            FLAG,
            TRANSITION,
            "false",
            "Whether training goes on while it is written.",
        ),
        field("host_memory", BYTES, PLAN, "120 GiB", "Host memory taken while it is written."),
        field("size", BYTES, PLAN, "96 GiB", "Size on disk."),
        field(
            "signal",
            scalar(Scalar::Signal),
            TEST,
            "USR1",
            "Signal that asks a running job for one.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static SLURM: Record = Record {
    what: "a job of Slurm's",
    fields: &[
        required(
            "submit",
            Shape::List(&TEXTS),
            STACK,
            "[sbatch, --parsable, train.sbatch]",
            "Program and arguments that submit it and print its number; no shell reads them.",
        ),
        required(
            "output",
            TEXT,
            TEST,
            "slurm-%j.out",
            "The file that its output goes to, relative to the site file; `%j` stands for its number.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static PREEMPTION: Record = Record {
    what: "the preemption",
    fields: &[
        required(
            "allowed",
            FLAG,
            TRANSITION,
            "true",
            "Whether the job may be stopped for inference.",
        ),
        field("signal", scalar(Scalar::Signal), TRANSITION, "TERM", "Signal that announces it."),
        field(
            "notice",
            DURATION_OR_ZERO,
            TRANSITION,
            "60 s",
            "Time from the signal until it is stopped by force.",
        ),
        field(
            "lost_work",
            scalar(Scalar::LostWork),
            TRANSITION,
            "none",
            "Work done again: `none`, `since_checkpoint`, `20 steps` or `3 min`.",
        ),
        field(
            "mean_time_to_loss",
            DURATION,
            TRANSITION,
            "2 d",
            "Mean time between losses that nothing announces, such as a node that fails.",
        ),
        field(
            "failure_share_max",
            SHARE,
            TRANSITION,
            "1 %",
            "Share of preemptions that may fail, at most.",
        ),
        field(
            "slurm",
            Shape::Record(&SLURM),
            TRANSITION,
            "{ submit: [sbatch, --parsable, train.sbatch], output: slurm-%j.out }",
            "The job of Slurm's that it is, in place of a `launch`. A drill requeues it with `scontrol requeuehold`, and releases it again.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

/// `cotenant`, and the names of `core::site::LogProducer`.
const LOG_FORMATS: [&str; LogProducer::NAMES.len() + 1] = {
    let mut names = ["cotenant"; LogProducer::NAMES.len() + 1];
    let mut at = 0;
    while at < LogProducer::NAMES.len() {
        names[at + 1] = LogProducer::NAMES[at].0;
        at += 1;
    }
    names
};

static LOG: Record = Record {
    what: "the log",
    fields: &[
        field(
            "format",
            scalar(Scalar::Choice(&LOG_FORMATS)),
            TEST,
            "torchtitan",
            "`cotenant` (the embedded trainer), `torchtitan`, `megatron`, `nemo`, `fsdp`, `deepspeed`, \
             `hf_trainer`, `lightning`, `llama_factory`, `nanogpt`, `llm_c`, `mlperf`, `cycles` (its \
             frames are the steps), or `auto`, which tells it by the lines.",
        ),
        field(
            "step",
            TEMPLATE,
            TEST,
            "\"step={step} loss={loss} step_s={step_s}\"",
            "Template of the step line: text matches itself, a name in braces a value, `{*}` anything.",
        ),
        field(
            "checkpoint",
            TEMPLATE,
            TEST,
            "\"saved step={step} in {duration_s}\"",
            "Template of the line that says that a checkpoint is complete.",
        ),
        field(
            "resumed",
            TEMPLATE,
            TEST,
            "\"resumed step={step}\"",
            "Template of the line that says from which step the job resumed.",
        ),
    ],
    one_of: &["format", "step"],
    bare: &[],
};

pub(super) static TRAINING: Record = Record {
    what: "a training workload",
    fields: &[
        field(
            "type",
            TEXT,
            REPORT,
            "lora",
            "`pretrain`, `full_fine_tune`, `lora`, `rl`, or another word.",
        ),
        field(
            "parallelism",
            Shape::Either(Scalar::Choice(&["single"]), &PARALLELISM_SHAPE),
            PLAN,
            "{ fsdp: 4, needs_p2p: true }",
            "How it is spread over GPUs, or `single`.",
        ),
        field(
            "launch",
            Shape::Record(&LAUNCH),
            TEST,
            "{ argv: [python, train.py] }",
            "How to start it. Without it Cotenant cannot test, and only imported evidence counts.",
        ),
        field(
            "step_time_alone",
            DURATION,
            COMPLETION,
            "1.4 s",
            "Time of one step with the machine to itself.",
        ),
        field(
            "throughput_alone",
            Shape::List(&THROUGHPUTS),
            COMPLETION,
            "[{ gpus: 4, throughput: 42000 tok/s }]",
            "Throughput alone by number of GPUs: scaling is never assumed linear.",
        ),
        field("steps", COUNT, COMPLETION, "12000", "Steps of the whole job."),
        field(
            "work",
            scalar(Scalar::Work),
            COMPLETION,
            "20 B tok",
            "Work of the whole job, where it is not counted in steps.",
        ),
        field("jobs_per_week", scalar(Scalar::PositiveNumber), PLAN, "3", "Jobs in a week."),
        field("duration", DURATION, PLAN, "9 h", "Time of one job alone on its normal allocation."),
        required(
            "objectives",
            Shape::Record(&TRAINING_OBJECTIVES),
            COMPLETION,
            "{ step_time_max: 2 s }",
            "What must hold: at least one.",
        ),
        field(
            "checkpoint",
            Shape::Record(&CHECKPOINT),
            TRANSITION,
            "{ interval: 30 min, duration: 40 s }",
            "How its state is saved.",
        ),
        field(
            "preemption",
            Shape::Record(&PREEMPTION),
            TRANSITION,
            "{ allowed: true, signal: TERM, notice: 60 s }",
            "How it gives way.",
        ),
        field("log", Shape::Record(&LOG), TEST, "{ format: cotenant }", "How its log is read."),
    ],
    one_of: &[],
    bare: &[],
};

pub(super) static BATCH: Record = Record {
    what: "a batch workload",
    fields: &[
        field(
            "serving",
            NAME,
            COMPLETION,
            "chat",
            "It runs as requests through the engine of this inference workload.",
        ),
        field(
            "job",
            Shape::Record(&LAUNCH),
            COMPLETION,
            "{ argv: [python, embed.py] }",
            "It runs as a job of its own.",
        ),
        field("items", COUNT, COMPLETION, "250 k", "Items of the whole batch."),
        field(
            "throughput_alone",
            RATE,
            COMPLETION,
            "40 items/s",
            "Throughput with the machine to itself.",
        ),
        field(
            "deadline",
            Shape::Record(&DEADLINE),
            COMPLETION,
            "{ weekly: Mon-Fri 06:00 }",
            "When it must be done.",
        ),
        field("class", NAME, PLAN, "bulk", "Service class that it belongs to."),
    ],
    one_of: &["serving", "job"],
    bare: &[],
};

pub(super) static RENDER: Record = Record {
    what: "a render workload",
    fields: &[
        field("engine", TEXT, STACK, "cycles", "The renderer: Cycles, OptiX, Vulkan and others."),
        field("version", TEXT, STACK, "5.0.1", "Its exact version."),
        field(
            "needs",
            scalar(Scalar::Choice(&["compute", "graphics"])),
            ISOLATION,
            "compute",
            "`compute` alone, or a `graphics` path, which a compute partition does not give.",
        ),
        field(
            "launch",
            Shape::Record(&LAUNCH),
            TEST,
            "{ argv: [blender, -b, scene.blend] }",
            "How to start it.",
        ),
        field("frames", COUNT, COMPLETION, "240", "Frames of the whole job."),
        field(
            "frame_time_alone",
            DURATION,
            COMPLETION,
            "45 s",
            "Time of one frame with the machine to itself.",
        ),
        field("frame_time_max", DURATION, COMPLETION, "60 s", "Mean time of a frame, at most."),
        field(
            "scene_memory",
            BYTES,
            PLAN,
            "18 GiB",
            "Geometry, textures and acceleration structures on the GPU.",
        ),
        field(
            "restart_unit",
            scalar(Scalar::Choice(&["frame", "tile"])),
            TRANSITION,
            "frame",
            "What is done again after a stop.",
        ),
        field(
            "preemption",
            Shape::Record(&PREEMPTION),
            TRANSITION,
            "{ allowed: true, signal: TERM, notice: 2 min }",
            "How it gives way. Frames that are saved stay: what is lost is counted in frames.",
        ),
        field(
            "log",
            Shape::Record(&LOG),
            TEST,
            "{ format: cycles }",
            "How its log is read: a step is a frame.",
        ),
        field(
            "deadline",
            Shape::Record(&DEADLINE),
            COMPLETION,
            "{ at: 2026-12-04 18:00 }",
            "When it must be done.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
