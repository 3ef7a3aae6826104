//! Reads a log as a stream of lines, or as a finished file.

use super::clean::CleanLine;
use super::detect::{DetectError, detect};
use super::document;
use super::event::{LineEvent, LogEvent};
use super::format::{Format, Lines};
use super::track::{LogNotes, Track};

/// Events of formats that are not yet chosen, which are kept until one is.
const PENDING_MAX: usize = 256;
/// Checkpoints that are remembered between two steps.
const SAID_MAX: usize = 16;

/// Reads the lines of one job as they come.
#[derive(Clone, Debug)]
pub struct LogReader {
    readers: Vec<(Format, Lines)>,
    chosen: Option<Format>,
    pending: Vec<(Format, LogEvent)>,
    /// Checkpoints and ends since the last step: other ranks print them, too.
    said: Vec<LogEvent>,
    track: Track,
    notes: LogNotes,
}

impl LogReader {
    /// A reader of one format.
    pub fn new(format: Format) -> Self {
        Self::of(vec![(format, Lines::new(format))], Some(format))
    }

    /// A reader that chooses the format by the first line of progress that one alone claims, and
    /// leaves the lines of a library for those of the framework above it when these come.
    pub fn auto() -> Self {
        Self::of(Format::ALL.into_iter().map(|format| (format, Lines::new(format))).collect(), None)
    }

    fn of(readers: Vec<(Format, Lines)>, chosen: Option<Format>) -> Self {
        Self {
            readers,
            chosen,
            pending: Vec::new(),
            said: Vec::new(),
            track: Track::default(),
            notes: LogNotes::default(),
        }
    }

    /// The format, once it is known.
    pub fn format(&self) -> Option<Format> {
        self.chosen
    }

    /// What was seen beside the events.
    pub fn notes(&self) -> &LogNotes {
        &self.notes
    }

    /// Reads a line that arrived at `at_ns` (nanoseconds of any clock that goes on evenly; none for
    /// a finished file). A progress bar that overwrites itself counts as the lines it printed.
    pub fn read(&mut self, line: &str, at_ns: Option<u64>) -> Vec<LogEvent> {
        self.notes.lines += 1;
        let mut events = Vec::new();
        for piece in line.split('\r').filter(|piece| !piece.trim().is_empty()) {
            let clean = CleanLine::new(piece);
            self.read_clean(&clean, at_ns, &mut events);
        }
        events
    }

    fn read_clean(&mut self, line: &CleanLine, at_ns: Option<u64>, events: &mut Vec<LogEvent>) {
        let strength = self.chosen.map(Format::strength);
        let mut found = Vec::new();
        for (format, reader) in &mut self.readers {
            let wanted = self.chosen == Some(*format)
                || strength.is_none_or(|strength| format.strength() > strength);
            if wanted && let Some(event) = reader.read(line) {
                found.push((*format, event));
            }
        }
        self.choose(&found, events);
        for (format, event) in found {
            match event {
                event if self.chosen == Some(format) => self.give(event, line, at_ns, events),
                LineEvent::Other(event) if self.pending.len() < PENDING_MAX => {
                    self.pending.push((format, event));
                }
                _ => {}
            }
        }
    }

    /// Chooses the format by who claims progress in a line.
    fn choose(&mut self, found: &[(Format, LineEvent)], events: &mut Vec<LogEvent>) {
        let claims = || found.iter().filter(|(_, e)| is_progress(e)).map(|(format, _)| *format);
        let Some(strength) = claims().map(Format::strength).max() else { return };
        if self.chosen.is_some_and(|chosen| chosen.strength() >= strength) {
            return;
        }
        let strongest: Vec<Format> = claims().filter(|f| f.strength() == strength).collect();
        let [format] = strongest[..] else {
            self.notes.contested = strongest;
            return;
        };
        self.chosen = Some(format);
        for (owner, event) in std::mem::take(&mut self.pending) {
            if owner == format {
                self.give_other(event, events);
            }
        }
    }

    fn give(
        &mut self,
        event: LineEvent,
        line: &CleanLine,
        at_ns: Option<u64>,
        events: &mut Vec<LogEvent>,
    ) {
        match event {
            LineEvent::Other(event) => self.give_other(event, events),
            LineEvent::Step(step) => {
                let notes = &mut self.notes;
                if let Some(step) = self.track.step(step, line.rank, line.clock, at_ns, notes) {
                    self.said.clear();
                    events.push(LogEvent::Step(step));
                }
            }
        }
    }

    /// Gives an event that is no step, once where every rank prints it.
    fn give_other(&mut self, event: LogEvent, events: &mut Vec<LogEvent>) {
        match &event {
            LogEvent::Resumed { .. } if self.track.is_resumed() => return,
            LogEvent::Resumed { .. } => self.track.resume(),
            LogEvent::Checkpoint(_) | LogEvent::Summary(_) => {
                if self.said.contains(&event) {
                    return;
                }
                self.said.truncate(SAID_MAX - 1);
                self.said.push(event.clone());
            }
            _ => {}
        }
        events.push(event);
    }
}

pub(super) fn is_progress(event: &LineEvent) -> bool {
    matches!(event, LineEvent::Step(_) | LineEvent::Other(LogEvent::Frame(_) | LogEvent::Tile(_)))
}

/// A finished log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogReading {
    /// Its format.
    pub format: Format,
    /// What kind of document it is, where it is one and not lines.
    pub document: Option<&'static str>,
    /// What it tells, in its order.
    pub events: Vec<LogEvent>,
    /// What was seen beside that.
    pub notes: LogNotes,
}

impl LogReading {
    /// The times of steps, seconds, in order, each the mean of the steps since the line before.
    pub fn step_times_s(&self) -> impl Iterator<Item = f64> {
        self.events.iter().filter_map(|event| match event {
            LogEvent::Step(step) => step.step_s,
            _ => None,
        })
    }
}

/// Reads a finished log whose format is told by its content.
///
/// # Errors
/// No format, or several, claim it.
pub fn read_text(text: &str) -> Result<LogReading, DetectError> {
    if let Some(reading) = document::read(text) {
        return Ok(reading);
    }
    let format = detect(text)?;
    let mut reader = LogReader::new(format);
    let mut events = Vec::new();
    for line in text.split_inclusive('\n') {
        let whole = line.strip_suffix('\n').unwrap_or_else(|| without_cut_word(line));
        // Only the last line can be without its end.
        reader.notes.last_line_cut = !line.ends_with('\n') && whole.len() < line.len();
        events.extend(reader.read(whole, None));
    }
    Ok(LogReading { format, document: None, events, notes: reader.notes })
}

/// Reads a finished log from bytes, of which those that are no UTF-8 are replaced.
///
/// # Errors
/// As [`read_text`].
pub fn read_bytes(bytes: &[u8]) -> Result<LogReading, DetectError> {
    read_text(&String::from_utf8_lossy(bytes))
}

/// A last line without its end may stop in the middle of a number, which would read as another.
fn without_cut_word(line: &str) -> &str {
    if line.trim_end().ends_with(['}', ']', ')', '|']) || line.ends_with(char::is_whitespace) {
        return line;
    }
    line.rfind(char::is_whitespace).map_or("", |at| &line[..at])
}
