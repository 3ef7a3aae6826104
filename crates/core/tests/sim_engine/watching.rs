//! What a test keeps of a simulation.

use cotenant_core::sim::engine::{Load, PassRun, RefusalReason, SimRequest, Tokens, Watcher};
use cotenant_core::units::Picoseconds;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Admitted { id: u64, at: u64 },
    First { id: u64, at: u64 },
    Late { id: u64, since: u64, at: u64 },
    Finished { id: u64, first: u64, at: u64 },
    Preempted { id: u64, at: u64, lost: u64 },
    Livelock { id: u64, at: u64 },
    TooLong { id: u64, at: u64 },
    QueueFull { id: u64, at: u64 },
}

/// One pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Single {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) waited: u64,
    pub(crate) sequences: u64,
    pub(crate) prefill_tokens: u64,
    /// Known of the last pass of a run only.
    pub(crate) kv_blocks_used: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    pub(crate) passes: Vec<Single>,
    pub(crate) loads: Vec<Load>,
    pub(crate) runs: u64,
}

impl Watcher for Log {
    fn admitted(&mut self, request: &SimRequest, at: Picoseconds) {
        self.events.push(Event::Admitted { id: request.id, at: at.0 });
    }

    fn first_token(&mut self, request: &SimRequest, at: Picoseconds) {
        self.events.push(Event::First { id: request.id, at: at.0 });
    }

    fn passes(&mut self, run: &PassRun) {
        self.runs += 1;
        let mut from = run.from.0;
        for pass in 0..run.passes {
            let until = from + run.first.0 + run.growth.0 * pass;
            let is_last = pass + 1 == run.passes;
            self.passes.push(Single {
                from,
                until,
                waited: if pass == 0 { run.waited.0 } else { 0 },
                sequences: run.sequences,
                prefill_tokens: run.prefill_tokens,
                kv_blocks_used: is_last.then_some(run.kv_blocks_used),
            });
            from = until;
        }
        assert_eq!(from, run.until.0, "the passes of a run do not end with it");
    }

    fn late_token(&mut self, request: &SimRequest, tokens: Tokens, at: Picoseconds) {
        let since = tokens.last_at.0;
        self.events.push(Event::Late { id: request.id, since, at: at.0 });
    }

    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        let (first, at) = (tokens.first_at.0, tokens.last_at.0);
        self.events.push(Event::Finished { id: request.id, first, at });
    }

    fn preempted(&mut self, request: &SimRequest, at: Picoseconds, lost: u64) {
        self.events.push(Event::Preempted { id: request.id, at: at.0, lost });
    }

    fn livelock(&mut self, request: &SimRequest, at: Picoseconds, _: u32) {
        self.events.push(Event::Livelock { id: request.id, at: at.0 });
    }

    fn refused(&mut self, request: &SimRequest, at: Picoseconds, reason: RefusalReason) {
        let (id, at) = (request.id, at.0);
        self.events.push(match reason {
            RefusalReason::TooLong => Event::TooLong { id, at },
            RefusalReason::QueueFull => Event::QueueFull { id, at },
            RefusalReason::Draining => panic!("nothing drains here"),
        });
    }
}
