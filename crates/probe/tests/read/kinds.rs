//! The kinds matter, not the files of the tree: others of the same kinds are read, too.

use std::io::Write as _;

use cotenant_core::reading::{Figure, FileReading, RefusalCause};
use cotenant_probe::read::{contradictions, read, read_file};

use super::fixtures::{ALL, REFUSED};

fn reading(fixture: &str) -> FileReading {
    let (name, _, _, text) = ALL.iter().find(|(name, ..)| *name == fixture).unwrap();
    read(name, text.as_bytes()).unwrap().reading
}

#[test]
fn each_kind_is_told_by_its_content_alone() {
    for (name, kind, producer, text) in ALL {
        let file = read(name, text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(file.reading.kind, *kind, "{name}: {:?}", file.reading.clues);
        if let Some(producer) = producer {
            assert_eq!(file.reading.producer.as_deref(), Some(*producer), "{name}");
        }
        assert!(!file.reading.clues.is_empty(), "{name}");
    }
}

#[test]
fn what_is_not_read_is_named() {
    for (name, bytes, seems) in REFUSED {
        let refusal = read(name, *bytes).map(|file| file.reading).unwrap_err();
        assert_eq!(refusal.seems, *seems, "{refusal}");
        assert!(!refusal.why.is_empty() && !refusal.way_out.is_empty(), "{refusal}");
    }
}

#[test]
fn values_of_files_made_here() {
    let azure = reading("d");
    assert_eq!(azure.figure("first request"), Some(&Figure::text("2024-05-10T00:00:00.00993Z")));
    let burst = reading("a");
    assert_eq!((burst.number("span"), burst.number("mean rate")), (Some(40.0), Some(0.05)));
    let rates = reading("f");
    assert_eq!((rates.number("rate, mean"), rates.number("step")), (Some(4.0), Some(60.0)));
    assert!(rates.notes.iter().any(|note| note.contains("rate_column")), "{:?}", rates.notes);
    let gap = reading("e");
    assert_eq!((gap.number("rate, max"), gap.number("time in gaps")), (Some(4.25), Some(300.0)));
    let sglang = reading("i");
    let ttft = &sglang.tables[1].rows[0];
    assert_eq!(ttft[2], Figure::number(0.25, "s"));
    // Three of five are at most 0.1 s, so the median lies there, and p95 beyond the last bound.
    let between = |above, at_most| Figure::Between { above, at_most, unit: "s".into() };
    assert_eq!((&ttft[3], &ttft[4]), (&between(0.0, Some(0.1)), &between(0.1, None)));
    assert_eq!(reading("n").version.as_deref(), Some("1.9.1"));
    let titan = reading("q");
    assert_eq!(titan.number("step time"), Some(1.0));
    assert_eq!(titan.number("tokens per second of one GPU"), Some(1210.0));
    let nano = reading("s");
    assert_eq!(nano.number("time of the first step"), Some(9.0001));
    assert_eq!(nano.number("step time, max"), Some(0.251_25));
    let csv = reading("C");
    let row = &csv.tables[0].rows[0];
    assert_eq!((&row[1], &row[4]), (&Figure::text("NVIDIA H200"), &Figure::number(17.0, "MiB")));
    assert!(matches!(&row[6], Figure::Absent(why) if why == "not available"), "{row:?}");
    let monitor = reading("H");
    assert_eq!(monitor.tables[0].rows[0][3], Figure::number(305.0, "W"));
    assert_eq!(reading("N").number("Xid 79"), Some(1.0));
    assert_eq!(reading("P").number("workloads"), Some(2.0));
    let bench = reading("x");
    assert!(bench.limits.iter().any(|limit| limit.claim.contains("objectives")));
}

#[test]
fn the_name_decides_nothing_but_whom_to_try_first() {
    for (_, kind, _, text) in ALL {
        for name in ["x.json", "x.prom", "x.log", "x.csv.gz", "README.md", ""] {
            let file = read(name, text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal}"));
            assert_eq!(file.reading.kind, *kind, "{name}: {text}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(unit).collect()
}

#[test]
fn packing_is_transparent_and_told() {
    for (name, kind, _, text) in ALL {
        let zstd = zstd::stream::encode_all(text.as_bytes(), 1).unwrap();
        let both = gzip(&zstd);
        let little = utf16(text, u16::to_le_bytes);
        let big = gzip(&utf16(text, u16::to_be_bytes));
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for (bytes, packing) in [
            (gzip(text.as_bytes()), &["gzip"][..]),
            (zstd, &["zstd"]),
            (both, &["gzip", "zstd"]),
            (little, &["UTF-16 LE"]),
            (big, &["gzip", "UTF-16 BE"]),
            (marked, &[]),
        ] {
            let file =
                read(name, &bytes[..]).unwrap_or_else(|refusal| panic!("{packing:?} {refusal}"));
            assert_eq!((file.reading.kind, &file.reading.packing[..]), (*kind, packing), "{name}");
        }
    }
}

#[test]
fn half_a_unit_of_utf_16_is_told() {
    let mut bytes = utf16("up{job=\"ä\"} 1\nup{job=\"𝄞\"} 2\n", u16::to_le_bytes);
    bytes.push(b'\n');
    let reading = read("x", &bytes[..]).unwrap().reading;
    assert_eq!(reading.number("samples"), Some(2.0));
    assert!(reading.notes.iter().any(|note| note.contains("half a unit")), "{:?}", reading.notes);
}

#[test]
fn reports_of_one_run_are_held_against_each_other() {
    let Some(data) = super::data() else { return };
    let folder = data.join("5-bench/inference-perf");
    let run = "corpus__full-runs__v0_5_0-clean-two-stage-run__";
    let file = |name: &str| read_file(&folder.join(format!("{run}{name}"))).unwrap();
    let all = [
        file("stage_0_lifecycle_metrics.json"),
        file("stage_1_lifecycle_metrics.json"),
        file("summary_lifecycle_metrics.json"),
    ];
    assert_eq!(contradictions(&all.iter().collect::<Vec<_>>()), Vec::<String>::new());
    let found = contradictions(&[&all[0], &all[2]]);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("the counts do not add up"), "{found:?}");
    // Reports of another run stand beside it and contradict nothing.
    let other = read_file(&folder.join("vllm__stage_0_lifecycle_metrics.json")).unwrap();
    assert_eq!(contradictions(&[&all[2], &other]), Vec::<String>::new());
}

#[test]
fn a_folder_and_a_missing_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = read_file(folder.path()).map(|file| file.reading).unwrap_err();
    assert_eq!((refusal.seems.as_str(), refusal.cause), ("a folder", RefusalCause::Content));
    let refusal = read_file(&folder.path().join("no")).map(|file| file.reading).unwrap_err();
    assert_eq!(refusal.seems, "a file that cannot be opened");
}
