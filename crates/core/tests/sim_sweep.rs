//! Axes as they are written, the product of them, lines along them, and the points that nothing beats.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use cotenant_core::sim::sweep::{
    Aim, Axis, AxisKind, Mode, PointFigures, PointJob, PointOutcome, PointService, Setting, Sweep,
    front, lines,
};
use proptest::prelude::*;

fn sweep(axes: &[&str]) -> Sweep {
    let axes: Vec<String> = axes.iter().map(|axis| (*axis).to_owned()).collect();
    Sweep::parse(&axes, 1000).unwrap()
}

#[test]
fn axes_are_read_as_they_are_written() {
    let values = |text: &str| Axis::parse(text).unwrap().values;
    assert_eq!(values("rate=0.5, 2"), [Setting::Rate(0.5), Setting::Rate(2.0)]);
    assert_eq!(values("gpus=4..6"), [4, 5, 6].map(Setting::Gpus));
    assert_eq!(values("gpus=2..9/3,16"), [2, 5, 8, 16].map(Setting::Gpus));
    assert_eq!(values("shift=-6..6/6"), [-6.0, 0.0, 6.0].map(Setting::Shift));
    let time = |seconds: u64| Duration::from_secs(seconds);
    assert_eq!(values("reclaim_time=30,4min"), [30, 240].map(time).map(Setting::ReclaimTime));
    assert_eq!(values("reclaim=off,10s"), [None, Some(time(10))].map(Setting::Reclaim));
    assert_eq!(values("mode=temporal"), [Setting::Mode(Mode::Temporal)]);
    assert_eq!(values("first=fine-tune"), [Setting::First("fine-tune".to_owned())]);
    // What is printed is read again.
    for kind in AxisKind::ALL {
        let (_, example) = kind.values().rsplit_once(": `").unwrap();
        let axis = Axis::parse(example.trim_end_matches('`')).unwrap();
        assert_eq!(axis.kind, kind);
        for value in axis.values {
            let again = format!("{}={value}", kind.name());
            assert_eq!(Axis::parse(&again).unwrap().values, [value], "{again}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_the_way_out() {
    for (axis, said) in [
        ("speed=2", "there is no axis `speed`; there are rate, gpus"),
        ("rate", "an axis is a name and its values"),
        ("rate=0", "`0` is no value of it; its values are multiples of the demand above 0"),
        ("rate=1,x", "`x` is no value"),
        ("gpus=8..4", "`8..4` is no value"),
        ("gpus=1..9/0", "`1..9/0` is no value"),
        ("gpus=0", "`0` is no value"),
        ("gpus=4..6,5", "`5` stands there twice"),
        ("mode=mig", "`best`, `whole_gpu` or `temporal`"),
        ("window=45", "15, 20, 30 or 60"),
        ("rate=nan", "`nan` is no value"),
        ("gpus=-9223372036854775808..9223372036854775807", "is no value"),
    ] {
        let error = Axis::parse(axis).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`--sweep {axis}`: ")), "{error}");
        assert!(error.contains(said), "{error}");
    }
    let texts = |axes: &[&str]| axes.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let twice = Sweep::parse(&texts(&["rate=1", "rate=2"]), 9).unwrap_err().to_string();
    assert!(twice.contains("the axis rate stands there twice"), "{twice}");
    let many = Sweep::parse(&texts(&["rate=1,2,3", "gpus=1..4"]), 11).unwrap_err().to_string();
    assert!(many.contains("12 points") && many.contains("--points-max 12"), "{many}");
}

#[test]
fn the_last_axis_runs_fastest() {
    let sweep = sweep(&["rate=1,2", "mode=whole_gpu,temporal", "gpus=4..6"]);
    let shown: Vec<String> = (0..sweep.points())
        .map(|index| {
            let settings = sweep.settings(index);
            settings.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(shown.len(), 12);
    let first = ["1 whole_gpu 4", "1 whole_gpu 5", "1 whole_gpu 6", "1 temporal 4"];
    assert_eq!(shown[..4], first);
    assert_eq!(shown[11], "2 temporal 6");
}

#[test]
fn a_line_holds_the_points_that_differ_in_one_axis() {
    let sweep = sweep(&["rate=2,1", "gpus=4..6"]);
    let along = |axis: usize| -> Vec<Vec<u64>> {
        lines(&sweep, axis).into_iter().map(|line| line.points).collect()
    };
    // By value ascending: the rate 1 is the second that was written.
    assert_eq!(along(0), [vec![3, 0], vec![4, 1], vec![5, 2]]);
    assert_eq!(along(1), [vec![0, 1, 2], vec![3, 4, 5]]);
    assert_eq!(lines(&sweep, 0)[1].fixed, [("gpus".to_owned(), "5".to_owned())]);
    assert!(along(2).is_empty());
}

fn point(index: u64, on_time: Option<f64>, short_share: f64, gpus: u32) -> PointOutcome {
    let figures = PointFigures {
        gpus,
        jobs: vec![PointJob { on_time_share: on_time, ..PointJob::default() }],
        services: vec![PointService { short_share, ..PointService::default() }],
        ..PointFigures::default()
    };
    PointOutcome { index, figures: Ok(figures) }
}

#[test]
fn a_point_without_figures_is_never_on_the_front() {
    let lost = PointOutcome { index: 1, figures: Err("no calendar".to_owned()) };
    let points = [point(0, Some(0.5), 0.1, 4), lost, point(2, Some(0.5), 0.1, 5)];
    let aims = Aim::of(&points);
    assert_eq!(aims, [Aim::OnTime, Aim::Short, Aim::Gpus]);
    assert_eq!(front(&points, &aims), [0]);
    assert_eq!(front(&[], &aims), Vec::<usize>::new());
    // Where nothing has a deadline, work is what counts.
    let aims = Aim::of(&[point(0, None, 0.0, 1)]);
    assert_eq!(aims, [Aim::Kept, Aim::Short, Aim::Gpus]);
}

proptest! {
    #[test]
    fn the_front_is_exactly_what_nothing_beats(
        drawn in prop::collection::vec((0_u8..4, 0_u8..4, 1_u32..4, 0_u8..8), 0..40),
    ) {
        let points: Vec<PointOutcome> = drawn
            .iter()
            .enumerate()
            .map(|(index, (on_time, short, gpus, lost))| {
                let index = index as u64;
                if *lost == 0 {
                    PointOutcome { index, figures: Err("lost".to_owned()) }
                } else {
                    point(index, Some(f64::from(*on_time)), f64::from(*short), *gpus)
                }
            })
            .collect();
        let aims = [Aim::OnTime, Aim::Short, Aim::Gpus];
        // By the words of the definition, and without the order that makes it fast.
        let beats = |one: usize, other: usize| {
            let ((a, b, c, _), (d, e, f, _)) = (drawn[one], drawn[other]);
            (a >= d && b <= e && c <= f) && (a > d || b < e || c < f)
        };
        let is_known = |place: &usize| points[*place].figures.is_ok();
        let all: Vec<usize> = (0..points.len()).filter(is_known).collect();
        let expected: Vec<usize> = all
            .iter()
            .copied()
            .filter(|place| !all.iter().any(|other| beats(*other, *place)))
            .collect();
        prop_assert_eq!(front(&points, &aims), expected);
    }

    #[test]
    fn shards_share_the_points_out(points in 1_u64..60, of in 1_u32..20) {
        let axis = format!("gpus=1..{points}");
        let sweep = Sweep::parse(&[axis], 1000).unwrap();
        let mut all: Vec<u64> = (1..=of).flat_map(|shard| sweep.shard(shard, of)).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..points).collect::<Vec<_>>());
    }

    #[test]
    fn no_text_panics(text in ".{0,40}", name in "(rate|gpus|shift|reclaim_time)=[-0-9./,s]{0,24}") {
        let _ = Axis::parse(&text);
        let _ = Axis::parse(&name);
    }
}
