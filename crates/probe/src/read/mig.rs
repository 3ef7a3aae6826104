//! Listings of `nvidia-smi mig`.

use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading, FileRefusal, Table};

use super::look::{Claim, Look, Outcome, short};
use crate::device::mig_listing::{MigListingError, read_instances, read_profiles};

const SEEMS: &str = "a listing of nvidia-smi mig";

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    let lines = || look.sample().lines().map(str::trim);
    let is_profile = |line: &str| line.starts_with('|') && line.contains("instance profiles");
    let is_placement = |line: &str| {
        line.starts_with("GPU ") && line.contains("Profile ID") && line.contains("Placement")
    };
    let is_instance = |line: &str| {
        let bare = line.trim_matches(['|', ' ']);
        line.starts_with('|') && (bare == "GPU instances:" || bare == "Compute instances:")
    };
    // A document shows such a table among other things; a listing holds nothing else.
    let is_frame = |line: &str| {
        line.is_empty() || line.starts_with('|') || line.starts_with('+') || is_placement(line)
    };
    let kind = lines().find(|line| is_profile(line) || is_placement(line) || is_instance(line))?;
    let clue = format!("has `{}`", short(kind.trim_matches(['|', ' ']), 60));
    let others = lines().filter(|line| !is_frame(line)).count();
    let rows = lines().filter(|line| line.starts_with('|') || is_placement(line)).count();
    if others * 2 > rows {
        return None;
    }
    Some(Claim::sure(clue, if is_instance(kind) { instances } else { profiles }))
}

fn refused(look: &Look<'_>, error: &MigListingError) -> FileRefusal {
    let way_out = "give what `nvidia-smi mig -lgip`, `-lgipp`, `-lgi` or `-lci` printed, unchanged";
    match error {
        MigListingError::Line { line, problem, text } => look
            .refuse(SEEMS, format!("{problem}: «{}»", short(text, 80)), way_out)
            .at(Some(*line as u64)),
        MigListingError::Nothing => look.refuse(SEEMS, error.to_string(), way_out),
    }
}

fn profiles(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole(SEEMS)?;
    let found = read_profiles(&look.text).map_err(|error| refused(look, &error))?;
    let mut reading = FileReading::new(look.name, FileKind::MigListing, "profiles");
    reading.producer = Some("nvidia-smi mig".to_owned());
    reading.count("profiles", found.len());
    let mut table = Table::new(
        "Profiles",
        &["gpu", "profile", "id", "free", "most", "memory", "SMs", "P2P", "may begin at", "size"],
    );
    let none = "the table of `-lgip` is not in the file";
    let number = |value: Option<u32>| value.map_or_else(|| Figure::absent(none), Figure::count);
    for profile in &found {
        let no_place = "the listing of `-lgipp` is not in the file";
        let (starts, size) = match &profile.placements {
            Some((starts, size)) => {
                let starts: Vec<String> = starts.iter().map(ToString::to_string).collect();
                (Figure::text(starts.join(", ")), Figure::count(*size))
            }
            None => (Figure::absent(no_place), Figure::absent(no_place)),
        };
        table.row(vec![
            Figure::count(profile.gpu),
            Figure::text_or(profile.name.clone(), none),
            Figure::count(profile.id),
            number(profile.instances_free),
            number(profile.instances_max),
            Figure::number_or(profile.memory_gib, "GiB", none),
            number(profile.sms),
            Figure::text_or(profile.peer_to_peer.map(|yes| if yes { "yes" } else { "no" }), none),
            starts,
            size,
        ]);
    }
    reading.table(table);
    Ok(reading.into())
}

fn instances(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole(SEEMS)?;
    let found = read_instances(&look.text).map_err(|error| refused(look, &error))?;
    let inside = found.iter().any(|one| one.compute_instance.is_some());
    let form = if inside { "compute instances" } else { "GPU instances" };
    let mut reading = FileReading::new(look.name, FileKind::MigListing, form);
    reading.producer = Some("nvidia-smi mig".to_owned());
    reading.count("instances", found.len());
    let mut table = Table::new(
        "Instances",
        &["gpu", "GPU instance", "compute instance", "profile", "profile id", "begins at", "size"],
    );
    for one in &found {
        let compute = one.compute_instance;
        table.row(vec![
            Figure::count(one.gpu),
            Figure::count(one.gpu_instance),
            compute.map_or_else(|| Figure::absent("a GPU instance is listed"), Figure::count),
            Figure::text(one.name.clone()),
            Figure::count(one.profile_id),
            Figure::count(one.start),
            Figure::count(one.size),
        ]);
    }
    reading.table(table);
    Ok(reading.into())
}
