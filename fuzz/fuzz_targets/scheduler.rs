//! What Slurm, Kubernetes and Kueue print.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = cotenant_probe::scheduler::recognise("f", bytes);
    let _ = cotenant_probe::scheduler::read("f", bytes);
});
