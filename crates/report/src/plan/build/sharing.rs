//! What the exports need of the declared sharing.

use cotenant_core::site::{MpsMode, Server, Sharing, SharingMode, SlicePeriod};

use crate::build::axes::coordinate;
use crate::plan::model::{
    MigInstanceView, MigLayoutView, MpsView, SharingView, TimeSlicingView, WorkloadShare,
};

pub(super) fn sharing(
    sharing: Option<&Sharing>,
    server: Option<&Server>,
    gpus: u32,
) -> SharingView {
    let mode = sharing.map(|sharing| &sharing.mode);
    let mut view = SharingView {
        mode: mode.map_or_else(String::new, |mode| mode.name().to_owned()),
        gpu_model: server.and_then(|server| server.gpu.clone()),
        gpu_count: server.map_or(gpus, |server| server.gpu_count),
        ..SharingView::default()
    };
    match mode {
        Some(SharingMode::Mig(layouts)) => {
            view.mig = layouts
                .iter()
                .map(|layout| MigLayoutView {
                    gpus: layout.gpus.clone(),
                    instances: layout
                        .instances
                        .iter()
                        .map(|instance| MigInstanceView {
                            profile: instance.profile.clone(),
                            placement: instance.placement,
                            workload: instance.workload.clone(),
                        })
                        .collect(),
                })
                .collect();
        }
        Some(SharingMode::Mps(mps)) => view.mps = Some(mps_view(mps)),
        Some(SharingMode::TimeSlicing(slicing)) => {
            view.time_slicing = Some(TimeSlicingView {
                replicas: slicing.replicas,
                slice: slicing.slice.and_then(slice_name).map(str::to_owned),
            });
        }
        _ => {}
    }
    view
}

fn slice_name(slice: SlicePeriod) -> Option<&'static str> {
    SlicePeriod::NAMED.iter().find(|(period, _)| *period == slice).map(|(_, name)| *name)
}

fn mps_view(mps: &MpsMode) -> MpsView {
    let (limits, static_partitions) = match mps {
        MpsMode::Default { memory_limits, .. } => (memory_limits, false),
        MpsMode::Static { memory_limits, .. } => (memory_limits, true),
    };
    let names: std::collections::BTreeSet<&String> = match mps {
        MpsMode::Default { percentages, .. } => percentages.keys().chain(limits.keys()).collect(),
        MpsMode::Static { partitions, .. } => partitions.keys().chain(limits.keys()).collect(),
    };
    let shares = names
        .into_iter()
        .map(|workload| WorkloadShare {
            workload: workload.clone(),
            percentage: match mps {
                MpsMode::Default { percentages, .. } => {
                    percentages.get(workload).map(|share| coordinate(share.value() * 100.0))
                }
                MpsMode::Static { .. } => None,
            },
            chunks: match mps {
                MpsMode::Default { .. } => None,
                MpsMode::Static { partitions, .. } => partitions.get(workload).copied(),
            },
            memory_limit_bytes: limits.get(workload).map(|limit| limit.0),
        })
        .collect();
    MpsView { static_partitions, shares }
}
