//! The week after the history.

use cotenant_core::demand::{Forecast, ForecastWindow, Score, WorkUnit};
use cotenant_core::plan::{Grid, Window};

use super::clock::Clock;
use super::scale::{Scale, alone};
use crate::demand::model::{ForecastDay, ForecastView, ForecastWindowView, ScoreView};
use crate::format;

pub(super) fn forecast(grid: &Grid, forecast: &Forecast, clock: &Clock<'_>) -> ForecastView {
    let highest = forecast
        .windows
        .iter()
        .flat_map(|window| [window.point, window.upper])
        .flatten()
        .fold(0.0, f64::max);
    let scale = Scale::of(forecast.unit, highest);
    let share = |value: f64| format::value_with_text(value, "share", format::share(value));
    let windows: Vec<(&Window, &ForecastWindow)> =
        grid.windows.iter().zip(&forecast.windows).collect();
    let days = windows
        .chunk_by(|left, right| clock.day(left.0.start) == clock.day(right.0.start))
        .filter_map(|of_day| day(of_day, &scale, clock))
        .collect();
    ForecastView {
        method: forecast.method.name().to_owned(),
        level: share(forecast.level),
        level_asked: share(1.0 - forecast.alpha),
        calibration_days: forecast.calibration_days,
        scores: forecast.scores.iter().map(|score| view_of(score, forecast)).collect(),
        sentence: forecast.sentence.clone(),
        printed_in: scale.printed_in(),
        days,
        windows: windows
            .iter()
            .map(|(window, forecast)| ForecastWindowView {
                start: window.start.to_string(),
                point: forecast.point,
                lower: forecast.lower,
                upper: forecast.upper,
            })
            .collect(),
    }
}

fn view_of(score: &Score, forecast: &Forecast) -> ScoreView {
    ScoreView {
        method: score.method.name().to_owned(),
        used: score.method.name() == forecast.method.name(),
        days: format::counted(score.days.into()),
        mase: format::value_with_text(score.mase, "ratio", format::number(score.mase)),
        pinball: pinball(score.pinball, forecast.unit),
    }
}

fn pinball(loss: Option<f64>, unit: WorkUnit) -> crate::model::Value {
    match loss {
        Some(loss) => alone(unit, loss),
        None => crate::model::Value::missing("one day alone gives no bound"),
    }
}

/// One day; `None` where nothing of it is forecast.
fn day(
    windows: &[(&Window, &ForecastWindow)],
    scale: &Scale,
    clock: &Clock<'_>,
) -> Option<ForecastDay> {
    let known: Vec<(&Window, f64)> =
        windows.iter().filter_map(|(window, forecast)| Some((*window, forecast.point?))).collect();
    let highest = *known.iter().reduce(|high, next| if next.1 > high.1 { next } else { high })?;
    let hours: f64 = known.iter().map(|(window, _)| window.hours()).sum();
    let sum: f64 = known.iter().map(|(window, point)| point * window.hours()).sum();
    let upper = windows.iter().filter_map(|(_, forecast)| forecast.upper).reduce(f64::max);
    Some(ForecastDay {
        label: clock.day(highest.0.start),
        mean: scale.value(sum / hours),
        highest: scale.value(highest.1),
        clock: clock.hour(highest.0.start),
        upper: match upper {
            Some(upper) => scale.value(upper),
            None => crate::model::Value::missing("no day to compare with"),
        },
    })
}
