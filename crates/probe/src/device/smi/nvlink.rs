//! `nvidia-smi nvlink -s`: the speed of each NVLink of each GPU.

use super::error::DeviceError;
use super::list::gpu_line;
use super::model::DeviceReport;
use super::reading::{Absence, Reading, Unit};
use super::unreachable::is_unreachable;

const WAY_OUT: &str = "give what `nvidia-smi nvlink -s` printed, unchanged";

/// One link.
#[derive(Clone, Debug, PartialEq)]
pub struct NvLink {
    /// Its number on the GPU.
    pub link: u32,
    /// Speed in one direction, GB/s (10⁹ bytes); absent where the link is inactive.
    pub gigabytes_per_second: Reading<f64>,
}

/// The links of one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuLinks {
    /// The number of the GPU.
    pub index: u32,
    /// Its UUID.
    pub uuid: String,
    /// The links, or what the tool said instead: under MIG it does not answer.
    pub links: Reading<Vec<NvLink>>,
}

/// Reads `nvidia-smi nvlink -s`.
///
/// # Errors
/// The first line that is neither a GPU nor a link nor a reason.
pub(super) fn read_links(text: &str) -> Result<Vec<GpuLinks>, DeviceError> {
    let mut gpus: Vec<GpuLinks> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim();
        // A GPU that does not answer has no links; the listing and the query name it.
        if bare.is_empty() || is_unreachable(bare) {
            continue;
        }
        let fault = |problem: String| DeviceError::line(number + 1, problem, line, WAY_OUT);
        if let Some((index, _, uuid)) = gpu_line(bare) {
            gpus.push(GpuLinks { index, uuid: uuid.to_owned(), links: Ok(Vec::new()) });
            continue;
        }
        let gpu = gpus.last_mut().ok_or_else(|| fault("a link before any GPU".to_owned()))?;
        match (link_line(bare), &mut gpu.links) {
            (Some(link), Ok(links)) => links.push(link.map_err(fault)?),
            (None, Ok(links)) if links.is_empty() && is_reason(bare) => {
                gpu.links = Err(Absence::Said(bare.to_owned()));
            }
            _ => return Err(fault("this is no link".to_owned())),
        }
    }
    if gpus.is_empty() {
        Err(DeviceError::line(1, "no GPU is listed", "", WAY_OUT))
    } else {
        Ok(gpus)
    }
}

/// `Link 0: 26.562 GB/s` or `Link 0: <inactive>`.
fn link_line(line: &str) -> Option<Result<NvLink, String>> {
    let (link, speed) = line.strip_prefix("Link ")?.split_once(':')?;
    let link = link.trim().parse().ok()?;
    let speed = speed.trim();
    let gigabytes_per_second = match Absence::of(speed) {
        Some(absence) => Err(absence),
        None if speed == "<inactive>" => Err(Absence::Said("inactive".to_owned())),
        None => match Unit::GigabytesPerSecond.parse(speed) {
            Ok(value) => Ok(value),
            Err(problem) => return Some(Err(problem)),
        },
    };
    Some(Ok(NvLink { link, gigabytes_per_second }))
}

/// `Nvlink queries are not supported for Devices in MIG mode`,
/// `NVML: Unable to retrieve Nvlink information as all links are inActive`,
/// `Device does not have or support Nvlink`.
fn is_reason(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    lower.starts_with("nvml:")
        || lower.contains("not supported")
        || lower.contains("does not have")
        || lower.contains("unable to")
}

impl DeviceReport {
    /// Adds the links to the GPUs with the same UUID; where several have it (masked captures), to the
    /// one in the same place.
    pub fn join_links(&mut self, gpus: &[GpuLinks]) {
        for (place, listed) in gpus.iter().enumerate() {
            let is_same = |gpu: &super::model::Gpu| gpu.uuid.as_ref() == Ok(&listed.uuid);
            let places = self.gpus.iter().filter(|gpu| is_same(gpu)).count();
            for (index, gpu) in self.gpus.iter_mut().enumerate() {
                if is_same(gpu) && (places == 1 || index == place) {
                    gpu.links.clone_from(&listed.links);
                }
            }
        }
    }
}
