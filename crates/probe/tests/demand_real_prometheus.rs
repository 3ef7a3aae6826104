//! Demand from a real Prometheus: Debian's package (`apt-get install prometheus`), which brings
//! `promtool`. Without it, or without a path to it in COTENANT_PROMETHEUS, these tests say so and
//! skip. The one that scrapes waits for real seconds to pass and is run by hand:
//!
//! ```text
//! cargo test -p cotenant-probe --test demand_real_prometheus -- --include-ignored
//! ```
//!
//! With COTENANT_ENGINE set to a `cotenant` binary the embedded engine is scraped too, while it serves
//! four requests a second.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

mod demand_support;

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cotenant_core::demand::WorkUnit;
use cotenant_probe::clock;
use cotenant_probe::demand::{DemandError, QuerySource, ReadOptions, Source, read};
use demand_support::{Server, file, options, reading};

/// The program, or `None` with the reason printed.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("COTENANT_PROMETHEUS").map(PathBuf::from);
    let program = named.unwrap_or_else(|| PathBuf::from("/usr/bin/prometheus"));
    if program.is_file() {
        return Some(program);
    }
    eprintln!(
        "skipped: there is no {}: apt-get install prometheus, or set COTENANT_PROMETHEUS",
        program.display()
    );
    None
}

/// A process that ends with the test.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An address that was free a moment ago.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A server with its data in a folder.
struct Prometheus {
    _process: Process,
    url: String,
}

impl Prometheus {
    fn start(program: &Path, folder: &Path, configuration: &str) -> Self {
        let config = file(folder, "prometheus.yml", configuration);
        let address = free_address();
        let process = Process::start(
            Command::new(program)
                .arg(format!("--config.file={}", config.display()))
                .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
                .arg("--storage.tsdb.retention.time=100y")
                .arg(format!("--web.listen-address={address}")),
        );
        until(Duration::from_mins(1), || TcpStream::connect(address).ok());
        Self { _process: process, url: format!("http://{address}") }
    }

    fn query(&self, query: &str, range: Duration) -> Source {
        Source::Query(QuerySource { url: self.url.clone(), query: query.to_owned(), range })
    }
}

/// Asks until there is an answer, and no longer than `patience`.
#[track_caller]
fn until<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < patience, "no answer within {patience:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Requests per second in the hour of an instant.
fn rate_at(second: i64) -> i64 {
    second.div_euclid(3600) % 24 + 1
}

/// Three days of a counter under vLLM's name, a sample each ten seconds, put into Prometheus' own
/// blocks; then asked for as a site file would. More values than one answer may hold.
#[test]
fn days_that_a_server_has_kept() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let until_s = options().now.as_second();
    let days = 3;
    let mut text = String::from("# TYPE vllm:request_success counter\n");
    let mut counter = 0;
    for second in (until_s - days * 86_400..=until_s).step_by(10) {
        let _ = writeln!(
            text,
            "vllm:request_success_total{{engine=\"0\",model_name=\"m\"}} {counter} {second}"
        );
        counter += 10 * rate_at(second);
    }
    text.push_str("# EOF\n");
    let samples = file(folder.path(), "samples", text);
    let made = Command::new(program.with_file_name("promtool"))
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&samples, &folder.path().join("data")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let server = Prometheus::start(&program, folder.path(), "global: {}\n");
    let query = "sum(rate(vllm:request_success_total{model_name=\"m\"}[20s]))";
    let source = server.query(query, Duration::from_hours(72));
    // It answers 503 until its blocks are loaded.
    let read = until(Duration::from_mins(1), || match reading(&source) {
        Ok(read) => Some(read),
        Err(DemandError::Server { problem, .. }) if problem.contains("503") => None,
        Err(error) => panic!("{error}"),
    });
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.step, Duration::from_secs(20));
    assert_eq!(read.rows, days as u64 * 4320);
    assert_eq!(series.start.as_second(), until_s - days * 86_400);
    for (index, value) in series.values.iter().enumerate() {
        let start_s = series.time_of(index).as_second();
        let expected = (rate_at(start_s) + rate_at(start_s + 10)) as f64 / 2.0;
        assert!((value.unwrap() - expected).abs() < 1e-9, "{start_s}: {value:?} {expected}");
    }
    let error = reading(&server.query("rate(x[2m]", Duration::from_hours(1))).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("answered with an error (bad_data)") && said.contains("parse error"),
        "{said}"
    );
    let error = reading(&server.query("rate(y[2m])", Duration::from_hours(1))).unwrap_err();
    assert!(error.to_string().contains("matched nothing in its range"), "{error}");
}

/// A Prometheus that scrapes an engine's metrics: 25 requests per second, seen through a rate.
#[test]
#[ignore = "waits for some ten seconds of scrapes; run with --include-ignored"]
fn an_engine_that_is_scraped() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let engine = Server::start(move |_| {
        let count = (begun.elapsed().as_secs_f64() * 25.0) as u64;
        let labels = "engine=\"0\",model_name=\"tiny\",finished_reason";
        let text = format!(
            "# HELP vllm:request_success_total Requests that ended well.\n\
             # TYPE vllm:request_success_total counter\n\
             vllm:request_success_total{{{labels}=\"stop\"}} {count}\n\
             vllm:request_success_total{{{labels}=\"length\"}} 0\n"
        );
        (200, text)
    });
    let (rate, notes) = scraped_rate(&program, folder.path(), engine.address);
    assert!((rate - 25.0).abs() < 2.5, "{rate}");
    let summed = "2 series that differ in finished_reason were added up";
    assert!(notes.iter().any(|note| note.ends_with(summed)), "{notes:?}");
}

/// The rate of requests that a Prometheus sees which scrapes an engine each second, and the notes.
fn scraped_rate(program: &Path, folder: &Path, engine: SocketAddr) -> (f64, Vec<String>) {
    let configuration = format!(
        "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\n\
         scrape_configs:\n  - job_name: engine\n    static_configs: [{{ targets: ['{engine}'] }}]\n"
    );
    let server = Prometheus::start(program, folder, &configuration);
    let source = server.query("rate(vllm:request_success_total[5s])", Duration::from_secs(15));
    until(Duration::from_mins(1), || {
        let options = ReadOptions { now: clock::wall_clock(), ..options() };
        let read = read(&source, &options, &mut |_| ()).ok()?;
        let series = read.history.series(WorkUnit::Requests)?;
        // The first values come of too few scrapes.
        let seen: Vec<f64> = series.values.iter().flatten().copied().collect();
        (seen.len() >= 3).then(|| (seen[2], read.notes))
    })
}

/// The embedded engine under a load of four requests a second.
#[test]
#[ignore = "waits for some ten seconds of scrapes; run with --include-ignored"]
fn the_embedded_engine_that_is_scraped() {
    let Some(program) = program() else { return };
    let Some(binary) = std::env::var_os("COTENANT_ENGINE") else {
        eprintln!("skipped: COTENANT_ENGINE names no `cotenant` binary");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let engine = free_address();
    let port = engine.port().to_string();
    let _process = Process::start(Command::new(binary).args([
        "engine",
        "serve",
        "--model-size",
        "tiny",
        "--port",
        &port,
    ]));
    until(Duration::from_mins(1), || TcpStream::connect(engine).ok());
    let done = AtomicBool::new(false);
    let (rate, _) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            for request in 1.. {
                if done.load(Ordering::SeqCst) {
                    return;
                }
                complete(engine);
                let due = Duration::from_millis(250 * request);
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        });
        // Ends the load also where the assertion inside fails.
        let ended = Ended(&done);
        let seen = scraped_rate(&program, folder.path(), engine);
        drop(ended);
        seen
    });
    assert!((rate - 4.0).abs() < 1.0, "{rate}");
}

/// Sets a flag when it goes out of sight.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// One request of one token, answered whole.
fn complete(engine: SocketAddr) {
    let body = r#"{"model": "cotenant-tiny", "prompt": "a", "max_tokens": 1}"#;
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nhost: {engine}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(engine).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
