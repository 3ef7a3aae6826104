//! A history of single requests, from their steps.

use std::time::Duration;

use jiff::Timestamp;

use super::builder::HistoryBuilder;
use super::gaps::{self, Gap};
use super::history::{Column, Counts, History, instant};
use super::series::WorkUnit;
use super::steps::{Stay, Step};
use super::tokens::Tokens;

/// Shorter stretches without a request are not asked about: no window of a calendar hangs on them.
const QUIET_MIN_S: u64 = 300;

/// Requests are counted in bins of at least this length when a stretch is asked about.
const BIN_MIN_S: u64 = 60;

/// Fills in what was not stated, and sums the changes up to levels.
pub(super) fn finish(mut builder: HistoryBuilder, arrived: (i64, i64)) -> History {
    let service_ms = mean_service_ms(&builder);
    fill_in(&mut builder, service_ms);
    let step_s = builder.steps.length_s();
    let (start_s, steps) = builder.steps.between(arrived.0, arrived.1);
    let mut columns = columns_of(steps, step_s);
    let gaps = mark_gaps(steps, start_s, step_s, &mut columns);
    let tokens =
        Tokens { prompt: builder.prompts.quantiles(), output: builder.outputs.quantiles() };
    let why = [
        None,
        service_ms.is_none().then_some(NO_SERVICE),
        match (service_ms, tokens.prompt, tokens.output) {
            (None, ..) => Some(NO_SERVICE),
            (_, None, None) => Some("the source states no tokens"),
            _ => None,
        },
        tokens.prompt.is_none().then_some("the source states no prompt tokens"),
        tokens.output.is_none().then_some("the source states no output tokens"),
    ];
    let [requests, in_flight, kv, prefill, output] = columns;
    let shown = |values: Vec<f64>, unit: WorkUnit, why: Option<&'static str>| match why {
        None => Column::Shown(values),
        Some(why) => Column::Unknown(format!("{}: {why}", unit.name())),
    };
    History {
        start: instant(start_s),
        step_s,
        resolution_s: step_s,
        begins: Timestamp::from_millisecond(arrived.0).unwrap_or(Timestamp::MIN),
        until: Timestamp::from_millisecond(arrived.1).unwrap_or(Timestamp::MAX),
        columns: [
            shown(requests, WorkUnit::Requests, why[0]),
            shown(in_flight, WorkUnit::RequestsInFlight, why[1]),
            shown(kv, WorkUnit::KvTokens, why[2]),
            shown(prefill, WorkUnit::Prefill, why[3]),
            shown(output, WorkUnit::Output, why[4]),
        ],
        tokens,
        counts: Counts {
            requests: builder.totals.requests as f64,
            refused: builder.totals.refused as f64,
            timed_out: builder.totals.timed_out as f64,
        },
        gaps,
        origin: crate::evidence::Origin::Imported,
        service: service_ms.map(|ms| Duration::from_secs_f64(ms / 1000.0)),
        remarks: remarks(&builder, service_ms, step_s),
    }
}

const NO_SERVICE: &str = "no request states its time in the engine, and no mean is declared \
                          (`service_time` of the workload)";

/// The mean stay of the requests that state one, else the one that was given, ms.
fn mean_service_ms(builder: &HistoryBuilder) -> Option<f64> {
    let totals = &builder.totals;
    let own =
        (totals.service_ms > 0).then(|| totals.service_ms as f64 / totals.with_service as f64);
    own.or(builder.service.map(|service| service.as_secs_f64() * 1000.0))
}

/// Adds back what requests would have asked for that were not served, and the stays that nobody
/// stated, from the middle of their steps, with the mean tokens of their step.
fn fill_in(builder: &mut HistoryBuilder, service_ms: Option<f64>) {
    let prompt = builder.prompts.mean().unwrap_or(0.0);
    let output = builder.outputs.mean().unwrap_or(0.0);
    let half_ms = builder.steps.length_ms() / 2;
    let mut stays = Vec::new();
    for (start_ms, step) in builder.steps.all() {
        step.prompt_tokens += (prompt * f64::from(step.without_prompt)).round() as u64;
        step.output_tokens += (output * f64::from(step.without_output)).round() as u64;
        if let Some(service_ms) = service_ms
            && step.without_stay > 0
        {
            let share = f64::from(step.without_stay) / step.requests as f64;
            stays.push(Stay {
                from_ms: start_ms + half_ms,
                length_ms: service_ms.round() as i64,
                requests: i64::from(step.without_stay),
                prompt_tokens: step.prompt_tokens as f64 * share,
                output_tokens: step.output_tokens as f64 * share,
            });
        }
    }
    for stay in &stays {
        builder.steps.stay(stay);
    }
}

/// Values of each unit of work for each step, in the order of [`WorkUnit::WORK`].
///
/// A level is shown as the highest of three: at the step's start, at its end, and the mean over it.
/// What rises and falls inside of one step shows in the mean alone, so the step is the resolution.
fn columns_of(steps: &[Step], step_s: u64) -> [Vec<f64>; 5] {
    let mut columns: [Vec<f64>; 5] = std::array::from_fn(|_| Vec::with_capacity(steps.len()));
    let seconds = step_s as f64;
    let length_ms = seconds * 1000.0;
    let (mut in_flight, mut kv, mut growth) = (0_i64, 0.0_f64, 0.0_f64);
    for step in steps {
        let mean_in_flight = in_flight as f64 + step.in_flight_area_ms as f64 / length_ms;
        let in_flight_end = in_flight + step.in_flight;
        let mean_kv = kv + growth * length_ms / 2.0 + step.kv_area_ms / length_ms;
        let kv_end = kv + growth * length_ms + step.kv;
        columns[0].push(step.requests as f64 / seconds);
        columns[1].push(mean_in_flight.max(in_flight.max(in_flight_end) as f64));
        columns[2].push(mean_kv.max(kv).max(kv_end).max(0.0));
        columns[3].push(step.prompt_tokens as f64 / seconds);
        columns[4].push(step.output_tokens as f64 / seconds);
        in_flight = in_flight_end;
        growth += step.kv_growth;
        // An empty engine holds no token, whatever the rounding of a million sums left over.
        (kv, growth) = if in_flight == 0 { (0.0, 0.0) } else { (kv_end, growth) };
    }
    columns
}

/// Finds the stretches that the arrivals do not explain, and takes their values off.
fn mark_gaps(steps: &[Step], start_s: i64, step_s: u64, columns: &mut [Vec<f64>; 5]) -> Vec<Gap> {
    let per_bin = BIN_MIN_S.div_ceil(step_s).max(1) as usize;
    let bin_s = per_bin as u64 * step_s;
    let counts: Vec<Option<f64>> = steps
        .chunks(per_bin)
        .map(|bin| Some(bin.iter().map(|step| step.requests as f64).sum()))
        .collect();
    let mut gaps = Vec::new();
    for quiet in gaps::improbable_quiet(&counts, bin_s) {
        // The bins are whole; the stretch itself begins and ends with a request.
        let mut from = quiet.bins.start * per_bin;
        let mut until = (quiet.bins.end * per_bin).min(steps.len());
        while from > 0 && steps[from - 1].requests == 0 {
            from -= 1;
        }
        while until < steps.len() && steps[until].requests == 0 {
            until += 1;
        }
        if (until - from) as u64 * step_s < QUIET_MIN_S {
            continue;
        }
        for column in columns.iter_mut() {
            column[from..until].fill(f64::NAN);
        }
        let at = |index: usize| instant(start_s + index as i64 * step_s as i64);
        gaps.push(quiet.gap(at(from), at(until)));
    }
    gaps
}

fn remarks(builder: &HistoryBuilder, service_ms: Option<f64>, step_s: u64) -> Vec<String> {
    let totals = &builder.totals;
    let mut remarks = Vec::new();
    let lost = totals.refused + totals.timed_out;
    if lost > 0 {
        remarks.push(format!(
            "{} refused and {} timed-out requests of {} count as demand; the source does not mark \
             retries, so a request that was sent again counts each time",
            totals.refused, totals.timed_out, totals.requests
        ));
    }
    if let Some(service_ms) = service_ms
        && totals.with_service < totals.requests
    {
        remarks.push(format!(
            "{} of {} requests state no time in the engine of their own and are given the mean of \
             {:.1} s",
            totals.requests - totals.with_service,
            totals.requests,
            service_ms / 1000.0
        ));
    }
    if step_s > 1 {
        remarks.push(format!(
            "the history is so long that it is kept in steps of {step_s} s: shorter bursts do not \
             show"
        ));
    }
    remarks
}
