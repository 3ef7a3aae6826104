//! Points of a sweep on disk: a line of JSON for each, with a digest of its own, so that a file that was
//! cut off or damaged gives back every point that is whole.
//!
//! A file that a finished shard wrote ends with a line that says so. One that points are appended to
//! while they are computed has no such line.

use std::fmt::Write as _;

use cotenant_core::sim::sweep::{PointFigures, PointJob, PointLatency, PointOutcome, PointService};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The `format` field of the first line.
pub const SWEEP_PART_FORMAT: &str = "cotenant-sweep-part";
/// The version of the form that this program writes.
pub const SWEEP_PART_VERSION: u32 = 1;

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartHead {
    /// Always [`SWEEP_PART_FORMAT`].
    pub format: String,
    /// Version of the form.
    pub version: u32,
    /// A digest of everything that the points are computed from: points of two files belong together where
    /// it is the same.
    pub key: String,
    /// Points of the whole sweep.
    pub points: u64,
    /// The shard, from 1.
    pub shard: u32,
    /// How many shards there are.
    pub of: u32,
}

impl PartHead {
    /// The head of a shard; a sweep in one piece is shard 1 of 1.
    pub fn new(key: &str, points: u64, shard: u32, of: u32) -> Self {
        let format = SWEEP_PART_FORMAT.to_owned();
        Self { format, version: SWEEP_PART_VERSION, key: key.to_owned(), points, shard, of }
    }
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its first line.
    pub head: PartHead,
    /// The points that are whole.
    pub points: Vec<PointOutcome>,
    /// Lines that are not, each by its number from 1.
    pub damaged: Vec<usize>,
    /// Whether its last line says that it is finished, and with as many points as it holds.
    pub is_finished: bool,
}

/// Why a text is no such file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// Its first line is none of ours.
    #[error("its first line is not that of a part of a sweep")]
    Head,
    /// A newer program wrote it.
    #[error("version {0} is newer than version {SWEEP_PART_VERSION}, which this program can read")]
    Newer(u32),
}

#[derive(Serialize, Deserialize)]
struct PointLine {
    sha256: String,
    point: Point,
}

#[derive(Serialize, Deserialize)]
struct EndLine {
    finished_points: u64,
}

#[derive(Serialize, Deserialize)]
struct Point {
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    missing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    figures: Option<Figures>,
}

#[derive(Serialize, Deserialize)]
struct Figures {
    gpus: u32,
    mode: String,
    weeks: u32,
    hours: f64,
    jobs: Vec<Job>,
    services: Vec<Service>,
    gpu_hours_serving: f64,
    gpu_hours_kept: f64,
    gpu_hours_lost: f64,
    gpu_hours_free: f64,
    reclaims: f64,
    reclaim_s_max: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Job {
    name: String,
    on_time_share: Option<f64>,
    done_share: f64,
    stops: f64,
}

#[derive(Serialize, Deserialize)]
struct Service {
    name: String,
    short_share: f64,
    short_share_max: f64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    latencies_missing: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    latencies: Vec<Latency>,
}

#[derive(Serialize, Deserialize)]
struct Latency {
    name: String,
    time_s: f64,
    target_s: Option<f64>,
}

/// The first line, with its end.
pub fn head_line(head: &PartHead) -> String {
    line(head)
}

/// The line of a point, with its end.
pub fn point_line(outcome: &PointOutcome) -> String {
    let point = Point::of(outcome);
    line(&PointLine { sha256: digest(&json(&point)), point })
}

/// The last line of a finished file, with its end.
pub fn end_line(points: u64) -> String {
    line(&EndLine { finished_points: points })
}

fn json(value: &impl Serialize) -> String {
    // Structs of text, numbers and lists: nothing in them can fail to be printed.
    serde_json::to_string(value).unwrap_or_default()
}

fn line(value: &impl Serialize) -> String {
    let mut text = json(value);
    text.push('\n');
    text
}

fn digest(text: &str) -> String {
    let mut shown = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(shown, "{byte:02x}");
    }
    shown
}

/// Reads a file. Lines that are cut off, changed or not ours are named and passed over.
///
/// # Errors
/// It is no such file, or a newer program wrote it.
pub fn read_part(text: &str) -> Result<Part, PartError> {
    let mut lines = text.lines().enumerate();
    let head = lines.next().and_then(|(_, line)| serde_json::from_str::<PartHead>(line).ok());
    let head = head.filter(|head| head.format == SWEEP_PART_FORMAT).ok_or(PartError::Head)?;
    if head.version > SWEEP_PART_VERSION {
        return Err(PartError::Newer(head.version));
    }
    let mut part = Part { head, points: Vec::new(), damaged: Vec::new(), is_finished: false };
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        if let Some(outcome) = point_of(line) {
            part.points.push(outcome);
            part.is_finished = false;
        } else if let Ok(end) = serde_json::from_str::<EndLine>(line) {
            part.is_finished = end.finished_points == part.points.len() as u64;
        } else {
            part.damaged.push(number + 1);
        }
    }
    part.is_finished &= part.damaged.is_empty();
    Ok(part)
}

fn point_of(line: &str) -> Option<PointOutcome> {
    let line: PointLine = serde_json::from_str(line).ok()?;
    if digest(&json(&line.point)) != line.sha256 {
        return None;
    }
    line.point.outcome()
}

impl Point {
    fn of(outcome: &PointOutcome) -> Self {
        Self {
            index: outcome.index,
            missing: outcome.figures.as_ref().err().cloned(),
            figures: outcome.figures.as_ref().ok().map(Figures::of),
        }
    }

    fn outcome(self) -> Option<PointOutcome> {
        let figures = match (self.figures, self.missing) {
            (Some(figures), None) => Ok(figures.core()),
            (None, Some(why)) => Err(why),
            _ => return None,
        };
        Some(PointOutcome { index: self.index, figures })
    }
}

impl Figures {
    fn of(figures: &PointFigures) -> Self {
        let job = |job: &PointJob| Job {
            name: job.name.clone(),
            on_time_share: job.on_time_share,
            done_share: job.done_share,
            stops: job.stops,
        };
        let latency = |it: &PointLatency| Latency {
            name: it.name.clone(),
            time_s: it.time_s,
            target_s: it.target_s,
        };
        let service = |service: &PointService| Service {
            name: service.name.clone(),
            short_share: service.short_share,
            short_share_max: service.short_share_max,
            latencies_missing: service.latencies.as_ref().err().cloned(),
            latencies: service.latencies.iter().flatten().map(latency).collect(),
        };
        Self {
            gpus: figures.gpus,
            mode: figures.mode.clone(),
            weeks: figures.weeks,
            hours: figures.hours,
            jobs: figures.jobs.iter().map(job).collect(),
            services: figures.services.iter().map(service).collect(),
            gpu_hours_serving: figures.gpu_hours_serving,
            gpu_hours_kept: figures.gpu_hours_kept,
            gpu_hours_lost: figures.gpu_hours_lost,
            gpu_hours_free: figures.gpu_hours_free,
            reclaims: figures.reclaims,
            reclaim_s_max: figures.reclaim_s_max,
        }
    }

    fn core(self) -> PointFigures {
        let job = |job: Job| PointJob {
            name: job.name,
            on_time_share: job.on_time_share,
            done_share: job.done_share,
            stops: job.stops,
        };
        let latency =
            |it: Latency| PointLatency { name: it.name, time_s: it.time_s, target_s: it.target_s };
        let service = |service: Service| PointService {
            name: service.name,
            short_share: service.short_share,
            short_share_max: service.short_share_max,
            latencies: match service.latencies_missing {
                Some(why) => Err(why),
                None => Ok(service.latencies.into_iter().map(latency).collect()),
            },
        };
        PointFigures {
            gpus: self.gpus,
            mode: self.mode,
            weeks: self.weeks,
            hours: self.hours,
            jobs: self.jobs.into_iter().map(job).collect(),
            services: self.services.into_iter().map(service).collect(),
            gpu_hours_serving: self.gpu_hours_serving,
            gpu_hours_kept: self.gpu_hours_kept,
            gpu_hours_lost: self.gpu_hours_lost,
            gpu_hours_free: self.gpu_hours_free,
            reclaims: self.reclaims,
            reclaim_s_max: self.reclaim_s_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(index: u64) -> PointOutcome {
        let figures = PointFigures {
            gpus: 8,
            mode: "temporal".to_owned(),
            gpu_hours_kept: 0.1 + 0.2,
            jobs: vec![PointJob {
                name: "train".to_owned(),
                on_time_share: Some(1.0 / 3.0),
                ..PointJob::default()
            }],
            ..PointFigures::default()
        };
        PointOutcome {
            index,
            figures: if index == 1 { Err("no calendar".to_owned()) } else { Ok(figures) },
        }
    }

    fn file(points: u64) -> String {
        let head = head_line(&PartHead::new("k", 3, 1, 1));
        let lines: String = (0..points).map(|index| point_line(&outcome(index))).collect();
        format!("{head}{lines}{}", end_line(points))
    }

    #[test]
    fn points_come_back_to_the_last_bit() {
        let part = read_part(&file(3)).unwrap();
        assert!(part.is_finished && part.damaged.is_empty());
        assert_eq!(part.points, (0..3).map(outcome).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_is_cut_or_changed_keeps_what_is_whole() {
        let whole = file(3);
        for cut in 0..whole.len() - 1 {
            let Ok(part) = read_part(&whole[..cut]) else { continue };
            assert!(!part.is_finished, "cut at {cut}");
            assert!(part.points.iter().all(|point| *point == outcome(point.index)), "cut at {cut}");
        }
        let changed = whole.replacen("\"gpus\":8", "\"gpus\":9", 1);
        let part = read_part(&changed).unwrap();
        assert_eq!((part.damaged.as_slice(), part.is_finished), (&[2][..], false));
        assert_eq!(read_part("{}"), Err(PartError::Head));
        let newer = whole.replacen("\"version\":1", "\"version\":2", 1);
        assert_eq!(read_part(&newer), Err(PartError::Newer(2)));
    }
}
