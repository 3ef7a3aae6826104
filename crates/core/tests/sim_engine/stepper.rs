//! The reference: one pass after the other, each sequence and each block by itself, as vLLM's own
//! scheduler goes through its lists. Slow, and written without anything of the simulator's but the
//! time of a pass.

use std::collections::{HashMap, VecDeque};

use cotenant_core::perf::{IntegerStep, Pass};
use cotenant_core::sim::engine::{Load, ReplicaSpec, SimRequest};

use crate::watching::{Event, Log, Single};

/// What comes from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outside {
    Step(IntegerStep),
    Pause,
    Resume,
    Arrives(SimRequest),
}

#[derive(Clone, Debug, Default)]
struct Blocks {
    /// Holders of each block, and which block of which group it is known as.
    holders: Vec<u32>,
    known_as: Vec<Option<(u32, u32)>>,
    free: VecDeque<usize>,
    known: HashMap<(u32, u32), usize>,
}

#[derive(Clone, Debug)]
struct Item {
    request: SimRequest,
    emitted: u32,
    computed: u32,
    blocks: Vec<usize>,
    chunk: u32,
    streams: bool,
    was_admitted: bool,
    evictions: u32,
    emitted_at_eviction: u32,
    first_at: u64,
    last_at: u64,
}

impl Item {
    fn tokens(&self) -> u32 {
        self.request.prompt_tokens + self.emitted
    }
}

pub(crate) struct Stepper {
    spec: ReplicaSpec,
    blocks: Blocks,
    running: Vec<Item>,
    waiting: VecDeque<Item>,
    log: Log,
    is_paused: bool,
    ended: u64,
    single: Option<Single>,
}

/// Everything that happens. `outside` is in order of time.
pub(crate) fn step_through(spec: ReplicaSpec, outside: &[(u64, Outside)]) -> Log {
    let count = spec.kv_blocks as usize;
    let blocks = Blocks {
        holders: vec![0; count],
        known_as: vec![None; count],
        free: (0..count).collect(),
        known: HashMap::new(),
    };
    let mut stepper = Stepper {
        spec,
        blocks,
        running: Vec::new(),
        waiting: VecDeque::new(),
        log: Log::default(),
        is_paused: false,
        ended: 0,
        single: None,
    };
    let mut outside = outside.iter().peekable();
    let mut now = 0;
    loop {
        let next = outside.peek().map_or(u64::MAX, |(at, _)| *at);
        if let Some(single) = stepper.single.filter(|single| single.until <= next) {
            now = single.until;
            stepper.end();
        } else if stepper.single.is_none() && stepper.has_work() && next > now {
            stepper.begin(now);
        } else if let Some((at, what)) = outside.next() {
            now = now.max(*at);
            stepper.take(*at, *what);
        } else {
            return stepper.log;
        }
    }
}

impl Stepper {
    fn has_work(&self) -> bool {
        !(self.is_paused || self.running.is_empty() && self.waiting.is_empty())
    }

    fn blocks_for(&self, tokens: u32) -> usize {
        tokens.div_ceil(self.spec.block_tokens) as usize
    }

    fn take(&mut self, at: u64, what: Outside) {
        match what {
            Outside::Step(step) => self.spec.step = step,
            Outside::Pause => self.is_paused = true,
            Outside::Resume => self.is_paused = false,
            Outside::Arrives(request) => self.arrive(at, request),
        }
    }

    fn arrive(&mut self, at: u64, request: SimRequest) {
        let decoding = self.running.iter().filter(|item| item.streams);
        self.log.loads.push(Load {
            running: self.running.len() as u64,
            waiting: self.waiting.len() as u64,
            kv_tokens: decoding.map(|item| u64::from(item.computed)).sum(),
            kv_blocks_used: (self.blocks.holders.len() - self.blocks.free.len()) as u64,
            kv_blocks: self.spec.kv_blocks,
        });
        let id = request.id;
        let at_end = request.prompt_tokens + request.output_tokens - 1;
        if self.blocks_for(at_end) as u64 > self.spec.kv_blocks {
            self.log.events.push(Event::TooLong { id, at });
            return;
        }
        let present = (self.running.len() + self.waiting.len()) as u32;
        if self.spec.requests_max.is_some_and(|most| present >= most) {
            self.log.events.push(Event::QueueFull { id, at });
            return;
        }
        self.waiting.push_back(Item {
            request,
            emitted: 0,
            computed: 0,
            blocks: Vec::new(),
            chunk: 0,
            streams: false,
            was_admitted: false,
            evictions: 0,
            emitted_at_eviction: 0,
            first_at: 0,
            last_at: 0,
        });
    }

    fn begin(&mut self, now: u64) {
        let mut budget = self.spec.batched_tokens_max;
        let mut has_evicted = false;
        let mut at = 0;
        'running: while at < self.running.len() {
            let item = &self.running[at];
            let chunk = (item.tokens() - item.computed).min(budget);
            loop {
                let item = &self.running[at];
                let missing = self.blocks_for(item.computed + chunk) - item.blocks.len();
                if missing <= self.blocks.free.len() {
                    break;
                }
                has_evicted = true;
                self.evict_last(now);
                if at == self.running.len() {
                    break 'running;
                }
            }
            let mut item = self.running.remove(at);
            self.schedule(&mut item, chunk);
            self.running.insert(at, item);
            budget -= chunk;
            at += 1;
        }
        while !has_evicted
            && budget > 0
            && self.running.len() < self.spec.sequences_max as usize
            && let Some(item) = self.waiting.front()
        {
            let hits = self.hits(item);
            let context = hits.len() as u32 * self.spec.block_tokens;
            let chunk = (item.tokens() - context).min(budget);
            let missing = self.blocks_for(context + chunk) - hits.len();
            let idle = hits.iter().filter(|block| self.blocks.holders[**block] == 0).count();
            if missing + idle > self.blocks.free.len() {
                break;
            }
            let mut item = self.waiting.pop_front().unwrap();
            for block in &hits {
                self.blocks.holders[*block] += 1;
                self.blocks.free.retain(|free| free != block);
            }
            item.blocks = hits;
            item.computed = context;
            if !item.was_admitted {
                item.was_admitted = true;
                self.log.events.push(Event::Admitted { id: item.request.id, at: now });
            }
            self.schedule(&mut item, chunk);
            self.running.push(item);
            budget -= chunk;
        }
        let mut pass = Pass::default();
        let mut prefill_tokens = 0;
        for item in &self.running {
            let (chunk, context) = (u64::from(item.chunk), u64::from(item.computed));
            pass.tokens += chunk;
            if item.emitted > 0 && item.computed + 1 == item.tokens() {
                pass.sequences += 1;
                pass.kv_tokens += context;
            } else {
                prefill_tokens += chunk;
                pass.prefill_pairs += chunk * context + chunk * chunk / 2;
            }
        }
        self.single = Some(Single {
            from: now,
            until: now + self.spec.step.step(pass).0,
            waited: now - self.ended,
            sequences: self.running.iter().filter(|item| item.streams).count() as u64,
            prefill_tokens,
            kv_blocks_used: Some((self.blocks.holders.len() - self.blocks.free.len()) as u64),
        });
    }

    fn hits(&self, item: &Item) -> Vec<usize> {
        let Some(prefix) = item.request.prefix.filter(|_| self.spec.prefix_cache) else {
            return Vec::new();
        };
        let common = prefix.tokens.min(item.request.prompt_tokens).min(item.tokens() - 1);
        (0..common / self.spec.block_tokens)
            .map_while(|index| self.blocks.known.get(&(prefix.group, index)).copied())
            .collect()
    }

    /// Takes blocks for a chunk, and lets those that it fills be known.
    fn schedule(&mut self, item: &mut Item, chunk: u32) {
        item.chunk = chunk;
        let after = item.computed + chunk;
        while item.blocks.len() < self.blocks_for(after) {
            let block = self.blocks.free.pop_front().unwrap();
            if let Some(name) = self.blocks.known_as[block].take() {
                self.blocks.known.remove(&name);
            }
            self.blocks.holders[block] = 1;
            item.blocks.push(block);
        }
        let Some(prefix) = item.request.prefix.filter(|_| self.spec.prefix_cache) else { return };
        let common = prefix.tokens.min(item.request.prompt_tokens);
        let (size, computed) = (self.spec.block_tokens, item.computed);
        for index in computed / size..after.min(common) / size {
            let name = (prefix.group, index);
            let block = item.blocks[index as usize];
            if *self.blocks.known.entry(name).or_insert(block) == block {
                self.blocks.known_as[block] = Some(name);
            }
        }
    }

    fn give_back(&mut self, item: &mut Item) {
        for block in item.blocks.drain(..).rev() {
            self.blocks.holders[block] -= 1;
            if self.blocks.holders[block] == 0 {
                self.blocks.free.push_back(block);
            }
        }
    }

    fn evict_last(&mut self, now: u64) {
        let mut item = self.running.pop().unwrap();
        self.give_back(&mut item);
        let id = item.request.id;
        self.log.events.push(Event::Preempted { id, at: now, lost: item.computed.into() });
        let gained = item.emitted - item.emitted_at_eviction;
        item.evictions = if gained < self.spec.block_tokens { item.evictions + 1 } else { 1 };
        if item.evictions == 8 {
            self.log.events.push(Event::Livelock { id, at: now });
        }
        item.emitted_at_eviction = item.emitted;
        (item.computed, item.chunk, item.streams) = (0, 0, false);
        self.waiting.push_front(item);
    }

    fn end(&mut self) {
        let single = self.single.take().unwrap();
        let at = single.until;
        self.ended = at;
        self.log.passes.push(single);
        for mut item in std::mem::take(&mut self.running) {
            item.computed += item.chunk;
            if item.computed < item.tokens() {
                self.running.push(item);
                continue;
            }
            item.emitted += 1;
            let id = item.request.id;
            if item.emitted == 1 {
                item.first_at = at;
                self.log.events.push(Event::First { id, at });
            } else if item.streams {
                assert_eq!(at - item.last_at, at - single.from + single.waited);
            } else {
                self.log.events.push(Event::Late { id, since: item.last_at, at });
            }
            (item.last_at, item.streams) = (at, true);
            if item.emitted == item.request.output_tokens {
                self.give_back(&mut item);
                self.log.events.push(Event::Finished { id, first: item.first_at, at });
            } else {
                self.running.push(item);
            }
        }
    }
}
