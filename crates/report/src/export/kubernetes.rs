//! Files for Kubernetes: the MIG layout as a ConfigMap of the GPU Operator, and the sharing
//! configuration of the device plugin.

use std::fmt::Write as _;

use super::layout::{config_name, limits, rules, spec};
use super::names::{comments, yaml};
use super::target::{ExportOptions, ExportRefusal};
use crate::plan::PlanReport;
use crate::plan::model::MpsView;

/// Replicas that the device plugin offers of a GPU under MPS at most: its own limit.
const MPS_REPLICAS_MAX: usize = 48;

pub(super) fn gpu_operator(
    report: &PlanReport,
    options: &ExportOptions<'_>,
) -> Result<(String, Vec<String>), ExportRefusal> {
    let rules = rules(report, "gpu-operator")?;
    let name = config_name(report);
    let mut limits = limits(&report.sharing);
    limits.push(
        "MIG Manager does not drain user pods: whatever holds a GPU must stop before the label is \
         set, or it fails as in use by another client."
            .to_owned(),
    );
    let mut text = comments("", &limits);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# helm: mig.strategy=mixed, migManager.config.name={name}");
    let _ = writeln!(text, "# kubectl label node NODE nvidia.com/mig.config={name} --overwrite");
    let _ = write!(
        text,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  namespace: {}\ndata:\n  \
         config.yaml: |\n",
        yaml(&name),
        yaml(options.namespace)
    );
    text.push_str(&spec(&name, &rules, "    "));
    Ok((text, limits))
}

pub(super) fn device_plugin(report: &PlanReport) -> Result<(String, Vec<String>), ExportRefusal> {
    let sharing = &report.sharing;
    if let Some(mps) = &sharing.mps {
        return mps_sharing(mps);
    }
    if let Some(slicing) = &sharing.time_slicing {
        let Some(replicas) = slicing.replicas else {
            return Err(ExportRefusal::Missing {
                format: "device-plugin",
                what: "the replicas that it offers of one GPU",
                way_out: "declare `replicas:` under `sharing`",
            });
        };
        return time_slicing(replicas, slicing.slice.as_deref());
    }
    if !sharing.mig.is_empty() {
        let limits = vec![
            "The device plugin names instances as resources (nvidia.com/mig-<profile>); which \
             workload gets which one is up to what the pods ask for."
                .to_owned(),
        ];
        let text = format!("{}version: v1\nflags:\n  migStrategy: mixed\n", comments("", &limits));
        return Ok((text, limits));
    }
    Err(ExportRefusal::OtherSharing {
        format: "device-plugin",
        about: "how one GPU is shared",
        declared: sharing.mode.clone(),
        way_out: "whole GPUs need no such file",
    })
}

fn time_slicing(
    replicas: u32,
    slice: Option<&str>,
) -> Result<(String, Vec<String>), ExportRefusal> {
    if replicas < 2 {
        let why = format!("{replicas} replicas share nothing; at least 2 are needed");
        return Err(ExportRefusal::Invalid { format: "device-plugin", why });
    }
    let mut limits = vec![
        "A replica is access and not a share: nothing isolates memory, faults or time between \
         processes on one GPU."
            .to_owned(),
        "It holds for every GPU of the node and at every hour; the calendar is not expressed."
            .to_owned(),
    ];
    if let Some(slice) = slice.filter(|slice| *slice != "default") {
        limits.push(format!(
            "The slice `{slice}` is not set here: `nvidia-smi compute-policy --set-timeslice` or a \
             DRA claim sets it."
        ));
    }
    let text = format!(
        "{}version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    \
         failRequestsGreaterThanOne: true\n    resources:\n      - name: nvidia.com/gpu\n        \
         replicas: {replicas}\n",
        comments("", &limits)
    );
    Ok((text, limits))
}

/// One replica for each workload. The plugin divides memory and threads evenly among replicas.
fn mps_sharing(mps: &MpsView) -> Result<(String, Vec<String>), ExportRefusal> {
    if mps.static_partitions {
        return Err(ExportRefusal::OtherSharing {
            format: "device-plugin",
            about: "even shares of a GPU under MPS",
            declared: "mps with static partitions".to_owned(),
            way_out: "the `mps` export writes them as commands",
        });
    }
    let replicas = mps.shares.len();
    if replicas > MPS_REPLICAS_MAX {
        let why = format!("{replicas} replicas are above the plugin's {MPS_REPLICAS_MAX}");
        return Err(ExportRefusal::Invalid { format: "device-plugin", why });
    }
    if replicas < 2 {
        return Err(ExportRefusal::Missing {
            format: "device-plugin",
            what: "at least two workloads under MPS",
            way_out: "declare `percentages:` under `sharing`",
        });
    }
    let mut limits = vec![format!(
        "The plugin gives each of {replicas} replicas the same part of threads and memory."
    )];
    let even = 100.0 / replicas as f64;
    for share in &mps.shares {
        if let Some(percentage) = share.percentage.filter(|share| (share - even).abs() > 1e-6) {
            limits.push(format!(
                "{} is declared with {percentage} % of the threads: the plugin cannot express it, \
                 and the `mps` export can.",
                share.workload
            ));
        }
        if share.memory_limit_bytes.is_some() {
            limits.push(format!("The memory limit of {} is not expressed.", share.workload));
        }
    }
    limits.push(
        "It holds for every GPU of the node and at every hour; the calendar is not expressed."
            .to_owned(),
    );
    let text = format!(
        "{}version: v1\nsharing:\n  mps:\n    renameByDefault: true\n    resources:\n      - name: \
         nvidia.com/gpu\n        replicas: {replicas}\n",
        comments("", &limits)
    );
    Ok((text, limits))
}
