//! The memory that a workload takes on one GPU, term by term.

use super::amount::{Range, Scale, sum};
use super::arguments;
use super::draft::{line_of, number};
use crate::site::{
    Batch, BatchRoute, Dtype, FigureOrigin, Inference, MemoryNeed, Model, Render, Server,
    TokenCounts, Training, Workload, WorkloadKind,
};
use crate::units::{Bytes, format_count};

/// One term of a sum.
#[derive(Clone, Debug)]
struct Term {
    /// Its name, as in the site file.
    name: &'static str,
    range: Range,
    /// Where it comes from, if it is not declared: `8.03 B parameters × 16 bit`.
    how: Option<String>,
    /// What is to be declared where its upper bound is not known.
    field: &'static str,
}

/// What a workload takes on one GPU.
#[derive(Clone, Debug)]
pub(super) struct Need {
    workload: String,
    terms: Vec<Term>,
    /// Whether the one term is a peak that somebody saw on a device.
    pub(super) peak: Option<FigureOrigin>,
    /// Everything together.
    pub(super) total: Range,
    /// Why the upper bound is not the sum of the terms.
    ceiling: Option<Ceiling>,
    /// The part of the cache in the sum, for the answer to a cache that does not fit.
    pub(super) cache: Option<Cache>,
}

/// An engine that takes a fraction of the total fills it, whatever its terms are.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    fraction: f64,
    high: f64,
}

/// A cache that was computed from requests in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cache {
    /// Bytes that one request takes on one GPU at the least.
    pub(super) request_low: f64,
    /// Its least sum.
    pub(super) low: f64,
}

impl Need {
    /// Whether nobody measured it.
    pub(super) fn is_declared_only(&self, workload: &Workload) -> bool {
        self.peak.or(workload.memory.map(|memory| memory.origin)) != Some(FigureOrigin::Measured)
    }

    /// `chat: weights 16 GiB + kv 48 GiB + workspace 4 GiB = 68 GiB`.
    pub(super) fn line(&self, scale: Scale) -> String {
        let part = |term: &Term| {
            let how = term.how.as_ref().map_or_else(String::new, |how| format!(" ({how})"));
            format!("{} {}{how}", term.name, scale.range(term.range))
        };
        let parts: Vec<String> = self.terms.iter().map(part).collect();
        let text = format!("{}: {}", self.workload, parts.join(" + "));
        let text = if self.terms.len() == 1 && self.ceiling.is_none() {
            text
        } else {
            format!("{text} = {}", scale.range(self.total))
        };
        match self.ceiling {
            Some(ceiling) => format!(
                "{text}; it fills {} of the total and what lies outside of that: up to {}",
                number(ceiling.fraction, 4),
                scale.show(ceiling.high)
            ),
            None => text,
        }
    }

    /// The line of the site file that would give the terms that are not known.
    pub(super) fn missing(&self) -> Option<String> {
        if self.total.high.is_some() {
            return None;
        }
        let unknown = self.terms.iter().filter(|term| term.range.high.is_none());
        let fields: Vec<String> = unknown.map(|term| format!("{}: … GiB", term.field)).collect();
        Some(line_of(
            &self.workload,
            &format!(
                "memory: {{ {} }} (or its measured peak: {{ peak: … GiB }})",
                fields.join(", ")
            ),
        ))
    }
}

/// Every amount that is declared for a workload on the GPU, for the choice of a unit.
pub(super) fn declared_amounts(workload: &Workload) -> Vec<Bytes> {
    let scene = match &workload.kind {
        WorkloadKind::Render(render) => render.scene_memory,
        _ => None,
    };
    let of_memory = workload.memory.map(|memory| match memory.peak {
        Some(peak) => [Some(peak), memory.graphs, None, None],
        None => [memory.weights, memory.kv, memory.workspace, memory.graphs],
    });
    of_memory.into_iter().flatten().chain([scene]).flatten().collect()
}

/// The part of the total that an engine takes for itself, and where that is said.
pub(super) fn fraction_of_total(workload: &Workload) -> Option<f64> {
    let declared = workload.memory.and_then(|memory| memory.fraction_of_total);
    let asked = || {
        arguments::number::<f64>(workload, &["--gpu-memory-utilization"])
            .filter(|fraction| (0.0..=1.0).contains(fraction))
    };
    declared.map(crate::units::Share::value).or_else(asked)
}

/// Memory of captured graphs, where it is known: declared, or none because capture is switched off.
pub(super) fn graphs(workload: &Workload) -> Range {
    let eager = ["--enforce-eager", "--disable-cuda-graph"];
    match workload.memory.and_then(|memory| memory.graphs) {
        Some(graphs) => Range::bytes(graphs),
        None if eager.iter().any(|name| arguments::flag(workload, name)) => Range::ZERO,
        None => Range::UNKNOWN,
    }
}

/// What a workload takes on one GPU of a server. A measured peak beats every sum. `None` for work
/// that takes no GPU memory of its own: a batch through somebody else's engine.
pub(super) fn need(workload: &Workload, server: &Server, total: Option<f64>) -> Option<Need> {
    let memory = workload.memory.unwrap_or(NOTHING);
    let (terms, cache) = match &workload.kind {
        WorkloadKind::Batch(batch) if matches!(batch.route, BatchRoute::Serving(_)) => return None,
        _ if memory.peak.is_some() => (Vec::new(), None),
        WorkloadKind::Inference(inference) => inference_terms(workload, inference, &memory, server),
        WorkloadKind::Training(training) => (training_terms(workload, training, &memory), None),
        WorkloadKind::Batch(batch) => (batch_terms(workload, batch, &memory), None),
        WorkloadKind::Render(render) => (render_terms(render, &memory), None),
    };
    let workload_name = workload.name.clone();
    if let Some(peak) = memory.peak {
        let name = match memory.origin {
            FigureOrigin::Measured => "measured peak",
            FigureOrigin::Declared => "declared peak",
        };
        let term = Term { name, range: Range::bytes(peak), how: None, field: "peak" };
        let total = term.range;
        let peak = Some(memory.origin);
        let terms = vec![term];
        return Some(Need {
            workload: workload_name,
            terms,
            peak,
            total,
            ceiling: None,
            cache: None,
        });
    }
    let parts = sum(terms.iter().map(|term| term.range));
    let ceiling = ceiling(workload, parts, total);
    let high = ceiling.map_or(parts.high, |ceiling| Some(ceiling.high));
    let total = Range { low: parts.low, high };
    Some(Need { workload: workload_name, terms, peak: None, total, ceiling, cache })
}

const NOTHING: MemoryNeed = MemoryNeed {
    origin: FigureOrigin::Declared,
    weights: None,
    kv: None,
    workspace: None,
    graphs: None,
    peak: None,
    fraction_of_total: None,
    host: None,
    processes: None,
    sleep_level: None,
    checkpoint_transient: None,
};

fn ceiling(workload: &Workload, parts: Range, total: Option<f64>) -> Option<Ceiling> {
    let fraction = fraction_of_total(workload)?;
    let filled = fraction * total? + graphs(workload).high?;
    Some(Ceiling { fraction, high: filled.max(parts.high.unwrap_or(parts.low)) })
}

fn declared(name: &'static str, amount: Option<Bytes>) -> Term {
    let range = amount.map_or(Range::UNKNOWN, Range::bytes);
    Term { name, range, how: None, field: name }
}

/// GPUs over which one copy of the weights is split.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Split {
    least: f64,
    most: f64,
}

impl Split {
    fn exactly(ranks: f64) -> Self {
        Self { least: ranks, most: ranks }
    }

    fn of(self, amount: f64) -> Range {
        Range { low: amount / self.most, high: Some(amount / self.least) }
    }

    fn words(self) -> String {
        if self.least != self.most {
            format!(" ÷ {} to {} GPUs", number(self.least, 2), number(self.most, 2))
        } else if self.least > 1.0 {
            format!(" ÷ {} GPUs", number(self.least, 2))
        } else {
            String::new()
        }
    }
}

fn weights(
    memory: &MemoryNeed,
    model: Option<&Model>,
    split: Split,
    may_be_absent: bool,
) -> Option<Term> {
    if memory.weights.is_some() {
        return Some(declared("weights", memory.weights));
    }
    let known = model.and_then(|model| model.parameters.zip(model.dtype));
    let Some((parameters, dtype)) = known else {
        return (!may_be_absent).then(|| declared("weights", None));
    };
    let bytes = parameters as f64 * f64::from(dtype.bits()) / 8.0;
    let mut range = split.of(bytes);
    let mut how =
        format!("{} parameters × {} bit{}", format_count(parameters), dtype.bits(), split.words());
    if dtype.bits() < 8 {
        // Scales and whatever layers stay in 16 bit are not in the parameter count.
        range.high = None;
        how.push_str(", its scale factors not counted");
    }
    Some(Term { name: "weights", range, how: Some(how), field: "weights" })
}

fn inference_terms(
    workload: &Workload,
    inference: &Inference,
    memory: &MemoryNeed,
    server: &Server,
) -> (Vec<Term>, Option<Cache>) {
    let split = replica_split(workload, inference, server);
    let (kv, cache) = match memory.kv {
        Some(_) => (declared("kv", memory.kv), None),
        None => kv_from_architecture(workload, inference, split, server),
    };
    let graphs = Term { range: graphs(workload), ..declared("graphs", None) };
    let mut terms: Vec<Term> =
        weights(memory, workload.model.as_ref(), split, false).into_iter().collect();
    terms.extend([kv, declared("workspace", memory.workspace), graphs]);
    (terms, cache)
}

/// GPUs of one replica: from the command line, the declared capacity, or the allocation.
fn replica_split(workload: &Workload, inference: &Inference, server: &Server) -> Split {
    let tensor = arguments::number::<u32>(workload, &TENSOR_PARALLEL).filter(|size| *size > 0);
    if let Some(tensor) = tensor {
        let stages = arguments::number::<u32>(workload, &PIPELINE_STAGES).unwrap_or(1).max(1);
        return Split::exactly(f64::from(tensor) * f64::from(stages));
    }
    if let Some(capacity) = &inference.capacity {
        return Split::exactly(capacity.gpus.max(1.0));
    }
    let normal = workload.allocation.and_then(|allocation| allocation.normal);
    let most = normal.unwrap_or(f64::from(server.gpu_count)).max(1.0);
    Split { least: 1.0, most }
}

const TENSOR_PARALLEL: [&str; 4] = ["--tensor-parallel-size", "-tp", "--tp-size", "--tp"];
const PIPELINE_STAGES: [&str; 3] = ["--pipeline-parallel-size", "-pp", "--pp-size"];

/// Keys and values of every token in the cache: 2 × layers × kv_heads × head_size × bytes. The
/// parameter count says nothing of it: models of equal size differ by grouped heads alone by a
/// factor of eight.
fn kv_from_architecture(
    workload: &Workload,
    inference: &Inference,
    split: Split,
    server: &Server,
) -> (Term, Option<Cache>) {
    let unknown = (declared("kv", None), None);
    let Some(model) = &workload.model else { return unknown };
    let (Some(layers), Some(heads), Some(size)) = (model.layers, model.kv_heads, model.head_size)
    else {
        return unknown;
    };
    let Some((bytes_low, bytes_high)) = cache_value_bytes(workload, model.dtype) else {
        return unknown;
    };
    let values = 2.0 * f64::from(layers) * f64::from(heads) * f64::from(size);
    // A head is never split: beyond one head a rank the heads are copied.
    let spread = Split { least: split.least.min(f64::from(heads)), most: split.most };
    let token =
        Range { low: spread.of(values * bytes_low).low, high: spread.of(values * bytes_high).high };
    let shape = format!(
        "2 × {layers} layers × {heads} heads × {size} × {} B{}",
        if bytes_low == bytes_high { number(bytes_low, 0) } else { "1 to 2".to_owned() },
        spread.words()
    );
    let times =
        |tokens: f64| Range { low: token.low * tokens, high: token.high.map(|h| h * tokens) };
    if let Some(tokens) = inference.capacity.as_ref().and_then(|capacity| capacity.kv_tokens) {
        let how = format!("{shape} × {} tokens of a replica", number(tokens, 0));
        return (Term { range: times(tokens), how: Some(how), ..declared("kv", None) }, None);
    }
    let Some(flight) = in_flight(workload, inference, split, server) else { return unknown };
    let range = Range {
        low: token.low * flight.requests_low * flight.tokens_low,
        high: token.high.map(|high| high * flight.requests_high * flight.tokens_high),
    };
    let how = format!(
        "{shape} × {} in flight × {} to {} tokens",
        if flight.requests_low == flight.requests_high {
            number(flight.requests_low, 1)
        } else {
            format!("{} to {}", number(flight.requests_low, 1), number(flight.requests_high, 1))
        },
        number(flight.tokens_low, 0),
        number(flight.tokens_high, 0)
    );
    let cache = Cache { request_low: token.low * flight.tokens_low, low: range.low };
    (Term { range, how: Some(how), ..declared("kv", None) }, Some(cache))
}

/// Bytes of one value in the cache, least and most.
fn cache_value_bytes(workload: &Workload, dtype: Option<Dtype>) -> Option<(f64, f64)> {
    let asked = arguments::option(workload, &["--kv-cache-dtype"]);
    match asked {
        Some(name) if name.starts_with("fp8") || name.starts_with("int8") => {
            return Some((1.0, 1.0));
        }
        Some("bfloat16" | "float16") => return Some((2.0, 2.0)),
        _ => {}
    }
    Some(match dtype? {
        Dtype::Float32 => (4.0, 4.0),
        Dtype::Float16 | Dtype::Bfloat16 => (2.0, 2.0),
        // Weights of 8 or 4 bit say nothing of the cache, which most engines keep in 16 bit.
        Dtype::Fp8 | Dtype::Int8 | Dtype::Fp4 | Dtype::Int4 => (1.0, 2.0),
    })
}

/// Requests in one replica at the declared peak, and tokens of one of them.
struct Flight {
    requests_low: f64,
    requests_high: f64,
    tokens_low: f64,
    tokens_high: f64,
}

fn in_flight(
    workload: &Workload,
    inference: &Inference,
    split: Split,
    server: &Server,
) -> Option<Flight> {
    let limit = workload.limits.and_then(|limits| limits.concurrent);
    let requests = f64::from(inference.concurrency.or(limit)?);
    let normal = workload.allocation.and_then(|allocation| allocation.normal);
    let gpus = normal.unwrap_or(f64::from(server.gpu_count)).max(1.0);
    let replicas_most = (gpus / split.least).max(1.0);
    let is_known = normal.is_some() && split.least == split.most;
    let replicas_least = if is_known { replicas_most } else { 1.0 };
    let prompts = counts(workload, inference.prompt_tokens, |class| class.prompt_tokens)?;
    let answers = counts(workload, inference.output_tokens, |class| class.output_tokens)?;
    Some(Flight {
        requests_low: requests / replicas_most,
        requests_high: requests / replicas_least,
        // A request in flight has made half of its answer on average.
        tokens_low: f64::from(prompts.p50) + f64::from(answers.p50) / 2.0,
        tokens_high: f64::from(prompts.p95) + f64::from(answers.p95),
    })
}

/// Tokens of the whole workload, or the widest range over its classes.
fn counts(
    workload: &Workload,
    whole: Option<TokenCounts>,
    of_class: impl Fn(&crate::site::RequestClass) -> Option<TokenCounts>,
) -> Option<TokenCounts> {
    if whole.is_some() {
        return whole;
    }
    let classes: Vec<TokenCounts> = workload.classes.iter().filter_map(of_class).collect();
    let p50 = classes.iter().map(|counts| counts.p50).min()?;
    let p95 = classes.iter().map(|counts| counts.p95).max()?;
    Some(TokenCounts { p50, p95 })
}

/// Gradients, optimizer state and activations depend on optimizer, precision and recomputation, which
/// the file does not say: they are `workspace`, or unknown.
fn training_terms(workload: &Workload, training: &Training, memory: &MemoryNeed) -> Vec<Term> {
    let split = training.parallelism.as_ref().map_or(Split::exactly(1.0), |parallelism| {
        let whole = f64::from(parallelism.tp.max(1)) * f64::from(parallelism.pp.max(1));
        // Sharded parameters are whole for a moment, one layer or all, while they are used.
        Split { least: whole, most: whole * f64::from(parallelism.fsdp.max(1)) }
    });
    let workspace = Term {
        how: memory
            .workspace
            .is_none()
            .then(|| "gradients, optimizer state and activations".to_owned()),
        ..declared("workspace", memory.workspace)
    };
    let mut terms: Vec<Term> =
        weights(memory, workload.model.as_ref(), split, false).into_iter().collect();
    terms.push(workspace);
    let extra = [("kv", memory.kv), ("graphs", memory.graphs)];
    terms.extend(extra.into_iter().filter(|(_, is)| is.is_some()).map(|(n, is)| declared(n, is)));
    terms
}

fn batch_terms(workload: &Workload, _: &Batch, memory: &MemoryNeed) -> Vec<Term> {
    let split = Split::exactly(1.0);
    let mut terms: Vec<Term> =
        weights(memory, workload.model.as_ref(), split, true).into_iter().collect();
    terms.push(declared("workspace", memory.workspace));
    let extra = [("kv", memory.kv), ("graphs", memory.graphs)];
    terms.extend(extra.into_iter().filter(|(_, is)| is.is_some()).map(|(n, is)| declared(n, is)));
    terms
}

fn render_terms(render: &Render, memory: &MemoryNeed) -> Vec<Term> {
    let scene = Term { field: "peak", ..declared("scene_memory", render.scene_memory) };
    let mut terms = vec![scene, declared("workspace", memory.workspace)];
    if memory.weights.is_some() {
        terms.push(declared("weights", memory.weights));
    }
    terms
}
