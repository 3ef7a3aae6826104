//! Exports, read by the tools that they are made for. They are not run each time: the tools must be
//! installed.
//!
//! ```text
//! python3 -m venv .venv && .venv/bin/pip install icalendar
//! COTENANT_PYTHON=$PWD/.venv/bin/python cargo test -p cotenant-report icalendar -- --ignored
//! SLURM_CONF=… cargo test -p cotenant-report slurm -- --ignored
//! ```
//!
//! The Slurm is one that may be written to: its `slurm.conf` holds the licence and an account for
//! each workload, and it has a node `gpu1`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use cotenant_report::{ExportFormat, ExportOptions, export};
use jiff::civil::date;

use crate::made_up_plans::{plan_samples, week};

/// Gives a text to a program, and returns what it says.
fn told(program: &str, arguments: &[&str], text: &str) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "needs a Python with the package icalendar in COTENANT_PYTHON"]
fn the_icalendar_package_reads_every_event() {
    const PROGRAM: &str = "
import sys, icalendar
calendar = icalendar.Calendar.from_ical(sys.stdin.buffer.read())
for event in calendar.walk('VEVENT'):
    assert not event.errors, event.errors
    hours = (event.decoded('DTEND') - event.decoded('DTSTART')).total_seconds() / 3600
    assert event.decoded('DTSTART').utcoffset().total_seconds() == 0
    print(event['UID'], hours, str(event['DESCRIPTION']), sep='\\t')
";
    let python = std::env::var("COTENANT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut sample = plan_samples().swap_remove(0);
    // The week in which the clocks of Berlin go back.
    sample.plan = week(date(2026, 10, 19), 7, 30);
    let report = sample.report();
    let text = export(&report, ExportFormat::Ical, &ExportOptions::default()).unwrap().text;
    let said = told(&python, &["-c", PROGRAM], &text);
    let holds = &report.calendar.as_ref().unwrap().holds;
    assert_eq!(said.lines().count(), holds.len());
    for (line, hold) in said.lines().zip(holds) {
        let fields: Vec<_> = line.split('\t').collect();
        let gpus = (hold.gpus.len() + hold.loose_gpus.len()) as f64;
        let hours: f64 = fields[1].parse().unwrap();
        assert!((hours * gpus - hold.gpu_hours.value.unwrap()).abs() < 1e-9, "{line}");
        assert_eq!(fields[2], hold.text);
    }
}

#[test]
#[ignore = "needs a Slurm that may be written to, named by SLURM_CONF"]
fn slurm_takes_every_reservation() {
    let mut sample = plan_samples().swap_remove(0);
    // Reservations lie ahead: Slurm takes none in the past.
    sample.plan = week(date(2030, 10, 21), 7, 30);
    let report = sample.report();
    let options = ExportOptions {
        node: Some("gpu1"),
        account: std::env::var("COTENANT_SLURM_ACCOUNT").ok().map(|name| &*name.leak()),
        ..ExportOptions::default()
    };
    let text = export(&report, ExportFormat::Slurm, &options).unwrap().text;
    let said = told("sh", &[], &text);
    let holds = &report.calendar.as_ref().unwrap().holds;
    assert_eq!(said.matches("Reservation created").count(), holds.len(), "{said}");
    let known = Command::new("scontrol").args(["show", "reservation", "-o"]).output().unwrap();
    let known = String::from_utf8(known.stdout).unwrap();
    for line in text.lines().filter_map(|line| line.split("ReservationName=").nth(1)) {
        let name = line.split(' ').next().unwrap().trim_matches('\'');
        assert!(known.contains(&format!("ReservationName={name} ")), "{name}");
    }
    for name in known.lines().filter_map(|line| line.split("ReservationName=").nth(1)) {
        let name = name.split(' ').next().unwrap();
        let removed = Command::new("scontrol")
            .args(["delete", &format!("ReservationName={name}")])
            .status()
            .unwrap();
        assert!(removed.success(), "{name}");
    }
}
