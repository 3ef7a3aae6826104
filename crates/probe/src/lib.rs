//! Everything that looks: load client, workload supervisor, host observation, trace readers, the runner of tests.

pub mod benchmark;
pub mod clock;
pub mod demand;
pub mod device;
pub mod engine_metrics;
pub mod exposition;
pub mod host;
pub mod http;
pub mod load;
pub mod machine;
pub mod measure;
mod packing;
pub mod progress_log;
pub mod read;
pub mod scheduler;
pub mod slurm_array;
pub mod stress;
pub mod supervisor;
mod tool;
pub mod trace;
