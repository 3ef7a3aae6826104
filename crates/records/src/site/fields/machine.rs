//! Servers and pools.

use super::vocabulary::{
    BANDWIDTH, BYTES, FLAG, INDEXES, INFERENCE, NAME, NAMES, PLAN, POSITIVE, STACK, TEST, TEXT,
    WHOLE, field, required, scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Record, Shape};

const SCHEDULERS: Scalar = Scalar::Choice(&["none", "slurm", "kubernetes"]);

static SCHEDULER: Record = Record {
    what: "the scheduler",
    fields: &[
        required("name", scalar(SCHEDULERS), STACK, "slurm", "`none`, `slurm` or `kubernetes`."),
        field("version", TEXT, STACK, "25.05.3", "Its exact version."),
    ],
    one_of: &[],
    bare: &[],
};
static SCHEDULER_SHAPE: Shape = Shape::Record(&SCHEDULER);

static STORAGE: Record = Record {
    what: "the storage",
    fields: &[
        field("read_bandwidth", BANDWIDTH, PLAN, "6 GB/s", "Sequential reading."),
        field(
            "write_bandwidth",
            BANDWIDTH,
            PLAN,
            "3 GB/s",
            "Sequential writing: bounds checkpoints.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static NETWORK: Record = Record {
    what: "the network",
    fields: &[
        field("bandwidth", BANDWIDTH, PLAN, "400 Gbit/s", "All ports that the workloads may use."),
        field("rdma", FLAG, PLAN, "true", "Whether it carries InfiniBand or RoCE."),
    ],
    one_of: &[],
    bare: &[],
};

static NUMA_NODE: Record = Record {
    what: "a NUMA node",
    fields: &[
        required("node", WHOLE, PLAN, "0", "Number of the node."),
        field("cpus", INDEXES, PLAN, "0-47", "Its CPUs."),
        field("gpus", INDEXES, PLAN, "0-3", "Its GPUs."),
        field("memory", BYTES, PLAN, "1 TiB", "Its memory."),
    ],
    one_of: &[],
    bare: &[],
};
static NUMA: Shape = Shape::Record(&NUMA_NODE);

pub(super) static SERVER: Record = Record {
    what: "the server",
    fields: &[
        required(
            "gpu",
            TEXT,
            STACK,
            "H100-SXM5-80GB",
            "Exact GPU model, or `none`. An unknown model is accepted with what the device reports.",
        ),
        field(
            "gpu_count",
            WHOLE,
            PLAN,
            "8",
            "Number of GPUs. Required unless `gpu` is `none`; then it is 0.",
        ),
        field("gpu_memory", BYTES, PLAN, "80 GiB", "Memory of one GPU."),
        field(
            "gpu_memory_taken",
            BYTES,
            PLAN,
            "2 GiB",
            "Memory of each GPU that processes outside of this file hold.",
        ),
        field("driver", TEXT, STACK, "580.95.05", "GPU driver version."),
        field("cuda", TEXT, STACK, "13.0", "CUDA version."),
        field("nccl", TEXT, STACK, "2.28.3", "NCCL version."),
        field("kernel", TEXT, STACK, "6.8.0-85-generic", "Kernel version."),
        field(
            "scheduler",
            Shape::Either(SCHEDULERS, &SCHEDULER_SHAPE),
            STACK,
            "{ name: slurm, version: 25.05.3 }",
            "What places work on the server, with its version; the name alone is accepted.",
        ),
        field(
            "cpu_cores",
            scalar(Scalar::PositiveNumber),
            PLAN,
            "96",
            "Cores that can be used: what quota and affinity leave, not what is visible.",
        ),
        field(
            "cpu_cores_visible",
            scalar(Scalar::PositiveNumber),
            PLAN,
            "128",
            "Cores that programs see when they ask how many there are.",
        ),
        field("memory", BYTES, PLAN, "2 TiB", "Host memory."),
        field(
            "storage",
            Shape::Record(&STORAGE),
            PLAN,
            "{ read_bandwidth: 6 GB/s, write_bandwidth: 3 GB/s }",
            "Local storage.",
        ),
        field(
            "network",
            Shape::Record(&NETWORK),
            PLAN,
            "{ bandwidth: 400 Gbit/s, rdma: true }",
            "Network to other machines.",
        ),
        field(
            "numa",
            Shape::List(&NUMA),
            PLAN,
            "[{ node: 0, cpus: 0-47, gpus: 0-3 }]",
            "Which cores, memory and GPUs lie together.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static NODE_GROUP: Record = Record {
    what: "a group of nodes",
    fields: &[
        required("name", NAME, PLAN, "h100", "Name of the group, unique in the pool."),
        required("count", POSITIVE, PLAN, "4", "How many equal servers."),
        required(
            "server",
            Shape::Record(&SERVER),
            PLAN,
            "{ gpu: H100-SXM5-80GB, gpu_count: 8 }",
            "One of them.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
static NODES: Shape = Shape::Record(&NODE_GROUP);

static PRIORITY_CLASS: Record = Record {
    what: "a priority class",
    fields: &[
        required("name", NAME, PLAN, "production", "Name of the class."),
        required(
            "value",
            scalar(Scalar::Integer(i64::MIN + 1, i64::MAX)),
            PLAN,
            "1000",
            "Higher goes first.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
static PRIORITY_CLASSES: Shape = Shape::Record(&PRIORITY_CLASS);

static QUEUE: Record = Record {
    what: "a queue",
    fields: &[
        required("name", NAME, PLAN, "research", "Name of the queue, unique in the pool."),
        field("quota", WHOLE, PLAN, "16", "GPUs that it may use of its own."),
        field("cohort", NAME, PLAN, "all", "Queues of one cohort may borrow from each other."),
        field("borrowing_limit", WHOLE, PLAN, "8", "GPUs that it may borrow at most."),
        field("lending_limit", WHOLE, PLAN, "4", "GPUs that it may lend at most."),
        field("weight", scalar(Scalar::Number), PLAN, "2", "Its weight in fair sharing."),
        field(
            "priority_classes",
            Shape::List(&PRIORITY_CLASSES),
            PLAN,
            "[{ name: production, value: 1000 }]",
            "Priority classes of its work.",
        ),
        field("workloads", Shape::List(&NAMES), PLAN, "[tune]", "Workloads that come through it."),
    ],
    one_of: &[],
    bare: &[],
};
static QUEUES: Shape = Shape::Record(&QUEUE);

static SERVING_POOL: Record = Record {
    what: "a serving pool",
    fields: &[
        required("name", NAME, INFERENCE, "chat-decode", "Name of the serving pool."),
        field("workload", NAME, INFERENCE, "chat", "The inference workload that it serves."),
        field(
            "role",
            scalar(Scalar::Choice(&["both", "prefill", "decode"])),
            INFERENCE,
            "both",
            "Which part of serving it does; without it, both.",
        ),
        field("replicas_min", WHOLE, PLAN, "2", "Replicas that always run."),
        field("replicas_max", WHOLE, PLAN, "6", "Replicas that it may grow to."),
        field("gpus_per_replica", POSITIVE, PLAN, "2", "GPUs of one replica."),
        field("queue", NAME, PLAN, "research", "Queue whose quota it uses."),
    ],
    one_of: &[],
    bare: &[],
};
static SERVING_POOLS: Shape = Shape::Record(&SERVING_POOL);

pub(super) static POOL: Record = Record {
    what: "the pool",
    fields: &[
        required(
            "nodes",
            Shape::List(&NODES),
            PLAN,
            "[{ name: h100, count: 4, server: { gpu: H100-SXM5-80GB, gpu_count: 8 } }]",
            "Groups of equal servers.",
        ),
        field(
            "queues",
            Shape::List(&QUEUES),
            PLAN,
            "[{ name: research, quota: 16 }]",
            "Queues that admit work.",
        ),
        field(
            "serving_pools",
            Shape::List(&SERVING_POOLS),
            TEST,
            "[{ name: chat-decode, workload: chat, replicas_min: 2 }]",
            "Pools of serving replicas.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
