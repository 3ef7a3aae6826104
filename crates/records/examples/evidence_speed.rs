//! How fast evidence is written and read: a million requests in forty blocks.
//!
//! ```text
//! cargo run --release -p cotenant-records --example evidence_speed [requests] [blocks] [chunks] [folder]
//! ```
//!
//! `chunks` is the number of chunk gaps of each request, 0 by default. With a `folder` the evidence is
//! kept there, as `folder/evidence`, with a `folder/site.yaml` that it is about: the verdict's own
//! speed can then be measured. The figures are wall time,
//! user and system CPU time of this process, and its peak resident memory, from /proc.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cotenant_core::evidence::{
    Aspect, Block, ChunkGaps, Condition, Fingerprint, Observed, Origin, Outcome, Phase, Pilot,
    PlannedBlock, RequestRecord, Situation, TestedLoad, TokenSource,
};
use cotenant_records::evidence::{ReadWhat, RunPlan, RunStatus, Store};
use jiff::Timestamp;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<u32> =
        std::env::args().skip(1).take(3).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let kept = std::env::args().nth(4).map(PathBuf::from);
    let number = |place: usize, default| numbers.get(place).copied().unwrap_or(default);
    let (requests, blocks, chunks) = (number(0, 1_000_000), number(1, 40).max(1), number(2, 0));
    let temporary = tempfile::tempdir()?;
    let root = kept.as_ref().map_or_else(|| temporary.path().to_owned(), |f| f.join("evidence"));
    if let Some(folder) = &kept {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("site.yaml"), SITE)?;
    }
    let store = Store::open(&root)?;
    let plan = plan(blocks);

    let before = Usage::now()?;
    let mut writer = store.create_run(&plan)?;
    for planned in &plan.schedule {
        writer.write_block(&block(*planned, requests / blocks, chunks))?;
    }
    let folder = writer.folder().to_owned();
    writer.finish(RunStatus::Complete, Timestamp::UNIX_EPOCH)?;
    before.print("make and write")?;
    println!("on disk         {:.1} MB", size_bytes(&folder)? as f64 / 1e6);

    for gaps in [false, true] {
        let before = Usage::now()?;
        let evidence = store.read_all(ReadWhat { gaps })?;
        let found: usize = evidence.runs[0].run.blocks.iter().map(|b| b.requests.len()).sum();
        before.print(if gaps { "read with gaps" } else { "read and verify" })?;
        assert_eq!(found as u32, requests / blocks * blocks, "every request came back");
    }
    Ok(())
}

/// The site that the evidence is about.
const SITE: &str = "\
name: a-million-requests
time_zone: UTC
server: { gpu: none, gpu_count: 0 }
workloads:
  - name: chat
    inference:
      endpoint: http://127.0.0.1:8000
      demand: { poisson: { rate: 400 req/s } }
      prompt_tokens: { p50: 100, p95: 900 }
      output_tokens: { p50: 64, p95: 256 }
      objectives: { ttft_p95: 500 ms, e2e_p95: 5 s, error_rate: 5 % }
  - name: fine-tune
    training:
      objectives: { step_time_max: 2 s }
sharing: { mode: host_cpu }
";

/// What this process has used so far.
struct Usage {
    at: Instant,
    user_s: f64,
    system_s: f64,
}

impl Usage {
    fn now() -> Result<Self, Box<dyn Error>> {
        // proc(5): after the command's closing bracket, utime and stime are the 12th and 13th
        // fields, in clock ticks of 1/100 s.
        let stat = fs::read_to_string("/proc/self/stat")?;
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let ticks: Vec<f64> =
            fields.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
        let [user, system] = ticks[..] else { return Err("unexpected /proc/self/stat".into()) };
        Ok(Self { at: Instant::now(), user_s: user / 100.0, system_s: system / 100.0 })
    }

    fn print(&self, what: &str) -> Result<(), Box<dyn Error>> {
        let wall_s = self.at.elapsed().as_secs_f64();
        let now = Self::now()?;
        let (user_s, system_s) = (now.user_s - self.user_s, now.system_s - self.system_s);
        let status = fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?");
        println!(
            "{what:<15} {wall_s:.2} s wall, {user_s:.2} s user, {system_s:.2} s system, peak {}",
            peak.trim()
        );
        Ok(())
    }
}

fn size_bytes(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}

fn plan(blocks: u32) -> RunPlan {
    let planned = |index| PlannedBlock {
        index,
        condition: if index % 2 == 0 { Condition::A } else { Condition::C },
        pair: index / 2,
        remedy: None,
        phase: Phase::Steady,
        situation: Situation::Ordinary,
    };
    RunPlan {
        started: Timestamp::UNIX_EPOCH,
        origin: Origin::Measured,
        inference: "chat".to_owned(),
        neighbour: "fine-tune".to_owned(),
        seed: 1,
        fingerprint: Fingerprint(BTreeMap::from([(
            Aspect::Sharing,
            "host_cpu: HostCpu(HostCpu { neighbour_priority: Normal, affinity: {} })".to_owned(),
        )])),
        load: TestedLoad {
            description:
                "Poisson, 400 requests/s, prompts log-normal p50 100 p95 900 tokens, answers \
                          log-normal p50 64 p95 256 tokens"
                    .to_owned(),
            digest: String::new(),
            rate_per_s: 400.0,
            prompt_tokens_p50: 100,
            prompt_tokens_p95: 900,
            output_tokens_p50: 64,
            output_tokens_p95: 256,
        },
        pilot: Pilot {
            requests: 0,
            ttft_p95_s: None,
            itl_p95_s: None,
            steps: 0,
            step_s: None,
            warm_up_s: 5.0,
        },
        remedies: Vec::new(),
        engine_supervised: false,
        site_digest: String::new(),
        warm_up_s: 5.0,
        block_s: 60.0,
        tail_s: 0.0,
        options: BTreeMap::new(),
        schedule: (0..blocks).map(planned).collect(),
    }
}

/// Numbers that look like real ones: nanoseconds with all their digits random.
struct Random(u64);

impl Random {
    /// Evenly from 0 to `below` − 1: SplitMix64 (Steele, Lea and Flood, 2014).
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

fn block(plan: PlannedBlock, requests: u32, chunks: u32) -> Block {
    let mut random = Random(u64::from(plan.index));
    let mut intended_ns = 0;
    let mut requests_made = Vec::with_capacity(requests as usize);
    let mut gaps = Vec::new();
    for index in 0..requests {
        intended_ns += random.below(5_000_000);
        requests_made.push(request(index, intended_ns, &mut random));
        if chunks > 0 {
            let gaps_us = (0..chunks).map(|_| 18_000 + random.below(4_000) as u32).collect();
            gaps.push(ChunkGaps { request: index, single_token: true, gaps_us });
        }
    }
    Block {
        plan,
        started: Timestamp::UNIX_EPOCH,
        judged_from_ns: 0,
        judged_until_ns: intended_ns,
        ended_ns: intended_ns,
        requests: requests_made,
        gaps,
        steps: Vec::new(),
        checkpoints: Vec::new(),
        drill: None,
        host: Vec::new(),
        engine_waiting: Vec::new(),
        client: None,
        faults: Vec::new(),
        remarks: Vec::new(),
        load_factor: 1.0,
        observed: Observed::default(),
    }
}

fn request(index: u32, intended_ns: u64, random: &mut Random) -> RequestRecord {
    let complete = random.below(50) > 0;
    let first_ns = intended_ns + 50_000_000 + random.below(400_000_000);
    let last_ns = first_ns + 500_000_000 + random.below(4_000_000_000);
    RequestRecord {
        index,
        class: 0,
        intended_ns,
        sent_ns: Some(intended_ns + random.below(90_000)),
        first_token_ns: complete.then_some(first_ns),
        first_visible_ns: None,
        last_token_ns: complete.then_some(last_ns),
        end_ns: last_ns + random.below(900_000),
        prompt_tokens: random.below(1_000) as u32,
        output_tokens: random.below(256) as u32,
        token_source: TokenSource::Usage,
        gap_longest_ns: complete.then(|| 20_000_000 + random.below(90_000_000)),
        stalls: 0,
        stalled_ns: 0,
        outcome: if complete { Outcome::Completed } else { Outcome::Refused(429) },
    }
}
