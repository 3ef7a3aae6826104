//! What demand is to be expected in the windows of a calendar, and how far off that may be.

use super::conformal::{Residuals, adapted_alpha, supported_level, supported_sentence};
use super::holt_winters::{HoltWinters, Smoothing, fit};
use super::local::{WallClock, WallWindows};
use super::refusal::DemandRefusal;
use super::scores::{mase, mean, pinball_loss};
use super::series::{Series, WorkUnit};
use crate::plan::Grid;

/// Days of a season.
const WEEK: usize = 7;

/// How fast the miscoverage adapts, a day: the rate of the experiments of Gibbs & Candès (2021).
const ADAPTING: f64 = 0.005;

/// Errors below this share of what they are measured in are rounding.
const ROUNDING: f64 = 1e-9;

/// A forecast for each window of a calendar.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The unit of every value.
    pub unit: WorkUnit,
    /// The method whose forecasts these are.
    pub method: ForecastMethod,
    /// One for each window of the calendar.
    pub windows: Vec<ForecastWindow>,
    /// The miscoverage that was asked for.
    pub alpha: f64,
    /// The level that each bound has: 1 − α, or less where the history is too short.
    pub level: f64,
    /// The miscoverage that adaptive conformal inference arrived at. The bounds use it where it is
    /// below [`Self::alpha`]: then bounds failed more often than they may.
    pub adapted_alpha: f64,
    /// Days on which forecasts were compared with what came.
    pub calibration_days: u32,
    /// The scores of each method on the same days.
    pub scores: Vec<Score>,
    /// One sentence: which method, why, and what the history supports.
    pub sentence: String,
}

/// A way to forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForecastMethod {
    /// The mean of the same window last week, or of the last week in which it is known.
    SeasonalNaive,
    /// Additive Holt–Winters.
    HoltWinters {
        /// Its parameters, chosen on days before those on which it was scored.
        smoothing: Smoothing,
        /// Days of its season: 7, or 1 where the history is shorter than three weeks.
        season_days: u32,
    },
}

impl ForecastMethod {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::SeasonalNaive => "seasonal naive",
            Self::HoltWinters { .. } => "Holt–Winters",
        }
    }
}

/// The mean demand of one window. `None` where no week of the history knows the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForecastWindow {
    /// What is expected.
    pub point: Option<f64>,
    /// The demand is at least this, at [`Forecast::level`]; never below 0. `None` where no forecast
    /// could be compared with what came.
    pub lower: Option<f64>,
    /// The demand is at most this, at [`Forecast::level`].
    pub upper: Option<f64>,
}

/// How a method did on days that it had not seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The method.
    pub method: ForecastMethod,
    /// Days that were forecast.
    pub days: u32,
    /// Mean absolute scaled error ([`mase`]).
    pub mase: f64,
    /// Mean pinball loss at 1 − α of the upper bound that days before would have given, in the unit
    /// of the demand; `None` where there is but one day.
    pub pinball: Option<f64>,
}

impl Score {
    /// Whether it is better than another on one measure and no worse on the other.
    fn beats(&self, other: &Self) -> bool {
        let (mine, theirs) =
            (self.pinball.unwrap_or(f64::INFINITY), other.pinball.unwrap_or(f64::INFINITY));
        let no_worse = self.mase <= other.mase && mine <= theirs;
        no_worse && (self.mase < other.mase || mine < theirs)
    }
}

/// Forecasts the mean demand of each window of a calendar.
///
/// Two methods are scored on days that they have not seen, from a rolling origin: each day is
/// forecast from as many days before as the last day of the calendar lies behind the history, and
/// from the first origin where there are not so many. Holt–Winters is used only where it is better
/// by MASE or pinball loss and worse by neither, and only where it was scored as far ahead as the
/// calendar reaches; its parameters come from the days before the first origin.
///
/// The bounds are split conformal: the error at the same time of the day on n days, of which the
/// ⌈(n + 1)(1 − α)⌉-th smallest is added. Where n is too small the largest is added, and the level is
/// n/(n + 1). The miscoverage adapts to how often the bounds of one day after the other failed
/// ([`adapted_alpha`]), and only the stricter counts. Each bound holds at that level by itself, if the day ahead is like those before.
///
/// Refuses an alpha that is no share, a calendar without windows, and a history below a week.
pub fn forecast(series: &Series, grid: &Grid, alpha: f64) -> Result<Forecast, DemandRefusal> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(DemandRefusal::Alpha { alpha });
    }
    if grid.windows.is_empty() {
        return Err(DemandRefusal::NoWindows);
    }
    let past = Past::of(series, grid)?;
    let targets = past.targets(grid);
    let horizon_days = past.horizon_days(&targets);
    let naive = Trial::of(&past, &past.naive(horizon_days), alpha, ForecastMethod::SeasonalNaive);
    let rival = past.holt_winters(horizon_days).map(|(method, forecasts)| {
        // Both are scored on the days that Holt–Winters has not seen.
        let from = forecasts.iter().position(Option::is_some).unwrap_or(0);
        let mut same_days = past.naive(horizon_days);
        same_days[..from].fill(None);
        let naive = Trial::of(&past, &same_days, alpha, ForecastMethod::SeasonalNaive);
        (naive.score, Trial::of(&past, &forecasts, alpha, method))
    });
    let wins = rival.as_ref().is_some_and(
        |(naive, rival)| matches!((naive, rival.score), (Some(n), Some(r)) if r.beats(n)),
    );
    let scores: Vec<Score> = match &rival {
        Some((naive_score, rival)) => [*naive_score, rival.score].into_iter().flatten().collect(),
        None => naive.score.into_iter().collect(),
    };
    let chosen = match rival {
        Some((_, rival)) if wins => rival,
        _ => naive,
    };
    Ok(past.answer(series.unit, &targets, &chosen, scores, alpha))
}

/// The history in whole days of windows by the clock on the wall.
struct Past {
    /// Windows of a day.
    per_day: usize,
    window_s: i64,
    /// The place of the first value: windows since 1970 by the clock on the wall.
    first: i64,
    values: Vec<Option<f64>>,
}

/// One method on the days that it had not seen.
struct Trial {
    method: ForecastMethod,
    residuals: Residuals,
    /// The miscoverage that would have held on these days.
    adapted_alpha: f64,
    score: Option<Score>,
}

impl Past {
    /// From the midnight before the first known window to the last known window.
    fn of(series: &Series, grid: &Grid) -> Result<Self, DemandRefusal> {
        let windows = WallWindows::of(series, &grid.time_zone, grid.window_minutes);
        let per_day = windows.per_day();
        let mut values: Vec<Option<f64>> =
            windows.windows.iter().map(|window| window.map(|window| window.mean)).collect();
        let begin = values.iter().position(Option::is_some).unwrap_or(0);
        let end = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        values.truncate(end);
        if end - begin < WEEK * per_day {
            return Err(DemandRefusal::TooShort { days: (end - begin) as f64 / per_day as f64 });
        }
        let window_s = i64::from(grid.window_minutes) * 60;
        let first = windows.first_day * per_day as i64;
        Ok(Self { per_day, window_s, first, values })
    }

    /// Days, of which the last may be open.
    fn days(&self) -> usize {
        self.values.len().div_ceil(self.per_day)
    }

    /// The place of each window of the calendar, counted from the first value.
    fn targets(&self, grid: &Grid) -> Vec<i64> {
        let mut clock = WallClock::new(&grid.time_zone);
        let place = |wall_s: i64| wall_s.div_euclid(self.window_s) - self.first;
        grid.windows.iter().map(|window| place(clock.second(window.start.as_second()))).collect()
    }

    /// The last known value a whole number of weeks before a place, before the place `origin`.
    fn same_window(&self, place: i64, origin: usize) -> Option<f64> {
        let week = (WEEK * self.per_day) as i64;
        let origin = origin.min(self.values.len()) as i64;
        let first = place.rem_euclid(week);
        // The latest place before both the origin and the target that lies in the same window.
        let latest = place.min(origin) - 1;
        let mut at = latest - (latest - first).rem_euclid(week);
        while at >= 0 {
            if let Some(value) = self.values[at as usize] {
                return Some(value);
            }
            at -= week;
        }
        None
    }

    /// For each past window from the second week on what the naive method says that many days
    /// ahead, or from the end of the first week where that is nearer.
    fn naive(&self, horizon_days: usize) -> Vec<Option<f64>> {
        let mut forecasts = vec![None; self.values.len()];
        for (place, forecast) in forecasts.iter_mut().enumerate().skip(WEEK * self.per_day) {
            let origin_day = (place / self.per_day + 1).saturating_sub(horizon_days).max(WEEK);
            *forecast = self.same_window(place as i64, origin_day * self.per_day);
        }
        forecasts
    }

    /// Holt–Winters on the days that it had not seen; `None` where the history is too short for it,
    /// or the calendar reaches further ahead than it could be scored.
    fn holt_winters(&self, horizon_days: usize) -> Option<(ForecastMethod, Vec<Option<f64>>)> {
        let days = self.days();
        let season_days = if days >= 3 * WEEK { WEEK } else { 1 };
        let training_days = (season_days * 2).max(WEEK);
        if days <= training_days || horizon_days > days - training_days {
            return None;
        }
        let period = season_days * self.per_day;
        let training = &self.values[..training_days * self.per_day];
        let smoothing = fit(training, period, self.per_day)?;
        let mut model = HoltWinters::start(&self.values, period, smoothing)?;
        let mut forecasts = vec![None; self.values.len()];
        for place in period..self.values.len() {
            if place % self.per_day == 0 && place / self.per_day >= training_days {
                let origin_day = place / self.per_day;
                // From the first origin every day of the horizon; from later ones the last alone.
                let last = origin_day + horizon_days - 1;
                let from = if origin_day == training_days { origin_day } else { last };
                for target in from * self.per_day..(last + 1) * self.per_day {
                    if let Some(slot) = forecasts.get_mut(target) {
                        *slot = Some(model.at(target));
                    }
                }
            }
            model.see(self.values[place]);
        }
        let season_days = season_days as u32;
        Some((ForecastMethod::HoltWinters { smoothing, season_days }, forecasts))
    }

    /// Days from the end of the history to the end of the calendar.
    fn horizon_days(&self, targets: &[i64]) -> usize {
        let last = targets.last().copied().unwrap_or(0).max(0) as usize;
        (last + 1).saturating_sub(self.values.len()).div_ceil(self.per_day).max(1)
    }

    fn answer(
        &self,
        unit: WorkUnit,
        targets: &[i64],
        chosen: &Trial,
        scores: Vec<Score>,
        alpha: f64,
    ) -> Forecast {
        let points = self.points(targets, chosen.method);
        let stricter = chosen.adapted_alpha.min(alpha);
        let windows = targets
            .iter()
            .zip(points)
            .map(|(place, point)| {
                let slot = place.rem_euclid(self.per_day as i64) as usize;
                let bound = |up: bool| {
                    let margin = chosen.residuals.bound(slot, stricter, up)?;
                    Some((point? + margin).max(0.0))
                };
                ForecastWindow { point, lower: bound(false), upper: bound(true) }
            })
            .collect();
        let calibration_days = chosen.residuals.days();
        Forecast {
            unit,
            method: chosen.method,
            windows,
            alpha,
            level: supported_level(calibration_days, alpha),
            calibration_days,
            adapted_alpha: chosen.adapted_alpha,
            sentence: sentence(chosen.method, &scores, calibration_days, alpha),
            scores,
        }
    }

    /// The forecasts of the calendar's windows from everything that is known.
    fn points(&self, targets: &[i64], method: ForecastMethod) -> Vec<Option<f64>> {
        let naive = |place: &i64| self.same_window(*place, self.values.len());
        let ForecastMethod::HoltWinters { smoothing, season_days } = method else {
            return targets.iter().map(naive).collect();
        };
        let period = season_days as usize * self.per_day;
        let Some(mut model) = HoltWinters::start(&self.values, period, smoothing) else {
            return targets.iter().map(naive).collect();
        };
        self.values[period..].iter().for_each(|value| model.see(*value));
        let end = self.values.len() as i64;
        targets
            .iter()
            .map(|place| if *place < end { naive(place) } else { Some(model.at(*place as usize)) })
            .collect()
    }
}

impl Trial {
    /// Compares forecasts of past windows with what came.
    fn of(past: &Past, forecasts: &[Option<f64>], alpha: f64, method: ForecastMethod) -> Self {
        let mut residuals = Residuals::new(past.per_day);
        let mut losses = Vec::new();
        let mut days = 0;
        let mut adapted = alpha;
        let first = forecasts.iter().position(Option::is_some).unwrap_or(past.values.len());
        for day in forecasts.chunks(past.per_day).zip(past.values.chunks(past.per_day)) {
            let errors: Vec<(usize, f64, f64)> = day
                .0
                .iter()
                .zip(day.1)
                .enumerate()
                .filter_map(|(slot, (forecast, value))| Some((slot, (*forecast)?, (*value)?)))
                .collect();
            let (mut bounded, mut missed) = (0_u32, 0_u32);
            for (slot, forecast, value) in &errors {
                // The bound that the days before would have given.
                let Some(margin) = residuals.bound(*slot, adapted, true) else { continue };
                let bound = (forecast + margin).max(0.0);
                losses.push(pinball_loss(1.0 - alpha, *value, bound));
                bounded += 1;
                missed += u32::from(*value > bound * (1.0 + ROUNDING));
            }
            if bounded > 0 {
                let share = f64::from(missed) / f64::from(bounded);
                adapted = adapted_alpha(adapted, alpha, share, ADAPTING);
            }
            days += u32::from(!errors.is_empty());
            for (slot, forecast, value) in errors {
                residuals.add(slot, value - forecast);
            }
        }
        // What is left of a sum that cancels is no error.
        let level = mean(past.values.iter().copied().flatten()).unwrap_or(0.0);
        let without_dust =
            |error: f64, unit: f64| if error <= ROUNDING * unit { 0.0 } else { error };
        let score = mase(&past.values[..first], &past.values, forecasts).map(|mase| Score {
            method,
            days,
            mase: without_dust(mase, 1.0),
            pinball: mean(losses.into_iter()).map(|loss| without_dust(loss, level)),
        });
        Self { method, residuals, adapted_alpha: adapted, score }
    }
}

fn sentence(method: ForecastMethod, scores: &[Score], days: u32, alpha: f64) -> String {
    let by_scores = match scores {
        [] => "there is no second week to compare the same window of last week with".to_owned(),
        scores => scores
            .iter()
            .map(|score| {
                let pinball = score
                    .pinball
                    .map_or(String::new(), |loss| format!(", pinball loss {}", three_digits(loss)));
                format!("{} has MASE {:.2}{pinball}", score.method.name(), score.mase)
            })
            .collect::<Vec<_>>()
            .join("; "),
    };
    let mut text = format!("forecast by {}: {by_scores}", method.name());
    if let Some(support) = supported_sentence(days, alpha) {
        text = format!("{text}; {support}");
    }
    text
}

/// A number to three significant digits.
fn three_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
