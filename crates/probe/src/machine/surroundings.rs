//! Where is looked, so that a folder of copies and tools of a test can stand for a machine.

use std::path::PathBuf;
use std::time::Duration;

use super::engines::EnginePorts;
use crate::device::Lookout;
use crate::host::Root;

/// How long each tool of a scheduler may take.
const TOOL_PATIENCE: Duration = Duration::from_secs(5);

/// How long all questions to one port may take together.
const ENGINE_PATIENCE: Duration = Duration::from_secs(5);

/// Where is looked, and how long.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where the kernel's files are, and those of the installed system.
    pub root: Root,
    /// How the GPUs are asked.
    pub lookout: Lookout,
    /// Slurm's tool.
    pub scontrol: PathBuf,
    /// The tool of Kubernetes.
    pub kubectl: PathBuf,
    /// Whether the environment says that this is a pod.
    pub is_pod: bool,
    /// Folders below which Python packages may be installed, such as that of an active virtual
    /// environment.
    pub python_prefixes: Vec<PathBuf>,
    /// Ports that are asked for an engine.
    pub ports: EnginePorts,
    /// How long each tool of a scheduler may take.
    pub tool_patience: Duration,
    /// How long all questions to one port may take together.
    pub engine_patience: Duration,
}

impl Surroundings {
    /// This machine, with the environment of this process.
    pub fn of_this_machine() -> Self {
        let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"];
        let prefixes = prefixes.iter().filter_map(std::env::var_os).map(PathBuf::from).collect();
        Self {
            root: Root::of_this_machine(),
            lookout: Lookout::default(),
            scontrol: PathBuf::from("scontrol"),
            kubectl: PathBuf::from("kubectl"),
            is_pod: std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
            python_prefixes: prefixes,
            ports: EnginePorts::All,
            tool_patience: TOOL_PATIENCE,
            engine_patience: ENGINE_PATIENCE,
        }
    }
}
