//! Logs of a host: faults of GPUs in the kernel's log, and of NVSwitches in the fabric manager's.

use super::cluster::Fault;
use super::kind::Kind;
use super::model::Place;
use super::reading::Reading;
use super::refusal::shortened;
use super::stated::{Absence, SchedulerTime, Stated};

/// Which log a text is.
pub(super) fn kind_of(text: &str) -> Option<Kind> {
    let mut lines = text.lines().take(2000);
    lines.find_map(|line| {
        if line.contains("NVRM: ") {
            Some(Kind::KernelLog)
        } else if line.starts_with('[') && line.contains("] [tid ") && line.contains("] [") {
            Some(Kind::FabricManagerLog)
        } else {
            None
        }
    })
}

/// Reads the faults of a log; the other lines are counted.
pub(super) fn read(file: &str, text: &str, kind: Kind) -> Reading {
    let mut reading = Reading::new(file, kind);
    let mut others: u64 = 0;
    for (number, line) in (1_u64..).zip(text.lines()) {
        let fault = match kind {
            Kind::KernelLog => xid(Place::Line(number), line),
            _ => fabric(Place::Line(number), line),
        };
        match fault {
            Some(fault) => Reading::keep(&mut reading.faults, &mut reading.records_left_out, fault),
            None => others += u64::from(!line.trim().is_empty()),
        }
    }
    reading.caveat(format!("{others} lines tell of no fault and were passed over"));
    reading
}

/// `[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, …`
fn xid(place: Place, line: &str) -> Option<Fault> {
    let (head, rest) = line.split_once("NVRM: Xid (")?;
    let (device, rest) = rest.split_once("): ")?;
    let digits = rest.find(|one: char| !one.is_ascii_digit()).unwrap_or(rest.len());
    Some(Fault {
        place,
        time: bracketed(head),
        source: "Xid",
        code: rest[..digits].parse().map_err(|_| Absence::Unreadable(shortened(rest))),
        device: Ok(device.trim_start_matches("PCI:").to_owned()),
        message: shortened(rest[digits..].trim_start_matches([',', ' '])),
    })
}

/// `[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 …`
fn fabric(place: Place, line: &str) -> Option<Fault> {
    let level = ["[ERROR]", "[CRITICAL]", "[FATAL]"].iter().find(|level| line.contains(**level))?;
    let (head, rest) = line.split_once(level)?;
    let message = rest.split_once("] ").map_or(rest, |(_, message)| message).trim();
    let after = |mark: &str| {
        message.split_once(mark).map(|(_, rest)| rest.split([' ', ',']).next().unwrap_or_default())
    };
    Some(Fault {
        place,
        time: bracketed(head),
        source: if message.contains("NVSwitch") { "NVSwitch" } else { "fabric manager" },
        code: after("error ").and_then(|code| code.parse().ok()).ok_or(Absence::NotInFile),
        device: after("pci bus id ").map(str::to_owned).ok_or(Absence::NotInFile),
        message: shortened(message),
    })
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A date in brackets as the kernel (`Sun Feb 23 16:24:18 2025`) or the fabric manager (`Feb 27 2025
/// 15:10:02`) writes it. Both are local, without a zone; seconds since the start of the machine are none.
fn bracketed(head: &str) -> Stated<SchedulerTime> {
    let inside =
        head.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside);
    let Some(inside) = inside else { return Err(Absence::NotInFile) };
    let words: Vec<&str> = inside.split_whitespace().collect();
    let (month, day, year, clock) = match words.as_slice() {
        [_, month, day, clock, year] if clock.contains(':') => (month, day, year, clock),
        [month, day, year, clock] if clock.contains(':') => (month, day, year, clock),
        _ => return Err(Absence::Unreadable(shortened(inside))),
    };
    let read = || {
        let month = MONTHS.iter().position(|name| name == month)? + 1;
        let text = format!("{year}-{month:02}-{day:0>2}T{clock}");
        text.parse::<jiff::civil::DateTime>().ok()
    };
    read().map(SchedulerTime::Zoneless).ok_or_else(|| Absence::Unreadable(shortened(inside)))
}
