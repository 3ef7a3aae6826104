//! Metrics under vLLM's names, in the Prometheus text format 0.0.4.
//!
//! Written by hand, because the official client writes OpenMetrics, whose `# TYPE` lines name counters without `_total`,
//! unlike vLLM's. Histogram bounds are vLLM's with finer ones below them, since this model answers faster than its
//! smallest.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::queue::FinishReason;

/// Upper bounds in seconds for latencies of whole requests and for queue times.
const REQUEST_BOUNDS: [f64; 26] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0,
    20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
];
/// Upper bounds in seconds for the time to the first token.
const FIRST_TOKEN_BOUNDS: [f64; 22] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// Upper bounds in seconds for the time between two tokens.
const INTER_TOKEN_BOUNDS: [f64; 22] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5,
    5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];

/// A histogram with fixed bounds.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    inner: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    /// One more than there are bounds; not cumulative.
    buckets: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        let inner = Mutex::new(Counts { buckets: vec![0; bounds.len() + 1], sum: 0.0 });
        Self { bounds, inner }
    }

    /// Counts one value, in seconds.
    pub(crate) fn observe(&self, seconds: f64) {
        let bucket = self.bounds.partition_point(|&bound| bound < seconds);
        let mut counts = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        counts.buckets[bucket] += 1;
        counts.sum += seconds;
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        let counts = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cumulative = 0;
        for (bound, count) in self.bounds.iter().zip(&counts.buckets) {
            cumulative += count;
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound:?}\"}} {cumulative}");
        }
        let total: u64 = counts.buckets.iter().sum();
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {total}");
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", counts.sum);
        let _ = writeln!(text, "{name}_count{{{labels}}} {total}");
    }
}

/// Everything that the server counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// Sequences that run.
    pub(crate) running: AtomicU64,
    /// Tokens that running sequences have reserved in the key-value cache.
    pub(crate) kv_tokens_reserved: AtomicU64,
    /// Tokens that the key-value cache can hold.
    pub(crate) kv_tokens_max: u64,
    pub(crate) prompt_tokens: AtomicU64,
    pub(crate) generation_tokens: AtomicU64,
    stopped: AtomicU64,
    lengths: AtomicU64,
    pub(crate) aborted: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Requests refused because the queue was full.
    pub(crate) refused: AtomicU64,
    /// Arrival to first scheduling.
    pub(crate) queue_time: Histogram,
    /// Arrival to first token.
    pub(crate) first_token: Histogram,
    /// Token to token.
    pub(crate) inter_token: Histogram,
    /// Arrival to last token.
    pub(crate) whole_request: Histogram,
}

impl Metrics {
    pub(crate) fn new(kv_tokens_max: u64) -> Self {
        Self {
            running: AtomicU64::new(0),
            kv_tokens_reserved: AtomicU64::new(0),
            kv_tokens_max,
            prompt_tokens: AtomicU64::new(0),
            generation_tokens: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
            lengths: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            queue_time: Histogram::new(&REQUEST_BOUNDS),
            first_token: Histogram::new(&FIRST_TOKEN_BOUNDS),
            inter_token: Histogram::new(&INTER_TOKEN_BOUNDS),
            whole_request: Histogram::new(&REQUEST_BOUNDS),
        }
    }

    /// Counts a request that ended well.
    pub(crate) fn finished(&self, reason: FinishReason) {
        match reason {
            FinishReason::Stop => &self.stopped,
            FinishReason::Length => &self.lengths,
        }
        .fetch_add(1, Ordering::Relaxed);
    }

    /// The text of `/metrics`.
    pub(crate) fn render(&self, model_name: &str, waiting: usize) -> String {
        let labels = format!("engine=\"0\",model_name=\"{}\"", escape(model_name));
        let mut text = String::new();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let kv_usage = read(&self.kv_tokens_reserved) as f64 / self.kv_tokens_max as f64;
        for (name, help, value) in [
            (
                "vllm:num_requests_running",
                "Requests that the scheduler runs.",
                read(&self.running) as f64,
            ),
            ("vllm:num_requests_waiting", "Requests that wait to be run.", waiting as f64),
            (
                "vllm:kv_cache_usage_perc",
                "Share of the key-value cache reserved by running requests; 1 is all of it.",
                kv_usage,
            ),
        ] {
            header(&mut text, name, help, "gauge");
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
        for (name, help, value) in [
            ("vllm:prompt_tokens_total", "Prompt tokens computed.", read(&self.prompt_tokens)),
            ("vllm:generation_tokens_total", "Tokens generated.", read(&self.generation_tokens)),
            (
                "vllm:num_preemptions_total",
                "Running requests put back; always 0, since the whole need is reserved on admission.",
                0,
            ),
        ] {
            header(&mut text, name, help, "counter");
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
        header(
            &mut text,
            "vllm:request_success_total",
            "Requests that ended, by reason.",
            "counter",
        );
        for (reason, counter) in [
            ("stop", &self.stopped),
            ("length", &self.lengths),
            ("abort", &self.aborted),
            ("error", &self.failed),
        ] {
            let value = read(counter);
            let _ = writeln!(
                text,
                "vllm:request_success_total{{{labels},finished_reason=\"{reason}\"}} {value}"
            );
        }
        let refusals = "vllm:admission_rejections_total";
        header(&mut text, refusals, "Requests refused on arrival, by reason.", "counter");
        let refused = read(&self.refused);
        let _ = writeln!(text, "{refusals}{{{labels},reason=\"max_num_queued_reqs\"}} {refused}");
        for (name, help, histogram) in [
            (
                "vllm:request_queue_time_seconds",
                "From arrival to first scheduling.",
                &self.queue_time,
            ),
            ("vllm:time_to_first_token_seconds", "From arrival to first token.", &self.first_token),
            ("vllm:inter_token_latency_seconds", "From one token to the next.", &self.inter_token),
            (
                "vllm:e2e_request_latency_seconds",
                "From arrival to last token.",
                &self.whole_request,
            ),
        ] {
            header(&mut text, name, help, "histogram");
            histogram.render(&mut text, name, &labels);
        }
        text
    }
}

fn header(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Escapes a label value as the text format asks: backslash, quote and line feed.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_a_value_on_a_bound_is_below_it() {
        let metrics = Metrics::new(100);
        for seconds in [0.01, 0.011, 0.3, 5000.0] {
            metrics.first_token.observe(seconds);
        }
        let text = metrics.render("m\"x", 2);
        let labels = "engine=\"0\",model_name=\"m\\\"x\"";
        for (bound, count) in [
            ("0.005", 0),
            ("0.01", 1),
            ("0.02", 2),
            ("0.25", 2),
            ("0.5", 3),
            ("2560.0", 3),
            ("+Inf", 4),
        ] {
            let line = format!(
                "vllm:time_to_first_token_seconds_bucket{{{labels},le=\"{bound}\"}} {count}\n"
            );
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        assert!(text.contains(&format!("vllm:time_to_first_token_seconds_count{{{labels}}} 4\n")));
        assert!(text.contains(&format!("vllm:num_requests_waiting{{{labels}}} 2\n")));
    }
}
