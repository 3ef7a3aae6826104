//! The door through which files of every kind come in.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = cotenant_probe::read::read("f", bytes);
});
