//! The content of prompts: made from a seed, different in every request within its first few words,
//! so that no prefix cache (they work in blocks of 16 tokens and more) makes one cheap.

use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

/// What stands in a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PromptForm {
    /// English words, cut at `tokens × bytes_per_token` bytes. The token count is an estimate;
    /// the server's usage record says what it really was.
    Words {
        /// Bytes of this text that one token of the model covers: 1 for a byte model, about 4.5
        /// for the tokenizers of large models.
        bytes_per_token: f64,
    },
    /// Token ids, drawn evenly from `[id_min, id_max]`: exact lengths. Only completions take them.
    TokenIds {
        /// Least id.
        id_min: u32,
        /// Largest id; must be in the model's vocabulary and below its special tokens.
        id_max: u32,
    },
}

/// Words that common tokenizers know whole.
const WORDS: [&str; 64] = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "man",
    "thing",
    "woman",
    "life",
    "child",
    "world",
    "school",
    "state",
    "family",
    "student",
    "group",
    "country",
    "problem",
    "hand",
    "part",
    "place",
    "case",
    "week",
    "company",
    "system",
    "program",
    "question",
    "work",
    "government",
    "number",
    "night",
    "point",
    "home",
    "water",
    "room",
    "mother",
    "area",
    "money",
    "story",
    "fact",
    "month",
    "lot",
    "right",
    "study",
    "book",
    "eye",
    "job",
    "word",
    "business",
    "issue",
    "side",
    "kind",
    "head",
    "house",
    "service",
    "friend",
    "father",
    "power",
    "hour",
    "game",
    "line",
    "end",
    "member",
    "law",
];

/// Appends the prompt as JSON (a string or an array of numbers).
pub(super) fn append_prompt(out: &mut Vec<u8>, form: PromptForm, tokens: u32, seed: u64) {
    let mut random = Pcg64::seed_from_u64(seed);
    match form {
        PromptForm::Words { bytes_per_token } => {
            let bytes = (f64::from(tokens) * bytes_per_token).round().max(1.0) as usize;
            out.push(b'"');
            append_words(out, bytes, &mut random);
            out.push(b'"');
        }
        PromptForm::TokenIds { id_min, id_max } => {
            out.push(b'[');
            for position in 0..tokens.max(1) {
                if position > 0 {
                    out.push(b',');
                }
                let id = random.random_range(id_min..=id_max.max(id_min));
                append_number(out, id);
            }
            out.push(b']');
        }
    }
}

/// Exactly `bytes` bytes of words with a space after each. One draw of 64 bits picks ten words.
fn append_words(out: &mut Vec<u8>, bytes: usize, random: &mut Pcg64) {
    let end = out.len() + bytes;
    out.reserve(bytes + 16);
    while out.len() < end {
        let mut bits = random.next_u64();
        for _ in 0..10 {
            out.extend_from_slice(WORDS[(bits & 63) as usize].as_bytes());
            out.push(b' ');
            bits >>= 6;
        }
    }
    out.truncate(end);
}

pub(super) fn append_number(out: &mut Vec<u8>, number: u32) {
    // Ten digits hold every 32-bit number.
    let mut digits = [0_u8; 10];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(form: PromptForm, tokens: u32, seed: u64) -> serde_json::Value {
        let mut out = Vec::new();
        append_prompt(&mut out, form, tokens, seed);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn words_have_the_size_asked_for_and_differ_from_the_start() {
        let form = PromptForm::Words { bytes_per_token: 4.5 };
        let mut starts = std::collections::BTreeSet::new();
        for seed in 0..1000 {
            let text = prompt(form, 100, seed);
            let text = text.as_str().unwrap();
            assert_eq!(text.len(), 450);
            starts.insert(text[..40].to_owned());
        }
        assert_eq!(starts.len(), 1000);
        assert_eq!(prompt(form, 100, 7), prompt(form, 100, 7));
        assert_eq!(
            prompt(PromptForm::Words { bytes_per_token: 1.0 }, 3, 1).as_str().unwrap().len(),
            3
        );
    }

    #[test]
    fn token_ids_are_as_many_as_asked_for_and_in_range() {
        let form = PromptForm::TokenIds { id_min: 1000, id_max: 1009 };
        let ids = prompt(form, 500, 3);
        let ids = ids.as_array().unwrap();
        assert_eq!(ids.len(), 500);
        assert!(ids.iter().all(|id| (1000..=1009).contains(&id.as_u64().unwrap())));
        let mut numbers = Vec::new();
        for number in [0, 9, 10, u32::MAX] {
            append_number(&mut numbers, number);
            numbers.push(b' ');
        }
        assert_eq!(numbers, b"0 9 10 4294967295 ");
    }
}
