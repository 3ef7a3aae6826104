//! The sampler and the facts, on trees of files made here and on the real machine.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cotenant_core::evidence::{HostSample, Missing};
use cotenant_core::site::{Launch, Ready, Training, Workload, WorkloadKind};
use cotenant_probe::host::{Root, SampledWorkload, Sampler, UsableCores, facts, facts_at};
use cotenant_probe::measure::thread_notes;
use tempfile::TempDir;

const SECOND: u64 = 1_000_000_000;

/// A machine of files.
struct Machine(TempDir);

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            machine.write(path, text);
        }
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        let path = self.0.path().join(path);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }

    fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    /// A process: number, parent, group, user ticks, reaped ticks, start, resident pages.
    fn process(&self, [pid, parent, group, user, reaped, start, pages]: [u64; 7]) {
        let stat = format!(
            "{pid} (p) S {parent} {group} 1 0 -1 0 0 0 0 0 {user} 0 {reaped} 0 20 0 1 0 {start} 0 \
             {pages} 0 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0"
        );
        self.write(&format!("proc/{pid}/stat"), &stat);
    }
}

const MOUNTS_V2: &str = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const MOUNTS_V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
const NETWORK_HEAD: &str = "Inter-| Receive | Transmit\n face |bytes |bytes\n";

fn whole_machine() -> Machine {
    let machine = Machine::new(&[
        ("proc/stat", "cpu 100 0 50 900 0 0 0 10 0 0\ncpu0 1\ncpu1 1\nprocs_running 4\n"),
        ("proc/uptime", "100.00 50.00\n"),
        ("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable: 1000 kB\nDirty: 8 kB\n"),
        (
            "proc/diskstats",
            "254 0 vda 1 1 100 1 1 1 200 1 0 1 1\n254 1 vda1 1 1 99 1 1 1 9 1 0 1 1\n",
        ),
        ("sys/block/vda/device/vendor", ""),
        ("proc/net/dev", &format!("{NETWORK_HEAD}eth0: 1000 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n")),
        ("proc/cpuinfo", "cpu MHz : 2000\ncpu MHz : 3000\n"),
        ("proc/pressure/cpu", "some total=0\nfull total=0\n"),
        ("proc/pressure/memory", "some total=0\nfull total=0\n"),
        ("proc/pressure/io", "some total=0\nfull total=0\n"),
        ("proc/self/cgroup", "0::/job\n"),
        ("proc/self/mountinfo", MOUNTS_V2),
        ("sys/fs/cgroup/job/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/job/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
    ]);
    machine.process([10, 1, 10, 5, 0, 1, 10]);
    machine.process([11, 10, 11, 5, 0, 1, 10]);
    machine.process([20, 11, 20, 100, 0, 1, 100]);
    machine.process([21, 20, 20, 100, 0, 1, 50]);
    machine.process([22, 21, 22, 100, 0, 1, 50]);
    machine
}

const TRAINER: SampledWorkload<'_> = SampledWorkload { name: "trainer", roots: &[20] };

#[test]
fn every_source_gives_its_rate_over_the_interval() {
    let machine = whole_machine();
    let mut sampler = Sampler::with_root(machine.root(), &[10, 11]);
    let first = sampler.sample_at(SECOND, 0, &[TRAINER]);
    let none = |missing: Missing| assert!(missing.0.contains("first sample"), "{missing:?}");
    none(first.machine_cpu_cores.unwrap_err());
    none(first.own_cpu_cores.unwrap_err());
    none(first.workload_cpu_cores[0].1.clone().unwrap_err());
    none(first.cgroup_cpu.unwrap_err());
    none(first.pressure_io.unwrap_err());
    none(first.disk_read_bytes_per_s.unwrap_err());
    assert_eq!(first.memory_available_bytes, Ok(1000 * 1024));

    machine.write("proc/stat", "cpu 300 0 100 900 0 0 0 30 0 0\ncpu0 1\ncpu1 1\nprocs_running 2\n");
    machine.write("proc/diskstats", "254 0 vda 1 1 300 1 1 1 240 1 0 1 1\n");
    let network = format!("{NETWORK_HEAD}eth0: 3000 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n");
    machine.write("proc/net/dev", &network);
    machine.write("proc/pressure/cpu", "some total=500000\nfull total=9\n");
    machine.write("proc/pressure/io", "some total=1000000\nfull total=200000\n");
    machine.write(
        "sys/fs/cgroup/job/cpu.stat",
        "nr_periods 20\nnr_throttled 5\nthrottled_usec 250000\n",
    );
    machine.process([11, 10, 11, 25, 300, 1, 10]);
    machine.process([20, 11, 20, 150, 0, 1, 100]);
    machine.process([21, 20, 20, 170, 0, 1, 50]);
    let HostSample {
        machine_cpu_cores,
        steal_cores,
        workload_cpu_cores,
        workload_memory_bytes,
        own_cpu_cores,
        cgroup_cpu,
        pressure_cpu,
        pressure_io,
        disk_read_bytes_per_s,
        disk_write_bytes_per_s,
        network_receive_bytes_per_s,
        network_transmit_bytes_per_s,
        cpu_clock_mhz,
        run_queue,
        at_ns,
        ..
    } = sampler.sample_at(3 * SECOND, 2 * SECOND, &[TRAINER]);
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let page = rustix::param::page_size() as u64;
    assert_eq!(at_ns, 2 * SECOND);
    assert_eq!(machine_cpu_cores, Ok(250.0 / ticks / 2.0));
    assert_eq!(steal_cores, Ok(20.0 / ticks / 2.0));
    assert_eq!(workload_cpu_cores, [("trainer".to_owned(), Ok(120.0 / ticks / 2.0))]);
    assert_eq!(workload_memory_bytes, [("trainer".to_owned(), Ok(200 * page))]);
    assert_eq!(
        own_cpu_cores,
        Ok(20.0 / ticks / 2.0),
        "reaped workloads are not the guardian's own"
    );
    let cgroup = cgroup_cpu.unwrap();
    assert_eq!(
        (cgroup.quota_cores, cgroup.throttled_share, cgroup.throttled_s),
        (Some(1.5), 0.25, 0.25)
    );
    assert_eq!(pressure_cpu.unwrap().full_share, None, "the kernel's zero has no meaning");
    let io = pressure_io.unwrap();
    assert_eq!((io.some_share, io.full_share), (0.5, Some(0.1)));
    assert_eq!(disk_read_bytes_per_s, Ok(200.0 * 512.0 / 2.0));
    assert_eq!(disk_write_bytes_per_s, Ok(40.0 * 512.0 / 2.0));
    assert_eq!(network_receive_bytes_per_s, Ok(1000.0));
    assert_eq!(network_transmit_bytes_per_s, Ok(200.0));
    assert_eq!((cpu_clock_mhz, run_queue), (Ok(2500.0), Ok(2)));
}

#[test]
fn a_missing_source_names_its_file_and_harms_no_other() {
    let whole = [
        ("proc/stat", "/proc/stat"),
        ("proc/meminfo", "/proc/meminfo"),
        ("proc/diskstats", "/proc/diskstats"),
        ("proc/net/dev", "/proc/net/dev"),
        ("proc/pressure/io", "/proc/pressure/io"),
        ("proc/cpuinfo", "/proc/cpuinfo"),
        ("proc/self/cgroup", "/proc/self/cgroup"),
    ];
    for (removed, named) in whole {
        let machine = whole_machine();
        machine.remove(removed);
        let mut sampler = Sampler::with_root(machine.root(), &[10, 11]);
        sampler.sample_at(SECOND, 0, &[TRAINER]);
        let sample = sampler.sample_at(2 * SECOND, 0, &[TRAINER]);
        let missing: Vec<Missing> = [
            sample.machine_cpu_cores.err(),
            sample.steal_cores.err(),
            sample.own_cpu_cores.err(),
            sample.workload_cpu_cores[0].1.clone().err(),
            sample.cgroup_cpu.err(),
            sample.pressure_cpu.err(),
            sample.pressure_memory.err(),
            sample.pressure_io.err(),
            sample.memory_available_bytes.err(),
            sample.dirty_bytes.err(),
            sample.disk_read_bytes_per_s.err(),
            sample.disk_write_bytes_per_s.err(),
            sample.network_receive_bytes_per_s.err(),
            sample.network_transmit_bytes_per_s.err(),
            sample.cpu_clock_mhz.err(),
        ]
        .into_iter()
        .flatten()
        .collect();
        assert!((1..=2).contains(&missing.len()), "{removed}: {missing:?}");
        assert!(missing.iter().all(|missing| missing.0.contains(named)), "{removed}: {missing:?}");
    }
}

#[test]
fn an_empty_machine_gives_only_reasons() {
    let machine = Machine::new(&[]);
    let mut sampler = Sampler::with_root(machine.root(), &[1]);
    let sample = sampler.sample_at(SECOND, 0, &[TRAINER]);
    assert!(sample.workload_cpu_cores[0].1.is_err() && sample.workload_memory_bytes[0].1.is_err());
    assert!(sample.run_queue.is_err() && sample.own_cpu_cores.is_err());
    let facts = facts_at(&machine.root());
    assert!(facts.cores_usable.is_err() && facts.autogroup.is_err() && facts.kernel.is_err());
}

#[test]
fn exits_between_samples_make_nothing_negative_and_orphans_stay_known() {
    let machine = whole_machine();
    let mut sampler = Sampler::with_root(machine.root(), &[10, 11]);
    sampler.sample_at(SECOND, 0, &[TRAINER]);
    // The first process and its child are gone; what they left in another group is an orphan.
    machine.remove("proc/20");
    machine.remove("proc/21");
    machine.process([22, 11, 22, 140, 0, 1, 50]);
    let sample = sampler.sample_at(2 * SECOND, 0, &[TRAINER]);
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    assert_eq!(sample.workload_cpu_cores[0].1, Ok(40.0 / ticks));
    assert_eq!(sample.own_cpu_cores, Ok(0.0), "the orphan is the workload's, not Cotenant's");
    machine.remove("proc/22");
    let sample = sampler.sample_at(3 * SECOND, 0, &[TRAINER]);
    assert_eq!(sample.workload_cpu_cores[0].1, Ok(0.0));
    assert_eq!(sample.workload_memory_bytes[0].1, Ok(0));
}

#[test]
fn a_source_that_comes_back_is_averaged_over_the_gap() {
    let machine = whole_machine();
    let mut sampler = Sampler::with_root(machine.root(), &[10, 11]);
    sampler.sample_at(SECOND, 0, &[]);
    machine.remove("proc/stat");
    assert!(sampler.sample_at(2 * SECOND, 0, &[]).machine_cpu_cores.is_err());
    machine.write("proc/stat", "cpu 500 0 50 900 0 0 0 10 0 0\ncpu0 1\n");
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let sample = sampler.sample_at(5 * SECOND, 0, &[]);
    assert_eq!(sample.machine_cpu_cores, Ok(400.0 / ticks / 4.0));
}

#[test]
fn the_tightest_quota_of_all_levels_binds_in_both_versions() {
    let status = "Cpus_allowed_list:\t0-95\n";
    let cpus: Vec<String> = (0..96).map(|cpu| format!("cpu{cpu} 1\n")).collect();
    let stat = format!("cpu 1 1 1 1 1 1 1 1\n{}", cpus.concat());
    let v2 = Machine::new(&[
        ("proc/self/status", status),
        ("proc/stat", &stat),
        ("proc/self/cgroup", "0::/pod/engine\n"),
        ("proc/self/mountinfo", MOUNTS_V2),
        ("sys/fs/cgroup/pod/cpu.max", "765000 100000\n"),
        ("sys/fs/cgroup/pod/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
        ("sys/fs/cgroup/pod/engine/cpu.max", "max 100000\n"),
    ]);
    let v1 = Machine::new(&[
        ("proc/self/status", status),
        ("proc/stat", &stat),
        ("proc/self/cgroup", "4:memory:/x\n2:cpu,cpuacct:/pod/engine\n0::/\n"),
        ("proc/self/mountinfo", MOUNTS_V1),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/pod/engine/cpu.cfs_quota_us", "765000\n"),
        ("sys/fs/cgroup/cpu/pod/engine/cpu.cfs_period_us", "100000\n"),
        (
            "sys/fs/cgroup/cpu/pod/engine/cpu.stat",
            "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
        ),
    ]);
    for machine in [v2, v1] {
        let facts = facts_at(&machine.root());
        let usable = facts.cores_usable.unwrap();
        assert_eq!((facts.cores_visible, usable.count), (Ok(96), 7));
        assert!(usable.arithmetic.contains("7.65"), "{}", usable.arithmetic);

        // tobocop2/lilbee#660: half of the visible cores as threads, and generation collapses.
        let notes = thread_notes([&engine("48")], &usable);
        assert_eq!(notes.len(), 1);
        for part in ["`embed` is started with 48 threads (--threads)", "7 run at full speed"] {
            assert!(notes[0].contains(part), "{}", notes[0]);
        }
        assert!(notes[0].contains("96 of 96 visible cores by affinity, quota 7.65 cores: 7"));
        assert_eq!(thread_notes([&engine("7")], &usable), [""; 0]);
        let unlimited = UsableCores { quota_cores: None, ..usable };
        assert_eq!(thread_notes([&engine("48")], &unlimited), [""; 0]);
    }
}

/// An engine that is started with a number of threads.
fn engine(threads: &str) -> Workload {
    let job = Launch {
        argv: vec!["engine".to_owned(), "--threads".to_owned(), threads.to_owned()],
        cwd: None,
        env: std::collections::BTreeMap::new(),
        ready: Ready::default(),
    };
    Workload {
        name: "embed".to_owned(),
        kind: WorkloadKind::Training(Box::new(Training {
            launch: Some(job),
            ..Training::default()
        })),
        owner: None,
        model: None,
        weight: None,
        faults: None,
        memory: None,
        allocation: None,
        priority: None,
        limits: None,
        on_out_of_memory: None,
        classes: Vec::new(),
    }
}

#[test]
fn a_quota_that_cannot_be_read_is_not_no_quota() {
    let machine = Machine::new(&[
        ("proc/self/status", "Cpus_allowed_list:\t0-3\n"),
        ("proc/self/cgroup", "0::/pod\n"),
        ("proc/self/mountinfo", MOUNTS_V2),
        ("sys/fs/cgroup/pod/cpu.max", "garbage\n"),
    ]);
    let missing = facts_at(&machine.root()).cores_usable.unwrap_err();
    assert!(missing.0.contains("/sys/fs/cgroup/pod/cpu.max"), "{missing:?}");
    machine.remove("sys/fs/cgroup/pod");
    assert!(facts_at(&machine.root()).cores_usable.unwrap_err().0.contains("/sys/fs/cgroup/pod"));
}

#[test]
fn the_real_machine_can_be_read() {
    if !Path::new("/proc/stat").exists() {
        println!("skipped: there is no /proc here");
        return;
    }
    let facts = facts();
    println!("{facts:#?}");
    let usable = facts.cores_usable.unwrap();
    assert!(usable.count >= 1 && usable.count <= facts.cores_visible.unwrap());
    assert!(facts.memory_total_bytes.unwrap() > 1 << 20);

    let helper = env!("CARGO_BIN_EXE_probe-test-guardian");
    let mut busy =
        Command::new(helper).args(["guardian", "spin", "10"]).stdin(Stdio::null()).spawn().unwrap();
    let roots = [busy.id()];
    let workload = [SampledWorkload { name: "busy", roots: &roots }];
    let mut sampler = Sampler::new(&[std::process::id()]);
    sampler.sample(0, &workload);
    std::thread::sleep(Duration::from_millis(500));
    let sample = sampler.sample(SECOND / 2, &workload);
    busy.kill().unwrap();
    busy.wait().unwrap();
    println!("{sample:#?}");
    let cores = sample.workload_cpu_cores[0].1.clone().unwrap();
    assert!((0.02..1.1).contains(&cores), "one busy thread used {cores} cores");
    assert!(sample.machine_cpu_cores.unwrap() + 0.1 >= cores);
    assert!(sample.workload_memory_bytes[0].1.clone().unwrap() > 0);
}
