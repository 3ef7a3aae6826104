//! Each line of the shared reference values, as constants here and against the file itself where it
//! is at hand.
#![expect(clippy::disallowed_methods, reason = "the reference vectors are read from a file")]

use std::path::PathBuf;

use cotenant_core::stats::{
    allen_cunneen_wait, bounded_queue, checkpoint_overhead, clopper_pearson_upper, conformal_rank,
    daly_interval, erlang_b, erlang_c, pareto_level, quantile_interval_ranks, sample_size_min,
    sample_size_min_two_sided, useful_window, wait_tail, wilson_interval, young_interval,
};

#[track_caller]
fn close(actual: f64, expected: f64) {
    // The file's Clopper–Pearson values come from a bisection on a sum of rounded terms.
    let error = (actual - expected).abs() / expected.abs().max(1e-12);
    assert!(error <= 1e-9, "{actual} is not {expected}: relative error {error:e}");
}

const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.995, 0.999];

#[test]
fn sample_sizes() {
    let one: Vec<u64> = QUANTILES.iter().map(|q| sample_size_min(*q, 0.05).unwrap()).collect();
    assert_eq!(one, [5, 29, 59, 299, 598, 2995]);
    let two: Vec<u64> =
        QUANTILES.iter().map(|q| sample_size_min_two_sided(*q, 0.05).unwrap()).collect();
    assert_eq!(two, [6, 36, 72, 368, 736, 3688]);
    // An exact power: half of all values, four halvings.
    assert_eq!(sample_size_min(0.5, 0.0625).unwrap(), 4);
}

/// n, q, and the two ranks.
const RANKS: [(u64, f64, u64, u64); 6] = [
    (500, 0.99, 490, 500),
    (1_000, 0.99, 983, 997),
    (3_000, 0.99, 2_959, 2_981),
    (10_000, 0.99, 9_880, 9_920),
    (1_000, 0.95, 936, 964),
    (10_000, 0.999, 9_983, 9_997),
];

#[test]
fn ranks_of_order_statistics() {
    for (n, q, lower, upper) in RANKS {
        let ranks = quantile_interval_ranks(n, q, 0.95).unwrap();
        assert_eq!((ranks.lower, ranks.upper), (Some(lower), Some(upper)), "n {n}, q {q}");
    }
}

#[test]
fn shares() {
    let (low, high) = wilson_interval(12.0, 2000.0, 0.95).unwrap();
    close(low, 0.003_435_594_376_936_234);
    close(high, 0.010_458_448_336_941_664);
    close(clopper_pearson_upper(12.0, 2000.0, 0.05).unwrap(), 0.009_703_194_529_569_636);
    close(clopper_pearson_upper(0.0, 300.0, 0.05).unwrap(), 0.009_936_081_944_457_664);
    // The rule of three is close, and never below.
    assert!(clopper_pearson_upper(0.0, 300.0, 0.05).unwrap() < 3.0 / 300.0);
}

#[test]
fn queues() {
    close(erlang_b(10, 8.0).unwrap(), 0.121_661_064_252_951_5);
    close(erlang_c(10, 8.0).unwrap(), 0.409_180_150_796_443_54);
    let calm = bounded_queue(10, 30, 8.0, 1.0).unwrap();
    close(calm.blocked_share, 0.000_947_079_487_872_430_9);
    close(calm.in_system, 9.540_636_436_538_174);
    close(calm.waiting, 1.548_213_072_441_153_4);
    close(calm.time_in_system, 1.193_710_092_910_733_8);
    close(calm.wait, 0.193_710_092_910_733_8);
    let overloaded = bounded_queue(8, 40, 9.0, 1.0).unwrap();
    close(overloaded.blocked_share, 0.112_712_476_890_394_14);
    close(overloaded.in_system, 32.518_733_555_082_81);
    close(overloaded.waiting, 24.533_145_847_096_353);
    close(overloaded.time_in_system, 4.072_177_871_462_179);
    close(overloaded.wait, 3.072_177_871_462_178);
    close(wait_tail(10, 8.0, 1.0, 0.5).unwrap(), 0.150_528_965_213_442_1);
    close(allen_cunneen_wait(10, 8.0, 1.0, 4.0, 1.5).unwrap(), 0.562_622_707_345_109_9);
    // A load of all servers has no steady wait.
    assert!(erlang_c(10, 10.0).is_err());
    assert!(bounded_queue(4, 3, 1.0, 1.0).is_err());
    // One server without a queue is Erlang's loss system; M/M/1 waits with probability ρ.
    close(bounded_queue(3, 3, 2.0, 1.0).unwrap().blocked_share, erlang_b(3, 2.0).unwrap());
    close(erlang_c(1, 0.7).unwrap(), 0.7);
    // A queue of a thousand places does not overflow.
    assert!(bounded_queue(8, 1_000, 80.0, 1.0).unwrap().blocked_share > 0.89);
}

#[test]
fn checkpoints() {
    for (cost, mean, restart, young, daly, overhead) in [
        (
            6.3,
            14_400.0,
            120.0,
            425.957_744_383_172_4,
            421.768_097_522_792_8,
            0.038_793_857_162_233_05,
        ),
        (
            148.8,
            14_400.0,
            120.0,
            2_070.130_430_673_391,
            1_972.118_838_883_592_4,
            0.168_383_254_427_987_96,
        ),
        (30.0, 3_600.0, 60.0, 464.758_001_544_89, 444.973_167_286_345_9, 0.160_214_259_356_314_28),
    ] {
        close(young_interval(cost, mean).unwrap(), young);
        close(daly_interval(cost, mean).unwrap(), daly);
        close(checkpoint_overhead(daly, cost, mean, restart).unwrap(), overhead);
        // Daly's interval is within 0.1 % of the optimum of the exact law.
        let at = |interval: f64| checkpoint_overhead(interval, cost, mean, restart).unwrap();
        assert!(at(daly) <= at(0.95 * daly) && at(daly) <= at(1.05 * daly));
    }
    assert_eq!(daly_interval(300.0, 100.0).unwrap(), 100.0);
    assert!(young_interval(0.0, 100.0).is_err() && young_interval(1.0, f64::NAN).is_err());
}

#[test]
fn windows() {
    for (window, useful) in [(60.0, 0.0), (300.0, 145.0), (900.0, 745.0), (3_600.0, 3_445.0)] {
        assert_eq!(useful_window(window, 90.0, 35.0, 30.0).unwrap(), useful);
    }
    assert!(useful_window(-1.0, 0.0, 0.0, 0.0).is_err());
}

#[test]
fn rare_levels() {
    close(pareto_level(20.0, 3.0, 0.1, 10_000, 200, 1e-4).unwrap(), 40.959_393_939_027_42);
    close(pareto_level(20.0, 3.0, 0.0, 10_000, 200, 1e-4).unwrap(), 35.894_952_099_644_11);
    assert_eq!(conformal_rank(28, 0.05).unwrap(), Some(28));
    assert_eq!(conformal_rank(19, 0.05).unwrap(), Some(19));
    assert_eq!(conformal_rank(99, 0.01).unwrap(), Some(99));
    // One day fewer, and the history says nothing at that level.
    assert_eq!(conformal_rank(18, 0.05).unwrap(), None);
    assert_eq!(conformal_rank(98, 0.01).unwrap(), None);
}

/// Every number of a line.
fn numbers(line: &str) -> Vec<f64> {
    line.split(|c: char| !(c.is_ascii_digit() || "+-.e".contains(c)))
        .filter_map(|word| word.trim_matches(['+', '-']).parse().ok())
        .collect()
}

#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn shared_lines() -> Option<Vec<String>> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("facts/vectors.txt");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text.lines().map(str::to_owned).collect()),
        Err(error) => {
            let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
            assert!(!required, "{}: {error}", path.display());
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}

/// The constants above are those of the file, line by line.
#[test]
fn the_shared_file_says_the_same() {
    let Some(lines) = shared_lines() else { return };
    let starting = |start: &str| -> Vec<f64> {
        let line = lines.iter().find(|line| line.starts_with(start));
        numbers(&line.unwrap_or_else(|| panic!("no line starts with {start}"))[start.len()..])
    };
    let sizes = |start: &str| -> Vec<f64> { starting(start).chunks(2).map(|p| p[1]).collect() };
    let computed = |size: fn(f64, f64) -> Result<u64, _>| -> Vec<f64> {
        QUANTILES.iter().map(|q| size(*q, 0.05).unwrap() as f64).collect()
    };
    assert_eq!(sizes("nmin one-sided 95%:"), computed(sample_size_min));
    assert_eq!(sizes("nmin two-sided 95%:"), computed(sample_size_min_two_sided));
    let ranks: Vec<Vec<f64>> =
        lines.iter().filter(|line| line.starts_with("order CI")).map(|l| numbers(l)).collect();
    assert_eq!(ranks.len(), RANKS.len());
    for line in ranks {
        let ranks = quantile_interval_ranks(line[0] as u64, line[1], 0.95).unwrap();
        assert_eq!(ranks.lower.unwrap() as f64, line[2]);
        assert_eq!(ranks.upper.unwrap() as f64, line[3]);
    }
    let shares = starting("wilson 12/2000 (");
    let (low, high) = wilson_interval(12.0, 2000.0, 0.95).unwrap();
    close(low, shares[0]);
    close(high, shares[1]);
    assert!(
        shares
            .iter()
            .any(|s| (s - clopper_pearson_upper(12.0, 2000.0, 0.05).unwrap()).abs() < 1e-12)
    );
    assert!(
        shares.iter().any(|s| (s - clopper_pearson_upper(0.0, 300.0, 0.05).unwrap()).abs() < 1e-12)
    );
    let erlang = starting("ErlangB c=10 a=8 ");
    close(erlang_b(10, 8.0).unwrap(), erlang[0]);
    close(erlang_c(10, 8.0).unwrap(), *erlang.last().unwrap());
    for (start, servers, capacity, arrivals) in [
        ("MMcK c=10 K=30 lam=8 mu=1 {", 10, 30, 8.0),
        ("MMcK c=8 K=40 lam=9 mu=1 (overload) {", 8, 40, 9.0),
    ] {
        let queue = bounded_queue(servers, capacity, arrivals, 1.0).unwrap();
        let values =
            [queue.blocked_share, queue.in_system, queue.waiting, queue.time_in_system, queue.wait];
        for (value, expected) in values.into_iter().zip(starting(start)) {
            close(value, expected);
        }
    }
    close(wait_tail(10, 8.0, 1.0, 0.5).unwrap(), starting("P(Wq>0.5s) c=10 lam=8 mu=1")[0]);
    close(
        allen_cunneen_wait(10, 8.0, 1.0, 4.0, 1.5).unwrap(),
        starting("AllenCunneen Wq c=10 lam=8 mu=1 ca2=4 cs2=1.5")[0],
    );
    for (line, restart) in lines.iter().filter(|l| l.starts_with("C ")).zip([120.0, 120.0, 60.0]) {
        let [cost, mean, young, daly, overhead] = numbers(line)[..] else { panic!("{line}") };
        close(young_interval(cost, mean).unwrap(), young);
        close(daly_interval(cost, mean).unwrap(), daly);
        close(checkpoint_overhead(daly, cost, mean, restart).unwrap(), overhead);
    }
    let windows: Vec<Vec<f64>> =
        lines.iter().filter(|line| line.starts_with("window")).map(|l| numbers(l)).collect();
    assert_eq!(windows.len(), 4);
    for window in windows {
        assert_eq!(useful_window(window[0], 90.0, 35.0, 30.0).unwrap(), window[1]);
        close(window[1] / window[0], window[2]);
    }
    let level = starting("SPOT level u=20 sig=3 xi=.1 n=10000 Nu=200 q=1e-4");
    close(pareto_level(20.0, 3.0, 0.1, 10_000, 200, 1e-4).unwrap(), level[0]);
    close(pareto_level(20.0, 3.0, 0.0, 10_000, 200, 1e-4).unwrap(), *level.last().unwrap());
    for chunk in starting("conformal idx ").chunks(3) {
        let rank = conformal_rank(chunk[0] as u64, chunk[1]).unwrap();
        assert_eq!(rank.unwrap() as f64, chunk[2]);
    }
}
