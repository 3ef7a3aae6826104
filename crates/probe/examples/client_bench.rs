//! What the load client costs and how far it can be trusted: it runs against the mock, client and
//! server in processes of their own on one core each, and compares the client's figures with the
//! server's own record. `cargo run --release -p cotenant-probe --example client_bench`
//!
//! Read the figures together with the load average that is printed above them.
//!
//! Each half also runs alone, on whatever core it is given, beside other clients:
//!
//! ```text
//! client_bench --serve PORT FIRST_MS SPREAD_MS GAP_MS       until its standard input closes
//! client_bench --load URL STREAMS REQUESTS TOKENS RATE FILE
//! ```
//!
//! The server prints its URL at the start and, at the end, what it was to do and what it did. The
//! client sends at a constant rate (0: a closed loop) and writes every time it stamped.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cotenant_core::evidence::RequestRecord;
use cotenant_probe::load::mock::{MockOptions, MockStats, TimeSummary, serve};
use cotenant_probe::load::{
    Arrivals, Cancel, LengthDistribution, Lengths, Limits, LoadResult, LoadSpec, PromptForm,
    Target, TargetSpec, pin_thread, run_on_thread, schedule,
};

type Anything = Box<dyn Error + Send + Sync>;

const SERVER_CORE: usize = 0;
const CLIENT_CORE: usize = 1;

fn main() -> Result<(), Anything> {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("serve") => {
            pin_thread(SERVER_CORE)?;
            serve_until_closed(0, &arguments[2..], std::io::stdin(), std::io::stdout())
        }
        Some("load") => load_on_core(&arguments[2..]),
        Some("--serve") => {
            let port = arguments.get(2).ok_or(SERVE_USAGE)?.parse()?;
            serve_until_closed(port, &arguments[3..], std::io::stdin(), std::io::stdout())
        }
        Some("--load") => load_to_file(&arguments[2..]),
        _ => bench(),
    }
}

/// One scene: what the server does and what it is asked.
struct Scene {
    name: &'static str,
    first_token_ms: u64,
    spread_ms: u64,
    token_gap_ms: u64,
    streams: u32,
    requests: u32,
    tokens: u32,
    /// 0: a closed loop, all streams at once.
    rate_per_s: u32,
}

const SCENES: [Scene; 5] = [
    Scene {
        name: "1,024 streams of 128 tokens at 20 ms",
        first_token_ms: 100,
        spread_ms: 20,
        token_gap_ms: 20,
        streams: 1024,
        requests: 2048,
        tokens: 128,
        rate_per_s: 0,
    },
    Scene {
        name: "one-token streams, 64 at once",
        first_token_ms: 0,
        spread_ms: 0,
        token_gap_ms: 0,
        streams: 64,
        requests: 200_000,
        tokens: 1,
        rate_per_s: 0,
    },
    Scene {
        name: "paced tokens, 1,200 streams of 512 tokens at 10 ms",
        first_token_ms: 100,
        spread_ms: 10,
        token_gap_ms: 10,
        streams: 1200,
        requests: 1200,
        tokens: 512,
        rate_per_s: 0,
    },
    Scene {
        name: "blast, 16 streams of 1,024 tokens without pause",
        first_token_ms: 0,
        spread_ms: 0,
        token_gap_ms: 0,
        streams: 16,
        requests: 2_000,
        tokens: 1024,
        rate_per_s: 0,
    },
    Scene {
        name: "open loop, Poisson 2,000 requests/s of 8 tokens at 5 ms",
        first_token_ms: 20,
        spread_ms: 5,
        token_gap_ms: 5,
        streams: 1024,
        requests: 20_000,
        tokens: 8,
        rate_per_s: 2_000,
    },
];

fn bench() -> Result<(), Anything> {
    let cores = std::thread::available_parallelism()?.get();
    println!("cores {cores}, server on core {SERVER_CORE}, client on core {CLIENT_CORE}");
    if cores < 2 {
        return Err("the bench needs two cores".into());
    }
    for scene in &SCENES {
        println!("\n{}", scene.name);
        println!("  load average    {}", load_average());
        let mut server = Server::start(scene)?;
        let url = server.url.clone();
        let numbers = [scene.streams, scene.requests, scene.tokens, scene.rate_per_s];
        let status = Command::new(std::env::current_exe()?)
            .args(["load", &url])
            .args(numbers.map(|number| number.to_string()))
            .status()?;
        server.stop();
        if !status.success() {
            return Err("the client's process failed".into());
        }
    }
    Ok(())
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_else(|_| "unknown".to_owned());
    text.split_ascii_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// The server's process. It ends with this one: its standard input closes.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(scene: &Scene) -> Result<Self, Anything> {
        let times = [scene.first_token_ms, scene.spread_ms, scene.token_gap_ms];
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .args(times.map(|ms| ms.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut url = String::new();
        let output = child.stdout.take().ok_or("the server has no output")?;
        BufReader::new(output).read_line(&mut url)?;
        Ok(Self { child, url: url.trim().to_owned() })
    }

    fn stop(&mut self) {
        drop(self.child.stdin.take());
        // It may have ended already.
        let _ = self.child.wait();
    }
}

const SERVE_USAGE: &str = "--serve PORT FIRST_MS SPREAD_MS GAP_MS";
const LOAD_USAGE: &str = "--load URL STREAMS REQUESTS TOKENS RATE FILE";

/// Serves until `input` ends. Its first line of output is its URL, its last a JSON object.
fn serve_until_closed(
    port: u16,
    arguments: &[String],
    mut input: impl Read + Send + 'static,
    mut output: impl Write,
) -> Result<(), Anything> {
    let ms =
        |at: usize| -> Result<u64, Anything> { Ok(arguments.get(at).ok_or(SERVE_USAGE)?.parse()?) };
    let (first_token_ms, spread_ms, token_gap_ms) = (ms(0)?, ms(1)?, ms(2)?);
    let options = MockOptions {
        first_token: Duration::from_millis(first_token_ms),
        first_token_spread: Duration::from_millis(spread_ms),
        token_gap: Duration::from_millis(token_gap_ms),
        ..MockOptions::default()
    };
    raise_open_files()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seen = runtime.block_on(async {
        let listener = tokio::net::TcpSocket::new_v4()?;
        listener.set_reuseaddr(true)?;
        listener.bind(([127, 0, 0, 1], port).into())?;
        let listener = listener.listen(4096)?;
        let url = format!("http://{}", listener.local_addr()?);
        writeln!(output, "{url}")?;
        output.flush()?;
        let (closed, until_closed) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // Ends when the parent closes the pipe or dies.
            let _ = input.read_to_end(&mut Vec::new());
            let _ = closed.send(server_stats(&url));
        });
        tokio::select! {
            () = serve(listener, options) => Err("the server ended".into()),
            stats = until_closed => stats?,
        }
    })?;
    let intended = serde_json::json!({
        "first_token_ms": first_token_ms,
        "first_token_spread_ms": spread_ms,
        "token_gap_ms": token_gap_ms,
    });
    writeln!(output, "{}", serde_json::json!({ "intended": intended, "seen": seen }))?;
    Ok(())
}

fn raise_open_files() -> Result<(), Anything> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(())
}

fn load_on_core(arguments: &[String]) -> Result<(), Anything> {
    let asked = Asked::of(arguments)?;
    let rate_per_s = asked.rate_per_s;
    let result = load(&asked, Arrivals::Poisson { rate_per_s }, Some(CLIENT_CORE))?;
    let memory_kib = peak_memory_kib();
    let server: MockStats = server_stats(&asked.url)?;
    print_result(&result, &server, memory_kib, asked.streams, asked.tokens);
    Ok(())
}

fn load_to_file(arguments: &[String]) -> Result<(), Anything> {
    let asked = Asked::of(arguments)?;
    let file = arguments.get(5).ok_or(LOAD_USAGE)?;
    let rate_per_s = asked.rate_per_s;
    let result = load(&asked, Arrivals::Constant { rate_per_s }, None)?;
    let gaps: Vec<&[u32]> = result.gaps.iter().map(|gaps| gaps.gaps_us.as_slice()).collect();
    let record = serde_json::json!({
        "requests": result.requests.len(),
        "completed": result.requests.iter().filter(|record| record.outcome.is_complete()).count(),
        "first_token_us": first_tokens(&result, |record| record.sent_ns),
        "first_token_from_due_us": first_tokens(&result, |record| Some(record.intended_ns)),
        "chunk_gaps_us": gaps,
    });
    std::fs::write(file, record.to_string())?;
    Ok(())
}

/// A load as asked for on the command line.
struct Asked {
    url: String,
    streams: u32,
    requests: u32,
    tokens: u32,
    /// 0: a closed loop.
    rate_per_s: f64,
}

impl Asked {
    fn of(arguments: &[String]) -> Result<Self, Anything> {
        let text = |at: usize| arguments.get(at).ok_or(LOAD_USAGE);
        Ok(Self {
            url: text(0)?.clone(),
            streams: text(1)?.parse()?,
            requests: text(2)?.parse()?,
            tokens: text(3)?.parse()?,
            rate_per_s: text(4)?.parse()?,
        })
    }
}

/// Runs a load; `open` is how requests arrive where a rate is asked for.
fn load(asked: &Asked, open: Arrivals, core: Option<usize>) -> Result<LoadResult, Anything> {
    let &Asked { streams, requests, rate_per_s, .. } = asked;
    let (arrivals, seconds) = if rate_per_s == 0.0 {
        (Arrivals::ClosedLoop { users: streams, think: Duration::ZERO, requests }, 1.0)
    } else {
        (open, f64::from(requests) / rate_per_s)
    };
    let lengths = Lengths::Drawn {
        prompt: LengthDistribution::Fixed(16),
        output: LengthDistribution::Fixed(asked.tokens),
    };
    let plan = schedule(&LoadSpec::new(arrivals, lengths, Duration::from_secs_f64(seconds), 1))?;
    let spec = TargetSpec {
        prompt: PromptForm::Words { bytes_per_token: 4.0 },
        ..TargetSpec::new(asked.url.as_str(), "mock")
    };
    let target = Target::new(spec)?;
    let limits = Limits { streams_max: streams, connections_warm: streams, ..Limits::default() };
    let start = Instant::now() + Duration::from_millis(500);
    let load = run_on_thread(target, Arc::new(plan), limits, start, Cancel::new(), core)?;
    Ok(load.join().map_err(|_| "the client panicked")??)
}

fn print_result(
    result: &LoadResult,
    server: &MockStats,
    memory_kib: u64,
    streams: u32,
    tokens: u32,
) {
    let complete = result.requests.iter().filter(|record| record.outcome.is_complete()).count();
    let last_ns = result.requests.iter().map(|record| record.end_ns).max().unwrap_or(1);
    let first_ns = result.requests.iter().filter_map(|record| record.sent_ns).min().unwrap_or(0);
    let seconds = last_ns.saturating_sub(first_ns) as f64 / 1e9;
    let tokens_seen: u64 =
        result.requests.iter().map(|record| u64::from(record.output_tokens)).sum();
    println!("  completed       {complete} of {}", result.requests.len());
    for failure in result.failures.iter().take(3) {
        println!("  failed          {}: {}", failure.outcome.name(), failure.detail);
    }
    let from_sent = first_token(result, |record| record.sent_ns);
    let from_intended = first_token(result, |record| Some(record.intended_ns));
    let mut gaps: Vec<u32> =
        result.gaps.iter().flat_map(|gaps| gaps.gaps_us.iter().copied()).collect();
    let gap = TimeSummary::of(&mut gaps);
    compare("TTFT from send", from_sent, server.first_token);
    compare("TTFT from due", from_intended, server.first_token);
    if tokens > 1 {
        compare("chunk gap", gap, server.chunk_gap);
    }
    let late = server.lateness;
    println!("  server late     p50 {} p99 {} us", late.p50_us, late.p99_us);
    let open = (result.health.streams_open_max, server.streams_open_max);
    println!("  streams open    client {}, server {} of {streams}", open.0, open.1);
    let (requests, cpu_s) = (result.requests.len() as f64, result.health.cpu_s);
    println!(
        "  rate            {:.0} streams/s, {:.0} tokens/s",
        requests / seconds,
        tokens_seen as f64 / seconds
    );
    let late_us = |seconds: f64| seconds * 1e6;
    println!(
        "  client late     p50 {:.0} p99 {:.0} max {:.0} us",
        late_us(result.health.lateness_p50_s),
        late_us(result.health.lateness_p99_s),
        late_us(result.health.lateness_max_s)
    );
    let wait_s = result.health.run_queue_wait_s.unwrap_or(f64::NAN);
    println!(
        "  client CPU      {cpu_s:.2} s of {seconds:.2} s, run-queue wait {wait_s:.2} s, {:.2} us/token, \
         {:.1} us/stream",
        cpu_s * 1e6 / tokens_seen.max(1) as f64,
        cpu_s * 1e6 / requests
    );
    println!(
        "  CPU alone holds {:.0} streams/s, {:.0} tokens/s",
        requests / cpu_s,
        tokens_seen as f64 / cpu_s
    );
    println!("  server CPU      {:.2} s", server.cpu_s);
    println!("  client memory   {:.1} MiB peak", memory_kib as f64 / 1024.0);
    println!("  coalesced       {} chunks", result.chunks_coalesced);
}

fn first_token(result: &LoadResult, from: impl Fn(&RequestRecord) -> Option<u64>) -> TimeSummary {
    TimeSummary::of(&mut first_tokens(result, from))
}

/// The times to the first token, microseconds, of the requests that had one.
fn first_tokens(result: &LoadResult, from: impl Fn(&RequestRecord) -> Option<u64>) -> Vec<u32> {
    let time = |record: &RequestRecord| {
        let ns = record.first_token_ns?.saturating_sub(from(record)?);
        Some(u32::try_from(ns / 1000).unwrap_or(u32::MAX))
    };
    result.requests.iter().filter_map(time).collect()
}

fn compare(name: &str, client: TimeSummary, server: TimeSummary) {
    let ms = |us: u32| f64::from(us) / 1e3;
    println!(
        "  {name:<15} p50 {:.2} p99 {:.2} max {:.2} ms; server {:.2} {:.2} {:.2}; inflation p50 \
         {:+.2} p99 {:+.2}",
        ms(client.p50_us),
        ms(client.p99_us),
        ms(client.max_us),
        ms(server.p50_us),
        ms(server.p99_us),
        ms(server.max_us),
        ms(client.p50_us) - ms(server.p50_us),
        ms(client.p99_us) - ms(server.p99_us)
    );
}

/// The most memory that this process ever held.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

fn server_stats(url: &str) -> Result<MockStats, Anything> {
    let address = url.strip_prefix("http://").ok_or("not an http URL")?;
    let mut socket = TcpStream::connect(address)?;
    socket.write_all(b"GET /stats HTTP/1.1\r\nhost: mock\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0_u8; 4096];
    // The body ends with the one object that it holds.
    while !answer.ends_with(b"}") {
        match socket.read(&mut piece)? {
            0 => break,
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
    let text = String::from_utf8(answer)?;
    let (_, body) = text.split_once("\r\n\r\n").ok_or("no body")?;
    Ok(serde_json::from_str(body)?)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn ask(url: &str, text: &str, until: &str) -> String {
        let mut socket = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let mut piece = [0_u8; 4096];
        while !String::from_utf8_lossy(&answer).ends_with(until) {
            let read = socket.read(&mut piece).unwrap();
            assert!(read > 0, "the answer ended early: {}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&piece[..read]);
        }
        String::from_utf8(answer).unwrap()
    }

    /// A server alone on a port answers a foreign client's looks and its request in the newer form,
    /// counts the request alone, and tells at its end what it was to do and what it did.
    #[test]
    fn a_server_alone_tells_what_it_did() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (input, keep_open) = std::io::pipe().unwrap();
        let (output, written) = std::io::pipe().unwrap();
        let times = ["30", "0", "10"].map(str::to_owned);
        let server = std::thread::spawn(move || serve_until_closed(port, &times, input, written));
        let mut output = BufReader::new(output);
        let mut url = String::new();
        output.read_line(&mut url).unwrap();
        assert_eq!(url.trim(), format!("http://127.0.0.1:{port}"));

        let models = ask(url.trim(), "GET /v1/models HTTP/1.1\r\nhost: mock\r\n\r\n", "]}");
        assert!(models.contains(r#""id":"mock""#), "{models}");
        let nothing = ask(url.trim(), "GET /v1/none HTTP/1.1\r\nhost: mock\r\n\r\n", "}}");
        assert!(nothing.starts_with("HTTP/1.1 404"), "{nothing}");
        let words = r#"{"prompt":"one","max_tokens":2}"#;
        let head = "POST /tokenize HTTP/1.1\r\nhost: mock\r\ncontent-length:";
        let refused = ask(url.trim(), &format!("{head} {}\r\n\r\n{words}", words.len()), "}}");
        assert!(refused.starts_with("HTTP/1.1 404"), "{refused}");
        let body = r#"{"messages":[],"stream":true,"max_completion_tokens": 4}"#;
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\ncontent-length:";
        let request = format!("{head} {}\r\n\r\n{body}", body.len());
        let answer = ask(url.trim(), &request, "0\r\n\r\n");
        assert_eq!(answer.matches(r#""content":" tok""#).count(), 4);

        drop(keep_open);
        server.join().unwrap().unwrap();
        let mut told = String::new();
        output.read_to_string(&mut told).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["intended"]["first_token_ms"], 30);
        assert_eq!(told["intended"]["token_gap_ms"], 10);
        let seen: MockStats = serde_json::from_value(told["seen"].clone()).unwrap();
        assert_eq!((seen.requests, seen.tokens, seen.streams_open_max), (1, 4, 1));
        assert_eq!((seen.first_token.count, seen.chunk_gap.count), (1, 3));
        // A machine under load makes times longer and never shorter than the schedule.
        assert!(seen.first_token.p50_us >= 30_000, "{seen:?}");
        let span_ns = seen.last_token_ns - seen.first_request_ns;
        assert!(span_ns >= 60_000_000, "{seen:?}");
        assert_eq!(seen.first_request_ns, seen.last_request_ns);
        assert_eq!(seen.token_gap_mean.count, 1);
    }

    #[test]
    fn what_is_missing_on_the_command_line_is_named() {
        let error = load_to_file(&["http://127.0.0.1:1".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("--load URL STREAMS"), "{error}");
    }
}
