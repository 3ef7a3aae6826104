//! The dispatcher: sends each request when it is due, waits for no answer, and gathers the records.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cotenant_core::evidence::{ChunkGaps, ClientHealth, Outcome, RequestRecord};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinSet;

use super::alarm::Alarm;
use super::cancel::Cancel;
use super::connection::{Connection, Pool};
use super::exchange::{Finished, Shared, exchange, nanoseconds};
use super::health::{ThreadUse, health};
use super::live::Live;
use super::progress::Progress;
use super::schedule::{Pacing, PlannedRequest, Schedule};
use super::target::Target;

/// Most failures whose words are kept; every failure is counted in its record.
const FAILURE_DETAILS_MAX: usize = 200;

/// File descriptors that are left to the rest of the process.
const FILES_SPARED: u64 = 64;

/// What bounds a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest a request may take, from its intended time.
    pub request_timeout: Duration,
    /// Longest silence inside an answer that has begun.
    pub stall_limit: Duration,
    /// A gap between two chunks that is longer than this counts as a stall.
    pub stall_threshold: Duration,
    /// Longest that opening a connection may take.
    pub connect_timeout: Duration,
    /// A kept connection that was idle for longer is not used again: servers close idle
    /// connections, the quickest of the common ones after 5 s.
    pub idle_connection_max: Duration,
    /// Most streams open at once. A request that is due beyond it waits, and its lateness shows.
    pub streams_max: u32,
    /// Connections opened before the block begins, so that its first requests do not pay for them.
    pub connections_warm: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_mins(5),
            stall_limit: Duration::from_mins(1),
            stall_threshold: Duration::from_millis(200),
            connect_timeout: Duration::from_secs(10),
            idle_connection_max: Duration::from_secs(4),
            streams_max: 4096,
            connections_warm: 0,
        }
    }
}

/// The words of one failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureDetail {
    /// The request's index.
    pub request: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What the server or the system said.
    pub detail: String,
}

/// What a load gave.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadResult {
    /// One record for each planned request, in order of index.
    pub requests: Vec<RequestRecord>,
    /// The chunk gaps of each request that has any, in order of index.
    pub gaps: Vec<ChunkGaps>,
    /// The client's fitness. Its lateness runs from the intended time to the moment at which the
    /// client took the request up; what the network or the server then takes to accept a
    /// connection is theirs, and stands in the latencies alone.
    pub health: ClientHealth,
    /// The words of the 200 failures that ended first, in order of index.
    pub failures: Vec<FailureDetail>,
    /// Connections that were opened.
    pub connections_opened: u32,
    /// Requests sent a second time because a kept connection had just been closed.
    pub reconnects: u32,
    /// Token chunks that came in the same read as the chunk before them: their gap of 0 is when
    /// they were delivered, not when they were made.
    pub chunks_coalesced: u64,
}

/// Runs a load to its end, or until `cancel`. Times are measured from `start`, which may lie ahead.
/// Run it on a current-thread runtime with I/O and time: its own CPU is that of one thread.
///
/// Fails only where the system gives no timer.
pub async fn run(
    target: Target,
    schedule: &Schedule,
    limits: Limits,
    start: Instant,
    cancel: Cancel,
) -> io::Result<LoadResult> {
    run_watched(target, schedule, limits, start, cancel, None).await
}

async fn run_watched(
    target: Target,
    schedule: &Schedule,
    limits: Limits,
    start: Instant,
    cancel: Cancel,
    live: Option<Live>,
) -> io::Result<LoadResult> {
    let before = ThreadUse::read();
    let alarm = Alarm::new()?;
    let addresses = resolve(&target).await;
    let shared = Arc::new(Shared {
        target,
        limits,
        start,
        cancel,
        live,
        addresses,
        pool: Mutex::new(Pool::default()),
        connections_opened: AtomicU32::new(0),
        reconnects: AtomicU32::new(0),
    });
    warm(&shared).await;
    let mut dispatcher = Dispatcher::new(Arc::clone(&shared), schedule);
    dispatcher.run(&alarm).await?;
    Ok(dispatcher.finish(before))
}

/// The same on an operating system thread of its own, named `load-client`, so that the caller's
/// other work does not delay it. `cpu` pins the thread to one core.
pub fn run_on_thread(
    target: Target,
    schedule: Arc<Schedule>,
    limits: Limits,
    start: Instant,
    cancel: Cancel,
    cpu: Option<usize>,
) -> io::Result<JoinHandle<io::Result<LoadResult>>> {
    run_on_thread_watched(target, schedule, limits, start, cancel, cpu, None)
}

/// As [`run_on_thread`], with a view of the load for whoever must act while it runs.
pub fn run_on_thread_watched(
    target: Target,
    schedule: Arc<Schedule>,
    limits: Limits,
    start: Instant,
    cancel: Cancel,
    cpu: Option<usize>,
    live: Option<Live>,
) -> io::Result<JoinHandle<io::Result<LoadResult>>> {
    std::thread::Builder::new().name("load-client".to_owned()).spawn(move || {
        if let Some(cpu) = cpu {
            pin_thread(cpu)?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(run_watched(target, &schedule, limits, start, cancel, live))
    })
}

/// Pins the calling thread to one core.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set)?;
    Ok(())
}

async fn resolve(target: &Target) -> Result<Vec<SocketAddr>, String> {
    let (host, port) = target.address();
    match tokio::net::lookup_host((host, port)).await {
        Ok(found) => {
            let addresses: Vec<SocketAddr> = found.collect();
            if addresses.is_empty() { Err(format!("{host} has no address")) } else { Ok(addresses) }
        }
        Err(error) => Err(format!("{host} cannot be resolved: {error}")),
    }
}

/// Opens connections ahead. One that fails is left to the request that needs it.
async fn warm(shared: &Arc<Shared>) {
    let Ok(addresses) = &shared.addresses else {
        return;
    };
    let mut opened = Vec::new();
    for _ in 0..shared.limits.connections_warm.min(shared.limits.streams_max) {
        let opening = Connection::open(addresses, shared.start);
        match tokio::time::timeout(shared.limits.connect_timeout, opening).await {
            Ok(Ok(connection)) => opened.push(connection),
            _ => break,
        }
    }
    shared.connections_opened.fetch_add(opened.len() as u32, Ordering::Relaxed);
    for connection in opened {
        shared.give_back(connection);
    }
}

/// Raises the process's soft limit of open files as far as the streams need and the hard limit
/// allows, and says how many streams it carries. Without this the 1,024th stream would fail to
/// connect and the server would be blamed.
fn streams_possible(wanted: u32) -> u32 {
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::from(wanted) + FILES_SPARED;
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= needed {
        return wanted;
    }
    let raised = needed.min(limit.maximum.unwrap_or(u64::MAX));
    let set = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    let files = if set.is_ok() { raised } else { soft };
    (files.saturating_sub(FILES_SPARED) as u32).clamp(1, wanted)
}

/// A request that is not due yet or waits for a stream: due time and index, the earliest first.
type Due = BinaryHeap<Reverse<(u64, u32)>>;

struct Dispatcher<'a> {
    shared: Arc<Shared>,
    schedule: &'a Schedule,
    streams_max: usize,
    due: Due,
    /// The body of the next request, made while there is time.
    prepared: Option<(u32, Bytes)>,
    open: JoinSet<Finished>,
    open_max: usize,
    /// By index; one that has not ended stands as cancelled.
    records: Vec<RequestRecord>,
    /// Whether a request has ended, by index.
    ended: Vec<bool>,
    /// Of the requests that were taken up, in order of their end.
    lateness_ns: Vec<u64>,
    gaps: Vec<ChunkGaps>,
    failures: Vec<FailureDetail>,
    chunks_coalesced: u64,
}

impl<'a> Dispatcher<'a> {
    fn new(shared: Arc<Shared>, schedule: &'a Schedule) -> Self {
        let first = match schedule.pacing {
            Pacing::Open => schedule.requests.len(),
            Pacing::Closed { users } => schedule.requests.len().min(users as usize),
        };
        let due = (0..first)
            .map(|index| Reverse((nanoseconds(schedule.requests[index].intended), index as u32)))
            .collect();
        let streams_max = streams_possible(shared.limits.streams_max.max(1)) as usize;
        Self {
            shared,
            schedule,
            streams_max,
            due,
            prepared: None,
            open: JoinSet::new(),
            open_max: 0,
            records: schedule.requests.iter().map(not_ended).collect(),
            ended: vec![false; schedule.requests.len()],
            lateness_ns: Vec::with_capacity(schedule.requests.len()),
            gaps: Vec::new(),
            failures: Vec::new(),
            chunks_coalesced: 0,
        }
    }

    async fn run(&mut self, alarm: &Alarm) -> io::Result<()> {
        let cancel = self.shared.cancel.clone();
        let mut cancelled = pin!(cancel.notified());
        // Registered before the first look at the switch, so that no throw is missed.
        cancelled.as_mut().enable();
        while !cancel.is_cancelled() {
            self.send_due();
            self.prepare();
            let has_room = self.open.len() < self.streams_max;
            let next = self.due.peek().filter(|_| has_room).map(|Reverse((ns, _))| *ns);
            if next.is_none() && self.open.is_empty() {
                return Ok(());
            }
            let deadline = self.shared.start + Duration::from_nanos(next.unwrap_or(0));
            tokio::select! {
                biased;
                Some(joined) = self.open.join_next() => self.take(joined),
                waited = alarm.wait_until(deadline), if next.is_some() => waited?,
                () = cancelled.as_mut() => break,
            }
        }
        while let Some(joined) = self.open.join_next().await {
            self.take(joined);
        }
        Ok(())
    }

    /// Takes up every request whose time has come, as long as there are streams.
    fn send_due(&mut self) {
        while let Some(joined) = self.open.try_join_next() {
            self.take(joined);
        }
        // Before the start the clock of the block stands at 0, where its first request is due.
        if Instant::now() < self.shared.start {
            return;
        }
        let now_ns = self.shared.now_ns();
        while self.open.len() < self.streams_max
            && let Some(Reverse((due_ns, index))) = self.due.peek().copied()
            && due_ns <= now_ns
        {
            self.due.pop();
            let planned = self.schedule.requests[index as usize];
            let waited_ns = now_ns.saturating_sub(due_ns);
            if waited_ns >= nanoseconds(self.shared.limits.request_timeout) {
                let detail =
                    "its time limit passed while it waited for one of the client's streams";
                self.unsent(&planned, due_ns, Outcome::TimedOut, Some(waited_ns), detail);
                self.next_of_user(index, now_ns);
                continue;
            }
            let body = match self.prepared.take() {
                Some((prepared, body)) if prepared == index => body,
                _ => self.shared.target.body(&planned),
            };
            if let Some(live) = &self.shared.live {
                live.began(index, due_ns);
            }
            self.open.spawn(exchange(Arc::clone(&self.shared), planned, due_ns, body));
            self.open_max = self.open_max.max(self.open.len());
        }
    }

    /// Makes the body of the next request before it is due, so that its making is no lateness.
    fn prepare(&mut self) {
        let Some(Reverse((_, index))) = self.due.peek().copied() else {
            return;
        };
        if self.prepared.as_ref().is_none_or(|(prepared, _)| *prepared != index) {
            let body = self.shared.target.body(&self.schedule.requests[index as usize]);
            self.prepared = Some((index, body));
        }
    }

    fn take(&mut self, joined: Result<Finished, tokio::task::JoinError>) {
        match joined {
            Ok(finished) => {
                let (index, end_ns) = (finished.record.index, finished.record.end_ns);
                self.keep(finished);
                self.next_of_user(index, end_ns);
            }
            // No task is aborted, so this is a panic: a bug, which must not become a record.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    fn keep(&mut self, finished: Finished) {
        let (request, outcome) = (finished.record.index, finished.record.outcome);
        if let Some(detail) = finished.detail
            && self.failures.len() < FAILURE_DETAILS_MAX
        {
            self.failures.push(FailureDetail { request, outcome, detail });
        }
        self.lateness_ns.extend(finished.lateness_ns);
        self.chunks_coalesced += u64::from(finished.chunks_coalesced);
        if !finished.gaps.gaps_us.is_empty() {
            self.gaps.push(finished.gaps);
        }
        if let Some(live) = &self.shared.live {
            live.ended(&finished.record);
        }
        self.ended[request as usize] = true;
        self.records[request as usize] = finished.record;
    }

    /// In a closed loop the end of a request makes the same user's next one due.
    fn next_of_user(&mut self, index: u32, end_ns: u64) {
        let Pacing::Closed { users } = self.schedule.pacing else {
            return;
        };
        let Some(next) = index.checked_add(users) else {
            return;
        };
        if let Some(planned) = self.schedule.requests.get(next as usize) {
            self.due.push(Reverse((end_ns + nanoseconds(planned.intended), next)));
        }
    }

    /// Records a request that was never sent.
    fn unsent(
        &mut self,
        planned: &PlannedRequest,
        intended_ns: u64,
        outcome: Outcome,
        lateness_ns: Option<u64>,
        detail: &str,
    ) {
        let end_ns = self.shared.now_ns().max(intended_ns);
        let (record, gaps) = Progress::default().into_record(planned, intended_ns, end_ns, outcome);
        let detail = Some(detail.to_owned());
        self.keep(Finished { record, gaps, detail, lateness_ns, chunks_coalesced: 0 });
    }

    /// Records what was never sent and puts everything together.
    fn finish(mut self, before: ThreadUse) -> LoadResult {
        let now_ns = self.shared.now_ns();
        for planned in &self.schedule.requests {
            if !self.ended[planned.index as usize] {
                let intended_ns = match self.schedule.pacing {
                    Pacing::Open => nanoseconds(planned.intended),
                    Pacing::Closed { .. } => now_ns,
                };
                // What was due and still waited for a stream was late; the rest never was.
                let late_ns = now_ns.checked_sub(intended_ns).filter(|late| *late > 0);
                let detail = "the test ended before it was sent";
                self.unsent(planned, intended_ns, Outcome::Cancelled, late_ns, detail);
            }
        }
        let requests = self.records;
        self.gaps.sort_unstable_by_key(|gaps| gaps.request);
        self.failures.sort_unstable_by_key(|failure| failure.request);
        let sent = requests.iter().filter(|request| request.sent_ns.is_some()).count();
        let health = health(
            requests.len() as u32,
            sent as u32,
            self.lateness_ns,
            before,
            self.open_max as u32,
        );
        LoadResult {
            requests,
            gaps: self.gaps,
            health,
            failures: self.failures,
            connections_opened: self.shared.connections_opened.load(Ordering::Relaxed),
            reconnects: self.shared.reconnects.load(Ordering::Relaxed),
            chunks_coalesced: self.chunks_coalesced,
        }
    }
}

/// What stands in the place of a request until it ends: the memory is taken once.
fn not_ended(planned: &PlannedRequest) -> RequestRecord {
    Progress::default().into_record(planned, 0, 0, Outcome::Cancelled).0
}
