//! The scheduler's sentence of why no node takes a pod:
//! `0/9 nodes are available: 3 Insufficient nvidia.com/gpu, 6 node(s) had untolerated taint {…}.
//! preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling.`
//!
//! Reasons are joined by commas, and a reason may hold commas and points itself, inside braces. One node
//! may fail for several reasons, so the counts do not add up to the nodes.

use super::model::{NodesRefused, RefusalClass, Unschedulable};
use super::quantity::is_gpu;

/// Reads such a sentence; `None` for any other.
pub(in super::super) fn unschedulable(message: &str) -> Option<Unschedulable> {
    let start = find_count(message)?;
    let message = message[start..].trim();
    let (head, preemption) = match message.find("preemption: ") {
        Some(at) => (&message[..at], Some(&message[at + "preemption: ".len()..])),
        None => (message, None),
    };
    let (nodes_available, nodes_total, tail) = counts(head)?;
    let (reasons, rest) = reasons(tail);
    let preemption = preemption
        .and_then(counts)
        .map(|(_, _, tail)| self::reasons(tail).0)
        .unwrap_or_default()
        .into_iter()
        .map(|one| NodesRefused { class: RefusalClass::Preemption, ..one })
        .collect();
    Some(Unschedulable { nodes_available, nodes_total, reasons, preemption, rest })
}

/// Where `3/9 nodes are available` begins.
fn find_count(message: &str) -> Option<usize> {
    let at =
        message.find(" nodes are available").or_else(|| message.find(" node are available"))?;
    let before = &message[..at];
    let start = before
        .rfind(|one: char| !(one.is_ascii_digit() || one == '/'))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    Some(start)
}

fn counts(text: &str) -> Option<(u64, u64, &str)> {
    let (available, rest) = text.split_once('/')?;
    let (total, rest) = rest.split_once(' ')?;
    let tail = rest.split_once("available").map_or("", |(_, tail)| tail);
    let tail = tail.trim_start_matches([':', ' ']);
    Some((available.trim().parse().ok()?, total.parse().ok()?, tail))
}

/// The reasons of a sentence, and what of it is none.
fn reasons(text: &str) -> (Vec<NodesRefused>, Option<String>) {
    let text = text.trim().trim_end_matches('.');
    let mut reasons: Vec<NodesRefused> = Vec::new();
    if text.is_empty() {
        return (reasons, None);
    }
    let mut rest: Option<String> = None;
    for part in parts(text) {
        let part = part.trim().trim_end_matches('.');
        if part.is_empty() {
            continue;
        }
        let (number, words) = match part.split_once(' ') {
            Some((number, words)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (number.parse::<u64>().ok(), words)
            }
            _ => (None, part),
        };
        match number {
            Some(_) => reasons.push(NodesRefused {
                nodes: number,
                reason: words.to_owned(),
                class: class_of(words),
            }),
            // A part without a number continues the reason before it.
            None => match reasons.last_mut() {
                Some(last) => {
                    last.reason.push_str(", ");
                    last.reason.push_str(words);
                }
                None => {
                    rest = Some(
                        rest.map_or_else(|| words.to_owned(), |all| format!("{all}, {words}")),
                    );
                }
            },
        }
    }
    (reasons, rest)
}

/// Parts between commas that are in no braces and after which a number stands; Kubernetes before 1.2x ends
/// reasons with points in between.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let mut from = 0;
    let mut parts = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn class_of(reason: &str) -> RefusalClass {
    let lower = reason.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if let Some(resource) = reason.strip_prefix("Insufficient ") {
        return if is_gpu(resource.trim()) {
            RefusalClass::Gpu
        } else {
            RefusalClass::OtherResource
        };
    }
    if has(&["preemption"]) {
        RefusalClass::Preemption
    } else if has(&["untolerated taint", "taint", "toleration"]) {
        RefusalClass::Taint
    } else if has(&["unschedulable"]) {
        RefusalClass::Unschedulable
    } else if has(&[
        "topology spread",
        "anti-affinity",
        "pod affinity",
        "affinity/anti",
        "free ports",
    ]) {
        RefusalClass::Spreading
    } else if has(&["affinity", "selector", "didn't match node"]) {
        RefusalClass::Selector
    } else if has(&["volume", "persistentvolume", "csi"]) {
        RefusalClass::Volume
    } else if has(&["resourceclaim", "claim"]) {
        RefusalClass::Claim
    } else if has(&["gpu", "mig"]) {
        RefusalClass::Gpu
    } else if has(&["too many pods"]) {
        RefusalClass::OtherResource
    } else {
        RefusalClass::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_by_reason() {
        let read = unschedulable(
            "0/9 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: present, true}, \
             2 node(s) were unschedulable, 3 Insufficient nvidia.com/gpu, 4 Insufficient cpu, \
             5 node(s) didn't match Pod's node affinity/selector. preemption: 0/9 nodes are available: \
             9 Preemption is not helpful for scheduling.",
        )
        .unwrap();
        assert_eq!((read.nodes_available, read.nodes_total), (0, 9));
        let seen: Vec<(Option<u64>, RefusalClass)> =
            read.reasons.iter().map(|one| (one.nodes, one.class)).collect();
        assert_eq!(
            seen,
            [
                (Some(1), RefusalClass::Taint),
                (Some(2), RefusalClass::Unschedulable),
                (Some(3), RefusalClass::Gpu),
                (Some(4), RefusalClass::OtherResource),
                (Some(5), RefusalClass::Selector),
            ]
        );
        assert_eq!(read.preemption.len(), 1);
        assert_eq!(read.preemption[0].nodes, Some(9));
    }

    #[test]
    fn other_sentences_are_left_alone() {
        for text in [
            "",
            "pod has unbound immediate PersistentVolumeClaims",
            "nodes are available",
            "/ nodes are available",
        ] {
            assert!(unschedulable(text).is_none(), "{text}");
        }
    }
}
