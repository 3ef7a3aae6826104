//! What the engine says of itself while a block runs: scrapes of its metrics, of which the two
//! nearest around the judged interval make its account.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use cotenant_core::evidence::{EngineGauge, EngineHistogram, EngineObservation};
use tokio::sync::watch;

use crate::clock::monotonic_ns;
use crate::engine_metrics::{
    DurationHistogram, IntervalMetrics, Quantity, ServingMetrics, interval, scraped,
};
use crate::http;

/// Least pause between two scrapes.
const SCRAPE_EVERY: Duration = Duration::from_millis(250);
/// Longest pause, however slow the engine answers.
const SCRAPE_PAUSE_MAX: Duration = Duration::from_secs(2);
/// Each scrape is followed by a pause this many times as long: an engine whose answer takes a while
/// is asked less often, so that asking takes at most a fiftieth of its time.
const PAUSE_PER_SCRAPE: u32 = 49;
/// Patience with one scrape.
const SCRAPE_PATIENCE: Duration = Duration::from_secs(2);
/// How long before the judged interval its first scrape is asked for.
const LOOK_BEFORE: Duration = Duration::from_millis(60);
/// Most remarks that are kept of one block.
const REMARKS_MAX: usize = 20;

/// The engine to be asked.
#[derive(Clone, Debug)]
pub(super) struct WatchedEngine {
    /// Where its metrics are.
    pub(super) url: String,
    /// Its name and version, where it was identified.
    pub(super) name: Option<String>,
}

/// What was seen of the engine.
#[derive(Debug, Default)]
pub(super) struct EngineSeen {
    /// Waiting requests: (ns from the block's start, count).
    pub(super) waiting: Vec<(u64, f64)>,
    /// Its account of the judged interval.
    pub(super) observation: Option<EngineObservation>,
}

/// Scrapes until `stopped`. The judged interval is in nanoseconds from the block's start.
pub(super) async fn watch_engine(
    engine: Option<WatchedEngine>,
    zero_ns: u64,
    judged_ns: Range<u64>,
    mut stopped: watch::Receiver<bool>,
) -> EngineSeen {
    let Some(engine) = engine else { return EngineSeen::default() };
    let mut account = Account::new(engine.name, judged_ns.clone());
    let now_ns = || monotonic_ns().saturating_sub(zero_ns);
    let mut pause = SCRAPE_EVERY;
    loop {
        let now = now_ns();
        let wake = now + next_pause_ns(now, pause, &judged_ns);
        let ended = tokio::select! {
            () = tokio::time::sleep(Duration::from_nanos(wake - now)) => false,
            _ = stopped.wait_for(|stopped| *stopped) => true,
        };
        if ended {
            return account.finish();
        }
        let asked_ns = now_ns();
        let scrape = scrape(&engine.url).await;
        let took = Duration::from_nanos(now_ns() - asked_ns);
        pause = (took * PAUSE_PER_SCRAPE).clamp(SCRAPE_EVERY, SCRAPE_PAUSE_MAX);
        match scrape {
            Some(metrics) => account.take(now_ns(), metrics),
            None => account.silent += 1,
        }
    }
}

/// The pause, cut short where the judged interval begins or ends within it.
fn next_pause_ns(now_ns: u64, pause: Duration, judged_ns: &Range<u64>) -> u64 {
    let pause_ns = pause.as_nanos() as u64;
    [judged_ns.start.saturating_sub(LOOK_BEFORE.as_nanos() as u64), judged_ns.end]
        .into_iter()
        .filter_map(|edge_ns| edge_ns.checked_sub(now_ns).filter(|left| *left > 0))
        .fold(pause_ns, u64::min)
}

/// One scrape in canonical terms; `None` where there is no answer or nothing that is known in it.
pub(super) async fn scrape(url: &str) -> Option<ServingMetrics> {
    let (status, body) = http::get(url, SCRAPE_PATIENCE).await.ok()?;
    (status == 200).then(|| scraped(&body))?
}

/// What is kept of a block's scrapes.
#[derive(Debug)]
struct Account {
    name: Option<String>,
    judged_ns: Range<u64>,
    /// The last scrape at or before the judged interval's begin, else the first one.
    first: Option<(u64, Arc<ServingMetrics>)>,
    /// The first scrape at or after its end, else the last one.
    last: Option<(u64, Arc<ServingMetrics>)>,
    gauges: BTreeMap<Quantity, Vec<(u64, f64)>>,
    /// Questions without an answer.
    silent: u32,
    remarks: Vec<String>,
}

impl Account {
    fn new(name: Option<String>, judged_ns: Range<u64>) -> Self {
        Self {
            name,
            judged_ns,
            first: None,
            last: None,
            gauges: BTreeMap::new(),
            silent: 0,
            remarks: Vec::new(),
        }
    }

    fn take(&mut self, at_ns: u64, metrics: ServingMetrics) {
        for (quantity, value) in &metrics.gauges {
            self.gauges.entry(*quantity).or_default().push((at_ns, *value));
        }
        let scrape = (at_ns, Arc::new(metrics));
        if self.first.is_none() || at_ns <= self.judged_ns.start {
            self.first = Some(scrape.clone());
        }
        let ended = self.last.as_ref().is_some_and(|(last_ns, _)| *last_ns >= self.judged_ns.end);
        if ended {
            return;
        }
        // A process that began anew between two scrapes is found even where its counters have passed
        // the old ones when the interval ends.
        if let Some((_, before)) = &self.last
            && let Ok(between) = interval(before, &scrape.1)
        {
            let at_s = at_ns as f64 / 1e9;
            for reset in between.resets {
                self.remark(format!("{at_s:.1} s into the block: {reset}"));
            }
        }
        self.last = Some(scrape);
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    fn finish(mut self) -> EngineSeen {
        let waiting = self.gauges.get(&Quantity::Waiting).cloned().unwrap_or_default();
        let (Some((from_ns, first)), Some((until_ns, last))) =
            (self.first.take(), self.last.take())
        else {
            return EngineSeen { waiting, observation: None };
        };
        if self.silent > 0 {
            let silent = self.silent;
            self.remark(format!(
                "{silent} questions for its metrics had no answer that can be read"
            ));
        }
        for twin in &last.twins {
            self.remark(twin.clone());
        }
        let between = match interval(&first, &last) {
            Ok(between) if until_ns > from_ns => between,
            Ok(_) => {
                self.remark(
                    "its metrics were read once, so nothing of an interval is known".into(),
                );
                IntervalMetrics::empty(last.engine)
            }
            Err(error) => {
                self.remark(error.to_string());
                IntervalMetrics::empty(last.engine)
            }
        };
        for remark in between.resets.iter().chain(&between.notes).chain(&last.notes) {
            self.remark(remark.clone());
        }
        let more = self.remarks.len().saturating_sub(REMARKS_MAX);
        if more > 0 {
            self.remarks.truncate(REMARKS_MAX);
            self.remarks.push(format!("and {more} remarks more"));
        }
        let gauges = self.gauges.into_iter().map(|(quantity, readings)| EngineGauge {
            metric: quantity.name().to_owned(),
            readings,
        });
        let name = self.name.unwrap_or_else(|| last.engine.name().to_owned());
        let observation = EngineObservation {
            engine: name,
            from_ns,
            until_ns,
            histograms: between.durations.into_iter().map(stored).collect(),
            counters: between
                .counts
                .into_iter()
                .map(|(quantity, count)| (quantity.name().to_owned(), count))
                .collect(),
            gauges: gauges.collect(),
            remarks: self.remarks,
        };
        EngineSeen { waiting, observation: Some(observation) }
    }
}

fn stored((quantity, histogram): (Quantity, DurationHistogram)) -> EngineHistogram {
    EngineHistogram {
        metric: quantity.name().to_owned(),
        bounds: histogram.bounds_s,
        cumulative: histogram.cumulative,
        count: histogram.count,
        sum: histogram.sum_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A scrape of an engine that has served `ended` requests, each of which waited 0.4 s.
    fn metrics(ended: u32, waiting: u32, start: f64) -> ServingMetrics {
        let sum = 0.4 * f64::from(ended);
        let text = format!(
            "process_start_time_seconds {start}\n\
             vllm:num_requests_running 1\n\
             vllm:num_requests_waiting {waiting}\n\
             vllm:num_requests_waiting_by_reason{{reason=\"capacity\"}} {waiting}\n\
             vllm:request_success_total{{finished_reason=\"stop\"}} {ended}\n\
             # TYPE vllm:request_queue_time_seconds histogram\n\
             vllm:request_queue_time_seconds_bucket{{le=\"0.3\"}} 0\n\
             vllm:request_queue_time_seconds_bucket{{le=\"0.5\"}} {ended}\n\
             vllm:request_queue_time_seconds_bucket{{le=\"+Inf\"}} {ended}\n\
             vllm:request_queue_time_seconds_sum {sum}\n\
             vllm:request_queue_time_seconds_count {ended}\n"
        );
        scraped(text.as_bytes()).unwrap()
    }

    fn account(scrapes: &[(u64, u32, f64)]) -> EngineSeen {
        let mut account = Account::new(Some("vLLM 0.32.0".to_owned()), 5 * SECOND..15 * SECOND);
        for (at_ns, ended, start) in scrapes {
            account.take(*at_ns, metrics(*ended, ended % 3, *start));
        }
        account.finish()
    }

    #[test]
    fn the_scrapes_nearest_around_the_judged_interval_make_the_account() {
        let at = |tenths: u64| tenths * SECOND / 10;
        let seen = account(&[
            (at(40), 10, 1.0),
            (at(49), 12, 1.0),
            (at(52), 14, 1.0),
            (at(149), 40, 1.0),
            (at(151), 43, 1.0),
            (at(160), 60, 1.0),
        ]);
        let engine = seen.observation.unwrap();
        assert_eq!((engine.from_ns, engine.until_ns), (at(49), at(151)));
        assert_eq!(engine.engine, "vLLM 0.32.0");
        assert_eq!(engine.counter("finished_requests"), Some(31.0));
        let queue = engine.histogram("queue_time_s").unwrap();
        assert_eq!((queue.count, queue.bounds[..2].to_vec()), (31.0, vec![0.3, 0.5]));
        assert_eq!(queue.cumulative[..2], [0.0, 31.0]);
        assert!((queue.mean().unwrap() - 0.4).abs() < 1e-9);
        assert_eq!(engine.gauge("waiting_requests").unwrap().readings.len(), 6);
        assert_eq!(seen.waiting[0], (at(40), 1.0));
        assert_eq!(engine.remarks.len(), 1, "{:?}", engine.remarks);
        assert!(engine.remarks[0].contains("_by_"), "{:?}", engine.remarks);
    }

    #[test]
    fn a_process_that_began_anew_is_told_though_its_counters_have_passed_the_old_ones() {
        let restarted =
            account(&[(4 * SECOND, 10, 1.0), (8 * SECOND, 3, 2.0), (15 * SECOND, 50, 2.0)]);
        let engine = restarted.observation.unwrap();
        assert!(
            engine.remarks.iter().any(|remark| remark.starts_with("8.0 s into the block")),
            "{:?}",
            engine.remarks
        );
        // What the later scrape shows is all that is known.
        assert_eq!(engine.counter("finished_requests"), Some(50.0));
    }

    #[test]
    fn one_scrape_or_none_is_no_account() {
        let once = account(&[(6 * SECOND, 10, 1.0)]).observation.unwrap();
        assert!(once.histograms.is_empty() && once.counters.is_empty());
        assert!(once.remarks.iter().any(|remark| remark.contains("read once")));
        assert!(account(&[]).observation.is_none());
    }

    #[test]
    fn the_pause_is_cut_at_the_edges_of_the_judged_interval() {
        let judged = 5 * SECOND..15 * SECOND;
        let pause = Duration::from_millis(250);
        assert_eq!(next_pause_ns(0, pause, &judged), SECOND / 4);
        assert_eq!(next_pause_ns(14_900_000_000, pause, &judged), SECOND / 10);
        assert_eq!(next_pause_ns(15 * SECOND, pause, &judged), SECOND / 4);
        let before_start = next_pause_ns(4_900_000_000, pause, &judged);
        assert_eq!(before_start, 40_000_000);
    }
}
