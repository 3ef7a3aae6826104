//! What the supervisor's tests share: a guardian, markers, and a look for processes left behind.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cotenant_probe::supervisor::{Event, Events, GuardianCommand, Launch, Supervisor};

pub(crate) fn helper() -> PathBuf {
    env!("CARGO_BIN_EXE_probe-test-guardian").into()
}

pub(crate) fn spawn() -> (Supervisor, Events) {
    let command = GuardianCommand { program: helper(), arguments: vec!["guardian".to_owned()] };
    Supervisor::spawn(command).unwrap()
}

pub(crate) fn shell(script: &str) -> Launch {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    Launch { name: "script".to_owned(), argv, ..Launch::default() }
}

/// A number of seconds to sleep that no other process on the machine sleeps: it marks the
/// processes of one test by their arguments, which survive an emptied environment.
pub(crate) fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("77{:08}{:03}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A script whose processes escape in every way: another session, two forks, an emptied
/// environment, and both. It says `ready` when all of them run, and ends only by a signal.
pub(crate) fn escaping(marker: &str) -> String {
    format!(
        "sleep {marker} & \
         setsid sleep {marker} & \
         ( ( sleep {marker} & ) & ) ; \
         ( setsid sh -c '( sleep {marker} & ) ; sleep {marker}' & ) ; \
         env -i PATH=\"$PATH\" sh -c 'sleep {marker} & sleep {marker}' & \
         while [ \"$(ps_count)\" -lt 7 ]; do sleep 0.02; done; echo ready; sleep {marker}"
    )
    .replace(
        "$(ps_count)",
        &format!("$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep {marker} ' | wc -l)"),
    )
}

/// Processes alive whose arguments carry the marker.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != std::process::id() && String::from_utf8_lossy(&arguments).contains(marker)
    })
    .collect()
}

/// A process that no supervisor started; it ends with the test, however that ends.
pub(crate) struct Stranger(std::process::Child);

impl Stranger {
    pub(crate) fn start(marker: &str) -> Self {
        let mut command = std::process::Command::new("sleep");
        command.arg(marker).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    pub(crate) fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Waits, bounded, until something holds.
pub(crate) fn wait_for(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < limit, "{what} did not happen within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The next event, or a failure after a time in which it should have come.
pub(crate) async fn next(events: &mut Events) -> Event {
    tokio::time::timeout(Duration::from_secs(20), events.recv())
        .await
        .expect("an event in time")
        .expect("an event before the end")
}

/// Reads events until a line with this text.
pub(crate) async fn until_line(events: &mut Events, wanted: &str) {
    loop {
        match next(events).await {
            Event::Line { text, .. } if text == wanted => return,
            Event::Gone { .. } => panic!("gone before it said {wanted}"),
            _ => {}
        }
    }
}
