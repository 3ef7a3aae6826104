//! Logs of trainers and renderers: steps, checkpoints, resumes and frames.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use cotenant_core::reading::{Figure, FileKind, FileReading, FileRefusal, Table};

use super::look::{Claim, Look, Outcome};
use super::quantiles::Values;
use crate::progress_log::formats::{
    CheckpointEvent, CheckpointPhase, DetectError, Format, FrameEvent, LogEvent, LogNotes,
    LogReader, LogReading, StepEvent, SummaryEvent, detect, read_text,
};

const SEEMS: &str = "a log of a trainer or renderer";

/// Longest line of a stream, bytes; a longer one is cut. No trainer prints one that says something of
/// a step.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Documents of trainers: `trainer_state.json` and their like.
pub(super) fn document(look: &Look<'_>) -> Option<Claim> {
    let value = look.json.as_ref()?;
    if value.get("log_history").is_some_and(serde_json::Value::is_array) {
        return Some(Claim::sure(
            "has the list `log_history`, as the Hugging Face Trainer writes it",
            read,
        ));
    }
    if value.get("train_runtime").is_some() {
        return Some(Claim::sure(
            "has `train_runtime`, as the Hugging Face Trainer writes it",
            read,
        ));
    }
    let is_golden = value.pointer("/iteration-time/values").is_some();
    is_golden.then(|| {
        Claim::sure("has `iteration-time`, as golden values of Megatron's tests have", read)
    })
}

/// Lines of progress.
pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    if look.json.is_some() {
        return None;
    }
    match detect(&look.text) {
        Ok(format) => {
            let clue = format!("has lines of progress as {} prints them", words(format));
            Some(Claim::likely(clue, &[".log", ".out", ".jsonl"], read))
        }
        Err(DetectError::Ambiguous(_)) => {
            Some(Claim::likely("has lines of progress of several formats", &[".log", ".out"], read))
        }
        Err(DetectError::Unknown { .. }) => None,
    }
}

fn words(format: Format) -> &'static str {
    match format {
        Format::Torchtitan => "torchtitan",
        Format::Megatron => "Megatron-LM",
        Format::Nemo => "NeMo",
        Format::Fsdp => "PyTorch FSDP example",
        Format::DeepSpeed => "DeepSpeed",
        Format::HfTrainer => "Hugging Face Trainer",
        Format::Lightning => "Lightning",
        Format::LlamaFactory => "LLaMA-Factory",
        Format::NanoGpt => "nanoGPT",
        Format::LlmC => "llm.c",
        Format::MlPerf => "MLPerf",
        Format::Cycles => "Blender's Cycles",
        Format::Embedded => "cotenant engine train",
    }
}

fn read(look: &Look<'_>, rest: &mut dyn BufRead) -> Outcome {
    if look.is_whole {
        let LogReading { format, document, events, notes } =
            read_text(&look.text).map_err(|error| unclear(look, &error))?;
        let mut told = Told::default();
        for event in &events {
            told.add(event);
        }
        return Ok(told.reading(look, format, document, &notes).into());
    }
    let format = detect(&look.text).map_err(|error| unclear(look, &error))?;
    let mut reader = LogReader::new(format);
    let mut told = Told::default();
    let mut input = BufReader::new(look.stream(rest));
    let mut line = Vec::new();
    loop {
        line.clear();
        let taken = std::io::Read::take(&mut input, LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if taken.map_err(|error| look.failed(SEEMS, &error))? == 0 {
            break;
        }
        // A last line without its end may stop inside of a number; it is left out.
        let Some(whole) = line.strip_suffix(b"\n") else {
            if line.len() as u64 == LINE_BYTES_MAX {
                told.cut_lines += 1;
                continue;
            }
            told.cut_lines += 1;
            break;
        };
        for event in reader.read(&String::from_utf8_lossy(whole), None) {
            told.add(&event);
        }
    }
    Ok(told.reading(look, format, None, reader.notes()).into())
}

fn unclear(look: &Look<'_>, error: &DetectError) -> FileRefusal {
    look.refuse(SEEMS, error.to_string(), "or give the part of the log that one trainer wrote")
}

/// What the events of a log add up to.
#[derive(Default)]
struct Told {
    steps: u64,
    first: Option<u64>,
    last: Option<u64>,
    of: Option<u64>,
    firsts: Vec<f64>,
    times: Values,
    sources: BTreeMap<&'static str, u64>,
    steps_between_max: u64,
    losses: Option<(f64, f64)>,
    tokens_per_s: Values,
    tokens_per_s_per_gpu: Values,
    samples_per_s: Values,
    checkpoints: BTreeMap<&'static str, u64>,
    checkpoint_times: Values,
    checkpoint_table: Option<Table>,
    resumes: Vec<Option<u64>>,
    stops: u64,
    frames: Vec<FrameEvent>,
    frame_times: Values,
    tiles: u64,
    summary: Option<SummaryEvent>,
    cut_lines: u64,
}

impl Told {
    fn add(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Step(step) => self.step(step),
            LogEvent::Checkpoint(checkpoint) => self.checkpoint(checkpoint),
            LogEvent::Resumed { step, .. } => {
                if self.resumes.len() < 1000 {
                    self.resumes.push(*step);
                }
            }
            LogEvent::Stopping => self.stops += 1,
            LogEvent::Frame(frame) => {
                self.frame_times.add(frame.time_s);
                if self.frames.len() < 100_000 {
                    self.frames.push(frame.clone());
                }
            }
            LogEvent::Tile(_) => self.tiles += 1,
            LogEvent::Summary(summary) => self.summary = Some(summary.clone()),
        }
    }

    fn step(&mut self, step: &StepEvent) {
        self.steps += 1;
        self.first = self.first.or(Some(step.line.step));
        self.last = Some(step.line.step);
        self.of = step.line.of.or(self.of);
        self.steps_between_max = self.steps_between_max.max(step.steps);
        if let Some(step_s) = step.step_s {
            // The first line after a start compiles, allocates and fills caches.
            if step.position == 0 {
                self.firsts.push(step_s);
                self.firsts.truncate(1000);
            } else {
                self.times.add(step_s);
            }
            if let Some(source) = step.source {
                *self.sources.entry(source.words()).or_default() += 1;
            }
        }
        if let Some(loss) = step.line.loss {
            self.losses = Some((self.losses.map_or(loss, |(first, _)| first), loss));
        }
        for (values, value) in [
            (&mut self.tokens_per_s, step.line.tokens_per_s),
            (&mut self.tokens_per_s_per_gpu, step.line.tokens_per_s_per_gpu),
            (&mut self.samples_per_s, step.line.samples_per_s),
        ] {
            if let Some(value) = value
                && step.position > 0
            {
                values.add(value);
            }
        }
    }

    fn checkpoint(&mut self, checkpoint: &CheckpointEvent) {
        let word = match checkpoint.phase {
            CheckpointPhase::Begun => "checkpoints begun",
            CheckpointPhase::Staged => "checkpoints staged in the background",
            CheckpointPhase::Complete => "checkpoints complete",
        };
        *self.checkpoints.entry(word).or_default() += 1;
        if let Some(duration_s) = checkpoint.duration_s {
            self.checkpoint_times.add(duration_s);
        }
        let table = self.checkpoint_table.get_or_insert_with(|| {
            Table::new("Checkpoints", &["step", "phase", "duration", "size"])
        });
        let not_said = "the line does not say";
        table.row(vec![
            checkpoint.step.map_or_else(|| Figure::absent(not_said), Figure::count),
            Figure::text(match checkpoint.phase {
                CheckpointPhase::Begun => "begun",
                CheckpointPhase::Staged => "staged",
                CheckpointPhase::Complete => "complete",
            }),
            Figure::number_or(checkpoint.duration_s, "s", not_said),
            Figure::number_or(checkpoint.bytes.map(|bytes| bytes as f64), "bytes", not_said),
        ]);
    }

    fn reading(
        self,
        look: &Look<'_>,
        format: Format,
        document: Option<&'static str>,
        notes: &LogNotes,
    ) -> FileReading {
        let kind = if self.frames.is_empty() && self.tiles == 0 {
            FileKind::TrainerLog
        } else {
            FileKind::RendererLog
        };
        let mut reading = FileReading::new(look.name, kind, document.unwrap_or("lines"));
        reading.producer = Some(words(format).to_owned());
        reading.count("lines", notes.lines);
        if kind == FileKind::TrainerLog {
            self.trainer(&mut reading, notes);
        } else {
            self.renderer(&mut reading);
        }
        if notes.last_line_cut {
            reading.skip("the last line has no end, so its last word was left out");
        }
        reading
    }

    fn trainer(self, reading: &mut FileReading, notes: &LogNotes) {
        reading.count("lines of steps", self.steps);
        let none = "no line tells a step";
        let step = |step: Option<u64>| step.map_or_else(|| Figure::absent(none), Figure::count);
        reading.fact("first step", step(self.first));
        reading.fact("last step", step(self.last));
        if let Some(of) = self.of {
            reading.count("steps in all", of);
        }
        if self.steps_between_max > 1 {
            reading.count("steps between two lines, at most", self.steps_between_max);
        }
        if self.times.len() == 0 {
            reading.fact("step time", Figure::absent("the lines have no time and no clock"));
        }
        self.times.tell(reading, "step time", "s");
        if let Some(first_s) = self.firsts.first() {
            reading.fact("time of the first step", Figure::number(*first_s, "s"));
            reading.note(format!(
                "the first step after each start ({} of them) is not in the times of steps: it compiles, \
                 allocates and fills caches",
                self.firsts.len()
            ));
        }
        for (source, count) in &self.sources {
            reading.note(format!("times of {count} lines: {source}"));
        }
        if let Some((first, last)) = self.losses {
            reading.fact("loss, first", Figure::number(first, ""));
            reading.fact("loss, last", Figure::number(last, ""));
        }
        self.tokens_per_s.tell(reading, "tokens per second", "tokens/s");
        self.tokens_per_s_per_gpu.tell(reading, "tokens per second of one GPU", "tokens/s");
        self.samples_per_s.tell(reading, "samples per second", "samples/s");
        for (name, count) in &self.checkpoints {
            reading.count(*name, *count);
        }
        self.checkpoint_times.tell(reading, "time of a checkpoint", "s");
        reading.count("resumes", self.resumes.len());
        reading.count("restarts of the counter", notes.restarts);
        if self.stops > 0 {
            reading.count("times that it began to stop", self.stops);
        }
        if let Some(summary) = &self.summary {
            let none = "the summary does not say";
            let steps = summary.steps.map(|steps| steps as f64);
            reading.fact("steps of the run", Figure::number_or(steps, "", none));
            reading.fact("time of the run", Figure::number_or(summary.runtime_s, "s", none));
            reading.fact(
                "samples per second of the run",
                Figure::number_or(summary.samples_per_s, "samples/s", none),
            );
            if let Some(loss) = summary.loss {
                reading.fact("loss, mean of the run", Figure::number(loss, ""));
            }
        }
        if let Some(table) = self.checkpoint_table {
            reading.table(table);
        }
        if notes.duplicates > 0 {
            reading.skip(format!(
                "lines of steps that another rank had printed: {}",
                notes.duplicates
            ));
        }
        if notes.steps_without_time > 0 {
            reading.note(format!("lines of steps without a time: {}", notes.steps_without_time));
        }
        if !notes.ranks.is_empty() {
            reading.count("ranks that print steps", notes.ranks.len());
        }
        if self.cut_lines > 0 {
            reading.skip(format!("lines without an end within 1 MiB: {}", self.cut_lines));
        }
    }

    fn renderer(self, reading: &mut FileReading) {
        reading.count("frames", self.frames.len());
        reading.count("lines inside of frames", self.tiles);
        self.frame_times.tell(reading, "time of a frame", "s");
        let mut table = Table::new(
            "Frames",
            &[
                "frame",
                "time",
                "of this saving",
                "of this rendering",
                "memory peak",
                "scene memory peak",
            ],
        );
        let not_said = "the log does not say";
        for frame in &self.frames {
            let bytes = |value: Option<u64>| {
                Figure::number_or(value.map(|bytes| bytes as f64), "bytes", not_said)
            };
            table.row(vec![
                Figure::count(frame.frame),
                Figure::number(frame.time_s, "s"),
                Figure::number_or(frame.saving_s, "s", not_said),
                Figure::number_or(frame.render_s, "s", not_said),
                bytes(frame.memory_peak_bytes),
                bytes(frame.scene_memory_peak_bytes),
            ]);
        }
        reading.table(table);
    }
}
