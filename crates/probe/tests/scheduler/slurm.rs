//! Texts of Slurm.

use cotenant_probe::scheduler::{
    Absence, Exit, Job, Kind, Memory, MemoryPer, Node, Place, SchedulerTime, Wait, read,
};

use super::{of_text, reading};

fn zoneless(text: &str) -> SchedulerTime {
    SchedulerTime::Zoneless(text.parse().unwrap())
}

fn job<'a>(jobs: &'a [Job], id: &str) -> &'a Job {
    jobs.iter().find(|job| job.id.as_deref() == Ok(id)).unwrap_or_else(|| panic!("no job {id}"))
}

fn node<'a>(nodes: &'a [Node], name: &str) -> &'a Node {
    nodes.iter().find(|node| node.name.as_deref() == Ok(name)).unwrap()
}

#[test]
fn xdmod_accounting_of_26_fields() {
    let Some(read) = reading("slurm/xdmod_phillips_sacct.log.gz") else { return };
    assert_eq!(read.jobs.len(), 4285);
    assert_eq!(read.skipped_total, 0);
    let first = &read.jobs[0];
    assert_eq!(first.place, Place::Line(1));
    assert_eq!(first.id.as_deref(), Ok("163485"));
    assert_eq!(first.partition.as_deref(), Ok("focaccia"));
    assert_eq!(first.qos.as_deref(), Ok("chestnut"));
    assert_eq!(first.account.as_deref(), Ok("chaff"));
    assert_eq!(first.user.as_deref(), Ok("noror"));
    assert_eq!(first.states, Ok(vec!["CANCELLED".to_owned()]));
    assert_eq!(first.cancelled_by.as_deref(), Ok("380693"));
    // 10 days, 13:27:06.
    assert_eq!(first.elapsed_s, Ok(912_426));
    assert_eq!(first.started, Ok(zoneless("2016-12-22T07:15:13")));
    assert_eq!(first.ended, Ok(zoneless("2017-01-01T20:42:19")));
    assert_eq!(first.memory_requested, Ok(Memory { mib: 31_000.0, per: MemoryPer::Node }));
    assert_eq!(first.gpus_allocated.as_ref().unwrap().total, 2.0);
    assert_eq!(first.gpus_requested, Err(Absence::NoGpuNamed));
    // 37 days, 14:00:00.
    assert_eq!(first.limit_s, Ok(3_247_200));
    // A number with the mark of "per processor" printed as if it were part of it.
    let marked = &read.jobs[2];
    assert_eq!(marked.memory_requested, Ok(Memory { mib: 3000.0, per: MemoryPer::Cpu }));
    let unassigned = read.jobs.iter().filter(|job| job.nodes == Err(Absence::NotSet)).count();
    assert_eq!(unassigned, 239);
    assert_eq!(read.jobs.iter().filter(|job| job.is_in("FAILED")).count(), 1717);
    assert_eq!(
        read.jobs.iter().filter(|job| job.exit == Ok(Exit { code: 127, signal: 0 })).count(),
        13
    );
    assert_eq!(read.jobs.iter().filter(|job| job.gpus_allocated.is_ok()).count(), 2);
}

#[test]
fn accounting_with_a_distance_from_utc() {
    let Some(read) = reading("slurm/ceems_sacct_parsable.txt") else { return };
    let first = job(&read.jobs, "1479763");
    assert_eq!(
        first.submitted,
        Ok(SchedulerTime::Instant("2022-02-21T13:37:02Z".parse().unwrap()))
    );
    assert_eq!(first.gpus_allocated.as_ref().unwrap().total, 8.0);
    let second = job(&read.jobs, "1481508");
    assert_eq!(
        second.gpus_allocated.as_ref().unwrap().total,
        0.0,
        "gres/gpu=0 is said, and is zero"
    );
    let running = job(&read.jobs, "2009248");
    assert_eq!(running.ended, Err(Absence::NotEnded));
    assert_eq!(running.end_expected, Err(Absence::Unknown));
}

#[test]
fn accounting_without_heading_whose_two_times_are_submission_and_start() {
    let Some(read) = reading("slurm/zabbix_sacct.txt") else { return };
    let first = job(&read.jobs, "2001");
    assert_eq!(first.submitted, Ok(zoneless("2024-05-05T11:00:00")));
    assert_eq!(first.started, Ok(zoneless("2024-05-05T11:05:00")));
    assert_eq!((first.elapsed_s.clone(), first.cpus.clone()), (Ok(3000), Ok(32)));
    let cancelled = job(&read.jobs, "2004");
    assert_eq!(cancelled.cancelled_by.as_deref(), Ok("1000"));
    assert_eq!(cancelled.started, Err(Absence::NotStarted));
    assert!(job(&read.jobs, "2007").is_in("OUT_OF_MEMORY"));
}

#[test]
fn steps_are_told_from_jobs() {
    let Some(read) = reading("slurm/sckyzo/sacct_efficiency.txt") else { return };
    assert_eq!(read.jobs.iter().filter(|job| job.is_step).count(), 7);
    let step = job(&read.jobs, "1.0");
    assert_eq!((step.memory_max_mib.clone(), step.elapsed_s.clone()), (Ok(3072.0), Ok(3480)));
    assert_eq!(job(&read.jobs, "3").memory_requested.as_ref().unwrap().mib, 1_048_576.0);
    assert_eq!(job(&read.jobs, "4.batch").memory_max_mib, Err(Absence::NotSet));
}

#[test]
fn a_queue_says_why_its_jobs_wait() {
    let Some(read) = reading("slurm/zabbix_squeue.txt") else { return };
    assert_eq!(read.kind, Kind::SlurmQueue);
    let wait = |id| job(&read.jobs, id).wait.clone();
    assert_eq!(wait("1005"), Ok(Wait::Placement));
    assert_eq!(wait("1006"), Ok(Wait::Order));
    assert_eq!(wait("1008"), Ok(Wait::Quota));
    assert_eq!(wait("1009"), Ok(Wait::Owner));
    assert_eq!(wait("1010"), Ok(Wait::Quota));
    assert_eq!(wait("1012"), Ok(Wait::Placement));
    assert_eq!(wait("1001"), Err(Absence::NotSet));
    let array = job(&read.jobs, "1011_[1-20]").array.clone().unwrap();
    assert_eq!((array.job.as_str(), array.tasks.as_str()), ("1011", "1-20"));
    let running = job(&read.jobs, "1003");
    assert_eq!(running.elapsed_s, Ok(100_800));
    assert_eq!(running.nodes.as_deref(), Ok("n006"));
    let waiting = job(&read.jobs, "1005");
    assert_eq!(
        (waiting.elapsed_s.clone(), waiting.nodes.clone()),
        (Err(Absence::NotStarted), Err(Absence::NotStarted))
    );
}

#[test]
fn a_queue_of_short_and_long_states_and_a_name_that_is_no_utf8() {
    let Some(read) = reading("slurm/ood_non_utf8_job_name.txt") else { return };
    let only = &read.jobs[0];
    assert_eq!(only.array.as_ref().unwrap().tasks, "9");
    assert_eq!(only.name.as_deref(), Ok("\u{fffd} non-utf8"));
    assert_eq!(only.account.as_deref(), Ok("pas1960"));
    assert_eq!(only.user.as_deref(), Ok("annie.oakley"));
    assert!(only.is_in("COMPLETED"));
    assert_eq!(only.cpus, Ok(40));
    assert_eq!(only.gpus_allocated, Err(Absence::NoGpuNamed), "gpfs is no GPU");
    // The bytes as a machine would give them.
    let mut bytes = super::bytes("slurm/ood_non_utf8_job_name.txt").unwrap();
    let at = bytes.windows(3).position(|three| three == [0xef, 0xbf, 0xbd]).unwrap();
    bytes.splice(at..at + 3, [0xe9]);
    let read = cotenant_probe::scheduler::read("raw", &bytes).unwrap();
    assert_eq!(read.jobs[0].name.as_deref(), Ok("\u{fffd} non-utf8"));
    assert!(read.caveats.iter().any(|caveat| caveat.contains("1 places are not UTF-8")));
}

#[test]
fn columns_without_heading_that_nothing_tells_stay_unnamed() {
    let Some(read) = reading("slurm/sckyzo/squeue_jobs_accounts_view.txt") else { return };
    assert_eq!(job(&read.jobs, "9722").account.as_deref(), Ok("account_a"), "by the file's name");
    assert_eq!(job(&read.jobs, "9722").gpus_requested.as_ref().unwrap().total, 32.0);
    assert_eq!(job(&read.jobs, "9722").gpus_allocated, Err(Absence::NotStarted));
    assert_eq!(
        job(&read.jobs, "10501").gpus_allocated.as_ref().unwrap().by_model,
        [("a100".to_owned(), 2.0)]
    );
    let text = "9722|someone|PENDING|8|32|cpu=32,mem=128G,node=8,gres/gpu=32\n";
    let read = of_text(text);
    assert_eq!(read.jobs[0].account, Err(Absence::NotInFile));
    assert!(
        read.caveats.iter().any(|caveat| caveat.contains("nothing says whether")),
        "{:?}",
        read.caveats
    );
}

#[test]
fn default_tables_with_headings() {
    let squeue = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n\
                  \x20             1234       gpu my train    alice PD       0:00      2 (Resources)\n\
                  \x20             1230       gpu    serve      bob  R 1-02:03:04      1 gpu[3,5]\n";
    let read = of_text(squeue);
    assert_eq!(read.kind, Kind::SlurmQueue);
    assert_eq!(read.jobs[0].name.as_deref(), Ok("my train"));
    assert_eq!(read.jobs[0].wait, Ok(Wait::Placement));
    assert_eq!(read.jobs[1].elapsed_s, Ok(93_784));
    assert_eq!(read.jobs[1].nodes.as_deref(), Ok("gpu[3,5]"));
    let sacct = "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n\
                 ------------ ---------- ---------- ---------- ---------- ---------- -------- \n\
                 1                  hello        gpu       root          1 OUT_OF_ME+    0:125 \n\
                 1.batch            batch                  root          1  COMPLETED      0:0 \n";
    let read = of_text(sacct);
    assert_eq!(read.kind, Kind::SlurmAccounting);
    assert!(read.jobs[0].is_in("OUT_OF_MEMORY"));
    assert_eq!(read.jobs[0].exit, Ok(Exit { code: 0, signal: 125 }));
    assert_eq!(
        (read.jobs[1].partition.clone(), read.jobs[1].account.as_deref()),
        (Err(Absence::NotSet), Ok("root"))
    );
    let sinfo = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n\
                 gpu*         up 2-00:00:00      3 drain* gpu[1-3]\n\
                 gpu*         up 2-00:00:00      1   idle gpu4\n";
    let read = of_text(sinfo);
    assert_eq!(read.kind, Kind::SlurmNodes);
    assert_eq!(read.nodes[0].states, Ok(vec!["DRAIN".to_owned(), "NOT_RESPONDING".to_owned()]));
    assert_eq!(
        (read.nodes[0].count.clone(), read.nodes[0].partition.as_deref()),
        (Ok(3), Ok("gpu"))
    );
    let why = "REASON               USER      TIMESTAMP           NODELIST\n\
               ECC memory error     root      2026-07-22T23:31:17 gpu3\n";
    let read = of_text(why);
    assert_eq!(read.nodes[0].reason.as_deref(), Ok("ECC memory error"));
    assert_eq!(read.nodes[0].name.as_deref(), Ok("gpu3"));
    let header = "JobID|State|Elapsed|AllocTRES|JobName\n7|COMPLETED|00:01:00|cpu=1,gres/gpu=4|a|b\n7.0|RUN\n";
    let read = of_text(header);
    assert_eq!(read.jobs[0].name.as_deref(), Ok("a|b"), "the name holds the delimiter");
    assert_eq!((read.skipped_total, read.skipped[0].place), (1, Place::Line(3)));
}

#[test]
fn gpus_of_nodes_by_version() {
    let gpus = |path: &str| {
        let read = reading(path)?;
        let sum = |used: bool| {
            read.nodes
                .iter()
                .filter_map(|node| {
                    let gpus = if used { &node.gpus_used } else { &node.gpus };
                    Some(gpus.as_ref().ok()?.total * node.count.clone().unwrap_or(1) as f64)
                })
                .sum::<f64>()
        };
        Some((sum(false), sum(true)))
    };
    let base = "slurm/sckyzo/slurm-";
    for (file, total, used) in [
        ("20.11.8__sinfo_gpus_total", 48.0, 0.0),
        ("20.11.8__sinfo_gpus_allocated", 0.0, 7.0),
        ("20.11.8__sinfo_gpus_idle", 48.0, 7.0),
        ("21.08.5__sinfo_gpus_total", 16.0, 0.0),
        ("21.08.5__sinfo_gpus_idle", 16.0, 0.0),
        ("23.11.10-2__sinfo_gpus_idle", 10.0, 6.0),
        ("23.11.10__sinfo_gpus_allocated", 0.0, 33.0),
        ("25.05__sinfo_gpus_total", 4232.0, 0.0),
        ("25.05__sinfo_gpus_idle", 4232.0, 4226.0),
        ("26.05.2__gpus_snapshot", 40.0, 0.0),
    ] {
        let Some(found) = gpus(&format!("{base}{file}.txt")) else { return };
        assert_eq!(found, (total, used), "{file}");
    }
}

#[test]
fn a_cut_off_list_and_mig_instances_are_no_whole_gpus() {
    let Some(cut) = reading("slurm/sckyzo/slurm-23.11.10-2__sinfo_gpus_total.txt") else { return };
    let shard = &cut.nodes[2].gres.as_ref().unwrap()[1];
    assert_eq!((shard.name.as_str(), shard.count.clone()), ("shard", Err(Absence::CutOff)));
    assert!(cut.nodes[2].gpus.as_ref().unwrap().is_cut_off);
    let mig = reading("slurm/sckyzo/slurm-25.11.1-1__sinfo_gpus_total.txt").unwrap();
    let slices = mig.nodes[8].gpus.as_ref().unwrap();
    assert_eq!((slices.total, slices.mig_instances), (0.0, 21.0));
}

#[test]
fn nodes_with_gpus_in_use() {
    let Some(read) = reading("slurm/sckyzo/slurm-25.05__node_detail_gres.txt") else { return };
    let mixed = node(&read.nodes, "a005");
    assert_eq!(mixed.gpus.as_ref().unwrap().by_model, [("model_a".to_owned(), 4.0)]);
    assert_eq!(mixed.gpus_used.as_ref().unwrap().total, 2.0);
    assert_eq!(mixed.gres_used.as_ref().unwrap()[0].indices.as_deref(), Some("0,3"));
    assert_eq!(mixed.cpu_states.as_ref().unwrap().allocated, 144);
    assert_eq!(
        node(&read.nodes, "a002").states,
        Ok(vec!["DRAINED".to_owned(), "NOT_RESPONDING".to_owned()])
    );
    assert_eq!(node(&read.nodes, "c001").gpus, Err(Absence::NotSet));
    let large = reading("slurm/ood_sinfo_gres.txt.gz").unwrap();
    assert_eq!(large.nodes.len(), 2348);
    assert_eq!(node(&large.nodes, "a0001").gpus.as_ref().unwrap().total, 4.0);
    let untracked = reading("slurm/zabbix_scontrol_show_node_untracked_gres.txt").unwrap();
    assert_eq!(node(&untracked.nodes, "gpu01").gpus_used.as_ref().unwrap().total, 5.0);
    assert_eq!(
        node(&untracked.nodes, "gpu03").gpus.as_ref().unwrap().by_model,
        [("a100".to_owned(), 2.0), ("v100".to_owned(), 2.0)]
    );
}

#[test]
fn nodes_of_scontrol() {
    let Some(read) = reading("slurm/zabbix_scontrol_show_node.txt") else { return };
    assert_eq!(read.version.as_deref(), Some("Slurm 23.02.7"));
    let draining = node(&read.nodes, "n005");
    assert_eq!(draining.states, Ok(vec!["IDLE".to_owned(), "DRAIN".to_owned()]));
    assert_eq!(draining.reason.as_deref(), Ok("hardware maintenance scheduled"));
    assert_eq!(draining.reason_time, Ok(zoneless("2024-05-03T02:15:00")));
    assert_eq!(node(&read.nodes, "n004").memory_free_mib, Err(Absence::NotSet));
    let gpu = node(&read.nodes, "g001");
    assert_eq!(
        (gpu.gpus.as_ref().unwrap().total, gpu.gpus_used.as_ref().unwrap().total),
        (4.0, 3.0)
    );
    let reserved = reading("slurm/sckyzo/scontrol_nodes.txt").unwrap();
    let planned = node(&reserved.nodes, "c1");
    assert_eq!(planned.reservation.as_deref(), Ok("maintenance-2026"));
    assert!(planned.is_in("MAINTENANCE") && planned.is_in("RESERVED"));
}

#[test]
fn partitions_and_reservations() {
    let Some(read) = reading("slurm/zabbix_scontrol_show_partition.txt") else { return };
    let [compute, gpu, debug] = read.partitions.as_slice() else { panic!("three partitions") };
    assert_eq!((compute.is_default.clone(), compute.limit_s.clone()), (Ok(true), Ok(604_800)));
    assert_eq!((gpu.priority_tier.clone(), gpu.nodes.as_deref()), (Ok(10), Ok("g[001-002]")));
    assert_eq!((debug.state.as_deref(), debug.limit_default_s.clone()), (Ok("INACTIVE"), Ok(1800)));
    let owens = reading("slurm/ood_owens_partitions.txt").unwrap();
    assert_eq!(owens.partitions.len(), 15);
    assert_eq!(owens.partitions[14].limit_s, Err(Absence::Unlimited));
    let maintenance = reading("slurm/sckyzo/reservations.txt").unwrap();
    let one = &maintenance.reservations[0];
    assert_eq!(one.duration_s, Ok(306_000));
    assert_eq!((one.node_count.clone(), one.users.as_deref()), (Ok(102), Ok("user01")));
    let relative = reading("slurm/sckyzo/reservations_relative_time.txt").unwrap();
    assert!(matches!(relative.reservations[0].start, Ok(SchedulerTime::TimeOfDay(_))));
    let none = reading("slurm/sckyzo/reservations_empty.txt").unwrap();
    assert_eq!((none.kind, none.records()), (Kind::SlurmReservations, 0));
}

#[test]
fn jobs_of_scontrol_that_wait_for_a_quota_a_budget_and_a_place() {
    let Some(read) = reading("slurm-lab/scontrol_jobs_pending.txt") else { return };
    let running = job(&read.jobs, "1");
    assert_eq!(running.gpus_allocated.as_ref().unwrap().by_model, [("h200".to_owned(), 8.0)]);
    assert_eq!(running.ended, Err(Absence::NotEnded));
    assert_eq!(running.end_expected, Ok(zoneless("2026-11-30T13:05:40")));
    assert_eq!(running.exit, Err(Absence::NotEnded), "ExitCode=0:0 stands there all the same");
    let quota = job(&read.jobs, "4");
    assert_eq!(quota.wait, Ok(Wait::Quota));
    assert_eq!(quota.started, Err(Absence::NotStarted));
    assert_eq!(quota.start_expected, Ok(zoneless("2026-11-30T12:40:44")));
    assert_eq!(quota.gpus_requested.as_ref().unwrap().total, 8.0);
    assert_eq!(job(&read.jobs, "7").wait, Ok(Wait::Budget));
    assert_eq!(job(&read.jobs, "7").start_expected, Err(Absence::Unknown));
}

#[test]
fn shares_limits_and_statistics() {
    let Some(shares) = reading("slurm-lab/sshare.txt") else { return };
    let serving = &shares.shares[6];
    assert_eq!(
        (serving.account.as_deref(), serving.user.clone()),
        (Ok("serving"), Err(Absence::NotSet))
    );
    assert_eq!((serving.shares.clone(), serving.share.clone()), (Ok(60), Ok(0.594_059)));
    let plain = reading("slurm/sckyzo/fairshare.txt").unwrap();
    assert_eq!(plain.shares[2].shares, Err(Absence::NotSet), "the parent's");
    assert_eq!(plain.shares[5].factor, Ok(0.75));
    let qos = reading("slurm-lab/sacctmgr_qos.txt").unwrap();
    let seen: Vec<(&str, &str, Result<f64, Absence>)> = qos
        .quotas
        .iter()
        .map(|one| (one.owner.as_str(), one.limit_kind.as_str(), one.limit.clone()))
        .collect();
    assert_eq!(seen, [("capped", "GrpTRES", Ok(4.0)), ("capped", "MaxTRESPU", Ok(4.0))]);
    let budget = reading("slurm-lab/assoc_mgr.txt").unwrap();
    let minutes = budget
        .quotas
        .iter()
        .find(|one| {
            one.owner == "budget" && one.limit_kind == "GrpTRESMins" && one.resource == "gres/gpu"
        })
        .unwrap();
    assert_eq!((minutes.limit.clone(), minutes.used.clone()), (Ok(2.0), Ok(0.0)));
    let priorities = reading("slurm-lab/sprio.txt").unwrap();
    assert_eq!(job(&priorities.jobs, "6").priority, Ok(2000.0));
    assert_eq!(job(&priorities.jobs, "11").partition.as_deref(), Ok("small"));
}

#[test]
fn numbers_of_sdiag_by_group() {
    let Some(read) = reading("slurm/zabbix_sdiag.txt") else { return };
    let value = |group: &str, name: &str| {
        read.statistics
            .iter()
            .find(|one| one.group.starts_with(group) && one.name == name)
            .map(|one| (one.value.clone().unwrap(), one.unit))
    };
    assert_eq!(value("", "Jobs pending"), Some((380.0, "")));
    assert_eq!(value("Main schedule", "Last cycle"), Some((152_340.0, "µs")));
    assert_eq!(value("Backfilling", "Last cycle"), Some((2_841_233.0, "µs")));
    assert_eq!(value("Backfilling", "Last cycle when"), Some((1_714_910_352.0, "s since 1970")));
    assert_eq!(value("Remote Procedure", "REQUEST_JOB_INFO average time"), Some((1523.0, "µs")));
}

#[test]
fn settings() {
    let Some(read) = reading("slurm/zabbix_scontrol_show_config.txt") else { return };
    let of = |key: &str| read.settings.iter().find(|one| one.key == key).unwrap().value.clone();
    assert_eq!(of("SelectType").as_deref(), Ok("select/cons_tres"));
    assert_eq!(of("AccountingStorageBackupHost"), Err(Absence::NotSet));
    let ping = reading("slurm/zabbix_scontrol_ping.txt").unwrap();
    assert_eq!(ping.settings[1].key, "backup head02");
    assert_eq!(ping.settings[1].value.as_deref(), Ok("DOWN"));
    let conf = of_text(
        "# comment\nClusterName=lab\nSlurmctldHost=head\nGresTypes=gpu\n\
         NodeName=gpu[1-4] CPUs=32 RealMemory=1000 \\\n   Gres=gpu:h200:8 State=UNKNOWN\n\
         PartitionName=gpu Nodes=gpu[1-4] Default=YES MaxTime=1-00:00:00 State=UP PreemptMode=REQUEUE GraceTime=6\n",
    );
    assert_eq!(conf.kind, Kind::SlurmConf);
    assert_eq!(conf.nodes[0].gpus.as_ref().unwrap().total, 8.0);
    assert_eq!(
        (conf.partitions[0].grace_s.clone(), conf.partitions[0].limit_s.clone()),
        (Ok(6), Ok(86_400))
    );
    let gres = of_text("NodeName=gpu[1-4] Name=gpu Type=h200 File=/dev/nvidia[0-7]\n");
    assert_eq!((gres.kind, gres.nodes[0].gpus.as_ref().unwrap().total), (Kind::GresConf, 8.0));
}

#[test]
fn faults_of_the_host() {
    let Some(read) = reading("gpud/dmesg-with-xid-119.log") else { return };
    assert_eq!(read.faults.len(), 5);
    assert_eq!(read.faults[0].code, Ok(119));
    assert_eq!(read.faults[0].device.as_deref(), Ok("0000:9b:00"));
    assert_eq!(read.faults[0].time, Ok(zoneless("2025-02-23T16:24:18")));
    let fabric = reading("gpud/fabricmanager.log").unwrap();
    assert_eq!(fabric.faults[0].code, Ok(12028));
    assert_eq!(fabric.faults[0].time, Ok(zoneless("2025-02-27T15:10:02")));
}

#[test]
fn what_is_no_output_is_refused_by_name() {
    for (text, words) in [
        ("", "an empty file"),
        ("\n \n", "an empty file"),
        ("slurm_load_jobs error: Unable to contact slurm controller\n", "an error message"),
        ("Error from server (NotFound): pods \"x\" not found\n", "an error message of kubectl"),
        ("No resources found in default namespace.\n", "there is nothing"),
        ("NAME   READY   STATUS   RESTARTS   AGE\n", "a heading without rows"),
        (
            "{\"meta\": {\"Slurm\": {}}, \"errors\": [], \"jobs\": [{\"job_id\"",
            "cut off or damaged",
        ),
        ("hello world\n", "a text of no scheduler"),
    ] {
        match read("given", text.as_bytes()) {
            Err(error) if error.to_string().contains(words) => {}
            other => panic!("{text:?}: {:?}", other.map(|read| read.kind)),
        }
    }
}
