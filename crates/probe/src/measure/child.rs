//! A program that is run to its end: bounded in time, its output kept as far as a message needs it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// Most output that is kept of each stream, bytes.
const OUTPUT_MAX: u64 = 1 << 20;
/// Most of an error's text that a message repeats, characters.
const COMPLAINT_MAX: usize = 400;

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Child {
    /// Program and arguments; no shell reads them.
    pub(super) argv: Vec<String>,
    /// Its working directory.
    pub(super) cwd: Option<PathBuf>,
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// Its exit code; `None` where a signal ended it.
    pub(super) code: Option<i32>,
    /// Its standard output.
    pub(super) stdout: String,
    /// Its standard error.
    pub(super) stderr: String,
}

impl Ended {
    /// What went wrong, in one line.
    pub(super) fn complaint(&self) -> String {
        let how = self.code.map_or_else(|| "by a signal".to_owned(), |code| format!("with {code}"));
        let said = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let words: Vec<&str> = said.split_whitespace().collect();
        let said: String = words.join(" ").chars().take(COMPLAINT_MAX).collect();
        if said.is_empty() { format!("it ended {how}") } else { format!("it ended {how}: {said}") }
    }
}

/// Runs a program. It is killed when its time is over.
///
/// # Errors
/// A sentence: it cannot be started, or was not done in time.
pub(super) async fn run(child: &Child, patience: Duration) -> Result<Ended, String> {
    let [program, arguments @ ..] = child.argv.as_slice() else {
        return Err("no program is named".to_owned());
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(cwd) = &child.cwd {
        command.current_dir(cwd);
    }
    let mut running =
        command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
    let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
    let whole = async {
        let (stdout, stderr, status) = tokio::join!(text(stdout), text(stderr), running.wait());
        let status = status.map_err(|error| format!("{program}: {error}"))?;
        Ok(Ended { code: status.code(), stdout, stderr })
    };
    tokio::time::timeout(patience, whole)
        .await
        .map_err(|_| format!("{program} was not done within {patience:?}"))?
}

/// What a stream says, to its end; only the beginning is kept.
async fn text(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut bytes = Vec::new();
    // A stream that breaks has said what it has said.
    let _ = (&mut stream).take(OUTPUT_MAX).read_to_end(&mut bytes).await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}
