//! Names as other tools take them, and text as their files quote it.

use std::fmt::Write as _;

/// A name of letters, digits and hyphens, as Kubernetes takes it: at most 40 of them, so that a
/// prefix still fits into a label's 63. Names that differ in other characters may become one.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars() {
        let letter = letter.to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let short: String = slug.chars().take(40).collect();
    let short = short.trim_matches('-');
    if short.is_empty() { "site".to_owned() } else { short.to_owned() }
}

/// A name in which every character but letters, digits and `keep` stands as its bytes in
/// hexadecimal: different names stay different.
pub(super) fn encoded(name: &str, mark: char, keep: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || keep.contains(letter) {
            text.push(letter);
            continue;
        }
        let mut bytes = [0; 4];
        for byte in letter.encode_utf8(&mut bytes).bytes() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{mark}{byte:02X}");
        }
    }
    text
}

/// A text in double quotes, as YAML reads it.
pub(super) fn yaml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            letter
                if letter.is_control()
                    || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}') =>
            {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A text in single quotes, as a shell reads it.
pub(super) fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Sentences as comments, each on lines that begin with `#`.
pub(super) fn comments(indent: &str, sentences: &[String]) -> String {
    let mut text = String::new();
    for sentence in sentences {
        // A line break inside of a sentence would end the comment.
        let line: String = sentence.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        text.push_str(indent);
        text.push_str("# ");
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_names_of_kubernetes() {
        for (name, is) in [
            ("Lab 3, GPU-Server", "lab-3-gpu-server"),
            ("", "site"),
            ("äöü", "site"),
            ("--a--", "a"),
            ("x.y_z", "x-y-z"),
        ] {
            assert_eq!(slug(name), is);
        }
        assert!(slug(&"long name ".repeat(20)).len() <= 40);
    }

    #[test]
    fn encoded_names_stay_different() {
        assert_eq!(encoded("a b", '%', "-"), "a%20b");
        assert_ne!(encoded("a b", '_', ""), encoded("a-b", '_', ""));
        assert_eq!(encoded("ü", '%', ""), "%C3%BC");
    }

    #[test]
    fn quotes_hold_what_is_in_them() {
        assert_eq!(shell("it's"), "'it'\\''s'");
        assert_eq!(yaml("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000Ad\"");
        assert_eq!(comments("", &["a\nrm -rf".to_owned()]), "# a rm -rf\n");
    }
}
