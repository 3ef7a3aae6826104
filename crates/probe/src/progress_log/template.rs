//! A line pattern that an engineer can write without knowing regular expressions:
//! `step={step} loss={loss} step_s={step_s}`. What stands outside braces must be in the line as it
//! is; a field takes what stands up to the next literal. `{*}` skips.

use std::fmt;

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A brace has no partner.
    #[error("the brace at character {0} has no partner: write fields as `{{name}}`")]
    Brace(usize),
    /// Two fields touch, so nothing says where the first ends.
    #[error("the fields `{0}` and `{1}` touch: put the text between them that the line has")]
    Touching(String, String),
    /// Nothing but fields, so every line would match.
    #[error("the template has no text outside its fields, so any line would match")]
    NoText,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(String),
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    /// Reads a template.
    ///
    /// ```
    /// use cotenant_probe::progress_log::Template;
    /// let template = Template::parse("step={step} loss={loss}").unwrap();
    /// let fields = template.fields("[rank0] step=12 loss=5.25").unwrap();
    /// assert_eq!(fields, [("step", "12"), ("loss", "5.25")]);
    /// assert_eq!(template.fields("saving step"), None);
    /// ```
    ///
    /// # Errors
    /// A brace without partner, two fields that touch, or no text at all.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        let position = |rest: &str| text.chars().count() - rest.chars().count() + 1;
        while !rest.is_empty() {
            let open = rest.find(['{', '}']).unwrap_or(rest.len());
            if open > 0 {
                parts.push(Part::Text(rest[..open].to_owned()));
                rest = &rest[open..];
                continue;
            }
            let close = rest.find('}').filter(|_| rest.starts_with('{'));
            let close = close.ok_or_else(|| TemplateError::Brace(position(rest)))?;
            let name = rest[1..close].to_owned();
            if let Some(Part::Field(before)) = parts.last() {
                return Err(TemplateError::Touching(before.clone(), name));
            }
            parts.push(Part::Field(name));
            rest = &rest[close + 1..];
        }
        let has_text = |part: &Part| matches!(part, Part::Text(text) if !text.trim().is_empty());
        if !parts.iter().any(has_text) {
            return Err(TemplateError::NoText);
        }
        Ok(Self { parts })
    }

    /// Names of the fields, in order.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Field(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The fields of a line that matches, in order, without those named `*`; `None` where it does
    /// not match. The first text may stand anywhere in the line, because launchers put rank names
    /// and times before it. A field at the end takes the rest up to the next white space.
    pub fn fields<'t, 'l>(&'t self, line: &'l str) -> Option<Vec<(&'t str, &'l str)>> {
        let mut starts = match self.parts.first()? {
            Part::Text(first) => {
                line.match_indices(first.as_str()).map(|(at, _)| at).collect::<Vec<_>>()
            }
            Part::Field(_) => vec![0],
        };
        starts.truncate(16);
        starts.into_iter().find_map(|start| self.fields_at(&line[start..]))
    }

    fn fields_at<'t, 'l>(&'t self, mut rest: &'l str) -> Option<Vec<(&'t str, &'l str)>> {
        let mut fields = Vec::new();
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Field(name) => {
                    let end = match parts.peek() {
                        Some(Part::Text(next)) => rest.find(next.as_str())?,
                        _ if name == "*" => rest.len(),
                        _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
                    };
                    if name != "*" {
                        if end == 0 {
                            return None;
                        }
                        fields.push((name.as_str(), &rest[..end]));
                    }
                    rest = &rest[end..];
                }
            }
        }
        Some(fields)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Field(name) => write!(f, "{{{name}}}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(template: &str, line: &str, expected: Option<&[(&str, &str)]>) {
        let template = Template::parse(template).unwrap();
        assert_eq!(template.fields(line).as_deref(), expected);
    }

    #[test]
    fn lines() {
        check(
            "step={step} loss={loss}",
            "step=1 loss=2.5 x",
            Some(&[("step", "1"), ("loss", "2.5")]),
        );
        check("step={step},", "step=1,", Some(&[("step", "1")]));
        check("step={step},", "step=1", None);
        check("step={step}", "step= 1", None);
        check("it {n}/{*} done", "it 3/400 done", Some(&[("n", "3")]));
        check("step: {n}", "global_step: x step: 7", Some(&[("n", "x")]));
        check("took {s}s", "took é took 3s", Some(&[("s", "é took 3")]));
    }

    #[test]
    fn a_template_that_cannot_work_is_refused() {
        assert_eq!(Template::parse("step={step"), Err(TemplateError::Brace(6)));
        assert_eq!(Template::parse("a}"), Err(TemplateError::Brace(2)));
        assert!(matches!(Template::parse("x{a}{b}"), Err(TemplateError::Touching(..))));
        assert_eq!(Template::parse("{a} {b}"), Err(TemplateError::NoText));
        assert_eq!(Template::parse(""), Err(TemplateError::NoText));
    }

    proptest! {
        #[test]
        fn no_line_and_no_template_panics(template in "\\PC{0,30}", line in "\\PC{0,60}") {
            if let Ok(template) = Template::parse(&template) {
                let _ = template.fields(&line);
                prop_assert_eq!(Template::parse(&template.to_string()), Ok(template));
            }
        }
    }
}
