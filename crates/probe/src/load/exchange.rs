//! One request and its answer.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cotenant_core::evidence::{ChunkGaps, Outcome, RequestRecord};
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;

use super::cancel::Cancel;
use super::chunk;
use super::client::Limits;
use super::connection::{Connection, Pool, ns_since};
use super::failure::{after_head, before_head};
use super::live::Live;
use super::progress::{Failure, Progress};
use super::schedule::PlannedRequest;
use super::sse::SseParser;
use super::target::Target;
use super::watchdog::Watchdog;

/// Most bytes of an error answer that are read for its words.
const ERROR_BODY_BYTES_MAX: usize = 4 << 10;

/// A kept connection that breaks within this time of the write, without an answer, had been closed
/// before it: longer than a round trip to a distant server, shorter than any work on a request.
const RESEND_WITHIN_NS: u64 = 500_000_000;

/// What the requests of one load share.
pub(super) struct Shared {
    pub(super) target: Target,
    pub(super) limits: Limits,
    pub(super) start: Instant,
    pub(super) cancel: Cancel,
    /// Who looks at the load while it runs.
    pub(super) live: Option<Live>,
    /// The target's addresses, or why there are none.
    pub(super) addresses: Result<Vec<SocketAddr>, String>,
    pub(super) pool: Mutex<Pool>,
    pub(super) connections_opened: AtomicU32,
    pub(super) reconnects: AtomicU32,
}

impl Shared {
    pub(super) fn now_ns(&self) -> u64 {
        ns_since(self.start)
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Pool> {
        // The pool is whole between any two of its calls, so a panic elsewhere does not spoil it.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection whose answer was read to its end.
    pub(super) fn give_back(&self, connection: Connection) {
        self.pool().give(connection, self.now_ns());
    }
}

/// A request that has ended.
pub(super) struct Finished {
    pub(super) record: RequestRecord,
    pub(super) gaps: ChunkGaps,
    pub(super) detail: Option<String>,
    /// Intended time to the moment at which the request was taken up; `None` if it never was due.
    pub(super) lateness_ns: Option<u64>,
    pub(super) chunks_coalesced: u32,
}

/// Sends a request and reads its answer to the end.
pub(super) async fn exchange(
    shared: Arc<Shared>,
    planned: PlannedRequest,
    intended_ns: u64,
    body: Bytes,
) -> Finished {
    let lateness_ns = Some(shared.now_ns().saturating_sub(intended_ns));
    let mut progress = Progress::of(shared.target.spec().api);
    let deadline_ns = intended_ns.saturating_add(nanoseconds(shared.limits.request_timeout));
    let stall_ns = nanoseconds(shared.limits.stall_limit);
    let first_look_ns = deadline_ns.min(shared.now_ns().saturating_add(stall_ns));
    let first_look = shared.start + Duration::from_nanos(first_look_ns);
    let sleep = pin!(tokio::time::sleep_until(first_look.into()));
    let cancel = shared.cancel.clone();
    let notified = pin!(cancel.notified());
    let mut watchdog = Watchdog {
        start: shared.start,
        cancel: &cancel,
        deadline_ns,
        stall_ns,
        sleep,
        notified,
        registered: false,
    };
    progress.index = planned.index;
    let ended = converse(&shared, body, &mut progress, &mut watchdog).await;
    let (end_ns, outcome, detail) = match ended {
        Ok(end_ns) => (end_ns, progress.complete(), None),
        Err(failure) => (shared.now_ns(), failure.outcome, Some(failure.detail)),
    };
    let chunks_coalesced = progress.chunks_coalesced;
    let (record, gaps) = progress.into_record(&planned, intended_ns, end_ns, outcome);
    Finished { record, gaps, detail, lateness_ns, chunks_coalesced }
}

/// Holds one exchange, on a second connection if a kept one turns out to be dead. Returns when the
/// last byte arrived.
async fn converse(
    shared: &Shared,
    body: Bytes,
    progress: &mut Progress,
    watchdog: &mut Watchdog<'_, '_>,
) -> Result<u64, Failure> {
    let mut connection = take_or_open(shared, watchdog).await?;
    let mut result = attempt(shared, &mut connection, body.clone(), progress, watchdog).await;
    // A server may close a kept connection in the very moment in which it is used again. That is
    // no failure of the server: when no byte of an answer has come, the request goes out once more
    // on a new connection. Its latency still counts from the intended time.
    // Only a quick loss is taken for that: a server that worked on the request and then broke the
    // connection has failed it.
    let lost = matches!(&result, Err(failure) if failure.outcome == Outcome::Reset);
    let written_ns = connection.stamps.write_ns();
    let quick = written_ns
        .is_none_or(|written_ns| shared.now_ns().saturating_sub(written_ns) < RESEND_WITHIN_NS);
    if lost && quick && connection.reused && connection.stamps.read_ns().is_none() {
        shared.reconnects.fetch_add(1, Ordering::Relaxed);
        connection = open(shared, watchdog).await?;
        result = attempt(shared, &mut connection, body, progress, watchdog).await;
    }
    let end_ns = connection.stamps.read_ns().unwrap_or_else(|| shared.now_ns());
    if result? == Ended::Whole {
        shared.give_back(connection);
    }
    match progress.failure.take() {
        Some(failure) => Err(failure),
        None => Ok(end_ns),
    }
}

/// Whether an answer's HTTP body was read to its end, so that the connection can be kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Whole,
    Left,
}

async fn take_or_open(
    shared: &Shared,
    watchdog: &mut Watchdog<'_, '_>,
) -> Result<Connection, Failure> {
    let idle_ns_max = nanoseconds(shared.limits.idle_connection_max);
    let kept =
        poll_fn(|context| Poll::Ready(shared.pool().take(shared.now_ns(), idle_ns_max, context)))
            .await;
    match kept {
        Some(connection) => Ok(connection),
        None => open(shared, watchdog).await,
    }
}

async fn open(shared: &Shared, watchdog: &mut Watchdog<'_, '_>) -> Result<Connection, Failure> {
    let refused = |detail: String| Failure::new(Outcome::ConnectFailed, detail);
    let addresses = shared.addresses.as_ref().map_err(|reason| refused(reason.clone()))?;
    shared.connections_opened.fetch_add(1, Ordering::Relaxed);
    let limit = shared.limits.connect_timeout;
    let opening = tokio::time::timeout(limit, Connection::open(addresses, shared.start));
    let mut opening = pin!(opening);
    let opened = poll_fn(|context| match opening.as_mut().poll(context) {
        Poll::Ready(opened) => Poll::Ready(Ok(opened)),
        Poll::Pending => watchdog.poll(context, None).map(Err),
    })
    .await?;
    match opened {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Err(_) => Err(refused(format!("no connection within {} s", limit.as_secs_f64()))),
    }
}

/// Waits for `future`, moves the connection's bytes meanwhile, and minds the watchdog.
async fn wait<F: Future>(
    connection: &mut Connection,
    watchdog: &mut Watchdog<'_, '_>,
    future: F,
) -> Result<F::Output, Failure> {
    let mut future = pin!(future);
    poll_fn(|context| match connection.poll_with(future.as_mut(), context) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => watchdog.poll(context, connection.stamps.read_ns()).map(Err),
    })
    .await
}

async fn attempt(
    shared: &Shared,
    connection: &mut Connection,
    body: Bytes,
    progress: &mut Progress,
    watchdog: &mut Watchdog<'_, '_>,
) -> Result<Ended, Failure> {
    let answer = connection.sender.send_request(shared.target.request(body));
    let answered = wait(connection, watchdog, answer).await;
    if progress.sent_ns.is_none() {
        progress.sent_ns = connection.stamps.write_ns();
    }
    let response = answered?.map_err(|error| before_head(&error))?;
    if response.status().is_success() && !is_json(&response) {
        return read_stream(shared, connection, response.into_body(), progress, watchdog).await;
    }
    let status = response.status();
    let (text, ended) = read_error(connection, response.into_body(), watchdog).await;
    let words = chunk::excerpt(&text);
    let code = status.as_u16();
    progress.failure = Some(match code {
        // A whole JSON answer where a stream was asked for.
        200..300 if chunk::classify(&text).is_ok_and(|chunk| chunk.error.is_some()) => {
            Failure::new(Outcome::StreamError, words)
        }
        200..300 => {
            let detail = format!("JSON came where a stream of events was asked for: {words}");
            Failure::new(Outcome::Malformed, detail)
        }
        429 | 503 => Failure::new(Outcome::Refused(code), format!("{status}: {words}")),
        _ => Failure::new(Outcome::HttpError(code), format!("{status}: {words}")),
    });
    Ok(ended)
}

fn is_json(response: &Response<Incoming>) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

async fn read_stream(
    shared: &Shared,
    connection: &mut Connection,
    mut body: Incoming,
    progress: &mut Progress,
    watchdog: &mut Watchdog<'_, '_>,
) -> Result<Ended, Failure> {
    let stall_threshold_ns = nanoseconds(shared.limits.stall_threshold);
    let mut parser = SseParser::new();
    loop {
        let frame = match wait(connection, watchdog, body.frame()).await {
            Ok(frame) => frame,
            // The answer is whole already: only the end of its transfer was waited for.
            Err(_) if progress.done => return Ok(Ended::Left),
            Err(failure) => return Err(failure),
        };
        let frame = match frame {
            None => break,
            Some(Ok(frame)) => frame,
            Some(Err(_)) if progress.done => return Ok(Ended::Left),
            Some(Err(error)) => return Err(after_head(&error)),
        };
        let Some(bytes) = frame.data_ref().filter(|_| !progress.done) else {
            continue;
        };
        // The driver reads on only when this frame has been taken, so the last read's stamp is the
        // stamp of the read that brought these bytes.
        let at_ns = connection.stamps.read_ns().unwrap_or_else(|| shared.now_ns());
        parser
            .push(bytes, |event| progress.take(event, at_ns, stall_threshold_ns))
            .map_err(|error| Failure::new(Outcome::Malformed, error.to_string()))?;
        if let (Some(live), Some(at_ns)) = (&shared.live, progress.first_token_to_tell()) {
            live.answered(progress.index, at_ns);
        }
        if progress.failure.is_some() {
            return Ok(Ended::Left);
        }
    }
    let at_ns = connection.stamps.read_ns().unwrap_or_else(|| shared.now_ns());
    parser.finish(|event| progress.take(event, at_ns, stall_threshold_ns));
    progress.end()?;
    Ok(Ended::Whole)
}

/// The beginning of an answer that is no stream. Its outcome is known already, so a failure here
/// only shortens the words.
async fn read_error(
    connection: &mut Connection,
    mut body: Incoming,
    watchdog: &mut Watchdog<'_, '_>,
) -> (Vec<u8>, Ended) {
    let mut text = Vec::new();
    loop {
        match wait(connection, watchdog, body.frame()).await {
            Ok(None) => return (text, Ended::Whole),
            Ok(Some(Ok(frame))) => {
                if let Some(bytes) = frame.data_ref() {
                    text.extend_from_slice(bytes);
                }
                if text.len() > ERROR_BODY_BYTES_MAX {
                    return (text, Ended::Left);
                }
            }
            Ok(Some(Err(_))) | Err(_) => return (text, Ended::Left),
        }
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
