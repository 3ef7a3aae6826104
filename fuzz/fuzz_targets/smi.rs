//! Every output of nvidia-smi: text, XML and CSV.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = cotenant_probe::device::smi::read(&String::from_utf8_lossy(bytes));
});
