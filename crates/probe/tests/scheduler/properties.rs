//! No bytes make a reader panic, and what is read stays within its bounds.

use cotenant_probe::scheduler::{SKIPPED_SHOWN_MAX, read, recognise};
use proptest::prelude::*;

use super::bytes;

/// Real files of each form; they are small.
const SEEDS: &[&str] = &[
    "slurm/zabbix_sacct.txt",
    "slurm/zabbix_squeue.txt",
    "slurm/ood_non_utf8_job_name.txt",
    "slurm/rivos_squeue_fallback.txt",
    "slurm/zabbix_sdiag.txt",
    "slurm/zabbix_scontrol_show_node_no_gresused.txt",
    "slurm/zabbix_scontrol_show_config.txt",
    "slurm/sckyzo/reservations.txt",
    "slurm/sckyzo/fairshare.txt",
    "slurm/sckyzo/slurm-25.11.1-1__partitions_gpu.txt",
    "slurm-lab/sprio.txt",
    "slurm-lab/sacctmgr_qos.txt",
    "slurmrestd/25.11_v0.0.44_slurm-node-drain.json",
    "slurm/telegraf_gather_responses_partitions.json",
    "k8s/kueue_docs_troubleshooting_jobs.txt",
    "k8s/kueue_issue3909_conditions.yaml",
    "k8s/datadog_kueue_workload_evicted.json",
    "k8s/ood_single_unscheduleable_pod.json",
    "nvidia-docs/confidential-containers__troubleshooting.txt",
    "gpud/dmesg-with-xid-119.log",
];

fn check(name: &str, bytes: &[u8]) {
    let kind = recognise(name, bytes);
    match read(name, bytes) {
        Ok(reading) => {
            assert!(kind.is_some(), "read, and not recognised");
            assert!(reading.skipped.len() <= SKIPPED_SHOWN_MAX);
            assert!(reading.skipped.len() as u64 <= reading.skipped_total);
            let shown: usize = reading.sections().iter().map(|one| one.rows.len()).sum();
            assert_eq!(shown, reading.records());
            for job in &reading.jobs {
                for gpus in [&job.gpus_requested, &job.gpus_allocated].into_iter().flatten() {
                    assert!(gpus.total.is_finite() && gpus.total >= 0.0);
                }
            }
        }
        Err(error) => assert!(!error.what.is_empty() && !error.way_out.is_empty()),
    }
}

/// Words that the readers look for, so that random texts reach into them.
fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "JOBID",
        "JobID",
        "STATE",
        "NODELIST(REASON)",
        "RUNNING",
        "CANCELLED by 1",
        "PD",
        "gpu:a100:4(S:0-1)",
        "(null)",
        "gpu:",
        "1/2/3/4",
        "10-13:27:06",
        "2024-05-05T10:00:00+01",
        "cpu=1,gres/gpu=",
        "|",
        "\u{1f}",
        "\u{1e}",
        "\n",
        "  ",
        "\t",
        "NAME",
        "READY",
        "Events:",
        "Warning  FailedScheduling  13s  x  0/9 nodes are available: 3",
        "{",
        "}",
        "[",
        "\"jobs\":",
        "\"errors\":[]",
        "apiVersion: v1\n",
        "kind: Pod\n",
        "status:\n",
        "- ",
        "-------- block --------\n",
        "JobId=1",
        "NodeName=",
        "sdiag output at\n",
        "Allocatable:\n",
        "nvidia.com/gpu: 7\n",
        "\"nvidia.com/gpu.count\": \"7\"",
        "31000Mn",
        "é",
        "\u{fffd}",
        "999999999999999999999999",
        "-1",
        "0",
        "Name:  x\n",
        "Containers:\n",
        "Capacity:\n",
        "…",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check("random", &bytes);
    }

    #[test]
    fn random_words(list in prop::collection::vec(words(), 0..60)) {
        check("words", list.concat().as_bytes());
        check("words", list.join(" ").as_bytes());
    }

    #[test]
    fn mutated_files(
        seed in 0..SEEDS.len(),
        cut in 0.0..1.0_f64,
        edits in prop::collection::vec((0.0..1.0_f64, any::<u8>(), 0..3_u8), 0..12),
    ) {
        if let Some(mut bytes) = bytes(SEEDS[seed]) {
            bytes.truncate(6000);
            if cut < 0.5 {
                bytes.truncate((bytes.len() as f64 * cut * 2.0) as usize);
            }
            for (at, byte, what) in edits {
                if bytes.is_empty() {
                    break;
                }
                let at = ((bytes.len() as f64 * at) as usize).min(bytes.len() - 1);
                match what {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    _ => { bytes.remove(at); }
                }
            }
            check(SEEDS[seed], &bytes);
        }
    }
}
