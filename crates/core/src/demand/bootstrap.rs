//! Weeks of demand that did not happen, drawn from days that did.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::local::{DAY_S, WallClock, WallWindow, WallWindows, weekday};
use super::series::Series;
use crate::plan::Grid;

/// Days that are drawn together where weekdays cannot be told apart.
const BLOCK_DAYS: usize = 3;

/// A day of the history is drawn where at least this share of its windows is known.
const DAY_SEEN_SHARE: f64 = 0.9;

/// Draws demand for the windows of a calendar, `weeks` times: the mean of each window.
///
/// Each day of the calendar gets a whole day of the history, so a value keeps its time of the day and
/// its neighbours. Where every weekday was seen at least twice, the day is drawn among those of the
/// same weekday; else blocks of three days in a row are drawn (Künsch, Annals of Statistics 17,
/// 1989). Days of which less than nine tenths are known are left aside while there are others. A
/// window that the drawn day does not know is drawn among the days that know it, of the same weekday
/// where there is one.
///
/// The same seed gives the same values. Empty where some time of the day of the calendar was never
/// seen: nothing may be made up for it.
pub fn bootstrap_weeks(series: &Series, grid: &Grid, weeks: u32, seed: u64) -> Vec<Vec<f64>> {
    draw(series, grid, weeks, seed, |window| window.mean)
}

/// As [`bootstrap_weeks`], with the peak of each window. The same seed draws the same days.
pub fn bootstrap_week_peaks(series: &Series, grid: &Grid, weeks: u32, seed: u64) -> Vec<Vec<f64>> {
    draw(series, grid, weeks, seed, |window| window.peak)
}

fn draw(
    series: &Series,
    grid: &Grid,
    weeks: u32,
    seed: u64,
    value: impl Fn(&WallWindow) -> f64,
) -> Vec<Vec<f64>> {
    let windows = WallWindows::of(series, &grid.time_zone, grid.window_minutes);
    let days = Days::of(&windows);
    let targets = targets(grid);
    if !targets.iter().all(|target| days.knows(target.slot)) {
        return Vec::new();
    }
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    (0..weeks)
        .map(|_| {
            let mut drawn = Drawn::default();
            targets
                .iter()
                .map(|target| {
                    let day = drawn.day_for(target, &days, &mut rng);
                    days.window(day, target, &mut rng).map_or(0.0, &value)
                })
                .collect()
        })
        .collect()
}

/// A window of the calendar, by the clock on the wall.
#[derive(Clone, Copy, Debug)]
struct Target {
    day: i64,
    slot: usize,
}

fn targets(grid: &Grid) -> Vec<Target> {
    let mut clock = WallClock::new(&grid.time_zone);
    let window_s = i64::from(grid.window_minutes) * 60;
    grid.windows
        .iter()
        .map(|window| {
            let wall_s = clock.second(window.start.as_second());
            let slot = (wall_s.rem_euclid(DAY_S) / window_s) as usize;
            Target { day: wall_s.div_euclid(DAY_S), slot }
        })
        .collect()
}

/// The days of a history.
struct Days<'a> {
    all: Vec<(i64, &'a [Option<WallWindow>])>,
    /// The days that may be drawn, by weekday; as places in `all`.
    by_weekday: [Vec<usize>; 7],
    /// Places in `all` that may be drawn, in order.
    whole: Vec<usize>,
}

impl<'a> Days<'a> {
    fn of(windows: &'a WallWindows) -> Self {
        let days: Vec<(i64, &[Option<WallWindow>])> = windows.days().collect();
        let with_share = |least: f64| -> Vec<usize> {
            (0..days.len())
                .filter(|place| {
                    let day = days[*place].1;
                    let seen = day.iter().flatten().count() as f64;
                    seen > 0.0 && seen >= least * day.len() as f64
                })
                .collect()
        };
        let mut whole = with_share(DAY_SEEN_SHARE);
        if whole.is_empty() {
            whole = with_share(0.0);
        }
        let mut by_weekday: [Vec<usize>; 7] = std::array::from_fn(|_| Vec::new());
        for place in &whole {
            by_weekday[weekday(days[*place].0)].push(*place);
        }
        Self { all: days, by_weekday, whole }
    }

    /// Whether weekdays can be told apart.
    fn has_weeks(&self) -> bool {
        self.by_weekday.iter().all(|days| days.len() >= 2)
    }

    fn knows(&self, slot: usize) -> bool {
        self.all.iter().any(|(_, day)| day.get(slot).is_some_and(Option::is_some))
    }

    /// The window of a drawn day, or of another day that knows it.
    fn window(&self, day: usize, target: &Target, rng: &mut Pcg64Mcg) -> Option<&WallWindow> {
        let known = |place: usize| self.all[place].1.get(target.slot)?.as_ref();
        if let Some(window) = known(day) {
            return Some(window);
        }
        let of_weekday = |place: &usize| weekday(self.all[*place].0) == weekday(target.day);
        let knowing: Vec<usize> =
            (0..self.all.len()).filter(|place| known(*place).is_some()).collect();
        let alike: Vec<usize> = knowing.iter().copied().filter(of_weekday).collect();
        let among = if alike.is_empty() { knowing } else { alike };
        known(*among.get(rng.random_range(0..among.len().max(1)))?)
    }
}

/// The day of the history that stands for the calendar's day, while one week is drawn.
#[derive(Debug, Default)]
struct Drawn {
    target_day: Option<i64>,
    place: usize,
    /// Days of the block that are left.
    left: usize,
}

impl Drawn {
    fn day_for(&mut self, target: &Target, days: &Days<'_>, rng: &mut Pcg64Mcg) -> usize {
        if self.target_day == Some(target.day) {
            return self.place;
        }
        self.target_day = Some(target.day);
        if days.has_weeks() {
            let among = &days.by_weekday[weekday(target.day)];
            self.place = among[rng.random_range(0..among.len())];
            return self.place;
        }
        // A block goes on with the next day of the history, as long as that may be drawn too.
        let next = self.place + 1;
        if self.left > 0 && days.whole.binary_search(&next).is_ok() {
            self.left -= 1;
            self.place = next;
        } else {
            self.left = BLOCK_DAYS - 1;
            self.place = days.whole[rng.random_range(0..days.whole.len())];
        }
        self.place
    }
}
