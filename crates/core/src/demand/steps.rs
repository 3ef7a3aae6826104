//! Requests folded into steps of time: the memory of a history of single requests.

/// The most steps that are kept. With steps of a second that is 24 days; a longer history gets
/// steps of two seconds, and so on.
pub const STEPS_MAX: usize = 1 << 21;

/// What happened in one step. The stays of requests in the engine are kept as changes, so that a
/// stay costs the same however long it is: summed up from the start they give the level at the end
/// of each step and the area below it. Lengths of time are milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Step {
    /// Requests that arrived.
    pub(super) requests: u64,
    pub(super) prompt_tokens: u64,
    pub(super) output_tokens: u64,
    /// Of the requests, those whose stay in the engine is still to be filled in.
    pub(super) without_stay: u32,
    /// Of the requests that were not served, those that state no prompt.
    pub(super) without_prompt: u32,
    /// Of the requests that were not served, those that state no answer.
    pub(super) without_output: u32,
    /// Change of the requests in flight at the end of the step.
    pub(super) in_flight: i64,
    /// Area that the change has gained by the end of the step, requests · ms.
    pub(super) in_flight_area_ms: i64,
    /// Change of the tokens in the cache at the end of the step.
    pub(super) kv: f64,
    /// Change of their growth, tokens per ms.
    pub(super) kv_growth: f64,
    /// Area that the change has gained by the end of the step, tokens · ms.
    pub(super) kv_area_ms: f64,
}

impl Step {
    /// The same changes at the end of a step that ends `length_ms` later.
    fn aged(&self, length_ms: i64) -> Self {
        let length = length_ms as f64;
        Self {
            in_flight_area_ms: self.in_flight_area_ms + self.in_flight.saturating_mul(length_ms),
            kv: self.kv + self.kv_growth * length,
            kv_area_ms: self.kv_area_ms + self.kv * length + self.kv_growth * length * length / 2.0,
            ..*self
        }
    }

    /// Adds what happened in a step with the same end.
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.prompt_tokens += other.prompt_tokens;
        self.output_tokens += other.output_tokens;
        self.without_stay += other.without_stay;
        self.without_prompt += other.without_prompt;
        self.without_output += other.without_output;
        self.in_flight += other.in_flight;
        self.in_flight_area_ms += other.in_flight_area_ms;
        self.kv += other.kv;
        self.kv_growth += other.kv_growth;
        self.kv_area_ms += other.kv_area_ms;
    }
}

/// Requests that stay in the engine from one instant to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stay {
    pub(super) from_ms: i64,
    pub(super) length_ms: i64,
    /// How many requests stay so.
    pub(super) requests: i64,
    /// Prompt tokens of all of them: in the cache from the start.
    pub(super) prompt_tokens: f64,
    /// Output tokens of all of them: they enter the cache evenly over the stay.
    pub(super) output_tokens: f64,
}

/// Steps without a hole between the first and the last one that was touched. A step begins at a
/// whole multiple of its length since 1970, so the order of requests does not matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// Base-2 logarithm of the step's length in seconds.
    doublings: u32,
    /// The place of `kept[0]`: its start is `first · length`.
    first: i64,
    /// The first and the last place that was touched.
    touched: Option<(i64, i64)>,
    kept: Vec<Step>,
}

impl Steps {
    pub(super) fn length_ms(&self) -> i64 {
        1000 << self.doublings
    }

    pub(super) fn length_s(&self) -> u64 {
        1 << self.doublings
    }

    /// The step that holds an instant, at the length of now.
    fn place(&self, at_ms: i64) -> i64 {
        at_ms.div_euclid(1000) >> self.doublings
    }

    /// The step of an instant, and its end in milliseconds.
    pub(super) fn at(&mut self, at_ms: i64) -> (&mut Step, i64) {
        self.reach(at_ms);
        let place = self.place(at_ms);
        let end_ms = (place + 1) * self.length_ms();
        let index = (place - self.first) as usize;
        (&mut self.kept[index], end_ms)
    }

    /// Adds requests that stay from one instant to another. The cache is filled in a straight line:
    /// the prompt at once, the answer evenly over the stay.
    pub(super) fn stay(&mut self, stay: &Stay) {
        if stay.length_ms <= 0 || stay.requests == 0 {
            return;
        }
        let growth = stay.output_tokens / stay.length_ms as f64;
        self.turn(stay.from_ms, stay.requests, stay.prompt_tokens, growth);
        let held = stay.prompt_tokens + stay.output_tokens;
        self.turn(stay.from_ms.saturating_add(stay.length_ms), -stay.requests, -held, -growth);
    }

    /// From `at_ms` on, the level of requests changes by `requests`, that of tokens by `tokens`, and
    /// the growth of tokens by `growth`.
    fn turn(&mut self, at_ms: i64, requests: i64, tokens: f64, growth: f64) {
        let (step, end_ms) = self.at(at_ms);
        let rest_ms = end_ms - at_ms;
        let rest = rest_ms as f64;
        step.in_flight += requests;
        step.in_flight_area_ms += requests * rest_ms;
        step.kv += tokens + growth * rest;
        step.kv_growth += growth;
        step.kv_area_ms += tokens * rest + growth * rest * rest / 2.0;
    }

    /// Makes room for an instant: at the end, in front, or by longer steps.
    fn reach(&mut self, at_ms: i64) {
        let place = self.place(at_ms);
        if let Some((low, high)) = self.touched
            && (low..=high).contains(&place)
        {
            return;
        }
        self.extend(at_ms);
    }

    #[cold]
    fn extend(&mut self, at_ms: i64) {
        let (mut low, mut high) = self.bounds_with(at_ms);
        while high - low >= STEPS_MAX as i64 {
            self.widen();
            (low, high) = self.bounds_with(at_ms);
        }
        if self.kept.is_empty() {
            self.first = low;
        }
        if low < self.first {
            self.grow_in_front((self.first - low) as usize, (high - low) as usize + 1);
        }
        let needed = (high - self.first) as usize + 1;
        if needed > STEPS_MAX {
            // Room in front that nobody took is given back.
            self.kept.drain(..(low - self.first) as usize);
            self.first = low;
        }
        let needed = (high - self.first) as usize + 1;
        if needed > self.kept.len() {
            self.kept.resize(needed, Step::default());
        }
        self.touched = Some((low, high));
    }

    fn bounds_with(&self, at_ms: i64) -> (i64, i64) {
        let place = self.place(at_ms);
        self.touched.map_or((place, place), |(low, high)| (low.min(place), high.max(place)))
    }

    /// Room in front for at least `needed` steps, and for as many as there are already, so that a
    /// source in descending order costs no more than one in ascending order.
    fn grow_in_front(&mut self, needed: usize, span: usize) {
        let spare = STEPS_MAX.saturating_sub(span.max(self.kept.len() + needed));
        let room = needed + self.kept.len().min(spare);
        let mut grown = vec![Step::default(); room];
        grown.append(&mut self.kept);
        self.kept = grown;
        self.first -= room as i64;
    }

    /// Joins the steps in pairs.
    fn widen(&mut self) {
        let length_ms = self.length_ms();
        let new_first = self.first >> 1;
        let mut joined = vec![Step::default(); self.kept.len() / 2 + 1];
        for (index, step) in self.kept.iter().enumerate() {
            let place = self.first + index as i64;
            let target = &mut joined[((place >> 1) - new_first) as usize];
            let is_earlier_half = place & 1 == 0;
            target.add(&if is_earlier_half { step.aged(length_ms) } else { *step });
        }
        self.kept = joined;
        self.first = new_first;
        self.doublings += 1;
        self.touched = self.touched.map(|(low, high)| (low >> 1, high >> 1));
    }

    /// Every step that may have been touched, with its start in ms.
    pub(super) fn all(&mut self) -> impl Iterator<Item = (i64, &mut Step)> {
        let (first, length_ms) = (self.first, self.length_ms());
        let starts = (first..).map(move |place| place * length_ms);
        starts.zip(self.kept.iter_mut())
    }

    /// The start of the first step in seconds, and the steps from that of one instant to that of
    /// another.
    pub(super) fn between(&self, from_ms: i64, until_ms: i64) -> (i64, &[Step]) {
        let (low, high) = (self.place(from_ms), self.place(until_ms));
        let range = (low - self.first) as usize..(high - self.first) as usize + 1;
        (low << self.doublings, self.kept.get(range).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests in flight and tokens at the end of each step, and their areas in it.
    fn levels(steps: &Steps) -> Vec<(i64, [f64; 4])> {
        let length = steps.length_ms() as f64;
        let (mut requests, mut tokens, mut growth) = (0.0, 0.0, 0.0);
        let places = steps.first..;
        places
            .zip(&steps.kept)
            .map(|(place, step)| {
                let area = requests * length + step.in_flight_area_ms as f64;
                let held = tokens * length + growth * length * length / 2.0 + step.kv_area_ms;
                requests += step.in_flight as f64;
                tokens += growth * length + step.kv;
                growth += step.kv_growth;
                (place, [requests, tokens, area, held])
            })
            .collect()
    }

    fn stays() -> Steps {
        let mut steps = Steps::default();
        for index in 0..40_i64 {
            steps.stay(&Stay {
                from_ms: (index * 7919) % 30_000 - 9000,
                length_ms: 1 + (index * 4217) % 12_000,
                requests: 1 + index % 3,
                prompt_tokens: (100 * (index + 1)) as f64,
                output_tokens: (30 * (index % 7)) as f64,
            });
        }
        steps
    }

    #[test]
    fn joined_steps_keep_levels_and_areas() {
        let mut steps = stays();
        for _ in 0..3 {
            let before = levels(&steps);
            steps.widen();
            for (place, [requests, tokens, area, held]) in levels(&steps) {
                let mut halves = before.iter().filter(|(half, _)| half >> 1 == place).peekable();
                if halves.peek().is_none() {
                    continue;
                }
                let (mut whole_area, mut whole_held) = (0.0, 0.0);
                for (half, level) in halves {
                    whole_area += level[2];
                    whole_held += level[3];
                    if half & 1 == 1 {
                        assert_eq!(requests, level[0]);
                        assert!((tokens - level[1]).abs() < 1e-6, "{tokens} {level:?}");
                        assert_eq!(area, whole_area);
                        assert!((held - whole_held).abs() < 1e-3, "{held} {whole_held}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_empty_engine_holds_nothing() {
        let steps = stays();
        let (_, [requests, tokens, ..]) = levels(&steps).pop().unwrap();
        assert_eq!(requests, 0.0);
        assert!(tokens.abs() < 1e-6);
        // Every stay counts by its length, and holds its prompt and half of its answer on average.
        let areas = levels(&steps);
        let area: f64 = areas.iter().map(|(_, level)| level[2]).sum();
        let held: f64 = areas.iter().map(|(_, level)| level[3]).sum();
        let mut expected = (0.0, 0.0);
        for index in 0..40_i64 {
            let length = (1 + (index * 4217) % 12_000) as f64;
            expected.0 += length * (1 + index % 3) as f64;
            expected.1 += length * ((100 * (index + 1)) as f64 + (15 * (index % 7)) as f64);
        }
        assert_eq!(area, expected.0);
        assert!((held - expected.1).abs() < 1e-3);
    }

    #[test]
    fn room_is_made_in_front_and_at_the_end() {
        let mut steps = Steps::default();
        for at_s in [100, 50, 5000, -20, 4, 1 << 21] {
            steps.at(at_s * 1000).0.requests += 1;
        }
        assert_eq!(steps.length_s(), 2);
        let (start_s, kept) = steps.between(-20_000, (1 << 21) * 1000);
        assert_eq!(start_s, -20);
        assert_eq!(kept.iter().map(|step| step.requests).sum::<u64>(), 6);
        assert_eq!(kept.len(), (1 << 20) + 11);
        assert!(steps.kept.len() <= STEPS_MAX);
    }
}
