//! The way from bytes to a site.

use cotenant_core::site::Site;

use super::{Problem, Span, build, cross, fields, has_errors, tree, walk};

/// Largest site file that is read: 1 MiB. A site file is written by hand; a thousand workloads take
/// less. Callers need read no more than one byte beyond it.
pub const SITE_FILE_BYTES_MAX: usize = 1 << 20;

/// Problems that are reported of one file; a last one says how many more there are.
pub const PROBLEMS_MAX: usize = 100;

/// Reads a site file. `name` is used in no other way than to say which file is meant where the file
/// as a whole is wrong.
///
/// All problems come at once, in the order of the file. The site is absent exactly where one of them
/// is an error.
pub fn read_site(name: &str, bytes: &[u8]) -> (Option<Site>, Vec<Problem>) {
    let text = match text_of(name, bytes) {
        Ok(text) => text,
        Err(problem) => return (None, vec![problem]),
    };
    let (root, mut problems) = tree::parse(text);
    let mut site = None;
    match root {
        Some(root) if !root.entries().is_empty() => {
            problems.extend(walk::walk(&root, &fields::SITE));
            problems.extend(cross::check(&root));
            if !has_errors(&problems) {
                site = build::build(&root);
                if site.is_none() {
                    problems.push(Problem::error(
                        "bug",
                        "this file passes every check and still makes no site: please report it",
                    ));
                }
            }
        }
        Some(root) if problems.is_empty() => problems.push(
            Problem::error(
                "not-a-site",
                format!("a site is a group of keys, not {}", root.kind_name()),
            )
            .at(root.span, "")
            .hint("begin with `name: ...`; `cotenant schema` lists every key"),
        ),
        None if problems.is_empty() => problems.push(
            Problem::error(
                "empty",
                match text.trim() {
                    "" => format!("{name} is empty"),
                    _ => format!("{name} holds no value"),
                },
            )
            .hint("`cotenant try` writes an example to begin with"),
        ),
        _ => {}
    }
    problems.sort_by_key(Problem::order);
    (site, bounded(problems))
}

/// The file as text, or why it is none.
fn text_of<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Problem> {
    if bytes.len() > SITE_FILE_BYTES_MAX {
        return Err(Problem::error(
            "too-large",
            format!("{name} is larger than {} KiB", SITE_FILE_BYTES_MAX >> 10),
        )
        .hint("a site file names traces and evidence by their path, and holds none of them"));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(
            Problem::error("encoding", format!("{name} is UTF-16")).hint("save it as UTF-8")
        );
    }
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127);
    if let Some(offset) = bytes.iter().position(is_control) {
        let value = bytes[offset];
        return Err(Problem::error(
            "binary",
            format!("{name} is not a text: byte 0x{value:02x} at offset {offset}"),
        )
        .hint("a site file is YAML in UTF-8"));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let line = bytes[..offset].split(|byte| *byte == b'\n').count();
        let value = bytes[offset];
        Problem::error(
            "encoding",
            format!("{name} is not UTF-8: byte 0x{value:02x} at offset {offset}, line {line}"),
        )
        .hint("save it as UTF-8")
    })
}

fn bounded(mut problems: Vec<Problem>) -> Vec<Problem> {
    if problems.len() > PROBLEMS_MAX {
        let more = problems.len() - PROBLEMS_MAX;
        let span =
            problems[PROBLEMS_MAX].labels.first().map_or(Span::default(), |label| label.span);
        // Errors must not be cut off behind warnings: whether a site came of it depends on them.
        problems.sort_by_key(|problem| problem.severity);
        problems.truncate(PROBLEMS_MAX);
        problems.sort_by_key(Problem::order);
        problems.push(
            Problem::error("more", format!("{more} more problems are not shown")).at(span, ""),
        );
    }
    problems
}
