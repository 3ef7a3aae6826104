//! What the supervisor tells, and the queue in which it waits to be read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::launch::{Exit, Stream};

/// Lines that may wait to be read.
pub const LINES_WAITING_MAX: usize = 8192;
/// How long a full queue holds the workloads' output up before lines are dropped (and counted).
const PATIENCE: Duration = Duration::from_secs(5);

/// What happened. Times are nanoseconds of the monotonic clock ([`crate::clock`]). Of one workload,
/// `Started` comes first and `Gone` last; `LeaderExited` may overtake lines that were written
/// before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A workload's program runs.
    Started {
        /// The workload.
        id: u32,
        /// Its first process.
        pid: u32,
        /// When the process was made.
        at_ns: u64,
    },
    /// A line of output.
    Line {
        /// The workload.
        id: u32,
        /// Which of its streams.
        stream: Stream,
        /// When the read returned that completed the line.
        at_ns: u64,
        /// The line without its end; bytes that are not UTF-8 are replaced.
        text: String,
        /// Bytes that were left out because the line is too long.
        cut_bytes: u64,
    },
    /// Lines were dropped because the events were left unread for too long.
    LinesLost {
        /// How many, of all workloads.
        count: u64,
    },
    /// The first process of a workload has exited.
    LeaderExited {
        /// The workload.
        id: u32,
        /// When that was seen.
        at_ns: u64,
        /// How it ended.
        exit: Exit,
    },
    /// The last process of a workload is gone.
    Gone {
        /// The workload.
        id: u32,
        /// When that was seen.
        at_ns: u64,
        /// Whether its output was still held open by a process outside it, and was given up.
        output_cut: bool,
    },
    /// The guardian has ended, and every workload with it. Nothing follows.
    GuardianEnded {
        /// When that was seen.
        at_ns: u64,
        /// Processes that it had left and that were killed here.
        killed: Vec<u32>,
    },
}

/// The receiving end of a supervisor's events.
///
/// A reader that stays behind by [`LINES_WAITING_MAX`] lines holds the workloads' output up, which
/// loses nothing; after 5 s of that, lines are dropped, and an [`Event::LinesLost`] stands in their
/// place. All other events are kept whatever the reader does: there are at most five a workload.
#[derive(Debug)]
pub struct Events(Arc<Queue>);

/// The sending end.
#[derive(Debug)]
pub(super) struct EventSender(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    filled: Notify,
    drained: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<Event>,
    lines: usize,
    dropping: bool,
    sender_gone: bool,
    reader_gone: bool,
}

/// Two ends of a new queue.
pub(super) fn event_queue() -> (EventSender, Events) {
    let queue = Arc::new(Queue::default());
    (EventSender(Arc::clone(&queue)), Events(queue))
}

impl Queue {
    /// The lock is never held over a call that can panic, so a poisoned state is whole.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    /// The next event; `None` after the last, [`Event::GuardianEnded`]. It may be cancelled without
    /// losing anything.
    pub async fn recv(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.try_recv() {
                return Some(event);
            }
            if self.0.lock().sender_gone {
                // What was sent between the two looks is still there.
                return self.try_recv();
            }
            self.0.filled.notified().await;
        }
    }

    /// The next event, if one waits.
    pub fn try_recv(&mut self) -> Option<Event> {
        let mut state = self.0.lock();
        let event = state.events.pop_front()?;
        if matches!(event, Event::Line { .. }) {
            state.lines -= 1;
            self.0.drained.notify_one();
        }
        Some(event)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.0.lock().reader_gone = true;
        self.0.drained.notify_one();
    }
}

impl EventSender {
    /// Queues a line; waits for room for a while, then drops lines until there is room again.
    pub(super) async fn send_line(&self, line: Event) {
        loop {
            {
                let mut state = self.0.lock();
                if state.reader_gone {
                    return;
                }
                if state.lines < LINES_WAITING_MAX {
                    state.dropping = false;
                    state.lines += 1;
                    state.events.push_back(line);
                    self.0.filled.notify_one();
                    return;
                }
                if state.dropping {
                    count_lost(&mut state.events);
                    return;
                }
            }
            if tokio::time::timeout(PATIENCE, self.0.drained.notified()).await.is_err() {
                self.0.lock().dropping = true;
            }
        }
    }

    /// Queues a change of state. It never waits.
    pub(super) fn send(&self, event: Event) {
        let mut state = self.0.lock();
        if !state.reader_gone {
            state.events.push_back(event);
            self.0.filled.notify_one();
        }
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        self.0.lock().sender_gone = true;
        self.0.filled.notify_one();
    }
}

fn count_lost(events: &mut VecDeque<Event>) {
    if let Some(Event::LinesLost { count }) = events.back_mut() {
        *count += 1;
    } else {
        events.push_back(Event::LinesLost { count: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> Event {
        let text = number.to_string();
        Event::Line { id: 1, stream: Stream::Stdout, at_ns: 0, text, cut_bytes: 0 }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn an_unread_queue_drops_lines_in_place_and_keeps_the_rest() {
        runtime().block_on(async {
            let (sender, mut events) = event_queue();
            for number in 0..LINES_WAITING_MAX {
                sender.send_line(line(number)).await;
            }
            sender.0.lock().dropping = true;
            sender.send_line(line(90_001)).await;
            sender.send_line(line(90_002)).await;
            sender.send(Event::Gone { id: 1, at_ns: 5, output_cut: false });
            drop(sender);
            for number in 0..LINES_WAITING_MAX {
                assert_eq!(events.recv().await, Some(line(number)));
            }
            assert_eq!(events.recv().await, Some(Event::LinesLost { count: 2 }));
            assert!(matches!(events.recv().await, Some(Event::Gone { .. })));
            assert_eq!(events.recv().await, None);
        });
    }

    #[test]
    fn a_full_queue_waits_for_its_reader() {
        runtime().block_on(async {
            let (sender, mut events) = event_queue();
            let count = LINES_WAITING_MAX * 3;
            let writer = async {
                for number in 0..count {
                    sender.send_line(line(number)).await;
                }
            };
            let reader = async {
                for number in 0..count {
                    assert_eq!(events.recv().await, Some(line(number)));
                }
            };
            tokio::join!(writer, reader);
        });
    }

    #[test]
    fn a_reader_that_left_holds_nothing_up() {
        runtime().block_on(async {
            let (sender, events) = event_queue();
            drop(events);
            for number in 0..LINES_WAITING_MAX * 2 {
                sender.send_line(line(number)).await;
            }
            assert!(sender.0.lock().events.is_empty());
        });
    }
}
