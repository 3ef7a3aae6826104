//! The logs of real trainers give the step times that a person reads in them. The expected figures
//! were taken from the files with Python and its `re`, `json` and `datetime`, not with this code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::PathBuf;

use cotenant_probe::progress_log::formats::{
    CheckpointPhase, DetectError, Format, LogEvent, LogReader, LogReading, StepEvent,
    StepTimeSource, detect, read_bytes, read_text,
};
use flate2::read::MultiGzDecoder;
use proptest::prelude::*;

/// A file of `../shared/data/6-trainlogs`, unpacked; none where it is missing, which is printed.
#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn log(name: &str) -> Option<Vec<u8>> {
    let shared = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = shared.join("data/6-trainlogs").join(name);
    let Ok(bytes) = std::fs::read(&path) else {
        let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
        assert!(!required, "{} is missing", path.display());
        println!("skipped: {} is missing", path.display());
        return None;
    };
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(bytes);
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
    Some(text)
}

/// Count, first, median and last of the step times, seconds.
type Figures = (usize, f64, f64, f64);

#[track_caller]
fn check(name: &str, format: Format, expected: Figures) -> Option<LogReading> {
    let reading = read_bytes(&log(name)?).unwrap();
    assert_eq!(reading.format, format, "{name}");
    let times: Vec<f64> = reading.step_times_s().collect();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    };
    assert_eq!(times.len(), expected.0, "{name}");
    for (found, wanted) in
        [(times[0], expected.1), (median, expected.2), (times[times.len() - 1], expected.3)]
    {
        // The figures are written with six decimals.
        assert!((found - wanted).abs() < 1e-6, "{name}: {found} is not {wanted}");
    }
    Some(reading)
}

fn steps(reading: &LogReading) -> Vec<&StepEvent> {
    let mut steps = Vec::new();
    for event in &reading.events {
        if let LogEvent::Step(step) = event {
            steps.push(step);
        }
    }
    steps
}

#[test]
fn megatron_in_milliseconds_and_in_seconds() {
    use Format::Megatron as M;
    let folder = "bigscience/";
    for (name, expected) in [
        ("meg_ds_3d_gpt2_perf_n16-ds-on.out.gz", (49, 159.7789, 137.1384, 136.3288)),
        ("meg_ds_zero_gpt2_perf_n16_nbs48_ms48.out.gz", (3, 121.8998, 123.9078, 123.9078)),
        ("meg_gpt2_base_n16_dp1_tp4_pp16-1809577.out.gz", (9, 5.8379, 2.7411, 2.739)),
        ("meg_gpt2_perf_n16.out.gz", (3, 155.4838, 129.0288, 128.8915)),
    ] {
        check(&format!("{folder}{name}"), M, expected);
    }
    if let Some(seconds) =
        check("bigscience/tr11-176B-ml_log_lines.txt", M, (18, 105.22, 106.315, 111.0))
    {
        let first = steps(&seconds)[0];
        assert_eq!((first.line.step, first.line.of, first.rank), (12695, Some(115_311), Some(7)));
        assert_eq!((first.line.loss, first.line.samples), (Some(2.463_556), Some(2048)));
        assert_eq!(first.line.samples_per_s, Some(19.463));
        // Five of its lines stop in the middle; their time is whole.
        assert_eq!(steps(&seconds).iter().filter(|step| step.line.loss.is_none()).count(), 5);
    }
    if let Some(reading) =
        check("bigscience/tr1-13B-base_log_lines.txt", M, (10, 22.3066, 22.24415, 25.5934))
    {
        let phases: Vec<_> = reading
            .events
            .iter()
            .filter_map(|event| match event {
                LogEvent::Checkpoint(checkpoint) => Some((checkpoint.step, checkpoint.phase)),
                _ => None,
            })
            .collect();
        let step = Some(33241);
        assert_eq!(phases, [(step, CheckpointPhase::Begun), (step, CheckpointPhase::Complete)]);
        assert_eq!(steps(&reading)[1].steps, 10, "its lines come every ten steps");
    }
}

#[test]
fn a_job_that_starts_anew_is_seen() {
    let name = "aws/megatron_megatron-lm_slurm_gpt3.txt";
    if let Some(reading) = check(name, Format::Megatron, (6, 0.087, 121.7164, 243.3444)) {
        let seen: Vec<_> =
            steps(&reading).iter().map(|s| (s.line.step, s.position, s.restarted)).collect();
        assert_eq!(seen[2..5], [(27, 2, false), (1, 0, true), (2, 1, false)]);
        assert_eq!(reading.notes.restarts, 1);
    }
}

#[test]
fn golden_values_of_megatron() {
    let golden =
        |name: &str, expected| check(&format!("megatron/{name}"), Format::Megatron, expected);
    golden(
        "bert__bert_mcore_tp1_pp2__golden_values_dev_dgx_h100.json",
        (49, 6.38114, 0.44812, 0.48458),
    );
    golden(
        "gpt__gpt3_mcore_te_tp2_pp2_resume_torch_dist_cp2_nondeterministic__golden_values_dev_dgx_h100.json",
        (99, 8.8499, 0.29352, 0.29233),
    );
    golden(
        "mixtral__mixtral_8x7b_alltoall_tp2pp4ep4_release__golden_values_dev_dgx_h100.json",
        (4538, 92.35132, 8.96102, 8.73795),
    );
    let half = golden(
        "gpt__gpt3_mcore_te_tp1_pp1_resume_torch_dist_uniform_full_recompute__golden_values_dev_dgx_h100_2nd.json",
        (49, 2.05449, 0.07622, 0.07809),
    );
    if let Some(half) = half {
        assert_eq!(half.notes.steps_without_time, 51, "the first half holds `nan`");
        assert_eq!(half.document, Some("golden values"));
    }
}

#[test]
fn nemo_as_text_and_as_dllogger() {
    let name = "aws/megatron_nemo_kubernetes.txt";
    if let Some(reading) = check(name, Format::Nemo, (5, 46.86, 46.86, 46.81)) {
        let counters: Vec<u64> = steps(&reading).iter().map(|step| step.line.step).collect();
        assert_eq!(counters, [19, 29, 45, 46, 48]);
        let staged = reading.events.iter().find_map(|event| match event {
            LogEvent::Checkpoint(checkpoint) => Some(checkpoint.clone()),
            _ => None,
        });
        let staged = staged.unwrap();
        assert_eq!((staged.step, staged.phase), (Some(18), CheckpointPhase::Staged));
        assert_eq!(staged.asynchronous, Some(true));
    }
    check("nemo_dllogger.json", Format::Nemo, (50, 107.354_904, 25.409_213, 32.895_618));
}

#[test]
fn torchtitan_counts_each_step_once_and_times_it_by_its_stamps() {
    use Format::Torchtitan as T;
    let name = "torchtitan_pr1287_excerpt.log";
    if let Some(reading) = check(name, T, (4, 1.3988, 1.39985, 1.4006)) {
        let all = steps(&reading);
        assert_eq!((all.len(), all[0].step_s, all[1].steps), (5, None, 10));
        assert_eq!(all[0].line.tokens_per_s_per_gpu, Some(5868.0));
        assert_eq!((all[0].line.tokens_per_s, all[0].rank), (None, Some(0)));
        assert_eq!(all[1].source, Some(StepTimeSource::LineClock { resolution_s: 0.001 }));
        let staged = reading.events.iter().any(|event| {
            matches!(event, LogEvent::Checkpoint(c) if c.step == Some(400) && c.asynchronous == Some(true))
        });
        assert!(staged);
    }
    let name = "torchtitan_pr2389_dup_ranks_excerpt.log";
    if let Some(reading) = check(name, T, (1, 1.637, 1.637, 1.637)) {
        assert_eq!((reading.notes.steps, reading.notes.duplicates), (2, 2));
        assert_eq!(steps(&reading)[0].line.loss, Some(7.62585));
    }
    if let Some(bytes) = log("aws/pytorch_torchtitan_slurm.txt") {
        let reading = read_bytes(&bytes).unwrap();
        assert_eq!((reading.notes.steps, reading.notes.duplicates), (1, 17));
        assert_eq!(reading.notes.ranks, BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(steps(&reading)[0].line.tokens_per_s_per_gpu, Some(6785.0));
    }
}

#[test]
fn fsdp_has_only_the_seconds_of_its_stamps() {
    let name = "aws/pytorch_FSDP_kubernetes.txt";
    if let Some(reading) = check(name, Format::Fsdp, (7, 4.0, 4.0, 4.0)) {
        let second = steps(&reading)[1];
        assert_eq!(second.source, Some(StepTimeSource::LineClock { resolution_s: 1.0 }));
        assert_eq!(second.line.samples_per_s, Some(8.94));
    }
}

#[test]
fn nano_gpt_and_llm_c() {
    use Format::NanoGpt as N;
    let muon = check("modded-nanogpt/2024-10-10_Muon.log.gz", N, (6198, 1.264, 0.214, 0.212));
    if let Some(muon) = muon {
        // The first has no line before it; at the eleventh the counter starts anew.
        assert_eq!((muon.notes.steps, muon.notes.steps_without_time), (6200, 2));
    }
    let name = "modded-nanogpt/2024-11-10_ScaleShortcuts.log.gz";
    check(name, N, (11_442, 0.105, 0.143, 0.144));
    if let Some(bytes) = log("modded-nanogpt/2024-06-06_AdamW.log.gz") {
        let reading = read_bytes(&bytes).unwrap();
        assert_eq!((reading.format, reading.notes.steps), (Format::LlmC, 9536));
        assert_eq!(reading.step_times_s().count(), 0, "it carries no clock");
        assert_eq!(steps(&reading)[9535].line.loss, Some(3.340_180));
    }
}

#[test]
fn llama_factory_over_days_and_over_two_writers() {
    use Format::LlamaFactory as L;
    let name = |run: &str| format!("llamafactory/{run}_trainer_log.jsonl.gz");
    if let Some(reading) = check(&name("NSLLM"), L, (434, 393.6, 393.6, 394.0)) {
        let LogEvent::Summary(summary) = reading.events.last().unwrap() else {
            panic!("the last row has no loss");
        };
        // 9 days, 22:13:15
        assert_eq!((summary.steps, summary.runtime_s), (Some(2178), Some(857_595.0)));
        assert_eq!(steps(&reading)[1].source, Some(StepTimeSource::Elapsed));
    }
    check(&name("360-LLaMA-Factory-grpo"), L, (201, 45.0, 45.0, 45.0));
    if let Some(reading) = check(&name("SFT-Training-LLM"), L, (678, 15.1, 15.2, 15.8)) {
        let notes = &reading.notes;
        assert_eq!((notes.steps, notes.duplicates, notes.restarts), (680, 678, 1));
        let again = steps(&reading).into_iter().find(|step| step.restarted).unwrap();
        assert_eq!((again.line.step, again.position), (5010, 0));
    }
}

#[test]
fn hugging_face_as_a_bar_and_as_documents() {
    let name = "bigscience/hf_ds_gpt2_base_n16-1832552.out.gz";
    if let Some(reading) = check(name, Format::HfTrainer, (4, 225.28, 218.0, 221.0)) {
        // Sixteen processes print one bar each.
        assert_eq!(reading.notes.steps, 4);
        let sources: Vec<_> = steps(&reading).iter().filter_map(|step| step.source).collect();
        assert_eq!(sources[..2], [StepTimeSource::SmoothedRate, StepTimeSource::Elapsed]);
    }
    if let Some(bytes) = log("hf/NSLLM_trainer_state.json.gz") {
        let reading = read_bytes(&bytes).unwrap();
        assert_eq!((reading.format, reading.notes.steps), (Format::HfTrainer, 435));
        assert_eq!(reading.step_times_s().count(), 0, "its history has no clock");
        let Some(LogEvent::Summary(summary)) = reading.events.last() else { panic!("no summary") };
        assert_eq!(summary.runtime_s, Some(857_595.098_8));
        assert_eq!((summary.steps, summary.samples_per_s), (Some(2178), Some(3.902)));
    }
    if let Some(bytes) = log("hf/trainer_state_viz_trainer_state.json.gz") {
        let reading = read_bytes(&bytes).unwrap();
        let seen = steps(&reading);
        assert_eq!((seen.len(), seen[0].line.step, seen[29].line.step), (30, 401, 12030));
    }
    if let Some(bytes) = log("hf/NSLLM_train_results.json") {
        let reading = read_bytes(&bytes).unwrap();
        assert_eq!(reading.document, Some("train_results.json"));
    }
}

#[test]
fn cycles_gives_frames_samples_and_memory() {
    let Some(bytes) = log("blender_cycles_3.4.1_cpu.log") else { return };
    let reading = read_bytes(&bytes).unwrap();
    assert_eq!(reading.format, Format::Cycles);
    let frames: Vec<_> = reading
        .events
        .iter()
        .filter_map(|event| match event {
            LogEvent::Frame(frame) => Some((frame.frame, frame.time_s, frame.saving_s)),
            _ => None,
        })
        .collect();
    assert_eq!(frames, [(1, 0.33, Some(0.09)), (2, 0.21, Some(0.0)), (3, 0.2, Some(0.0))]);
    let samples: Vec<_> = reading
        .events
        .iter()
        .filter_map(|event| match event {
            LogEvent::Tile(tile) => tile.samples,
            _ => None,
        })
        .collect();
    assert_eq!(samples, [(0, 16), (1, 16), (16, 16)].repeat(3));
    let Some(LogEvent::Frame(first)) =
        reading.events.iter().find(|event| matches!(event, LogEvent::Frame(_)))
    else {
        panic!("no frame");
    };
    // 14.83M and 2.74M, with M as 1024 times 1024 bytes.
    assert_eq!(first.memory_peak_bytes, Some(15_550_382));
    assert_eq!(first.scene_memory_peak_bytes, Some(2_873_098));
    assert_eq!(first.render_s, Some(0.23));
}

/// Lines of each format, three steps each, of which the last takes the time that is named.
const SAMPLES: [(Format, &str, Option<f64>); 14] = [
    (
        Format::Torchtitan,
        "[titan] 2025-06-25 13:06:03,755 - root - INFO - step: 1  loss:  5.2553  tps: 5,868  mfu: 34%\n[titan] 2025-06-25 13:06:05,755 - root - INFO - step: 2  loss:  5.2  tps: 5,868  mfu: 34%\n[titan] 2025-06-25 13:06:07,255 - root - INFO - step: 3  loss:  5.1  tps: 5,868  mfu: 34%\n",
        Some(1.5),
    ),
    (
        Format::Megatron,
        " iteration 1/ 9 | elapsed time per iteration (ms): 159778.9 | lm loss: 1.2E+01 |\n iteration 2/ 9 | elapsed time per iteration (ms): 1500.0 | lm loss: 1.1E+01 |\n iteration 3/ 9 | elapsed time per iteration (s): 1.5 | lm loss: 1.0E+01 |\n",
        Some(1.5),
    ),
    (
        Format::Nemo,
        "Epoch 0: :   1%| | 1/10 [01:00<10:00, v_num=, reduced_train_loss=11.0, global_step=1.0, train_step_timing in s=46.8]\nTraining epoch 0 | global_step: 2 | reduced_train_loss: 11.03 | train_step_timing in s: 46.86 |\nTraining epoch 0 | global_step: 3 | reduced_train_loss: 11.03 | train_step_timing in s: 1.5 |\n",
        Some(1.5),
    ),
    (
        Format::Fsdp,
        "2025-06-20 14:17:10 I [train.py:103] Batch 1 Loss: 7.2, Speed: 9.41 samples/sec, lr: 0.1\n2025-06-20 14:17:14 I [train.py:103] Batch 2 Loss: 7.2, Speed: 9.41 samples/sec, lr: 0.1\n2025-06-20 14:17:17 I [train.py:103] Batch 3 Loss: 7.2, Speed: 9.41 samples/sec, lr: 0.1\n",
        Some(3.0),
    ),
    (
        Format::DeepSpeed,
        "[2023-08-02 00:41:17,935] [INFO] [logging.py:96:log_dist] [Rank 0] step=1, skipped=0, lr=[0.0001], mom=[(0.9, 0.999)]\n[2023-08-02 00:41:17,936] [INFO] [timer.py:215:stop] epoch=0/micro_step=2/global_step=2, RunningAvgSamplesPerSec=220.6, CurrSamplesPerSec=222.8, MemAllocated=0.07GB\n[2023-08-02 00:41:19,436] [INFO] [timer.py:198:stop] 0/3, RunningAvgSamplesPerSec=232.7, CurrSamplesPerSec=227.4, MemAllocated=0.36GB\n",
        Some(1.5),
    ),
    (
        Format::DeepSpeed,
        "steps: 1 loss: 2.3 iter time (s): 9.5 samples/sec: 12.3\nsteps: 2 loss: 2.3 iter time (s): 1.2 samples/sec: 12.3\nsteps: 3 loss: 2.3 iter time (s): 1.5 samples/sec: 12.3\n",
        Some(1.5),
    ),
    (
        Format::HfTrainer,
        " 1%| | 1/100 [00:09<10:00,  9.00s/it]\n{'loss': 2.3, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.1}\n 2%| | 2/100 [00:10<10:00,  4.00s/it]\n 3%| | 3/100 [00:12<10:00,  1.50s/it]\n",
        Some(1.5),
    ),
    (
        Format::Lightning,
        "Epoch 0:   1%|▏ | 1/100 [00:03<00:22,  3.95it/s, v_num=0, train_loss=2.31]\nEpoch 0:   2%|▏ | 2/100 [00:03<00:22,  3.95it/s, v_num=0]\nEpoch 0:   3%|▏ | 3/100 [00:03<00:22,  2.00it/s, v_num=0]\n",
        Some(0.5),
    ),
    (
        Format::LlamaFactory,
        "{\"current_steps\": 1, \"total_steps\": 9, \"loss\": 0.6, \"elapsed_time\": \"23:59:03\"}\n{\"current_steps\": 2, \"total_steps\": 9, \"loss\": 0.6, \"elapsed_time\": \"23:59:48\"}\n{\"current_steps\": 3, \"total_steps\": 9, \"loss\": 0.6, \"elapsed_time\": \"1 day, 0:00:33\"}\n",
        Some(45.0),
    ),
    (
        Format::NanoGpt,
        "iter 1: loss 9.81, time 51250.55ms, mfu -100.00%\niter 2: loss 9.81, time 1250.55ms, mfu -100.00%\niter 3: loss 9.81, time 1,500.00ms, mfu 12.3%\n",
        Some(1.5),
    ),
    (
        Format::LlmC,
        "step    1/1765 | loss 11.03 (+nanz)| norm 22.15 (+nanz)| lr 8.57e-07 | 3091.12 ms | -100.0% bf16 MFU | 169611 tok/s\nstep    2/1765 | loss 10.95 (+nanz)| norm 22.0 (+nanz)| lr 1.71e-06 | 2679.79 ms | -100.0% bf16 MFU | 195645 tok/s\nstep    3/1765 | train loss 10.95 | norm 22.0 | lr 1.71e-06 | (1500.0 ms | 195645 tok/s)\n",
        Some(1.5),
    ),
    (
        Format::MlPerf,
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1000, \"key\": \"global_batch_size\", \"value\": 16, \"metadata\": {}}\n:::MLLOG {\"time_ms\": 2000, \"key\": \"train_loss\", \"value\": 11.8, \"metadata\": {\"samples_count\": 16}}\n:::MLLOG {\"time_ms\": 5000, \"key\": \"train_loss\", \"value\": 11.8, \"metadata\": {\"samples_count\": 32}}\n:::MLLOG {\"time_ms\": 6500, \"key\": \"train_loss\", \"value\": 11.8, \"metadata\": {\"samples_count\": 48}}\n",
        Some(1.5),
    ),
    (
        Format::Embedded,
        "step=1 loss=5.43210 step_s=3.123456 tokens=512 tokens_per_s=4147.2\nstep=2 loss=5.4 step_s=1.4 tokens=512\nstep=3 loss=5.3 step_s=1.5 tokens=512\n",
        Some(1.5),
    ),
    (Format::LlmC, "s:1 trl:10.81\ns:2 trl:10.54\ns:3 trl:10.26\n", None),
];

#[test]
fn each_format_is_told_by_its_lines() {
    for (format, text, last_s) in SAMPLES {
        let reading = read_text(text).unwrap();
        assert_eq!(reading.format, format, "{text}");
        let seen = steps(&reading);
        let counters: Vec<u64> = seen.iter().map(|step| step.line.step).collect();
        assert_eq!(counters, [1, 2, 3], "{text}");
        assert_eq!(seen[2].step_s, last_s, "{text}");
        // The stream chooses the same, and gives the same.
        let mut reader = LogReader::auto();
        let streamed: Vec<_> = text.lines().flat_map(|line| reader.read(line, None)).collect();
        assert_eq!(reader.format(), Some(format), "{text}");
        assert_eq!(streamed, reading.events, "{text}");
    }
}

#[test]
fn arrivals_time_what_has_no_clock_and_say_so() {
    let mut reader = LogReader::new(Format::LlmC);
    let mut times = Vec::new();
    for (at_s, line) in [(10, "s:1 trl:10.81"), (13, "s:2 trl:10.5"), (21, "s:6 trl:10.2")] {
        for event in reader.read(line, Some(at_s * 1_000_000_000)) {
            let LogEvent::Step(step) = event else { panic!("no step") };
            times.push((step.step_s, step.source));
        }
    }
    let arrival = Some(StepTimeSource::Arrival);
    assert_eq!(times, [(None, None), (Some(3.0), arrival), (Some(2.0), arrival)]);
}

#[test]
fn a_log_that_several_formats_claim_names_them() {
    let both = format!("{}{}", SAMPLES[1].1, SAMPLES[0].1);
    let error = detect(&both).unwrap_err();
    let DetectError::Ambiguous(candidates) = &error else { panic!("{error}") };
    let formats: Vec<_> = candidates.iter().map(|candidate| candidate.format).collect();
    assert_eq!(formats, [Format::Torchtitan, Format::Megatron]);
    assert!(error.to_string().contains("megatron (3 lines, the first is line 1)"), "{error}");
    assert_eq!(detect("no\nprogress\n"), Err(DetectError::Unknown { lines: 2 }));
    assert_eq!(detect(""), Err(DetectError::Unknown { lines: 0 }));
}

#[test]
fn lines_of_a_library_yield_to_its_framework() {
    let text = format!("{}{}", SAMPLES[4].1, SAMPLES[1].1);
    assert_eq!(detect(&text), Ok(Format::Megatron));
    let mut reader = LogReader::auto();
    for line in text.lines() {
        reader.read(line, None);
    }
    assert_eq!(reader.format(), Some(Format::Megatron));
}

#[test]
fn what_precedes_the_choice_is_not_lost() {
    let mut reader = LogReader::auto();
    let restored = "[rank0]:[titan] 2025-06-25 13:06:01,000 - root - INFO - Finished loading the checkpoint in 12.50 seconds.";
    assert_eq!(reader.read(restored, None), []);
    let events = reader.read(SAMPLES[0].1.lines().next().unwrap(), None);
    assert_eq!(events[0], LogEvent::Resumed { step: None, duration_s: Some(12.5) });
    assert!(matches!(events[1], LogEvent::Step(_)));
}

#[test]
fn a_last_line_that_is_cut_gives_no_wrong_number() {
    let whole =
        "iter 1: loss 9.8, time 1250.55ms, mfu 1%\niter 2: loss 9.8, time 1250.55ms, mfu 1%\n";
    let cut = &whole[..whole.rfind("50.55").unwrap()];
    let reading = read_text(cut).unwrap();
    assert!(reading.notes.last_line_cut);
    assert_eq!(reading.step_times_s().collect::<Vec<_>>(), [1.250_55]);
    // A last line of JSON that is whole needs no line end.
    let rows = SAMPLES[8].1.trim_end();
    assert_eq!(read_text(rows).unwrap().notes.steps, 3);
    assert_eq!(read_text(&rows[..rows.len() - 4]).unwrap().notes.steps, 2);
}

/// Events without what a decoration may change: the rank.
fn without_rank(events: Vec<LogEvent>) -> Vec<LogEvent> {
    events
        .into_iter()
        .map(|event| match event {
            LogEvent::Step(step) => LogEvent::Step(StepEvent { rank: None, ..step }),
            other => other,
        })
        .collect()
}

fn coloured(line: &str, mask: u64) -> String {
    let mut words = String::new();
    for (index, word) in line.split_inclusive(' ').enumerate() {
        if mask >> (index % 64) & 1 == 1 {
            words.push_str("\u{1b}[3");
            words.push_str(if index % 2 == 0 { "6m" } else { "1;4m" });
        }
        words.push_str(word);
    }
    words + "\u{1b}[0m"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn decoration_changes_nothing(
        sample in 0..SAMPLES.len(), mask: u64, prefix in 0..6usize, copies in 1..4usize,
    ) {
        let (format, text, _) = SAMPLES[sample];
        let prefix = ["", "[default7]:", "[rank0]: ", "3: ", "(head, rank=2, pid=41) ", "[1,7]<stdout>:"][prefix];
        let read = |lines: &mut dyn Iterator<Item = String>| {
            let mut reader = LogReader::new(format);
            without_rank(lines.flat_map(|line| reader.read(&line, None)).collect())
        };
        let plain = read(&mut text.lines().map(str::to_owned));
        let decorated = read(&mut text.lines().flat_map(|line| {
            vec![format!("{prefix}{}", coloured(line, mask)); copies]
        }));
        prop_assert_eq!(plain, decorated);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_bytes(&bytes);
    }

    #[test]
    fn no_damage_panics(
        sample in 0..SAMPLES.len(), from in 0..300usize, length in 0..60usize, put in "\\PC{0,8}",
    ) {
        let text: Vec<char> = SAMPLES[sample].1.chars().collect();
        let from = from.min(text.len());
        let to = (from + length).min(text.len());
        let damaged: String =
            text[..from].iter().copied().chain(put.chars()).chain(text[to..].iter().copied()).collect();
        if let Ok(reading) = read_text(&damaged) {
            for time_s in reading.step_times_s() {
                prop_assert!(time_s.is_finite() && time_s >= 0.0);
            }
        }
    }
}
