//! Axes with round ticks.

use crate::format::{self, TimeScale};
use crate::model::{Axis, AxisScale, Tick};

/// Chart coordinates carry six significant digits: finer than any drawing, and short in the file.
pub(crate) fn coordinate(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let factor = 10_f64.powi(5 - value.abs().log10().floor() as i32);
    let rounded = (value * factor).round() / factor;
    if rounded.is_finite() { rounded } else { value }
}

/// A linear axis from zero that holds `largest`, with round ticks.
pub(super) fn linear(title: &str, largest: f64, text: impl Fn(f64) -> String) -> Axis {
    linear_with(title, largest, 6.0, text)
}

/// A linear axis of whole numbers from zero that holds `largest`.
pub(crate) fn whole(title: &str, largest: u32) -> Axis {
    // Below four there is a tick for each number: a smaller step would not be whole.
    let steps = f64::from(largest.clamp(1, 4));
    linear_with(title, f64::from(largest), steps, format::trimmed)
}

/// A linear axis from zero that holds `largest`, with about so many round steps.
pub(crate) fn linear_with(
    title: &str,
    largest: f64,
    steps: f64,
    text: impl Fn(f64) -> String,
) -> Axis {
    let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
    let step = nice_step(largest / steps);
    let count = (largest / step * (1.0 + 1e-9)).floor().max(1.0) as u32;
    let ticks = (0..=count)
        .map(|index| {
            let at = coordinate(f64::from(index) * step);
            Tick { at, text: text(at) }
        })
        .collect();
    Axis {
        title: title.to_owned(),
        scale: AxisScale::Linear,
        min: 0.0,
        max: coordinate(largest.max(f64::from(count) * step) * 1.02),
        ticks,
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// A logarithmic time axis that holds `low` and `high` (seconds), with ticks at 1, 2 and 5.
pub(super) fn log_time(title: &str, low: f64, high: f64) -> Axis {
    let low = low.max(1e-7);
    let high = high.max(low * 1.5);
    let decades = (high / low).log10();
    let factors: &[f64] = match decades {
        decades if decades < 0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        decades if decades < 2.5 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let (min, max) = (low / 1.08, high * 1.2);
    let first = min.log10().floor() as i32;
    let last = max.log10().ceil() as i32;
    let mut ticks = Vec::new();
    for exponent in first..=last {
        for factor in factors {
            let at = factor * 10_f64.powi(exponent);
            if (min..=max).contains(&at) {
                ticks.push(Tick { at: coordinate(at), text: tick_time(at) });
            }
        }
    }
    Axis {
        title: title.to_owned(),
        scale: AxisScale::Log,
        min: coordinate(min),
        max: coordinate(max),
        ticks,
    }
}

/// The share of `n` observations on a scale where each further nine takes the same length.
pub(super) fn nines(title: &str, n: u64) -> Axis {
    // The last observation stands half a step before its end.
    let max = 1.0 - 0.5 / (n.clamp(20, 20_000) as f64);
    let nine = |share: f64| -(1.0 - share).log10();
    let mut ticks: Vec<Tick> = Vec::new();
    // The shares that people name come first; a further one is kept where it has room.
    for share in [0.0, 0.95, 0.99, 0.999, 0.9999, 0.9, 0.5, 0.8] {
        let has_room =
            ticks.iter().all(|tick| (nine(tick.at) - nine(share)).abs() > nine(max) / 9.0);
        if share <= max + 1e-9 && has_room {
            ticks.push(Tick { at: share, text: format::share(share) });
        }
    }
    ticks.sort_by(|left, right| left.at.total_cmp(&right.at));
    Axis { title: title.to_owned(), scale: AxisScale::Nines, min: 0.0, max: coordinate(max), ticks }
}

/// A time as a tick has it: without needless zeros.
pub(super) fn tick_time(time_s: f64) -> String {
    if time_s == 0.0 { "0".to_owned() } else { format::round_time(time_s) }
}

/// A linear time axis whose ticks share one scale.
pub(super) fn linear_time(title: &str, largest_s: f64) -> Axis {
    let scale = TimeScale::of([largest_s]);
    linear(title, largest_s, move |at| {
        if at == 0.0 { "0".to_owned() } else { format::trimmed_time_in(scale, at) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_data_and_rise() {
        for largest in [1e-9, 0.3, 1.0, 7.0, 12.5, 99.9, 1e6, f64::INFINITY, f64::NAN] {
            let axis = linear("x", largest, |at| at.to_string());
            if largest.is_finite() {
                assert!(axis.max >= largest * (1.0 - 1e-5), "{largest}: {axis:?}");
            }
            assert!(axis.ticks.windows(2).all(|pair| pair[0].at < pair[1].at), "{axis:?}");
            assert!((2..=8).contains(&axis.ticks.len()), "{axis:?}");
        }
        for (low, high) in [(0.01, 0.011), (0.02, 3.0), (1e-6, 1e3), (0.0, 0.0)] {
            let axis = log_time("x", low, high);
            assert!(axis.min < axis.max && axis.min > 0.0);
            assert!(axis.ticks.len() <= 12, "{axis:?}");
        }
    }

    #[test]
    fn the_nines_axis_ends_inside_the_sample() {
        let axis = nines("x", 200);
        assert_eq!(axis.max, 0.9975);
        let texts: Vec<_> = axis.ticks.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(texts, ["0 %", "50 %", "80 %", "90 %", "95 %", "99 %"]);
    }
}
