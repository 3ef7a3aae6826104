//! What the tests of demand share: files in a folder of their own, real data, and a metrics server
//! that answers from a function.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use cotenant_probe::demand::{DemandError, Read, ReadOptions, Source, TraceSource, read};
use jiff::Timestamp;

/// Options whose "now" is a Monday's noon.
pub(crate) fn options() -> ReadOptions {
    ReadOptions {
        service: None,
        now: "2024-06-03T12:00:00Z".parse().unwrap(),
        patience: Duration::from_secs(20),
    }
}

/// Reads a source without looking at its progress.
pub(crate) fn reading(source: &Source) -> Result<Read, DemandError> {
    read(source, &options(), &mut |_| ())
}

/// A trace whose format is told by content.
pub(crate) fn trace(path: &Path) -> Source {
    Source::Trace(TraceSource {
        path: path.to_owned(),
        format: None,
        begins: None,
        rate_factor: 1.0,
    })
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Writes a file into a folder and gives its path.
pub(crate) fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A message without the folder's name, so that it can be compared.
pub(crate) fn message(error: &DemandError, folder: &Path) -> String {
    error.to_string().replace(&format!("{}/", folder.display()), "")
}

/// The folder of real data, or `None` with the reason printed.
pub(crate) fn real_data() -> Option<PathBuf> {
    let shared = std::env::var_os("COTENANT_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let data = shared.join("data");
    if data.is_dir() {
        return Some(data);
    }
    assert!(
        std::env::var_os("COTENANT_REQUIRE_SHARED").is_none_or(|value| value != "1"),
        "COTENANT_REQUIRE_SHARED=1, but there is no {}",
        data.display()
    );
    eprintln!("skipped: no folder of real data at {}", data.display());
    None
}

/// A small HTTP server on the loopback that answers each path, one connection after the other, and
/// remembers what it was asked.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server; `answer` makes a status and a body from a path with its query.
    pub(crate) fn start(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, ended) = (Arc::clone(&asked), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                if let Some(path) = stream.ok().and_then(|stream| serve(&stream, &answer)) {
                    seen.lock().unwrap().push(path);
                }
            }
        });
        Self { address, asked, stop, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The paths that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // One more connection wakes the thread so that it sees the flag.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(stream: &TcpStream, answer: &impl Fn(&str) -> (u16, String)) -> Option<String> {
    let mut lines = BufReader::new(stream).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    for line in lines {
        if line.ok()?.is_empty() {
            break;
        }
    }
    let (status, body) = answer(&path);
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    Some(path)
}

/// The value of a parameter of a path's query, as it stands there.
pub(crate) fn parameter<'a>(path: &'a str, name: &str) -> &'a str {
    let query = path.split_once('?').unwrap().1;
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap()
}
