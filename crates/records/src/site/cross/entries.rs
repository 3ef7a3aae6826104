//! What several rules look up: the workloads, the sharing mode, and places of keys and values.

use crate::site::Span;
use crate::site::tree::{Entry, Node};
use crate::site::view::View;

/// One workload with its name and what it is.
#[derive(Clone, Copy)]
pub(super) struct WorkloadEntry<'a> {
    pub(super) name: &'a str,
    pub(super) name_span: Span,
    pub(super) view: View<'a>,
}

impl<'a> WorkloadEntry<'a> {
    /// The group of the kind, if the workload is of it.
    pub(super) fn kind(self, kind: &str) -> Option<View<'a>> {
        self.view.group(kind)
    }
}

/// The workloads that have a name.
pub(super) fn workloads(root: &Node) -> Vec<WorkloadEntry<'_>> {
    View(root)
        .list("workloads")
        .filter_map(|view| {
            let node = view.node("name")?;
            Some(WorkloadEntry { name: node.text()?, name_span: node.span, view })
        })
        .collect()
}

/// The place of the value behind a key.
pub(super) fn value_span(view: View<'_>, key: &str) -> Span {
    view.node(key).map_or_else(Span::default, |node| node.span)
}

/// The place of a key.
pub(super) fn key_span(view: View<'_>, key: &str) -> Span {
    view.0.entry(key).map_or_else(Span::default, |entry| entry.key_span)
}

/// The settings of the sharing mode with this name.
pub(super) fn mode<'a>(root: &'a Node, name: &str) -> Option<&'a Entry> {
    root.entry("sharing")?.value.entry("mode")?.value.entry(name)
}
