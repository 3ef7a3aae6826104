//! GPUs: how many there are, and who may have which.

use std::collections::HashMap;

use super::entries::{key_span, mode, value_span, workloads};
use crate::site::tree::Node;
use crate::site::view::View;
use crate::site::{Problem, Span};

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let view = View(root);
    let servers = view.group("server").into_iter().chain(
        view.group("pool")
            .into_iter()
            .flat_map(|pool| pool.list("nodes"))
            .filter_map(|node| node.group("server")),
    );
    for server in servers {
        held_and_seen(server, problems);
        server_rules(server, problems);
    }
    let Some(server) = view.group("server") else { return };
    let Some(gpu_count) = count_of(server) else { return };
    modes(root, server, gpu_count, problems);
    for (index, span) in gpus_named(root, server) {
        if index >= gpu_count && gpu_count > 0 {
            problems.push(
                Problem::error("gpu-number", format!("there is no GPU {index}"))
                    .at(span, "no such GPU")
                    .beside(value_span(server, "gpu_count"), format!("GPUs 0 to {}", gpu_count - 1))
                    .hint("GPUs are counted from 0"),
            );
        }
    }
    assigned_twice(root, problems);
    for workload in workloads(root) {
        amounts(workload.view, server, gpu_count, problems);
    }
}

/// GPUs of a server, where the file is clear about it.
fn count_of(server: View<'_>) -> Option<u32> {
    if server.text("gpu")? == "none" { Some(0) } else { server.whole("gpu_count") }
}

fn server_rules(server: View<'_>, problems: &mut Vec<Problem>) {
    let Some(gpu) = server.text("gpu") else { return };
    let gpu_span = value_span(server, "gpu");
    match (gpu, server.whole("gpu_count")) {
        ("none", Some(count @ 1..)) => problems.push(
            Problem::error("gpu-count", format!("no GPU, and {count} of them"))
                .at(value_span(server, "gpu_count"), gpus(f64::from(count)))
                .beside(gpu_span, "no GPU")
                .hint("name the GPU model, or write `gpu_count: 0`"),
        ),
        ("none", _) => {}
        (_, Some(0)) => problems.push(
            Problem::error("gpu-count", "a GPU model, and none of them")
                .at(value_span(server, "gpu_count"), "no GPU")
                .beside(gpu_span, "a model is named")
                .hint("write how many, or `gpu: none`"),
        ),
        (_, None) if !server.has("gpu_count") => problems.push(
            Problem::error("missing", "the server lacks `gpu_count`")
                .at(key_span(server, "gpu"), "how many of them?")
                .hint("add `gpu_count: 8`"),
        ),
        _ => {}
    }
    if let Some(text) = server.text("gpu_memory")
        && text.ends_with("GB")
        && let Some(bytes) = server.bytes("gpu_memory")
    {
        problems.push(
            Problem::warning("decimal-memory", format!("`{text}` is decimal: it is {bytes}"))
                .at(value_span(server, "gpu_memory"), "GB counts in thousands")
                .hint(format!(
                    "if the data sheet's number is meant, write `{}`",
                    text.replace("GB", "GiB")
                )),
        );
    }
}

/// Others cannot hold more than there is, and no more cores can be used than are seen.
fn held_and_seen(server: View<'_>, problems: &mut Vec<Problem>) {
    let total = server.bytes("gpu_memory");
    if let Some((taken, total)) =
        server.bytes("gpu_memory_taken").zip(total).filter(|(taken, total)| taken > total)
    {
        problems.push(
            Problem::error("gpu-memory", "others hold more memory than a GPU has")
                .at(value_span(server, "gpu_memory_taken"), taken.to_string())
                .beside(value_span(server, "gpu_memory"), total.to_string())
                .hint("`gpu_memory_taken` is what processes outside of this file hold on each GPU"),
        );
    }
    let visible = server.number("cpu_cores_visible");
    if let Some((usable, visible)) =
        server.number("cpu_cores").zip(visible).filter(|(usable, visible)| usable > visible)
    {
        problems.push(
            Problem::warning("cpu-cores", "more CPU cores can be used than programs see")
                .at(value_span(server, "cpu_cores"), format!("{usable} can be used"))
                .beside(value_span(server, "cpu_cores_visible"), format!("{visible} are seen"))
                .hint("`cpu_cores` is what quota and affinity leave, at most what is seen"),
        );
    }
}

/// A mode that needs a GPU needs one; the mode without a GPU is for machines without.
fn modes(root: &Node, server: View<'_>, gpu_count: u32, problems: &mut Vec<Problem>) {
    let Some(sharing) = View(root).group("sharing") else { return };
    let Some((name, _)) = sharing.variant("mode") else { return };
    let mode_span = match sharing.group("mode") {
        Some(group) => key_span(group, name),
        None => value_span(sharing, "mode"),
    };
    let gpu_key = if server.has("gpu_count") { "gpu_count" } else { "gpu" };
    let gpu_span = value_span(server, gpu_key);
    match name {
        "host_cpu" if gpu_count > 0 => problems.push(
            Problem::error("mode-needs-no-gpu", "`host_cpu` shares CPU cores alone")
                .at(mode_span, "for machines without a GPU")
                .beside(gpu_span, format!("this server has {gpu_count}"))
                .hint("choose a mode for GPUs, such as `whole_gpu`, or write `candidates: all`"),
        ),
        "whole_gpu" | "mig" | "mps" | "time_slicing" if gpu_count == 0 => problems.push(
            Problem::error("mode-needs-gpu", format!("`{name}` shares GPUs"))
                .at(mode_span, "needs a GPU")
                .beside(gpu_span, "this server has none")
                .hint("without a GPU, write `mode: host_cpu`"),
        ),
        _ => {}
    }
}

/// Every number of a GPU in the file, with its place.
fn gpus_named(root: &Node, server: View<'_>) -> Vec<(u32, Span)> {
    let mut lists: Vec<&Node> = Vec::new();
    if let Some(entry) = mode(root, "whole_gpu") {
        lists.extend(entry.value.entries().iter().map(|entry| &entry.value));
    }
    if let Some(gpus) = mode(root, "time_slicing").and_then(|entry| entry.value.entry("gpus")) {
        lists.extend(gpus.value.entries().iter().map(|entry| &entry.value));
    }
    for name in ["mig", "temporal"] {
        if let Some(entry) = mode(root, name) {
            let items = entry.value.items().iter();
            lists.extend(items.filter_map(|item| item.entry("gpus")).map(|entry| &entry.value));
        }
    }
    lists.extend(server.list("numa").filter_map(|node| node.node("gpus")));
    lists.into_iter().flat_map(indexes_with_place).collect()
}

fn indexes_with_place(list: &Node) -> Vec<(u32, Span)> {
    if list.text().is_some() {
        // Of a range only the highest number can be out of range alone, and it says enough.
        let indexes = View(list).own_indexes().unwrap_or_default();
        return indexes.last().map(|index| (*index, list.span)).into_iter().collect();
    }
    let items = list.items().iter();
    items.filter_map(|item| Some((item.text()?.parse().ok()?, item.span))).collect()
}

/// A GPU that belongs to two workloads is not exclusive, and one cannot be partitioned twice.
fn assigned_twice(root: &Node, problems: &mut Vec<Problem>) {
    let mut owners: HashMap<u32, (String, Span)> = HashMap::new();
    let mut claim = |index: u32, owner: &str, span: Span| {
        if let Some((first, first_span)) = owners.get(&index) {
            problems.push(
                Problem::error("gpu-twice", format!("GPU {index} is given away twice"))
                    .at(span, format!("to {owner}"))
                    .beside(*first_span, format!("to {first}"))
                    .hint("a whole GPU belongs to one; to share one, choose another mode"),
            );
        } else {
            owners.insert(index, (owner.to_owned(), span));
        }
    };
    if let Some(entry) = mode(root, "whole_gpu") {
        for owner in entry.value.entries() {
            for index in View(&owner.value).own_indexes().unwrap_or_default() {
                claim(index, &format!("`{}`", owner.key), owner.value.span);
            }
        }
    }
    if let Some(entry) = mode(root, "mig") {
        for layout in entry.value.items().iter().map(View) {
            for index in layout.indexes("gpus").unwrap_or_default() {
                claim(index, "this layout", value_span(layout, "gpus"));
            }
        }
    }
}

/// Amounts of GPUs that are more than there are.
fn amounts(workload: View<'_>, server: View<'_>, gpu_count: u32, problems: &mut Vec<Problem>) {
    let available = f64::from(gpu_count);
    let count_key = if server.has("gpu_count") { "gpu_count" } else { "gpu" };
    let too_many = |problems: &mut Vec<Problem>, view: View<'_>, key: &str, amount: f64| {
        let code = match key {
            "normal" => "allocation",
            "gpus" => "capacity",
            _ => "reserve",
        };
        if amount > available {
            problems.push(
                Problem::error(code, format!("`{key}` is more than the server has"))
                    .at(value_span(view, key), gpus(amount))
                    .beside(value_span(server, count_key), gpus(available))
                    .hint("write what the server can give"),
            );
        }
    };
    if let Some(inference) = workload.group("inference") {
        if let Some(capacity) = inference.group("capacity")
            && let Some(gpus) = capacity.number("gpus")
        {
            too_many(problems, capacity, "gpus", gpus);
        }
        let minimum = inference.number("minimum_reserved").unwrap_or(0.0);
        too_many(problems, inference, "minimum_reserved", minimum);
        if let Some(burst) = inference.number("burst_reserve") {
            too_many(problems, inference, "burst_reserve", burst);
            if minimum <= available && burst <= available && minimum + burst > available {
                problems.push(
                    Problem::error(
                        "reserve",
                        "the two reserves together are more than the server has",
                    )
                    .at(value_span(inference, "burst_reserve"), format!("{} more", gpus(burst)))
                    .beside(value_span(inference, "minimum_reserved"), gpus(minimum))
                    .beside(value_span(server, count_key), gpus(available))
                    .hint("`burst_reserve` counts beyond `minimum_reserved`"),
                );
            }
        }
    }
    if let Some(allocation) = workload.group("allocation") {
        let normal = allocation.number("normal");
        let minimum = allocation.number("minimum_useful");
        if let Some(normal) = normal {
            too_many(problems, allocation, "normal", normal);
        }
        if let Some((minimum, normal)) =
            minimum.zip(normal).filter(|(minimum, normal)| minimum > normal)
        {
            problems.push(
                Problem::error("allocation", "the normal allocation is too small to be useful")
                    .at(value_span(allocation, "normal"), gpus(normal))
                    .beside(
                        value_span(allocation, "minimum_useful"),
                        format!("useful from {minimum}"),
                    )
                    .hint("`minimum_useful` is at most `normal`"),
            );
        }
    }
    if let Some(training) = workload.group("training")
        && let Some(parallelism) = training.group("parallelism")
    {
        let size = |key| u64::from(parallelism.whole(key).unwrap_or(1));
        let needed = ["dp", "fsdp", "tp", "pp"].into_iter().map(size).fold(1, u64::saturating_mul);
        // On a machine without a GPU ranks are processes.
        if gpu_count > 0 && needed > u64::from(gpu_count) {
            problems.push(
                Problem::error("parallelism", format!("the job needs {needed} GPUs"))
                    .at(key_span(training, "parallelism"), "dp × fsdp × tp × pp")
                    .beside(value_span(server, count_key), gpus(available))
                    .hint("make the sizes multiply to what the server can give"),
            );
        }
    }
}

/// A number of GPUs in words.
fn gpus(count: f64) -> String {
    if count == 1.0 { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}
