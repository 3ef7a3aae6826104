//! What has been seen of one answer, and the record that it becomes.

use cotenant_core::evidence::{ChunkGaps, Outcome, RequestRecord, TokenSource};

use super::chunk::{self, Usage};
use super::schedule::PlannedRequest;
use super::sse::{Continue, SseEvent};
use super::target::Api;
use super::triton;

/// How an answer went wrong: the outcome and words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) outcome: Outcome,
    pub(super) detail: String,
}

impl Failure {
    pub(super) fn new(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { outcome, detail: detail.into() }
    }
}

/// What has been seen of one answer.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The request's index.
    pub(super) index: u32,
    /// Whether events are Triton's; else they are OpenAI's.
    of_triton: bool,
    pub(super) sent_ns: Option<u64>,
    /// Whether the first token was told to who looks on.
    told: bool,
    first_token_ns: Option<u64>,
    first_visible_ns: Option<u64>,
    last_token_ns: Option<u64>,
    token_chunks: u32,
    gaps_us: Vec<u32>,
    gap_longest_ns: Option<u64>,
    stalls: u32,
    stalled_ns: u64,
    usage: Option<Usage>,
    /// Token chunks that came with a count of their own.
    token_chunks_counted: u32,
    /// Whether a chunk's own count grew by other than one.
    several_tokens: bool,
    /// Token chunks that came in the same read as the one before them.
    pub(super) chunks_coalesced: u32,
    pub(super) done: bool,
    pub(super) failure: Option<Failure>,
}

impl Progress {
    /// Nothing seen yet of an answer of this interface.
    pub(super) fn of(api: Api) -> Self {
        Self { of_triton: api == Api::TritonGenerate, ..Self::default() }
    }

    /// Takes one event of the stream, which the read at `at_ns` completed.
    pub(super) fn take(
        &mut self,
        event: SseEvent<'_>,
        at_ns: u64,
        stall_threshold_ns: u64,
    ) -> Continue {
        if event.data == b"[DONE]" {
            self.done = true;
            return Continue::No;
        }
        let chunk = if self.of_triton {
            triton::classify(event.data, self.usage)
        } else {
            chunk::classify(event.data)
        };
        let chunk = match chunk {
            Ok(chunk) => chunk,
            // An error event need not hold JSON.
            Err(_) if event.name == b"error" => return self.stream_error(event.data),
            Err(malformed) => {
                self.failure = Some(Failure::new(Outcome::Malformed, malformed.to_string()));
                return Continue::No;
            }
        };
        if let Some(words) = chunk.error {
            self.failure = Some(Failure::new(Outcome::StreamError, words));
            return Continue::No;
        }
        if event.name == b"error" {
            return self.stream_error(event.data);
        }
        if chunk.token {
            self.note_token(at_ns, stall_threshold_ns);
            if chunk.visible && self.first_visible_ns.is_none() {
                self.first_visible_ns = Some(at_ns);
            }
        }
        if let Some(usage) = chunk.usage {
            self.note_usage(usage, chunk.token);
        }
        Continue::Yes
    }

    /// When the first token came, once.
    pub(super) fn first_token_to_tell(&mut self) -> Option<u64> {
        let at_ns = self.first_token_ns.filter(|_| !self.told)?;
        self.told = true;
        Some(at_ns)
    }

    /// Takes the end of the stream, of which HTTP says that nothing was cut off.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        // Triton has no end marker; an answer without a token is none all the same.
        if self.done || (self.of_triton && self.first_token_ns.is_some()) {
            return Ok(());
        }
        let detail = if self.of_triton {
            "the answer ended without a token"
        } else {
            "the answer ended without its end marker, data: [DONE]"
        };
        Err(Failure::new(Outcome::Truncated, detail))
    }

    fn stream_error(&mut self, data: &[u8]) -> Continue {
        self.failure = Some(Failure::new(Outcome::StreamError, chunk::excerpt(data)));
        Continue::No
    }

    fn note_token(&mut self, at_ns: u64, stall_threshold_ns: u64) {
        self.token_chunks = self.token_chunks.saturating_add(1);
        if let Some(last_ns) = self.last_token_ns {
            let gap_ns = at_ns.saturating_sub(last_ns);
            self.gaps_us.push(u32::try_from((gap_ns + 500) / 1000).unwrap_or(u32::MAX));
            self.gap_longest_ns = self.gap_longest_ns.max(Some(gap_ns));
            self.chunks_coalesced += u32::from(gap_ns == 0);
            if gap_ns > stall_threshold_ns {
                self.stalls += 1;
                self.stalled_ns += gap_ns;
            }
        } else {
            self.first_token_ns = Some(at_ns);
        }
        self.last_token_ns = Some(at_ns);
    }

    fn note_usage(&mut self, usage: Usage, with_token: bool) {
        if with_token {
            let before = self.usage.map_or(0, |usage| usage.completion_tokens);
            self.token_chunks_counted += 1;
            self.several_tokens |= usage.completion_tokens != before.saturating_add(1);
        }
        self.usage = Some(usage);
    }

    /// Whether a gap is an inter-token latency: the server counted every chunk and each grew the
    /// count by one, or it counted once and found as many tokens as there were chunks. Without a
    /// count nothing is known, so the answer is no.
    fn single_token(&self) -> bool {
        let Some(usage) = self.usage else {
            return false;
        };
        if self.token_chunks_counted == self.token_chunks && self.token_chunks > 1 {
            return !self.several_tokens;
        }
        usage.completion_tokens == self.token_chunks
    }

    /// The record and the gaps of the request, which ended at `end_ns`.
    pub(super) fn into_record(
        self,
        planned: &PlannedRequest,
        intended_ns: u64,
        end_ns: u64,
        outcome: Outcome,
    ) -> (RequestRecord, ChunkGaps) {
        let single_token = self.single_token();
        let prompt_tokens = self.usage.and_then(|usage| usage.prompt_tokens);
        let (output_tokens, token_source) = match self.usage {
            Some(usage) => (usage.completion_tokens, TokenSource::Usage),
            None => (self.token_chunks, TokenSource::Chunks),
        };
        let record = RequestRecord {
            index: planned.index,
            class: planned.class,
            intended_ns,
            sent_ns: self.sent_ns,
            first_token_ns: self.first_token_ns,
            first_visible_ns: self.first_visible_ns,
            last_token_ns: self.last_token_ns,
            end_ns,
            prompt_tokens: prompt_tokens.unwrap_or(planned.prompt_tokens),
            output_tokens,
            token_source,
            gap_longest_ns: self.gap_longest_ns,
            stalls: self.stalls,
            stalled_ns: self.stalled_ns,
            outcome,
        };
        let gaps = ChunkGaps { request: planned.index, single_token, gaps_us: self.gaps_us };
        (record, gaps)
    }

    /// The outcome of an answer that arrived whole.
    pub(super) fn complete(&self) -> Outcome {
        if self.usage.is_some() { Outcome::Completed } else { Outcome::CompletedWithoutUsage }
    }
}
