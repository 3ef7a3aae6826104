//! Rules across fields. They read what can be read of a tree, whatever else is wrong with it, and
//! point at both places that disagree.

mod gpus;
mod names;
mod times;
mod workloads;

use super::tree::{Entry, Node};
use super::view::View;
use super::{Problem, Span};

/// Checks all rules.
pub(super) fn check(root: &Node) -> Vec<Problem> {
    let mut problems = Vec::new();
    names::check(root, &mut problems);
    gpus::check(root, &mut problems);
    workloads::check(root, &mut problems);
    times::check(root, &mut problems);
    problems
}

/// One workload with its name and what it is.
#[derive(Clone, Copy)]
struct WorkloadEntry<'a> {
    name: &'a str,
    name_span: Span,
    view: View<'a>,
}

impl<'a> WorkloadEntry<'a> {
    /// The group of the kind, if the workload is of it.
    fn kind(self, kind: &str) -> Option<View<'a>> {
        self.view.group(kind)
    }
}

/// The workloads that have a name.
fn workloads(root: &Node) -> Vec<WorkloadEntry<'_>> {
    View(root)
        .list("workloads")
        .filter_map(|view| {
            let node = view.node("name")?;
            Some(WorkloadEntry { name: node.text()?, name_span: node.span, view })
        })
        .collect()
}

/// The place of the value behind a key.
fn value_span(view: View<'_>, key: &str) -> Span {
    view.node(key).map_or_else(Span::default, |node| node.span)
}

/// The place of a key.
fn key_span(view: View<'_>, key: &str) -> Span {
    view.0.entry(key).map_or_else(Span::default, |entry| entry.key_span)
}

/// The settings of the sharing mode with this name.
fn mode<'a>(root: &'a Node, name: &str) -> Option<&'a Entry> {
    root.entry("sharing")?.value.entry("mode")?.value.entry(name)
}
