//! Settings of Slurm: `scontrol show config`, `slurm.conf`, `gres.conf`, `scontrol ping`.

use super::super::cluster::{Partition, Setting};
use super::super::kind::Kind;
use super::super::model::{Node, Place};
use super::super::reading::Reading;
use super::super::resources::{Gres, gres};
use super::super::stated::{Absence, count, duration_s, number, word};
use super::fill::finish_node;

/// Which settings a text holds.
pub(in super::super) fn kind_of(text: &str) -> Option<Kind> {
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next()?;
    if first.starts_with("Configuration data as of ") {
        return Some(Kind::SlurmConfiguration);
    }
    if first.starts_with("Slurmctld(") && first.contains(" is ")
        || first.starts_with("Slurmctld(") && first.contains(" are ")
    {
        return Some(Kind::SlurmPing);
    }
    let all = || std::iter::once(first).chain(text.lines().map(str::trim));
    let key = |line: &str| {
        line.split('=').next().map(|key| key.trim().to_ascii_lowercase()).unwrap_or_default()
    };
    let has = |wanted: &str| all().any(|line| line.contains('=') && key(line) == wanted);
    if has("slurmctldhost")
        || has("controlmachine")
        || (has("clustername") && (has("nodename") || has("selecttype") || has("slurmuser")))
    {
        return Some(Kind::SlurmConf);
    }
    let is_gres = |line: &str| {
        let lower = line.to_ascii_lowercase();
        lower.starts_with("autodetect=")
            || (lower.contains("name=gpu")
                || lower.contains("name=mps")
                || lower.contains("name=shard"))
                && (lower.starts_with("name=") || lower.starts_with("nodename="))
                && (lower.contains("file=")
                    || lower.contains("type=")
                    || lower.contains("count=")
                    || lower.contains("multiplefiles="))
    };
    let settings = all().filter(|line| !line.is_empty() && !line.starts_with('#'));
    if settings.clone().any(is_gres) && settings.clone().all(|line| line.contains('=')) {
        return Some(Kind::GresConf);
    }
    None
}

/// Reads settings.
pub(in super::super) fn read(file: &str, text: &str, kind: Kind) -> Reading {
    let mut reading = Reading::new(file, kind);
    for (line_number, line) in logical_lines(text) {
        let place = Place::Line(line_number);
        let bare = line.split(" #").next().unwrap_or_default().trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        match kind {
            Kind::SlurmConfiguration if bare.starts_with("Configuration data as of") => {
                reading.caveat(bare.to_owned());
            }
            Kind::SlurmPing => ping(&mut reading, place, bare),
            Kind::SlurmConf if begins(bare, "NodeName") => node(&mut reading, place, bare),
            Kind::SlurmConf if begins(bare, "PartitionName") => {
                partition(&mut reading, place, bare);
            }
            Kind::GresConf if !begins(bare, "AutoDetect") => gres_line(&mut reading, place, bare),
            _ => match bare.split_once('=') {
                Some((key, value)) => reading.keep_setting(Setting {
                    place,
                    key: key.trim().to_owned(),
                    value: word(value),
                }),
                None => reading.skip(place, "no setting", bare),
            },
        }
    }
    if let Some(version) = reading.settings.iter().find(|one| one.key == "SLURM_VERSION") {
        reading.version = version.value.clone().ok().map(|version| format!("Slurm {version}"));
    }
    reading
}

/// Lines, with those that end in a backslash joined to the next.
fn logical_lines(text: &str) -> Vec<(u64, String)> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1_u64..).zip(text.lines()) {
        let (piece, more) = match line.trim_end().strip_suffix('\\') {
            Some(piece) => (piece, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some((_, whole)) if goes_on => {
                whole.push(' ');
                whole.push_str(piece.trim());
            }
            _ => lines.push((number, piece.to_owned())),
        }
        goes_on = more;
    }
    lines
}

fn begins(line: &str, key: &str) -> bool {
    line.split('=').next().is_some_and(|first| first.trim().eq_ignore_ascii_case(key))
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(key).then(|| value.trim_matches('"'))
    })
}

fn ping(reading: &mut Reading, place: Place, line: &str) {
    // "Slurmctld(primary/backup) at head01/head02 are UP/DOWN"
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, "at", hosts, "is" | "are", states] = words.as_slice() else {
        reading.skip(place, "no answer of scontrol ping", line);
        return;
    };
    let roles = name.trim_start_matches("Slurmctld(").trim_end_matches(')');
    for ((role, host), state) in roles.split('/').zip(hosts.split('/')).zip(states.split('/')) {
        reading.keep_setting(Setting {
            place,
            key: format!("{role} {host}"),
            value: Ok(state.to_owned()),
        });
    }
}

fn node(reading: &mut Reading, place: Place, line: &str) {
    let mut node = Node::at(place);
    node.name = value(line, "NodeName").map_or(Err(Absence::NotInFile), word);
    node.cpus = value(line, "CPUs").map_or(Err(Absence::NotInFile), count);
    node.memory_mib = value(line, "RealMemory").map_or(Err(Absence::NotInFile), number);
    node.gres = value(line, "Gres").map_or(Err(Absence::NotInFile), gres);
    node.features = value(line, "Feature")
        .or_else(|| value(line, "Features"))
        .map_or(Err(Absence::NotInFile), word);
    finish_node(&mut node);
    reading.keep_node(node);
}

fn partition(reading: &mut Reading, place: Place, line: &str) {
    let with = |key: &str| value(line, key).map_or(Err(Absence::NotInFile), word);
    let partition = Partition {
        place,
        name: with("PartitionName"),
        is_default: value(line, "Default")
            .map_or(Err(Absence::NotInFile), |word| Ok(word.eq_ignore_ascii_case("yes"))),
        state: with("State"),
        nodes: with("Nodes"),
        node_count: Err(Absence::NotInFile),
        cpus: Err(Absence::NotInFile),
        cpu_states: Err(Absence::NotInFile),
        limit_s: value(line, "MaxTime").map_or(Err(Absence::NotInFile), duration_s),
        limit_default_s: value(line, "DefaultTime").map_or(Err(Absence::NotInFile), duration_s),
        priority_tier: value(line, "PriorityTier").map_or(Err(Absence::NotInFile), count),
        preempt_mode: with("PreemptMode"),
        grace_s: value(line, "GraceTime").map_or(Err(Absence::NotInFile), count),
        tres: Err(Absence::NotInFile),
        gpus: Err(Absence::NotInFile),
    };
    Reading::keep(&mut reading.partitions, &mut reading.records_left_out, partition);
}

/// `NodeName=gpu[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-7]`.
fn gres_line(reading: &mut Reading, place: Place, line: &str) {
    let Some(name) = value(line, "Name") else {
        reading.skip(place, "no line of gres.conf", line);
        return;
    };
    let counted = value(line, "Count").and_then(|text| count(text).ok());
    let files = value(line, "File").or_else(|| value(line, "MultipleFiles")).and_then(files);
    let mut node = Node::at(place);
    node.name = value(line, "NodeName").map_or(Err(Absence::NotInFile), word);
    node.gres = Ok(vec![Gres {
        name: name.to_owned(),
        model: value(line, "Type").map(str::to_owned),
        count: counted.or(files).ok_or(Absence::NotInFile),
        indices: None,
        sockets: None,
    }]);
    finish_node(&mut node);
    reading.keep_node(node);
}

/// How many files a name with ranges in brackets stands for: `/dev/nvidia[0-3,6]`.
fn files(text: &str) -> Option<u64> {
    let mut total = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = match rest.find('[') {
            Some(open) if rest[..open].find(',').is_none() => {
                rest.find(']').map_or(rest.len(), |close| close + 1)
            }
            _ => rest.find(',').unwrap_or(rest.len()),
        };
        let (one, tail) = rest.split_at(end);
        total += match one.split_once('[') {
            Some((_, ranges)) => {
                ranges.trim_end_matches(']').split(',').try_fold(0_u64, |sum, range| {
                    let (from, until) = range.split_once('-').unwrap_or((range, range));
                    let (from, until) = (from.parse::<u64>().ok()?, until.parse::<u64>().ok()?);
                    sum.checked_add(until.checked_sub(from)?.checked_add(1)?)
                })?
            }
            None => 1,
        };
        rest = tail.trim_start_matches(',');
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_brackets_are_counted() {
        assert_eq!(files("/dev/nvidia[0-7]"), Some(8));
        assert_eq!(files("/dev/nvidia[0-3,6]"), Some(5));
        assert_eq!(files("/dev/nvidia0,/dev/nvidia1"), Some(2));
        assert_eq!(files("/dev/nvidia[7-0]"), None);
    }
}
