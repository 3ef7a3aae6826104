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
    if problem.labels.is_empty() {
        let group = title.element(Origin::path(name));
        return renderer.render(&[add_hint(group, problem.hint.as_deref())]);
    }
    // Beside its marks a label may stand only where the page has room for it.
    let excerpt = excerpt(text, problem);
    let mut notes: Vec<String> = Vec::new();
    let mut annotations = Vec::new();
    for label in &problem.labels {
        let kind = if label.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let span = clamp(text, label.span.start, label.span.end);
        let (line, column) = place(text, span.end);
        let annotation = kind.span(span.start - excerpt.start..span.end - excerpt.start);
        if label.text.is_empty() {
            annotations.push(annotation);
        } else if GUTTER + column + 1 + label.text.chars().count() <= COLUMNS {
            annotations.push(annotation.label(label.text.as_str()));
        } else {
            annotations.push(annotation);
            notes.push(format!("line {line}: {}", label.text));
        }
    }
    let mut group = title.element(
        Snippet::source(&text[excerpt.clone()])
            .line_start(place(text, excerpt.start).0)
            .path(name)
            .annotations(annotations),
    );
    for note in &notes {
        group = group.element(Level::NOTE.message(wrap(note, "   = note: ".len())));
    }
    renderer.render(&[add_hint(group, problem.hint.as_deref())])
}

/// The whole lines from the first label to the last: the renderer takes time over each line that it
/// is given.
fn excerpt(text: &str, problem: &Problem) -> std::ops::Range<usize> {
    let spans = problem.labels.iter().map(|label| clamp(text, label.span.start, label.span.end));
    let (start, end) = spans
        .fold((text.len(), 0), |(start, end), span| (start.min(span.start), end.max(span.end)));
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |length| end + length);
    line_start..line_end
}

/// Columns in front of the text of a line: a number of up to five digits and its rule.
const GUTTER: usize = 8;

/// Line and column of a place, from 1 and 0, in characters.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count())
}

fn add_hint<'a>(group: Group<'a>, hint: Option<&str>) -> Group<'a> {
    match hint {
        Some(hint) => group.element(Level::HELP.message(wrap(hint, "   = help: ".len()))),
        None => group,
    }
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
    for word in &words(text, width) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines.join("\n")
}

/// Words of a text. What stands between backticks is one word, so that it can be copied, unless it
/// is wider than a line.
fn words(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in text.split(' ') {
        match words.last_mut() {
            Some(word) if is_open => {
                word.push(' ');
                word.push_str(part);
            }
            _ => words.push(part.to_owned()),
        }
        is_open ^= part.matches('`').count() % 2 == 1;
    }
    let split = |word: String| -> Vec<String> {
        if word.chars().count() > width {
            word.split(' ').map(str::to_owned).collect()
        } else {
            vec![word]
        }
    };
    words.into_iter().flat_map(split).collect()
}
