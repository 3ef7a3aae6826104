//! The supervisor with real processes: starting, output, signals, stopping.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use cotenant_probe::clock::monotonic_ns;
use cotenant_probe::host::read_process;
use cotenant_probe::supervisor::{
    Event, Exit, LINE_BYTES_MAX, Launch, Priority, Signal, Stream, SupervisorError,
};
use support::{Stranger, escaping, is_alive, marked, marker, next, shell, spawn, until_line};

const GRACE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_workload_tells_its_start_its_lines_its_exit_and_its_end() {
    let (supervisor, mut events) = spawn();
    let before = monotonic_ns();
    let workload = supervisor.start(shell("echo one; echo two >&2; exit 3")).await.unwrap();
    let mut seen = Vec::new();
    let gone = loop {
        let event = next(&mut events).await;
        if let Event::Gone { at_ns, output_cut, .. } = event {
            assert!(!output_cut);
            break at_ns;
        }
        seen.push(event);
    };
    assert_eq!(
        seen.first(),
        Some(&Event::Started { id: workload.id, pid: workload.pid, at_ns: workload.started_ns })
    );
    let line = |wanted: &str| {
        seen.iter().find_map(|event| match event {
            Event::Line { text, stream, at_ns, .. } if text == wanted => Some((*stream, *at_ns)),
            _ => None,
        })
    };
    let (one, two) = (line("one").unwrap(), line("two").unwrap());
    assert_eq!((one.0, two.0), (Stream::Stdout, Stream::Stderr));
    let exit = seen.iter().find_map(|event| match event {
        Event::LeaderExited { exit, at_ns, .. } => Some((*exit, *at_ns)),
        _ => None,
    });
    let (exit, exit_ns) = exit.unwrap();
    assert_eq!(exit, Exit::Code(3));
    assert!(before <= workload.started_ns && workload.started_ns <= one.1);
    assert!(exit_ns <= gone && gone <= monotonic_ns());
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_end_waits_for_the_last_process() {
    let (supervisor, mut events) = spawn();
    let script = "(setsid sh -c 'sleep 0.5; echo late') & exit 0";
    let workload = supervisor.start(shell(script)).await.unwrap();
    let (mut exited, mut late) = (None, false);
    loop {
        match next(&mut events).await {
            Event::LeaderExited { at_ns, .. } => exited = Some(at_ns),
            Event::Line { text, .. } => late |= text == "late",
            Event::Gone { id, at_ns, .. } => {
                assert_eq!(id, workload.id);
                assert!(late, "the orphan's line comes before the end");
                assert!(at_ns - exited.unwrap() > 300_000_000);
                break;
            }
            _ => {}
        }
    }
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_stop_ends_descendants_that_escaped() {
    let (supervisor, mut events) = spawn();
    let (marker, other) = (marker(), marker());
    let bystander = supervisor.start(shell(&format!("exec sleep {other}"))).await.unwrap();
    let workload = supervisor.start(shell(&escaping(&marker))).await.unwrap();
    until_line(&mut events, "ready").await;
    assert!(marked(&marker).len() >= 7);
    let report = supervisor.stop(workload.id, Duration::from_secs(2)).await.unwrap();
    assert_eq!(marked(&marker), Vec::<u32>::new());
    assert_eq!(report.exit, Some(Exit::Signal(15)));
    assert!(report.signal_ns <= report.leader_exit_ns.unwrap());
    assert!(report.leader_exit_ns.unwrap() <= report.gone_ns);
    assert!(is_alive(bystander.pid), "another workload is not touched");
    supervisor.shutdown().await.unwrap();
    assert_eq!(marked(&other), Vec::<u32>::new());
}

#[tokio::test]
async fn a_workload_that_ends_at_the_signal_is_not_killed() {
    let (supervisor, mut events) = spawn();
    let script = "trap 'echo saving; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let workload = supervisor.start(shell(script)).await.unwrap();
    until_line(&mut events, "ready").await;
    let report = supervisor.stop(workload.id, GRACE).await.unwrap();
    assert_eq!((report.exit, report.killed), (Some(Exit::Code(7)), false));
    until_line(&mut events, "saving").await;
    let again = supervisor.stop(workload.id, GRACE).await;
    assert!(matches!(again, Err(SupervisorError::Refused(_))), "{again:?}");
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_workload_that_ignores_the_signal_is_killed_after_its_grace() {
    let (supervisor, mut events) = spawn();
    let marker = marker();
    let script =
        format!("trap '' TERM; (trap '' TERM; sleep {marker}) & echo ready; sleep {marker}");
    let workload = supervisor.start(shell(&script)).await.unwrap();
    until_line(&mut events, "ready").await;
    let report = supervisor.stop(workload.id, Duration::from_millis(300)).await.unwrap();
    assert!(report.killed);
    assert_eq!(report.exit, Some(Exit::Signal(9)));
    let took_ns = report.gone_ns - report.signal_ns;
    assert!((300_000_000..5_000_000_000).contains(&took_ns), "{took_ns}");
    assert_eq!(marked(&marker), Vec::<u32>::new());
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_workload_that_forks_without_end_is_ended() {
    let (supervisor, mut events) = spawn();
    let marker = marker();
    let script = format!(
        "trap '' TERM; echo ready; \
         while :; do (setsid sh -c ': {marker}; sleep 0.2' &) ; sleep 0.002; done"
    );
    let workload = supervisor.start(shell(&script)).await.unwrap();
    until_line(&mut events, "ready").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    supervisor.stop(workload.id, Duration::ZERO).await.unwrap();
    assert_eq!(marked(&marker), Vec::<u32>::new());
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_paused_workload_can_be_stopped() {
    let (supervisor, mut events) = spawn();
    // A shell that is about to start a program waits for it in state D, not T.
    let script = "trap 'exit 4' TERM; sleep 60 & echo ready; wait";
    let workload = supervisor.start(shell(script)).await.unwrap();
    until_line(&mut events, "ready").await;
    supervisor.signal(workload.id, Signal::Stop).await.unwrap();
    support::wait_for("the pause", GRACE, || {
        read_process("/proc".as_ref(), workload.pid).is_ok_and(|process| process.state == 'T')
    });
    let report = supervisor.stop(workload.id, GRACE).await.unwrap();
    assert_eq!((report.exit, report.killed), (Some(Exit::Code(4)), false));
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_signal_reaches_the_whole_group() {
    let (supervisor, mut events) = spawn();
    let script = "trap 'echo parent; wait; exit 0' USR1; \
                  sh -c 'trap \"echo child; exit 0\" USR1; echo up; while :; do sleep 0.02; done' & \
                  while :; do sleep 0.02; done";
    let workload = supervisor.start(shell(script)).await.unwrap();
    until_line(&mut events, "up").await;
    supervisor.signal(workload.id, Signal::User1).await.unwrap();
    let mut lines = Vec::new();
    loop {
        match next(&mut events).await {
            Event::Line { text, .. } => lines.push(text),
            Event::Gone { .. } => break,
            _ => {}
        }
    }
    lines.retain(|line| line == "child" || line == "parent");
    lines.sort();
    assert_eq!(lines, ["child", "parent"]);
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn nothing_is_lost_of_a_fast_writer() {
    const LINES: usize = 100_000;
    let (supervisor, mut events) = spawn();
    let workload = supervisor.start(shell(&format!("seq 1 {LINES}"))).await.unwrap();
    let (mut count, mut last_ns) = (0, 0);
    loop {
        match next(&mut events).await {
            Event::Line { text, at_ns, cut_bytes, .. } => {
                count += 1;
                assert_eq!((text, cut_bytes), (count.to_string(), 0));
                assert!(at_ns >= last_ns && at_ns >= workload.started_ns);
                last_ns = at_ns;
            }
            Event::Gone { at_ns, .. } => {
                assert!(last_ns > 0 && at_ns > workload.started_ns);
                break;
            }
            Event::LinesLost { count } => panic!("{count} lines lost"),
            _ => {}
        }
    }
    assert_eq!(count, LINES);
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_stop_is_answered_while_the_events_are_unread() {
    let (supervisor, mut events) = spawn();
    let workload = supervisor.start(shell("exec yes")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    supervisor.stop(workload.id, GRACE).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    let (mut lines, mut lost) = (0, 0);
    loop {
        match next(&mut events).await {
            Event::Line { .. } => lines += 1,
            Event::LinesLost { count } => lost += count,
            Event::Gone { .. } => break,
            _ => {}
        }
    }
    assert!(lines > 1000 && lost > 0, "{lines} lines, {lost} lost: what is lost is counted");
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn long_lines_are_cut_and_bytes_that_are_no_text_are_replaced() {
    let (supervisor, mut events) = spawn();
    let script = format!(
        "head -c {} /dev/zero | tr '\\0' x; echo; printf 'a\\377b\\r\\nno end'",
        LINE_BYTES_MAX + 5
    );
    supervisor.start(shell(&script)).await.unwrap();
    let mut lines = Vec::new();
    loop {
        match next(&mut events).await {
            Event::Line { text, cut_bytes, .. } => lines.push((text, cut_bytes)),
            Event::Gone { .. } => break,
            _ => {}
        }
    }
    assert_eq!((lines[0].0.len(), lines[0].1), (LINE_BYTES_MAX, 5));
    assert_eq!(lines[1..], [("a\u{fffd}b".to_owned(), 0), ("no end".to_owned(), 0)]);
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn settings_are_those_of_the_process_that_runs() {
    let (supervisor, mut events) = spawn();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("out.log");
    let cpus = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..1024).find(|cpu| cpus.is_set(*cpu)).unwrap();
    let launch = Launch {
        cwd: Some(folder.path().to_owned()),
        env: vec![("GREETING".to_owned(), "hello there".to_owned())],
        priority: Priority { nice: Some(7), idle: false },
        affinity: Some(vec![cpu]),
        log: Some(log.clone()),
        ..shell(
            "echo \"$GREETING\"; pwd -P; grep Cpus_allowed_list /proc/self/status; exec sleep 60",
        )
    };
    let workload = supervisor.start(launch).await.unwrap();
    until_line(&mut events, "hello there").await;
    until_line(&mut events, &folder.path().canonicalize().unwrap().display().to_string()).await;
    until_line(&mut events, &format!("Cpus_allowed_list:\t{cpu}")).await;
    let process = read_process("/proc".as_ref(), workload.pid).unwrap();
    let own = read_process("/proc".as_ref(), std::process::id()).unwrap();
    assert_eq!((process.nice, process.policy), (7, 0));
    assert_eq!(process.group, workload.pid, "a group of its own");
    assert_eq!(process.session, own.session, "in the same session");

    let idle = Launch { priority: Priority { nice: None, idle: true }, ..shell("exec sleep 60") };
    let idle = supervisor.start(idle).await.unwrap();
    assert_eq!(read_process("/proc".as_ref(), idle.pid).unwrap().policy, 5, "SCHED_IDLE");
    supervisor.shutdown().await.unwrap();
    assert!(std::fs::read_to_string(log).unwrap().starts_with("hello there\n"));
}

#[tokio::test]
async fn what_cannot_be_started_says_why_and_runs_nothing() {
    let (supervisor, _events) = spawn();
    let check = async |launch: Launch, wanted: &str| {
        let error = supervisor.start(launch).await.unwrap_err();
        assert!(matches!(error, SupervisorError::Start { .. }), "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
    };
    let argv = vec!["/nonexistent/program".to_owned()];
    check(Launch { argv, ..Launch::default() }, "/nonexistent/program").await;
    check(Launch::default(), "empty").await;
    check(Launch { cwd: Some("/nonexistent".into()), ..shell("true") }, "/nonexistent").await;
    check(Launch { affinity: Some(vec![1023]), ..shell("true") }, "CPU").await;
    check(Launch { affinity: Some(vec![5000]), ..shell("true") }, "5000").await;
    let priority = Priority { nice: Some(40), idle: false };
    check(Launch { priority, ..shell("true") }, "nice").await;
    check(Launch { log: Some("/nonexistent/log".into()), ..shell("true") }, "log").await;
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_process_that_was_not_started_here_is_left_alone() {
    let mut stranger = Stranger::start(&marker());
    let (supervisor, mut events) = spawn();
    let workload = supervisor.start(shell("echo ready; sleep 60")).await.unwrap();
    until_line(&mut events, "ready").await;
    supervisor.stop(workload.id, Duration::ZERO).await.unwrap();
    supervisor.shutdown().await.unwrap();
    assert!(stranger.runs());
}
