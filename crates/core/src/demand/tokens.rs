//! Numbers of tokens, counted in buckets of known width.

/// Values below are counted exactly.
const EXACT_BITS: u32 = 11;

/// Buckets of one power of two above that.
const BUCKETS_PER_OCTAVE: usize = 1 << (EXACT_BITS - 1);

/// Numbers of tokens of prompts and of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tokens {
    /// Of the prompts; `None` where the source states none.
    pub prompt: Option<TokenQuantiles>,
    /// Of the answers to requests that were served; `None` where the source states none.
    pub output: Option<TokenQuantiles>,
}

/// Quantiles of a number of tokens: the ⌈qn⌉-th smallest, exact below 2,048 and at most 0.1 % too
/// high above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenQuantiles {
    /// Requests that were counted.
    pub requests: u64,
    /// Mean, exact.
    pub mean: f64,
    /// The median.
    pub p50: u32,
    /// The 95th percentile.
    pub p95: u32,
    /// The 99th percentile.
    pub p99: u32,
    /// The largest, exact.
    pub max: u32,
}

/// Counts in buckets that widen with the value, as HdrHistogram does it: each power of two above
/// 2,048 has 1,024 equal buckets, so a bucket is at most 1/1,024 of its values wide. The number of
/// buckets is fixed: memory does not depend on the number of values.
#[derive(Clone, Debug)]
pub struct TokenCounter {
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
    max: u32,
}

impl Default for TokenCounter {
    fn default() -> Self {
        Self::new()
    }
}

impl TokenCounter {
    /// A counter of nothing yet.
    pub fn new() -> Self {
        let octaves = (u32::BITS - EXACT_BITS) as usize;
        let buckets = (1 << EXACT_BITS) + octaves * BUCKETS_PER_OCTAVE;
        Self { buckets: vec![0; buckets], count: 0, sum: 0, max: 0 }
    }

    /// Counts one number of tokens.
    pub fn add(&mut self, tokens: u32) {
        if let Some(bucket) = self.buckets.get_mut(bucket_of(tokens)) {
            *bucket += 1;
        }
        self.count += 1;
        self.sum += u64::from(tokens);
        self.max = self.max.max(tokens);
    }

    /// Mean of the values; `None` where there are none, or only zeros: then the source states no
    /// tokens.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.sum > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// What was counted; `None` where there is nothing, or only zeros: then the source states no
    /// tokens.
    pub fn quantiles(&self) -> Option<TokenQuantiles> {
        let mean = self.mean()?;
        Some(TokenQuantiles {
            requests: self.count,
            mean,
            p50: self.quantile(0.5),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max,
        })
    }

    fn quantile(&self, q: f64) -> u32 {
        let rank = crate::stats::quantile_rank(q, self.count as usize) as u64;
        let mut below = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            below += bucket;
            if below >= rank {
                return highest_of(index).min(self.max);
            }
        }
        self.max
    }
}

fn bucket_of(tokens: u32) -> usize {
    let bits = u32::BITS - tokens.leading_zeros();
    if bits <= EXACT_BITS {
        return tokens as usize;
    }
    let shift = bits - EXACT_BITS;
    // The leading bit is implied by the octave: what remains lies in 0..BUCKETS_PER_OCTAVE.
    let within = (tokens >> shift) as usize - BUCKETS_PER_OCTAVE;
    (1 << EXACT_BITS) + (shift as usize - 1) * BUCKETS_PER_OCTAVE + within
}

/// The largest value of a bucket.
fn highest_of(index: usize) -> u32 {
    let Some(above) = index.checked_sub(1 << EXACT_BITS) else { return index as u32 };
    let shift = above / BUCKETS_PER_OCTAVE + 1;
    let within = above % BUCKETS_PER_OCTAVE + BUCKETS_PER_OCTAVE;
    u32::try_from(((within as u64 + 1) << shift) - 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_every_number_once() {
        let mut expected = 0_u64;
        for index in 0..TokenCounter::new().buckets.len() {
            assert_eq!(bucket_of(expected as u32), index, "the lowest of bucket {index}");
            let highest = highest_of(index);
            assert_eq!(bucket_of(highest), index, "the highest of bucket {index}");
            let width = u64::from(highest) + 1 - expected;
            assert!(width == 1 || width as f64 / expected as f64 <= 1.0 / 1024.0);
            expected = u64::from(highest) + 1;
        }
        assert_eq!(expected, 1 << 32);
    }

    #[test]
    fn quantiles_of_the_first_thousand() {
        let mut counter = TokenCounter::new();
        for tokens in (1..=1000).rev() {
            counter.add(tokens);
        }
        let quantiles = counter.quantiles().unwrap();
        assert_eq!((quantiles.p50, quantiles.p95, quantiles.p99), (500, 950, 990));
        assert_eq!((quantiles.max, quantiles.requests), (1000, 1000));
        assert_eq!(quantiles.mean, 500.5);
    }

    #[test]
    fn zeros_alone_are_no_statement() {
        let mut counter = TokenCounter::new();
        assert_eq!(counter.quantiles(), None);
        counter.add(0);
        assert_eq!(counter.quantiles(), None);
        counter.add(u32::MAX);
        assert_eq!(counter.quantiles().unwrap().p99, u32::MAX);
    }
}
