//! A look at the GPUs of this machine: NVML first, then `nvidia-smi`, each bounded in time.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use thiserror::Error;

use super::nvml::{NvmlLibrary, describe};
use super::smi::{DeviceDocument, DeviceReport, read};
use crate::tool;

/// How long NVML, and each command of `nvidia-smi`, may take. A driver without persistence mode wakes one
/// GPU after the other, at a few seconds each.
const PATIENCE: Duration = Duration::from_mins(1);

/// The devices cannot be read in any way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no GPU can be read: NVML: {nvml}; nvidia-smi: {nvidia_smi}")]
pub struct NoDevices {
    /// Why NVML does not answer.
    pub nvml: String,
    /// Why `nvidia-smi` does not help either.
    pub nvidia_smi: String,
}

/// Where is looked, and how long.
#[derive(Clone, Debug)]
pub struct Lookout {
    /// The driver's library.
    pub nvml: NvmlLibrary,
    /// The tool that is asked where the library does not answer.
    pub nvidia_smi: PathBuf,
    /// How long the library, and each command of the tool, may take.
    pub patience: Duration,
}

impl Default for Lookout {
    fn default() -> Self {
        Self {
            nvml: NvmlLibrary::of_this_machine(),
            nvidia_smi: PathBuf::from("nvidia-smi"),
            patience: PATIENCE,
        }
    }
}

/// The GPUs of this machine. The report's `source` says who told of them; a machine whose driver works
/// and has no GPU gives a report without GPUs.
///
/// # Errors
/// Neither NVML nor `nvidia-smi` answers, with both reasons: on a machine without a GPU that is the
/// normal answer.
pub fn look() -> Result<DeviceReport, NoDevices> {
    Lookout::default().look()
}

impl Lookout {
    /// Looks.
    ///
    /// # Errors
    /// Neither source answers, with both reasons.
    pub fn look(&self) -> Result<DeviceReport, NoDevices> {
        let nvml = match self.ask_nvml() {
            Ok(report) => return Ok(report),
            Err(reason) => reason,
        };
        self.ask_nvidia_smi().map_err(|nvidia_smi| NoDevices { nvml, nvidia_smi })
    }

    /// NVML on a thread of its own: a driver whose GPU hangs does not return from a call, and a call
    /// cannot be ended from outside. Such a thread is left behind, waiting.
    fn ask_nvml(&self) -> Result<DeviceReport, String> {
        let (sender, receiver) = channel();
        let library = self.nvml.clone();
        let ask = move || {
            let answer = library.open().map(|nvml| describe(&nvml)).map_err(|one| one.to_string());
            // The other end is gone where the answer came too late.
            drop(sender.send(answer));
        };
        let named = std::thread::Builder::new().name("nvml".to_owned()).spawn(ask);
        named.map_err(|error| format!("no thread can be started: {error}"))?;
        match receiver.recv_timeout(self.patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "{} did not answer within {} s; a GPU or the driver hangs: look for Xid lines in the \
                 kernel's log",
                self.nvml.path().display(),
                self.patience.as_secs_f64()
            )),
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("{} ended the thread that asked it", self.nvml.path().display()))
            }
        }
    }

    fn ask_nvidia_smi(&self) -> Result<DeviceReport, String> {
        let text = self.run(&["-q", "-x"])?;
        let mut report = match read(&text) {
            Ok(DeviceDocument::Report(report)) => report,
            Ok(_) => return Err("`-q -x` printed something else than its document".to_owned()),
            Err(error) => return Err(format!("`-q -x`: {error}")),
        };
        // What `-q` lacks is joined where it can be had; where not, it stays absent with its reason.
        if let Ok(Ok(DeviceDocument::List(list))) = self.run(&["-L"]).map(|text| read(&text)) {
            report.join_list(&list);
        }
        if let Ok(Ok(DeviceDocument::Topologies(mut matrices))) =
            self.run(&["topo", "-m"]).map(|text| read(&text))
            && let Some(matrix) = matrices.pop()
        {
            report.topology = Ok(Box::new(matrix));
        }
        Ok(report)
    }

    /// What a command of the tool prints. One that ends with a fault and still prints a whole document,
    /// as it does where one of several GPUs is lost, has answered.
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let told = |reason: String| {
            let hint = if reason.ends_with("was killed") {
                "; look for Xid lines in the kernel's log"
            } else {
                ""
            };
            reason + hint
        };
        let printed = tool::run(&self.nvidia_smi, arguments, self.patience).map_err(told)?;
        if printed.status.success() || read(&printed.text).is_ok() {
            return Ok(printed.text);
        }
        Err(printed.failure())
    }
}
