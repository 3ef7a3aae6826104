//! The whole change of hands: an engine that sleeps and wakes over its API, a layout that a program makes,
//! and what must hold afterwards.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod drill_support;
mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cotenant_core::evidence::{ChangeKind, Direction};
use cotenant_probe::measure::{
    EngineRest, EngineSwitch, HandOver, LayoutBy, LayoutCheck, LayoutOrder,
};
use drill_support::{CONTINUE, SAVE, change_hands, trainer};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const NOTICE: Duration = Duration::from_secs(20);

/// The switches of an engine as vLLM has them. Calls are kept; a wake-up may be made to fail.
struct Switches {
    endpoint: String,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Switches {
    async fn start(wakes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(Mutex::new(Vec::new()));
        let asleep = Arc::new(AtomicBool::new(false));
        let kept = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut text = vec![0; 4096];
                let read = stream.read(&mut text).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&text[..read]).into_owned();
                let line = text.split(" HTTP").next().unwrap_or_default().to_owned();
                let (status, body) = match line.as_str() {
                    "GET /is_sleeping" => {
                        (200, format!("{{\"is_sleeping\":{}}}", asleep.load(Ordering::SeqCst)))
                    }
                    line if line.starts_with("POST /sleep") => {
                        asleep.store(true, Ordering::SeqCst);
                        (200, String::new())
                    }
                    line if line.starts_with("POST /wake_up") && !wakes => {
                        (500, "CUDA out of memory".to_owned())
                    }
                    line if line.starts_with("POST /wake_up") => {
                        asleep.store(line.ends_with("tags=weights"), Ordering::SeqCst);
                        (200, String::new())
                    }
                    "POST /collective_rpc" | "POST /reset_prefix_cache" => (200, "{}".to_owned()),
                    _ => (404, String::new()),
                };
                if line.starts_with("POST") {
                    kept.lock().unwrap().push(line);
                }
                let answer = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { endpoint, calls }
    }

    fn rest(&self, level: u8) -> EngineRest {
        let patience = Duration::from_secs(10);
        EngineRest::Sleeps(EngineSwitch { endpoint: self.endpoint.clone(), level, patience })
    }
}

fn only(engine: EngineRest) -> HandOver {
    HandOver { engine, for_neighbour: None, for_inference: None }
}

fn good() -> String {
    trainer(CONTINUE, &format!("{SAVE}; exit 0"), ":")
}

#[tokio::test]
async fn an_engine_sleeps_while_the_trainer_works_and_wakes_when_it_is_gone() {
    let switches = Switches::start(true).await;
    let done = change_hands(&good(), NOTICE, 1, Some(only(switches.rest(2)))).await;
    assert!(done.error.is_none(), "{:?}", done.error);
    let expected = [
        "POST /sleep?level=2",
        "POST /wake_up?tags=weights",
        "POST /collective_rpc",
        "POST /wake_up?tags=kv_cache",
        "POST /reset_prefix_cache",
    ];
    assert_eq!(*switches.calls.lock().unwrap(), expected);
    let kinds: Vec<_> = done.changes.iter().map(|change| (change.kind, change.direction)).collect();
    assert_eq!(
        kinds,
        [
            (ChangeKind::EngineSleep, Direction::ToNeighbour),
            (ChangeKind::EngineWake, Direction::ToInference)
        ]
    );
    for change in &done.changes {
        assert_eq!(change.failure, None);
        let unexplained = change.unexplained_s().unwrap();
        assert!(unexplained >= 0.0 && unexplained < change.total_s.unwrap(), "{change:?}");
    }
    let drill = &done.drills[0];
    assert_eq!(drill.failure, None);
    let (free, ready) = (drill.memory_free_s.unwrap(), drill.engine_ready_s.unwrap());
    assert!(free <= ready && ready <= drill.first_token_s.unwrap(), "{drill:?}");
    // The engine slept before the trainer took the machine.
    assert!(done.changes[0].began_ns < drill.signal_ns);
}

#[tokio::test]
async fn an_engine_that_does_not_wake_fails_the_drill() {
    let switches = Switches::start(false).await;
    let done = change_hands(&good(), NOTICE, 1, Some(only(switches.rest(1)))).await;
    let wake = done.changes.last().unwrap();
    assert!(wake.failure.as_ref().unwrap().contains("CUDA out of memory"), "{wake:?}");
    assert_eq!(wake.total_s, None);
    let why = done.drills[0].failure.clone().unwrap();
    assert!(why.contains("inference did not come back"), "{why}");
    assert_eq!(done.drills[0].engine_ready_s, None);
}

fn layout(folder: &TempDir, script: &str, contains: &str) -> LayoutOrder {
    let shell = |text: &str| ["/bin/sh", "-c", text].map(str::to_owned).to_vec();
    LayoutOrder {
        what: "relayout".to_owned(),
        by: LayoutBy::Command(shell(script)),
        limit: Duration::from_secs(10),
        checks: vec![LayoutCheck {
            argv: shell("cat layout"),
            contains: Some(contains.to_owned()),
        }],
        cwd: folder.path().to_owned(),
    }
}

#[tokio::test]
async fn a_layout_is_believed_when_its_post_conditions_hold() {
    let folder = TempDir::new().unwrap();
    let hand_over = HandOver {
        engine: EngineRest::Stays,
        for_neighbour: Some(layout(&folder, "echo MIG 1g.10gb > layout", "1g.10gb")),
        for_inference: Some(layout(&folder, "echo MIG 3g.40gb > layout", "3g.40gb")),
    };
    let done = change_hands(&good(), NOTICE, 1, Some(hand_over)).await;
    assert_eq!(done.changes.len(), 2, "{:?}", done.changes);
    assert!(done.changes.iter().all(|c| c.kind == ChangeKind::Layout && c.failure.is_none()));
    assert!(done.drills[0].engine_ready_s.is_some() && done.drills[0].first_token_s.is_some());
}

#[tokio::test]
async fn a_layout_that_only_says_so_keeps_the_trainer_out() {
    let folder = TempDir::new().unwrap();
    for (script, said) in [
        ("echo MIG 7g.80gb > layout", "its output lacks `1g.10gb`"),
        ("echo In use by another client >&2; exit 4", "In use by another client"),
    ] {
        let hand_over = HandOver {
            engine: EngineRest::Stays,
            for_neighbour: Some(layout(&folder, script, "1g.10gb")),
            for_inference: None,
        };
        let done = change_hands(&good(), NOTICE, 1, Some(hand_over)).await;
        assert!(done.drills.is_empty(), "the trainer was started: {:?}", done.drills);
        let why = done.changes[0].failure.clone().unwrap();
        assert!(why.contains(said), "{why}");
    }
}
