//! A command of this machine that prints something and ends, bounded in time and in what is read.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Bytes of output that are read. Eight GPUs of many processes print some 200 kB.
const OUTPUT_BYTES_MAX: u64 = 32 << 20;

/// What a command printed, and how it ended.
pub(crate) struct Printed {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Its standard output.
    pub(crate) text: String,
    /// The command as it is shown.
    pub(crate) shown: String,
}

impl Printed {
    /// The text of a command that succeeded; the first line of one that did not is the reason.
    pub(crate) fn success(self) -> Result<String, String> {
        if self.status.success() { Ok(self.text) } else { Err(self.failure()) }
    }

    /// How it failed, in its own words.
    pub(crate) fn failure(&self) -> String {
        let said =
            self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let said = if said.is_empty() { String::new() } else { format!(": «{said}»") };
        format!("`{}` ended with {}{said}", self.shown, self.status)
    }
}

/// Runs a command without a shell and without input. Its end is waited for on a thread that owns it; one
/// that takes longer than `patience` is killed.
///
/// # Errors
/// It cannot be started, cannot be read, or took too long: as a fragment of a sentence.
pub(crate) fn run(
    program: &Path,
    arguments: &[&str],
    patience: Duration,
) -> Result<Printed, String> {
    let shown = format!("{} {}", program.display(), arguments.join(" "));
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{shown}` cannot be started: {error}"))?;
    let pidfd = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let (sender, receiver) = channel();
    let gather = move || {
        let mut text = Vec::new();
        let printed = match child.stdout.take() {
            Some(out) => out.take(OUTPUT_BYTES_MAX).read_to_end(&mut text),
            None => Ok(0),
        };
        let ended = child.wait();
        // The other end is gone where the answer came too late.
        drop(sender.send(printed.and(ended).map(|status| (status, text))));
    };
    std::thread::Builder::new()
        .name("tool".to_owned())
        .spawn(gather)
        .map_err(|error| format!("no thread can be started: {error}"))?;
    match receiver.recv_timeout(patience) {
        Ok(Ok((status, text))) => {
            Ok(Printed { status, text: String::from_utf8_lossy(&text).into_owned(), shown })
        }
        Ok(Err(error)) => Err(format!("`{shown}`: {error}")),
        Err(_) => {
            // One that does not obey even this is held by the kernel: nothing more can be done.
            if let Some(process) = pidfd {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
            let seconds = patience.as_secs_f64();
            Err(format!("`{shown}` did not end within {seconds} s and was killed"))
        }
    }
}
