//! Scrapes as exporters gave them: every file reads as a person reads it, or is refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

use cotenant_probe::engine_metrics::{
    Comparison, EngineKind, Quantity, ServingMetrics, engine_of_names, read_serving,
};
use cotenant_probe::exposition::{
    Exposition, ExpositionError, Format, Kind, Strictness, detect_format, histograms, parse,
    summaries,
};

#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn folder() -> Option<PathBuf> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data/3-metrics");
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "{} is missing", path.display());
    println!("skipped: {} is missing", path.display());
    None
}

fn bytes(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut plain = vec![];
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        return plain;
    }
    bytes
}

fn read(bytes: &[u8], strictness: Strictness) -> Result<Exposition<'_>, ExpositionError> {
    parse(bytes, detect_format(bytes, None), strictness)
}

fn lenient(bytes: &[u8]) -> Exposition<'_> {
    read(bytes, Strictness::Lenient).unwrap()
}

fn serving(path: &Path) -> ServingMetrics {
    let bytes = bytes(path);
    let scrape = lenient(&bytes);
    read_serving(&scrape, engine_of_names(&scrape).unwrap())
}

/// Lines that carry a value, counted without the parser.
fn lines_with_values(bytes: &[u8]) -> usize {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).count()
}

#[test]
fn every_scrape_gives_each_of_its_samples() {
    let Some(folder) = folder() else { return };
    let mut read_files = 0;
    for part in [".", "dcgm", "epp", "k8s", "node_exporter", "vllm"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let metrics = path.extension().is_some_and(|end| end == "prom")
                || name.starts_with("e2e")
                || part == "k8s";
            if !metrics {
                continue;
            }
            let bytes = bytes(&path);
            let scrape = lenient(&bytes);
            // A title; the file of an empty card holds two scrapes with a rule above each.
            let ends_so =
                |end: &str| scrape.notes.iter().filter(|note| note.text.ends_with(end)).count();
            let skipped = ends_so("skipped");
            let twice = ends_so("with these labels stands twice: the first holds");
            let titled = name.starts_with("runai") && name.contains("__mig__");
            let expected = match name.as_str() {
                "runai_lt2.9__mig__metrics__Empty_mig_disabled.prom" => (3, 23),
                // The same histogram stands in it twice.
                "request_tpot_seconds_metric.prom" => (0, 37),
                _ => (usize::from(titled), 0),
            };
            assert_eq!((skipped, twice), expected, "{name}: {:?}", scrape.notes);
            assert_eq!(
                scrape.sample_count() + skipped + twice,
                lines_with_values(&bytes),
                "{name}"
            );
            let ended = bytes.ends_with(b"\n");
            assert_eq!(ends_so("read as it stands"), usize::from(!ended), "{name}");
            assert_eq!(
                read(&bytes, Strictness::Strict).is_err(),
                titled || !ended || twice > 0,
                "{name}"
            );
            for family in scrape.families.iter().filter(|family| family.kind == Kind::Histogram) {
                let (series, malformed) = histograms(family);
                // One histogram of the kubelet's file contradicts itself: 20 observations, count 0.
                let known = &*family.name
                    == "apiserver_storage_data_key_generation_latencies_microseconds"
                    && part == "k8s";
                assert_eq!(malformed.len(), usize::from(known), "{name}: {malformed:?}");
                assert!(series.len() + malformed.len() > 0, "{name}: {}", family.name);
            }
            read_files += 1;
        }
    }
    assert!(read_files >= 42, "{read_files}");
}

#[test]
fn valid_cases_read_strictly_and_invalid_ones_are_refused_with_their_line() {
    let Some(folder) = folder() else { return };
    // The line that breaks each of these, as a person counts it.
    let lines = [1, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1, 1, 3, 3, 3, 2, 2, 1, 1, 3];
    for (case, line) in lines.into_iter().enumerate() {
        let name = format!("prometheus_common_fuzz_corpus_from_test_parse_error_{case}");
        let bytes = bytes(&folder.join("parser-cases").join(&name));
        match parse(&bytes, Format::Prometheus, Strictness::Strict) {
            Err(ExpositionError::Line { line: at, .. }) => assert_eq!(at, line, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
        let lenient = parse(&bytes, Format::Prometheus, Strictness::Lenient).unwrap();
        assert!(!lenient.notes.is_empty(), "{name}");
    }
    let mut valid = 0;
    for entry in std::fs::read_dir(folder.join("parser-cases")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.contains("_error_") {
            continue;
        }
        let raw = std::fs::read(&path).unwrap();
        let refused = read(&raw, Strictness::Lenient).err().map(|error| error.to_string());
        let expected = if path.extension().is_some_and(|end| end == "gz") {
            Some("this is a gzip file")
        } else if name.contains("protobuf") {
            Some("this is Prometheus protobuf")
        } else if name.contains("json2") {
            Some("this is JSON")
        } else {
            None
        };
        match (refused, expected) {
            (None, None) => {
                let scrape =
                    read(&raw, Strictness::Strict).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(scrape.sample_count(), lines_with_values(&raw), "{name}");
                valid += 1;
            }
            (Some(refused), Some(expected)) => assert!(refused.starts_with(expected), "{refused}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(valid, 57);
}

#[test]
fn values_escapes_times_and_exemplars_are_those_that_a_person_reads() {
    let Some(folder) = folder() else { return };
    let case = |name: &str| bytes(&folder.join("parser-cases").join(name));

    let text = case("prometheus_common_fuzz_corpus_from_test_parse_2");
    let scrape = read(&text, Strictness::Strict).unwrap();
    let name = scrape.family("name").unwrap();
    assert_eq!(name.help.as_deref(), Some("two-line\n doc  str\\ing"));
    assert_eq!(name.kind, Kind::Counter);
    assert!(name.samples[0].value.is_nan());
    assert_eq!(name.samples[1].label("basename"), Some("base\"v\\al\nue"));
    assert_eq!(name.samples[1].value, 0.23);
    assert_eq!(name.samples[1].time_s, Some(1_234_567.89));
    let name2 = scrape.family("name2").unwrap();
    assert_eq!(name2.help.as_deref(), Some("doc str\"ing 2"));
    assert_eq!(name2.samples[0].value, f64::INFINITY);
    assert_eq!(name2.samples[1].value, f64::NEG_INFINITY);
    assert_eq!(name2.samples[1].label("labelname"), Some("val1"));

    let text = case("prometheus_common_fuzz_corpus_from_test_parse_3");
    let scrape = read(&text, Strictness::Strict).unwrap();
    let series = summaries(scrape.family("my_summary").unwrap());
    assert_eq!(series[0].quantiles, [(0.5, 110.0), (0.9, 140.0)]);
    assert_eq!((series[0].count, series[0].sum), (Some(42.0), Some(4711.0)));
    assert_eq!(scrape.family("fake_sum").unwrap().samples[0].value, 2001.0);

    let text = case("telegraf_openmetrics_valid_counter_input.txt");
    let scrape = read(&text, Strictness::Strict).unwrap();
    assert_eq!(scrape.format, Format::OpenMetrics);
    let sample = &scrape.family("get_token_fail_count").unwrap().samples[0];
    assert_eq!((sample.value, sample.time_s), (8.0, Some(123.0)));
    let exemplar = sample.exemplar.as_ref().unwrap();
    assert_eq!((&*exemplar.labels[0].0, &*exemplar.labels[0].1), ("a", "b"));
    assert_eq!(exemplar.value, 0.5);

    let text = case("telegraf_openmetrics_valid_stateset_input.txt");
    let scrape = read(&text, Strictness::Strict).unwrap();
    let states = scrape.family("alarm_system_state").unwrap();
    assert_eq!((states.kind, states.samples.len()), (Kind::StateSet, 6));
    assert_eq!(states.samples[2].label("alarm_system_state"), Some("window 2 ok"));

    let text = case("telegraf_openmetrics_multiple_input.txt");
    let scrape = read(&text, Strictness::Strict).unwrap();
    let family = scrape.family("acme_http_router_request_seconds").unwrap();
    assert_eq!(family.unit.as_deref(), Some("seconds"));
    assert_eq!(summaries(family)[1].quantiles[2], (0.99, 3698.48132));

    let kubelet = bytes(&folder.join("k8s/netdata_kubelet_metrics.txt"));
    let scrape = lenient(&kubelet);
    let latency = scrape.family("kubelet_cgroup_manager_latency_microseconds").unwrap();
    assert!(summaries(latency)[0].quantiles.iter().all(|(_, value)| value.is_nan()));

    let epp = bytes(&folder.join("epp/request_ttft_seconds_metric.prom"));
    let scrape = lenient(&epp);
    let (series, _) = histograms(scrape.family("inference_model_request_ttft_seconds").unwrap());
    assert_eq!(series[0].histogram.count, 2.0);
    assert_eq!(series[0].histogram.sum, Some(1.61));
    assert_eq!(series[0].histogram.bounds.last(), Some(&3600.0));
}

#[test]
fn dcgm_of_a_card_with_mig_keeps_the_labels_of_its_instances() {
    let Some(folder) = folder() else { return };
    let bytes = bytes(&folder.join("dcgm/runai_lt2.9__mig__metrics__4_Active_Workloads.prom"));
    let scrape = lenient(&bytes);
    assert_eq!(scrape.notes[0].line, 1);
    let clock = scrape.family("DCGM_FI_DEV_SM_CLOCK").unwrap();
    let instance = &clock.samples[0];
    assert_eq!(instance.label("GPU_I_PROFILE"), Some("1g.5gb"));
    assert_eq!(instance.label("GPU_I_ID"), Some("7"));
    assert_eq!(instance.label("pod"), None);
    assert_eq!(instance.value, 1410.0);
    // Utilisation is not shown under MIG, and stays absent.
    assert!(scrape.family("DCGM_FI_DEV_GPU_UTIL").is_none());
}

#[test]
fn a_loaded_vllm_says_what_a_person_reads_in_it() {
    let Some(folder) = folder() else { return };
    let metrics = serving(&folder.join("vllm/vllm_0.32.0_cpu_tiny_loaded.prom"));
    assert_eq!(metrics.engine, EngineKind::Vllm);
    assert_eq!(metrics.gauge(Quantity::Running), Some(15.0));
    // Not 6: the families by reason split the same three.
    assert_eq!(metrics.gauge(Quantity::Waiting), Some(3.0));
    assert_eq!(metrics.gauge(Quantity::KvUseShare), Some(0.058_708_414_872_798_43));
    for (quantity, count) in [
        (Quantity::PromptTokens, 31524.0),
        (Quantity::OutputTokens, 9472.0),
        (Quantity::Finished, 189.0),
        (Quantity::Succeeded, 189.0),
        (Quantity::Aborted, 0.0),
        (Quantity::Failed, 0.0),
        (Quantity::Refused, 0.0),
        (Quantity::Preempted, 0.0),
        (Quantity::PrefixQueried, 31524.0),
        (Quantity::PrefixHit, 2304.0),
    ] {
        assert_eq!(metrics.counter(quantity), Some(count), "{quantity:?}");
    }
    let first = metrics.duration(Quantity::FirstToken).unwrap();
    assert_eq!((first.count, first.sum_s), (204.0, Some(107.621_889_591_217_04)));
    let p95 = first.quantile(0.95).unwrap();
    assert_eq!((p95.above_s, p95.at_most_s), (1.0, Some(2.5)));
    let queue = metrics.duration(Quantity::QueueTime).unwrap();
    assert_eq!(queue.count, 189.0);
    let p40 = queue.quantile(0.4).unwrap();
    assert_eq!((p40.above_s, p40.at_most_s), (0.0, Some(0.3)));
    assert_eq!(p40.compare(0.1), Comparison::TooCoarse);
    assert_eq!(metrics.duration(Quantity::Decode).unwrap().count, 189.0);
    assert_eq!(metrics.notes, [""; 0]);
}

#[test]
fn older_vllm_names_are_read_and_missing_labels_do_no_harm() {
    let Some(folder) = folder() else { return };
    let old = serving(&folder.join("vllm/datadog_v0_excerpt.prom"));
    assert_eq!(old.gauge(Quantity::KvUseShare), Some(0.0));
    assert_eq!(old.sources[&Quantity::KvUseShare].name, "vllm:gpu_cache_usage_perc");
    assert_eq!(old.counter(Quantity::OutputTokens), Some(7.0));
    let first = old.duration(Quantity::FirstToken).unwrap().quantile(0.5).unwrap();
    assert_eq!((first.above_s, first.at_most_s), (0.25, Some(0.5)));
    // What it does not show is absent, not zero.
    assert_eq!(old.duration(Quantity::QueueTime), None);
    assert_eq!(old.counter(Quantity::Refused), None);

    let bare = serving(&folder.join("vllm/llmprobe_claimed_live.txt"));
    assert_eq!(bare.gauge(Quantity::Running), Some(2.0));
    assert_eq!(bare.counter(Quantity::OutputTokens), Some(18461.0));
    assert_eq!(bare.gauge(Quantity::KvUseShare), Some(0.314));
    // 13 of the first model and 3i + 13 of the models 0 to 19.
    assert_eq!(bare.counter(Quantity::Succeeded), Some(13.0 + 20.0 * 13.0 + 3.0 * 190.0));
}

#[test]
fn llama_cpp_and_triton_give_means_where_they_have_no_buckets() {
    let Some(folder) = folder() else { return };
    let llama = serving(&folder.join("llamacpp_server_b1-0c1e570.prom"));
    assert_eq!(llama.engine, EngineKind::LlamaCpp);
    assert_eq!(llama.counter(Quantity::OutputTokens), Some(253.0));
    assert_eq!(llama.gauge(Quantity::Waiting), Some(0.0));
    assert_eq!(llama.gauge(Quantity::KvUseShare), None);
    let token = llama.duration(Quantity::InterToken).unwrap();
    assert!((token.mean_s().unwrap() - 6.67677 / 253.0).abs() < 1e-12);

    let triton = serving(&folder.join("triton_2.51.0_cpu_loaded.prom"));
    assert_eq!(triton.engine, EngineKind::Triton);
    assert_eq!(triton.gauge(Quantity::Waiting), Some(19.0));
    assert_eq!(triton.counter(Quantity::Succeeded), Some(33.0));
    assert_eq!(triton.counter(Quantity::Failed), Some(0.0));
    let queue = triton.duration(Quantity::QueueTime).unwrap();
    assert!((queue.mean_s().unwrap() - 3.097_663 / 33.0).abs() < 1e-12);
    let p99 = queue.quantile(0.99).unwrap();
    assert_eq!((p99.above_s, p99.at_most_s), (0.0, None));
}
