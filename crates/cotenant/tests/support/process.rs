//! One run of the binary: started with a mark that its descendants inherit, bounded in time, and
//! gone with the test, however that ends.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, wait_for};

/// Marks a process of a test and, by inheritance, all that descend from it.
const MARK: &str = "COTENANT_TEST_MARK";

/// How a process ended and what it said.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// Its exit code; `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Told {
    /// The whole, as snapshots keep it.
    pub(crate) fn snapshot(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let mut text = format!("exit code: {code}\n");
        for (name, part) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !part.is_empty() {
                let _ = write!(text, "----- {name} -----\n{part}");
                if !part.ends_with('\n') {
                    text.push_str("(no line feed)\n");
                }
            }
        }
        text
    }

    /// Fails, with all that was said, unless the code is one of these. A panic is never right.
    #[track_caller]
    pub(crate) fn expect(&self, codes: &[i32]) -> &Self {
        let right = self.code.is_some_and(|code| codes.contains(&code));
        assert!(right, "exit code should be one of {codes:?}; {self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// Fails unless what it said about a failure contains this.
    #[track_caller]
    pub(crate) fn complains(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "`{text}` is not said; {self:#?}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("no JSON: {error}; {self:#?}"),
        }
    }
}

/// A running process of the binary.
pub(crate) struct Process {
    child: Child,
    mark: String,
    stdout: Output,
    stderr: Output,
}

impl Process {
    /// Starts the binary in a folder.
    pub(crate) fn start<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Self {
        Self::spawn(folder, arguments, None)
    }

    /// Starts the binary with this standard output in place of one that is read here.
    pub(crate) fn spawn<S: AsRef<OsStr>>(
        folder: &Path,
        arguments: &[S],
        stdout: Option<Stdio>,
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("cotenant-test-{}-{count}-", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotenant"));
        command
            .args(arguments)
            .current_dir(folder)
            .env(MARK, &mark)
            .stdin(Stdio::null())
            .stdout(stdout.unwrap_or_else(Stdio::piped))
            .stderr(Stdio::piped());
        // A developer's own settings must not colour what is compared.
        for name in ["CLICOLOR_FORCE", "FORCE_COLOR", "RUST_BACKTRACE", "RUST_LOG"] {
            command.env_remove(name);
        }
        let mut child = command.spawn().unwrap();
        Self {
            stdout: child.stdout.take().map_or_else(Output::none, Output::read),
            stderr: child.stderr.take().map_or_else(Output::none, Output::read),
            child,
            mark,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // A process that is gone already is the caller's to notice.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// What it has said to standard error so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until standard error has a text; fails where the process ends before or it takes too
    /// long.
    #[track_caller]
    pub(crate) fn wait_for_stderr(&mut self, text: &str, limit: Duration) {
        let came = wait_for(limit, || {
            // Looked at first: what was said before the end counts.
            let ended = self.child.try_wait().unwrap().is_some();
            let said = self.stderr.text().contains(text);
            (said || ended).then_some(said)
        });
        assert!(came == Some(true), "`{text}` was not said; {}", self.stderr.text());
    }

    /// The processes alive that descend from this one, itself included, with their arguments.
    pub(crate) fn family(&self) -> Vec<(Pid, String)> {
        marked(&self.mark)
    }

    /// Waits for the end of the process, bounded, and for what is left in its pipes.
    #[track_caller]
    pub(crate) fn finish(mut self, limit: Duration) -> Told {
        self.end(limit)
    }

    /// As [`Process::finish`], but the process can still be asked for its family.
    #[track_caller]
    pub(crate) fn end(&mut self, limit: Duration) -> Told {
        let status = wait_for(limit, || self.child.try_wait().unwrap());
        let Some(status) = status else {
            panic!(
                "it did not end within {limit:?}; it said\n{}\n{}",
                self.stdout.text(),
                self.stderr.text()
            );
        };
        Told {
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
        }
    }

    /// Fails unless, within a bounded time, no process is left that descends from this one.
    #[track_caller]
    pub(crate) fn expect_no_family(&self) {
        let none = wait_for(PATIENCE, || self.family().is_empty().then_some(()));
        assert!(
            none.is_some(),
            "processes are left: {:#?}; it said\n{}",
            self.family(),
            self.stderr.text()
        );
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Only what inherited this test's own mark, and only where the test has failed already.
        for (pid, _) in self.family() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Runs the binary to its end.
#[track_caller]
pub(crate) fn run<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Told {
    let told = Process::start(folder, arguments).finish(PATIENCE);
    assert!(!told.stderr.contains("panicked"), "{told:#?}");
    told
}

/// One stream, read as it comes, so that the writer never waits.
struct Output {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Output {
    fn none() -> Self {
        Self { text: Arc::default(), reader: None }
    }

    fn read(mut stream: impl Read + Send + 'static) -> Self {
        let text: Arc<Mutex<Vec<u8>>> = Arc::default();
        let shared = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut part = [0; 8192];
            while let Ok(length @ 1..) = stream.read(&mut part) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).extend(&part[..length]);
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn text(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The text when every writer is gone. A descendant that stays keeps the pipe open, which is for
    /// another check to tell: this one does not wait for it for ever.
    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take()
            && wait_for(PATIENCE, || reader.is_finished().then_some(())).is_some()
        {
            let _ = reader.join();
        }
        self.text()
    }
}

/// The processes alive with this mark in their environment. A zombie has none.
fn marked(mark: &str) -> Vec<(Pid, String)> {
    let wanted = format!("{MARK}={mark}");
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        environment.split(|byte| *byte == 0).find(|entry| *entry == wanted.as_bytes())?;
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        Some((Pid::from_raw(pid)?, String::from_utf8_lossy(&arguments).replace('\0', " ")))
    })
    .collect()
}
