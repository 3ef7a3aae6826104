//! What is particular to inference, training, batch and rendering.

use cotenant_core::site::{
    Batch, BatchRoute, BurstReserve, Checkpoint, Deadline, Demand, DemandQuery, EngineSleep, Guard,
    Inference, InferenceObjectives, LogFormat, LogProducer, Parallelism, Preemption, RateSeries,
    Render, RenderNeeds, ReplicaCapacity, RestartUnit, SlurmJob, TableRow, ThroughputAt,
    TraceColumns, TraceDemand, TraceFormat, TraceWindow, Training, TrainingLog, TrainingObjectives,
    TrainingType,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::workload::{figure_origin, launch, tokens};
use crate::site::deadline::{instant, one_off};
use crate::site::scalar;
use crate::site::view::View;

pub(super) fn inference(view: View<'_>, time_zone: &TimeZone) -> Option<Inference> {
    let capacity = match view.group("capacity") {
        Some(group) => Some(capacity(group)?),
        None => None,
    };
    Some(Inference {
        runtime: view.string("runtime"),
        version: view.string("version"),
        arguments: view.texts("arguments"),
        endpoint: base_url(view.text("endpoint")?),
        metrics_endpoint: view.string("metrics"),
        launch: view.group("launch").and_then(launch),
        sleep: match view.group("sleep") {
            Some(group) => Some(EngineSleep { level: u8::try_from(group.whole("level")?).ok()? }),
            None => None,
        },
        demand: demand(view, time_zone)?,
        concurrency: view.whole("concurrency"),
        prompt_tokens: tokens(view, "prompt_tokens"),
        output_tokens: tokens(view, "output_tokens"),
        peak_rate: view.rate("peak_rate"),
        objectives: objectives(view.group("objectives")?),
        capacity,
        service_time: view.duration("service_time"),
        minimum_reserved: view.number("minimum_reserved"),
        burst_reserve: view.text("burst_reserve").and_then(|text| match text {
            "derived" => Some(BurstReserve::Derived),
            _ => scalar::number(text).ok().map(BurstReserve::Gpus),
        }),
        guard: view.group("guard").map(guard),
    })
}

fn guard(view: View<'_>) -> Guard {
    Guard {
        ttft_p95: view.duration("ttft_p95"),
        e2e_p95: view.duration("e2e_p95"),
        longest_gap_p95: view.duration("longest_gap_p95"),
        error_rate: view.share("error_rate"),
        window: view.duration("window"),
    }
}

/// The URL without a trailing slash and without `/v1`, which clients of the API add themselves.
fn base_url(text: &str) -> String {
    let text = text.trim_end_matches('/');
    text.strip_suffix("/v1").unwrap_or(text).trim_end_matches('/').to_owned()
}

fn capacity(view: View<'_>) -> Option<ReplicaCapacity> {
    Some(ReplicaCapacity {
        gpus: view.number("gpus")?,
        origin: figure_origin(view),
        requests: view.rate("requests"),
        requests_in_flight: view.number("requests_in_flight"),
        kv_tokens: view.count("kv_tokens").map(|tokens| tokens as f64),
        prefill: view.rate("prefill"),
        output: view.rate("output"),
    })
}

fn demand(view: View<'_>, time_zone: &TimeZone) -> Option<Demand> {
    let (name, group) = view.variant("demand")?;
    Some(match name {
        "trace" => Demand::Trace(trace(group, time_zone)?),
        "saved_query" => Demand::SavedQuery(group.string("file")?),
        "rates" => Demand::Rates(RateSeries {
            file: group.string("file")?,
            time_column: group.string("time_column"),
            rate_column: group.string("rate_column"),
            begins: begins(group, time_zone)?,
            rate_factor: group.number("rate_factor"),
        }),
        "poisson" => Demand::Poisson { rate: group.rate("rate")? },
        "gamma" => {
            Demand::Gamma { rate: group.rate("rate")?, burstiness: group.number("burstiness")? }
        }
        "constant" => Demand::Constant { rate: group.rate("rate")? },
        "ramp" => Demand::Ramp {
            from: group.rate("from")?,
            to: group.rate("to")?,
            duration: group.duration("duration")?,
        },
        "closed" => Demand::Closed {
            users: group.whole("users")?,
            think_time: group.duration("think_time")?,
        },
        "query" => Demand::Query(DemandQuery {
            url: group.string("url")?,
            query: group.string("query")?,
            range: group.duration("range")?,
        }),
        "table" => {
            let row = |node| {
                let row = View(node);
                Some(TableRow {
                    when: row.parsed("when", scalar::window)?,
                    rate: row.rate("rate")?,
                })
            };
            Demand::Table(group.0.items().iter().map(row).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// When a load begins: absent where the file is silent, and `None` outside where it cannot be built.
#[expect(clippy::option_option, reason = "an absent moment and a broken one are not the same")]
fn begins(view: View<'_>, time_zone: &TimeZone) -> Option<Option<Timestamp>> {
    match view.text("begins") {
        Some(text) => instant(text, time_zone).map(Some),
        None => Some(None),
    }
}

fn trace(view: View<'_>, time_zone: &TimeZone) -> Option<TraceDemand> {
    let window = match view.variant("window") {
        Some(("busiest", _)) => {
            Some(TraceWindow::Busiest(view.group("window")?.duration("busiest")?))
        }
        Some(("from", part)) => Some(TraceWindow::From {
            start: part.duration("start")?,
            length: part.duration("length")?,
        }),
        Some(_) => return None,
        None => None,
    };
    Some(TraceDemand {
        file: view.string("file")?,
        format: view.word("format", &TraceFormat::ALL, TraceFormat::name)?,
        rate_factor: view.number("rate_factor"),
        window,
        begins: begins(view, time_zone)?,
        columns: view.group("columns").map(|group| TraceColumns {
            time: group.string("time"),
            prompt_tokens: group.string("prompt_tokens"),
            output_tokens: group.string("output_tokens"),
        }),
    })
}

pub(super) fn objectives(view: View<'_>) -> InferenceObjectives {
    InferenceObjectives {
        ttft_p95: view.duration("ttft_p95"),
        ttft_p99: view.duration("ttft_p99"),
        itl_p95: view.duration("itl_p95"),
        tpot_p95: view.duration("tpot_p95"),
        e2e_p95: view.duration("e2e_p95"),
        queue_length: view.whole("queue_length"),
        queue_time: view.duration("queue_time"),
        error_rate: view.share("error_rate"),
        throughput: view.rate("throughput"),
        availability: view.share("availability"),
    }
}

pub(super) fn training(view: View<'_>, time_zone: &TimeZone) -> Option<Training> {
    let at = |item: View<'_>| {
        Some(ThroughputAt { gpus: item.whole("gpus")?, throughput: item.rate("throughput")? })
    };
    let objectives = view.group("objectives")?;
    Some(Training {
        training_type: view.text("type").map(training_type),
        parallelism: parallelism(view),
        launch: view.group("launch").and_then(launch),
        step_time_alone: view.duration("step_time_alone"),
        throughput_alone: view.list("throughput_alone").map(at).collect::<Option<_>>()?,
        steps: view.count("steps"),
        work: view.parsed("work", scalar::work),
        jobs_per_week: view.number("jobs_per_week"),
        duration: view.duration("duration"),
        objectives: TrainingObjectives {
            deadline: deadline(objectives, time_zone)?,
            on_time_share: objectives.share("on_time_share"),
            step_time_max: objectives.duration("step_time_max"),
            throughput_min: objectives.rate("throughput_min"),
        },
        checkpoint: view.group("checkpoint").map(checkpoint),
        preemption: view.group("preemption").and_then(preemption),
        log: view.group("log").and_then(log),
    })
}

fn training_type(text: &str) -> TrainingType {
    TrainingType::NAMED
        .into_iter()
        .find(|kind| kind.name() == text)
        .unwrap_or_else(|| TrainingType::Other(text.to_owned()))
}

fn parallelism(view: View<'_>) -> Option<Parallelism> {
    if view.text("parallelism").is_some() {
        return Some(Parallelism::single());
    }
    let group = view.group("parallelism")?;
    let size = |key| group.whole(key).unwrap_or(1);
    Some(Parallelism {
        dp: size("dp"),
        fsdp: size("fsdp"),
        tp: size("tp"),
        pp: size("pp"),
        ep: size("ep"),
        collectives: group.texts("collectives"),
        needs_p2p: group.flag("needs_p2p"),
    })
}

/// The deadline: absent where none is declared, and `None` outside where it cannot be built.
#[expect(clippy::option_option, reason = "an absent deadline and a broken one are not the same")]
fn deadline(view: View<'_>, time_zone: &TimeZone) -> Option<Option<Deadline>> {
    let Some(group) = view.group("deadline") else { return Some(None) };
    if let Some(at) = group.text("at") {
        return one_off(at, group.text("start"), time_zone).map(Some);
    }
    let (days, minute) = group.parsed("weekly", scalar::weekly)?;
    Some(Some(Deadline::Weekly { days, minute }))
}

fn checkpoint(view: View<'_>) -> Checkpoint {
    Checkpoint {
        interval: view.parsed("interval", scalar::interval),
        duration: view.duration("duration"),
        resume_duration: view.duration("resume_duration"),
        asynchronous: view.flag("asynchronous"),
        host_memory: view.bytes("host_memory"),
        size: view.bytes("size"),
        signal: view.parsed("signal", scalar::signal),
    }
}

fn preemption(view: View<'_>) -> Option<Preemption> {
    Some(Preemption {
        allowed: view.flag("allowed")?,
        signal: view.parsed("signal", scalar::signal),
        notice: view.duration("notice"),
        lost_work: view.parsed("lost_work", scalar::lost_work),
        mean_time_to_loss: view.duration("mean_time_to_loss"),
        failure_share_max: view.share("failure_share_max"),
        slurm: match view.group("slurm") {
            Some(group) => {
                Some(SlurmJob { submit: group.texts("submit"), output: group.string("output")? })
            }
            None => None,
        },
    })
}

fn log(view: View<'_>) -> Option<TrainingLog> {
    let format = match view.string("step") {
        Some(template) => LogFormat::Template(template),
        None => match view.text("format")? {
            "cotenant" => LogFormat::Cotenant,
            name => LogFormat::Named(LogProducer::from_name(name)?),
        },
    };
    let (checkpoint, resumed) = (view.string("checkpoint"), view.string("resumed"));
    Some(TrainingLog { format, checkpoint, resumed })
}

pub(super) fn batch(view: View<'_>, time_zone: &TimeZone) -> Option<Batch> {
    let route = match view.string("serving") {
        Some(workload) => BatchRoute::Serving(workload),
        None => BatchRoute::Job(launch(view.group("job")?)?),
    };
    Some(Batch {
        route,
        items: view.count("items"),
        throughput_alone: view.rate("throughput_alone"),
        deadline: deadline(view, time_zone)?,
        class: view.string("class"),
    })
}

pub(super) fn render(view: View<'_>, time_zone: &TimeZone) -> Option<Render> {
    Some(Render {
        engine: view.string("engine"),
        version: view.string("version"),
        needs: view.word("needs", &RenderNeeds::ALL, RenderNeeds::name),
        scene_memory: view.bytes("scene_memory"),
        restart_unit: view.word("restart_unit", &RestartUnit::ALL, RestartUnit::name),
        job: Training {
            launch: view.group("launch").and_then(launch),
            steps: view.count("frames"),
            step_time_alone: view.duration("frame_time_alone"),
            objectives: TrainingObjectives {
                deadline: deadline(view, time_zone)?,
                step_time_max: view.duration("frame_time_max"),
                ..TrainingObjectives::default()
            },
            preemption: view.group("preemption").and_then(preemption),
            log: view.group("log").and_then(log),
            ..Training::default()
        },
    })
}
