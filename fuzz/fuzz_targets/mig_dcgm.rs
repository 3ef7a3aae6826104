//! Listings of MIG, and cards in DCGM scrapes.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    use cotenant_probe::device::{dcgm, mig_listing};
    use cotenant_probe::exposition::{Format, Strictness, parse};
    let text = String::from_utf8_lossy(bytes);
    let _ = (mig_listing::read_profiles(&text), mig_listing::read_instances(&text));
    if let Ok(scrape) = parse(bytes, Format::Prometheus, Strictness::Lenient) {
        let _ = dcgm::cards(&scrape);
    }
});
