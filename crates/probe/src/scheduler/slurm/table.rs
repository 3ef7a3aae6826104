//! Tables of `sacct`, `squeue`, `sinfo` and `sprio`, with a heading or without.

use super::super::kind::Kind;
use super::super::model::{Job, Node, Place};
use super::super::reading::Reading;
use super::field::Field;
use super::fill::{finish_job, finish_node, set_job, set_node};
use super::layout::{inferred, known, pair_agrees};

/// Rows that are looked at to tell what a table is.
const SAMPLE_ROWS: usize = 200;

/// How a table is laid out.
#[derive(Clone, Debug)]
pub(in super::super) struct Shape {
    pub(in super::super) kind: Kind,
    delimiter: char,
    fields: Vec<Field>,
    /// The line with the headings, and where each begins and ends; `None` for a table without.
    heading: Option<Heading>,
    /// What a reader should know of how the columns were told.
    caveats: Vec<String>,
}

#[derive(Clone, Debug)]
struct Heading {
    line: String,
    spans: Vec<(usize, usize)>,
}

/// What a text is, if it is such a table. The name decides only where the columns do not.
pub(in super::super) fn shape(file: &str, text: &str) -> Option<Shape> {
    let lines: Vec<&str> = text
        .lines()
        .map(strip_record)
        .filter(|line| !line.trim().is_empty() && !is_date_line(line))
        .take(SAMPLE_ROWS)
        .collect();
    let first = lines.first()?;
    let delimiter = delimiter_of(first);
    headed(first, lines.get(1).copied(), delimiter)
        .or_else(|| headless(file, text, &lines, delimiter))
}

/// OnDemand begins each record with a control byte.
fn strip_record(line: &str) -> &str {
    line.strip_prefix('\u{1e}').unwrap_or(line)
}

/// `squeue -l` and `sinfo -l` begin with the date.
fn is_date_line(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_day = words
        .next()
        .is_some_and(|word| ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&word));
    is_day && words.clone().count() >= 3 && words.any(|word| word.matches(':').count() == 2)
}

fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|one| matches!(one, '-' | ' ' | '+' | '|'))
}

fn delimiter_of(line: &str) -> char {
    for delimiter in ['\u{1f}', '|', '\t'] {
        if line.contains(delimiter) {
            return delimiter;
        }
    }
    // A comma separates only where no list with commas stands in the line.
    let is_list = line.contains(['=', '(', '[', ' ']) || line.contains("gpu:");
    if line.contains(',') && !is_list { ',' } else { ' ' }
}

fn cells(line: &str, delimiter: char) -> Vec<&str> {
    if delimiter == ' ' {
        return line.split_whitespace().collect();
    }
    let mut cells: Vec<&str> = line.split(delimiter).collect();
    // `sacct -p` ends each line with the delimiter.
    if cells.len() > 2 && cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells
}

fn headed(first: &str, second: Option<&str>, delimiter: char) -> Option<Shape> {
    let names = cells(first, delimiter);
    let mut fields: Vec<Field> =
        names.iter().map(|name| Field::of_heading(name).unwrap_or(Field::Unnamed)).collect();
    let known = fields.iter().filter(|field| **field != Field::Unnamed).count();
    let has = |field| fields.contains(&field);
    let is_upper = !first.chars().any(char::is_lowercase);
    let has_job_id =
        has(Field::JobId) && (is_upper || names.iter().any(|name| name.trim() == "JobID"));
    let is_nodes = !has_job_id
        && is_upper
        && (has(Field::NodeList) || has(Field::NodeName))
        && (has(Field::JobState)
            || has(Field::GresTotal)
            || has(Field::CpuStates)
            || has(Field::Reason)
            || has(Field::NodeCount));
    let is_groups = !has_job_id
        && is_upper
        && has(Field::JobState)
        && (has(Field::Partition)
            || has(Field::NodeCount)
            || has(Field::CpuStates)
            || has(Field::GresTotal))
        && !has(Field::User);
    if known < 2 || known * 5 < names.len() * 3 || !(has_job_id || is_nodes || is_groups) {
        return None;
    }
    let is_priorities = has_job_id && ["FAIRSHARE", "AGE"].iter().all(|one| names.contains(one));
    // `sprio` names a factor after the partition and the quality of service.
    let mut seen: Vec<Field> = Vec::new();
    for field in &mut fields {
        let is_factor = is_priorities && *field == Field::Qos;
        // The job's number may stand there twice: bare, and with its array.
        let may_repeat = matches!(field, Field::Ignored | Field::JobId);
        if is_factor || (seen.contains(field) && !may_repeat) {
            *field = Field::Ignored;
        }
        seen.push(*field);
    }
    let kind = match (has_job_id, is_upper) {
        (true, _) if is_priorities => Kind::SlurmPriorities,
        (true, true) => Kind::SlurmQueue,
        (true, false) => Kind::SlurmAccounting,
        _ => Kind::SlurmNodes,
    };
    let mut caveats = Vec::new();
    let strangers: Vec<&str> = names
        .iter()
        .zip(&fields)
        .filter(|(_, field)| **field == Field::Unnamed)
        .map(|(name, _)| name.trim())
        .take(8)
        .collect();
    if !strangers.is_empty() {
        caveats.push(format!("columns that are not read: {}", strangers.join(", ")));
    }
    let places = |line| {
        words_with_places(line)
            .into_iter()
            .map(|(from, until, _)| (from, until))
            .collect::<Vec<_>>()
    };
    let spans = match second.filter(|line| is_rule(line) && delimiter == ' ') {
        Some(rule) => places(rule),
        // A heading that begins with blanks is set to the right: a column begins where the one before
        // it ends.
        None if first.starts_with("   ") => {
            let mut from = 0;
            let widen = |(_, until): (usize, usize)| {
                let span = (from, until);
                from = until;
                span
            };
            places(first).into_iter().map(widen).collect()
        }
        None => places(first),
    };
    let heading = Some(Heading { line: first.to_owned(), spans });
    Some(Shape { kind, delimiter, fields, heading, caveats })
}

fn headless(file: &str, text: &str, lines: &[&str], delimiter: char) -> Option<Shape> {
    let rows: Vec<Vec<&str>> = lines.iter().map(|line| cells_raw(line, delimiter)).collect();
    let mut caveats = Vec::new();
    let (kind, mut fields) = if let Some(layout) = known(delimiter, &rows) {
        caveats.push(format!("the table has no heading; read as `{}` prints it", layout.command));
        (layout.kind, layout.fields.to_vec())
    } else if text.starts_with('\u{1e}') && rows.iter().all(|row| is_on_demand(row)) {
        caveats.push(
            "the table has no heading; read as `sinfo -h -N -o '%c %n %f'` prints it".to_owned(),
        );
        (Kind::SlurmNodes, vec![Field::Cpus, Field::NodeName, Field::Features])
    } else {
        let (kind, fields) = inferred(&rows)?;
        caveats.push(
            "the table has no heading; its columns are told by what stands in them".to_owned(),
        );
        (kind, fields)
    };
    settle_times(&rows, &mut fields);
    settle_gres(file, text, &mut fields, &mut caveats);
    settle_names(file, &mut fields, &mut caveats);
    let unnamed: Vec<String> = fields
        .iter()
        .zip(1..)
        .filter(|(field, _)| **field == Field::Unnamed)
        .map(|(_, column)| column.to_string())
        .take(16)
        .collect();
    if !unnamed.is_empty() {
        caveats.push(format!(
            "nothing says what stands in column {}; give the heading too",
            unnamed.join(", ")
        ));
    }
    Some(Shape { kind, delimiter, fields, heading: None, caveats })
}

/// Cells of a row without heading, whose last may be empty and still be one.
fn cells_raw(line: &str, delimiter: char) -> Vec<&str> {
    if delimiter == ' ' {
        line.split_whitespace().collect()
    } else {
        line.split(delimiter).collect()
    }
}

fn is_on_demand(row: &[&str]) -> bool {
    matches!(row, [cpus, node, features]
        if Field::Cpus.fits(cpus) && Field::NodeName.fits(node) && Field::Features.fits(features))
}

/// Two times that lie as far apart as the elapsed time are start and end, whatever a layout says.
fn settle_times(rows: &[Vec<&str>], fields: &mut [Field]) {
    let at = |fields: &[Field], field| fields.iter().position(|one| *one == field);
    if let (Some(first), Some(second), Some(length), None) = (
        at(fields, Field::SubmitTime),
        at(fields, Field::StartTime),
        at(fields, Field::Elapsed),
        at(fields, Field::EndTime),
    ) && pair_agrees(rows, first, second, length)
    {
        fields[first] = Field::StartTime;
        fields[second] = Field::EndTime;
    }
}

/// Whether one GRES column is of all or of those in use: the marks say it, then the file's name.
fn settle_gres(file: &str, text: &str, fields: &mut [Field], caveats: &mut Vec<String>) {
    let Some(slot) = fields.iter_mut().find(|field| **field == Field::GresEither) else { return };
    let file = file.to_ascii_lowercase();
    let has_name = |words: &[&str]| words.iter().any(|word| file.contains(word));
    *slot = if text.contains("(IDX:") || text.split_whitespace().any(|word| word == "gpu:0") {
        Field::GresUsed
    } else if text.contains("(S:") || text.contains(":no_consume:") {
        Field::GresTotal
    } else if has_name(&["alloc", "used"]) {
        caveats.push("the file's name says that the GPUs are those in use".to_owned());
        Field::GresUsed
    } else if has_name(&["total", "configured"]) {
        caveats.push("the file's name says that the GPUs are all that there are".to_owned());
        Field::GresTotal
    } else {
        caveats.push(
            "the file does not say whether its GPUs are all or those in use; they are read as all, \
             and none is known to be in use"
                .to_owned(),
        );
        Field::GresTotal
    };
}

fn settle_names(file: &str, fields: &mut [Field], caveats: &mut Vec<String>) {
    let Some(slot) = fields.iter_mut().find(|field| **field == Field::UserOrAccount) else {
        return;
    };
    let file = file.to_ascii_lowercase();
    *slot = match (file.contains("account"), file.contains("user")) {
        (true, false) => Field::Account,
        (false, true) => Field::User,
        _ => {
            caveats.push(
                "a column holds names, and nothing says whether of users or of accounts".to_owned(),
            );
            Field::Ignored
        }
    };
}

/// Reads a table of a shape.
pub(in super::super) fn read(file: &str, text: &str, shape: &Shape) -> Reading {
    let mut reading = Reading::new(file, shape.kind);
    reading.caveats.clone_from(&shape.caveats);
    let is_nodes = shape.kind == Kind::SlurmNodes;
    let mut joined: u64 = 0;
    for (number, line) in (1_u64..).zip(text.lines()) {
        let place = Place::Line(number);
        let bare = strip_record(line);
        if bare.trim().is_empty() || is_date_line(bare) || is_rule(bare) {
            continue;
        }
        if shape.heading.as_ref().is_some_and(|heading| heading.line == bare) {
            continue;
        }
        let row = match row(shape, bare, &mut joined) {
            Ok(row) => row,
            Err(why) => {
                reading.skip(place, why, bare);
                continue;
            }
        };
        let cells = shape.fields.iter().zip(&row);
        if is_nodes {
            let mut node = Node::at(place);
            cells.for_each(|(field, cell)| set_node(&mut node, *field, cell));
            finish_node(&mut node);
            reading.keep_node(node);
        } else {
            let mut job = Job::at(place);
            cells.for_each(|(field, cell)| set_job(&mut job, *field, cell));
            if job.id.is_err() && shape.fields.contains(&Field::JobId) {
                reading.skip(place, "the row names no job", bare);
                continue;
            }
            finish_job(&mut job);
            reading.keep_job(job);
        }
    }
    if joined > 0 {
        reading.caveat(format!(
            "in {joined} rows the delimiter stands in the job's name; it is read as part of the name"
        ));
    }
    reading
}

/// The cells of a row, as many as there are fields.
fn row<'a>(
    shape: &Shape,
    line: &'a str,
    joined: &mut u64,
) -> Result<Vec<std::borrow::Cow<'a, str>>, String> {
    use std::borrow::Cow;
    let wanted = shape.fields.len();
    if shape.delimiter == ' '
        && let Some(heading) = &shape.heading
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() == wanted {
            return Ok(words.into_iter().map(Cow::Borrowed).collect());
        }
        return Ok(by_place(line, &heading.spans, wanted));
    }
    let mut cells = cells_raw(line, shape.delimiter);
    if cells.len() == wanted + 1 && cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    if cells.len() == wanted {
        return Ok(cells.into_iter().map(Cow::Borrowed).collect());
    }
    let name = shape.fields.iter().position(|field| *field == Field::JobName);
    if let Some(name) = name.filter(|_| cells.len() > wanted && shape.delimiter != ' ') {
        let extra = cells.len() - wanted;
        let whole = cells[name..=name + extra].join(&shape.delimiter.to_string());
        let mut row: Vec<Cow<'a, str>> = cells[..name].iter().copied().map(Cow::Borrowed).collect();
        row.push(Cow::Owned(whole));
        row.extend(cells[name + extra + 1..].iter().copied().map(Cow::Borrowed));
        *joined += 1;
        return Ok(row);
    }
    Err(format!("{} cells where there are {wanted} columns", cells.len()))
}

/// Words of a line with the characters at which they begin and end.
fn words_with_places(line: &str) -> Vec<(usize, usize, &str)> {
    let mut words = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut count = 0;
    for (at, (byte, one)) in line.char_indices().enumerate() {
        count = at + 1;
        match (one.is_whitespace(), open) {
            (false, None) => open = Some((at, byte)),
            (true, Some((from, first))) => {
                words.push((from, at, &line[first..byte]));
                open = None;
            }
            _ => {}
        }
    }
    if let Some((from, first)) = open {
        words.push((from, count, &line[first..]));
    }
    words
}

/// Each word goes to the column with which it overlaps most, or which is nearest. Cells may be empty, and
/// hold several words.
fn by_place<'a>(
    line: &'a str,
    spans: &[(usize, usize)],
    wanted: usize,
) -> Vec<std::borrow::Cow<'a, str>> {
    let mut row = vec![std::borrow::Cow::Borrowed(""); wanted];
    let mut earliest = 0;
    for (from, until, word) in words_with_places(line) {
        let distance = |span: &(usize, usize)| {
            let overlap = until.min(span.1).saturating_sub(from.max(span.0));
            let gap = from.saturating_sub(span.1) + span.0.saturating_sub(until);
            (usize::MAX - overlap, gap)
        };
        let column =
            (earliest..spans.len().min(wanted)).min_by_key(|column| distance(&spans[*column]));
        let Some(column) = column else { continue };
        earliest = column;
        if row[column].is_empty() {
            row[column] = std::borrow::Cow::Borrowed(word);
        } else {
            let cell = row[column].to_mut();
            cell.push(' ');
            cell.push_str(word);
        }
    }
    row
}

/// Whether a line is the heading of such a table.
pub(in super::super) fn is_heading(line: &str) -> bool {
    headed(line, None, delimiter_of(line)).is_some()
}
