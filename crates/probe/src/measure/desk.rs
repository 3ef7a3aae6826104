//! What the supervised workloads say, kept in one place that can be waited on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cotenant_core::evidence::ChangePart;
use tokio::sync::Notify;

use crate::progress_log::{ProgressReader, TrainerEvent};
use crate::stress::StressLine;
use crate::supervisor::{Event, Events, Exit};

use super::engine_log::{add_part, start_part};

/// Lines of a workload that are kept for an error message.
const LINES_KEPT: usize = 30;

/// Characters of such a line that are shown: a progress bar may be far longer.
const LINE_SHOWN: usize = 160;

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE_SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// What is known of one started process.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Events of the trainer's log with their stamps, monotonic nanoseconds.
    pub(super) events: Vec<(u64, TrainerEvent)>,
    /// What its lines are read with: a reader remembers the steps of one process.
    reader: Option<ProgressReader>,
    /// What its log owns of its start, where it is an engine.
    pub(super) start_parts: Vec<ChangePart>,
    /// Its last lines.
    pub(super) last_lines: VecDeque<String>,
    /// When and how its first process ended.
    pub(super) exit: Option<(u64, Exit)>,
    /// What a stressor reached: end of the interval, monotonic nanoseconds, and mean rate.
    pub(super) stress_rates: Vec<(u64, f64)>,
    /// What else it told.
    pub(super) stress_notes: Vec<String>,
}

impl Watched {
    /// Steps that were printed so far.
    pub(super) fn step_count(&self) -> usize {
        self.events.iter().filter(|(_, event)| matches!(event, TrainerEvent::Step { .. })).count()
    }

    /// Its last words, for an error message.
    pub(super) fn last_words(&self) -> String {
        if self.last_lines.is_empty() {
            return "it printed nothing".to_owned();
        }
        let lines: Vec<String> = self.last_lines.iter().map(|line| shortened(line)).collect();
        format!("its last lines:\n  {}", lines.join("\n  "))
    }
}

#[derive(Debug, Default)]
struct State {
    watched: BTreeMap<u32, Watched>,
    guardian_ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

/// The desk. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Desk(Arc<Shared>);

impl Desk {
    /// Starts reading the supervisor's events. Lines of every workload are read as a trainer's: an
    /// engine prints none that match, and a line that matches nothing is only kept as last words.
    pub(super) fn new(mut events: Events, log: Option<ProgressReader>) -> Self {
        let desk = Self(Arc::default());
        let shared = Arc::clone(&desk.0);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                lock(&shared).receive(event, log.as_ref());
                shared.changed.notify_waiters();
            }
        });
        desk
    }

    /// Looks at one workload.
    pub(super) fn look<T>(&self, id: u32, look: impl FnOnce(&Watched) -> T) -> T {
        look(lock(&self.0).watched.entry(id).or_default())
    }

    /// Waits until `ready` says something of a workload, its guardian has ended, or patience has.
    pub(super) async fn wait<T>(
        &self,
        id: u32,
        patience: Duration,
        ready: impl Fn(&Watched) -> Option<T>,
    ) -> Option<T> {
        let waiting = async {
            loop {
                let changed = self.0.changed.notified();
                tokio::pin!(changed);
                // Enabled before looking, so that a change in between is not missed.
                changed.as_mut().enable();
                {
                    let mut state = lock(&self.0);
                    if let Some(found) = ready(state.watched.entry(id).or_default()) {
                        return Some(found);
                    }
                    if state.guardian_ended {
                        return None;
                    }
                }
                changed.await;
            }
        };
        tokio::time::timeout(patience, waiting).await.ok().flatten()
    }
}

impl State {
    fn receive(&mut self, event: Event, log: Option<&ProgressReader>) {
        match event {
            Event::Line { id, at_ns, text, .. } => {
                let watched = self.watched.entry(id).or_default();
                if let Some(line) = StressLine::read(&text) {
                    return watched.receive_stress(line);
                }
                if watched.reader.is_none() {
                    watched.reader = log.cloned();
                }
                if let Some(reader) = &mut watched.reader {
                    let events = reader.read(&text, at_ns).into_iter();
                    watched.events.extend(events.map(|event| (at_ns, event)));
                }
                if let Some(part) = start_part(&text) {
                    add_part(&mut watched.start_parts, part);
                }
                if watched.last_lines.len() == LINES_KEPT {
                    watched.last_lines.pop_front();
                }
                watched.last_lines.push_back(text);
            }
            Event::LeaderExited { id, at_ns, exit } => {
                self.watched.entry(id).or_default().exit = Some((at_ns, exit));
            }
            Event::GuardianEnded { .. } => self.guardian_ended = true,
            Event::Started { .. } | Event::Gone { .. } | Event::LinesLost { .. } => {}
        }
    }
}

/// The lock is never held over a call that can panic, so a poisoned state is whole.
fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}
