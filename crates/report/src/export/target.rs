//! The formats, what each needs, and what each gives.

use super::{csv, ical, kubernetes, layout, mps, slurm};
use crate::plan::PlanReport;

/// A format that a plan can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One line for each window and GPU.
    Csv,
    /// iCalendar (RFC 5545): one event for each stretch in which a tenant holds the same GPUs.
    Ical,
    /// The layout of partitioned GPUs for `nvidia-mig-parted`.
    MigParted,
    /// The same layout as a ConfigMap for the MIG Manager of the GPU Operator.
    GpuOperator,
    /// The sharing configuration of the Kubernetes device plugin.
    DevicePlugin,
    /// A shell script that starts the MPS servers and states the clients' environment.
    Mps,
    /// Lines of `slurm.conf` and `gres.conf`, and a script of reservations.
    Slurm,
}

impl ExportFormat {
    /// Every format.
    pub const ALL: [Self; 7] = [
        Self::Csv,
        Self::Ical,
        Self::MigParted,
        Self::GpuOperator,
        Self::DevicePlugin,
        Self::Mps,
        Self::Slurm,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ical => "ical",
            Self::MigParted => "mig-parted",
            Self::GpuOperator => "gpu-operator",
            Self::DevicePlugin => "device-plugin",
            Self::Mps => "mps",
            Self::Slurm => "slurm",
        }
    }

    /// The name that the file has where nobody names it.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Csv => "plan.csv",
            Self::Ical => "plan.ics",
            Self::MigParted => "mig-parted.yaml",
            Self::GpuOperator => "mig-configmap.yaml",
            Self::DevicePlugin => "device-plugin.yaml",
            Self::Mps => "mps.sh",
            Self::Slurm => "slurm-reservations.sh",
        }
    }

    /// The format of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What a site file does not know of another tool's names.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions<'a> {
    /// The node's name in Slurm; needed for that format alone.
    pub node: Option<&'a str>,
    /// The Slurm account that may use a reservation, where all tenants have one; else each
    /// reservation is for the account of its workload's name.
    pub account: Option<&'a str>,
    /// The namespace of the ConfigMap.
    pub namespace: &'a str,
}

impl Default for ExportOptions<'_> {
    fn default() -> Self {
        Self { node: None, account: None, namespace: "gpu-operator" }
    }
}

/// A file of another tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The format.
    pub format: ExportFormat,
    /// The file's text.
    pub text: String,
    /// What the format cannot express of this plan, one sentence each. Where the format has
    /// comments, they are in the text too.
    pub limits: Vec<String>,
}

/// Why a plan cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportRefusal {
    /// There is no calendar.
    #[error("`{format}` needs a calendar, and the plan has none")]
    NoCalendar {
        /// The format.
        format: &'static str,
    },
    /// The sharing that is declared is not of the kind that the format is about.
    #[error("`{format}` writes {about}, and the site declares sharing `{declared}`; {way_out}")]
    OtherSharing {
        /// The format.
        format: &'static str,
        /// What the format is about.
        about: &'static str,
        /// The declared mode.
        declared: String,
        /// What to write instead.
        way_out: &'static str,
    },
    /// Something is not declared.
    #[error("`{format}` needs {what}: {way_out}")]
    Missing {
        /// The format.
        format: &'static str,
        /// What is missing.
        what: &'static str,
        /// How to state it.
        way_out: &'static str,
    },
    /// The tool would refuse it.
    #[error("`{format}`: {why}")]
    Invalid {
        /// The format.
        format: &'static str,
        /// Which rule of the tool it breaks.
        why: String,
    },
}

/// Writes a plan in a format of another tool.
///
/// # Errors
/// Where the plan has no calendar, declares another kind of sharing, or leaves out what the tool
/// must be told.
pub fn export(
    report: &PlanReport,
    format: ExportFormat,
    options: &ExportOptions<'_>,
) -> Result<Export, ExportRefusal> {
    let (text, limits) = match format {
        ExportFormat::Csv => csv::csv(report)?,
        ExportFormat::Ical => ical::ical(report)?,
        ExportFormat::MigParted => layout::mig_parted(report)?,
        ExportFormat::GpuOperator => kubernetes::gpu_operator(report, options)?,
        ExportFormat::DevicePlugin => kubernetes::device_plugin(report)?,
        ExportFormat::Mps => mps::mps(report)?,
        ExportFormat::Slurm => slurm::slurm(report, options)?,
    };
    Ok(Export { format, text, limits })
}
