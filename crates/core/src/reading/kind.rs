//! The kinds of files.

/// What kind of file a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// One request a row, with its time and its tokens.
    RequestTrace,
    /// One mean rate a row.
    RatesTable,
    /// What an exporter or an engine shows at `/metrics`.
    MetricsScrape,
    /// An answer of the Prometheus HTTP API.
    MetricsAnswer,
    /// The progress of a trainer, as lines or as a document.
    TrainerLog,
    /// The progress of a renderer.
    RendererLog,
    /// The result of a load test or of a training benchmark.
    BenchmarkResult,
    /// GPUs as `nvidia-smi -q`, `-q -x` or `--query-gpu` print them.
    GpuQuery,
    /// GPUs and MIG devices as `nvidia-smi -L` lists them.
    GpuList,
    /// The matrix of `nvidia-smi topo -m`.
    GpuTopology,
    /// The links of `nvidia-smi nvlink -s`.
    GpuLinks,
    /// Rows of `nvidia-smi dmon` or `pmon`.
    GpuMonitor,
    /// Processes as `--query-compute-apps` prints them.
    GpuProcesses,
    /// Several outputs of `nvidia-smi` in one file.
    GpuCapture,
    /// Profiles, placements or instances of `nvidia-smi mig`.
    MigListing,
    /// The list of fields that DCGM's exporter is told to show.
    DcgmFields,
    /// Messages of the kernel or of NVIDIA's fabric manager about GPUs.
    HostLog,
    /// What a command or the REST API of Slurm says.
    Slurm,
    /// Objects or listings of Kubernetes.
    Kubernetes,
    /// Objects or listings of Kueue.
    Kueue,
    /// A Grafana dashboard.
    Dashboard,
    /// A site file.
    SiteFile,
    /// A file of an evidence folder.
    Evidence,
    /// A report, plan, demand or reading as JSON.
    Report,
}

impl FileKind {
    /// All of them, in the order of the reference.
    pub const ALL: [Self; 24] = [
        Self::RequestTrace,
        Self::RatesTable,
        Self::MetricsScrape,
        Self::MetricsAnswer,
        Self::TrainerLog,
        Self::RendererLog,
        Self::BenchmarkResult,
        Self::GpuQuery,
        Self::GpuList,
        Self::GpuTopology,
        Self::GpuLinks,
        Self::GpuMonitor,
        Self::GpuProcesses,
        Self::GpuCapture,
        Self::MigListing,
        Self::DcgmFields,
        Self::HostLog,
        Self::Slurm,
        Self::Kubernetes,
        Self::Kueue,
        Self::Dashboard,
        Self::SiteFile,
        Self::Evidence,
        Self::Report,
    ];

    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestTrace => "request_trace",
            Self::RatesTable => "rates_table",
            Self::MetricsScrape => "metrics_scrape",
            Self::MetricsAnswer => "metrics_answer",
            Self::TrainerLog => "trainer_log",
            Self::RendererLog => "renderer_log",
            Self::BenchmarkResult => "benchmark_result",
            Self::GpuQuery => "gpu_query",
            Self::GpuList => "gpu_list",
            Self::GpuTopology => "gpu_topology",
            Self::GpuLinks => "gpu_links",
            Self::GpuMonitor => "gpu_monitor",
            Self::GpuProcesses => "gpu_processes",
            Self::GpuCapture => "gpu_capture",
            Self::MigListing => "mig_listing",
            Self::DcgmFields => "dcgm_fields",
            Self::HostLog => "host_log",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
            Self::Kueue => "kueue",
            Self::Dashboard => "dashboard",
            Self::SiteFile => "site_file",
            Self::Evidence => "evidence",
            Self::Report => "report",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::RequestTrace => "trace of requests",
            Self::RatesTable => "table of rates",
            Self::MetricsScrape => "scrape of metrics",
            Self::MetricsAnswer => "answer of a metrics server",
            Self::TrainerLog => "log of a trainer",
            Self::RendererLog => "log of a renderer",
            Self::BenchmarkResult => "result of a benchmark",
            Self::GpuQuery => "query of GPUs",
            Self::GpuList => "list of GPUs",
            Self::GpuTopology => "matrix of GPUs and their links",
            Self::GpuLinks => "links of GPUs",
            Self::GpuMonitor => "monitor of GPUs",
            Self::GpuProcesses => "processes on GPUs",
            Self::GpuCapture => "outputs of nvidia-smi, one after the other",
            Self::MigListing => "listing of MIG",
            Self::DcgmFields => "list of DCGM's fields",
            Self::HostLog => "log of a host about its GPUs",
            Self::Slurm => "output of Slurm",
            Self::Kubernetes => "objects of Kubernetes",
            Self::Kueue => "objects of Kueue",
            Self::Dashboard => "Grafana dashboard",
            Self::SiteFile => "site file",
            Self::Evidence => "file of evidence",
            Self::Report => "report",
        }
    }
}
