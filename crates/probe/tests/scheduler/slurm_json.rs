//! JSON of Slurm, from 21.08 to 25.11.

use cotenant_probe::scheduler::{
    Absence, Exit, Job, Memory, MemoryPer, Reading, SchedulerTime, Wait,
};

use super::reading;

fn instant(seconds: i64) -> SchedulerTime {
    SchedulerTime::Instant(jiff::Timestamp::from_second(seconds).unwrap())
}

fn job<'a>(read: &'a Reading, id: &str) -> &'a Job {
    read.jobs.iter().find(|job| job.id.as_deref() == Ok(id)).unwrap()
}

#[test]
fn the_queue_of_21_08_and_of_a_newer_parser_in_one_file() {
    let Some(read) = reading("slurm/rivos_squeue_out.json") else { return };
    assert_eq!(read.version.as_deref(), Some("Slurm 21.08.5, openapi/v0.0.37"));
    let plain = job(&read, "26515966");
    assert_eq!(plain.limit_s, Ok(30_240 * 60));
    assert_eq!(plain.memory_requested, Ok(Memory { mib: 64_000.0, per: MemoryPer::Cpu }));
    assert_eq!(plain.array, Err(Absence::NotSet));
    assert_eq!(plain.gpus_allocated, Err(Absence::NoGpuNamed));
    let wrapped = job(&read, "58948420");
    assert!(wrapped.is_waiting());
    assert_eq!(wrapped.limit_s, Ok(1439 * 60));
    assert_eq!(wrapped.array.as_ref().unwrap().tasks, "1-10");
    assert_eq!(wrapped.started, Err(Absence::NotStarted));
}

#[test]
fn the_queue_of_22_05_says_what_each_job_waits_for() {
    let Some(read) = reading("slurm-lab/squeue_pending.json") else { return };
    let wait = |id| job(&read, id).wait.clone();
    assert_eq!(wait("4"), Ok(Wait::Quota));
    assert_eq!(wait("6"), Ok(Wait::Quota));
    assert_eq!(wait("7"), Ok(Wait::Budget));
    assert_eq!(wait("8"), Ok(Wait::Owner));
    assert_eq!(wait("11"), Ok(Wait::Quota));
    assert_eq!(wait("12"), Ok(Wait::Reservation));
    let running = job(&read, "5");
    assert_eq!(running.gpus_allocated.as_ref().unwrap().by_model, [("h200".to_owned(), 4.0)]);
    assert_eq!(running.end_expected, Ok(instant(1_796_042_444)));
    assert_eq!(running.ended, Err(Absence::NotEnded));
    assert_eq!(job(&read, "6").gpus_requested.as_ref().unwrap().total, 4.0);
    assert_eq!(job(&read, "6").gpus_allocated, Err(Absence::NotStarted));
    assert_eq!(job(&read, "6").end_expected, Err(Absence::NotEnded));
}

#[test]
fn accounting_of_22_05_knows_preempted_jobs() {
    let Some(read) = reading("slurm-lab/sacct.json") else { return };
    let victim = job(&read, "1");
    assert!(victim.is_in("PREEMPTED"));
    assert_eq!((victim.elapsed_s.clone(), victim.limit_s.clone()), (Ok(25), Ok(1800)));
    assert_eq!(victim.gpus_allocated.as_ref().unwrap().total, 8.0);
    assert_eq!(victim.exit, Ok(Exit { code: 0, signal: 0 }));
    assert_eq!(job(&read, "4").started, Err(Absence::NotStarted));
}

#[test]
fn accounting_of_25_05() {
    let Some(read) = reading("slurm/sarc_mila_1706227200.json.gz") else { return };
    assert_eq!(read.version.as_deref(), Some("Slurm 25.05.2, data_parser/v0.0.43"));
    let cancelled = job(&read, "1");
    assert_eq!(cancelled.cancelled_by.as_deref(), Ok("ltailor"));
    assert_eq!(cancelled.exit, Err(Absence::NotSet), "return_code has set: false");
    assert_eq!(cancelled.limit_s, Ok(28_800));
    assert_eq!(
        job(&read, "2").gpus_allocated.as_ref().unwrap().by_model,
        [("a100".to_owned(), 4.0)]
    );
    assert_eq!(job(&read, "3").exit, Ok(Exit { code: 1, signal: 0 }));
    assert_eq!(job(&read, "3").ended, Ok(instant(1_706_205_371)));
}

#[test]
fn slurmrestd_of_three_releases() {
    let Some(old) = reading("slurmrestd/24.05_v0.0.41_slurm-job-gpus-running.json") else { return };
    assert_eq!(old.version.as_deref(), Some("Slurm 24.05.3, data_parser/v0.0.41"));
    let running = job(&old, "9");
    assert_eq!(running.exit, Err(Absence::NotEnded));
    assert_eq!(running.end_expected, Ok(instant(1_762_529_712)));
    // The cluster does not account for GPUs: the lists of resources have none, the details have four.
    assert_eq!(running.gpus_allocated.as_ref().unwrap().total, 4.0);
    let nodes = reading("slurmrestd/25.11_v0.0.44_slurm-job-gpus-multi-nodes.json").unwrap();
    let both = job(&nodes, "5679");
    assert_eq!(
        (both.gpus_allocated.as_ref().unwrap().total, both.node_count.clone()),
        (8.0, Ok(2))
    );
    assert_eq!(both.gpus_requested.as_ref().unwrap().total, 8.0);
    let tasks = reading("slurmrestd/25.11_v0.0.44_slurm-job-gpus-per-task.json").unwrap();
    assert_eq!(job(&tasks, "5512").gpus_requested.as_ref().unwrap().total, 4.0);
    let waiting = reading("slurmrestd/25.11_v0.0.44_slurm-job-gpus-pending.json").unwrap();
    assert_eq!(job(&waiting, "4965").gpus_requested.as_ref().unwrap().total, 4.0);
    assert_eq!(job(&waiting, "4965").start_expected, Ok(instant(1_762_787_291)));
    let timeout = reading("slurmrestd/25.11_v0.0.44_slurm-job-timeout.json").unwrap();
    let ended = job(&timeout, "5737");
    assert!(ended.is_in("TIMEOUT"));
    assert_eq!(ended.exit, Ok(Exit { code: 0, signal: 15 }));
    assert_eq!(ended.ended, Ok(instant(1_762_942_539)));
    let accounted = reading("slurmrestd/24.05_v0.0.41_slurmdb-job-gpus-completed.json").unwrap();
    assert_eq!(job(&accounted, "10").gpus_allocated, Err(Absence::NoGpuNamed));
    assert_eq!(job(&accounted, "10").elapsed_s, Ok(30));
}

#[test]
fn nodes_and_partitions_of_slurmrestd() {
    let Some(drained) = reading("slurmrestd/25.11_v0.0.44_slurm-node-drain.json") else { return };
    let one = &drained.nodes[0];
    assert_eq!((one.name.as_deref(), one.reason.as_deref()), (Ok("cn2"), Ok("ECC memory error")));
    assert_eq!(one.reason_time, Ok(instant(1_762_942_585)));
    assert!(one.is_in("DRAIN") && one.is_in("IDLE"));
    assert_eq!(one.cpu_states.as_ref().unwrap().idle, 64);
    let mixed = reading("slurmrestd/25.11_v0.0.44_slurm-node-with-gpus-model-mixed.json").unwrap();
    assert_eq!(mixed.nodes[0].gpus.as_ref().unwrap().by_model, [("h100".to_owned(), 4.0)]);
    assert_eq!(mixed.nodes[0].gpus_used.as_ref().unwrap().total, 1.0);
    let untyped = reading("slurmrestd/25.11_v0.0.44_slurm-node-with-gpus-mixed.json").unwrap();
    assert_eq!(untyped.nodes[0].gpus.as_ref().unwrap().total, 4.0);
    assert_eq!(untyped.nodes[0].gpus_used.as_ref().unwrap().total, 1.0);
    assert_eq!(reading("slurmrestd/24.05_v0.0.41_slurm-nodes.json").unwrap().nodes.len(), 100);
    let six = reading("slurmrestd/25.05_v0.0.42_slurm-nodes.json").unwrap();
    assert!(six.nodes[2].is_in("DOWN"));
    let partitions = reading("slurmrestd/25.11_v0.0.44_slurm-partitions.json").unwrap();
    let gpu = &partitions.partitions[1];
    assert_eq!(
        (gpu.name.as_deref(), gpu.node_count.clone(), gpu.limit_s.clone()),
        (Ok("gpu"), Ok(2), Ok(7200))
    );
    assert_eq!(gpu.gpus, Err(Absence::NoGpuNamed));
    let flat = reading("slurm/telegraf_gather_responses_partitions.json").unwrap();
    assert_eq!(flat.partitions[0].limit_s, Err(Absence::Unlimited));
    assert_eq!(
        (flat.partitions[0].is_default.clone(), flat.partitions[0].cpus.clone()),
        (Ok(true), Ok(632))
    );
    let apart = reading("slurm/telegraf_gather_responses_nodes.json").unwrap();
    assert!(apart.nodes[0].is_in("IDLE") && apart.nodes[0].is_in("DRAIN"));
    assert_eq!(apart.nodes[0].reason.as_deref(), Ok("Kill task failed"));
}

#[test]
fn limits_licences_and_statistics() {
    let Some(qos) = reading("slurmrestd/25.11_v0.0.44_slurm-qos.json") else { return };
    let limit = |kind: &str, resource: &str| {
        qos.quotas
            .iter()
            .find(|one| one.owner == "study" && one.limit_kind == kind && one.resource == resource)
            .map(|one| one.limit.clone().unwrap())
    };
    assert_eq!(limit("GrpTRES", "node"), Some(50.0));
    assert_eq!(limit("MaxTRESPerUser", "mem"), Some(65_536.0));
    assert_eq!(limit("MaxWall", "minutes"), Some(480.0));
    assert!(qos.quotas.iter().all(|one| one.owner == "study"), "infinite limits are no limits");
    let licences = reading("slurm/rivos_license_out.json").unwrap();
    assert_eq!(
        (licences.licenses[0].used.clone(), licences.licenses[0].free.clone()),
        (Ok(213), Ok(205))
    );
    for (file, name, number) in [
        ("slurm/rivos_sdiag.json", "jobs_pending", 13_455.0),
        ("slurm/rivos_sdiag_2405.json", "req_time", 1_739_832_148.0),
        ("slurm/telegraf_gather_responses_diag.json", "jobs_running", 100.0),
    ] {
        let read = reading(file).unwrap();
        let found = read.statistics.iter().find(|one| one.name == name).unwrap();
        assert_eq!(found.value, Ok(number), "{file}");
    }
}

#[test]
fn lines_of_json_that_a_format_made() {
    let Some(jobs) = reading("slurm/rivos_squeue_fallback.txt") else { return };
    assert_eq!(jobs.jobs.len(), 6);
    assert_eq!(jobs.skipped_total, 3, "a comment, and two lines whose number is xx");
    assert_eq!(job(&jobs, "51447051").wait, Ok(Wait::Owner));
    assert_eq!(job(&jobs, "51447053").wait, Ok(Wait::Placement));
    assert_eq!(job(&jobs, "26515966").nodes.as_deref(), Ok("cs10"));
    let nodes = reading("slurm/rivos_sinfo_fallback.txt").unwrap();
    assert_eq!(nodes.nodes[0].memory_free_mib, Err(Absence::NotSet));
    assert_eq!(nodes.nodes[7].cpu_states.as_ref().unwrap().allocated, 52);
}

#[test]
fn sinfo_in_json_since_23_02() {
    let text = r#"{"sinfo":[{"node":{"state":["IDLE","DRAIN"]},"nodes":{"allocated":0,"idle":2,"other":0,
        "total":2,"nodes":["gpu1","gpu2"]},"cpus":{"allocated":1,"idle":62,"other":1,"total":64,"maximum":32},
        "memory":{"maximum":1000,"allocated":10},"gres":{"total":"gpu:h100:4","used":"gpu:h100:1(IDX:0)"},
        "partition":{"name":"gpu"},"reason":{"description":"test","time":{"set":true,"infinite":false,"number":5}}}],
        "meta":{"slurm":{"release":"24.11.0"}},"errors":[]}"#;
    let read = super::of_text(text);
    let row = &read.nodes[0];
    assert_eq!((row.count.clone(), row.name.as_deref()), (Ok(2), Ok("gpu1,gpu2")));
    assert_eq!(row.gpus_used.as_ref().unwrap().total, 1.0);
    assert_eq!(row.reason.as_deref(), Ok("test"));
}
