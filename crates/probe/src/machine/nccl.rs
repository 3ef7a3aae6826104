//! The version of NCCL, from the names of files: nothing is loaded for it.

use std::collections::BTreeMap;
use std::path::Path;

use cotenant_core::machine::{Finding, Found, Gpus, missing};

use super::processes::Processes;
use super::surroundings::Surroundings;
use crate::host::Root;

/// Folders in which distributions and NVIDIA's packages put the library.
const LIBRARIES: [&str; 9] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/cuda/lib64",
    "/usr/local/nccl/lib",
    "/opt/nccl/lib",
    "/opt/conda/lib",
];

/// Folders below which a Python keeps its packages.
const PREFIXES: [&str; 4] = ["/usr", "/usr/local", "/opt/conda", "/opt/venv"];

/// Folders that are looked into, and processes whose libraries are looked at, at most.
const PLACES_MAX: usize = 256;

/// The version, where all places that show one agree. What a process on a GPU has loaded counts alone:
/// a file that nobody loads says nothing of what runs.
pub(super) fn version(
    around: &Surroundings,
    processes: &Processes,
    gpus: &Gpus,
) -> Finding<String> {
    let loaded = of_processes(&around.root, processes, gpus);
    let found = if loaded.is_empty() { of_files(around) } else { loaded };
    let mut versions = found.iter();
    match (versions.next(), versions.next()) {
        (Some((version, place)), None) => Ok(Found::new(version.clone(), place.clone())),
        (Some(_), Some(_)) => {
            let each: Vec<String> =
                found.iter().map(|(version, place)| format!("{version} ({place})")).collect();
            missing(format!(
                "several are there: {}; which one jobs load is not known",
                each.join(", ")
            ))
        }
        _ => missing("no libnccl.so.2 and no package nvidia-nccl was seen in the usual places"),
    }
}

/// What processes on the GPUs have mapped.
fn of_processes(root: &Root, processes: &Processes, gpus: &Gpus) -> BTreeMap<String, String> {
    let on_gpus = gpus.cards.iter().filter_map(|card| card.processes.as_ref().ok()).flatten();
    let mut found = BTreeMap::new();
    for (pid, _) in on_gpus.take(PLACES_MAX).filter(|(pid, _)| processes.all.contains_key(pid)) {
        let maps = root.read(&format!("/proc/{pid}/maps")).unwrap_or_default();
        let paths = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path));
        for path in paths.filter(|path| path.contains("libnccl.so")) {
            let path = format!("/{path}");
            // The packages of Python call the file `libnccl.so.2` and keep its version beside it.
            let version = of_name(&path)
                .or_else(|| of_link(root, &path))
                .or_else(|| of_package(&root.path(&path)));
            if let Some(version) = version {
                found.entry(version).or_insert_with(|| format!("process {pid} has {path} loaded"));
            }
        }
    }
    found
}

fn of_files(around: &Surroundings) -> BTreeMap<String, String> {
    let root = &around.root;
    let mut found = BTreeMap::new();
    for folder in LIBRARIES {
        for name in names(&root.path(folder)) {
            if let Some(version) = of_name(&name) {
                found.entry(version).or_insert_with(|| format!("{folder}/{name}"));
            }
        }
    }
    let prefixes = PREFIXES.iter().map(|prefix| root.path(prefix));
    for prefix in prefixes.chain(around.python_prefixes.iter().cloned()) {
        let lib = prefix.join("lib");
        for python in names(&lib).into_iter().filter(|name| name.starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                let folder = lib.join(&python).join(packages);
                for name in names(&folder) {
                    if let Some(version) = of_metadata(&name) {
                        let place = folder.join(&name).display().to_string();
                        found.entry(version).or_insert(place);
                    }
                }
            }
        }
    }
    found
}

/// The entries of a folder, sorted; none where it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// `libnccl.so.2.27.5` as `2.27.5`.
fn of_name(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let version = name.strip_prefix("libnccl.so.")?;
    version.contains('.').then(|| version.to_owned()).filter(|text| is_version(text))
}

/// The version in the target of a link.
fn of_link(root: &Root, path: &str) -> Option<String> {
    let target = std::fs::read_link(root.path(path)).ok()?;
    of_name(target.to_str()?)
}

/// `…/site-packages/nvidia/nccl/lib/libnccl.so.2`: the package's record lies three folders up.
fn of_package(library: &Path) -> Option<String> {
    let folder = library.ancestors().nth(4)?;
    names(folder).iter().find_map(|name| of_metadata(name))
}

/// `nvidia_nccl_cu12-2.27.5.dist-info` as `2.27.5`.
fn of_metadata(name: &str) -> Option<String> {
    let (package, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
    let package = package.to_ascii_lowercase().replace('-', "_");
    (package.starts_with("nvidia_nccl") && is_version(version)).then(|| version.to_owned())
}

fn is_version(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names_alone() {
        assert_eq!(of_name("/usr/lib/libnccl.so.2.27.5").as_deref(), Some("2.27.5"));
        assert_eq!(of_name("libnccl.so.2"), None);
        assert_eq!(of_name("libncclx.so.2.1"), None);
        assert_eq!(of_metadata("nvidia_nccl_cu12-2.26.2.dist-info").as_deref(), Some("2.26.2"));
        assert_eq!(of_metadata("nvidia_nccl_cu13-2.28.3.dist-info").as_deref(), Some("2.28.3"));
        assert_eq!(of_metadata("nvidia_cublas_cu12-12.8.dist-info"), None);
    }
}
