//! Labels of a node alone, as `jq '.metadata.labels'` prints them.

use serde_json::Value;

use super::super::model::Place;
use super::model::KubernetesNode;
use super::pod::labels;

/// Whether an object is nothing but labels of a GPU's node.
pub(in super::super) fn is_labels(object: &Value) -> bool {
    let Value::Object(entries) = object else { return false };
    !entries.is_empty()
        && entries.values().all(Value::is_string)
        && entries.keys().any(|key| is_gpu_label(key))
}

/// Whether a key is a label that says something of a node's GPUs.
pub(in super::super) fn is_gpu_label(key: &str) -> bool {
    key.starts_with("nvidia.com/") || key.starts_with("amd.com/gpu")
}

/// A node of which only labels are known.
pub(in super::super) fn node(place: Place, object: &Value) -> KubernetesNode {
    let mut node = KubernetesNode::at(place);
    labels(&mut node, Some(object));
    node
}
