//! Whatever happens to a file of evidence, reading says so and names the file.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod evidence_samples;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cotenant_records::evidence::{EvidenceError, ReadWhat, RunStatus, Store};
use evidence_samples::{ALL, at, block, files, plan, read, resume, write_run, write_run_at};

/// What reading says, whether or not it wants the gaps.
fn damage(root: &Path) -> EvidenceError {
    let store = Store::open(root).unwrap();
    let [error, without_gaps] = [true, false].map(|gaps| match store.read_all(ReadWhat { gaps }) {
        Ok(evidence) => panic!("damage was not noticed: {:?}", evidence.remarks),
        Err(error) => error,
    });
    let text = error.to_string();
    assert_eq!(text, without_gaps.to_string());
    assert!(text.contains(&error.path().display().to_string()), "{text}");
    assert!(!error.advice().is_empty());
    error
}

/// A fresh folder with one complete run; gives its guard, and the run's folder.
fn sample() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = write_run(root.path());
    (root, folder)
}

/// Changes a text file, which must really change.
fn edit(path: &Path, change: impl Fn(&str) -> String) {
    let before = fs::read_to_string(path).unwrap();
    let after = change(&before);
    assert_ne!(before, after, "{}", path.display());
    fs::write(path, after).unwrap();
}

fn decompress(path: &Path) -> String {
    String::from_utf8(zstd::decode_all(&fs::read(path).unwrap()[..]).unwrap()).unwrap()
}

fn compress(path: &Path, content: &str) {
    fs::write(path, zstd::encode_all(content.as_bytes(), 3).unwrap()).unwrap();
}

#[test]
fn a_run_that_vanished() {
    let (root, folder) = sample();
    fs::remove_dir_all(&folder).unwrap();
    let error = damage(root.path());
    assert!(matches!(&error, EvidenceError::MissingRun { run, path }
        if run == "20261130T143207Z-abc" && *path == folder));
}

#[test]
fn a_run_that_was_renamed() {
    let (root, folder) = sample();
    fs::rename(&folder, root.path().join("better-name")).unwrap();
    assert!(matches!(damage(root.path()), EvidenceError::MissingRun { .. }));
}

#[test]
fn a_run_that_no_ledger_announced() {
    let (root, folder) = sample();
    let other = tempfile::tempdir().unwrap();
    let foreign = write_run_at(other.path(), "2026-11-30T20:00:00Z");
    let copied = root.path().join(foreign.file_name().unwrap());
    fs::rename(foreign, &copied).unwrap();
    assert!(matches!(damage(root.path()), EvidenceError::UnlistedRun { path } if path == copied));
    fs::remove_dir_all(&copied).unwrap();
    for ledger in ["ledger.jsonl", "ledger.head.json"] {
        fs::remove_file(root.path().join(ledger)).unwrap();
    }
    assert!(matches!(damage(root.path()), EvidenceError::UnlistedRun { path } if path == folder));
}

#[test]
fn any_file_that_vanished() {
    let names: Vec<PathBuf> = {
        let (root, _folder) = sample();
        files(root.path()).iter().map(|p| p.strip_prefix(root.path()).unwrap().to_owned()).collect()
    };
    assert_eq!(names.len(), 13);
    for name in names {
        let (root, _folder) = sample();
        let path = root.path().join(&name);
        fs::remove_file(&path).unwrap();
        let error = damage(root.path());
        assert_eq!(error.path(), path);
        let is_block = name.to_string_lossy().ends_with(".jsonl.zst");
        match error {
            EvidenceError::MissingBlock { run, index, .. } => {
                assert!(is_block && run == "20261130T143207Z-abc" && index < 4);
            }
            EvidenceError::MissingFile { .. } => assert!(!is_block),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn any_file_that_was_cut_short() {
    let (root, _folder) = sample();
    for path in files(root.path()) {
        let bytes = fs::read(&path).unwrap();
        for kept in [bytes.len() - 1, bytes.len().saturating_sub(1_024), bytes.len() / 2, 0] {
            fs::write(&path, &bytes[..kept]).unwrap();
            let error = damage(root.path());
            assert_eq!(error.path(), path, "{error}, {kept} of {}", bytes.len());
            let is_ledger = path.ends_with("ledger.jsonl");
            assert!(
                matches!(error, EvidenceError::Truncated { .. } | EvidenceError::Malformed { .. })
                    && (!is_ledger || matches!(error, EvidenceError::Truncated { .. })),
                "{error}"
            );
        }
        fs::write(&path, &bytes).unwrap();
    }
    read(root.path());
}

#[test]
fn one_digit_of_a_digest() {
    let (root, _folder) = sample();
    for path in files(root.path()) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let digests: Vec<usize> = text.match_indices("sha256\": \"").map(|(n, _)| n + 10).collect();
        let compact: Vec<usize> = text.match_indices("sha256\":\"").map(|(n, _)| n + 9).collect();
        let found = [digests, compact].concat();
        assert!(!found.is_empty(), "{}", path.display());
        for place in found {
            let mut bytes = text.clone().into_bytes();
            bytes[place + 31] = if bytes[place + 31] == b'0' { b'1' } else { b'0' };
            fs::write(&path, bytes).unwrap();
            assert_eq!(damage(root.path()).path(), path);
        }
        fs::write(&path, text).unwrap();
    }
    read(root.path());
}

/// Numbers for choosing bytes: SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `bytes` with one byte changed: a bit, anything, or only the case of a letter.
    fn change(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        changed[self.next() as usize % bytes.len()] ^= match self.next() % 3 {
            0 => 1 << (self.next() % 8),
            1 => (self.next() % 255) as u8 + 1,
            _ => 0x20,
        };
        changed
    }
}

#[test]
fn any_byte_of_any_file() {
    let (root, _folder) = sample();
    let mut random = Random(1);
    for path in files(root.path()) {
        let bytes = fs::read(&path).unwrap();
        for _ in 0..60 {
            fs::write(&path, random.change(&bytes)).unwrap();
            assert_eq!(damage(root.path()).path(), path);
        }
        fs::write(&path, &bytes).unwrap();
    }
    read(root.path());
}

#[test]
fn any_byte_of_a_file_that_is_not_listed_yet() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut writer = Store::open(root.path()).unwrap().create_run(&plan).unwrap();
    let record = writer.folder().join("run.json");
    let before = fs::read(&record).unwrap();
    writer.write_block(&block(&plan, 1, 60)).unwrap();
    writer.write_resume(1, &resume()).unwrap();
    let folder = writer.folder().to_owned();
    drop(writer);
    fs::write(&record, before).unwrap();
    let whole = read(root.path()).runs.remove(0).run;
    let mut random = Random(2);
    for name in ["block-0001-C.jsonl.zst", "block-0001-C.gaps.zst", "block-0001-C.resume.json"] {
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap();
        for _ in 0..120 {
            let changed = random.change(&bytes);
            fs::write(&path, &changed).unwrap();
            match Store::open(root.path()).unwrap().read_all(ALL) {
                // The resume belongs to the very bytes of its block's file.
                Err(error) => assert!(error.path().starts_with(&folder), "{error}"),
                // A byte of the compressed frame that means nothing may change unseen, as long as
                // no record does.
                Ok(evidence) => assert_eq!(evidence.runs[0].run, whole),
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
}

/// A block's content without its three last requests, every count made to fit.
fn drop_three(content: &str) -> String {
    let mut lines: Vec<serde_json::Value> =
        content.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        let holder = if line.get("footer").is_some() { &mut line["footer"] } else { &mut *line };
        if let Some(counts) = holder.get_mut("counts") {
            counts["requests"] = 57.into();
        }
        for column in line.get_mut("requests").and_then(|v| v.as_object_mut()).into_iter().flatten()
        {
            let values = column.1.as_array_mut().unwrap();
            if column.0 != "outcomes" {
                values.truncate(57);
            }
        }
    }
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn three_requests_dropped_and_compressed_again() {
    let (root, folder) = sample();
    let path = folder.join("block-0001-C.jsonl.zst");
    let content = decompress(&path);
    compress(&path, &drop_three(&content));
    assert_eq!(damage(root.path()).path(), path);
    // The same content in a frame of its own is noticed too: the file is what was sealed.
    compress(&path, &content);
    assert_eq!(damage(root.path()).path(), path);
}

#[test]
fn three_requests_dropped_before_the_record_knew_the_block() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut writer = Store::open(root.path()).unwrap().create_run(&plan).unwrap();
    let record = writer.folder().join("run.json");
    let before = fs::read(&record).unwrap();
    writer.write_block(&block(&plan, 1, 60)).unwrap();
    let path = writer.folder().join("block-0001-C.jsonl.zst");
    drop(writer);
    fs::write(&record, before).unwrap();
    assert_eq!(read(root.path()).runs[0].run.blocks[0].requests.len(), 60);
    let content = decompress(&path);
    compress(&path, &drop_three(&content));
    let error = damage(root.path());
    assert_eq!(error.path(), path);
    assert!(matches!(error, EvidenceError::DigestMismatch { .. }), "{error}");
    // Compressed again without a change it is the same evidence.
    compress(&path, &content);
    assert_eq!(read(root.path()).runs[0].run.blocks[0].requests.len(), 60);
    // Without its footer it is half a block.
    let (head, _footer) = content.trim_end().rsplit_once('\n').unwrap();
    compress(&path, &format!("{head}\n"));
    assert!(matches!(damage(root.path()), EvidenceError::Truncated { path: p, .. } if p == path));
    // Something after the footer, or after the frame, is no block either.
    compress(&path, &format!("{content}{{\"remark\":\"more\"}}\n"));
    assert_eq!(damage(root.path()).path(), path);
    compress(&path, &content);
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
    assert_eq!(damage(root.path()).path(), path);
}

#[test]
fn a_document_that_says_the_same_in_other_bytes() {
    let (root, folder) = sample();
    for name in ["run.json", "schedule.json", "block-0001-C.resume.json"] {
        let path = folder.join(name);
        let before = fs::read(&path).unwrap();
        edit(&path, |text| text.replacen("\n  ", "\n    ", 1));
        assert_eq!(damage(root.path()).path(), path);
        fs::write(&path, before).unwrap();
    }
}

#[test]
fn an_edited_value() {
    let (root, folder) = sample();
    for (name, from, to) in [
        ("schedule.json", "\"block_s\": 10.0", "\"block_s\": 11.0"),
        ("schedule.json", "\"cd34\"", "\"cd35\""),
        ("run.json", "\"complete\"", "\"running\""),
        ("run.json", "\"ratio_measured\": 0.004", "\"ratio_measured\": 0.003"),
        ("block-0003-C.resume.json", "\"lost_steps\": 0", "\"lost_steps\": 1"),
        ("../ledger.jsonl", "\"complete\"", "\"interrupted\""),
        ("../ledger.head.json", "\"lines\": 2", "\"lines\": 1"),
    ] {
        let path = folder.join(name).canonicalize().unwrap();
        let before = fs::read(&path).unwrap();
        edit(&path, |text| text.replacen(from, to, 1));
        let error = damage(root.path());
        assert!(matches!(error, EvidenceError::DigestMismatch { .. }), "{error}");
        assert_eq!(error.path().canonicalize().unwrap(), path);
        fs::write(&path, before).unwrap();
    }
}

#[test]
fn a_field_that_is_not_known() {
    let (root, folder) = sample();
    let path = folder.join("run.json");
    edit(&path, |text| text.replacen("\"status\"", "\"weather\": 1,\n    \"status\"", 1));
    let error = damage(root.path());
    assert!(error.to_string().contains("weather") && error.path() == path, "{error}");
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let (root, folder) = sample();
    let newer = |path: &Path| {
        let error = damage(root.path());
        assert!(matches!(error, EvidenceError::NewerVersion { found: 3, supported: 2, .. }));
        assert_eq!(error.path().canonicalize().unwrap(), path.canonicalize().unwrap());
    };
    for name in ["run.json", "schedule.json", "../ledger.jsonl", "../ledger.head.json"] {
        let path = folder.join(name);
        let before = fs::read(&path).unwrap();
        edit(&path, |text| {
            text.replacen("\"version\": 2", "\"version\": 3", 1)
                .replacen("\"version\":2", "\"version\":3", 1)
                // A newer version may look quite different inside.
                .replacen("\"content\"", "\"contents\"", 1)
        });
        newer(&path);
        fs::write(&path, before).unwrap();
    }
}

#[test]
fn a_newer_block_of_a_killed_run_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut writer = Store::open(root.path()).unwrap().create_run(&plan).unwrap();
    let record = writer.folder().join("run.json");
    let before = fs::read(&record).unwrap();
    writer.write_block(&block(&plan, 0, 10)).unwrap();
    let path = writer.folder().join("block-0000-A.jsonl.zst");
    drop(writer);
    fs::write(&record, before).unwrap();
    let content = decompress(&path);
    compress(&path, &content.replacen("\"version\":2", "\"version\":7", 1));
    let error = damage(root.path());
    assert!(matches!(&error, EvidenceError::NewerVersion { found: 7, .. }) && error.path() == path);
    compress(&path, &content.replacen("cotenant block", "something else", 1));
    assert!(matches!(damage(root.path()), EvidenceError::NotEvidence { path: p, .. } if p == path));
    // A decompression bomb is stopped at the length of a line.
    let bomb =
        format!("{}{{\"remark\":\"{}\"}}\n", content.lines().next().unwrap(), " ".repeat(64 << 20));
    compress(&path, &bomb);
    assert!(fs::metadata(&path).unwrap().len() < 16_384);
    assert!(matches!(damage(root.path()), EvidenceError::TooLarge { path: p, .. } if p == path));
    // And at the number of records that it says it has.
    let header = content.lines().next().unwrap();
    let many = format!("{header}\n{}", "{\"remark\":\"\"}\n".repeat(1 << 20));
    compress(&path, &many);
    assert!(matches!(damage(root.path()), EvidenceError::Malformed { path: p, .. } if p == path));
}

#[test]
fn a_block_of_another_run() {
    let root = tempfile::tempdir().unwrap();
    let (first, second) =
        (write_run(root.path()), write_run_at(root.path(), "2026-11-30T16:00:00Z"));
    let name = "block-0000-A.jsonl.zst";
    let path = second.join(name);
    fs::copy(first.join(name), &path).unwrap();
    assert_eq!(damage(root.path()).path(), path);
}

#[test]
fn a_foreign_block_is_not_taken_in() {
    let root = tempfile::tempdir().unwrap();
    let finished = write_run(root.path());
    let store = Store::open(root.path()).unwrap();
    let open = store.create_run(&plan()).unwrap().folder().to_owned();
    for name in ["block-0000-A.jsonl.zst", "block-0000-A.gaps.zst"] {
        fs::copy(finished.join(name), open.join(name)).unwrap();
    }
    let error = damage(root.path());
    assert!(matches!(error, EvidenceError::Inconsistent { .. }), "{error}");
    assert_eq!(error.path(), open.join("block-0000-A.jsonl.zst"));
    // Nor is one that was not planned, or one that a finished run does not list.
    for name in ["block-0000-A.jsonl.zst", "block-0000-A.gaps.zst"] {
        fs::remove_file(open.join(name)).unwrap();
    }
    for folder in [&open, &finished] {
        let stray = folder.join("block-0042-A.jsonl.zst");
        fs::copy(finished.join("block-0000-A.jsonl.zst"), &stray).unwrap();
        let error = damage(root.path());
        assert!(matches!(error, EvidenceError::UnlistedFile { .. }), "{error}");
        assert_eq!(error.path(), stray);
        fs::remove_file(stray).unwrap();
    }
    read(root.path());
}

#[test]
fn an_older_record_of_a_finished_run() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let store = Store::open(root.path()).unwrap();
    let mut writer = store.create_run(&plan).unwrap();
    let record = writer.folder().join("run.json");
    for index in 0..2 {
        writer.write_block(&block(&plan, index, 5)).unwrap();
    }
    let older = fs::read(&record).unwrap();
    writer.finish(RunStatus::Interrupted, at("2026-11-30T15:00:00Z")).unwrap();
    fs::write(&record, older).unwrap();
    let error = damage(root.path());
    assert!(matches!(error, EvidenceError::DigestMismatch { .. }) && error.path() == record);
}

#[test]
fn ledger_lines_that_are_lost_or_moved() {
    let root = tempfile::tempdir().unwrap();
    write_run(root.path());
    write_run_at(root.path(), "2026-11-30T16:00:00Z");
    let when = at("2026-12-01T08:00:00Z");
    let store = Store::open(root.path()).unwrap();
    store.exclude("20261130T160000Z-abc", "the fan had failed", "Ada", when).unwrap();
    let path = root.path().join("ledger.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    let all: Vec<usize> = (0..5).collect();
    let mut orders: Vec<Vec<usize>> =
        (0..5).map(|lost| all.iter().copied().filter(|line| *line != lost).collect()).collect();
    orders.extend([vec![0, 2, 1, 3, 4], vec![0, 1, 2, 3, 4, 4], vec![4, 3, 2, 1, 0], vec![]]);
    for order in orders {
        let changed: Vec<&str> = order.iter().flat_map(|line| [lines[*line], "\n"]).collect();
        fs::write(&path, changed.concat()).unwrap();
        let error = damage(root.path());
        assert_eq!(error.path(), path, "{order:?}: {error}");
        // Nothing is added to a ledger that is not whole.
        assert!(store.exclude("20261130T143207Z-abc", "x", "Ada", when).is_err());
        assert!(store.create_run(&plan()).is_err());
    }
}

#[test]
fn an_excluded_run_may_be_damaged_and_is_still_shown() {
    let (root, folder) = sample();
    write_run_at(root.path(), "2026-11-30T16:00:00Z");
    fs::remove_file(folder.join("block-0000-A.jsonl.zst")).unwrap();
    assert!(matches!(damage(root.path()), EvidenceError::MissingBlock { index: 0, .. }));
    let store = Store::open(root.path()).unwrap();
    let when = at("2026-12-01T08:00:00Z");
    store.exclude("20261130T143207Z-abc", "a block was lost", "Ada", when).unwrap();
    let evidence = read(root.path());
    assert_eq!(evidence.runs.len(), 1);
    assert_eq!(evidence.runs[0].run.id, "20261130T160000Z-abc");
    assert_eq!(evidence.lost[0].id, "20261130T143207Z-abc");
    assert!(matches!(evidence.lost[0].damage, EvidenceError::MissingBlock { .. }));
}

#[test]
fn what_is_not_an_evidence_folder() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("evidence");
    fs::write(&file, "no").unwrap();
    let error = Store::open(&file).unwrap_err();
    assert!(matches!(error, EvidenceError::NotEvidence { path, .. } if path == file));
    fs::remove_file(&file).unwrap();
    fs::create_dir_all(file.join("notes")).unwrap();
    fs::write(file.join("notes/today.txt"), "hello").unwrap();
    let evidence = read(&file);
    assert!(evidence.runs.is_empty());
    assert_eq!(evidence.remarks, ["notes holds no evidence and is passed over"]);
    fs::write(file.join("ledger.jsonl"), "not a ledger\n").unwrap();
    assert_eq!(damage(&file).path(), file.join("ledger.jsonl"));
}

#[test]
fn logs_and_other_files_are_not_evidence() {
    let (root, folder) = sample();
    fs::create_dir(folder.join("logs")).unwrap();
    fs::write(folder.join("logs/trainer.log"), "step 1").unwrap();
    fs::write(folder.join("notes.txt"), "hello").unwrap();
    assert!(read(root.path()).runs[0].remarks.is_empty());
}
