//! The HTTP endpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::protocol::{ApiError, Endpoint, ServedModel, parse};
use super::queue::{Event, Job, Refusal};
use super::scheduler::Shared;
use super::stream::{Answer, EventBody};

/// Longest request body in bytes. The longest prompt is far below, even as a list of token ids.
const BODY_BYTES_MAX: usize = 8 << 20;
/// Seconds after which a refused client may try again: a slot is free as soon as one request ends.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("1");

/// What the handlers know.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) shared: Arc<Shared>,
    pub(crate) model: ServedModel,
    /// Seed from which requests without one get theirs.
    pub(crate) seed: u64,
    requests: AtomicU64,
    /// Seconds since 1970 at the start; makes ids differ between two servers.
    started_s: u64,
}

impl Server {
    pub(crate) fn new(shared: Arc<Shared>, model: ServedModel, seed: u64) -> Self {
        Self { shared, model, seed, requests: AtomicU64::new(0), started_s: unix_seconds() }
    }
}

/// The routes of the server.
pub(crate) fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/v1/models", get(models))
        .route("/v1/completions", post(completions))
        .route("/v1/chat/completions", post(chat_completions))
        .fallback(async || {
            respond_error(&ApiError {
                status: StatusCode::NOT_FOUND,
                message: "there is no such endpoint".to_owned(),
                parameter: None,
                code: None,
            })
        })
        .method_not_allowed_fallback(async || {
            respond_error(&ApiError {
                status: StatusCode::METHOD_NOT_ALLOWED,
                message: "this endpoint does not take this method".to_owned(),
                parameter: None,
                code: None,
            })
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(server)
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

async fn health(State(server): State<Arc<Server>>) -> StatusCode {
    if server.shared.queue.is_stopping() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
}

async fn metrics(State(server): State<Arc<Server>>) -> Response {
    let text = server.shared.metrics.render(&server.model.name, server.shared.queue.waiting());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn models(State(server): State<Arc<Server>>) -> Response {
    respond_json(
        StatusCode::OK,
        &json!({"object": "list", "data": [{
            "id": server.model.name,
            "object": "model",
            "created": server.started_s,
            "owned_by": "cotenant",
            "max_model_len": server.model.length_max,
        }]}),
    )
}

async fn completions(
    State(server): State<Arc<Server>>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    generate(&server, Endpoint::Completion, body)
        .await
        .unwrap_or_else(|error| respond_error(&error))
}

async fn chat_completions(
    State(server): State<Arc<Server>>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    generate(&server, Endpoint::Chat, body).await.unwrap_or_else(|error| respond_error(&error))
}

async fn generate(
    server: &Server,
    endpoint: Endpoint,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let arrived = Instant::now();
    let body = body.map_err(|error| ApiError {
        status: error.status(),
        message: error.body_text(),
        parameter: None,
        code: None,
    })?;
    let number = server.requests.fetch_add(1, Ordering::Relaxed);
    let generation = parse(endpoint, &body, &server.model, server.seed.wrapping_add(number))?;
    let prefix = match endpoint {
        Endpoint::Completion => "cmpl",
        Endpoint::Chat => "chatcmpl",
    };
    let answer = Answer {
        endpoint,
        id: format!("{prefix}-{:x}-{number:x}", server.started_s),
        created_s: unix_seconds(),
        model_name: server.model.name.clone(),
        prompt_tokens: generation.prompt.len(),
        include_usage: generation.include_usage,
        continuous_usage: generation.continuous_usage,
    };
    // One event per token and one for a failure: the scheduler never has to wait for a slow client.
    let (sender, receiver) = mpsc::channel(generation.output_tokens_max + 1);
    let job = Job {
        prompt: generation.prompt,
        output_tokens_max: generation.output_tokens_max,
        sampling: generation.sampling,
        events: sender,
        arrived,
    };
    server.shared.queue.push(job).map_err(|refusal| refused(server, refusal))?;
    if generation.stream {
        Ok(respond_stream(answer, receiver))
    } else {
        collect(&answer, receiver).await
    }
}

fn refused(server: &Server, refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::Full => {
            server.shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
            ApiError {
                status: StatusCode::TOO_MANY_REQUESTS,
                message: "as many requests wait as may; try again later".to_owned(),
                parameter: None,
                code: Some("queue_full"),
            }
        }
        Refusal::Stopping => stopped("the server is stopping".to_owned()),
    }
}

fn stopped(message: String) -> ApiError {
    ApiError { status: StatusCode::SERVICE_UNAVAILABLE, message, parameter: None, code: None }
}

/// Waits for the whole answer. When the client goes away, this future and with it the receiver is dropped.
async fn collect(answer: &Answer, mut events: mpsc::Receiver<Event>) -> Result<Response, ApiError> {
    let mut whole = String::new();
    let mut completion_tokens = 0;
    loop {
        match events.recv().await {
            Some(Event::Token { text, finish }) => {
                whole.push_str(&text);
                completion_tokens += 1;
                if let Some(reason) = finish {
                    let value = answer.whole(&whole, completion_tokens, reason);
                    return Ok(respond_json(StatusCode::OK, &value));
                }
            }
            Some(Event::Failed(message)) => return Err(stopped(message)),
            None => return Err(stopped("the engine stopped".to_owned())),
        }
    }
}

fn respond_stream(answer: Answer, events: mpsc::Receiver<Event>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, axum::body::Body::new(EventBody::new(answer, events))).into_response()
}

fn respond_json(status: StatusCode, value: &Value) -> Response {
    let headers: [(HeaderName, HeaderValue); 1] =
        [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, headers, value.to_string()).into_response()
}

fn respond_error(error: &ApiError) -> Response {
    let mut response = respond_json(error.status, &error.body());
    if error.status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER_S);
    }
    response
}
