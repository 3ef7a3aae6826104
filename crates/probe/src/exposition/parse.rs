//! A scrape, line by line.
//!
//! Written after the descriptions of the formats: "Exposition formats" of the Prometheus project and
//! the OpenMetrics 1.0 specification.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::line::{Cursor, number, sample, shorten, unescape_help};
use super::model::{Exposition, Family, Format, Kind, Note, Sample};
use super::refuse::{ExpositionError, not_text};

/// Longest line that is read, bytes.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// Most labels of one sample.
pub const LABELS_MAX: usize = 128;
/// Most samples of one scrape. With the borrowed text this bounds the memory that a scrape takes.
pub const SAMPLES_MAX: usize = 500_000;
/// Most notes that are kept; more are counted.
pub const NOTES_MAX: usize = 100;

/// What happens at a line that breaks the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// The scrape is refused.
    Strict,
    /// The line is passed over, and a note says so.
    Lenient,
}

/// The format of a scrape: what its content type says, else what it looks like.
///
/// ```
/// # use cotenant_probe::exposition::{Format, detect_format};
/// assert_eq!(detect_format(b"up 1\n", None), Format::Prometheus);
/// assert_eq!(detect_format(b"up 1\n# EOF\n", None), Format::OpenMetrics);
/// ```
pub fn detect_format(bytes: &[u8], content_type: Option<&str>) -> Format {
    match content_type {
        Some(kind) if kind.starts_with("application/openmetrics-text") => Format::OpenMetrics,
        Some(kind) if kind.starts_with("text/plain") && kind.contains("version=0.0.4") => {
            Format::Prometheus
        }
        _ if bytes.trim_ascii_end().ends_with(b"# EOF") => Format::OpenMetrics,
        _ => Format::Prometheus,
    }
}

/// Reads a scrape of a format.
///
/// Both line ends are read. A last line without one is read where the format is OpenMetrics or the
/// reading lenient, with a note in the latter case: it may be cut off.
///
/// # Errors
/// Bytes that are no metrics text; more than [`SAMPLES_MAX`] samples; and, where the reading is
/// strict, the first line that breaks the format.
///
/// ```
/// # use cotenant_probe::exposition::{Format, Strictness, parse};
/// let text = b"4 Active Workloads\n# TYPE up gauge\nup{job=\"a\"} 1\n";
/// let refused = parse(text, Format::Prometheus, Strictness::Strict).unwrap_err();
/// assert!(refused.to_string().starts_with("line 1: "));
/// let scrape = parse(text, Format::Prometheus, Strictness::Lenient).unwrap();
/// assert_eq!(scrape.families[0].samples[0].value, 1.0);
/// assert_eq!(scrape.notes[0].line, 1);
/// ```
pub fn parse(
    bytes: &[u8],
    format: Format,
    strictness: Strictness,
) -> Result<Exposition<'_>, ExpositionError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(refused) = not_text(bytes) {
        return Err(refused);
    }
    let mut reader = Reader::new(format, strictness);
    let mut rest = bytes;
    let mut line = 0;
    while !rest.is_empty() {
        line += 1;
        let (this, ended) = match memchr::memchr(b'\n', rest) {
            Some(at) => {
                let this = &rest[..at];
                rest = &rest[at + 1..];
                (this, true)
            }
            None => (std::mem::take(&mut rest), false),
        };
        reader.line(this, line, ended)?;
    }
    reader.finish(line)
}

const DELETE_OR_LENIENT: &str = "correct or delete the line, or read leniently to pass over it";

struct Reader<'a> {
    open: bool,
    strict: bool,
    scrape: Exposition<'a>,
    by_name: HashMap<Cow<'a, str>, usize>,
    /// The family of the last sample and the name of that: most lines follow one of the same name.
    last: Option<(Cow<'a, str>, usize)>,
    series: HashSet<u64>,
    hasher: RandomState,
    samples: usize,
    end_line: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(format: Format, strictness: Strictness) -> Self {
        Self {
            open: format == Format::OpenMetrics,
            strict: strictness == Strictness::Strict,
            scrape: Exposition { format, families: vec![], notes: vec![], notes_left_out: 0 },
            by_name: HashMap::new(),
            last: None,
            series: HashSet::new(),
            hasher: RandomState::new(),
            samples: 0,
            end_line: None,
        }
    }

    /// Refuses, or notes and goes on.
    fn wrong(&mut self, line: usize, what: String, done: &str) -> Result<(), ExpositionError> {
        if self.strict {
            return Err(ExpositionError::Line { line, what, way_out: DELETE_OR_LENIENT });
        }
        if self.scrape.notes.len() < NOTES_MAX {
            self.scrape.notes.push(Note { line, text: format!("{what}: {done}") });
        } else {
            self.scrape.notes_left_out += 1;
        }
        Ok(())
    }

    fn line(&mut self, bytes: &'a [u8], line: usize, ended: bool) -> Result<(), ExpositionError> {
        if bytes.len() > LINE_BYTES_MAX {
            let what = format!("a line of {} bytes, {LINE_BYTES_MAX} are read", bytes.len());
            return self.wrong(line, what, "skipped");
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.wrong(line, "no UTF-8".into(), "skipped");
        };
        let text = text.strip_suffix('\r').unwrap_or(text);
        let text = text.trim_matches([' ', '\t']);
        if text.is_empty() {
            return Ok(());
        }
        if let Some(end) = self.end_line {
            return self.wrong(line, format!("text after the `# EOF` of line {end}"), "skipped");
        }
        if !ended && !self.open && !text.starts_with('#') {
            let what = "the last line has no line end, so it may be cut off".to_owned();
            self.wrong(line, what, "read as it stands")?;
        }
        if let Some(comment) = text.strip_prefix('#') {
            return self.comment(comment, line);
        }
        match sample(text, line, self.open) {
            Ok(sample) => self.sample(sample),
            Err(what) => self.wrong(line, what, "skipped"),
        }
    }

    fn comment(&mut self, comment: &'a str, line: usize) -> Result<(), ExpositionError> {
        if self.open && comment == " EOF" {
            self.end_line = Some(line);
            return Ok(());
        }
        let mut cursor = Cursor::new(comment);
        cursor.skip_blanks();
        let word = cursor.word();
        cursor.skip_blanks();
        // Any other comment, and one of these words alone, says nothing.
        if !matches!(word, "HELP" | "TYPE" | "UNIT") || cursor.rest().is_empty() {
            return Ok(());
        }
        let name = match cursor.metric_name() {
            Ok(name) if cursor.rest().is_empty() || cursor.rest().starts_with([' ', '\t']) => name,
            Ok(name) => {
                let what = format!("`{name}{}` is no name", shorten(cursor.word()));
                return self.wrong(line, what, "skipped");
            }
            Err(what) => return self.wrong(line, what, "skipped"),
        };
        cursor.skip_blanks();
        let rest = cursor.rest();
        if word == "HELP" && rest.is_empty() {
            return Ok(());
        }
        let at = self.family_of(name.clone());
        let family = &mut self.scrape.families[at];
        let again = match word {
            "HELP" if family.help.is_none() => {
                family.help = Some(unescape_help(rest));
                false
            }
            "UNIT" if family.unit.is_none() => {
                family.unit = Some(Cow::Borrowed(rest));
                false
            }
            "TYPE" if !family.typed => return self.typed(at, rest, line),
            _ => true,
        };
        if again {
            return self.wrong(line, format!("a second {word} line for {name}"), "the first holds");
        }
        Ok(())
    }

    fn typed(&mut self, at: usize, word: &str, line: usize) -> Result<(), ExpositionError> {
        let family = &mut self.scrape.families[at];
        if !family.samples.is_empty() {
            let what = format!("the TYPE of {} stands after its samples", family.name);
            return self.wrong(line, what, "it stays untyped");
        }
        let Some(kind) = Kind::from_word(word) else {
            let what = format!("`{}` is no type of a metric", shorten(word));
            return self.wrong(line, what, "it stays untyped");
        };
        family.kind = kind;
        family.typed = true;
        self.last = None;
        Ok(())
    }

    fn family_of(&mut self, name: Cow<'a, str>) -> usize {
        if let Some(&at) = self.by_name.get(name.as_ref()) {
            return at;
        }
        let at = self.scrape.families.len();
        self.by_name.insert(name.clone(), at);
        self.scrape.families.push(Family {
            name,
            kind: Kind::Unknown,
            typed: false,
            help: None,
            unit: None,
            samples: vec![],
        });
        at
    }

    /// The family that a sample belongs to: the one of its very name, where that has a type or there
    /// is no other; else the one whose type allows the suffix.
    fn home(&mut self, name: Cow<'a, str>) -> usize {
        if let Some((last, at)) = &self.last
            && *last == name
        {
            return *at;
        }
        let exact = self.by_name.get(name.as_ref()).copied();
        let typed = exact.filter(|&at| self.scrape.families[at].typed);
        let at =
            typed.or_else(|| self.suffixed(&name)).unwrap_or_else(|| self.family_of(name.clone()));
        self.last = Some((name, at));
        at
    }

    fn suffixed(&self, name: &str) -> Option<usize> {
        let (stem, _) = name.rsplit_once('_')?;
        let &at = self.by_name.get(stem)?;
        self.scrape.families[at].kind.suffixes().contains(&&name[stem.len()..]).then_some(at)
    }

    fn sample(&mut self, sample: Sample<'a>) -> Result<(), ExpositionError> {
        let line = sample.line;
        if self.samples == SAMPLES_MAX {
            return Err(ExpositionError::TooMany { line, max: SAMPLES_MAX });
        }
        if !self.series.insert(self.fingerprint(&sample)) {
            let what = format!("the series {} with these labels stands twice", sample.name);
            return self.wrong(line, what, "the first holds");
        }
        let at = self.home(sample.name.clone());
        let family = &self.scrape.families[at];
        let bound = match family.kind {
            Kind::Histogram | Kind::GaugeHistogram if sample.name.ends_with("_bucket") => {
                Some("le")
            }
            Kind::Summary if sample.name == family.name => Some("quantile"),
            _ => None,
        };
        if let Some(bound) = bound {
            let wrong = match sample.label(bound).map(number) {
                Some(Ok(_)) => None,
                Some(Err(what)) => Some(format!("label {bound}: {what}")),
                None => Some(format!("the label {bound} is missing")),
            };
            if let Some(what) = wrong {
                return self.wrong(line, what, "skipped");
            }
        }
        self.samples += 1;
        self.scrape.families[at].samples.push(sample);
        Ok(())
    }

    /// A number that two samples share when they are of one series and time, whatever the order of
    /// their labels.
    fn fingerprint(&self, sample: &Sample<'_>) -> u64 {
        let labels = sample
            .labels
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .fold(0_u64, |sum, label| sum.wrapping_add(self.hasher.hash_one(label)));
        self.hasher.hash_one((&sample.name, labels, sample.time_s.map(f64::to_bits)))
    }

    fn finish(mut self, line: usize) -> Result<Exposition<'a>, ExpositionError> {
        if self.open && self.end_line.is_none() {
            let what = "no `# EOF` at the end, so the scrape may be cut off".to_owned();
            self.wrong(line, what, "read as it stands")?;
        }
        Ok(self.scrape)
    }
}
