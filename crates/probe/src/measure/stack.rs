//! The fingerprint of the stack under test: from the host, the running engine, and, for what no
//! program here can see, the site file.

use std::time::Duration;

use cotenant_core::evidence::{Aspect, Fingerprint, Reading};
use cotenant_core::gpu;
use cotenant_core::plan::declared_threads;
use cotenant_core::site::{Inference, SchedulerKind, Server, Site, Training, Workload};

use crate::device::smi::DeviceReport;
use crate::engine_metrics::{EngineKind, Identity, identify};
use crate::host::{HostFacts, UsableCores};

use super::engine_api::declared_engine;

/// Patience with all questions to an engine together.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an engine tells of its state rather than of how it was started: it would make two runs on
/// one stack look like runs on two.
const STATES: [&str; 14] = [
    "num_gpu_blocks",
    "num_cpu_blocks",
    "max_total_num_tokens",
    "is_processing",
    "id_task",
    "n_past",
    "next_token",
    "prompt",
    "status",
    "uptime",
    "throughput",
    "start_time",
    "random_seed",
    "request_id",
];

/// What a running engine says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineFacts {
    /// Which engine it is, by its answers and the names of its metrics.
    pub engine: Option<EngineKind>,
    /// Its version, as it writes it.
    pub version: Option<String>,
    /// The first model that it serves.
    pub model: Option<String>,
    /// Its arguments and settings, as far as it tells them, without what is state of the moment.
    pub arguments: Vec<(String, String)>,
    /// Where its metrics were found.
    pub metrics_url: Option<String>,
}

impl EngineFacts {
    /// Its name and version: "vLLM 0.32.0".
    pub fn name(&self) -> Option<String> {
        let version = self.version.as_deref().unwrap_or_default();
        Some(format!("{} {version}", self.engine?.name()).trim().to_owned())
    }

    /// In what the engine is another than the site says, in sentences for people.
    pub fn surprises(&self, inference: &Inference) -> Vec<String> {
        let mut surprises = Vec::new();
        let declared = declared_engine(inference);
        if let Some((seen, _)) = self.engine.zip(declared).filter(|(seen, said)| seen != said) {
            surprises.push(format!(
                "the site says `runtime: {}`, and {} answers as {}",
                inference.runtime.as_deref().unwrap_or_default(),
                inference.endpoint,
                seen.name()
            ));
        }
        if let Some((seen, declared)) = self.version.as_ref().zip(inference.version.as_ref())
            && seen.trim_start_matches('v') != declared.trim_start_matches('v')
        {
            surprises.push(format!("the site says version {declared}, the engine says {seen}"));
        }
        surprises
    }

    fn of(identity: Identity, endpoint: &str) -> Self {
        let base = endpoint.trim_end_matches('/').trim_end_matches("/v1");
        let is_state = |name: &str| {
            if name == "version" {
                return true;
            }
            let last = name.rsplit('.').next().unwrap_or(name);
            STATES.iter().any(|state| last.contains(state))
        };
        Self {
            engine: identity.engine,
            version: identity.version,
            model: identity.models.into_iter().next(),
            arguments: identity.arguments.into_iter().filter(|(name, _)| !is_state(name)).collect(),
            metrics_url: identity.metrics_path.map(|path| format!("{base}{path}")),
        }
    }
}

/// Asks a running engine what it is. What it does not answer stays unknown.
pub async fn engine_facts(endpoint: &str) -> EngineFacts {
    match identify(endpoint, PATIENCE).await {
        Ok(identity) => EngineFacts::of(identity, endpoint),
        Err(_) => EngineFacts::default(),
    }
}

/// What is to be said of workloads that start more threads than a quota below the allowed cores runs:
/// the kernel then throttles all of them together. Where cores alone are short, threads take turns.
pub fn thread_notes<'w>(
    workloads: impl IntoIterator<Item = &'w Workload>,
    cores: &UsableCores,
) -> Vec<String> {
    let usable = f64::from(cores.count);
    let throttles = cores.quota_cores.is_some_and(|quota| quota < f64::from(cores.affinity));
    let over = workloads.into_iter().filter_map(|workload| {
        let (threads, by) = declared_threads(workload)?;
        (throttles && threads > usable).then(|| {
            format!(
                "`{}` is started with {threads} threads ({by}), and {} run at full speed here: {}",
                workload.name, cores.count, cores.arithmetic
            )
        })
    });
    over.collect()
}

/// The GPUs as a fingerprint tells them: the models that are there, each once.
fn gpu_models(devices: &DeviceReport) -> Option<String> {
    let mut names: Vec<&str> =
        devices.gpus.iter().filter_map(|gpu| gpu.name.as_deref().ok()).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What was seen, in the declared words where they mean the same: a site file writes `H100-80GB` for what
/// the driver calls `NVIDIA H100 80GB HBM3`, and `590` for `590.48.01`.
fn seen_or_declared(
    seen: Option<String>,
    declared: Option<String>,
    is_same: impl FnOnce(&str, &str) -> bool,
) -> Option<String> {
    match (seen, declared) {
        (Some(seen), Some(declared)) if is_same(&seen, &declared) => Some(declared),
        (seen, declared) => seen.or(declared),
    }
}

fn is_same_model(seen: &str, declared: &str) -> bool {
    seen == declared || gpu::find(seen).is_some_and(|sku| gpu::find(declared) == Some(sku))
}

fn is_same_version(seen: &str, declared: &str) -> bool {
    seen.strip_prefix(declared).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The fingerprint. Of the neighbour only where it is part of the test, of the engine likewise. `devices`
/// is what the driver says, where there is one: it counts more than what the site declares.
pub fn fingerprint(
    site: &Site,
    host: &HostFacts,
    devices: Option<&DeviceReport>,
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
    let declared = |read: fn(&Server) -> &Option<String>| server.and_then(|one| read(one).clone());
    let driver = devices.and_then(|devices| devices.driver.clone().ok());
    let gpu = seen_or_declared(
        devices.and_then(gpu_models),
        declared(|server| &server.gpu),
        is_same_model,
    );
    let seen = |reading: &Reading<String>| reading.clone().ok();
    add(Aspect::Device, gpu.or_else(|| seen(&host.cpu_model)));
    // Quota and affinity, never the visible cores: another quota is another machine.
    let cores = host.cores_usable.as_ref().ok();
    let cores = cores.map(|cores| format!("{} cores ({})", cores.count, cores.arithmetic));
    add(Aspect::VisibleDevices, cores);
    add(
        Aspect::Driver,
        seen_or_declared(driver, declared(|server| &server.driver), is_same_version),
    );
    // The driver names the newest CUDA that it serves, a site file the one that is used: the declared one
    // says more.
    let cuda = devices.and_then(|devices| devices.cuda.clone().ok());
    add(Aspect::Cuda, declared(|server| &server.cuda).or(cuda));
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
        add(Aspect::Engine, Some(engine(inference, facts)));
        add(Aspect::EngineArguments, Some(engine_arguments(inference, facts)));
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

/// The engine that answered; where it does not say which it is, the declared one.
fn engine(inference: &Inference, facts: &EngineFacts) -> String {
    let found = facts.engine.filter(|engine| *engine != EngineKind::Embedded);
    let name = found
        .map(|engine| engine.name().to_owned())
        .or_else(|| inference.runtime.clone())
        .or_else(|| facts.engine.map(|engine| engine.name().to_owned()))
        .unwrap_or_else(|| "unknown engine".to_owned());
    let version = facts.version.clone().or_else(|| inference.version.clone());
    format!("{name} {}", version.unwrap_or_default()).trim().to_owned()
}

/// The arguments that we start it with, else the declared ones, else what it tells itself.
fn engine_arguments(inference: &Inference, facts: &EngineFacts) -> String {
    match &inference.launch {
        Some(launch) => launch.argv[1..].join(" "),
        None if !inference.arguments.is_empty() => inference.arguments.join(" "),
        None => {
            let told = facts.arguments.iter().map(|(name, value)| format!("{name}={value}"));
            told.collect::<Vec<_>>().join(" ")
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_metrics::{EndpointAnswer, judge};

    fn facts(answers: &[(&str, &str)]) -> EngineFacts {
        let answers: Vec<EndpointAnswer> = answers
            .iter()
            .map(|(path, body)| EndpointAnswer {
                path: (*path).to_owned(),
                status: 200,
                headers: vec![],
                body: body.as_bytes().to_vec(),
            })
            .collect();
        EngineFacts::of(judge(&answers), "http://127.0.0.1:8000/v1/")
    }

    #[test]
    fn an_engine_that_was_found_running_tells_name_version_and_arguments() {
        let facts = facts(&[
            ("/version", r#"{"version":"0.32.0"}"#),
            ("/v1/models", r#"{"data":[{"id":"tiny","owned_by":"vllm"}]}"#),
            (
                "/metrics",
                "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"512\"} 1\n\
                 vllm:num_requests_running 0\n",
            ),
        ]);
        assert_eq!(facts.name().as_deref(), Some("vLLM 0.32.0"));
        assert_eq!(facts.metrics_url.as_deref(), Some("http://127.0.0.1:8000/metrics"));
        // How many blocks fit differs from start to start.
        let expected = [("cache_config.block_size".to_owned(), "16".to_owned())];
        assert_eq!(facts.arguments, expected);
        assert_eq!(EngineFacts::default().name(), None);
    }

    fn model(seen: Option<&str>, declared: Option<&str>) -> Option<String> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        seen_or_declared(owned(seen), owned(declared), is_same_model)
    }

    #[test]
    fn the_card_that_is_there_counts_in_the_declared_words() {
        let h100 = Some("NVIDIA H100 80GB HBM3");
        assert_eq!(model(h100, Some("H100-SXM-80GB")).as_deref(), Some("H100-SXM-80GB"));
        assert_eq!(model(h100, None).as_deref(), h100);
        assert_eq!(model(None, Some("H100-SXM-80GB")).as_deref(), Some("H100-SXM-80GB"));
        assert_eq!(model(None, None), None);
        // Another card than the declared one must show.
        assert_eq!(
            model(Some("NVIDIA H200"), Some("H100-SXM-80GB")).as_deref(),
            Some("NVIDIA H200")
        );
        // What the catalogue does not know is the same only word for word.
        assert_eq!(model(Some("NVIDIA X1"), Some("X1")).as_deref(), Some("NVIDIA X1"));
    }

    #[test]
    fn a_declared_version_may_be_the_beginning_of_the_real_one() {
        assert!(is_same_version("590.48.01", "590.48.01"));
        assert!(is_same_version("590.48.01", "590"));
        assert!(!is_same_version("590.48.01", "59"));
        assert!(!is_same_version("590.48.01", "595"));
    }

    #[test]
    fn an_engine_that_is_not_the_declared_one_is_told() {
        let triton = facts(&[("/v2", r#"{"name":"triton","version":"2.51.0"}"#)]);
        let declared = |runtime: &str, version: &str| Inference {
            version: Some(version.to_owned()),
            ..super::super::engine_api::tests::inference(Some(runtime))
        };
        assert_eq!(triton.surprises(&declared("triton", "2.51.0")), [""; 0]);
        let surprises = triton.surprises(&declared("vLLM", "0.32.0"));
        assert_eq!(surprises.len(), 2, "{surprises:?}");
        assert!(surprises[0].contains("answers as Triton"), "{surprises:?}");
        assert_eq!(engine(&declared("vLLM", "0.32.0"), &triton), "Triton 2.51.0");
        assert_eq!(EngineFacts::default().surprises(&declared("vLLM", "0.32.0")), [""; 0]);
    }
}
