//! The part of the OpenAI API that the server understands: from a JSON body to what the scheduler needs.
//!
//! Unknown fields are ignored, as other servers do, so that any load client can talk to this one. Known fields whose
//! effect is missing here are refused when they ask for that effect: a silent difference would be measured as if it were
//! none.

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::sampling::SamplingSettings;
use crate::{Role, TokenId, Tokenizer, VOCABULARY_SIZE};

/// Output length when a completion request names none, as in the OpenAI API.
const COMPLETION_TOKENS_DEFAULT: usize = 16;
/// Longest output when a chat request names none.
const CHAT_TOKENS_DEFAULT: usize = 256;

/// Which of the two generating endpoints is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// `/v1/completions`
    Completion,
    /// `/v1/chat/completions`
    Chat,
}

/// What bounds a request on this server.
#[derive(Debug, Clone)]
pub(crate) struct ServedModel {
    pub(crate) name: String,
    /// Longest sequence in tokens.
    pub(crate) length_max: usize,
    /// Tokens that the key-value cache can hold.
    pub(crate) kv_tokens_max: usize,
}

/// A checked request.
#[derive(Debug, PartialEq)]
pub(crate) struct Generation {
    pub(crate) prompt: Vec<TokenId>,
    pub(crate) output_tokens_max: usize,
    pub(crate) sampling: SamplingSettings,
    pub(crate) stream: bool,
    /// Whether the stream ends with a chunk that holds the usage.
    pub(crate) include_usage: bool,
    /// Whether every chunk holds the usage so far.
    pub(crate) continuous_usage: bool,
}

/// An error in the shape of the OpenAI API.
#[derive(Debug, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The field that is wrong.
    pub(crate) parameter: Option<&'static str>,
    /// A word for machines.
    pub(crate) code: Option<&'static str>,
}

impl ApiError {
    /// A request that can never succeed as it is.
    pub(crate) fn bad_request(parameter: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), parameter, code: None }
    }

    /// The JSON body.
    pub(crate) fn body(&self) -> Value {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {"message": self.message, "type": kind, "param": self.parameter, "code": self.code}})
    }
}

/// Fields of both endpoints. Each is optional here, so that null and absence mean the same.
#[derive(Debug, Deserialize)]
struct Body {
    model: Option<String>,
    prompt: Option<Value>,
    messages: Option<Vec<Message>>,
    max_tokens: Option<i64>,
    max_completion_tokens: Option<i64>,
    // Wider than what is sampled with: a number that is too large for an `f32` must be refused by the
    // name of its field, and reading it as one would refuse the body as a whole.
    temperature: Option<f64>,
    top_p: Option<f64>,
    seed: Option<i64>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    ignore_eos: Option<bool>,
    n: Option<i64>,
    best_of: Option<i64>,
    echo: Option<bool>,
    stop: Option<Value>,
    suffix: Option<String>,
    logprobs: Option<Value>,
    tools: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    content: Option<Value>,
}

/// Parses and checks the body of a request; `seed` is that of its draws when it names none.
pub(crate) fn parse(
    endpoint: Endpoint,
    body: &[u8],
    model: &ServedModel,
    seed: u64,
) -> Result<Generation, ApiError> {
    let body: Body = serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(None, format!("the body is not a valid request: {error}"))
    })?;
    if let Some(name) = body.model.as_deref()
        && name != model.name
    {
        return Err(ApiError {
            status: StatusCode::NOT_FOUND,
            message: format!("the model `{name}` does not exist; this server has `{}`", model.name),
            parameter: Some("model"),
            code: Some("model_not_found"),
        });
    }
    refuse_unsupported(&body)?;
    let prompt = match endpoint {
        Endpoint::Completion => prompt_tokens(body.prompt.as_ref())?,
        Endpoint::Chat => chat_tokens(body.messages.as_deref())?,
    };
    let output_tokens_max = output_tokens_max(endpoint, &body, prompt.len(), model)?;
    let options = body.stream_options.as_ref();
    Ok(Generation {
        prompt,
        output_tokens_max,
        sampling: sampling(&body, seed)?,
        stream: body.stream.unwrap_or(false),
        include_usage: options.and_then(|options| options.include_usage).unwrap_or(false),
        continuous_usage: options
            .and_then(|options| options.continuous_usage_stats)
            .unwrap_or(false),
    })
}

fn refuse_unsupported(body: &Body) -> Result<(), ApiError> {
    let is_asked = |value: &Option<Value>| match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    };
    for (parameter, asked) in [
        ("n", body.n.is_some_and(|n| n != 1)),
        ("best_of", body.best_of.is_some_and(|n| n != 1)),
        ("echo", body.echo == Some(true)),
        ("stop", is_asked(&body.stop)),
        ("suffix", body.suffix.is_some()),
        ("logprobs", is_asked(&body.logprobs)),
        ("tools", is_asked(&body.tools)),
    ] {
        if asked {
            let message = format!("this server does not support `{parameter}`");
            return Err(ApiError::bad_request(Some(parameter), message));
        }
    }
    Ok(())
}

fn sampling(body: &Body, seed: u64) -> Result<SamplingSettings, ApiError> {
    let temperature = body.temperature.unwrap_or(1.0) as f32;
    if !(temperature.is_finite() && temperature >= 0.0) {
        return Err(ApiError::bad_request(
            Some("temperature"),
            format!("`temperature` must be from 0 to {:e}", f32::MAX),
        ));
    }
    let top_p = body.top_p.unwrap_or(1.0) as f32;
    if !(top_p > 0.0 && top_p <= 1.0) {
        return Err(ApiError::bad_request(Some("top_p"), "`top_p` must be above 0 and at most 1"));
    }
    let seed = body.seed.map_or(seed, i64::cast_unsigned);
    Ok(SamplingSettings { temperature, top_p, ignore_end: body.ignore_eos.unwrap_or(false), seed })
}

fn output_tokens_max(
    endpoint: Endpoint,
    body: &Body,
    prompt_tokens: usize,
    model: &ServedModel,
) -> Result<usize, ApiError> {
    let longest = model.length_max.min(model.kv_tokens_max);
    let room = longest.saturating_sub(prompt_tokens);
    let asked = match endpoint {
        Endpoint::Completion => body.max_tokens,
        Endpoint::Chat => body.max_completion_tokens.or(body.max_tokens),
    };
    let tokens = match (asked, endpoint) {
        (Some(asked), _) => {
            usize::try_from(asked).ok().filter(|&tokens| tokens > 0).ok_or_else(|| {
                ApiError::bad_request(
                    Some("max_tokens"),
                    format!("`max_tokens` must be at least 1, not {asked}"),
                )
            })?
        }
        (None, Endpoint::Completion) => COMPLETION_TOKENS_DEFAULT.min(room).max(1),
        (None, Endpoint::Chat) => CHAT_TOKENS_DEFAULT.min(room).max(1),
    };
    if tokens > room {
        let (bound, why) = if model.length_max <= model.kv_tokens_max {
            (model.length_max, "the model's longest sequence")
        } else {
            (model.kv_tokens_max, "the whole key-value cache")
        };
        return Err(ApiError {
            status: StatusCode::BAD_REQUEST,
            message: format!(
                "{prompt_tokens} prompt tokens and {tokens} output tokens are more than {why} of {bound} tokens"
            ),
            parameter: Some("max_tokens"),
            code: Some("context_length_exceeded"),
        });
    }
    Ok(tokens)
}

/// A prompt is a text, a list of token ids, or a list that holds exactly one of these.
fn prompt_tokens(prompt: Option<&Value>) -> Result<Vec<TokenId>, ApiError> {
    let wrong = |message: &str| ApiError::bad_request(Some("prompt"), message);
    let tokens = match prompt {
        None | Some(Value::Null) => return Err(wrong("`prompt` is missing")),
        Some(Value::String(text)) => Tokenizer.encode(text),
        Some(Value::Array(items)) => match items.as_slice() {
            [one @ (Value::String(_) | Value::Array(_))] => return prompt_tokens_nested(one),
            [Value::String(_) | Value::Array(_), ..] => {
                return Err(wrong("this server takes one prompt per request"));
            }
            ids => token_ids(ids)?,
        },
        Some(_) => return Err(wrong("`prompt` must be a text or a list of token ids")),
    };
    if tokens.is_empty() {
        return Err(wrong("`prompt` is empty"));
    }
    Ok(tokens)
}

/// The one prompt inside a list; a further list inside it is refused, so that depth is bounded.
fn prompt_tokens_nested(prompt: &Value) -> Result<Vec<TokenId>, ApiError> {
    let tokens = match prompt {
        Value::String(text) => Tokenizer.encode(text),
        Value::Array(ids) => token_ids(ids)?,
        _ => Vec::new(),
    };
    if tokens.is_empty() {
        return Err(ApiError::bad_request(Some("prompt"), "`prompt` is empty"));
    }
    Ok(tokens)
}

fn token_ids(ids: &[Value]) -> Result<Vec<TokenId>, ApiError> {
    ids.iter()
        .map(|id| match id.as_u64() {
            Some(id) if id < VOCABULARY_SIZE as u64 => Ok(id as TokenId),
            _ => Err(ApiError::bad_request(
                Some("prompt"),
                format!("{id} is not a token id from 0 to {}", VOCABULARY_SIZE - 1),
            )),
        })
        .collect()
}

fn chat_tokens(messages: Option<&[Message]>) -> Result<Vec<TokenId>, ApiError> {
    let wrong = |message: String| ApiError::bad_request(Some("messages"), message);
    let messages = messages.unwrap_or_default();
    if messages.is_empty() {
        return Err(wrong("`messages` is missing or empty".to_owned()));
    }
    let mut turns = Vec::with_capacity(messages.len());
    for message in messages {
        let role = match message.role.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => return Err(wrong(format!("this server does not know the role `{other}`"))),
        };
        turns.push((
            role,
            content_text(message.content.as_ref()).ok_or_else(|| {
                wrong("`content` must be a text or a list of text parts".to_owned())
            })?,
        ));
    }
    Ok(Tokenizer.encode_chat(turns.iter().map(|(role, text)| (*role, text.as_str()))))
}

/// The text of a message's content: a text, or parts of which each is a text.
fn content_text(content: Option<&Value>) -> Option<String> {
    match content {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| (part["type"] == "text").then(|| part["text"].as_str()).flatten())
            .collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(endpoint: Endpoint, body: &str) -> Result<Generation, ApiError> {
        let model = ServedModel { name: "m".to_owned(), length_max: 50, kv_tokens_max: 40 };
        parse(endpoint, body.as_bytes(), &model, 77)
    }

    #[test]
    fn a_prompt_may_be_text_or_token_ids_alone_or_in_a_list_of_one() {
        for prompt in [r#""hi""#, r#"["hi"]"#, "[104,105]", "[[104,105]]"] {
            let body =
                format!(r#"{{"model":"m","prompt":{prompt},"max_tokens":3,"unknown":{{}}}}"#);
            let generation = parse_text(Endpoint::Completion, &body).unwrap();
            assert_eq!((generation.prompt, generation.output_tokens_max), (vec![104, 105], 3));
        }
    }

    #[test]
    fn defaults_are_those_of_the_api() {
        let generation = parse_text(Endpoint::Completion, r#"{"prompt":"a"}"#).unwrap();
        let sampling =
            SamplingSettings { temperature: 1.0, top_p: 1.0, ignore_end: false, seed: 77 };
        let expected = Generation {
            prompt: vec![97],
            output_tokens_max: 16,
            sampling,
            stream: false,
            include_usage: false,
            continuous_usage: false,
        };
        assert_eq!(generation, expected);
        let chat =
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"seed":-1}"#;
        let generation = parse_text(Endpoint::Chat, chat).unwrap();
        assert_eq!((generation.prompt.len(), generation.output_tokens_max), (4, 36));
        assert_eq!(generation.sampling.seed, u64::MAX);
    }

    #[test]
    fn wrong_requests_are_refused_with_the_field_that_is_wrong() {
        for (body, parameter) in [
            ("", None),
            ("{", None),
            ("[]", None),
            (r#"{"prompt":"a","max_tokens":"3"}"#, None),
            (r#"{"prompt":"a","stream":1}"#, None),
            (r#"{"prompt":"a","max_tokens":0}"#, Some("max_tokens")),
            (r#"{"prompt":"a","max_tokens":-4}"#, Some("max_tokens")),
            (r#"{"prompt":"a","max_tokens":40}"#, Some("max_tokens")),
            (r#"{"prompt":"a","temperature":-0.1}"#, Some("temperature")),
            (r#"{"prompt":"a","temperature":1e39}"#, Some("temperature")),
            (r#"{"prompt":"a","temperature":1e300}"#, Some("temperature")),
            (r#"{"prompt":"a","top_p":0}"#, Some("top_p")),
            (r#"{"prompt":"a","top_p":1e39}"#, Some("top_p")),
            (r#"{"prompt":"a","n":2}"#, Some("n")),
            (r#"{"prompt":"a","stop":["x"]}"#, Some("stop")),
            (r"{}", Some("prompt")),
            (r#"{"prompt":""}"#, Some("prompt")),
            (r#"{"prompt":[]}"#, Some("prompt")),
            (r#"{"prompt":[[[1]]]}"#, Some("prompt")),
            (r#"{"prompt":["a","b"]}"#, Some("prompt")),
            (r#"{"prompt":[264]}"#, Some("prompt")),
            (r#"{"prompt":[1.5]}"#, Some("prompt")),
            (r#"{"prompt":7}"#, Some("prompt")),
        ] {
            let error = parse_text(Endpoint::Completion, body).unwrap_err();
            assert_eq!(
                (error.status, error.parameter),
                (StatusCode::BAD_REQUEST, parameter),
                "{body}"
            );
            assert!(error.body()["error"]["message"].is_string());
        }
        for body in [
            r#"{"messages":[]}"#,
            r#"{"messages":[{"role":"alien","content":"a"}]}"#,
            r#"{"prompt":"a"}"#,
        ] {
            assert_eq!(parse_text(Endpoint::Chat, body).unwrap_err().parameter, Some("messages"));
        }
        assert_eq!(
            parse_text(Endpoint::Completion, r#"{"model":"other","prompt":"a"}"#)
                .unwrap_err()
                .status,
            404
        );
    }
}
