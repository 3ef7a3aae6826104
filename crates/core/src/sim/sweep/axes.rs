//! Axes and their values, as they are written: `rate=0.5,1,1.5`, `gpus=4..8`, `reclaim=off,30s`.

use std::fmt;
use std::time::Duration;

use crate::units::{format_duration, parse_duration};

/// Points of a sweep where nobody asked for more.
pub const POINTS_MAX: u64 = 10_000;
/// Values that one range may stand for.
const VALUES_MAX: usize = 100_000;
/// GPUs that a place may have.
const GPUS_MAX: u32 = 4096;
/// What demand may be multiplied by.
const RATE_MAX: f64 = 10_000.0;
/// Hours by which a deadline may move.
const SHIFT_HOURS_MAX: f64 = 24.0 * 366.0;
/// Lengths of a window of the calendar that a site may declare, minutes.
const WINDOWS: [u32; 4] = [15, 20, 30, 60];

/// What an axis changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AxisKind {
    /// The demand of every inference workload, as a multiple.
    Rate,
    /// GPUs of the server.
    Gpus,
    /// The time to get a lent GPU back.
    ReclaimTime,
    /// How long replicas must lack before lent GPUs are asked back; off where they never are.
    Reclaim,
    /// The way of sharing whole GPUs.
    Mode,
    /// GPUs that inference holds for good.
    Split,
    /// The workload that goes before all others.
    First,
    /// Hours by which deadlines of jobs move.
    Shift,
    /// Length of a window of the calendar.
    Window,
}

impl AxisKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Rate,
        Self::Gpus,
        Self::ReclaimTime,
        Self::Reclaim,
        Self::Mode,
        Self::Split,
        Self::First,
        Self::Shift,
        Self::Window,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Gpus => "gpus",
            Self::ReclaimTime => "reclaim_time",
            Self::Reclaim => "reclaim",
            Self::Mode => "mode",
            Self::Split => "split",
            Self::First => "first",
            Self::Shift => "shift",
            Self::Window => "window",
        }
    }

    /// What its values are, with examples.
    pub fn values(self) -> &'static str {
        match self {
            Self::Rate => "multiples of the demand above 0: `rate=0.5,1,2`",
            Self::Gpus => "numbers of GPUs from 1 to 4096: `gpus=4..8`",
            Self::ReclaimTime => "times: `reclaim_time=30s,4min,15min`",
            Self::Reclaim => "`off`, or how long replicas must lack: `reclaim=off,10s,60s`",
            Self::Mode => "`best`, `whole_gpu` or `temporal`: `mode=whole_gpu,temporal`",
            Self::Split => "GPUs of inference, the others are the jobs': `split=2..6`",
            Self::First => "names of workloads that are no inference: `first=train,render`",
            Self::Shift => "hours by which deadlines move, later above 0: `shift=0,6,24`",
            Self::Window => "minutes of a window: 15, 20, 30 or 60: `window=15,30`",
        }
    }

    /// Whether its values are numbers on a line, so that a curve can be drawn along it.
    pub fn is_numeric(self) -> bool {
        !matches!(self, Self::Reclaim | Self::Mode | Self::First)
    }
}

/// A way of sharing whole GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// What the plan chooses.
    Best,
    /// Each GPU of one owner for good.
    WholeGpu,
    /// GPUs lent at quiet hours.
    Temporal,
}

impl Mode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::WholeGpu => "whole_gpu",
            Self::Temporal => "temporal",
        }
    }
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// Demand times this.
    Rate(f64),
    /// So many GPUs.
    Gpus(u32),
    /// A lent GPU serves again after this.
    ReclaimTime(Duration),
    /// Lent GPUs are asked back after replicas lacked for this long; `None` is never.
    Reclaim(Option<Duration>),
    /// Sharing in this way.
    Mode(Mode),
    /// Inference holds so many GPUs for good.
    Split(u32),
    /// This workload goes first.
    First(String),
    /// Deadlines move by so many hours.
    Shift(f64),
    /// Windows of so many minutes.
    Window(u32),
}

impl Setting {
    /// Its place on a line, in the unit of its axis (times in seconds); `None` for what is no number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Rate(value) | Self::Shift(value) => Some(*value),
            Self::Gpus(value) | Self::Split(value) | Self::Window(value) => Some(f64::from(*value)),
            Self::ReclaimTime(time) => Some(time.as_secs_f64()),
            Self::Reclaim(_) | Self::Mode(_) | Self::First(_) => None,
        }
    }
}

impl fmt::Display for Setting {
    /// As it is written, times with their unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(value) | Self::Shift(value) => write!(f, "{value}"),
            Self::Gpus(value) | Self::Split(value) | Self::Window(value) => write!(f, "{value}"),
            Self::ReclaimTime(time) | Self::Reclaim(Some(time)) => {
                f.write_str(&format_duration(*time))
            }
            Self::Reclaim(None) => f.write_str("off"),
            Self::Mode(mode) => f.write_str(mode.name()),
            Self::First(name) => f.write_str(name),
        }
    }
}

/// An axis with its values, in the order in which they were written. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it changes.
    pub kind: AxisKind,
    /// Its values.
    pub values: Vec<Setting>,
}

/// What is wrong with a sweep as it was written, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`--sweep {written}`: {problem}")]
pub struct SweepError {
    /// The axis as it was written.
    pub written: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Axis {
    /// Reads an axis: a name, an equals sign, and values with commas between them. Two whole numbers
    /// with `..` between them are all from the first to the last; `/` names the step.
    ///
    /// # Errors
    /// The axis, the value and what would be right.
    pub fn parse(written: &str) -> Result<Self, SweepError> {
        let fail = |problem: String| Err(SweepError { written: written.to_owned(), problem });
        let names = || {
            let names: Vec<&str> = AxisKind::ALL.iter().map(|kind| kind.name()).collect();
            names.join(", ")
        };
        let Some((name, list)) = written.split_once('=') else {
            return fail(format!(
                "an axis is a name and its values: `rate=0.5,1`, one of {}",
                names()
            ));
        };
        let name = name.trim();
        let Some(kind) = AxisKind::ALL.into_iter().find(|kind| kind.name() == name) else {
            return fail(format!("there is no axis `{name}`; there are {}", names()));
        };
        let mut values: Vec<Setting> = Vec::new();
        for item in list.split(',').map(str::trim) {
            let Some(read) = settings(kind, item) else {
                return fail(format!(
                    "`{item}` is no value of it; its values are {}",
                    kind.values()
                ));
            };
            for value in read {
                if values.contains(&value) {
                    return fail(format!("`{value}` stands there twice; once is enough"));
                }
                values.push(value);
                if values.len() > VALUES_MAX {
                    return fail(format!("it has more than {VALUES_MAX} values; name fewer"));
                }
            }
        }
        Ok(Self { kind, values })
    }
}

/// The values that an item of a list stands for; `None` where it stands for none.
fn settings(kind: AxisKind, item: &str) -> Option<Vec<Setting>> {
    let Some((from, to)) = item.split_once("..") else {
        return setting(kind, item).map(|value| vec![value]);
    };
    let (to, step) = to.split_once('/').map_or((to, "1"), |(to, step)| (to, step));
    let whole = |text: &str| text.trim().parse::<i64>().ok();
    let (from, to, step) = (whole(from)?, whole(to)?, whole(step)?);
    let length = to.checked_sub(from).filter(|length| *length >= 0)?;
    let steps = if step > 0 { length / step } else { return None };
    if !kind.is_numeric() || kind == AxisKind::ReclaimTime || steps >= VALUES_MAX as i64 {
        return None;
    }
    (0..=steps).map(|number| setting(kind, &(from + number * step).to_string())).collect()
}

fn setting(kind: AxisKind, text: &str) -> Option<Setting> {
    let number = || text.parse::<f64>().ok().filter(|value| value.is_finite());
    let count = || text.parse::<u32>().ok();
    // Seconds where no unit is written.
    let time = || match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => parse_duration(text).ok(),
    };
    let bounded = |time: &Duration| *time <= Duration::from_hours(24 * 7);
    match kind {
        AxisKind::Rate => number().filter(|it| *it > 0.0 && *it <= RATE_MAX).map(Setting::Rate),
        AxisKind::Gpus => count().filter(|it| (1..=GPUS_MAX).contains(it)).map(Setting::Gpus),
        AxisKind::ReclaimTime => time().filter(bounded).map(Setting::ReclaimTime),
        AxisKind::Reclaim if text == "off" => Some(Setting::Reclaim(None)),
        AxisKind::Reclaim => time().filter(bounded).map(|it| Setting::Reclaim(Some(it))),
        AxisKind::Mode => {
            let all = [Mode::Best, Mode::WholeGpu, Mode::Temporal];
            all.into_iter().find(|mode| mode.name() == text).map(Setting::Mode)
        }
        AxisKind::Split => count().filter(|it| *it <= GPUS_MAX).map(Setting::Split),
        AxisKind::First => (!text.is_empty()).then(|| Setting::First(text.to_owned())),
        AxisKind::Shift => {
            number().filter(|it| it.abs() <= SHIFT_HOURS_MAX).map(|it| Setting::Shift(it + 0.0))
        }
        AxisKind::Window => count().filter(|it| WINDOWS.contains(it)).map(Setting::Window),
    }
}

/// The product of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// The axes, each kind once.
    pub axes: Vec<Axis>,
}

impl Sweep {
    /// Reads axes, and says how many points they may make together.
    ///
    /// # Errors
    /// An axis that cannot be read or stands there twice, or too many points.
    pub fn parse(written: &[String], points_max: u64) -> Result<Self, SweepError> {
        let mut axes: Vec<Axis> = Vec::new();
        let mut points: u64 = 1;
        for text in written {
            let axis = Axis::parse(text)?;
            let fail = |problem: String| Err(SweepError { written: text.clone(), problem });
            if axes.iter().any(|before| before.kind == axis.kind) {
                return fail(format!(
                    "the axis {} stands there twice; put its values into one",
                    axis.kind.name()
                ));
            }
            points = points.saturating_mul(axis.values.len() as u64);
            if points > points_max {
                return fail(format!(
                    "with it there are {points} points, and at most {points_max} are computed \
                     unasked; name fewer values, or allow more with `--points-max {points}`"
                ));
            }
            axes.push(axis);
        }
        Ok(Self { axes })
    }

    /// Points of the product.
    pub fn points(&self) -> u64 {
        self.axes.iter().map(|axis| axis.values.len() as u64).fold(1, u64::saturating_mul)
    }

    /// The settings of a point, one for each axis: the last axis runs fastest.
    pub fn settings(&self, index: u64) -> Vec<&Setting> {
        let mut left = index;
        let mut settings = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let count = axis.values.len().max(1) as u64;
            settings.extend(axis.values.get((left % count) as usize));
            left /= count;
        }
        settings.reverse();
        settings
    }

    /// The points of one of several shards: every `of`-th, so that each shard has cheap and dear ones.
    /// `shard` is from 1 to `of`.
    pub fn shard(&self, shard: u32, of: u32) -> impl Iterator<Item = u64> {
        let points = self.points();
        (u64::from(shard.max(1)) - 1..points).step_by(of.max(1) as usize)
    }
}
