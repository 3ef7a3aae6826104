//! What the requests of a load look like while it runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cotenant_core::evidence::RequestRecord;
use cotenant_core::guard::LiveRequest;

/// A view of a running load for whoever must act before it ends. Clones share it.
///
/// It keeps what ended within its window and what is open: memory is bounded by the rate and by the
/// client's streams.
#[derive(Clone, Debug)]
pub struct Live(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    window_ns: u64,
    open: BTreeMap<u32, Open>,
    ended: VecDeque<RequestRecord>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    intended_ns: u64,
    first_token_ns: Option<u64>,
}

impl Live {
    /// A view that remembers what ended within `window`.
    pub fn new(window: Duration) -> Self {
        let window_ns = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        let state = State { window_ns, open: BTreeMap::new(), ended: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // No call panics while it holds the lock, so a poisoned state is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request is taken up.
    pub(super) fn began(&self, index: u32, intended_ns: u64) {
        self.state().open.insert(index, Open { intended_ns, first_token_ns: None });
    }

    /// The first token of a request has come.
    pub(super) fn answered(&self, index: u32, at_ns: u64) {
        if let Some(open) = self.state().open.get_mut(&index) {
            open.first_token_ns.get_or_insert(at_ns);
        }
    }

    /// A request has ended.
    pub(super) fn ended(&self, record: &RequestRecord) {
        let mut state = self.state();
        state.open.remove(&record.index);
        let horizon_ns = record.end_ns.saturating_sub(state.window_ns);
        while state.ended.front().is_some_and(|first| first.end_ns < horizon_ns) {
            state.ended.pop_front();
        }
        state.ended.push_back(record.clone());
    }

    /// The requests that ended within the window, and those that are open, at an instant of the load's
    /// clock.
    pub fn look(&self, now_ns: u64) -> Vec<LiveRequest> {
        let state = self.state();
        let since = |from_ns: u64, until_ns: u64| until_ns.saturating_sub(from_ns) as f64 / 1e9;
        let ended = state.ended.iter().map(|record| LiveRequest {
            age_s: since(record.intended_ns, now_ns),
            ended_ago_s: Some(since(record.end_ns, now_ns)),
            ttft_s: record.first_token_ns.map(|at_ns| since(record.intended_ns, at_ns)),
            e2e_s: record.outcome.is_complete().then(|| since(record.intended_ns, record.end_ns)),
            failed: !record.outcome.is_complete(),
            gap_longest_s: record.gap_longest_ns.map(|gap_ns| gap_ns as f64 / 1e9),
        });
        let open = state.open.values().map(|open| LiveRequest {
            age_s: since(open.intended_ns, now_ns),
            ended_ago_s: None,
            ttft_s: open.first_token_ns.map(|at_ns| since(open.intended_ns, at_ns)),
            e2e_s: None,
            failed: false,
            gap_longest_s: None,
        });
        ended.chain(open).collect()
    }
}
