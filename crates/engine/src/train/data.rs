//! Synthetic training text: short English-like sentences from a small grammar.
//!
//! The text has structure at two scales, spelling and word order, so that the loss really falls; and each batch is a pure
//! function of the seed and the step, so that a resumed run sees what an uninterrupted one would have seen.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

const DETERMINERS: [&str; 4] = ["the", "a", "every", "some"];
const ADJECTIVES: [&str; 8] =
    ["quiet", "busy", "small", "red", "late", "shared", "cold", "patient"];
const NOUNS: [&str; 10] = [
    "server", "queue", "trainer", "router", "window", "engineer", "tenant", "kernel", "batch",
    "night",
];
const VERBS: [&str; 8] =
    ["waits for", "feeds", "watches", "outruns", "yields to", "wakes", "measures", "follows"];
const ADVERBS: [&str; 6] = ["slowly", "again", "at noon", "without fail", "together", "twice"];

/// Longest stretch of text that is skipped before a row begins, so that rows do not all begin with a sentence.
const SKIP_BYTES_MAX: usize = 64;

/// One batch: for each row `sequence + 1` bytes, of which the first `sequence` are inputs and the last `sequence` are
/// targets.
pub(crate) fn batch(seed: u64, step: u64, rows: usize, sequence: usize) -> Vec<Vec<u8>> {
    (0..rows).map(|row| row_text(seed, step, row as u64, sequence + 1)).collect()
}

fn row_text(seed: u64, step: u64, row: u64, bytes: usize) -> Vec<u8> {
    let mut random = Pcg64::seed_from_u64(mix(seed ^ mix(step ^ mix(row))));
    let skip = random.random_range(0..SKIP_BYTES_MAX);
    let mut text = String::new();
    while text.len() < skip + bytes {
        push_sentence(&mut text, &mut random);
    }
    text.as_bytes()[skip..skip + bytes].to_vec()
}

fn push_sentence(text: &mut String, random: &mut Pcg64) {
    push_noun_phrase(text, random);
    text.push(' ');
    text.push_str(pick(&VERBS, random));
    text.push(' ');
    push_noun_phrase(text, random);
    if random.random_bool(0.5) {
        text.push(' ');
        text.push_str(pick(&ADVERBS, random));
    }
    text.push_str(if random.random_bool(0.8) { ". " } else { ".\n" });
}

fn push_noun_phrase(text: &mut String, random: &mut Pcg64) {
    text.push_str(pick(&DETERMINERS, random));
    text.push(' ');
    if random.random_bool(0.4) {
        text.push_str(pick(&ADJECTIVES, random));
        text.push(' ');
    }
    text.push_str(pick(&NOUNS, random));
}

fn pick<'a>(words: &[&'a str], random: &mut Pcg64) -> &'a str {
    words[random.random_range(0..words.len())]
}

/// Spreads neighbouring numbers over all 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_batch_depends_on_seed_and_step_alone() {
        assert_eq!(batch(1, 5, 3, 80), batch(1, 5, 3, 80));
        assert_ne!(batch(1, 5, 3, 80), batch(1, 6, 3, 80));
        assert_ne!(batch(1, 5, 3, 80), batch(2, 5, 3, 80));
        // More rows do not change the first ones.
        assert_eq!(batch(1, 5, 2, 80), batch(1, 5, 3, 80)[..2]);
    }

    #[test]
    fn rows_have_the_asked_length_and_differ() {
        let rows: Vec<Vec<u8>> = (0..50).flat_map(|step| batch(0, step, 4, 100)).collect();
        assert!(rows.iter().all(|row| row.len() == 101 && row.is_ascii()));
        assert_eq!(rows.iter().collect::<HashSet<_>>().len(), 200);
    }
}
