//! Results of other tools.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = cotenant_probe::benchmark::read("f", bytes) {
        let numbers = file.benchmarks.iter().flat_map(|one| &one.points);
        assert!(numbers.into_iter().all(|point| point.value.is_finite()));
    }
});
