//! The state machines that decide while a place is in use: bounds that must hold whatever happens.

mod admission;
mod hand_over;
mod preemption;
mod reclaim;
