//! The lines of a file: fields, remarks and examples, in at most 80 columns where a value allows it.

use cotenant_core::units::Bytes;

/// Columns of a line.
const WIDTH: usize = 80;

/// A text that grows.
#[derive(Debug, Default)]
pub(super) struct Sheet(String);

impl Sheet {
    pub(super) fn text(self) -> String {
        self.0
    }

    pub(super) fn blank(&mut self) {
        self.0.push('\n');
    }

    /// A line as it is.
    pub(super) fn line(&mut self, depth: usize, text: &str) {
        self.0.push_str(&pad(depth));
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// A remark, wrapped.
    pub(super) fn remark(&mut self, depth: usize, text: &str) {
        let mut line = format!("{}#", pad(depth));
        let start = line.len();
        // A source may say anything; a line break in it must not end the comment.
        for word in text.split(|one: char| one.is_whitespace() || is_odd(one)) {
            if word.is_empty() {
                continue;
            }
            let is_full = line.chars().count() + 1 + word.chars().count() > WIDTH;
            if is_full && line.len() > start {
                self.0.push_str(&line);
                self.0.push('\n');
                line.truncate(start);
            }
            line.push(' ');
            line.push_str(word);
        }
        self.0.push_str(&line);
        self.0.push('\n');
    }

    /// A field with where it comes from: behind it where there is room, else before it.
    pub(super) fn found(&mut self, depth: usize, field: &str, how: &str) {
        let behind = format!("{}{field}  # found: {how}", pad(depth));
        if behind.chars().count() <= WIDTH && !how.contains(is_odd) {
            self.line(0, &behind);
        } else {
            self.remark(depth, &format!("found: {how}"));
            self.line(depth, field);
        }
    }

    /// A field that was not found, as an example that is commented out.
    pub(super) fn absent(&mut self, depth: usize, example: &str, why: &str) {
        self.remark(depth, &format!("not found: {why}"));
        self.example(depth, example);
    }

    /// A line that is commented out and becomes the file's when the mark is taken away.
    pub(super) fn example(&mut self, depth: usize, line: &str) {
        self.line(depth, &format!("# {line}"));
    }
}

fn pad(depth: usize) -> String {
    "  ".repeat(depth)
}

/// What ends a line, or may not stand in a text of YAML at all.
fn is_odd(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether a text is a value: a blank is none, and `?` means in a site file that it is still to be written.
pub(super) fn is_value(text: &str) -> bool {
    !matches!(text.trim(), "" | "?")
}

/// A text as YAML reads it back. What could be taken for anything but these characters is quoted.
pub(super) fn quoted(text: &str) -> String {
    let is_safe = |one: char| one.is_ascii_alphanumeric() || "._+/-".contains(one);
    let words = ["true", "false", "null", "yes", "no", "on", "off", "none"];
    let is_plain = text.starts_with(|one: char| one.is_ascii_alphanumeric())
        && text.chars().all(is_safe)
        && !words.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for one in text.chars() {
        match one {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            one if is_odd(one) => out.push(' '),
            one => out.push(one),
        }
    }
    out.push('"');
    out
}

/// Characters of a name, at most.
const NAME_CHARACTERS_MAX: usize = 100;

/// A name as the site file allows it, made of a text.
pub(super) fn name(text: &str) -> String {
    let is_good = |one: char| one.is_ascii_alphanumeric() || "._-".contains(one);
    let name = text.chars().take(NAME_CHARACTERS_MAX);
    let name: String = name.map(|one| if is_good(one) { one } else { '-' }).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() { "server".to_owned() } else { quoted(&name) }
}

/// Whether a text can stand as a name as it is.
pub(super) fn is_name(text: &str) -> bool {
    let is_good = |one: char| one.is_alphanumeric() || "._-/:".contains(one);
    !text.is_empty() && text.chars().count() <= NAME_CHARACTERS_MAX && text.chars().all(is_good)
}

/// An amount of memory in whole MiB or GiB, never more than there is.
pub(super) fn memory(bytes: Bytes) -> String {
    match (bytes.0 >> 20, bytes.0 % (1 << 30)) {
        (0, _) => format!("{} B", bytes.0),
        (mib, 0) => format!("{} GiB", mib >> 10),
        (mib, _) => format!("{mib} MiB"),
    }
}

/// Numbers as a list of the file: `[0, 1, 4]`.
pub(super) fn numbers(list: &[usize]) -> String {
    let list: Vec<String> = list.iter().map(usize::to_string).collect();
    format!("[{}]", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_yaml_would_misread_is_quoted() {
        assert_eq!(quoted("590.48.01"), "590.48.01");
        assert_eq!(quoted("0-3,8"), "\"0-3,8\"");
        assert_eq!(quoted("a: b # \"c\"\n"), "\"a: b # \\\"c\\\" \"");
        assert_eq!(quoted("no"), "\"no\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("--model"), "\"--model\"");
        assert_eq!(name("gpu node/1 "), "gpu-node-1");
        assert_eq!(name("  "), "server");
    }

    #[test]
    fn memory_is_never_rounded_up() {
        assert_eq!(memory(Bytes(81_559 << 20)), "81559 MiB");
        assert_eq!(memory(Bytes(512 << 30)), "512 GiB");
        assert_eq!(memory(Bytes((2 << 20) - 1)), "1 MiB");
    }

    #[test]
    fn a_remark_cannot_end_its_comment() {
        let mut sheet = Sheet::default();
        sheet.remark(1, &format!("one\ntwo {}", "word ".repeat(40)));
        let text = sheet.text();
        assert!(text.lines().all(|line| line.starts_with("  # ") && line.len() <= 80), "{text}");
        assert!(text.lines().count() > 2);
    }
}
