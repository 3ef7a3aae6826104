//! Which output a file is.

/// What a file of a scheduler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Slurm's accounting: `sacct`, as table or JSON, and `slurmdbd` jobs of slurmrestd.
    SlurmAccounting,
    /// Slurm's queue: `squeue`, as table or JSON, and `slurm` jobs of slurmrestd.
    SlurmQueue,
    /// Nodes in groups or one by one: `sinfo`, as table or JSON.
    SlurmNodes,
    /// `scontrol show job`.
    ScontrolJobs,
    /// `scontrol show node`.
    ScontrolNodes,
    /// `scontrol show partition`, and partitions of slurmrestd.
    SlurmPartitions,
    /// `scontrol show reservation`, and reservations of slurmrestd.
    SlurmReservations,
    /// `scontrol show licenses`, as text or JSON.
    SlurmLicenses,
    /// `scontrol show config`.
    SlurmConfiguration,
    /// `scontrol show assoc_mgr`.
    SlurmAssociations,
    /// `scontrol ping`.
    SlurmPing,
    /// `sdiag`, as text or JSON.
    SlurmDiagnostics,
    /// `sprio`.
    SlurmPriorities,
    /// `sshare`.
    SlurmShares,
    /// `sacctmgr`: qualities of service and associations, and those of slurmrestd.
    SlurmAccounts,
    /// `slurm.conf`.
    SlurmConf,
    /// `gres.conf`.
    GresConf,
    /// Objects of Kubernetes as JSON or YAML.
    KubernetesObjects,
    /// A table of `kubectl get`.
    KubectlTable,
    /// A text of `kubectl describe`.
    KubectlDescribe,
    /// Events of Kubernetes as text.
    KubernetesEvents,
    /// Objects of Kueue as JSON or YAML.
    KueueObjects,
    /// Labels of a node alone.
    NodeLabels,
    /// Several outputs pasted one after the other.
    Pasted,
    /// A kernel log with lines of the NVIDIA driver.
    KernelLog,
    /// A log of NVIDIA's fabric manager.
    FabricManagerLog,
}

impl Kind {
    /// In words of a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlurmAccounting => "Slurm accounting (sacct)",
            Self::SlurmQueue => "Slurm queue (squeue)",
            Self::SlurmNodes => "Slurm nodes (sinfo)",
            Self::ScontrolJobs => "Slurm jobs (scontrol show job)",
            Self::ScontrolNodes => "Slurm nodes (scontrol show node)",
            Self::SlurmPartitions => "Slurm partitions",
            Self::SlurmReservations => "Slurm reservations",
            Self::SlurmLicenses => "Slurm licences",
            Self::SlurmConfiguration => "Slurm configuration (scontrol show config)",
            Self::SlurmAssociations => "Slurm associations (scontrol show assoc_mgr)",
            Self::SlurmPing => "Slurm controllers (scontrol ping)",
            Self::SlurmDiagnostics => "Slurm statistics (sdiag)",
            Self::SlurmPriorities => "Slurm priorities (sprio)",
            Self::SlurmShares => "Slurm fair shares (sshare)",
            Self::SlurmAccounts => "Slurm accounts and limits (sacctmgr)",
            Self::SlurmConf => "slurm.conf",
            Self::GresConf => "gres.conf",
            Self::KubernetesObjects => "Kubernetes objects",
            Self::KubectlTable => "a table of kubectl get",
            Self::KubectlDescribe => "a text of kubectl describe",
            Self::KubernetesEvents => "Kubernetes events",
            Self::KueueObjects => "Kueue objects",
            Self::NodeLabels => "labels of a Kubernetes node",
            Self::Pasted => "several outputs in one text",
            Self::KernelLog => "kernel log with lines of the NVIDIA driver",
            Self::FabricManagerLog => "log of NVIDIA's fabric manager",
        }
    }
}
