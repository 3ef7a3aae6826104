//! The replica: what runs, what waits, and what happens next.

use std::collections::VecDeque;

use super::cache::Cache;
use super::decoding::Decoding;
use super::flight::Flight;
use super::request::{Sequence, SimRequest};
use super::spec::{ReplicaSpec, Role, SpecProblem, check_step};
use super::watcher::{PassRun, RefusalReason, Tokens, Watcher};
use crate::perf::{IntegerStep, Pass};
use crate::units::Picoseconds;

/// Preemptions in a row, with less than a block of tokens in between, that are called a livelock.
const EVICTIONS_OF_A_LIVELOCK: u32 = 8;

/// How much a replica has to do at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests in the batch.
    pub running: u64,
    /// Requests that wait to be in it.
    pub waiting: u64,
    /// Tokens in the KV cache of decoding sequences.
    pub kv_tokens: u64,
    /// Blocks of the KV cache in use.
    pub kv_blocks_used: u64,
    /// Blocks of the KV cache.
    pub kv_blocks: u64,
}

/// One replica of an engine. Times given to it must not go backwards.
///
/// The order at one moment is: passes end, then requests arrive, then the next pass begins.
#[derive(Clone, Debug)]
pub struct Replica {
    number: u16,
    spec: ReplicaSpec,
    cache: Cache,
    decoding: Decoding,
    waiting: VecDeque<Sequence>,
    /// The one sequence whose prompt is computed in part.
    partial: Option<Sequence>,
    flight: Option<Flight>,
    /// When a next pass can begin, while none is under way.
    ready: Option<Picoseconds>,
    /// When the newest pass that is over ended.
    ended: Picoseconds,
    is_paused: bool,
    is_draining: bool,
    /// An empty list, kept to spare its memory's renewal in each pass.
    spare: Vec<Sequence>,
}

impl Replica {
    /// An empty replica; `number` is what [`PassRun`] calls it.
    pub fn new(number: u16, spec: ReplicaSpec) -> Result<Self, SpecProblem> {
        spec.check()?;
        Ok(Self {
            number,
            spec,
            cache: Cache::new(spec.kv_blocks, spec.prefix_cache),
            decoding: Decoding::new(spec.block_tokens),
            waiting: VecDeque::new(),
            partial: None,
            flight: None,
            ready: None,
            ended: Picoseconds::ZERO,
            is_paused: false,
            is_draining: false,
            spare: Vec::new(),
        })
    }

    /// What it was made of; the step is the newest one.
    pub fn spec(&self) -> &ReplicaSpec {
        &self.spec
    }

    /// A request arrives.
    pub fn offer(&mut self, now: Picoseconds, request: SimRequest, seen: &mut impl Watcher) {
        seen.arrived(&request);
        self.take_in(now, Sequence::new(request), seen);
    }

    /// A request arrives whose prompt another replica computed, with its KV tokens; its first token
    /// came at `first_token_at`.
    pub fn receive(
        &mut self,
        now: Picoseconds,
        request: SimRequest,
        first_token_at: Picoseconds,
        seen: &mut impl Watcher,
    ) {
        let mut sequence = Sequence::new(request);
        sequence.emitted = 1;
        sequence.received = sequence.request.prompt_tokens;
        sequence.admitted_before = true;
        sequence.first_token_at = first_token_at;
        sequence.last_token_at = first_token_at;
        self.take_in(now, sequence, seen);
    }

    /// When something happens next if nothing comes from outside: a batch changes, or, where that
    /// is due already, a pass begins. `None` where nothing is to be done.
    pub fn next(&self) -> Option<Picoseconds> {
        self.ready.or(self.flight.as_ref().map(|flight| flight.until))
    }

    /// Lets time pass: all that ends until then, and all that begins before then. What would begin
    /// at `until` itself begins in a later call or with [`Replica::start`], so that requests can
    /// arrive in between.
    pub fn advance(&mut self, until: Picoseconds, seen: &mut impl Watcher) {
        loop {
            if let Some(ready) = self.ready {
                if ready >= until {
                    return;
                }
                self.begin(ready, seen);
            }
            if self.flight.as_ref().is_none_or(|flight| flight.until > until) {
                return;
            }
            self.end(seen);
        }
    }

    /// Lets the next pass begin where one is due now: nothing else arrives at this moment.
    pub fn start(&mut self, now: Picoseconds, seen: &mut impl Watcher) {
        self.advance(now, seen);
        if self.ready.is_some_and(|ready| ready <= now) {
            self.begin(now, seen);
        }
    }

    /// Passes that begin from now on take other times: a neighbour came or went. The pass under way
    /// keeps its time.
    pub fn set_step(
        &mut self,
        now: Picoseconds,
        step: IntegerStep,
        seen: &mut impl Watcher,
    ) -> Result<(), SpecProblem> {
        check_step(&step)?;
        self.advance(now, seen);
        self.spec.step = step;
        self.cut(now);
        Ok(())
    }

    /// No pass begins from now on; the one under way ends.
    pub fn pause(&mut self, now: Picoseconds, seen: &mut impl Watcher) {
        self.advance(now, seen);
        self.cut(now);
        self.is_paused = true;
        self.ready = None;
    }

    /// Passes begin again.
    pub fn resume(&mut self, now: Picoseconds, seen: &mut impl Watcher) {
        self.advance(now, seen);
        self.is_paused = false;
        self.wake(now);
    }

    /// Whether new requests are refused from now on, while those it has are served.
    pub fn drain(&mut self, drains: bool) {
        self.is_draining = drains;
    }

    /// Forgets the KV cache, as when the model leaves the GPU: what ran waits, and is computed
    /// again. Only between two passes of a paused replica; false where one is still under way.
    pub fn unload(&mut self, now: Picoseconds, seen: &mut impl Watcher) -> bool {
        self.advance(now, seen);
        if !self.is_paused || self.flight.is_some() {
            return false;
        }
        while self.evict_newest(now, seen) {}
        for sequence in &mut self.waiting {
            sequence.received = 0;
        }
        self.cache = Cache::new(self.spec.kv_blocks, self.spec.prefix_cache);
        true
    }

    /// Takes out the requests that wait, in their order: they can be served elsewhere. Those that
    /// were preempted and wait to go on are among them, and begin from their prompts there.
    pub fn withdraw_waiting(
        &mut self,
        now: Picoseconds,
        seen: &mut impl Watcher,
    ) -> Vec<SimRequest> {
        self.advance(now, seen);
        let withdrawn = self.waiting.drain(..).map(|sequence| sequence.request).collect();
        if self.is_idle() {
            self.ready = None;
        }
        withdrawn
    }

    /// Whether it has no request at all.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running() == 0
    }

    /// What it has to do at a moment up to which it was advanced.
    pub fn load(&self, now: Picoseconds) -> Load {
        let (mut kv_tokens, mut begun) = (self.decoding.kv_tokens(), 0);
        if let Some(flight) = &self.flight {
            kv_tokens += flight.passes_over(now) * self.decoding.count();
            let needed = self.decoding.blocks_needed(flight.passes_by(now));
            begun = needed - flight.blocks_taken;
        }
        Load {
            running: self.running(),
            waiting: self.waiting.len() as u64,
            kv_tokens,
            kv_blocks_used: self.spec.kv_blocks - self.cache.free() + begun,
            kv_blocks: self.spec.kv_blocks,
        }
    }

    fn running(&self) -> u64 {
        let entering = self.flight.as_ref().map_or(0, |flight| flight.entering.len() as u64);
        self.decoding.count() + u64::from(self.partial.is_some()) + entering
    }

    fn take_in(&mut self, now: Picoseconds, sequence: Sequence, seen: &mut impl Watcher) {
        self.advance(now, seen);
        let refused = if self.is_draining {
            Some(RefusalReason::Draining)
        } else if self.blocks(sequence.request.kv_tokens_at_end()) > self.spec.kv_blocks
            || sequence.request.kv_tokens_at_end() >= u64::from(u32::MAX)
        {
            Some(RefusalReason::TooLong)
        } else if let Some(requests_max) = self.spec.requests_max
            && self.running() + self.waiting.len() as u64 >= requests_max.into()
        {
            Some(RefusalReason::QueueFull)
        } else {
            None
        };
        if let Some(reason) = refused {
            seen.refused(&sequence.request, now, reason);
            return;
        }
        // Behind others that wait, and where no place is free, it changes nothing until a batch
        // changes: those in front would have been admitted if anything could be.
        if self.waiting.is_empty() && self.running() < self.spec.sequences_max.into() {
            self.cut(now);
        }
        self.waiting.push_back(sequence);
        self.wake(now);
    }

    fn wake(&mut self, now: Picoseconds) {
        if !self.is_paused && self.flight.is_none() && self.ready.is_none() && !self.is_idle() {
            self.ready = Some(now);
        }
    }

    fn cut(&mut self, now: Picoseconds) {
        if let Some(flight) = self.flight.as_mut().filter(|flight| flight.passes > 1) {
            flight.cut(now);
        }
    }

    /// Lets one pass begin, or several with the same batch.
    fn begin(&mut self, now: Picoseconds, seen: &mut impl Watcher) {
        self.ready = None;
        let has_evicted = self.make_room(now, seen);
        let sequences = self.decoding.count();
        let kv_tokens = self.decoding.kv_tokens();
        let mut pass = Pass { tokens: sequences, sequences, kv_tokens, prefill_pairs: 0 };
        let blocks_taken = self.decoding.blocks_needed(1);
        self.cache.allocate(blocks_taken);
        let entering = std::mem::take(&mut self.spare);
        let mut flight =
            Flight { from: now, sequences, blocks_taken, entering, ..Flight::default() };
        if let Some(partial) = self.partial.take() {
            let blocks = self.chunk_blocks(&partial, sequences);
            self.cache.allocate(blocks);
            self.compute_chunk(partial, &mut pass, &mut flight);
        }
        if !has_evicted {
            self.admit(now, &mut pass, &mut flight, seen);
        }
        if pass.tokens == 0 {
            self.spare = flight.entering;
            return;
        }
        flight.first = self.spec.step.step(pass);
        let changes_nothing = self.partial.is_none() && flight.entering.is_empty() && !has_evicted;
        flight.passes = if changes_nothing {
            self.decoding.passes_ahead(self.cache.free() + blocks_taken)
        } else {
            1
        };
        flight.growth = self.spec.step.decode_growth(sequences);
        flight.until = now + flight.duration(flight.passes);
        self.flight = Some(flight);
    }

    /// Takes blocks from the sequences admitted last until the others can go on.
    fn make_room(&mut self, now: Picoseconds, seen: &mut impl Watcher) -> bool {
        let mut has_evicted = false;
        loop {
            let decoding = self.decoding.count();
            let chunk = self.partial.as_ref().map_or(0, |one| self.chunk_blocks(one, decoding));
            if self.decoding.blocks_needed(1) + chunk <= self.cache.free() {
                return has_evicted;
            }
            has_evicted |= self.evict_newest(now, seen);
        }
    }

    fn evict_newest(&mut self, now: Picoseconds, seen: &mut impl Watcher) -> bool {
        let partial = self.partial.take();
        let Some(mut sequence) = partial.or_else(|| {
            // Whoever decodes was given a token in each pass.
            let newest = self.decoding.pop_newest()?;
            Some(Sequence { last_token_at: self.ended, ..newest })
        }) else {
            return false;
        };
        self.release(&sequence);
        seen.preempted(&sequence.request, now, sequence.computed.into());
        let gained = sequence.emitted - sequence.emitted_at_eviction;
        // What was gained since the last time decides whether this is the next of a row.
        sequence.evictions =
            if gained < self.spec.block_tokens { sequence.evictions + 1 } else { 1 };
        if sequence.evictions == EVICTIONS_OF_A_LIVELOCK {
            seen.livelock(&sequence.request, now, sequence.evictions);
        }
        sequence.emitted_at_eviction = sequence.emitted;
        (sequence.computed, sequence.received, sequence.shared_blocks) = (0, 0, 0);
        self.waiting.push_front(sequence);
        true
    }

    /// Lets waiting requests in, in order, while there is budget, place and room.
    fn admit(
        &mut self,
        now: Picoseconds,
        pass: &mut Pass,
        flight: &mut Flight,
        seen: &mut impl Watcher,
    ) {
        let mut running = self.decoding.count() + flight.entering.len() as u64;
        while self.partial.is_none()
            && running < self.spec.sequences_max.into()
            && pass.tokens < self.spec.batched_tokens_max.into()
            && let Some(&head) = self.waiting.front()
        {
            let (group, hits_max) = self.shareable(&head).unwrap_or((0, 0));
            let (hits, idle_hits) = self.cache.hits(group, hits_max);
            let mut sequence = head;
            sequence.computed = head.received.max(hits * self.spec.block_tokens);
            let chunk = self.chunk(&sequence, pass.tokens);
            let blocks = self.blocks((sequence.computed + chunk).into()) - u64::from(hits);
            if blocks + idle_hits > self.cache.free() {
                return;
            }
            self.waiting.pop_front();
            self.cache.hold(group, hits);
            self.cache.allocate(blocks);
            sequence.shared_blocks = hits;
            if !sequence.admitted_before {
                sequence.admitted_before = true;
                seen.admitted(&sequence.request, now);
            }
            self.compute_chunk(sequence, pass, flight);
            running += 1;
        }
    }

    /// Adds what the budget leaves of a prompt to the pass. Its blocks are taken already.
    fn compute_chunk(&mut self, mut sequence: Sequence, pass: &mut Pass, flight: &mut Flight) {
        let chunk = self.chunk(&sequence, pass.tokens);
        let context = u64::from(sequence.computed);
        if sequence.emitted > 0 && sequence.computed + 1 == sequence.tokens() {
            pass.sequences += 1;
            pass.kv_tokens += context;
        } else {
            let chunk = u64::from(chunk);
            pass.prefill_pairs += chunk * context + chunk * chunk / 2;
            flight.prefill_tokens += chunk;
        }
        pass.tokens += u64::from(chunk);
        sequence.computed += chunk;
        if let Some((group, _)) = self.shareable(&sequence)
            && let Some(prefix) = sequence.request.prefix
        {
            let common = prefix.tokens.min(sequence.request.prompt_tokens).min(sequence.computed);
            let until = common / self.spec.block_tokens;
            sequence.shared_blocks = self.cache.contribute(group, sequence.shared_blocks, until);
        }
        if sequence.computed == sequence.tokens() {
            flight.entering.push(sequence);
        } else {
            self.partial = Some(sequence);
        }
    }

    /// Its group, and how many blocks of the common beginning it can use if they are there: whole
    /// ones, and never its last token, whose pass gives the next one.
    fn shareable(&self, sequence: &Sequence) -> Option<(u32, u32)> {
        let prefix = sequence.request.prefix?;
        if !self.spec.prefix_cache || sequence.received > 0 {
            return None;
        }
        let common = prefix.tokens.min(sequence.request.prompt_tokens);
        Some((prefix.group, common.min(sequence.tokens() - 1) / self.spec.block_tokens))
    }

    /// Tokens of a sequence that a pass takes in that has so many already.
    fn chunk(&self, sequence: &Sequence, tokens_before: u64) -> u32 {
        let budget = u64::from(self.spec.batched_tokens_max) - tokens_before;
        (sequence.tokens() - sequence.computed).min(budget as u32)
    }

    /// Blocks that its next chunk needs beyond those that it has.
    fn chunk_blocks(&self, sequence: &Sequence, tokens_before: u64) -> u64 {
        let after = sequence.computed + self.chunk(sequence, tokens_before);
        self.blocks(after.into()) - self.blocks(sequence.computed.into())
    }

    fn blocks(&self, tokens: u64) -> u64 {
        tokens.div_ceil(self.spec.block_tokens.into())
    }

    /// Ends the passes under way.
    fn end(&mut self, seen: &mut impl Watcher) {
        let Some(mut flight) = self.flight.take() else { return };
        let blocks = self.decoding.blocks_needed(flight.passes) - flight.blocks_taken;
        self.cache.allocate(blocks);
        seen.passes(&PassRun {
            replica: self.number,
            from: flight.from,
            until: flight.until,
            waited: flight.from - self.ended,
            passes: flight.passes,
            first: flight.first,
            growth: flight.growth,
            sequences: flight.sequences,
            prefill_tokens: flight.prefill_tokens,
            kv_blocks_used: self.spec.kv_blocks - self.cache.free(),
        });
        self.ended = flight.until;
        self.decoding.advance(flight.passes);
        while let Some(sequence) = self.decoding.pop_done() {
            self.finish(Sequence { last_token_at: flight.until, ..sequence }, seen);
        }
        for sequence in flight.entering.drain(..) {
            self.enter(sequence, flight.until, seen);
        }
        self.spare = flight.entering;
        self.wake(flight.until);
    }

    /// Gives a sequence the token at the end of its prompt.
    fn enter(&mut self, mut sequence: Sequence, at: Picoseconds, seen: &mut impl Watcher) {
        sequence.emitted += 1;
        if sequence.emitted == 1 {
            sequence.first_token_at = at;
            seen.first_token(&sequence.request, at);
        } else {
            seen.late_token(&sequence.request, tokens(&sequence), at);
        }
        sequence.last_token_at = at;
        if sequence.is_done() {
            self.finish(sequence, seen);
        } else if self.spec.role == Role::Prefill {
            self.release(&sequence);
            seen.handed_over(&sequence.request, at);
        } else {
            self.decoding.join(sequence);
        }
    }

    fn finish(&mut self, sequence: Sequence, seen: &mut impl Watcher) {
        self.release(&sequence);
        seen.finished(&sequence.request, tokens(&sequence));
    }

    fn release(&mut self, sequence: &Sequence) {
        let own = self.blocks(sequence.computed.into()) - u64::from(sequence.shared_blocks);
        let group = sequence.request.prefix.map(|prefix| (prefix.group, sequence.shared_blocks));
        self.cache.release(own, group);
    }
}

fn tokens(sequence: &Sequence) -> Tokens {
    Tokens { first_at: sequence.first_token_at, last_at: sequence.last_token_at }
}
