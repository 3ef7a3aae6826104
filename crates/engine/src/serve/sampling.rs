//! Choosing the next token from logits.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::{TokenId, Tokenizer};

/// How a request wants its tokens chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingSettings {
    /// 0 takes the most likely token.
    pub(crate) temperature: f32,
    /// Share of probability from which to draw, most likely tokens first (Holtzman et al., 2020); 1 for all.
    pub(crate) top_p: f32,
    /// Whether the end of the text may not be drawn.
    pub(crate) ignore_end: bool,
    /// Seed of this request's draws.
    pub(crate) seed: u64,
}

/// The random state of one request.
#[derive(Debug)]
pub(crate) struct Sampler {
    settings: SamplingSettings,
    random: Pcg64,
}

impl Sampler {
    pub(crate) fn new(settings: SamplingSettings) -> Self {
        Self { settings, random: Pcg64::seed_from_u64(settings.seed) }
    }

    /// Chooses among the tokens that may be generated.
    pub(crate) fn choose(&mut self, logits: &[f32]) -> TokenId {
        let allowed = |&(token, _): &(TokenId, f32)| {
            Tokenizer.is_text(token) || (token == Tokenizer::END && !self.settings.ignore_end)
        };
        let mut candidates: Vec<(TokenId, f32)> =
            (0..).zip(logits.iter().copied()).filter(allowed).collect();
        // A stable order makes equal logits give equal tokens: the lower id first.
        candidates.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let Some(&(best, largest)) = candidates.first() else { return Tokenizer::END };
        if self.settings.temperature == 0.0 {
            return best;
        }
        for (_, weight) in &mut candidates {
            *weight = ((*weight - largest) / self.settings.temperature).exp();
        }
        let total: f32 = candidates.iter().map(|(_, weight)| weight).sum();
        let kept = nucleus(&candidates, self.settings.top_p * total);
        let kept_total: f32 = kept.iter().map(|(_, weight)| weight).sum();
        let mut remaining = self.random.random::<f32>() * kept_total;
        for &(token, weight) in kept {
            remaining -= weight;
            if remaining < 0.0 {
                return token;
            }
        }
        // Rounding can leave a rest of the order of the last bit.
        kept.last().map_or(best, |&(token, _)| token)
    }
}

/// The shortest prefix whose weights reach `mass`; never empty.
fn nucleus(candidates: &[(TokenId, f32)], mass: f32) -> &[(TokenId, f32)] {
    let mut sum = 0.0;
    for (index, (_, weight)) in candidates.iter().enumerate() {
        sum += weight;
        if sum >= mass {
            return &candidates[..=index];
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VOCABULARY_SIZE;

    fn settings(temperature: f32, top_p: f32) -> SamplingSettings {
        SamplingSettings { temperature, top_p, ignore_end: true, seed: 9 }
    }

    fn logits(values: &[(char, f32)]) -> Vec<f32> {
        let mut logits = vec![-30.0; VOCABULARY_SIZE];
        for &(character, value) in values {
            logits[character as usize] = value;
        }
        logits
    }

    #[test]
    fn greedy_takes_the_largest_logit_that_is_text() {
        let mut logits = logits(&[('a', 1.0), ('b', 2.0)]);
        logits[200] = 9.0;
        logits[Tokenizer::END as usize] = 8.0;
        assert_eq!(Sampler::new(settings(0.0, 1.0)).choose(&logits), u32::from(b'b'));
        let may_end = SamplingSettings { ignore_end: false, ..settings(0.0, 1.0) };
        assert_eq!(Sampler::new(may_end).choose(&logits), Tokenizer::END);
    }

    #[test]
    fn draws_follow_the_softmax() {
        // Odds of 3 to 1 at temperature 1, of 9 to 1 at temperature 1/2.
        let logits = logits(&[('a', 3f32.ln()), ('b', 0.0)]);
        for (temperature, expected) in [(1.0, 0.75), (0.5, 0.9)] {
            let mut sampler = Sampler::new(settings(temperature, 1.0));
            let hits = (0..4000).filter(|_| sampler.choose(&logits) == u32::from(b'a')).count();
            // Four standard errors of a share from 4,000 draws are below 0.03.
            assert!((hits as f64 / 4000.0 - expected).abs() < 0.03, "{hits}");
        }
    }

    #[test]
    fn a_small_nucleus_is_greedy_and_equal_seeds_draw_equal_tokens() {
        let logits = logits(&[('a', 1.0), ('b', 0.9), ('c', 0.8)]);
        let mut sampler = Sampler::new(settings(1.0, 0.01));
        assert!((0..50).all(|_| sampler.choose(&logits) == u32::from(b'a')));
        let draw = || -> Vec<TokenId> {
            let mut sampler = Sampler::new(settings(1.0, 1.0));
            (0..50).map(|_| sampler.choose(&logits)).collect()
        };
        assert_eq!(draw(), draw());
    }
}
