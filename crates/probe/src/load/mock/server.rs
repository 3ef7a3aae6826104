//! The mock itself.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::http::{self, Request, STREAM_END, STREAM_HEAD, append_event};
use super::options::{Fault, MockOptions, Pause};
use super::stats::{Before, MockStats, Recorder};
use crate::load::alarm::Alarm;

struct Shared {
    options: MockOptions,
    started: Instant,
    recorder: Mutex<Recorder>,
    /// When the one server of a queue is free again.
    free_at: Mutex<Instant>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here leaves its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new(options: MockOptions) -> Self {
        let started = Instant::now();
        Self {
            options,
            started,
            recorder: Mutex::new(Recorder::default()),
            free_at: Mutex::new(started),
        }
    }

    fn stats(&self, cpu: Duration) -> MockStats {
        lock(&self.recorder).stats(cpu)
    }
}

/// A mock on a thread of its own. It ends when this is dropped.
pub struct MockServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MockServer {
    /// Starts it on a free port of the loopback.
    pub fn start(options: MockOptions) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(options));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serving = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("mock-server".to_owned()).spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = TcpListener::from_std(listener) else {
                        return;
                    };
                    tokio::select! {
                        () = accept(listener, serving) => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:port`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its record so far. Its CPU is not known here, so it is 0.
    pub fn stats(&self) -> MockStats {
        self.shared.stats(Duration::ZERO)
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves on a listener for ever, on the calling runtime. `GET /stats` gives the record as JSON
/// and `GET /forget` clears it.
pub async fn serve(listener: TcpListener, options: MockOptions) {
    accept(listener, Arc::new(Shared::new(options))).await;
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                lock(&shared.recorder).connections += 1;
                tokio::spawn(connection(socket, Arc::clone(&shared)));
            }
            // Out of descriptors, most likely: let the open streams end.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// What a connection does after an answer.
enum Next {
    KeepAlive,
    Close,
}

async fn connection(mut socket: TcpStream, shared: Arc<Shared>) {
    // Only the mock's own measurements would suffer.
    let _ = socket.set_nodelay(true);
    let mut buffer = Vec::with_capacity(1024);
    let mut answers = 0_u32;
    while let Ok(Some(request)) = http::read_request(&mut socket, &mut buffer).await {
        let read = Instant::now();
        let next = match request.path.as_str() {
            "/stats" | "/forget" => control(&mut socket, &shared, &request.path).await,
            path if !request.generates => look(&mut socket, path).await,
            _ => {
                lock(&shared.recorder).open(monotonic_ns());
                let next = answer(&mut socket, &shared, &request, read).await;
                lock(&shared.recorder).close();
                next
            }
        };
        answers += 1;
        let last = shared.options.answers_per_connection == Some(answers);
        if last || !matches!(next, Ok(Next::KeepAlive)) {
            return;
        }
    }
}

async fn control(socket: &mut TcpStream, shared: &Shared, path: &str) -> io::Result<Next> {
    let body = if path == "/forget" {
        lock(&shared.recorder).forget();
        "{}".to_owned()
    } else {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let cpu = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        serde_json::to_string(&shared.stats(cpu))?
    };
    socket.write_all(http::json_answer(200, &body).as_bytes()).await?;
    Ok(Next::KeepAlive)
}

/// Answers who only looks, and refuses what it does not know: nothing of it is in the record.
async fn look(socket: &mut TcpStream, path: &str) -> io::Result<Next> {
    let (status, body) = match path.trim_end_matches('/') {
        "/v1/models" => (
            200,
            r#"{"object":"list","data":[{"id":"mock","object":"model","created":1700000000,"owned_by":"mock"}]}"#,
        ),
        "/health" | "/v1/health" => (200, "{}"),
        _ => (404, r#"{"error":{"message":"the mock has no such page","type":"mock"}}"#),
    };
    socket.write_all(http::json_answer(status, body).as_bytes()).await?;
    Ok(Next::KeepAlive)
}

/// The system's monotonic clock, which is the same in every process of a machine.
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

async fn answer(
    socket: &mut TcpStream,
    shared: &Shared,
    request: &Request,
    read: Instant,
) -> io::Result<Next> {
    match shared.options.fault {
        Some(Fault::Status(status)) => {
            let body = r#"{"error":{"message":"the mock refuses","type":"mock"}}"#;
            socket.write_all(http::json_answer(status, body).as_bytes()).await?;
            Ok(Next::KeepAlive)
        }
        Some(Fault::PlainJson) => {
            let body = r#"{"choices":[{"index":0,"message":{"content":"whole"}}]}"#;
            socket.write_all(http::json_answer(200, body).as_bytes()).await?;
            Ok(Next::KeepAlive)
        }
        Some(Fault::CloseBeforeAnswer) => Ok(Next::Close),
        Some(Fault::NeverAnswer) => std::future::pending().await,
        _ => stream(socket, shared, request, read).await,
    }
}

async fn stream(
    socket: &mut TcpStream,
    shared: &Shared,
    request: &Request,
    read: Instant,
) -> io::Result<Next> {
    let options = &shared.options;
    let first_due = first_due(shared, read);
    let mut out = String::with_capacity(1024);
    out.push_str(STREAM_HEAD);
    if options.role_chunk {
        append_event(&mut out, &event(r#""delta":{"role":"assistant","content":""}"#, None));
        socket.write_all(out.as_bytes()).await?;
        out.clear();
    }
    wait_exactly(options, first_due).await?;
    let (mut sent, mut before) = (0, Before::Request(read));
    let mut first_written = None;
    while sent < request.max_tokens {
        let size = options.tokens_per_chunk.clamp(1, request.max_tokens - sent);
        if let Some(next) = fault(socket, options.fault, sent, &mut out).await? {
            return Ok(next);
        }
        // A chunk is due with its last token.
        let due = after_pause(shared, first_due + options.token_gap * (sent + size - 1));
        // Writing goes on through whole waits, and after reads alone where nothing is waited for.
        if due > Instant::now() {
            tokio::time::sleep_until(due.into()).await;
        }
        append_tokens(&mut out, options, request, sent, size);
        sent += size;
        let now = Instant::now();
        {
            let mut recorder = lock(&shared.recorder);
            recorder.chunk(now, due, before);
            recorder.tokens += u64::from(size);
        }
        before = Before::Chunk(now);
        let first_written = *first_written.get_or_insert(now);
        if sent == request.max_tokens {
            let span = now.saturating_duration_since(first_written);
            lock(&shared.recorder).last(monotonic_ns(), span, sent);
        }
        socket.write_all(out.as_bytes()).await?;
        out.clear();
    }
    if let Some(next) = fault(socket, options.fault, sent, &mut out).await? {
        return Ok(next);
    }
    append_tail(&mut out, options, request, sent);
    socket.write_all(out.as_bytes()).await?;
    Ok(Next::KeepAlive)
}

/// When the first token is due.
fn first_due(shared: &Shared, read: Instant) -> Instant {
    let options = &shared.options;
    if let Some(service) = options.service_one_at_a_time {
        // Lindley's recursion: a request begins when it has come and the one before it has ended.
        let mut free_at = lock(&shared.free_at);
        *free_at = read.max(*free_at) + service;
        return *free_at;
    }
    // Multiples of the golden ratio, modulo 1, lie evenly over the unit interval.
    let number = lock(&shared.recorder).requests;
    let phase = (number as f64 * 0.618_033_988_749_894_9).fract();
    read + options.first_token + options.first_token_spread.mul_f64(phase)
}

/// Waits for the first token's time; to tens of microseconds where a queue adds up the errors.
async fn wait_exactly(options: &MockOptions, due: Instant) -> io::Result<()> {
    if options.service_one_at_a_time.is_some() {
        Alarm::new()?.wait_until(due).await?;
    } else if due > Instant::now() {
        tokio::time::sleep_until(due.into()).await;
    }
    Ok(())
}

/// The end of the pause that `due` falls into, else `due`.
fn after_pause(shared: &Shared, due: Instant) -> Instant {
    let Some(Pause { every, length }) = shared.options.pause else {
        return due;
    };
    let since = due.saturating_duration_since(shared.started);
    let period_ns = every.as_nanos().max(1);
    let into = Duration::from_nanos((since.as_nanos() % period_ns) as u64);
    // The first period has no pause, so that what is tested does not begin with one.
    if since >= every && into < length { due + length.saturating_sub(into) } else { due }
}

/// Does what should go wrong after this many tokens. Writes what is pending first.
async fn fault(
    socket: &mut TcpStream,
    fault: Option<Fault>,
    sent: u32,
    out: &mut String,
) -> io::Result<Option<Next>> {
    let (after, event) = match fault {
        Some(Fault::MalformedAfter(after)) => (after, "data: {\"choices\":[{\"delta\"\n\n"),
        Some(Fault::ErrorObjectAfter(after)) => {
            (after, "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n")
        }
        Some(Fault::ErrorEventAfter(after)) => {
            (after, "event: error\ndata: {\"message\":\"the engine died\"}\n\n")
        }
        Some(
            Fault::ResetAfter(after)
            | Fault::CloseAfter(after)
            | Fault::EndAfter(after)
            | Fault::StallAfter(after),
        ) => (after, ""),
        _ => return Ok(None),
    };
    if sent < after {
        return Ok(None);
    }
    if !event.is_empty() {
        append_event(out, event);
    }
    if matches!(fault, Some(Fault::EndAfter(_))) {
        out.push_str(STREAM_END);
    }
    socket.write_all(out.as_bytes()).await?;
    match fault {
        Some(Fault::StallAfter(_)) => std::future::pending().await,
        Some(Fault::ResetAfter(_)) => {
            // Closing with no time to linger makes the kernel send a reset.
            socket.set_zero_linger()?;
            Ok(Some(Next::Close))
        }
        Some(Fault::EndAfter(_)) => Ok(Some(Next::KeepAlive)),
        _ => Ok(Some(Next::Close)),
    }
}

fn event(inner: &str, usage: Option<(u32, u32)>) -> String {
    let usage = usage.map_or_else(String::new, |(prompt, completion)| {
        let total = prompt.saturating_add(completion);
        format!(
            r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}}}"#
        )
    });
    format!(
        "data: {{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\
         \"created\":1700000000,\"model\":\"mock\",\"choices\":[{{\"index\":0,{inner},\
         \"logprobs\":null,\"finish_reason\":null}}]{usage}}}\n\n"
    )
}

fn append_tokens(out: &mut String, options: &MockOptions, request: &Request, sent: u32, size: u32) {
    let text = " tok".repeat(size as usize);
    if request.triton {
        let counts = if options.usage_per_chunk {
            format!(r#""num_input_tokens":{},"num_output_tokens":{size},"#, request.prompt_tokens)
        } else {
            String::new()
        };
        let event = format!(
            "data: {{\"model_name\":\"mock\",\"model_version\":\"1\",{counts}\"text_output\":\"{text}\"}}\n\n"
        );
        append_event(out, &event);
        return;
    }
    let inner = if !request.chat {
        format!(r#""text":"{text}""#)
    } else if sent < options.reasoning_tokens {
        format!(r#""delta":{{"reasoning_content":"{text}"}}"#)
    } else {
        format!(r#""delta":{{"content":"{text}"}}"#)
    };
    let usage = options.usage_per_chunk.then_some((request.prompt_tokens, sent + size));
    append_event(out, &event(&inner, usage));
}

fn append_tail(out: &mut String, options: &MockOptions, request: &Request, sent: u32) {
    if request.triton {
        out.push_str(STREAM_END);
        return;
    }
    if options.usage {
        let (prompt, total) = (request.prompt_tokens, request.prompt_tokens.saturating_add(sent));
        let usage = format!(
            "data: {{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\
             \"model\":\"mock\",\"choices\":[],\"usage\":{{\"prompt_tokens\":{prompt},\
             \"total_tokens\":{total},\"completion_tokens\":{sent}}}}}\n\n"
        );
        append_event(out, &usage);
    }
    append_event(out, "data: [DONE]\n\n");
    out.push_str(STREAM_END);
}
