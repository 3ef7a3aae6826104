//! Scrapes in both formats, strictly and leniently, and what is made of them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    use cotenant_probe::engine_metrics::{engine_of_names, read_serving};
    use cotenant_probe::exposition::{Format, Strictness, histograms, parse, summaries};
    for format in [Format::Prometheus, Format::OpenMetrics] {
        let strict = parse(bytes, format, Strictness::Strict);
        let lenient = parse(bytes, format, Strictness::Lenient);
        // What is right is read alike, however strict the reader is.
        if let (Ok(strict), Ok(lenient)) = (&strict, &lenient) {
            assert_eq!(strict.sample_count(), lenient.sample_count());
        }
        let Ok(scrape) = lenient else { continue };
        for family in &scrape.families {
            let _ = (histograms(family), summaries(family));
        }
        if let Some(engine) = engine_of_names(&scrape) {
            let _ = read_serving(&scrape, engine);
        }
    }
});
