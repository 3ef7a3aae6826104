//! How the place is operated.

use super::vocabulary::{
    DURATION, DURATION_OR_ZERO, FAILURE_DOMAIN, FLAG, ISOLATION, MAINTENANCE, MONEY, PLAN, REPORT,
    SHARE, TEXT, TEXTS, TRANSITION, WINDOWS, field, required, scalar,
};
use crate::site::scalar::Scalar;
use crate::site::shape::{Names, Record, Shape};

static FAILURE_DOMAIN_RECORD: Record = Record {
    what: "the failure domain",
    fields: &[
        required(
            "accepted",
            FLAG,
            FAILURE_DOMAIN,
            "true",
            "Whether it is accepted that one board, power supply, system, driver or network card can stop all workloads at once.",
        ),
        field(
            "accepted_by",
            TEXT,
            FAILURE_DOMAIN,
            "Head of Platform",
            "Who decided. Without it the gate stays NOT PROVEN.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static CHANGE_CYCLE: Record = Record {
    what: "a change cycle",
    fields: &[
        field("driver", DURATION, MAINTENANCE, "90 d", "How often it needs a new driver."),
        field("cuda", DURATION, MAINTENANCE, "180 d", "How often it needs a new CUDA version."),
        field(
            "framework",
            DURATION,
            MAINTENANCE,
            "30 d",
            "How often it needs a new framework or engine.",
        ),
        field("reboot", DURATION, MAINTENANCE, "90 d", "How often it needs a reboot."),
        field(
            "windows",
            Shape::List(&WINDOWS),
            MAINTENANCE,
            "[Sun 02:00-06:00]",
            "Weekly windows in which it accepts them.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
static CHANGE_CYCLES: Shape = Shape::Record(&CHANGE_CYCLE);

static MAINTENANCE_RECORD: Record = Record {
    what: "the maintenance",
    fields: &[
        field(
            "windows",
            Shape::List(&WINDOWS),
            MAINTENANCE,
            "[Sun 02:00-06:00]",
            "Weekly windows of maintenance.",
        ),
        field(
            "accepted_by",
            TEXT,
            MAINTENANCE,
            "Head of Platform",
            "Who accepted that all workloads live with one driver, kernel and reboot cycle. Without it the gate stays NOT PROVEN.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

const STEPS: &[&str] = &[
    "drain",
    "checkpoint",
    "mig_reconfiguration",
    "reboot",
    "service_restart",
    "model_reload",
    "warm_up",
    "resume",
];

static TRANSITION_STEP: Record = Record {
    what: "a step of a transition",
    fields: &[
        field("drain", DURATION_OR_ZERO, TRANSITION, "30 s", "Running requests finish."),
        field("checkpoint", DURATION_OR_ZERO, TRANSITION, "40 s", "The job saves."),
        field(
            "mig_reconfiguration",
            DURATION_OR_ZERO,
            TRANSITION,
            "20 s",
            "The GPU is partitioned anew.",
        ),
        field("reboot", DURATION_OR_ZERO, TRANSITION, "8 min", "The machine boots."),
        field("service_restart", DURATION_OR_ZERO, TRANSITION, "15 s", "A service restarts."),
        field("model_reload", DURATION_OR_ZERO, TRANSITION, "50 s", "Weights are loaded."),
        field(
            "warm_up",
            DURATION_OR_ZERO,
            TRANSITION,
            "90 s",
            "Caches fill and graphs are captured.",
        ),
        field("resume", DURATION_OR_ZERO, TRANSITION, "90 s", "The job continues."),
    ],
    one_of: &[],
    bare: STEPS,
};
static TRANSITION_STEPS: Shape = Shape::Variant(&TRANSITION_STEP);

static POSTCONDITION: Record = Record {
    what: "a post-condition",
    fields: &[
        required(
            "command",
            Shape::List(&TEXTS),
            TRANSITION,
            "[nvidia-smi, -L]",
            "Program and arguments; it must end with code 0.",
        ),
        field("contains", TEXT, TRANSITION, "MIG 3g.40gb", "Text that its output must contain."),
    ],
    one_of: &[],
    bare: &[],
};
static POSTCONDITIONS: Shape = Shape::Record(&POSTCONDITION);

static MIG_MANAGER: Record = Record {
    what: "the MIG Manager",
    fields: &[
        required("node", TEXT, TRANSITION, "gpu-1", "The node whose labels it watches."),
        required(
            "config",
            TEXT,
            TRANSITION,
            "all-1g.10gb",
            "The configuration that `nvidia.com/mig.config` is set to.",
        ),
        field(
            "kubectl",
            TEXT,
            TRANSITION,
            "kubectl",
            "The program that speaks to the cluster; without it, `kubectl`.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static LAYOUT_CHANGE: Record = Record {
    what: "a change of the layout",
    fields: &[
        field(
            "command",
            Shape::List(&TEXTS),
            TRANSITION,
            "[sh, relayout.sh, training]",
            "Program and arguments that do it; no shell reads them.",
        ),
        field(
            "mig_manager",
            Shape::Record(&MIG_MANAGER),
            TRANSITION,
            "{ node: gpu-1, config: all-1g.10gb }",
            "GPU Operator's MIG Manager does it, through the labels of a node.",
        ),
        field(
            "time_limit",
            DURATION,
            TRANSITION,
            "10 min",
            "It has failed when it is not done by then; without it, 10 min.",
        ),
        field(
            "postconditions",
            Shape::List(&POSTCONDITIONS),
            TRANSITION,
            "[{ command: [nvidia-smi, -L], contains: MIG 3g.40gb }]",
            "What must hold afterwards, whatever the driver of the change said.",
        ),
    ],
    one_of: &["command", "mig_manager"],
    bare: &[],
};

static TRANSITION_RECORD: Record = Record {
    what: "the transition",
    fields: &[
        field(
            "to_training",
            Shape::List(&TRANSITION_STEPS),
            TRANSITION,
            "[drain: 30 s, resume: 90 s]",
            "Steps from inference to training, in order, each with its time if it was measured elsewhere.",
        ),
        field(
            "to_inference",
            Shape::List(&TRANSITION_STEPS),
            TRANSITION,
            "[checkpoint: 40 s, model_reload: 50 s, warm_up: 90 s]",
            "Steps from training to inference, in order.",
        ),
        field("source", TEXT, TRANSITION, "runbook of 2026-10", "Where the times were measured."),
        field(
            "layout_for_training",
            Shape::Record(&LAYOUT_CHANGE),
            TRANSITION,
            "{ command: [sh, relayout.sh, training] }",
            "How the GPUs are laid out anew before training starts. Only `measure --tests transition` does it.",
        ),
        field(
            "layout_for_inference",
            Shape::Record(&LAYOUT_CHANGE),
            TRANSITION,
            "{ mig_manager: { node: gpu-1, config: all-3g.40gb } }",
            "How they are laid out anew once training has gone and before inference is awake.",
        ),
    ],
    one_of: &[],
    bare: &[],
};

static PROPERTY: Shape =
    scalar(Scalar::Choice(&["memory_capacity", "memory_bandwidth", "faults", "sms", "cpu"]));
static PROPERTIES: Shape = Shape::ListOrNone(&PROPERTY);

static CALENDAR: Record = Record {
    what: "the calendar",
    fields: &[
        field(
            "window",
            scalar(Scalar::CalendarWindow),
            PLAN,
            "30 min",
            "Length of a window: `15 min`, `20 min`, `30 min` or `60 min`.",
        ),
        field(
            "begins",
            scalar(Scalar::Date),
            PLAN,
            "2026-12-07",
            "The day on which it begins, at midnight of the site.",
        ),
        field("weeks", scalar(Scalar::Integer(1, 8)), PLAN, "1", "How many weeks it covers."),
    ],
    one_of: &[],
    bare: &[],
};

static COST: Record = Record {
    what: "the cost",
    fields: &[
        field("gpu_hour", MONEY, REPORT, "2.50 EUR", "Of one GPU for one hour."),
        field("energy", MONEY, REPORT, "0.30 EUR", "Of one kilowatt-hour."),
    ],
    one_of: &[],
    bare: &[],
};

pub(super) static OPERATIONS: Record = Record {
    what: "the operations",
    fields: &[
        field(
            "node_availability",
            SHARE,
            FAILURE_DOMAIN,
            "99.5 %",
            "Share of time in which one node is up. The target stands with the inference workload.",
        ),
        field(
            "failure_domain",
            Shape::Record(&FAILURE_DOMAIN_RECORD),
            FAILURE_DOMAIN,
            "{ accepted: true, accepted_by: Head of Platform }",
            "Whether the common failure domain is accepted, and by whom.",
        ),
        field(
            "change_cycle",
            Shape::ByName(Names::Workload, &CHANGE_CYCLES),
            MAINTENANCE,
            "{ chat: { driver: 90 d, windows: [Sun 02:00-06:00] } }",
            "How often each workload needs a change under it, and when it accepts one.",
        ),
        field(
            "maintenance",
            Shape::Record(&MAINTENANCE_RECORD),
            MAINTENANCE,
            "{ windows: [Sun 02:00-06:00] }",
            "When the place is maintained.",
        ),
        field(
            "risk_tolerance",
            SHARE,
            PLAN,
            "1 %",
            "Share of the exposures in which the reserve may be short, at most.",
        ),
        field(
            "reclaim_time",
            DURATION_OR_ZERO,
            PLAN,
            "3 min",
            "Time to get a lent GPU back for inference, at its worst: from the signal to the first \
             successful token.",
        ),
        field(
            "calendar",
            Shape::Record(&CALENDAR),
            PLAN,
            "{ window: 30 min, begins: 2026-12-07, weeks: 1 }",
            "The shape of the capacity calendar.",
        ),
        field(
            "transition",
            Shape::Record(&TRANSITION_RECORD),
            TRANSITION,
            "{ to_inference: [checkpoint: 40 s] }",
            "What happens when GPUs change hands.",
        ),
        field(
            "isolation",
            Shape::ByName(Names::Workload, &PROPERTIES),
            ISOLATION,
            "{ chat: [memory_capacity, faults] }",
            "What each workload must be protected from: `memory_capacity`, `memory_bandwidth`, `faults`, `sms`, and `cpu` where cores are shared. An empty list says that nothing is required.",
        ),
        field(
            "cost",
            Shape::Record(&COST),
            REPORT,
            "{ gpu_hour: 2.50 EUR, energy: 0.30 EUR }",
            "Prices, where money should be shown.",
        ),
    ],
    one_of: &[],
    bare: &[],
};
