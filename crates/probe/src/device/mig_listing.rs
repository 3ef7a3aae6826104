//! Listings of `nvidia-smi mig`: the profiles of a card (`-lgip`), where they may be placed
//! (`-lgipp`), and the instances that exist (`-lgi`, `-lci`).
//!
//! The tables vary in width with the driver, so rows are read by their words and not by columns. A row
//! of `-lgip` has two lines. A line that looks like a row and cannot be read is an error with its
//! number: what is not understood is not passed over.

use cotenant_core::gpu::{Engines, ListedProfile};
use thiserror::Error;

/// Why a listing could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MigListingError {
    /// A line that is part of no listing, or a broken row.
    #[error("line {line}: {problem}: «{text}»")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
        /// The line's text.
        text: String,
    },
    /// Nothing is listed.
    #[error(
        "no MIG profile or instance is listed; MIG must be enabled, and the text is what \
         `nvidia-smi mig -lgip`, `-lgipp`, `-lgi` or `-lci` prints"
    )]
    Nothing,
}

/// An instance as `-lgi` lists it, or a compute instance inside of one as `-lci` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedInstance {
    /// The number of the GPU.
    pub gpu: u32,
    /// The GPU instance; that in which it is, where a compute instance is listed.
    pub gpu_instance: u32,
    /// The compute instance, where one is listed.
    pub compute_instance: Option<u32>,
    /// The name without the word `MIG`.
    pub name: String,
    /// The id of the profile.
    pub profile_id: u32,
    /// Where it begins: on the card's grid, or among the compute slices of its instance.
    pub start: u32,
    /// Units that it takes there.
    pub size: u32,
}

/// Reads what `-lgip` prints, what `-lgipp` prints, or both one after the other: one entry for each
/// profile of each GPU, in the order of the text.
///
/// # Errors
/// The first line that cannot be read, and a text that lists nothing.
pub fn read_profiles(text: &str) -> Result<Vec<ListedProfile>, MigListingError> {
    let mut profiles: Vec<ListedProfile> = Vec::new();
    // The index of the row whose second line must come next.
    let mut open: Option<usize> = None;
    for line in lines(text) {
        let row = if let Some(index) = open.take() {
            second_line(&line, &mut profiles[index])?;
            continue;
        } else if line.words.first() == Some(&"GPU") && line.words.contains(&"Profile") {
            placements(&line)?
        } else if line.is_row() {
            first_line(&line)?
        } else {
            line.is_frame()?;
            continue;
        };
        let is_table_row = row.name.is_some();
        let index = merge(&mut profiles, row, &line)?;
        open = is_table_row.then_some(index);
    }
    if let Some(index) = open {
        return Err(MigListingError::Line {
            line: text.lines().count(),
            problem: "the second line of the last row is missing",
            text: profiles[index].name.clone().unwrap_or_default(),
        });
    }
    if profiles.is_empty() { Err(MigListingError::Nothing) } else { Ok(profiles) }
}

/// Reads what `-lgi` or `-lci` prints.
///
/// # Errors
/// The first line that cannot be read, and a text that lists nothing.
pub fn read_instances(text: &str) -> Result<Vec<ListedInstance>, MigListingError> {
    let mut instances = Vec::new();
    for line in lines(text) {
        if line.is_row() {
            instances.push(instance(&line)?);
        } else {
            line.is_frame()?;
        }
    }
    if instances.is_empty() { Err(MigListingError::Nothing) } else { Ok(instances) }
}

/// A line with its number and its words, without the bars of the table.
struct Line<'a> {
    number: usize,
    text: &'a str,
    words: Vec<&'a str>,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().enumerate().map(|(index, text)| {
        let words = text.trim().trim_matches('|').split_whitespace().collect();
        Line { number: index + 1, text: text.trim(), words }
    })
}

impl Line<'_> {
    fn fault(&self, problem: &'static str) -> MigListingError {
        MigListingError::Line { line: self.number, problem, text: self.text.to_owned() }
    }

    /// Whether the line has values: inside of a table, a row begins with a number.
    fn is_row(&self) -> bool {
        self.text.starts_with('|')
            && self.words.first().is_some_and(|word| word.parse::<u32>().is_ok())
    }

    /// Whether the line is a border, a heading or empty.
    fn is_frame(&self) -> Result<(), MigListingError> {
        let is_frame = self.text.is_empty()
            || self.text.starts_with('+')
            || self.text.starts_with("|=")
            || self.text.starts_with('|');
        if is_frame { Ok(()) } else { Err(self.fault("this is no line of a MIG listing")) }
    }

    fn number(&self, word: &str) -> Result<u32, MigListingError> {
        word.parse().map_err(|_| self.fault("a whole number was expected"))
    }
}

/// `0  MIG 1g.10gb  19  7/7  9.50  No  14  1  0`: GPU, name, id, free and total, GiB, P2P, SMs,
/// decoders, encoders.
fn first_line(line: &Line<'_>) -> Result<ListedProfile, MigListingError> {
    let [gpu, "MIG", name, id, instances, memory, peers, sms, decoders, encoders] =
        line.words.as_slice()
    else {
        return Err(line.fault("a row of profiles has a name and eight values"));
    };
    let (free, most) = instances
        .split_once('/')
        .ok_or_else(|| line.fault("instances are written as free/total"))?;
    let memory_gib: f64 =
        memory.parse().map_err(|_| line.fault("the memory is a number of GiB"))?;
    if !(memory_gib.is_finite() && memory_gib >= 0.0) {
        return Err(line.fault("the memory is a number of GiB"));
    }
    let peer_to_peer = match *peers {
        "Yes" => true,
        "No" => false,
        _ => return Err(line.fault("P2P is Yes or No")),
    };
    Ok(ListedProfile {
        gpu: line.number(gpu)?,
        name: Some((*name).to_owned()),
        id: line.number(id)?,
        instances_free: Some(line.number(free)?),
        instances_max: Some(line.number(most)?),
        memory_gib: Some(memory_gib),
        peer_to_peer: Some(peer_to_peer),
        sms: Some(line.number(sms)?),
        engines: Some(Engines {
            decoders: line.number(decoders)?,
            encoders: line.number(encoders)?,
            ..Engines::default()
        }),
        placements: None,
    })
}

/// `1  0  0`: copy engines, JPEG decoders, optical flow accelerators.
fn second_line(line: &Line<'_>, profile: &mut ListedProfile) -> Result<(), MigListingError> {
    let ([copy, jpeg, optical_flow], Some(engines)) =
        (line.words.as_slice(), profile.engines.as_mut())
    else {
        return Err(line.fault("the second line of a row has three values"));
    };
    engines.copy = line.number(copy)?;
    engines.jpeg = line.number(jpeg)?;
    engines.optical_flow = line.number(optical_flow)?;
    Ok(())
}

/// `GPU  0 Profile ID 19 Placements: {0,1,2}:1`, and `Placement : {0}:8` where there is one.
fn placements(line: &Line<'_>) -> Result<ListedProfile, MigListingError> {
    let fault =
        || line.fault("a line of placements reads «GPU 0 Profile ID 9 Placements: {0,4}:4»");
    let (head, places) = line.text.split_once('{').ok_or_else(fault)?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let ["GPU", gpu, "Profile", "ID", id, rest @ ..] = words.as_slice() else {
        return Err(fault());
    };
    if !matches!(rest, ["Placements:" | "Placement:"] | ["Placements" | "Placement", ":"]) {
        return Err(fault());
    }
    let (starts, size) = places.split_once("}:").ok_or_else(fault)?;
    let mut starts: Vec<u32> = starts
        .split(',')
        .map(|start| line.number(start.trim()))
        .collect::<Result<_, MigListingError>>()?;
    starts.sort_unstable();
    Ok(ListedProfile {
        gpu: line.number(gpu)?,
        id: line.number(id)?,
        placements: Some((starts, line.number(size.trim())?)),
        ..ListedProfile::default()
    })
}

/// Adds what a row says to the entry of its GPU and id, or makes one; gives its index.
fn merge(
    profiles: &mut Vec<ListedProfile>,
    row: ListedProfile,
    line: &Line<'_>,
) -> Result<usize, MigListingError> {
    let same = |other: &ListedProfile| other.gpu == row.gpu && other.id == row.id;
    let Some(index) = profiles.iter().position(same) else {
        profiles.push(row);
        return Ok(profiles.len() - 1);
    };
    let entry = &mut profiles[index];
    let is_twice = entry.name.is_some() == row.name.is_some();
    if is_twice {
        return Err(line.fault("this profile is listed twice"));
    }
    let placements = row.placements.clone().or(entry.placements.take());
    let rest = if row.name.is_some() { row } else { entry.clone() };
    *entry = ListedProfile { placements, ..rest };
    Ok(index)
}

/// `0  MIG 1g.24gb  14  5  6:3` of `-lgi`, or `0  3  MIG 1g.24gb  0  0  0:1` of `-lci`.
fn instance(line: &Line<'_>) -> Result<ListedInstance, MigListingError> {
    let (gpu, inside, name, profile_id, number, place) = match line.words.as_slice() {
        [gpu, "MIG", name, profile, number, place] => (gpu, None, name, profile, number, place),
        [gpu, inside, "MIG", name, profile, number, place] => {
            (gpu, Some(inside), name, profile, number, place)
        }
        _ => return Err(line.fault("a row of instances has a name, ids and a placement")),
    };
    let (start, size) =
        place.split_once(':').ok_or_else(|| line.fault("a placement is written as start:size"))?;
    let number = line.number(number)?;
    Ok(ListedInstance {
        gpu: line.number(gpu)?,
        gpu_instance: inside.map_or(Ok(number), |inside| line.number(inside))?,
        compute_instance: inside.map(|_| number),
        name: (*name).to_owned(),
        // Compute profiles that take less than the whole instance are starred in some versions.
        profile_id: line.number(profile_id.trim_end_matches('*'))?,
        start: line.number(start)?,
        size: line.number(size)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{MigListingError, read_instances, read_profiles};

    const ROW: &str = "|   0  MIG 1g.10gb       19     7/7        9.50       No     14     1     2   |\n\
                       |                                                             3     4     5   |\n";

    #[test]
    fn both_lines_of_a_row_are_read_and_placements_joined_to_it() {
        let text = format!("{ROW}\nGPU  0 Profile ID 19 Placements: {{6,0, 2}}:1\n");
        let profiles = read_profiles(&text).unwrap();
        assert_eq!(profiles.len(), 1);
        let profile = &profiles[0];
        let engines = profile.engines.unwrap();
        assert_eq!((profile.id, profile.instances_free, profile.sms), (19, Some(7), Some(14)));
        assert_eq!((engines.decoders, engines.encoders, engines.copy), (1, 2, 3));
        assert_eq!((engines.jpeg, engines.optical_flow), (4, 5));
        assert_eq!(profile.placements, Some((vec![0, 2, 6], 1)));
        assert_eq!(profile.memory_gib, Some(9.5));
    }

    #[test]
    fn the_order_of_the_two_listings_does_not_matter() {
        let placements = "GPU  0 Profile ID 19 Placement : {0}:1\n";
        let one = read_profiles(&format!("{ROW}{placements}")).unwrap();
        let other = read_profiles(&format!("{placements}{ROW}")).unwrap();
        assert_eq!(one, other);
    }

    #[test]
    fn profiles_of_two_gpus_are_kept_apart() {
        let second = ROW.replacen("|   0", "|   1", 1);
        let profiles = read_profiles(&format!("{ROW}{second}")).unwrap();
        let gpus: Vec<u32> = profiles.iter().map(|profile| profile.gpu).collect();
        assert_eq!(gpus, [0, 1]);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let first = ROW.lines().next().unwrap();
        let cases = [
            (first.to_owned(), 1, "second line"),
            (format!("{first}\n+------+\n"), 2, "three values"),
            (format!("{ROW}{ROW}"), 3, "twice"),
            (ROW.replace("7/7", "7"), 1, "free/total"),
            (ROW.replace("9.50", "N/A"), 1, "GiB"),
            (ROW.replace("9.50", "NaN"), 1, "GiB"),
            (ROW.replace("  No", "  ??"), 1, "P2P"),
            (ROW.replace("   14  ", "  -14  "), 1, "whole number"),
            (ROW.replace("MIG 1g.10gb", "1g.10gb"), 1, "eight values"),
            (format!("{ROW}Failed to initialize NVML"), 3, "no line"),
            ("GPU  0 Profile ID 9 Placements: 0:4".to_owned(), 1, "reads"),
            ("GPU  0 Profile ID 9 Placements: {0,x}:4".to_owned(), 1, "whole number"),
        ];
        for (text, wanted, part) in cases {
            match read_profiles(&text) {
                Err(MigListingError::Line { line, problem, .. }) => {
                    assert_eq!(line, wanted, "{text}");
                    assert!(problem.contains(part), "{problem}, not {part}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        assert_eq!(read_profiles(""), Err(MigListingError::Nothing));
        assert_eq!(read_instances("+---+\n"), Err(MigListingError::Nothing));
    }

    #[test]
    fn instances_and_compute_instances_are_told_apart() {
        let instances = read_instances("|   0  MIG 2g.48gb   5    1    0:6  |").unwrap();
        assert_eq!((instances[0].gpu_instance, instances[0].compute_instance), (1, None));
        assert_eq!((instances[0].start, instances[0].size), (0, 6));
        let inside = read_instances("|   0   3   MIG 1g.24gb   0   2   0:1  |").unwrap();
        assert_eq!((inside[0].gpu_instance, inside[0].compute_instance), (3, Some(2)));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_a_broken_listing_is_no_shorter_one(
            text in "[ |+=A-Za-z0-9:{},./-]{0,80}",
            cut in 0_usize..140,
        ) {
            let _ = (read_profiles(&text), read_instances(&text));
            // Whatever of a row is left out, it is refused or read whole.
            let cut = ROW.trim_end().len().saturating_sub(cut);
            if let Ok(profiles) = read_profiles(&ROW[..cut]) {
                assert_eq!(profiles[0].engines.map(|engines| engines.optical_flow), Some(5));
            }
        }
    }
}
