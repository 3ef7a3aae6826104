//! One canonical set of serving metrics over the engines that people run, and which engine an
//! endpoint is. Endpoints are only asked: nothing here starts, stops or signals one.

mod histogram;
mod identify;
mod interval;
mod kind;
mod quantity;
mod read;
mod table;

pub use cotenant_core::stats::{Comparison, QuantileBounds};
pub use histogram::DurationHistogram;
pub use identify::{EndpointAnswer, Identity, PATHS, identify, judge};
pub use interval::{IntervalError, IntervalMetrics, interval};
pub use kind::{EngineKind, PriorityOrder, engine_of_names, translate_priority};
pub use quantity::{Quantity, Shape};
pub use read::{ServingMetrics, read_serving, scraped, waiting};
pub use table::{Combine, LabelValues, Mapping, Part, Source, TABLE, mapping};
