//! What the fields are written with: whom they feed, the commonest shapes, and how an entry is made.

use crate::site::scalar::Scalar;
use crate::site::shape::{Field, Shape};

pub(super) const INFERENCE: &str = "inference";
pub(super) const COMPLETION: &str = "completion";
pub(super) const ISOLATION: &str = "isolation";
pub(super) const TRANSITION: &str = "transition";
pub(super) const MAINTENANCE: &str = "maintenance";
pub(super) const FAILURE_DOMAIN: &str = "failure domain";
pub(super) const PLAN: &str = "plan";
pub(super) const STACK: &str = "stack";
pub(super) const REPORT: &str = "report";
pub(super) const TEST: &str = "test";
pub(super) const ALL: &str = "every gate";

/// Largest number that counts machines, GPUs or requests.
const COUNT_MAX: i64 = u32::MAX as i64;

pub(super) const fn field(
    name: &'static str,
    shape: Shape,
    feeds: &'static str,
    example: &'static str,
    meaning: &'static str,
) -> Field {
    Field { name, shape, is_required: false, feeds, meaning, example }
}

pub(super) const fn required(
    name: &'static str,
    shape: Shape,
    feeds: &'static str,
    example: &'static str,
    meaning: &'static str,
) -> Field {
    Field { name, shape, is_required: true, feeds, meaning, example }
}

pub(super) const fn scalar(scalar: Scalar) -> Shape {
    Shape::Scalar(scalar)
}

pub(super) const TEXT: Shape = scalar(Scalar::Text);
pub(super) const NAME: Shape = scalar(Scalar::Name);
pub(super) const FLAG: Shape = scalar(Scalar::Flag);
pub(super) const COUNT: Shape = scalar(Scalar::Count);
pub(super) const DURATION: Shape = scalar(Scalar::Duration);
pub(super) const DURATION_OR_ZERO: Shape = scalar(Scalar::DurationOrZero);
pub(super) const BYTES: Shape = scalar(Scalar::Bytes);
pub(super) const BANDWIDTH: Shape = scalar(Scalar::BytesPerSecond);
pub(super) const RATE: Shape = scalar(Scalar::Rate);
pub(super) const REQUEST_RATE: Shape = scalar(Scalar::RequestRate);
pub(super) const TOKEN_RATE: Shape = scalar(Scalar::TokenRate);
pub(super) const SHARE: Shape = scalar(Scalar::Share);
pub(super) const MONEY: Shape = scalar(Scalar::Money);
pub(super) const GPUS: Shape = scalar(Scalar::Number);
pub(super) const URL: Shape = scalar(Scalar::Url);
pub(super) const TEMPLATE: Shape = scalar(Scalar::Template);
pub(super) const WHOLE: Shape = scalar(Scalar::Integer(0, COUNT_MAX));
pub(super) const POSITIVE: Shape = scalar(Scalar::Integer(1, COUNT_MAX));

static INDEX: Shape = WHOLE;
pub(super) static NAMES: Shape = NAME;
pub(super) static TEXTS: Shape = TEXT;
pub(super) static WINDOWS: Shape = scalar(Scalar::Window);
static INDEX_LIST: Shape = Shape::List(&INDEX);

pub(super) const INDEXES: Shape = Shape::Either(Scalar::Indexes, &INDEX_LIST);
