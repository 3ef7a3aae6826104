//! A text of `-q` or a document of `-q -x` as a tree of names and values.

use super::error::DeviceError;
use super::reading::{Absence, Reading};
use super::unreachable::is_unreachable;

/// One name with its value, and what stands under it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// The name in lower case, words joined by `_`: `FB Memory Usage` is `fb_memory_usage`.
    pub name: String,
    /// The name as it was printed.
    pub label: String,
    /// The value, empty where it has none.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// What stands under it.
    pub children: Vec<Node>,
}

/// Levels of a tree; the deepest known text has six.
const DEPTH_MAX: usize = 24;

/// Nodes of a document; eight GPUs under load have some ten thousand.
const NODES_MAX: u32 = 2_000_000;

const WAY_OUT: &str = "give what `nvidia-smi -q` or `nvidia-smi -q -x` printed, unchanged";

impl Node {
    /// The first child of a name.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// What stands at a path of names joined by `/`, or why there is nothing: a section that is `N/A`
    /// as a whole says so for all of its values.
    pub(super) fn at(&self, path: &str) -> Reading<&Self> {
        let mut node = self;
        for name in path.split('/') {
            node = match node.child(name) {
                Some(child) => child,
                None if node.text.is_empty() => return Err(Absence::NotPrinted),
                None => return Err(Absence::of(&node.text).unwrap_or(Absence::NotPrinted)),
            };
        }
        Ok(node)
    }
}

/// A label as a name: lower case, everything but letters, digits and dots as one `_`.
pub(super) fn name_of(label: &str) -> String {
    let mut name = String::with_capacity(label.len());
    for character in label.chars() {
        if character.is_alphanumeric() || character == '.' {
            name.extend(character.to_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    name.truncate(name.trim_end_matches('_').len());
    name
}

/// The lines of `-q` by their indentation. The root's children are the lines without any.
pub(super) fn of_text(text: &str) -> Result<Node, DeviceError> {
    let mut open: Vec<(usize, Node)> = Vec::new();
    let mut root = Node::default();
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with("====") {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        close(&mut open, &mut root, indent);
        if open.len() >= DEPTH_MAX {
            return Err(DeviceError::line(index + 1, "indented too deeply", line, WAY_OUT));
        }
        // Bus ids and paths have colons too, but only the separator has a space before it.
        let is_sentence = is_unreachable(bare);
        let (label, value) = bare.split_once(" :").filter(|_| !is_sentence).unwrap_or((bare, ""));
        let node = Node {
            name: name_of(label),
            label: label.trim().to_owned(),
            text: value.trim().to_owned(),
            line: index + 1,
            children: Vec::new(),
        };
        open.push((indent, node));
    }
    close(&mut open, &mut root, 0);
    Ok(root)
}

/// Hands every open node that is indented at least so far to the one above it.
fn close(open: &mut Vec<(usize, Node)>, root: &mut Node, indent: usize) {
    while open.last().is_some_and(|(deep, _)| *deep >= indent) {
        let Some((_, node)) = open.pop() else { return };
        match open.last_mut() {
            Some((_, parent)) => parent.children.push(node),
            None => root.children.push(node),
        }
    }
}

/// The document of `-q -x`, and the schema that its DOCTYPE names.
pub(super) fn of_xml(text: &str) -> Result<(Node, Option<String>), DeviceError> {
    let options = roxmltree::ParsingOptions {
        // The DOCTYPE is always there, and names a file that is never looked for.
        allow_dtd: true,
        nodes_limit: NODES_MAX,
        ..roxmltree::ParsingOptions::default()
    };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
        // What is missing at the end is missed after the last line break.
        let line = (error.pos().row as usize).clamp(1, text.lines().count().max(1));
        let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        // The parser's own place is of the document, which may begin later in a file.
        let reason = error.to_string();
        let reason = reason.rsplit_once(" at ").map_or(reason.as_str(), |(reason, _)| reason);
        DeviceError::line(line, format!("this is no well-formed XML ({reason})"), shown, WAY_OUT)
    })?;
    let element = document.root_element();
    if !element.has_tag_name("nvidia_smi_log") {
        let shown = element.tag_name().name();
        return Err(DeviceError::line(1, "the document is no nvidia_smi_log", shown, WAY_OUT));
    }
    let lines = LineStarts::of(text);
    Ok((of_element(element, &lines, 0)?, schema(text)))
}

/// `nvsmi_device_v12` of `<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">`.
fn schema(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<!DOCTYPE")?;
    let (head, _) = rest.split_once('>')?;
    let name = head.split('"').nth(1)?;
    Some(name.trim_end_matches(".dtd").to_owned())
}

/// Where lines begin: asking the parser for each node's line would read the text again for each.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> Self {
        Self(memchr::memchr_iter(b'\n', text.as_bytes()).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}

fn of_element(
    element: roxmltree::Node<'_, '_>,
    lines: &LineStarts,
    depth: usize,
) -> Result<Node, DeviceError> {
    let label = element.tag_name().name().to_owned();
    let line = lines.line(element.range().start);
    if depth >= DEPTH_MAX {
        return Err(DeviceError::line(line, "nested too deeply", &label, WAY_OUT));
    }
    let mut children = Vec::new();
    if let Some(id) = element.attribute("id") {
        children.push(Node {
            name: "id".to_owned(),
            label: "id".to_owned(),
            text: id.trim().to_owned(),
            line,
            children: Vec::new(),
        });
    }
    for child in element.children().filter(roxmltree::Node::is_element) {
        children.push(of_element(child, lines, depth + 1)?);
    }
    let text = element.text().unwrap_or_default().trim().to_owned();
    Ok(Node { name: name_of(&label), label, text, line, children })
}
