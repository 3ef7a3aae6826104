//! The bounded queue between the HTTP thread and the scheduler.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;

use super::sampling::SamplingSettings;
use crate::TokenId;

/// Why a request ended, in the words of vLLM's `finished_reason` label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinishReason {
    /// The model ended its text.
    Stop,
    /// The output reached its longest length.
    Length,
}

/// What the scheduler tells a request.
#[derive(Debug)]
pub(crate) enum Event {
    /// One token was generated.
    Token {
        /// Its text; empty for the end of the text.
        text: String,
        /// Present with the last token.
        finish: Option<FinishReason>,
    },
    /// The request cannot go on.
    Failed(String),
}

/// A request that was admitted to the queue.
#[derive(Debug)]
pub(crate) struct Job {
    /// Not empty.
    pub(crate) prompt: Vec<TokenId>,
    /// At least 1.
    pub(crate) output_tokens_max: usize,
    pub(crate) sampling: SamplingSettings,
    /// Holds all events that the request can ever get, so sending never waits. Closed by a client that went away.
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) arrived: Instant,
}

impl Job {
    /// Tokens that the key-value cache must hold; the last output token is never fed back, yet counts, as in vLLM.
    pub(crate) fn kv_tokens(&self) -> usize {
        self.prompt.len() + self.output_tokens_max
    }
}

/// Why a job was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// As many requests wait as may.
    Full,
    /// The server is stopping.
    Stopping,
}

#[derive(Debug)]
struct Inner {
    waiting: VecDeque<Job>,
    stopping: bool,
}

/// Requests in order of arrival. One side pushes and is refused at the bound; the other takes.
#[derive(Debug)]
pub(crate) struct JobQueue {
    inner: Mutex<Inner>,
    arrived: Condvar,
    waiting_max: usize,
}

impl JobQueue {
    pub(crate) fn new(waiting_max: usize) -> Self {
        let inner = Inner { waiting: VecDeque::new(), stopping: false };
        Self { inner: Mutex::new(inner), arrived: Condvar::new(), waiting_max }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere cannot leave a half-done change behind: each critical section is one call.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a job, or says why not. Jobs whose client went away do not count against the bound.
    pub(crate) fn push(&self, job: Job) -> Result<(), Refusal> {
        let mut inner = self.lock();
        if inner.stopping {
            return Err(Refusal::Stopping);
        }
        if inner.waiting.iter().filter(|job| !job.events.is_closed()).count() >= self.waiting_max {
            return Err(Refusal::Full);
        }
        inner.waiting.push_back(job);
        drop(inner);
        self.arrived.notify_one();
        Ok(())
    }

    /// Number of jobs that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Takes the first job if `fits` says so. Later jobs never pass it, so a large one cannot starve.
    pub(crate) fn take_if(&self, fits: impl FnOnce(&Job) -> bool) -> Option<Job> {
        self.lock().waiting.pop_front_if(|job| fits(job))
    }

    /// Removes the jobs whose client went away and returns how many there were.
    pub(crate) fn remove_abandoned(&self) -> usize {
        let mut inner = self.lock();
        let before = inner.waiting.len();
        inner.waiting.retain(|job| !job.events.is_closed());
        before - inner.waiting.len()
    }

    /// Waits until there is a job or the queue stops; false when it has stopped.
    pub(crate) fn wait_for_job(&self) -> bool {
        let inner = self.lock();
        let inner = self
            .arrived
            .wait_while(inner, |inner| inner.waiting.is_empty() && !inner.stopping)
            .unwrap_or_else(PoisonError::into_inner);
        !inner.stopping
    }

    /// Whether the queue has stopped.
    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().stopping
    }

    /// Refuses all further jobs and returns those that waited.
    pub(crate) fn stop(&self) -> Vec<Job> {
        let mut inner = self.lock();
        inner.stopping = true;
        let rest = inner.waiting.drain(..).collect();
        drop(inner);
        self.arrived.notify_all();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(prompt_tokens: usize) -> (Job, mpsc::Receiver<Event>) {
        let (events, receiver) = mpsc::channel(4);
        let sampling = SamplingSettings { temperature: 0.0, top_p: 1.0, ignore_end: true, seed: 0 };
        let prompt = vec![1; prompt_tokens];
        (Job { prompt, output_tokens_max: 3, sampling, events, arrived: Instant::now() }, receiver)
    }

    #[test]
    fn the_bound_holds_and_abandoned_jobs_do_not_count() {
        let queue = JobQueue::new(2);
        let (first, first_receiver) = job(1);
        let (second, _second_receiver) = job(2);
        let (third, _third_receiver) = job(3);
        let (fourth, _fourth_receiver) = job(4);
        queue.push(first).unwrap();
        queue.push(second).unwrap();
        assert_eq!(queue.push(third).unwrap_err(), Refusal::Full);
        drop(first_receiver);
        queue.push(fourth).unwrap();
        assert_eq!(queue.remove_abandoned(), 1);
        assert_eq!(queue.waiting(), 2);
    }

    #[test]
    fn the_first_job_is_never_passed() {
        let queue = JobQueue::new(9);
        let (large, _large_receiver) = job(50);
        let (small, _small_receiver) = job(1);
        queue.push(large).unwrap();
        queue.push(small).unwrap();
        assert!(queue.take_if(|job| job.kv_tokens() < 10).is_none());
        assert_eq!(queue.take_if(|_| true).unwrap().prompt.len(), 50);
        assert_eq!(queue.take_if(|_| true).unwrap().prompt.len(), 1);
        assert!(queue.take_if(|_| true).is_none());
    }

    #[test]
    fn a_stopped_queue_refuses_and_wakes() {
        let queue = JobQueue::new(9);
        let (one, _one_receiver) = job(1);
        let (other, _other_receiver) = job(1);
        queue.push(one).unwrap();
        assert!(queue.wait_for_job());
        assert_eq!(queue.stop().len(), 1);
        assert!(!queue.wait_for_job());
        assert_eq!(queue.push(other).unwrap_err(), Refusal::Stopping);
    }
}
