//! How the workloads share.

use super::vocabulary::{
    BANDWIDTH, BYTES, GPUS, INDEXES, ISOLATION, NAME, PLAN, POSITIVE, SHARE, STACK, TEXT, TEXTS,
    WHOLE, field, required, scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Names, Record, Shape};

static GPU_LIST: Shape = INDEXES;

static MIG_INSTANCE: Record = Record {
    what: "a MIG instance",
    fields: &[
        required("profile", TEXT, STACK, "3g.40gb", "Profile as the driver names it."),
        field(
            "placement",
            WHOLE,
            STACK,
            "4",
            "Start on the memory grid; without it the driver chooses.",
        ),
        field("workload", NAME, PLAN, "chat", "Workload that runs in it."),
    ],
    one_of: &[],
    bare: &[],
};
static MIG_INSTANCES: Shape = Shape::Record(&MIG_INSTANCE);

static MIG_GPU: Record = Record {
    what: "a MIG layout",
    fields: &[
        required("gpus", INDEXES, STACK, "[0, 1]", "GPUs that are laid out this way."),
        required(
            "instances",
            Shape::List(&MIG_INSTANCES),
            STACK,
            "[{ profile: 3g.40gb, workload: chat }]",
            "The exact instances, in order.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
static MIG: Shape = Shape::Record(&MIG_GPU);

static MPS_CLIENT: Record = Record {
    what: "an MPS client",
    fields: &[
        field(
            "percentage",
            SHARE,
            STACK,
            "70 %",
            "Limit of active threads. It limits and does not reserve.",
        ),
        field("memory", BYTES, STACK, "40 GiB", "Limit of device memory."),
    ],
    one_of: &[],
    bare: &[],
};
static MPS_CLIENTS: Shape = Shape::Record(&MPS_CLIENT);

static MPS_PARTITION: Record = Record {
    what: "an MPS partition",
    fields: &[
        required("chunks", POSITIVE, STACK, "6", "SM chunks of the static partition."),
        field("memory", BYTES, STACK, "40 GiB", "Limit of device memory."),
    ],
    one_of: &[],
    bare: &[],
};
static MPS_PARTITIONS: Shape = Shape::Record(&MPS_PARTITION);

static MPS: Record = Record {
    what: "the MPS mode",
    fields: &[
        field(
            "default",
            Shape::ByName(Names::Workload, &MPS_CLIENTS),
            STACK,
            "{ chat: { percentage: 70 %, memory: 40 GiB } }",
            "Limits by percentage, per workload.",
        ),
        field(
            "static",
            Shape::ByName(Names::Workload, &MPS_PARTITIONS),
            STACK,
            "{ chat: { chunks: 6 } }",
            "Static partitions of SMs, per workload (Ampere and later).",
        ),
    ],
    one_of: &[],
    bare: &["default"],
};

static BOOKED: Shape = SHARE;

static TIME_SLICING: Record = Record {
    what: "time-slicing",
    fields: &[
        field(
            "gpus",
            Shape::ByName(Names::Workload, &GPU_LIST),
            ISOLATION,
            "{ chat: [0], tune: [0, 1] }",
            "GPUs of each workload; a workload that is absent may use all.",
        ),
        field(
            "booked",
            Shape::ByName(Names::Workload, &BOOKED),
            STACK,
            "{ chat: 50 %, tune: 50 % }",
            "The part of a GPU that a scheduler books for each workload. It places, and enforces nothing.",
        ),
        field(
            "replicas",
            POSITIVE,
            STACK,
            "2",
            "Replicas that the device plugin offers of one GPU. A replica is not a share.",
        ),
        field(
            "slice",
            scalar(Scalar::Slice),
            STACK,
            "default",
            "Time slice: `default`, `short`, `medium`, `long` or a time.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static TEMPORAL_WINDOW: Record = Record {
    what: "a window",
    fields: &[
        required(
            "when",
            scalar(Scalar::Window),
            PLAN,
            "daily 22:00-06:00",
            "Weekly window, in local time of the site.",
        ),
        required("workload", NAME, PLAN, "tune", "Who holds the GPUs."),
        field("gpus", INDEXES, PLAN, "[4, 5, 6, 7]", "Which GPUs; without it, all."),
    ],
    one_of: &[],
    bare: &[],
};
static TEMPORAL: Shape = Shape::Record(&TEMPORAL_WINDOW);

static HOST_CPU: Record = Record {
    what: "the sharing of CPU cores",
    fields: &[
        field(
            "neighbour_priority",
            scalar(Scalar::Priority),
            ISOLATION,
            "idle",
            "CPU priority of whatever is not inference: `normal`, `idle`, or `nice 10`; without it, `normal`.",
        ),
        field(
            "affinity",
            Shape::ByName(Names::Workload, &GPU_LIST),
            ISOLATION,
            "{ chat: 0-1, tune: 2-3 }",
            "Cores of each workload; a workload that is absent may use all.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static MODE: Record = Record {
    what: "the mode",
    fields: &[
        field(
            "whole_gpu",
            Shape::ByName(Names::Workload, &GPU_LIST),
            ISOLATION,
            "{ chat: [0, 1, 2, 3], tune: [4, 5, 6, 7] }",
            "Which GPUs belong to whom.",
        ),
        field(
            "mig",
            Shape::List(&MIG),
            ISOLATION,
            "[{ gpus: [0], instances: [{ profile: 3g.40gb }] }]",
            "Exact layout of each partitioned GPU.",
        ),
        field(
            "mps",
            Shape::Variant(&MPS),
            ISOLATION,
            "{ default: { chat: { percentage: 70 % } } }",
            "Sharing through the MPS server: by percentages, or by static partitions.",
        ),
        field(
            "time_slicing",
            Shape::Record(&TIME_SLICING),
            ISOLATION,
            "{ replicas: 2 }",
            "The driver switches between processes.",
        ),
        field(
            "temporal",
            Shape::List(&TEMPORAL),
            PLAN,
            "[{ when: daily 22:00-06:00, workload: tune }]",
            "Who holds which GPUs when.",
        ),
        field(
            "host_cpu",
            Shape::Record(&HOST_CPU),
            ISOLATION,
            "{ neighbour_priority: idle }",
            "Workloads share CPU cores alone: for machines without a GPU. No GPU claim ever comes of it.",
        ),
        field(
            "candidates",
            scalar(Scalar::Choice(&["all"])),
            PLAN,
            "all",
            "The plan compares all modes that the GPU allows.",
        ),
    ],
    one_of: &[],
    bare: &["time_slicing", "host_cpu"],
};

static DISK_SPACE: Record = Record {
    what: "a quota of disk space",
    fields: &[
        required("size", BYTES, ISOLATION, "200 GiB", "The most that it may hold there."),
        required(
            "folder",
            TEXT,
            ISOLATION,
            "/scratch/tune",
            "Folder to which the quota applies. The audit and the fault test fill it to the quota.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static HOST_CAPS: Record = Record {
    what: "the caps of a workload",
    fields: &[
        field("cpu_cores", GPUS, ISOLATION, "8", "CPU time in each second, cores (`cpu.max`)."),
        field(
            "cpus",
            INDEXES,
            ISOLATION,
            "8-15",
            "The only CPUs that it may run on (`cpuset.cpus`).",
        ),
        field("memory", BYTES, ISOLATION, "256 GiB", "Memory of the host (`memory.max`)."),
        field(
            "disk_write",
            BANDWIDTH,
            ISOLATION,
            "500 MB/s",
            "Rate of writing to disks (`io.max`).",
        ),
        field(
            "disk_space",
            Shape::Record(&DISK_SPACE),
            ISOLATION,
            "{ size: 200 GiB, folder: /scratch/tune }",
            "Space on the disk.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
static CAPS: Shape = Shape::Record(&HOST_CAPS);

static SATURATING_LOAD: Record = Record {
    what: "a saturating load",
    fields: &[
        required(
            "argv",
            Shape::List(&TEXTS),
            ISOLATION,
            "[./gemm, --seconds, 60]",
            "Program and arguments: it keeps a GPU as busy as it can until it is stopped.",
        ),
        required(
            "rate",
            TEXT,
            ISOLATION,
            "'{rate} it/s'",
            "How a line that tells its rate looks, with `{rate}` where the number stands.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

pub(super) static SHARING: Record = Record {
    what: "the sharing",
    fields: &[
        required(
            "mode",
            Shape::Variant(&MODE),
            ISOLATION,
            "host_cpu",
            "Exactly one mode, with its settings.",
        ),
        field(
            "versions",
            Shape::ByName(Names::Free, &TEXTS),
            STACK,
            "{ nvidia-device-plugin: 0.18.0 }",
            "Exact versions of whatever enforces the mode.",
        ),
        field(
            "mps_server",
            scalar(Scalar::Choice(&["per_gpu", "per_node"])),
            ISOLATION,
            "per_gpu",
            "Whether each GPU has an MPS server of its own (`per_gpu`), or one serves the node.",
        ),
        field(
            "caps",
            Shape::ByName(Names::Workload, &CAPS),
            ISOLATION,
            "{ tune: { cpu_cores: 8, memory: 256 GiB } }",
            "What the host holds each workload to. A cap is a claim until an audit has shown that it binds.",
        ),
        field(
            "saturating_load",
            Shape::Record(&SATURATING_LOAD),
            ISOLATION,
            "{ argv: [./gemm], rate: '{rate} it/s' }",
            "A load that keeps a GPU busy, for the audit of what divides a GPU: it is started once in the place of each workload.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
