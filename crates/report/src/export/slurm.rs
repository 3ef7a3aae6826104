//! Slurm: lines of `slurm.conf` and `gres.conf` as comments, and a script of reservations.
//!
//! Slurm reserves nodes, cores, licences and burst buffers, but no GRES. So each GPU stands for one
//! licence `cotenant_gpu`, which a reservation keeps for its tenant: a job asks for as many of them
//! as it asks for GPUs. Times are given in UTC through the client's `TZ`, so that no local hour is
//! ever meant twice.

use std::fmt::Write as _;

use super::names::{comments, encoded, shell};
use super::target::{ExportOptions, ExportRefusal};
use crate::plan::PlanReport;
use crate::plan::model::{CalendarView, HoldView, SharingView};

/// The licence that stands for one GPU.
const LICENCE: &str = "cotenant_gpu";

pub(super) fn slurm(
    report: &PlanReport,
    options: &ExportOptions<'_>,
) -> Result<(String, Vec<String>), ExportRefusal> {
    let Some(calendar) = &report.calendar else {
        return Err(ExportRefusal::NoCalendar { format: "slurm" });
    };
    let Some(node) = options.node else {
        return Err(ExportRefusal::Missing {
            format: "slurm",
            what: "the node's name in Slurm",
            way_out: "give it with `--node`",
        });
    };
    let limits = limits(calendar, &report.sharing);
    let mut text = String::from("#!/bin/sh\n");
    text.push_str(&comments("", &limits));
    text.push_str(&configuration(&report.sharing, calendar.gpus, node));
    text.push_str("set -eu\n\n");
    for hold in &calendar.holds {
        reservation(&mut text, calendar, hold, node, options);
    }
    Ok((text, limits))
}

fn limits(calendar: &CalendarView, sharing: &SharingView) -> Vec<String> {
    let mut limits = vec![
        format!(
            "Slurm reserves no GPUs: each GPU is a licence {LICENCE}, and a job must ask for as \
             many with -L as with --gres=gpu. Which GPU it gets is Slurm's choice."
        ),
        "A reservation keeps its licences for its account; it starts no job and stops none."
            .to_owned(),
    ];
    if calendar.holds.iter().any(|hold| !hold.loose_gpus.is_empty()) {
        limits.push(
            "GPUs that are lent, or kept free for bursts, are reserved for who holds them; that \
             inference may ask them back is not expressed."
                .to_owned(),
        );
    }
    if !sharing.mig.is_empty() {
        limits.push(
            "Slurm expects partitions that exist already, and counts them as GRES; the licences \
             count whole GPUs."
                .to_owned(),
        );
    }
    limits
}

/// Lines for the two configuration files, as comments: a site merges them with its own.
fn configuration(sharing: &SharingView, gpus: u32, node: &str) -> String {
    let mut slurm = vec![format!("Licenses={LICENCE}:{gpus}")];
    let mut gres = Vec::new();
    let count = if sharing.gpu_count > 0 { sharing.gpu_count } else { gpus };
    if !sharing.mig.is_empty() {
        slurm.push("GresTypes=gpu".to_owned());
        slurm.push("SelectType=select/cons_tres".to_owned());
        slurm.push(format!("NodeName={node} Gres={}", mig_gres(sharing, count)));
        gres.push(format!("NodeName={node} AutoDetect=nvml"));
    } else if sharing.mps.is_some() {
        slurm.push("GresTypes=gpu,mps".to_owned());
        slurm.push("SelectType=select/cons_tres".to_owned());
        slurm.push(format!("NodeName={node} Gres=gpu:{count},mps:{}", count * 100));
        gres.push(format!("NodeName={node} AutoDetect=nvml Name=mps Count={}", count * 100));
    } else if let Some(replicas) = sharing.time_slicing.as_ref().and_then(|s| s.replicas) {
        slurm.push("GresTypes=gpu,shard".to_owned());
        slurm.push("SelectType=select/cons_tres".to_owned());
        slurm.push(format!("NodeName={node} Gres=gpu:{count},shard:{}", count * replicas));
        gres.push(format!("NodeName={node} AutoDetect=nvml Name=shard Count={}", count * replicas));
    } else {
        slurm.push("GresTypes=gpu".to_owned());
        slurm.push(format!("NodeName={node} Gres=gpu:{count}"));
        gres.push(format!("NodeName={node} AutoDetect=nvml"));
    }
    let mut text = String::from("#\n# slurm.conf, to be merged with the node's own line:\n");
    text.push_str(&comments("", &slurm.iter().map(|line| format!("  {line}")).collect::<Vec<_>>()));
    text.push_str("# gres.conf:\n");
    text.push_str(&comments("", &gres.iter().map(|line| format!("  {line}")).collect::<Vec<_>>()));
    text
}

/// The GRES of a node with partitions: whole GPUs first, then each profile with its count.
fn mig_gres(sharing: &SharingView, count: u32) -> String {
    let mut profiles = std::collections::BTreeMap::new();
    let mut split = 0;
    for layout in &sharing.mig {
        let gpus = layout.gpus.len() as u32;
        split += gpus;
        for instance in &layout.instances {
            *profiles.entry(instance.profile.as_str()).or_insert(0) += gpus;
        }
    }
    let whole = count.saturating_sub(split);
    let mut parts = Vec::new();
    if whole > 0 {
        parts.push(format!("gpu:{whole}"));
    }
    parts.extend(profiles.iter().map(|(profile, count)| format!("gpu:{profile}:{count}")));
    parts.join(",")
}

/// One reservation. Maintenance takes the node; a tenant takes licences.
fn reservation(
    text: &mut String,
    calendar: &CalendarView,
    hold: &HoldView,
    node: &str,
    options: &ExportOptions<'_>,
) {
    let tenant = hold.tenant.and_then(|tenant| calendar.tenants.get(tenant as usize));
    let (from, until) = (slurm_time(&hold.from.at), slurm_time(&hold.until.at));
    let stamp: String = from.chars().filter(char::is_ascii_digit).collect();
    text.push_str(&comments("", std::slice::from_ref(&hold.text)));
    // Writing to a String cannot fail.
    let _ = match tenant {
        Some(tenant) => {
            let account = options.account.unwrap_or(&tenant.workload);
            writeln!(
                text,
                "TZ=UTC scontrol create reservation ReservationName={} StartTime={from} \
                 EndTime={until} Accounts={} Licenses={LICENCE}:{} Flags=LICENSE_ONLY",
                shell(&format!("{}_{stamp}", encoded(&tenant.name, '_', "-"))),
                shell(account),
                hold.gpus.len() + hold.loose_gpus.len(),
            )
        }
        None => writeln!(
            text,
            "TZ=UTC scontrol create reservation ReservationName=maintenance_{stamp} \
             StartTime={from} EndTime={until} Users=root Nodes={} Flags=MAINT,IGNORE_JOBS",
            shell(node),
        ),
    };
}

/// An instant as `scontrol` reads it, in UTC: `2026-11-02T08:00:00`.
fn slurm_time(rfc3339: &str) -> String {
    rfc3339.split(['.', 'Z']).next().unwrap_or_default().to_owned()
}
