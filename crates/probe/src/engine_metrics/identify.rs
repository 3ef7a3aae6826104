//! Which engine an endpoint is, in which version, with which arguments: asked with GETs alone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::kind::{EngineKind, engine_of_names};
use crate::exposition::{Strictness, detect_format, parse};
use crate::http::{self, GetError};

/// What is asked. Each is a GET that changes nothing.
pub const PATHS: [&str; 10] = [
    "/health",
    "/version",
    "/v1/models",
    "/info",
    "/get_server_info",
    "/server_info",
    "/props",
    "/v2",
    "/metrics",
    "/prometheus/metrics",
];

/// Most arguments that are kept.
const ARGUMENTS_MAX: usize = 500;
/// How deep arguments are looked for in an answer.
const DEPTH_MAX: usize = 3;

/// What an endpoint answered to one path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointAnswer {
    /// The path that was asked.
    pub path: String,
    /// The status.
    pub status: u16,
    /// Names, lowercase, and values of the header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl EndpointAnswer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What an endpoint is, as far as it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The engine.
    pub engine: Option<EngineKind>,
    /// Its version, as it writes it.
    pub version: Option<String>,
    /// The models that it serves.
    pub models: Vec<String>,
    /// Its arguments and settings, as far as it tells them; secrets are left out.
    pub arguments: BTreeMap<String, String>,
    /// Where its metrics are; `None` where no known ones were found.
    pub metrics_path: Option<String>,
    /// Whether it calls itself healthy; `None` where it has no such path.
    pub healthy: Option<bool>,
    /// What pointed at the engine, the strongest first.
    pub clues: Vec<String>,
    /// What pointed at another one.
    pub contradictions: Vec<String>,
}

/// Judges answers.
pub fn judge(answers: &[EndpointAnswer]) -> Identity {
    let good: Vec<&EndpointAnswer> = answers.iter().filter(|answer| answer.status == 200).collect();
    let json = |path: &str| -> Option<Value> {
        let answer = good.iter().find(|answer| answer.path == path)?;
        serde_json::from_slice(&answer.body).ok()
    };
    let models = json("/v1/models");
    let v2 = json("/v2").filter(|answer| text(answer, "name") == Some("triton"));
    let props = json("/props").filter(|answer| answer.get("default_generation_settings").is_some());
    let info = json("/info").filter(|answer| {
        answer.get("model_id").is_some() && answer.get("max_concurrent_requests").is_some()
    });
    let server_info = json("/get_server_info")
        .or_else(|| json("/server_info"))
        .filter(|answer| answer.get("model_path").is_some());

    let mut clues: Vec<(EngineKind, String)> = vec![];
    let mut identity = Identity::default();
    let metrics = read_metrics(&good, &mut identity);
    if v2.is_some() {
        let backend = metrics.filter(|engine| *engine == EngineKind::TensorRtLlmOnTriton);
        clues.push((backend.unwrap_or(EngineKind::Triton), "/v2 says triton".into()));
    }
    if let Some(owner) = models.as_ref().and_then(owner)
        && let Some(engine) = engine_of_owner(owner)
    {
        clues.push((engine, format!("/v1/models is owned by {owner}")));
    }
    if props.is_some() {
        clues.push((EngineKind::LlamaCpp, "/props has llama.cpp's settings".into()));
    }
    if info.is_some() {
        clues.push((EngineKind::Tgi, "/info has TGI's limits".into()));
    }
    if server_info.is_some() {
        clues.push((EngineKind::Sglang, "/get_server_info has SGLang's arguments".into()));
    }
    if answers.iter().any(|answer| answer.header("server") == Some("llama.cpp")) {
        clues.push((EngineKind::LlamaCpp, "the header Server says llama.cpp".into()));
    }
    if let Some(engine) = metrics {
        clues.push((engine, format!("the metrics are named as {} does", engine.name())));
    }

    identity.engine = clues.first().map(|(engine, _)| *engine);
    for (engine, clue) in clues {
        let agrees = Some(engine) == identity.engine
            || (identity.engine == Some(EngineKind::Embedded) && engine == EngineKind::Vllm);
        if agrees { &mut identity.clues } else { &mut identity.contradictions }.push(clue);
    }
    identity.healthy = answers.iter().find(|answer| answer.path == "/health").and_then(|answer| {
        match answer.status {
            200 => Some(true),
            404 | 405 => None,
            _ => Some(false),
        }
    });
    identity.models = models.as_ref().map_or(vec![], model_names);
    let (about, version_key) = match identity.engine {
        Some(EngineKind::Triton | EngineKind::TensorRtLlmOnTriton) => (v2, "version"),
        Some(EngineKind::Tgi) => (info, "version"),
        Some(EngineKind::Sglang) => (server_info, "version"),
        Some(EngineKind::LlamaCpp) => (props, "build_info"),
        Some(EngineKind::Vllm | EngineKind::TensorRtLlm) => (json("/version"), "version"),
        Some(EngineKind::Embedded) | None => (None, "version"),
    };
    if let Some(about) = &about {
        // What llama.cpp says where it was not built from a checkout: no version.
        let version = text(about, version_key).filter(|version| *version != "b0-unknown");
        identity.version = version.map(str::to_owned);
        for key in ["model_id", "model_path"] {
            if identity.models.is_empty()
                && let Some(model) = text(about, key)
            {
                identity.models.push(model.to_owned());
            }
        }
        flatten("", about, 0, &mut identity.arguments);
    }
    identity
}

/// Asks an endpoint and judges its answers. `base_url` may end in `/v1`; `patience` is for all of the
/// questions together.
///
/// # Errors
/// An endpoint that answers none of the questions, with what happened to the first.
pub async fn identify(base_url: &str, patience: Duration) -> Result<Identity, GetError> {
    let base = base_url.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base).trim_end_matches('/');
    let deadline = Instant::now() + patience;
    let mut answers = vec![];
    let mut first_error = None;
    for path in PATHS {
        let left = deadline.saturating_duration_since(Instant::now());
        match http::get_answer(&format!("{base}{path}"), left).await {
            Ok(answer) => answers.push(EndpointAnswer {
                path: path.to_owned(),
                status: answer.status,
                headers: answer
                    .headers
                    .iter()
                    .map(|(name, value)| {
                        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                        (name.as_str().to_owned(), value)
                    })
                    .collect(),
                body: answer.body.to_vec(),
            }),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    match first_error {
        Some(error) if answers.is_empty() => Err(error),
        _ => Ok(judge(&answers)),
    }
}

/// Reads the metrics among the answers: which engine names them so, where they are, and the settings
/// that vLLM shows in them.
fn read_metrics(good: &[&EndpointAnswer], identity: &mut Identity) -> Option<EngineKind> {
    for answer in good.iter().filter(|answer| answer.path.ends_with("/metrics")) {
        let format = detect_format(&answer.body, answer.header("content-type"));
        let Ok(scrape) = parse(&answer.body, format, Strictness::Lenient) else { continue };
        let Some(engine) = engine_of_names(&scrape) else { continue };
        identity.metrics_path = Some(answer.path.clone());
        let config =
            scrape.family("vllm:cache_config_info").and_then(|family| family.samples.first());
        for (name, value) in config.map_or(&[][..], |sample| &sample.labels) {
            if name != "engine" && !secret(name) {
                identity.arguments.insert(format!("cache_config.{name}"), value.to_string());
            }
        }
        return Some(engine);
    }
    None
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

fn owner(models: &Value) -> Option<&str> {
    models.get("data")?.as_array()?.iter().find_map(|model| text(model, "owned_by"))
}

fn engine_of_owner(owner: &str) -> Option<EngineKind> {
    Some(match owner {
        "vllm" => EngineKind::Vllm,
        "sglang" => EngineKind::Sglang,
        "llamacpp" => EngineKind::LlamaCpp,
        "tensorrt_llm" => EngineKind::TensorRtLlm,
        "cotenant" => EngineKind::Embedded,
        _ => return None,
    })
}

fn model_names(models: &Value) -> Vec<String> {
    let list = models.get("data").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|model| text(model, "id")).map(str::to_owned).collect()
}

/// Whether a setting's name says that its value is nobody's business.
fn secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    ["api_key", "secret", "password", "passwd", "credential"].iter().any(|word| name.contains(word))
        || name == "token"
        || name.ends_with("_token") && !["bos_token", "eos_token"].contains(&name.as_str())
}

fn flatten(prefix: &str, value: &Value, depth: usize, into: &mut BTreeMap<String, String>) {
    let Value::Object(fields) = value else { return };
    for (name, value) in fields {
        if secret(name) || into.len() >= ARGUMENTS_MAX {
            continue;
        }
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(_) if depth + 1 < DEPTH_MAX => flatten(&path, value, depth + 1, into),
            Value::Null | Value::Object(_) | Value::Array(_) => {}
            Value::String(text) => {
                into.insert(path, text.clone());
            }
            Value::Bool(_) | Value::Number(_) => {
                into.insert(path, value.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn answer(path: &str, body: &str) -> EndpointAnswer {
        EndpointAnswer {
            path: path.into(),
            status: 200,
            headers: vec![],
            body: body.as_bytes().to_vec(),
        }
    }

    const VLLM_METRICS: &str = "vllm:num_requests_running 1\n\
         vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"512\"} 1\n";

    #[test]
    fn vllm_says_its_version_and_the_cache_it_has() {
        let identity = judge(&[
            answer("/health", ""),
            answer("/version", r#"{"version":"0.32.0"}"#),
            answer("/v1/models", r#"{"object":"list","data":[{"id":"tiny","owned_by":"vllm"}]}"#),
            answer("/metrics", VLLM_METRICS),
        ]);
        assert_eq!(identity.engine, Some(EngineKind::Vllm));
        assert_eq!(identity.version.as_deref(), Some("0.32.0"));
        assert_eq!(identity.models, ["tiny"]);
        assert_eq!(identity.arguments["cache_config.block_size"], "16");
        assert_eq!(identity.healthy, Some(true));
        assert_eq!(identity.contradictions, [""; 0]);
    }

    #[test]
    fn tensorrt_llm_answers_the_same_paths_as_vllm_and_is_told_apart() {
        let mut metrics = answer("/prometheus/metrics", "trtllm_num_requests_running 0\n");
        metrics.headers = vec![("content-type".into(), "text/plain; version=0.0.4".into())];
        let identity = judge(&[answer("/version", r#"{"version":"1.2.0"}"#), metrics]);
        assert_eq!(identity.engine, Some(EngineKind::TensorRtLlm));
        assert_eq!(identity.version.as_deref(), Some("1.2.0"));
        assert_eq!(identity.metrics_path.as_deref(), Some("/prometheus/metrics"));
    }

    #[test]
    fn sglang_tells_its_arguments_and_no_secret_is_kept() {
        let info = r#"{"version":"0.5.23","model_path":"m","tp_size":2,"max_total_tokens":4096,
            "api_key":"k","admin_api_key":"k","hf_token":"k","internal":{"load":{"deep":{"x":1}}}}"#;
        let identity = judge(&[answer("/get_server_info", info)]);
        assert_eq!(identity.engine, Some(EngineKind::Sglang));
        assert_eq!(identity.version.as_deref(), Some("0.5.23"));
        assert_eq!(identity.models, ["m"]);
        assert_eq!(identity.arguments["tp_size"], "2");
        assert_eq!(identity.arguments["max_total_tokens"], "4096");
        assert!(identity.arguments.values().all(|value| value != "k"));
    }

    #[test]
    fn tgi_triton_and_llama_cpp_are_known_by_their_own_paths() {
        let info =
            r#"{"model_id":"x/y","max_concurrent_requests":128,"version":"3.3.7","sha":"abc"}"#;
        let tgi = judge(&[answer("/info", info)]);
        assert_eq!((tgi.engine, tgi.version.as_deref()), (Some(EngineKind::Tgi), Some("3.3.7")));
        assert_eq!(tgi.models, ["x/y"]);

        let v2 = r#"{"name":"triton","version":"2.51.0","extensions":["statistics"]}"#;
        let triton = judge(&[answer("/v2", v2)]);
        assert_eq!(triton.engine, Some(EngineKind::Triton));
        assert_eq!(triton.version.as_deref(), Some("2.51.0"));
        let backend = answer("/metrics", "nv_trt_llm_request_metrics{request_type=\"active\"} 1\n");
        let on_triton = judge(&[answer("/v2", v2), backend]);
        assert_eq!(on_triton.engine, Some(EngineKind::TensorRtLlmOnTriton));

        let props = r#"{"default_generation_settings":{"n_ctx":4096},"total_slots":4,
            "build_info":"b1-0c1e570"}"#;
        let llama = judge(&[answer("/props", props)]);
        assert_eq!(llama.engine, Some(EngineKind::LlamaCpp));
        assert_eq!(llama.version.as_deref(), Some("b1-0c1e570"));
        assert_eq!(llama.arguments["default_generation_settings.n_ctx"], "4096");
        let nameless = judge(&[answer("/props", &props.replace("b1-0c1e570", "b0-unknown"))]);
        assert_eq!((nameless.engine, nameless.version), (Some(EngineKind::LlamaCpp), None));
    }

    #[test]
    fn the_embedded_engine_is_not_taken_for_vllm_whose_names_it_uses() {
        let models = r#"{"data":[{"id":"m","owned_by":"cotenant"}]}"#;
        let identity = judge(&[answer("/v1/models", models), answer("/metrics", VLLM_METRICS)]);
        assert_eq!(identity.engine, Some(EngineKind::Embedded));
        assert_eq!(identity.contradictions, [""; 0]);
    }

    #[test]
    fn answers_that_point_at_two_engines_are_shown() {
        let models = r#"{"data":[{"id":"m","owned_by":"vllm"}]}"#;
        let identity =
            judge(&[answer("/v1/models", models), answer("/metrics", "tgi_queue_size 0\n")]);
        assert_eq!(identity.engine, Some(EngineKind::Vllm));
        assert_eq!(identity.contradictions, ["the metrics are named as TGI does"]);
        assert_eq!(judge(&[]), Identity::default());
    }

    #[tokio::test]
    async fn an_endpoint_is_asked_over_http_with_gets_alone() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let mut asked = vec![];
            for _ in 0..PATHS.len() {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![];
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).await.unwrap();
                    request.push(byte[0]);
                }
                let request = String::from_utf8(request).unwrap();
                let line = request.lines().next().unwrap().to_owned();
                let (status, body) = match line.split(' ').nth(1).unwrap() {
                    "/version" => ("200 OK", r#"{"version":"0.33.0"}"#),
                    "/metrics" => ("200 OK", VLLM_METRICS),
                    _ => ("404 Not Found", ""),
                };
                let length = body.len();
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).await.unwrap();
                asked.push(line);
            }
            asked
        });
        let url = format!("http://{address}/v1");
        let identity = identify(&url, Duration::from_secs(20)).await.unwrap();
        assert_eq!(identity.engine, Some(EngineKind::Vllm));
        assert_eq!(identity.version.as_deref(), Some("0.33.0"));
        assert_eq!(identity.healthy, None);
        let asked = server.await.unwrap();
        assert!(asked.iter().all(|line| line.starts_with("GET /")), "{asked:?}");
        // Nobody listens any more.
        assert!(identify(&url, Duration::from_secs(20)).await.is_err());
    }
}
