//! The domain of Cotenant: what a site declares, what was measured, and what may be concluded.
//!
//! Nothing in this crate reads a clock, a file, a socket, an environment variable or a global
//! random number generator, and nothing in it is `Serialize`: the same input and seed give the same
//! output, and files and wires have their own types elsewhere.

pub mod burst;
pub mod capacity;
pub mod demand;
pub mod evidence;
pub mod gpu;
pub mod guard;
pub mod machine;
pub mod method;
pub mod observed;
pub mod perf;
pub mod plan;
pub mod policy;
pub mod protocol;
pub mod reading;
pub mod sensitivity;
pub mod sim;
pub mod site;
pub mod stats;
pub mod units;
pub mod verdict;
