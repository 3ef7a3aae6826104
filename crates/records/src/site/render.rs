//! Problems as text for people, in the manner of rustc.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{Problem, Severity};

/// Columns that a rendered problem may take.
const COLUMNS: usize = 80;

/// Renders problems with the lines that they are about, for a terminal of 80 columns.
///
/// `name` is the file's name as the user gave it, `source` its bytes as they were read. A file that
/// is not text is named without its lines.
pub fn render(problems: &[Problem], name: &str, source: &[u8], color: bool) -> String {
    let text = std::str::from_utf8(source).unwrap_or_default();
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(COLUMNS).decor_style(DecorStyle::Ascii);
    let mut output = String::new();
    for problem in problems {
        if !output.is_empty() {
            output.push_str("\n\n");
        }
        let rendered = render_one(problem, name, text, &renderer);
        // The renderer pads some empty lines; nobody wants trailing blanks in a log or a snapshot.
        let lines: Vec<&str> = rendered.lines().map(str::trim_end).collect();
        output.push_str(&lines.join("\n"));
    }
    if !output.is_empty() {
        output.push('\n');
    }
    output
}

fn render_one(problem: &Problem, name: &str, text: &str, renderer: &Renderer) -> String {
    let (level, prefix) = match problem.severity {
        Severity::Error => (Level::ERROR, "error"),
        Severity::Warning => (Level::WARNING, "warning"),
    };
    let lead = prefix.len() + problem.code.len() + "[]: ".len();
    let title = level.primary_title(wrap(&problem.message, lead)).id(problem.code);
    let mut group = if problem.labels.is_empty() {
        title.element(Origin::path(name))
    } else {
        let annotations = problem.labels.iter().map(|label| {
            let kind =
                if label.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation = kind.span(clamp(text, label.span.start, label.span.end));
            if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
        });
        title.element(Snippet::source(text).path(name).annotations(annotations))
    };
    if let Some(hint) = &problem.hint {
        group = add_hint(group, hint);
    }
    renderer.render(&[group])
}

fn add_hint<'a>(group: Group<'a>, hint: &str) -> Group<'a> {
    group.element(Level::HELP.message(wrap(hint, "   = help: ".len())))
}

/// A span that lies inside the text, on character boundaries, on the line on which it begins.
fn clamp(text: &str, start: usize, end: usize) -> std::ops::Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(start);
    let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    start..floor(end).clamp(start, line_end)
}

/// Breaks a text at blanks so that no line is wider than the page. `lead` is the width of what
/// stands before it.
fn wrap(text: &str, lead: usize) -> String {
    let width = COLUMNS.saturating_sub(lead);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
