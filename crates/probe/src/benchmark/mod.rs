//! Results of other tools: aiperf, guidellm, inference-perf, `vllm bench serve`,
//! `sglang.bench_serving`, llm-d reports, LLMServingSim's runs, Splitwise's model, MLPerf Training
//! logs and MLPerf Inference tables, told by content.
//!
//! A result is read as it is, and each claim that it cannot support is refused by name. Summaries
//! become point estimates, which neither pass nor fail; requests become evidence only where the
//! file says when each one was wanted.

mod aiperf;
mod bench_serve;
mod csv;
mod guidellm;
mod inference_perf;
mod llmd;
mod llmservingsim;
mod mlperf_inference;
mod mlperf_training;
mod model;
mod node;
mod parse;
mod read;
mod refusal;
mod rules;
mod tables;
mod text;

pub(crate) use parse::json as parse_json;
pub(crate) use read::clue;

pub use inference_perf::contradictions;
pub use model::{
    Arrivals, BenchmarkFile, Counts, ImportedBenchmark, ImportedLoad, ImportedMetric,
    ImportedPoint, ImportedRequest, Tool,
};
pub use read::{ImportOptions, read, read_with};
pub use refusal::{Claim, Refusal};
pub use text::TEXT_BYTES_MAX;
