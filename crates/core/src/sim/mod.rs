//! What would happen: requests, jobs, changes of hands and a calendar in one clock.

pub mod job;
pub mod transition;
pub mod world;
