//! Windows that recur each week, in the site's time zone.

use std::fmt;

use jiff::civil::Weekday;

const MINUTES_PER_DAY: u16 = 24 * 60;

/// The days of the week, Monday first.
const DAYS: [(Weekday, &str, &str); 7] = [
    (Weekday::Monday, "Mon", "monday"),
    (Weekday::Tuesday, "Tue", "tuesday"),
    (Weekday::Wednesday, "Wed", "wednesday"),
    (Weekday::Thursday, "Thu", "thursday"),
    (Weekday::Friday, "Fri", "friday"),
    (Weekday::Saturday, "Sat", "saturday"),
    (Weekday::Sunday, "Sun", "sunday"),
];

/// A set of days of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WeekdaySet(u8);

impl WeekdaySet {
    /// Every day.
    pub const DAILY: Self = Self(0b111_1111);

    /// Reads `daily`, `Fri`, `Mon-Fri`, `Sat,Sun` or `Mon-Wed,Fri`. Full English names are read
    /// too. A range may wrap around the week: `Fri-Mon`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim().eq_ignore_ascii_case("daily") {
            return Some(Self::DAILY);
        }
        let mut days = 0_u8;
        for part in text.split(',') {
            let (first, last) = match part.split_once(['-', '–']) {
                Some((first, last)) => (day_index(first)?, day_index(last)?),
                None => (day_index(part)?, day_index(part)?),
            };
            let mut day = first;
            loop {
                days |= 1 << day;
                if day == last {
                    break;
                }
                day = (day + 1) % 7;
            }
        }
        Some(Self(days))
    }

    /// Whether a day belongs to the set.
    pub fn contains(self, day: Weekday) -> bool {
        self.0 & (1 << day.to_monday_zero_offset()) != 0
    }

    /// The days, Monday first.
    pub fn days(self) -> impl Iterator<Item = Weekday> {
        DAYS.into_iter().map(|(day, ..)| day).filter(move |day| self.contains(*day))
    }

    /// The set with each of its days so many days later; negative is earlier.
    #[must_use]
    pub fn shifted(self, days: i64) -> Self {
        let by = days.rem_euclid(7) as usize;
        let later =
            (0..7).filter(|index| self.contains_index(*index)).map(|index| (index + by) % 7);
        Self(later.fold(0, |bits, index| bits | 1 << index))
    }

    fn contains_index(self, index: usize) -> bool {
        self.0 & (1 << index) != 0
    }
}

fn day_index(text: &str) -> Option<usize> {
    let lower = text.trim().to_ascii_lowercase();
    DAYS.iter().position(|(_, short, long)| lower == *long || lower == short.to_ascii_lowercase())
}

impl fmt::Display for WeekdaySet {
    /// In runs, Monday first: `daily`, `Mon-Fri`, `Mon-Wed,Fri`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DAILY {
            return f.write_str("daily");
        }
        let mut runs: Vec<String> = Vec::new();
        let mut at = 0;
        while at < DAYS.len() {
            let length = (at..DAYS.len()).take_while(|day| self.contains_index(*day)).count();
            match length {
                0 => {}
                1 => runs.push(DAYS[at].1.to_owned()),
                _ => runs.push(format!("{}-{}", DAYS[at].1, DAYS[at + length - 1].1)),
            }
            at += length.max(1);
        }
        f.write_str(&runs.join(","))
    }
}

/// Reads a local time of the day as minutes from midnight: `08:00`, `24:00`.
pub fn parse_minute_of_day(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let is_two_digits = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_two_digits(hours) || minutes.len() != 2 || !is_two_digits(minutes) {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= MINUTES_PER_DAY).then_some(minute)
}

/// A local time of the day: `08:00`.
pub fn format_minute_of_day(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// A window that recurs on days of the week, in local time of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeeklyWindow {
    /// The days on which it begins.
    pub days: WeekdaySet,
    /// Its start, minutes from local midnight, below 1440.
    pub start_minute: u16,
    /// Its end, minutes from local midnight, 1 to 1440. At or before the start, it lies on the next
    /// day.
    pub end_minute: u16,
}

impl WeeklyWindow {
    /// Reads `Mon-Fri 08:00-18:00`, `daily 22:00-06:00`, `Sun 00:00-24:00`.
    pub fn parse(text: &str) -> Option<Self> {
        let (days, times) = text.trim().rsplit_once(char::is_whitespace)?;
        let (start, end) = times.split_once(['-', '–'])?;
        let (start_minute, end_minute) = (parse_minute_of_day(start)?, parse_minute_of_day(end)?);
        // Midnight at the end of a day is 24:00; a window of no length has no meaning.
        let end_minute = if end_minute == 0 { MINUTES_PER_DAY } else { end_minute };
        if start_minute == MINUTES_PER_DAY || start_minute == end_minute {
            return None;
        }
        Some(Self { days: WeekdaySet::parse(days)?, start_minute, end_minute })
    }

    /// Whether it ends on the day after it began.
    pub fn crosses_midnight(self) -> bool {
        self.end_minute <= self.start_minute
    }

    /// Its length by the clock on the wall, minutes. On the night of a change of the clocks the
    /// elapsed time differs by the change.
    pub fn wall_minutes(self) -> u16 {
        if self.crosses_midnight() {
            self.end_minute + MINUTES_PER_DAY - self.start_minute
        } else {
            self.end_minute - self.start_minute
        }
    }
}

impl fmt::Display for WeeklyWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (self.start_minute, self.end_minute);
        write!(f, "{} {}-{}", self.days, format_minute_of_day(start), format_minute_of_day(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_and_shown() {
        for (text, shown, minutes) in [
            ("Mon-Fri 08:00-18:00", "Mon-Fri 08:00-18:00", 600),
            ("daily 22:00-06:00", "daily 22:00-06:00", 480),
            ("Sat,Sun 0:00-24:00", "Sat-Sun 00:00-24:00", 1440),
            ("monday,Wed-Thu 10:00-00:00", "Mon,Wed-Thu 10:00-24:00", 840),
            ("Fri-Mon 01:00-02:30", "Mon,Fri-Sun 01:00-02:30", 90),
        ] {
            let window = WeeklyWindow::parse(text).unwrap();
            assert_eq!(window.to_string(), shown);
            assert_eq!(window.wall_minutes(), minutes, "{text}");
            assert_eq!(WeeklyWindow::parse(shown), Some(window));
        }
        for text in [
            "",
            "Mon",
            "08:00-09:00",
            "Mon 8-9",
            "Mon 25:00-26:00",
            "Mon 09:60-10:00",
            "Mon 9:00-9:00",
            "Moon 08:00-09:00",
            "Mon 24:00-25:00",
        ] {
            assert_eq!(WeeklyWindow::parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_are_found_in_their_set() {
        let days = WeekdaySet::parse("Mon-Fri").unwrap();
        assert!(days.contains(Weekday::Monday) && !days.contains(Weekday::Sunday));
        assert_eq!(days.days().count(), 5);
        for by in -15..15 {
            assert_eq!(days.shifted(by).shifted(-by), days, "{by}");
        }
        assert_eq!(WeekdaySet::parse("Sat").unwrap().shifted(3).to_string(), "Tue");
        assert_eq!(WeekdaySet::parse("Tue").unwrap().shifted(-3).to_string(), "Sat");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = WeeklyWindow::parse(&text);
            let _ = WeekdaySet::parse(&text);
        }
    }
}
