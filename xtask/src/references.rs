//! References that are made from the code: written by `references`, compared by `tidy`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::tree::{Fault, root};

/// Options of `references`.
#[derive(clap::Args)]
pub(crate) struct ReferencesArguments {
    /// A built `cotenant`, whose `--help` becomes `docs/cli.md`. Without it that file stays as it is.
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// One generated file.
struct Reference {
    path: &'static str,
    text: String,
}

/// What stands above the generated part of the site file's document.
const SITE_FILE_MARK: &str = "<!-- The reference below is made from the table of fields. -->\n\n";
/// Levels of commands below the program: `cotenant engine serve` is the deepest.
const COMMAND_DEPTH_MAX: usize = 3;

/// The schema as text: keys in alphabetical order, whatever order the build's features give them.
fn schema_text(schema: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let mut entries: Vec<_> = object.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    format!("{:#}\n", sorted(schema))
}

/// The document with its generated part made anew.
fn with_reference(document: &str, reference: &str) -> anyhow::Result<String> {
    let (head, _) = document
        .split_once(SITE_FILE_MARK)
        .with_context(|| format!("the line `{}` is missing", SITE_FILE_MARK.trim()))?;
    Ok(format!("{head}{SITE_FILE_MARK}{}\n", reference.trim_end()))
}

/// The names below `Commands:` in a help text; `help` itself is left out.
fn subcommands(help: &str) -> Vec<&str> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or("");
    let list = list.split("\n\n").next().unwrap_or("");
    // A name is indented by two spaces; the text of a name that wraps, by more.
    list.lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

/// Appends the help of a command and of those below it.
fn document_command(
    help_of: &dyn Fn(&[String]) -> anyhow::Result<String>,
    command: &[String],
    output: &mut String,
) -> anyhow::Result<()> {
    if command.len() >= COMMAND_DEPTH_MAX {
        bail!("`{}` is deeper than {COMMAND_DEPTH_MAX} levels", command.join(" "));
    }
    let help = help_of(command)?;
    let mut name = vec!["cotenant"];
    name.extend(command.iter().map(String::as_str));
    // Writing to a String cannot fail.
    let _ = write!(output, "\n## {}\n\n```text\n", name.join(" "));
    for line in help.trim_end().lines() {
        output.push_str(line.trim_end());
        output.push('\n');
    }
    output.push_str("```\n");
    for below in subcommands(&help) {
        let mut longer = command.to_vec();
        longer.push(below.to_owned());
        document_command(help_of, &longer, output)?;
    }
    Ok(())
}

/// The command line of a built binary as a document.
fn command_line(binary: &Path) -> anyhow::Result<String> {
    let help_of = |command: &[String]| {
        let output = Command::new(binary)
            .args(command)
            .arg("--help")
            .env("NO_COLOR", "1")
            .output()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        if !output.status.success() {
            bail!("{} {} --help: {}", binary.display(), command.join(" "), output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    };
    let mut text = "# The command line\n\nWhat `--help` says of each command. Exit codes are in \
        [exit-codes.md](exit-codes.md).\n"
        .to_owned();
    document_command(&help_of, &[], &mut text)?;
    Ok(text)
}

/// Every generated file as it should be.
fn references(root: &Path, binary: Option<&Path>) -> anyhow::Result<Vec<Reference>> {
    const SITE_FILE: &str = "docs/site-file.md";
    let document = std::fs::read_to_string(root.join(SITE_FILE)).context(SITE_FILE)?;
    let mut references = vec![
        Reference {
            path: "docs/site-schema.json",
            text: schema_text(&cotenant_records::site::schema()),
        },
        Reference {
            path: "docs/report-schema.json",
            text: schema_text(&cotenant_report::schema()),
        },
        Reference {
            path: "docs/plan-schema.json",
            text: schema_text(&cotenant_report::plan_schema()),
        },
        Reference {
            path: SITE_FILE,
            text: with_reference(&document, &cotenant_records::site::reference())
                .context(SITE_FILE)?,
        },
    ];
    if let Some(binary) = binary {
        references.push(Reference { path: "docs/cli.md", text: command_line(binary)? });
    }
    Ok(references)
}

/// The generated files that are not what the code says.
pub(crate) fn outdated(root: &Path, binary: Option<&Path>) -> anyhow::Result<Vec<Fault>> {
    let is_outdated = |reference: &Reference| {
        std::fs::read_to_string(root.join(reference.path)).ok().as_ref() != Some(&reference.text)
    };
    let fault = |reference: Reference| {
        Fault::of(reference.path, "is not what the code says; `cargo run -p xtask -- references`")
    };
    Ok(references(root, binary)?.into_iter().filter(is_outdated).map(fault).collect())
}

/// Writes every generated file.
pub(crate) fn run(arguments: &ReferencesArguments) -> anyhow::Result<()> {
    use std::io::Write as _;

    let root = root();
    for reference in references(&root, arguments.binary.as_deref())? {
        let path = root.join(reference.path);
        std::fs::write(&path, reference.text).with_context(|| path.display().to_string())?;
        writeln!(std::io::stdout(), "{}", reference.path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{document_command, outdated, references, schema_text, subcommands, with_reference};
    use crate::tree::root;

    const HELP: &str = "What.\n\nUsage: cotenant <COMMAND>\n\nCommands:\n  try     Show\n          \
        more of it\n  engine  Run\n  help    Print\n\nOptions:\n  -q  Quiet\n";

    #[test]
    fn schemas_do_not_depend_on_the_order_of_keys() {
        assert_eq!(
            schema_text(&json!({"b": [{"d": 1, "c": 2}], "a": 0})),
            "{\n  \"a\": 0,\n  \"b\": [\n    {\n      \"c\": 2,\n      \"d\": 1\n    }\n  ]\n}\n"
        );
    }

    #[test]
    fn the_generated_part_is_replaced_and_the_rest_kept() {
        let document = format!("head\n{}old\n", super::SITE_FILE_MARK);
        let new = with_reference(&document, "new\n\n").unwrap();
        assert_eq!(new, format!("head\n{}new\n", super::SITE_FILE_MARK));
        assert!(with_reference("no mark\n", "new").is_err());
    }

    #[test]
    fn commands_are_found_in_the_help() {
        assert_eq!(subcommands(HELP), ["try", "engine"]);
        assert!(subcommands("Options:\n  -q  Quiet\n").is_empty());
    }

    #[test]
    fn every_command_is_documented_once() {
        let help_of = |command: &[String]| {
            Ok(if command.is_empty() { HELP.to_owned() } else { "Leaf.  \n".to_owned() })
        };
        let mut text = String::new();
        document_command(&help_of, &[], &mut text).unwrap();
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("##")).collect();
        assert_eq!(headings, ["## cotenant", "## cotenant try", "## cotenant engine"]);
        assert!(text.contains("```text\nLeaf.\n```\n"));
        // A help that names itself for ever ends with an error.
        let endless = |_: &[String]| Ok(HELP.to_owned());
        assert!(document_command(&endless, &[], &mut text).is_err());
    }

    #[test]
    fn a_file_that_says_something_else_is_outdated() {
        let folder =
            std::env::temp_dir().join(format!("cotenant-references-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("docs")).unwrap();
        std::fs::copy(root().join("docs/site-file.md"), folder.join("docs/site-file.md")).unwrap();
        for reference in references(&folder, None).unwrap() {
            std::fs::write(folder.join(reference.path), reference.text).unwrap();
        }
        assert_eq!(outdated(&folder, None).unwrap(), []);
        std::fs::write(folder.join("docs/site-schema.json"), "{}\n").unwrap();
        std::fs::remove_file(folder.join("docs/report-schema.json")).unwrap();
        let paths: Vec<String> =
            outdated(&folder, None).unwrap().into_iter().map(|fault| fault.path).collect();
        assert_eq!(paths, ["docs/site-schema.json", "docs/report-schema.json"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
