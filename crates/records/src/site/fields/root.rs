//! The top of the file.

use super::machine::{POOL, SERVER};
use super::operations::OPERATIONS;
use super::sharing::SHARING;
use super::vocabulary::{ALL, NAME, REPORT, field, required, scalar};
use super::workload::WORKLOAD;
use crate::site::scalar::Scalar;
use crate::site::shape::{Record, Shape};

static WORKLOADS: Shape = Shape::Record(&WORKLOAD);

pub(in crate::site) static SITE: Record = Record {
    what: "the site",
    fields: &[
        required("name", NAME, REPORT, "chat-and-tune", "Name of the site, as reports show it."),
        required(
            "time_zone",
            scalar(Scalar::TimeZone),
            ALL,
            "Europe/Berlin",
            "IANA time zone in which every local time of the file is meant.",
        ),
        field(
            "kind",
            scalar(Scalar::Choice(&["server", "pool"])),
            REPORT,
            "server",
            "One `server` or one `pool`. May be left out: the key `server` or `pool` says the same.",
        ),
        field(
            "as_of",
            scalar(Scalar::Moment),
            ALL,
            "2026-12-01 09:00",
            "Moment for which the site is judged. Without it the newest evidence gives it.",
        ),
        field(
            "server",
            Shape::Record(&SERVER),
            ALL,
            "{ gpu: none, gpu_count: 0 }",
            "The one server. Exactly one of `server` and `pool` is given.",
        ),
        field(
            "pool",
            Shape::Record(&POOL),
            ALL,
            "{ nodes: [{ name: a, count: 4, server: { gpu: H100-SXM5-80GB, gpu_count: 8 } }] }",
            "The pool of servers.",
        ),
        required(
            "workloads",
            Shape::List(&WORKLOADS),
            ALL,
            "[{ name: chat, inference: {} }]",
            "What runs on the site. Names are unique.",
        ),
        required(
            "sharing",
            Shape::Record(&SHARING),
            ALL,
            "{ mode: host_cpu }",
            "How the workloads share.",
        ),
        field(
            "operations",
            Shape::Record(&OPERATIONS),
            ALL,
            "{ risk_tolerance: 1 % }",
            "How the place is operated.",
        ),
    ],
    one_of: &["server", "pool"],
    bare: &[],
};
