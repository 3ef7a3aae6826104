//! Logs of trainers and renderers.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    use cotenant_probe::progress_log::formats::read_bytes;
    if let Ok(reading) = read_bytes(bytes) {
        assert!(reading.step_times_s().all(|time_s| time_s.is_finite() && time_s >= 0.0));
    }
});
