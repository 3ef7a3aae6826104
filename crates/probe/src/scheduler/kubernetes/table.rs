//! Tables that `kubectl get` prints: pods, nodes, events, and the queues and workloads of Kueue.

use super::super::model::{Place, Wait};
use super::super::reading::Reading;
use super::super::stated::{Absence, Stated, count, word};
use super::model::{Event, KubernetesNode, OtherObject, Pod, Queue, Workload};
use super::pod::explain;

/// Which objects a table lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Pods,
    Nodes,
    Events,
    Workloads,
    ClusterQueues,
    LocalQueues,
    Others(&'static str),
}

/// Headings that tell what a table lists; all must be there.
const TABLES: &[(&[&str], Rows)] = &[
    (&["NAME", "READY", "STATUS", "RESTARTS", "AGE"], Rows::Pods),
    (&["NAME", "STATUS", "ROLES", "AGE"], Rows::Nodes),
    (&["TYPE", "REASON", "OBJECT", "MESSAGE"], Rows::Events),
    (&["NAME", "QUEUE", "RESERVED IN", "ADMITTED"], Rows::Workloads),
    (&["NAME", "CLUSTERQUEUE", "PENDING WORKLOADS"], Rows::LocalQueues),
    (&["NAME", "COHORT", "PENDING WORKLOADS"], Rows::ClusterQueues),
    (&["NAME", "ACCEPTED", "PROVISIONED", "FAILED"], Rows::Others("ProvisioningRequest")),
    (&["NAME", "COMPLETIONS", "DURATION", "AGE"], Rows::Others("Job")),
    (&["NAME", "READY", "UP-TO-DATE", "AVAILABLE"], Rows::Others("Deployment")),
    (&["NAME", "DESIRED", "CURRENT", "READY"], Rows::Others("DaemonSet")),
];

/// A heading with the characters at which it begins and ends.
#[derive(Clone, Debug)]
pub(in super::super) struct Heading {
    columns: Vec<(String, usize, usize)>,
    rows: Rows,
}

/// Headings of several words, which a single blank does not part.
const PHRASES: &[&str] = &[
    "RESERVED IN",
    "PENDING WORKLOADS",
    "ADMITTED WORKLOADS",
    "RESERVING WORKLOADS",
    "LAST SEEN",
    "FIRST SEEN",
    "NOMINATED NODE",
    "READINESS GATES",
    "NODE SELECTOR",
];

/// The heading of a table of `kubectl get`, if a line is one.
pub(in super::super) fn heading(line: &str) -> Option<Heading> {
    let first = line.trim_start();
    if !["NAME", "NAMESPACE", "LAST SEEN", "TYPE"].iter().any(|word| first.starts_with(word))
        || line.chars().any(char::is_lowercase)
    {
        return None;
    }
    let mut columns: Vec<(String, usize, usize)> = Vec::new();
    for (from, until, word) in words(line) {
        if let Some((name, _, end)) = columns.last_mut()
            && from == *end + 1
            && PHRASES.iter().any(|phrase| phrase.starts_with(&format!("{name} {word}")))
        {
            name.push(' ');
            name.push_str(word);
            *end = until;
            continue;
        }
        columns.push((word.to_owned(), from, until));
    }
    let has = |wanted: &str| columns.iter().any(|(name, _, _)| name == wanted);
    let rows = TABLES
        .iter()
        .find(|(names, _)| names.iter().all(|name| has(name)))
        .map(|(_, rows)| *rows)?;
    Some(Heading { columns, rows })
}

/// Words with the characters at which they begin and end.
fn words(line: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut characters = 0;
    for (at, (byte, one)) in line.char_indices().enumerate() {
        characters = at + 1;
        match (one.is_whitespace(), open) {
            (false, None) => open = Some((at, byte)),
            (true, Some((from, first))) => {
                found.push((from, at, &line[first..byte]));
                open = None;
            }
            _ => {}
        }
    }
    if let Some((from, first)) = open {
        found.push((from, characters, &line[first..]));
    }
    found
}

/// Phrases of a row, parted by two blanks or more, with the character at which each begins.
fn phrases(line: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for (from, until, word) in words(line) {
        match found.last_mut() {
            Some((_, end, phrase)) if from == *end + 1 => {
                phrase.push(' ');
                phrase.push_str(word);
                *end = until;
            }
            _ => found.push((from, until, word.to_owned())),
        }
    }
    found.into_iter().map(|(from, _, phrase)| (from, phrase)).collect()
}

/// The cells of a row: as many phrases or words as headings, else each under the heading that begins
/// nearest. Documentation shifts its columns by hand, so places alone do not do.
fn cells(heading: &Heading, line: &str) -> Vec<String> {
    let wanted = heading.columns.len();
    let phrases = phrases(line);
    if phrases.len() == wanted {
        return phrases.into_iter().map(|(_, phrase)| phrase).collect();
    }
    let single: Vec<&str> = line.split_whitespace().collect();
    if single.len() == wanted {
        return single.into_iter().map(str::to_owned).collect();
    }
    let mut row = vec![String::new(); wanted];
    let mut earliest = 0;
    for (from, phrase) in phrases {
        let column = (earliest..wanted)
            .min_by_key(|column| heading.columns[*column].1.abs_diff(from))
            .unwrap_or(wanted - 1);
        earliest = (column + 1).min(wanted - 1);
        if !row[column].is_empty() {
            row[column].push(' ');
        }
        row[column].push_str(&phrase);
    }
    row
}

/// Reads rows below a heading until a blank line or another heading; the number of lines that were read.
pub(in super::super) fn read(
    reading: &mut Reading,
    heading: &Heading,
    lines: &[&str],
    first_line: u64,
) -> usize {
    let mut used = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() || self::heading(line).is_some() || line.starts_with("---") {
            break;
        }
        used = index + 1;
        let cells = cells(heading, line);
        let get = |name: &str| {
            heading
                .columns
                .iter()
                .position(|(column, _, _)| column == name)
                .and_then(|at| cells.get(at))
                .map_or("", |cell| cell.trim())
        };
        let has = |name: &str| heading.columns.iter().any(|(column, _, _)| column == name);
        row(reading, heading.rows, Place::Line(first_line + index as u64), &get, &has);
    }
    used
}

fn row<'a>(
    reading: &mut Reading,
    rows: Rows,
    place: Place,
    get: &dyn Fn(&str) -> &'a str,
    has: &dyn Fn(&str) -> bool,
) {
    let stated = |name: &str| if has(name) { word(get(name)) } else { Err(Absence::NotInFile) };
    let counted = |name: &str| if has(name) { count(get(name)) } else { Err(Absence::NotInFile) };
    let left_out = &mut reading.records_left_out;
    match rows {
        Rows::Pods => {
            let pod = pod_of(place, get, &stated);
            Reading::keep(&mut reading.pods, left_out, pod);
        }
        Rows::Nodes => {
            let mut node = KubernetesNode::at(place);
            node.name = stated("NAME");
            let status = get("STATUS");
            node.ready = match status.split(',').next().unwrap_or_default() {
                "Ready" => Ok("True".to_owned()),
                "NotReady" => Ok("False".to_owned()),
                _ => word(status),
            };
            node.is_cordoned = Ok(status.contains("SchedulingDisabled"));
            node.version = stated("VERSION");
            Reading::keep(&mut reading.kubernetes_nodes, left_out, node);
        }
        Rows::Events => {
            let mut event = Event::at(place);
            event.kind = stated("TYPE");
            event.reason = stated("REASON");
            event.object = stated("OBJECT");
            event.from = stated("SOURCE");
            event.message = stated("MESSAGE");
            event.age_s = age_s(get("LAST SEEN"));
            event.count = counted("COUNT");
            explain(&mut event);
            Reading::keep(&mut reading.events, left_out, event);
        }
        Rows::Workloads => {
            let mut workload = Workload::at(place);
            workload.namespace = stated("NAMESPACE");
            workload.name = stated("NAME");
            workload.queue = stated("QUEUE");
            workload.cluster_queue = stated("RESERVED IN");
            workload.has_quota = Ok(workload.cluster_queue.is_ok());
            workload.is_admitted = Ok(get("ADMITTED").eq_ignore_ascii_case("true"));
            workload.is_finished = if has("FINISHED") {
                Ok(get("FINISHED").eq_ignore_ascii_case("true"))
            } else {
                Err(Absence::NotInFile)
            };
            // The table says that quota is missing, and never why.
            workload.wait = match (workload.has_quota == Ok(true), workload.is_admitted == Ok(true))
            {
                (_, true) => Err(Absence::NotSet),
                (true, false) => Ok(Wait::Check),
                (false, false) => Err(Absence::NotInFile),
            };
            Reading::keep(&mut reading.workloads, left_out, workload);
        }
        Rows::ClusterQueues | Rows::LocalQueues => {
            let is_local = rows == Rows::LocalQueues;
            let queue = Queue {
                place,
                kind: if is_local { "LocalQueue" } else { "ClusterQueue" },
                namespace: stated("NAMESPACE"),
                name: stated("NAME"),
                parent: stated(if is_local { "CLUSTERQUEUE" } else { "COHORT" }),
                is_active: Err(Absence::NotInFile),
                active_reason: Err(Absence::NotInFile),
                pending: counted("PENDING WORKLOADS"),
                reserving: counted("RESERVING WORKLOADS"),
                admitted: counted("ADMITTED WORKLOADS"),
            };
            Reading::keep(&mut reading.queues, left_out, queue);
        }
        Rows::Others(kind) => {
            let other = OtherObject {
                place,
                kind: kind.to_owned(),
                namespace: stated("NAMESPACE"),
                name: stated("NAME"),
                conditions: ["ACCEPTED", "PROVISIONED", "FAILED"]
                    .iter()
                    .filter(|column| has(column))
                    .map(|column| super::model::Condition {
                        kind: (*column).to_owned(),
                        status: word(get(column)),
                        reason: Err(Absence::NotInFile),
                        message: Err(Absence::NotInFile),
                        changed: Err(Absence::NotInFile),
                    })
                    .collect(),
            };
            Reading::keep(&mut reading.others, left_out, other);
        }
    }
}

/// Words of the status column that are phases; the others are what a container waits for.
const PHASES: &[&str] = &["Pending", "Running", "Succeeded", "Failed", "Unknown"];

fn pod_of<'a>(
    place: Place,
    get: &dyn Fn(&str) -> &'a str,
    stated: &dyn Fn(&str) -> Stated<String>,
) -> Pod {
    let mut pod = Pod::at(place);
    pod.namespace = stated("NAMESPACE");
    pod.name = stated("NAME");
    pod.node = stated("NODE");
    pod.phase = match get("STATUS") {
        "Completed" => Ok("Succeeded".to_owned()),
        "Unknown" => Ok("Unknown".to_owned()),
        other => word(other),
    };
    if let Ok(phase) = &pod.phase
        && !PHASES.contains(&phase.as_str())
    {
        pod.container_reasons.push(phase.clone());
    }
    if let Some((ready, all)) = get("READY").split_once('/') {
        pod.containers_ready = count(ready);
        pod.containers = count(all);
    }
    pod.restarts = count(get("RESTARTS").split(' ').next().unwrap_or_default());
    pod
}

/// Seconds of an age: `9m45s`, `3h`, `14d`, `13s (x2 over 15s)`.
pub(in super::super) fn age_s(text: &str) -> Stated<u64> {
    let text = text.trim().split(' ').next().unwrap_or_default();
    if text.is_empty() || text == "<unknown>" {
        return Err(Absence::NotSet);
    }
    let mut seconds: u64 = 0;
    let mut number: Option<u64> = None;
    for one in text.chars() {
        if let Some(digit) = one.to_digit(10) {
            number = number
                .unwrap_or(0)
                .checked_mul(10)
                .and_then(|number| number.checked_add(u64::from(digit)));
            if number.is_none() {
                return super::super::stated::unreadable(text);
            }
            continue;
        }
        let factor = match one {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'y' => 365 * 86_400,
            _ => return super::super::stated::unreadable(text),
        };
        let Some(part) = number.take().and_then(|number| number.checked_mul(factor)) else {
            return super::super::stated::unreadable(text);
        };
        seconds = seconds.saturating_add(part);
    }
    if number.is_some() { super::super::stated::unreadable(text) } else { Ok(seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_seconds() {
        for (text, seconds) in
            [("9m45s", 585), ("14d", 1_209_600), ("13s (x2 over 15s)", 13), ("2h5m", 7500)]
        {
            assert_eq!(age_s(text), Ok(seconds), "{text}");
        }
        assert!(age_s("12").is_err());
        assert!(age_s("99999999999999999999d").is_err());
    }

    #[test]
    fn a_cell_that_is_missing_does_not_move_its_neighbours() {
        let heading = heading(
            "NAME                        QUEUE        RESERVED IN           ADMITTED   AGE",
        )
        .unwrap();
        let row = cells(
            &heading,
            "job-sample-job-mno90-lmn   team-queue                                    2s",
        );
        assert_eq!(row, ["job-sample-job-mno90-lmn", "team-queue", "", "", "2s"]);
    }
}
