//! Finding a model in what people write and tools print: `H100-SXM5-80GB`, `NVIDIA A100 80GB PCIe`,
//! `tesla_v100-sxm2-32gb`, `0x2330`, `10de:20b5`.
//!
//! A text is taken apart into words, and every word must be explained by the model: one word that is
//! not, and the text means another model. So an unknown card stays unknown instead of becoming its
//! neighbour: `RTX 6000 Ada` is no `RTX PRO 6000`, and `H100` alone is three or four cards.

use super::catalogue::{GEFORCE, SKUS};
use super::{Architecture, Sku};

/// The one model that a text means. `None` where no model or more than one fits; [`candidates`] tells
/// which.
pub fn find(text: &str) -> Option<&'static Sku> {
    match candidates(text).as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// Every model that a text may mean, in the order of the catalogue; none where it is unknown.
pub fn candidates(text: &str) -> Vec<&'static Sku> {
    if let Some(id) = pci_id(text) {
        return SKUS
            .into_iter()
            .filter(|sku| sku.pci.iter().any(|device| device.id == id))
            .collect();
    }
    if let Some(sku) = SKUS.into_iter().find(|sku| sku.id.eq_ignore_ascii_case(text.trim())) {
        return vec![sku];
    }
    let words = words(text);
    let found: Vec<_> = SKUS.into_iter().filter(|sku| is_spelled(sku, &words)).collect();
    if found.is_empty() && is_geforce(&words) { vec![&GEFORCE] } else { found }
}

/// A PCI device id of NVIDIA's: `0x2330`, `0x233010DE` (as NVML gives it), `10de:2330` or
/// `[10de:2330]` (as lspci does). Four digits without any of this are no id: `2080` is a card.
fn pci_id(text: &str) -> Option<u16> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let digits = match text.strip_prefix("0x") {
        Some(digits) if digits.len() == 8 => digits.strip_suffix("10de")?,
        Some(digits) => digits,
        None if text.len() == 8 && text.ends_with("10de") => &text[..4],
        None => text.strip_prefix("10de:")?,
    };
    let is_id = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { u16::from_str_radix(digits, 16).ok() } else { None }
}

/// Words that say only whose and what kind of thing it is.
const NOISE: [&str; 9] =
    ["nvidia", "tesla", "tensor", "core", "gpu", "graphics", "card", "accelerator", "shared"];

/// Words that are often glued to the one before them: `H100SXM5`, `3080Ti`.
const GLUED: [&str; 7] = ["sxm", "sxm4", "sxm5", "sxm6", "pcie", "nvl", "ti"];

/// The words of a name, in small letters, without noise, with units joined to their numbers.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase().replace(['(', ')', '®', '™', ','], " ");
    let mut words: Vec<String> = Vec::new();
    let parts = lower.split(|c: char| c.is_whitespace() || c == '-' || c == '_' || c == '/');
    for part in parts.filter(|part| !part.is_empty()) {
        let previous = words.last().map(String::as_str);
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        match part {
            "gb" | "g" | "gib" if previous.is_some_and(is_number) => join(&mut words, "gb"),
            "q" if previous == Some("max") => join(&mut words, "q"),
            _ if NOISE.contains(&part) => {}
            _ => separate(part, &mut words),
        }
    }
    words
}

fn join(words: &mut [String], end: &str) {
    if let Some(last) = words.last_mut() {
        last.push_str(end);
    }
}

/// Adds a word, or the two or three that were written as one.
fn separate(part: &str, words: &mut Vec<String>) {
    let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    for start in ["rtx", "gtx", "geforce", "pro"] {
        if let Some(rest) = part.strip_prefix(start).filter(|rest| has_digit(rest)) {
            words.push(start.to_owned());
            return separate(rest, words);
        }
    }
    for unit in ["gib", "g"] {
        let number = part.strip_suffix(unit).filter(|number| number.parse::<u32>().is_ok());
        if let Some(number) = number {
            return words.push(format!("{number}gb"));
        }
    }
    for end in GLUED {
        if let Some(front) = part.strip_suffix(end).filter(|front| has_digit(front)) {
            words.extend([front.to_owned(), end.to_owned()]);
            return;
        }
    }
    words.push(part.to_owned());
}

/// Whether every word is explained by one spelling of a model, and none of that spelling is missing.
fn is_spelled(sku: &Sku, words: &[String]) -> bool {
    sku.spellings.iter().any(|spelling| {
        let has = |wanted: &&str| words.iter().any(|word| word == wanted);
        let is_explained = |word: &String| {
            let word = word.as_str();
            spelling.all.contains(&word)
                || spelling.also.contains(&word)
                || names_architecture(word, sku.architecture)
        };
        spelling.all.iter().all(has) && words.iter().all(is_explained)
    })
}

/// Whether a word names a generation and it is that of the card.
fn names_architecture(word: &str, architecture: Architecture) -> bool {
    match word {
        "ampere" => architecture == Architecture::Ampere,
        "ada" | "lovelace" => architecture == Architecture::Ada,
        "hopper" => architecture == Architecture::Hopper,
        "blackwell" => {
            matches!(architecture, Architecture::Blackwell | Architecture::BlackwellUltra)
        }
        "ultra" => architecture == Architecture::BlackwellUltra,
        "volta" => architecture == Architecture::Volta,
        "turing" => architecture == Architecture::Turing,
        "pascal" => architecture == Architecture::Pascal,
        _ => false,
    }
}

/// Whether the words name some GeForce: the word itself or `RTX`/`GTX`, one model number, and nothing
/// but the usual endings. Numbers in whole thousands are those of professional cards.
fn is_geforce(words: &[String]) -> bool {
    let is_model = |word: &str| {
        word.len() >= 3
            && word.parse::<u32>().is_ok_and(|n| (700..10_000).contains(&n) && n % 1000 != 0)
    };
    let is_family = |word: &str| matches!(word, "geforce" | "rtx" | "gtx");
    let is_ending = |word: &str| {
        matches!(word, "ti" | "super" | "laptop" | "mobile" | "d" | "maxq")
            || word.strip_suffix("gb").is_some_and(|size| size.parse::<u32>().is_ok())
    };
    let count = |test: &dyn Fn(&str) -> bool| words.iter().filter(|word| test(word)).count();
    count(&is_family) >= 1
        && count(&is_model) == 1
        && words.iter().all(|word| is_family(word) || is_model(word) || is_ending(word))
}
