//! Stressors as real processes: what they reach is told, what bounds them holds, and none stays.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::evidence::Stressor;
use cotenant_probe::stress::{Scratch, StressLine, StressSettings};
use cotenant_probe::supervisor::{Event, Events, Exit};
use rustix::process::{Pid, Signal, kill_process};
use support::{is_alive, next, spawn, wait_for};

const LIMIT: Duration = Duration::from_secs(20);
const HERE: [Stressor; 5] = [
    Stressor::Cpu,
    Stressor::MemoryBandwidth,
    Stressor::DiskSync,
    Stressor::PageCache,
    Stressor::Network,
];

/// A folder on a disk: the system's own for temporary files may lie in memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn settings(stressor: Stressor, rate: Option<f64>, folder: &Path) -> StressSettings {
    StressSettings {
        stressor: stressor.key().to_owned(),
        rate,
        threads: 1,
        folder: folder.to_owned(),
        memory_bytes_max: 24 << 20,
        disk_bytes_max: 8 << 20,
        seconds_max: 60,
    }
}

/// The next line of a stressor; a failure where it ended.
async fn line(events: &mut Events) -> StressLine {
    loop {
        match next(events).await {
            Event::Line { text, .. } => {
                return StressLine::read(&text)
                    .unwrap_or_else(|| panic!("no line of ours: {text}"));
            }
            Event::Gone { .. } => panic!("gone before it said anything"),
            _ => {}
        }
    }
}

async fn rate(events: &mut Events) -> f64 {
    loop {
        if let StressLine::Rate { rate, .. } = line(events).await {
            return rate;
        }
    }
}

fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn every_stressor_tells_what_it_reaches_and_leaves_no_file() {
    let folder = folder();
    for stressor in HERE {
        let (supervisor, mut events) = spawn();
        let launch = supervisor.stressor("stressor", &settings(stressor, None, folder.path()));
        let workload = supervisor.start(launch.unwrap()).await.unwrap();
        // A slow disk may need more than one interval for its first burst.
        let reached = loop {
            let reached = rate(&mut events).await;
            if reached > 0.0 {
                break reached;
            }
        };
        let most = if stressor == Stressor::Cpu { 1.1 } else { 1e12 };
        assert!(reached <= most, "{stressor:?}: {reached}");
        assert_eq!(names(folder.path()), Vec::<PathBuf>::new(), "{stressor:?}");
        supervisor.stop(workload.id, Duration::ZERO).await.unwrap();
        assert!(!is_alive(workload.pid), "{stressor:?}");
        supervisor.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn a_pace_is_not_exceeded() {
    let folder = folder();
    for (stressor, asked) in [(Stressor::Cpu, 0.2), (Stressor::Network, 5e6)] {
        let (supervisor, mut events) = spawn();
        let launch =
            supervisor.stressor("stressor", &settings(stressor, Some(asked), folder.path()));
        supervisor.start(launch.unwrap()).await.unwrap();
        let mut rates = Vec::new();
        for _ in 0..3 {
            rates.push(rate(&mut events).await);
        }
        let mean = rates.iter().sum::<f64>() / 3.0;
        // A busy machine gives less; more would be a dose that nobody asked for.
        assert!(mean > 0.0 && mean <= 1.15 * asked, "{stressor:?}: {rates:?} of {asked}");
        supervisor.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn none_outlives_a_killed_guardian() {
    let folder = folder();
    let (supervisor, mut events) = spawn();
    let mut pids = Vec::new();
    for stressor in [Stressor::Cpu, Stressor::DiskSync] {
        let launch = supervisor.stressor("stressor", &settings(stressor, None, folder.path()));
        pids.push(supervisor.start(launch.unwrap()).await.unwrap().pid);
    }
    rate(&mut events).await;
    let guardian = Pid::from_raw(supervisor.guardian_pid().cast_signed()).unwrap();
    kill_process(guardian, Signal::KILL).unwrap();
    wait_for("the stressors' end", LIMIT, || pids.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(names(folder.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn its_time_is_bounded() {
    let folder = folder();
    let (supervisor, mut events) = spawn();
    let short =
        StressSettings { seconds_max: 1, ..settings(Stressor::Cpu, Some(0.1), folder.path()) };
    supervisor.start(supervisor.stressor("stressor", &short).unwrap()).await.unwrap();
    loop {
        if let Event::LeaderExited { exit, .. } = next(&mut events).await {
            assert_eq!(exit, Exit::Code(0));
            break;
        }
    }
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_stressed_is_refused_in_words() {
    let folder = folder();
    let nowhere = folder.path().join("file");
    fs::write(&nowhere, "no folder").unwrap();
    let mut wrong = vec![(settings(Stressor::DiskSync, None, &nowhere), "cannot make a file")];
    let memory = Path::new("/dev/shm");
    if fs::read_to_string("/proc/mounts").unwrap().contains("tmpfs /dev/shm ") {
        wrong.push((settings(Stressor::PageCache, None, memory), "lies in memory"));
    }
    for (settings, why) in wrong {
        let (supervisor, mut events) = spawn();
        supervisor.start(supervisor.stressor("stressor", &settings).unwrap()).await.unwrap();
        let (mut said, mut failed) = (false, false);
        loop {
            match next(&mut events).await {
                Event::Line { text, .. } => said |= text.contains(why),
                Event::LeaderExited { exit, .. } => failed = exit == Exit::Code(1),
                Event::Gone { .. } => break,
                _ => {}
            }
        }
        assert!(said && failed, "{why}");
        supervisor.shutdown().await.unwrap();
    }
}

#[test]
fn what_a_kill_left_is_removed_and_nothing_else() {
    let folder = folder();
    let (left, other) = (folder.path().join(".cotenant-stress-7"), folder.path().join(".other"));
    for path in [&left, &other] {
        fs::write(path, "").unwrap();
    }
    let scratch = Scratch::make(folder.path()).unwrap();
    scratch.file.set_len(10).unwrap();
    assert_eq!(names(folder.path()), vec![other]);
}

#[cfg(feature = "gpu-stress")]
mod gpu {
    use super::*;
    use cotenant_probe::stress::CudaLibrary;
    use cotenant_probe::supervisor::Launch;
    use nvml_double::{hosts, install_cuda};

    /// What the two GPUs of the double give together.
    const FLOP_PER_S: f64 = 1e14;
    const BYTES_PER_S: f64 = 6e12;

    fn on(library: &Path, launch: Launch) -> Launch {
        let variable = ("COTENANT_CUDA".to_owned(), library.display().to_string());
        Launch { env: vec![variable], ..launch }
    }

    #[tokio::test]
    async fn arithmetic_and_copies_run_at_the_rate_that_is_asked_for() {
        let folder = folder();
        let library = install_cuda(folder.path(), hosts::H100_2_COMPUTE).unwrap();
        assert_eq!(CudaLibrary::at(&library).gpus(), Ok(2));
        for (stressor, all) in
            [(Stressor::GpuCompute, FLOP_PER_S), (Stressor::GpuMemory, BYTES_PER_S)]
        {
            for asked in [None, Some(all / 3.0)] {
                let (supervisor, mut events) = spawn();
                let launch =
                    supervisor.stressor("stressor", &settings(stressor, asked, folder.path()));
                let workload = supervisor.start(on(&library, launch.unwrap())).await.unwrap();
                let mut notes = Vec::new();
                let mut rates = Vec::new();
                while rates.len() < 3 {
                    match line(&mut events).await {
                        StressLine::Note(note) => notes.push(note),
                        StressLine::Rate { rate, .. } => rates.push(rate),
                    }
                }
                let mean = rates.iter().sum::<f64>() / 3.0;
                let most = asked.unwrap_or(all);
                // A busy machine is late to launch; nothing is faster than the GPUs.
                assert!(mean > 0.1 * most && mean <= 1.15 * most, "{stressor:?}: {rates:?}");
                let gpus = notes.iter().filter(|note| note.contains("NVIDIA H100")).count();
                assert_eq!(gpus, 2, "{notes:?}");
                // Told to go, it waits for what it launched and gives the GPUs back.
                let report = supervisor.stop(workload.id, LIMIT).await.unwrap();
                assert_eq!((report.exit, report.killed), (Some(Exit::Code(0)), false));
                supervisor.shutdown().await.unwrap();
            }
        }
    }

    /// What a stressor says before it ends by itself.
    async fn fails(library: &Path, stressor: Stressor) -> String {
        let folder = folder();
        let (supervisor, mut events) = spawn();
        let launch = supervisor.stressor("stressor", &settings(stressor, None, folder.path()));
        supervisor.start(on(library, launch.unwrap())).await.unwrap();
        let mut said = String::new();
        loop {
            match next(&mut events).await {
                Event::Line { text, .. } => said += &text,
                Event::LeaderExited { exit, .. } => assert_eq!(exit, Exit::Code(1)),
                Event::Gone { .. } => break,
                _ => {}
            }
        }
        supervisor.shutdown().await.unwrap();
        said
    }

    #[tokio::test]
    async fn a_gpu_that_cannot_be_stressed_is_named_with_its_reason() {
        let folder = folder();
        let said = fails(&folder.path().join("libcuda.so.1"), Stressor::GpuCompute).await;
        assert!(said.contains("cannot be loaded") && said.contains("install the driver"), "{said}");
        let host = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut host: serde_json::Value = serde_json::from_str(hosts::H100_2_COMPUTE).unwrap();
            change(&mut host);
            install_cuda(folder.path(), &host.to_string()).unwrap()
        };
        let full = host(&|host| host["gpus"][0]["memory_mib"]["free"] = 100.into());
        let said = fails(&full, Stressor::GpuMemory).await;
        assert!(said.contains("GPU 0") && said.contains("only 100 MiB"), "{said}");
        let out = host(&|host| {
            host["errors"] = serde_json::json!({ "cuMemAlloc_v2": "unknown" });
        });
        let said = fails(&out, Stressor::GpuCompute).await;
        assert!(said.contains("cuMemAlloc failed: out of memory"), "{said}");
        let launch = host(&|host| {
            host["errors"] = serde_json::json!({ "cuCtxSynchronize": "unknown" });
        });
        let said = fails(&launch, Stressor::GpuMemory).await;
        assert!(said.contains("cuCtxSynchronize failed: unspecified launch failure"), "{said}");
        let none = host(&|host| {
            for gpu in host["gpus"].as_array_mut().unwrap() {
                gpu.as_object_mut().unwrap().remove("compute");
            }
        });
        let said = fails(&none, Stressor::GpuCompute).await;
        assert!(said.contains("it sees no GPU") && said.contains("CUDA_VISIBLE_DEVICES"), "{said}");
    }
}
