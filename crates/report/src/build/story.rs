//! The ways of sharing side by side.

use cotenant_core::evidence::Remedy;
use cotenant_core::verdict::{
    Comparison, Finding, GateKind, Ruling, Strategy, Target, Unit, Validity,
};

use super::gates;
use super::inputs::ReportInputs;
use super::ordered::Ordered;
use super::pool::Pool;
use super::sample::{
    Latencies, Steps, Stream, StreamSample, is_largest, needed_for_bound, quantile,
};
use crate::format::{self, TimeScale};
use crate::model::{SeriesKind, Story, StoryCell, StoryColumn, StoryRow, Value, Word};

/// One way of sharing the machine, a column of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Alone,
    Together,
    Remedied(Remedy),
    Apart,
}

impl Way {
    fn strategy(self) -> Strategy {
        match self {
            Self::Alone | Self::Apart => Strategy::Alone,
            Self::Together => Strategy::AsDeclared,
            Self::Remedied(remedy) => Strategy::With(remedy),
        }
    }

    fn inference_kind(self) -> SeriesKind {
        match self {
            Self::Alone | Self::Apart => SeriesKind::InferenceAlone,
            Self::Together => SeriesKind::Together,
            Self::Remedied(_) => SeriesKind::WithRemedy,
        }
    }

    fn training_kind(self) -> Option<SeriesKind> {
        match self {
            Self::Alone => None,
            Self::Together => Some(SeriesKind::Together),
            Self::Remedied(_) => Some(SeriesKind::WithRemedy),
            Self::Apart => Some(SeriesKind::TrainingAlone),
        }
    }

    fn letters(self) -> &'static str {
        match self {
            Self::Alone => "A",
            Self::Together => "C",
            Self::Remedied(_) => "C′",
            Self::Apart => "A | B",
        }
    }

    fn title(self) -> String {
        match self {
            Self::Alone => "Inference alone".to_owned(),
            Self::Together => "Together, as declared".to_owned(),
            Self::Remedied(remedy) => format!("Together, {}", remedy.name()),
            Self::Apart => "In different windows".to_owned(),
        }
    }
}

/// A metric whose value under one way has been found, before a common time scale is chosen.
struct Found {
    value: Result<f64, Absent>,
    ruling: Option<Word>,
    detail: Option<String>,
}

/// Why a cell has no number.
enum Absent {
    /// It could have been seen, and was not.
    NotSeen(String),
    /// It has no meaning there: `no trainer`.
    Meaningless(&'static str),
}

impl Found {
    fn missing(reason: impl Into<String>) -> Self {
        Self { value: Err(Absent::NotSeen(reason.into())), ruling: None, detail: None }
    }

    fn meaningless(why: &'static str) -> Self {
        Self { value: Err(Absent::Meaningless(why)), ruling: None, detail: None }
    }

    fn plain(value: Option<f64>, reason: &str) -> Self {
        match value {
            Some(value) => Self { value: Ok(value), ruling: None, detail: None },
            None => Self::missing(reason),
        }
    }
}

/// Builds the story of every stream of requests and of the neighbour.
pub(super) fn story(inputs: &ReportInputs<'_>, pool: &Pool<'_>, samples: &[StreamSample]) -> Story {
    let mut ways = vec![Way::Alone, Way::Together];
    ways.extend(pool.remedies(inputs.verdict).into_iter().map(Way::Remedied));
    ways.push(Way::Apart);
    let teller = Teller { inputs, ways, several: samples.len() > 1 };
    let mut rows = Vec::new();
    for sample in samples {
        rows.extend(teller.inference_rows(sample));
    }
    rows.extend(teller.training_rows(pool));
    let shown: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
    rows.extend(teller.further_rows(&shown));
    rows.extend(teller.comparison_rows());
    Story {
        note:
            "Latency counts from the moment a request was meant to be sent; a request that never \
               completed has no limit. Quantiles are the ⌈qn⌉-th of n values. Ratios describe and \
               judge nothing: the declared objectives decide."
                .to_owned(),
        columns: teller.ways.iter().map(|&way| teller.column(pool, way)).collect(),
        rows,
    }
}

/// Picks one sorted list of a sample.
type List = fn(&Latencies) -> &Ordered;

struct Teller<'a> {
    inputs: &'a ReportInputs<'a>,
    ways: Vec<Way>,
    several: bool,
}

impl<'a> Teller<'a> {
    fn findings(&self, kind: GateKind) -> impl Iterator<Item = &'a Finding> {
        let gates = &self.inputs.verdict.gates;
        gates.iter().filter(move |gate| gate.kind == kind).flat_map(|gate| &gate.findings)
    }

    /// The finding that judges a metric under one way. With several streams its subject must name
    /// the stream.
    fn finding(&self, kind: GateKind, metric: &str, way: Way, stream: &str) -> Option<&'a Finding> {
        self.findings(kind).find(|finding| {
            finding.strategy == way.strategy()
                && finding.target.as_ref().is_some_and(|target| judges(target, metric))
                && (stream.is_empty() || is_about(finding, stream))
        })
    }

    fn proves_nothing(&self) -> bool {
        matches!(self.inputs.verdict.validity, Validity::Invalid(_))
    }

    fn column(&self, pool: &Pool<'_>, way: Way) -> StoryColumn {
        let kinds = [Some(way.inference_kind()), way.training_kind()];
        let mut seen = Vec::new();
        for kind in kinds.into_iter().flatten() {
            let text = format!(
                "{} of {}",
                format::plural(pool.of(kind).len() as u64, "block", "blocks"),
                kind.letter()
            );
            if !seen.contains(&text) {
                seen.push(text);
            }
        }
        let (ruling, summary) = self.column_ruling(way);
        StoryColumn {
            letters: way.letters().to_owned(),
            kind: (way != Way::Apart).then(|| way.inference_kind()),
            title: way.title(),
            seen: seen.join(", "),
            ruling,
            summary,
        }
    }

    fn column_ruling(&self, way: Way) -> (Option<Word>, String) {
        let mut findings: Vec<_> = self
            .findings(GateKind::Inference)
            .filter(|finding| finding.strategy == way.strategy())
            .collect();
        if way != Way::Alone {
            findings.extend(
                self.findings(GateKind::Completion)
                    .filter(|finding| finding.strategy == way.strategy()),
            );
        }
        if self.proves_nothing() {
            return (None, "the tests prove nothing".to_owned());
        }
        let worst = findings.iter().map(|finding| finding.ruling).max();
        let named = |ruling: Ruling| {
            let subjects: Vec<_> = findings
                .iter()
                .filter(|finding| finding.ruling == ruling)
                .map(|finding| finding.subject.as_str())
                .collect();
            subjects.join("; ")
        };
        let summary = match worst {
            None => "no objective was judged under this way".to_owned(),
            Some(Ruling::Fail) => format!("misses {}", named(Ruling::Fail)),
            Some(Ruling::NotProven) => format!("open: {}", named(Ruling::NotProven)),
            // Both ran alone, so latency tells all of inference and nothing of the calendar: whether
            // training finishes in the windows that remain is a question of its own.
            Some(_) if way == Way::Apart => {
                let summary = "inference keeps every objective that was judged; whether the windows \
                               left to training are enough is open";
                return (Some(Word::NotProven), summary.to_owned());
            }
            Some(_) => "keeps every objective that was judged".to_owned(),
        };
        (worst.map(gates::word), summary)
    }

    fn inference_rows(&self, sample: &StreamSample) -> Vec<StoryRow> {
        let samples: Vec<_> = self.ways.iter().map(|way| sample.of(way.inference_kind())).collect();
        let token = samples.iter().all(|sample| sample.single_token);
        let gap = if token { "ITL" } else { "chunk gap" };
        let name = self.stream_name(&sample.stream);
        let quantiles: [(&str, String, f64, List, bool); 9] = [
            ("ttft_p95", "TTFT p95".to_owned(), 0.95, |s| &s.ttft_s, true),
            ("ttft_p99", "TTFT p99".to_owned(), 0.99, |s| &s.ttft_s, true),
            ("itl_p95", format!("{gap} p95"), 0.95, |s| &s.gaps_s, true),
            ("itl_p99", format!("{gap} p99"), 0.99, |s| &s.gaps_s, true),
            ("itl_p99_9", format!("{gap} p99.9"), 0.999, |s| &s.gaps_s, true),
            (
                "gap_longest",
                "longest gap of any answer".to_owned(),
                1.0,
                |s| &s.longest_gap_s,
                true,
            ),
            ("tpot_p95", "TPOT p95".to_owned(), 0.95, |s| &s.tpot_s, false),
            ("e2e_p95", "E2E p95".to_owned(), 0.95, |s| &s.e2e_s, false),
            ("e2e_p99", "E2E p99".to_owned(), 0.99, |s| &s.e2e_s, false),
        ];
        let mut rows = Vec::new();
        for (key, title, q, list, always) in quantiles {
            if always || self.is_judged(key) {
                let cells = self.quantile_cells(&samples, key, q, list, &name);
                rows.push(self.row(&name, "Inference", key, &title, Unit::Seconds, cells));
            }
        }
        rows.push(self.stall_row(&samples, &name));
        let errors = samples.iter().enumerate().map(|(index, sample)| {
            let found = error_share(sample);
            self.judge(found, GateKind::Inference, "error_rate", self.ways[index], &name)
        });
        let errors = errors.collect();
        rows.push(self.row(&name, "Inference", "error_rate", "error share", Unit::Share, errors));
        let rates = samples.iter().map(|sample| throughput(sample)).collect();
        let title = "answer throughput";
        rows.push(self.row(&name, "Inference", "throughput", title, Unit::TokensPerSecond, rates));
        rows
    }

    fn quantile_cells(
        &self,
        samples: &[&Latencies],
        key: &str,
        q: f64,
        list: List,
        stream: &str,
    ) -> Vec<Found> {
        let find = |(index, sample): (usize, &&Latencies)| {
            let found = quantile_found(list(sample), q, sample);
            self.judge(found, GateKind::Inference, key, self.ways[index], stream)
        };
        samples.iter().enumerate().map(find).collect()
    }

    fn is_judged(&self, metric: &str) -> bool {
        let declared = self.inputs.objectives.iter().map(|objective| objective.metric.as_str());
        let judged = [GateKind::Inference, GateKind::Completion]
            .into_iter()
            .flat_map(|kind| self.findings(kind))
            .filter_map(|finding| finding.target.as_ref().map(|target| target.metric.as_str()));
        declared.chain(judged).any(|name| same_metric(name, metric))
    }

    /// Puts the verdict's own value, ruling and bounds in place of the plain ones, where there is a
    /// finding.
    fn judge(&self, found: Found, kind: GateKind, metric: &str, way: Way, stream: &str) -> Found {
        let Some(finding) = self.finding(kind, metric, way, stream) else { return found };
        let value = match finding.observed {
            Some(observed) => Ok(observed),
            None => found.value,
        };
        let detail = match finding.judged {
            Some(_) => gates::short_bound_text(finding).or(found.detail),
            None => found.detail,
        };
        let ruling = (!self.proves_nothing()).then(|| gates::word(finding.ruling));
        Found { value, ruling, detail }
    }

    fn stall_row(&self, samples: &[&Latencies], name: &str) -> StoryRow {
        let cells = samples.iter().map(|sample| stalls(sample)).collect();
        self.row(name, "Inference", "stalls", "stalls", Unit::Count, cells)
    }

    fn training_rows(&self, pool: &Pool<'_>) -> Vec<StoryRow> {
        let samples: Vec<_> = self
            .ways
            .iter()
            .map(|way| way.training_kind().map(|kind| Steps::gather(&pool.of(kind))))
            .collect();
        let cells = |key: &str, find: fn(&Steps) -> Found| -> Vec<Found> {
            let cell = |(index, steps): (usize, &Option<Steps>)| match steps {
                None => Found::meaningless("no trainer"),
                Some(steps) => {
                    self.judge(find(steps), GateKind::Completion, key, self.ways[index], "")
                }
            };
            samples.iter().enumerate().map(cell).collect()
        };
        let mean = cells("step_time", |steps| {
            let mut found = Found::plain(steps.mean_s(), "no judged step");
            found.detail = steps.mean_s().map(|_| {
                let count = steps.durations_s.len() as u64;
                format!(
                    "mean of {} in {}",
                    format::plural(count, "step", "steps"),
                    format::plural(steps.blocks as u64, "block", "blocks")
                )
            });
            found
        });
        let tail = cells("step_time_p95", |steps| {
            Found::plain(quantile(&steps.durations_s, 0.95), "no judged step")
        });
        let rate = cells("train_throughput", |steps| {
            let rate = steps.tokens.filter(|_| steps.judged_s > 0.0);
            let rate = rate.map(|tokens| tokens as f64 / steps.judged_s);
            Found::plain(rate, "the trainer's lines hold no token count")
        });
        let checkpoint = cells("checkpoint_time", |steps| {
            let mean = super::sample::mean(&steps.checkpoints_s);
            let mut found = Found::plain(mean, "no checkpoint was written");
            found.detail = mean
                .map(|_| format!("mean of {}", format::count(steps.checkpoints_s.len() as u64)));
            found
        });
        vec![
            self.row("", "Training", "step_time", "step time, mean", Unit::Seconds, mean),
            self.row("", "Training", "step_time_p95", "step time p95", Unit::Seconds, tail),
            self.row("", "Training", "train_throughput", "throughput", Unit::TokensPerSecond, rate),
            self.row("", "Training", "checkpoint_time", "checkpoint", Unit::Seconds, checkpoint),
        ]
    }

    /// Rows for judged metrics that have no row of their own.
    fn further_rows(&self, shown: &[String]) -> Vec<StoryRow> {
        let mut keys: Vec<(GateKind, &Target, &str)> = Vec::new();
        for kind in [GateKind::Inference, GateKind::Completion] {
            for finding in self.findings(kind) {
                let Some(target) = &finding.target else { continue };
                let known = shown.iter().any(|key| judges(target, key))
                    || keys.iter().any(|(_, other, _)| other.metric == target.metric);
                if !known {
                    keys.push((kind, target, &finding.subject));
                }
            }
        }
        let row = |(kind, target, subject): (GateKind, &Target, &str)| {
            let cell = |&way: &Way| {
                let found = Found::missing("not judged under this way");
                self.judge(found, kind, &target.metric, way, "")
            };
            let cells = self.ways.iter().map(cell).collect();
            let group = if kind == GateKind::Inference { "Inference" } else { "Training" };
            self.row("", group, &target.metric, subject, target.unit, cells)
        };
        keys.into_iter().map(row).collect()
    }

    /// Amplification, slowdown and retention: descriptions.
    fn comparison_rows(&self) -> Vec<StoryRow> {
        let comparisons = &self.inputs.verdict.comparisons;
        let mut names: Vec<&str> = Vec::new();
        for comparison in comparisons {
            if !names.contains(&comparison.name.as_str()) {
                names.push(&comparison.name);
            }
        }
        let row = |name: &str| {
            let cell = |&way: &Way| match way {
                Way::Alone => Found::meaningless("baseline"),
                Way::Apart => Found::meaningless("nothing is shared"),
                Way::Together | Way::Remedied(_) => comparisons
                    .iter()
                    .find(|entry| entry.name == name && entry.strategy == way.strategy())
                    .map_or_else(|| Found::missing("no pair of blocks"), ratio),
            };
            let cells = self.ways.iter().map(cell).collect();
            self.row("", "What sharing costs", name, name, Unit::Ratio, cells)
        };
        names.into_iter().map(row).collect()
    }

    /// Gives the cells of a row one time scale, and the row its objective.
    fn row(
        &self,
        stream: &str,
        group: &str,
        key: &str,
        title: &str,
        unit: Unit,
        cells: Vec<Found>,
    ) -> StoryRow {
        let known = cells.iter().filter_map(|cell| cell.value.as_ref().ok().copied());
        let scale = (unit == Unit::Seconds).then(|| TimeScale::of(known));
        let group = if stream.is_empty() { group.to_owned() } else { format!("{group}: {stream}") };
        let cell = |found: Found| StoryCell {
            value: match found.value {
                Ok(value) => format::measured_in(value, unit, scale),
                Err(Absent::NotSeen(reason)) => Value::missing(reason),
                Err(Absent::Meaningless(why)) => Value::words(why),
            },
            ruling: found.ruling,
            detail: found.detail,
        };
        StoryRow {
            key: key.to_owned(),
            group,
            title: title.to_owned(),
            objective: self.objective(key, stream),
            cells: cells.into_iter().map(cell).collect(),
        }
    }

    fn objective(&self, key: &str, stream: &str) -> Option<Value> {
        let judged = [GateKind::Inference, GateKind::Completion]
            .into_iter()
            .flat_map(|kind| self.findings(kind))
            .filter(|finding| stream.is_empty() || is_about(finding, stream))
            .filter_map(|finding| finding.target.as_ref())
            .find(|target| judges(target, key))
            .map(gates::objective);
        judged.or_else(|| {
            let declared = self.inputs.objectives.iter().find(|objective| {
                same_metric(&objective.metric, key)
                    && (stream.is_empty() || stream.contains(objective.workload.as_str()))
            })?;
            let value = declared.target?;
            let (metric, unit) = (declared.metric.clone(), declared.unit);
            Some(gates::objective(&Target { metric, value, unit, misses_allowed: None }))
        })
    }

    /// Empty where there is one stream alone, for then nothing needs a name.
    fn stream_name(&self, stream: &Stream) -> String {
        if self.several { stream_label(self.inputs, stream) } else { String::new() }
    }
}

/// The name of a stream: its workload, and its class where the workload has classes.
pub(super) fn stream_label(inputs: &ReportInputs<'_>, stream: &Stream) -> String {
    let class = inputs
        .classes
        .iter()
        .find(|class| class.workload == stream.workload && class.index == stream.class);
    match class {
        Some(class) => format!("{} ({})", stream.workload, class.name),
        None if stream.class == 0 => stream.workload.clone(),
        None => format!("{} (class {})", stream.workload, stream.class),
    }
}

/// Whether two keys name one metric: the site file says `step_time_max` of the mean step time.
pub(super) fn same_metric(left: &str, right: &str) -> bool {
    let plain = |key: &str| match key {
        "step_time_max" | "step_time_mean" => "step_time".to_owned(),
        "throughput_min" => "train_throughput".to_owned(),
        "error_share" => "error_rate".to_owned(),
        other => other.replace("p99.9", "p99_9"),
    };
    plain(left) == plain(right)
}

/// Whether a target is held against the metric of a row: a throughput only where it counts tokens,
/// as the row does.
fn judges(target: &Target, metric: &str) -> bool {
    let counts_tokens = target.unit == Unit::TokensPerSecond;
    same_metric(&target.metric, metric) && (counts_tokens || !metric.ends_with("throughput"))
}

/// Whether a finding is about a stream: its subject begins with the stream's name.
fn is_about(finding: &Finding, stream: &str) -> bool {
    finding.subject.strip_prefix(stream).is_some_and(|rest| rest.starts_with(':'))
}

fn quantile_found(values: &Ordered, q: f64, sample: &Latencies) -> Found {
    let n = values.len();
    if sample.requests == 0 {
        return Found::missing("no judged request");
    }
    if n == 0 {
        return Found::missing("the evidence holds no gap between chunks");
    }
    let Some(value) = values.quantile(q) else { return Found::missing("no value") };
    if q >= 1.0 {
        return Found { value: Ok(value), ruling: None, detail: None };
    }
    let seen = format::count(n as u64);
    let name = format::trimmed(q * 100.0);
    if is_largest(q, n) {
        return Found::missing(format!("{seen} values support no p{name}"));
    }
    let needed = needed_for_bound(q);
    let detail = ((n as u64) < needed)
        .then(|| format!("a bound needs {} values, {seen} seen", format::count(needed)));
    Found { value: Ok(value), ruling: None, detail }
}

fn error_share(sample: &Latencies) -> Found {
    if sample.requests == 0 {
        return Found::missing("no judged request");
    }
    let share = sample.failures() as f64 / sample.requests as f64;
    let detail = if sample.failures() == 0 {
        format!("none of {}", format::count(sample.requests))
    } else {
        let parts: Vec<_> = sample
            .failed
            .iter()
            .map(|(name, count)| format!("{} {name}", format::count(*count)))
            .collect();
        format!("{}, of {}", parts.join(", "), format::count(sample.requests))
    };
    Found { value: Ok(share), ruling: None, detail: Some(detail) }
}

fn throughput(sample: &Latencies) -> Found {
    let known = sample.requests > 0 && sample.judged_s > 0.0;
    let rate = known.then(|| sample.output_tokens as f64 / sample.judged_s);
    Found::plain(rate, "no judged request")
}

fn stalls(sample: &Latencies) -> Found {
    if sample.requests == 0 {
        return Found::missing("no judged request");
    }
    let detail = if sample.stalls == 0 {
        format!("in {}", format::plural(sample.requests, "request", "requests"))
    } else {
        format!(
            "{} long, in {} of {} requests",
            format::time(sample.stalled_s),
            format::count(sample.requests_with_stall),
            format::count(sample.requests)
        )
    };
    Found { value: Ok(sample.stalls as f64), ruling: None, detail: Some(detail) }
}

fn ratio(comparison: &Comparison) -> Found {
    let pairs = format::plural(u64::from(comparison.pairs), "pair", "pairs");
    let detail = match comparison.interval {
        Some((low, high)) => format!(
            "{} to {}, {pairs}",
            format::text(low, Unit::Ratio, None),
            format::text(high, Unit::Ratio, None)
        ),
        None => format!("no interval from {pairs}"),
    };
    Found { value: Ok(comparison.ratio), ruling: None, detail: Some(detail) }
}
