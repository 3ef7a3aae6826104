//! What watching costs: the host's sampler and eight GPUs at one sample a second, as a share of one core.
//!
//! `cargo run --release -p cotenant-probe --example observer_cost [SECONDS] [plain|mig]`
//!
//! The GPUs are those of the double of the driver's library. Where `COTENANT_NVML` names a library, that
//! one is taken. A real driver's calls cost what they cost; what is measured here is ours.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cotenant_probe::clock::monotonic_ns;
use cotenant_probe::device::GpuWatch;
use cotenant_probe::device::nvml::NvmlLibrary;
use cotenant_probe::host::{SampledWorkload, Sampler};
use rustix::time::{ClockId, clock_gettime};

/// CPU time of this process, user and system, seconds.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU time of this thread, seconds.
fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(Ok(30), |text| text.parse())?;
    let is_divided = arguments.next().is_some_and(|text| text == "mig");
    let folder = tempfile::tempdir()?;
    let library = if std::env::var_os("COTENANT_NVML").is_some() {
        NvmlLibrary::of_this_machine()
    } else {
        let hosts = [nvml_double::hosts::H100_8, nvml_double::hosts::H100_8_MIG];
        NvmlLibrary::at(nvml_double::install(folder.path(), hosts[usize::from(is_divided)])?)
    };
    let own = std::process::id();
    let processes = std::fs::read_dir("/proc")?
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .count();
    println!("load average before: {}; processes in /proc: {processes}", load_average());

    let mut host = Sampler::new(&[own]);
    let workloads = [SampledWorkload { name: "engine", roots: &[own] }];
    host.sample(0, &workloads);
    let zero_ns = monotonic_ns();
    let watch =
        GpuWatch::start(&library, zero_ns, Duration::from_secs(1)).map_err(|reason| reason.0)?;
    let (started, before_s, thread_before_s) = (Instant::now(), cpu_s(), thread_cpu_s());
    let mut samples = Vec::new();
    for second in 1..=seconds {
        sleep(Duration::from_secs(second).saturating_sub(started.elapsed()));
        samples.push(host.sample(monotonic_ns() - zero_ns, &workloads));
    }
    let (elapsed_s, used_s) = (started.elapsed().as_secs_f64(), cpu_s() - before_s);
    let host_s = thread_cpu_s() - thread_before_s;
    let watched = watch.finish();
    let share = |cpu_s: f64| cpu_s / elapsed_s * 100.0;
    println!(
        "{elapsed_s:.1} s: {} samples of the host, {} of GPUs and MIG devices",
        samples.len(),
        watched.samples.len()
    );
    for remark in &watched.remarks {
        println!("remark: {remark}");
    }
    println!(
        "CPU of the observer: {:.3} % of one core (host {:.3} %, GPUs {:.3} %)",
        share(used_s),
        share(host_s),
        share(used_s - host_s)
    );
    println!("load average after: {}", load_average());
    Ok(())
}
