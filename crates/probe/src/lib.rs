//! Everything that looks: load client, workload supervisor, host observation, trace readers, the runner of tests.

pub mod clock;
pub mod host;
pub mod load;
pub mod supervisor;
pub mod trace;
