//! The report of a plan and its renderings, on made-up plans.

use std::sync::LazyLock;

use cotenant_core::plan::Holder;
use cotenant_report::plan_model::HolderKind;
use cotenant_report::{
    PLAN_FORMAT, PLAN_VERSION, PlanReport, TerminalOptions, plan_from_json, plan_schema,
    plan_to_json, render_plan_html, render_plan_terminal,
};
use jiff::civil::date;
use proptest::prelude::*;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::any_report::disturb;
use crate::made_up_plans::{PlanSample, plan_samples, week};
use crate::renderings::{numbers, visible, without_escapes};

const PLAIN: TerminalOptions = TerminalOptions { width: 80, color: false };

fn for_each_sample(check: impl Fn(&PlanSample, &PlanReport)) {
    for sample in plan_samples() {
        check(&sample, &sample.report());
    }
}

fn sample_of(plan: cotenant_core::plan::Plan) -> PlanSample {
    let mut sample = plan_samples().swap_remove(0);
    sample.plan = plan;
    sample
}

#[test]
fn terminal_text_is_as_it_was() {
    for_each_sample(|sample, report| {
        insta::assert_snapshot!(
            format!("plan-terminal-{}", sample.name),
            render_plan_terminal(report, &PLAIN)
        );
    });
}

#[test]
fn json_is_as_it_was() {
    let mut short = plan_samples().swap_remove(1).report();
    // A few of each kind show the shape; the numbers have tests of their own.
    for reserve in &mut short.reserves {
        reserve.windows.truncate(2);
        reserve.weekdays.truncate(1);
    }
    if let Some(calendar) = &mut short.calendar {
        calendar.windows.truncate(2);
        calendar.blocks.truncate(2);
        calendar.holds.truncate(2);
        calendar.transitions.truncate(2);
        calendar.days.truncate(1);
    }
    insta::assert_snapshot!("plan-json", plan_to_json(&short));
}

#[test]
fn json_fits_its_schema_and_reads_back() {
    let validator = jsonschema::validator_for(&plan_schema()).unwrap();
    for_each_sample(|sample, report| {
        let text = plan_to_json(report);
        let value: Value = serde_json::from_str(&text).unwrap();
        let problems: Vec<_> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:?}", sample.name);
        assert_eq!(value["format"], PLAN_FORMAT);
        assert_eq!(value["version"], PLAN_VERSION);
        let back = plan_from_json(&text).unwrap();
        assert_eq!(&back, report);
        assert_eq!(plan_to_json(&back), text);
    });
}

#[test]
fn schema_refuses_what_is_no_plan() {
    let validator = jsonschema::validator_for(&plan_schema()).unwrap();
    let mut value = serde_json::to_value(plan_samples()[0].report()).unwrap();
    assert!(validator.is_valid(&value));
    value["calendar"]["blocks"][0]["gpus"] = "many".into();
    assert!(!validator.is_valid(&value));
}

#[test]
fn a_newer_or_foreign_plan_is_refused_by_name() {
    let mut report = plan_samples()[2].report();
    report.version = PLAN_VERSION + 1;
    let error = plan_from_json(&plan_to_json(&report)).unwrap_err().to_string();
    assert!(error.contains("is newer"), "{error}");
    report.format = "cotenant-report".to_owned();
    let error = plan_from_json(&plan_to_json(&report)).unwrap_err().to_string();
    assert!(error.contains("`cotenant-report`"), "{error}");
}

#[test]
fn same_plan_gives_the_same_bytes() {
    for (left, right) in plan_samples().iter().zip(plan_samples()) {
        assert_eq!(plan_to_json(&left.report()), plan_to_json(&right.report()));
        assert_eq!(render_plan_html(&left.report()), render_plan_html(&right.report()));
    }
}

#[test]
fn each_plan_says_its_word_without_colour() {
    for (sample, word) in plan_samples().iter().zip(["NOT PROVEN", "FAIL", "NOT PROVEN"]) {
        let report = sample.report();
        let text = render_plan_terminal(&report, &PLAIN);
        assert!(text.lines().next().is_some_and(|line| line.ends_with(word)), "{word}");
        assert!(render_plan_html(&report).contains(&format!("<span>{word}</span></h1>")));
        let coloured = render_plan_terminal(&report, &TerminalOptions { color: true, ..PLAIN });
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(without_escapes(&coloured), text);
    }
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for minutes in [15, 20, 30, 60] {
        let report = sample_of(week(date(2026, 10, 19), 7, minutes)).report();
        for width in [60, 80, 100, 132] {
            let text = render_plan_terminal(&report, &TerminalOptions { width, ..PLAIN });
            for line in text.lines() {
                assert!(line.width() <= width, "{minutes} min at {width}: {line:?}");
            }
        }
    }
}

#[test]
fn every_number_that_is_shown_is_in_the_json() {
    for_each_sample(|sample, report| {
        let known = numbers(&plan_to_json(report));
        let terminal = render_plan_terminal(report, &PLAIN);
        let page = visible(&render_plan_html(report));
        for (rendering, text) in [("terminal", terminal), ("page", page)] {
            let shown = numbers(&text);
            let unknown: Vec<_> = shown.difference(&known).collect();
            assert!(unknown.is_empty(), "{} {rendering}: {unknown:?}", sample.name);
        }
    });
}

#[test]
fn the_page_needs_nothing_beside_itself_and_is_well_formed() {
    for_each_sample(|_, report| {
        let page = render_plan_html(report);
        for forbidden in
            ["http://", "https://", "<script", "<link", "@import", "src=", "@font-face"]
        {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        for tag in
            ["svg", "table", "section", "figure", "ul", "ol", "dl", "g", "tr", "td", "article"]
        {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        let charts = page.matches("<svg class=\"chart\"").count();
        assert_eq!(charts, page.matches("role=\"img\"").count());
    });
}

#[test]
fn text_of_the_site_is_escaped() {
    let evil = "<script>alert('x')</script>\"&\u{1b}[2J";
    let mut sample = plan_samples().swap_remove(1);
    sample.plan.reason = evil.to_owned();
    sample.plan.missing = vec![evil.to_owned()];
    for tenant in &mut sample.plan.calendar.as_mut().unwrap().tenants {
        tenant.name = evil.to_owned();
        tenant.workload = evil.to_owned();
    }
    let report = sample.report();
    let page = render_plan_html(&report);
    assert!(!page.contains("<script"));
    assert!(page.contains("&lt;script&gt;"));
    assert!(!render_plan_terminal(&report, &PLAIN).contains('\u{1b}'));
}

#[test]
fn each_cell_lies_in_one_block_that_says_its_holder() {
    let sample = plan_samples().swap_remove(0);
    let calendar = sample.plan.calendar.as_ref().unwrap();
    let report = sample.report();
    let view = report.calendar.as_ref().unwrap();
    let mut seen = vec![vec![0; 8]; calendar.grid.windows.len()];
    for block in &view.blocks {
        for window in block.from..block.until {
            for gpu in block.gpu..block.gpu + block.gpus {
                seen[window as usize][gpu as usize] += 1;
                let (kind, tenant) = match calendar.holders[window as usize][gpu as usize] {
                    Holder::Inference(tenant) => (HolderKind::Reserved, Some(tenant)),
                    Holder::HotReserve(tenant) => (HolderKind::HotReserve, Some(tenant)),
                    Holder::Job(tenant) => (HolderKind::Job, Some(tenant)),
                    Holder::Lent(tenant) => (HolderKind::Lent, Some(tenant)),
                    Holder::Idle => (HolderKind::Idle, None),
                    Holder::Maintenance => (HolderKind::Maintenance, None),
                };
                assert_eq!(view.holders[block.holder as usize].kind, kind);
                assert_eq!(block.tenant, tenant);
            }
        }
    }
    assert!(seen.iter().flatten().all(|count| *count == 1));
    assert!(view.blocks.len() < 8 * 336 / 10, "blocks are merged: {}", view.blocks.len());
}

#[test]
fn gpu_hours_of_the_parts_add_up_to_the_calendar() {
    let report = plan_samples()[0].report();
    let view = report.calendar.unwrap();
    let parts: f64 = view.overlap.parts.iter().map(|part| part.gpu_hours.value.unwrap()).sum();
    assert!((parts - 8.0 * 168.0).abs() < 1e-9, "{parts}");
    let hours: f64 = [
        &view.overlap.both,
        &view.overlap.inference_alone,
        &view.overlap.jobs_alone,
        &view.overlap.neither,
    ]
    .iter()
    .map(|value| value.value.unwrap())
    .sum();
    assert!((hours - 168.0).abs() < 1e-9, "{hours}");
    // What tenants hold is everything but the idle part.
    let held: f64 = view.holds.iter().map(|hold| hold.gpu_hours.value.unwrap()).sum();
    let idle: f64 = view
        .overlap
        .parts
        .iter()
        .filter(|part| view.holders[part.holder as usize].kind == HolderKind::Idle)
        .map(|part| part.gpu_hours.value.unwrap())
        .sum();
    assert!((held + idle - parts).abs() < 1e-9, "{held} + {idle}");
}

#[test]
fn a_day_of_25_hours_has_two_hours_more_letters_than_one_of_24() {
    // The clocks of Berlin go back on 25 October 2026.
    let report = sample_of(week(date(2026, 10, 19), 7, 30)).report();
    let view = report.calendar.unwrap();
    assert_eq!(view.windows.len(), 6 * 48 + 50);
    let sunday = &view.days[6];
    assert_eq!(sunday.label, "Sun 25 Oct");
    assert!(sunday.rows.iter().all(|row| row.letters.chars().count() == 50));
    let texts: Vec<_> = view.windows.iter().map(|window| window.start.text.as_str()).collect();
    assert!(texts.contains(&"Sun 25 Oct 02:30 CEST"), "{texts:?}");
    assert!(texts.contains(&"Sun 25 Oct 02:30 CET"), "{texts:?}");
    let distinct: std::collections::BTreeSet<_> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len(), "no local time stands for two instants");
}

#[test]
fn a_day_of_23_hours_has_no_third_hour() {
    let report = sample_of(week(date(2026, 3, 29), 1, 30)).report();
    let day = &report.calendar.as_ref().unwrap().days[0];
    assert!(day.rows.iter().all(|row| row.letters.chars().count() == 46));
    assert!(day.scale.starts_with("00  03"), "hour 2 does not exist: {:?}", day.scale);
    let hours = &report.reserves[0].weekdays[0].reserved;
    assert_eq!(hours.iter().filter(|gpus| gpus.is_none()).count(), 1);
    assert_eq!(hours[2], None);
}

#[test]
fn a_leap_day_is_a_day() {
    let report = sample_of(week(date(2028, 2, 28), 3, 60)).report();
    let labels: Vec<_> =
        report.calendar.as_ref().unwrap().days.iter().map(|day| day.label.as_str()).collect();
    assert_eq!(labels, ["Mon 28 Feb", "Tue 29 Feb", "Wed 1 Mar"]);
}

#[test]
fn four_weeks_are_four_drawings() {
    let report = sample_of(week(date(2026, 11, 2), 28, 60)).report();
    let view = report.calendar.as_ref().unwrap();
    let titles: Vec<_> = view.weeks.iter().map(|week| week.title.as_str()).collect();
    assert_eq!(titles[0], "Mon 2 Nov to Sun 8 Nov");
    assert_eq!(titles.len(), 4);
    assert_eq!((view.weeks[1].from, view.weeks[1].until), (168, 336));
    let text = render_plan_terminal(&report, &PLAIN);
    assert!(text.contains("Wed 11 Nov: as Wed 4 Nov"), "a week that repeats is not printed twice");
}

#[test]
fn letters_tell_who_gives_way() {
    let report = plan_samples()[0].report();
    for holder in report.calendar.unwrap().holders {
        let letter = holder.letter.chars().next().unwrap();
        match holder.kind {
            HolderKind::Reserved | HolderKind::Job => assert!(letter.is_uppercase()),
            HolderKind::HotReserve | HolderKind::Lent => assert!(letter.is_lowercase()),
            HolderKind::Idle | HolderKind::Maintenance => assert!(!letter.is_alphabetic()),
        }
    }
}

#[test]
fn the_hour_s_need_is_the_highest_of_its_windows() {
    let sample = plan_samples().swap_remove(0);
    let needs = &sample.plan.reserves[0].windows;
    let report = sample.report();
    let monday = &report.reserves[0].weekdays[0];
    assert_eq!(monday.label, "Mon");
    for hour in 0..24 {
        let highest = needs[2 * hour].reserved.max(needs[2 * hour + 1].reserved);
        assert_eq!(monday.reserved[hour], Some(highest), "hour {hour}");
    }
}

/// The samples as JSON, built once; their calendar has two days, so that many cases are quick.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let short = week(date(2026, 11, 2), 2, 60);
    plan_samples()
        .into_iter()
        .map(|mut sample| {
            if sample.plan.calendar.is_some() {
                sample.plan.calendar.clone_from(&short.calendar);
                sample.plan.reserves.clone_from(&short.reserves);
            }
            serde_json::to_value(sample.report()).unwrap()
        })
        .collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_renders(
        which in 0..3_usize,
        texts in proptest::collection::vec(any::<String>(), 5..9),
        numbers in proptest::collection::vec(any::<f64>(), 5..9),
        offset in 0..7_usize,
    ) {
        let mut value = SAMPLES[which].clone();
        let finite: Vec<f64> =
            numbers.into_iter().map(|n| if n.is_finite() { n } else { 0.0 }).collect();
        let mut next = offset;
        disturb(&mut value, &texts, &finite, &mut next);
        let report = plan_from_json(&value.to_string()).unwrap();
        let text = render_plan_terminal(&report, &PLAIN);
        for line in text.lines() {
            prop_assert!(line.width() <= 80, "{line:?}");
        }
        let page = render_plan_html(&report);
        prop_assert!(page.ends_with("</html>"));
        prop_assert!(!page.contains("NaN"), "a coordinate is not a number");
    }
}
