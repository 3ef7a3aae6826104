//! Damage: whatever the bytes are, there is an answer, in bounded time and memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use cotenant_core::reading::{FileReading, LINES_KEPT_MAX, ROWS_KEPT_MAX, RefusalCause};
use cotenant_probe::read::{WHOLE_BYTES_MAX, read};
use proptest::prelude::*;

use super::fixtures::ALL;

/// What holds of every reading.
fn is_bounded(reading: &FileReading) {
    for table in &reading.tables {
        assert!(table.rows.len() <= ROWS_KEPT_MAX);
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{table:?}");
    }
    assert!(reading.skipped.len() <= LINES_KEPT_MAX && reading.notes.len() <= LINES_KEPT_MAX);
}

fn answered(bytes: &[u8]) {
    if let Ok(file) = read("x", bytes) {
        is_bounded(&file.reading);
    }
}

#[test]
fn a_file_cut_at_any_byte_has_an_answer() {
    // Each run looks at every fourth byte, of each file at others: a debug build is slow.
    for (place, (_, _, _, text)) in ALL.iter().enumerate() {
        for cut in (place % 4..text.len()).step_by(4) {
            answered(&text.as_bytes()[..cut]);
        }
    }
}

#[test]
fn a_packed_file_cut_at_any_byte_is_refused_and_never_shorter() {
    for (name, _, _, text) in ALL.iter().filter(|(name, ..)| ["b", "i", "s"].contains(name)) {
        let packed = zstd::stream::encode_all(text.as_bytes(), 1).unwrap();
        for cut in 1..packed.len() {
            let found = read(name, &packed[..cut]).map(|file| file.reading);
            assert!(found.is_err(), "{cut} of {} bytes: {found:?}", packed.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        answered(&bytes);
    }

    #[test]
    fn random_text_has_an_answer(text in "[ -~\\n\\t{}\\[\\]\":,|#=äµ]{0,400}") {
        answered(text.as_bytes());
    }

    #[test]
    fn files_joined_and_garbled_have_an_answer(
        first in 0..ALL.len(),
        second in 0..ALL.len(),
        garbage in prop::collection::vec(any::<u8>(), 0..40),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = [ALL[first].3.as_bytes(), &garbage, ALL[second].3.as_bytes()].concat();
        for (place, byte) in flips {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        answered(&bytes);
    }
}

/// A reader of the same line over and over, which counts what is taken of it.
struct Repeated {
    head: &'static [u8],
    line: Vec<u8>,
    at: usize,
    left: usize,
    taken: Rc<Cell<usize>>,
}

impl Repeated {
    fn new(head: &'static str, line: String, bytes: usize) -> (Self, Rc<Cell<usize>>) {
        let taken = Rc::new(Cell::new(0));
        let line = line.into_bytes();
        let left = bytes / line.len() * line.len();
        (Self { head: head.as_bytes(), line, at: 0, left, taken: Rc::clone(&taken) }, taken)
    }
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let source = if self.head.is_empty() { &self.line[self.at..] } else { self.head };
        let mut count = source.len().min(buffer.len());
        if self.head.is_empty() {
            count = count.min(self.left);
            self.left -= count;
        }
        buffer[..count].copy_from_slice(&source[..count]);
        if self.head.is_empty() {
            self.at = (self.at + count) % self.line.len();
        } else {
            self.head = &self.head[count..];
        }
        self.taken.set(self.taken.get() + count);
        Ok(count)
    }
}

#[test]
fn what_must_be_read_whole_is_not_slurped_beyond_its_bound() {
    let line = format!("# {}\n", "x".repeat(4000));
    let (input, taken) = Repeated::new("# TYPE up gauge\nup 1\n", line, 1 << 30);
    let refusal = read("x", input).map(|file| file.reading).unwrap_err();
    assert!(refusal.why.contains("64 MiB") && refusal.seems == "a scrape of metrics", "{refusal}");
    assert!(taken.get() <= WHOLE_BYTES_MAX + (1 << 20), "{} bytes were taken", taken.get());
}

#[test]
fn a_trace_longer_than_what_is_held_is_read_as_a_stream() {
    // One field that means nothing makes few rows long.
    let line = format!("7,11,\"{}\"\n", "x".repeat(100_000));
    let (input, taken) = Repeated::new(
        "time_s,prompt_tokens,output_tokens,note\n",
        format!("3,{line}"),
        WHOLE_BYTES_MAX + (8 << 20),
    );
    let reading = read("x", input).unwrap().reading;
    assert!(taken.get() > WHOLE_BYTES_MAX);
    assert_eq!(
        reading.number("requests"),
        Some(((WHOLE_BYTES_MAX + (8 << 20)) / (line.len() + 2)) as f64)
    );
    assert_eq!(reading.number("output tokens, p95"), Some(11.0));
}

/// A pipe that fails.
struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::other("the disk is gone"));
        }
        let count = self.0.min(buffer.len());
        buffer[..count].fill(b'x');
        self.0 -= count;
        Ok(count)
    }
}

#[test]
fn a_machine_that_fails_is_no_fault_of_the_file() {
    for at in [0, 3, 5000] {
        let refusal = read("x", Broken(at)).map(|file| file.reading).unwrap_err();
        assert_eq!(refusal.cause, RefusalCause::Machine, "{refusal}");
        assert!(refusal.to_string().contains("the disk is gone"));
    }
}
