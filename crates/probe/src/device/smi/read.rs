//! Which output of `nvidia-smi` a text is, by its content.

use super::capture::{self, Capture, Section};
use super::csv;
use super::error::DeviceError;
use super::fill;
use super::list::{self, DeviceList};
use super::model::{DeviceProcess, DeviceReport, Problem};
use super::monitor::{self, Monitor};
use super::nvlink::{self, GpuLinks};
use super::topology::{self, Topology};
use super::unreachable::is_unreachable;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceDocument {
    /// `-q`, `-q -x` or `--query-gpu`.
    Report(DeviceReport),
    /// `-L`.
    List(DeviceList),
    /// `topo -m`.
    Topologies(Vec<Topology>),
    /// `nvlink -s`.
    Links(Vec<GpuLinks>),
    /// `dmon` or `pmon`.
    Monitor(Monitor),
    /// `--query-compute-apps`.
    Processes {
        /// The processes.
        processes: Vec<DeviceProcess>,
        /// What was not understood.
        problems: Vec<Problem>,
    },
    /// Several of these in one file.
    Capture(Capture),
}

impl DeviceDocument {
    /// The same, in a file in which the text begins `lines` lines later.
    #[must_use]
    pub(super) fn moved_by(mut self, lines: usize) -> Self {
        let move_all = |problems: &mut Vec<Problem>| {
            for problem in problems {
                problem.line += lines;
            }
        };
        match &mut self {
            Self::Report(report) => {
                move_all(&mut report.problems);
                for gpu in &mut report.gpus {
                    gpu.line += lines;
                }
                for gpu in &mut report.unreachable {
                    gpu.line += lines;
                }
            }
            Self::Processes { problems, .. } => move_all(problems),
            Self::Monitor(monitor) => {
                for row in &mut monitor.rows {
                    row.line += lines;
                }
            }
            Self::List(list) => {
                for gpu in &mut list.unreachable {
                    gpu.line += lines;
                }
            }
            Self::Topologies(_) | Self::Links(_) | Self::Capture(_) => {}
        }
        self
    }
}

/// Headings of `--query-gpu` and `--query-compute-apps` by which a table is known.
const COLUMNS: [&str; 12] = [
    "uuid",
    "gpu_uuid",
    "gpu_name",
    "gpu_bus_id",
    "driver_version",
    "pci.bus_id",
    "memory.total",
    "memory.used",
    "memory.free",
    "utilization.gpu",
    "power.draw",
    "used_gpu_memory",
];

/// Sentences by which the tool says that it failed, and what to do.
const FAILURES: [(&str, &str); 5] = [
    (
        "NVIDIA-SMI has failed",
        "load the NVIDIA kernel module (`modprobe nvidia`) and look at dmesg",
    ),
    ("Failed to initialize NVML", "reboot or reload the driver so that module and library agree"),
    ("No devices were found", "look at dmesg: the driver is loaded, and no GPU answers it"),
    (
        "couldn't find libnvidia-ml",
        "install the driver's libraries, or mount them into the container",
    ),
    ("Insufficient Permissions", "run it as a user who may open /dev/nvidia*"),
];

/// Reads a text of `nvidia-smi`, whichever of its outputs it is, or several in one file.
///
/// # Errors
/// A line that cannot be read, a failure that the tool reports, and a form that is not read; each with its
/// line and the way out.
pub fn read(text: &str) -> Result<DeviceDocument, DeviceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if capture::is_capture(text) {
        let capture = capture::read_capture(text);
        if capture.sections.iter().all(|section| section.content.is_err()) {
            return Err(unknown(1, "a file of sections of which none says anything of a device"));
        }
        return Ok(DeviceDocument::Capture(capture));
    }
    // A listing followed by a document is what scripts collect.
    if let Some(at) = text.find("\n<?xml") {
        let (head, document) = text.split_at(at + 1);
        if !head.trim().is_empty() && list::read_list(head).is_ok() {
            let lines = head.lines().count();
            let section = |command: &str, line, content| Section {
                title: String::new(),
                command: command.to_owned(),
                line,
                content,
            };
            let content = read_one(document)
                .map(|one| one.moved_by(lines))
                .map_err(|error| error.moved_by(lines));
            return Ok(DeviceDocument::Capture(Capture {
                sections: vec![
                    section("nvidia-smi -L", 1, read_one(head)),
                    section("nvidia-smi -q -x", lines + 1, content),
                ],
            }));
        }
    }
    read_one(text)
}

/// Reads the output of one command.
pub(super) fn read_one(text: &str) -> Result<DeviceDocument, DeviceError> {
    let lines = || text.lines().enumerate();
    let found = lines()
        .find(|(_, line)| !line.trim().is_empty() && !is_unreachable(line))
        .or_else(|| lines().find(|(_, line)| is_unreachable(line)));
    let Some((index, first)) = found else {
        return Err(unknown(1, "an empty text"));
    };
    let bare = first.trim();
    if bare.starts_with("<?xml")
        || bare.starts_with("<nvidia_smi_log")
        || bare.starts_with("<!DOCTYPE nvidia")
    {
        // The declaration must be the first thing of a document.
        let document = text.trim_start();
        let lines = text[..text.len() - document.len()].matches('\n').count();
        return fill::read_xml(document)
            .map(|report| DeviceDocument::Report(report).moved_by(lines))
            .map_err(|error| error.moved_by(lines));
    }
    if text.contains("==NVSMI LOG==") {
        return fill::read_query(text).map(DeviceDocument::Report);
    }
    if list::gpu_line(bare).is_some() || is_unreachable(bare) {
        return read_listing(text);
    }
    if text.lines().take(20).any(|line| line.contains("CPU Affinity")) {
        return topology::read_topologies(text).map(DeviceDocument::Topologies);
    }
    if bare.strip_prefix('#').is_some_and(|rest| monitor::words(rest).any(|word| word == "gpu")) {
        return monitor::read_monitor(text).map(DeviceDocument::Monitor);
    }
    if let Some(names) = csv::headings(bare)
        && names.iter().any(|name| COLUMNS.contains(&name.as_str()))
    {
        return read_table(text, &names);
    }
    Err(refusal(text, index + 1))
}

fn read_listing(text: &str) -> Result<DeviceDocument, DeviceError> {
    let is_mig_or_gpu = |line: &str| {
        let bare = line.trim();
        bare.is_empty()
            || bare.starts_with("MIG ")
            || is_unreachable(bare)
            || list::gpu_line(bare).is_some()
    };
    if text.lines().all(is_mig_or_gpu) {
        return list::read_list(text).map(DeviceDocument::List);
    }
    nvlink::read_links(text).map(DeviceDocument::Links)
}

fn read_table(text: &str, names: &[String]) -> Result<DeviceDocument, DeviceError> {
    if names.iter().any(|name| name == "pid") {
        let (processes, problems) = csv::read_processes(text)?;
        return Ok(DeviceDocument::Processes { processes, problems });
    }
    csv::read_gpus(text).map(DeviceDocument::Report)
}

/// What a text is that is not read.
fn refusal(text: &str, first: usize) -> DeviceError {
    for (index, line) in text.lines().enumerate().take(50) {
        if let Some((_, way_out)) = FAILURES.iter().find(|(sentence, _)| line.contains(sentence)) {
            let message = line.trim().chars().take(160).collect();
            return DeviceError::Tool { line: index + 1, message, way_out };
        }
        if line.starts_with("| NVIDIA-SMI ") {
            return DeviceError::Refused {
                line: index + 1,
                kind: "the table that nvidia-smi draws for people, with names and values cut",
                way_out: "give what `nvidia-smi -q -x` prints",
            };
        }
    }
    unknown(first, "no output of nvidia-smi that is known")
}

fn unknown(line: usize, kind: &'static str) -> DeviceError {
    DeviceError::Refused {
        line,
        kind,
        way_out: "give what `nvidia-smi -q`, `-q -x`, `-L`, `topo -m`, `nvlink -s`, `dmon`, `pmon` or \
                  `--query-gpu=… --format=csv` prints",
    }
}
