//! The look at a whole machine, on trees of files made here: what each source gives, and what is said where
//! a source is silent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/script.rs"]
mod script;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::machine::Machine;
use cotenant_core::site::SchedulerKind;
use cotenant_core::units::Bytes;
use cotenant_probe::device::Lookout;
use cotenant_probe::device::nvml::NvmlLibrary;
use cotenant_probe::host::Root;
use cotenant_probe::machine::{EnginePorts, Surroundings, survey};
use nvml_double::{hosts, install};
use tempfile::TempDir;

/// A folder that stands for a machine.
struct Host(TempDir);

impl Host {
    fn new(files: &[(&str, &str)]) -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            host.write(path, text);
        }
        host
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn process(&self, pid: u32, parent: u32, arguments: &[&str]) {
        let numbers = ["0"; 48].join(" ");
        self.write(&format!("proc/{pid}/stat"), &format!("{pid} (x) S {parent} {numbers}\n"));
        self.write(&format!("proc/{pid}/cmdline"), &format!("{}\0", arguments.join("\0")));
    }

    fn tool(&self, name: &str, script: &str) -> PathBuf {
        let path = self.0.path().join(name);
        script::executable(&path, &format!("#!/bin/sh\n{script}\n"));
        path
    }

    fn around(&self, library: &Path) -> Surroundings {
        Surroundings {
            root: Root::at(self.0.path()),
            lookout: Lookout {
                nvml: NvmlLibrary::at(library),
                nvidia_smi: PathBuf::from("/nowhere/nvidia-smi"),
                patience: Duration::from_mins(1),
            },
            scontrol: PathBuf::from("/nowhere/scontrol"),
            kubectl: PathBuf::from("/nowhere/kubectl"),
            is_pod: false,
            python_prefixes: Vec::new(),
            ports: EnginePorts::Nobody,
            tool_patience: Duration::from_mins(1),
            engine_patience: Duration::from_mins(1),
        }
    }

    fn look(&self) -> Machine {
        look(&self.around(Path::new("/nowhere/libnvidia-ml.so.1")))
    }
}

fn look(around: &Surroundings) -> Machine {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(survey(around))
}

#[test]
fn a_machine_that_says_nothing_has_reasons_and_no_zeros() {
    let machine = Host::new(&[]).look();
    assert!(machine.name.is_err() && machine.time_zone.is_err() && machine.kernel.is_err());
    assert!(machine.cores_usable.is_err() && machine.cores_visible.is_err());
    assert!(machine.memory.is_err() && machine.numa.is_err() && machine.filesystems.is_err());
    assert!(machine.mps.is_err() && machine.scheduler.is_err() && machine.engines.is_err());
    assert!(machine.nccl.is_err());
    assert!(machine.gpus.cards.is_empty());
    let why = machine.gpus.source.unwrap_err().0;
    assert!(why.contains("NVML: ") && why.contains("nvidia-smi: "), "{why}");
}

#[test]
fn cores_and_memory_are_those_that_limits_leave() {
    let host = Host::new(&[
        ("proc/sys/kernel/hostname", "gpu-01.example.org\n"),
        ("proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1 1\n"),
        ("proc/self/status", "Cpus_allowed_list:\t0-1\n"),
        ("proc/meminfo", "MemTotal:       8388608 kB\n"),
        ("proc/self/cgroup", "0::/job\n"),
        ("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/job/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/job/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n"),
        ("sys/fs/cgroup/job/memory.max", "4294967296\n"),
        ("sys/devices/system/node/node0/cpulist", "0-1\n"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:  8388608 kB\n"),
        ("etc/timezone", "Europe/Berlin\n"),
    ]);
    let machine = host.look();
    assert_eq!(machine.name.unwrap().value, "gpu-01");
    assert_eq!(machine.time_zone.unwrap().value, "Europe/Berlin");
    let cores = machine.cores_usable.unwrap();
    assert_eq!(cores.value, 1.5);
    assert!(cores.how.contains("quota is 1.50 cores"), "{}", cores.how);
    let memory = machine.memory.unwrap();
    assert_eq!(memory.value, Bytes(4 << 30));
    assert!(memory.how.contains("the machine has 8 GiB"), "{}", memory.how);
    let numa = machine.numa.unwrap().value;
    assert_eq!((numa[0].cpus.as_str(), &numa[0].memory), ("0-1", &Ok(Bytes(8 << 30))));
}

#[test]
fn gpus_whose_driver_is_silent_show_on_the_bus() {
    let host = Host::new(&[]);
    for place in ["0000:1b:00.0", "0000:43:00.0"] {
        let folder = format!("sys/bus/pci/devices/{place}");
        host.write(&format!("{folder}/vendor"), "0x10de\n");
        host.write(&format!("{folder}/device"), "0x2330\n");
        host.write(&format!("{folder}/class"), "0x030200\n");
        host.write(&format!("{folder}/numa_node"), "-1\n");
    }
    // A bridge of the same maker is no GPU, and neither is another maker's display.
    for (place, vendor, class) in
        [("0000:05:00.0", "0x10de", "0x068000"), ("0000:06:00.0", "0x1a03", "0x030000")]
    {
        host.write(&format!("sys/bus/pci/devices/{place}/vendor"), vendor);
        host.write(&format!("sys/bus/pci/devices/{place}/device"), "0x2330");
        host.write(&format!("sys/bus/pci/devices/{place}/class"), class);
    }
    let gpus = host.look().gpus;
    assert_eq!(gpus.cards.len(), 2);
    assert_eq!(gpus.described().len(), 2);
    assert_eq!(gpus.cards[0].model(), "h100-80-sxm");
    assert!(gpus.cards[0].uuid.is_err() && gpus.cards[0].numa.is_err());
    assert!(gpus.problems[0].contains("their driver does not answer"), "{:?}", gpus.problems);
}

#[test]
fn processes_tell_of_mps_nccl_and_schedulers() {
    let host = Host::new(&[]);
    let library = install(host.0.path(), hosts::H100_8).unwrap();
    // The double says that 4101 runs on GPU 1.
    host.process(4100, 1, &["/usr/bin/python3", "train.py"]);
    host.process(4101, 4100, &["/usr/bin/python3", "train.py"]);
    host.process(77, 1, &["/usr/bin/nvidia-cuda-mps-control", "-d"]);
    host.process(78, 1, &["/usr/sbin/slurmd", "-D"]);
    host.write(
        "proc/4101/maps",
        "7f00-7f01 r-xp 00000000 00:1 1   /opt/nccl/lib/libnccl.so.2.27.5\n",
    );
    // What lies about and nobody loads does not count.
    host.write("usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", "");
    let machine = look(&host.around(&library));
    assert_eq!(machine.nccl.unwrap().value, "2.27.5");
    assert_eq!(machine.mps.unwrap().value.unwrap().daemons, [77]);
    let scheduler = machine.scheduler.unwrap().value;
    assert_eq!(scheduler.kind, SchedulerKind::Slurm);
    assert!(scheduler.version.is_err());
}

#[test]
fn two_versions_of_nccl_are_no_answer() {
    let host = Host::new(&[
        ("usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", ""),
        ("usr/local/lib/python3.12/site-packages/nvidia_nccl_cu12-2.27.5.dist-info/METADATA", ""),
    ]);
    let why = host.look().nccl.unwrap_err().0;
    assert!(why.contains("2.21.5") && why.contains("2.27.5"), "{why}");
    let one = Host::new(&[("usr/lib64/libnccl.so.2.28.3", "")]);
    assert_eq!(one.look().nccl.unwrap().value, "2.28.3");
}

#[test]
fn slurm_tells_of_its_node() {
    let host = Host::new(&[("proc/sys/kernel/hostname", "gpu-01\n")]);
    let script = "case \"$1\" in --version) echo 'slurm 25.05.3';; show) cat <<END\n\
        NodeName=gpu-01 Arch=x86_64 CoresPerSocket=28 \n   CPUAlloc=0 CPUTot=112 CPULoad=0.10\n   \
        Gres=gpu:h100:8\n   NodeAddr=gpu-01 NodeHostName=gpu-01 Version=25.05.3\n   \
        RealMemory=2000000 AllocMem=0 FreeMem=100 Sockets=2 Boards=1\n   State=IDLE ThreadsPerCore=2 \
        TmpDisk=0 Weight=1\n   Partitions=gpu \nEND\n;; esac";
    let around = Surroundings {
        scontrol: host.tool("scontrol", script),
        ..host.around(Path::new("/nowhere/libnvidia-ml.so.1"))
    };
    let found = look(&around).scheduler.unwrap().value;
    assert_eq!(
        (found.kind, found.version.as_deref().ok()),
        (SchedulerKind::Slurm, Some("25.05.3"))
    );
    assert!(found.notes.iter().any(|note| note == "GPUs: 8"), "{:?}", found.notes);
    assert!(found.notes.iter().any(|note| note == "state: IDLE"), "{:?}", found.notes);
}

#[test]
fn a_pod_says_why_its_node_is_not_known() {
    let host = Host::new(&[("proc/sys/kernel/hostname", "pod-1\n")]);
    let around = Surroundings {
        is_pod: true,
        kubectl: host.tool("kubectl", "exit 1"),
        ..host.around(Path::new("/nowhere/libnvidia-ml.so.1"))
    };
    let found = look(&around).scheduler.unwrap();
    assert_eq!(found.value.kind, SchedulerKind::Kubernetes);
    assert!(found.value.version.unwrap_err().0.contains("get node pod-1"), "{}", found.how);
}
