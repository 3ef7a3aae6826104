//! Core types from a tree without errors.
//!
//! Nothing is reported here: what could be wrong was found by the walk and by the rules across
//! fields. `None` where something required is absent all the same.

mod kinds;
mod machine;
mod operations;
mod sharing;
mod site;
mod workload;

pub(super) use site::build;
