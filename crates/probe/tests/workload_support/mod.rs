//! Starting what `workloads/install` has installed, and ending it whatever happens.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cotenant_core::site::Ready;
use cotenant_probe::engine_metrics::EngineKind;
use cotenant_probe::http;
use cotenant_probe::load::{
    Arrivals, Cancel, LengthDistribution, Lengths, Limits, LoadResult, LoadSpec, Target,
    TargetSpec, run_on_thread, schedule,
};
use cotenant_probe::measure::ready_path;
use cotenant_probe::progress_log::formats::{Format, LogReader};
use cotenant_probe::progress_log::{ProgressReader, TrainerEvent, TrainerLog, TrainerPatterns};

/// A cold start of vLLM on a machine that other work keeps busy.
const READY_WITHIN: Duration = Duration::from_mins(5);

/// Where the workloads are, if this one is installed; else the reason is printed.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("COTENANT_WORKLOADS").map(PathBuf::from) else {
        eprintln!("skipped: COTENANT_WORKLOADS is not set (workloads/README.md)");
        return None;
    };
    if !folder.join(name).join("installed").exists() {
        eprintln!("skipped: {name} is not installed in {}", folder.display());
        return None;
    }
    Some(folder)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(name)
}

/// A process in a group of its own, which ends with this.
struct Group(Child);

impl Group {
    fn start(command: &mut Command, folder: &Path) -> Self {
        Self(command.env("COTENANT_WORKLOADS", folder).process_group(0).spawn().unwrap())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        // It may be gone already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        let patience = Instant::now() + Duration::from_secs(20);
        while Instant::now() < patience && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

/// An engine that serves.
pub(crate) struct Engine {
    pub(crate) url: String,
    pub(crate) port: u16,
    _group: Group,
    _log: tempfile::TempDir,
}

impl Engine {
    /// Starts one and waits until it is ready.
    pub(crate) async fn start(folder: &Path, name: &str) -> Self {
        let log = tempfile::tempdir().unwrap();
        let output = File::create(log.path().join("log")).unwrap();
        let port = free_ports();
        let mut command = Command::new("bash");
        command.arg(script("serve")).arg(name).arg(port.to_string());
        command.stdout(output.try_clone().unwrap()).stderr(output);
        let mut group = Group::start(&mut command, folder);
        let url = format!("http://127.0.0.1:{port}");
        let engine = (name == "triton").then_some(EngineKind::Triton);
        let ready = format!("{url}{}", ready_path(engine, &Ready::default()));
        let patience = Instant::now() + READY_WITHIN;
        loop {
            if matches!(http::get(&ready, Duration::from_secs(2)).await, Ok((200, _))) {
                return Self { url, port, _group: group, _log: log };
            }
            let ended = group.0.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < patience,
                "{name} is not ready ({ended:?}): {}",
                std::fs::read_to_string(log.path().join("log")).unwrap_or_default()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The first of three ports on which nobody listens now.
fn free_ports() -> u16 {
    let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    loop {
        let probe = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = probe.local_addr().unwrap().port();
        drop(probe);
        if port < u16::MAX - 2 && (port..=port + 2).all(is_free) {
            return port;
        }
    }
}

/// Sends so many requests, one each quarter of a second.
pub(crate) fn load(spec: TargetSpec, requests: usize, tokens: u32, seed: u64) -> LoadResult {
    let lengths = Lengths::Drawn {
        prompt: LengthDistribution::Fixed(24),
        output: LengthDistribution::Fixed(tokens),
    };
    let arrivals = Arrivals::Constant { rate_per_s: 4.0 };
    let length = Duration::from_secs_f64(requests as f64 / 4.0);
    let plan = schedule(&LoadSpec::new(arrivals, lengths, length, seed)).unwrap();
    let target = Target::new(spec).unwrap();
    let start = Instant::now() + Duration::from_millis(20);
    run_on_thread(target, Arc::new(plan), Limits::default(), start, Cancel::new(), None)
        .unwrap()
        .join()
        .unwrap()
        .unwrap()
}

/// A neighbour that ran to its end, and what its lines told.
pub(crate) struct Run {
    /// Events with the moments of their lines, seconds from the start.
    pub(crate) events: Vec<(f64, TrainerEvent)>,
}

impl Run {
    /// Runs a neighbour in `place` and reads its lines as of this format.
    pub(crate) fn to_its_end(
        folder: &Path,
        name: &str,
        arguments: &[&str],
        place: &Path,
        format: &str,
    ) -> Self {
        let mut command = Command::new("bash");
        command.arg(script("train")).arg(name).args(arguments).current_dir(place);
        command.stdout(Stdio::piped());
        let began = Instant::now();
        let mut group = Group::start(&mut command, folder);
        let mut reader = match format {
            "cycles" => ProgressReader::Known {
                reader: Box::new(LogReader::new(Format::Cycles)),
                checkpoint: None,
                resumed: None,
            },
            _ => ProgressReader::Templates(TrainerLog::new(TrainerPatterns::embedded().unwrap())),
        };
        let mut events = Vec::new();
        for line in BufReader::new(group.0.stdout.take().unwrap()).lines() {
            let at = began.elapsed();
            let found = reader.read(&line.unwrap(), at.as_nanos() as u64);
            events.extend(found.into_iter().map(|event| (at.as_secs_f64(), event)));
        }
        let status = group.0.wait().unwrap();
        assert!(status.success(), "{name} ended with {status}: {events:?}");
        Self { events }
    }

    /// Numbers of the steps.
    pub(crate) fn steps(&self) -> Vec<u64> {
        let number = |(_, event): &(f64, TrainerEvent)| match event {
            TrainerEvent::Step { step, .. } => Some(*step),
            _ => None,
        };
        self.events.iter().filter_map(number).collect()
    }

    /// Printed times of the steps, seconds.
    pub(crate) fn durations_s(&self) -> Vec<f64> {
        let time = |(_, event): &(f64, TrainerEvent)| match event {
            TrainerEvent::Step { duration_s, .. } => *duration_s,
            _ => None,
        };
        self.events.iter().filter_map(time).collect()
    }

    /// From the first step's line to the last one's, seconds.
    pub(crate) fn span_s(&self) -> f64 {
        let is_step =
            |(_, event): &&(f64, TrainerEvent)| matches!(event, TrainerEvent::Step { .. });
        let first = self.events.iter().find(is_step).unwrap().0;
        self.events.iter().rfind(is_step).unwrap().0 - first
    }

    /// Steps that were saved, each with a time and a size.
    pub(crate) fn saved(&self) -> Vec<u64> {
        let step = |(_, event): &(f64, TrainerEvent)| match event {
            TrainerEvent::Checkpoint { step, duration_s, bytes } => {
                assert!(duration_s.is_some_and(|s| s > 0.0) && bytes.is_some_and(|b| b > 10_000));
                *step
            }
            _ => None,
        };
        self.events.iter().filter_map(step).collect()
    }

    /// Printed times of the checkpoints, seconds.
    pub(crate) fn saving_s(&self) -> f64 {
        let time = |(_, event): &(f64, TrainerEvent)| match event {
            TrainerEvent::Checkpoint { duration_s, .. } => *duration_s,
            _ => None,
        };
        self.events.iter().filter_map(time).sum()
    }
}
