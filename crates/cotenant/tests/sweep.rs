//! `simulate --sweep` on a small site: narrow tables, a page, shards that merge into the same bytes, what
//! was kept after it was cut off, and a real job array where Slurm is there.
//!
//! ```text
//! SLURM_CONF=…/slurm.conf cargo test -p cotenant --test sweep
//! ```

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use support::process::{Told, run};
use tempfile::TempDir;

const SITE: &str = "\
name: small
time_zone: UTC
as_of: 2026-12-01 09:00
server: { gpu: H100-SXM5-80GB, gpu_count: 4 }
workloads:
  - name: chat
    inference:
      endpoint: http://127.0.0.1:8000
      demand: { rates: { file: rates.csv, begins: 2026-11-16 00:00 } }
      prompt_tokens: { p50: 200, p95: 900 }
      output_tokens: { p50: 50, p95: 200 }
      objectives: { ttft_p95: 500 ms }
      capacity: { gpus: 1, origin: measured, requests: 1000 req/s }
      burst_reserve: 0
  - name: train
    allocation: { normal: 2 }
    training:
      throughput_alone: [{ gpus: 2, throughput: 1000 tok/s }]
      work: 72 M tok
      objectives: { deadline: { at: 2026-12-11 18:00, start: 2026-12-07 00:00 } }
      preemption: { allowed: true }
sharing: { mode: { candidates: all } }
operations:
  calendar: { window: 60 min, begins: 2026-12-07, weeks: 1 }
  cost: { gpu_hour: 2.50 EUR }
";

/// A site with two weeks of rates: one replica is enough at night, three are needed by day.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut rates = "start_s,rate_rps\n".to_owned();
    for hour in 0..14 * 24 {
        let rate = if (8..20).contains(&(hour % 24)) { 2500 } else { 500 };
        writeln!(rates, "{},{rate}", hour * 3600).unwrap();
    }
    fs::write(folder.path().join("rates.csv"), rates).unwrap();
    fs::write(folder.path().join("site.yaml"), SITE).unwrap();
    folder
}

const ASKED: [&str; 10] = [
    "simulate",
    "site.yaml",
    "--weeks-drawn",
    "2",
    "--steps",
    "20",
    "--sweep",
    "gpus=3..5",
    "--sweep",
    "mode=whole_gpu,temporal",
];

fn asked(folder: &Path, more: &[&str]) -> Told {
    run(folder, &[&ASKED[..], more].concat())
}

#[test]
fn what_ifs_stand_side_by_side() {
    let folder = folder();
    let told = asked(folder.path(), &[]);
    let text = &told.expect(&[0]).stdout;
    for said in [
        "6 points",
        "every deadline holds in every drawn calendar on 3 GPUs at the least",
        "Sharing pays at 1 × the demand",
        "Dedicated at rate 1: chat 3 + train 2",
        "no gate passes",
    ] {
        // Lines break where the paper ends.
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(said), "{said} is not in\n{text}");
    }
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");

    let json = asked(folder.path(), &["--format", "json"]).json();
    let schema = run(folder.path(), &["schema", "--of", "sweep"]).json();
    assert!(jsonschema::is_valid(&schema, &json), "{json:#}");
    // Three GPUs lent at night do what a split needs five for: nothing beats the first of them.
    assert_eq!(json["front"], serde_json::json!([1]), "{json:#}");
    // 168 hours of 3 GPUs at 2.50 EUR.
    assert_eq!(json["points"][1]["cost"].as_f64(), Some(1260.0));
    let page = asked(folder.path(), &["--format", "html"]);
    let page = &page.expect(&[0]).stdout;
    assert!(page.contains("gpus-on_time") && page.contains("class=\"front\""), "{page}");
    assert!(!page.contains("http://") && !page.contains("<script"), "{page}");
}

#[test]
fn shards_merge_into_the_bytes_of_a_run_in_one_piece() {
    let folder = folder();
    let whole = asked(folder.path(), &["--format", "json"]);
    whole.expect(&[0]);
    let shard = |number: u32, out: &str| {
        asked(folder.path(), &["--shard", &format!("{number}/3"), "--out", out]).expect(&[0]);
    };
    shard(1, "parts/");
    shard(3, "parts/");
    let merged = || asked(folder.path(), &["--merge", "parts", "--format", "json"]);
    merged()
        .expect(&[3])
        .complains("missing or damaged: shard 2/3")
        .complains("--shard 2/3 --out parts/part-00002-of-00003.jsonl");
    shard(2, "parts/");
    // One that is there twice changes nothing.
    shard(2, "parts/again.json");
    let told = merged();
    assert!(told.expect(&[0]).stdout == whole.stdout, "{told:#?}");

    fs::remove_file(folder.path().join("parts/again.json")).unwrap();
    let damaged = folder.path().join("parts/part-00002-of-00003.jsonl");
    let text = fs::read_to_string(&damaged).unwrap();
    fs::write(&damaged, text.replacen("\"gpus\":", "\"gpus\":1", 1)).unwrap();
    merged().expect(&[3]).complains("is damaged at line 2").complains("shard 2/3");
    // Another seed is another sweep.
    asked(folder.path(), &["--merge", "parts", "--seed", "2"])
        .expect(&[3])
        .complains("is of another site, demand, seed or sweep");
}

#[test]
fn a_sweep_that_was_cut_off_goes_on() {
    let folder = folder();
    let whole = asked(folder.path(), &["--format", "json", "--keep", "kept"]);
    whole.expect(&[0]);
    let file = folder.path().join("kept/points.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    // In the middle of the third point.
    let cut = text.match_indices('\n').nth(2).unwrap().0 + 100;
    fs::write(&file, &text[..cut]).unwrap();
    let again = asked(folder.path(), &["--format", "json", "--keep", "kept"]);
    again.expect(&[0]).complains("2 of 6 points were kept");
    assert!(again.stdout == whole.stdout);
    asked(folder.path(), &["--keep", "kept", "--seed", "2"])
        .expect(&[2])
        .complains("does not hold points of this sweep");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_computed() {
    let folder = folder();
    let wrong = |more: &[&str]| {
        let told = run(folder.path(), &[&["simulate", "site.yaml"][..], more].concat());
        told.expect(&[2]);
        told
    };
    wrong(&["--sweep", "speed=2"]).complains("there is no axis `speed`; there are rate, gpus");
    wrong(&["--sweep", "gpus=1..200", "--sweep", "shift=1..100"]).complains("--points-max 20000");
    wrong(&["--sweep", "gpus=1", "--shard", "3/2", "--out", "x"]).complains("shards 1 to 2");
    wrong(&["--sweep", "gpus=1", "--shard", "job/2", "--out", "x"]).complains("no shard is named");
    wrong(&["--sweep", "gpus=1", "--on", "slurm"]).complains("--keep FOLDER");
    wrong(&["--sweep", "gpus=1", "--on", "kubernetes"]).complains("--image");
    wrong(&["--format", "html"]).complains("--sweep");
}

#[test]
fn a_job_of_kubernetes_is_written_and_not_applied() {
    let folder = folder();
    let more = [
        "--on",
        "kubernetes",
        "--image",
        "cotenant:1",
        "--volume-claim",
        "sweeps",
        "--out",
        "job.yaml",
    ];
    asked(folder.path(), &more)
        .expect(&[0])
        .complains("nothing was applied")
        .complains("kubectl apply -f job.yaml")
        .complains("--merge parts");
    let yaml = fs::read_to_string(folder.path().join("job.yaml")).unwrap();
    for line in ["  completionMode: Indexed", "  completions: 6", "            - \"job/6\""] {
        assert!(yaml.lines().any(|it| it == line), "{line} is not in\n{yaml}");
    }
}

/// What a command of Slurm's printed.
fn slurm(program: &str, arguments: &[&str]) -> Option<String> {
    let told = Command::new(program).args(arguments).output().ok()?;
    told.status.success().then(|| String::from_utf8_lossy(&told.stdout).into_owned())
}

#[test]
fn a_lost_shard_of_a_job_array_is_submitted_again() {
    if slurm("scontrol", &["ping"]).is_none() {
        eprintln!("skipped: `scontrol ping` finds no Slurm controller");
        return;
    }
    let folder = folder();
    let whole = asked(folder.path(), &["--format", "json"]);
    whole.expect(&[0]);
    let submitted = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            // The second shard is taken away as soon as it is seen, waiting or running.
            let until = Instant::now() + Duration::from_mins(1);
            while Instant::now() < until {
                let queue = ["--noheader", "--array", "--format=%F %K %j"];
                let listed = slurm("squeue", &queue).unwrap_or_default();
                let ours = listed.lines().find_map(|line| {
                    let mut words = line.split_whitespace();
                    let (id, task, name) = (words.next()?, words.next()?, words.next()?);
                    (task == "2" && name.starts_with("cotenant-sweep-")).then(|| format!("{id}_2"))
                });
                if let Some(task) = ours {
                    return slurm("scancel", &[&task]).is_some();
                }
                thread::sleep(Duration::from_millis(20));
            }
            false
        });
        let more = ["--on", "slurm", "--shards", "3", "--keep", "array", "--format", "json"];
        let told = asked(folder.path(), &more);
        assert!(killer.join().unwrap(), "no task could be taken away");
        told
    });
    submitted.expect(&[0]).complains("lost, submitted again (2 of 3): shard 2");
    assert!(submitted.stdout == whole.stdout, "{submitted:#?}");
}
