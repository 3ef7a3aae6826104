//! How often the interval holds the true capacity, with known truth. A smaller form of the study of
//! `docs/capacity.md`; `cargo test -p cotenant-core --test capacity study -- --ignored --nocapture`
//! runs the whole.

#![allow(clippy::print_stdout, reason = "the study prints its table")]

use std::time::Duration;

use cotenant_core::capacity::{Ending, SearchRule, Word, estimate, word_at};
use cotenant_core::site::Site;
use cotenant_core::units::Share;

use super::queue::{Queue, Shape, search};
use super::support::{inference_mut, site};

/// What a cell of the study gave.
#[derive(Debug, Default)]
struct Tally {
    trials: u32,
    /// Intervals whose lower end lies above the truth.
    low_wrong: u32,
    /// Intervals whose upper end lies below the truth.
    high_wrong: u32,
    /// Lower ends at which the queue grows without end.
    overloaded: u32,
    /// Rates at which the queue grows without end and that the verdict's bounds call fine.
    called_fine: u32,
    without_low: u32,
    without_high: u32,
    looks: u32,
    ratios: Vec<f64>,
    widths: Vec<f64>,
}

/// One cell: a queue, what is asked of it, and its looks.
struct Cell {
    name: &'static str,
    queue: Queue,
    site: Site,
    truth: f64,
    /// Requests of a look at the true capacity.
    requests: f64,
    /// First rate ÷ truth.
    first: f64,
}

impl Cell {
    fn waiting(name: &'static str, servers: u32, service: f64, target: f64, requests: f64) -> Self {
        let queue = Queue { servers, service, places: None };
        let mut site = site();
        inference_mut(&mut site).objectives.ttft_p95 = Some(Duration::from_secs_f64(target));
        let truth = queue.capacity_by_wait(target);
        Self { name, queue, site, truth, requests, first: 1.0 }
    }

    fn refusing() -> Self {
        let queue = Queue { servers: 4, service: 2.0, places: Some(10) };
        let mut site = site();
        inference_mut(&mut site).objectives.ttft_p95 = None;
        inference_mut(&mut site).objectives.error_rate = Share::new(0.05);
        let truth = queue.capacity_by_refusals(0.05);
        Self { name: "M/M/4/10, errors 5 %", queue, site, truth, requests: 120.0, first: 0.7 }
    }

    fn study(&self, trials: u32) -> Tally {
        let mut tally = Tally { trials, ..Tally::default() };
        let shape = Shape { warm_up: 3.0 / self.queue.service, judged: self.requests / self.truth };
        let rule = rule(self.truth * self.first);
        for seed in 0..trials {
            let (looks, ending) = search(self.queue, shape, &rule, &self.site, u64::from(seed) + 1);
            assert!(looks.len() <= rule.looks_max as usize, "it ends");
            assert!(matches!(ending, Ending::Resolved | Ending::LooksSpent), "{ending:?}");
            let answer = estimate(&looks).unwrap();
            let stable = self.queue.places.map_or(self.queue.stable(), |_| f64::INFINITY);
            tally.looks += looks.len() as u32;
            tally.ratios.push(answer.requests_per_s / self.truth);
            tally.low_wrong += u32::from(answer.low.is_some_and(|low| low > self.truth));
            tally.high_wrong += u32::from(answer.high.is_some_and(|high| high < self.truth));
            tally.overloaded += u32::from(answer.low.is_some_and(|low| low >= stable));
            tally.called_fine += answer
                .curve
                .iter()
                .filter(|point| point.rate_per_s >= 1.05 * stable)
                .filter(|point| word_at(&looks, point.rate_per_s, 0.05) == Word::Within)
                .count() as u32;
            tally.without_low += u32::from(answer.low.is_none());
            tally.without_high += u32::from(answer.high.is_none());
            tally.widths.extend(answer.low.zip(answer.high).map(|(low, high)| high / low));
            let ordered = answer.low.unwrap_or(0.0) <= answer.requests_per_s
                && answer.requests_per_s <= answer.high.unwrap_or(f64::INFINITY);
            assert!(ordered, "{answer:#?}");
        }
        tally
    }
}

fn rule(first: f64) -> SearchRule {
    SearchRule {
        first_per_s: first,
        least_per_s: first / 64.0,
        most_per_s: first * 64.0,
        looks_max: 30,
        resolution: 0.10,
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// In 20 trials an event of probability 5 % happens more than four times once in 390 studies
/// (binomial); the seeds are fixed, so that a change of the rule is what this notices.
#[test]
fn the_interval_holds_the_truth_as_often_as_it_claims() {
    let far = Cell { first: 0.2, ..Cell::waiting("M/M/1", 1, 10.0, 0.3, 120.0) };
    let many = Cell::waiting("M/M/8", 8, 1.0, 0.5, 120.0);
    for cell in [far, many, Cell::refusing()] {
        let tally = cell.study(20);
        let name = cell.name;
        assert!(tally.low_wrong <= 4, "{name}: {tally:#?}");
        assert!(tally.high_wrong <= 4, "{name}: {tally:#?}");
        assert_eq!((tally.overloaded, tally.called_fine), (0, 0), "{name}: {tally:#?}");
        assert!(tally.without_low <= 4 && tally.without_high <= 2, "{name}: {tally:#?}");
        let middle = median(&tally.ratios);
        assert!((0.9..1.12).contains(&middle), "{name}: the estimates centre on {middle}");
        assert!(median(&tally.widths) < 1.8, "{name}: {:?}", tally.widths);
    }
}

#[test]
#[ignore = "minutes; the table of docs/capacity.md"]
fn study() {
    println!(
        "| queue | truth ÷ stable | trials | low > truth | high < truth | looks | estimate ÷ truth | high ÷ low |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for cell in [
        Cell::waiting("M/M/1, wait 3 services", 1, 10.0, 0.3, 120.0),
        Cell { first: 0.2, ..Cell::waiting("the same, from a fifth", 1, 10.0, 0.3, 120.0) },
        Cell::waiting("M/M/1, 300 requests a look", 1, 10.0, 0.3, 300.0),
        Cell::waiting("M/M/8, wait half a service", 8, 1.0, 0.5, 120.0),
        Cell { first: 2.5, ..Cell::waiting("M/M/8, 200 requests", 8, 1.0, 0.5, 200.0) },
        Cell::waiting("M/M/1, wait 50 services", 1, 10.0, 5.0, 470.0),
        Cell::refusing(),
    ] {
        let tally = cell.study(100);
        println!(
            "| {} | {:.2} | {} | {:.1} % | {:.1} % | {:.1} | {:.2} | {:.2} |",
            cell.name,
            cell.truth / cell.queue.stable(),
            tally.trials,
            100.0 * f64::from(tally.low_wrong) / 100.0,
            100.0 * f64::from(tally.high_wrong) / 100.0,
            f64::from(tally.looks) / 100.0,
            median(&tally.ratios),
            median(&tally.widths),
        );
    }
}
