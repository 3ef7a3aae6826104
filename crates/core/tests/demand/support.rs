//! What the tests share: instants, series of known shape, and the files of real demand.
#![expect(clippy::disallowed_methods, reason = "real demand is read from files")]
#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::path::PathBuf;
use std::time::Duration;

use cotenant_core::demand::{
    Arrival, ArrivalOutcome, History, HistoryBuilder, Interval, Series, WorkUnit,
};
use cotenant_core::plan::Grid;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Seconds after an instant.
pub(crate) fn after(start: Timestamp, seconds: i64) -> Timestamp {
    start + SignedDuration::from_secs(seconds)
}

pub(crate) fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

pub(crate) fn date(text: &str) -> Date {
    text.parse().unwrap()
}

/// A request that was served.
pub(crate) fn request(at: Timestamp, prompt_tokens: u32, output_tokens: u32) -> Arrival {
    Arrival { at, prompt_tokens, output_tokens, outcome: ArrivalOutcome::Served, service: None }
}

pub(crate) fn history(arrivals: &[Arrival], service: Option<Duration>) -> History {
    let mut builder = HistoryBuilder::new(service);
    for arrival in arrivals {
        builder.arrival(arrival);
    }
    builder.finish().unwrap()
}

/// Rates over equal intervals from an instant.
pub(crate) fn rates(start: Timestamp, seconds: i64, rates: &[f64]) -> History {
    let mut builder = HistoryBuilder::new(None);
    for (index, rate) in rates.iter().enumerate() {
        let from = after(start, index as i64 * seconds);
        builder.interval(&Interval::rate(from, after(from, seconds), *rate));
    }
    builder.finish().unwrap()
}

/// Requests per second of each half hour from local midnight of a day, by a function of the window's
/// start and number.
pub(crate) fn half_hours(
    time_zone: &TimeZone,
    begins: &str,
    days: u32,
    rate: impl Fn(u32, usize) -> f64,
) -> Series {
    let grid = Grid::new(time_zone.clone(), date(begins), days, 30).unwrap();
    let values = grid.windows.iter().enumerate();
    Series {
        unit: WorkUnit::Requests,
        start: grid.windows[0].start,
        step: Duration::from_mins(30),
        values: values.map(|(index, window)| Some(rate(window.minute_of_week, index))).collect(),
        resolution: Duration::from_mins(30),
    }
}

/// A value in [0, 1) that looks random and is the same on every machine.
pub(crate) fn noise(index: usize) -> f64 {
    let mixed = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D;
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Start in seconds and mean rate of each row of a file of ten-minute rates; `None`, with the
/// reason printed, where the shared files are not at hand.
pub(crate) fn servegen(pool: &str) -> Option<Vec<(i64, f64)>> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join(format!("data/1-llm-traces/servegen/{pool}_rate_10min.csv"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text.lines().skip(1).map(row).collect()),
        Err(error) => {
            let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
            assert!(!required, "{}: {error}", path.display());
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}

fn row(line: &str) -> (i64, f64) {
    let mut cells = line.split(',');
    let mut cell = || cells.next().unwrap().trim();
    (cell().parse().unwrap(), cell().parse().unwrap())
}

/// The ten-minute rates of a pool from an instant on.
pub(crate) fn servegen_history(pool: &str, start: Timestamp) -> Option<History> {
    let rows = servegen(pool)?;
    let mut builder = HistoryBuilder::new(None);
    for (second, rate) in rows {
        let from = after(start, second);
        builder.interval(&Interval::rate(from, after(from, 600), rate));
    }
    Some(builder.finish().unwrap())
}
