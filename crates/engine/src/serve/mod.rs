//! Serving of the reference model: HTTP on one thread, the scheduler and all computation on another.

mod arguments;
mod http;
mod metrics;
mod protocol;
mod queue;
mod run;
mod sampling;
mod scheduler;
mod stream;

pub use arguments::ServeArgs;
pub use run::serve;
