//! What decides while a place is in use, as state machines that look at nothing: each takes the time
//! and an event, and appends actions. A simulator drives them with a virtual clock, and whatever
//! operates a place drives the same code with the real one.

pub mod admission;
pub mod hand_over;
pub mod preemption;
pub mod reclaim;
