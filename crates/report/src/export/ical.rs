//! iCalendar (RFC 5545): one event for each stretch in which a tenant holds the same GPUs.

use super::names::encoded;
use super::target::ExportRefusal;
use crate::plan::PlanReport;
use crate::plan::model::{CalendarView, HoldView};

/// Octets of a content line, its line break apart (section 3.1).
const LINE_OCTETS_MAX: usize = 75;

pub(super) fn ical(report: &PlanReport) -> Result<(String, Vec<String>), ExportRefusal> {
    let Some(calendar) = &report.calendar else {
        return Err(ExportRefusal::NoCalendar { format: "ical" });
    };
    let limits = vec![
        "iCalendar has no GPUs: their numbers stand in the words of each event.".to_owned(),
        "Idle GPUs are no events, and times are in UTC; a calendar program shows them in its own \
         zone."
            .to_owned(),
    ];
    let mut paper = Paper(String::new());
    paper.line("BEGIN", "VCALENDAR");
    paper.line("VERSION", "2.0");
    paper.text("PRODID", &format!("-//Cotenant//{}//EN", report.tool));
    paper.line("CALSCALE", "GREGORIAN");
    paper.line("METHOD", "PUBLISH");
    paper.text("X-WR-CALNAME", &format!("GPUs of {}", report.site));
    paper.text("X-WR-CALDESC", &format!("{} {}", report.headline.reason, limits.join(" ")));
    for hold in &calendar.holds {
        event(&mut paper, report, calendar, hold);
    }
    paper.line("END", "VCALENDAR");
    Ok((paper.0, limits))
}

fn event(paper: &mut Paper, report: &PlanReport, calendar: &CalendarView, hold: &HoldView) {
    let tenant = hold.tenant.and_then(|tenant| calendar.tenants.get(tenant as usize));
    let name = tenant.map_or("maintenance", |tenant| &tenant.name);
    let kind = tenant.map_or("maintenance", |tenant| &tenant.kind);
    let start = utc(&hold.from.at);
    // The same stretch of the same tenant is the same event in a later plan, whatever it holds.
    let key = |text: &str| encoded(text, '%', "-.");
    paper.line("BEGIN", "VEVENT");
    paper.text("UID", &format!("{start}-{}@{}.cotenant", key(name), key(&report.site)));
    // Where nothing names the instant of the plan, it stands for the calendar's own start.
    let stamp = report.as_of.as_ref().unwrap_or(&hold.from);
    paper.line("DTSTAMP", &utc(&stamp.at));
    paper.line("DTSTART", &start);
    paper.line("DTEND", &utc(&hold.until.at));
    let mut gpus: Vec<u32> = hold.gpus.iter().chain(&hold.loose_gpus).copied().collect();
    gpus.sort_unstable();
    let numbers: Vec<_> = gpus.iter().map(u32::to_string).collect();
    paper.text("SUMMARY", &format!("{name} · {} × GPU {}", gpus.len(), numbers.join(" ")));
    paper.text("DESCRIPTION", &hold.text);
    paper.text("CATEGORIES", kind);
    paper.text("LOCATION", &report.site);
    // A GPU is not a person: the event must not make its reader busy.
    paper.line("TRANSP", "TRANSPARENT");
    paper.line("END", "VEVENT");
}

/// An instant in the form of section 3.3.5: `20261102T080000Z`. Fractions of a second are cut.
fn utc(rfc3339: &str) -> String {
    let whole = rfc3339.split(['.', 'Z']).next().unwrap_or_default();
    let mut text: String = whole.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    text.push('Z');
    text
}

struct Paper(String);

impl Paper {
    /// A property whose value is text: escaped as in section 3.3.11.
    fn text(&mut self, name: &str, value: &str) {
        let mut escaped = String::with_capacity(value.len());
        for letter in value.chars() {
            match letter {
                '\\' | ';' | ',' => {
                    escaped.push('\\');
                    escaped.push(letter);
                }
                '\n' => escaped.push_str("\\n"),
                letter if letter.is_control() => escaped.push(' '),
                letter => escaped.push(letter),
            }
        }
        self.line(name, &escaped);
    }

    /// A content line, folded after at most 75 octets and never inside of a character.
    fn line(&mut self, name: &str, value: &str) {
        let mut octets = 0;
        for letter in format!("{name}:{value}").chars() {
            if octets + letter.len_utf8() > LINE_OCTETS_MAX {
                self.0.push_str("\r\n ");
                octets = 1;
            }
            self.0.push(letter);
            octets += letter.len_utf8();
        }
        self.0.push_str("\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::{Paper, utc};

    #[test]
    fn long_lines_fold_between_characters() {
        let mut paper = Paper(String::new());
        paper.text("SUMMARY", &"äöü, ".repeat(60));
        assert!(paper.0.lines().count() > 3);
        for line in paper.0.split("\r\n") {
            assert!(line.len() <= 75, "{line:?}");
        }
        let unfolded = paper.0.replace("\r\n ", "");
        assert_eq!(unfolded.trim_end_matches("\r\n"), format!("SUMMARY:{}", "äöü\\, ".repeat(60)));
    }

    #[test]
    fn text_is_escaped() {
        let mut paper = Paper(String::new());
        paper.text("X", "a;b,c\\d\ne\u{7}f");
        assert_eq!(paper.0, "X:a\\;b\\,c\\\\d\\ne f\r\n");
    }

    #[test]
    fn instants_are_in_utc() {
        assert_eq!(utc("2026-11-02T08:00:00Z"), "20261102T080000Z");
        assert_eq!(utc("2026-11-02T08:00:00.5Z"), "20261102T080000Z");
    }
}
