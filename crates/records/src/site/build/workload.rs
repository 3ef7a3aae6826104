//! What every workload has.

use cotenant_core::site::{
    Allocation, Launch, Limits, MemoryNeed, MemoryOrigin, Model, OutOfMemoryReaction, Ready,
    RequestClass, TokenCounts, Workload, WorkloadKind,
};
use jiff::tz::TimeZone;

use super::kinds;
use crate::site::scalar;
use crate::site::view::View;

pub(super) fn workload(view: View<'_>, time_zone: &TimeZone) -> Option<Workload> {
    let kind = if let Some(group) = view.group("inference") {
        WorkloadKind::Inference(Box::new(kinds::inference(group)?))
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
        memory: view.group("memory").map(memory),
        allocation: view.group("allocation").map(|group| Allocation {
            normal: group.number("normal"),
            minimum_useful: group.number("minimum_useful"),
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

fn memory(view: View<'_>) -> MemoryNeed {
    MemoryNeed {
        origin: view
            .word("origin", &MemoryOrigin::ALL, MemoryOrigin::name)
            .unwrap_or(MemoryOrigin::Declared),
        weights: view.bytes("weights"),
        kv: view.bytes("kv"),
        workspace: view.bytes("workspace"),
        graphs: view.bytes("graphs"),
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
