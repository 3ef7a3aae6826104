//! What is open, as things to do: each once, cheapest first.

use super::gate::{Finding, Gate, Missing, Ruling, Strategy};

/// What is open under a way of sharing, cheapest first. Where one measurement covers the tests of
/// another, it supplies both, and both are one.
pub(super) fn missing(gates: &[Gate], strategy: Strategy) -> Vec<Missing> {
    let counts = |finding: &&Finding| {
        finding.ruling == Ruling::NotProven
            && (finding.strategy == strategy || finding.strategy == Strategy::Alone)
    };
    let open = gates.iter().flat_map(|gate| &gate.findings).filter(counts);
    let mut all: Vec<Missing> = Vec::new();
    for one in open.flat_map(|finding| &finding.missing) {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
    let mut all = joined(all);
    all.sort_by(|one, other| {
        let minutes = |missing: &Missing| missing.minutes.unwrap_or(f64::INFINITY);
        minutes(one).total_cmp(&minutes(other))
    });
    all
}

/// A measurement as its command says it.
struct Measurement<'a> {
    /// The command up to the names of the tests.
    head: &'a str,
    tests: Vec<&'a str>,
}

impl<'a> Measurement<'a> {
    fn of(missing: &'a Missing) -> Option<Self> {
        let (head, rest) = missing.remedy.split_once(" --tests ")?;
        let (tests, flags) = rest.split_once(' ').unwrap_or((rest, ""));
        // With any other flag it is not the same measurement.
        let is_plain = flags.is_empty() || flags.starts_with("--minutes ");
        is_plain.then(|| Self { head, tests: tests.split(',').collect() })
    }

    fn covers(&self, other: &Self) -> bool {
        self.head == other.head && other.tests.iter().all(|test| self.tests.contains(test))
    }
}

/// Measurements with those that they cover, each as long as the longest of them: blocks of all its
/// tests are made in turn, so the time that is enough for a pair is enough for one of them.
fn joined(all: Vec<Missing>) -> Vec<Missing> {
    let covers = |one: &Missing, other: &Missing| {
        let (one, other) = (Measurement::of(one), Measurement::of(other));
        one.zip(other).is_some_and(|(one, other)| one.covers(&other))
    };
    let mut kept: Vec<Missing> = Vec::new();
    for one in all {
        if let Some(at) = kept.iter().position(|other| covers(other, &one)) {
            kept[at] = both(&kept[at], &one);
            continue;
        }
        // It takes the place of the first that it covers.
        let at = kept.iter().position(|other| covers(&one, other)).unwrap_or(kept.len());
        let (covered, rest): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|other| covers(&one, other));
        kept = rest;
        kept.insert(at, covered.iter().fold(one, |one, other| both(&one, other)));
    }
    kept
}

/// One measurement for two purposes.
fn both(covering: &Missing, covered: &Missing) -> Missing {
    // Without a time it takes as long as the question needs, which is unknown here.
    let minutes = covering.minutes.zip(covered.minutes).map(|(one, other)| one.max(other));
    let command = covering.remedy.split(" --minutes ").next().unwrap_or_default();
    let remedy = match minutes {
        Some(minutes) => format!("{command} --minutes {}", minutes.ceil().max(1.0)),
        None => command.to_owned(),
    };
    Missing { what: told_once(&covering.what, &covered.what), remedy, minutes }
}

/// What two measurements supply, in one sentence. Of "about 2 more pairs of blocks" and "about 5 more
/// pairs of blocks" the larger number is enough for both.
fn told_once(covering: &str, covered: &str) -> String {
    let mut parts: Vec<&str> = covering.split("; ").collect();
    for part in covered.split("; ") {
        let Some(same) =
            parts.iter_mut().find(|known| without_number(known) == without_number(part))
        else {
            parts.push(part);
            continue;
        };
        if number(part) > number(same) {
            *same = part;
        }
    }
    parts.join("; ")
}

/// The first whole number of a sentence.
fn number(sentence: &str) -> Option<u64> {
    sentence.split_whitespace().find_map(|word| word.parse().ok())
}

/// A sentence with a number left out, and one pair told as several are.
fn without_number(sentence: &str) -> String {
    let words = sentence.split_whitespace().filter(|word| word.parse::<u64>().is_err());
    words.collect::<Vec<_>>().join(" ").replace("pairs of", "pair of")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(what: &str, tests: &str, minutes: f64) -> Missing {
        let remedy = format!("cotenant measure s.yaml --tests {tests} --minutes {minutes}");
        Missing { what: what.into(), remedy, minutes: Some(minutes) }
    }

    #[test]
    fn a_measurement_that_covers_another_supplies_both() {
        let declared = Missing {
            what: "who decided".into(),
            remedy: "declare `accepted_by: …` in s.yaml".into(),
            minutes: Some(0.0),
        };
        let all = vec![
            measurement("test A", "a", 30.0),
            declared.clone(),
            measurement("test B", "b", 5.0),
            measurement("tests A and C", "a,c", 12.0),
            measurement("drills", "c", 40.0),
            measurement("longer blocks", "b,c", 7.0),
        ];
        let expected = [
            measurement("tests A and C; test A; drills", "a,c", 40.0),
            declared,
            measurement("longer blocks; test B", "b,c", 7.0),
        ];
        // In another order a later one covers two.
        let turned = [all[0].clone(), all[4].clone(), all[3].clone()];
        let whole = measurement("tests A and C; test A; drills", "a,c", 40.0);
        assert_eq!(joined(turned.into()), [whole]);
        assert_eq!(joined(all), expected);
    }

    #[test]
    fn of_two_numbers_of_the_same_thing_the_larger_is_told() {
        let all =
            ["about 1 more pair of blocks like these", "about 5 more pairs of blocks like these"];
        let all = all.map(|what| measurement(what, "a,c", 8.0));
        let [one, five] = all.clone();
        let only = std::slice::from_ref(&five);
        assert_eq!(joined(all.into()), only);
        assert_eq!(joined(vec![five.clone(), one]), only);
        // Another thing beside it stays.
        let both = joined(vec![five, measurement("test C; about 9 more blocks", "a,c", 1.0)]);
        let said = "about 5 more pairs of blocks like these; test C; about 9 more blocks";
        assert_eq!(both[0].what, said);
    }

    #[test]
    fn an_unknown_time_stays_unknown() {
        let open_ended = Missing {
            remedy: "cotenant measure s.yaml --tests a,c".into(),
            ..measurement("tests A and C", "a,c", 1.0)
        };
        let open_ended = Missing { minutes: None, ..open_ended };
        let both = joined(vec![measurement("test A", "a", 30.0), open_ended.clone()]);
        let expected = Missing { what: "tests A and C; test A".into(), ..open_ended };
        assert_eq!(both, [expected]);
    }

    #[test]
    fn other_flags_and_other_sites_are_other_measurements() {
        let one = measurement("test A", "a", 1.0);
        let mut other = measurement("tests A and C", "a,c", 1.0);
        other.remedy = other.remedy.replace("s.yaml", "t.yaml");
        let mut seeded = measurement("tests A and C", "a,c", 1.0);
        seeded.remedy = seeded.remedy.replace("--minutes", "--seed 3 --minutes");
        let all = vec![one, other, seeded];
        assert_eq!(joined(all.clone()), all);
    }
}
