//! A look at this machine's devices: NVML first, then `nvidia-smi`, then an absence with both reasons.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/script.rs"]
mod script;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotenant_probe::device::Lookout;
use cotenant_probe::device::nvml::NvmlLibrary;
use cotenant_probe::device::smi::Source;
use nvml_double::{hosts, install};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A tool in the place of `nvidia-smi`.
fn tool(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("nvidia-smi");
    script::executable(&path, &format!("#!/bin/sh\n{script}\n"));
    path
}

fn lookout(nvml: impl Into<PathBuf>, nvidia_smi: impl Into<PathBuf>) -> Lookout {
    Lookout {
        nvml: NvmlLibrary::at(nvml),
        nvidia_smi: nvidia_smi.into(),
        patience: Duration::from_mins(1),
    }
}

/// What a tool prints of one card with one MIG device, as short as it can be.
const SCRIPT: &str = r#"case "$1" in
-q) cat <<END
<?xml version="1.0" ?>
<nvidia_smi_log>
<timestamp>Tue Jul 14 09:00:44 2026</timestamp>
<driver_version>590.48.01</driver_version>
<cuda_version>13.1</cuda_version>
<attached_gpus>1</attached_gpus>
<gpu id="00000000:00:09.0">
<product_name>NVIDIA H100 80GB HBM3</product_name>
<mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
<mig_devices><mig_device><index>0</index><gpu_instance_id>2</gpu_instance_id></mig_device></mig_devices>
<uuid>GPU-1</uuid>
</gpu>
</nvidia_smi_log>
END
;;
-L) printf 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n  MIG 3g.40gb     Device  0: (UUID: MIG-2)\n' ;;
topo) printf '\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-19\t0\t\tN/A\n' ;;
esac"#;

#[test]
fn the_library_is_asked_first() {
    let folder = tempfile::tempdir().unwrap();
    let library = install(folder.path(), hosts::H100_8).unwrap();
    let report = lookout(library, tool(folder.path(), SCRIPT)).look().unwrap();
    assert_eq!(report.source, Source::Nvml);
    assert_eq!(report.gpus.len(), 8);
}

#[test]
fn the_tool_is_asked_where_the_library_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let report = lookout("/nowhere/libnvidia-ml.so.1", tool(folder.path(), SCRIPT)).look().unwrap();
    assert_eq!(report.source, Source::Xml { schema: None });
    assert_eq!(report.driver.as_deref(), Ok("590.48.01"));
    let gpu = &report.gpus[0];
    let device = &gpu.mig_devices.as_ref().unwrap()[0];
    assert_eq!((device.profile.as_deref(), device.uuid.as_deref()), (Ok("3g.40gb"), Ok("MIG-2")));
    assert_eq!(report.topology.unwrap().rows[0].cpus, Ok(vec![(0, 19)]));
}

#[test]
fn without_either_both_reasons_are_told() {
    let failure = lookout("/nowhere/libnvidia-ml.so.1", "/nowhere/nvidia-smi").look().unwrap_err();
    assert!(failure.nvml.contains("/nowhere/libnvidia-ml.so.1 cannot be loaded"), "{failure}");
    assert!(
        failure.nvidia_smi.contains("`/nowhere/nvidia-smi -q -x` cannot be started"),
        "{failure}"
    );
    let text = failure.to_string();
    assert!(
        text.contains("no GPU can be read: NVML: ") && text.contains("; nvidia-smi: "),
        "{text}"
    );
}

#[test]
fn a_tool_that_fails_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18";
    let failure =
        lookout("/nowhere/libnvidia-ml.so.1", tool(folder.path(), script)).look().unwrap_err();
    assert!(failure.nvidia_smi.contains("version mismatch"), "{failure}");
    assert!(failure.nvidia_smi.contains("18"), "{failure}");
}

#[test]
fn a_tool_that_hangs_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 3600", pid.display());
    let mut lookout = lookout("/nowhere/libnvidia-ml.so.1", tool(folder.path(), &script));
    // A machine that is slow to start the tool gets more time, until it was seen to run.
    let mut seconds = 0.2;
    let process = loop {
        lookout.patience = Duration::from_secs_f64(seconds);
        let failure = lookout.look().unwrap_err();
        assert!(failure.nvidia_smi.contains("was killed"), "{failure}");
        if let Ok(text) = std::fs::read_to_string(&pid) {
            break Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        }
        assert!(seconds < 60.0, "the tool was never seen to run");
        seconds *= 2.0;
    };
    let started = Instant::now();
    // Gone already, or its end is seen.
    if let Ok(process) = pidfd_open(process, PidfdFlags::empty()) {
        let mut fds = [PollFd::new(&process, PollFlags::IN)];
        let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(poll(&mut fds, Some(&patience)), Ok(1), "after {:?}", started.elapsed());
    }
}
