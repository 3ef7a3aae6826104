//! Takes from a line what launchers and terminals put around it: colours, rank prefixes, stamps.

use super::number::{Cursor, civil_s};

/// Lines are cut here: no trainer prints a longer one that says something of a step, and a file
/// without line ends must not cost memory.
const LINE_BYTES_MAX: usize = 1 << 20;
/// A stamp is looked for in this many bytes from the start of a line.
const STAMP_WITHIN_BYTES: usize = 120;

/// The wall clock that a line names, without its time zone: only differences mean something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineClock {
    /// Seconds since 1970-01-01 of the clock that was printed.
    pub at_s: f64,
    /// Smallest step that the printed digits can show, seconds.
    pub resolution_s: f64,
}

/// A line without its decoration.
#[derive(Clone, Debug, PartialEq)]
pub struct CleanLine {
    /// The text without colours and without prefixes of ranks.
    pub text: String,
    /// The rank (or the task's number) that a launcher put before it.
    pub rank: Option<u32>,
    /// The clock that the line names.
    pub clock: Option<LineClock>,
}

impl CleanLine {
    /// Cleans a line.
    pub fn new(line: &str) -> Self {
        let mut end = line.len().min(LINE_BYTES_MAX);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let plain = without_escapes(&line[..end]);
        let (rank, text) = without_prefixes(&plain);
        Self { clock: clock(&plain), rank, text: text.to_owned() }
    }
}

/// Removes ANSI escape sequences (ECMA-48: CSI up to its final byte, OSC up to BEL or ST, and
/// escapes of two characters) and control characters other than tab.
pub fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            if character == '\t' || !character.is_control() {
                plain.push(character);
            }
            continue;
        }
        match characters.next() {
            Some('[') => {
                for inner in characters.by_ref() {
                    if ('\u{40}'..='\u{7e}').contains(&inner) {
                        break;
                    }
                }
            }
            Some(']') => {
                while let Some(inner) = characters.next() {
                    if inner == '\u{7}' {
                        break;
                    }
                    if inner == '\u{1b}' {
                        characters.next();
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    plain
}

/// Takes off the prefixes of launchers, and the first rank that they name: `[default7]:` and
/// `[rank0]:` (torchrun), `7: ` (srun --label), `[1,7]<stdout>:` (mpirun --tag-output),
/// `(name, rank=7, pid=4112)` (Ray and SkyPilot), `rank7:`.
fn without_prefixes(line: &str) -> (Option<u32>, &str) {
    let (mut rank, mut rest) = (None, line.trim());
    // Launchers nest; more than a few layers are no launcher's.
    for _ in 0..4 {
        let Some((found, after)) = one_prefix(rest) else { break };
        rank = rank.or(found);
        rest = after.trim_start();
    }
    (rank, rest)
}

fn one_prefix(line: &str) -> Option<(Option<u32>, &str)> {
    if let Some(inside) = line.strip_prefix('[') {
        let (name, after) = inside.split_once(']')?;
        let number = name
            .strip_prefix("default")
            .or_else(|| name.strip_prefix("rank"))
            .or_else(|| name.split_once(',').filter(|(job, _)| digits(job)).map(|(_, rank)| rank))
            .unwrap_or(name);
        if !digits(number) {
            return None;
        }
        let after =
            after.strip_prefix("<stdout>").or(after.strip_prefix("<stderr>")).unwrap_or(after);
        return Some((number.parse().ok(), after.strip_prefix(':').unwrap_or(after)));
    }
    if let Some(inside) = line.strip_prefix('(') {
        let (names, after) = inside.split_once(')')?;
        if !names.contains("pid=") {
            return None;
        }
        let rank = names.split(',').find_map(|part| part.trim().strip_prefix("rank="));
        return Some((rank.and_then(|rank| rank.parse().ok()), after));
    }
    let (name, after) = line.split_once(':')?;
    let number = name.strip_prefix("rank").unwrap_or(name);
    // A bare number is a task's label only before a blank: `12:30:05` is a time.
    let labelled = number.len() < name.len() || after.starts_with(' ');
    (digits(number) && labelled).then(|| (number.parse().ok(), after))
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first `YYYY-MM-DD HH:MM:SS` (a `T` between, a fraction after a point or a comma) near the
/// start of a line.
fn clock(line: &str) -> Option<LineClock> {
    let bytes = line.as_bytes();
    let last = bytes.len().checked_sub(19)?.min(STAMP_WITHIN_BYTES);
    (0..=last).find_map(|start| {
        let alone = start == 0 || !bytes[start - 1].is_ascii_digit();
        (alone && bytes[start].is_ascii_digit()).then(|| clock_at(&bytes[start..])).flatten()
    })
}

fn clock_at(bytes: &[u8]) -> Option<LineClock> {
    let mut cursor = Cursor::new(bytes);
    let year = cursor.digits(4)?;
    cursor.one_of(b"-/")?;
    let month = cursor.digits(2)?;
    cursor.one_of(b"-/")?;
    let day = cursor.digits(2)?;
    cursor.one_of(b" T")?;
    let hour = cursor.digits(2)?;
    cursor.one_of(b":")?;
    let minute = cursor.digits(2)?;
    cursor.one_of(b":")?;
    let second = cursor.digits(2)?;
    let (fraction, resolution_s) = cursor.fraction(b".,");
    let day_s = civil_s(year, month, day)?;
    (hour < 24 && minute < 60 && second < 61).then(|| LineClock {
        at_s: day_s + (hour * 3600 + minute * 60 + second) as f64 + fraction,
        resolution_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, rank: Option<u32>, text: &str) {
        let clean = CleanLine::new(line);
        assert_eq!((clean.rank, clean.text.as_str()), (rank, text));
    }

    #[test]
    fn prefixes_of_launchers() {
        check("[default7]: iteration 3", Some(7), "iteration 3");
        check("[rank0]:[titan] 2025 x", Some(0), "[titan] 2025 x");
        check("[rank0]:[0] 2025 x", Some(0), "2025 x");
        check("12: step: 3", Some(12), "step: 3");
        check("[1,3]<stdout>:step 3", Some(3), "step 3");
        check("(pretraining, pid=4112) Training", None, "Training");
        check("(head, rank=2, pid=9) Training", Some(2), "Training");
        check("rank11: x", Some(11), "x");
        check("12:30:05 x", None, "12:30:05 x");
        check("[2021-05-25 22:30:04,195] [INFO] x", None, "[2021-05-25 22:30:04,195] [INFO] x");
    }

    #[test]
    fn colours_and_titles_go() {
        check("\u{1b}[36mstep: 5\u{1b}[39m \u{1b}]0;title\u{7}loss", None, "step: 5 loss");
        check("\u{1b}", None, "");
        check("a\u{1b}[", None, "a");
    }

    #[test]
    fn stamps_are_read_with_their_resolution() {
        let at = |line: &str| clock(line).map(|clock| (clock.at_s, clock.resolution_s));
        // `date -u -d '2025-06-25 13:06:03' +%s` says 1750856763.
        assert_eq!(at("[titan] 2025-06-25 13:06:03,755 - root"), Some((1_750_856_763.755, 0.001)));
        assert_eq!(at("2025-06-25T13:06:03Z x"), Some((1_750_856_763.0, 1.0)));
        assert_eq!(at("2025-06-25 13:66:03 x"), None);
        assert_eq!(at("no stamp in this long line at all"), None);
    }
}
