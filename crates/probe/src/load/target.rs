//! The endpoint under load, and the requests that it is sent.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
};
use hyper::{Method, Request, Uri};
use serde_json::{Map, Value};

use super::prompt::{PromptForm, append_number, append_prompt};
use super::schedule::PlannedRequest;
use super::triton;

/// Which interface is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's `/v1/chat/completions`.
    Chat,
    /// OpenAI's `/v1/completions`.
    Completions,
    /// Triton's `/v2/models/MODEL/generate_stream`.
    TritonGenerate,
}

/// An endpoint as the user describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSpec {
    /// `http://host:port`, with or without `/v1`.
    pub base_url: String,
    /// The served model's name.
    pub model: String,
    /// The interface.
    pub api: Api,
    /// What stands in the prompts.
    pub prompt: PromptForm,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
    /// More headers, by name and value.
    pub headers: Vec<(String, String)>,
    /// Ask for exactly the planned number of tokens (`ignore_eos`, which vLLM, SGLang and the
    /// embedded engine obey).
    pub ignore_eos: bool,
    /// Ask for a usage record in every chunk (vLLM's `continuous_usage_stats`), so that chunks of
    /// several tokens are known as such.
    pub usage_per_chunk: bool,
    /// More fields of the request's body. They win over the fields above.
    pub extra_body: Map<String, Value>,
}

impl TargetSpec {
    /// A chat endpoint with the defaults: words at 4.5 bytes a token, `ignore_eos`, one usage
    /// record at the end.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api: Api::Chat,
            prompt: PromptForm::Words { bytes_per_token: 4.5 },
            api_key: None,
            headers: Vec::new(),
            ignore_eos: true,
            usage_per_chunk: false,
            extra_body: Map::new(),
        }
    }
}

/// Why an endpoint cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The URL is none.
    #[error("base URL {url:?} cannot be read: {reason}; write it as http://127.0.0.1:8000")]
    BadUrl {
        /// The text.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// TLS is not there.
    #[error(
        "base URL {url:?} asks for https, which the load client does not speak: point it at the \
         engine's own http port, or at a local proxy that ends TLS"
    )]
    NoTls {
        /// The text.
        url: String,
    },
    /// A header cannot be sent.
    #[error("header {name:?} cannot be sent: its name or its value holds a forbidden character")]
    BadHeader {
        /// Its name.
        name: String,
    },
    /// A prompt that the interface does not take.
    #[error("prompts of token ids need the completions interface: a chat and Triton take text")]
    TokenIdsInChat,
    /// Triton's endpoint has the model in its path.
    #[error("Triton has the model in its path: declare `model: {{ name: … }}`")]
    NoModel,
    /// A parameter of the prompt has no meaning.
    #[error("{0}")]
    BadPrompt(String),
}

/// An endpoint that is ready for use.
#[derive(Clone, Debug)]
pub struct Target {
    spec: TargetSpec,
    host: String,
    port: u16,
    path: Uri,
    headers: HeaderMap,
    /// The body up to the prompt, between the prompt and the token count, and after it.
    body: [Vec<u8>; 3],
}

impl Target {
    /// Checks a description and prepares its requests. Touches no network.
    pub fn new(spec: TargetSpec) -> Result<Self, TargetError> {
        let bad_url = |reason: &str| TargetError::BadUrl {
            url: spec.base_url.clone(),
            reason: reason.to_owned(),
        };
        let uri: Uri = spec.base_url.parse().map_err(|_| bad_url("it is no URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(TargetError::NoTls { url: spec.base_url.clone() }),
            _ => return Err(bad_url("it does not begin with http://")),
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad_url("no host"))?;
        // The brackets of an IPv6 address belong to the URL, not to the address.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let base = uri.path().trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let path = match spec.api {
            Api::Chat => format!("{base}/v1/chat/completions"),
            Api::Completions => format!("{base}/v1/completions"),
            Api::TritonGenerate if spec.model.is_empty() => return Err(TargetError::NoModel),
            Api::TritonGenerate => triton::path(base, &spec.model),
        };
        let path: Uri = path.parse().map_err(|_| bad_url("its path is none"))?;
        check_prompt(&spec)?;
        let headers = headers_of(&spec, &uri).map_err(|name| TargetError::BadHeader { name })?;
        let body = body_parts(&spec);
        Ok(Self { host, port: uri.port_u16().unwrap_or(80), path, headers, body, spec })
    }

    /// What it was made of.
    pub fn spec(&self) -> &TargetSpec {
        &self.spec
    }

    /// The endpoint's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port, to be resolved.
    pub(super) fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// The body of one request.
    pub(super) fn body(&self, planned: &PlannedRequest) -> Bytes {
        let [before, between, after] = &self.body;
        let mut out = Vec::with_capacity(before.len() + between.len() + after.len() + 64);
        out.extend_from_slice(before);
        append_prompt(&mut out, self.spec.prompt, planned.prompt_tokens, planned.prompt_seed);
        out.extend_from_slice(between);
        append_number(&mut out, planned.output_tokens);
        out.extend_from_slice(after);
        out.into()
    }

    /// The whole request.
    pub(super) fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

fn check_prompt(spec: &TargetSpec) -> Result<(), TargetError> {
    match spec.prompt {
        PromptForm::TokenIds { .. } if spec.api != Api::Completions => {
            Err(TargetError::TokenIdsInChat)
        }
        PromptForm::TokenIds { id_min, id_max } if id_min > id_max => Err(TargetError::BadPrompt(
            format!("the least token id ({id_min}) is above the largest ({id_max})"),
        )),
        PromptForm::Words { bytes_per_token }
            if !(bytes_per_token > 0.0 && bytes_per_token <= 64.0) =>
        {
            Err(TargetError::BadPrompt(format!(
                "{bytes_per_token} bytes per token: must be more than 0 and at most 64"
            )))
        }
        _ => Ok(()),
    }
}

fn headers_of(spec: &TargetSpec, uri: &Uri) -> Result<HeaderMap, String> {
    let value = |name: &str, text: &str| HeaderValue::from_str(text).map_err(|_| name.to_owned());
    let mut headers = HeaderMap::new();
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    headers.insert(HOST, value("host", authority)?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = &spec.api_key {
        let mut bearer = value("authorization", &format!("Bearer {key}"))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    for (name, text) in &spec.headers {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| name.clone())?;
        headers.insert(key, value(name, text)?);
    }
    Ok(headers)
}

/// The body around the prompt and the token count, so that a request is put together by copying.
fn body_parts(spec: &TargetSpec) -> [Vec<u8>; 3] {
    let json = |text: &str| Value::from(text).to_string();
    let mut fields = Map::new();
    fields.insert("temperature".to_owned(), Value::from(0));
    fields.insert("stream".to_owned(), Value::from(true));
    let mut stream_options = Map::new();
    stream_options.insert("include_usage".to_owned(), Value::from(true));
    if spec.usage_per_chunk {
        stream_options.insert("continuous_usage_stats".to_owned(), Value::from(true));
    }
    fields.insert("stream_options".to_owned(), Value::from(stream_options));
    if spec.ignore_eos {
        fields.insert("ignore_eos".to_owned(), Value::from(true));
    }
    fields.extend(spec.extra_body.clone());
    let model = json(&spec.model);
    let (before, between) = match spec.api {
        Api::Chat => (
            format!(r#"{{"model":{model},"messages":[{{"role":"user","content":"#),
            r#"}],"max_tokens":"#,
        ),
        Api::Completions => (format!(r#"{{"model":{model},"prompt":"#), r#","max_tokens":"#),
        Api::TritonGenerate => return triton::body_parts(spec.ignore_eos, &spec.extra_body),
    };
    let rest = Value::from(fields).to_string();
    // The object's opening brace becomes the comma after the count.
    let after = format!(",{}", &rest[1..]);
    [before.into_bytes(), between.as_bytes().to_vec(), after.into_bytes()]
}
