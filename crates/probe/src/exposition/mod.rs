//! The text formats that metrics are exposed in: Prometheus 0.0.4 and OpenMetrics 1.0.

mod line;
mod model;
mod parse;
mod refuse;
mod shape;

#[cfg(test)]
mod properties;

pub use model::{Exemplar, Exposition, Family, Format, Kind, Labels, Note, Sample};
pub use parse::{
    LABELS_MAX, LINE_BYTES_MAX, NOTES_MAX, SAMPLES_MAX, Strictness, detect_format, parse,
};
pub use refuse::ExpositionError;
pub use shape::{
    CumulativeHistogram, HistogramSeries, Malformed, SummarySeries, histograms, summaries,
};
