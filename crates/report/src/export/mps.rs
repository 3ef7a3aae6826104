//! A shell script that starts an MPS server on each GPU and states what each client must be given.

use std::fmt::Write as _;

use super::names::{comments, shell};
use super::target::ExportRefusal;
use crate::plan::PlanReport;
use crate::plan::model::{MpsView, WorkloadShare};

const MEBIBYTE: u64 = 1 << 20;

pub(super) fn mps(report: &PlanReport) -> Result<(String, Vec<String>), ExportRefusal> {
    let sharing = &report.sharing;
    let Some(mps) = &sharing.mps else {
        return Err(ExportRefusal::OtherSharing {
            format: "mps",
            about: "MPS servers and clients",
            declared: sharing.mode.clone(),
            way_out: "declare `sharing: mps`",
        });
    };
    if sharing.gpu_count == 0 {
        return Err(ExportRefusal::Missing {
            format: "mps",
            what: "the number of GPUs",
            way_out: "declare `gpu_count:` of the server",
        });
    }
    let limits = limits(mps);
    let mut text = String::from("#!/bin/sh\n# Starts an MPS server on each GPU. Run it as root.\n");
    text.push_str(&comments("", &limits));
    text.push_str("set -eu\n: \"${MPS_FOLDER:=/run/mps}\"\n\n");
    text.push_str(&servers(mps, sharing.gpu_count));
    text.push_str(&clients(mps));
    Ok((text, limits))
}

fn limits(mps: &MpsView) -> Vec<String> {
    let mut limits = vec![
        "MPS has no time: who runs when is the calendar's, and is not expressed here.".to_owned(),
        "A fatal fault of one client ends every client on that GPU.".to_owned(),
    ];
    if mps.static_partitions {
        limits.push(
            "Static partitions divide SMs alone, never memory; they need Ampere or later and a \
             control binary of CUDA 13.1 or later."
                .to_owned(),
        );
    } else {
        limits.push("A percentage of threads limits, and reserves nothing.".to_owned());
    }
    if mps.shares.iter().any(|share| share.memory_limit_bytes.is_none()) {
        limits.push("A workload without a memory limit may take all memory.".to_owned());
    }
    limits
}

/// The servers, one for each GPU, each with a pipe folder of its own.
fn servers(mps: &MpsView, gpus: u32) -> String {
    let numbers: Vec<_> = (0..gpus).map(|gpu| gpu.to_string()).collect();
    let mut text = format!("for gpu in {}; do\n", numbers.join(" "));
    text.push_str(
        "  uuid=$(nvidia-smi -i \"$gpu\" --query-gpu=uuid --format=csv,noheader)\n  \
         nvidia-smi -i \"$gpu\" -c EXCLUSIVE_PROCESS\n  \
         mkdir -p \"$MPS_FOLDER/$gpu/pipe\" \"$MPS_FOLDER/$gpu/log\"\n  \
         export CUDA_MPS_PIPE_DIRECTORY=\"$MPS_FOLDER/$gpu/pipe\"\n  \
         export CUDA_MPS_LOG_DIRECTORY=\"$MPS_FOLDER/$gpu/log\"\n",
    );
    let option = if mps.static_partitions { " -S" } else { "" };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "  CUDA_VISIBLE_DEVICES=\"$uuid\" nvidia-cuda-mps-control -d{option}");
    if mps.static_partitions {
        for share in &mps.shares {
            let Some(chunks) = share.chunks else { continue };
            let _ = writeln!(
                text,
                "  echo \"sm_partition add $uuid {chunks}\" | nvidia-cuda-mps-control > \
                 \"$MPS_FOLDER/$gpu/\"{}",
                shell(&file_of(share))
            );
        }
        text.push_str("  echo lspart | nvidia-cuda-mps-control\n");
    }
    text.push_str("done\n\n");
    text
}

/// The file that keeps what the server said of a workload's partition.
fn file_of(share: &WorkloadShare) -> String {
    format!("partition-{}", super::names::encoded(&share.workload, '_', "-"))
}

/// What each workload's processes must find in their environment.
fn clients(mps: &MpsView) -> String {
    let mut text =
        String::from("# What the processes of each workload must be given, before CUDA starts:\n");
    for share in &mps.shares {
        text.push_str(&comments("", &[format!("{}:", share.workload)]));
        text.push_str("#   CUDA_MPS_PIPE_DIRECTORY=$MPS_FOLDER/<gpu>/pipe\n");
        if let Some(percentage) = share.percentage {
            let _ = writeln!(text, "#   CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={percentage}");
        }
        if share.chunks.is_some() {
            let _ = writeln!(
                text,
                "#   CUDA_MPS_SM_PARTITION=<the name in $MPS_FOLDER/<gpu>/{}>",
                file_of(share)
            );
        }
        if let Some(bytes) = share.memory_limit_bytes {
            // A limit is cut down to whole mebibytes: more than was declared is never allowed.
            let _ = writeln!(text, "#   CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0={}M", bytes / MEBIBYTE);
        }
    }
    text
}
