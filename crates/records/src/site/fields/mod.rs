//! The table of fields: everything that may stand in a site file, said once.
//!
//! The walk, the JSON Schema and the reference in the documentation read it. What a field feeds is
//! one of the six gates of the verdict, or `plan`, `stack` (the fingerprint of evidence), `report`
//! or `test` (how it is measured).

mod completion;
mod inference;
mod machine;
mod operations;
mod root;
mod sharing;
mod workload;

pub(super) use root::SITE;

use super::scalar::Scalar;
use super::shape::{Field, Shape};

const INFERENCE: &str = "inference";
const COMPLETION: &str = "completion";
const ISOLATION: &str = "isolation";
const TRANSITION: &str = "transition";
const MAINTENANCE: &str = "maintenance";
const FAILURE_DOMAIN: &str = "failure domain";
const PLAN: &str = "plan";
const STACK: &str = "stack";
const REPORT: &str = "report";
const TEST: &str = "test";
const ALL: &str = "every gate";

/// Largest number that counts machines, GPUs or requests.
const COUNT_MAX: i64 = u32::MAX as i64;

const fn field(
    name: &'static str,
    shape: Shape,
    feeds: &'static str,
    example: &'static str,
    meaning: &'static str,
) -> Field {
    Field { name, shape, is_required: false, feeds, meaning, example }
}

const fn required(
    name: &'static str,
    shape: Shape,
    feeds: &'static str,
    example: &'static str,
    meaning: &'static str,
) -> Field {
    Field { name, shape, is_required: true, feeds, meaning, example }
}

const fn scalar(scalar: Scalar) -> Shape {
    Shape::Scalar(scalar)
}

const TEXT: Shape = scalar(Scalar::Text);
const NAME: Shape = scalar(Scalar::Name);
const FLAG: Shape = scalar(Scalar::Flag);
const COUNT: Shape = scalar(Scalar::Count);
const DURATION: Shape = scalar(Scalar::Duration);
const DURATION_OR_ZERO: Shape = scalar(Scalar::DurationOrZero);
const BYTES: Shape = scalar(Scalar::Bytes);
const BANDWIDTH: Shape = scalar(Scalar::BytesPerSecond);
const RATE: Shape = scalar(Scalar::Rate);
const REQUEST_RATE: Shape = scalar(Scalar::RequestRate);
const SHARE: Shape = scalar(Scalar::Share);
const MONEY: Shape = scalar(Scalar::Money);
const GPUS: Shape = scalar(Scalar::Number);
const URL: Shape = scalar(Scalar::Url);
const TEMPLATE: Shape = scalar(Scalar::Template);
const WHOLE: Shape = scalar(Scalar::Integer(0, COUNT_MAX));
const POSITIVE: Shape = scalar(Scalar::Integer(1, COUNT_MAX));

static INDEX: Shape = WHOLE;
static NAMES: Shape = NAME;
static TEXTS: Shape = TEXT;
static WINDOWS: Shape = scalar(Scalar::Window);
static INDEX_LIST: Shape = Shape::List(&INDEX);

const INDEXES: Shape = Shape::Either(Scalar::Indexes, &INDEX_LIST);
