//! How the workloads share.

use std::collections::BTreeMap;

use cotenant_core::site::{
    DiskSpace, HostCaps, HostCpu, MigGpu, MigInstance, MpsMode, SaturatingLoad, Sharing,
    SharingMode, TemporalWindow, TimeSlicing, WholeGpu,
};
use cotenant_core::units::Share;

use crate::site::scalar;
use crate::site::view::View;

pub(super) fn sharing(view: View<'_>) -> Option<Sharing> {
    Some(Sharing {
        mode: mode(view)?,
        versions: view.text_map("versions"),
        mps_server_per_gpu: view.text("mps_server").map(|word| word == "per_gpu"),
        caps: view
            .by_name("caps")
            .map(|(name, caps)| Some((name.to_owned(), host_caps(caps)?)))
            .collect::<Option<_>>()?,
        saturating_load: match view.group("saturating_load") {
            Some(load) => {
                Some(SaturatingLoad { argv: load.texts("argv"), rate: load.string("rate")? })
            }
            None => None,
        },
    })
}

fn host_caps(view: View<'_>) -> Option<HostCaps> {
    Some(HostCaps {
        cpu_cores: view.number("cpu_cores"),
        cpus: view.indexes("cpus"),
        memory: view.bytes("memory"),
        disk_write: view.bandwidth("disk_write"),
        disk_space: match view.group("disk_space") {
            Some(space) => {
                Some(DiskSpace { size: space.bytes("size")?, folder: space.string("folder")? })
            }
            None => None,
        },
    })
}

fn mode(view: View<'_>) -> Option<SharingMode> {
    let (name, settings) = view.variant("mode")?;
    Some(match name {
        "whole_gpu" => SharingMode::WholeGpu(WholeGpu { gpus: indexes_by_name(settings)? }),
        "mig" => SharingMode::Mig(
            settings.0.items().iter().map(|item| mig_gpu(View(item))).collect::<Option<_>>()?,
        ),
        "mps" => SharingMode::Mps(mps(view.group("mode")?)?),
        "time_slicing" => SharingMode::TimeSlicing(TimeSlicing {
            gpus: indexes_at(settings, "gpus")?,
            booked: settings
                .by_name("booked")
                .map(|(name, share)| Some((name.to_owned(), Share::parse(share.0.text()?).ok()?)))
                .collect::<Option<_>>()?,
            replicas: settings.whole("replicas"),
            slice: settings.parsed("slice", scalar::slice),
        }),
        "temporal" => SharingMode::Temporal(
            settings.0.items().iter().map(|item| temporal(View(item))).collect::<Option<_>>()?,
        ),
        "host_cpu" => SharingMode::HostCpu(HostCpu {
            neighbour_priority: settings
                .parsed("neighbour_priority", scalar::priority)
                .unwrap_or_default(),
            affinity: indexes_at(settings, "affinity")?,
        }),
        "candidates" => SharingMode::CandidatesAll,
        _ => return None,
    })
}

/// Numbers of each name behind a key; none where the key is absent.
fn indexes_at(view: View<'_>, key: &str) -> Option<BTreeMap<String, Vec<u32>>> {
    view.node(key).map_or_else(|| Some(BTreeMap::new()), |node| indexes_by_name(View(node)))
}

fn indexes_by_name(view: View<'_>) -> Option<BTreeMap<String, Vec<u32>>> {
    view.0
        .entries()
        .iter()
        .map(|entry| Some((entry.key.clone(), View(&entry.value).own_indexes()?)))
        .collect()
}

fn mig_gpu(view: View<'_>) -> Option<MigGpu> {
    let instance = |item: View<'_>| {
        Some(MigInstance {
            profile: item.string("profile")?,
            placement: item.whole("placement"),
            workload: item.string("workload"),
        })
    };
    Some(MigGpu {
        gpus: view.indexes("gpus")?,
        instances: view.list("instances").map(instance).collect::<Option<_>>()?,
    })
}

fn mps(mode: View<'_>) -> Option<MpsMode> {
    let (name, _) = mode.variant("mps")?;
    let limits = |view: View<'_>, key: &str| {
        view.by_name(key)
            .filter_map(|(workload, client)| Some((workload.to_owned(), client.bytes("memory")?)))
            .collect()
    };
    // `mps: default` alone sets no limits.
    let Some(group) = mode.group("mps") else {
        return (name == "default").then(|| MpsMode::Default {
            percentages: BTreeMap::new(),
            memory_limits: BTreeMap::new(),
        });
    };
    Some(match name {
        "default" => MpsMode::Default {
            percentages: group
                .by_name("default")
                .filter_map(|(name, client)| Some((name.to_owned(), client.share("percentage")?)))
                .collect(),
            memory_limits: limits(group, "default"),
        },
        "static" => MpsMode::Static {
            partitions: group
                .by_name("static")
                .map(|(name, client)| Some((name.to_owned(), client.whole("chunks")?)))
                .collect::<Option<_>>()?,
            memory_limits: limits(group, "static"),
        },
        _ => return None,
    })
}

fn temporal(view: View<'_>) -> Option<TemporalWindow> {
    Some(TemporalWindow {
        when: view.parsed("when", scalar::window)?,
        workload: view.string("workload")?,
        gpus: view.indexes("gpus").unwrap_or_default(),
    })
}
