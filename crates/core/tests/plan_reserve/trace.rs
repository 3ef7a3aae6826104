//! One hour of a real conversation service, second by second.

use std::path::PathBuf;

use cotenant_core::demand::{Series, WorkUnit};
use cotenant_core::plan::Grid;
use cotenant_core::units::RatePerSecond;
use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;

use crate::support::{Case, capacity, gpus, says, series};

/// Requests and prompt tokens of each second. `None` where the shared data are not at hand.
#[expect(clippy::disallowed_methods, reason = "the trace is read from a file")]
#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn azure_conversation() -> Option<[Series; 2]> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data/1-llm-traces/azure2023/AzureLLMInferenceTrace_conv.csv");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
            assert!(!required, "{}: {error}", path.display());
            println!("skipped: {}: {error}", path.display());
            return None;
        }
    };
    let rows: Vec<(i64, f64)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let mut cells = line.split(',');
            // Seven digits of a fraction; the second is what counts here.
            let second = cells.next().unwrap().split('.').next().unwrap().replace(' ', "T");
            let at: Timestamp = format!("{second}Z").parse().unwrap();
            (at.as_second(), cells.next().unwrap().parse().unwrap())
        })
        .collect();
    let start = rows[0].0;
    let seconds = (rows[rows.len() - 1].0 - start + 1) as usize;
    let (mut requests, mut prompts) = (vec![0.0; seconds], vec![0.0; seconds]);
    for (at, tokens) in rows {
        requests[(at - start) as usize] += 1.0;
        prompts[(at - start) as usize] += tokens;
    }
    let begins = Timestamp::from_second(start).unwrap().to_string();
    let series =
        |unit, values: Vec<f64>| series(unit, &begins, 1, values.into_iter().map(Some).collect());
    Some([series(WorkUnit::Requests, requests), series(WorkUnit::Prefill, prompts)])
}

/// The figures are those of a few lines of Python over the same file: from 18:15:46 to 19:00 at most
/// 19 requests and 33,264 prompt tokens in a second, and a growth of 15 and 30,662 within 30 s;
/// from 19:00 on 14, 20,980, 13 and 20,799.
#[test]
fn an_hour_of_azure_conversations() {
    let Some(series) = azure_conversation() else { return };
    let mut carries = capacity(1.0);
    carries.requests_in_flight = None;
    carries.requests = Some(RatePerSecond::new(2.0, "req"));
    let mut case = Case::new(series.to_vec(), Some(carries.clone()));
    // The trace is of Thursday, 2023-11-16, UTC.
    case.grid = Grid::new(TimeZone::UTC, date(2023, 11, 23), 1, 60).unwrap();
    (case.risk, case.reclaim_s) = (Some(0.01), Some(30));
    let plan = case.plan();
    assert_eq!(plan.binding, WorkUnit::Requests);
    // ⌈19/2⌉ = 10 and ⌈(19 + 15)/2⌉ = 17; ⌈14/2⌉ = 7 and ⌈(14 + 13)/2⌉ = 14.
    assert_eq!([18, 19].map(|hour| gpus(&plan.windows[hour])), [(10, 7, 0), (7, 7, 0)]);
    assert!((plan.windows[18].demand - 5.880_180_859).abs() < 1e-9);
    // Hours that the trace does not hold take the highest of all of it.
    assert_eq!(gpus(&plan.windows[3]), (10, 7, 0));
    assert!(plan.bursts_seen && !plan.risk_supported);
    assert!(says(&plan, "1 day supports at most 50.0 %; 99 % is asked for, which needs 99 days"));
    // Prompts bind where a GPU carries 3,000 of their tokens: ⌈33,264/3,000⌉ = 12, and with the
    // growth ⌈63,926/3,000⌉ = 22.
    carries.prefill = Some(RatePerSecond::new(3_000.0, "tok"));
    case.inference.capacity = Some(carries);
    let plan = case.plan();
    assert_eq!(plan.binding, WorkUnit::Prefill);
    assert_eq!(gpus(&plan.windows[18]), (12, 10, 0));
    assert_eq!(plan.windows[18].demand_peak, 33_264.0);
}
