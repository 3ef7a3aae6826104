//! The known word that was probably meant.

/// Longest word that is compared; a longer one is not a slip of the pen.
const WORD_CHARACTERS_MAX: usize = 64;

/// The candidate nearest to a word, if it is near: at most one change in three characters, by
/// Damerau–Levenshtein distance (insert, delete, replace, swap neighbours), ignoring case and
/// taking `-` for `_`.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = normalise(word);
    if word.is_empty() || word.len() > WORD_CHARACTERS_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &normalise(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn normalise(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
}

/// Optimal string alignment distance: Levenshtein's with swaps of neighbours.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (i, &from) in left.iter().enumerate() {
        let mut current = vec![i + 1];
        for (j, &to) in right.iter().enumerate() {
            let replaced = previous[j] + usize::from(from != to);
            let mut best = replaced.min(previous[j + 1] + 1).min(current[j] + 1);
            let is_swap = i > 0 && j > 0 && from == right[j - 1] && left[i - 1] == to;
            if is_swap {
                best = best.min(before[j - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["ttft_p95", "ttft_p99", "itl_p95", "endpoint", "gpu"];
        assert_eq!(nearest("ttft-p95", known), Some("ttft_p95"));
        assert_eq!(nearest("TTFT_P99", known), Some("ttft_p99"));
        assert_eq!(nearest("enpdoint", known), Some("endpoint"));
        assert_eq!(nearest("gup", known), Some("gpu"));
        assert_eq!(nearest("latency", known), None);
        assert_eq!(nearest("", known), None);
    }
}
