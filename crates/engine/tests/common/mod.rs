//! Runs the engine as a process of its own, and speaks just enough HTTP to test it.
//!
//! The process is this test program again, told by an environment variable to be the engine. So the tests need no other
//! artefact, and signals, exits and thread limits are those of a real process.

#![allow(dead_code, reason = "each test program uses its own part of this module")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test panics, and its engine reports to stderr"
)]
#![allow(unreachable_pub, reason = "the module is shared by test programs, not exported")]

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use cotenant_engine::{EngineError, ServeArgs, TrainArgs, serve, train};
use rustix::process::{Pid, Signal, kill_process};

/// Holds the arguments of the engine, separated by line feeds.
const ARGUMENTS_VARIABLE: &str = "COTENANT_ENGINE_TEST_ARGUMENTS";
/// No test waits longer than this for anything.
pub const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    workload: Workload,
}

#[derive(Subcommand)]
enum Workload {
    Serve(ServeArgs),
    Train(TrainArgs),
}

/// The body of the `engine_process` entry of each test program: becomes the engine if asked to, and never returns then.
pub fn become_engine() {
    let Ok(arguments) = std::env::var(ARGUMENTS_VARIABLE) else { return };
    let arguments = std::iter::once("engine").chain(arguments.split('\n'));
    let result: Result<(), EngineError> = match Arguments::parse_from(arguments).workload {
        Workload::Serve(args) => serve(args),
        Workload::Train(args) => train(args).map(|_| ()),
    };
    if let Err(error) = &result {
        eprintln!("error: {error}");
    }
    #[expect(clippy::exit, reason = "the exit status is what the tests look at")]
    std::process::exit(match result {
        Ok(()) => 0,
        Err(error) if error.is_input() => 2,
        Err(_) => 3,
    });
}

/// A running engine. Dropping it kills it.
pub struct Engine {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Engine {
    pub fn start<S: AsRef<OsStr>>(arguments: &[S]) -> Self {
        let joined = arguments
            .iter()
            .map(|part| part.as_ref().to_str().unwrap())
            .collect::<Vec<_>>()
            .join("\n");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["engine_process", "--exact", "--ignored", "--nocapture"])
            .env(ARGUMENTS_VARIABLE, joined)
            .env_remove("RAYON_NUM_THREADS")
            .env_remove("CANDLE_NUM_THREADS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// The next line of stdout that begins with `prefix`; panics when the output ends before.
    pub fn line(&mut self, prefix: &str) -> String {
        self.next_line(prefix)
            .unwrap_or_else(|| panic!("the engine ended without a line `{prefix}…`"))
    }

    /// The next line that begins with `prefix`, or none at the end of the output.
    pub fn next_line(&mut self, prefix: &str) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if line.starts_with(prefix) {
                return Some(line.trim_end().to_owned());
            }
        }
    }

    /// Everything else that it writes to stdout, line by line.
    pub fn rest(&mut self) -> Vec<String> {
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for the end, bounded.
    pub fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "the engine does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end and returns its code and what it wrote to stderr.
    pub fn outcome(&mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.wait().code(), errors)
    }

    /// CPU seconds that all its threads have used so far.
    pub fn cpu_s(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // Fields 14 and 15; the second field, in brackets, may contain spaces (proc_pid_stat(5)).
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server with a small model, and its address.
pub struct Server {
    pub engine: Engine,
    pub address: SocketAddr,
}

impl Server {
    pub fn start(arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--port", "0"];
        all.extend(arguments);
        let mut engine = Engine::start(&all);
        let line = engine.line("cotenant-engine: listening on http://");
        let address =
            line.split("http://").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        Self { engine, address }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).reply()
    }

    pub fn post(&self, path: &str, body: &str) -> Reply {
        self.open(path, body).reply()
    }

    /// Sends a request and returns the connection, unread.
    pub fn open(&self, path: &str, body: &str) -> Connection {
        let length = body.len();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
    }

    fn send(&self, request: &str) -> Connection {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        Connection { stream: BufReader::new(stream) }
    }

    /// The value of the one sample of `name` whose labels contain `label`.
    pub fn metric(&self, name: &str, label: &str) -> f64 {
        let text = self.get("/metrics").body;
        let values: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with(&format!("{name}{{")) && line.contains(label))
            .map(|line| line.rsplit(' ').next().unwrap())
            .collect();
        assert_eq!(values.len(), 1, "{name} with {label} in\n{text}");
        values[0].parse().unwrap()
    }

    /// Waits, bounded, until a metric has a value.
    pub fn wait_for_metric(&self, name: &str, label: &str, wanted: f64) {
        let started = Instant::now();
        loop {
            let value = self.metric(name, label);
            if value == wanted {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{name} stays at {value} instead of {wanted}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A request that was sent.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Reads lines until one begins with `prefix`, and returns it.
    pub fn line(&mut self, prefix: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.stream.read_line(&mut line).unwrap() > 0,
                "the answer ended before a line `{prefix}…`"
            );
            if line.starts_with(prefix) {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Reads the rest of a stream whose head and first event were read already.
    pub fn reply_after_head(mut self) -> Reply {
        let mut body = String::new();
        self.stream.read_to_string(&mut body).unwrap();
        // Chunk sizes stand on lines of their own, which `events` passes over.
        Reply { status: 200, head: String::new(), body }
    }

    /// Reads to the end.
    pub fn reply(mut self) -> Reply {
        let mut text = String::new();
        self.stream.read_to_string(&mut text).unwrap();
        let (head, rest) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_lowercase();
        let body = if head.contains("transfer-encoding: chunked") {
            unchunk(rest)
        } else {
            rest.to_owned()
        };
        Reply { status, head, body }
    }
}

fn unchunk(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            break;
        }
        body.push_str(&after[..length]);
        rest = &after[length + 2..];
    }
    body
}

/// An answer.
pub struct Reply {
    pub status: u16,
    /// Status line and headers, in lower case.
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }

    /// The events of a stream, without `[DONE]`, whose presence is returned beside them.
    pub fn events(&self) -> (Vec<serde_json::Value>, bool) {
        let data: Vec<&str> =
            self.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let done = data.last() == Some(&"[DONE]");
        let events = data.iter().filter(|text| **text != "[DONE]");
        (events.map(|text| serde_json::from_str(text).unwrap()).collect(), done)
    }
}
