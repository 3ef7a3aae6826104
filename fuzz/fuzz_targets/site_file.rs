//! Site files: nothing panics, and a file without errors is read.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (site, problems) = cotenant_records::site::read_site("f", bytes);
    assert_eq!(site.is_some(), !cotenant_records::site::has_errors(&problems));
});
