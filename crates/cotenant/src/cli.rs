//! The command line as it is typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use cotenant_core::units::Bytes;
use cotenant_probe::machine::EnginePorts;

/// May this GPU server serve production inference and also train, batch or render?
///
/// Cotenant answers with evidence: PASS, CONDITIONAL, FAIL or NOT PROVEN, each with its numbers.
#[derive(Debug, Parser)]
#[command(name = "cotenant", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print only the answer and errors
    #[arg(long, short, global = true, display_order = 100)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show the whole method on this machine: real inference and real training, alone and together
    Try(TryOptions),
    /// Write a site file from what is found on this machine
    Init(InitOptions),
    /// Check a site file: every problem at once, each with its place
    Check(CheckOptions),
    /// Say what a file is and print its numbers: metrics, logs, results, GPUs, schedulers, traces
    Read(ReadOptions),
    /// Show what the load is by time: traces, tables of rates, a metrics server
    Demand(DemandOptions),
    /// Say who may hold which GPU when, what is kept for bursts, and which deadlines hold
    Plan(PlanOptions),
    /// What would happen if the plan's calendar were carried out in drawn weeks
    Simulate(SimulateOptions),
    /// Print the JSON Schema of the site file, or of the report
    Schema(SchemaOptions),
    /// Run tests A (inference alone), B (training alone) and C (both), and keep the evidence
    Measure(MeasureOptions),
    /// Judge from evidence alone, offline
    Verdict(VerdictOptions),
    /// Show the seventeen steps of the method: done, stale or open
    Status(StatusOptions),
    /// Leave a run out of every verdict, with a recorded reason
    Exclude(ExcludeOptions),
    /// The embedded reference workloads: a small transformer, served or trained
    Engine(EngineOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, at most 80 columns
    Text,
    /// For programs; versioned, see `cotenant schema --of report`
    Json,
    /// One self-contained page
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct TryOptions {
    /// Minutes that the whole demonstration may take
    #[arg(long, default_value_t = 3.0, value_parser = above_zero)]
    pub(crate) minutes: f64,
    /// Replay this trace (Azure CSV, Mooncake JSONL or generic CSV, plain or gzip), scaled to the
    /// machine
    #[arg(long)]
    pub(crate) trace: Option<PathBuf>,
    /// Folder for the site file, the evidence and the report
    #[arg(long, default_value = "cotenant-try")]
    pub(crate) out: PathBuf,
    /// Seed of arrivals, lengths and the order of blocks
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct InitOptions {
    /// The file to write; `-` prints it
    #[arg(default_value = "site.yaml")]
    pub(crate) file: PathBuf,
    /// Write over a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Ports of this machine to ask for an engine, with GETs alone: `all` that listen on the loopback,
    /// `none`, or a list such as `8000,8001`
    #[arg(long, default_value = "all", value_parser = engine_ports)]
    pub(crate) engines: EnginePorts,
    /// Form of the answer: `text` writes the file, `json` prints what was found and writes nothing
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// The site file
    pub(crate) site: PathBuf,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ReadOptions {
    /// Files of any kind, plain, gzip or zstd; `-` for standard input. The kind is told by content
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DemandOptions {
    /// Files of requests or rates, or a site file with `--workload`; several files of one kind are
    /// read as one history
    #[arg(required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// Read the sources as the demand of this workload of a site file
    #[arg(long)]
    pub(crate) workload: Option<String>,
    /// The zone in which hours and days are told (IANA); without it, the site's, else UTC
    #[arg(long)]
    pub(crate) time_zone: Option<String>,
    /// The instant of the first row, for times that are relative (RFC 3339)
    #[arg(long)]
    pub(crate) begins: Option<jiff::Timestamp>,
    /// Mean seconds that a request stays in the engine, for sources that state none
    #[arg(long, value_parser = above_zero)]
    pub(crate) service_seconds: Option<f64>,
    /// Length of a bin of the week, and of a window of the forecast, minutes: a divisor of 60
    #[arg(long, default_value_t = 60)]
    pub(crate) bin_minutes: u32,
    /// A unit of work to show, in this order; without it, all that the sources can show
    #[arg(long, value_enum)]
    pub(crate) unit: Vec<DemandUnitName>,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CheckFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemandUnitName {
    /// Requests per second
    Requests,
    /// Requests in the engine at once
    InFlight,
    /// Tokens in the key-value cache at once
    Kv,
    /// Prompt tokens per second
    Prefill,
    /// Output tokens per second
    Output,
}

#[derive(Debug, Args)]
pub(crate) struct PlanOptions {
    /// The site file
    pub(crate) site: PathBuf,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PlanFormat,
    /// Write the answer to this file instead of standard output
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) drawing: Drawing,
    /// The node's name in Slurm, for `--format slurm`
    #[arg(long)]
    pub(crate) node: Option<String>,
    /// The Slurm account that may use the reservations, for `--format slurm`
    #[arg(long)]
    pub(crate) account: Option<String>,
    /// The namespace of the ConfigMap, for `--format gpu-operator`
    #[arg(long, default_value = "gpu-operator")]
    pub(crate) namespace: String,
    /// Folder of the evidence; without it, `evidence` beside the site file
    #[arg(long)]
    pub(crate) evidence: Option<PathBuf>,
}

/// How a plan is looked for, and what is drawn for it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Drawing {
    /// The instant to plan for (RFC 3339); without it, the site's own, else the calendar's start
    #[arg(long)]
    pub(crate) as_of: Option<jiff::Timestamp>,
    /// Weeks to draw from the history for the promises
    #[arg(long, default_value_t = 200)]
    pub(crate) weeks_drawn: u32,
    /// Seed of everything that is drawn
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many times to look for a better calendar
    #[arg(long, default_value_t = 4_000)]
    pub(crate) steps: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateOptions {
    /// The site file
    pub(crate) site: PathBuf,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: SimulateFormat,
    /// Write the answer to this file instead of standard output
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) drawing: Drawing,
    /// Folder of the evidence; without it, `evidence` beside the site file
    #[arg(long)]
    pub(crate) evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sweep: SweepOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulateFormat {
    /// For people, at most 80 columns
    Text,
    /// For programs; versioned, see `cotenant schema --of simulation` and `--of sweep`
    Json,
    /// One self-contained page, of a sweep
    Html,
}

/// What to vary, and where to compute it.
#[derive(Debug, Args)]
#[command(next_help_heading = "What if")]
pub(crate) struct SweepOptions {
    /// Simulate once for each value: `rate=0.5,1,2`, `gpus=4..8`. Several axes make their product. Axes:
    /// rate, gpus, reclaim_time, reclaim, mode, split, first, shift, window
    #[arg(long, value_name = "AXIS=VALUES")]
    pub(crate) sweep: Vec<String>,
    /// The most points that may be computed
    #[arg(long, default_value_t = cotenant_core::sim::sweep::POINTS_MAX, requires = "sweep")]
    pub(crate) points_max: u64,
    /// Keep finished points in this folder, and go on from there next time
    #[arg(long, value_name = "FOLDER", requires = "sweep")]
    pub(crate) keep: Option<PathBuf>,
    /// Compute one shard alone, the 3rd of 16, into `--out`; `job/16` is the shard that Slurm's or
    /// Kubernetes' environment names
    #[arg(long, value_name = "I/N", value_parser = shard, requires_all = ["sweep", "out"])]
    pub(crate) shard: Option<Shard>,
    /// Answer from the shards in this folder
    #[arg(long, value_name = "FOLDER", requires = "sweep", conflicts_with = "shard")]
    pub(crate) merge: Option<PathBuf>,
    /// Compute the shards elsewhere: `slurm` submits a job array and waits for it, `kubernetes` writes an
    /// Indexed Job to `--out` for you to apply
    #[arg(long, value_enum, requires = "sweep", conflicts_with_all = ["shard", "merge"])]
    pub(crate) on: Option<Cluster>,
    /// Shards of a sweep that is computed elsewhere
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000), requires = "on")]
    pub(crate) shards: u32,
    /// Options for `sbatch`, with blanks between them: `--partition=cpu --time=30`
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        allow_hyphen_values = true,
        requires = "on"
    )]
    pub(crate) slurm_args: String,
    /// The image with this program, for `--on kubernetes`
    #[arg(long, requires = "on")]
    pub(crate) image: Option<String>,
    /// The claim of the volume with the site file and for the shards, for `--on kubernetes`
    #[arg(long, requires = "on")]
    pub(crate) volume_claim: Option<String>,
}

/// Where shards are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cluster {
    /// A job array of Slurm's
    Slurm,
    /// An Indexed Job of Kubernetes'
    Kubernetes,
}

/// One of several shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 1; `None` is the one that the environment names.
    pub(crate) number: Option<u32>,
    pub(crate) of: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people, at most 80 columns
    Text,
    /// For programs; versioned, see `cotenant schema --of plan`
    Json,
    /// One self-contained page
    Html,
    /// One row for each window and GPU
    Csv,
    /// The calendar for calendar programs (iCalendar)
    Ical,
    /// Configuration of mig-parted
    MigParted,
    /// ConfigMap of the GPU Operator's MIG manager
    GpuOperator,
    /// Sharing configuration of the Kubernetes device plugin
    DevicePlugin,
    /// Commands that set up MPS
    Mps,
    /// Reservations and gres lines of Slurm
    Slurm,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaOptions {
    /// What to describe
    #[arg(long, value_enum, default_value = "site")]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The site file
    Site,
    /// The report of `verdict --format json`
    Report,
    /// The plan of `plan --format json`
    Plan,
    /// The view of `demand --format json`
    Demand,
    /// What `read --format json` says of files
    Reading,
    /// What `simulate --format json` says
    Simulation,
    /// What `simulate --sweep … --format json` says
    Sweep,
}

#[derive(Debug, Args)]
pub(crate) struct MeasureOptions {
    /// The site file
    pub(crate) site: PathBuf,
    /// Tests to run: a list of a, b, c, audit, capacity, reclaim, transition, sensitivity,
    /// burst and faults
    #[arg(long, default_value = "a,b,c")]
    pub(crate) tests: String,
    /// Minutes that the run may take; without it, as many as the pilot says the question needs
    #[arg(long, value_parser = above_zero)]
    pub(crate) minutes: Option<f64>,
    /// Seconds of load that are judged in each block; without it, chosen from the time and the rate
    #[arg(long, value_parser = above_zero)]
    pub(crate) block_seconds: Option<f64>,
    /// Seconds of the pilot of inference; the neighbour's is half as long
    #[arg(long, default_value_t = 20.0, value_parser = above_zero)]
    pub(crate) pilot_seconds: f64,
    /// Resources that the test of sensitivity stresses: a list of cpu, memory, disk, page-cache and
    /// network; without it, all of them
    #[arg(long)]
    pub(crate) stressors: Option<String>,
    /// Most memory that a stressor may use for buffers and page cache (512 MiB); without it, a
    /// quarter of what is available
    #[arg(long, value_parser = bytes)]
    pub(crate) stress_memory: Option<Bytes>,
    /// Most bytes that the stressor of the disk may keep there at a time (256 MiB); without it, 1 GiB
    #[arg(long, value_parser = bytes)]
    pub(crate) stress_disk: Option<Bytes>,
    /// Test a remedy in place of the declared way of sharing
    #[arg(long, value_enum)]
    pub(crate) remedy: Option<RemedyName>,
    /// Go on with the run that was interrupted last
    #[arg(long)]
    pub(crate) resume: bool,
    /// The inference workload, where the site has several
    #[arg(long)]
    pub(crate) inference: Option<String>,
    /// The neighbour, where the site has several
    #[arg(long)]
    pub(crate) neighbour: Option<String>,
    /// Seed of arrivals, lengths and the order of blocks; without it, a new one for each run
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Why an endpoint that was found running may be tested without a guard; kept with the evidence
    #[arg(long, value_name = "REASON")]
    pub(crate) no_guard: Option<String>,
    /// Folder of the evidence; without it, `evidence` beside the site file
    #[arg(long)]
    pub(crate) evidence: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RemedyName {
    /// The neighbour at idle CPU priority
    IdlePriority,
}

#[derive(Debug, Args)]
pub(crate) struct VerdictOptions {
    /// The site file
    pub(crate) site: PathBuf,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Write the answer to this file instead of standard output
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// The instant to judge for (RFC 3339); without it, the site's own, else that of the newest
    /// evidence
    #[arg(long)]
    pub(crate) as_of: Option<jiff::Timestamp>,
    /// Folder of the evidence; without it, `evidence` beside the site file
    #[arg(long)]
    pub(crate) evidence: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    /// The site file
    pub(crate) site: PathBuf,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CheckFormat,
    /// Folder of the evidence; without it, `evidence` beside the site file
    #[arg(long)]
    pub(crate) evidence: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExcludeOptions {
    /// The site file
    pub(crate) site: PathBuf,
    /// The run to leave out: the name of its folder
    pub(crate) run: String,
    /// Why; it is recorded and shown in every report
    #[arg(long)]
    pub(crate) reason: String,
    /// Who decides
    #[arg(long)]
    pub(crate) by: String,
    /// Folder of the evidence; without it, `evidence` beside the site file
    #[arg(long)]
    pub(crate) evidence: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct EngineOptions {
    #[command(subcommand)]
    pub(crate) verb: EngineVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineVerb {
    /// Serve a small transformer over the OpenAI API
    Serve(cotenant_engine::ServeArgs),
    /// Train the same architecture on synthetic text
    Train(cotenant_engine::TrainArgs),
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() && value <= 100_000.0 => Ok(value),
        _ => Err("a number above 0 and at most 100000 is needed".into()),
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || "a shard is its number and how many there are: `3/16`, or `job/16`".to_owned();
    let (number, of) = text.split_once('/').ok_or_else(wrong)?;
    let of: u32 = of.parse().map_err(|_| wrong())?;
    let number = if number == "job" { None } else { Some(number.parse().map_err(|_| wrong())?) };
    if of == 0 || number.is_some_and(|number| number == 0 || number > of) {
        return Err(format!("there are shards 1 to {of}"));
    }
    Ok(Shard { number, of })
}

/// An amount of memory or storage on the command line: `512 MiB`.
fn bytes(text: &str) -> Result<Bytes, String> {
    match Bytes::parse(text) {
        Ok(bytes) if bytes.0 >= 1 << 20 => Ok(bytes),
        Ok(_) => Err("at least 1 MiB is needed".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn engine_ports(text: &str) -> Result<EnginePorts, String> {
    match text {
        "all" => Ok(EnginePorts::All),
        "none" => Ok(EnginePorts::Nobody),
        list => list
            .split(',')
            .map(|port| port.trim().parse::<u16>().ok().filter(|port| *port > 0))
            .collect::<Option<Vec<u16>>>()
            .map(EnginePorts::These)
            .ok_or_else(|| "`all`, `none`, or ports such as `8000,8001` are needed".to_owned()),
    }
}
