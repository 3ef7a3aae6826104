//! Limits that bind, limits that are declared and not there, with real control groups. Where nobody
//! may make control groups the cases say so and are skipped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a case that is skipped says why")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::evidence::EnforcementAudit;
use cotenant_core::site::{DiskSpace, HostCaps};
use cotenant_core::units::Bytes;
use cotenant_probe::host::{ControlGroup, Root};
use cotenant_probe::measure::{CapAudits, NeighbourRig, Rig, audit_caps};
use cotenant_probe::progress_log::{ProgressReader, Template, TrainerLog, TrainerPatterns};
use cotenant_probe::supervisor::{GuardianCommand, Launch, Priority, Signal};
use support::helper;

/// One case at a time: they would take each other's CPU.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
/// Times that a case is tried on a machine that is too busy to decide.
const TRIES: usize = 6;

/// A control group of this test's own, removed at its end.
struct Group {
    folder: PathBuf,
    is_unified: bool,
}

impl Group {
    /// `None`, with a line that says why, where none can be made.
    fn new(controller: &str, name: &str) -> Option<Self> {
        let skipped = |why: String| {
            eprintln!("skipped: {why}");
            None
        };
        let own = match ControlGroup::of(&Root::of_this_machine(), std::process::id(), controller) {
            Ok(own) => own,
            Err(missing) => return skipped(missing.0),
        };
        let folder = Path::new(&own.folder).join(format!("cotenant-{name}-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&folder) {
            return skipped(format!("{}: {error}", folder.display()));
        }
        let group = Self { folder, is_unified: own.is_unified };
        // In version 2 the parent hands controllers down, and may refuse to.
        let file = if own.is_unified { format!("{controller}.max") } else { "cgroup.procs".into() };
        if group.folder.join(&file).exists() || controller == "cpuset" {
            Some(group)
        } else {
            skipped(format!("{} has no {file}", group.folder.display()))
        }
    }

    fn set(&self, old: &str, new: &str, value: (&str, &str)) {
        let (file, value) = if self.is_unified { (new, value.1) } else { (old, value.0) };
        fs::write(self.folder.join(file), value).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that still holds a process that is being reaped cannot be removed at once.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A neighbour that joins a group and then prints a step now and then.
fn neighbour(group: Option<&Group>) -> NeighbourRig {
    let join = group.map_or(String::new(), |group| {
        format!("echo $$ > {}/cgroup.procs; ", group.folder.display())
    });
    let script = format!("{join}n=0; while :; do n=$((n+1)); echo step=$n; sleep 0.05; done");
    let argv = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec();
    let patterns = TrainerPatterns {
        step: Template::parse("step={step}").unwrap(),
        checkpoint: None,
        resumed: None,
        stopping: None,
    };
    NeighbourRig {
        name: "tune".to_owned(),
        launch: Launch { name: "tune".to_owned(), argv, ..Launch::default() },
        idle: Priority { nice: None, idle: true },
        ready_within: Duration::from_secs(30),
        log: ProgressReader::Templates(TrainerLog::new(patterns)),
        checkpoint_signal: None,
        stop_signal: Signal::Terminate,
        notice: Duration::from_secs(2),
        saves_each_step: false,
        slurm: None,
        gpu: None,
        memory_patience: Duration::from_secs(2),
    }
}

async fn audits(group: Option<&Group>, caps: &HostCaps, folder: &Path) -> CapAudits {
    let guardian = GuardianCommand { program: helper(), arguments: vec!["guardian".to_owned()] };
    let mut rig = Rig::new(guardian, None, Some(neighbour(group))).unwrap();
    let audits = audit_caps(&mut rig, caps, folder).await.unwrap();
    rig.shutdown().await;
    audits
}

/// The one audit of the one cap; a machine that is too busy is tried again.
async fn audit(group: Option<&Group>, caps: HostCaps) -> EnforcementAudit {
    let folder = tempfile::tempdir().unwrap();
    let mut reasons = Vec::new();
    for _ in 0..TRIES {
        let found = audits(group, &caps, folder.path()).await;
        if let [audit] = found.audits.as_slice() {
            return audit.clone();
        }
        reasons.extend(found.undecided);
    }
    panic!("never decided: {reasons:#?}");
}

#[tokio::test]
async fn a_cap_of_cpu_time_binds_where_it_is_set_and_not_where_it_is_only_declared() {
    let _alone = ALONE.lock().await;
    let caps = HostCaps { cpu_cores: Some(0.1), ..HostCaps::default() };
    let Some(group) = Group::new("cpu", "time") else { return };
    let missing = audit(Some(&group), caps.clone()).await;
    assert!(!missing.binds, "{}", missing.method);
    group.set("cpu.cfs_quota_us", "cpu.max", ("10000", "10000 100000"));
    let set = audit(Some(&group), caps).await;
    assert!(set.binds, "{}", set.method);
    assert!(set.ratio_measured < missing.ratio_measured);
    assert_eq!(set.mechanism, "cap of CPU time of `tune`");
}

#[tokio::test]
async fn a_set_of_cpus_binds_and_an_affinity_does_not() {
    let _alone = ALONE.lock().await;
    let usable = std::thread::available_parallelism().unwrap().get();
    if usable < 2 {
        eprintln!("skipped: one CPU cannot be left");
        return;
    }
    let caps = HostCaps { cpus: Some(vec![0]), ..HostCaps::default() };
    let Some(group) = Group::new("cpuset", "set") else { return };
    if !group.is_unified {
        fs::write(group.folder.join("cpuset.mems"), "0").unwrap();
    }
    group.set("cpuset.cpus", "cpuset.cpus", ("0", "0"));
    let set = audit(Some(&group), caps.clone()).await;
    assert!(set.binds, "{}", set.method);
    let open = audit(None, caps).await;
    assert!(!open.binds, "{}", open.method);
}

#[tokio::test]
async fn a_cap_of_memory_binds_where_it_is_set_and_not_where_it_is_only_declared() {
    let _alone = ALONE.lock().await;
    let caps = HostCaps { memory: Some(Bytes(96 << 20)), ..HostCaps::default() };
    let Some(group) = Group::new("memory", "memory") else { return };
    let missing = audit(Some(&group), caps.clone()).await;
    assert!(!missing.binds, "{}", missing.method);
    let bytes = (96_u64 << 20).to_string();
    group.set("memory.limit_in_bytes", "memory.max", (&bytes, &bytes));
    let set = audit(Some(&group), caps).await;
    assert!(set.binds, "{}", set.method);
}

#[tokio::test]
async fn a_quota_of_space_that_is_only_declared_does_not_bind() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let space = DiskSpace { size: Bytes(16 << 20), folder: folder.path().display().to_string() };
    let caps = HostCaps { disk_space: Some(space), ..HostCaps::default() };
    let found = audits(None, &caps, folder.path()).await;
    match found.audits.as_slice() {
        [audit] => assert!(!audit.binds, "{}", audit.method),
        // A disk that is almost full is not filled for an audit.
        _ => assert!(found.undecided[0].1.contains("inference uses too"), "{found:?}"),
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing may be left");
}
