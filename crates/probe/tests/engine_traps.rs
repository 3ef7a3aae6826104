//! The traps of each engine's metrics: twins, sums that count double, restarts, directions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;

use cotenant_probe::engine_metrics::{
    EngineKind, Quantity, ServingMetrics, Shape, TABLE, engine_of_names, interval, read_serving,
    waiting,
};
use cotenant_probe::exposition::{Format, Strictness, detect_format, parse};

fn serving(text: &str) -> ServingMetrics {
    let format = detect_format(text.as_bytes(), None);
    let scrape = parse(text.as_bytes(), format, Strictness::Strict).unwrap();
    read_serving(&scrape, engine_of_names(&scrape).unwrap())
}

/// A histogram's lines with one bucket.
fn histogram(name: &str, labels: &str, below: u32, count: u32, sum: f64) -> String {
    format!(
        "{name}_bucket{{{labels}le=\"0.3\"}} {below}\n{name}_bucket{{{labels}le=\"+Inf\"}} {count}\n\
         {name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}\n"
    )
}

#[test]
fn the_deprecated_twin_of_a_family_is_not_counted_again() {
    let new = "vllm:inter_token_latency_seconds";
    let old = "vllm:time_per_output_token_seconds";
    let text = format!(
        "# TYPE {new} histogram\n{}# TYPE {old} histogram\n{}",
        histogram(new, "", 4, 10, 2.5),
        histogram(old, "", 4, 10, 2.5),
    );
    let metrics = serving(&text);
    assert_eq!(metrics.duration(Quantity::InterToken).unwrap().count, 10.0);
    assert_eq!(metrics.sources[&Quantity::InterToken].name, new);
    // The old one alone still gives it, and is never taken for the time per request.
    let alone = serving(&format!("# TYPE {old} histogram\n{}", histogram(old, "", 4, 10, 2.5)));
    assert_eq!(alone.duration(Quantity::InterToken).unwrap().count, 10.0);
    assert_eq!(alone.duration(Quantity::TimePerOutputToken), None);
}

#[test]
fn ranks_of_data_parallel_engines_are_added_and_the_fullest_cache_counts() {
    let metrics = serving(
        "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n\
         vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n",
    );
    assert_eq!(metrics.gauge(Quantity::Running), Some(7.0));
    assert_eq!(metrics.gauge(Quantity::KvUseShare), Some(0.75));
}

#[test]
fn a_vllm_request_that_was_aborted_or_failed_is_no_success_despite_the_name() {
    let name = "vllm:request_success_total";
    let line = |reason: &str, count| format!("{name}{{finished_reason=\"{reason}\"}} {count}\n");
    let text = [("stop", 5), ("length", 7), ("abort", 2), ("error", 1)].map(|(r, c)| line(r, c));
    let metrics = serving(&text.concat());
    assert_eq!(metrics.counter(Quantity::Finished), Some(15.0));
    assert_eq!(metrics.counter(Quantity::Succeeded), Some(12.0));
    assert_eq!(metrics.counter(Quantity::Aborted), Some(2.0));
    assert_eq!(metrics.counter(Quantity::Failed), Some(1.0));
}

#[test]
fn sglang_totals_over_priorities_are_not_added_to_their_parts() {
    let metrics = serving(
        "sglang:num_queue_reqs{priority=\"\"} 5\nsglang:num_queue_reqs{priority=\"0\"} 2\n\
         sglang:num_queue_reqs{priority=\"10\"} 3\n",
    );
    assert_eq!(metrics.gauge(Quantity::Waiting), Some(5.0));
    let parts = serving(
        "sglang:num_queue_reqs{priority=\"0\"} 2\nsglang:num_queue_reqs{priority=\"10\"} 3\n",
    );
    assert_eq!(parts.gauge(Quantity::Waiting), Some(5.0));
}

#[test]
fn sglang_tensor_ranks_repeat_each_other_and_data_ranks_do_not() {
    let mut text = String::new();
    for (dp, tp, running) in [(0, 10, 9), (0, 0, 3), (0, 2, 8), (1, 0, 4), (1, 1, 4)] {
        let labels = format!("dp_rank=\"{dp}\",tp_rank=\"{tp}\"");
        let _ = writeln!(text, "sglang:num_running_reqs{{{labels}}} {running}");
    }
    assert_eq!(serving(&text).gauge(Quantity::Running), Some(7.0));
}

#[test]
fn sglang_requests_that_do_not_stream_have_no_first_token_time() {
    let name = "sglang:time_to_first_token_seconds";
    let text = format!(
        "# TYPE {name} histogram\n{}{}",
        histogram(name, "is_streaming=\"true\",", 3, 4, 1.0),
        histogram(name, "is_streaming=\"false\",", 0, 6, 60.0),
    );
    assert_eq!(serving(&text).duration(Quantity::FirstToken).unwrap().count, 4.0);
}

#[test]
fn tgi_tokens_are_the_sums_of_histograms() {
    let (input, output) = ("tgi_request_input_length", "tgi_request_generated_tokens");
    let text = format!(
        "# TYPE tgi_queue_size gauge\ntgi_queue_size 2\n# TYPE {input} histogram\n{}\
         # TYPE {output} histogram\n{}tgi_request_failure{{err=\"overloaded\"}} 3\n\
         tgi_request_failure{{err=\"generation\"}} 1\n",
        histogram(input, "", 0, 10, 5000.0),
        histogram(output, "", 0, 10, 700.0),
    );
    let metrics = serving(&text);
    assert_eq!(metrics.counter(Quantity::PromptTokens), Some(5000.0));
    assert_eq!(metrics.counter(Quantity::OutputTokens), Some(700.0));
    assert_eq!(metrics.counter(Quantity::Refused), Some(3.0));
    assert_eq!(metrics.counter(Quantity::Failed), Some(1.0));
    assert_eq!(metrics.gauge(Quantity::Waiting), Some(2.0));
}

#[test]
fn triton_counts_microseconds_and_milliseconds() {
    let name = "nv_inference_first_response_histogram_ms";
    let text = format!(
        "nv_inference_request_success{{model=\"m\"}} 4\nnv_inference_queue_duration_us{{model=\"m\"}} 2000000\n\
         nv_inference_request_failure{{model=\"m\",reason=\"CANCELED\"}} 2\n\
         nv_inference_request_failure{{model=\"m\",reason=\"BACKEND\"}} 1\n\
         nv_inference_request_failure{{model=\"m\",reason=\"REJECTED\"}} 6\n# TYPE {name} histogram\n\
         {name}_bucket{{le=\"100\"}} 3\n{name}_bucket{{le=\"+Inf\"}} 4\n{name}_sum 900\n{name}_count 4\n"
    );
    let metrics = serving(&text);
    assert_eq!(metrics.duration(Quantity::QueueTime).unwrap().mean_s(), Some(0.5));
    let first = metrics.duration(Quantity::FirstToken).unwrap();
    assert_eq!(first.quantile(0.5).unwrap().at_most_s, Some(0.1));
    assert!((first.mean_s().unwrap() - 0.225).abs() < 1e-12);
    let ended = [Quantity::Aborted, Quantity::Failed, Quantity::Refused];
    assert_eq!(ended.map(|quantity| metrics.counter(quantity).unwrap()), [2.0, 1.0, 6.0]);
}

#[test]
fn an_engine_inside_of_triton_is_read_in_its_own_names() {
    let both = "nv_inference_count 1\nvllm:num_requests_waiting 2\n";
    assert_eq!(serving(both).engine, EngineKind::Vllm);
    let backend = "nv_inference_request_success 1\n\
        nv_trt_llm_request_metrics{request_type=\"active\"} 9\n\
        nv_trt_llm_request_metrics{request_type=\"scheduled\"} 4\n\
        nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"} 0.5\n\
        nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"} 800\n";
    let metrics = serving(backend);
    assert_eq!(metrics.engine, EngineKind::TensorRtLlmOnTriton);
    assert_eq!(metrics.gauge(Quantity::Running), Some(4.0));
    assert_eq!(metrics.gauge(Quantity::KvUseShare), Some(0.5));
}

#[test]
fn every_engine_says_how_many_requests_wait_where_it_can() {
    for (text, expected) in [
        ("vllm:num_requests_waiting 1\n", Some(1.0)),
        ("sglang:num_queue_reqs 2\n", Some(2.0)),
        ("tgi_queue_size 3\n", Some(3.0)),
        ("trtllm_num_requests_waiting 4\n", Some(4.0)),
        ("llamacpp:requests_deferred 5\n", Some(5.0)),
        ("nv_inference_pending_request_count 6\n", Some(6.0)),
        ("vllm:num_requests_waiting NaN\n", None),
        ("vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 3\n", None),
    ] {
        assert_eq!(waiting(text), expected, "{text}");
    }
}

#[test]
fn openmetrics_names_the_family_of_a_counter_without_its_suffix() {
    let text = "# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total 8.0\n\
                vllm:prompt_tokens_created 1.7e9\n# EOF\n";
    assert_eq!(detect_format(text.as_bytes(), None), Format::OpenMetrics);
    assert_eq!(serving(text).counter(Quantity::PromptTokens), Some(8.0));
}

fn scraped(start: f64, engines: &[(u32, u32, u32)]) -> ServingMetrics {
    let name = "vllm:request_queue_time_seconds";
    let mut text = format!("process_start_time_seconds {start}\n# TYPE {name} histogram\n");
    for (engine, below, count) in engines {
        let labels = format!("engine=\"{engine}\",");
        text += &histogram(name, &labels, *below, *count, f64::from(*count) * 0.5);
    }
    for (engine, _, count) in engines {
        let tokens = count * 100;
        let _ = writeln!(text, "vllm:prompt_tokens_total{{engine=\"{engine}\"}} {tokens}");
    }
    serving(&text)
}

#[test]
fn a_difference_holds_what_came_between_of_all_series() {
    let earlier = scraped(1.0, &[(0, 10, 20)]);
    let later = scraped(1.0, &[(0, 14, 26), (1, 1, 2)]);
    let between = interval(&earlier, &later).unwrap();
    assert_eq!(between.counts[&Quantity::PromptTokens], 800.0);
    let queue = &between.durations[&Quantity::QueueTime];
    assert_eq!((queue.count, queue.cumulative[0], queue.sum_s), (8.0, 5.0, Some(4.0)));
    assert_eq!(between.resets, [""; 0]);
    assert_eq!(between.notes, [""; 0]);
}

#[test]
fn a_counter_that_began_anew_never_gives_a_negative_difference() {
    let earlier = scraped(1.0, &[(0, 10, 20), (1, 5, 5)]);
    let later = scraped(1.0, &[(0, 1, 3), (1, 5, 6)]);
    let between = interval(&earlier, &later).unwrap();
    assert_eq!(between.counts[&Quantity::PromptTokens], 400.0);
    assert_eq!(between.durations[&Quantity::QueueTime].count, 4.0);
    assert_eq!(between.resets.len(), 2, "{:?}", between.resets);

    // A process that has passed the old count betrays itself by its start alone.
    let restarted = interval(&earlier, &scraped(2.0, &[(0, 12, 25), (1, 6, 7)])).unwrap();
    assert_eq!(restarted.durations[&Quantity::QueueTime].count, 32.0);
    assert_eq!(restarted.resets, ["the engine's process was started anew"]);
}

#[test]
fn a_series_that_vanished_is_remarked_upon() {
    let earlier = scraped(1.0, &[(0, 1, 2), (1, 1, 2)]);
    let between = interval(&earlier, &scraped(1.0, &[(0, 1, 2)])).unwrap();
    assert_eq!(between.notes.len(), 2, "{:?}", between.notes);
    let other = serving("tgi_queue_size 1\n");
    let refused = interval(&earlier, &other).unwrap_err().to_string();
    assert_eq!(refused, "the scrapes are of vLLM and TGI: scrape one engine twice");
}

#[test]
fn a_scrape_that_was_not_read_whole_never_makes_history_pass_for_the_interval() {
    let lenient = |text: &str| {
        let scrape = parse(text.as_bytes(), Format::Prometheus, Strictness::Lenient).unwrap();
        read_serving(&scrape, EngineKind::Vllm)
    };
    let line = |engine: u32, count: &str| {
        format!("vllm:prompt_tokens_total{{engine=\"{engine}\"}} {count}\n")
    };
    let later = lenient(&(line(0, "1000") + &line(1, "5000")));
    for earlier in [line(0, "900") + "vllm:prompt_tok", line(0, "900") + &line(1, "NaN")] {
        let between = interval(&lenient(&earlier), &later).unwrap();
        assert_eq!(between.counts.get(&Quantity::PromptTokens), None, "{earlier}");
        assert!(between.notes[0].starts_with("prompt_tokens: left out"), "{:?}", between.notes);
    }
    let whole = interval(&lenient(&line(0, "900")), &later).unwrap();
    assert_eq!(whole.counts[&Quantity::PromptTokens], 5100.0);

    // Buckets that contradict each other spoil the difference, and not by counting all of the later.
    let name = "vllm:request_queue_time_seconds";
    let typed = format!("# TYPE {name} histogram\n");
    let good = lenient(&(typed.clone() + &histogram(name, "", 5, 10, 1.0)));
    let bad = lenient(&(typed + &histogram(name, "", 11, 9, 1.0)));
    assert_eq!(bad.duration(Quantity::QueueTime), None);
    let between = interval(&bad, &good).unwrap();
    assert!(between.durations.is_empty());
    assert_eq!(between.notes, ["queue_time_s: left out, for a series of it could not be used"]);
}

#[test]
fn the_table_names_each_quantity_of_an_engine_once_and_reads_it_in_its_shape() {
    use cotenant_probe::engine_metrics::Part;
    for mappings in TABLE {
        for (index, mapping) in mappings.iter().enumerate() {
            let again =
                mappings[index + 1..].iter().any(|other| other.quantity == mapping.quantity);
            assert!(!again, "{:?} {:?}", mapping.engine, mapping.quantity);
            for source in mapping.sources {
                let duration = matches!(source.part, Part::Histogram | Part::TotalOver(_));
                assert_eq!(
                    duration,
                    mapping.quantity.shape() == Shape::Duration,
                    "{}",
                    source.name
                );
            }
        }
    }
    for quantity in Quantity::ALL {
        let read = TABLE.iter().any(|mappings| mappings.iter().any(|m| m.quantity == quantity));
        assert!(read, "{quantity:?}");
    }
}

#[test]
fn the_page_of_the_documents_names_every_source() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engine-metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    for source in TABLE.iter().flat_map(|mappings| mappings.iter()).flat_map(|m| m.sources) {
        assert!(page.contains(&format!("`{}`", source.name)), "{} is not in the page", source.name);
    }
}
