//! Scrapes: which exporter or engine, its serving metrics in canonical terms, DCGM's cards, and every
//! family.

use std::collections::BTreeMap;
use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading, Table};

use jiff::Timestamp;

use super::look::{Claim, Look, Outcome, short};
use crate::device::dcgm::{self, DcgmUsage};
use crate::device::smi::Reading;
use crate::engine_metrics::{
    DurationHistogram, EngineKind, Quantity, ServingMetrics, Shape, engine_of_names, mapping,
    read_serving,
};
use crate::exposition::{
    Exposition, Family, Format, Kind, Strictness, detect_format, histograms, parse, summaries,
};

const SEEMS: &str = "a scrape of metrics";

/// Exporters by the names of their metrics.
const EXPORTERS: [(&str, &str); 14] = [
    ("DCGM_FI_", "DCGM exporter"),
    ("dcgm_", "DCGM exporter 1.x"),
    ("ceems_", "CEEMS exporter"),
    ("inference_extension_", "endpoint picker of the Gateway API Inference Extension"),
    ("inference_objective_", "endpoint picker of the Gateway API Inference Extension"),
    ("inference_pool_", "endpoint picker of the Gateway API Inference Extension"),
    ("inference_model_", "endpoint picker of the Gateway API Inference Extension"),
    ("kueue_", "Kueue"),
    ("kubelet_", "kubelet"),
    ("slurm_", "Slurm exporter"),
    ("nvidia_smi_", "nvidia_gpu_exporter"),
    ("node_", "node_exporter"),
    ("runai_", "Run:ai"),
    ("lmcache:", "LMCache"),
];

/// A scrape is known by its `# TYPE` and `# HELP` lines.
pub(super) fn typed(look: &Look<'_>) -> Option<Claim> {
    if look.json.is_some() || look.json_line.is_some() {
        return None;
    }
    let name = look.sample().lines().map(str::trim_start).find_map(|line| {
        let is_head = line.starts_with("# TYPE ") || line.starts_with("# HELP ");
        line.split_whitespace().nth(2).filter(|_| is_head)
    })?;
    Some(Claim::sure(format!("has `# TYPE` or `# HELP` of `{}`", short(name, 60)), read))
}

/// A text of samples alone is known by its lines.
pub(super) fn samples(look: &Look<'_>) -> Option<Claim> {
    if look.json.is_some() || look.json_line.is_some() {
        return None;
    }
    // Not more than one line that is no sample: a title, as scripts write it.
    let mut lines = look.sample().lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek()?;
    let is_sample = |line: &&str| {
        let line = line.trim();
        line.starts_with('#') || looks_like_sample(line)
    };
    let others = lines.clone().filter(|line| !is_sample(line)).take(2).count();
    let samples = lines.filter(|line| looks_like_sample(line.trim())).count();
    if samples > 0 && others <= usize::from(samples > 2) {
        let clue = "each line is a name, labels and a number, as exporters write it";
        return Some(Claim::likely(clue, ENDINGS, read));
    }
    // One that breaks the format is told with its line.
    let (_, first) = look.first_line();
    let has_labels = first
        .split_once('{')
        .is_some_and(|(name, labels)| !name.contains(char::is_whitespace) && labels.contains('='));
    has_labels.then(|| {
        Claim::likely(
            "begins with a name and labels in braces, as exporters write it",
            ENDINGS,
            read,
        )
    })
}

/// Endings of scrapes' names.
const ENDINGS: &[&str] = &[".prom", ".metrics", ".txt"];

/// Whether a line is `name{labels} value [time]`.
fn looks_like_sample(line: &str) -> bool {
    let name_ends = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.')))
        .unwrap_or(line.len());
    let begins =
        line.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ':' | '{'));
    let rest = &line[name_ends..];
    let values = if let Some(inside) = rest.strip_prefix('{') {
        match inside.rfind('}') {
            Some(at) => &inside[at + 1..],
            None => return false,
        }
    } else if rest.starts_with([' ', '\t']) && name_ends > 0 {
        rest
    } else {
        return false;
    };
    let mut words = values.split_whitespace();
    let value = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
    begins && value && words.next().is_none_or(|word| word == "#" || word.parse::<f64>().is_ok())
}

fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole(SEEMS)?;
    let format = detect_format(look.bytes, None);
    let scrape = parse(look.bytes, format, Strictness::Lenient).map_err(|error| {
        look.refuse(SEEMS, error.to_string(), "mend what is named, or scrape it again")
    })?;
    if scrape.sample_count() == 0 {
        // That a line may be cut off is no reason why it cannot be read.
        let first = scrape.notes.iter().find(|note| !note.text.contains("read as it stands"));
        let why = first.map_or("it has no sample".to_owned(), |note| note.text.clone());
        let line = first.map(|note| note.line as u64);
        return Err(look.refuse(SEEMS, why, "mend what is named, or scrape it again").at(line));
    }
    Ok(told(look, &scrape).into())
}

fn told(look: &Look<'_>, scrape: &Exposition<'_>) -> FileReading {
    let form = match scrape.format {
        Format::Prometheus => "Prometheus text",
        Format::OpenMetrics => "OpenMetrics",
    };
    let mut reading = FileReading::new(look.name, FileKind::MetricsScrape, form);
    let engine = engine_of_names(scrape);
    let exporter = EXPORTERS.iter().find(|(prefix, _)| has(scrape, prefix));
    reading.producer = engine
        .map(|engine| engine.name().to_owned())
        .or_else(|| exporter.map(|(_, name)| (*name).to_owned()));
    if let Some(family) = engine
        .and_then(|engine| first_source(scrape, engine))
        .or_else(|| exporter.and_then(|(prefix, _)| named(scrape, prefix)))
    {
        reading.clues.push(format!("has `{family}`"));
    }
    reading.version =
        version(scrape, exporter.map(|(prefix, _)| *prefix).filter(|_| engine.is_none()));
    let seen = scrape.families.iter().filter(|family| !family.samples.is_empty()).count();
    reading.count("families", seen);
    reading.count("samples", scrape.sample_count());
    if let Some(engine) = engine {
        serving(&mut reading, scrape, &read_serving(scrape, engine));
    }
    cards(&mut reading, scrape);
    reading.table(families(scrape));
    for note in &scrape.notes {
        reading.skip(format!("line {}: {}", note.line, note.text));
    }
    reading.skipped_left_out += scrape.notes_left_out as u64;
    reading
}

fn named<'s>(scrape: &'s Exposition<'_>, prefix: &str) -> Option<&'s str> {
    let mut names = scrape.families.iter().filter(|family| !family.samples.is_empty());
    names.find(|family| family.name.starts_with(prefix)).map(|family| &*family.name)
}

fn has(scrape: &Exposition<'_>, prefix: &str) -> bool {
    named(scrape, prefix).is_some()
}

/// A family of the scrape that tells the engine.
fn first_source<'s>(scrape: &'s Exposition<'_>, engine: EngineKind) -> Option<&'s str> {
    let mut sources = mapping(engine).iter().flat_map(|mapping| mapping.sources);
    sources.find_map(|source| {
        scrape.family(source.name).filter(|family| !family.samples.is_empty()).map(|f| &*f.name)
    })
}

/// The version in a family `…_build_info`, of the exporter itself where there are several.
fn version(scrape: &Exposition<'_>, prefix: Option<&str>) -> Option<String> {
    let is_info = |family: &&Family<'_>| {
        family.name.ends_with("_build_info") || family.name.ends_with("_build")
    };
    let of = |family: &Family<'_>| {
        let sample = family.samples.first()?;
        sample.label("version").or_else(|| sample.label("git_version")).map(str::to_owned)
    };
    let infos = || scrape.families.iter().filter(is_info);
    let own = infos().find(|family| prefix.is_some_and(|prefix| family.name.starts_with(prefix)));
    let of_kubernetes = || infos().find(|family| family.name == "kubernetes_build_info");
    match prefix {
        Some("kubelet_") => own.or_else(of_kubernetes).and_then(of),
        Some(_) => own.and_then(of),
        None => None,
    }
}

/// The canonical set, as far as the engine shows it.
fn serving(reading: &mut FileReading, scrape: &Exposition<'_>, metrics: &ServingMetrics) {
    let mut values = Table::new("Serving", &["quantity", "value", "*read from", "*series"]);
    let mut times = Table::new(
        "Times of serving, between the bounds of buckets",
        &["quantity", "count", "mean", "p50", "p95", "p99", "*read from"],
    );
    for quantity in Quantity::ALL {
        let source = metrics.sources.get(&quantity).map_or("", |source| source.name);
        if let Some(value) = metrics.gauge(quantity) {
            values.row(vec![
                Figure::text(quantity.name()),
                Figure::number(value, unit_of(quantity)),
                Figure::text(source),
                Figure::count(1_u8),
            ]);
        } else if let Some(value) = metrics.counter(quantity) {
            let series = metrics.counters.get(&quantity).map_or(0, BTreeMap::len);
            values.row(vec![
                Figure::text(quantity.name()),
                Figure::number(value, unit_of(quantity)),
                Figure::text(source),
                Figure::count(series),
            ]);
        } else if let Some(histogram) = metrics.duration(quantity) {
            times.row(time_row(quantity, &histogram, source));
        } else if metrics.unusable.contains(&quantity) {
            reading.note(format!("{} is there and cannot be used", quantity.name()));
        }
    }
    let missing: Vec<&str> = Quantity::ALL
        .into_iter()
        .filter(|quantity| !metrics.sources.contains_key(quantity))
        .map(Quantity::name)
        .collect();
    if !missing.is_empty() {
        reading.note(format!("{} shows no {}", metrics.engine.name(), missing.join(", ")));
    }
    if let Some(start_s) = metrics.process_start_s {
        let at = Timestamp::from_millisecond((start_s * 1e3).round() as i64);
        reading.fact(
            "the process began",
            at.map_or_else(|_| Figure::absent("no time"), |at| Figure::text(at.to_string())),
        );
    }
    twins(reading, scrape, metrics);
    reading.table(values);
    reading.table(times);
    for note in metrics.notes.iter().filter(|note| !note.starts_with("line ")) {
        reading.skip(note.clone());
    }
}

/// Families that stand beside the one that was read and count the same events.
fn twins(reading: &mut FileReading, scrape: &Exposition<'_>, metrics: &ServingMetrics) {
    for mapping in mapping(metrics.engine) {
        let Some(used) = metrics.sources.get(&mapping.quantity) else { continue };
        let others = mapping.sources.iter().filter(|source| source.name != used.name);
        for other in others {
            if scrape.family(other.name).is_some_and(|family| !family.samples.is_empty()) {
                reading.note(format!(
                    "`{}` stands beside `{}`, counts the same and is not added ({})",
                    other.name,
                    used.name,
                    mapping.quantity.name()
                ));
            }
        }
    }
}

fn unit_of(quantity: Quantity) -> &'static str {
    match quantity.shape() {
        Shape::Duration => "s",
        Shape::Gauge if quantity == Quantity::KvUseShare => "share",
        _ => match quantity {
            Quantity::PromptTokens
            | Quantity::OutputTokens
            | Quantity::PrefixQueried
            | Quantity::PrefixHit => "tokens",
            Quantity::Preempted => "",
            _ => "requests",
        },
    }
}

fn time_row(quantity: Quantity, histogram: &DurationHistogram, source: &str) -> Vec<Figure> {
    let quantile = |share: f64| match histogram.quantile(share) {
        _ if histogram.bounds_s.is_empty() => Figure::absent("only sum and count are shown"),
        Some(bounds) => {
            Figure::Between { above: bounds.above_s, at_most: bounds.at_most_s, unit: "s".into() }
        }
        None => Figure::absent("no observation"),
    };
    vec![
        Figure::text(quantity.name().trim_end_matches("_s")),
        Figure::number(histogram.count, ""),
        Figure::number_or(histogram.mean_s(), "s", "no observation, or no sum"),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        Figure::text(source),
    ]
}

/// DCGM's cards and MIG instances.
fn cards(reading: &mut FileReading, scrape: &Exposition<'_>) {
    let (cards, problems) = dcgm::cards(scrape);
    if cards.is_empty() {
        return;
    }
    let instances = cards.iter().map(|card| card.instances.len()).sum::<usize>();
    reading.count("GPUs", cards.len());
    reading.count("MIG instances", instances);
    let mut table = Table::new(
        "GPUs",
        &[
            "gpu",
            "model",
            "uuid",
            "power",
            "temperature",
            "SM clock",
            "busy",
            "memory used",
            "memory free",
        ],
    );
    let mut parts = Table::new(
        "MIG instances",
        &[
            "gpu",
            "instance",
            "profile",
            "engine active",
            "tensor active",
            "memory used",
            "memory free",
        ],
    );
    for card in &cards {
        let index = card.index.as_ref().map_or_else(|_| card.uuid.clone(), ToString::to_string);
        let busy = match &card.utilization_percent {
            Err(_) if !card.instances.is_empty() => {
                Figure::absent("a card in MIG mode has no utilisation; see its instances")
            }
            other => number(other, "%"),
        };
        table.row(vec![
            Figure::text(index.clone()),
            text(&card.model),
            Figure::text(card.uuid.clone()),
            number(&card.power_w, "W"),
            number(&card.gpu_c, "°C"),
            number(&card.sm_mhz, "MHz"),
            busy,
            number(&card.usage.memory_used_mib, "MiB"),
            number(&card.usage.memory_free_mib, "MiB"),
        ]);
        for one in &card.instances {
            let DcgmUsage {
                engine_active, tensor_active, memory_used_mib, memory_free_mib, ..
            } = &one.usage;
            parts.row(vec![
                Figure::text(index.clone()),
                Figure::count(one.gpu_instance),
                text(&one.profile),
                number(engine_active, "share"),
                number(tensor_active, "share"),
                number(memory_used_mib, "MiB"),
                number(memory_free_mib, "MiB"),
            ]);
        }
    }
    if let Some(driver) = scrape
        .families
        .iter()
        .filter(|family| family.name.starts_with("DCGM_FI_"))
        .flat_map(|family| &family.samples)
        .find_map(|sample| sample.label("DCGM_FI_DRIVER_VERSION"))
    {
        reading.fact("driver", Figure::text(driver));
    }
    reading.table(table);
    reading.table(parts);
    for problem in problems {
        reading.note(format!("line {}: {}", problem.line, problem.message));
    }
}

fn number(value: &Reading<f64>, unit: &'static str) -> Figure {
    match value {
        Ok(value) => Figure::number(*value, unit),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

fn text(value: &Reading<String>) -> Figure {
    match value {
        Ok(value) => Figure::text(value.clone()),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

/// One row to each family: what it is, how many series, and its value where there is one.
fn families(scrape: &Exposition<'_>) -> Table {
    let mut table = Table::new("Families", &["name", "type", "series", "value"]);
    for family in scrape.families.iter().filter(|family| !family.samples.is_empty()) {
        let (series, value) = match family.kind {
            Kind::Histogram | Kind::GaugeHistogram => {
                let (series, malformed) = histograms(family);
                let count = series.iter().map(|one| one.histogram.count).sum();
                let why = || malformed.first().map(|bad| Figure::absent(bad.what.clone()));
                let value = if series.is_empty() {
                    why().unwrap_or_else(|| Figure::absent("no whole histogram"))
                } else {
                    Figure::number(count, "observations")
                };
                (series.len() + malformed.len(), value)
            }
            Kind::Summary => {
                let series = summaries(family);
                let counts: Option<Vec<f64>> = series.iter().map(|one| one.count).collect();
                let total = counts.map(|counts| counts.iter().sum());
                (series.len(), Figure::number_or(total, "observations", "it says no count"))
            }
            _ => match &family.samples[..] {
                [one] => (1, Figure::number(one.value, "")),
                several => {
                    let values = several.iter().map(|sample| sample.value);
                    (several.len(), range(values))
                }
            },
        };
        table.row(vec![
            Figure::text(family.name.clone()),
            Figure::text(word(family.kind)),
            Figure::count(series),
            value,
        ]);
    }
    table
}

/// The least and the largest of several values, in words.
fn range(values: impl Iterator<Item = f64>) -> Figure {
    let (mut least, mut most, mut not_numbers) = (f64::INFINITY, f64::NEG_INFINITY, 0_u64);
    for value in values {
        if value.is_nan() {
            not_numbers += 1;
        } else {
            (least, most) = (least.min(value), most.max(value));
        }
    }
    if least > most {
        return Figure::absent(format!("{not_numbers} times NaN"));
    }
    if least == most && not_numbers == 0 {
        return Figure::text(format!("each {least}"));
    }
    let nan = if not_numbers > 0 { format!(", {not_numbers} times NaN") } else { String::new() };
    Figure::text(format!("{least} to {most}{nan}"))
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
        Kind::GaugeHistogram => "gaugehistogram",
        Kind::Summary => "summary",
        Kind::StateSet => "stateset",
        Kind::Info => "info",
        Kind::Unknown => "untyped",
    }
}
