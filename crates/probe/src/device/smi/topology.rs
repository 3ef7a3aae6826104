//! `nvidia-smi topo -m`: how devices reach each other, and which CPUs are near.
//!
//! The tool separates cells by tabs and underlines the heading with ANSI escapes; in documents the same
//! matrix stands with spaces. Both are read.

use super::error::DeviceError;
use super::reading::{Absence, Reading};

const WAY_OUT: &str = "give what `nvidia-smi topo -m` printed, with its tabs";

/// One matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The devices of the columns: `GPU0`, `NIC0`.
    pub devices: Vec<String>,
    /// One row for each device.
    pub rows: Vec<TopologyRow>,
}

/// The row of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyRow {
    /// The device.
    pub device: String,
    /// The way to each device of the columns: `X` for itself, `NV18`, `PIX`, `PXB`, `PHB`, `NODE`, `SYS`.
    pub links: Vec<String>,
    /// The CPUs near to it, as inclusive ranges.
    pub cpus: Reading<Vec<(u32, u32)>>,
    /// The NUMA nodes whose memory is near, as printed (`0`, `0-1`).
    pub numa: Reading<String>,
    /// The NUMA node that the GPU's own memory is, as on Grace Hopper.
    pub gpu_numa: Reading<String>,
}

impl Topology {
    /// NVLinks that bond two devices; `None` where they are joined otherwise or not in the matrix.
    pub fn nvlinks(&self, from: &str, to: &str) -> Option<u32> {
        let column = self.devices.iter().position(|device| device == to)?;
        let row = self.rows.iter().find(|row| row.device == from)?;
        row.links.get(column)?.strip_prefix("NV")?.parse().ok()
    }
}

/// Columns after the devices.
const AFTER: [&str; 3] = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"];

/// Reads every matrix of a text: documents show several.
///
/// # Errors
/// The first row that does not fit its heading.
pub(super) fn read_topologies(text: &str) -> Result<Vec<Topology>, DeviceError> {
    let mut matrices: Vec<(Topology, Vec<&'static str>)> = Vec::new();
    let mut is_open = false;
    for (index, raw) in text.lines().enumerate() {
        let line = without_escapes(raw);
        if line.trim().is_empty() {
            // The legend follows after an empty line.
            is_open = false;
        } else if let Some(heading) = heading(&line) {
            matrices.push(heading);
            is_open = true;
        } else if is_open && let Some((matrix, after)) = matrices.last_mut() {
            let fault = |problem: String| DeviceError::line(index + 1, problem, &line, WAY_OUT);
            matrix.rows.push(row(&line, matrix.devices.len(), after).map_err(fault)?);
        }
    }
    for (matrix, _) in &matrices {
        let fault =
            |problem: &str| Err(DeviceError::line(1, problem, &matrix.devices.join(" "), WAY_OUT));
        if matrix.rows.is_empty() {
            return fault("a matrix has no rows");
        }
        if !matrix.devices.iter().all(|one| matrix.rows.iter().any(|row| row.device == *one)) {
            return fault("a device of the heading has no row");
        }
    }
    if matrices.is_empty() {
        return Err(DeviceError::line(1, "there is no matrix of devices", "", WAY_OUT));
    }
    Ok(matrices.into_iter().map(|(matrix, _)| matrix).collect())
}

/// The text without ANSI control sequences.
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.strip_prefix('[').map_or(after, |sequence| {
            let end = sequence.find(|one: char| ('@'..='~').contains(&one));
            end.map_or("", |end| &sequence[end + 1..])
        });
    }
    plain.push_str(rest);
    plain
}

/// The devices of a heading, and the columns that follow them.
fn heading(line: &str) -> Option<(Topology, Vec<&'static str>)> {
    let at = AFTER.iter().filter_map(|name| line.find(name)).min()?;
    let devices: Vec<String> = line[..at].split_whitespace().map(str::to_owned).collect();
    let is_heading = line.starts_with([' ', '\t'])
        && !devices.is_empty()
        && devices.iter().all(|name| is_device(name));
    let after = AFTER.into_iter().filter(|name| line.contains(name)).collect();
    is_heading.then_some((Topology { devices, rows: Vec::new() }, after))
}

fn is_device(name: &str) -> bool {
    let digits = name.trim_start_matches(|one: char| one.is_ascii_alphabetic() || one == '_');
    digits.len() < name.len() && digits.parse::<u32>().is_ok()
}

fn row(line: &str, devices: usize, after: &[&str]) -> Result<TopologyRow, String> {
    let has_tabs = line.contains('\t');
    let cells: Vec<&str> = if has_tabs {
        line.split('\t').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    if cells.len() <= devices {
        return Err(format!("a row has a name and {devices} ways"));
    }
    let (device, links) = (cells[0], &cells[1..=devices]);
    if !is_device(device) || links.iter().any(|link| !is_way(link)) {
        return Err("a row has a device and how it reaches the others (X, NV#, PIX, …)".to_owned());
    }
    let rest: Vec<&str> = cells[devices + 1..].to_vec();
    // With tabs, two are between NUMA affinity and GPU NUMA ID in some versions. Without, an empty cell
    // cannot be told from the next, so either all are there or none.
    let rest = aligned(&rest, after.len(), has_tabs)
        .ok_or_else(|| format!("{} cells stand under {} headings", rest.len(), after.len()))?;
    let cell = |name: &str| -> Reading<String> {
        let place = after.iter().position(|one| *one == name).ok_or(Absence::NotPrinted)?;
        let text = rest.get(place).copied().unwrap_or_default();
        Absence::of(text).map_or_else(|| Ok(text.to_owned()), Err)
    };
    let cpus = match cell("CPU Affinity") {
        Ok(text) => Ok(ranges(&text).ok_or(format!("«{text}» is no list of CPUs"))?),
        Err(absence) => Err(absence),
    };
    Ok(TopologyRow {
        device: device.to_owned(),
        links: links.iter().map(|link| (*link).to_owned()).collect(),
        cpus,
        numa: cell("NUMA Affinity"),
        gpu_numa: cell("GPU NUMA ID"),
    })
}

fn is_way(text: &str) -> bool {
    matches!(text, "X" | "PIX" | "PXB" | "PHB" | "NODE" | "SYS" | "SOC" | "C2C" | "N/A")
        || text.strip_prefix("NV").is_some_and(|count| count.parse::<u32>().is_ok())
}

fn aligned<'a>(cells: &[&'a str], columns: usize, has_tabs: bool) -> Option<Vec<&'a str>> {
    let mut cells = cells.to_vec();
    if has_tabs
        && cells.len() == columns + 1
        && columns == AFTER.len()
        && cells[columns - 1].is_empty()
    {
        cells.remove(columns - 1);
    }
    while has_tabs && cells.len() > columns && cells.last().is_some_and(|cell| cell.is_empty()) {
        cells.pop();
    }
    let fits = cells.len() == columns || cells.is_empty() || (has_tabs && cells.len() < columns);
    fits.then_some(cells)
}

/// `0-23,48-71` as ranges.
fn ranges(text: &str) -> Option<Vec<(u32, u32)>> {
    text.split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last).then_some((first, last))
        })
        .collect()
}
