//! The decoding sequences of a batch as sums, so that a pass costs the same whatever their number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::request::Sequence;

/// The place of no sequence.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Place {
    sequence: Sequence,
    /// The pass before which it joined.
    joined: u64,
    /// Its number among all that ever joined, which tells it from an earlier one at this place.
    number: u64,
    /// Neighbours in the order of admission.
    before: u32,
    after: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Decoding {
    places: Vec<Place>,
    unused: Vec<u32>,
    newest: u32,
    count: u64,
    /// Tokens in the KV cache of all of them.
    kv_tokens: u64,
    /// Passes so far.
    pass: u64,
    block_tokens: u64,
    /// How many sequences need a new block in the passes whose number has this remainder.
    needs: Vec<u32>,
    /// The pass after which each ends, its number and its place; some have left already.
    ends: BinaryHeap<Reverse<(u64, u64, u32)>>,
    joined: u64,
}

impl Decoding {
    pub(super) fn new(block_tokens: u32) -> Self {
        Self {
            places: Vec::new(),
            unused: Vec::new(),
            newest: NOWHERE,
            count: 0,
            kv_tokens: 0,
            pass: 0,
            block_tokens: block_tokens.into(),
            needs: vec![0; block_tokens as usize],
            ends: BinaryHeap::new(),
            joined: 0,
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn kv_tokens(&self) -> u64 {
        self.kv_tokens
    }

    /// Adds a sequence as the newest; `computed` of it is what lies in the KV cache now.
    pub(super) fn join(&mut self, sequence: Sequence) {
        let computed = u64::from(sequence.computed);
        let remaining = u64::from(sequence.request.output_tokens - sequence.emitted);
        let number = self.joined;
        self.joined += 1;
        self.count += 1;
        self.kv_tokens += computed;
        let phase = self.phase(self.pass, computed);
        self.needs[phase] += 1;
        let place =
            Place { sequence, joined: self.pass, number, before: self.newest, after: NOWHERE };
        let at = if let Some(at) = self.unused.pop() {
            self.places[at as usize] = place;
            at
        } else {
            self.places.push(place);
            (self.places.len() - 1) as u32
        };
        if self.newest != NOWHERE {
            self.places[self.newest as usize].after = at;
        }
        self.newest = at;
        self.ends.push(Reverse((self.pass + remaining, number, at)));
    }

    /// Blocks that the next `passes` passes need.
    pub(super) fn blocks_needed(&self, passes: u64) -> u64 {
        let rest: u64 = (0..passes % self.block_tokens).map(|ahead| self.need(ahead)).sum();
        passes / self.block_tokens * self.count + rest
    }

    /// How many passes follow each other until a sequence ends or more blocks are needed than are
    /// free. There must be a sequence.
    pub(super) fn passes_ahead(&mut self, blocks_free: u64) -> u64 {
        let until_end = self.next_end().map_or(0, |end| end - self.pass);
        if self.blocks_needed(until_end) <= blocks_free {
            return until_end;
        }
        let rounds = blocks_free / self.count;
        let mut spare = blocks_free % self.count;
        let mut passes = rounds * self.block_tokens;
        // A round needs one block for each sequence, and less than that is spare.
        for ahead in 0..self.block_tokens {
            let need = self.need(ahead);
            if need > spare {
                break;
            }
            spare -= need;
            passes += 1;
        }
        passes
    }

    /// Takes every sequence on by so many passes.
    pub(super) fn advance(&mut self, passes: u64) {
        self.pass += passes;
        self.kv_tokens += self.count * passes;
    }

    /// Takes out the next sequence that is done, in order of admission.
    pub(super) fn pop_done(&mut self) -> Option<Sequence> {
        if self.next_end()? > self.pass {
            return None;
        }
        let Reverse((_, _, at)) = self.ends.pop()?;
        Some(self.take(at))
    }

    /// Takes out the sequence that was admitted last.
    pub(super) fn pop_newest(&mut self) -> Option<Sequence> {
        (self.newest != NOWHERE).then(|| self.take(self.newest))
    }

    /// The pass after which the next sequence ends.
    fn next_end(&mut self) -> Option<u64> {
        loop {
            let Reverse((end, number, at)) = *self.ends.peek()?;
            let place = &self.places[at as usize];
            // A place that was left keeps its old number, so its end of life is marked by `joined`.
            if place.number == number && place.joined != u64::MAX {
                return Some(end);
            }
            self.ends.pop();
        }
    }

    fn take(&mut self, at: u32) -> Sequence {
        let place = &mut self.places[at as usize];
        let mut sequence = place.sequence;
        let passes = (self.pass - place.joined) as u32;
        let (before, after) = (place.before, place.after);
        place.joined = u64::MAX;
        sequence.emitted += passes;
        sequence.computed += passes;
        if before != NOWHERE {
            self.places[before as usize].after = after;
        }
        if after == NOWHERE {
            self.newest = before;
        } else {
            self.places[after as usize].before = before;
        }
        self.unused.push(at);
        self.count -= 1;
        self.kv_tokens -= u64::from(sequence.computed);
        let phase = self.phase(self.pass, sequence.computed.into());
        self.needs[phase] -= 1;
        sequence
    }

    fn need(&self, ahead: u64) -> u64 {
        self.needs[((self.pass + ahead) % self.block_tokens) as usize].into()
    }

    /// The remainder of those passes in which a sequence with so many tokens begins a block.
    fn phase(&self, pass: u64, computed: u64) -> usize {
        ((pass + self.block_tokens - computed % self.block_tokens) % self.block_tokens) as usize
    }
}
