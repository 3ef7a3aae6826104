//! What places work on the machine: Slurm, Kubernetes, or nothing that shows.

use cotenant_core::evidence::{Missing, Reading};
use cotenant_core::machine::{Finding, Found, SchedulerFound, missing};
use cotenant_core::site::SchedulerKind;

use super::processes::Processes;
use super::surroundings::Surroundings;
use super::survey::reason;
use crate::{scheduler, tool};

/// Where Kubernetes gives a pod its account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The scheduler. Slurm places jobs on a machine where its daemon runs or that it knows as a node;
/// Kubernetes, where a kubelet runs or this process is in a pod.
pub(super) fn scheduler(
    around: &Surroundings,
    processes: &Processes,
    name: Option<&Found<String>>,
) -> Finding<SchedulerFound> {
    let kubelet = !processes.named("kubelet").is_empty();
    let in_pod = around.is_pod || around.root.path(ACCOUNT).is_dir();
    let node =
        name.map_or_else(|| missing("the machine has no name"), |name| slurm(around, &name.value));
    let slurmd = !processes.named("slurmd").is_empty();
    if let Ok(found) = &node
        && !found.value.notes.is_empty()
    {
        return node;
    }
    if slurmd {
        let version =
            node.as_ref().map_err(Clone::clone).and_then(|node| node.value.version.clone());
        let notes = vec![];
        let found = SchedulerFound { kind: SchedulerKind::Slurm, version, notes };
        return Ok(Found::new(found, "slurmd runs"));
    }
    if kubelet || in_pod {
        let how = if kubelet { "a kubelet runs" } else { "this process is in a pod" };
        return Ok(Found::new(kubernetes(around, name.map(|name| name.value.as_str())), how));
    }
    if processes.all.is_empty() {
        return missing("no process can be seen, so neither slurmd nor kubelet");
    }
    let why_not = node.as_ref().err().map_or("it does not know this machine", reason);
    let found = SchedulerFound {
        kind: SchedulerKind::None,
        version: missing("there is none"),
        notes: Vec::new(),
    };
    Ok(Found::new(
        found,
        format!("neither slurmd nor kubelet runs, and this is no pod; Slurm: {why_not}"),
    ))
}

/// What Slurm says of this node, and in which version. Without notes it does not know the machine.
fn slurm(around: &Surroundings, node: &str) -> Finding<SchedulerFound> {
    let ask = |arguments: &[&str]| {
        tool::run(&around.scontrol, arguments, around.tool_patience)
            .and_then(tool::Printed::success)
            .map_err(Missing)
    };
    let version = ask(&["--version"])?;
    let version = version.trim().strip_prefix("slurm ").unwrap_or(version.trim()).to_owned();
    let told = ask(&["show", "node", node]);
    let notes = told.ok().and_then(|text| slurm_notes(&text)).unwrap_or_default();
    let found = SchedulerFound { kind: SchedulerKind::Slurm, version: Ok(version), notes };
    Ok(Found::new(found, format!("`scontrol show node {node}`")))
}

/// Lines for people about the first node of a text of `scontrol show node`.
fn slurm_notes(text: &str) -> Option<Vec<String>> {
    let reading = scheduler::read("scontrol", text.as_bytes()).ok()?;
    let node = reading.nodes.first()?;
    let mut notes = Vec::new();
    let mut note = |what: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            notes.push(format!("{what}: {value}"));
        }
    };
    note("Slurm node", node.name.clone().ok());
    note("state", node.states.clone().ok().map(|states| states.join("+")));
    note("partition", node.partition.clone().ok());
    note("CPUs", node.cpus.clone().ok().map(|cpus| cpus.to_string()));
    note("memory", node.memory_mib.clone().ok().map(|mib| format!("{mib} MiB")));
    note("GPUs", node.gpus.clone().ok().map(|gpus| gpus.total.to_string()));
    (!notes.is_empty()).then_some(notes)
}

/// What Kubernetes says of this node, where its tool answers.
fn kubernetes(around: &Surroundings, node: Option<&str>) -> SchedulerFound {
    let seconds = format!("--request-timeout={}s", around.tool_patience.as_secs().max(1));
    let told: Reading<String> = match node {
        None => missing("the machine has no name"),
        Some(node) => {
            let arguments = ["get", "node", node, "-o", "json", seconds.as_str()];
            tool::run(&around.kubectl, &arguments, around.tool_patience)
                .and_then(tool::Printed::success)
                .map_err(Missing)
        }
    };
    let mut found = SchedulerFound {
        kind: SchedulerKind::Kubernetes,
        version: missing("kubectl does not tell of this node"),
        notes: Vec::new(),
    };
    let text = match told {
        Ok(text) => text,
        Err(why) => {
            found.version = Err(why);
            return found;
        }
    };
    let Ok(reading) = scheduler::read("node.json", text.as_bytes()) else { return found };
    let Some(node) = reading.kubernetes_nodes.first() else { return found };
    found.version = node.version.clone().map_err(|absence| Missing(absence.to_string()));
    let labels = [
        ("Kubernetes node", &node.name),
        ("nvidia.com/gpu.product", &node.gpu_product),
        ("nvidia.com/mig.strategy", &node.mig_strategy),
        ("nvidia.com/mig.config", &node.mig_config),
        ("nvidia.com/mig.config.state", &node.mig_config_state),
        ("nvidia.com/gpu.sharing-strategy", &node.gpu_sharing),
    ];
    for (label, value) in labels {
        if let Ok(value) = value {
            found.notes.push(format!("{label}: {value}"));
        }
    }
    found
}
