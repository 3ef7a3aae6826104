//! The limit of memory that the control group of this process sets, versions 1 and 2.
//!
//! Sources: kernel `Documentation/admin-guide/cgroup-v2.rst` (`memory.max`) and
//! `Documentation/admin-guide/cgroup-v1/memory.rst` (`memory.limit_in_bytes`). Every level above binds too.

use cotenant_core::evidence::{Missing, Reading};

use super::cgroup::{CgroupMount, levels, parse_cgroup_mounts, unescape};
use super::root::{Root, in_file};

/// The tightest limit, bytes; `None` where no level has one. Version 1 writes "no limit" as a number
/// near 2⁶³, which is above what any machine has.
pub fn memory_limit(root: &Root) -> Reading<Option<u64>> {
    let (own_path, mounts_path) = ("/proc/self/cgroup", "/proc/self/mountinfo");
    let own = root.read(own_path)?;
    let mounts = root.read(mounts_path)?;
    let path_of = |is_it: &dyn Fn(&str, &str) -> bool| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (number, controllers) = (fields.next()?, fields.next()?);
            fields.next().filter(|_| is_it(number, controllers))
        })
    };
    let with_memory =
        |_: &str, controllers: &str| controllers.split(',').any(|one| one == "memory");
    if let Some(path) = path_of(&with_memory)
        && let Some(mount) = mounts.lines().find_map(memory_v1)
    {
        return tightest(root, &levels(&mount, path), "memory.limit_in_bytes");
    }
    let unified = |number: &str, controllers: &str| number == "0" && controllers.is_empty();
    let mount = parse_cgroup_mounts(&mounts).into_iter().find(|mount| mount.is_unified);
    match path_of(&unified).zip(mount) {
        Some((path, mount)) => tightest(root, &levels(&mount, path), "memory.max"),
        None => Err(Missing(format!(
            "{mounts_path}: the hierarchy of the memory controller is not mounted"
        ))),
    }
}

/// A mount of version 1 with the memory controller.
fn memory_v1(line: &str) -> Option<CgroupMount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let is_v1 = kind.next()? == "cgroup";
    let options = kind.nth(1).unwrap_or_default();
    let mut place = place.split(' ').skip(3);
    let (root, point) = (unescape(place.next()?), unescape(place.next()?));
    (is_v1 && options.split(',').any(|one| one == "memory")).then_some(CgroupMount {
        root,
        point,
        is_unified: false,
        has_cpu_v1: false,
    })
}

fn tightest(root: &Root, levels: &[String], name: &str) -> Reading<Option<u64>> {
    let own = &levels[0];
    if !root.path(own).is_dir() {
        return Err(Missing(format!("{own}: there is no such control group")));
    }
    let mut tightest: Option<u64> = None;
    for level in levels {
        let path = format!("{level}/{name}");
        // The root group, and one without the controller, have no such file.
        let Some(text) = root.read_if_present(&path)? else { continue };
        let limit = in_file(&path, parse_limit(&text))?;
        tightest = match (tightest, limit) {
            (Some(least), Some(limit)) => Some(least.min(limit)),
            (least, limit) => least.or(limit),
        };
    }
    Ok(tightest)
}

/// `max`, or bytes.
fn parse_limit(text: &str) -> Reading<Option<u64>> {
    match text.trim() {
        "max" => Ok(None),
        number => number
            .parse()
            .map(Some)
            .map_err(|_| Missing(format!("{number:?} is no limit of memory"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn the_tightest_level_of_version_two_binds() {
        let mount = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let folder = folder(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", mount),
            ("sys/fs/cgroup/a/memory.max", "1000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ]);
        let root = Root::at(folder.path());
        assert_eq!(memory_limit(&root), Ok(Some(1000)));
        std::fs::write(folder.path().join("sys/fs/cgroup/a/memory.max"), "max\n").unwrap();
        assert_eq!(memory_limit(&root), Ok(None));
        std::fs::write(folder.path().join("sys/fs/cgroup/a/memory.max"), "lots\n").unwrap();
        assert!(memory_limit(&root).is_err());
    }

    #[test]
    fn version_one_has_a_hierarchy_of_its_own_for_memory() {
        let mounts = "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let folder = folder(&[
            ("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n"),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(memory_limit(&Root::at(folder.path())), Ok(Some(4096)));
    }

    #[test]
    fn a_hierarchy_that_is_not_mounted_is_no_absence_of_a_limit() {
        let folder = folder(&[("proc/self/cgroup", "0::/\n"), ("proc/self/mountinfo", "")]);
        assert!(memory_limit(&Root::at(folder.path())).is_err());
    }
}
