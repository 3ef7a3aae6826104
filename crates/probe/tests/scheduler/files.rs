//! Every file of the collected outputs: recognised as what it is, or refused by name.

use std::path::{Path, PathBuf};

use cotenant_probe::scheduler::{Kind, read, recognise};

use super::data;

/// What a file is: read as a kind, or refused with these words.
enum Is {
    Read(Kind),
    Refused(&'static str),
    /// Read by another reader, and not recognised here.
    Others,
}

/// Rules by the beginning of a file's path, the longest first that fits.
const RULES: &[(&str, Is)] = &[
    ("gpud/dmesg", Is::Read(Kind::KernelLog)),
    ("gpud/fabricmanager", Is::Read(Kind::FabricManagerLog)),
    ("gpud/nvidia-smi", Is::Others),
    ("k8s/datadog_kueue", Is::Read(Kind::KueueObjects)),
    ("k8s/kueue_docs", Is::Read(Kind::Pasted)),
    ("k8s/kueue_issue", Is::Read(Kind::KueueObjects)),
    ("k8s/ood_", Is::Read(Kind::KubernetesObjects)),
    ("k8s/runai_", Is::Read(Kind::KubernetesObjects)),
    ("nvidia-docs/confidential-containers", Is::Read(Kind::Pasted)),
    ("nvidia-docs/gpu-operator__gpu-operator-kubevirt", Is::Read(Kind::Pasted)),
    ("nvidia-docs/gpu-operator__gpu-operator-mig", Is::Read(Kind::Pasted)),
    ("nvidia-docs/gpu-telemetry", Is::Others),
    ("nvidia-docs/kubernetes__index", Is::Read(Kind::Pasted)),
    ("nvidia-docs/mig-get-pods", Is::Read(Kind::KubectlTable)),
    ("nvidia-docs/mig-", Is::Others),
    ("nvidia-docs/mig__mig-k8s", Is::Read(Kind::Pasted)),
    ("nvidia-docs/ml-engineering", Is::Others),
    ("slurm-lab/assoc_mgr", Is::Read(Kind::SlurmAssociations)),
    ("slurm-lab/reservation", Is::Read(Kind::SlurmReservations)),
    ("slurm-lab/sacct.err", Is::Refused("an error message: «sacct: error")),
    ("slurm-lab/sacct.json", Is::Read(Kind::SlurmAccounting)),
    ("slurm-lab/sacctmgr", Is::Read(Kind::SlurmAccounts)),
    ("slurm-lab/scontrol_jobs", Is::Read(Kind::ScontrolJobs)),
    ("slurm-lab/scontrol_pending", Is::Refused("an error message: «scontrol: unrecognized")),
    ("slurm-lab/sdiag.json", Is::Refused("an error message: «sdiag: unrecognized")),
    ("slurm-lab/sdiag.txt", Is::Read(Kind::SlurmDiagnostics)),
    ("slurm-lab/sinfo_R", Is::Refused("a heading without rows")),
    ("slurm-lab/sinfo", Is::Read(Kind::SlurmNodes)),
    ("slurm-lab/sprio", Is::Read(Kind::SlurmPriorities)),
    ("slurm-lab/squeue", Is::Read(Kind::SlurmQueue)),
    ("slurm-lab/sshare", Is::Read(Kind::SlurmShares)),
    ("slurm/ceems_sacct", Is::Read(Kind::SlurmAccounting)),
    ("slurm/ood_non_utf8", Is::Read(Kind::SlurmQueue)),
    ("slurm/ood_null_submit", Is::Read(Kind::SlurmQueue)),
    ("slurm/ood_owens_nodes", Is::Read(Kind::SlurmNodes)),
    ("slurm/ood_owens_partitions", Is::Read(Kind::SlurmPartitions)),
    ("slurm/ood_sinfo", Is::Read(Kind::SlurmNodes)),
    ("slurm/rivos_license", Is::Read(Kind::SlurmLicenses)),
    ("slurm/rivos_sacctmgr", Is::Refused("limits of sacctmgr without their heading")),
    ("slurm/rivos_sdiag", Is::Read(Kind::SlurmDiagnostics)),
    ("slurm/rivos_sinfo", Is::Read(Kind::SlurmNodes)),
    ("slurm/rivos_squeue", Is::Read(Kind::SlurmQueue)),
    ("slurm/rivos_trace", Is::Refused("JSON of no scheduler that is known")),
    ("slurm/sarc_", Is::Read(Kind::SlurmAccounting)),
    ("slurm/sckyzo/readme", Is::Refused("prose, with no object")),
    ("slurm/sckyzo/slurm-21.08.5__sinfo_gpus_allocated", Is::Refused("an empty file")),
    ("slurm/telegraf_gather_responses_diag", Is::Read(Kind::SlurmDiagnostics)),
    ("slurm/telegraf_gather_responses_jobs", Is::Read(Kind::SlurmQueue)),
    ("slurm/telegraf_gather_responses_nodes", Is::Read(Kind::SlurmNodes)),
    ("slurm/telegraf_gather_responses_partitions", Is::Read(Kind::SlurmPartitions)),
    ("slurm/telegraf_gather_responses_reservations", Is::Read(Kind::SlurmReservations)),
    ("slurm/telegraf_panic_responses_diag", Is::Read(Kind::SlurmDiagnostics)),
    ("slurm/telegraf_panic_responses_jobs", Is::Read(Kind::SlurmQueue)),
    ("slurm/telegraf_panic_responses_nodes", Is::Read(Kind::SlurmNodes)),
    ("slurm/telegraf_panic_responses_partitions", Is::Read(Kind::SlurmPartitions)),
    ("slurm/telegraf_panic_responses_reservations", Is::Read(Kind::SlurmReservations)),
    ("slurm/vpenso_sdiag", Is::Read(Kind::SlurmDiagnostics)),
    ("slurm/vpenso_sinfo", Is::Read(Kind::SlurmNodes)),
    ("slurm/vpenso_squeue", Is::Read(Kind::SlurmQueue)),
    ("slurm/xdmod_phillips_sacct", Is::Read(Kind::SlurmAccounting)),
    ("slurm/zabbix_sacctmgr", Is::Refused("limits of sacctmgr without their heading")),
    ("slurm/zabbix_sacct", Is::Read(Kind::SlurmAccounting)),
    ("slurm/zabbix_scontrol_ping", Is::Read(Kind::SlurmPing)),
    ("slurm/zabbix_scontrol_show_config", Is::Read(Kind::SlurmConfiguration)),
    ("slurm/zabbix_scontrol_show_licenses", Is::Read(Kind::SlurmLicenses)),
    ("slurm/zabbix_scontrol_show_node", Is::Read(Kind::ScontrolNodes)),
    ("slurm/zabbix_scontrol_show_partition", Is::Read(Kind::SlurmPartitions)),
    ("slurm/zabbix_scontrol_show_reservation", Is::Read(Kind::SlurmReservations)),
    ("slurm/zabbix_sdiag", Is::Read(Kind::SlurmDiagnostics)),
    ("slurm/zabbix_sinfo", Is::Read(Kind::SlurmNodes)),
    ("slurm/zabbix_squeue", Is::Read(Kind::SlurmQueue)),
];

/// The exporter's captures, by the command in their names: of each Slurm version, and of none.
const CAPTURES: &[(&str, Is)] = &[
    ("cpus", Is::Read(Kind::SlurmNodes)),
    ("drain_reason", Is::Read(Kind::SlurmNodes)),
    ("fairshare", Is::Read(Kind::SlurmShares)),
    ("gpus_snapshot", Is::Read(Kind::SlurmNodes)),
    ("licenses", Is::Read(Kind::SlurmLicenses)),
    ("node_detail", Is::Read(Kind::SlurmNodes)),
    ("nodes_global", Is::Read(Kind::SlurmNodes)),
    ("partitions_", Is::Read(Kind::SlurmNodes)),
    ("provenance", Is::Refused("a record of which commands were run")),
    ("queue_", Is::Read(Kind::SlurmQueue)),
    ("reservations", Is::Read(Kind::SlurmReservations)),
    ("sacct_efficiency", Is::Read(Kind::SlurmAccounting)),
    ("scheduler", Is::Read(Kind::SlurmDiagnostics)),
    ("scontrol_nodes", Is::Read(Kind::ScontrolNodes)),
    ("sinfo_gpus", Is::Read(Kind::SlurmNodes)),
    ("squeue_jobs", Is::Read(Kind::SlurmQueue)),
];

/// Answers of slurmrestd, by the part behind the version.
const ANSWERS: &[(&str, Is)] = &[
    ("slurm-job-archived", Is::Refused("Invalid job id specified (Unable to query JobId=5735)")),
    (
        "slurm-job-gpus-archived",
        Is::Refused("Invalid job id specified (Unable to query JobId=4637)"),
    ),
    ("slurm-job-unfound", Is::Refused("Invalid job id specified (Unable to query JobId=11500)")),
    ("slurm-job", Is::Read(Kind::SlurmQueue)),
    ("slurm-node", Is::Read(Kind::SlurmNodes)),
    ("slurm-partitions", Is::Read(Kind::SlurmPartitions)),
    ("slurm-qos", Is::Read(Kind::SlurmAccounts)),
    ("slurm-reservations", Is::Read(Kind::SlurmReservations)),
    ("slurmdb-job", Is::Read(Kind::SlurmAccounting)),
];

fn rule(path: &str) -> Option<&'static Is> {
    let by = |rules: &'static [(&str, Is)], name: &str| {
        rules.iter().find(|(start, _)| name.starts_with(start)).map(|(_, is)| is)
    };
    if let Some(found) = by(RULES, path) {
        return Some(found);
    }
    if let Some(name) = path.strip_prefix("slurm/sckyzo/") {
        return by(CAPTURES, name.rsplit("__").next()?);
    }
    let name = path.strip_prefix("slurmrestd/")?;
    by(ANSWERS, name.splitn(3, '_').nth(2)?)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn every_file_is_recognised_or_refused_by_name() {
    let Some(data) = data() else { return };
    let root = data.join("4-device-sched");
    let mut seen = 0;
    for folder in ["slurm", "slurmrestd", "slurm-lab", "k8s", "nvidia-docs", "gpud"] {
        let mut found = Vec::new();
        files(&root.join(folder), &mut found);
        for path in found {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).unwrap();
            let is = rule(&name).unwrap_or_else(|| panic!("{name}: no rule says what it is"));
            let read = read(&name, &bytes);
            let kind = recognise(&name, &bytes);
            match (is, read) {
                (Is::Read(wanted), Ok(reading)) => {
                    assert_eq!((reading.kind, kind), (*wanted, Some(*wanted)), "{name}");
                    let says = reading.records() > 0 || !reading.caveats.is_empty();
                    assert!(says, "{name}: read, and nothing said");
                    assert_eq!(
                        reading.sections().iter().map(|one| one.rows.len()).sum::<usize>(),
                        reading.records(),
                        "{name}: every record is shown"
                    );
                }
                (Is::Refused(words), Err(error)) => {
                    let said = error.to_string();
                    assert!(said.contains(words) && said.starts_with(&name), "{said}");
                }
                (Is::Others, Err(_)) => assert_eq!(kind, None, "{name}"),
                (_, Ok(reading)) => panic!("{name}: read as {}", reading.kind.name()),
                (_, Err(error)) => panic!("{name}: {error}"),
            }
            seen += 1;
        }
    }
    assert!(seen >= 250, "{seen} files");
}

/// What other readers read must not be taken for a scheduler's output.
#[test]
fn files_of_other_kinds_are_left_to_their_readers() {
    let Some(data) = data() else { return };
    let mut found = Vec::new();
    for folder in ["1-llm-traces", "2-gpu-jobs", "3-metrics", "5-bench", "6-trainlogs"] {
        files(&data.join(folder), &mut found);
    }
    for folder in ["mig-listings", "netdata_nvidia_smi", "nvidia-captures", "telegraf"] {
        files(&data.join("4-device-sched").join(folder), &mut found);
    }
    let mut taken = Vec::new();
    for path in found {
        // The large ones are traces, and their first rows are like those of the small ones.
        if std::fs::metadata(&path).unwrap().len() > 100_000 {
            continue;
        }
        let name = path.strip_prefix(&data).unwrap().to_string_lossy().into_owned();
        // Manifests are objects of Kubernetes, whoever keeps them.
        if name.ends_with("manifests.yaml") {
            continue;
        }
        if let Some(kind) = recognise(&name, &std::fs::read(&path).unwrap()) {
            taken.push(format!("{name}: {}", kind.name()));
        }
    }
    assert!(taken.is_empty(), "{}", taken.join("\n"));
}
