//! Request traces.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = cotenant_probe::trace::read("f", bytes, &Default::default());
});
