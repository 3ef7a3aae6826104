//! All rules, one subject after another.

use super::{gpus, names, times, workloads};
use crate::site::Problem;
use crate::site::tree::Node;

/// Checks all rules.
pub(in crate::site) fn check(root: &Node) -> Vec<Problem> {
    let mut problems = Vec::new();
    names::check(root, &mut problems);
    gpus::check(root, &mut problems);
    workloads::check(root, &mut problems);
    times::check(root, &mut problems);
    problems
}
