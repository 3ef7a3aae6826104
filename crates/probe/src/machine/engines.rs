//! Engines that answer on the loopback. They are asked with GETs, and never touched otherwise.

use std::time::Duration;

use cotenant_core::evidence::{Missing, Reading};
use cotenant_core::machine::{EngineFound, Finding, Found, Gpus, missing};

use super::processes::Processes;
use super::surroundings::Surroundings;
use crate::engine_metrics::{EngineKind, Identity, identify};
use crate::host::{Root, listeners};
use crate::http;

/// Which ports are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnginePorts {
    /// Every port that listens on the loopback, but those of well-known other services.
    All,
    /// These.
    These(Vec<u16>),
    /// None.
    Nobody,
}

/// Ports of services that speak no HTTP, or that count a stranger's question as an attack: SSH, mail,
/// names, portmapper, LDAP, printing, Slurm, MySQL, PostgreSQL, Redis, etcd, the kubelet, memcached,
/// MongoDB, message brokers.
const PASSED: [u16; 26] = [
    22, 25, 53, 111, 389, 465, 587, 631, 636, 2049, 2379, 2380, 3306, 5432, 5672, 6379, 6443, 6817,
    6818, 6819, 9042, 9092, 10250, 11211, 27017, 33060,
];

/// Ports that are asked, at most.
const PORTS_MAX: usize = 128;

/// How long a port may take to show that it speaks HTTP.
const HELLO: Duration = Duration::from_secs(2);

/// The engines, by their ports.
pub(super) async fn engines(
    around: &Surroundings,
    processes: &Processes,
    gpus: &Gpus,
) -> Finding<Vec<EngineFound>> {
    let ports = match &around.ports {
        EnginePorts::Nobody => return missing("no port was to be asked"),
        EnginePorts::These(ports) => ports.clone(),
        EnginePorts::All => listening(&around.root)?,
    };
    let asked = ports.len().min(PORTS_MAX);
    let mut answers = tokio::task::JoinSet::new();
    for port in ports.iter().copied().take(PORTS_MAX) {
        let patience = around.engine_patience;
        answers.spawn(async move { (port, ask(port, patience).await) });
    }
    let mut found = Vec::new();
    while let Some(answer) = answers.join_next().await {
        // A question that panicked is a bug, and no reason to leave the rest unsaid.
        if let Ok((port, Some(identity))) = answer {
            found.push(engine(around, processes, gpus, port, identity));
        }
    }
    found.sort_by_key(|engine| engine.port);
    let beyond = match ports.len() - asked {
        0 => String::new(),
        more => format!("; not asked: {more}"),
    };
    Ok(Found::new(found, format!("ports on the loopback that were asked: {asked}{beyond}")))
}

/// Ports that listen on the loopback or on every address, ascending.
fn listening(root: &Root) -> Reading<Vec<u16>> {
    let paths = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts: Vec<Reading<String>> = paths.iter().map(|path| root.read(path)).collect();
    if let [Err(why), Err(_)] = texts.as_slice() {
        return Err(why.clone());
    }
    let mut ports: Vec<u16> =
        texts.iter().flatten().flat_map(|text| text.lines()).filter_map(listening_port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports.retain(|port| !PASSED.contains(port));
    Ok(ports)
}

/// The port of a line of `/proc/net/tcp` whose socket listens (state 0A) where the loopback's IPv4
/// address reaches it: on it, on every address, or on every address of both families.
fn listening_port(line: &str) -> Option<u16> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, local, _, "0A", ..] = fields.as_slice() else { return None };
    let (address, port) = local.split_once(':')?;
    let is_near = ["0100007F", "00000000", "00000000000000000000000000000000"].contains(&address)
        || address == "0000000000000000FFFF00000100007F";
    if is_near { u16::from_str_radix(port, 16).ok() } else { None }
}

/// What a port is; `None` where it speaks no HTTP or is no engine.
async fn ask(port: u16, patience: Duration) -> Option<Identity> {
    let base = format!("http://127.0.0.1:{port}");
    // One question first: a service that speaks something else is not asked nine more.
    http::get(&format!("{base}/v1/models"), HELLO.min(patience)).await.ok()?;
    let identity = identify(&base, patience).await.ok()?;
    (identity.engine.is_some() || !identity.models.is_empty()).then_some(identity)
}

fn engine(
    around: &Surroundings,
    processes: &Processes,
    gpus: &Gpus,
    port: u16,
    identity: Identity,
) -> EngineFound {
    let endpoint = format!("http://127.0.0.1:{port}");
    let holders = listeners(&around.root.path("/proc"), port);
    let unknown = |what: &str| Missing(format!("its answers do not tell {what}"));
    let contradictions = identity.contradictions.iter().map(|clue| format!("but {clue}"));
    let clues = identity.clues.iter().cloned().chain(contradictions).collect();
    EngineFound {
        port,
        metrics: identity
            .metrics_path
            .as_ref()
            .map(|path| format!("{endpoint}{path}"))
            .ok_or_else(|| Missing("no metrics were found where engines have them".to_owned())),
        endpoint,
        engine: identity.engine.map(runtime).ok_or_else(|| unknown("which engine it is")),
        version: identity.version.ok_or_else(|| unknown("a version")),
        models: identity.models,
        clues,
        arguments: arguments(processes, &holders),
        cards: cards(processes, &holders, gpus),
    }
}

/// The name of an engine as site files write it.
fn runtime(engine: EngineKind) -> String {
    match engine {
        EngineKind::Vllm => "vllm",
        EngineKind::Sglang => "sglang",
        EngineKind::Tgi => "tgi",
        EngineKind::TensorRtLlm => "tensorrt-llm",
        EngineKind::TensorRtLlmOnTriton => "tensorrt-llm-triton",
        EngineKind::Triton => "triton",
        EngineKind::LlamaCpp => "llama.cpp",
        EngineKind::Embedded => "cotenant",
    }
    .to_owned()
}

/// The command line of the one process that listens.
fn arguments(processes: &Processes, holders: &[u32]) -> Reading<Vec<String>> {
    let first = holders.first().ok_or_else(|| {
        Missing("which process listens cannot be seen; as root it can".to_owned())
    })?;
    match processes.all.get(first) {
        Some(seen) if !seen.arguments.is_empty() => Ok(without_secrets(&seen.arguments)),
        _ => missing(format!("process {first} shows no command line")),
    }
}

/// A command line without what is nobody's business: `--api-key X` and `--api-key=X` lose their values.
pub fn without_secrets(arguments: &[String]) -> Vec<String> {
    const HIDDEN: &str = "…";
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase().replace('-', "_");
        ["api_key", "secret", "password", "passwd", "credential"]
            .iter()
            .any(|one| name.contains(one))
            || name.ends_with("token")
    };
    let mut kept = Vec::with_capacity(arguments.len());
    let mut hide_next = false;
    for argument in arguments {
        match argument.split_once('=') {
            _ if hide_next && !argument.starts_with("--") => kept.push(HIDDEN.to_owned()),
            Some((name, _)) if is_secret(name) => kept.push(format!("{name}={HIDDEN}")),
            _ => kept.push(argument.clone()),
        }
        hide_next = argument.starts_with('-') && !argument.contains('=') && is_secret(argument);
    }
    kept
}

/// The cards on which the processes of an engine run. In a container the driver's process numbers are
/// those of the host, and nothing is guessed from numbers that mean another process here.
fn cards(processes: &Processes, holders: &[u32], gpus: &Gpus) -> Reading<Vec<usize>> {
    if gpus.cards.is_empty() {
        return missing("there is no GPU");
    }
    if holders.is_empty() {
        return missing("which process listens cannot be seen; as root it can");
    }
    let is_of_engine = |pid: u32| holders.iter().any(|holder| processes.descends(pid, *holder));
    let mut found = Vec::new();
    let mut unread = None;
    for (place, card) in gpus.cards.iter().enumerate() {
        match &card.processes {
            Ok(on_it) if on_it.iter().any(|(pid, _)| is_of_engine(*pid)) => found.push(place),
            Ok(_) => {}
            Err(why) => unread = Some(why),
        }
    }
    match (found.is_empty(), unread) {
        (false, _) => Ok(found),
        (true, Some(why)) => missing(format!("processes on GPUs are not told: {}", why.0)),
        (true, None) => missing("no process of it is seen on a GPU"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_that_the_loopback_reaches_are_asked() {
        let line = |address: &str, state: &str| {
            format!("0: {address}:1F90 00000000:0000 {state} 00000000:00000000 00:0 0 0 0 4242 1")
        };
        assert_eq!(listening_port(&line("0100007F", "0A")), Some(8080));
        assert_eq!(listening_port(&line("00000000", "0A")), Some(8080));
        assert_eq!(listening_port(&line("0100007F", "01")), None);
        assert_eq!(listening_port(&line("0A01A8C0", "0A")), None);
        assert_eq!(listening_port("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn secrets_of_a_command_line_are_left_out() {
        let line = ["vllm", "serve", "m", "--api-key", "k1", "--hf-token=k2", "--port", "8000"];
        let shown = without_secrets(&line.map(str::to_owned));
        assert_eq!(
            shown,
            ["vllm", "serve", "m", "--api-key", "…", "--hf-token=…", "--port", "8000"]
        );
    }
}
