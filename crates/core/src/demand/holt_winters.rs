//! Additive Holt–Winters: a level, a trend, and a season that repeat.

/// Candidates of each smoothing parameter: level, trend, season.
const LEVELS: [f64; 5] = [0.0, 0.05, 0.2, 0.4, 0.7];
const TRENDS: [f64; 3] = [0.0, 0.01, 0.1];
const SEASONS: [f64; 4] = [0.0, 0.1, 0.3, 0.6];

/// How fast level, trend and season follow what is seen, from 0 (never) to 1 (at once).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// α, of the level.
    pub level: f64,
    /// β, of the trend.
    pub trend: f64,
    /// γ, of the season.
    pub season: f64,
}

/// The state after some values: ℓ, b and the season of each place.
///
/// ℓ_t = α(y_t − s_{t−m}) + (1 − α)(ℓ_{t−1} + b_{t−1}), b_t = β(ℓ_t − ℓ_{t−1}) + (1 − β)b_{t−1},
/// s_t = γ(y_t − ℓ_t) + (1 − γ)s_{t−m}, and the forecast h steps ahead is ℓ_t + h·b_t + s_{t+h}
/// (Holt 1957; Winters, Management Science 6, 1960).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HoltWinters {
    smoothing: Smoothing,
    level: f64,
    trend: f64,
    season: Vec<f64>,
    /// Index of the next value.
    next: usize,
}

impl HoltWinters {
    /// Starts from the first two seasons: the trend is the mean change between them, the level the
    /// mean of the first one carried to its end, the season what is left of the first one. A straight
    /// line plus a season is met exactly. `None` where less than half of the places is known in both.
    pub(super) fn start(
        values: &[Option<f64>],
        period: usize,
        smoothing: Smoothing,
    ) -> Option<Self> {
        let (first, second) = (values.get(..period)?, values.get(period..2 * period)?);
        let pairs: Vec<(f64, f64)> = first
            .iter()
            .zip(second)
            .filter_map(|(one, other)| Some(((*one)?, (*other)?)))
            .collect();
        if 2 * pairs.len() < period || period < 2 {
            return None;
        }
        let n = pairs.len() as f64;
        let trend = pairs.iter().map(|(one, other)| other - one).sum::<f64>() / n / period as f64;
        let middle = (period - 1) as f64 / 2.0;
        // Each known value without its trend, so that unknown ones do not tilt the mean.
        let straight: Vec<Option<f64>> = first
            .iter()
            .zip(second)
            .enumerate()
            .map(|(index, (one, other))| {
                let ahead = trend * (index as f64 - middle);
                one.or(other.map(|value| value - trend * period as f64)).map(|value| value - ahead)
            })
            .collect();
        let mean = super::scores::mean(straight.iter().copied().flatten())?;
        Some(Self {
            smoothing,
            level: mean + trend * middle,
            trend,
            season: straight.iter().map(|value| value.map_or(0.0, |value| value - mean)).collect(),
            next: period,
        })
    }

    /// Takes the next value. What is not known changes nothing but the time.
    pub(super) fn see(&mut self, value: Option<f64>) {
        let place = self.next % self.season.len();
        let carried = self.level + self.trend;
        if let Some(value) = value {
            let Smoothing { level: alpha, trend: beta, season: gamma } = self.smoothing;
            let level = alpha * (value - self.season[place]) + (1.0 - alpha) * carried;
            self.trend = beta * (level - self.level) + (1.0 - beta) * self.trend;
            self.season[place] = gamma * (value - level) + (1.0 - gamma) * self.season[place];
            self.level = level;
        } else {
            self.level = carried;
        }
        self.next += 1;
    }

    /// The forecast of the value at an index at or after the next one; never below 0.
    pub(super) fn at(&self, index: usize) -> f64 {
        let ahead = (index + 1).saturating_sub(self.next) as f64;
        let season = self.season[index % self.season.len()];
        (self.level + ahead * self.trend + season).max(0.0)
    }
}

/// The parameters with the least squared error one day ahead on the training values: the best of a
/// fixed grid, of equally good ones the slowest. `None` where the values are too few to start.
pub(super) fn fit(training: &[Option<f64>], period: usize, ahead: usize) -> Option<Smoothing> {
    let mut best: Option<(f64, Smoothing)> = None;
    for level in LEVELS {
        for trend in TRENDS {
            for season in SEASONS {
                let smoothing = Smoothing { level, trend, season };
                let error = training_error(training, period, ahead, smoothing)?;
                if best.is_none_or(|(least, _)| error < least) {
                    best = Some((error, smoothing));
                }
            }
        }
    }
    best.map(|(_, smoothing)| smoothing)
}

/// Sum of the squared errors of forecasts `ahead` values from each value on.
fn training_error(
    training: &[Option<f64>],
    period: usize,
    ahead: usize,
    smoothing: Smoothing,
) -> Option<f64> {
    let mut model = HoltWinters::start(training, period, smoothing)?;
    let mut error = 0.0;
    for index in period..training.len() {
        if let Some(target) = training.get(index + ahead - 1).copied().flatten() {
            error += (target - model.at(index + ahead - 1)).powi(2);
        }
        model.see(training[index]);
    }
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMOOTHING: Smoothing = Smoothing { level: 0.5, trend: 0.1, season: 0.3 };

    #[test]
    fn a_straight_line_plus_a_season_is_met_exactly() {
        let season = [3.0, -1.0, 2.0, -4.0];
        let truth = |index: usize| 20.0 + 0.5 * index as f64 + season[index % 4];
        let values: Vec<Option<f64>> = (0..40).map(|index| Some(truth(index))).collect();
        let mut model = HoltWinters::start(&values, 4, SMOOTHING).unwrap();
        for value in &values[4..] {
            model.see(*value);
        }
        for index in 40..60 {
            assert!((model.at(index) - truth(index)).abs() < 1e-9, "{index}");
        }
        // A hole in it changes nothing.
        let mut holes = values.clone();
        (holes[2], holes[9], holes[10]) = (None, None, None);
        let mut model = HoltWinters::start(&holes, 4, SMOOTHING).unwrap();
        holes[4..].iter().for_each(|value| model.see(*value));
        assert!((model.at(51) - truth(51)).abs() < 1e-9);
    }

    #[test]
    fn one_step_is_that_of_the_formulas() {
        // First season 10, 20; second 14, 24: trend 4/2 = 2, mean 15, level 15 + 2 · 0.5 = 16,
        // season -4 and 4.
        let values = [10.0, 20.0, 14.0, 24.0].map(Some);
        let mut model = HoltWinters::start(&values, 2, SMOOTHING).unwrap();
        assert_eq!((model.level, model.trend), (16.0, 2.0));
        assert_eq!(model.season, [-4.0, 4.0]);
        // y = 20: level 0.5 · 24 + 0.5 · 18 = 21, trend 0.1 · 5 + 0.9 · 2 = 2.3,
        // season 0.3 · (-1) + 0.7 · (-4) = -3.1.
        model.see(Some(20.0));
        assert!((model.level - 21.0).abs() < 1e-12);
        assert!((model.trend - 2.3).abs() < 1e-12);
        assert!((model.season[0] + 3.1).abs() < 1e-12);
        // Two ahead: 21 + 2 · 2.3 - 3.1 = 22.5.
        assert!((model.at(4) - 22.5).abs() < 1e-12);
    }

    #[test]
    fn two_seasons_are_needed() {
        let values = vec![Some(1.0); 7];
        assert!(HoltWinters::start(&values, 4, SMOOTHING).is_none());
        assert!(fit(&values, 4, 1).is_none());
    }
}
