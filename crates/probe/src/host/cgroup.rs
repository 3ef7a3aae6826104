//! CPU quota and throttling of the control group that this process is in, versions 1 and 2.
//!
//! Sources: kernel `Documentation/admin-guide/cgroup-v2.rst` (`cpu.max`, `cpu.stat`),
//! `Documentation/scheduler/sched-bwc.rst` (`cpu.cfs_quota_us` and its neighbours), `cgroups(7)`
//! (`/proc/self/cgroup`), `proc_pid_mountinfo(5)`. A limit binds everything below it, so every level
//! from the own group up to the mount's root is read and the tightest quota is the one that counts.

use cotenant_core::evidence::{CgroupCpu, Missing, Reading};

use super::root::{Root, in_file};

/// Deepest nesting that is followed.
const LEVELS_MAX: usize = 64;

/// Paths of the own group, one per hierarchy that matters for the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnCgroups {
    /// In the hierarchy of version 1 that has the CPU controller.
    pub cpu_v1: Option<String>,
    /// In the hierarchy of version 2.
    pub unified: Option<String>,
}

/// Reads the text of `/proc/self/cgroup`: lines `number:controllers:path`.
pub fn parse_own_cgroups(text: &str) -> Reading<OwnCgroups> {
    let mut own = OwnCgroups::default();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(Missing(format!("{line:?} is no line of a control group")));
        };
        if number == "0" && controllers.is_empty() {
            own.unified = Some(path.to_owned());
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            own.cpu_v1 = Some(path.to_owned());
        }
    }
    if own == OwnCgroups::default() {
        return Err(Missing("no control group of the CPU".to_owned()));
    }
    Ok(own)
}

/// A place where a hierarchy of control groups is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupMount {
    /// Which of its groups is seen at the mount point.
    pub root: String,
    /// The mount point.
    pub point: String,
    /// Whether it is of version 2.
    pub is_unified: bool,
    /// Whether it is of version 1 with the CPU controller.
    pub has_cpu_v1: bool,
}

/// Reads the text of `/proc/self/mountinfo`; mounts of other kinds and lines that are torn are left
/// out.
pub fn parse_cgroup_mounts(text: &str) -> Vec<CgroupMount> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<CgroupMount> {
    let (mount, _) = parse_any_mount(line)?;
    (mount.is_unified || mount.has_cpu_v1).then_some(mount)
}

/// A mount of control groups of any kind, with its options.
fn parse_any_mount(line: &str) -> Option<(CgroupMount, &str)> {
    // Optional fields lie before the separator, so the two halves are counted on their own.
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (unescape(place.next()?), unescape(place.next()?));
    let mut kind = kind.split(' ');
    let filesystem = kind.next()?;
    let options = kind.nth(1).unwrap_or_default();
    let is_unified = filesystem == "cgroup2";
    let has_cpu_v1 =
        filesystem == "cgroup" && options.split(',').any(|controller| controller == "cpu");
    let mount = CgroupMount { root, point, is_unified, has_cpu_v1 };
    (is_unified || filesystem == "cgroup").then_some((mount, options))
}

/// Undoes the octal escapes of mountinfo (space, tab, newline, backslash).
pub(super) fn unescape(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

/// Folders of the own group and of all above it that can be seen, own first.
pub(super) fn levels(mount: &CgroupMount, own: &str) -> Vec<String> {
    // Without a namespace of its own a container sees the host's path, of which the mount shows the
    // part below its root. A path outside the root (it begins with `/..`) has no folder here: the
    // mount's root is then the nearest that binds.
    let below = match own.strip_prefix(mount.root.trim_end_matches('/')) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => "",
    };
    let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
    let parts = if parts.contains(&"..") { Vec::new() } else { parts };
    let point = mount.point.trim_end_matches('/');
    (0..=parts.len().min(LEVELS_MAX))
        .rev()
        .map(|depth| parts[..depth].iter().fold(point.to_owned(), |path, part| path + "/" + part))
        .collect()
}

/// Quota of `cpu.max` (version 2), cores; `None` is no limit.
pub fn parse_quota_v2(text: &str) -> Reading<Option<f64>> {
    let mut fields = text.split_ascii_whitespace();
    let bad = || Missing(format!("{:?} is no quota", text.trim()));
    match (fields.next(), fields.next()) {
        (Some("max"), _) => Ok(None),
        (Some(quota), Some(period)) => cores(quota, period).map(Some).ok_or_else(bad),
        _ => Err(bad()),
    }
}

/// Quota of `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1), cores; `None` is no limit.
pub fn parse_quota_v1(quota: &str, period: &str) -> Reading<Option<f64>> {
    let (quota, period) = (quota.trim(), period.trim());
    if quota == "-1" {
        return Ok(None);
    }
    let bad = || Missing(format!("{quota:?} in {period:?} is no quota"));
    cores(quota, period).map(Some).ok_or_else(bad)
}

fn cores(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// Counters of enforcement since the group was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Enforcement periods in which the group ran.
    pub periods: u64,
    /// Of these, periods in which it was throttled.
    pub throttled_periods: u64,
    /// Time throttled, nanoseconds.
    pub throttled_ns: u64,
}

/// Reads the text of `cpu.stat`, either version: 1 counts nanoseconds, 2 microseconds.
pub fn parse_throttling(text: &str) -> Reading<Throttling> {
    let find = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    };
    let need = |name: &str| find(name).ok_or_else(|| Missing(format!("no {name}")));
    let micro = find("throttled_usec").map(|us| us.saturating_mul(1000));
    Ok(Throttling {
        periods: need("nr_periods")?,
        throttled_periods: need("nr_throttled")?,
        throttled_ns: micro
            .or_else(|| find("throttled_time"))
            .ok_or_else(|| Missing("neither throttled_usec nor throttled_time".to_owned()))?,
    })
}

/// The control group of a process in the hierarchy that has a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// Its folder, as seen from this process.
    pub folder: String,
    /// Whether it is of version 2.
    pub is_unified: bool,
}

impl ControlGroup {
    /// Finds the group of process `pid` for a controller by its name of version 1: "cpu", "cpuset",
    /// "memory", "blkio". Where version 1 does not have the controller it is looked for in version 2,
    /// where "blkio" is called "io".
    pub fn of(root: &Root, pid: u32, controller: &str) -> Reading<Self> {
        let path = format!("/proc/{pid}/cgroup");
        let own = root.read(&path)?;
        let mounts = root.read("/proc/self/mountinfo")?;
        let group = |is_unified: bool| -> Option<Self> {
            let own = own.lines().find_map(|line| own_path(line, controller, is_unified))?;
            let mount = mounts
                .lines()
                .filter_map(parse_any_mount)
                .find(|(mount, options)| {
                    if is_unified {
                        mount.is_unified
                    } else {
                        !mount.is_unified && options.split(',').any(|name| name == controller)
                    }
                })?
                .0;
            let folder = levels(&mount, own).into_iter().next()?;
            Some(Self { folder, is_unified })
        };
        let found = group(false).or_else(|| group(true)).ok_or_else(|| {
            Missing(format!("{path}: no mounted hierarchy has the controller {controller}"))
        })?;
        if root.path(&found.folder).is_dir() {
            Ok(found)
        } else {
            Err(Missing(format!("{}: there is no such control group", found.folder)))
        }
    }

    /// The file that takes a process in.
    pub fn procs(&self) -> String {
        format!("{}/cgroup.procs", self.folder)
    }
}

/// The path in a line of `/proc/<pid>/cgroup`, where the line is of the hierarchy asked for.
fn own_path<'a>(line: &'a str, controller: &str, is_unified: bool) -> Option<&'a str> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let is_it = if is_unified {
        number == "0" && controllers.is_empty()
    } else {
        controllers.split(',').any(|name| name == controller)
    };
    is_it.then_some(path)
}

/// What binds this process now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgroupState {
    /// The tightest quota, cores; `None` where no level has one.
    pub quota_cores: Option<f64>,
    /// Throttling at that level; all zero where no level has a quota, for then nothing throttles.
    pub throttling: Throttling,
}

/// Finds and reads the own group.
pub fn read_cgroup(root: &Root) -> Reading<CgroupState> {
    let (own_path, mounts_path) = ("/proc/self/cgroup", "/proc/self/mountinfo");
    let own = in_file(own_path, parse_own_cgroups(&root.read(own_path)?))?;
    let mounts = parse_cgroup_mounts(&root.read(mounts_path)?);
    // Where both versions are mounted the controller is in version 1, or in neither.
    let found = match (&own.cpu_v1, &own.unified) {
        (Some(path), _) => mounts.iter().find(|mount| mount.has_cpu_v1).zip(Some(path)),
        (None, Some(path)) => mounts.iter().find(|mount| mount.is_unified).zip(Some(path)),
        (None, None) => None,
    };
    let (mount, path) = found.ok_or_else(|| {
        Missing(format!("{mounts_path}: the hierarchy of the CPU controller is not mounted"))
    })?;
    let levels = levels(mount, path);
    let own_folder = &levels[0];
    if !root.path(own_folder).is_dir() {
        return Err(Missing(format!("{own_folder}: there is no such control group")));
    }
    tightest(root, mount.is_unified, &levels)
}

fn tightest(root: &Root, is_unified: bool, levels: &[String]) -> Reading<CgroupState> {
    let mut tightest: Option<(f64, &String)> = None;
    for level in levels {
        let quota = if is_unified { quota_v2(root, level)? } else { quota_v1(root, level)? };
        if let Some(quota) = quota
            && tightest.is_none_or(|(least, _)| quota < least)
        {
            tightest = Some((quota, level));
        }
    }
    let Some((quota, level)) = tightest else {
        return Ok(CgroupState { quota_cores: None, throttling: Throttling::default() });
    };
    let path = format!("{level}/cpu.stat");
    let throttling = in_file(&path, parse_throttling(&root.read(&path)?))?;
    Ok(CgroupState { quota_cores: Some(quota), throttling })
}

/// The root group, and a group without the controller, have no such file: no limit of their own.
fn quota_v2(root: &Root, level: &str) -> Reading<Option<f64>> {
    let path = format!("{level}/cpu.max");
    match root.read_if_present(&path)? {
        Some(text) => in_file(&path, parse_quota_v2(&text)),
        None => Ok(None),
    }
}

fn quota_v1(root: &Root, level: &str) -> Reading<Option<f64>> {
    let path = format!("{level}/cpu.cfs_quota_us");
    match root.read_if_present(&path)? {
        Some(quota) => {
            let period = root.read(&format!("{level}/cpu.cfs_period_us"))?;
            in_file(&path, parse_quota_v1(&quota, &period))
        }
        None => Ok(None),
    }
}

/// Throttling between two readings.
pub(super) fn between(before: &CgroupState, after: &CgroupState) -> CgroupCpu {
    let since = |field: fn(&Throttling) -> u64| {
        field(&after.throttling).saturating_sub(field(&before.throttling))
    };
    let periods = since(|throttling| throttling.periods);
    let throttled = since(|throttling| throttling.throttled_periods);
    CgroupCpu {
        quota_cores: after.quota_cores,
        // Without a period there was nothing to enforce.
        throttled_share: if periods == 0 { 0.0 } else { throttled as f64 / periods as f64 },
        throttled_s: since(|throttling| throttling.throttled_ns) as f64 / 1e9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_versions_are_told_apart() {
        let hybrid = "3:cpuset:/\n1:cpu,cpuacct:/docker/a:b\n0::/init.scope\n";
        let own = parse_own_cgroups(hybrid).unwrap();
        assert_eq!(own.cpu_v1.as_deref(), Some("/docker/a:b"));
        assert_eq!(own.unified.as_deref(), Some("/init.scope"));
        assert_eq!(parse_own_cgroups("0::/\n").unwrap().cpu_v1, None);
        // `cpuset` and `cpuacct` are not `cpu`.
        assert!(parse_own_cgroups("3:cpuset:/\n2:cpuacct:/\n").is_err());
        assert!(parse_own_cgroups("").is_err() && parse_own_cgroups("nonsense").is_err());
    }

    #[test]
    fn mounts_are_found_with_and_without_optional_fields() {
        let text = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 master:1 - cgroup cgroup rw,cpu\n\
                    41 31 0:38 /kube\\040pods /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n\
                    33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n\
                    1 1 0:1 / / rw - ext4 /dev/vda rw\ntorn\n";
        let mounts = parse_cgroup_mounts(text);
        assert_eq!(mounts.len(), 2);
        assert!(mounts[0].has_cpu_v1 && mounts[0].point == "/sys/fs/cgroup/cpu");
        assert!(mounts[1].is_unified && mounts[1].root == "/kube pods");
    }

    fn mount(root: &str) -> CgroupMount {
        let (root, point) = (root.to_owned(), "/cg".to_owned());
        CgroupMount { root, point, is_unified: true, has_cpu_v1: false }
    }

    #[test]
    fn levels_lead_from_the_own_group_to_the_mount() {
        assert_eq!(levels(&mount("/"), "/a/b"), ["/cg/a/b", "/cg/a", "/cg"]);
        assert_eq!(levels(&mount("/"), "/"), ["/cg"]);
        assert_eq!(levels(&mount("/docker/x"), "/docker/x"), ["/cg"]);
        assert_eq!(levels(&mount("/docker/x"), "/docker/x/y"), ["/cg/y", "/cg"]);
        // A sibling whose name begins alike is not below.
        assert_eq!(levels(&mount("/docker/x"), "/docker/xy"), ["/cg"]);
        assert_eq!(levels(&mount("/"), "/../other"), ["/cg"]);
    }

    #[test]
    fn quotas_of_both_versions() {
        assert_eq!(parse_quota_v2("max 100000\n"), Ok(None));
        assert_eq!(parse_quota_v2("765000 100000\n"), Ok(Some(7.65)));
        assert_eq!(parse_quota_v1("-1\n", "100000\n"), Ok(None));
        assert_eq!(parse_quota_v1("50000\n", "100000\n"), Ok(Some(0.5)));
        for text in ["", "5", "0 100000", "5 0", "a b", "-1 100000"] {
            assert!(parse_quota_v2(text).is_err(), "{text}");
        }
        assert!(parse_quota_v1("", "100000").is_err() && parse_quota_v1("5", "x").is_err());
    }

    #[test]
    fn throttling_of_both_versions_is_in_nanoseconds() {
        let v1 = "nr_periods 10\nnr_throttled 4\nthrottled_time 5000000\n";
        let v2 = "usage_usec 7\nnr_periods 10\nnr_throttled 4\nthrottled_usec 5000\n";
        let wanted = Throttling { periods: 10, throttled_periods: 4, throttled_ns: 5_000_000 };
        assert_eq!((parse_throttling(v1), parse_throttling(v2)), (Ok(wanted), Ok(wanted)));
        assert!(parse_throttling("usage_usec 7\n").is_err());
    }

    #[test]
    fn shares_are_of_the_periods_between() {
        let state = |periods, throttled_periods, throttled_ns| CgroupState {
            quota_cores: Some(2.0),
            throttling: Throttling { periods, throttled_periods, throttled_ns },
        };
        let cpu = between(&state(10, 4, 1_000_000_000), &state(20, 9, 1_500_000_000));
        assert_eq!((cpu.throttled_share, cpu.throttled_s), (0.5, 0.5));
        assert_eq!(between(&state(10, 4, 5), &state(10, 4, 5)).throttled_share, 0.0);
    }

    #[test]
    fn a_controller_is_found_in_either_version() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/7/cgroup", "4:memory:/train\n2:cpu,cpuacct:/box\n0::/slice\n");
        write(
            "proc/self/mountinfo",
            "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n\
             34 31 0:31 / /cg/unified rw - cgroup2 cgroup2 rw\n",
        );
        for path in ["cg/cpu/box/x", "cg/memory/train/x", "cg/unified/slice/x"] {
            write(path, "");
        }
        let root = Root::at(folder.path());
        let group = |controller| ControlGroup::of(&root, 7, controller).map(|group| group.folder);
        assert_eq!(group("cpu").as_deref(), Ok("/cg/cpu/box"));
        assert_eq!(group("memory").as_deref(), Ok("/cg/memory/train"));
        // What version 1 does not have is in version 2.
        assert_eq!(group("cpuset").as_deref(), Ok("/cg/unified/slice"));
        assert!(ControlGroup::of(&root, 8, "cpu").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", other in "[0-9a-z:/., \n-]{0,200}") {
            for text in [&text, &other] {
                let _ = (parse_own_cgroups(text), parse_cgroup_mounts(text), parse_quota_v2(text));
                let _ = (parse_quota_v1(text, text), parse_throttling(text));
                let _ = levels(&mount(text), text);
                let _ = parse_cgroup_mounts(&format!("1 2 3 {text} - cgroup2 {text}"));
            }
        }
    }
}
