//! Who is on which GPU at once, under the declared mode of sharing.

use super::capacity::{self, Capacity};
use super::draft::listed;
use crate::plan::grid::contains_minute;
use crate::site::{
    BatchRoute, MpsMode, Server, SharingMode, Site, SiteKind, TemporalWindow, TimeSlicing,
    Workload, WorkloadKind,
};
use crate::units::Bytes;

/// Equal GPUs or slices with the same tenants.
#[derive(Clone, Debug)]
pub(super) struct Device<'a> {
    /// `GPU 0`, `each of GPUs 0-3`, `3g.40gb of GPU 0`.
    pub(super) name: String,
    /// GPU numbers; empty where no number is given.
    pub(super) gpus: Vec<u32>,
    pub(super) server: &'a Server,
    pub(super) capacity: Option<Capacity>,
    /// The line of the site file that would give the capacity.
    pub(super) capacity_line: String,
    /// Workloads that are on it at once.
    pub(super) tenants: Vec<Tenant<'a>>,
    /// Workloads that are on it at other times.
    pub(super) resting: Vec<&'a Workload>,
}

/// A workload on a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenant<'a> {
    pub(super) workload: &'a Workload,
    /// The limit that the sharing mode sets to its device memory.
    pub(super) limit: Option<Bytes>,
}

impl Device<'_> {
    /// Names of the workloads that are on it at once.
    pub(super) fn names(&self) -> Vec<String> {
        self.tenants.iter().map(|tenant| tenant.workload.name.clone()).collect()
    }

    /// Those names in a sentence.
    pub(super) fn who(&self) -> String {
        let names: Vec<String> = self.names().iter().map(|name| format!("`{name}`")).collect();
        listed(&names)
    }

    pub(super) fn holds(&self, workload: &Workload) -> bool {
        self.tenants.iter().any(|tenant| tenant.workload.name == workload.name)
    }
}

/// Every device on which somebody is, with its alternatives: in a pool a workload needs one group of
/// servers where it fits, not all. On one server each has one.
pub(super) fn devices(site: &Site) -> Vec<Vec<Device<'_>>> {
    match &site.kind {
        SiteKind::Server(server) => {
            on_server(site, server, "").into_iter().map(|device| vec![device]).collect()
        }
        SiteKind::Pool(pool) => {
            let mut questions: Vec<Vec<Device<'_>>> = Vec::new();
            for group in &pool.nodes {
                let label = format!(" of {}", group.name);
                for device in on_server(site, &group.server, &label) {
                    let same = questions.iter_mut().find(|devices| {
                        devices.first().is_some_and(|first| first.names() == device.names())
                    });
                    match same {
                        Some(devices) => devices.push(device),
                        None => questions.push(vec![device]),
                    }
                }
            }
            questions
        }
    }
}

/// Workloads with processes of their own: a batch through somebody else's engine has none.
pub(super) fn with_processes(site: &Site) -> impl Iterator<Item = &Workload> {
    site.workloads.iter().filter(|workload| {
        !matches!(&workload.kind, WorkloadKind::Batch(batch)
            if matches!(batch.route, BatchRoute::Serving(_)))
    })
}

fn on_server<'a>(site: &'a Site, server: &'a Server, label: &str) -> Vec<Device<'a>> {
    let is_pool = matches!(site.kind, SiteKind::Pool(_));
    match &site.sharing.mode {
        _ if server.gpu_count == 0 => Vec::new(),
        SharingMode::HostCpu(_) => Vec::new(),
        SharingMode::CandidatesAll => alone(site, server, label),
        // The numbers of GPUs in a pool name no node, so nobody is known to meet anybody.
        SharingMode::WholeGpu(_) | SharingMode::Temporal(_) | SharingMode::Mig(_) if is_pool => {
            alone(site, server, label)
        }
        SharingMode::Mig(layout) => slices(site, server, layout),
        SharingMode::WholeGpu(whole) => by_gpu(server, label, |gpu| {
            let is_on = |workload: &&Workload| {
                whole.gpus.get(&workload.name).is_some_and(|gpus| gpus.contains(&gpu))
            };
            vec![(with_processes(site).filter(is_on).collect(), Vec::new())]
        }),
        SharingMode::Mps(mode) => {
            let mut devices =
                by_gpu(server, label, |_| vec![(with_processes(site).collect(), Vec::new())]);
            let tenants = devices.iter_mut().flat_map(|device| &mut device.tenants);
            tenants.for_each(|tenant| tenant.limit = memory_limit(mode, tenant.workload));
            devices
        }
        SharingMode::TimeSlicing(slicing) => {
            by_gpu(server, label, |gpu| vec![(sliced(site, slicing, gpu), Vec::new())])
        }
        SharingMode::Temporal(windows) => by_gpu(server, label, |gpu| in_turns(site, windows, gpu)),
    }
}

fn memory_limit(mode: &MpsMode, workload: &Workload) -> Option<Bytes> {
    match mode {
        MpsMode::Default { memory_limits, .. } | MpsMode::Static { memory_limits, .. } => {
            memory_limits.get(&workload.name).copied()
        }
    }
}

fn sliced<'a>(site: &'a Site, slicing: &TimeSlicing, gpu: u32) -> Vec<&'a Workload> {
    with_processes(site)
        .filter(|workload| slicing.gpus.get(&workload.name).is_none_or(|gpus| gpus.contains(&gpu)))
        .collect()
}

/// Each workload by itself on a whole GPU.
fn alone<'a>(site: &'a Site, server: &'a Server, label: &str) -> Vec<Device<'a>> {
    with_processes(site)
        .map(|workload| {
            let name = format!("a GPU{label}");
            device(name, Vec::new(), server, &[workload], Vec::new())
        })
        .collect()
}

fn device<'a>(
    name: String,
    gpus: Vec<u32>,
    server: &'a Server,
    tenants: &[&'a Workload],
    resting: Vec<&'a Workload>,
) -> Device<'a> {
    let tenant = |workload: &&'a Workload| Tenant { workload, limit: None };
    Device {
        name,
        gpus,
        server,
        capacity: capacity::whole(server),
        capacity_line: "server: { gpu_memory: … GiB }".to_owned(),
        tenants: tenants.iter().map(tenant).collect(),
        resting,
    }
}

/// Who is on a GPU at once, and who at other times.
type Together<'a> = (Vec<&'a Workload>, Vec<&'a Workload>);

/// GPUs with the same tenants as one device.
fn by_gpu<'a>(
    server: &'a Server,
    label: &str,
    tenants: impl Fn(u32) -> Vec<Together<'a>>,
) -> Vec<Device<'a>> {
    let mut groups: Vec<(Together<'a>, Vec<u32>)> = Vec::new();
    for gpu in 0..server.gpu_count {
        for together in tenants(gpu) {
            if together.0.is_empty() {
                continue;
            }
            match groups.iter_mut().find(|(same, _)| is_same(same, &together)) {
                Some((_, gpus)) => gpus.push(gpu),
                None => groups.push((together, vec![gpu])),
            }
        }
    }
    groups
        .into_iter()
        .map(|((tenants, resting), gpus)| {
            let name = format!("{}{label}", each_of(&gpus));
            device(name, gpus, server, &tenants, resting)
        })
        .collect()
}

fn is_same(one: &Together<'_>, other: &Together<'_>) -> bool {
    fn names<'a>(workloads: &'a [&'a Workload]) -> impl Iterator<Item = &'a str> {
        workloads.iter().map(|workload| workload.name.as_str())
    }
    names(&one.0).eq(names(&other.0)) && names(&one.1).eq(names(&other.1))
}

/// One GPU, or each of several.
fn each_of(gpus: &[u32]) -> String {
    if gpus.len() == 1 { gpu_list(gpus) } else { format!("each of {}", gpu_list(gpus)) }
}

/// `GPU 0`, `GPUs 0-3,6`.
fn gpu_list(gpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for gpu in gpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *gpu => *last = *gpu,
            _ => runs.push((*gpu, *gpu)),
        }
    }
    let runs: Vec<String> = runs
        .into_iter()
        .map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        )
        .collect();
    format!("{} {}", if gpus.len() == 1 { "GPU" } else { "GPUs" }, runs.join(","))
}

/// The sets of workloads that hold a GPU at once at some minute of the week. Such a set changes only
/// where a window begins, so those minutes are enough.
fn in_turns<'a>(site: &'a Site, windows: &[TemporalWindow], gpu: u32) -> Vec<Together<'a>> {
    let here: Vec<&TemporalWindow> =
        windows.iter().filter(|w| w.gpus.is_empty() || w.gpus.contains(&gpu)).collect();
    let ever = |workload: &&Workload| here.iter().any(|window| window.workload == workload.name);
    let all: Vec<&Workload> = with_processes(site).filter(ever).collect();
    let mut sets: Vec<Vec<&Workload>> = Vec::new();
    for window in &here {
        for day in window.when.days.days() {
            let day = day.to_monday_zero_offset() as u32;
            let minute = day * 24 * 60 + u32::from(window.when.start_minute);
            let is_on = |workload: &&&Workload| {
                here.iter().any(|window| {
                    window.workload == workload.name && contains_minute(&window.when, minute)
                })
            };
            let set: Vec<&Workload> = all.iter().filter(is_on).copied().collect();
            let is_known = sets
                .iter()
                .any(|known| set.iter().all(|one| known.iter().any(|k| k.name == one.name)));
            if !is_known {
                sets.retain(|known| {
                    !known.iter().all(|one| set.iter().any(|s| s.name == one.name))
                });
                sets.push(set);
            }
        }
    }
    // In the order of the site file, whatever the order of the windows is.
    let place = |workload: &Workload| all.iter().position(|one| one.name == workload.name);
    sets.sort_by_key(|set| set.first().and_then(|first| place(first)));
    sets.into_iter()
        .map(|set| {
            let rests = |one: &&&Workload| !set.iter().any(|on| on.name == one.name);
            let resting = all.iter().filter(rests).copied().collect();
            (set, resting)
        })
        .collect()
}

/// The instances of a layout, equal ones with the same tenant together.
fn slices<'a>(
    site: &'a Site,
    server: &'a Server,
    layout: &'a [crate::site::MigGpu],
) -> Vec<Device<'a>> {
    let mut groups: Vec<(&str, &Workload, Vec<u32>)> = Vec::new();
    for part in layout {
        for instance in &part.instances {
            let tenant = instance.workload.as_deref().and_then(|name| site.workload(name));
            let Some(workload) = tenant else { continue };
            let same = groups
                .iter_mut()
                .find(|(profile, on, _)| *profile == instance.profile && on.name == workload.name);
            match same {
                Some((.., gpus)) => gpus.extend(&part.gpus),
                None => groups.push((&instance.profile, workload, part.gpus.clone())),
            }
        }
    }
    groups
        .into_iter()
        .map(|(profile, workload, mut gpus)| {
            gpus.sort_unstable();
            gpus.dedup();
            let name = format!("{profile} of {}", each_of(&gpus));
            let slice = device(name, gpus, server, &[workload], Vec::new());
            Device {
                capacity: capacity::slice(server, profile),
                capacity_line: format!(
                    "server: {{ gpu: … }} (a model whose profile {profile} the catalogue knows)"
                ),
                ..slice
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::gpu_list;

    #[test]
    fn gpus_are_listed_in_runs() {
        assert_eq!(gpu_list(&[0]), "GPU 0");
        assert_eq!(gpu_list(&[0, 1, 2, 3, 6]), "GPUs 0-3,6");
        assert_eq!(gpu_list(&[1, 3]), "GPUs 1,3");
    }
}
