//! Files with the outputs of several commands, each under a line `# $ command`.

use super::error::DeviceError;
use super::model::DeviceReport;
use super::read::{DeviceDocument, read_one};

/// The sections of a file, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// The sections.
    pub sections: Vec<Section>,
}

/// What one command printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The line above the command, such as `idle :: query (-q)`; empty where there is none.
    pub title: String,
    /// The command; empty where the section has none.
    pub command: String,
    /// The line on which the output begins, from 1.
    pub line: usize,
    /// What it says, or why it was not read. Lines are those of the file.
    pub content: Result<DeviceDocument, DeviceError>,
}

impl Capture {
    /// The reports of all sections with their titles.
    pub fn reports(&self) -> impl Iterator<Item = (&str, &DeviceReport)> {
        self.sections.iter().filter_map(|section| match &section.content {
            Ok(DeviceDocument::Report(report)) => Some((section.title.as_str(), report)),
            _ => None,
        })
    }

    /// The first section whose command is the given one.
    pub fn of_command(&self, command: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.command == command)
    }
}

/// Whether a text is such a file.
pub(super) fn is_capture(text: &str) -> bool {
    text.lines().any(|line| command(line).is_some())
}

/// `nvidia-smi -q` of `# $ nvidia-smi -q`.
fn command(line: &str) -> Option<&str> {
    line.strip_prefix("# $ ").map(str::trim).filter(|command| command.starts_with("nvidia-smi"))
}

/// Whether a line is a border of a section's heading.
fn is_border(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 8 && line.bytes().all(|byte| byte == b'#')
}

/// Reads each section by itself: one that cannot be read leaves the others.
pub(super) fn read_capture(text: &str) -> Capture {
    let lines: Vec<&str> = text.lines().collect();
    let mut sections = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let Some(command) = command(lines[index]) else {
            index += 1;
            continue;
        };
        let title = index.checked_sub(1).map_or("", |above| lines[above]);
        let title = if is_border(title) { "" } else { title.trim_start_matches('#').trim() };
        let start =
            index + 1 + usize::from(lines.get(index + 1).is_some_and(|next| is_border(next)));
        let length = lines[start.min(lines.len())..]
            .iter()
            .take_while(|line| !is_border(line) && !line.starts_with("# $ "))
            .count();
        let end = (start + length).min(lines.len());
        let output = lines[start.min(end)..end].join("\n");
        sections.push(Section {
            title: title.to_owned(),
            command: command.to_owned(),
            line: start + 1,
            content: content(command, &output, start),
        });
        index = end.max(index + 1);
    }
    Capture { sections }
}

fn content(command: &str, output: &str, start: usize) -> Result<DeviceDocument, DeviceError> {
    let refused = |kind, way_out| Err(DeviceError::Refused { line: start + 1, kind, way_out });
    let arguments = command.trim_start_matches("nvidia-smi").trim();
    if arguments.starts_with("-h") || arguments.starts_with("--help") {
        return refused("the tool's help", "it says nothing about a device, and nothing is lost");
    }
    if arguments.starts_with("--query-accounted-apps") || arguments.starts_with("--query-retired") {
        return refused(
            "a table of past processes or retired pages",
            "the query of GPUs has what counts",
        );
    }
    if arguments == "--version" {
        return refused("the tool's version", "the query has the driver's version");
    }
    read_one(output).map(|document| document.moved_by(start)).map_err(|error| error.moved_by(start))
}
