//! YAML text as a tree of nodes that know their place.
//!
//! The parser's events are turned into nodes with an explicit stack, so depth costs no call stack.
//! Aliases are copied in under a budget of nodes and of depth: a small file that would grow without
//! end is a problem, not a crash.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};

use super::scalar::shorten;
use super::{Problem, Span};

/// Nodes that a site file may have, copies by aliases included.
const NODES_MAX: usize = 50_000;

/// Collections that may lie inside each other, copies by aliases included. The records need ten.
const DEPTH_MAX: usize = 32;

/// A node and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) kind: NodeKind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    /// Nothing was written.
    Null,
    /// Text. Whether it is a number or a time is decided by who reads it.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// Something whose problem is told already; nothing more is to be said about it.
    Broken,
    /// Keys with values. Keys are unique.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Node,
}

impl Node {
    /// The entries of a map; empty for anything else.
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.kind {
            NodeKind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; empty for anything else.
    pub(super) fn items(&self) -> &[Node] {
        match &self.kind {
            NodeKind::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The entry with a key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// What the node is, for messages.
    pub(super) fn kind_name(&self) -> &'static str {
        match self.kind {
            NodeKind::Null | NodeKind::Broken => "nothing",
            NodeKind::Scalar(_) => "a single value",
            NodeKind::List(_) => "a list",
            NodeKind::Map(_) => "a group of keys",
        }
    }
}

/// A collection that is not yet closed.
struct Open {
    node: Node,
    anchor: usize,
    /// The key whose value comes next, in a map.
    key: Option<(String, Span)>,
    /// The keys so far with their places, in a map.
    keys: HashMap<String, Span>,
    /// Deepest nesting inside, itself counted.
    height: usize,
}

/// A finished node that aliases may copy.
struct Anchored {
    node: Node,
    nodes: usize,
    height: usize,
}

struct Builder {
    problems: Vec<Problem>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    nodes: usize,
    root: Option<Node>,
}

/// Parses YAML text. The tree is absent where the text is not YAML or holds nothing.
pub(super) fn parse(text: &str) -> (Option<Node>, Vec<Problem>) {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        disallow_directives: true,
    };
    let mut builder = Builder {
        problems: Vec::new(),
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        root: None,
    };
    for next in Parser::new_from_str_with_options(text, options) {
        let proceed = match next {
            Ok((event, span)) => {
                if let Some(tag) = span.tag_span() {
                    builder.refuse_tag(span_of(text, tag));
                }
                builder.event(event, span_of(text, span))
            }
            Err(error) => {
                let problem = syntax_problem(text, &error);
                builder.problems.push(problem);
                false
            }
        };
        if !proceed {
            return (None, builder.problems);
        }
    }
    (builder.root, builder.problems)
}

impl Builder {
    /// Takes one event; false stops.
    fn event(&mut self, event: Event<'_>, span: Span) -> bool {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                self.problems.push(
                    Problem::error("second-document", "a second document begins here")
                        .at(span, "one file holds one site")
                        .hint("put the second site into a file of its own"),
                );
                return false;
            }
            Event::Scalar(text, style, anchor, _) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let kind =
                    if is_null { NodeKind::Null } else { NodeKind::Scalar(text.into_owned()) };
                return self.finish(Node { span, kind }, anchor, 1, 0);
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Node { span, kind: NodeKind::List(Vec::new()) }, anchor);
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Node { span, kind: NodeKind::Map(Vec::new()) }, anchor);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(mut open) = self.open.pop() else { return false };
                open.node.span.end = open.node.span.end.max(span.end);
                return self.finish(open.node, open.anchor, 1, open.height);
            }
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::UnresolvedAlias(name) => {
                self.problems.push(
                    Problem::error("unknown-alias", format!("nothing is anchored as `{name}`"))
                        .at(span, "no `&` with this name stands above")
                        .hint("text that begins with `*` must stand in quotes"),
                );
                return self.finish(Node { span, kind: NodeKind::Broken }, 0, 1, 0);
            }
            _ => {}
        }
        true
    }

    fn refuse_tag(&mut self, span: Span) {
        self.problems.push(
            Problem::error("tag", "a tag has no meaning in a site file")
                .at(span, "")
                .hint("remove the word that begins with `!`, or put the text into quotes"),
        );
    }

    fn begin(&mut self, node: Node, anchor: usize) {
        self.open.push(Open { node, anchor, key: None, keys: HashMap::new(), height: 1 });
    }

    fn alias(&mut self, anchor: usize, span: Span) -> bool {
        if self.open.iter().any(|open| open.anchor == anchor) {
            self.problems.push(
                Problem::error("cyclic-alias", "an alias stands inside what it names")
                    .at(span, "this would never end")
                    .hint("write the values out instead of the alias"),
            );
            return self.finish(Node { span, kind: NodeKind::Broken }, 0, 1, 0);
        }
        let Some(anchored) = self.anchors.get(&anchor) else {
            // The parser resolves aliases to nodes that it has emitted; a node that was refused
            // above is not kept, and its problem is told already.
            return self.finish(Node { span, kind: NodeKind::Broken }, 0, 1, 0);
        };
        let (nodes, height) = (anchored.nodes, anchored.height);
        if self.nodes + nodes > NODES_MAX || self.open.len() + height > DEPTH_MAX {
            self.problems.push(
                Problem::error("alias-budget", "aliases make this file grow beyond any use")
                    .at(span, "the copy made here is too much")
                    .hint(format!(
                        "a site file holds at most {NODES_MAX} values and {DEPTH_MAX} levels, copies \
                         counted"
                    )),
            );
            return false;
        }
        let node = Node { span, ..anchored.node.clone() };
        self.finish(node, 0, nodes, height)
    }

    /// Puts a finished node into its place; false stops.
    fn finish(&mut self, node: Node, anchor: usize, nodes: usize, height: usize) -> bool {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            self.problems.push(
                Problem::error("too-many-values", format!("more than {NODES_MAX} values"))
                    .at(node.span, "reading stopped here"),
            );
            return false;
        }
        if anchor != 0 {
            let nodes = count(&node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, height });
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return true;
        };
        parent.height = parent.height.max(height + 1);
        match &mut parent.node.kind {
            NodeKind::List(items) => items.push(node),
            NodeKind::Map(entries) => match parent.key.take() {
                None => {
                    let key = match node.kind {
                        NodeKind::Scalar(text) => text,
                        NodeKind::Null => "null".to_owned(),
                        NodeKind::Broken => "?".to_owned(),
                        NodeKind::List(_) | NodeKind::Map(_) => {
                            self.problems.push(
                                Problem::error("key-kind", "a key must be a word")
                                    .at(node.span, "")
                                    .hint("text that holds `{`, `[` or `: ` must stand in quotes"),
                            );
                            "?".to_owned()
                        }
                    };
                    parent.key = Some((key, node.span));
                }
                Some((key, key_span)) => {
                    if let Some(first) = parent.keys.get(&key) {
                        self.problems.push(
                            Problem::error(
                                "duplicate-key",
                                format!("`{}` is given twice", shorten(&key)),
                            )
                            .at(key_span, "given again here")
                            .beside(*first, "first given here")
                            .hint("keep one of the two"),
                        );
                    } else {
                        parent.keys.insert(key.clone(), key_span);
                        entries.push(Entry { key, key_span, value: node });
                    }
                }
            },
            NodeKind::Null | NodeKind::Broken | NodeKind::Scalar(_) => {}
        }
        true
    }
}

/// Nodes of a tree. The depth is bounded by [`DEPTH_MAX`].
fn count(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Null | NodeKind::Broken | NodeKind::Scalar(_) => 1,
        NodeKind::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        NodeKind::Map(entries) => {
            1 + entries.iter().map(|entry| 1 + count(&entry.value)).sum::<usize>()
        }
    }
}

/// A parser's span in bytes. Trailing blanks and line ends are cut off.
fn span_of(text: &str, span: granit_parser::Span) -> Span {
    let start = span.start.byte_offset().unwrap_or(text.len()).min(text.len());
    let end = span.end.byte_offset().unwrap_or(start).clamp(start, text.len());
    let end = text.get(start..end).map_or(end, |slice| start + slice.trim_end().len());
    Span { start, end }
}

/// A syntax error in words of the user, with what usually causes it.
fn syntax_problem(text: &str, error: &ScanError) -> Problem {
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let span = Span { start: at, end: at + text[at..].chars().next().map_or(0, char::len_utf8) };
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let indent_length = line.len() - line.trim_start().len();
    if let Some(tab) = line[..indent_length].find('\t') {
        let start = line_start + tab;
        return Problem::error("tab", "a tab indents this line")
            .at(Span { start, end: start + 1 }, "YAML indents with blanks alone")
            .hint("replace the tab with two blanks");
    }
    let problem = |message: &str, label: &str| {
        Problem::error("yaml", message.to_owned()).at(span, label.to_owned())
    };
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => {
            problem(&format!("more than {DEPTH_MAX} levels lie inside each other"), "too deep here")
        }
        ErrorKind::DirectiveDisallowed => problem("a site file has no directives", "")
            .hint("remove the line that begins with `%`"),
        ErrorKind::UnclosedQuotedScalar => problem("a quote is not closed", "the text begins here")
            .hint("close the quote on the line on which it begins"),
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            problem("a `{` is not closed", "the file ends here").hint("add the missing `}`")
        }
        ErrorKind::UnexpectedEofFlowSequence => {
            problem("a `[` is not closed", "the file ends here").hint("add the missing `]`")
        }
        ErrorKind::ExpectedFlowMappingSeparator => {
            problem("a `,` or `}` is missing before this", "")
                .hint("close the `{` that is open here")
        }
        ErrorKind::ExpectedFlowSequenceSeparator => {
            problem("a `,` or `]` is missing before this", "")
                .hint("close the `[` that is open here")
        }
        ErrorKind::ExpectedBlockSequenceEntry => {
            problem("this line fits to no item above", "check its indentation")
                .hint("keys of one item begin in the same column, two behind the `-`")
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => {
            problem("this line fits to no group above", "check its indentation")
                .hint("keys of one group begin in the same column")
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            problem("a key without its colon", "")
                .hint("write `key: value`, with a blank after `:`")
        }
        ErrorKind::InvalidColonPlacement | ErrorKind::MappingValueNotAllowed => {
            problem("a second `: ` on one line", "")
                .hint("text that holds `: ` must stand in quotes; a key begins a line of its own")
        }
        _ => problem("this is not YAML", &error.info()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<&'static str> {
        parse(text).1.iter().map(|problem| problem.code).collect()
    }

    #[test]
    fn nodes_know_their_place() {
        let text = "name: demo # x\nlist: [1, two]\nempty:\n";
        let (root, problems) = parse(text);
        assert!(problems.is_empty());
        let root = root.unwrap();
        let slice = |span: Span| &text[span.start..span.end];
        assert_eq!(slice(root.entry("name").unwrap().key_span), "name");
        assert_eq!(slice(root.entry("name").unwrap().value.span), "demo");
        assert_eq!(slice(root.entry("list").unwrap().value.items()[1].span), "two");
        assert!(matches!(root.entry("empty").unwrap().value.kind, NodeKind::Null));
    }

    #[test]
    fn places_are_bytes_also_behind_letters_of_several_bytes() {
        let text = "näme: é\nlast: x\n";
        let root = parse(text).0.unwrap();
        let span = root.entry("last").unwrap().key_span;
        assert_eq!(&text[span.start..span.end], "last");
    }

    #[test]
    fn aliases_copy_and_are_bounded() {
        let (root, problems) = parse("a: &x {b: 1}\nc: *x\n");
        assert!(problems.is_empty());
        assert_eq!(
            root.unwrap().entry("c").unwrap().value.entry("b").unwrap().value.text(),
            Some("1")
        );
        assert_eq!(codes("a: &x [*x]\n"), ["cyclic-alias"]);
        assert_eq!(codes("a: *nothing\n"), ["unknown-alias"]);
        let mut laughs = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x, x]".to_owned()];
        let mut tower = vec!["a0: &a0 [x]".to_owned()];
        for level in 1..60 {
            let below = level - 1;
            let copies = vec![format!("*a{below}"); 10].join(", ");
            laughs.push(format!("a{level}: &a{level} [{copies}]"));
            tower.push(format!("a{level}: &a{level} [*a{below}]"));
        }
        assert_eq!(codes(&laughs.join("\n")), ["alias-budget"]);
        assert_eq!(codes(&tower.join("\n")), ["alias-budget"]);
    }

    #[test]
    fn depth_is_bounded() {
        assert_eq!(codes(&"[".repeat(100_000)), ["yaml"]);
        assert_eq!(codes(&"- ".repeat(10_000)), ["yaml"]);
        assert_eq!(codes(&"{a: ".repeat(100_000)), ["yaml"]);
    }

    #[test]
    fn structure_that_yaml_allows_and_a_site_file_does_not() {
        assert_eq!(codes("a: 1\na: 2\n"), ["duplicate-key"]);
        assert_eq!(codes("a: 1\n---\nb: 2\n"), ["second-document"]);
        assert_eq!(codes("a: !thing 1\n"), ["tag"]);
        assert_eq!(codes("? [a]\n: 1\n"), ["key-kind"]);
        assert_eq!(codes("a:\n\tb: 1\n"), ["tab"]);
    }
}
