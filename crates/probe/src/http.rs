//! One small GET or POST, for readiness, metrics and an engine's own switches. The load client has its own connections, so that a
//! scrape never waits behind a request that is measured.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{HeaderMap, Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Largest body that is read, bytes.
const BODY_MAX: usize = 16 << 20;

/// Why a GET gave no answer.
#[derive(Debug, thiserror::Error)]
#[error("GET {url}: {reason}")]
pub struct GetError {
    /// The address.
    pub url: String,
    /// What happened.
    pub reason: String,
}

/// What a GET was answered with.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The status and body of one GET on a new connection. Only `http://` is spoken.
///
/// # Errors
/// A bad URL, no connection, no answer within `patience`, or a body beyond 16 MiB.
pub async fn get(url: &str, patience: Duration) -> Result<(u16, Bytes), GetError> {
    get_answer(url, patience).await.map(|answer| (answer.status, answer.body))
}

/// As [`get`], with the header fields.
///
/// # Errors
/// As [`get`].
pub async fn get_answer(url: &str, patience: Duration) -> Result<Answer, GetError> {
    let failed = |reason: String| GetError { url: url.to_owned(), reason };
    match tokio::time::timeout(patience, exchange(Method::GET, url, None)).await {
        Ok(answer) => answer.map_err(failed),
        Err(_) => Err(failed(format!("no answer within {patience:?}"))),
    }
}

/// The status and body of one POST on a new connection, with a JSON body where one is given.
///
/// # Errors
/// A sentence with the address: as [`get`].
pub async fn post(
    url: &str,
    json: Option<&str>,
    patience: Duration,
) -> Result<(u16, Bytes), String> {
    let body = json.map(|json| Bytes::copy_from_slice(json.as_bytes()));
    match tokio::time::timeout(patience, exchange(Method::POST, url, body)).await {
        Ok(Ok(answer)) => Ok((answer.status, answer.body)),
        Ok(Err(reason)) => Err(format!("POST {url}: {reason}")),
        Err(_) => Err(format!("POST {url}: no answer within {patience:?}")),
    }
}

async fn exchange(method: Method, url: &str, body: Option<Bytes>) -> Result<Answer, String> {
    let uri: Uri = url.parse().map_err(|_| "it is no URL".to_owned())?;
    if uri.scheme_str() != Some("http") {
        return Err("it does not begin with http://".into());
    }
    let host = uri.host().ok_or("no host")?.trim_matches(['[', ']']).to_owned();
    let stream = TcpStream::connect((host.as_str(), uri.port_u16().unwrap_or(80)))
        .await
        .map_err(|error| error.to_string())?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let driver = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or(host.as_str(), |authority| authority.as_str());
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(hyper::header::HOST, authority)
        .header(hyper::header::CONNECTION, "close");
    if body.is_some() {
        request = request.header(hyper::header::CONTENT_TYPE, "application/json");
    }
    let request =
        request.body(Full::new(body.unwrap_or_default())).map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(|error| error.to_string());
    let result = match answer {
        Ok(answer) => {
            let (parts, body) = answer.into_parts();
            let body = Limited::new(body, BODY_MAX).collect().await;
            body.map(|body| Answer {
                status: parts.status.as_u16(),
                headers: parts.headers,
                body: body.to_bytes(),
            })
            .map_err(|error| error.to_string())
        }
        Err(error) => Err(error),
    };
    driver.abort();
    result
}
