//! The fingerprint of the stack under test: from the host, the running engine, and, for what no
//! program here can see, the site file.

use std::time::Duration;

use cotenant_core::evidence::{Aspect, Fingerprint, Reading};
use cotenant_core::site::{Inference, SchedulerKind, Site, Training, Workload};

use crate::host::HostFacts;
use crate::http;

/// What a running engine says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineFacts {
    /// Version, from `/version` (vLLM) where the engine has it.
    pub version: Option<String>,
    /// First model of `/v1/models`.
    pub model: Option<String>,
}

/// Asks a running engine what it is. What it does not answer stays unknown.
pub async fn engine_facts(endpoint: &str) -> EngineFacts {
    async fn json(url: String) -> Option<serde_json::Value> {
        let (status, body) = http::get(&url, Duration::from_secs(5)).await.ok()?;
        (status == 200).then(|| serde_json::from_slice(&body).ok())?
    }
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let version = json(format!("{endpoint}/version")).await;
    let models = json(format!("{endpoint}/v1/models")).await;
    EngineFacts {
        version: version.as_ref().and_then(|answer| text(&answer["version"])),
        model: models.as_ref().and_then(|answer| text(&answer["data"][0]["id"])),
    }
}

/// The fingerprint. Of the neighbour only where it is part of the test, of the engine likewise.
pub fn fingerprint(
    site: &Site,
    host: &HostFacts,
    inference: Option<(&Workload, &Inference, &EngineFacts)>,
    neighbour: Option<(&Workload, &Training)>,
    client: &str,
) -> Fingerprint {
    let mut print = Fingerprint::default();
    let mut add = |aspect: Aspect, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            print.0.insert(aspect, value);
        }
    };
    let server = site.server();
    let gpu = server.and_then(|server| server.gpu.clone());
    let seen = |reading: &Reading<String>| reading.clone().ok();
    add(Aspect::Device, gpu.or_else(|| seen(&host.cpu_model)));
    let cores = host.cores_usable.as_ref().ok().map(|cores| format!("{} cores", cores.count));
    add(Aspect::VisibleDevices, cores);
    add(Aspect::Driver, server.and_then(|server| server.driver.clone()));
    add(Aspect::Cuda, server.and_then(|server| server.cuda.clone()));
    add(Aspect::Nccl, server.and_then(|server| server.nccl.clone()));
    add(Aspect::Kernel, seen(&host.kernel));
    let scheduler = server.and_then(|server| server.scheduler.as_ref());
    let scheduler = scheduler.filter(|scheduler| scheduler.kind != SchedulerKind::None);
    add(
        Aspect::Scheduler,
        scheduler.map(|scheduler| {
            let version = scheduler.version.as_deref().unwrap_or("");
            format!("{} {version}", scheduler.kind.name()).trim().to_owned()
        }),
    );
    if let Some((workload, inference, facts)) = inference {
        let version = facts.version.clone().or_else(|| inference.version.clone());
        let runtime = inference.runtime.clone().unwrap_or_else(|| "unknown engine".to_owned());
        let engine = format!("{runtime} {}", version.unwrap_or_default()).trim().to_owned();
        add(Aspect::Engine, Some(engine));
        let arguments = match &inference.launch {
            Some(launch) => launch.argv[1..].join(" "),
            None => inference.arguments.join(" "),
        };
        add(Aspect::EngineArguments, Some(arguments));
        let declared = workload.model.as_ref().map(|model| model.name.clone());
        add(Aspect::Model, facts.model.clone().or(declared));
    }
    if let Some(launch) = neighbour.and_then(|(_, training)| training.launch.as_ref()) {
        let program = launch.argv[0].rsplit('/').next().unwrap_or_default().to_owned();
        add(Aspect::Trainer, Some(program));
        add(Aspect::TrainerArguments, Some(launch.argv[1..].join(" ")));
    }
    add(Aspect::Sharing, Some(sharing(site)));
    add(Aspect::Client, Some(client.to_owned()));
    print
}

/// The sharing mode with its settings, in words that do not change between runs.
fn sharing(site: &Site) -> String {
    let mode = site.sharing.mode.name();
    let versions: Vec<String> =
        site.sharing.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let settings = format!("{:?}", site.sharing.mode);
    if versions.is_empty() {
        format!("{mode}: {settings}")
    } else {
        format!("{mode}: {settings}; {}", versions.join(", "))
    }
}
