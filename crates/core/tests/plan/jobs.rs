//! Where releases and deadlines stand: on days of 23 and 25 hours, on a leap day, at the edges.

use cotenant_core::plan::{JobList, jobs};
use cotenant_core::site::{Deadline, WorkloadKind};

use crate::support::{
    ALLOCATION, batch, duration, grid, instant, once, site, slots_of, trainer, training_of, weekly,
    workload,
};

fn list(zone: &str, begins: &str, days: u32, deadline: Option<Deadline>) -> JobList {
    of_each_week(zone, begins, days, deadline, None)
}

fn of_each_week(
    zone: &str,
    begins: &str,
    days: u32,
    deadline: Option<Deadline>,
    per_week: Option<f64>,
) -> JobList {
    let mut tune = trainer("tune", 1, 3.0, deadline);
    training_of(&mut tune).jobs_per_week = per_week;
    jobs(&site(4, vec![tune]), &grid(zone, begins, days, 30))
}

#[test]
fn a_deadline_stands_at_its_local_time_on_days_of_23_and_25_hours() {
    // Sunday begins after 288 half hours. At 08:00, 7 hours of the short day are over, 9 of the long.
    let spring = list("Europe/Berlin", "2027-03-22", 7, weekly("Sun", "08:00"));
    assert_eq!(slots_of(&spring.occurrences), [(0, Some(288 + 14)), (302, None)]);
    assert_eq!(spring.occurrences[0].deadline, Some(instant("2027-03-28T06:00:00Z")));
    assert_eq!(spring.occurrences[0].job.name, "tune (due Sun 28 Mar 08:00)");
    let autumn = list("Europe/Berlin", "2027-10-25", 7, weekly("Sun", "08:00"));
    assert_eq!(slots_of(&autumn.occurrences), [(0, Some(288 + 18)), (306, None)]);
    assert_eq!(autumn.occurrences[0].deadline, Some(instant("2027-10-31T07:00:00Z")));
    // The hour from two to three does not exist in spring, and in autumn it comes twice: the first
    // one counts, for who is done by then is done in time by either.
    let spring = list("Europe/Berlin", "2027-03-22", 7, weekly("Sun", "02:30"));
    assert_eq!(slots_of(&spring.occurrences)[0], (0, Some(288 + 5)));
    let autumn = list("Europe/Berlin", "2027-10-25", 7, weekly("Sun", "02:30"));
    assert_eq!(slots_of(&autumn.occurrences)[0], (0, Some(288 + 5)));
}

#[test]
fn midnight_at_the_end_of_a_leap_day_is_the_first_of_march() {
    let leap = list("UTC", "2028-02-28", 7, weekly("Tue", "24:00"));
    assert_eq!(slots_of(&leap.occurrences)[0], (0, Some(96)));
    assert_eq!(leap.occurrences[0].deadline, Some(instant("2028-03-01T00:00:00Z")));
    let noon =
        list("UTC", "2028-02-28", 7, once("2028-02-29T12:00:00Z", Some("2028-02-29T00:10:00Z")));
    // It may begin with the first window that begins after its start.
    assert_eq!(slots_of(&noon.occurrences), [(49, Some(72))]);
}

#[test]
fn daily_deadlines_follow_each_other() {
    let daily = list("UTC", "2026-12-07", 7, weekly("daily", "06:00"));
    let expected: Vec<(usize, Option<usize>)> = (0..8)
        .map(|day: usize| ((48 * day + 12).saturating_sub(48), (day < 7).then_some(48 * day + 12)))
        .collect();
    // The first has six hours of the calendar, a quarter of its day: just enough to be planned.
    assert_eq!(slots_of(&daily.occurrences), expected);
    let early = list("UTC", "2026-12-07", 7, weekly("daily", "05:30"));
    assert_eq!(early.occurrences.len(), 7);
    assert!(early.remarks[0].contains("Mon 07 Dec 05:30 is not planned"), "{:?}", early.remarks);
    assert_eq!(slots_of(&early.occurrences)[0], (11, Some(11 + 48)));
}

#[test]
fn an_occurrence_that_began_before_the_calendar_says_so() {
    let thursday = list("UTC", "2026-12-07", 7, weekly("Thu", "08:00"));
    assert_eq!(slots_of(&thursday.occurrences), [(0, Some(160)), (160, None)]);
    assert!(thursday.remarks.iter().any(|it| it.contains("may have begun before the calendar")));
    let monday = list("UTC", "2026-12-07", 7, weekly("Mon", "00:00"));
    assert_eq!(slots_of(&monday.occurrences), [(0, Some(336))], "{monday:?}");
    assert!(monday.remarks.is_empty(), "it has the whole week: {:?}", monday.remarks);
}

#[test]
fn weeks_without_a_deadline_are_weeks_of_the_local_calendar() {
    let autumn = of_each_week("Europe/Berlin", "2027-10-25", 7, None, Some(1.0));
    assert_eq!(slots_of(&autumn.occurrences), [(0, None)], "169 hours are one week");
    let two = of_each_week("Europe/Berlin", "2027-10-25", 14, None, Some(2.0));
    assert_eq!(slots_of(&two.occurrences), [(0, None), (0, None), (338, None), (338, None)]);
    assert_eq!(two.occurrences[3].job.name, "tune (week 2, 2 of 2)");
    let spring = of_each_week("Europe/Berlin", "2027-03-22", 14, None, Some(1.0));
    assert_eq!(slots_of(&spring.occurrences), [(0, None), (334, None)]);
}

#[test]
fn a_fraction_of_a_job_is_one_that_may_come() {
    for (per_week, expected) in
        [(0.5, [1, 0, 1, 0]), (1.0, [1, 1, 1, 1]), (2.5, [3, 2, 3, 2]), (0.0, [0, 0, 0, 0])]
    {
        let list = of_each_week("UTC", "2026-12-07", 28, None, Some(per_week));
        for (week, count) in expected.into_iter().enumerate() {
            let release = week * 336;
            let found = list.occurrences.iter().filter(|it| it.job.release == release).count();
            assert_eq!(found, count, "{per_week} a week, week {week}");
        }
    }
    // Three jobs a week over deadlines of each day: never more than three in seven days.
    let list = of_each_week("UTC", "2026-12-07", 14, weekly("daily", "24:00"), Some(3.0));
    assert_eq!(list.occurrences.iter().filter(|it| it.job.deadline.is_some()).count(), 6);
}

#[test]
fn deadlines_outside_of_the_calendar_do_not_stand_in_it() {
    let list = |deadline| list("UTC", "2026-12-07", 7, deadline);
    let passed = list(once("2026-12-01T00:00:00Z", None));
    assert_eq!(slots_of(&passed.occurrences), [(0, Some(0))]);
    let beyond = list(once("2027-01-01T00:00:00Z", None));
    assert_eq!(slots_of(&beyond.occurrences), [(0, None)]);
    assert_eq!(beyond.occurrences[0].job.name, "tune (due after the calendar)");
    let last = list(once("2026-12-14T00:00:00Z", None));
    assert_eq!(slots_of(&last.occurrences), [(0, Some(336))]);
    let backwards = list(once("2026-12-08T00:00:00Z", Some("2026-12-10T00:00:00Z")));
    assert_eq!(slots_of(&backwards.occurrences), [(144, Some(48))]);
    let later = list(once("2027-01-01T00:00:00Z", Some("2026-12-20T00:00:00Z")));
    assert_eq!(slots_of(&later.occurrences), [(336, None)]);
    // Ten past eight: only what is over by then counts.
    let odd = list(once("2026-12-07T08:10:00Z", None));
    assert_eq!(slots_of(&odd.occurrences), [(0, Some(16))]);
}

#[test]
fn work_without_an_amount_cannot_have_a_deadline() {
    let mut tune = trainer("tune", 1, 3.0, weekly("Fri", "08:00"));
    training_of(&mut tune).work = None;
    let mut score = workload("score", WorkloadKind::Batch(Box::new(batch(None, 2.0))));
    score.allocation = Some(cotenant_core::site::Allocation { normal: Some(1.0), ..ALLOCATION });
    let list = jobs(&site(4, vec![tune, score]), &grid("UTC", "2026-12-07", 7, 60));
    assert_eq!(list.missing.len(), 1, "{:?}", list.missing);
    assert!(list.missing[0].contains("workloads.tune") && list.missing[0].contains("work:"));
    // The batch has no deadline: it never ends, and that is said.
    assert_eq!(slots_of(&list.occurrences), [(0, None)]);
    assert!(list.occurrences[0].job.work.is_infinite());
    assert!(list.remarks.iter().any(|it| it.contains("score") && it.contains("never ends")));
}

#[test]
fn a_shortest_run_is_whole_windows() {
    for (time, windows) in [("30 min", 1), ("31 min", 2), ("2 h", 4), ("10 s", 1)] {
        let mut tune = trainer("tune", 1, 3.0, None);
        tune.allocation.as_mut().unwrap().minimum_run = Some(duration(time));
        let list = jobs(&site(4, vec![tune]), &grid("UTC", "2026-12-07", 7, 30));
        assert_eq!(list.occurrences[0].job.min_run, windows, "{time}");
    }
}
