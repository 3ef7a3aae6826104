//! What every workload has.

use cotenant_core::site::{
    Allocation, Faults, FigureOrigin, Launch, Limits, MemoryNeed, Model, OutOfMemoryReaction,
    Ready, RequestClass, TokenCounts, Workload, WorkloadKind,
};
use jiff::tz::TimeZone;

use super::kinds;
use crate::site::scalar;
use crate::site::view::View;

pub(super) fn workload(view: View<'_>, time_zone: &TimeZone) -> Option<Workload> {
    let kind = if let Some(group) = view.group("inference") {
        WorkloadKind::Inference(Box::new(kinds::inference(group, time_zone)?))
    } else if let Some(group) = view.group("training") {
        WorkloadKind::Training(Box::new(kinds::training(group, time_zone)?))
    } else if let Some(group) = view.group("batch") {
        WorkloadKind::Batch(Box::new(kinds::batch(group, time_zone)?))
    } else {
        WorkloadKind::Render(Box::new(kinds::render(view.group("render")?, time_zone)?))
    };
    Some(Workload {
        name: view.string("name")?,
        kind,
        owner: view.string("owner"),
        model: view.group("model").and_then(model),
        weight: view.number("weight"),
        faults: match view.group("faults") {
            Some(group) => Some(Faults {
                per_month: group.number("per_month")?,
                recovery: group.duration("recovery"),
            }),
            None => None,
        },
        memory: view.group("memory").map(memory),
        allocation: view.group("allocation").map(|group| Allocation {
            normal: group.number("normal"),
            minimum_useful: group.number("minimum_useful"),
            gang: group.flag("gang"),
            minimum_run: group.duration("minimum_run"),
        }),
        priority: view.integer("priority"),
        limits: view.group("limits").map(|group| Limits {
            concurrent: group.whole("concurrent"),
            queued: group.whole("queued"),
        }),
        on_out_of_memory: view.word(
            "on_out_of_memory",
            &OutOfMemoryReaction::ALL,
            OutOfMemoryReaction::name,
        ),
        classes: view.list("classes").map(class).collect::<Option<_>>()?,
    })
}

fn model(view: View<'_>) -> Option<Model> {
    Some(Model {
        name: view.string("name")?,
        parameters: view.count("parameters"),
        layers: view.whole("layers"),
        kv_heads: view.whole("kv_heads"),
        head_size: view.whole("head_size"),
        dtype: view.parsed("dtype", scalar::dtype),
    })
}

/// Where figures come from; without a word, somebody declares them.
pub(super) fn figure_origin(view: View<'_>) -> FigureOrigin {
    view.word("origin", &FigureOrigin::ALL, FigureOrigin::name).unwrap_or(FigureOrigin::Declared)
}

fn memory(view: View<'_>) -> MemoryNeed {
    MemoryNeed {
        origin: figure_origin(view),
        weights: view.bytes("weights"),
        kv: view.bytes("kv"),
        workspace: view.bytes("workspace"),
        graphs: view.bytes("graphs"),
        peak: view.bytes("peak"),
        fraction_of_total: view.share("fraction_of_total"),
        host: view.bytes("host"),
        processes: view.whole("processes"),
        sleep_level: view.whole("sleep_level"),
        checkpoint_transient: view.bytes("checkpoint_transient"),
    }
}

fn class(view: View<'_>) -> Option<RequestClass> {
    Some(RequestClass {
        name: view.string("name")?,
        share: view.share("share"),
        prompt_tokens: tokens(view, "prompt_tokens"),
        output_tokens: tokens(view, "output_tokens"),
        objectives: view.group("objectives").map(kinds::objectives),
    })
}

pub(super) fn tokens(view: View<'_>, key: &str) -> Option<TokenCounts> {
    let group = view.group(key)?;
    Some(TokenCounts { p50: group.whole("p50")?, p95: group.whole("p95")? })
}

pub(super) fn launch(view: View<'_>) -> Option<Launch> {
    let ready = view.group("ready").map_or_else(Ready::default, |group| Ready {
        path: group.string("path").unwrap_or_else(|| Ready::PATH_DEFAULT.to_owned()),
        time_limit: group.duration("time_limit").unwrap_or(Ready::TIME_LIMIT_DEFAULT),
    });
    let argv = view.texts("argv");
    let launch = Launch { argv, cwd: view.string("cwd"), env: view.text_map("env"), ready };
    (!launch.argv.is_empty()).then_some(launch)
}
