//! Rules across fields. They read what can be read of a tree, whatever else is wrong with it, and
//! point at both places that disagree.

mod check;
mod entries;
mod gpus;
mod names;
mod times;
mod workloads;

pub(super) use check::check;
