//! Continuous batching: one loop that admits, computes one forward pass, and hands out tokens.
//!
//! Each pass holds one token of every sequence that decodes and, in what is left of the pass's token budget, the next
//! chunks of prompts in order of admission (Yu et al., Orca, 2022; Agrawal et al., Sarathi-Serve, 2024). A sequence
//! reserves its prompt and its longest output in the key-value budget when it is admitted, so it never has to be
//! preempted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::metrics::Metrics;
use super::queue::{Event, FinishReason, Job, JobQueue};
use super::sampling::Sampler;
use crate::model::{InferenceModel, KeyValueCache, Segment};
use crate::{TokenId, Tokenizer};

/// The most that the scheduler allows of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Sequences that run at once.
    pub(crate) sequences: usize,
    /// Tokens of one forward pass.
    pub(crate) batched_tokens: usize,
    /// Tokens in all key-value caches together.
    pub(crate) kv_tokens: usize,
}

/// What the scheduler and the HTTP side share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) queue: JobQueue,
    pub(crate) metrics: Metrics,
    /// Asks the scheduler to end running requests too.
    pub(crate) abort: AtomicBool,
}

/// A sequence that runs.
struct Sequence {
    job: Job,
    cache: KeyValueCache,
    sampler: Sampler,
    /// Tokens of the prompt that are in the cache.
    prompt_done: usize,
    /// The token to feed next, once the prompt is done.
    last_token: TokenId,
    generated: usize,
    last_token_at: Instant,
}

impl Sequence {
    fn is_decoding(&self) -> bool {
        self.prompt_done == self.job.prompt.len()
    }
}

/// Runs until the queue stops and no sequence is left. Call it on the thread that computes.
pub(crate) fn run(model: &InferenceModel, limits: Limits, shared: &Arc<Shared>) {
    let mut scheduler =
        Scheduler { model, limits, shared, running: Vec::new(), kv_tokens_reserved: 0 };
    loop {
        if scheduler.running.is_empty() && !shared.queue.wait_for_job() {
            return;
        }
        scheduler.drop_abandoned();
        scheduler.admit();
        scheduler.advance();
    }
}

struct Scheduler<'a> {
    model: &'a InferenceModel,
    limits: Limits,
    shared: &'a Shared,
    /// In order of admission.
    running: Vec<Sequence>,
    kv_tokens_reserved: usize,
}

impl Scheduler<'_> {
    /// Frees what belongs to clients that went away, or to everyone when the grace is over.
    fn drop_abandoned(&mut self) {
        let metrics = &self.shared.metrics;
        let abandoned = self.shared.queue.remove_abandoned();
        metrics.aborted.fetch_add(abandoned as u64, Ordering::Relaxed);
        let abort = self.shared.abort.load(Ordering::Relaxed);
        self.running.retain(|sequence| {
            let keep = !abort && !sequence.job.events.is_closed();
            if !keep {
                let _ = sequence
                    .job
                    .events
                    .try_send(Event::Failed("the server is stopping".to_owned()));
                metrics.aborted.fetch_add(1, Ordering::Relaxed);
            }
            keep
        });
        self.update_gauges();
    }

    fn admit(&mut self) {
        while self.running.len() < self.limits.sequences {
            let free = self.limits.kv_tokens - self.kv_tokens_reserved;
            let Some(job) = self.shared.queue.take_if(|job| job.kv_tokens() <= free) else { break };
            let now = Instant::now();
            match self.model.new_cache(job.kv_tokens()) {
                Ok(cache) => {
                    self.shared.metrics.queue_time.observe((now - job.arrived).as_secs_f64());
                    let sampler = Sampler::new(job.sampling);
                    self.running.push(Sequence {
                        job,
                        cache,
                        sampler,
                        prompt_done: 0,
                        last_token: 0,
                        generated: 0,
                        last_token_at: now,
                    });
                }
                Err(error) => self.fail(&job, &error),
            }
            self.update_gauges();
        }
    }

    fn fail(&self, job: &Job, error: &candle_core::Error) {
        self.shared.metrics.failed.fetch_add(1, Ordering::Relaxed);
        let _ = job.events.try_send(Event::Failed(format!("the computation failed: {error}")));
    }

    fn update_gauges(&mut self) {
        self.kv_tokens_reserved =
            self.running.iter().map(|sequence| sequence.job.kv_tokens()).sum();
        let metrics = &self.shared.metrics;
        metrics.running.store(self.running.len() as u64, Ordering::Relaxed);
        metrics.kv_tokens_reserved.store(self.kv_tokens_reserved as u64, Ordering::Relaxed);
    }

    /// Computes one forward pass and hands out its tokens.
    fn advance(&mut self) {
        let chunks = plan_pass(
            self.running.iter().map(|sequence| sequence.job.prompt.len() - sequence.prompt_done),
            self.limits.batched_tokens,
        );
        match self.forward(&chunks) {
            Ok(logits) => self.hand_out(&chunks, &logits),
            Err(error) => {
                // The caches may hold half a pass now, so no sequence of the batch can go on.
                for sequence in std::mem::take(&mut self.running) {
                    self.fail(&sequence.job, &error);
                }
            }
        }
        self.update_gauges();
    }

    /// Returns one row of logits for each sequence that gets a token from this pass, in order.
    fn forward(&mut self, chunks: &[usize]) -> candle_core::Result<Vec<Vec<f32>>> {
        let mut segments: Vec<Segment<'_>> = Vec::with_capacity(chunks.len());
        for (sequence, &chunk) in self.running.iter_mut().zip(chunks) {
            if chunk == 0 {
                continue;
            }
            let decoding = sequence.is_decoding();
            let done = sequence.prompt_done;
            let tokens = if decoding {
                std::slice::from_ref(&sequence.last_token)
            } else {
                &sequence.job.prompt[done..done + chunk]
            };
            let wants_logits = decoding || done + chunk == sequence.job.prompt.len();
            segments.push(Segment { cache: &mut sequence.cache, tokens, wants_logits });
        }
        if segments.is_empty() {
            return Ok(Vec::new());
        }
        match self.model.forward(&mut segments)? {
            Some(logits) => logits.to_vec2(),
            None => Ok(Vec::new()),
        }
    }

    fn hand_out(&mut self, chunks: &[usize], logits: &[Vec<f32>]) {
        let metrics = &self.shared.metrics;
        let now = Instant::now();
        let mut rows = logits.iter();
        let mut chunks = chunks.iter();
        self.running.retain_mut(|sequence| {
            let chunk = chunks.next().copied().unwrap_or(0);
            if chunk == 0 {
                return true;
            }
            if !sequence.is_decoding() {
                sequence.prompt_done += chunk;
                metrics.prompt_tokens.fetch_add(chunk as u64, Ordering::Relaxed);
                if !sequence.is_decoding() {
                    return true;
                }
            }
            match rows.next() {
                Some(row) => emit(sequence, row, now, metrics),
                None => false,
            }
        });
    }
}

/// Chooses and sends the next token of a sequence; false when the sequence is finished.
fn emit(sequence: &mut Sequence, logits: &[f32], now: Instant, metrics: &Metrics) -> bool {
    let token = sequence.sampler.choose(logits);
    sequence.last_token = token;
    sequence.generated += 1;
    metrics.generation_tokens.fetch_add(1, Ordering::Relaxed);
    if sequence.generated == 1 {
        metrics.first_token.observe((now - sequence.job.arrived).as_secs_f64());
    } else {
        metrics.inter_token.observe((now - sequence.last_token_at).as_secs_f64());
    }
    sequence.last_token_at = now;
    let finish = if token == Tokenizer::END {
        Some(FinishReason::Stop)
    } else if sequence.generated == sequence.job.output_tokens_max {
        Some(FinishReason::Length)
    } else {
        None
    };
    if let Some(reason) = finish {
        // Counted before the last chunk is sent, so that a client that has it finds itself counted.
        metrics.whole_request.observe((now - sequence.job.arrived).as_secs_f64());
        metrics.finished(reason);
    }
    let text = Tokenizer.decode(&[token]);
    // A client that went away is noticed at the start of the next pass.
    let _ = sequence.job.events.try_send(Event::Token { text, finish });
    finish.is_none()
}

/// How many tokens of each sequence the next pass computes, given what each still lacks of its prompt (0: it decodes).
///
/// Decoding sequences come first, one token each; prompts share the rest of the budget in order.
fn plan_pass(
    prompt_left: impl Iterator<Item = usize> + Clone,
    batched_tokens_max: usize,
) -> Vec<usize> {
    let decoding = prompt_left.clone().filter(|&left| left == 0).count();
    let mut budget = batched_tokens_max.saturating_sub(decoding);
    prompt_left
        .map(|left| {
            if left == 0 {
                return 1;
            }
            let chunk = left.min(budget);
            budget -= chunk;
            chunk
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_decodes_everyone_and_fills_up_with_prompts_in_order() {
        for (prompt_left, expected) in [
            (vec![], vec![]),
            (vec![0, 0], vec![1, 1]),
            (vec![100], vec![10]),
            (vec![0, 100, 0], vec![1, 8, 1]),
            (vec![3, 4, 5], vec![3, 4, 3]),
            (vec![20, 0, 5], vec![9, 1, 0]),
        ] {
            assert_eq!(plan_pass(prompt_left.iter().copied(), 10), expected);
        }
    }
}
